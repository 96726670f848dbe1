"""Measures: the numbers of a result, as the core declares them, and those of every summary."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
    """Whether a smaller value is better, a larger one, or neither."""
    about: str = ""
    """Its meaning, in sentences."""
    short: str = ""
    """Its label under the title of its section."""
    path: str = ""
    """Its dotted path in the metrics; empty where it is made of several."""
    whole: Read | None = None
    """The total that it is a part of, if its share says more than the number alone."""
    is_rare: bool = False
    """Whether it is left out if it is zero."""
    bin_width: float = 0.0
    """The most that a value may be off, as a share of it, where values are the ends of a histogram's bins."""
    unlike: Read | None = None
    """The measure that it repeats, if both read alike: then it is left out."""

    def shown(self, metrics: Metrics) -> str:
        """The number as text, with its unit."""
        return show(self.read(metrics), self.unit)

    def share(self, metrics: Metrics) -> float | None:
        """Its share of its total; None without one."""
        value, whole = self.read(metrics), self.whole and self.whole(metrics)
        return None if value is None or not whole else value / whole

    def applies(self, metrics: Metrics) -> bool:
        """Whether there is anything to show."""
        value = self.read(metrics)
        if value is None or (self.unlike and show(self.unlike(metrics), self.unit) == self.shown(metrics)):
            return False
        return bool(value or not self.is_rare)

    def verdict(self, relative: float | None) -> Literal["better", "worse", ""]:
        """The meaning of a relative change: better, worse or neither."""
        if not relative or self.better == "neither":
            return ""
        return "better" if (relative < 0) == (self.better == "less") else "worse"


def value_at(path: str) -> Read:
    """Read the metric of a path; None if a run has none."""
    steps = path.split(".")

    return lambda metrics: metrics.at(steps)


def sum_of(paths: Iterable[str]) -> Read:
    """Read the sum of metrics; missing ones count as zero."""
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
            # Several sections may have the same measure; the label of one may name it already.
            title = section["title"].lower()
            of = f", {title}" if labels.count(each["label"]) > 1 and title not in each["label"].lower() else ""
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
                1 / each["parts_of_bin"] if each["parts_of_bin"] else 0.0,
                value_at(dotted + each["unlike"]) if each["unlike"] else None,
            )
    return found


MEASURES = _declared()
"""Every measure by its path."""

WAF_HOST = MEASURES["waf_host"]
WAF_MEDIA = MEASURES["waf_media"]
COPIED = MEASURES["gc_copies_pages"]
DROPPED = MEASURES["gc_drops_pages"]
MEAN = MEASURES["response_ns.all.mean"]
STDDEV = MEASURES["response_ns.all.stddev"]
P99 = MEASURES["response_ns.all.p99"]

HEADLINE = (
    WAF_HOST,
    WAF_MEDIA,
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
"""The measures of every run in terminal, notebook and report, in this order."""

BRIEF = (WAF_HOST, WAF_MEDIA, MEAN, P99)
"""The measures in tables of many runs."""


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
"""The further measures in the summary of one run."""

_CAUSE = "pages programmed, "
CAUSES = {
    path.removeprefix("programs_pages."): each.label.removeprefix(_CAUSE)
    for path, each in MEASURES.items()
    if path.startswith("programs_pages.")
}
"""The labels of the causes of flash programs, in the order in which they are shown."""

_FILLS = "fills from disk"


def applying(measures: Iterable[Measure], runs: Iterable[Metrics]) -> list[Measure]:
    """Choose the measures with anything to show in any of the runs."""
    found = list(runs)
    return [measure for measure in measures if any(measure.applies(metrics) for metrics in found)]


def causes(runs: Iterable[Metrics]) -> dict[str, str]:
    """The labels of the causes in these runs; pages that enter a flash cache before disks are not evicted ones."""
    hybrid = {"hybrid" in metrics for metrics in runs}
    if True not in hybrid:
        return CAUSES
    return CAUSES | {"evict": _FILLS if hybrid == {True} else f"{CAUSES['evict']}, {_FILLS}"}
