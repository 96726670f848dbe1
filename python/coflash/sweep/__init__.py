"""Sweeps: one scenario at many points, with many seeds, on all cores or on a cluster.

`design` makes points from axes; `plan` makes runs from points, each with a key; `driver` gives the runs to an `engine`
and puts their results into the store. A sweep resumes because runs in the store are not repeated.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from coflash._core import CoflashError
from coflash.measures.catalogue import named
from coflash.measures.measure import BRIEF, Measure
from coflash.quantity import counted, with_units
from coflash.results.database import Results
from coflash.results.estimate import Estimate, estimate_of
from coflash.results.store import Failure, Store, store_at
from coflash.results.tables import estimated, shown_estimates
from coflash.runs.inputs import inputs_of
from coflash.scenario import Scenario, ScenarioLike, toml_value
from coflash.sweep.design import Assignment, Design, Vary, assignments, axes_of
from coflash.sweep.driver import work
from coflash.sweep.engine import EngineName, Place, open_engine
from coflash.sweep.plan import Plan, Point, sharing
from coflash.table import Table
from coflash.terminal import errors
from coflash.text_table import TextTable
from coflash.trace import Paths

if TYPE_CHECKING:
    from rich.console import Console

    from coflash.sweep.progress import Warming

__all__ = ["Estimate", "Point", "Sweep", "sweep"]


_TOGETHER = 8
"""The most runs in a group that a worker of a cluster gets, and the fewest such groups for each worker."""


@dataclass(frozen=True)
class Sweep:
    """A finished sweep."""

    place: str
    """The folder of its results, or their URL."""
    points: tuple[Point, ...]
    """The points, in the order of the design."""
    failures: tuple[Failure, ...]
    """The runs that failed, and the points that are not valid scenarios."""
    from_before: int
    """The number of runs that were in the folder already."""
    warming: Warming
    """The savings from shared warm devices."""
    outdated: int = 0
    """The number of runs that were in the folder from an earlier revision of results, and were done anew."""

    @cached_property
    def results(self) -> Results:
        """Its runs as a table and a database, without other runs in the folder."""
        keys = dict.fromkeys(job.key for point in self.points for job in point.jobs)
        store = store_at(self.place)
        return Results(self.place, store.runs(keys), store.broken)

    def estimates(self, measure: Measure | str) -> list[Estimate]:
        """Estimate a measure, given itself or its name, at each point, over its seeds.

        Raises:
            CoflashError: There is no such measure.
        """
        what = named(measure) if isinstance(measure, str) else measure
        found = [[self.results.metrics(job.key) for job in point.jobs] for point in self.points]
        return [estimate_of(what, (metrics for metrics in runs if metrics is not None)) for runs in found]

    def table(self, *measures: str, text: bool = False) -> Table:
        """Return a row for each point: its values, and the mean and the 95 % confidence interval of each measure.

        Sizes, times and shares are numbers whose unit ends the name of the column, such as `cache.size_bytes`.

        Args:
            text: Whether they are texts instead, as in a scenario, in a column such as `cache.size`.
            measures: Metrics such as `waf_host` or `response.p99`; by default those of tables of many runs. The column
                with the suffix `.ci95` holds the half-width of the interval, the one with `.runs` the number of runs.

        Raises:
            CoflashError: There is no such measure.
        """
        import numpy as np

        values = {key: [point.values[key] for point in self.points] for key in self.points[0].values}
        columns = {key: np.array(of) for key, of in (values if text else with_units(values)).items()}
        for measure in [named(name) for name in measures] or self.results.applying(BRIEF):
            name, found = measure.path, self.estimates(measure)
            columns[name] = np.array([one.mean for one in found], np.float64)
            columns[f"{name}.ci95"] = np.array([one.half_width for one in found], np.float64)
            columns[f"{name}.runs"] = np.array([one.runs for one in found])
        return Table(columns)

    @property
    def remarks(self) -> list[str]:
        """Parameters that varied policies share, with other values, though they were not varied: defaults, say."""
        axes = {*self.points[0].values} if self.points else set()
        texts = " ".join(text for point in self.points for text in point.values.values())
        told = {*re.findall(r"(\w+)\s*=", texts)}  # in tables
        found = []
        for key in self.results.varied():
            table, _, last = key.rpartition(".")
            if key in axes or last in told or not {table, f"{table}.name"} & axes or key == f"{table}.name":
                continue
            owners: dict[str, list[str]] = {}
            for run in map(self.results.scenario, self.results):
                if run.get(key) is not None:
                    owners.setdefault(str(run[key]), []).append(str(run[f"{table}.name"]))
            if len(owners) > 1:
                each = "; ".join(f"{value} with {', '.join(dict.fromkeys(names))}" for value, names in owners.items())
                found.append(f"{key} differs, too: {each}; a table sets it: {table}={{ name = …, … }}")
        return found

    def shown(self, measures: Sequence[Measure], title: str = "") -> TextTable:
        """Make a table with a row for each point: its values, and the measures as means over the seeds."""
        shown = estimated(list(self.points[0].values), measures, title)
        columns = [self.estimates(measure) for measure in measures]
        for place, point in enumerate(self.points):
            shown.add(*point.values.values(), *shown_estimates(measures, [column[place] for column in columns]))
        return shown

    def _repr_html_(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        ran = f"{counted(len(self.results), 'run')} in {self.place}{failed}"
        title = f"Sweep of {counted(len(self.points), 'point')}, {ran}"
        return self.shown(self.results.applying(BRIEF), title).html(len(self.points))


def sweep(
    scenario: ScenarioLike,
    vary: Vary,
    trace: Paths = (),
    *,
    out: str | os.PathLike[str],
    design: Design = "grid",
    samples: int = 20,
    design_seed: int = 0,
    seeds: int | Sequence[int] = 1,
    scale: str | None = None,
    engine: EngineName = "local",
    workers: int | None = None,
    address: str | None = None,
    progress: bool = False,
) -> Sweep:
    """Run a scenario at every point of a design, on all cores, and store each result at once.

    Runs that are in `out` already (with the same scenario, inputs and revision) are not repeated, so that a sweep that
    was stopped resumes. A run that fails is reported, and the others continue.

    Args:
        scenario: The scenario, as an object, as nested dictionaries, or by its name or file.
        vary: Values by key, such as `{"cooperation.name": ["none", "cdm"], "cache.size": "64MiB..1GiB*2"}`; or a list
            of points, one dictionary for each.
        trace: The trace to replay instead of the scenario's own workload: paths, or URLs that fsspec knows.
        out: The folder of results, or a URL that fsspec knows, such as `"s3://bucket/oltp"`; several sweeps may share
            one, even at the same time.
        design: `"grid"`: every combination; `"list"`: the first values of all keys, then the second, and so on;
            `"random"`: independent draws; `"lhs"`: a Latin hypercube.
        samples: The number of points of a random design.
        design_seed: The seed of a random design.
        seeds: The number of seeds for each point, starting at the scenario's own; or the seeds.
        scale: A fraction of the drive's blocks, such as `"1/64"` (`Scenario.scaled`); keys vary for the whole drive.
        engine: `"local"`: threads of this process; `"dask"`, `"ray"`: a cluster.
        workers: The number of parallel runs; None for one on each core.
        address: The address of the cluster's scheduler; None for a cluster on this machine.
        progress: Whether to show progress on the standard error stream.

    Raises:
        CoflashError: An argument cannot be used, the results cannot be written, or all runs failed.
        KeyboardInterrupt: Control-C was pressed; finished runs are kept.
    """
    scenario = Scenario.of(scenario)
    inputs = inputs_of(scenario, trace)
    planned = Plan.of(scenario, inputs, points_of(vary, design, samples, design_seed), seeds, scale)
    place = Place(engine, workers, address, inputs)
    return swept(planned, store_at(out), place, errors() if progress else None)


def swept(planned: Plan, store: Store, place: Place, console: Console | None) -> Sweep:
    """Run a plan.

    Raises:
        CoflashError: The engine cannot be used, a result cannot be stored, or all runs failed.
        KeyboardInterrupt: Control-C was pressed.
    """
    from coflash.sweep.progress import Watch  # needs rich

    store.check()
    jobs = planned.jobs()
    refused = [point for point in planned.points if point.refused]
    with Watch(console, len(jobs) + len(refused)) as watch:
        for point in refused:
            watch.refused(point)
        missing = sharing([job for job in jobs if job.key not in store])
        if place.engine == "local" or "://" in store.place:  # workers reach it, and write their results themselves
            missing = [replace(job, place=store.place) for job in missing]
        watch.kept(len(jobs) - len(missing))
        watch.outdated(sum(any(key in store for key in job.former_keys) for job in missing))
        if missing:
            with open_engine(place) as opened:
                # Each worker gets several groups, so that none waits long for the last ones.
                together = max(1, min(_TOGETHER, len(missing) // (_TOGETHER * opened.workers)))
                for _ in work(iter(missing), opened, store, watch, together=1 if opened.shares_memory else together):
                    pass
    if jobs and len(watch.failures) == watch.runs:
        raise CoflashError(f"all {watch.runs} runs failed: {'see above' if console else watch.failures[0].error}")
    return Sweep(store.place, planned.points, tuple(watch.failures), watch.from_before, watch.warming, watch.redone)


def points_of(vary: Vary, design: Design, samples: int, seed: int) -> list[Assignment]:
    """Make the points from the arguments of Python callers.

    Raises:
        CoflashError: The values do not fit the design.
    """
    if isinstance(vary, Mapping):
        return assignments(axes_of(vary), design, samples, seed)
    return [tuple((key, toml_value(value)) for key, value in point.items()) for point in vary]
