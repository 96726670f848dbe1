"""The measures that stand in every summary: terminal, notebook and report show these, in this order."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from coflash.metrics import Metrics, metric
from coflash.quantity import Unit, show


@dataclass(frozen=True)
class Measure:
    """One number of a run's metrics."""

    label: str
    unit: Unit
    read: Callable[[Metrics], float | None]
    is_cost: bool = True
    """Whether less of it is better; otherwise it is neither good nor bad."""

    def shown(self, metrics: Metrics) -> str:
        """The number as text, with its unit."""
        return show(self.read(metrics), self.unit)

    def verdict(self, relative: float | None) -> Literal["better", "worse", ""]:
        """What a relative change of it means."""
        if not relative or not self.is_cost:
            return ""
        return "better" if relative < 0 else "worse"


WAF_HOST = Measure("WAF, by host writes", "ratio", lambda m: m.waf_host)
WAF_FTL = Measure("WAF, by FTL writes", "ratio", lambda m: m.waf_ftl)
COPIED = Measure("pages copied by GC", "pages", lambda m: m.gc_copies_pages)
DROPPED = Measure("pages dropped by GC", "pages", lambda m: m.gc_drops_pages, is_cost=False)
REWRITTEN = Measure("dropped pages written later", "pages", lambda m: m.drop_rewrites_pages)
ERASED = Measure("blocks erased", "blocks", lambda m: m.erases_blocks)
MEAN = Measure("response, mean", "ns", lambda m: m.response_ns.all.mean)
STDDEV = Measure("response, std. deviation", "ns", lambda m: m.response_ns.all.stddev)
P99 = Measure("response, p99", "ns", lambda m: m.response_ns.all.p99)
P99_9 = Measure("response, p99.9", "ns", lambda m: m.response_ns.all.p99_9)

HEADLINE = (WAF_HOST, WAF_FTL, COPIED, DROPPED, REWRITTEN, ERASED, MEAN, STDDEV, P99, P99_9)

BRIEF = (WAF_HOST, MEAN, P99)
"""Where many runs stand one under another."""


def named(name: str) -> Measure:
    """The measure of any metric, by the metric's name.

    Raises:
        CoflashError: There is no such metric.
    """
    path = metric(name)
    words = re.split(r"[._]", path)
    unit: Unit = next((unit for unit in _COUNTED if unit in words), "ratio")
    return Measure(path, unit, lambda metrics: metrics.flat().get(path))


_COUNTED: tuple[Unit, ...] = ("ns", "pages", "blocks", "requests")

CAUSES = {
    "host": "host writes",
    "evict": "cache evictions",
    "gc": "GC copies",
    "refresh": "refresh",
    "wear_levelling": "wear levelling",
    "destage": "destaging",
    "metadata": "metadata",
}
"""What the causes of flash programs are called, in the order in which they are shown."""
