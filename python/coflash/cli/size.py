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
    show_table,
    write_json,
)
from coflash.cli.run_tables import bound_shown
from coflash.cli.trace_options import AS_RECOGNISED, TraceOptions, with_trace_options
from coflash.results.comparison import REPORT
from coflash.scenario import Scenario
from coflash.sweep.design import axis
from coflash.sweep.goal import condition
from coflash.sweep.size import DEVICE, PRICES, Sizer, Sizing, described, priced
from coflash.sweep.tune import folder_for


@with_trace_options
def size(
    trace: Annotated[list[str], typer.Argument(metavar="TRACE...", help="The trace, or its files in order.")],
    goal: Annotated[
        list[str],
        typer.Option("--goal", metavar="MEASURE<VALUE", help="A bound, such as response.p99<5ms. May be repeated."),
    ],
    options: TraceOptions = AS_RECOGNISED,
    cost: Annotated[str, typer.Option("--cost", metavar="KEY*PRICE+…", help="The cost that is least.")] = PRICES,
    drive: Annotated[
        str,
        typer.Option(
            "--drive",
            metavar="NAME|FILE",
            help="The scenario of a drive, scaled to the trace.",
            autocompletion=complete.scenarios,
        ),
    ] = DEVICE,
    over: Annotated[
        list[str] | None,
        typer.Option(
            "--over",
            metavar="KEY=VALUES",
            help="More choices, such as gc.victim=greedy,cost-benefit. May be repeated.",
            autocompletion=complete.assignments,
        ),
    ] = None,
    assignments: Assignments = None,
    seeds: Annotated[int, typer.Option("--seeds", metavar="N", min=1, help="Seeds of the answer and of its why.")] = 3,
    workers: Workers = None,
    out: Annotated[str, typer.Option("--out", "-o", metavar="DIR", help="The folder of results.")] = "results/size",
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Find the cheapest cache and spare space with which a trace meets goals, and say why in three sentences."""
    check_json(json)
    wanted = [condition(text, cost) for text in goal]
    pairs = [*assigned("--set", assignments, "flash.channels=8")]
    pairs += [(f"workload.trace_options.{key}", value) for key, value in options.settings().items()]
    device = Scenario.load(drive).set(pairs)
    sizer = Sizer(
        trace, wanted, cost, device, [axis(text) for text in over or ()], folder_for(out), seeds, workers,
        None if quiet else errors(), is_example=drive == DEVICE,
    )  # fmt: skip
    found = sizer.run()
    write_json(json, json_text.dumps(found.document(), indent=2, ensure_ascii=False) + "\n")
    if not quiet:
        console = errors() if json == STANDARD_OUTPUT else output()
        table = plain_table("", "device", "cost", *(one.text for one in found.goals))
        for name, one in {"answer": found.answer, **found.steps}.items():
            cells = [bound_shown(bound, excess) for bound, excess in zip(found.goals, one.excess, strict=True)]
            table.add_row(name, described(one), priced(one.cost), *cells)
        show_table(table, console)
        for text in (found.read, f"Searched by {found.searched}.", *found.sentences, f"results: {out}", *_drawn(found)):
            console.print(text, highlight=False, markup=False, soft_wrap=True)
    if not found.answer.is_met:
        raise typer.Exit(1)


def _drawn(found: Sizing) -> list[str]:
    """Write the figure of why and the report of its runs into the folder; return the lines that name them."""
    from coflash.figures.style import write_pictures
    from coflash.report import write_report  # slow to import

    (figure,) = write_pictures(found.path, [("why.pdf", found.draw("pdf"))])
    write_report(found.subject, found.path / REPORT)
    return [f"figure:  {figure}", f"report:  {found.path / REPORT}"]
