"""The two examples of the paper's cost model: its figures 3 and 4, and their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from coflash import palette
from coflash.costmodel import BOTH_EXAMPLE, READS_EXAMPLE, Costs, Partition
from coflash.figures.style import DASHES
from coflash.quantity import show_change
from coflash_reproduce.paper import Grid, Runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
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
    """Draw the hit rates and the cost of reads, and the share of cleaning in it: without it only misses cost."""

    def cleaning(u: float) -> float:
        missed = 1 - READS_EXAMPLE.read_hit_rates[round(100 * u) - 1]
        return missed * (COSTS.write_us(u) - COSTS.page_program_us)

    def total(u: float) -> float:
        return COSTS.hybrid_us(READS_EXAMPLE, u, 1.0)

    canvas, (rates, axes) = _panels(2)
    _hit_rates(rates, READS_EXAMPLE.read_hit_rates, "(a) read hit rate")
    best = best_of_reads()
    lines = {"all": total, "hits and misses": lambda u: total(u) - cleaning(u), "garbage collection": cleaning}
    for (label, cost_us), colour, dashes in zip(lines.items(), palette.LINES, DASHES, strict=False):
        costs_ms = [cost_us(percent / 100) / 1000 for percent in PERCENT]
        axes.plot(PERCENT, costs_ms, label=label, color=colour, linestyle=dashes)
    axes.plot(100 * best.u, best.cost_us / 1000, "kD", label=f"least: u = {best.u:.2f}")
    most_ms = 2.2 * median(total(percent / 100) for percent in PERCENT) / 1000
    axes.set(title="(b) cost of a page read (ms)", xlabel="caching space / flash, u (%)", xlim=(0, 100))
    axes.set(ylim=(0, most_ms))
    canvas.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return canvas


def draw_both(_: Runs) -> Canvas:
    """Draw the hit rates, and the cost of reads and writes by both shares: the darker, the lower."""
    canvas, (reads, writes, axes) = _panels(3)
    _hit_rates(reads, BOTH_EXAMPLE.read_hit_rates, "(a) read hit rate")
    _hit_rates(writes, BOTH_EXAMPLE.write_hit_rates, "(b) write hit rate")
    best = best_of_both()
    costs = [[COSTS.hybrid_us(BOTH_EXAMPLE, u / 100, r / 100) / 1000 for u in PERCENT] for r in range(101)]
    ends = (PERCENT[0], PERCENT[-1], 0, 100)
    most_ms = 3 * best.cost_us / 1000
    shaded = axes.imshow(costs, cmap="gray", vmax=most_ms, origin="lower", extent=ends, aspect="auto")
    axes.plot(
        100 * best.u,
        100 * best.r,
        "wD",
        markeredgecolor="black",
        markersize=5,
        label=f"u = {best.u:.2f}, r = {best.r:.2f}",
    )
    axes.plot(
        100 * BOTH_U,
        100 * BOTH_R,
        "P",
        color="#e0e0e0",
        markeredgecolor="black",
        label=f"the paper's: u = {BOTH_U}, r = {BOTH_R}",
    )
    axes.set(title="(c) cost of a page request (ms)", xlabel="caching space / flash, u (%)")
    axes.set(ylabel="read cache / caching space, r (%)", xlim=(0, 100))
    canvas.colorbar(shaded, ax=axes)
    canvas.legend(*axes.get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return canvas


def _panels(count: int) -> tuple[Canvas, Sequence[Axes]]:
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(2.7 * count, 2.6), layout="constrained")
    return canvas, canvas.subplots(1, count)


def _hit_rates(axes: Axes, rates: Sequence[float], title: str) -> None:
    axes.plot([100 * (at + 1) / len(rates) for at in range(len(rates))], rates, color=palette.LINES[0])
    axes.set(title=title, xlabel="cache / flash (%)", xlim=(0, 100), ylim=(0, 1))
    axes.grid(axis="y")


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
