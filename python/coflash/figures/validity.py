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
"""The largest number of cells of the maps: times, groups of neighbouring blocks, and shares of valid pages."""
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
        blocks = cells.first_block, cells.last_block + 1
        of_blocks = cells.map(above, cells.by_block(), blocks, cmap="viridis", vmin=0, vmax=100)
        above.set_ylabel("block")
        figure.colorbar(of_blocks, ax=above, label="valid pages (%)")
        of_shares = cells.map(below, cells.by_share(), (0, 100), cmap="Greys", vmin=0)
        below.set_ylabel("valid pages (%)")
        figure.colorbar(of_shares, ax=below, label="blocks (%)")
        times, shares = cells.picked()
        below.plot(times, shares, color=palette.LINES[0], linewidth=1.0, label="blocks that GC picked (mean)")
        below.legend(loc="lower right")
        below.set_xlabel(cells.time_label)
        return picture(figure, form)


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
        first_ns, last_ns = int(found["first_ns"][0]), int(found["last_ns"][0])
        # Each pool should decide at each time.
        self._times = int(min(_TIMES_MAX, max(1, found["times"][0] // 4)))
        self._time = f"(time_ns - {first_ns}) * {self._times} // {last_ns + 1 - first_ns} as time"
        factor, unit = axis_unit("ns", last_ns)
        self._limits = first_ns / factor, (last_ns + 1) / factor
        self.time_label = f"time ({unit})"

    def _ask(self, columns: str, rest: str = "") -> Table:
        # Only numbers are put into the query.
        query = f"select {columns} from file where {self._pool} {rest}"  # noqa: S608
        try:
            return Table.of_parquet(self._file, query)
        except FileNotFoundError as error:
            msg = f"{self._file}: no such file; `coflash run demo --decisions {self._file}` writes one"
            raise CoflashError(msg) from error
        except OSError as error:
            what = "is a folder" if Path(self._file).is_dir() else f"holds no decisions of GC ({error})"
            raise CoflashError(f"{self._file}: {what}; `coflash run demo --decisions FILE` writes some") from error

    def by_block(self) -> NDArray[Any]:
        """Return the mean share of valid pages in percent of each group of blocks at each time; NaN if none is full."""
        span = self.last_block + 1 - self.first_block
        groups = min(_BLOCKS_MAX, span)
        place = f"(block - {self.first_block}) * {groups} // {span} as place"
        found = self._ask(f"{self._time}, {place}, avg(100 * valid / pages) as value", "group by all")
        return self._filled(found, groups, np.nan)

    def by_share(self) -> NDArray[Any]:
        """Return the percentage of full blocks with each share of valid pages at each time; NaN without a decision."""
        place = f"least(valid * {_LEVELS} // pages, {_LEVELS - 1}) as place"
        counts = self._filled(self._ask(f"{self._time}, {place}, count(*) as value", "group by all"), _LEVELS, 0.0)
        full = counts.sum(axis=0)
        shares: NDArray[Any] = 100 * counts / np.where(full > 0, full, np.nan)
        return shares

    def picked(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the times at which GC picked blocks, and their mean shares of valid pages in percent."""
        found = self._ask(f"{self._time}, avg(100 * valid / pages) as value", "and chosen group by all order by time")
        first, last = self._limits
        return first + (found["time"] + 0.5) / self._times * (last - first), found["value"]

    def _filled(self, found: Table, places: int, rest: float) -> NDArray[Any]:
        cells = np.full((places, self._times), rest)
        cells[found["place"].astype(int), found["time"].astype(int)] = found["value"]
        return cells

    def map(self, axes: Axes, cells: NDArray[Any], heights: tuple[float, float], **look: Any) -> Any:
        """Draw cells, with rows between two heights."""
        extent = (*self._limits, *heights)
        return axes.imshow(cells, aspect="auto", origin="lower", interpolation="nearest", extent=extent, **look)
