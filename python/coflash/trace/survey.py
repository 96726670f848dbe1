"""Many traces in one table: a row for each file, which is read once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from coflash._core import CoflashError
from coflash.files import remote
from coflash.files.atomic_write import check_file, new_file
from coflash.files.kept import fetched
from coflash.files.kinds import TABLE
from coflash.scenario import Scenario
from coflash.table import Table, table_of
from coflash.table_files import write_parquet
from coflash.trace import NO_OPTIONS, Options, Paths, info, paths

_EACH = 100
"""The rows after which the table is written."""
_OF_A_FILE = frozenset({"file", "bytes", "modified_ns", "read", "error", "formats", "remarks", "same_as"})
"""The columns in which two files with the same requests may differ."""


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

    The columns are `file`, `bytes`, `modified_ns`, `read` (the options), `error` (empty, or why it cannot be read),
    `formats`, `remarks` (what was assumed, such as units), the numbers of [`info`][coflash.trace.info] by their paths,
    and `same_as`: the first file whose numbers are all the same, so that no trace is counted twice. Rows that the table
    has of files that are the same are kept, so that an interrupted survey goes on.

    Args:
        traces: Files, and folders, which stand for all their files.
        file: The table, a Parquet file.
        options: How to read them.
        workers: The number of threads; None for one on each core.
        page: As of `info`.
        sample: As of `info`.

    Raises:
        CoflashError: There is no file, an option is wrong, or the table cannot be written.
    """
    table, files = Path(file), [each for place in paths(traces) for each in files_in(place)]
    if table.suffix.lower() != ".parquet":
        raise CoflashError(f"{table}: a name that ends in .parquet is allowed")
    check_file(table, TABLE, files)
    if not files:
        raise CoflashError("survey: no file was given; files and folders that have some are allowed")
    Scenario.from_dict({}).with_({f"workload.trace_options.{key}": one for key, one in options.items()})
    how = {"page": page, "sample": sample}
    known = {str(row["file"]): row for row in _rows(table)}
    rows, first = list[Mapping[str, Any]](), dict[frozenset[Any], str]()
    with ThreadPoolExecutor(workers) as pool:
        for number, row in enumerate(pool.map(partial(_row, known, options, how), files), 1):
            rows.append({**row, "same_as": _same_as(row, first)})
            if number % _EACH == 0 or number == len(files):
                with new_file(table) as new:
                    write_parquet(table_of(rows), new)
    return table_of(rows)


def _same_as(row: Mapping[str, Any], first: dict[frozenset[Any], str]) -> str:
    """Return the first file with the numbers of a row; empty if that is its own."""
    numbers = frozenset(one for one in row.items() if one[0] not in _OF_A_FILE)
    found = row["file"] if row["error"] else first.setdefault(numbers, row["file"])
    return "" if found == row["file"] else found


def files_in(place: str) -> Sequence[str]:
    """Return the files of a folder and below it; of a file or a URL itself."""
    folder = remote.path_of(place)
    if remote.is_url(place) or not folder.is_dir():
        return [place]
    return sorted(str(each) for each in folder.rglob("*") if each.is_file())


def _rows(table: Path) -> Iterator[Mapping[str, Any]]:
    """Read the rows of an earlier survey, each without its gaps."""
    if table.is_file():
        columns = Table.read_parquet(table).to_dict()
        for values in zip(*(column.tolist() for column in columns.values()), strict=True):
            row = zip(columns, values, strict=True)
            yield {name: value for name, value in row if value is not None and value == value}


def _row(
    known: Mapping[str, Mapping[str, Any]], options: Options, how: Mapping[str, Any], file: str
) -> Mapping[str, Any]:
    about: dict[str, Any] = {
        "file": file,
        "bytes": 0,
        "modified_ns": 0,
        "read": str(sorted({**options, **how}.items())),
    }
    try:
        stat = Path(here := fetched(file)).stat()
        about |= {"bytes": stat.st_size, "modified_ns": stat.st_mtime_ns}
        if (old := known.get(file)) and about.items() <= old.items():
            return old
        found = info(here, options, **how)
        texts = {"error": "", "formats": ", ".join(found.formats), "remarks": "; ".join(found.remarks)}
        return about | texts | found.numbers()
    except (CoflashError, OSError) as error:
        return about | {"error": str(error)}
