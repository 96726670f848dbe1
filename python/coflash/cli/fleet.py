"""`coflash fleet`."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from coflash.cli import complete
from coflash.cli.console import check_json, end_if_failed, errors, noted, scenario_with
from coflash.cli.finding import plotter, show_finding
from coflash.cli.options import (
    Assignments,
    JsonFile,
    Measures,
    On,
    OutFolder,
    Plot,
    Quiet,
    Read,
    Seeds,
    Vary,
    trace_options,
)
from coflash.quantity import counted
from coflash.runs.progress import shown
from coflash.sweep import fleet as job
from coflash.sweep.design import values_by_key

Device = typer.Option(
    "--scenario",
    metavar="NAME|FILE",
    help="The device; its size follows each volume.",
    autocompletion=complete.scenarios,
)
Volumes = typer.Option("--volumes", metavar="DIR|URL", help="Where the volumes' traces are kept; by default in --out.")
Table = typer.Option("--table", metavar="FILE", help="A row for each volume and point: .csv or .parquet.")
By = typer.Option("--by", help="A device for each volume that the records name, or for each file.")


def fleet(
    traces: Annotated[list[str], typer.Argument(metavar="TRACE...", help="The trace of many volumes, or its files.")],
    vary: Vary,
    read: Read = None,
    by: Annotated[job.By, By] = "volume",
    scenario: Annotated[str, Device] = "demo",
    assignments_: Assignments = None,
    volumes: Annotated[str | None, Volumes] = None,
    seeds: Seeds = 1,
    on: On = None,
    out: OutFolder = "results/fleet",
    measures: Measures = None,
    table: Annotated[Path | None, Table] = None,
    plot: Plot = None,
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Run each volume of a trace on a device of its own, and show how results spread over the volumes."""
    from coflash.measures.catalogue import named
    from coflash.results.database import check_table, export_table

    names = [named(name).path for name in measures or ()]
    check_json(json)
    draw = plotter(plot)
    if table is not None:
        check_table(table)
    varied, base = values_by_key(vary), scenario_with(scenario, assignments_)
    with noted(), nullcontext(None) if quiet else shown("reading", errors()) as report:
        done = job.fleet(
            traces,
            varied,
            out=out,
            by=by,
            scenario=base,
            volumes=volumes,
            options=trace_options(read),
            seeds=seeds,
            on=on,
            progress=not quiet,
            reading=report,
        )
    if table is not None:
        export_table(done.table(*names), table)
    files = [
        done.sweep.stored(f" of {counted(len(done.volumes), 'volume')}"),
        *draw(lambda form: done.draw(form, *names[:1])),
    ]
    remarks = [*done.remarks, *done.sweep.results.remarks]
    show_finding(done, json, quiet, measures=names, remarks=remarks, files=files)
    end_if_failed(done.sweep.failures, quiet)
