"""Measures by their names."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from coflash._core import CoflashError
from coflash.measures.measure import CAUSES, MEASURES, Measure, value_at

_UNIT = re.compile("_(ns|pages|blocks|bytes)$")


def measure(path: str, causes: Mapping[str, str] = CAUSES) -> Measure:
    """Return the measure of a path, given the labels of the causes of programs. An unknown path is its own label."""
    if path not in MEASURES:
        return Measure(path, "", value_at(path), "neither", path=path)
    cause = path.removeprefix("programs_pages.")
    found = MEASURES[path]
    if cause == path or causes[cause] == CAUSES[cause]:
        return found
    return replace(found, label=f"pages programmed, {causes[cause]}")


_WORDS = {
    "dwpd": "endurance.drive_writes_per_day",
    "tbw": "endurance.tbw_bytes",
    **dict.fromkeys(("years", "life", "lifetime"), "endurance.life_years"),
}
"""The words of data sheets."""


def named(name: str) -> Measure:
    """Find the measure of a name, which may be short.

    Raises:
        CoflashError: There is no such measure.
    """
    return MEASURES[metric(name)]


_ALIKE = 0.75
"""How alike the last steps of two names must be, of 1, to be taken for each other: `hit_rate` for `hit_ratio`."""


def is_number(value: Any) -> bool:
    """Whether a measure's value can be drawn."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def metric_names() -> tuple[str, ...]:
    """Every measure by its dotted path."""
    return tuple(MEASURES)


def metric(name: str) -> str:
    """Return the dotted path of a measure, given the path or a short form: units and `all` may be left out.

    `response.p99` is `response_ns.all.p99`, `programs.gc` is `programs_pages.gc`.

    Raises:
        CoflashError: There is no such measure, or the short form could mean two.
    """
    name = _WORDS.get(name.lower(), name)
    if name in MEASURES:
        return name
    by_short: dict[str, list[str]] = {}
    for path in metric_names():
        by_short.setdefault(short(path), []).append(path)
    given = short(name)
    if given in by_short:
        path, *others = by_short[given]
        if others:
            msg = f'"{name}" is short for {len(others) + 1} measures (allowed: {", ".join(by_short[given])})'
            raise CoflashError(msg)
        return path
    near = _near(given, by_short)
    group = [name for name in by_short if name.partition(".")[0] == given.partition(".")[0]]
    groups = dict.fromkeys(re.sub(r"\..*", ".…", name) for name in by_short)
    allowed = () if near else group if len(group) > 1 else groups
    quoted = " or ".join(f'"{one}"' for one in near)
    meant = f"; did you mean {quoted}?" if near else ""
    listed = f" (allowed: {', '.join(allowed)})" if allowed else ""
    raise CoflashError(f'no measure "{name}"{meant}{listed}')


_NEAR = 3
"""The most names that are told to be meant."""


def _near(given: str, names: Iterable[str]) -> list[str]:
    """Return the measures that may be meant: those with the same words, or with nearly the same name."""
    ends = {name.split(".")[-1]: name for name in reversed([*names])}
    # `WAF` is first that of the host, and so is `waff`.
    beginnings = (given.lower(), given.lower()[: max(3, len(given) - 1)])
    words = {*re.split(r"[._]", given.lower())}
    within = [name for name in names if words <= {*re.split(r"[._]", name)}]
    begins = [name for beginning in beginnings for name in names if name.startswith(beginning)]
    if found := within or begins:
        return [*dict.fromkeys(found)][:_NEAR]
    last = [ends[one] for one in difflib.get_close_matches(given.split(".")[-1], ends, 1, _ALIKE)]
    near = difflib.get_close_matches(given, names, 1, _ALIKE) or last
    return near or difflib.get_close_matches(given, names, 1)


def short(name: str) -> str:
    """Return the short form of a measure's path, which users type: `response.p99` of `response_ns.all.p99`."""
    steps = [step for step in name.split(".") if step != "all"]
    return ".".join(_UNIT.sub("", step) for step in steps)
