"""The definition of an inference: what a paper leaves open, and its numbers that bear on it.

An [`Inference`][coflash_reproduce.inference.definition.Inference] neither runs nor draws: `search` tries set-ups,
`page` says what came of it. The terms:

- an *unknown* is a number that the paper does not state, with the range in which it is searched;
- a *reading* is one way of understanding the paper's text, by which the scenario differs;
- a *target* is a number of the paper, and the computation of ours;
- a *selection* is a choice among the places of the paper's axis where that is not known: the same runs give all;
- the *residual* of a set-up is the root of the mean square of its relative errors against the targets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from coflash._core import CoflashError
from coflash.measures.measure import Measure
from coflash.measures.metrics import Metrics
from coflash.quantity import Unit, change, parsed, show, show_change
from coflash.scenario import Scenario, toml_value
from coflash.sweep.design import Assignment, axis_of
from coflash.sweep.design import Axis as Range
from coflash_reproduce.text import Text

Numbers = Mapping[tuple[str, float], Metrics]
"""The metrics of a set-up, by line and place."""


@dataclass(frozen=True)
class Measured:
    """What a set-up gave at the places of a selection."""

    numbers: Numbers
    places: tuple[float, ...]
    baseline: str
    """The line with which the others are compared."""

    def changes(self, line: str, measure: Measure) -> list[float]:
        """Return the relative change of a line from the baseline at each place; 0 where nothing is left to change."""
        pairs = [(self.numbers[line, at], self.numbers[self.baseline, at]) for at in self.places]
        return [change(measure.read(one), measure.read(base)) or 0.0 for one, base in pairs]


@dataclass(frozen=True)
class Unknown:
    """A number that the paper does not state."""

    key: str
    """The key of the scenario."""
    title: str
    values: str
    """The range of the search, as `coflash tune --over` takes it."""
    reason: str
    """Why it is unknown, and why the range ends where it does."""
    factor: float = 1.0
    """How many times as large it is on the paper's device."""

    @classmethod
    def of(cls, text: Text, key: str, title: str, values: str, factor: float = 1.0) -> Unknown:
        """Return an unknown whose reason is the section of its title."""
        return cls(key, title, values, text.bodies[title], factor)

    @property
    def axis(self) -> Range:
        """The axis of the search."""
        return axis_of(self.key, self.values)

    def number(self, text: str) -> float:
        """Return a value as a number in base units, on the paper's device."""
        found = parsed(text) or parsed(float(text))
        assert found is not None, text
        return found[0] * self.factor

    def shown(self, number: float) -> str:
        """Show such a number with its unit."""
        found = parsed(self.axis.at(0.0))
        return show(number, found[1]) if found else f"{number:.3g}"


@dataclass(frozen=True)
class Reading:
    """A way of understanding the paper."""

    name: str
    title: str
    reason: str
    """What speaks for it."""
    changes: Mapping[str, Any] = field(default_factory=dict)
    """The changes to the scenario, by key; an unknown that they set is not searched."""
    lines: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Further changes to the runs of a line."""

    @classmethod
    def of(
        cls, text: Text, name: str, changes: Mapping[str, Any] = {}, lines: Mapping[str, Mapping[str, Any]] = {}
    ) -> Reading:
        """Return a reading whose title and reason are the section of its name."""
        return cls(name, text.titles[name], text.bodies[name], changes, lines)


@dataclass(frozen=True)
class Target:
    """A number of the paper."""

    what: str
    paper: float
    ours: Callable[[Measured], float]
    floor: float = 0.0
    """The least number to which its error is relative: that of the paper if it is larger."""
    unit: Unit | None = None
    """The unit of the number; None for a change."""

    def shown(self, number: float) -> str:
        """Show the paper's number, or one of ours."""
        return show_change(number) if self.unit is None else show(number, self.unit)

    def error(self, ours: float) -> float:
        """Return the relative error of a number of ours."""
        return (ours - self.paper) / max(abs(self.paper), self.floor)


@dataclass(frozen=True)
class Inference:
    """A set-up of a paper with what is unknown of it."""

    name: str
    title: str
    scenario: Scenario
    """The scenario of the first reading, on a scaled device."""
    scaling: str
    """What is scaled, and what stands for the paper's workload, in a sentence or two."""
    lines: Mapping[str, Mapping[str, Any]]
    """The schemes that are compared, the baseline first, each with its changes to the scenario."""
    axis: Mapping[float, Mapping[str, Any]]
    """The places of the paper's axis, each with its changes to the scenario."""
    unknowns: tuple[Unknown, ...]
    targets: tuple[Target, ...]
    readings: tuple[Reading, ...]
    """The readings; the first is the one of the reproduction."""
    selections: tuple[tuple[float, ...], ...] = ()
    """The sets of places that may be those of the paper; all places if empty."""
    selected: Mapping[str, str] = field(default_factory=dict)
    """The unknowns that a selection decides, such as the least place, and what is chosen from."""
    unit: str = ""
    """The unit of the places."""
    is_average: bool = False
    """Whether the targets are averages over workloads, of which a set-up has one."""
    trace: tuple[str, ...] = ()
    """The files of the trace to replay in place of the scenario's workload."""

    @property
    def baseline(self) -> str:
        """The line with which the others are compared."""
        return next(iter(self.lines))

    @cached_property
    def points(self) -> tuple[tuple[str, float], ...]:
        """The line and the place of each run of a set-up."""
        return tuple((line, at) for line in self.lines for at in self.axis)

    def sizes(self, places: Sequence[float]) -> str:
        """Show places with their unit."""
        return f"{', '.join(f'{at:g}' for at in places)} {self.unit}"

    def cases(self, reading: Reading) -> tuple[Assignment, ...]:
        """Return the changes of each run of a set-up, by that order."""
        merged = ({**self.lines[line], **self.axis[at], **reading.lines.get(line, {})} for line, at in self.points)
        return tuple(tuple((key, toml_value(value)) for key, value in one.items()) for one in merged)

    def searched(self, reading: Reading) -> tuple[Unknown, ...]:
        """Return the unknowns that a reading leaves open."""
        return tuple(
            unknown
            for unknown in self.unknowns
            if not any(f"{unknown.key}.".startswith(f"{key}.") for key in reading.changes)
        )

    def freedom(self, reading: Reading) -> int:
        """Return how many numbers a reading leaves open."""
        return len(self.searched(reading)) + len(self.selected)

    def residual(self, ours: Sequence[float]) -> float:
        """Return the root mean square of the relative errors."""
        errors = [target.error(number) for target, number in zip(self.targets, ours, strict=True)]
        return math.sqrt(math.fsum(error**2 for error in errors) / len(errors))

    def ours(self, metrics: Sequence[Metrics]) -> dict[tuple[float, ...], tuple[float, ...]]:
        """Return our number for each target by selection, given the metrics of the runs of a set-up."""
        numbers = dict(zip(self.points, metrics, strict=True))
        measured = (Measured(numbers, places, self.baseline) for places in self.selections or (tuple(self.axis),))
        return {one.places: tuple(target.ours(one) for target in self.targets) for one in measured}

    def best(self, metrics: Sequence[Metrics]) -> float:
        """Return the least residual over the selections."""
        return min(map(self.residual, self.ours(metrics).values()))


def refuse_traces(paper: str, traces: tuple[str, ...]) -> None:
    """Refuse traces of the user: the unknowns are those of a generator.

    Raises:
        CoflashError: A trace was given.
    """
    if traces:
        raise CoflashError(f"{paper}: --infer takes no --trace: it searches the workload as well")
