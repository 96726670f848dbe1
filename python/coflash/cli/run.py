"""`coflash run`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, cast

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
from coflash.results.fio_json import fio_text
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
    fio: Annotated[
        Path | None,
        typer.Option("--fio", metavar="FILE", help="Run the jobs of this job file of fio (workload.fio)."),
    ] = None,
    options: TraceOptions = AS_RECOGNISED,
    assignments: Assignments = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="DIR", help="Write the result to this folder or URL: JSON, TOML, Parquet."),
    ] = None,
    warm: Annotated[
        Path | None,
        typer.Option("--warm", metavar="FILE", help="Start from this warm device, which 'coflash warm' wrote."),
    ] = None,
    json: JsonFile = None,
    operations: Annotated[
        Path | None,
        typer.Option("--operations", metavar="FILE", help="Write each flash operation to this Parquet file."),
    ] = None,
    decisions: Annotated[
        Path | None,
        typer.Option(
            "--decisions", metavar="FILE", help="Write each decision of GC, with its candidates, to this Parquet file."
        ),
    ] = None,
    quiet: Quiet = False,
    output_format: Annotated[
        Literal["coflash", "fio-json", "fio-json+"],
        typer.Option("--output-format", help="The form of --json: coflash's, or fio's, which goes to - by default."),
    ] = "coflash",
    live: Annotated[bool, typer.Option("--live", help="Show the measures during the run.")] = False,
) -> None:
    """Simulate a scenario and show its measures."""
    if options.format in ("fio-json", "fio-json+"):  # no trace has such a format
        output_format = cast(Literal["fio-json", "fio-json+"], options.format)
        options = replace(options, format=None)
    chosen = scenario_with(scenario, assignments)
    chosen = chosen.set([(f"workload.trace_options.{key}", value) for key, value in options.settings().items()])
    if fio is not None:
        check_effect({"--trace": trace}, "beside --fio, whose jobs make the requests")
        chosen = chosen.with_(workload__fio=str(fio))
    workload = chosen.to_dict()["workload"]
    if not (trace or workload["trace"] or workload["like"]):
        check_effect(options.given(), "without a trace; --trace names one")
    if output_format != "coflash" and json is None:
        json = STANDARD_OUTPUT
    check_json(json)
    if out is not None and remote.is_url(out):
        remote.Tree(out).check()
    elif out is not None:
        atomic_write.check_folder(remote.path_of(out), FILES)
    simulated = partial(simulate, chosen, trace or (), warm=warm, operations=operations, decisions=decisions)
    if not quiet:
        notes(chosen.cautions())
    if quiet:
        result = simulated()
    elif live:
        with displayed(chosen.name, errors()) as view:
            result = simulated(progress=view.progress, measured=view.measured)
    else:
        with shown(chosen.name, errors()) as report:
            result = simulated(progress=report)
    if out is not None:
        result.save(out)
    write_json(
        json, result.to_json() if output_format == "coflash" else fio_text(result, bins=output_format == "fio-json+")
    )
    if not quiet:
        console = errors() if json == STANDARD_OUTPUT else output()
        notes(result.notes)
        console.print(run_table(result))
