"""Sweeps: one scenario at many points, with many seeds, on all cores or on a cluster.

`design` says what is varied; `plan` makes runs of it, each known by a key; `driver` hands them to an `engine` and keeps
what comes back in the store. Resuming needs nothing of its own: what is in the store is not run again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rich.console import Console

from coflash._core import CoflashError
from coflash.catalogue import named
from coflash.inputs import inputs_of
from coflash.measures import Measure
from coflash.metrics import metric
from coflash.results import Results
from coflash.scenario import Scenario, toml_value
from coflash.store import Failure, Store, store_at
from coflash.sweep.design import Assignment, Design, Vary, assignments, axes_of
from coflash.sweep.driver import work
from coflash.sweep.engine import EngineName, Place, open_engine
from coflash.sweep.plan import Plan, Point, sharing
from coflash.sweep.progress import Warming, Watch
from coflash.sweep.summary import Estimate, estimate
from coflash.table import Table
from coflash.trace import Paths

__all__ = ["Estimate", "Point", "Sweep", "sweep"]


@dataclass(frozen=True)
class Sweep:
    """A sweep that was done."""

    place: str
    """The folder of its results, or their URL."""
    points: tuple[Point, ...]
    """The points of its design, in the design's order."""
    failures: tuple[Failure, ...]
    """The runs that failed, and the points at which there is no scenario."""
    from_before: int
    """Runs that were there already."""
    warming: Warming
    """What runs saved by sharing warm devices."""

    @cached_property
    def results(self) -> Results:
        """Its runs as a table, and the database over them; other runs in the folder are left out."""
        keys = dict.fromkeys(job.key for point in self.points for job in point.jobs)
        return Results(self.place, store_at(self.place).runs(keys))

    def estimates(self, measure: Measure | str) -> list[Estimate]:
        """A measure, or a metric by its name, at each point, over its seeds.

        Raises:
            CoflashError: There is no such metric.
        """
        read = (named(measure) if isinstance(measure, str) else measure).read
        found = [[self.results.metrics(job.key) for job in point.jobs] for point in self.points]
        return [estimate([read(metrics) for metrics in runs if metrics is not None]) for runs in found]

    def table(self, *measures: str) -> Table:
        """A row for each point: what it sets, and the mean and the 95 % confidence interval of each metric.

        Args:
            measures: Metrics such as `waf_host` or `response.p99`. The half-width of the interval of each is in the
                column of its name and `.ci95`, its number of runs in that of `.runs`.

        Raises:
            CoflashError: There is no such metric.
        """
        import numpy as np

        keys = self.points[0].values
        columns = {key: np.array([point.values[key] for point in self.points]) for key in keys}
        for measure in measures or ("waf_host", "response.p99"):
            name, found = metric(measure), self.estimates(measure)
            columns[name] = np.array([one.mean for one in found], np.float64)
            columns[f"{name}.ci95"] = np.array([one.half_width for one in found], np.float64)
            columns[f"{name}.runs"] = np.array([one.runs for one in found])
        return Table(columns)


def sweep(
    scenario: Scenario | str | os.PathLike[str],
    vary: Vary,
    trace: Paths = (),
    *,
    out: str | os.PathLike[str],
    design: Design = "grid",
    samples: int = 20,
    design_seed: int = 0,
    seeds: int | Sequence[int] = 1,
    engine: EngineName = "local",
    workers: int | None = None,
    address: str | None = None,
    progress: bool = False,
) -> Sweep:
    """Runs a scenario at every point of a design, on all cores, and keeps each result as soon as it is there.

    What is in `out` already (the same scenario, inputs and version) is not run again: a sweep that was stopped goes on
    where it was. A run that fails is reported and the others go on.

    Args:
        scenario: The scenario, or the name or file of one.
        vary: Values by key, such as `{"cooperation.name": ["none", "cdm"], "cache.size": "64MiB..1GiB*2"}`; or the
            points themselves, a dictionary each.
        trace: The trace to replay instead of the scenario's own workload: paths, or URLs that fsspec knows.
        out: The folder of results, or a URL that fsspec knows, such as `"s3://bucket/oltp"`; several sweeps may share
            one, even at the same time.
        design: `"grid"`: every combination; `"list"`: the first values of all keys, then the second, and so on;
            `"random"`: independent draws; `"lhs"`: a Latin hypercube.
        samples: How many points are drawn, where they are drawn.
        design_seed: Of these draws.
        seeds: How many seeds each point is run with, counted from the scenario's own; or the seeds.
        engine: `"local"`: threads of this process; `"dask"`, `"ray"`: a cluster.
        workers: How many runs at once; None: as many as there are cores.
        address: Of the cluster's scheduler; None for one of this machine's own.
        progress: Whether to show progress on the standard error stream.

    Raises:
        CoflashError: Something that was given cannot be used, the results cannot be written, or all runs failed.
        KeyboardInterrupt: Control-C was pressed; what is done is kept.
    """
    if not isinstance(scenario, Scenario):
        scenario = Scenario.load(scenario)
    inputs = inputs_of(scenario, trace)
    planned = Plan.of(scenario, inputs, points_of(vary, design, samples, design_seed), seeds)
    place = Place(engine, workers, address, inputs)
    return swept(planned, store_at(out), place, Console(stderr=True) if progress else None)


def swept(planned: Plan, store: Store, place: Place, console: Console | None) -> Sweep:
    """Does what is planned.

    Raises:
        CoflashError: The engine cannot be used, a result cannot be kept, or all runs failed.
        KeyboardInterrupt: Control-C was pressed.
    """
    store.check()
    jobs = planned.jobs()
    refused = [point for point in planned.points if point.refused]
    with Watch(console, len(jobs) + len(refused)) as watch:
        for point in refused:
            watch.refused(point)
        missing = sharing([job for job in jobs if job.key not in store])
        watch.kept(len(jobs) - len(missing))
        if missing:
            with open_engine(place) as opened:
                for _ in work(iter(missing), opened, store, watch):
                    pass
    if jobs and len(watch.failures) == watch.runs:
        msg = f"all {watch.runs} runs failed: {watch.failures[0].error}"
        raise CoflashError(msg)
    return Sweep(store.place, planned.points, tuple(watch.failures), watch.from_before, watch.warming)


def points_of(vary: Vary, design: Design, samples: int, seed: int) -> list[Assignment]:
    """The points that Python callers mean.

    Raises:
        CoflashError: They do not go with the design.
    """
    if isinstance(vary, Mapping):
        return assignments(axes_of(vary), design, samples, seed)
    return [tuple((key, toml_value(value)) for key, value in point.items()) for point in vary]
