"""Tuning: a search for the best values of some keys, with Optuna; every trial is a point of a sweep."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coflash._core import CoflashError, __version__
from coflash.measures.catalogue import metric, named
from coflash.measures.metrics import Metrics
from coflash.measures.renamed import metrics_of
from coflash.results.estimate import Estimate, estimate
from coflash.results.store import FolderStore, Store, store_at
from coflash.runs.inputs import inputs_of
from coflash.scenario import Scenario, ScenarioLike
from coflash.sweep.design import Assignment, Axis, Choices, axes_of, check_keys
from coflash.sweep.driver import work
from coflash.sweep.engine import Engine, EngineName, Place, open_engine
from coflash.sweep.plan import Job, Point
from coflash.terminal import errors
from coflash.trace import Paths

if TYPE_CHECKING:
    import optuna
    from rich.console import Console

    from coflash.sweep.progress import Watch

JOURNAL = "tune.journal"


@dataclass(frozen=True)
class Trial:
    """A point of the search."""

    number: int
    """Its place among the trials with a value, from 0."""
    values: dict[str, str]
    """Its values."""
    found: Estimate
    """The objective, over the seeds."""
    runs: tuple[str, ...]
    """The names of its runs in the folder of results: for each seed, those of the goal's cases."""


@dataclass(frozen=True)
class Tuning:
    """A finished search."""

    path: Path
    """The folder of its results."""
    objective: str
    """The name of what was minimised or maximised; of a metric, its path."""
    trials: tuple[Trial, ...]
    """The trials with a value, the best first."""
    scenario: Scenario
    """The scenario of the best trial."""
    failed: int
    """The number of trials without a value: a run failed, or the point was not a valid scenario."""

    @property
    def best(self) -> Trial:
        """The best trial."""
        return self.trials[0]


def tune(
    scenario: ScenarioLike,
    over: Mapping[str, str | Sequence[Any]],
    trace: Paths = (),
    *,
    minimise: str | None = None,
    maximise: str | None = None,
    out: str | os.PathLike[str],
    trials: int = 50,
    seeds: int | Sequence[int] = 1,
    tune_seed: int = 0,
    engine: EngineName = "local",
    workers: int | None = None,
    address: str | None = None,
    progress: bool = False,
) -> Tuning:
    """Search for the values of some keys that minimise or maximise a metric.

    Trials are stored like the runs of a sweep: the same call resumes a search that was stopped, and a call with more
    trials continues one that ended. With one worker the same call tries the same points.

    Args:
        scenario: The scenario, as an object, as nested dictionaries, or by its name or file.
        over: The search space, by key: ranges such as `"64MiB..1GiB"`, or choices.
        trace: The trace to replay instead of the scenario's own workload: paths, or URLs that fsspec knows.
        minimise: The metric to minimise, such as `"response.p99"`.
        maximise: Or the metric to maximise.
        out: The folder of results.
        trials: The number of points to try in all.
        seeds: The number of seeds for each point, starting at the scenario's own; or the seeds. Their mean counts.
        tune_seed: The seed of the search.
        engine: `"local"`: threads of this process; `"dask"`, `"ray"`: a cluster.
        workers: The number of parallel runs; None for one on each core.
        address: The address of the cluster's scheduler; None for a cluster on this machine.
        progress: Whether to show progress on the standard error stream.

    Raises:
        CoflashError: An argument cannot be used, or no trial has a value.
        KeyboardInterrupt: Control-C was pressed; finished runs are kept.
    """
    scenario = Scenario.of(scenario)
    search = Search(
        scenario, axes_of(over), trace, goal(minimise, maximise), seeds=seeds, trials=trials, seed=tune_seed
    )
    place = Place(engine, workers, address, search.inputs)
    return search.run(folder_for(out), place, errors() if progress else None)


@dataclass(frozen=True)
class Goal:
    """A number that the runs of a point give, and whether it is minimised."""

    name: str
    is_minimum: bool
    value: Callable[[Sequence[Metrics]], float | None] = field(repr=False)
    """Its computation from the metrics of a point's cases, in their order; None if they do not give it."""
    cases: tuple[Assignment, ...] = ((),)
    """The runs of a point with one seed, each by its changes to the scenario."""


def goal(minimise: str | None, maximise: str | None) -> Goal:
    """Make the goal of a search from the two arguments.

    Raises:
        CoflashError: None or both are given, or there is no such metric.
    """
    if (minimise is None) == (maximise is None):
        msg = "tune: minimise or maximise is needed, one of them, such as minimise response.p99"
        raise CoflashError(msg)
    name = metric(minimise or maximise or "")
    read = named(name).read
    return Goal(name, minimise is not None, lambda runs: read(runs[0]))


def folder_for(out: str | os.PathLike[str]) -> FolderStore:
    """Return the store of a search.

    Raises:
        CoflashError: It is not a folder.
    """
    store = store_at(out)
    if not isinstance(store, FolderStore):
        msg = f"tune: {store.place} was given; the course of a search is a file that grows, so only a folder is allowed"
        raise CoflashError(msg)
    return store


@dataclass
class _Open:
    """A trial with unfinished runs."""

    trial: optuna.Trial
    points: tuple[Point, ...]
    """Its cases."""
    left: int
    is_failed: bool = False


class Search:
    """The trials of one search, whose points come from Optuna."""

    def __init__(
        self,
        scenario: Scenario,
        axes: Sequence[Axis],
        trace: Paths,
        wanted: Goal,
        *,
        seeds: int | Sequence[int],
        trials: int,
        seed: int,
    ) -> None:
        check_keys(axes)
        if not axes:
            msg = "tune: nothing to vary was given; at least one key is needed, such as cache.size=64MiB..1GiB"
            raise CoflashError(msg)
        if trials < 1:
            msg = f"trials: {trials} was given; at least 1 is allowed"
            raise CoflashError(msg)
        self.inputs = inputs_of(scenario, trace)
        self._scenario, self._axes, self._seeds, self._goal = scenario.with_(workload__trace=[]), axes, seeds, wanted
        self._trials, self._seed = trials, seed
        self._open: dict[str, list[_Open]] = {}

    def run(self, store: FolderStore, place: Place, console: Console | None) -> Tuning:
        """Run the remaining trials.

        Raises:
            CoflashError: The engine cannot be used, a result cannot be stored, or no trial has a value.
            KeyboardInterrupt: Control-C was pressed.
        """
        from coflash.sweep.progress import Watch  # needs rich

        store.check()
        study = self._study(store.path)
        seeds = self._seeds if isinstance(self._seeds, int) else len(self._seeds)
        runs_each = seeds * len(self._goal.cases)
        todo = max(self._trials - sum(map(_is_settled, study.trials)), 0)
        with Watch(console, todo * runs_each) as watch:
            if todo:
                with open_engine(place) as opened:
                    self._work(study, todo, opened, store, watch)
        return self._tuning(study, store.path)

    def _work(self, study: optuna.Study, todo: int, opened: Engine, store: Store, watch: Watch) -> None:
        for outcome in work(self._jobs(study, todo, watch), opened, store, watch, ahead=False):
            trial = self._open[outcome.job.key].pop()
            trial.left -= 1
            trial.is_failed |= outcome.failure is not None
            if not trial.left:
                self._tell(study, trial, store)

    def _jobs(self, study: optuna.Study, todo: int, watch: Watch) -> Iterator[Job]:
        for number in range(self._trials - todo, self._trials):
            study.sampler = self._sampler(number)
            trial = study.ask()
            values = tuple((axis.key, _suggest(trial, axis)) for axis in self._axes)
            tried = tuple(
                Point.of(self._scenario, self.inputs, (*values, *case), self._seeds) for case in self._goal.cases
            )
            if refused := next((point for point in tried if point.refused), None):
                watch.refused(refused)
                _fail(study, trial)
                continue
            jobs = [job for point in tried for job in point.jobs]
            opened = _Open(trial, tried, len(jobs))
            for job in jobs:
                self._open.setdefault(job.key, []).append(opened)
            yield from (job.shares(None) for job in jobs)

    def _sampler(self, number: int) -> Any:
        """Return the sampler of a trial, with a seed of its own: a resumed search goes on as if never stopped."""
        # A trial counts as bad until its value is known, so that parallel trials differ.
        return _optuna().samplers.TPESampler(seed=self._seed + number, constant_liar=True)

    def _tell(self, study: optuna.Study, opened: _Open, store: Store) -> None:
        by_seed = list(zip(*(point.jobs for point in opened.points), strict=True))
        keys = [job.key for jobs in by_seed for job in jobs]
        metrics = {key: metrics_of(document) for key, _, document in store.runs(keys)}
        found = estimate(
            [] if opened.is_failed else [self._goal.value([metrics[job.key] for job in jobs]) for jobs in by_seed]
        )
        if found.mean is None:
            _fail(study, opened.trial)
            return
        opened.trial.set_user_attr("values", {axis.key: opened.points[0].values[axis.key] for axis in self._axes})
        opened.trial.set_user_attr("found", found._asdict())
        opened.trial.set_user_attr("runs", keys)
        study.tell(opened.trial, found.mean)

    def _study(self, place: Path) -> optuna.Study:
        library = _optuna()
        from optuna.storages.journal import JournalFileBackend

        library.logging.set_verbosity(library.logging.WARNING)
        content = [self._scenario.hash, __version__, repr(self._goal), repr(self._axes), repr(self._seeds), self._seed]
        content += [file.sha256 for file in self.inputs]
        study: optuna.Study = library.create_study(
            storage=library.storages.JournalStorage(JournalFileBackend(str(place / JOURNAL))),
            study_name=hashlib.sha256("\n".join(map(str, content)).encode()).hexdigest()[:16],
            direction="minimize" if self._goal.is_minimum else "maximize",
            load_if_exists=True,
        )
        for stopped in study.get_trials(states=(library.trial.TrialState.RUNNING,)):
            study.tell(stopped.number, state=library.trial.TrialState.FAIL)
            study.enqueue_trial(stopped.params)
        return study

    def _tuning(self, study: optuna.Study, place: Path) -> Tuning:
        done = [trial.user_attrs for trial in study.trials if "found" in trial.user_attrs]
        if not done:
            msg = f"tune: none of {len(study.trials)} trials gave a value of {self._goal.name}"
            raise CoflashError(msg)
        trials = [
            Trial(number, one["values"], Estimate(**one["found"]), tuple(one["runs"]))
            for number, one in enumerate(done)
        ]
        trials.sort(key=lambda trial: trial.found.mean or 0.0, reverse=not self._goal.is_minimum)
        best = self._scenario.set(list(trials[0].values.items()))
        return Tuning(place, self._goal.name, tuple(trials), best, sum(map(_is_settled, study.trials)) - len(trials))


def _suggest(trial: optuna.Trial, axis: Axis) -> str:
    if isinstance(axis, Choices):
        return str(trial.suggest_categorical(axis.key, axis.values))
    # As an index or a fraction, so that a factor makes a logarithmic scale and Optuna sees no units.
    if axis.count is not None:
        return axis.value(trial.suggest_int(axis.key, 0, axis.count - 1))
    return axis.at(trial.suggest_float(axis.key, 0.0, 1.0))


def _fail(study: optuna.Study, trial: optuna.Trial) -> None:
    trial.set_user_attr("failed", True)
    study.tell(trial, state=_optuna().trial.TrialState.FAIL)


def _is_settled(trial: optuna.trial.FrozenTrial) -> bool:
    """Whether a trial has ended; a trial that was stopped has neither attribute."""
    return not trial.user_attrs.keys().isdisjoint(("found", "failed"))


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        msg = "tune needs Optuna: pip install 'coflash[tune]'"
        raise CoflashError(msg) from error
    return optuna
