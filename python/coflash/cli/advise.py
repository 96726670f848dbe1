"""`coflash advise`."""

from __future__ import annotations

from typing import Annotated

import typer

from coflash.cli.console import check_json, scaled, scenario_with
from coflash.cli.finding import plotter, show_finding
from coflash.cli.options import (
    Assignments,
    JsonFile,
    On,
    OutFolder,
    Plot,
    Quiet,
    Read,
    Requests,
    Scale,
    ScenarioName,
    Traces,
)
from coflash.sweep import advise as job

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
    on: On = None,
    out: OutFolder = "results/advice",
    plot: Plot = None,
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Tell what cooperation of cache and GC would save on a scenario, by which answer, at what cost, and why."""
    check_json(json)
    draw = plotter(plot)
    advice = job.advise(
        scaled(scenario_with(scenario, assignments, read), scale, trace),
        trace or (),
        out=out,
        requests=requests,
        steady=steady,
        seeds=seeds,
        on=on,
        progress=not quiet,
    )
    show_finding(advice, json, quiet, files=[f"results: {out}", *draw(advice.draw)])
