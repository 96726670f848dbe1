"""The definition of a paper: its experiments, its figures and tables, and the numbers that it published.

What a paper has in common with a [`Study`][coflash_reproduce.study.Study] of ours is an
[`Investigation`][coflash_reproduce.paper.Investigation].

A paper is a module that declares one [`Paper`][coflash_reproduce.paper.Paper]. It neither runs nor draws: `runs` does
the experiments, `drawing` the figures, `page` the page; its prose is in a Markdown file beside it (`text`). The terms:

- an *experiment* is a scenario, a workload, and its cases;
- a *case* is one run: its line in a figure, its place on the axis, and its changes to the scenario;
- an *exhibit* is a figure or a table of the paper;
- a *claim* is a statement of the paper, and the computation of ours from the runs ([`claim`][coflash_reproduce.claim]).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from coflash.charts import Chart
from coflash.measures.measure import Measure
from coflash.measures.metrics import Metrics
from coflash.quantity import Unit, show
from coflash.results.estimate import Estimate
from coflash.results.notes import checks
from coflash.results.result import FILES, Result
from coflash.results.store import RunFolder
from coflash.scenario import Scenario
from coflash_reproduce.text import Text

MOST_STEADY = 2 / 3
"""The share of an experiment's runs that must be steady, or else a study judges none of them."""


@dataclass(frozen=True)
class Case:
    """One run of an experiment."""

    line: str
    """The line of the figure to which it belongs."""
    at: float
    """The place on the figure's axis, in the axis' unit."""
    changes: Mapping[str, Any]
    """The changes to the scenario, by key."""


def scenario_beside(module: str, name: str) -> Scenario:
    """Load a scenario beside a module."""
    return Scenario.load(Path(module).with_name(name))


@dataclass(frozen=True)
class Experiment:
    """A scenario and its cases."""

    name: str
    title: str
    """The title of its panel in a figure."""
    scenario: Scenario
    cases: tuple[Case, ...]
    trace: tuple[str, ...] = ()
    """The files of the trace to replay in place of the scenario's workload."""
    footprint_bytes: int = 0
    """The address space of its requests."""
    seeds: int = 1
    """The number of runs of each case, with the scenario's seed and those after it."""

    @property
    def issued(self) -> str:
        """How requests are issued, in words."""
        replay = self.scenario.to_dict()["replay"]
        mode = replay.get("mode") or ("open" if self.trace else self.scenario.replay_mode)
        return "at their times" if mode == "open" else f"{replay['queue_depth']} at a time"


T = TypeVar("T")


@dataclass(frozen=True)
class Run:
    """A finished case."""

    experiment: Experiment
    case: Case
    key: str
    """Its key in the store."""
    files: RunFolder
    document: Mapping[str, Any]

    @cached_property
    def metrics(self) -> Metrics:
        """The metrics."""
        return Metrics(self.document["metrics"])

    def read(self, measure: Measure) -> float:
        """Return a measure; 0 where it has no value."""
        return measure.read(self.metrics) or 0.0

    @cached_property
    def unsteady(self) -> str:
        """The notes by which its numbers say nothing of a steady state; empty if there are none."""
        notes = (*self.document["workload"]["remarks"], *self.document.get("notes", ()))
        return " ".join([*(note for note in notes if "not steady" in note), *checks(self.document)])

    @cached_property
    def late_ns(self) -> float:
        """The mean response of requests that arrive in the second half of the simulated time."""
        series = self.result().series()
        late = slice(len(series) // 2, None)
        requests, means = series["requests"][late], series["response_mean_ns"][late]
        answered = requests > 0
        return float((means[answered] * requests[answered]).sum() / requests.sum())

    def late_waf(self, begin: float) -> float:
        """Return the write amplification from a share of the simulated time on."""
        series = self.result().series()
        late = slice(int(begin * len(series)), None)
        programs = sum(int(series[name][late].sum()) for name in series.columns if name.startswith("programs_"))
        return programs / int(series["host_writes_pages"][late].sum())

    @property
    def seed(self) -> int:
        """The seed."""
        return int(self.document["seed"])

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario of the run."""
        return Scenario.from_dict(self.document["scenario"])

    def result(self) -> Result:
        """Load the whole result from the store."""
        return Result.load(self.files.here(*sorted(FILES)))


@dataclass(frozen=True)
class Runs:
    """All runs of a paper's experiments, in their order."""

    runs: tuple[Run, ...]
    left_out: tuple[Run, ...] = ()
    """The runs that are not judged, since they say nothing of a steady state."""
    _opened: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    def opened(self, by: Callable[[Runs], T]) -> T:
        """Return what a function makes of the runs, which is made once."""
        if by not in self._opened:
            self._opened[by] = by(self)
        found: T = self._opened[by]
        return found

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    def of(self, experiment: str, line: str | None = None) -> list[Run]:
        """Return the runs of an experiment, or of one of its lines; empty if it was not run."""
        return [run for run in self.runs if run.experiment.name == experiment and line in (None, run.case.line)]

    def steady(self) -> Runs:
        """Return the runs that were steady by their own notes, of experiments most of whose runs were."""
        every = Counter(run.experiment.name for run in self.runs)
        unsteady = Counter(run.experiment.name for run in self.runs if run.unsteady)
        few = {name for name, count in every.items() if unsteady[name] > (1 - MOST_STEADY) * count}
        is_out = [bool(run.unsteady) or run.experiment.name in few for run in self.runs]
        kept = tuple(run for run, out in zip(self.runs, is_out, strict=True) if not out)
        return Runs(kept, tuple(run for run, out in zip(self.runs, is_out, strict=True) if out))

    def experiments(self, names: Iterable[str]) -> list[Experiment]:
        """Return those of these experiments that were run, in the order of the names."""
        done = {run.experiment.name: run.experiment for run in self.runs}
        return [done[name] for name in names if name in done]


@dataclass(frozen=True)
class Axis:
    """The axis of a figure."""

    label: str
    unit: str
    """The unit of the places: "GiB", "%" or empty."""
    logarithmic: bool = False
    from_zero: bool = False
    """Whether the axis begins at 0."""

    def text(self, at: float) -> str:
        """Show a place with its unit."""
        number = f"{at:.3g}" if at < 1000 else f"{at:,.0f}"
        return f"{number} {self.unit}".strip()


@dataclass(frozen=True)
class Line:
    """A line beside the runs, such as a theory."""

    label: str
    points: tuple[tuple[float, float], ...]
    """Places and values."""
    half_widths: tuple[float | None, ...] = ()
    """For each point the half-width of its 95 % confidence interval, if it is a mean over seeds."""


Notes = Callable[[Runs], Iterable[str]]
"""Conclusions from the numbers, in sentences that contain them."""


@dataclass(frozen=True)
class Figure:
    """A figure: a measure over an axis, a panel for each experiment, a line for each line of the cases."""

    name: str
    measure: Measure
    axis: Axis
    experiments: tuple[str, ...]
    """The names of the experiments, which are shown if they were run."""
    baseline: str | None = None
    """The line with which the others are compared."""
    from_zero: bool = True
    """Whether the axis of the measure begins at 0; otherwise the lines fill the panel."""
    only: tuple[str, ...] = ()
    """The lines to show; all of them if empty."""
    is_one_panel: bool = False
    """Whether the first experiment that was run has the lines of all."""
    lines: Callable[[Runs, Experiment], Sequence[Line]] | None = None
    """The lines of a panel, if they are not those of its cases."""
    across: tuple[str, ...] = ()
    """Lines of a single run without a place on the axis, which are drawn across it."""
    beside: Callable[[Runs, Experiment], Sequence[Line]] = lambda *_: ()
    """Lines beside the runs of a panel, such as the paper's numbers."""
    notes: Notes = lambda _: ()

    def panels(self, runs: Runs) -> list[Experiment]:
        """Return the experiments that have a panel."""
        found = runs.experiments(self.experiments)
        return found[:1] if self.is_one_panel else found

    def shows(self, runs: Runs) -> bool:
        """Return whether there is anything to show."""
        return bool(self.panels(runs))


@dataclass(frozen=True)
class Grid:
    """A table of texts."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Exhibit:
    """A table of the paper, or one of ours."""

    name: str
    grid: Callable[[Runs], Grid]
    notes: Notes = lambda _: ()

    def shows(self, _: Runs) -> bool:
        """Return that there is a table, be it empty."""
        return True


@dataclass(frozen=True)
class Picture:
    """A figure of the paper that is not a measure over an axis."""

    name: str
    draw: Callable[[Runs], list[Chart]]
    grid: Callable[[Runs], Grid]
    """Its numbers."""
    notes: Notes = lambda _: ()
    is_column: bool = False
    """Whether its charts stand below each other, in a column."""

    def shows(self, runs: Runs) -> bool:
        """Return whether there is anything to show."""
        return bool(self.grid(runs).rows)


@dataclass(frozen=True, kw_only=True)
class Investigation:
    """A question that runs answer: a page with figures and tables."""

    name: str
    text: Text
    """What the page says: of each exhibit, of each scale, and of what is left open."""
    experiments: Callable[[str, tuple[str, ...]], tuple[Experiment, ...]]
    """The experiments of a scale, given the traces of the user."""
    exhibits: tuple[Figure | Picture | Exhibit, ...]
    queries: Any = None
    """The queries of its text (`queries.Queries`)."""


def spread(found: Estimate, unit: Unit) -> str:
    """Show a mean with the half-width of its interval: 1.16 ± 0.01; without it where no seed changes the number."""
    if not found.half_width:
        return show(found.mean, unit)
    half = show(found.half_width, unit)
    known = half if re.search("[1-9]", half) else re.sub(r"0(?=\D*$)", "1", f"<{half}")  # not of a width of zero
    return f"{show(found.mean, unit)} ± {known}"
