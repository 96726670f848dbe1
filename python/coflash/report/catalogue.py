"""Every metric by its path: what it is called, its unit, and whether less of it is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from coflash.measures import (
    CAUSES,
    COPIED,
    DROPPED,
    ERASED,
    HEADLINE,
    MEAN,
    P99,
    P99_9,
    REWRITTEN,
    STDDEV,
    WAF_FTL,
    WAF_HOST,
    Measure,
)

MEASURES: dict[str, Measure] = {
    "waf_host": WAF_HOST,
    "waf_ftl": WAF_FTL,
    "gc_copies_pages": COPIED,
    "gc_drops_pages": DROPPED,
    "drop_rewrites_pages": REWRITTEN,
    "erases_blocks": ERASED,
    "response_ns.all.mean": MEAN,
    "response_ns.all.stddev": STDDEV,
    "response_ns.all.p99": P99,
    "response_ns.all.p99_9": P99_9,
}
"""The measures of every summary, by the metric that each reads."""
assert tuple(MEASURES.values()) == HEADLINE

_UNITS = ("pages", "blocks", "ns", "bytes")
_LABELS = {"simulated_ns": "simulated time", "host_trims_pages": "host trims"}
_PLAIN = {"requests": "requests", "flushes": "requests"}
_COSTS = ("response_ns.", "erase_count.", "gc_time_ns", "programs_pages.gc", "programs_pages.metadata")
_QUANTILES = {"p99_9": "p99.9", "p99_99": "p99.99", "stddev": "std. deviation", "max": "maximum"}
_KINDS = {"all": "", "read": ", reads", "write": ", writes"}


@dataclass(frozen=True)
class Metric:
    """A number that every run has."""

    path: str
    label: str
    unit: str
    is_cost: bool
    is_headline: bool


def metric(path: str) -> Metric:
    """What is known of the metric of that path, known to the package or not."""
    if path in MEASURES:
        measure = MEASURES[path]
        return Metric(path, measure.label, measure.unit, measure.is_cost, is_headline=True)
    return Metric(path, _label(path), _unit(path), path.startswith(_COSTS), is_headline=False)


def is_number(value: Any) -> bool:
    """Whether a metric's value can be drawn."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _label(path: str) -> str:
    if path in _LABELS:
        return _LABELS[path]
    match path.split("."):
        case ["response_ns", kind, what] if kind in _KINDS:
            return f"response{_KINDS[kind]}, {_QUANTILES.get(what, what)}"
        case ["programs_pages", cause]:
            return f"pages programmed, {CAUSES.get(cause, cause)}"
        case ["erase_count", what]:
            return f"erases of a block, {_QUANTILES.get(what, what)}"
    words = path.replace(".", " ").replace("_", " ").split()
    if words[-1] in _UNITS and len(words) > 1:
        # The unit is shown with the number; pages are what is counted, and stay.
        words = words if words[-1] == "pages" else words[:-1]
    return " ".join(words).replace("gc ", "GC ").replace("ftl ", "FTL ").replace("nvm ", "NVM ")


def _unit(path: str) -> str:
    parts = path.split(".")
    if path.startswith("response_ns."):
        return "requests" if parts[-1] == "count" else "ns"
    if path.startswith("programs_pages."):
        return "pages"
    if path.startswith("erase_count."):
        return ""
    last = parts[-1].split("_")[-1]
    if last in _UNITS:
        return last
    if last == "ratio":
        return "share"
    return _PLAIN.get(path, "pages" if parts[0] == "cache" else "")
