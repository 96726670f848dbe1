"""Does the experiments of a paper by the machinery of sweeps: on all cores, resumable, each run kept once done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from coflash._core import CoflashError
from coflash.inputs import Input, inputs_of
from coflash.reproduce.paper import Case, Experiment, Run, Runs
from coflash.store import store_at
from coflash.sweep import points_of, swept
from coflash.sweep.engine import Place
from coflash.sweep.plan import Plan, Point


def run_all(experiments: Sequence[Experiment], folder: Path, jobs: int | None, console: Console | None) -> Runs:
    """Does what is not in the folder yet.

    Args:
        experiments: What to run.
        folder: That of the results.
        jobs: How many runs at once; None: one for each core.
        console: Where progress is shown; None: nowhere.

    Raises:
        CoflashError: A scenario or a trace cannot be used, a run failed, or the folder cannot be written.
        KeyboardInterrupt: Control-C was pressed; what is done is kept.
    """
    points: list[Point] = []
    inputs: dict[str, Input] = {}
    for experiment in experiments:
        files = inputs_of(experiment.scenario, experiment.trace)
        inputs.update((file.source, file) for file in files)
        assignments = points_of([case.changes for case in experiment.cases], "grid", 1, 0)
        planned = Plan.of(experiment.scenario, files, assignments, 1)
        points += map(_named, planned.points, [experiment] * len(experiment.cases), experiment.cases)
    store = store_at(folder)
    different = {point.jobs[0].key: point for point in points}  # experiments may share runs
    done = swept(Plan(tuple(different.values())), store, Place("local", jobs, None, tuple(inputs.values())), console)
    if done.failures:
        failed = "; ".join(f"{failure.label}: {failure.error}" for failure in done.failures[:3])
        msg = f"{len(done.failures)} of {len(different)} runs failed: {failed}"
        raise CoflashError(msg)
    cases = [(experiment, case) for experiment in experiments for case in experiment.cases]
    found = {key: (place, document) for key, place, document in store.runs(point.jobs[0].key for point in points)}
    keys = [point.jobs[0].key for point in points]
    return Runs(tuple(Run(of, case, key, *found[key]) for (of, case), key in zip(cases, keys, strict=True)))


def _named(point: Point, experiment: Experiment, case: Case) -> Point:
    """The point with jobs that are called what they are for."""
    label = f"{experiment.name}: {case.line}, {case.at:g}"
    return replace(point, jobs=tuple(replace(job, label=label) for job in point.jobs))
