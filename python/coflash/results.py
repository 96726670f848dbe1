"""Many results as one database: a row for each run, and SQL over them."""

from __future__ import annotations

import difflib
import json
import math
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from coflash import whole
from coflash._core import CoflashError
from coflash.metrics import Metrics
from coflash.quantity import read
from coflash.result import FILES, TABLES, Result
from coflash.scenario import flat
from coflash.store import Run, RunFolder, store_at
from coflash.table import Table
from coflash.varied import Key, varied_keys

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl
    import pyarrow as pa


_NOT_OF_A_POINT = ("seed", "name", "description")
"""Keys of a scenario in which runs of one point may differ."""


@final
class Results:
    """Results of many runs, read when this is made.

    As a table it has a row for each run and these columns: `run`, its name; `coflash`, the version; `scenario_hash`;
    `inputs`, the digests of its trace; every key of the scenario; every metric, by its dotted path; and how fast the
    simulator was (`simulator.`). What a run does not have is null.
    """

    __slots__ = ("_folders", "_keys", "_metrics", "_remarks", "_rows", "place")

    def __init__(self, place: str, runs: Iterable[Run]) -> None:
        self.place = place
        self._folders: dict[str, RunFolder] = {}
        self._rows: list[dict[str, Any]] = []
        self._metrics: dict[str, Metrics] = {}
        self._keys: dict[str, None] = {}
        self._remarks: dict[str, None] = {}
        for name, folder, document in runs:
            scenario = dict(flat(document["scenario"]))
            self._keys |= dict.fromkeys(scenario)
            self._folders[name] = folder
            self._remarks |= dict.fromkeys(document["workload"]["remarks"])
            metrics = self._metrics[name] = Metrics(document["metrics"])
            self._rows.append(
                {
                    "run": name,
                    "coflash": document["coflash"],
                    "scenario_hash": document["scenario_hash"],
                    "inputs": " ".join(file["sha256"] for file in document["workload"]["inputs"]),
                    **scenario,
                    **metrics.flat(),
                    **{f"simulator.{name}": value for name, value in document["simulator"].items()},
                }
            )

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of the runs."""
        return tuple(self._folders)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[str]:
        return iter(self._folders)

    def __getitem__(self, run: str) -> Result:
        """The whole result of a run; the beginning of its name is enough.

        Raises:
            CoflashError: No run is called so, or several are.
        """
        return Result.load(self.folder(run))

    def folder(self, run: str) -> Path:
        """The folder of a run, or a copy of it where results were named by a URL; the beginning of its name is enough.

        Raises:
            CoflashError: No run is called so, or several are.
        """
        return self._folders[self.name(run)].here(*sorted(FILES))

    def where(self, run: str) -> str:
        """The path or the URL of a run; the beginning of its name is enough.

        Raises:
            CoflashError: No run is called so, or several are.
        """
        return str(self._folders[self.name(run)])

    def name(self, run: str) -> str:
        """The whole name of a run of which the beginning is given.

        Raises:
            CoflashError: No run is called so, or several are.
        """
        found = [run] if run in self._folders else [name for name in self._folders if name.startswith(run)]
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
        """The keys of the scenario that differ between the runs."""
        return tuple(key for key in self._keys if len({row.get(key) for row in self._rows}) > 1)

    def apart(self) -> tuple[Key, ...]:
        """The keys of the scenario that tell the runs apart: of several that differ between the same runs one."""
        return varied_keys([{key: row.get(key) for key in self._keys} for row in self._rows])

    def of_one_point(self) -> list[tuple[str, ...]]:
        """The names of the runs that have all but their seed in common, together: the same scenario and inputs."""
        groups: dict[tuple[Any, ...], list[str]] = {}
        for row in self._rows:
            key = tuple(
                repr(row.get(name)) for name in (*self._keys, "inputs", "coflash") if name not in _NOT_OF_A_POINT
            )
            groups.setdefault(key, []).append(row["run"])
        return [tuple(runs) for runs in groups.values()]

    @property
    def remarks(self) -> tuple[str, ...]:
        """What had to be assumed of the workloads, or must be known of them, each once."""
        return tuple(self._remarks)

    def metrics(self, run: str) -> Metrics | None:
        """What the run of that full name counted; None where there is none."""
        return self._metrics.get(run)

    def rows(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        return self._rows

    def to_arrow(self) -> pa.Table:
        """As a `pyarrow.Table`."""
        import pyarrow as pa  # takes a while, and most uses of the package need no table library

        names = dict.fromkeys(name for row in self._rows for name in row) or {"run": None}
        return pa.table({name: _column([row.get(name) for row in self._rows]) for name in names})

    def to_polars(self) -> pl.DataFrame:
        """As a `polars.DataFrame`. Needs polars: `pip install 'coflash[polars]'`."""
        import polars as pl

        frame = pl.from_arrow(self.to_arrow())
        assert isinstance(frame, pl.DataFrame)  # not a Series
        return frame

    def to_pandas(self) -> pd.DataFrame:
        """As a `pandas.DataFrame`. Needs pandas: `pip install 'coflash[pandas]'`."""
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def sql(self, query: str) -> Table:
        """What a query (in DuckDB's SQL) gives.

        The tables are `runs`, and, with a row for each window, bucket or block of each run, `series`, `histograms` and
        `erase_counts`; their column `run` says whose it is. Names with dots are quoted: `"response_ns.all.p99"`.
        `number("cache.size")` is a quantity as a number: of bytes, nanoseconds or percent; null where it is none.

        Raises:
            CoflashError: The query is wrong.
        """
        import duckdb

        with duckdb.connect() as connection:
            connection.create_function("number_or_nan", _number, ["VARCHAR"], "DOUBLE")
            connection.execute("create macro number(t) as nullif(number_or_nan(t), 'nan'::double)")
            connection.register("runs", self.to_arrow())
            try:
                for table, file in TABLES.items():
                    if self._rows and re.search(rf"\b{table}\b", query):
                        self._view(connection, table, file)
                found = connection.sql(query)
                if found is None:
                    msg = "SQL: the statement gives no table; a query is allowed, such as select * from runs"
                    raise CoflashError(msg)
                return Table.from_arrow(found.to_arrow_table())
            except duckdb.Error as error:
                msg = f"SQL: {error}"
                raise CoflashError(msg) from error

    def _view(self, connection: duckdb.DuckDBPyConnection, table: str, file: str) -> None:
        import pyarrow as pa

        # Named one by one: a pattern would match what another process is writing.
        files = {str(folder.here(file) / file): run for run, folder in self._folders.items()}
        connection.register(f"{table}_files", pa.table({"filename": list(files), "run": list(files.values())}))
        names = ", ".join("'" + name.replace("'", "''") + "'" for name in files)
        connection.execute(
            f"create view {table} as select * exclude (filename) from {table}_files "  # noqa: S608 - names of files
            f"join read_parquet([{names}], filename = true, union_by_name = true) using (filename)"
        )

    def export(self, file: Path) -> None:
        """Writes the rows to a file of the kind that its name says: .parquet, .csv or .json.

        Raises:
            CoflashError: The name says another kind, or the file cannot be written.
        """
        export_table(self.to_arrow(), file)

    def __repr__(self) -> str:
        return f"<Results of {len(self):,} runs in {self.place}>"


def results(path: str | os.PathLike[str] = "results") -> Results:
    """The results of all runs in a folder or anywhere below it: of sweeps, of `run --out`, of the demo.

    Args:
        path: The folder, or its URL, such as `s3://bucket/oltp`.

    Raises:
        CoflashError: There is no such folder, or a result in it is broken.
    """
    store = store_at(path)
    return Results(store.place, store.all_runs())


def export_table(table: pa.Table, file: Path) -> None:
    """Writes a table to a file of the kind that its name says: .parquet, .csv or .json.

    Raises:
        CoflashError: The name says another kind, or the file cannot be written.
    """
    write = _EXPORTS.get(file.suffix)
    if write is None:
        msg = f"{file}: a name that ends in {', '.join(_EXPORTS)} is allowed"
        raise CoflashError(msg)
    try:
        write(table, file)
    except OSError as error:
        msg = f"{file}: cannot be written: {error.strerror or error}"
        raise CoflashError(msg) from error


def _column(values: list[Any]) -> pa.Array:
    import pyarrow as pa

    kinds = {type(value) for value in values} - {type(None)}
    if len(kinds) > 1 and not kinds <= {int, float}:
        values = [None if value is None else str(value) for value in values]
    return pa.array(values, pa.float64() if kinds == {int, float} else None)


def _number(text: str) -> float:
    try:
        return float(read(text)[0])
    except CoflashError:
        return math.nan


def _write_parquet(table: pa.Table, file: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, file, compression="zstd")


def _write_csv(table: pa.Table, file: Path) -> None:
    import pyarrow.csv as csv

    csv.write_csv(table, file)


def _write_json(table: pa.Table, file: Path) -> None:
    whole.write_file(file, json.dumps(table.to_pylist(), indent=1, ensure_ascii=False) + "\n")


_EXPORTS = {".parquet": _write_parquet, ".csv": _write_csv, ".json": _write_json}
