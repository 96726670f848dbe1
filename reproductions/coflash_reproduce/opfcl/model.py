"""The paper's cost model: the examples of its figures 2, 3 and 4, the worst case, and what algorithm 1 takes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from coflash.charts import INK, Axis, Chart, Look, Row, cells, lines, looks, upon
from coflash.costmodel import BOTH_EXAMPLE, READS_EXAMPLE, Costs, Partition, victim_utilisation
from coflash.quantity import show, show_change
from coflash_reproduce.paper import Grid, Runs

READS_U, BOTH_U, BOTH_R = 0.92, 0.64, 0.25
"""The paper's results for its two examples."""
COSTS = Costs()
PERCENT = range(2, 99)
_INCHES = (2.7, 2.6)


def best_of_reads() -> Partition:
    """Return the division of least cost for reads only."""
    return COSTS.best(READS_EXAMPLE, 0.01)


def best_of_both() -> Partition:
    """Return the division of least cost for reads and writes."""
    return COSTS.best(BOTH_EXAMPLE, 0.01)


def draw_reads(_: Runs) -> list[Chart]:
    """Draw the hit rates and the cost of reads, and the share of cleaning in it: without it only misses cost."""

    def cleaning(u: float) -> float:
        missed = 1 - READS_EXAMPLE.read_hit_rates[round(100 * u) - 1]
        return missed * (COSTS.write_us(u) - COSTS.page_program_us)

    def total(u: float) -> float:
        return COSTS.hybrid_us(READS_EXAMPLE, u, 1.0)

    best = best_of_reads()
    costs_us = {"all": total, "hits and misses": lambda u: total(u) - cleaning(u), "garbage collection": cleaning}
    most_ms = 2.2 * median(total(percent / 100) for percent in PERCENT) / 1000
    rows: list[Row] = [
        {"x": percent, "y": min(cost_us(percent / 100) / 1000, most_ms), "name": name}
        for name, cost_us in costs_us.items()
        for percent in PERCENT
    ]
    least = f"least: u = {best.u:.2f}"
    rows.append({"x": 100 * best.u, "y": best.cost_us / 1000, "name": least})
    styles = looks(costs_us, markers=False) | {least: Look(INK, (), "diamond")}
    across, up = Axis("caching space / flash, u (%)", low=0, high=100), Axis("cost of a page read (ms)", low=0)
    return [lines(rows, across, up, styles=styles, inches=_INCHES), _hit_rates(READS_EXAMPLE.read_hit_rates, "read")]


def draw_both(_: Runs) -> list[Chart]:
    """Draw the hit rates, and the cost of reads and writes by both shares: the darker, the higher."""
    best = best_of_both()
    most_ms = 3 * best.cost_us / 1000
    rows: list[Row] = [
        {
            "x": u,
            "x2": u + 2,
            "y": r,
            "y2": r + 2,
            "value": min(most_ms, COSTS.hybrid_us(BOTH_EXAMPLE, u / 100, r / 100) / 1000),
        }
        for u in range(2, 98, 2)
        for r in range(0, 100, 2)
    ]
    across = Axis("caching space / flash, u (%)", low=0, high=100)
    up = Axis("read cache / caching space, r (%)", low=0, high=100)
    title = f"least (white): u = {best.u:.2f}, r = {best.r:.2f}; the paper's (red): {BOTH_U}, {BOTH_R}"
    chart = cells(rows, across, up, label="cost of a page request (ms)", inches=_INCHES, title=title)
    for u, r, colour in ((best.u, best.r, "#ffffff"), (BOTH_U, BOTH_R, "#d55e00")):
        look = Look(colour, (), "diamond")
        chart = upon(chart, lines([{"x": 100 * u, "y": 100 * r}], across, up, styles={"": look}, inches=_INCHES))
    rates = (BOTH_EXAMPLE.read_hit_rates, "read"), (BOTH_EXAMPLE.write_hit_rates, "write")
    return [chart, *(_hit_rates(*each) for each in rates)]


def _hit_rates(rates: Sequence[float], kind: str) -> Chart:
    rows = [{"x": 100 * at / len(rates), "y": rate} for at, rate in enumerate(rates, 1)]
    across, up = Axis("cache / flash (%)", low=0), Axis(f"{kind} hit rate", low=0, high=1)
    return lines(rows, across, up, styles=looks([""], markers=False), inches=_INCHES)


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


DATA_BLOCKS, SPARE_BLOCKS = 3, 4
"""The blocks of figure 2: with data, and over-provisioned at first."""


def worst_case_utilisation(data_blocks: int, spare_blocks: int) -> float:
    """Return u of figure 2: one block stays empty for garbage collection."""
    return data_blocks / (data_blocks + spare_blocks - 1)


def worst_gc_us(costs: Costs, u: float) -> float:
    """Return equation 1: cleaning a block where valid pages are spread evenly."""
    return math.ceil(u * costs.pages_per_block) * costs.page_copy_us + costs.block_erase_us


def worst_write_us(costs: Costs, u: float) -> float:
    """Return equation 2: a page program with its share of equation 1; infinite where no page is freed."""
    freed = math.floor((1 - u) * costs.pages_per_block)
    return worst_gc_us(costs, u) / freed + costs.page_program_us if freed else math.inf


def table_of_worst_case(_: Runs) -> Grid:
    """Return the worst case beside the mean case, at the u of figure 2 and of some fixed shares."""
    example = worst_case_utilisation(DATA_BLOCKS, SPARE_BLOCKS)
    rows = []
    for title, u in [("figure 2", example), *((f"{percent} % cached", percent / 100) for percent in (60, 80, 95))]:
        mean_us, pages = COSTS.write_us(u), COSTS.pages_per_block
        numbers = (worst_gc_us(COSTS, u), worst_write_us(COSTS, u), mean_us)
        valid = f"{math.ceil(u * pages)} of {pages}", f"{victim_utilisation(u) * pages:.1f} of {pages}"
        rows.append((title, f"{u:.2f}", *valid, *(show(1000 * number, "ns") for number in numbers)))
    columns = ("", "u", "valid pages of a victim, at worst", "in the mean", "C_GC, equation 1", "C_PW, equation 2")
    return Grid((*columns, "C_PW, equation 4"), tuple(rows))


def equation_6(costs: Any, u_of_victim: Any, hit_rates: Sequence[Any], shares: Sequence[Any], number: Any) -> Any:
    """Return C_HY from the hit rates H_R, H_W and the shares IO_R, IO_W and h', in numbers of any kind."""
    (reads, writes), (io_reads, io_writes, reads_of_hits), one = hit_rates, shares, number(1)
    pages, transfer_us = (
        number(costs.pages_per_block),
        number(costs.page_bytes) / number(costs.bandwidth_bytes_per_s / 1e6),
    )
    page_read_us, program_us = number(costs.page_read_us), number(costs.page_program_us)
    gc_us = u_of_victim * pages * number(costs.page_copy_us) + number(costs.block_erase_us)
    write_us = gc_us / ((one - u_of_victim) * pages) + program_us
    from_disk_us = number(costs.read_positioning_us) + transfer_us
    to_disk_us = number(costs.write_positioning_us) + transfer_us
    read_cost_us = (one - reads) * (from_disk_us + write_us) + reads * page_read_us
    hit_us = (one - reads_of_hits) * write_us + reads_of_hits * page_read_us
    write_cost_us = (one - writes) * (page_read_us + to_disk_us + write_us) + writes * hit_us
    return read_cost_us * io_reads + write_cost_us * io_writes


@dataclass(frozen=True)
class Counted:
    """A number that counts what is done with it."""

    value: float
    done: Counter[str]

    def _by(self, other: Counted, name: str, operation: Callable[[float, float], float]) -> Counted:
        self.done[name] += 1
        return Counted(operation(self.value, other.value), self.done)

    def __add__(self, other: Counted) -> Counted:
        return self._by(other, "ADD", float.__add__)

    def __sub__(self, other: Counted) -> Counted:
        return self._by(other, "SUB", float.__sub__)

    def __mul__(self, other: Counted) -> Counted:
        return self._by(other, "MUL", float.__mul__)

    def __truediv__(self, other: Counted) -> Counted:
        return self._by(other, "DIV", float.__truediv__)


def operations() -> Counter[str]:
    """Count the operations of one cost of equation 6."""
    done: Counter[str] = Counter()

    def number(value: float) -> Counted:
        return Counted(float(value), done)

    halves = [number(0.5)] * 3
    equation_6(COSTS, halves[0], halves[:2], halves, number)
    return done


PUBLISHED = {"ADD": 10, "SUB": 4, "MUL": 11, "DIV": 4}
"""What the paper counts for one cost."""


def table_of_algorithm(_: Runs) -> Grid:
    """Return what algorithm 1 takes: operations of a cost, costs and operations of a period of either configuration."""
    ours = operations()
    rows = [(f"{name} of one cost", str(paper), str(ours[name])) for name, paper in PUBLISHED.items()]
    for configuration, segments in ((1, 16), (2, 64)):
        costs = (segments - 1) * (segments + 1)
        rows.append((f"costs of a period, configuration {configuration}", "N × M", f"{costs:,}"))
        rows.append(
            (f"operations of a period, configuration {configuration}", "quite small", f"{costs * ours.total():,}")
        )
    return Grid(("", "paper", "here"), tuple(rows))
