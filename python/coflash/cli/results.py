"""`coflash results`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coflash import whole
from coflash.cli.console import errors, notes, output, plain_table, show_json
from coflash.cli.many import runs_beside, runs_table
from coflash.cli.summary import run_table
from coflash.cli.sweep import Measures
from coflash.measures import BRIEF, HEADLINE, named
from coflash.results import export_table, results
from coflash.store import Store

app = typer.Typer(help="Results of many runs: list, compare, query, export.", no_args_is_help=True)

Folder = Annotated[
    Path, typer.Option("--in", metavar="DIR", help="The folder of results; those in folders below it count.")
]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]
RunName = typer.Argument(metavar="RUN", help="Its name, or as much of the beginning as is needed.")
DEFAULT = Path("results")


@app.command("list")
def list_(folder: Folder = DEFAULT, measures: Measures = None, json: AsJson = False) -> None:
    """List the runs: what sets them apart, and what they measured."""
    found = results(folder)
    if json:
        show_json(found.rows())
        return
    notes(found.remarks)
    output().print(runs_table(found, [named(name) for name in measures] if measures else BRIEF))
    for failure in Store(folder).failures():
        errors().print(f"failed: {failure.label}: {failure.error}", style="red", markup=False, soft_wrap=True)


@app.command()
def show(run: Annotated[str, RunName], folder: Folder = DEFAULT, json: AsJson = False) -> None:
    """Show what one run counted."""
    found = results(folder)
    result = found[run]
    if json:
        show_json(result.document)
        return
    notes(result.workload["remarks"])
    output().print(run_table(result))
    output().print(f"in {found.folder(run)}", highlight=False, soft_wrap=True)


@app.command()
def compare(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Two or more; the first is what others are measured by.")
    ],
    folder: Folder = DEFAULT,
    measures: Measures = None,
) -> None:
    """Put runs beside each other: where their scenarios differ, and by how much what they measured."""
    found = results(folder)
    names = [found.name(run) for run in runs]
    notes(found.remarks)
    output().print(runs_beside(found, names, [named(name) for name in measures] if measures else HEADLINE))


@app.command()
def sql(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Such as: select run, waf_host from runs")],
    folder: Folder = DEFAULT,
    output_file: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write a .parquet, .csv or .json file instead."),
    ] = None,
    json: AsJson = False,
) -> None:
    """Query the runs with SQL (DuckDB); tables: runs, series, histograms, erase_counts."""
    found = results(folder).sql(query)
    if output_file is not None:
        export_table(found.to_arrow(), output_file)
        typer.echo(output_file)
    elif json:
        show_json(found.to_arrow().to_pylist())
    else:
        table = plain_table(*found.columns)
        for row in zip(*found.to_dict().values(), strict=True):
            table.add_row(*("" if value is None else str(value) for value in row))
        output().print(table)


@app.command()
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .parquet, .csv or .json file.")],
    folder: Folder = DEFAULT,
) -> None:
    """Write a row for each run, with its scenario and all it counted."""
    whole.check_file(file)
    results(folder).export(file)
    typer.echo(file)
