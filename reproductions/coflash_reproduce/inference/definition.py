"""The definition of an inference: what a paper leaves open, and its numbers that bear on it.

An [`Inference`][coflash_reproduce.inference.definition.Inference] is a file in TOML, with its reasons in Markdown
beside it; `search` tries set-ups, `page` says what came of it. The terms:

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
from statistics import mean
from typing import Any

from coflash.measures.measure import MEASURES, Measure
from coflash.measures.metrics import Metrics
from coflash.quantity import Unit, change, parsed, show, show_change
from coflash.scenario import Scenario, toml_value
from coflash.sweep.design import Assignment, axis_of
from coflash.sweep.design import Axis as Range
from coflash_reproduce.data import toml_beside
from coflash_reproduce.text import Text


@dataclass(frozen=True)
class Measured:
    """What a set-up gave at the places of a selection."""

    numbers: Mapping[tuple[str, float], Metrics]
    """The metrics by line and place."""
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

    @property
    def axis(self) -> Range:
        """The axis of the search."""
        return axis_of(self.key, self.values)

    def number(self, text: str) -> float:
        """Return a value as a number in base units, on the paper's device."""
        value = parsed(text) or (float(text), "")
        return value[0] * self.factor

    def shown(self, number: float) -> str:
        """Show such a number with its unit."""
        first = parsed(self.axis.at(0.0))
        return show(number, first[1]) if first else f"{number:.3g}"

    @property
    def searched(self) -> str:
        """The range of the search."""
        return " to ".join(self.shown(self.number(self.axis.at(share))) for share in (0.0, 0.999))


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
        numbers, baseline = dict(zip(self.points, metrics, strict=True)), next(iter(self.lines))
        measured = (Measured(numbers, places, baseline) for places in self.selections or (tuple(self.axis),))
        return {one.places: tuple(target.ours(one) for target in self.targets) for one in measured}

    def best(self, metrics: Sequence[Metrics]) -> float:
        """Return the least residual over the selections."""
        return min(map(self.residual, self.ours(metrics).values()))


_GC_TIME = Measure("", "ns", lambda metrics: metrics.gc_time_ns / (metrics.host_buffer.written_pages or 1))
"""GC's time for each page that the host's buffer writes."""
_CHOOSE: Mapping[str, Callable[[Sequence[float]], float]] = {"mean": mean, "max": max, "min": min}


def _ours(name: str, measure: str, choice: str) -> Callable[[Measured], float]:
    """Return the computation of the mean, greatest or least change of a line by a measure."""
    choose, read = _CHOOSE[choice], _GC_TIME if measure == "GC time" else MEASURES[measure]
    return lambda measured: choose(measured.changes(name, read))


def inferences(paper: str, constant: Callable[[Any], Any]) -> tuple[Inference, ...]:
    """Return the inferences of a paper; `constant` gives the paper's numbers."""
    values, text = toml_beside(__file__, f"{paper}.toml"), Text.beside(__file__.replace("definition", paper), {})
    shared = {"is_average": False, "unit": "", "selected": {}, "axis": {"0": {}}, "selections": (), **values}
    return tuple(_inference({**shared, **own}, shared, own, text, constant) for own in values["inferences"])


def _inference(
    whole: Mapping[str, Any],
    shared: Mapping[str, Any],
    own: Mapping[str, Any],
    text: Text,
    constant: Callable[..., Any],
) -> Inference:
    """Return one of several inferences of a file, by its own values, those of all, and both together."""
    suffix = f"-{own['name']}"
    base = Scenario.from_dict({**Scenario.load(whole["scenario"]).to_dict(), **whole.get("tables", {})})

    def said(name: str) -> tuple[str, str]:
        """Return the title and the body of a section, of this inference alone or of all."""
        section = next(one for one in (name, name + suffix, name.removesuffix(suffix)) if one in text.titles)
        return text.titles[section], text.bodies[section]

    def target(of: Sequence[str], paper: Any, **keys: Any) -> Target:
        return Target(paper=constant(paper), ours=_ours(*of), **keys)

    return Inference(
        scenario=base.with_({**shared["changes"], **own.get("changes", {})}),
        scaling=whole["scaling"].format(**own.get("text", {})),
        axis={float(at): keys for at, keys in whole["axis"].items()},
        unknowns=tuple(
            Unknown(**{"title": title, "values": own.get("values"), "reason": said(title)[1], **keys})
            for title, keys in shared["unknowns"].items()
        ),
        targets=tuple(target(**each) for each in own["targets"]),
        readings=tuple(
            Reading(name.removesuffix(suffix), *said(name), **shared["readings"][name])
            for name in own.get("readings", shared["readings"])
        ),
        selections=tuple(map(tuple, whole["selections"])),
        **{key: whole[key] for key in ("name", "title", "lines", "selected", "unit", "is_average")},
    )
