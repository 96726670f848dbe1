"""`coflash run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coflash.cli.console import (
    STANDARD_OUTPUT,
    Assignments,
    JsonFile,
    Quiet,
    ScenarioName,
    check_effect,
    check_json,
    errors,
    notes,
    output,
    scenario_with,
    write_json,
)
from coflash.cli.live_display import displayed
from coflash.cli.summary import run_table
from coflash.cli.trace_options import AS_RECOGNISED, TraceOptions, with_trace_options
from coflash.files import atomic_write, remote
from coflash.results.result import FILES
from coflash.runs.progress import shown
from coflash.runs.run import run as simulate


@with_trace_options
def run(
    scenario: ScenarioName,
    trace: Annotated[
        list[str] | None,
        typer.Option(
            "--trace",
            metavar="FILE",
            help="Replay this trace, a path or a URL; - is the standard input. Repeat it for a trace of several files.",
        ),
    ] = None,
    options: TraceOptions = AS_RECOGNISED,
    assignments: Assignments = None,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="DIR", help="Write the result to this folder or URL: JSON, TOML, Parquet."),
    ] = None,
    warm: Annotated[
        Path | None,
        typer.Option("--warm", metavar="FILE", help="Start from this warm device, which 'coflash warm' wrote."),
    ] = None,
    json: JsonFile = None,
    quiet: Quiet = False,
    live: Annotated[bool, typer.Option("--live", help="Show the measures during the run.")] = False,
) -> None:
    """Simulate a scenario and show its measures."""
    chosen = scenario_with(scenario, assignments)
    chosen = chosen.set([(f"workload.trace_options.{key}", value) for key, value in options.settings().items()])
    workload = chosen.to_dict()["workload"]
    if not (trace or workload["trace"] or workload["like"]):
        check_effect(options.given(), "without a trace; --trace names one")
    check_json(json)
    if out is not None and remote.is_url(out):
        remote.Tree(out).check()
    elif out is not None:
        atomic_write.check_folder(remote.path_of(out), FILES)
    if quiet:
        result = simulate(chosen, trace or (), warm=warm)
    elif live:
        with displayed(chosen.name, errors()) as view:
            result = simulate(chosen, trace or (), view.progress, view.measured, warm)
    else:
        with shown(chosen.name, errors()) as report:
            result = simulate(chosen, trace or (), report, warm=warm)
    if out is not None:
        result.save(out)
    write_json(json, result.to_json())
    if not quiet:
        console = errors() if json == STANDARD_OUTPUT else output()
        notes(result.notes)
        console.print(run_table(result))
