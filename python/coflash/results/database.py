"""Many results as one database: a row for each run, and SQL."""

from __future__ import annotations

import difflib
import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from io import BytesIO
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast, final

from coflash._core import CoflashError
from coflash.files import atomic_write, kinds
from coflash.files.errors import named, no_result
from coflash.measures.catalogue import metric, metric_names, short
from coflash.measures.measure import BRIEF, MEASURES, Measure, applying
from coflash.measures.metrics import Metrics
from coflash.quantity import counted, number_in, with_units
from coflash.results.amounts import with_bytes
from coflash.results.assumptions import assumed, texts_of
from coflash.results.notes import together
from coflash.results.result import (
    DOCUMENT,
    FILES,
    TABLES,
    Result,
    document_of,
    mixed_revisions,
    notes_of,
    replays,
    revision_of,
)
from coflash.results.selection import called, matching
from coflash.results.store import Fleets, FolderStore, LocalFolder, Run, store_at
from coflash.results.tables import runs_table
from coflash.results.varying_keys import Key, labels, varied_keys
from coflash.scenario import LABELS, as_text, flat
from coflash.table import Table, column_of, library
from coflash.table_files import write_parquet

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from arro3 import core


_TITLE_MAX = 80
"""The longest title of a run in a note."""
_NOT_OF_A_POINT = ("seed", *LABELS)
"""The keys in which the runs of one point may differ."""
_HASH = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{8}$")
"""The end of the name of a run of a sweep."""
_UNKNOWN_TABLE = re.compile('Referenced table "(.+?)" not found')
_UNKNOWN_COLUMN = re.compile('Referenced column "(.+?)" not found')
"""In an error of DuckDB, which would name columns by their long names."""
_EXPLAIN = re.compile(r"\bexplain(\s+analyze)?\b", re.IGNORECASE)
_WRITING = frozenset({"COPY", "EXPORT", "ATTACH", "PREPARE"})
"""The kinds of statements that may write a file."""


@final
class Results:
    """Results of many runs, read at once.

    The table has a row for each run and these columns: `run`, its name; `coflash`, the version; `revision`, that of
    results; `scenario_hash`; `inputs`, the digests of its trace; every key of the scenario; every measure, by its
    dotted path; what a section takes for granted (`assumed.endurance`); the speed of the simulator (`simulator.…`);
    and `notes`, one after the other. Values that a run does not have are null.

    Attributes:
        place: The folder or URL.
        is_replayed: Whether any run replayed a trace, which is the same for every seed.
    """

    def __init__(
        self, place: str, runs: Iterable[Run], broken: Sequence[str] = (), fleets: Fleets | None = None
    ) -> None:
        known = list(runs)
        self.place, self._broken, self._fleets = place, broken, fleets or Fleets()
        self._folders = {name: folder for name, folder, _ in known}
        self._documents: dict[str, Mapping[str, Any]] = {name: document for name, _, document in known}
        self._metrics = {name: Metrics(document["metrics"]) for name, document in self._documents.items()}
        self._scenarios: dict[str, dict[str, Any]] = {}  # of the runs that were asked for
        self.is_replayed = any(map(replays, self._documents.values()))

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of the runs."""
        return tuple(self._folders)

    def __len__(self) -> int:
        return len(self._folders)

    def __iter__(self) -> Iterator[str]:
        return iter(self._folders)

    def __getitem__(self, run: str) -> Result:
        """Load the whole result of a run; the beginning of its name is enough.

        Raises:
            CoflashError: No run has this name, or several begin with it.
        """
        return Result.load(self.folder(run))

    def folder(self, run: str) -> Path:
        """Return the folder of a run, or a copy of it if it is below a URL; the beginning of its name is enough.

        Raises:
            CoflashError: No run has this name, or several begin with it.
        """
        return self._folders[self.name(run)].here(*sorted(FILES))

    def where(self, run: str) -> str:
        """Return the path or the URL of a run; the beginning of its name is enough.

        Raises:
            CoflashError: No run has this name, or several begin with it.
        """
        return str(self._folders[self.name(run)])

    def name(self, run: str) -> str:
        """Complete the name of a run from its beginning, or that of one of its folders.

        Raises:
            CoflashError: No run has this name, or several begin with it.
        """
        if not isinstance(run, str):
            msg = f"{self.place}: {run!r} was given; the name of a run is allowed, such as {next(iter(self), '')!r}"
            raise CoflashError(msg)
        found = [run] if run in self._folders else [name for name in self._folders if f"/{run}" in f"/{name}"]
        if len(found) == 1:
            return found[0]
        if found:
            msg = f"{run!r} is the beginning of {len(found)} runs ({', '.join(found[:3])}, …); give more of the name"
        else:
            near = difflib.get_close_matches(run, self._folders, 1)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            there = f"{len(self)} runs are there: coflash results list --in {self.place}"
            msg = f"{self.place}: no run {run!r}{meant} ({there})"
        raise CoflashError(msg)

    def varied(self) -> tuple[str, ...]:
        """List the keys of the scenario that differ between the runs."""
        scenarios = [self.scenario(run) for run in self]
        return tuple(key for key in self._keys() if len({one.get(key) for one in scenarios}) > 1)

    def _keys(self) -> dict[str, None]:
        """List the keys of all scenarios, in their order."""
        return dict.fromkeys(key for run in self for key in self.scenario(run))

    def apart(self) -> tuple[Key, ...]:
        """Find the keys that distinguish the runs; parameters of a policy belong to its name."""
        return self._apart

    @cached_property
    def _apart(self) -> tuple[Key, ...]:
        return varied_keys([document["scenario"] for document in self._documents.values()])

    def in_order(self) -> list[str]:
        """List the runs, sorted by the keys that distinguish them."""
        order = {run: [key.codes[place] for key in self.apart()] for place, run in enumerate(self)}
        return sorted(self, key=order.__getitem__)

    def labels(self, runs: Sequence[str]) -> list[str]:
        """Label some runs, given by their full names: the values of the keys in which they differ, else their names."""
        places = {run: place for place, run in enumerate(self)}
        apart = (key for key in self.apart() if key.path != "seed")
        keys = [key for key in apart if len({key.codes[places[run]] for run in runs}) > 1]
        names = self.shortened()
        found = labels((places[run] for run in runs), keys)
        return [label or names[run] for run, label in zip(runs, found, strict=True)]

    @cached_property
    def titles(self) -> dict[str, str]:
        """What notes call each run: its volume or system, and the values that vary beside; else the end of its name."""
        systems, short = [str(one["scenario"].get("name", "")) for one in self._documents.values()], self.shortened()
        # A key that has one value for each system says nothing beside its name.
        keys = [key for key in self.apart() if len({*zip(systems, key.codes, strict=True)}) > len({*systems})]
        names = systems if len({*systems}) > 1 else [""] * len(self)
        said = [" · ".join(filter(None, each)) for each in zip(names, labels(range(len(self)), keys), strict=True)]
        uses = Counter(title for title in said if len(title) <= _TITLE_MAX)
        return {
            run: title if uses[title] == 1 else f"{title} {short[run]}" if uses[title] else short[run]
            for run, title in zip(self, said, strict=True)
        }

    def shortened(self) -> dict[str, str]:
        """Shorten the names for a table: the last parts of a path, the first digits of a hash, that no other has."""
        parts = {name: _HASH.sub(r"\1", name).split("/") for name in self}
        ends = {name: ["/".join(each[-n:]) for n in range(1, len(each) + 1)] for name, each in parts.items()}
        uses = Counter(end for several in ends.values() for end in several)
        return {name: next((end for end in several if uses[end] == 1), name) for name, several in ends.items()}

    def of_one_point(self) -> list[tuple[str, ...]]:
        """Group the runs that differ in their seed alone, of one revision of results, sorted by the keys."""
        groups: dict[tuple[Any, ...], list[str]] = {}
        rows, keys = {row["run"]: row for row in self.rows()}, self._keys()
        for row in map(rows.__getitem__, self.in_order()):
            key = tuple(repr(row.get(name)) for name in (*keys, "inputs", "revision") if name not in _NOT_OF_A_POINT)
            groups.setdefault(key, []).append(row["run"])
        return [tuple(runs) for runs in groups.values()]

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes on the runs, each once: cautions, and assumptions about the workloads. Tables have the same order."""
        notes = ((self.titles[run], notes_of(self._documents[run])) for run in self.in_order())
        return (*self.cautions, *chain(*self._fleets.values()), *together(notes))

    @property
    def cautions(self) -> tuple[str, ...]:
        """Notes on broken runs that were passed over, on fleets, and on mixtures of revisions and of traces."""
        return (*self._broken, *self._fleets, *mixed_revisions(self._documents.values()))

    def metrics(self, run: str) -> Metrics | None:
        """Return the metrics of a run by its full name; None if there is no such run."""
        return self._metrics.get(run)

    def document(self, run: str) -> Mapping[str, Any]:
        """Return the document of a run by its full name: the whole result without its arrays."""
        return self._documents[run]

    def assumed(self, measures: Iterable[Measure], runs: Sequence[str] = ()) -> list[str]:
        """State what some measures take for granted in these runs, by default all of them, each fact once."""
        return assumed(measures, ((self.titles[run], self._documents[run]) for run in runs or self.in_order()))

    def applying(self, measures: Iterable[Measure]) -> list[Measure]:
        """Choose the measures with anything to show in any run."""
        return applying(measures, self._metrics.values())

    def scenario(self, run: str) -> Mapping[str, Any]:
        """Return the scenario of a run by its full name: values by their paths; a list is JSON."""
        if run not in self._scenarios:
            values = flat(self._documents[run]["scenario"])
            self._scenarios[run] = {path: as_text(value) for path, value in values.items()}
        return self._scenarios[run]

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""
        return self._rows

    @cached_property
    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "run": name,
                "coflash": document["coflash"],
                "revision": revision_of(document),
                "scenario_hash": document["scenario_hash"],
                "inputs": " ".join(file["sha256"] for file in document["workload"]["inputs"]),
                **self.scenario(name),
                **self._metrics[name].flat(),
                **{f"assumed.{section}": text for section, text in texts_of(document).items()},
                **{f"simulator.{name}": value for name, value in document["simulator"].items()},
                "notes": " ".join(notes_of(document)) or None,
            }
            for name, document in self._documents.items()
        ]

    def to_arrow(self, *, text: bool = False) -> pa.Table:
        """Convert to a `pyarrow.Table`. Needs `pip install 'coflash[arrow]'`.

        Sizes, times and shares are numbers whose unit ends the name of the column (`cache.size_bytes`); with `text`
        they are texts as in the scenario (`cache.size`), and so are those whose unit differs from run to run. A size
        that is given as a share is in bytes, too, and the share beside it (`cache.size_share`).
        """
        return library("pyarrow", "arrow").table(self.table(text=text))

    def table(self, *, text: bool = False) -> core.Table:
        """Convert to a table that any library with Arrow's stream interface takes, as `to_arrow` does."""
        from arro3 import core  # slow to import, and most uses need no table library

        names = dict.fromkeys(name for row in self.rows() for name in row) or {"run": None}
        columns: Mapping[str, Sequence[Any]] = {name: [row.get(name) for row in self.rows()] for name in names}
        columns = columns if text else with_units(with_bytes(columns, [*self._documents.values()]))
        numbers = {*metric_names()}
        return core.Table.from_pydict(
            {name: column_of(values, float if name in numbers else str) for name, values in columns.items()}
        )

    def to_polars(self, *, text: bool = False) -> pl.DataFrame:
        """Convert to a `polars.DataFrame`, as `to_arrow` does. Needs `pip install 'coflash[polars]'`."""
        return cast("pl.DataFrame", library("polars").DataFrame(self.table(text=text)))

    def to_pandas(self, *, text: bool = False) -> pd.DataFrame:
        """Convert to a `pandas.DataFrame`, as `to_arrow` does. Needs `pip install 'coflash[pandas]'`."""
        table = self.table(text=text)
        columns = {name: table[name].to_pylist() for name in table.column_names}
        return cast("pd.DataFrame", library("pandas").DataFrame(columns))

    def sql(self, query: str) -> Table:
        """Query the runs with DuckDB's SQL.

        The tables are `runs`, and `series`, `histograms` and `erase_counts`, which have a row for each window, bucket
        or block of each run, and the run's name in the column `run`. Quote names with dots: `"response.p99"`.
        The columns of runs are those of `to_polars`: a size is `"cache.size_bytes"`. `"cache.size"` is the text of the
        scenario, and `number("cache.size")` that text as a number of bytes, nanoseconds or percent.

        Raises:
            CoflashError: The query is wrong.
        """
        import duckdb

        with _interruptible(), duckdb.connect() as connection:
            connection.create_function("number_or_nan", _number, ["VARCHAR"], "DOUBLE")
            connection.execute("create macro number(t) as nullif(number_or_nan(t::varchar), 'nan'::double)")
            connection.register("runs", self._table_for(query))
            try:
                if any(each.type.name in _WRITING for each in connection.extract_statements(_EXPLAIN.sub("", query))):
                    msg = "SQL: a statement that writes a file was given; a query is allowed, whose rows are written by"
                    raise CoflashError(f"{msg} write_parquet, or by 'coflash results sql QUERY --out FILE'")
                for table, file in TABLES.items():
                    if self._folders and re.search(rf"\b{table}\b", query):
                        self._view(connection, table, file)
                found = connection.sql(query)
                if found is None:
                    msg = "SQL: the statement gives no table; a query is allowed, such as select * from runs"
                    raise CoflashError(msg)
                for name, kind in zip(found.columns, found.types, strict=True):
                    if kind.id in ("list", "array", "struct", "map"):
                        msg = f'SQL: "{name}" has lists; take one value, as in x[1], or a row for each: unnest(x)'
                        raise CoflashError(msg)
                return Table.from_masked(found.fetchnumpy())
            except duckdb.Error as error:
                msg = f"SQL: {error}"
                if (other := _UNKNOWN_TABLE.search(str(error))) and (
                    dotted := re.search(rf"\b{re.escape(other[1])}(\.\w+)+", query)
                ):
                    msg = f'SQL: {dotted[0]}: a name with dots stands in double quotes: "{dotted[0]}"'
                if unknown := _UNKNOWN_COLUMN.search(str(error)):
                    meant = [path for path in metric_names() if short(path) == unknown[1]]
                    names = [*self._keys(), *map(short, metric_names())]
                    begins = [path for path in metric_names() if path.startswith(unknown[1])]  # "waf": first the host's
                    close = begins or difflib.get_close_matches(unknown[1], names, 1)
                    near = " or ".join(meant or close[:1])
                    if near in self._keys():  # a size has a column in bytes
                        near = next((one for one in self.table().column_names if one.startswith(f"{near}_")), near)
                    told = f'did you mean "{near}"?' if near else "the query 'describe runs' lists those of a table"
                    msg = f'SQL: no column "{unknown[1]}"; {told}'
                raise CoflashError(msg) from error

    def percents(self, query: str) -> list[str]:
        """Note on each condition of a query that compares a share with a number of percent, which none reaches."""
        compared = re.findall(r'([\w.]+)"?\s*[<>=]+\s*(\d+\.?\d*)', query)
        shares = {name for name in self.table().column_names if name.endswith(("_share", ".share"))}
        shares |= {path for path in metric_names() if MEASURES[path].unit == "share"}
        pairs = [(name, float(number)) for name, number in compared if name in shares and float(number) > 1]
        return [f"{name} is a share from 0 to 1: {number:g} % is {number / 100:g}" for name, number in pairs]

    def _table_for(self, query: str) -> core.Table:
        """Return the table of the runs, and a column for each other name in quotes: a text, or a short one, "waf"."""
        runs, texts = self.table(), self.table(text=True)
        for name in set(re.findall(r'"([^"]+)"', query)) - set(runs.column_names):
            path = called(name, self._keys())
            with suppress(CoflashError):
                path = path or metric(name)
            if path in texts.column_names:
                runs = runs.append_column(name, texts[path])
        return runs

    def _view(self, connection: duckdb.DuckDBPyConnection, table: str, file: str) -> None:
        from arro3 import core

        # Named one by one: a pattern would match files that another process is still writing.
        files = {str(folder.here(file) / file): run for run, folder in self._folders.items()}
        names_of_runs = core.Table.from_pydict({"filename": column_of([*files]), "run": column_of([*files.values()])})
        connection.register(f"{table}_files", names_of_runs)
        names = ", ".join("'" + name.replace("'", "''") + "'" for name in files)
        connection.execute(
            f"create view {table} as select * exclude (filename) from {table}_files "  # noqa: S608 - names of files
            f"join read_parquet([{names}], filename = true, union_by_name = true) using (filename)"
        )

    def export(self, file: Path) -> None:
        """Write the rows to a file that ends in .parquet, .csv or .json.

        Raises:
            CoflashError: The name ends otherwise, or the file cannot be written.
        """
        export_table(self.table(), file)

    def _repr_html_(self) -> str:
        title = f"{counted(len(self), 'run')} in {self.place}"
        return runs_table(self, self.applying(BRIEF), title=title).html(len(self))

    def __repr__(self) -> str:
        return f"<Results of {counted(len(self), 'run')} in {self.place}>"


def results(path: str | os.PathLike[str] = "results", where: Sequence[str] = ()) -> Results:
    """Read the results of all runs in a folder and below it: of sweeps, of `run --out`, of the demo.

    A broken result is passed over, and named in the remarks.

    Args:
        path: The folder, or its URL, such as `s3://bucket/oltp`.
        where: Conditions `KEY=VALUE` on the scenarios, such as `"cache.size=64MiB"`, or `"cache.size=32MiB,64MiB"`.
            Units do not matter: 1GiB is 1024MiB.

    Raises:
        CoflashError: There is no such folder, it holds no result or broken ones alone, or no run meets the conditions.
    """
    store = store_at(path)
    runs = list(store.all_runs())
    has_begun = isinstance(store, FolderStore) and (store.path / "runs").is_dir()
    if not runs and (store.broken or not has_begun):
        raise CoflashError(store.broken[0]) if store.broken else no_result(store.place)
    found, older = matching(runs, where, store.fleets.gone)
    return Results(store.place, found, [*store.broken, *older], store.fleets)


def results_at(folders: Sequence[Path]) -> Results:
    """Read single results, each a run by the name of its folder.

    Raises:
        CoflashError: One cannot be read.
    """
    if missing := next((folder for folder in folders if not (folder / DOCUMENT).is_file()), None):
        raise no_result(missing)
    documents = [document_of((folder / DOCUMENT).read_bytes(), folder) for folder in folders]
    runs = [(str(folder), LocalFolder(folder), one) for folder, one in zip(folders, documents, strict=True)]
    return Results(os.path.commonpath(list(map(str, folders))) or ".", runs)


def check_table(file: Path) -> None:
    """Raise errors of `export_table` before the work instead of after it."""
    if file.suffix not in _EXPORTS:
        raise CoflashError(f"{file}: a name that ends in {', '.join(_EXPORTS)} is allowed")
    atomic_write.check_file(file, kinds.TABLE)


def export_table(table: core.Table | Table, file: Path) -> None:
    """Write a table to a file that ends in .parquet, .csv or .json.

    Raises:
        CoflashError: The name ends otherwise, or the file cannot be written.
    """
    check_table(file)
    content = _EXPORTS[file.suffix](table)
    if file.suffix == ".csv" and file.is_file() and file.stat().st_size:
        with named(file, "read"), file.open("rb") as old:
            if old.readline().rstrip() != content.split(b"\n", 1)[0].rstrip():
                raise CoflashError(f"{file}: exists and has other columns; delete it or name another")
    atomic_write.write_file(file, content)


def _number(text: str) -> float:
    number, unit = number_in(text) or (math.nan, "")
    return round(100 * number, 7) if unit == "share" else number


def _parquet(table: Any) -> bytes:
    file = BytesIO()
    write_parquet(table, file)
    return file.getvalue()


def _csv(table: Any) -> bytes:
    import duckdb

    with TemporaryDirectory(prefix="coflash-") as folder:
        file = Path(folder, "table.csv")
        duckdb.from_arrow(table).write_csv(str(file))
        return file.read_bytes()


def json_rows(table: Any) -> list[dict[str, Any]]:
    """Return the rows of an Arrow table, or of any that exports one, for JSON: NaN and infinity become null."""
    from arro3 import core

    found = core.Table.from_arrow(table)
    columns = {name: found[name].to_pylist() for name in found.column_names}
    rows = zip(*columns.values(), strict=True)
    return [{name: _finite(value) for name, value in zip(columns, row, strict=True)} for row in rows]


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _json(table: Any) -> bytes:
    return (json.dumps(json_rows(table), indent=1, ensure_ascii=False) + "\n").encode()


_EXPORTS: dict[str, Callable[[Any], bytes]] = {".parquet": _parquet, ".csv": _csv, ".json": _json}


@contextmanager
def _interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt for Control-C, which DuckDB turns into an error of its own."""
    try:
        yield
    except RuntimeError as error:
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from None
        raise
