"""Goals of a search: numbers that it minimises or maximises, and conditions that the answer must meet.

A number is a measure of a run, a key of its scenario, or a cost: a sum of either, each with its price.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from coflash._core import CoflashError
from coflash.measures.catalogue import metric_names, named, short
from coflash.measures.measure import Measure
from coflash.measures.metrics import Metrics
from coflash.quantity import Unit, number_in, parsed, show, worths
from coflash.scenario import Scenario, flat
from coflash.sweep.design import Assignment
from coflash.sweep.memory import flash_bytes

MARGIN = re.compile(r"\s*margin\s*[>=]+\s*(\d[\d.]*)\s*%\s*")
CAPACITY = re.compile(r"\s*capacity\s*[>=]+\s*(.+?)\s*")
"""Goals that are no bounds of a run: what the others are held under, and what the drive exports."""
_EXAMPLES = {MARGIN: "margin>20%", CAPACITY: "capacity>15.36TB"}
_CONDITION = re.compile(r"\s*([\w.]+)\s*(<=|>=|<|>)\s*(.+?)\s*")
_PLUS = re.compile(r"\+(?=\s*[A-Za-z])")
_TERM = re.compile(r"\s*([A-Za-z][\w.]*)\s*\*\s*(\d[\d.]*(?:e-?\d+)?)\s*(?:\$\s*/\s*([A-Za-z]+))?\s*")
_WRITTEN = ("endurance.tbw_bytes", "endurance.drive_writes_per_day")
FLASH = "flash.size"
"""The number that is no key: the size of all flash, spare space included."""
COST = "cost"
_ALLOWED: Mapping[Unit, str] = {
    "ns": "a time such as 5ms",
    "bytes": "a size such as 64MiB",
    "share": "a share such as 90% or 0.9",
}
"""What a bound may be, by the unit of its measure."""
_GIB = 2.0**30

Value = Callable[[Sequence[Metrics], Scenario], float | None]


@dataclass(frozen=True)
class Number:
    """A number of a point of a search."""

    name: str
    """The path of a measure or a key; of a cost, `cost` and its terms."""
    measure: Measure
    """Its label and its unit."""
    value: Value = field(repr=False)
    """Its computation from the metrics of a point's cases and its scenario; None if they do not give it."""
    is_known_before: bool = False
    """Whether the scenario alone gives it."""


@dataclass(frozen=True)
class Goal:
    """A number computed from the runs of a point, and whether it is minimised."""

    name: str
    is_minimum: bool
    value: Value = field(repr=False)
    """Its computation from the metrics of a point's cases, in their order, and its scenario; None without a value."""
    cases: tuple[Assignment, ...] = ((),)
    """The runs of a point with one seed, each by its changes to the scenario."""
    bin_width: float = field(default=0.0, repr=False)
    """That of its measure."""

    @property
    def measure(self) -> Measure:
        """Its label and unit."""
        return number(self.name).measure


def number(name: str) -> Number:
    """Find a measure, a key whose value is a number, or a cost.

    Raises:
        CoflashError: There is none of this name.
    """
    if name.startswith(f"{COST} "):
        return _cost(name.removeprefix(COST))
    if name == FLASH or name in _numeric_keys():
        return _key(name)
    near = difflib.get_close_matches(name, [*_numeric_keys(), FLASH], 1, 0.85)
    if near and name not in map(short, metric_names()):
        raise CoflashError(f'no measure or key "{name}"; did you mean "{near[0]}"?')
    measure = named(name)
    return Number(measure.path, measure, lambda runs, _: measure.read(runs[0]))


def _numeric_keys() -> dict[str, Unit]:
    """Return the keys with a number in a scenario without any of its own, each with its unit."""
    found = {path: parsed(value) for path, value in flat(Scenario.from_dict({}).to_dict()).items()}
    return {path: pair[1] for path, pair in found.items() if pair is not None}


def _key(path: str) -> Number:
    unit: Unit = "bytes" if path == FLASH else _numeric_keys()[path]

    def value(_: Sequence[Metrics], scenario: Scenario) -> float | None:
        if path == FLASH:
            return float(flash_bytes(scenario))
        leaves = flat(scenario.to_dict())
        found = parsed(leaves.get(path))
        if found is None or found[1] == unit:
            return None if found is None else found[0]
        whole = parsed(leaves["flash.exported"])  # a share where others give a size: of the logical space
        return None if whole is None or found[1] != "share" else found[0] * whole[0]

    return Number(path, Measure(path, unit, lambda _: None, path=path), value, is_known_before=True)


def _cost(text: str) -> Number:
    """Read a cost, such as `cache.size*3 $/GiB + flash.size*0.08`; a price without a unit is of a GiB, or of 1."""
    terms: list[tuple[Number, float]] = []
    for part in _PLUS.split(text):
        found = _TERM.fullmatch(part)
        if found is None:
            msg = f"cost: {part.strip()!r} was given; KEY*PRICE + KEY*PRICE … is allowed, such as cache.size*3 $/GiB"
            raise CoflashError(msg)
        name, price, per = found.groups()
        of = number(name)
        worth = worths().get(per) if per else {"bytes": _GIB}.get(of.measure.unit, 1.0)
        if worth is None or (per and number_in(f"1{per}") != (worth, of.measure.unit)):
            end = "" if of.measure.unit == "bytes" else " not"
            raise CoflashError(f"cost: $/{per} was given; {name} has a price in $/GiB{end}")
        terms.append((of, float(price) / worth))

    def value(runs: Sequence[Metrics], scenario: Scenario) -> float | None:
        parts = [(of.value(runs, scenario), price) for of, price in terms]
        return None if any(one is None for one, _ in parts) else sum((one or 0.0) * price for one, price in parts)

    shown = f"{COST} {' '.join(text.split())}"
    measure = Measure("cost ($)", "", lambda _: None, path=shown)
    return Number(shown, measure, value, all(of.is_known_before for of, _ in terms))


def goals(
    minimise: str | Sequence[str] | None, maximise: str | Sequence[str] | None, cost: str | None = None
) -> tuple[Goal, ...]:
    """Make the goals of a search from its arguments, each the name of a measure or a key, or several; a cost is least.

    Raises:
        CoflashError: None is given, one is given twice, or there is no such measure or key.
    """
    given = [(name, True) for name in _names(minimise)] + [(name, False) for name in _names(maximise)]
    if cost is not None:
        given.append((f"{COST} {cost}", True))
    numbers = [(number(name), is_minimum) for name, is_minimum in given]
    found = tuple(Goal(of.name, is_minimum, of.value, bin_width=of.measure.bin_width) for of, is_minimum in numbers)
    if not found:
        raise CoflashError("tune: a goal is needed, such as --minimise response.p99 (Python: minimise=, maximise=)")
    if len({goal.name for goal in found}) < len(found):
        raise CoflashError(f"tune: {', '.join(goal.name for goal in found)} were given; each measure is allowed once")
    return found


def _names(given: str | Sequence[str] | None) -> Sequence[str]:
    return [given] if isinstance(given, str) else given or []


@dataclass(frozen=True)
class Condition:
    """A bound of a number, such as `response.p99<5ms` or `cache.size<64MiB`."""

    text: str
    """The condition with the short name of its measure."""
    sign: int
    """1 for an upper bound, −1 for a lower one."""
    bound: float
    """In the unit of the measure."""
    value: Value = field(repr=False)
    measure: Measure = field(repr=False)
    """Its label and its unit."""
    is_known_before: bool = False
    """Whether the scenario alone gives the number."""

    @property
    def is_limit(self) -> bool:
        """Whether a larger device never meets it, as a bound of the cost or of the cache."""
        return self.is_known_before and self.sign > 0

    def excess(self, value: float | None, *, is_worn: bool = True) -> float:
        """Return the violation of the bound by a value, as a share of the bound; at most 0 if it is within.

        Where nothing is worn, life has no number, and no end.
        """
        if value is None and not is_worn and self.measure.path.startswith("endurance."):
            return -1.0
        return math.inf if value is None else self.sign * (value - self.bound) / (abs(self.bound) or 1.0)

    def lack(self, excess: float) -> float:
        """Return the factor by which a bound is broken, as a logarithm, given the violation; at most 0 if it is met."""
        if self.sign * excess <= -1:  # a lower bound by no value, or an upper one by zero
            return math.copysign(math.inf, excess)
        return self.sign * math.log1p(self.sign * excess)

    def value_at(self, excess: float) -> float:
        """Return the value that violates the bound by this share of it."""
        return self.bound + self.sign * excess * (abs(self.bound) or 1.0)


def apart(texts: Sequence[str], what: re.Pattern[str]) -> tuple[list[str], str]:
    """Return the other goals, and the value of the last one that is this; empty without one."""
    found = {text: what.fullmatch(text) for text in texts}
    example = _EXAMPLES[what]
    name = example.partition(">")[0]
    if wrong := next((text for text, one in found.items() if not one and text.strip().startswith(name)), ""):
        raise CoflashError(f"goal {wrong!r}: {example} is allowed")
    return [text for text, one in found.items() if not one], ["", *(one[1] for one in found.values() if one)][-1]


def conditions(texts: Sequence[str], cost: str | None = None, margin: float = 0.0) -> tuple[Condition, ...]:
    """Read conditions, each as `condition` does.

    Raises:
        CoflashError: One cannot be read, or two bound a number on the same side.
    """
    found = tuple(condition(text, cost, margin) for text in texts)
    sides = [(one.measure.path, one.sign) for one in found]
    if twice := [one.text for at, one in enumerate(found) if sides.index(sides[at]) < at]:
        raise CoflashError(f"bound {twice[0]!r}: another bounds this number on the same side; give the narrower one")
    return found


def condition(text: str, cost: str | None = None, margin: float = 0.0) -> Condition:
    """Read a condition; its name may be `cost` where there is one. By the margin more is to be written over the life.

    Raises:
        CoflashError: It is not written MEASURE<VALUE, there is no such measure, or the value has another unit.
    """
    found = _CONDITION.fullmatch(text)
    if found is None:
        raise CoflashError(f"bound {text!r}: MEASURE<VALUE or MEASURE>VALUE is allowed, such as response.p99<5ms")
    name, sign, given = found.groups()
    of = number(f"{COST} {cost}" if name == COST and cost is not None else name)
    measure = of.measure if of.measure.label != "cost ($)" else replace(of.measure, path=COST)
    called = short(measure.path) if not of.is_known_before else measure.path
    plain = given.removeprefix("$") if measure.path == COST else given
    plain = plain.removesuffix("years") if measure.unit == "years" else plain
    value = number_in(plain.strip())
    needs_unit = {"ns": 0.0, "bytes": 0.0, "share": 1.0}.get(measure.unit, math.inf)
    is_bare = value is not None and not value[1] and value[0] > needs_unit
    if value is None or value[1] not in ("", measure.unit) or is_bare:
        why, allowed = ": its unit is missing" if is_bare else "", _ALLOWED.get(measure.unit, "a number such as 2.5")
        raise CoflashError(f"bound {text!r}: {given!r} was given{why}; for {called} {allowed} is allowed")
    worse, other = ("more", ">") if "<" in sign else ("less", "<")
    if not of.is_known_before and measure.better == worse:
        raise CoflashError(f"bound {text!r}: of {called} {worse} is better; {called}{other}{given} is allowed")
    if not math.isfinite(value[0]):
        raise CoflashError(f"bound {text!r}: a finite number is allowed, such as {called}{sign[0]}2.5")
    bound = value[0] * (1 + margin * (measure.path in _WRITTEN))
    way = 1 if "<" in sign else -1
    if way > 0 and bound <= 0 and not of.is_known_before:
        raise CoflashError(f"bound {text!r}: {called} is never below 0; a greater bound is allowed")
    shown = show(bound, "bytes") if measure.unit == "bytes" else f"{bound:.4g}"
    raised = f" (with the margin {sign[0]}{shown})" if bound != value[0] else ""
    return Condition(f"{called}{sign[0]}{given}{raised}", way, bound, of.value, measure, of.is_known_before)
