"""The analysis of the runs: the paper's numbers, the pages that GC moved, and conclusions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

from coflash import trace
from coflash._core import CoflashError
from coflash.measures.measure import Measure
from coflash.measures.metrics import Metrics
from coflash.quantity import show, show_change
from coflash.scenario import Scenario
from coflash_reproduce.paper import Axis, Experiment, Line, Row, Run, Runs, tabled
from coflash_reproduce.shadowgc.workloads import (
    AGE_LIMITS,
    BUFFERED,
    COMPARED,
    DELAY,
    DGC,
    GGC,
    GIVEN,
    HGC,
    HOST_MIB,
    LAYOUTS,
    MOTIVATION,
    PAGE_BYTES,
    RESTARTED,
    ROOMS,
    SCHEMES,
    SEPARATION,
    SGC,
    SHUTDOWNS,
    SWEPT_MIB,
    VICTIMS,
    VOLUMES,
    WORKLOADS,
    ZGC,
    alone,
    by_device,
    in_layout,
    noticed,
    raw_bytes,
    restarted,
)

HOST_AXIS = Axis("host buffer, on 1 TiB", "MiB", logarithmic=True)
DEVICE_AXIS = Axis("device buffer, share of the flash", "%", logarithmic=True)
WRITTEN_AXIS = Axis("written", "GiB")
FOOTPRINT_AXIS = Axis("written to, share of the flash", "%", logarithmic=True)
PREFILL_AXIS = Axis("random overwrites, device writes", "", logarithmic=True)
FOOTPRINTS = tuple(in_layout("footprint", layout) for layout in LAYOUTS)
"""The experiments by written space."""
PREFILLS = tuple(in_layout("prefill", layout) for layout in LAYOUTS)
"""The experiments by prefill."""
RESTARTS = tuple(restarted(in_layout(name, layout)) for name in RESTARTED for layout in LAYOUTS)
"""The experiments with restarts."""
NOTICED = tuple(noticed(in_layout(name, layout)) for name in RESTARTED for layout in LAYOUTS)
"""The experiments by the bytes for notices in a command."""
SWEPT = tuple(in_layout(name, layout) for layout in LAYOUTS for name in (*GIVEN, *VOLUMES))
"""The experiments by the size of the host's buffer."""

WAF_CHANGES = {ZGC: -0.009, HGC: -0.064, DGC: -0.023, SGC: -0.162}
"""The paper's measurements of each scheme against GGC, on average over its traces."""
SGC_GC_TIME_CHANGE = -0.205
SGC_LEAST, SGC_BEST = -0.006, -0.434
"""The paper's smallest and largest change of WAF under SGC."""
REFRESH_MAX = 0.01
"""The paper's bound on refreshes, as a share of all programs."""

KINDS = {"dirty in the host": "host", "dirty in the device": "device", "dirty in both": "twin"}
"""The kinds of shadows, by their counter."""


GROUPS: dict[str, tuple[str, ...]] = {"0.1 to 10 % of the flash": (*GIVEN, *VOLUMES), "all workloads": WORKLOADS}
"""The workloads whose mean is held against the paper's mean."""


def _written(metrics: Metrics) -> int:
    """Return the pages written to the device: by the host's buffer, or by the requests if there is none."""
    buffer = metrics.get("host_buffer")
    return int(buffer["written_pages"] if buffer else metrics.host_writes_pages)


def _waf(metrics: Metrics) -> float | None:
    written = _written(metrics)
    return sum(metrics.programs_pages.to_dict().values()) / written if written else None


def _gc_time(metrics: Metrics) -> float | None:
    written = _written(metrics)
    return metrics.gc_time_ns / written if written else None


def _moved(metrics: Metrics, kind: str) -> float:
    counted = metrics["shadows"]
    moved = {name: counted[f"moved_{name}_pages"] for name in ("valid", "host", "device", "twin")}
    return float(moved[kind] / max(1, sum(moved.values())))


WAF = Measure("WAF, by pages to the device", "ratio", _waf)
GC_TIME = Measure("GC time per page to the device", "ns", _gc_time)
FOOTPRINT = Measure("written footprint", "bytes", lambda _: None)
SHADOWS = Measure("of the pages moved", "share", lambda _: None)


CHANGE = Measure("change of WAF against GGC", "share", lambda _: None)


def growth(_: Runs, experiment: Experiment) -> list[Line]:
    """Return distinct bytes against written bytes, for one pass of the workload."""
    points = _growth(experiment.scenario, experiment.trace)
    places = sorted({round(index * (len(points) - 1) / 6) for index in range(7)})
    shown = [(points[place][0] * PAGE_BYTES / 2**30, float(points[place][1] * PAGE_BYTES)) for place in places]
    return [Line("distinct pages", tuple((round(gib, 2 if gib < 10 else 1), distinct) for gib, distinct in shown))]


@lru_cache(maxsize=32)
def _growth(scenario: Scenario, files: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """Return written pages and distinct written pages over the course of a trace or of a generated workload."""
    with TemporaryDirectory() as folder:
        if not files:
            made_up = Path(folder) / "workload.parquet"
            trace.generate(scenario, made_up)
            files = (str(made_up),)
        found = trace.info(files, page="16KiB")["write_growth"]
    return tuple(zip(found["written_pages"], found["distinct_pages"], strict=True))


def motivation(measure: Measure) -> Callable[[Runs, Experiment], list[Line]]:
    """Return the lines of figure 2: its schemes, where the footprint is that of a volume."""

    def lines(runs: Runs, experiment: Experiment) -> list[Line]:
        of = {line: [run for run in runs.of(experiment.name, line) if _is_volume(run)] for line in MOTIVATION}
        return [_line(line, found, lambda run: measure.read(run.metrics)) for line, found in of.items()]

    return lines


def _is_volume(run: Run) -> bool:
    return run.case.at in VOLUMES.values()


def _line(label: str, of: Iterable[Run], value: Callable[[Run], float | None]) -> Line:
    points = ((run.case.at, value(run)) for run in of)
    return Line(label, tuple(sorted((at, found) for at, found in points if found is not None)))


def changes(runs: Runs, experiment: Experiment) -> list[Line]:
    """Return the lines of each scheme's change of write amplification from GGC, and of the paper's mean for SGC."""
    of = {line: runs.of(experiment.name, line) for line in COMPARED[1:]}
    lines = [_line(line, found, lambda run: against_ggc(runs, run)) for line, found in of.items()]
    places = sorted({at for line in lines for at, _ in line.points})
    shown = [line for line in lines if line.points]
    return [*shown, Line(PAPER_SGC, tuple((at, WAF_CHANGES[SGC]) for at in places))]


PAPER_SGC = "SGC, paper's mean"


def against_ggc(runs: Runs, run: Run, measure: Measure = WAF) -> float | None:
    """Return a run's change from GGC at the same place; None without such a run."""
    base = runs.at(run.experiment.name, GGC, run.case.at)
    return run.change(base, measure) if base else None


@tabled(
    f"active blocks | written to | host buffer of it | absorbed there | WAF, {GGC} | WAF, {SGC} | "
    "from the buffers | discarded | moved: dirty in the host | dirty in the device"
)
def regimes(runs: Runs) -> Iterator[Row]:
    """Tabulate the moved pages by written space, with one host buffer."""
    for name in FOOTPRINTS:
        for run, base in sorted(runs.pairs([name], SGC, GGC), key=lambda pair: -pair[0].case.at):
            programs, written = run.metrics.programs_pages, _written(run.metrics)
            buffer = base.metrics["host_buffer"]
            footprint = run.case.at / 100 * raw_bytes(run.scenario) / PAGE_BYTES
            shares = (buffer["capacity_pages"] / footprint, buffer["absorbed_pages"] / base.metrics.host_writes_pages)
            moved = (_moved(run.metrics, kind) for kind in ("host", "device"))
            yield (
                run.experiment.title.removesuffix(" active blocks"),
                FOOTPRINT_AXIS.text(run.case.at),
                *(show(share, "share") for share in shares),
                base.shown(WAF),
                run.shown(WAF),
                f"{(programs.host + programs.evict) / written:.3f}",
                *(show(one, "share") for one in (_discarded(run) / written, *moved)),
            )


def _discarded(run: Run) -> int:
    return int(run.metrics["shadows"]["discarded_twins_pages"])


_VICTIM_SCHEMES = (DELAY, SEPARATION, ZGC, HGC, SGC)


@tabled(f"| victims | WAF, {GGC} | {' | '.join(_VICTIM_SCHEMES)}")
def victims(runs: Runs) -> Iterator[Row]:
    """Tabulate each scheme's change of write amplification by the choice of victims."""
    for one in runs.experiments([in_layout("victims", layout) for layout in LAYOUTS]):
        for base in runs.of(one.name, GGC):
            changes = (_change(runs, one.name, scheme, base.case.at) for scheme in _VICTIM_SCHEMES)
            yield one.title, VICTIMS[int(base.case.at)], base.shown(WAF), *changes


@tabled(
    "| restart | restarts | lost by one in the host | in the device | refreshed | of all programs | "
    f"dies busy with it | until all are idle, at most | WAF, {SGC} | change"
)
def restarts(runs: Runs) -> Iterator[Row]:
    """Tabulate the cost of restarts, by what precedes them."""
    for name in RESTARTS:
        for kind in list(SHUTDOWNS)[1:]:
            for run, base in runs.pairs([name], kind, "no restart"):
                counted = run.metrics["restart"]
                happened = counted["restarts"]
                pages = ("lost_host_pages", "lost_device_pages", "refreshed_pages")
                yield (
                    run.experiment.title,
                    kind,
                    str(happened),
                    *(show(counted[one] / happened, "pages") for one in pages),
                    show(refreshed(run.metrics), "share"),
                    show(counted["die_time_ns"] / happened, "ns"),
                    show(counted["busy_max_ns"], "ns"),
                    run.shown(WAF),
                    run.changed(base, WAF),
                )


def refreshed(metrics: Metrics) -> float:
    """Return the share of refreshes in all programs."""
    programs = metrics.programs_pages
    return float(programs.refresh / max(1, sum(programs.to_dict().values())))


def left_valid(runs: Iterable[Run]) -> float:
    """Return the share of valid pages in the blocks for shadows that GC chose; 0 if it chose none."""
    counted = [(run.metrics["fast_blocks"], _pages_per_block(run)) for run in runs]
    chosen = sum(of["victims_blocks"] * pages for of, pages in counted)
    return float(sum(of["victims_valid_pages"] for of, _ in counted) / max(1, chosen))


def _pages_per_block(run: Run) -> int:
    return int(run.scenario.to_dict()["flash"]["pages_per_block"])


def marks_bytes(run: Run) -> float:
    """Return the memory for the states of pages beyond the bit for valid ones, on a device of 128 GiB."""
    pages = raw_bytes(run.scenario) / PAGE_BYTES
    return float((run.metrics["fast_blocks"]["states_bytes"] - pages / 8) / pages * 2**37 / PAGE_BYTES)


@tabled(
    "| blocks erased | of their pages copied | blocks for shadows that GC chose | valid pages in these | "
    "notices | messages for these alone"
)
def overheads(runs: Runs) -> Iterator[Row]:
    """Tabulate what GC finds in the blocks for shadows, and how notices reach the device."""
    for one in runs.experiments([in_layout(name, layout) for layout in LAYOUTS for name in WORKLOADS]):
        if run := runs.at(one.name, SGC, HOST_MIB):
            metrics, erased = run.metrics, run.metrics.erases_blocks
            chosen, notices = metrics["fast_blocks"]["victims_blocks"], metrics["host"]["to_device"]
            copied = metrics.gc_copies_pages / max(1, erased * _pages_per_block(run))
            valid = show(left_valid([run]), "share") if chosen else ""
            blocks = (show(erased, "blocks"), show(copied, "share"), show(chosen, "blocks"), valid)
            yield one.title, *blocks, f"{notices['sent']:,}", f"{notices['messages']:,}"


def about_overheads(runs: Runs) -> Iterator[str]:
    """Describe short notices, and the memory for shadows."""
    texts = []
    for one in runs.experiments(NOTICED):
        usual, *short = runs.of(one.name)
        first, *waits = [show(run.metrics["host"]["to_device"]["delay_mean_ns"], "ns") for run in (usual, *short)]
        each = ", ".join(f"{run.changed(usual, WAF)} ({wait})" for run, wait in zip(short, waits, strict=True))
        texts.append(f"{one.title} {each}, otherwise {first}")
    memory = max(marks_bytes(run) for one in runs.experiments(WORKLOADS) for run in runs.of(one.name, SGC))
    yield (
        f"With room for one notice of 5 bytes in a command, and for two, WAF under SGC changes by (the mean wait of a "
        f"notice in brackets): {'; '.join(texts)}. A page that becomes dirty in the host is announced by one notice, "
        "and written by one command later: with room for one the queue of notices never empties, and those of pages "
        "that are written soon come too late."
    )
    yield (
        f"The two further bits of a page, and four bytes a block, take {show(memory, 'bytes')} of a device of 128 GiB."
    )


@tabled(f"device | spare blocks of a pool | moved: dirty in the host | WAF, {GGC} | WAF, {SEPARATION} | change")
def rooms(runs: Runs) -> Iterator[Row]:
    """Tabulate the cost of a block for shadows without shadows, by the number of spare blocks."""
    for apart, base in runs.pairs(ROOMS, SEPARATION, GGC):
        values = base.scenario.to_dict()
        planes = values["flash"]["planes_per_die"] if values["ftl"]["pools"] == "die" else 1
        spare = planes * values["flash"]["blocks_per_plane"] * 0.07 / 1.07
        moved = show(_moved(apart.metrics, "host"), "share")
        yield base.experiment.title, f"{spare:.0f}", moved, base.shown(WAF), apart.shown(WAF), apart.changed(base, WAF)


def shadows(metrics: Metrics) -> float:
    """Return the share of shadows in the pages that GC moved."""
    return sum(_moved(metrics, kind) for kind in KINDS.values())


def kinds(runs: Runs, experiment: Experiment) -> list[Line]:
    """Return the shares of shadows among the pages that GC moved under SGC, by kind."""
    of = runs.of(experiment.name, SGC)
    return [Line(label, tuple((run.case.at, _moved(run.metrics, kind)) for run in of)) for label, kind in KINDS.items()]


def _swept_changes(runs: Runs, experiment: str, line: str, measure: Measure) -> list[float]:
    """Return a scheme's changes from GGC, at the sizes of the host's buffer that stand for the paper's."""
    swept = (run for run in runs.of(experiment, line) if run.case.at in SWEPT_MIB)
    return [relative for run in swept if (relative := against_ggc(runs, run, measure)) is not None]


def mean_changes(runs: Runs, names: Iterable[str], layout: str, line: str, measure: Measure) -> list[float]:
    """Return a scheme's mean change from GGC for each of these workloads in which it was run.

    Raises:
        CoflashError: Nothing was written to the device, so that there is nothing to compare.
    """
    done = [one.name for one in runs.experiments([in_layout(name, layout) for name in names])]
    found = [mean(changes) for name in done if (changes := _swept_changes(runs, name, line, measure))]
    if not found:
        msg = f"{', '.join(done)}: next to nothing is written to the device"
        raise CoflashError(msg)
    return found


_CHANGED = tuple(SCHEMES)[1:]


@tabled(f"| WAF, {GGC} | {' | '.join(_CHANGED)} | GC time, {SGC}")
def by_scheme(runs: Runs) -> Iterator[Row]:
    """Return each scheme's change of write amplification: a row for each workload and layout, means, the paper's."""
    of = [*((scheme, WAF) for scheme in _CHANGED), (SGC, GC_TIME)]
    for layout in LAYOUTS:
        for one in runs.experiments([in_layout(name, layout) for name in WORKLOADS]):
            baseline = mean(run.read(WAF) for run in runs.of(one.name, GGC) if run.case.at in SWEPT_MIB)
            found = (_swept_changes(runs, one.name, *which) for which in of)
            yield one.title, f"{baseline:.3f}", *(show_change(mean(values) if values else None) for values in found)
        for group, names in GROUPS.items():
            means = (show_change(mean(mean_changes(runs, names, layout, *which))) for which in of)
            yield f"**mean, {group}, {layout}**", "", *means
    paper = (*(WAF_CHANGES.get(scheme) for scheme in _CHANGED), SGC_GC_TIME_CHANGE)
    yield "**paper, mean of 15 traces**", "", *map(show_change, paper)


@tabled(f"| device buffer | {GGC}, off | {GGC}, on | absorbed by it | {DGC}, off | {DGC}, on | {SGC}, on")
def double_caching(runs: Runs) -> Iterator[Row]:
    """Return the same workload with and without the host's buffer."""
    for one in runs.experiments(BUFFERED):
        for off in runs.of(alone(one.name), GGC):
            at, without, with_it = off.case.at, alone(one.name), by_device(one.name)
            if on := runs.at(with_it, GGC, at):
                absorbed = show(1 - _written(on.metrics) / _written(off.metrics), "share")
                changes = (_change(runs, *of, at) for of in ((without, DGC), (with_it, DGC), (with_it, SGC)))
                yield one.title, DEVICE_AXIS.text(at), off.shown(WAF), on.shown(WAF), absorbed, *changes


def _change(runs: Runs, experiment: str, line: str, at: float) -> str:
    run = runs.at(experiment, line, at)
    return show_change(against_ggc(runs, run)) if run else ""


@tabled(
    "| flash | buffers, device and host | requests | written, times the flash | flushes | "
    "written because of one | absorbed in the host | in the device | dies busy"
)
def sizes(runs: Runs) -> Iterator[Row]:
    """Tabulate the device and the workloads."""
    for one in runs.experiments(WORKLOADS):
        run = next(run for run in runs.of(one.name, GGC) if run.case.at == HOST_MIB)
        metrics, values = run.metrics, run.scenario.to_dict()
        buffer, cache, flash = metrics["host_buffer"], metrics["cache"], raw_bytes(run.scenario)
        shares = (
            metrics.flushes / metrics.requests,
            buffer["flushed_pages"] / max(1, buffer["written_pages"]),
            buffer["absorbed_pages"] / metrics.host_writes_pages,
            cache["write_hits"] / max(1, cache["write_hits"] + cache["write_misses"]),
            _busy(run),
        )
        yield (
            one.title,
            show(flash, "bytes"),
            f"{values['cache']['size']}, {values['host_buffer']['size']}",
            f"{metrics.requests:,}",
            f"{metrics.host_writes_pages * PAGE_BYTES / flash:.2f}",
            *(show(share, "share") for share in shares),
        )


def _busy(run: Run) -> float:
    """Return the utilisation of the dies."""
    flash, metrics = run.scenario.to_dict()["flash"], run.metrics
    dies = flash["channels"] * flash["chips_per_channel"] * flash["dies_per_chip"]
    return float((metrics.gc_time_ns + metrics.service_time_ns) / (dies * max(1, metrics.simulated_ns)))


def about_given(runs: Runs) -> Iterator[str]:
    """Describe the limits of the given traces."""
    for one in runs.experiments(GIVEN):
        busiest = max(runs.of(one.name), key=_busy)
        if _busy(busiest) > SATURATED:
            yield (
                f"**{one.title}: its requests come faster than the device serves them.** Under {busiest.case.line} "
                f"dies are busy {show(_busy(busiest), 'share')} of the time: what a page costs stands, when it is "
                "answered does not."
            )
        programs, flash = max(run.programs for run in runs.of(one.name, GGC)), busiest.scenario.to_dict()["flash"]
        opened = int(raw_bytes(busiest.scenario) / PAGE_BYTES / flash["blocks_per_plane"])  # one block of each plane
        if opened > SHORT * programs:
            yield (
                f"**{one.title} is short.** The blocks that planes open for shadows, once, have {opened:,} pages, all "
                f"programs are {programs:,}: what separation costs counts too much."
            )


SHORT = 0.01
"""The share of all programs in the blocks that planes open once, above which a trace is too short for the device."""
SATURATED = 0.95
"""The utilisation above which dies never catch up."""


def about_growth(runs: Runs) -> Iterator[str]:
    """Describe the mean number of writes of a page."""
    texts = []
    for one in runs.experiments(WORKLOADS):
        written, distinct = growth(runs, one)[0].points[-1]
        texts.append(f"{one.title} {written * 2**30 / distinct:.1f}")
    yield f"Times that a page is written, on average: {'; '.join(texts)}."


def about_footprints(runs: Runs) -> Iterator[str]:
    """Describe where the paper's number for SGC is reached, and why not elsewhere."""
    texts = []
    for one in runs.experiments(FOOTPRINTS):
        sgc = next(line for line in changes(runs, one) if line.label == SGC)
        reached = [FOOTPRINT_AXIS.text(at) for at, value in sgc.points if value <= WAF_CHANGES[SGC]]
        least = show_change(min(value for _, value in sgc.points))
        texts.append(f"{one.title}, at {', '.join(reached)}" if reached else f"{one.title}, nowhere ({least} at most)")
    yield f"The paper's {show_change(WAF_CHANGES[SGC])} of {SGC} is reached: {'; '.join(texts)}."
    yield _nearest(runs)
    yield _why(runs)


def _nearest(runs: Runs) -> str:
    """Name the experiment that is nearest to the paper for all schemes, by the sum of their deviations."""

    def listed(found: Mapping[str, float]) -> str:
        return ", ".join(f"{scheme} {show_change(value)}" for scheme, value in found.items())

    found = []
    for one in runs.experiments(FOOTPRINTS):
        lines = {line.label: dict(line.points) for line in changes(runs, one)}
        for at in lines[SGC]:
            ours = {scheme: lines[scheme][at] for scheme in WAF_CHANGES}
            off = sum(abs(value - WAF_CHANGES[scheme]) for scheme, value in ours.items())
            found.append((off, f"{FOOTPRINT_AXIS.text(at)} of the flash, {one.title} ({listed(ours)})"))
    return f"Together they are nearest to the paper's ({listed(WAF_CHANGES)}) at {min(found)[1]}."


def _why(runs: Runs) -> str:
    """Explain the difference of the layouts by what GC moves and what the device discards."""
    texts = []
    for one in runs.experiments(FOOTPRINTS):
        of = list(filter(_is_volume, runs.of(one.name, SGC)))
        moved = [shadows(run.metrics) for run in of]
        discarded = [_discarded(run) / _written(run.metrics) for run in of]
        ends = [f"{show(min(values), 'share')} to {show(max(values), 'share')}" for values in (moved, discarded)]
        texts.append(
            f"with {one.title} {ends[0]} of the pages moved are shadows, and {ends[1]} of those written are discarded"
        )
    return (
        f"Over footprints of 0.1 to 10 % under {SGC}, {'; '.join(texts)}. Separation, delay, fast programs and pages "
        "from the buffer act on shadows among the pages moved. Where written pages and GC's copies fill one block, the "
        "valid pages of victims are cold, and there is next to nothing to act on: what remains is that twins are not "
        "written."
    )


def about_ages(runs: Runs) -> Iterator[str]:
    """Describe the effect of the age limit on the host's buffer."""
    texts = []
    for run in (run for name in AGE_LIMITS for run in runs.of(name, SGC)):
        buffer, limit = run.metrics["host_buffer"], run.experiment.title.split(", ")[-1]
        aged = buffer["aged_pages"] / max(1, buffer["written_pages"])
        texts.append(f"{HOST_AXIS.text(run.case.at)}, {limit}: {show(aged, 'share')}")
    yield f"Of the pages written to the device, those whose age was reached: {'; '.join(texts)}."


def about_kinds(runs: Runs) -> Iterator[str]:
    """Describe the share of shadows among the moved pages."""
    of = (run for name in SWEPT for run in runs.of(name, SGC) if run.case.at in SWEPT_MIB)
    swept = [shadows(run.metrics) for run in of]
    yield (
        f"With host buffers of 64 MiB to 1 GiB on 1 TiB shadows are {show(min(swept), 'share')} to "
        f"{show(max(swept), 'share')} of the pages moved. They matter more than that: a device-shadow that is taken "
        "from the buffer, or a twin that is discarded, is a page less to write, with all copies that it would cause; "
        "and where shadows are, hot pages are."
    )


def about_device(runs: Runs) -> Iterator[str]:
    """Describe the writes that a large device buffer saves."""
    texts = []
    for one in runs.experiments(tuple(map(by_device, BUFFERED))):
        largest = max(runs.of(one.name, DGC), key=lambda run: run.case.at)
        saved = largest.metrics["shadows"]["from_buffer_pages"] / _written(largest.metrics)
        texts.append(f"{one.title} {show(saved, 'share')} and {show_change(against_ggc(runs, largest)) or '–'}")
    yield (
        "Pages that GC takes from the largest one, and that need not be written again, for each page written to the "
        f"device; and the change of WAF under DGC: {'; '.join(texts)}."
    )


def about_sizes(runs: Runs) -> Iterator[str]:
    """Describe the changes at the smallest and the largest host buffer."""
    texts = []
    for one in runs.experiments(SWEPT):
        at = [run.case.at for run in runs.of(one.name, SGC)]
        ends = [_change(runs, one.name, SGC, place) or "–" for place in (min(at), max(at))]
        texts.append(f"{one.title} {ends[0]} and {ends[1]}")
    yield f"SGC against GGC with the smallest and with the largest host buffer: {'; '.join(texts)}."
