"""Fleets: one device for each volume of a trace, each at every point of a design, and how results spread over volumes.

A fleet is a sweep whose points have a trace and a device of their own. So it runs, resumes and is read as a sweep.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from coflash._core import CoflashError, hint, quantity
from coflash.files import remote
from coflash.files.kept import fetched
from coflash.measures.measure import CAUSES, Measure
from coflash.quantity import counted, show, some
from coflash.results.notes import together
from coflash.results.result import notes_of
from coflash.results.store import Failure, Fleets, store_at
from coflash.runs.inputs import Input
from coflash.scenario import Scenario, ScenarioLike
from coflash.sweep import Sweep, points_of, swept
from coflash.sweep.design import Assignment, Vary
from coflash.sweep.engine import On, Place
from coflash.sweep.finding import Finding, say
from coflash.sweep.plan import Plan, Point, digest, refusal
from coflash.table import Table, Tabular
from coflash.terminal import errors
from coflash.text_table import TextTable
from coflash.trace import Options, Paths, head, paths, settings_of
from coflash.trace.volumes import Volume, documents, of_each, of_files, split, touched_pages

if TYPE_CHECKING:
    from coflash.charts import Format

By = Literal["volume", "file"]
VOLUME, VOLUMES = "name", "volumes"
"""The column of the volume, which is the name of its scenario; and the folder of the volumes' traces."""
_ROOM, _LARGEST_PAGES, _PAGE_BYTES = 1.04, 2**28, 4096
"""What a device exports for each page of a footprint, and where the search for the least one ends."""
_PROGRAMS = Measure("flash programs", "pages", lambda one: sum(one.programs_pages.get(cause, 0) for cause in CAUSES))
_RESAMPLED, _PERCENTILES = 2000, {"least": 0, "p10": 10, "median": 50, "p90": 90, "most": 100}
_HEADS = ("volumes", "mean", "95 % of fleets", "least", "10 %", "median", "90 %", "most")


class Spread(NamedTuple):
    """How a measure spreads over the volumes at a point of the design."""

    values: dict[str, str]
    volumes: int
    mean: float
    mean_between: tuple[float, float]
    """95 % of the means of as many volumes drawn anew (bootstrap over volumes)."""
    percentiles: dict[str, float]
    """The `least`, the 10th (`p10`), the `median`, the 90th (`p90`), and the `most`."""
    least: str
    """The volume with the least value."""
    greatest: str
    of_means: float | None = None
    """Of a share that is saved: by how much the mean of the measure is below that of the baseline, as a share."""

    def cells(self, text: Callable[[float], str]) -> list[str]:
        """Return its numbers as text."""
        low, high = self.mean_between
        percentiles = map(text, self.percentiles.values())
        return [f"{self.volumes:,}", text(self.mean), f"{text(low)} … {text(high)}", *percentiles]


@dataclass(frozen=True, repr=False)
class Fleet(Finding, Tabular):
    """A finished fleet."""

    volumes: tuple[Volume, ...]
    """The volumes with a device."""
    left_out: tuple[Volume, ...]
    """The volumes that write nothing."""
    needed_pages: Mapping[str, int]
    """What the device of each volume must export, by its name, in pages of 4 KiB."""
    least_pages: int
    """What the least device of the scenario exports, in pages of 4 KiB."""
    sweep: Sweep
    """The runs; the points have a value `name`, the volume."""
    unread: Mapping[str, str] = field(default_factory=dict)
    """Why files cannot be read, which were skipped."""
    former: Set[tuple[str, str, str]] = frozenset()
    """The name, the file and the digest of each volume that earlier fleets of the folder had."""

    def __repr__(self) -> str:
        return f"<Fleet of {self.count} in {self.sweep.place}>"

    @property
    def count(self) -> str:
        """The number of volumes with a device, and of all, those that cannot be read included: 298 of 300 volumes."""
        every = len(self.volumes) + len(self.left_out) + len(self.unread)
        some = "" if every == len(self.volumes) else f"{len(self.volumes):,} of "
        return some + counted(every, "volume")

    @cached_property
    def designs(self) -> list[dict[str, str]]:
        """The points of the design, without the volume, the first one as the baseline."""
        return [dict(one) for one in dict.fromkeys(tuple(_design(point).items()) for point in self.sweep.points)]

    @property
    def larger(self) -> tuple[Volume, ...]:
        """The volumes whose device is larger than they need, since the scenario's parts do not fit a smaller one."""
        return tuple(one for one in self.volumes if self.needed_pages[one.name] < self.least_pages)

    def by_volume(self, measure: Measure | str) -> list[dict[str, float]]:
        """Return, for each point of the design, the measure of each volume by name, as the mean over its seeds.

        The list has the order of `designs`; values have the measure's own unit, and a volume without one is left out.

        Raises:
            CoflashError: There is no such measure.
        """
        found: list[dict[str, float]] = [{} for _ in self.designs]
        places = [(self.designs.index(_design(point)), point.values[VOLUME]) for point in self.sweep.points]
        for (place, name), one in zip(places, self.sweep.estimates(measure), strict=True):
            if one.mean is not None:
                found[place][name] = one.mean
        return found

    def saved(self, measure: Measure | str) -> list[dict[str, float]]:
        """Return, for each point of the design, by how much each volume's measure is below its baseline, as a share.

        0.1 is a tenth less, and a negative share is more. The list has the order of `designs`, whose first is the
        baseline itself. Volumes whose baseline is zero, or failed, are left out.

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
        base, *others = self.by_volume(measure)
        both = [(of, of.keys() & base.keys()) for of in others]
        sums = [(sum(of[name] for name in names), sum(base[name] for name in names)) for of, names in both if names]
        return [
            one._replace(of_means=1 - of / whole if whole else None)
            for one, (of, whole) in zip(_spreads(self.designs[1:], self.saved(measure)[1:]), sums, strict=False)
        ]

    def table(self, *measures: str) -> Table:
        """Return a row for each volume and point: `name`, the values of the point, what the volume is, the measures.

        `remarks` are what was assumed of the volume, such as units.

        Args:
            measures: Metrics such as `waf_host`; by default those of tables of many runs.

        Raises:
            CoflashError: There is no such measure.
        """
        import numpy as np

        volume = {one.name: one for one in self.volumes}
        rows = [volume[point.values[VOLUME]] for point in self.sweep.points]
        whole = self.sweep.table(*measures).to_dict()
        of_volumes = ("requests", "written_bytes", "footprint_pages")
        about = {name: np.array([getattr(one, name) for one in rows]) for name in of_volumes}
        exported = [_PAGE_BYTES * max(self.least_pages, self.needed_pages[one.name]) for one in rows]
        about["exported_bytes"] = np.array(exported)
        for name, pages in (("host_writes_pages", "host_writes_pages"), ("programs_pages", _PROGRAMS)):
            about[name] = np.array([one.mean for one in self.sweep.estimates(pages)], np.float64)
        first, *_ = self.sweep.measures(*measures)
        keys = {key: whole.pop(key) for key in [*whole][: [*whole].index(first.path)]}  # their names have units
        about["remarks"] = np.array(["; ".join(one.remarks) or None for one in rows], object)
        return Table({**keys, **about, **whole})

    @property
    def whole(self) -> dict[str, Any]:
        """The fleet as one drive farm, for each point: pages of hosts and of flash, and the WAF of their sums."""
        flash = [sum(of.values()) for of in self._programs]
        host = [sum(of.values()) for of in self.by_volume("host_writes_pages")]
        wafs = [each / of if of else None for each, of in zip(flash, host, strict=True)]
        return {"host_writes_pages": host, "programs_pages": flash, "waf_host": wafs}

    @cached_property
    def _programs(self) -> list[dict[str, float]]:
        """For each point the pages programmed by volume."""
        return self.by_volume(_PROGRAMS)

    @property
    def remarks(self) -> list[str]:
        """What was assumed, left out or changed, but for what the notes of the runs say."""

        def named(volumes: Sequence[Volume]) -> dict[str, str]:
            names = [one.name for one in volumes]
            return {"volumes": counted(len(names), "volume"), "names": some(names)}

        said = [say("left out", **named(self.left_out))] if self.left_out else []
        if self.unread:
            problems = some([*self.unread.values()], "; ")
            said.append(say("unread", files=counted(len(self.unread), "file"), problems=problems))
        if larger := self.larger:
            most = self.least_pages / min(one.footprint_pages for one in larger)
            said.append(say("larger", least=show(_PAGE_BYTES * self.least_pages, "bytes"), most=most, **named(larger)))
        for design, programs in zip(self.designs, self._programs, strict=True):
            if idle := [one for one in self.volumes if programs.get(one.name) == 0]:
                said.append(say("idle", design=name_of(design), **named(idle)))
        every, first = (*self.volumes, *self.left_out), dict[str, str]()
        twins = [one for one in self.volumes if first.setdefault(one.sha256, one.name) != one.name]
        said += [say("twins", **named(twins), first=first[twins[0].sha256])] if twins else []
        results = self.sweep.results
        of_runs = {note for run in results for note in notes_of(results.document(run))}
        assumed = ((one.name, [remark for remark in one.remarks if remark not in of_runs]) for one in every)
        return [*said, *together(assumed, "volume")]

    @property
    def lost(self) -> tuple[Failure, ...]:
        """The runs that failed."""
        return self.sweep.failures

    def notes(self, *_: str) -> list[str]:
        """Return what a reader of the numbers should know."""
        return [*self.remarks, *self.sweep.results.remarks]

    def stored(self) -> list[str]:
        """Say where the runs are."""
        return self.sweep.stored(f" of {self.count}")

    @property
    def sentences(self) -> tuple[str, ...]:
        """The write amplification of all volumes together."""
        wafs = zip(self.designs, self.whole["waf_host"], strict=True)
        known = ", ".join(f"{name_of(design)} {waf:.3f}" for design, waf in wafs if waf)
        return (
            say("together", volumes=self.count if self.unread else "all volumes", wafs=known or say("no programs")),
        )

    def tables(self, *measures: str) -> list[TextTable]:
        """Return a table for each measure: how it, and what is saved of it, spread over the volumes.

        Raises:
            CoflashError: There is no such measure.
        """
        found = []
        for measure in self.sweep.measures(*measures):
            rows, ends = list[list[str]](), []
            for what, spreads, text in (
                ("", self.spread(measure), partial(show, unit=measure.unit)),
                (" saves", self.spread_of_saved(measure), partial(show, unit="share")),
            ):
                for spread in spreads:
                    name = f"{name_of(spread.values)}{what}"
                    rows.append([name, *spread.cells(text)])
                    least, most = (text(spread.percentiles[end]) for end in ("least", "most"))
                    values = {"name": name, "least": f"{spread.least} ({least})", "most": f"{spread.greatest} ({most})"}
                    means = "" if spread.of_means is None else show(spread.of_means, "share")
                    ends.append(say("ends saved" if what else "ends", means=means, **values))
            found.append(TextTable.of((measure.label, *_HEADS), rows, below="; ".join(ends)))
        return found

    def draw(self, form: Format, *measures: str) -> bytes:
        """Draw the distribution of a measure, given its name, and of what is saved of it, over the volumes.

        Raises:
            CoflashError: There is no such measure.
        """
        from coflash.figures.fleet import draw  # slow to import

        measure, *_ = self.sweep.measures(*measures)
        return draw(list(map(name_of, self.designs)), measure, self.by_volume(measure), self.saved(measure), form)

    def document(self, *measures: str) -> dict[str, Any]:
        """Return the fleet as plain data.

        Raises:
            CoflashError: There is no such measure.
        """
        return {
            "count": self.count,
            "volumes": [asdict(one) for one in self.volumes],
            "left_out": [one.name for one in self.left_out],
            "unread": self.unread,
            "former": sorted(self.former),
            "points": self.designs,
            "whole": self.whole,
            "measures": {
                measure.path: {
                    "by_volume": self.by_volume(measure),
                    "spread": [one._asdict() for one in self.spread(measure)],
                    "saved": [one._asdict() for one in self.spread_of_saved(measure)],
                }
                for measure in self.sweep.measures(*measures)
            },
            "failures": [vars(failure) for failure in self.sweep.failures],
            "remarks": self.remarks,
        }


def fleet(
    traces: Paths,
    vary: Vary,
    *,
    out: str | os.PathLike[str],
    by: By = "volume",
    scenario: ScenarioLike = "demo",
    volumes: str | os.PathLike[str] | None = None,
    options: Options | None = None,
    seeds: int | Sequence[int] = 1,
    on: On = None,
    progress: bool = False,
) -> Fleet:
    """Run each volume of a trace on a device of its own size, at every point of a design.

    Args:
        traces: The trace: its files; or a folder that [`split`][coflash.trace.volumes.split] wrote;
            by file any folder, for its files.
        vary: Values by key, as of [`sweep`][coflash.sweep.sweep]; the first point is what the others are compared with.
        out: The folder of results, or a URL.
        by: `"volume"`: each device that the records name; `"file"`: each file.
        scenario: The device; its size follows the footprint of each volume.
        volumes: The folder of the volumes' traces, or its URL; by default `volumes` in `out`.
        options: How to read the trace.
        seeds: As of `sweep`.
        on: As of `sweep`; workers of a cluster read the volumes, and write their results where `out` is a URL. A
            folder that all of them share is a URL, too: `file:///shared/out`.
        progress: Whether to show progress on the standard error stream.

    Raises:
        CoflashError: An argument cannot be used, no volume writes, or all runs failed.
        KeyboardInterrupt: Control-C was pressed; finished runs are kept.
    """
    read, files, base, place = options or {}, paths(traces), Scenario.of(scenario), Place(on)
    if by not in get_args(By):
        raise CoflashError(f'by: "{by}" was given{hint(str(by), get_args(By))}')
    assignments = points_of(vary, "grid", 0, 0)
    least = _least_pages(base, assignments)
    if twice := next((file for file in files if files.count(file) > 1), None):
        raise CoflashError(f"fleet: {twice} was given twice; each file is allowed once")
    reading_so = base.set([(f"workload.trace_options.{key}", text) for key, text in settings_of(read).items()])
    store = store_at(out)
    folders = documents(files, each_file=by == "file")
    how: Options = {}  # of files that are taken as they are
    unread: Mapping[str, str] = {}
    if by == "file" or all(folders.values()):
        (found, unread), how = of_files(folders, read), read
        base = reading_so
    else:
        from coflash.runs.progress import shown  # needs rich

        parts, workers = f"{out}/{VOLUMES}" if volumes is None else volumes, place.workers if place.is_here else None
        _, unread = of_each(files if len(files) > 1 else [], lambda file: head(fetched(file), 1, read), read)
        with shown("reading") if progress else nullcontext(None) as reading:
            found = split([file for file in files if file not in unread], parts, read, reading, workers)
    writers = [one for one in found if one.written_bytes]
    if not writers:
        none = f"none of {counted(len(found), 'volume')} writes"
        raise CoflashError(f"fleet: {none}: there is nothing for GC to do; `coflash trace info` shows what a trace has")
    names = [one.name for one in writers]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise CoflashError(f'fleet: two volumes have the name "{twice}": split the files apart, or rename one')
    needed = _needed_pages(base, assignments, writers, how)
    rows = []
    for one in writers:
        is_shared = not place.is_here and not remote.is_url(one.file)
        source = f"file://{remote.path_of(one.file).resolve()}" if is_shared else one.file
        sized = {"name": one.name, **_sized(max(least, needed[one.name]))}
        rows.append(_points(base, sized, Input(source, one.sha256), assignments, seeds))
    # A point is named as a valid scenario shows it.
    designs = [next((one for one in same if not one.refused), same[0]).values for same in zip(*rows, strict=True)]
    points = [
        _named(replace(point, values=values), one.name)
        for one, row in zip(writers, rows, strict=True)
        for point, values in zip(row, designs, strict=True)
    ]
    done = swept(Plan(tuple(points)), store, place, errors() if progress else None)
    earlier = Fleets()
    earlier.read(store.place, store.fleet())
    idle = tuple(one for one in found if not one.written_bytes)
    made = Fleet(tuple(writers), idle, needed, least, done, unread, earlier.asked)
    store.write_fleet(made.to_json())
    return made


def _points(
    base: Scenario, keys: Mapping[str, str], file: Input, assignments: Sequence[Assignment], seeds: int | Sequence[int]
) -> tuple[Point, ...]:
    """Return the points of a volume; if it is too large for a device, say, all are refused: the others go on."""
    try:
        return Plan.of(base.with_(keys), (file,), assignments, seeds).points
    except CoflashError as error:
        return tuple(Point(dict(assignment), refused=str(error)) for assignment in assignments)


def _least_pages(base: Scenario, assignments: Sequence[Assignment]) -> int:
    """Return the pages of 4 KiB that the smallest device exports which all points can have, within 2 %.

    Raises:
        CoflashError: No size will do.
    """
    for assignment in assignments:
        base.set(list(assignment))  # a value that no device can have is told before sizes are tried
    fits, fails = 1, 0
    while problem := _problem(base, fits, assignments):
        if fits >= _LARGEST_PAGES:
            raise CoflashError(problem)
        fits, fails = 2 * fits, fits
    while fits - fails > max(1, fits // 50):
        middle = (fits + fails) // 2
        fits, fails = (fits, middle) if _problem(base, middle, assignments) else (middle, fails)
    return fits


def _problem(base: Scenario, pages: int, assignments: Sequence[Assignment]) -> str:
    """Return why not all points can have a device of this size; empty if they can."""
    return next(filter(None, (refusal(base, (*_sized(pages).items(), *each)) for each in assignments)), "")


def _needed_pages(
    base: Scenario, assignments: Sequence[Assignment], volumes: Sequence[Volume], options: Options
) -> dict[str, int]:
    """Return what each device must export, in pages of 4 KiB: of larger pages a volume touches more bytes.

    Raises:
        CoflashError: A volume cannot be read.
    """
    devices = [base, *(base.set(list(assignment)) for assignment in assignments)]
    page = max(int(quantity(one.to_dict()["flash"]["page_size"])[0]) for one in devices)
    if page > _PAGE_BYTES:
        with ThreadPoolExecutor() as pool:
            counts = pool.map(lambda one: touched_pages(one, options, f"{page}B"), volumes)
            pages = {one.name: count * page // _PAGE_BYTES for one, count in zip(volumes, counts, strict=True)}
    else:
        pages = {one.name: one.footprint_pages for one in volumes}
    return {name: math.ceil(count * _ROOM) for name, count in pages.items()}


def _sized(pages: int) -> dict[str, str]:
    return {"flash.exported": f"{4 * pages}KiB", "workload.remap": "dense"}


def _named(point: Point, name: str) -> Point:
    # With its name in the key each volume has a run of its own, also where two have the same requests.
    jobs = (replace(job, key=digest([job.key, name]), label=f"{VOLUME}={name} {job.label}") for job in point.jobs)
    return replace(point, values={VOLUME: name, **point.values}, jobs=tuple(jobs))


def _design(point: Point) -> dict[str, str]:
    return {key: text for key, text in point.values.items() if key != VOLUME}


def name_of(design: dict[str, str]) -> str:
    """Return the name of a point of the design: its values."""
    return " ".join(design.values()) or "the scenario"


def _spreads(designs: Sequence[dict[str, str]], found: Sequence[dict[str, float]]) -> list[Spread]:
    import numpy as np

    spreads = []
    for design, of in zip(designs, found, strict=True):
        if not of:
            continue
        values = np.array(list(of.values()))
        draws = np.random.default_rng(0).integers(0, len(values), (_RESAMPLED, len(values)))
        low, high = np.percentile(values[draws].mean(axis=1), (2.5, 97.5))
        least, greatest = min(of, key=lambda name: of[name]), max(of, key=lambda name: of[name])
        percentiles = {name: float(np.percentile(values, at)) for name, at in _PERCENTILES.items()}
        between = float(low), float(high)
        spreads.append(Spread(design, len(of), float(values.mean()), between, percentiles, least, greatest))
    return spreads
