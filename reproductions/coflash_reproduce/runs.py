"""The runs of a paper's experiments, done as a sweep: on all cores, resumable, each result stored at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from coflash._core import CoflashError
from coflash.results.store import store_at
from coflash.runs.inputs import Input, inputs_of
from coflash.sweep import points_of, swept
from coflash.sweep.engine import Place
from coflash.sweep.plan import Plan, Point
from coflash_reproduce.paper import Case, Experiment, Run, Runs


def run_all(experiments: Sequence[Experiment], folder: Path, jobs: int | None, console: Console | None) -> Runs:
    """Run the experiments, except runs that are in the folder already.

    Args:
        experiments: The experiments.
        folder: The folder of the results.
        jobs: The number of parallel runs; None for one on each core.
        console: The console for progress; None for no display.

    Raises:
        CoflashError: A scenario or a trace cannot be used, a run failed, or the folder cannot be written.
        KeyboardInterrupt: Control-C was pressed; finished runs are kept.
    """
    points: list[Point] = []
    inputs: dict[str, Input] = {}
    for experiment in experiments:
        files = inputs_of(experiment.scenario, experiment.trace)
        inputs.update((file.source, file) for file in files)
        assignments = points_of([case.changes for case in experiment.cases], "grid", 1, 0)
        planned = (Point.of(experiment.scenario, files, assignment, experiment.seeds) for assignment in assignments)
        points += map(_named, planned, [experiment] * len(experiment.cases), experiment.cases)
    store = store_at(folder)
    different = {tuple(job.key for job in point.jobs): point for point in points}  # experiments may share runs
    done = swept(Plan(tuple(different.values())), store, Place(jobs, tuple(inputs.values())), console)
    if done.failures:
        failed = "; ".join(f"{failure.label}: {failure.error}" for failure in done.failures[:3])
        msg = f"{len(done.failures)} of {sum(len(one.jobs) for one in different.values())} runs failed: {failed}"
        raise CoflashError(msg)
    cases = [(experiment, case) for experiment in experiments for case in experiment.cases]
    keys = [[job.key for job in point.jobs] for point in points]
    found = {key: (place, document) for key, place, document in store.runs(key for of in keys for key in of)}
    ofs = zip(cases, keys, strict=True)
    return Runs(tuple(Run(of, case, key, *found[key]) for (of, case), seeds in ofs for key in seeds))


def _named(point: Point, experiment: Experiment, case: Case) -> Point:
    """Return the point with jobs labelled by experiment and case.

    Raises:
        CoflashError: The case is no valid scenario.
    """
    label = f"{experiment.name}: {case.line}, {case.at:g}"
    if point.refused:
        raise CoflashError(f"{label}: {point.refused}")
    return replace(point, jobs=tuple(replace(job, label=label) for job in point.jobs))
