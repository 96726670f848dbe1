"""The analysis of the runs: the paper's numbers, the pages that GC moved, and conclusions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

from coflash import trace
from coflash._core import CoflashError
from coflash.measures.measure import Measure
from coflash.measures.metrics import Metrics
from coflash.quantity import change, show, show_change
from coflash.scenario import Scenario
from coflash_reproduce.paper import Axis, Experiment, Grid, Line, Run, Runs
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
        found = []
        for line in MOTIVATION:
            places = (run for run in runs.of(experiment.name, line) if run.case.at in VOLUMES.values())
            points = ((run.case.at, measure.read(run.metrics)) for run in places)
            found.append(Line(line, tuple(sorted((at, value) for at, value in points if value is not None))))
        return found

    return lines


def changes(runs: Runs, experiment: Experiment) -> list[Line]:
    """Return the lines of each scheme's change of write amplification from GGC, and of the paper's mean for SGC."""
    lines = []
    for line in COMPARED[1:]:
        points = ((run.case.at, against_ggc(runs, run)) for run in runs.of(experiment.name, line))
        lines.append(Line(line, tuple(sorted((at, value) for at, value in points if value is not None))))
    places = sorted({at for line in lines for at, _ in line.points})
    shown = [line for line in lines if line.points]
    return [*shown, Line(PAPER_SGC, tuple((at, WAF_CHANGES[SGC]) for at in places))]


PAPER_SGC = "SGC, paper's mean"


def against_ggc(runs: Runs, run: Run, measure: Measure = WAF) -> float | None:
    """Return a run's change from GGC at the same place; None without such a run."""
    base = runs.at(run.experiment.name, GGC, run.case.at)
    return change(measure.read(run.metrics), measure.read(base.metrics)) if base else None


def regimes(runs: Runs) -> Grid:
    """Tabulate the moved pages by written space, with one host buffer."""
    columns = (
        "active blocks",
        "written to",
        "host buffer of it",
        "absorbed there",
        f"WAF, {GGC}",
        f"WAF, {SGC}",
        "from the buffers",
    )
    rows = []
    for one in runs.experiments(FOOTPRINTS):
        for run in sorted(runs.of(one.name, SGC), key=lambda run: -run.case.at):
            base = runs.at(one.name, GGC, run.case.at)
            if base is None:
                continue
            programs, written = run.metrics.programs_pages, _written(run.metrics)
            buffer, discarded = base.metrics["host_buffer"], run.metrics["shadows"]["discarded_twins_pages"]
            footprint = run.case.at / 100 * raw_bytes(run.scenario) / PAGE_BYTES
            rows.append(
                (
                    one.title.removesuffix(" active blocks"),
                    FOOTPRINT_AXIS.text(run.case.at),
                    show(buffer["capacity_pages"] / footprint, "share"),
                    show(buffer["absorbed_pages"] / base.metrics.host_writes_pages, "share"),
                    WAF.shown(base.metrics),
                    WAF.shown(run.metrics),
                    f"{(programs.host + programs.evict) / written:.3f}",
                    show(discarded / written, "share"),
                    *(show(_moved(run.metrics, kind), "share") for kind in ("host", "device")),
                )
            )
    moved = ("moved: dirty in the host", "dirty in the device")
    return Grid((*columns, "discarded", *moved), tuple(rows))


def victims(runs: Runs) -> Grid:
    """Tabulate each scheme's change of write amplification by the choice of victims."""
    schemes = (DELAY, SEPARATION, ZGC, HGC, SGC)
    rows = []
    for one in runs.experiments(tuple(in_layout("victims", layout) for layout in LAYOUTS)):
        for at, victim in enumerate(VICTIMS):
            base = runs.at(one.name, GGC, at)
            if base is not None:
                changes = (_change(runs, one.name, scheme, at) for scheme in schemes)
                rows.append((one.title, victim, WAF.shown(base.metrics), *changes))
    return Grid(("", "victims", f"WAF, {GGC}", *schemes), tuple(rows))


def restarts(runs: Runs) -> Grid:
    """Tabulate the cost of restarts, by what precedes them."""
    rows = []
    for one in runs.experiments(RESTARTS):
        base = runs.at(one.name, "no restart", 0)
        for kind in list(SHUTDOWNS)[1:]:
            run = runs.at(one.name, kind, 0)
            if run is None or base is None:
                continue
            counted = run.metrics["restart"]
            happened = counted["restarts"]
            rows.append(
                (
                    one.title,
                    kind,
                    str(happened),
                    *(show(counted[f"lost_{where}_pages"] / happened, "pages") for where in ("host", "device")),
                    show(counted["refreshed_pages"] / happened, "pages"),
                    show(refreshed(run.metrics), "share"),
                    show(counted["die_time_ns"] / happened, "ns"),
                    show(counted["busy_max_ns"], "ns"),
                    WAF.shown(run.metrics),
                    show_change(change(WAF.read(run.metrics), WAF.read(base.metrics))),
                )
            )
    columns = ("", "restart", "restarts", "lost by one in the host", "in the device", "refreshed", "of all programs")
    return Grid((*columns, "dies busy with it", "until all are idle, at most", f"WAF, {SGC}", "change"), tuple(rows))


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


def overheads(runs: Runs) -> Grid:
    """Tabulate what GC finds in the blocks for shadows, and how notices reach the device."""
    rows = []
    for layout in LAYOUTS:
        for one in runs.experiments([in_layout(name, layout) for name in WORKLOADS]):
            of = [run for run in runs.of(one.name, SGC) if run.case.at == HOST_MIB]
            for run in of:
                metrics, pages = run.metrics, _pages_per_block(run)
                chosen, notices = metrics["fast_blocks"]["victims_blocks"], metrics["host"]["to_device"]
                rows.append(
                    (
                        one.title,
                        show(metrics.erases_blocks, "blocks"),
                        show(metrics.gc_copies_pages / max(1, metrics.erases_blocks * pages), "share"),
                        show(chosen, "blocks"),
                        show(left_valid([run]), "share") if chosen else "",
                        f"{notices['sent']:,}",
                        f"{notices['messages']:,}",
                    )
                )
    columns = ("", "blocks erased", "of their pages copied", "blocks for shadows that GC chose", "valid pages in these")
    return Grid((*columns, "notices", "messages for these alone"), tuple(rows))


def about_overheads(runs: Runs) -> list[str]:
    """Describe short notices, and the memory for shadows."""
    texts = []
    for one in runs.experiments(NOTICED):
        usual, *short = runs.of(one.name)
        waits = [show(run.metrics["host"]["to_device"]["delay_mean_ns"], "ns") for run in (usual, *short)]
        changed = (show_change(change(WAF.read(run.metrics), WAF.read(usual.metrics))) for run in short)
        each = ", ".join(f"{relative} ({wait})" for relative, wait in zip(changed, waits[1:], strict=True))
        texts.append(f"{one.title} {each}, otherwise {waits[0]}")
    memory = max(marks_bytes(run) for one in runs.experiments(WORKLOADS) for run in runs.of(one.name, SGC))
    return [
        f"With room for one notice of 5 bytes in a command, and for two, WAF under SGC changes by (the mean wait of a "
        f"notice in brackets): {'; '.join(texts)}. A page that becomes dirty in the host is announced by one notice, "
        "and written by one command later: with room for one the queue of notices never empties, and those of pages "
        "that are written soon come too late.",
        f"The two further bits of a page, and four bytes a block, take {show(memory, 'bytes')} of a device of 128 GiB.",
    ]


def rooms(runs: Runs) -> Grid:
    """Tabulate the cost of a block for shadows without shadows, by the number of spare blocks."""
    rows = []
    for one in runs.experiments(tuple(ROOMS)):
        base, apart = runs.at(one.name, GGC, 0), runs.at(one.name, SEPARATION, 0)
        if base is None or apart is None:
            continue
        moved = show(_moved(apart.metrics, "host"), "share")
        waf = WAF.shown(base.metrics), WAF.shown(apart.metrics), show_change(against_ggc(runs, apart))
        rows.append((one.title, f"{_spare_blocks(base):.0f}", moved, *waf))
    columns = ("device", "spare blocks of a pool", "moved: dirty in the host", f"WAF, {GGC}", f"WAF, {SEPARATION}")
    return Grid((*columns, "change"), tuple(rows))


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


def by_scheme(runs: Runs) -> Grid:
    """Return each scheme's change of write amplification: a row for each workload and layout, means, the paper's."""
    schemes = [scheme for scheme in SCHEMES if scheme != GGC]
    rows = []
    for layout in LAYOUTS:
        for one in runs.experiments([in_layout(name, layout) for name in WORKLOADS]):
            baseline = mean(WAF.read(run.metrics) or 0 for run in runs.of(one.name, GGC) if run.case.at in SWEPT_MIB)
            found = [_swept_changes(runs, one.name, scheme, WAF) for scheme in schemes]
            time = _swept_changes(runs, one.name, SGC, GC_TIME)
            shown = (show_change(mean(values) if values else None) for values in (*found, time))
            rows.append((one.title, f"{baseline:.3f}", *shown))
        for group, names in GROUPS.items():
            means = [mean(mean_changes(runs, names, layout, scheme, WAF)) for scheme in schemes]
            means.append(mean(mean_changes(runs, names, layout, SGC, GC_TIME)))
            rows.append((f"**mean, {group}, {layout}**", "", *map(show_change, means)))
    paper = (*(WAF_CHANGES.get(scheme) for scheme in schemes), SGC_GC_TIME_CHANGE)
    rows.append(("**paper, mean of 15 traces**", "", *map(show_change, paper)))
    return Grid(("", f"WAF, {GGC}", *schemes, f"GC time, {SGC}"), tuple(rows))


def double_caching(runs: Runs) -> Grid:
    """Return the same workload with and without the host's buffer."""
    rows = []
    for one in runs.experiments(BUFFERED):
        for off in runs.of(alone(one.name), GGC):
            at = off.case.at
            on = runs.at(by_device(one.name), GGC, at)
            if on is None:
                continue
            absorbed = 1 - _written(on.metrics) / _written(off.metrics)
            saved = [_change(runs, name, DGC, at) for name in (alone(one.name), by_device(one.name))]
            row = (WAF.shown(off.metrics), WAF.shown(on.metrics), show(absorbed, "share"), *saved)
            rows.append((one.title, DEVICE_AXIS.text(at), *row, _change(runs, by_device(one.name), SGC, at)))
    columns = ("", "device buffer", f"{GGC}, off", f"{GGC}, on", "absorbed by it")
    return Grid((*columns, f"{DGC}, off", f"{DGC}, on", f"{SGC}, on"), tuple(rows))


def _change(runs: Runs, experiment: str, line: str, at: float) -> str:
    run = runs.at(experiment, line, at)
    return show_change(against_ggc(runs, run)) if run else ""


def sizes(runs: Runs) -> Grid:
    """Tabulate the device and the workloads."""
    rows = []
    for one in runs.experiments(WORKLOADS):
        run = next(run for run in runs.of(one.name, GGC) if run.case.at == HOST_MIB)
        metrics, values = run.metrics, run.scenario.to_dict()
        buffer, cache = metrics["host_buffer"], metrics["cache"]
        flushed = buffer["flushed_pages"] / max(1, buffer["written_pages"])
        absorbed = buffer["absorbed_pages"] / metrics.host_writes_pages
        again = cache["write_hits"] / max(1, cache["write_hits"] + cache["write_misses"])
        flash = raw_bytes(run.scenario)
        rows.append(
            (
                one.title,
                show(flash, "bytes"),
                f"{values['cache']['size']}, {values['host_buffer']['size']}",
                f"{metrics.requests:,}",
                f"{metrics.host_writes_pages * PAGE_BYTES / flash:.2f}",
                show(metrics.flushes / metrics.requests, "share"),
                show(flushed, "share"),
                show(absorbed, "share"),
                show(again, "share"),
                show(_busy(run), "share"),
            )
        )
    columns = ("", "flash", "buffers, device and host", "requests", "written, times the flash", "flushes")
    absorbed = ("absorbed in the host", "in the device")
    return Grid((*columns, "written because of one", *absorbed, "dies busy"), tuple(rows))


def _busy(run: Run) -> float:
    """Return the utilisation of the dies."""
    flash, metrics = run.scenario.to_dict()["flash"], run.metrics
    dies = flash["channels"] * flash["chips_per_channel"] * flash["dies_per_chip"]
    return float((metrics.gc_time_ns + metrics.service_time_ns) / (dies * max(1, metrics.simulated_ns)))


def about_given(runs: Runs) -> list[str]:
    """Describe the limits of the given traces."""
    texts = []
    for one in runs.experiments(GIVEN):
        busiest = max(runs.of(one.name), key=_busy)
        if _busy(busiest) > SATURATED:
            busy = f"Under {busiest.case.line} dies are busy {show(_busy(busiest), 'share')} of the time"
            meaning = "what a page costs stands, when it is answered does not."
            texts.append(f"**{one.title}: its requests come faster than the device serves them.** {busy}: {meaning}")
        programs = max(sum(run.metrics.programs_pages.to_dict().values()) for run in runs.of(one.name, GGC))
        opened = _opened_pages(busiest)
        if opened > SHORT * programs:
            once = (
                f"The blocks that planes open for shadows, once, have {opened:,} pages, all programs are {programs:,}"
            )
            texts.append(f"**{one.title} is short.** {once}: what separation costs counts too much.")
    return texts


def _opened_pages(run: Run) -> int:
    """Return the pages of the first block for shadows of each plane."""
    flash = run.scenario.to_dict()["flash"]
    return int(raw_bytes(run.scenario) / PAGE_BYTES / flash["blocks_per_plane"])


SHORT = 0.01
"""The share of all programs in the blocks that planes open once, above which a trace is too short for the device."""
SATURATED = 0.95
"""The utilisation above which dies never catch up."""


def about_growth(runs: Runs) -> list[str]:
    """Describe the mean number of writes of a page."""
    texts = []
    for one in runs.experiments(WORKLOADS):
        written, distinct = growth(runs, one)[0].points[-1]
        texts.append(f"{one.title} {written * 2**30 / distinct:.1f}")
    return [f"Times that a page is written, on average: {'; '.join(texts)}."]


def about_footprints(runs: Runs) -> list[str]:
    """Describe where the paper's number for SGC is reached, and why not elsewhere."""
    texts = []
    for one in runs.experiments(FOOTPRINTS):
        sgc = next(line for line in changes(runs, one) if line.label == SGC)
        reached = [FOOTPRINT_AXIS.text(at) for at, value in sgc.points if value <= WAF_CHANGES[SGC]]
        least = show_change(min(value for _, value in sgc.points))
        texts.append(f"{one.title}, at {', '.join(reached)}" if reached else f"{one.title}, nowhere ({least} at most)")
    return [
        f"The paper's {show_change(WAF_CHANGES[SGC])} of {SGC} is reached: {'; '.join(texts)}.",
        _nearest(runs),
        _why(runs),
    ]


def _nearest(runs: Runs) -> str:
    """Name the experiment that is nearest to the paper for all schemes, by the sum of their deviations."""
    found = []
    for one in runs.experiments(FOOTPRINTS):
        lines = {line.label: dict(line.points) for line in changes(runs, one)}
        for at in lines[SGC]:
            ours = {scheme: lines[scheme][at] for scheme in WAF_CHANGES}
            off = sum(abs(value - WAF_CHANGES[scheme]) for scheme, value in ours.items())
            shown = ", ".join(f"{scheme} {show_change(value)}" for scheme, value in ours.items())
            found.append((off, f"{FOOTPRINT_AXIS.text(at)} of the flash, {one.title} ({shown})"))
    paper = ", ".join(f"{scheme} {show_change(value)}" for scheme, value in WAF_CHANGES.items())
    return f"Together they are nearest to the paper's ({paper}) at {min(found)[1]}."


def _why(runs: Runs) -> str:
    """Explain the difference of the layouts by what GC moves and what the device discards."""
    texts = []
    for one in runs.experiments(FOOTPRINTS):
        of = [run for run in runs.of(one.name, SGC) if run.case.at in VOLUMES.values()]
        moved = [shadows(run.metrics) for run in of]
        discarded = [run.metrics["shadows"]["discarded_twins_pages"] / _written(run.metrics) for run in of]
        ends = (f"{show(min(values), 'share')} to {show(max(values), 'share')}" for values in (moved, discarded))
        texts.append(
            "with {} {} of the pages moved are shadows, and {} of those written are discarded".format(one.title, *ends)
        )
    return (
        f"Over footprints of 0.1 to 10 % under {SGC}, {'; '.join(texts)}. Separation, delay, fast programs and pages "
        "from the buffer act on shadows among the pages moved. Where written pages and GC's copies fill one block, the "
        "valid pages of victims are cold, and there is next to nothing to act on: what remains is that twins are not "
        "written."
    )


def about_ages(runs: Runs) -> list[str]:
    """Describe the effect of the age limit on the host's buffer."""
    texts = []
    for one in runs.experiments(tuple(AGE_LIMITS)):
        for run in runs.of(one.name, SGC):
            buffer = run.metrics["host_buffer"]
            aged = buffer["aged_pages"] / max(1, buffer["written_pages"])
            texts.append(f"{HOST_AXIS.text(run.case.at)}, {one.title.split(', ')[-1]}: {show(aged, 'share')}")
    return [f"Of the pages written to the device, those whose age was reached: {'; '.join(texts)}."]


def _spare_blocks(run: Run) -> float:
    """Return the spare blocks of a pool."""
    values = run.scenario.to_dict()
    planes = values["flash"]["planes_per_die"] if values["ftl"]["pools"] == "die" else 1
    return float(planes * values["flash"]["blocks_per_plane"] * 0.07 / 1.07)


def about_kinds(runs: Runs) -> list[str]:
    """Describe the share of shadows among the moved pages."""
    swept = [
        shadows(run.metrics)
        for one in runs.experiments(SWEPT)
        for run in runs.of(one.name, SGC)
        if run.case.at in SWEPT_MIB
    ]
    return [
        f"With host buffers of 64 MiB to 1 GiB on 1 TiB shadows are {show(min(swept), 'share')} to "
        f"{show(max(swept), 'share')} of the pages moved. They matter more than that: a device-shadow that is taken "
        "from the buffer, or a twin that is discarded, is a page less to write, with all copies that it would cause; "
        "and where shadows are, hot pages are."
    ]


def about_device(runs: Runs) -> list[str]:
    """Describe the writes that a large device buffer saves."""
    texts = []
    for one in runs.experiments(tuple(map(by_device, BUFFERED))):
        largest = max(runs.of(one.name, DGC), key=lambda run: run.case.at)
        saved = largest.metrics["shadows"]["from_buffer_pages"] / _written(largest.metrics)
        texts.append(f"{one.title} {show(saved, 'share')} and {show_change(against_ggc(runs, largest)) or '–'}")
    return [
        "Pages that GC takes from the largest one, and that need not be written again, for each page written to the "
        f"device; and the change of WAF under DGC: {'; '.join(texts)}."
    ]


def about_sizes(runs: Runs) -> list[str]:
    """Describe the changes at the smallest and the largest host buffer."""
    texts = []
    for one in runs.experiments(SWEPT):
        at = sorted({run.case.at for run in runs.of(one.name, SGC)})
        ends = [_change(runs, one.name, SGC, place) or "–" for place in (at[0], at[-1])]
        texts.append(f"{one.title} {ends[0]} and {ends[1]}")
    return [f"SGC against GGC with the smallest and with the largest host buffer: {'; '.join(texts)}."]
