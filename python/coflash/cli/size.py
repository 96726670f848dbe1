"""`coflash size`."""

from __future__ import annotations

import json as json_text
from typing import Annotated

import typer

from coflash.cli import complete
from coflash.cli.console import (
    STANDARD_OUTPUT,
    Assignments,
    JsonFile,
    Quiet,
    Workers,
    assigned,
    check_json,
    errors,
    output,
    plain_table,
    scenario_with,
    show_table,
    write_json,
)
from coflash.cli.run_tables import bound_shown
from coflash.cli.trace_options import AS_RECOGNISED, TraceOptions, with_trace_options
from coflash.results.comparison import REPORT
from coflash.sweep import size as job


@with_trace_options
def size(
    trace: Annotated[list[str], typer.Argument(metavar="TRACE...", help="The trace, or its files in order.")],
    goal: Annotated[
        list[str],
        typer.Option("--goal", metavar="MEASURE<VALUE", help="A bound, such as response.p99<5ms. May be repeated."),
    ],
    options: TraceOptions = AS_RECOGNISED,
    cost: Annotated[str, typer.Option("--cost", metavar="KEY*PRICE+…", help="The cost to minimise.")] = job.PRICES,
    drive: Annotated[
        str,
        typer.Option("--drive", metavar="NAME|FILE", help="A drive's scenario.", autocompletion=complete.scenarios),
    ] = job.DEVICE,
    over: Annotated[
        list[str] | None,
        typer.Option("--over", metavar="KEY=VALUES", help="More choices: gc.victim=greedy,fifo. May be repeated."),
    ] = None,
    assignments: Assignments = None,
    seeds: Annotated[int, typer.Option("--seeds", metavar="N", min=1, help="Seeds of the answer and of its why.")] = 3,
    workers: Workers = None,
    out: Annotated[str, typer.Option("--out", "-o", metavar="DIR", help="The folder of results.")] = "results/size",
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Find the cheapest cache and spare space with which a trace meets goals, and say why in three sentences."""
    from coflash.figures.style import needs_matplotlib, write_pictures
    from coflash.report import write_report  # slow to import

    check_json(json)
    needs_matplotlib()
    read = [(f"workload.trace_options.{key}", value) for key, value in options.settings().items()]
    device = scenario_with(drive, assignments).set(read)
    more = dict(assigned("--over", over, "gc.victim=greedy,fifo"))
    found = job.size(
        trace, goal, cost=cost, drive=device, over=more, out=out, seeds=seeds, workers=workers, progress=not quiet
    )
    (figure,) = write_pictures(found.path, [("why.pdf", found.draw("pdf"))])
    write_report(found.subject, found.path / REPORT)
    write_json(json, json_text.dumps(found.document(), indent=2, ensure_ascii=False) + "\n")
    if not quiet:
        console = errors() if json == STANDARD_OUTPUT else output()
        table = plain_table("", "device", "cost", *(one.text for one in found.goals))
        for name, one in {"answer": found.answer, **found.steps}.items():
            cells = [bound_shown(bound, excess) for bound, excess in zip(found.goals, one.excess, strict=True)]
            table.add_row(name, str(one), job.priced(one.cost), *cells)
        show_table(table, console)
        for text in (
            *found.how,
            *found.sentences,
            f"results: {out}",
            f"figure:  {figure}",
            f"report:  {found.path / REPORT}",
        ):
            console.print(text, highlight=False, markup=False, soft_wrap=True)
    if not found.answer.is_met:
        raise typer.Exit(1)
