"""`coflash size`."""

from __future__ import annotations

from typing import Annotated

import typer

from coflash.cli import complete
from coflash.cli.console import check_json, scenario_with
from coflash.cli.finding import show_finding
from coflash.cli.options import Assignments, JsonFile, On, OutFolder, Quiet, Read, Requests
from coflash.results.comparison import REPORT
from coflash.sweep import size as job
from coflash.sweep.design import values_by_key

Goals = Annotated[list[str], typer.Option("--goal", metavar="MEASURE<VALUE", help="A bound. May be repeated.")]
Drive = typer.Option("--drive", metavar="NAME|FILE", help="A drive's scenario.", autocompletion=complete.scenarios)
Over = typer.Option("--over", metavar="KEY=VALUES", help="More choices: gc.victim=greedy,fifo. May be repeated.")
Workload = typer.Argument(
    metavar="TRACE...",
    help="The trace, or its files in order; or a generator or preset that is written as one: jesd219.",
    autocompletion=complete.workloads,
)
Space = typer.Option("--space", metavar="SIZE", help="The address space of a workload.", show_default="1GiB")
Seeds = typer.Option("--seeds", metavar="N", min=1, help="Seeds of the answer, its neighbours and its reasons.")


def size(
    trace: Annotated[list[str], Workload],
    goal: Goals,
    read: Read = None,
    cost: Annotated[str, typer.Option("--cost", metavar="KEY*PRICE+…", help="The cost to minimise.")] = job.PRICES,
    drive: Annotated[str, Drive] = job.DEVICE,
    over: Annotated[list[str] | None, Over] = None,
    assignments: Assignments = None,
    requests: Requests = None,
    space: Annotated[str | None, Space] = None,
    seeds: Annotated[int, Seeds] = 3,
    on: On = None,
    out: OutFolder = "results/size",
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Find the cheapest cache and spare space with which a trace or a workload meets goals, and say why."""
    from coflash.figures.style import needs_matplotlib, write_pictures
    from coflash.report import write_report  # slow to import

    check_json(json)
    needs_matplotlib()
    sizing = job.size(
        trace,
        goal,
        cost=cost,
        drive=scenario_with(drive, assignments, read),
        over=values_by_key(over or ()),
        out=out,
        requests=requests,
        space=space,
        seeds=seeds,
        on=on,
        progress=not quiet,
    )
    (figure,) = write_pictures(sizing.path, [("why.pdf", sizing.draw("pdf"))])
    write_report(sizing.subject, sizing.path / REPORT)
    files = (f"results: {out}", f"figure:  {figure}", f"report:  {sizing.path / REPORT}")
    show_finding(sizing, json, quiet, files=files)
    if not sizing.answer.is_met:
        raise typer.Exit(1)
