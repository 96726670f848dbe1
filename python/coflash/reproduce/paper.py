"""What a paper is here: the runs that it takes, what is drawn of them, and the numbers it published.

A paper is a module that declares one [`Paper`][coflash.reproduce.paper.Paper]. It runs and draws nothing itself: `runs`
does the experiments, `drawing` the figures, `page` the text. The legend of this package:

- an *experiment* is a scenario, a workload, and cases of it;
- a *case* is one run: the line of a figure that it belongs to, its place on the axis, and what it changes;
- an *exhibit* is a figure or a table of the paper;
- a *claim* is a number of the paper, and how ours is had from the runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from coflash.measures import Measure
from coflash.metrics import Metrics
from coflash.quantity import change
from coflash.result import FILES, Result
from coflash.scenario import Scenario
from coflash.store import RunFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


@dataclass(frozen=True)
class Case:
    """One run of an experiment."""

    line: str
    """The line of the figure that it is a point of."""
    at: float
    """Where on the figure's axis, in the axis' unit."""
    changes: Mapping[str, Any]
    """What it changes in the scenario, by key."""


@dataclass(frozen=True)
class Experiment:
    """A scenario and its cases."""

    name: str
    title: str
    """What sets it apart from the other experiments of a figure."""
    scenario: Scenario
    cases: tuple[Case, ...]
    trace: tuple[str, ...] = ()
    """The files of the trace that is replayed in place of the scenario's workload."""
    footprint_bytes: int = 0
    """The space that its requests go to."""


@dataclass(frozen=True)
class Run:
    """A case that was done."""

    experiment: Experiment
    case: Case
    key: str
    """Its key in the store."""
    files: RunFolder
    document: Mapping[str, Any]

    @cached_property
    def metrics(self) -> Metrics:
        """What it counted."""
        return Metrics(self.document["metrics"])

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario as it ran."""
        return Scenario.from_dict(self.document["scenario"])

    def result(self) -> Result:
        """All of it, read from the store."""
        return Result.load(self.files.here(*sorted(FILES)))


@dataclass(frozen=True)
class Runs:
    """All runs of a paper's experiments, in their order."""

    runs: tuple[Run, ...]

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def of(self, experiment: str, line: str | None = None) -> list[Run]:
        """The runs of an experiment, or of one of its lines; none where it was not done."""
        return [run for run in self.runs if run.experiment.name == experiment and line in (None, run.case.line)]

    def at(self, experiment: str, line: str, at: float) -> Run | None:
        """The run at a place of a line, where there is one."""
        return next((run for run in self.of(experiment, line) if run.case.at == at), None)

    def experiments(self, names: Sequence[str]) -> list[Experiment]:
        """Those of these experiments that were done, in the order of the names."""
        done = {run.experiment.name: run.experiment for run in self.runs}
        return [done[name] for name in names if name in done]

    def changes(self, experiment: str, line: str, baseline: str, measure: Measure) -> list[float]:
        """By how much a line lies above the baseline (negative: below it), relatively, at each place that both have."""
        pairs = ((run, self.at(experiment, baseline, run.case.at)) for run in self.of(experiment, line))
        found = (change(measure.read(run.metrics), measure.read(base.metrics)) for run, base in pairs if base)
        return [relative for relative in found if relative is not None]


@dataclass(frozen=True)
class Axis:
    """The axis of a figure."""

    label: str
    unit: str
    """Of the places: "GiB", "%" or nothing."""
    logarithmic: bool = False

    def text(self, at: float) -> str:
        """A place, with its unit."""
        number = f"{at:.3g}" if at < 1000 else f"{at:,.0f}"
        return f"{number} {self.unit}".strip()


@dataclass(frozen=True)
class Line:
    """Something drawn beside the runs, such as a theory."""

    label: str
    points: tuple[tuple[float, float], ...]
    """Places and values."""


Notes = Callable[[Runs], Sequence[str]]
"""What follows from the numbers, in sentences that are made of them."""


@dataclass(frozen=True)
class Figure:
    """A figure: a measure over an axis, a panel for each experiment, a line for each line of the cases."""

    name: str
    title: str
    measure: Measure
    axis: Axis
    experiments: tuple[str, ...]
    """The names of those that are shown, where they were done."""
    differs: str
    """What differs from the paper, in a sentence."""
    baseline: str | None = None
    """The line that the others are compared with."""
    from_zero: bool = True
    """Whether the axis of the measure begins at 0; else the lines fill the panel."""
    only: tuple[str, ...] = ()
    """The lines of the cases that are shown; all of them where it is empty."""
    lines: Callable[[Runs, Experiment], Sequence[Line]] | None = None
    """The lines of a panel where they are not those of its cases."""
    across: tuple[str, ...] = ()
    """Lines that are one run each and have no place on the axis: they are drawn across it."""
    beside: Callable[[Runs], Sequence[Line]] = lambda _: ()
    """What is drawn beside the runs."""
    notes: Notes = lambda _: ()


@dataclass(frozen=True)
class Grid:
    """A table as it is shown."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Exhibit:
    """A table of the paper, or one of ours."""

    name: str
    title: str
    grid: Callable[[Runs], Grid]
    differs: str
    """What differs from the paper, or what it shows, in a sentence."""


@dataclass(frozen=True)
class Picture:
    """A figure of the paper that is not a measure over an axis."""

    name: str
    title: str
    draw: Callable[[Runs], Canvas]
    grid: Callable[[Runs], Grid]
    """Its numbers."""
    differs: str
    """What differs from the paper, in a sentence."""
    notes: Notes = lambda _: ()


@dataclass(frozen=True)
class Claim:
    """A number, or the two ends of a range, that the paper published."""

    exhibit: str
    """The name of the figure or table it is of."""
    what: str
    experiments: tuple[str, ...]
    """Each of them, where it was done, is held against it; none where it is of all runs together."""
    paper: tuple[float, ...]
    ours: Callable[[Runs, str], tuple[float, ...]]
    """The same numbers of an experiment; its name is empty where it is of all runs together."""
    is_change: bool
    """Whether the numbers are relative changes; else they are ratios."""
    said: str = ""
    """What the paper says where it gives no number; `paper` is what we take that for."""
    at_most: bool = False
    """Whether the paper's number is a bound, which ours must not be above."""


@dataclass(frozen=True)
class Paper:
    """A paper."""

    name: str
    title: str
    source: str
    """Who published it, where and when."""
    idea: str
    """What it is about, in a few sentences."""
    scales: Mapping[str, str]
    """How large its experiments can be, and what is scaled then."""
    experiments: Callable[[str, tuple[str, ...]], tuple[Experiment, ...]]
    """What is run at a scale, given the traces that the user named."""
    exhibits: tuple[Figure | Picture | Exhibit, ...]
    claims: tuple[Claim, ...]
    open_questions: tuple[str, ...] = field(default=())
    """What the paper leaves open, and what was chosen."""
