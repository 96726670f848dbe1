"""List, compare, query and export the results of many runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coflash._core import CoflashError
from coflash.cli.console import (
    check_effect,
    errors,
    notes,
    output,
    plain_table,
    show_json,
    show_or_write,
    show_table,
)
from coflash.cli.options import AsJson, Folder, Measures, TableFormat, Where, out_option
from coflash.cli.run_tables import (
    differences_table,
    keys_left_out,
    runs_beside,
    runs_table,
    why_command,
    why_lines,
)
from coflash.cli.summary import run_table
from coflash.measures.catalogue import named
from coflash.measures.measure import BRIEF, HEADLINE
from coflash.quantity import change, number_in, show_change
from coflash.quantity import show as shown_as
from coflash.results.database import check_table, export_table, json_rows, results, results_at
from coflash.results.differences import METHOD, notes_on_seeds
from coflash.results.fio_json import beside, fio_json, read_fio_json
from coflash.results.nvme_fdp import beside_log, read_fdp_log, remarks_of
from coflash.results.result import DOCUMENT, Result
from coflash.results.store import store_at

app = typer.Typer(no_args_is_help=True, add_completion=False)

OverSeeds = Annotated[
    bool, typer.Option("--seeds", help="Combine the seeds of a point: means, with 95 % confidence intervals.")
]
RunName = typer.Argument(metavar="RUN", help="Its name, or the beginning of it.")
DEFAULT = "results"


@app.command("list")
def list_(
    folder: Folder = DEFAULT,
    measures: Measures = None,
    over_seeds: OverSeeds = False,
    where: Where = None,
    format: TableFormat = "terminal",
    json: AsJson = False,
) -> None:
    """List the runs: their varying keys, and their measures."""
    if json:
        check_effect({"--measure": measures, "--seeds": over_seeds}, "on --json, which has every measure of every run")
        show_json(results(folder, where or ()).rows())
        return
    found = results(folder, where or ())
    notes(found.remarks)
    shown = [named(name) for name in measures] if measures else found.applying(BRIEF)
    show_or_write(runs_table(found, shown, over_seeds=over_seeds), format)
    notes(found.assumed(shown))
    if over_seeds:
        notes(notes_on_seeds(found, shown))
    if (left_out := keys_left_out(found)) and format == "terminal":
        output().print(left_out, style="dim", highlight=False)
    for failure in store_at(folder).failures():
        errors().print(f"failed: {failure.label}: {failure.error}", style="red", markup=False, soft_wrap=True)


_RUNS = (
    "Two or more, names or folders, compared with the first; all of a folder of many; with --where, all that it "
    "leaves; or a result and a log of nvme fdp stats."
)


_CAPACITY = "Beside a log of nvme fdp stats: what its drive exports, where the run has a smaller one."
_INTERVALS = "Differences from the first: intervals and tests, over seeds and slices."
_FIRST = "A folder of a result (run --out), or a JSON file of fio or of coflash."


@app.command()
def show(run: Annotated[str, RunName], folder: Folder = DEFAULT, json: AsJson = False) -> None:
    """Show the measures of one run."""
    found = results(folder)
    notes(found.cautions)
    result = found[run]
    if json:
        show_json(result.document)
        return
    notes(result.notes)
    output().print(run_table(result))
    output().print(f"in {found.where(run)}", highlight=False, soft_wrap=True)


def compare(
    runs: Annotated[list[str] | None, typer.Argument(metavar="RUN...", help=_RUNS)] = None,
    folder: Folder = DEFAULT,
    measures: Measures = None,
    over_seeds: OverSeeds = False,
    where: Where = None,
    intervals: Annotated[bool, typer.Option("--intervals", help=_INTERVALS)] = False,
    capacity: Annotated[str | None, typer.Option("--capacity", metavar="SIZE", help=_CAPACITY)] = None,
    format: TableFormat = "terminal",
) -> None:
    """Show runs side by side: the differences of their scenarios and of their measures."""
    if runs and len(runs) == 1 and folder == DEFAULT and not (whole := Path(runs[0]) / DOCUMENT).exists():
        folder, runs = (runs[0], []) if whole.parent.is_dir() else (folder, runs)
    elif not runs and not where:
        msg = "compare: no run was given; names of runs are allowed, or --where KEY=VALUE for all that have a value"
        raise CoflashError(msg)
    if runs and len(runs) == 2 and Path(runs[0]).is_dir() and Path(runs[1]).is_file():
        check_effect(
            {"--measure": measures, "--where": where, "--intervals": intervals}, "beside a log of nvme fdp stats"
        )
        table = plain_table("WAF", runs[0], runs[1], "difference")
        log, result = read_fdp_log(Path(runs[1])), Result.load(runs[0])
        least = result.scenario.core.exported_bytes()
        size, unit = number_in(capacity) or (0.0, "") if capacity else (least, "bytes")
        if unit != "bytes" or size < least:
            msg = f'--capacity: "{capacity}" was given; {least}B'
            raise CoflashError(f"{msg}, which the drive of the run exports, or more is allowed")
        notes(remarks_of(log, log.stats[-1].host / size))
        for row in beside_log(result, log, int(size)):
            table.add_row(*row)
        show_table(table, output())
        return
    check_effect({"--capacity": capacity}, "without a folder of a run and a log of nvme fdp stats")
    # Folders of `run --out` are named as they are; other names are those of runs in --in.
    places = [Path(run) for run in runs or () if not where]
    apart = places and all((place / DOCUMENT).is_file() for place in places)
    apart = apart or (folder == DEFAULT and any(place.exists() for place in places))
    found = results_at(list(map(Path, runs or ()))) if apart else results(folder, where or ())
    names = [found.name(run) for run in runs or found.in_order()]
    if (over_seeds or intervals) and not runs:
        names = [group[0] for group in found.of_one_point()]
    notes(found.remarks)
    shown = [named(name) for name in measures or ()]
    if intervals and len(names) < 2:
        msg = f"compare: --intervals are of differences; {len(names)} point was given, and at least 2 are allowed"
        raise CoflashError(msg)
    if intervals:
        table = differences_table(found, names, shown or found.applying(HEADLINE))
    else:
        table = runs_beside(found, names, shown, over_seeds=over_seeds)
    show_or_write(table, format)
    for line in why_lines(found, names, shown or BRIEF) or why_command(found, names, shown or BRIEF):
        errors().print(line, highlight=False, markup=False, soft_wrap=True)
    notes(found.assumed(shown))
    if intervals:
        notes(METHOD)
    elif over_seeds:
        notes(notes_on_seeds(found, shown or HEADLINE))


@app.command()
def jobs(
    first: Annotated[Path, typer.Argument(metavar="FIRST", help=_FIRST)],
    second: Annotated[Path, typer.Argument(metavar="SECOND", help="The same; such as what fio measured on a drive.")],
) -> None:
    """Show two results job by job: a simulated drive, and what fio measured on a real one."""
    documents = [fio_json(Result.load(place)) if place.is_dir() else read_fio_json(place) for place in (first, second)]
    table = plain_table("job", "measure", str(first), str(second), "difference")
    for row in beside(*documents):
        numbers = (shown_as(number, row.unit) for number in (row.first, row.second))
        table.add_row(row.job, row.label, *numbers, show_change(change(row.second, row.first)))
    show_table(table, output())


@app.command()
def sql(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Such as: select run, waf_host from runs")],
    folder: Folder = DEFAULT,
    output_file: Annotated[Path | None, out_option("FILE", "Write a .parquet, .csv or .json file instead.")] = None,
    format: TableFormat = "terminal",
    json: AsJson = False,
) -> None:
    """Query the runs with SQL (DuckDB); tables: runs, series, histograms, erase_counts."""
    if output_file is not None:
        check_effect({"--json": json}, "beside --out, whose file says the format by its name")
        check_table(output_file)
    runs = results(folder)
    notes(runs.cautions)
    found = runs.sql(query)
    if output_file is not None:
        export_table(found, output_file)
        typer.echo(output_file)
    elif json:
        show_json(json_rows(found))
    else:
        table = plain_table(*found.columns)
        for row in json_rows(found):
            table.add_row(*("" if value is None else str(value) for value in row.values()))
        show_or_write(table, format)


@app.command()
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .parquet, .csv or .json file.")],
    folder: Folder = DEFAULT,
) -> None:
    """Write a row for each run, with its scenario and all its measures."""
    check_table(file)
    found = results(folder)
    notes(found.cautions)
    found.export(file)
    typer.echo(file)
