"""A figure of block validity over time, from the decisions of GC that a run recorded."""

from __future__ import annotations

from pathlib import Path

import duckdb

from coflash import palette
from coflash._core import CoflashError
from coflash.charts import Axis, Format, Look, Row, cells, lines, picture, upon
from coflash.table import Table

_TIMES_MAX, _BLOCKS_MAX, _LEVELS = 150, 64, 32
"""The largest number of cells of the maps: times, groups of neighbouring blocks, and shares of valid pages."""
_INCHES = (7.05, 1.9)
_PICKED = "blocks that GC picked (mean)"


def draw(decisions: Path, form: Format, pool: int | None = None) -> bytes:
    """Draw the share of valid pages of full blocks over time: of each block, and how it is distributed.

    Args:
        decisions: The file that `run(..., decisions=...)` wrote.
        form: The format of the picture.
        pool: Only blocks of this pool; of all if None.

    Raises:
        CoflashError: The file holds no decisions.
    """
    found = _Cells(decisions, pool)
    time, shares = Axis("time", "ns"), Axis("valid pages", "share", low=0, high=1)
    greys = ("#f7f7f7", "#404040")
    of_shares = cells(found.by_share(), time, shares, label="blocks (%)", colours=greys, inches=_INCHES)
    mean = lines(found.picked(), time, shares, styles={_PICKED: Look(palette.LINES[0])}, inches=_INCHES)
    by_block = cells(found.by_block(), time, Axis("block"), label="valid pages (%)", inches=_INCHES)
    return picture([by_block, upon(of_shares, mean)], form, columns=1, caption=f"Line: {_PICKED}.")


class _Cells:
    """The cells of the maps: a file may have far more rows than a figure has room for."""

    def __init__(self, decisions: Path, pool: int | None) -> None:
        self._file, self._pool = decisions, "true" if pool is None else f"pool = {int(pool)}"
        found = self._ask(
            "count(*) as rows, min(time_ns) as first_ns, max(time_ns) as last_ns, min(block) as first_block, "
            "max(block) as last_block, count(distinct decision) // greatest(count(distinct pool), 1) as times"
        )
        if not found["rows"][0]:
            of = "" if pool is None else f" of pool {pool}"
            raise CoflashError(f"{decisions}: has no decisions{of}")
        self.first_block, self.last_block = int(found["first_block"][0]), int(found["last_block"][0])
        self._first_ns, last_ns = int(found["first_ns"][0]), int(found["last_ns"][0])
        # Each pool should decide at each time.
        self._times = int(min(_TIMES_MAX, max(1, found["times"][0] // 4)))
        self._time = f"(time_ns - {self._first_ns}) * {self._times} // {last_ns + 1 - self._first_ns} as time"
        self._each_ns = (last_ns + 1 - self._first_ns) / self._times

    def _ask(self, columns: str, rest: str = "") -> Table:
        # Only numbers are put into the query.
        file = "read_parquet(?, hive_partitioning = false)"  # names of folders are never columns, not even `key=value`
        query = f"select {columns} from {file} where {self._pool} {rest}"  # noqa: S608
        try:
            self._file.stat()  # the database's error for a missing file is unclear
            with duckdb.connect() as database:
                return Table.from_masked(database.execute(query, [str(self._file)]).fetchnumpy())
        except FileNotFoundError as error:
            msg = f"{self._file}: no such file; `coflash run demo --decisions {self._file}` writes one"
            raise CoflashError(msg) from error
        except (OSError, duckdb.Error) as error:
            why = str(error).splitlines()[0]
            what = "is a folder" if Path(self._file).is_dir() else f"holds no decisions of GC ({why})"
            raise CoflashError(f"{self._file}: {what}; `coflash run demo --decisions FILE` writes some") from error

    def by_block(self) -> list[Row]:
        """Return the mean share of valid pages in percent of each group of blocks at each time."""
        span = self.last_block + 1 - self.first_block
        groups = min(_BLOCKS_MAX, span)
        place = f"(block - {self.first_block}) * {groups} // {span} as place"
        found = self._ask(f"{self._time}, {place}, avg(100 * valid / pages) as value", "group by all order by all")
        return self._cells(found, self.first_block, span / groups)

    def by_share(self) -> list[Row]:
        """Return the percentage of full blocks with each share of valid pages at each time."""
        place = f"least(valid * {_LEVELS} // pages, {_LEVELS - 1}) as place"
        share = "100 * count(*) / sum(count(*)) over (partition by time) as value"
        return self._cells(
            self._ask(f"{self._time}, {place}, {share}", "group by time, place order by all"), 0, 1 / _LEVELS
        )

    def picked(self) -> list[Row]:
        """Return the times at which GC picked blocks, and their mean shares of valid pages."""
        found = self._ask(f"{self._time}, avg(valid / pages) as value", "and chosen group by all order by time")
        times = self._first_ns + (found["time"] + 0.5) * self._each_ns
        return [{"x": float(x), "y": float(y), "name": _PICKED} for x, y in zip(times, found["value"], strict=True)]

    def _cells(self, found: Table, first: float, high: float) -> list[Row]:
        """Return cells, whose places are so high, and begin at the first."""
        columns = zip(found["time"], found["place"], found["value"], strict=True)
        corners = ((self._first_ns + int(x) * self._each_ns, first + int(y) * high, value) for x, y, value in columns)
        return [{"x": x, "x2": x + self._each_ns, "y": y, "y2": y + high, "value": float(v)} for x, y, v in corners]
