"""The measures that stand in every summary: terminal, notebook and report show these, in this order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from coflash.metrics import Metrics
from coflash.quantity import Unit, show

Read = Callable[[Metrics], float | None]


@dataclass(frozen=True)
class Measure:
    """One number of a run's metrics."""

    label: str
    unit: Unit
    read: Read
    is_cost: bool = True
    """Whether less of it is better; otherwise it is neither good nor bad."""
    about: str = ""
    """What its label leaves open, in a sentence."""
    path: str = ""
    """The metric that it is, by its dotted path; empty where it is made of several."""
    whole: Read | None = None
    """What it is a part of, where that says more than the number alone."""
    is_rare: bool = False
    """Whether it is left out where there is none of it."""

    def shown(self, metrics: Metrics) -> str:
        """The number as text, with its unit."""
        return show(self.read(metrics), self.unit)

    def share(self, metrics: Metrics) -> float | None:
        """Which share of its whole it is; None where it has none."""
        value, whole = self.read(metrics), self.whole and self.whole(metrics)
        return None if value is None or not whole else value / whole

    def applies(self, metrics: Metrics) -> bool:
        """Whether there is anything to show."""
        value = self.read(metrics)
        return value is not None and bool(value or not self.is_rare)

    def verdict(self, relative: float | None) -> Literal["better", "worse", ""]:
        """What a relative change of it means."""
        if not relative or not self.is_cost:
            return ""
        return "better" if relative < 0 else "worse"


def value_at(path: str) -> Read:
    """Reads the metric of that path; None where a run has none."""
    steps = path.split(".")

    def read(metrics: Metrics) -> Any:
        found: Any = metrics
        for step in steps:
            found = found.get(step) if isinstance(found, Mapping) else None
        return found

    return read


def counted(path: str, label: str, unit: Unit, about: str = "", *, is_cost: bool = False, **more: Any) -> Measure:
    """The measure of one metric."""
    return Measure(label, unit, value_at(path), is_cost, about, path, **more)


WAF_HOST = counted("waf_host", "WAF, by host writes", "ratio", is_cost=True)
WAF_FTL = counted("waf_ftl", "WAF, by FTL writes", "ratio", is_cost=True)
COPIED = counted("gc_copies_pages", "pages copied by GC", "pages", is_cost=True)
DROPPED = counted("gc_drops_pages", "pages dropped by GC", "pages", is_rare=True)
REWRITTEN = counted("drop_rewrites_pages", "dropped pages written later", "pages", is_cost=True, is_rare=True)
ERASED = counted("erases_blocks", "blocks erased", "blocks", is_cost=True)
MEAN = counted("response_ns.all.mean", "response, mean", "ns", is_cost=True)
STDDEV = counted("response_ns.all.stddev", "response, std. deviation", "ns", is_cost=True)
P99 = counted("response_ns.all.p99", "response, p99", "ns", is_cost=True)
P99_9 = counted("response_ns.all.p99_9", "response, p99.9", "ns", is_cost=True)

HEADLINE = (WAF_HOST, WAF_FTL, COPIED, DROPPED, REWRITTEN, ERASED, MEAN, STDDEV, P99, P99_9)

BRIEF = (WAF_HOST, MEAN, P99)
"""Where many runs stand one under another."""

OVERALL = (
    counted("requests", "requests", "requests"),
    counted("host_writes_pages", "pages written by the host", "pages"),
    counted("cache.hit_ratio", "cache hits", "share", is_rare=True),
    counted(
        "gc_time_ns",
        "time of dies on GC",
        "ns",
        "Summed over the dies.",
        is_cost=True,
        whole=lambda m: m.gc_time_ns + m.service_time_ns,
    ),
)
"""What stands below, in the summary of one run."""

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

_FILLS = "fills from disk"


def causes(runs: Iterable[Metrics]) -> dict[str, str]:
    """What the causes are called in these runs: what enters a flash cache in front of disks is evicted from nowhere."""
    hybrid = {"hybrid" in metrics for metrics in runs}
    if True not in hybrid:
        return CAUSES
    return CAUSES | {"evict": _FILLS if hybrid == {True} else f"{CAUSES['evict']}, {_FILLS}"}
