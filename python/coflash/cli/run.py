"""`coflash run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from coflash import remote, whole
from coflash.cli.console import (
    STANDARD_OUTPUT,
    Assignments,
    JsonFile,
    Quiet,
    ScenarioName,
    check_json,
    errors,
    notes,
    output,
    scenario_with,
    write_json,
)
from coflash.cli.live import watched
from coflash.cli.summary import run_table
from coflash.progress import shown
from coflash.result import FILES
from coflash.running import run as simulate


def run(
    scenario: ScenarioName,
    trace: Annotated[
        list[str] | None,
        typer.Option(
            "--trace",
            metavar="FILE",
            help="Replay this trace, a path or a URL; - is the standard input; repeat for one of several files.",
        ),
    ] = None,
    assignments: Assignments = None,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="WHAT,WHAT...",
            help="What the columns of a trace in no known format mean: time:us,op,offset:sectors,size:bytes.",
        ),
    ] = None,
    on_error: Annotated[
        Literal["stop", "skip"] | None,
        typer.Option("--on-error", help="At a malformed record of the trace: stop, or skip it and say how many were."),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="DIR", help="Write the result's folder, or to its URL: JSON, TOML, Parquet."),
    ] = None,
    warm: Annotated[
        Path | None,
        typer.Option("--warm", metavar="FILE", help="Start from this device, which 'coflash warm' wrote."),
    ] = None,
    json: JsonFile = None,
    quiet: Quiet = False,
    live: Annotated[bool, typer.Option("--live", help="Show what is measured while it is measured.")] = False,
) -> None:
    """Simulate a scenario and show what it counted."""
    chosen = scenario_with(scenario, assignments)
    if on_error:
        chosen = chosen.with_({"workload.trace_options.on_error": on_error})
    if columns:
        chosen = chosen.with_({"workload.trace_options.columns": columns})
    check_json(json)
    if out is not None and remote.is_url(out):
        remote.Tree(out).check()
    elif out is not None:
        whole.check_folder(remote.path_of(out), FILES)
    if quiet:
        result = simulate(chosen, trace or (), warm=warm)
    elif live:
        with watched(chosen.name, errors()) as view:
            result = simulate(chosen, trace or (), view.progress, view.measured, warm)
    else:
        with shown(chosen.name, errors()) as report:
            result = simulate(chosen, trace or (), report, warm=warm)
    if out is not None:
        result.save(out)
    write_json(json, result.to_json())
    if not quiet:
        console = errors() if json == STANDARD_OUTPUT else output()
        notes(result.workload["remarks"])
        console.print(run_table(result))
