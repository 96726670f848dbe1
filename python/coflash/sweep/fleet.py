"""Fleets: one device for each volume of a trace, each at every point of a design, and how results spread over volumes.

A fleet is a sweep whose points have a trace and a device of their own. So it runs, resumes and is read as a sweep.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

from coflash._core import CoflashError
from coflash.files import remote
from coflash.measures.catalogue import named
from coflash.measures.measure import BRIEF, CAUSES, Measure
from coflash.results.store import Store, store_at
from coflash.runs.inputs import Input
from coflash.scenario import Scenario, ScenarioLike
from coflash.sweep import Sweep, points_of, swept
from coflash.sweep.design import Assignment, Vary
from coflash.sweep.engine import EngineName, Place
from coflash.sweep.plan import Plan, Point
from coflash.sweep.size import DEVICE
from coflash.table import Table
from coflash.terminal import errors
from coflash.trace import Options, Paths, Progress, paths
from coflash.trace.volumes import Volume, of_files, split

By = Literal["volume", "file"]
VOLUME, VOLUMES = "volume", "volumes"
_ROOM, _MORE, _TRIES = 1.04, 1.5, 24
"""What a device exports for each page of a footprint, and how it grows until the scenario can be made."""
_RESAMPLED, _PERCENTILES = 2000, (0, 10, 50, 90, 100)


class Spread(NamedTuple):
    """How a measure spreads over the volumes at a point of the design."""

    values: dict[str, str]
    volumes: int
    mean: float
    mean_between: tuple[float, float]
    """95 % of the means of as many volumes drawn anew (bootstrap over volumes)."""
    percentiles: tuple[float, ...]
    """The least, the 10th, the median, the 90th, the greatest."""
    least: str
    """The volume with the least value."""
    greatest: str


@dataclass(frozen=True)
class Fleet:
    """A finished fleet."""

    volumes: tuple[Volume, ...]
    """The volumes with a device."""
    left_out: tuple[Volume, ...]
    """The volumes that write nothing."""
    larger: tuple[str, ...]
    """The volumes whose device is larger than they need, since the scenario's parts do not fit a smaller one."""
    sweep: Sweep
    """The runs; the points have a value `volume`."""

    @cached_property
    def designs(self) -> list[dict[str, str]]:
        """The points of the design, without the volume, the first one as the baseline."""
        found: dict[tuple[tuple[str, str], ...], None] = {}
        for point in self.sweep.points:
            found[tuple(_design(point).items())] = None
        return [dict(one) for one in found]

    def by_volume(self, measure: Measure | str) -> list[dict[str, float]]:
        """Return, for each point of the design, the measure of each volume by name, as the mean over its seeds.

        Raises:
            CoflashError: There is no such measure.
        """
        found: list[dict[str, float]] = [{} for _ in self.designs]
        for point, one in zip(self.sweep.points, self.sweep.estimates(measure), strict=True):
            if one.mean is not None:
                found[self.designs.index(_design(point))][point.values[VOLUME]] = one.mean
        return found

    def saved(self, measure: Measure | str) -> list[dict[str, float]]:
        """Return, for each point of the design, by how much each volume's measure is below its baseline, as a share.

        Volumes whose baseline is zero, or failed, are left out.

        Raises:
            CoflashError: There is no such measure.
        """
        base, *_ = found = self.by_volume(measure)
        return [{name: 1 - one / base[name] for name, one in of.items() if base.get(name)} for of in found]

    def spread(self, measure: Measure | str) -> list[Spread]:
        """Return how a measure spreads over the volumes, for each point of the design that has a value.

        Raises:
            CoflashError: There is no such measure.
        """
        return _spreads(self.designs, self.by_volume(measure))

    def spread_of_saved(self, measure: Measure | str) -> list[Spread]:
        """Return how the share that is saved spreads over the volumes, for all points but the baseline.

        Raises:
            CoflashError: There is no such measure.
        """
        return _spreads(self.designs[1:], self.saved(measure)[1:])

    def table(self, *measures: str) -> Table:
        """Return a row for each volume and point: `volume`, the values of the point, what the volume is, the measures.

        Args:
            measures: Metrics such as `waf_host`; by default those of tables of many runs.

        Raises:
            CoflashError: There is no such measure.
        """
        import numpy as np

        of = {one.name: one for one in self.volumes}
        rows = [of[point.values[VOLUME]] for point in self.sweep.points]
        whole = self.sweep.table(*measures).to_dict()
        about = {
            "requests": np.array([one.requests for one in rows]),
            "written_pages": np.array([one.written_pages for one in rows]),
            "footprint_pages": np.array([one.footprint_pages for one in rows]),
        }
        keys = {key: whole.pop(key) for key in self.sweep.points[0].values}
        return Table({**keys, **about, **whole})

    @property
    def whole(self) -> dict[str, Any]:
        """The fleet as one drive farm, for each point: pages of hosts and of flash, and the WAF of their sums."""
        flash: list[float] = [0.0 for _ in self.designs]
        for cause in CAUSES:
            flash = [
                sum(of.values()) + so_far
                for of, so_far in zip(self.by_volume(f"programs_pages.{cause}"), flash, strict=True)
            ]
        host = [sum(of.values()) for of in self.by_volume("host_writes_pages")]
        wafs = [each / of if of else None for each, of in zip(flash, host, strict=True)]
        return {"host_writes_pages": host, "programs_pages": flash, "waf_host": wafs}

    @property
    def remarks(self) -> list[str]:
        """What was assumed, left out or changed."""
        said = []
        if self.left_out:
            said.append(f"{_some(self.left_out)} left out: nothing is written ({_names(self.left_out)})")
        if self.larger:
            named_so = [one for one in self.volumes if one.name in self.larger]
            text = "larger devices than their data needs, since the scenario's parts fit no smaller one"
            said.append(f"{_some(named_so)} got {text} ({_names(named_so)})")
        assumed: dict[str, int] = {}
        for one in self.volumes:
            for remark in one.remarks:
                assumed[remark] = assumed.get(remark, 0) + 1
        said += [f"{remark} ({count} of {len(self.volumes)} volumes)" for remark, count in assumed.items()]
        return said


def fleet(
    traces: Paths,
    vary: Vary,
    *,
    out: str | os.PathLike[str],
    by: By = "volume",
    scenario: ScenarioLike = DEVICE,
    volumes: str | os.PathLike[str] | None = None,
    options: Options | None = None,
    seeds: int | Sequence[int] = 1,
    engine: EngineName = "local",
    workers: int | None = None,
    address: str | None = None,
    progress: bool = False,
    reading: Progress | None = None,
) -> Fleet:
    """Run each volume of a trace on a device of its own size, at every point of a design.

    Args:
        traces: The trace: its files; or a folder that [`split`][coflash.trace.volumes.split] wrote.
        vary: Values by key, as of [`sweep`][coflash.sweep]; the first point is what the others are compared with.
        out: The folder of results, or a URL.
        by: `"volume"`: each device that the records name; `"file"`: each file.
        scenario: The device; its size follows the footprint of each volume.
        volumes: The folder of the volumes' traces; by default `volumes` in `out`, which must then be a folder.
        options: How to read the trace.
        seeds: As of `sweep`.
        engine: As of `sweep`; workers of a cluster read the volumes, and write their results where `out` is a URL. A
            folder that all of them share is a URL, too: `file:///shared/out`.
        workers: As of `sweep`.
        address: As of `sweep`.
        progress: Whether to show progress on the standard error stream.
        reading: Called as the trace is split.

    Raises:
        CoflashError: An argument cannot be used, no volume writes, or all runs failed.
        KeyboardInterrupt: Control-C was pressed; finished runs are kept.
    """
    read, files, base = options or {}, paths(traces), Scenario.of(scenario)
    store = store_at(out)
    if by == "file" or all(Path(file).is_dir() for file in files):
        found = of_files(files, read)
        base = base.with_({f"workload.trace_options.{key}": value for key, value in read.items()})
    else:
        found = split(traces, _folder(volumes, out), read, reading)
    writers = [one for one in found if one.written_pages]
    if not writers:
        msg = f"fleet: none of {len(found)} volumes writes: there is nothing for GC to do"
        raise CoflashError(msg)
    names = [one.name for one in writers]
    if twice := next((name for name in names if names.count(name) > 1), None):
        msg = f'fleet: two volumes have the name "{twice}": split the files apart, or rename one'
        raise CoflashError(msg)
    return _run(
        base, writers, found, points_of(vary, "grid", 0, 0), store, Place(engine, workers, address, ()), seeds, progress
    )


def _folder(volumes: str | os.PathLike[str] | None, out: str | os.PathLike[str]) -> Path:
    if volumes is not None:
        return Path(volumes)
    if remote.is_url(out):
        msg = f"volumes: a folder is needed for the traces of the volumes, since {out} is a URL"
        raise CoflashError(msg)
    return remote.path_of(out) / VOLUMES


def _run(
    base: Scenario,
    writers: Sequence[Volume],
    found: Sequence[Volume],
    assignments: Sequence[Assignment],
    store: Store,
    place: Place,
    seeds: int | Sequence[int],
    progress: bool,
) -> Fleet:
    points: list[Point] = []
    larger: list[str] = []
    for one in writers:
        source = f"file://{Path(one.file).resolve()}" if place.engine != "local" else one.file
        device, is_larger = _device(base, one, assignments)
        larger += [one.name] * is_larger
        of = Plan.of(device, (Input(source, one.sha256),), assignments, seeds)
        points += [_named(point, one.name) for point in of.points]
    done = swept(Plan(tuple(points)), store, place, errors() if progress else None)
    left_out = tuple(one for one in found if not one.written_pages)
    return Fleet(tuple(writers), left_out, tuple(larger), done)


def _device(base: Scenario, volume: Volume, assignments: Sequence[Assignment]) -> tuple[Scenario, bool]:
    """Return the smallest device of a volume that all points can have, and whether it is larger than it needs.

    Raises:
        CoflashError: No size will do.
    """
    pages = volume.footprint_pages * _ROOM
    problem = ""
    for tries in range(_TRIES):
        changes = {"name": volume.name, "flash.exported": f"{int(pages) * 4}KiB", "workload.remap": "dense"}
        try:
            device = base.with_(changes)
            for assignment in assignments:
                device.set(list(assignment)).with_digests().check()
        except CoflashError as error:
            problem, pages = str(error), pages * _MORE
        else:
            return device, tries > 0
    raise CoflashError(problem)


def _named(point: Point, name: str) -> Point:
    jobs = tuple(replace(job, label=f"{VOLUME}={name} {job.label}") for job in point.jobs)
    return replace(point, values={VOLUME: name, **point.values}, jobs=jobs)


def _design(point: Point) -> dict[str, str]:
    return {key: text for key, text in point.values.items() if key != VOLUME}


def _spreads(designs: Sequence[dict[str, str]], found: Sequence[dict[str, float]]) -> list[Spread]:
    import numpy as np

    spreads = []
    for design, of in zip(designs, found, strict=True):
        if not of:
            continue
        values = np.array(list(of.values()))
        draws = np.random.default_rng(0).integers(0, len(values), (_RESAMPLED, len(values)))
        means = values[draws].mean(axis=1)
        low, high = np.percentile(means, (2.5, 97.5))
        least, greatest = min(of, key=lambda name: of[name]), max(of, key=lambda name: of[name])
        percentiles = tuple(float(each) for each in np.percentile(values, _PERCENTILES))
        between = float(low), float(high)
        spreads.append(Spread(design, len(of), float(values.mean()), between, percentiles, least, greatest))
    return spreads


def _some(volumes: Sequence[Volume]) -> str:
    return "1 volume" if len(volumes) == 1 else f"{len(volumes):,} volumes"


def _names(volumes: Iterable[Volume]) -> str:
    names = [one.name for one in volumes]
    return ", ".join(names[:4]) + (f" and {len(names) - 4:,} more" if len(names) > 4 else "")


def measures_of(names: Iterable[str], found: Sweep) -> list[Measure]:
    """Return the measures of these names; without any those of tables of many runs.

    Raises:
        CoflashError: There is no such measure.
    """
    return [named(name) for name in names] or found.results.applying(BRIEF)
