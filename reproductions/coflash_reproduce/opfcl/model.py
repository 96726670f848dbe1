"""The paper's cost model: the examples of its figures 3 and 4, and what algorithm 1 takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cache
from statistics import median
from typing import Any, ClassVar

from coflash.charts import INK, Axis, Chart, Look, Row, cells, lines, looks, upon
from coflash.costmodel import BOTH_EXAMPLE, READS_EXAMPLE, Costs, Demand, Partition
from coflash_reproduce.paper import Runs

READS_U, BOTH_U, BOTH_R = 0.92, 0.64, 0.25
"""The paper's results for its two examples."""
COSTS = Costs()
PERCENT = range(2, 99)
_INCHES = (2.7, 2.6)


@cache
def best_of_reads() -> Partition:
    """Return the division of least cost for reads only."""
    return COSTS.best(READS_EXAMPLE, 0.01)


@cache
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
    paper = f"the paper: u = {READS_U:.2f}"
    rows.append({"x": 100 * READS_U, "y": total(READS_U) / 1000, "name": paper})
    styles = looks(costs_us, markers=False) | {least: Look(INK, (), "diamond"), paper: Look(INK, (), "cross")}
    across, up = Axis("caching space / flash, u (%)", low=0, high=100), Axis("cost of a page read (ms)", low=0)
    return [lines(rows, across, up, styles=styles, inches=_INCHES), _hit_rates(READS_EXAMPLE.read_hit_rates, "read")]


def draw_both(_: Runs) -> list[Chart]:
    """Draw the hit rates, and the cost of reads and writes by both shares: the darker, the higher."""
    best = best_of_both()
    most_ms = 3 * best.cost_us / 1000
    rows: list[Row] = [
        {
            "x": u,
            "x2": u + 5,
            "y": r,
            "y2": r + 5,
            "value": min(most_ms, COSTS.hybrid_us(BOTH_EXAMPLE, (u + 2.5) / 100, (r + 2.5) / 100) / 1000),
        }
        for u in range(5, 95, 5)
        for r in range(0, 100, 5)
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


class Counted(float):
    """A number that counts what is done with it."""

    done: ClassVar[Counter[str]] = Counter()


def _counted(method: str, name: str) -> Callable[[float, float], Counted]:
    def operation(of: float, other: float) -> Counted:
        Counted.done[name] += 1
        return Counted(getattr(float, method)(of, other))

    return operation


for _name in ("add", "sub", "mul", "truediv"):
    for _method in (f"__{_name}__", f"__r{_name}__"):
        setattr(Counted, _method, _counted(_method, _name[-3:].upper()))


def operations() -> Counter[str]:
    """Count the operations of one cost: equation 4 with a given U(u), and equation 6 with two hit curves."""
    Counted.done.clear()
    counted: dict[str, Any] = {name: Counted(value) for name, value in asdict(COSTS).items() if name != "write_through"}
    half = Counted(0.5)
    Costs(**counted).hybrid_us(Demand(half, half, [half] * 100, [half] * 100, half), 0.5, 0.5)
    return Counter(Counted.done)
