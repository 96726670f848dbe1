"""A figure of block validity over time, from the decisions of GC that a run recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coflash import palette
from coflash._core import CoflashError
from coflash.figures.style import Format, axis_unit, picture, style
from coflash.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

_TIMES_MAX, _BLOCKS_MAX, _LEVELS = 300, 256, 32
"""The most cells of the maps: times, groups of neighbouring blocks, and shares of valid pages."""
_HEIGHT_INCHES = 3.6


def draw(decisions: Path, form: Format, pool: int | None = None) -> bytes:
    """Draw the share of valid pages of full blocks over time: of each block, and how it is distributed.

    Args:
        decisions: The file that `run(..., decisions=...)` wrote.
        form: The format of the picture.
        pool: Only blocks of this pool; of all if None.

    Raises:
        CoflashError: matplotlib is missing, or the file holds no decisions.
    """
    with style(2):
        from matplotlib.figure import Figure

        cells = _Cells(decisions, pool)
        figure = Figure(figsize=(7.05, _HEIGHT_INCHES), layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True)
        map_of_blocks = cells.map(above, cells.by_block(), (cells.first_block, cells.last_block + 1), "viridis", (0, 100))
        above.set_ylabel("block")
        figure.colorbar(map_of_blocks, ax=above, label="valid pages (%)")
        map_of_shares = cells.map(below, cells.by_share(), (0, 100), "Greys", (0, None))
        below.set_ylabel("valid pages (%)")
        figure.colorbar(map_of_shares, ax=below, label="blocks (%)")
        times, shares = cells.picked()
        below.plot(times, shares, color=palette.LINES[0], linewidth=1.0, label="blocks that GC picked (mean)")
        below.legend(loc="upper right")
        below.set_xlabel(cells.time_label)
        return picture(figure, form)


class _Cells:
    """The cells of the maps: a file may have far more rows than a figure has room for."""

    def __init__(self, decisions: Path, pool: int | None) -> None:
        self._file, self._where = decisions, "" if pool is None else f"where pool = {int(pool)}"
        found = self._ask(
            "select count(*) as rows, min(time_ns) as first_ns, max(time_ns) as last_ns, min(block) as first_block, "
            "max(block) as last_block, max(decisions) as times from (select *, count(*) filter (where chosen) over "
            f"(partition by pool) as decisions from file {self._where})"
        )
        if not found["rows"][0]:
            of = "" if pool is None else f" of pool {pool}"
            msg = f"{decisions}: has no decisions{of}"
            raise CoflashError(msg)
        self.first_block, self.last_block = int(found["first_block"][0]), int(found["last_block"][0])
        self._first_ns, last_ns = int(found["first_ns"][0]), int(found["last_ns"][0])
        self._times = int(min(_TIMES_MAX, found["times"][0]))
        self._blocks = min(_BLOCKS_MAX, self.last_block + 1 - self.first_block)
        self._span_ns = last_ns + 1 - self._first_ns
        factor, unit = axis_unit("ns", last_ns)
        self._limits = self._first_ns / factor, (last_ns + 1) / factor
        self.time_label = f"time ({unit})"

    def _ask(self, query: str) -> Table:
        try:
            return Table.of_parquet(self._file, query)
        except OSError as error:
            msg = f"{self._file}: holds no decisions of GC: {error}"
            raise CoflashError(msg) from error

    def _time(self) -> str:
        return f"(time_ns - {self._first_ns}) * {self._times} // {self._span_ns} as time"

    def by_block(self) -> NDArray[Any]:
        """Return the mean share of valid pages in percent of each group of blocks at each time; NaN if none is full."""
        span = self.last_block + 1 - self.first_block
        group = f"(block - {self.first_block}) * {self._blocks} // {span} as place"
        found = self._ask(f"select {self._time()}, {group}, avg(100 * valid / pages) as value from file {self._where} group by all")
        return self._filled(found, self._blocks, np.nan)

    def by_share(self) -> NDArray[Any]:
        """Return the percentage of full blocks with each share of valid pages at each time."""
        level = f"least(valid * {_LEVELS} // pages, {_LEVELS - 1}) as place"
        found = self._ask(f"select {self._time()}, {level}, count(*) as value from file {self._where} group by all")
        counts = self._filled(found, _LEVELS, 0.0)
        with np.errstate(invalid="ignore"):  # a time without a decision stays empty
            return 100 * counts / counts.sum(axis=0)

    def picked(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the times at which GC picked blocks, and their mean shares of valid pages in percent."""
        condition = f"{self._where} {'and' if self._where else 'where'} chosen"
        found = self._ask(
            f"select {self._time()}, avg(100 * valid / pages) as value from file {condition} group by all order by time"
        )
        first, last = self._limits
        return first + (found["time"] + 0.5) / self._times * (last - first), found["value"]

    def _filled(self, found: Table, places: int, rest: float) -> NDArray[Any]:
        cells = np.full((places, self._times), rest)
        cells[found["place"].astype(int), found["time"].astype(int)] = found["value"]
        return cells

    def map(self, axes: Axes, cells: NDArray[Any], heights: tuple[float, float], colours: str, ends: tuple[Any, Any]) -> Any:
        """Draw cells, whose rows lie between two heights."""
        return axes.imshow(
            cells,
            aspect="auto",
            origin="lower",
            interpolation="nearest",
            extent=(*self._limits, *heights),
            cmap=colours,
            vmin=ends[0],
            vmax=ends[1],
        )
