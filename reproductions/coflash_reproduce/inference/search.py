"""The search for set-ups of a paper: each reading is a search of `coflash tune`, and every run is in the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import mean

from rich.console import Console

from coflash.measures.metrics import Metrics
from coflash.results.store import FolderStore
from coflash.runs.inputs import inputs_of
from coflash.sweep import swept
from coflash.sweep.goal import Goal
from coflash.sweep.plan import Plan
from coflash.sweep.question import Question
from coflash.sweep.tune import Search
from coflash_reproduce.inference.definition import Inference, Reading

SEED = 0
"""The seed of the search."""
FITS = 0.2
"""The residual up to which a reading fits: the deviation up to which a statement of a reproduction holds."""
EXCLUDED = 0.4
"""The residual above which a reading is excluded. One between the two might fit after a longer search."""
GOOD = 0.1
"""A set-up is as good as the best one of its reading if its residual is larger by no more than this."""
OTHER_SEEDS = (2, 3, 4)
"""The seeds with which the best set-up of each reading is run again: it was chosen for its residual with seed 1."""


FIT, OPEN, OUT = "fits", "undecided", "excluded"


def verdict(residual: float) -> str:
    """Say what a residual means for a reading."""
    return FIT if residual <= FITS else OPEN if residual <= EXCLUDED else OUT


@dataclass(frozen=True)
class Candidate:
    """A set-up with one of the selections."""

    trial: int
    """Its place in the search, from 0."""
    texts: Mapping[str, str]
    """The values of its unknowns, by key."""
    places: tuple[float, ...]
    ours: tuple[float, ...]
    """Our number for each target."""
    residual: float


@dataclass(frozen=True)
class Outcome:
    """What the search found for a reading."""

    reading: Reading
    candidates: tuple[Candidate, ...]
    """Every set-up that was tried with every selection, in the order of the search."""
    again: float
    """The mean residual of the best set-up with other seeds."""
    mixture: float | None = None
    """The least residual of any mixture of set-ups, if the targets are averages over workloads."""

    @cached_property
    def best(self) -> Candidate:
        """The candidate with the least residual."""
        return min(self.candidates, key=lambda one: one.residual)

    @property
    def verdict(self) -> str:
        """Whether the reading fits with other seeds than the search; a mixture can save it from being excluded."""
        found = verdict(self.again)
        return OPEN if found == OUT and self.mixture is not None and verdict(self.mixture) != OUT else found

    @property
    def trials(self) -> int:
        """The number of set-ups that were tried."""
        return len({one.trial for one in self.candidates})

    def after(self, trials: int) -> float:
        """Return the least residual after a number of set-ups."""
        first = sorted({one.trial for one in self.candidates})[:trials]
        return min(one.residual for one in self.candidates if one.trial in first)

    def good(self) -> list[Candidate]:
        """Return the candidates that are as good as the best one."""
        return [one for one in self.candidates if one.residual <= self.best.residual + GOOD]

    def profile(self) -> list[Candidate]:
        """Return each set-up with the selection that suits it best."""
        ordered = sorted(self.candidates, key=lambda one: (one.trial, -one.residual))
        return list({one.trial: one for one in ordered}.values())


@dataclass(frozen=True)
class Inferred:
    """An inference and its outcomes, by reading."""

    inference: Inference
    outcomes: tuple[Outcome, ...]

    @property
    def runs(self) -> int:
        """The number of runs, those that readings share counted once for each."""
        seeds = len(OTHER_SEEDS)
        return sum(one.trials + seeds for one in self.outcomes) * len(self.inference.points)


def infer(inference: Inference, store: FolderStore, trials: int, jobs: int, console: Console | None) -> Inferred:
    """Search the set-ups of each reading, except runs that are in the store already.

    Args:
        inference: The inference.
        store: The folder of the results.
        trials: The number of set-ups to try for each reading.
        jobs: The number of parallel runs; with more than 1 the set-ups depend on the order in which runs end.
        console: The console for progress; None for no display.

    Raises:
        CoflashError: A scenario or a trace cannot be used, a run failed, or the folder cannot be written.
        KeyboardInterrupt: Control-C was pressed; finished runs are kept.
    """
    return Inferred(
        inference, tuple(_outcome(inference, one, store, trials, jobs, console) for one in inference.readings)
    )


def _outcome(
    inference: Inference, reading: Reading, store: FolderStore, trials: int, jobs: int, console: Console | None
) -> Outcome:
    cases, scenario = inference.cases(reading), inference.scenario.with_(reading.changes)
    against = ", ".join(f"{target.what} {target.paper:g}" for target in inference.targets)
    goal = Goal(f"residual of {inference.name} against {against}", True, lambda runs, _: inference.best(runs), cases)
    axes = [unknown.axis for unknown in inference.searched(reading)]
    question = Question(scenario, inputs_of(scenario), store, jobs, console)
    tried = Search(question, axes, [goal], seeds=1, trials=trials, seed=SEED).run().trials
    found = [
        Candidate(trial.number, trial.values, places, ours, inference.residual(ours))
        for trial in sorted(tried, key=lambda one: one.number)
        for places, ours in inference.ours(_metrics(store, trial.runs)).items()
    ]
    best = min(found, key=lambda one: one.residual)
    again = scenario.set(list(best.texts.items()))
    residuals = []
    plan = Plan.of(again, question.inputs, cases, OTHER_SEEDS)
    swept(plan, store, question.place, console)
    for jobs_of_seed in zip(*(point.jobs for point in plan.points), strict=True):
        ours = inference.ours(_metrics(store, [job.key for job in jobs_of_seed]))
        residuals.append(inference.residual(ours[best.places]))
    mixed = mixture(inference, found) if inference.is_average else None
    return Outcome(reading, tuple(found), mean(residuals), mixed)


def mixture(inference: Inference, candidates: Sequence[Candidate]) -> float:
    """Return the least residual of any weighted mean over set-ups, as an average over workloads is one.

    The weights are non-negative and add up to 1; the other unknowns may differ from set-up to set-up, which gives it
    more freedom than the paper's average had.
    """
    import numpy as np
    from scipy.optimize import nnls  # slow to import

    scale = [max(abs(target.paper), target.floor) for target in inference.targets]
    ours = np.array([one.ours for one in candidates]).T / np.array(scale)[:, None]
    paper = np.array([target.paper for target in inference.targets]) / scale
    sure = 1e3  # the weight of the equation that the weights add up to 1
    weights, _ = nnls(np.vstack([ours, np.full(ours.shape[1], sure)]), np.append(paper, sure))
    return float(np.sqrt(np.mean((ours @ (weights / weights.sum()) - paper) ** 2)))


def _metrics(store: FolderStore, keys: Sequence[str]) -> list[Metrics]:
    found = {key: Metrics(document["metrics"]) for key, _, document in store.runs(keys)}
    return [found[key] for key in keys]
