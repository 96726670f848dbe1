"""`coflash advise`."""

from __future__ import annotations

import json as json_text
from typing import Annotated

import typer

from coflash.cli import console as shared
from coflash.cli.options import (
    Assignments,
    JsonFile,
    OutFolder,
    Plot,
    Quiet,
    Read,
    Requests,
    Scale,
    ScenarioName,
    Traces,
    Workers,
)
from coflash.quantity import show
from coflash.sweep import advise as job
from coflash.text_table import TextTable

Steady = typer.Option("--steady/--as-given", help="Begin in a steady state, or with the scenario's own warm-up.")
Seeds = typer.Option("--seeds", metavar="N", min=1, help="Seeds of each run.")


def advise(
    scenario: ScenarioName,
    trace: Traces = None,
    read: Read = None,
    assignments: Assignments = None,
    scale: Scale = None,
    requests: Requests = None,
    steady: Annotated[bool, Steady] = True,
    seeds: Annotated[int, Seeds] = 1,
    workers: Workers = None,
    out: OutFolder = "results/advice",
    plot: Plot = None,
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Tell what cooperation of cache and GC would save on a scenario, by which answer, at what cost, and why."""
    from coflash.files import atomic_write, kinds

    shared.check_json(json)
    if plot is not None:
        from coflash.charts import format_of

        form = format_of(plot)
        atomic_write.check_file(plot, kinds.FIGURE)
    device = shared.scaled(shared.scenario_with(scenario, assignments, read), scale, trace)
    found = job.advise(
        device,
        trace or (),
        out=out,
        requests=requests,
        steady=steady,
        seeds=seeds,
        workers=workers,
        progress=not quiet,
    )
    shared.write_json(json, json_text.dumps(found.document(), indent=2, ensure_ascii=False) + "\n")
    if plot is not None:
        atomic_write.write_file(plot, found.draw(form))
    if quiet:
        return
    console = shared.errors() if json == shared.STANDARD_OUTPUT else shared.output()
    rows = TextTable(["answer", found.measure.label, *job.HEADS], "lr")
    for one in found.tried:
        rows.add(one.answer.name, show(one.value, found.measure.unit), *one.cells)
    console.print(found.how, highlight=False, markup=False, soft_wrap=True)
    shared.show_table(rows, console=console)
    files = (f"results: {out}", *([f"picture: {plot}"] if plot else []))
    console.print("\n".join((*files, *found.sentences)), highlight=False, markup=False, soft_wrap=True)
