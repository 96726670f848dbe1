"""The two examples of the paper's cost model: its figures 3 and 4, and their numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from coflash import palette
from coflash.costmodel import BOTH_EXAMPLE, READS_EXAMPLE, Costs, Partition
from coflash.figures.style import DASHES, new_figure
from coflash.quantity import show_change
from coflash_reproduce.paper import Grid, Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

READS_U, BOTH_U, BOTH_R = 0.92, 0.64, 0.25
"""The paper's results for its two examples."""
COSTS = Costs()
PERCENT = range(2, 99)


def best_of_reads() -> Partition:
    """Return the division of least cost for reads only."""
    return COSTS.best(READS_EXAMPLE, 0.01)


def best_of_both() -> Partition:
    """Return the division of least cost for reads and writes."""
    return COSTS.best(BOTH_EXAMPLE, 0.01)


def draw_reads(_: Runs) -> Canvas:
    """Draw the cost of reads, and the share of cleaning in it: without it only misses have a cost."""

    def cleaning(u: float) -> float:
        missed = 1 - READS_EXAMPLE.read_hit_rates[round(100 * u) - 1]
        return missed * (COSTS.write_us(u) - COSTS.page_program_us)

    def total(u: float) -> float:
        return COSTS.hybrid_us(READS_EXAMPLE, u, 1.0)

    lines = {"all": total, "hits and misses": lambda u: total(u) - cleaning(u), "garbage collection": cleaning}
    return _drawn(lines, best_of_reads(), 2.2 * median(total(percent / 100) for percent in PERCENT))


def draw_both(_: Runs) -> Canvas:
    """Draw the cost of reads and writes, for some shares of read cache."""
    shares = (0.0, 0.25, 0.5, 0.75)
    lines = {f"r = {r:g}": partial(COSTS.hybrid_us, BOTH_EXAMPLE, r=r) for r in shares}
    return _drawn(lines, best_of_both(), 3 * best_of_both().cost_us)


def _drawn(lines: Mapping[str, Callable[[float], float]], best: Partition, most_us: float) -> Canvas:
    figure, axes = new_figure(2.3)
    for (label, cost_us), colour, dashes in zip(lines.items(), palette.LINES, DASHES, strict=False):
        costs_ms = [cost_us(percent / 100) / 1000 for percent in PERCENT]
        axes.plot(PERCENT, costs_ms, label=label, color=colour, linestyle=dashes)
    axes.plot(100 * best.u, best.cost_us / 1000, "ko", label=f"least: u = {best.u:.2f}, r = {best.r:.2f}")
    axes.set(xlim=(0, 100), ylim=(0, most_us / 1000))
    axes.set(xlabel="caching space / flash, u (%)", ylabel="cost of a page request (ms)")
    axes.grid(axis="y")
    figure.legend(loc="outside upper center", ncols=2)
    return figure


def table_of_reads(_: Runs) -> Grid:
    """Return the numbers of the first example."""
    return Grid(("", "paper", "here"), (("u of least cost", f"near {READS_U}", f"{best_of_reads().u:.2f}"),))


def table_of_both(_: Runs) -> Grid:
    """Return the numbers of the second example."""
    best, there_us = best_of_both(), COSTS.hybrid_us(BOTH_EXAMPLE, BOTH_U, BOTH_R)
    rows = (
        ("u of least cost", str(BOTH_U), f"{best.u:.2f}"),
        ("r of least cost", str(BOTH_R), f"{best.r:.2f}"),
        ("cost at the paper's u and r over the least", "", show_change(there_us / best.cost_us - 1)),
    )
    return Grid(("", "paper", "here"), rows)
