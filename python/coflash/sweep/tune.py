"""Tuning: a search for the best values of some keys, with Optuna; every trial is a point of a sweep."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coflash._core import REVISION, CoflashError
from coflash.keys import check_key
from coflash.measures.metrics import Metrics
from coflash.quantity import agreed, counted, show, show_change
from coflash.results.database import results
from coflash.results.estimate import Estimate, show_estimate
from coflash.results.store import Store
from coflash.scenario import Scenario, ScenarioLike
from coflash.sweep.design import Axis, Choices, axes_of, check_keys
from coflash.sweep.driver import work
from coflash.sweep.engine import Engine, On
from coflash.sweep.finding import Kept, say
from coflash.sweep.goal import Condition, Goal, condition, goals
from coflash.sweep.plan import Job, Point, alike, digest, named_revision
from coflash.sweep.question import Question, estimates, folder_for
from coflash.text_table import TextTable
from coflash.trace import Paths

if TYPE_CHECKING:
    import optuna

    from coflash.sweep.progress import Watch

JOURNAL = "tune.journal"
_SHOWN = 10
"""The most trials in a table."""
ALIKE_MAX = 10
"""The number of trials, failed for the same reason before any has a value, after which a search stops."""
_AGAIN_MAX = 100
"""The draws without a new point after which all points count as tried."""
_IMPORTANCE_MIN = 10
"""The least number of trials from which the importance of keys is computed."""


@dataclass(frozen=True)
class Trial:
    """A point of the search."""

    number: int
    """Its place among the trials with a value, from 0."""
    values: dict[str, str]
    """Its values."""
    objectives: tuple[Estimate, ...]
    """The objectives, over the seeds."""
    excess: tuple[float, ...]
    """The violation of each condition, as a share of the bound; at most 0 if the condition is met."""
    runs: tuple[str, ...]
    """The names of its runs in the folder of results: for each seed, those of the goal's cases."""
    is_unbeaten: bool
    """Whether it is valid, and no other valid trial is as good in all objectives and better in one."""

    @property
    def found(self) -> Estimate:
        """The first objective."""
        return self.objectives[0]

    @property
    def is_allowed(self) -> bool:
        """Whether it meets all conditions."""
        return all(excess <= 0 for excess in self.excess)


@dataclass(frozen=True)
class Tuning(Kept):
    """A search, as far as it has come."""

    DOCUMENT = "tune.json"

    goals: tuple[Goal, ...]
    """The objectives."""
    bounds: tuple[Condition, ...]
    """The conditions."""
    trials: tuple[Trial, ...]
    """The trials with a value, those that meet the conditions first, the best by the first objective first."""
    scenario: Scenario
    """The scenario of the best trial."""
    failed: int
    """The number of trials without a value: a run failed, or the point was not a valid scenario."""
    importance: tuple[dict[str, float], ...]
    """For each objective, the importance of each key as a share (PED-ANOVA); empty for few trials or one key."""

    @property
    def subject_to(self) -> tuple[str, ...]:
        """The conditions as texts."""
        return tuple(one.text for one in self.bounds)

    @property
    def front(self) -> tuple[Trial, ...]:
        """The Pareto front: the valid trials that no other dominates."""
        return tuple(trial for trial in self.trials if trial.is_unbeaten)

    @property
    def _shown(self) -> tuple[Trial, ...]:
        """The trials of the table: of several objectives the Pareto front."""
        return (self.front if len(self.goals) > 1 and self.front else self.trials)[:_SHOWN]

    def notes(self, *_: str) -> list[str]:
        """Return what a reader of the numbers should know."""
        stored = results(self.path)
        return [*stored.remarks, *stored.assumed([goal.measure for goal in self.goals])]

    def tables(self, *_: str) -> list[TextTable]:
        """Return a row for each of the best trials: its values, the objectives, and each bound."""

        def row(trial: Trial) -> list[str]:
            pairs = zip(self.goals, trial.objectives, strict=True)
            broken = zip(self.bounds, trial.excess, strict=True)
            bounded = [
                show(bound.value_at(by), bound.measure.unit) + (f" ✗ {show_change(by * bound.sign)}" if by > 0 else "")
                for bound, by in broken
            ]
            return [*trial.values.values(), *[show_estimate(one, goal.measure.unit) for goal, one in pairs], *bounded]

        heads = [*self.best.values, *(goal.measure.label for goal in self.goals), *self.subject_to]
        return [TextTable.of(heads, map(row, self._shown), "l" * len(self.best.values) + "r")]

    @property
    def sentences(self) -> tuple[str, ...]:
        """How many trials there are, which bounds they break, and the best one."""
        count = {"shown": len(self._shown), "front": len(self.front), "failed": self.failed}
        count["tried"] = len(self.trials) + self.failed
        parts = [say("trials" if len(self.goals) == 1 else "front", **count)]
        if len(self.goals) > 1 and count["shown"] < count["front"]:
            parts[0] += say("of front", **count)
        if self.subject_to:
            allowed = sum(trial.is_allowed for trial in self.trials)
            parts.append(say("allowed", allowed=allowed, goals=" and ".join(self.subject_to)))
        for place, bound in enumerate(self.bounds):
            broken = [trial.excess[place] for trial in self.trials if trial.excess[place] > 0]
            ends = say("by", least=min(broken), most=max(broken)) if broken else ""
            parts.append(say("break", count=len(broken), verb=agreed(len(broken), "breaks"), goal=bound.text, by=ends))
        sets = " ".join(f"--set {key}={value}" for key, value in self.best.values.items())
        return "; ".join(parts), say("best" if self.best.is_allowed else "closest", sets=sets)

    def document(self, *_: str) -> dict[str, Any]:
        """Return the search as plain data: goals, conditions, trials, importance."""
        front = {trial.number for trial in self.front}
        return {
            "objectives": [{"metric": goal.name, "minimised": goal.is_minimum} for goal in self.goals],
            "subject_to": list(self.subject_to),
            "trials": [
                {
                    "number": trial.number,
                    "values": trial.values,
                    "found": [one._asdict() for one in trial.objectives],
                    "allowed": trial.is_allowed,
                    "bounds": [
                        {"bound": one.text, "value": one.value_at(excess), "excess": excess, "met": excess <= 0}
                        for one, excess in zip(self.bounds, trial.excess, strict=True)
                    ],
                    "front": trial.number in front,
                    "runs": trial.runs,
                }
                for trial in self.trials
            ],
            "failed": self.failed,
            "importance": list(self.importance),
        }

    @property
    def best(self) -> Trial:
        """The best trial."""
        return self.trials[0]


def tune(
    scenario: ScenarioLike,
    over: Mapping[str, str | Sequence[Any]],
    trace: Paths = (),
    *,
    minimise: str | Sequence[str] | None = None,
    maximise: str | Sequence[str] | None = None,
    cost: str | None = None,
    subject_to: str | Sequence[str] = (),
    out: str | os.PathLike[str],
    trials: int = 50,
    seeds: int | Sequence[int] = 1,
    tune_seed: int = 0,
    on: On = None,
    progress: bool = False,
) -> Tuning:
    """Search for the values of some keys that minimise or maximise a measure.

    Trials are stored like the runs of a sweep: the same call resumes a search that was stopped, and a call with more
    trials continues one that ended. With one worker the same call tries the same points.

    Args:
        scenario: The scenario, as an object, as nested dictionaries, or by its name or file.
        over: The search space, by key: ranges such as `"64MiB..1GiB"`, or choices.
        trace: The trace to replay instead of the scenario's own workload: paths, or URLs that fsspec knows.
        minimise: The measure or key to minimise, such as `"response.p99"` or `"cache.size"`, or several.
        maximise: The measure or key to maximise, or several; of several objectives the answer is a Pareto front.
        cost: A cost to minimise, such as `"cache.size*3 $/GiB + flash.size*0.08"`; flash.size includes spare space.
        subject_to: Conditions that the answer must meet, such as `"response.p99<5ms"` or `"cost<2"`.
        out: The folder of results.
        trials: The number of points to try in all.
        seeds: The number of seeds for each point, starting at the scenario's own; or the seeds. Their mean counts.
        tune_seed: The seed of the search.
        on: The number of parallel runs on this machine, by default one on each core; or the address of a Dask
            scheduler, such as `"tcp://head:8786"`.
        progress: Whether to show progress on the standard error stream.

    Raises:
        CoflashError: An argument cannot be used, or no trial has a value.
        KeyboardInterrupt: Control-C was pressed; finished runs are kept.
    """
    question = Question.of(Scenario.of(scenario), trace, folder_for(out), on, progress)
    question = replace(question, scenario=question.scenario.with_(workload__trace=[]))
    texts = [subject_to] if isinstance(subject_to, str) else subject_to
    bounds = tuple(condition(text, cost) for text in texts)
    return Search(question, axes_of(over), goals(minimise, maximise, cost), bounds, seeds, trials, tune_seed).run()


@dataclass
class _Open:
    """A trial with unfinished runs."""

    trial: optuna.Trial
    points: tuple[Point, ...]
    """Its cases."""
    left: int
    reason: str = ""
    """The reason why a run of it failed; empty if none did."""


@dataclass
class Search:
    """The trials of one search, whose points come from Optuna."""

    question: Question
    axes: Sequence[Axis]
    goals: tuple[Goal, ...]
    conditions: tuple[Condition, ...]
    seeds: int | Sequence[int]
    trials: int
    seed: int
    """The seed of the search."""
    open: dict[str, list[_Open]] = field(default_factory=dict)
    """The trials that wait for a run, by its key."""

    def __post_init__(self) -> None:
        check_keys(axis.key for axis in self.axes)
        for axis in self.axes:
            check_key(axis.key)
        if not self.axes:
            raise CoflashError(say("nothing to vary"))
        if self.trials < 1:
            raise CoflashError(f"trials: {self.trials} was given; at least 1 is allowed")

    def run(self) -> Tuning:
        """Run the remaining trials.

        Raises:
            CoflashError: The engine cannot be used, a result cannot be stored, or no trial has a value.
            KeyboardInterrupt: Control-C was pressed.
        """
        from coflash.sweep.progress import Watch  # needs rich

        store = self.question.store
        store.check()
        study, former = self._study(store.path)
        seeds = self.seeds if isinstance(self.seeds, int) else len(self.seeds)
        todo = max(self.trials - sum(map(_is_settled, study.trials)), 0)
        with Watch(self.question.console, todo * seeds * len(self.goals[0].cases)) as watch:
            if former:
                watch.say(f"a search of {former} trials is there from an earlier revision of results, and is done anew")
            if todo and not _hopeless(study):
                with self.question.place.engine() as opened:
                    self._work(study, todo, opened, watch)
        return self._tuning(study, store.path).write()

    def _work(self, study: optuna.Study, todo: int, opened: Engine, watch: Watch) -> None:
        store, told = self.question.store, 0
        with self.question.asked(lambda: str(self._tuning(study, store.path))):
            for outcome in work(self._jobs(study, todo, watch), opened, store, watch, ahead=False):
                trial = self.open[outcome.job.key].pop()
                trial.left -= 1
                if outcome.failure is not None:
                    trial.reason = trial.reason or outcome.failure.error
                if trial.left:
                    continue
                self._tell(study, trial, store)
                told += 1
                # The course, for a live report. After many trials it is written less often: one more changes little.
                if told % (1 + told // 50) == 0:
                    with suppress(CoflashError):  # while no trial has a value
                        self._tuning(study, store.path).write()

    def _jobs(self, study: optuna.Study, todo: int, watch: Watch) -> Iterator[Job]:
        number, again = self.trials - todo, 0
        seen = {tuple(one.params.items()) for one in study.get_trials(deepcopy=False) if _is_settled(one)}
        points = math.prod(len(one.values) if isinstance(one, Choices) else one.count or math.inf for one in self.axes)
        while number < self.trials and len(seen) < points and again < _AGAIN_MAX and not _hopeless(study):
            study.sampler = self._sampler(number, again)
            trial = study.ask()
            values = tuple((axis.key, _suggest(trial, axis)) for axis in self.axes)
            if (point := tuple(trial.params.items())) in seen:
                study.tell(trial, state=_optuna().trial.TrialState.FAIL)
                again += 1
                continue
            seen.add(point)
            number, again = number + 1, 0
            tried = tuple(self.question.point((*values, *case), self.seeds) for case in self.goals[0].cases)
            if refused := next((point for point in tried if point.refused), None):
                watch.refused(refused)
                _fail(study, trial, refused.refused)
                continue
            jobs = [job for point in tried for job in point.jobs]
            opened = _Open(trial, tried, len(jobs))
            for job in jobs:
                self.open.setdefault(job.key, []).append(opened)
            yield from (job.shares(None) for job in jobs)

    def _sampler(self, number: int, again: int) -> Any:
        """Return the sampler of a trial, with a seed of its own: a resumed search goes on as if never stopped.

        In place of a point that was tried comes one at random.
        """
        if again:
            return _optuna().samplers.RandomSampler(seed=self.seed + number + _AGAIN_MAX * again)
        # A trial counts as bad until its value is known, so that parallel trials differ.
        return _optuna().samplers.TPESampler(seed=self.seed + number, constant_liar=True)

    def _tell(self, study: optuna.Study, opened: _Open, store: Store) -> None:
        by_seed = list(zip(*(point.jobs for point in opened.points), strict=True))
        keys = [job.key for jobs in by_seed for job in jobs]
        metrics = {key: Metrics(document["metrics"]) for key, _, document in store.runs(keys)}
        by_goal = [[metrics[job.key] for job in jobs] for jobs in by_seed] if not opened.reason else []
        scenario = opened.points[0].jobs[0].scenario
        found, bounded = (estimates(numbers, by_goal, scenario) for numbers in (self.goals, self.conditions))
        means = [one.mean for one in found if one.mean is not None]
        limits = zip(self.conditions, bounded, strict=True)
        excess = [limit.excess(number.mean) for limit, number in limits if number.mean is not None]
        if len(means) < len(found) or len(excess) < len(bounded):
            _fail(study, opened.trial, opened.reason or "a run gives no value of an objective or a condition")
            return
        opened.trial.set_user_attr("values", {axis.key: opened.points[0].values[axis.key] for axis in self.axes})
        opened.trial.set_user_attr("found", [one._asdict() for one in found])
        opened.trial.set_user_attr("excess", excess)
        for limit, beyond in zip(self.conditions, excess, strict=True):
            opened.trial.set_constraint(limit.text, beyond)
        opened.trial.set_user_attr("runs", keys)
        study.tell(opened.trial, means)

    def _study(self, place: Path) -> tuple[optuna.Study, int]:
        """Open the search of this revision, or begin it; then also count the trials of an earlier one that is there."""
        library = _optuna()
        from optuna.storages.journal import JournalFileBackend

        library.logging.set_verbosity(library.logging.WARNING)
        storage = library.storages.JournalStorage(JournalFileBackend(str(place / JOURNAL)))
        name, *former_names = map(self._name, range(REVISION, -1, -1))
        there = library.get_all_study_names(storage)
        former = [] if name in there else [one for one in former_names if one in there]
        study: optuna.Study = library.create_study(
            storage=storage,
            study_name=name,
            directions=["minimize" if goal.is_minimum else "maximize" for goal in self.goals],
            load_if_exists=True,
        )
        for stopped in study.get_trials(states=(library.trial.TrialState.RUNNING,)):
            study.tell(stopped.number, state=library.trial.TrialState.FAIL)
            study.enqueue_trial(stopped.params)
        return study, sum(len(library.load_study(study_name=one, storage=storage).trials) for one in former[:1])

    def _name(self, revision: int) -> str:
        """Return the name of the search under a revision of results."""
        wanted = map(repr, (self.goals, self.conditions, self.axes, self.seeds))
        inputs = (file.sha256 for file in self.question.inputs)
        return digest([self.question.scenario.hash, named_revision(revision), *wanted, self.seed, *inputs])

    def _tuning(self, study: optuna.Study, path: Path) -> Tuning:
        done = [trial for trial in study.trials if "found" in trial.user_attrs]
        unbeaten = {trial.number for trial in study.best_trials}
        if not done:
            reasons = [trial.user_attrs["failed"] for trial in study.trials if "failed" in trial.user_attrs]
            names = " and ".join(goal.name for goal in self.goals)
            stopped = say("alike trials", most=ALIKE_MAX) if _hopeless(study) else ""
            tried = counted(len(reasons), "trial")
            raise CoflashError(say("no value", trials=tried, names=names, stopped=stopped, reason=reasons[-1]))
        trials = [
            Trial(
                place,
                one.user_attrs["values"],
                tuple(Estimate(**found) for found in one.user_attrs["found"]),
                tuple(one.user_attrs["excess"]),
                tuple(one.user_attrs["runs"]),
                one.number in unbeaten,
            )
            for place, one in enumerate(done)
        ]
        sign = 1 if self.goals[0].is_minimum else -1
        trials.sort(key=lambda trial: (sum(max(one, 0) for one in trial.excess), sign * (trial.found.mean or 0.0)))
        best = self.question.scenario.set(list(trials[0].values.items()))
        failed = sum(map(_is_settled, study.trials)) - len(trials)
        return Tuning(
            path, self.goals, self.conditions, tuple(trials), best, failed, self._importance(study, len(done))
        )

    def _importance(self, study: optuna.Study, done: int) -> tuple[dict[str, float], ...]:
        """Compute the importance of each key to each objective.

        PED-ANOVA (Watanabe et al., IJCAI 2023) asks which keys the better trials have in common.
        """
        if done < _IMPORTANCE_MIN or len(self.axes) < 2:
            return ()
        importance, found = _optuna().importance, []
        with warnings.catch_warnings():
            # It is experimental, and it assumes that less is better, which the sign ensures.
            warnings.simplefilter("ignore")
            for place, goal in enumerate(self.goals):
                sign, judge = 1 if goal.is_minimum else -1, importance.PedAnovaImportanceEvaluator()
                shares = importance.get_param_importances(
                    study, evaluator=judge, target=lambda trial, at=place, by=sign: by * trial.values[at]
                )
                found.append({key: round(share, 6) for key, share in shares.items()})
        return tuple(found)


def _suggest(trial: optuna.Trial, axis: Axis) -> str:
    if isinstance(axis, Choices):
        return str(trial.suggest_categorical(axis.key, axis.values))
    # As an index or a fraction, so that a factor makes a logarithmic scale and Optuna sees no units.
    if axis.count is not None:
        return axis.value(trial.suggest_int(axis.key, 0, axis.count - 1))
    return axis.at(trial.suggest_float(axis.key, 0.0, 1.0))


def _fail(study: optuna.Study, trial: optuna.Trial, reason: str) -> None:
    trial.set_user_attr("failed", reason)
    study.tell(trial, state=_optuna().trial.TrialState.FAIL)


def _hopeless(study: optuna.Study) -> bool:
    """Whether no trial has a value, and the last ones failed for the same reason, apart from numbers."""
    settled = [trial.user_attrs for trial in study.get_trials(deepcopy=False) if _is_settled(trial)]
    if len(settled) < ALIKE_MAX or any("found" in attributes for attributes in settled):
        return False
    return len({alike(attributes["failed"]) for attributes in settled[-ALIKE_MAX:]}) == 1


def _is_settled(trial: optuna.trial.FrozenTrial) -> bool:
    """Whether a trial has ended; a trial that was stopped has neither attribute."""
    return not trial.user_attrs.keys().isdisjoint(("found", "failed"))


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise CoflashError("tune needs Optuna: pip install 'coflash[tune]'") from error
    return optuna
