"""The cost of a page request to a flash cache in front of a disk, as a function of the division of its flash.

The symbols are those of Y. Oh, J. Choi, D. Lee & S. H. Noh, "Caching less for better performance: balancing cache size
and update cost of flash memory cache in hybrid storage systems", FAST 2012:

- ``u``: caching space / flash. The rest is over-provisioned space, in which garbage collection works.
- ``r``: read cache / caching space. The rest is write cache.
- ``u'``: valid pages / pages of the block that is cleaned, `victim_utilisation`.

All results are in microseconds. The simulated cache divides its flash by the same functions.

Examples:
    >>> from coflash import costmodel
    >>> round(costmodel.Costs().write_us(0.80), 1)
    744.0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from coflash import _core
from coflash._core import CoflashError

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from coflash.figures.style import Format

__all__ = [
    "Costs",
    "Demand",
    "Partition",
    "effective_utilisation",
    "victim_utilisation",
    "write_figures",
    "zipf_hit_rates",
]


def victim_utilisation(u: float) -> float:
    """Return U(u) of equation 3: the u' that solves u = (u' - 1) / ln u', for u from 0 to 1.

    Raises:
        CoflashError: u is outside 0 to 1.
    """
    return _core.victim_utilisation(u)


def effective_utilisation(copies_a_page: float) -> float:
    """Invert equation 3: return the u at which it expects this number of GC copies for each page put into flash.

    Its ratio to the measured u tells how much cheaper cleaning is than under random invalidation. The simulated cache
    with ``costs = "measured"`` uses it.

    Raises:
        CoflashError: The number of copies is negative.
    """
    return _core.effective_utilisation(copies_a_page)


def zipf_hit_rates(exponent: float, working_set: float, segment: float = 0.01) -> list[float]:
    """Return the hit rates of caches of one, two ... segments that hold the most popular segments.

    Args:
        exponent: Popularity is in proportion to 1 / rank^exponent; at least 0.
        working_set: The requested space / flash; above 0.
        segment: The unit of ranking, as a share of flash. Smaller segments have a more popular top.

    Raises:
        CoflashError: An argument is outside its range.
    """
    if not (exponent >= 0 and working_set > 0 and 0 < segment <= 1):
        given = f"exponent {exponent}, working set {working_set}, segment {segment}"
        msg = f"{given}: at least 0, above 0, and above 0 up to 1 are allowed"
        raise CoflashError(msg)
    ranks = range(1, max(1, round(working_set / segment)) + 1)
    hits = list(accumulate(rank**-exponent for rank in ranks))
    return [hit / hits[-1] for hit in hits]


@dataclass(frozen=True)
class Demand:
    """The demand on the cache.

    Raises:
        CoflashError: A rate is outside 0 to 1, or hit rates fall.
    """

    reads: float
    """IO_R, the share of page requests to the read cache: reads, except hits in the write cache."""
    writes: float
    """IO_W, the share of page requests to the write cache: writes, and reads that hit there."""
    read_hit_rates: Sequence[float] = ()
    """H_R of read caches of one, two ... segments."""
    write_hit_rates: Sequence[float] = ()
    """H_W of write caches of one, two ... segments."""
    reads_of_write_hits: float = 0.0
    """h', the share of the write cache's hits that are reads."""
    segment: float = 0.01
    """The size of a segment as a share of flash."""

    @cached_property
    def _core(self) -> _core.CostDemand:
        return _core.CostDemand(
            self.reads,
            self.writes,
            list(self.read_hit_rates),
            list(self.write_hit_rates),
            self.segment,
            self.reads_of_write_hits,
        )


class Partition(NamedTuple):
    """A division of flash."""

    u: float
    """Caching space / flash."""
    r: float
    """Read cache / caching space."""
    cost_us: float
    """C_HY, the mean cost of a page request."""


@dataclass(frozen=True)
class Costs:
    """The costs of flash and disk; the defaults are the paper's configuration 1.

    Methods raise `CoflashError` if a cost is negative or an argument outside its range.
    """

    pages_per_block: int = 64
    page_program_us: float = 300.0
    page_read_us: float = 125.0
    page_copy_us: float = 225.0
    block_erase_us: float = 1500.0
    read_positioning_us: float = 4500.0
    write_positioning_us: float = 4900.0
    bandwidth_bytes_per_s: int = 72_000_000
    page_bytes: int = 4096
    write_through: bool = False
    """Whether each write goes to the disk as well; otherwise pages are destaged when they leave the write cache."""

    @cached_property
    def _core(self) -> _core.CostModel:
        return _core.CostModel(
            pages_per_block=self.pages_per_block,
            page_program_us=self.page_program_us,
            page_read_us=self.page_read_us,
            page_copy_us=self.page_copy_us,
            block_erase_us=self.block_erase_us,
            read_positioning_us=self.read_positioning_us,
            write_positioning_us=self.write_positioning_us,
            bandwidth_bytes_per_s=self.bandwidth_bytes_per_s,
            page_bytes=self.page_bytes,
            write_through=self.write_through,
        )

    def gc_us(self, u: float, worst: bool = False) -> float:
        """Return C_GC, the cost of cleaning a block: equation 3, or equation 1 for the worst case."""
        return self._core.gc_us(u, worst)

    def write_us(self, u: float, worst: bool = False) -> float:
        """Return C_PW, the cost of a program with its share of cleaning: equation 4, or 2 for the worst case.

        It may be infinite.
        """
        return self._core.write_us(u, worst)

    def read_cache_us(self, hit_rate: float, u: float) -> float:
        """Return C_HR, the cost of a request to the read cache: equation 5."""
        return self._core.read_cache_us(hit_rate, self.write_us(u))

    def write_cache_us(self, hit_rate: float, reads_of_hits: float, u: float) -> float:
        """Return C_HW, the cost of a request to the write cache; a share of its hits are reads (h')."""
        return self._core.write_cache_us(hit_rate, reads_of_hits, self.write_us(u))

    def hybrid_us(self, demand: Demand, u: float, r: float) -> float:
        """Return C_HY(u, r), the mean cost of a page request: equation 6."""
        return self._core.hybrid_us(demand._core, u, r)

    def best(self, demand: Demand, step: float = 1 / 16, u_max: float = 1.0) -> Partition:
        """Find the division of least cost (algorithm 1): u from a step to below 1, at most ``u_max``; r from 0 to 1."""
        u, r = self._core.best(demand._core, step, u_max)
        return Partition(u, r, self.hybrid_us(demand, u, r))


READS_EXAMPLE = Demand(1.0, 0.0, zipf_hit_rates(1.2, 1.2))
"""The paper's first example: reads only, Zipf 1.2 over 120 % of flash."""
BOTH_EXAMPLE = Demand(0.2, 0.8, zipf_hit_rates(1.2, 1.2), zipf_hit_rates(1.4, 2.2), reads_of_write_hits=0.2)
"""The paper's second example: a fifth reads, writes Zipf 1.4 over 220 % of flash, h' = 0.2."""
_U = [percent / 100 for percent in range(2, 99)]


def write_figures(folder: Path, format: Format = "pdf", costs: Costs | None = None) -> list[Path]:
    """Write the model's two examples as in the paper's figures 3 and 4; return the files.

    Figure 3: reads only, Zipf 1.2 over 120 % of flash. Figure 4: a fifth reads, writes Zipf 1.4 over 220 %, h' = 0.2.

    Args:
        folder: The folder of the files, which is created.
        format: The format of the files.
        costs: The costs of flash and disk; those of configuration 1 if None.

    Raises:
        CoflashError: matplotlib is missing, or the folder cannot be written.
    """
    from coflash.figures.style import picture, style, write_pictures

    costs = costs or Costs()
    with style():
        figures = {"cost-of-reads": figure_of_reads(costs), "cost-of-both": figure_of_both(costs)}
        return write_pictures(
            folder, ((f"{name}.{format}", picture(figure, format)) for name, figure in figures.items())
        )


def figure_of_reads(costs: Costs) -> Figure:
    """Draw the paper's figure 3: the cost of reads, and the share of cleaning in it."""
    import numpy as np

    from coflash.figures.style import new_figure

    figure, axes = new_figure(2.3)
    total = np.array([costs.hybrid_us(READS_EXAMPLE, u, 1.0) for u in _U])
    # Without cleaning, only misses have a cost. Garbage collection adds the rest.
    hits = np.interp(
        _U, READS_EXAMPLE.segment * np.arange(1, 1 + len(READS_EXAMPLE.read_hit_rates)), READS_EXAMPLE.read_hit_rates
    )
    cleaning = (1 - hits) * np.array([costs.write_us(u) - costs.page_program_us for u in _U])
    _line(axes, 0, "all", total)
    _line(axes, 1, "hits and misses", total - cleaning)
    _line(axes, 2, "garbage collection", cleaning)
    _best(axes, costs.best(READS_EXAMPLE, 0.01))
    axes.set_ylim(0, 2.2 * float(np.median(total)) / 1000)
    return _finish(figure, axes)


def figure_of_both(costs: Costs) -> Figure:
    """Draw the paper's figure 4: the cost of reads and writes, for some shares of read cache."""
    import numpy as np

    from coflash.figures.style import new_figure

    figure, axes = new_figure(2.3)
    best = costs.best(BOTH_EXAMPLE, 0.01)
    for line, r in enumerate((0.0, 0.25, 0.5, 0.75)):
        _line(axes, line, f"r = {r:g}", np.array([costs.hybrid_us(BOTH_EXAMPLE, u, r) for u in _U]))
    _best(axes, best)
    axes.set_ylim(0, 3 * best.cost_us / 1000)
    return _finish(figure, axes)


def _line(axes: Axes, line: int, label: str, costs_us: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
    from coflash import palette
    from coflash.figures.style import DASHES

    axes.plot([100 * u for u in _U], costs_us / 1000, label=label, color=palette.LINES[line], linestyle=DASHES[line])


def _best(axes: Axes, best: Partition) -> None:
    axes.plot(100 * best.u, best.cost_us / 1000, "ko", label=f"least: u = {best.u:.2f}, r = {best.r:.2f}")


def _finish(figure: Figure, axes: Axes) -> Figure:
    axes.set_xlim(0, 100)
    axes.set_xlabel("caching space / flash, u (%)")
    axes.set_ylabel("cost of a page request (ms)")
    axes.grid(axis="y")
    figure.legend(loc="outside upper center", ncols=2)
    return figure
