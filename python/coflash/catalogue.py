"""Every metric by its path: what it is called, its unit, and whether less of it is better."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coflash.measures import CAUSES, HEADLINE, Measure, value_at
from coflash.metrics import metric
from coflash.quantity import Unit
from coflash.sections import SECTIONS

KNOWN = {each.path: each for section in reversed(SECTIONS) for each in section.measures if each.path}
"""What only some systems measure, by the metric that it is."""
KNOWN |= {each.path: each for each in HEADLINE}

_UNITS: dict[str, Unit] = {"pages": "pages", "blocks": "blocks", "ns": "ns", "bytes": "bytes"}
_LABELS = {"simulated_ns": "simulated time", "host_trims_pages": "host trims"}
_PLAIN: dict[str, Unit] = {"requests": "requests", "flushes": "requests"}
_COSTS = ("response_ns.", "erase_count.", "gc_time_ns", "programs_pages.gc", "programs_pages.metadata")
_QUANTILES = {"p99_9": "p99.9", "p99_99": "p99.99", "stddev": "std. deviation", "max": "maximum"}
_KINDS = {"all": "", "read": ", reads", "write": ", writes"}


def measure(path: str, causes: Mapping[str, str] = CAUSES) -> Measure:
    """The measure of the metric of that path, known to the package or not."""
    if path in KNOWN:
        return KNOWN[path]
    cause = path.removeprefix("programs_pages.")
    label = _label(path) if cause == path else f"pages programmed, {causes.get(cause, cause)}"
    return Measure(label, _unit(path), value_at(path), path.startswith(_COSTS), path=path)


def named(name: str) -> Measure:
    """The measure of any metric, by the metric's name.

    Raises:
        CoflashError: There is no such metric.
    """
    return measure(metric(name))


def is_number(value: Any) -> bool:
    """Whether a metric's value can be drawn."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _label(path: str) -> str:
    if path in _LABELS:
        return _LABELS[path]
    match path.split("."):
        case ["response_ns", kind, what] if kind in _KINDS:
            return f"response{_KINDS[kind]}, {_QUANTILES.get(what, what)}"
        case ["erase_count", what]:
            return f"erases of a block, {_QUANTILES.get(what, what)}"
    words = path.replace(".", " ").replace("_", " ").split()
    if words[-1] in _UNITS and len(words) > 1:
        # The unit is shown with the number; pages are what is counted, and stay.
        words = words if words[-1] == "pages" else words[:-1]
    return " ".join(words).replace("gc ", "GC ").replace("ftl ", "FTL ").replace("nvm ", "NVM ")


def _unit(path: str) -> Unit:
    parts = path.split(".")
    if path.startswith("response_ns."):
        return "requests" if parts[-1] == "count" else "ns"
    if path.startswith("programs_pages."):
        return "pages"
    if path.startswith("erase_count."):
        return ""
    last = parts[-1].split("_")[-1]
    if last in _UNITS:
        return _UNITS[last]
    if last == "ratio":
        return "share"
    return _PLAIN.get(path, "pages" if parts[0] == "cache" else "")
