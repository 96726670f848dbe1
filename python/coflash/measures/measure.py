"""Measures: the numbers of a result, as the core declares them, and which of them stand in every summary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from coflash import _core
from coflash.measures.metrics import Metrics
from coflash.quantity import Unit, show

Read = Callable[[Metrics], float | None]
Better = Literal["less", "more", "neither"]


@dataclass(frozen=True)
class Measure:
    """A number of a run's metrics."""

    label: str
    unit: Unit
    read: Read
    better: Better = "less"
    """Whether less of it is better, more, or neither."""
    about: str = ""
    """Its meaning, in sentences."""
    short: str = ""
    """Its label under the title of its section."""
    path: str = ""
    """Its dotted path in the metrics; empty where it is made of several."""
    whole: Read | None = None
    """The sum that it is a part of, where its share says more than the number alone."""
    is_rare: bool = False
    """Whether it is left out where it is zero."""

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
        if not relative or self.better == "neither":
            return ""
        return "better" if (relative < 0) == (self.better == "less") else "worse"


def value_at(path: str) -> Read:
    """Reads the metric of that path; None where a run has none."""
    steps = path.split(".")

    def read(metrics: Metrics) -> Any:
        found: Any = metrics
        for step in steps:
            found = found.get(step) if isinstance(found, Mapping) else None
        return found

    return read


def sum_of(paths: Iterable[str]) -> Read:
    """Reads the sum of metrics; those that a run does not have count nothing."""
    parts = [value_at(path) for path in paths]
    return lambda metrics: sum(part(metrics) or 0 for part in parts)


DECLARED: list[dict[str, Any]] = _core.measures()[0]
"""The sections of a result as the core declares them: path, title, meaning, measures."""


def _declared() -> dict[str, Measure]:
    labels = [each["label"] for section in DECLARED for each in section["measures"]]
    found = {}
    for section in DECLARED:
        dotted = section["path"] + "." if section["path"] else ""
        for each in section["measures"]:
            path = dotted + each["name"]
            unit: Unit = "" if each["unit"] == "count" else each["unit"]
            # Several sections may count the same.
            of = f", {section['title'].lower()}" if labels.count(each["label"]) > 1 else ""
            whole = sum_of([dotted + name for name in each["part_of"]]) if each["part_of"] else None
            found[path] = Measure(
                each["label"] + of,
                unit,
                value_at(path),
                each["better"],
                each["meaning"].strip(),
                each["label"],
                path,
                whole,
                each["is_rare"],
            )
    return found


MEASURES = _declared()
"""Every measure by its path."""

WAF_HOST = MEASURES["waf_host"]
COPIED = MEASURES["gc_copies_pages"]
DROPPED = MEASURES["gc_drops_pages"]
MEAN = MEASURES["response_ns.all.mean"]
STDDEV = MEASURES["response_ns.all.stddev"]
P99 = MEASURES["response_ns.all.p99"]

HEADLINE = (
    WAF_HOST,
    MEASURES["waf_ftl"],
    COPIED,
    DROPPED,
    MEASURES["drop_rewrites_pages"],
    MEASURES["erases_blocks"],
    MEAN,
    STDDEV,
    P99,
    MEASURES["response_ns.all.p99_9"],
)
"""What terminal, notebook and report show of every run, in this order."""

BRIEF = (WAF_HOST, MEAN, P99)
"""What they show where many runs stand one under another."""

OVERALL = tuple(
    MEASURES[path]
    for path in (
        "requests",
        "host_writes_pages",
        "cache.hit_ratio",
        "gc_time_ns",
        "die_utilisation",
        "channel_utilisation",
    )
)
"""What stands below, in the summary of one run."""

_CAUSE = "pages programmed, "
CAUSES = {
    path.removeprefix("programs_pages."): each.label.removeprefix(_CAUSE)
    for path, each in MEASURES.items()
    if path.startswith("programs_pages.")
}
"""What the causes of flash programs are called, in the order in which they are shown."""

_FILLS = "fills from disk"


def causes(runs: Iterable[Metrics]) -> dict[str, str]:
    """What the causes are called in these runs: what enters a flash cache in front of disks is evicted from nowhere."""
    hybrid = {"hybrid" in metrics for metrics in runs}
    if True not in hybrid:
        return CAUSES
    return CAUSES | {"evict": _FILLS if hybrid == {True} else f"{CAUSES['evict']}, {_FILLS}"}
