"""List, compare, query and export the results of many runs.

Options:
    over_seeds: `--seeds` Combine the seeds of a point: means, with 95 % confidence intervals.
    out: `--out -o FILE` Write all columns to a .parquet, .csv or .json file instead.
    format: `--format` A table for a terminal or a document, or JSON with all values.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Literal

import typer

from coflash._core import CoflashError
from coflash.cli.console import check_effect, errors, notes, output, say, show_json, show_table
from coflash.cli.options import Group, TableForm
from coflash.cli.run_tables import keys_left_out, why_command, why_lines
from coflash.cli.summary import summary
from coflash.files.errors import text_of
from coflash.measures.catalogue import named
from coflash.measures.measure import BRIEF, HEADLINE
from coflash.quantity import agreed, change, counted, number_in, show_change
from coflash.quantity import show as shown_as
from coflash.results.database import Results, check_table, export_table, json_rows, results, results_at
from coflash.results.differences import METHOD, differences_table, notes_on_seeds
from coflash.results.fio_json import fio_json
from coflash.results.notes import together
from coflash.results.result import DOCUMENT, Result, notes_of
from coflash.results.store import store_at
from coflash.results.tables import runs_beside, runs_table
from coflash.sweep.plan import alike
from coflash.text_table import TextTable

app = Group(no_args_is_help=True)

RowForm = Literal["terminal", "markdown", "latex", "json"]
DEFAULT = "results"
_BESIDE = 16
"""The most runs that stand side by side unless each is named."""


@app.command("list")
def list_(
    folder: str = DEFAULT,
    measures: list[str] | None = None,
    over_seeds: bool = False,
    where: list[str] | None = None,
    out: Path | None = None,
    format: RowForm = "terminal",
) -> None:
    """List the runs: their varying keys, and their measures."""
    if format == "json" or out is not None:
        why = f"{'with --format json' if out is None else 'on --out'}, which has every measure of every run"
        check_effect({"--measure": measures, "--seeds": over_seeds, "--format": out and format != "terminal"}, why)
    if out is not None:
        check_table(out)
    found = results(folder, where or ())
    if format == "json":
        show_json(found.rows())
        return
    if out is not None:
        notes(found.cautions)
        found.export(out)
        typer.echo(out)
        return
    notes(found.remarks)
    shown = [named(name) for name in measures] if measures else found.applying(BRIEF)
    show_table(runs_table(found, shown, over_seeds=over_seeds), format)
    notes(found.assumed(shown))
    if over_seeds:
        notes(notes_on_seeds(found, shown))
    if (left_out := keys_left_out(found)) and format == "terminal":
        output().print(left_out, style="dim")
    reasons: dict[str, list[str]] = {}
    for failure in store_at(folder).failures():
        reasons.setdefault(alike(failure.error), []).append(f"failed: {failure.label}: {failure.error}")
    for first, *more in reasons.values():
        too = f" (and {len(more)} more for the same reason)" if more else ""
        errors().print(f"{first}{too}", style="red", soft_wrap=True)


@app.command()
def show(run: str, folder: str = DEFAULT) -> None:
    """Show the measures of one run.

    Options:
        run: `RUN` Its name, or the beginning of it.
    """
    found = results(folder)
    notes(found.cautions)
    result = found[run]
    notes(result.notes)
    output().print(summary(result))
    say(f"in {found.where(run)}")


def _way(runs: list[str], folder: str, where: list[str]) -> str:
    """Say what is compared, by what is given; the first that fits counts."""
    places = [Path(run) for run in runs]
    if len(runs) == 2 and any(place.is_file() and '"jobs"' in text_of(place) for place in places):
        return "jobs"
    if len(runs) == 2 and places[0].is_dir() and places[1].is_file():
        return "log"
    if len(runs) == 1 and folder == DEFAULT and places[0].is_dir() and not (places[0] / DOCUMENT).exists():
        return "folder"
    if runs or where:
        return "runs" if runs else "where"
    msg = "compare: no run was given; names of runs are allowed, or --where KEY=VALUE for all that have a value"
    raise CoflashError(msg)


def compare(
    runs: list[str] | None = None,
    folder: str = DEFAULT,
    measures: list[str] | None = None,
    over_seeds: bool = False,
    where: list[str] | None = None,
    intervals: bool = False,
    capacity: str | None = None,
    format: TableForm = "terminal",
) -> None:
    """Show runs side by side: the differences of their scenarios and of their measures.

    Options:
        format: `--format` Tables for a terminal, or for a document.
        runs: `RUN...` A B, one of them a JSON file of fio: bandwidth, rates and response times of each job that both
            have; DIR LOG of nvme fdp stats or smart-log: the WAF of a result (run --out) and of the log, each quarter
            of a fill; DIR of many runs: all of them; RUN RUN...: results by their folders, or by the beginnings of
            their names in --in, with the first one; --where KEY=VALUE: all runs of --in with this value
        intervals: `--intervals` Differences from the first: intervals and tests, over seeds and slices.
        capacity: `--capacity SIZE` Beside a log of nvme fdp stats: what its drive exports, where the run has a smaller
            one.
    """
    runs, where = runs or [], where or []
    way = _way(runs, folder, where)
    if way in ("jobs", "log"):
        given = {"--measure": measures, "--where": where, "--intervals": intervals, "--seeds": over_seeds}
        check_effect(given, f"beside {'a JSON file of fio' if way == 'jobs' else 'a log of nvme fdp stats'}")
        first, second = runs
        show_table(_jobs(first, second) if way == "jobs" else _log(first, second, capacity), format)
        return
    check_effect({"--capacity": capacity}, "without a folder of a run and a log of nvme fdp stats")
    folder = runs[0] if way == "folder" else folder
    found = _named(runs, folder, where) if way == "runs" else results(folder, where)
    names = [found.name(str(Path(run))) for run in (runs if way == "runs" else found.in_order())]
    notes((*found.cautions, *together((found.titles[name], notes_of(found.document(name))) for name in names)))
    shown = [named(name) for name in measures or ()]
    assumed = found.assumed(shown, names)
    if (over_seeds or intervals) and way != "runs":
        names = [group[0] for group in found.of_one_point()]
    if way != "runs" and where and "," in where[0]:
        with suppress(CoflashError):  # a list has commas of its own
            base = results(folder, [where[0].partition(",")[0], *where[1:]])
            names.sort(key=lambda run: run not in base.runs)
    if way != "runs" and len(names) > _BESIDE:
        key = next((key.path for key in found.apart() if key.path not in ("name", "workload.trace")), "name")
        msg = f"compare: {len(names)} runs were given; at most {_BESIDE} stand side by side: choose by --where, or take"
        query = f'select "{key}", avg(waf_host) from runs group by 1'  # noqa: S608 - to be shown
        raise CoflashError(f"{msg} means: coflash results sql '{query}' --in {folder}")
    if intervals and len(names) < 2:
        points = f"{counted(len(names), 'point')} {agreed(len(names), 'was')}"
        msg = f"compare: --intervals are of differences; {points} given, and at least 2 are allowed"
        raise CoflashError(msg)
    if intervals:
        table = differences_table(found, names, shown or found.applying(HEADLINE))
    else:
        table = runs_beside(found, names, shown, over_seeds=over_seeds)
    show_table(table, format)
    whole = results(folder) if where else found
    for line in why_lines(whole, names, shown or BRIEF) or why_command(whole, names):
        say(line, errors())
    notes(assumed)
    notes(METHOD if intervals else notes_on_seeds(found, shown or HEADLINE) if over_seeds else ())


def _named(runs: list[str], folder: str, where: list[str]) -> Results:
    """Read the results of folders of `run --out`; other names are those of runs in --in."""
    places = [Path(run) for run in runs]
    are_folders = all((place / DOCUMENT).is_file() for place in places)
    are_meant = any(place.exists() for place in places) or not Path(folder).is_dir()
    if not where and (are_folders or (folder == DEFAULT and are_meant)):
        return results_at(places)
    return results(folder, where)


def _jobs(first: str, second: str) -> TextTable:
    from coflash.calibrate.fio_beside import beside, read_fio_json  # slow to import

    documents = [fio_json(Result.load(run)) if Path(run).is_dir() else read_fio_json(run) for run in (first, second)]
    table = TextTable(["job", "measure", first, second, "difference"], "llr")
    for row in beside(*documents):
        numbers = (shown_as(number, row.unit) for number in (row.first, row.second))
        table.add(row.job, row.label, *numbers, show_change(change(row.second, row.first)))
    return table


def _log(folder: str, file: str, capacity: str | None) -> TextTable:
    from coflash.calibrate.nvme_fdp import beside_log, read_fdp_log, remarks_of  # its package is slow to import

    log, result = read_fdp_log(Path(file)), Result.load(folder)
    least = result.scenario.exported_bytes()
    size, unit = number_in(capacity) or (0.0, "") if capacity else (least, "bytes")
    if unit != "bytes" or size < least:
        msg = f'--capacity: "{capacity}" was given; {least}B'
        raise CoflashError(f"{msg}, which the drive of the run exports, or more is allowed")
    notes(remarks_of(log, log.stats[-1].host / size))
    return TextTable.of(["WAF", folder, file, "difference"], beside_log(result, log, int(size)))


@app.command()
def sql(query: str, folder: str = DEFAULT, out: Path | None = None, format: RowForm = "terminal") -> None:
    """Query the runs with SQL (DuckDB); tables: runs, series, histograms, erase_counts.

    Options:
        query: `QUERY` Such as: select run, waf_host from runs
    """
    if out is not None:
        check_effect({"--format": format != "terminal"}, "beside --out, whose file says the format by its name")
        check_table(out)
    runs = results(folder)
    notes(runs.cautions)
    found = runs.sql(query)
    notes(runs.percents(query))
    if out is not None:
        export_table(found, out)
        typer.echo(out)
    elif format == "json":
        show_json(json_rows(found))
    else:
        rows = (["" if value is None else str(value) for value in row.values()] for row in json_rows(found))
        show_table(TextTable.of(found.columns, rows, "l"), format)
