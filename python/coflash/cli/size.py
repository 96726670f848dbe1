"""`coflash size`."""

from __future__ import annotations

import json as json_text
from functools import partial
from typing import Annotated

import typer

from coflash.cli import complete
from coflash.cli import console as shared
from coflash.cli.options import Assignments, JsonFile, OutFolder, Quiet, Read, Requests, Workers, assigned
from coflash.sweep import size as job
from coflash.sweep.design import check_keys

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
    workers: Workers = None,
    out: OutFolder = "results/size",
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Find the cheapest cache and spare space with which a trace or a workload meets goals, and say why."""
    from coflash.charts import write_pictures
    from coflash.report import write_report  # slow to import

    shared.check_json(json)
    device, more = shared.scenario_with(drive, assignments, read), assigned("--over", over, "gc.victim=greedy")
    check_keys(key for key, _ in more)
    sized = partial(job.size, trace, goal, cost=cost, drive=device, over=dict(more), out=out, seeds=seeds)
    found = sized(requests=requests, space=space, workers=workers, progress=not quiet)
    page = found.path / "report.html"
    (figure,) = write_pictures(found.path, [("why.pdf", found.draw("pdf"))])
    write_report(found.subject, page)
    shared.write_json(json, json_text.dumps(found.document(), indent=2, ensure_ascii=False) + "\n")
    if not quiet:
        console = shared.errors() if json == shared.STANDARD_OUTPUT else shared.output()
        files = (f"results: {out}", f"figure:  {figure}", f"report:  {page}")
        console.print("\n".join((*found.how, *found.sentences, *files)), highlight=False, markup=False, soft_wrap=True)
    if not found.answer.is_met:
        raise typer.Exit(1)
