"""Sweeps: one scenario at many points, with many seeds, on all cores or on a cluster.

`design` makes points from axes; `plan` makes runs from points, each with a key; `driver` gives the runs to an `engine`
and puts their results into the store. A sweep resumes because runs in the store are not repeated.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from coflash._core import CoflashError
from coflash.measures.catalogue import named
from coflash.measures.measure import BRIEF, Measure
from coflash.quantity import counted, with_units
from coflash.results.amounts import with_bytes
from coflash.results.database import Results
from coflash.results.differences import notes_on_seeds
from coflash.results.estimate import Estimate, estimate_of
from coflash.results.selection import own_versions
from coflash.results.store import Failure, Store, store_at
from coflash.results.tables import estimated, shown_estimates
from coflash.results.why import explained
from coflash.runs.inputs import inputs_of
from coflash.scenario import Scenario, ScenarioLike, flat, toml_value
from coflash.sweep.design import Assignment, Design, Vary, assignments, axes_of
from coflash.sweep.driver import work
from coflash.sweep.engine import On, Place
from coflash.sweep.finding import Finding, say
from coflash.sweep.plan import Pace, Plan, Point, sharing
from coflash.table import Table
from coflash.terminal import errors
from coflash.text_table import TextTable
from coflash.trace import Paths, paths

if TYPE_CHECKING:
    from rich.console import Console

    from coflash.sweep.progress import Warming

__all__ = ["Estimate", "Point", "Sweep", "sweep"]


@dataclass(frozen=True)
class Sweep(Finding):
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

    def measures(self, *names: str) -> list[Measure]:
        """Return the measures of these names; without any those of tables of many runs.

        Raises:
            CoflashError: There is no such measure.
        """
        return [named(name) for name in names] or self.results.applying(BRIEF)

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

        Sizes, times and shares are numbers whose unit ends the name of the column, such as `cache.size_bytes`. A choice
        has the name that it has in results: `cooperation.name`.

        Args:
            text: Whether they are texts instead, as in a scenario, in a column such as `cache.size`.
            measures: Metrics such as `waf_host` or `response.p99`; by default those of tables of many runs. The column
                with the suffix `.ci95` holds the half-width of the interval, the one with `.runs` the number of runs.

        Raises:
            CoflashError: There is no such measure.
        """
        import numpy as np

        leaves = next((flat(job.scenario.to_dict()) for point in self.points for job in point.jobs), {})
        names = {key: f"{key}.name" if f"{key}.name" in leaves else key for key in self.points[0].values}
        values = {name: [point.values[key] for point in self.points] for key, name in names.items()}
        known = {run: self.results.document(run) for run in self.results}
        runs = [next((known[job.key] for job in point.jobs if job.key in known), {}) for point in self.points]
        typed = values if text else with_units(with_bytes(values, runs, [point.times for point in self.points]))
        columns = {key: np.array([math.nan if one is None else one for one in of]) for key, of in typed.items()}
        for measure in self.measures(*measures):
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
        told = {*re.findall(r"(\w+)\s*=", texts), "digest"}  # in tables; a digest goes with its code
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

    def document(self, *measures: str) -> dict[str, Any]:
        """Return the sweep as plain data.

        Raises:
            CoflashError: There is no such measure.
        """
        columns = {measure.path: self.estimates(measure) for measure in self.measures(*measures)}
        points = [
            {
                "values": point.values,
                "runs": [job.key for job in point.jobs],
                "measures": {name: column[place]._asdict() for name, column in columns.items()},
            }
            for place, point in enumerate(self.points)
        ]
        failures = [vars(failure) for failure in self.failures]
        return {"points": points, "failures": failures, "warming": self.warming._asdict()}

    @property
    def lost(self) -> tuple[Failure, ...]:
        """The runs that failed."""
        return self.failures

    def notes(self, *measures: str) -> list[str]:
        """Return what a reader of the numbers should know."""
        known, shown = self.results, self.measures(*measures)
        return [*self.remarks, *known.remarks, *known.assumed(shown), *notes_on_seeds(known, shown)]

    def stored(self, more: str = "") -> list[str]:
        """Say where its runs are, and how many were there before."""
        runs = f"{counted(len(self.results), 'run')}{more}"
        before = say("from before", runs=runs, before=self.from_before) if self.from_before else ""
        return [say("results", place=self.place, before=before)]

    def tables(self, *measures: str) -> list[TextTable]:
        """Return a row for each point: its values, and the measures as means over the seeds."""
        shown = self.measures(*measures)
        table = estimated([*self.points[0].values], shown)
        columns = [shown_estimates(measure, self.estimates(measure)) for measure in shown]
        for point, *cells in zip(self.points, *columns, strict=True):
            table.add(*point.values.values(), *cells)
        return [table]

    def said(self, *measures: str) -> list[str]:
        """Say why schemes differ, and what shared devices saved."""
        runs = [(run.document, run.metrics) for run in map(self.results.__getitem__, self.results)]
        whys = [(measure, why) for measure in self.measures(*measures) for _, why in explained(runs, measure.read)]
        return [*(say("why", why=why.said(measure)) for measure, why in whys), self.warming.said]

    def _repr_html_(self) -> str:
        (table,) = self.tables()
        failed = f", {len(self.failures)} failed" if self.failures else ""
        ran = f"{counted(len(self.results), 'run')} in {self.place}{failed}"
        table.title = f"Sweep of {counted(len(self.points), 'point')}, {ran}"
        return table.html(len(self.points))


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
    on: On = None,
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
        on: The number of parallel runs on this machine, by default one on each core; or the address of a Dask
            scheduler, such as `"tcp://head:8786"`.
        progress: Whether to show progress on the standard error stream.

    Raises:
        CoflashError: An argument cannot be used, the results cannot be written, or all runs failed.
        KeyboardInterrupt: Control-C was pressed; finished runs are kept.
    """
    scenario, points = Scenario.of(scenario), points_of(vary, design, samples, design_seed)
    place = Place(on, inputs_of(scenario, trace))
    part = None if scale is None else lambda whole: whole.replaying(paths(trace)).scaled(scale)
    planned = Plan.of(scenario, place.inputs, points, seeds, part)
    return swept(planned, store_at(out), place, errors() if progress else None)


def swept(planned: Plan, store: Store, place: Place, console: Console | None, pace: Pace | None = None) -> Sweep:
    """Run a plan; with a pace one of a question, whose runs may fail.

    Raises:
        CoflashError: The engine cannot be used, a result cannot be stored, or all runs failed and may not.
        KeyboardInterrupt: Control-C was pressed.
    """
    from coflash.sweep.progress import Watch  # needs rich

    store.check()
    jobs = planned.jobs()
    refused = [point for point in planned.points if point.refused]
    with Watch(console, len(jobs) + len(refused), pace) as watch:
        for point in refused:
            watch.refused(point)
        there = {job.key for job in jobs if job.key in store}
        for job in jobs:
            if job.key in there and own_versions(job.scenario.to_dict()):
                store.added(job.key)
        missing = sharing([job for job in jobs if job.key not in there])
        if place.is_here or "://" in store.place:  # workers reach it, and write their results themselves
            missing = [replace(job, place=store.place) for job in missing]
        watch.kept(len(jobs) - len(missing))
        watch.outdated(sum(any(key in store for key in job.former_keys) for job in missing))
        if missing:
            with place.engine() as opened:
                for _ in work(iter(missing), opened, store, watch):
                    pass
    if jobs and len(watch.failures) == watch.runs and not pace:
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
