"""The analysis of the runs: the paper's numbers, the pages that GC moved, and conclusions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import takewhile
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

from coflash import trace
from coflash._core import CoflashError
from coflash.measures.measure import Measure
from coflash.measures.metrics import Metrics
from coflash.quantity import change, show, show_change
from coflash.scenario import Scenario
from coflash_reproduce.paper import Axis, Claim, Experiment, Grid, Line, Run, Runs
from coflash_reproduce.shadowgc.workloads import (
    COMPARED,
    DGC,
    GGC,
    GIVEN,
    HGC,
    HOST_MIB,
    HOT_COLD,
    PAGE_BYTES,
    ROOMS,
    SCHEMES,
    SEPARATION,
    SGC,
    SWEPT_MIB,
    WORKLOADS,
    ZGC,
    alone,
    by_device,
    by_footprint,
    raw_bytes,
)

HOST_AXIS = Axis("host buffer, on 1 TiB", "MiB", logarithmic=True)
DEVICE_AXIS = Axis("device buffer, share of the flash", "%", logarithmic=True)
WRITTEN_AXIS = Axis("written", "GiB")
FOOTPRINT_AXIS = Axis("written to, share of the flash", "%", logarithmic=True)
RATE_AXIS = Axis("requests in a second, on 1 TiB", "", logarithmic=True)
FOOTPRINTS = (*map(by_footprint, SWEPT_MIB), HOT_COLD)
"""The experiments by written space."""

WAF_CHANGES = {ZGC: -0.009, HGC: -0.064, DGC: -0.023, SGC: -0.162}
"""The paper's measurements of each scheme against GGC, on average over its traces."""
SGC_GC_TIME_CHANGE = -0.205

KINDS = {"dirty in the host": "host", "dirty in the device": "device", "dirty in both": "twin"}
"""The kinds of shadows, by their counter."""


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


def changes(runs: Runs, experiment: Experiment) -> list[Line]:
    """Return the lines of each scheme's change of write amplification from GGC, and of the paper's mean for SGC."""
    lines = []
    for line in COMPARED[1:]:
        points = ((run.case.at, _against_ggc(runs, run)) for run in runs.of(experiment.name, line))
        lines.append(Line(line, tuple(sorted((at, value) for at, value in points if value is not None))))
    places = sorted({at for line in lines for at, _ in line.points})
    return [*lines, Line(PAPER_SGC, tuple((at, WAF_CHANGES[SGC]) for at in places))]


PAPER_SGC = "SGC, paper's mean"


def _against_ggc(runs: Runs, run: Run, measure: Measure = WAF) -> float | None:
    base = runs.at(run.experiment.name, GGC, run.case.at)
    return change(measure.read(run.metrics), measure.read(base.metrics)) if base else None


def regimes(runs: Runs) -> Grid:
    """Tabulate the moved pages by written space, with one host buffer."""
    columns = (
        "written to",
        "host buffer of it",
        "absorbed there",
        f"WAF, {GGC}",
        f"WAF, {SGC}",
        "from the buffers",
    )
    rows = []
    name = by_footprint(HOST_MIB)
    for run in sorted(runs.of(name, SGC), key=lambda run: -run.case.at):
        base = runs.at(name, GGC, run.case.at)
        if base is None:
            continue
        programs, written = run.metrics.programs_pages, _written(run.metrics)
        buffer, discarded = base.metrics["host_buffer"], run.metrics["shadows"]["discarded_twins_pages"]
        footprint = run.case.at / 100 * raw_bytes(run.scenario) / PAGE_BYTES
        rows.append(
            (
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


def rooms(runs: Runs) -> Grid:
    """Tabulate the cost of a block for shadows without shadows, by the number of spare blocks."""
    rows = []
    for one in runs.experiments(tuple(ROOMS)):
        base, apart = runs.at(one.name, GGC, 0), runs.at(one.name, SEPARATION, 0)
        if base is None or apart is None:
            continue
        shadows = show(_moved(apart.metrics, "host"), "share")
        waf = WAF.shown(base.metrics), WAF.shown(apart.metrics), show_change(_against_ggc(runs, apart))
        rows.append((one.title, f"{_spare_blocks(base):.0f}", shadows, *waf))
    columns = ("device", "spare blocks of a pool", "moved: dirty in the host", f"WAF, {GGC}", f"WAF, {SEPARATION}")
    return Grid((*columns, "change"), tuple(rows))


def kinds(runs: Runs, experiment: Experiment) -> list[Line]:
    """Return the shares of shadows among the pages that GC moved under SGC, by kind."""
    of = runs.of(experiment.name, SGC)
    return [Line(label, tuple((run.case.at, _moved(run.metrics, kind)) for run in of)) for label, kind in KINDS.items()]


def _swept_changes(runs: Runs, experiment: str, line: str, measure: Measure) -> list[float]:
    """Return a scheme's changes from GGC, at the sizes of the host's buffer that stand for the paper's.

    Raises:
        CoflashError: Nothing was written to the device, so that there is nothing to compare.
    """
    swept = (run for run in runs.of(experiment, line) if run.case.at in SWEPT_MIB)
    found = [relative for run in swept if (relative := _against_ggc(runs, run, measure)) is not None]
    if not found:
        msg = f"{experiment}: with a host buffer of the paper's sizes next to nothing is written to the device"
        raise CoflashError(msg)
    return found


def by_scheme(runs: Runs) -> Grid:
    """Return each scheme's change of write amplification: a row for each workload, then their mean and the paper's."""
    schemes = [scheme for scheme in SCHEMES if scheme != GGC]
    changes = {
        one.title: [mean(_swept_changes(runs, one.name, scheme, WAF)) for scheme in schemes]
        for one in runs.experiments(WORKLOADS)
    }
    baselines = {
        one.title: mean(WAF.read(run.metrics) or 0 for run in runs.of(one.name, GGC) if run.case.at in SWEPT_MIB)
        for one in runs.experiments(WORKLOADS)
    }
    rows = [(title, f"{baselines[title]:.3f}", *map(show_change, row)) for title, row in changes.items()]
    means = (mean(column) for column in zip(*changes.values(), strict=True))
    rows.append(("mean", "", *map(show_change, means)))
    rows.append(("paper, mean of 15 traces", "", *(show_change(WAF_CHANGES.get(scheme)) for scheme in schemes)))
    return Grid(("", f"WAF, {GGC}", *schemes), tuple(rows))


def double_caching(runs: Runs) -> Grid:
    """Return the same workload with and without the host's buffer."""
    rows = []
    for one in runs.experiments(WORKLOADS):
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
    return show_change(_against_ggc(runs, run)) if run else ""


def sizes(runs: Runs) -> Grid:
    """Tabulate the device and the workloads."""
    rows = []
    for one in runs.experiments(WORKLOADS):
        run = next(run for run in runs.of(one.name, GGC) if run.case.at == HOST_MIB)
        metrics, values = run.metrics, run.scenario.to_dict()
        buffer = metrics["host_buffer"]
        flushed = buffer["flushed_pages"] / max(1, buffer["written_pages"])
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
                show(_busy(run), "share"),
            )
        )
    columns = ("", "flash", "buffers, device and host", "requests", "written, times the flash", "flushes")
    return Grid((*columns, "written because of one", "dies busy"), tuple(rows))


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


def about_regimes(runs: Runs) -> list[str]:
    """Describe where the paper's number for SGC is reached."""
    texts = []
    for one in runs.experiments(FOOTPRINTS):
        sgc = next(line for line in changes(runs, one) if line.label == SGC)
        reached = list(takewhile(lambda point: point[1] <= WAF_CHANGES[SGC], sgc.points))
        least, smallest = min(value for _, value in sgc.points), sgc.points[0][0]
        if reached:
            texts.append(f"{one.title}, from {FOOTPRINT_AXIS.text(reached[-1][0])} of the flash down")
        else:
            texts.append(f"{one.title}, not at {FOOTPRINT_AXIS.text(smallest)} ({show_change(least)} at most)")
    return [f"The paper's {show_change(WAF_CHANGES[SGC])} of {SGC} is reached: {'; '.join(texts)}.", _nearest(runs)]


def _nearest(runs: Runs) -> str:
    """Name the experiment that is nearest to the paper for HGC, DGC and SGC, by the sum of their deviations."""
    found = []
    for one in runs.experiments(FOOTPRINTS):
        lines = {line.label: dict(line.points) for line in changes(runs, one)}
        for at in lines[SGC]:
            ours = {scheme: lines[scheme][at] for scheme in (HGC, DGC, SGC)}
            off = sum(abs(value - WAF_CHANGES[scheme]) for scheme, value in ours.items())
            shown = ", ".join(f"{scheme} {show_change(value)}" for scheme, value in ours.items())
            found.append((off, f"{FOOTPRINT_AXIS.text(at)} of the flash, {one.title} ({shown})"))
    paper = ", ".join(f"{scheme} {show_change(WAF_CHANGES[scheme])}" for scheme in (HGC, DGC, SGC))
    return f"Together they are nearest to the paper's ({paper}) at {min(found)[1]}."


def about_rates(runs: Runs) -> list[str]:
    """Describe the effect of the age limit on the host's buffer."""
    texts = []
    for run in runs.of("rate", SGC):
        buffer = run.metrics["host_buffer"]
        aged = buffer["aged_pages"] / max(1, buffer["written_pages"])
        refreshed = run.metrics.programs_pages.refresh / sum(run.metrics.programs_pages.to_dict().values())
        texts.append(f"at {RATE_AXIS.text(run.case.at)} {show(aged, 'share')} and {show(refreshed, 'share')}")
    of = "Of the pages written to the device, those whose age was reached, and of all programs, refresh"
    return [f"{of}: {'; '.join(texts)}."]


def _spare_blocks(run: Run) -> float:
    """Return the spare blocks of a pool."""
    values = run.scenario.to_dict()
    planes = values["flash"]["planes_per_die"] if values["ftl"]["pools"] == "die" else 1
    return float(planes * values["flash"]["blocks_per_plane"] * 0.07 / 1.07)


def about_kinds(runs: Runs) -> list[str]:
    """Describe the share of shadows among the moved pages."""
    swept = [
        sum(_moved(run.metrics, kind) for kind in KINDS.values())
        for one in runs.experiments(WORKLOADS)
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
    for one in runs.experiments(tuple(map(by_device, WORKLOADS))):
        largest = max(runs.of(one.name, DGC), key=lambda run: run.case.at)
        saved = largest.metrics["shadows"]["from_buffer_pages"] / _written(largest.metrics)
        texts.append(f"{one.title} {show(saved, 'share')} and {show_change(_against_ggc(runs, largest)) or '–'}")
    return [
        "Pages that GC takes from the largest one, and that need not be written again, for each page written to the "
        f"device; and the change of WAF under DGC: {'; '.join(texts)}."
    ]


def about_sizes(runs: Runs) -> list[str]:
    """Describe the changes at the smallest and the largest host buffer."""
    texts = []
    for one in runs.experiments(WORKLOADS):
        at = sorted({run.case.at for run in runs.of(one.name, SGC)})
        ends = [_change(runs, one.name, SGC, place) or "–" for place in (at[0], at[-1])]
        texts.append(f"{one.title} {ends[0]} and {ends[1]}")
    return [f"SGC against GGC with the smallest and with the largest host buffer: {'; '.join(texts)}."]


def _mean_change(line: str, measure: Measure) -> Callable[[Runs, str], tuple[float, ...]]:
    return lambda runs, experiment: (mean(_swept_changes(runs, experiment, line, measure)),)


def claims() -> Iterator[Claim]:
    """Return the paper's numbers, of which we know only means over its traces."""
    claim = partial(Claim, experiments=WORKLOADS, is_change=True)
    for line, paper in WAF_CHANGES.items():
        yield claim("figure-6", f"WAF under {line}, mean change", paper=(paper,), ours=_mean_change(line, WAF))
    yield claim(
        "figure-7",
        f"GC time under {SGC}, mean change",
        paper=(SGC_GC_TIME_CHANGE,),
        ours=_mean_change(SGC, GC_TIME),
    )
