"""Many traces in one table: a row for each file, which is read once."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

from coflash._core import CoflashError
from coflash.files import remote
from coflash.files.atomic_write import check_file, new_file
from coflash.files.kept import fetched
from coflash.files.kinds import TABLE
from coflash.scenario import Scenario
from coflash.table import Table, column_of, table_of
from coflash.table_files import rows_of, write_parquet
from coflash.trace import NO_OPTIONS, Options, Paths, info, paths, settings_of
from coflash.trace.trace_info import NUMBERS

DOCUMENT = "volumes.json"
"""The list of the volumes of a trace that was split, in their folder: no trace."""
_Row = dict[str, Any]
_EACH = 100
"""The rows after which the table is written."""
_OF_A_FILE = frozenset({"file", "bytes", "modified_ns", "read", "error", "formats", "remarks", "same_as"})
"""The columns in which two files with the same requests may differ."""
_TYPES = {"bytes": int, "modified_ns": int, **NUMBERS}


def survey(
    traces: Paths,
    file: str | os.PathLike[str],
    options: Options = NO_OPTIONS,
    workers: int | None = None,
    *,
    page: str = "4KiB",
    sample: int | str = "auto",
) -> Table:
    """Describe each file of many, side by side, and write a row for each.

    The columns are `file` (its path from the folder of the table, if it is below that), `bytes`, `modified_ns`, `read`
    (the options, as JSON), `error` (why it cannot be read), `formats`, `remarks` (what was assumed, such as units), the
    numbers of [`info`][coflash.trace.info] by their paths, and `same_as`: the first file whose numbers are all the
    same, so that no trace is counted twice. What a file does not have is null: `pl.col("error").is_not_null()` are
    those that cannot be read. Rows that the table has of files that are the same are kept, so that an interrupted
    survey goes on, and so are rows of files that are not named; not those of files that are gone from a folder that is
    named.

    Args:
        traces: Files, and folders, which stand for all their files but hidden ones and those named README.
        file: The table, a Parquet file.
        options: How to read them.
        workers: The number of threads; None for one on each core.
        page: As of `info`.
        sample: As of `info`.

    Raises:
        CoflashError: There is no file, an option is wrong, or the table cannot be written.
        KeyboardInterrupt: Control-C was pressed; the rows that are done are in the table.
    """
    table, given = Path(file), paths(traces)
    files = dict.fromkeys(each for place in given for each in files_in(place) if place == each or Path(each) != table)
    if table.suffix.lower() != ".parquet":
        raise CoflashError(f"{table}: a name that ends in .parquet is allowed")
    check_file(table, TABLE, files)
    if not files:
        raise CoflashError("survey: no file was given; files and folders that have some are allowed")
    Scenario.from_dict({}).set([(f"workload.trace_options.{key}", one) for key, one in settings_of(options).items()])
    how = {"page": page, "sample": sample}
    old, home = rows_of(table) if table.is_file() else (), whole(table).parent
    names, folders = {name_in(home, each): each for each in files}, {whole(each) for each in given}
    known = {name: row for row in old if (name := row["file"]) in names or folders.isdisjoint((home / name).parents)}
    ended = Event()
    with ThreadPoolExecutor(workers) as pool:
        rows = {
            name: pool.submit(_row, known.get(name, {}), options, how, (name, place), ended)
            for name, place in names.items()
        }
        try:
            for number, row in enumerate(rows.values(), 1):
                row.result()
                if number % _EACH == 0:
                    _write(table, rows, known)
        finally:
            ended.set()
            pool.shutdown(cancel_futures=True)
            found = _write(table, rows, known)
    return found


def name_in(home: Path, file: str) -> str:
    """Return the name of a file in a table of a folder: the same, from wherever the command runs."""
    if remote.is_url(file):
        return file
    path = whole(file)
    return str(path.relative_to(home) if path.is_relative_to(home) else path)


def whole(file: str | os.PathLike[str]) -> Path:
    """Return the path of a file from the root, without `..`."""
    return Path(os.path.abspath(file))  # noqa: PTH100 - Path.absolute keeps ..


def _write(table: Path, rows: Mapping[str, Future[_Row]], known: Mapping[str, _Row]) -> Table:
    """Write the rows that are done, and those of other files as they were."""
    ended = [(file, row) for file, row in rows.items() if row.done() and not row.cancelled()]
    done = {file: row.result() for file, row in ended if row.exception() is None}
    from arro3 import core  # slow to import

    first = dict[frozenset[Any], str]()
    there = [{**row, "same_as": _same_as(row, first)} for _, row in sorted((dict(known) | done).items())]
    found = table_of(there, NUMBERS)
    if there:
        # A column without a value has the type that it has in other surveys: their tables can be put together.
        columns = [column_of([row.get(name) for row in there], _TYPES.get(name, str)) for name in found.columns]
        with new_file(table) as new:
            write_parquet(core.Table.from_arrays(columns, names=found.columns), new)
    return found


def _same_as(row: _Row, first: dict[frozenset[Any], str]) -> str | None:
    """Return the first file with the numbers of a row; None if that is its own."""
    numbers = frozenset(one for one in row.items() if one[0] not in _OF_A_FILE and one[1] is not None)
    found = row["file"] if row["error"] else first.setdefault(numbers, row["file"])
    return None if found == row["file"] else found


def files_in(place: str) -> Sequence[str]:
    """Return the files of a folder and below it, but hidden ones and those named README; of a file or a URL itself."""
    folder = remote.path_of(place)
    if remote.is_url(place) or not folder.is_dir():
        return [place]
    inside = [
        one for one in folder.rglob("*") if one.is_file() and one.stem.upper() != "README" and one.name != DOCUMENT
    ]
    return sorted(str(each) for each in inside if all(part[0] != "." for part in each.relative_to(folder).parts))


def _row(old: _Row, options: Options, how: Mapping[str, Any], named: tuple[str, str], ended: Event) -> _Row:
    name, file = named
    about: _Row = {
        "file": name,
        "bytes": None,
        "modified_ns": None,
        "read": json.dumps({**options, **how}, sort_keys=True, default=str),
    }

    def go_on(*_: object) -> None:
        if ended.is_set():  # Control-C is heard by the main thread alone
            raise KeyboardInterrupt

    try:
        stat = Path(here := fetched(file)).stat()
        about |= {"bytes": stat.st_size, "modified_ns": stat.st_mtime_ns}
        if about.items() <= old.items():
            return old
        found = info(here, options, go_on, **how)
        texts = {"error": None, "formats": ", ".join(found.formats), "remarks": "; ".join(found.remarks) or None}
        return about | texts | found.numbers()
    except (CoflashError, OSError) as error:
        return about | {"error": str(error), "formats": None, "remarks": None, **dict.fromkeys(NUMBERS)}
