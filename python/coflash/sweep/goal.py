"""Goals of a search: measures that it minimises or maximises, and conditions that the answer must meet."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from coflash._core import CoflashError
from coflash.measures.catalogue import named, short
from coflash.measures.measure import Measure
from coflash.measures.metrics import Metrics
from coflash.quantity import number_in
from coflash.sweep.design import Assignment

_CONDITION = re.compile(r"\s*([\w.]+)\s*(<=|>=|<|>)\s*(.+?)\s*")

Value = Callable[[Sequence[Metrics]], float | None]


@dataclass(frozen=True)
class Goal:
    """A number computed from the runs of a point, and whether it is minimised."""

    name: str
    is_minimum: bool
    value: Value = field(repr=False)
    """Its computation from the metrics of a point's cases, in their order; None if they do not give it."""
    cases: tuple[Assignment, ...] = ((),)
    """The runs of a point with one seed, each by its changes to the scenario."""
    bin_width: float = field(default=0.0, repr=False)
    """That of its measure."""


def goals(minimise: str | Sequence[str] | None, maximise: str | Sequence[str] | None) -> tuple[Goal, ...]:
    """Make the goals of a search from the two arguments, each the name of a measure or several.

    Raises:
        CoflashError: None is given, one is given twice, or there is no such measure.
    """
    given = [(name, True) for name in _names(minimise)] + [(name, False) for name in _names(maximise)]
    found = tuple(_goal(named(name), is_minimum) for name, is_minimum in given)
    if not found:
        msg = "tune: minimise or maximise is needed, such as minimise response.p99"
        raise CoflashError(msg)
    if len({goal.name for goal in found}) < len(found):
        msg = f"tune: {', '.join(goal.name for goal in found)} were given; each measure is allowed once"
        raise CoflashError(msg)
    return found


def _names(given: str | Sequence[str] | None) -> Sequence[str]:
    return [given] if isinstance(given, str) else given or []


def _first(measure: Measure) -> Value:
    return lambda runs: measure.read(runs[0])


def _goal(measure: Measure, is_minimum: bool) -> Goal:
    return Goal(measure.path, is_minimum, _first(measure), bin_width=measure.bin_width)


@dataclass(frozen=True)
class Condition:
    """A bound of a measure, such as `response.p99<5ms`."""

    text: str
    """The condition with the short name of its measure."""
    sign: int
    """1 for an upper bound, −1 for a lower one."""
    bound: float
    """In the unit of the measure."""
    value: Value = field(repr=False)

    def excess(self, value: float) -> float:
        """Return the violation of the bound by a value, as a share of the bound; at most 0 if it is within."""
        return self.sign * (value - self.bound) / (abs(self.bound) or 1.0)


def condition(text: str) -> Condition:
    """Read a condition.

    Raises:
        CoflashError: It is not written MEASURE<VALUE, there is no such measure, or the value has another unit.
    """
    found = _CONDITION.fullmatch(text)
    if found is None:
        msg = f"subject to {text!r}: MEASURE<VALUE or MEASURE>VALUE is allowed, such as response.p99<5ms"
        raise CoflashError(msg)
    name, sign, given = found.groups()
    measure = named(name)
    number = number_in(given)
    if number is None or number[1] not in ("", measure.unit):
        unit = f"a number with a unit of {measure.unit}" if measure.unit in ("ns", "bytes") else "a number"
        msg = f"subject to {text!r}: {given!r} was given; for {short(measure.path)} {unit} is allowed"
        raise CoflashError(msg)
    if not number[1] and measure.unit in ("ns", "bytes"):
        example = given + ("ms" if measure.unit == "ns" else "MiB")
        msg = f"subject to {text!r}: the unit of {given} is missing, such as {example}"
        raise CoflashError(msg)
    return Condition(f"{short(measure.path)}{sign[0]}{given}", 1 if "<" in sign else -1, number[0], _first(measure))
