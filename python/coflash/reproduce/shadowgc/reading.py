"""What is read from the runs: the numbers that the paper has, which pages GC moved, and what follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from statistics import mean

from coflash import trace
from coflash._core import CoflashError
from coflash.measures import Measure
from coflash.metrics import Metrics
from coflash.quantity import change, show, show_change
from coflash.reproduce.paper import Axis, Claim, Experiment, Grid, Line, Run, Runs
from coflash.reproduce.shadowgc.workloads import (
    DGC,
    GGC,
    GIVEN,
    HGC,
    HOST_MIB,
    PAGE_BYTES,
    SCHEMES,
    SEPARATION,
    SGC,
    SWEPT_MIB,
    WORKLOADS,
    ZGC,
    alone,
    by_device,
    raw_bytes,
)

HOST_AXIS = Axis("host buffer, on 1 TiB", "MiB", logarithmic=True)
DEVICE_AXIS = Axis("device buffer, share of the flash", "%", logarithmic=True)
WRITTEN_AXIS = Axis("written", "GiB")
RECORDED = (*GIVEN, "pgbench")
"""The workloads that are traces."""

WAF_CHANGES = {ZGC: -0.009, HGC: -0.064, DGC: -0.023, SGC: -0.162}
"""What the paper measured of each scheme against GGC, on average over its traces."""
SGC_GC_TIME_CHANGE = -0.205

KINDS = {"dirty in the host": "host", "dirty in the device": "device", "dirty in both": "twin"}
"""The shadows, by what is counted of them."""


def _written(metrics: Metrics) -> int:
    """Pages written to the device: those of the host's buffer, or of the requests where there is none."""
    buffer = metrics.get("host_buffer")
    return int(buffer["device_writes_pages"] if buffer else metrics.host_writes_pages)


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


def growth(_: Runs, experiment: Experiment) -> list[Line]:
    """Distinct bytes against bytes written, of the trace as it was recorded."""
    found = trace.info(experiment.trace, page="16KiB")["write_growth"]
    points = list(zip(found["written_pages"], found["distinct_pages"], strict=True))
    places = sorted({round(index * (len(points) - 1) / 8) for index in range(9)})
    gib = PAGE_BYTES / 2**30
    distinct = tuple((round(points[place][0] * gib, 2), float(points[place][1] * PAGE_BYTES)) for place in places)
    return [Line("distinct pages", distinct)]


def kinds(runs: Runs, experiment: Experiment) -> list[Line]:
    """What shares of the pages that GC moved under SGC were shadows, by kind."""
    of = runs.of(experiment.name, SGC)
    return [Line(label, tuple((run.case.at, _moved(run.metrics, kind)) for run in of)) for label, kind in KINDS.items()]


def _swept_changes(runs: Runs, experiment: str, line: str, measure: Measure) -> list[float]:
    """Against GGC, at the sizes of the host's buffer that are taken for the paper's.

    Raises:
        CoflashError: Nothing was written to the device, so that there is nothing to compare.
    """
    found = []
    for run in runs.of(experiment, line):
        base = runs.at(experiment, GGC, run.case.at)
        relative = change(measure.read(run.metrics), measure.read(base.metrics)) if base else None
        if relative is not None and SWEPT_MIB[0] <= run.case.at <= SWEPT_MIB[1]:
            found.append(relative)
    if not found:
        msg = f"{experiment}: with a host buffer of the paper's sizes next to nothing is written to the device"
        raise CoflashError(msg)
    return found


def by_scheme(runs: Runs) -> Grid:
    """Each scheme's change of write amplification, a row for each workload, their mean and the paper's below."""
    schemes = [scheme for scheme in SCHEMES if scheme != GGC]
    changes = {
        one.title: [mean(_swept_changes(runs, one.name, scheme, WAF)) for scheme in schemes]
        for one in runs.experiments(WORKLOADS)
    }
    baselines = {
        one.title: mean(WAF.read(run.metrics) or 0 for run in runs.of(one.name, GGC) if run.case.at <= SWEPT_MIB[1])
        for one in runs.experiments(WORKLOADS)
    }
    rows = [(title, f"{baselines[title]:.3f}", *map(show_change, row)) for title, row in changes.items()]
    means = (mean(column) for column in zip(*changes.values(), strict=True))
    rows.append(("mean", "", *map(show_change, means)))
    rows.append(("paper, mean of 15 traces", "", *(show_change(WAF_CHANGES.get(scheme)) for scheme in schemes)))
    return Grid(("", f"WAF, {GGC}", *schemes), tuple(rows))


def double_caching(runs: Runs) -> Grid:
    """The same workload with and without the host's buffer before the device."""
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
    run, base = runs.at(experiment, line, at), runs.at(experiment, GGC, at)
    return show_change(change(WAF.read(run.metrics), WAF.read(base.metrics))) if run and base else ""


def sizes(runs: Runs) -> Grid:
    """What the device and the workloads are."""
    rows = []
    for one in runs.experiments(WORKLOADS):
        run = next(run for run in runs.of(one.name, GGC) if run.case.at == HOST_MIB)
        metrics, values = run.metrics, run.scenario.to_dict()
        buffer = metrics["host_buffer"]
        flushed = buffer["flushed_pages"] / max(1, buffer["device_writes_pages"])
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
            )
        )
    columns = ("", "flash", "buffers, device and host", "requests", "written, times the flash", "flushes")
    return Grid((*columns, "written because of one"), tuple(rows))


def about_footprint(runs: Runs) -> list[str]:
    """How often a page is written."""
    texts = []
    for one in runs.experiments(RECORDED):
        written, distinct = growth(runs, one)[0].points[-1]
        texts.append(f"{one.title} writes each page {written * 2**30 / distinct:.1f} times on average.")
    return texts


def about_room(runs: Runs) -> list[str]:
    """What separate blocks cost where there is nothing to separate."""
    pairs = []
    for one in runs.experiments(WORKLOADS):
        for run in runs.of(one.name, SEPARATION):
            base = runs.at(one.name, GGC, run.case.at)
            relative = change(WAF.read(run.metrics), WAF.read(base.metrics)) if base else None
            if relative is not None:
                pairs.append((_moved(run.metrics, "host"), relative, one.title))
    fewest = min(pairs)
    spare = _spare_blocks(next(iter(runs)))
    return [
        "Blocks for shadows are taken from the spare space: an open block and a free one in reserve, of the "
        f"{spare:.0f} spare blocks of a plane here (134 on the device of 1 TB as `shadowgc-1t` divides it). Where GC "
        f"moves the fewest shadows ({show(fewest[0], 'share')} of its copies, {fewest[2]}), separation alone changes "
        f"WAF by {show_change(fewest[1])}."
    ]


def _spare_blocks(run: Run) -> float:
    blocks = run.scenario.to_dict()["flash"]["blocks_per_plane"]
    return float(blocks * 0.07 / 1.07)


def about_kinds(runs: Runs) -> list[str]:
    """How few they are."""
    swept = [
        sum(_moved(run.metrics, kind) for kind in KINDS.values())
        for one in runs.experiments(WORKLOADS)
        for run in runs.of(one.name, SGC)
        if run.case.at <= SWEPT_MIB[1]
    ]
    return [
        f"With host buffers of 64 MiB to 1 GiB on 1 TiB shadows are {show(min(swept), 'share')} to "
        f"{show(max(swept), 'share')} of the pages moved. They matter more than that: a device-shadow that is taken "
        "from the buffer, or a twin that is discarded, is a page less to write, with all copies that it would cause; "
        "and where shadows are, hot pages are."
    ]


def about_device(runs: Runs) -> list[str]:
    """How many writes a large device buffer saves."""
    texts = []
    for one in runs.experiments(WORKLOADS):
        largest = max(runs.of(by_device(one.name), DGC), key=lambda run: run.case.at)
        saved = largest.metrics["shadows"]["from_buffer_pages"] / _written(largest.metrics)
        changed = _change(runs, by_device(one.name), DGC, largest.case.at)
        texts.append(f"{one.title} {show(saved, 'share')} and {changed}")
    return [
        "Pages that GC takes from the largest one, and that need not be written again, for each page written to the "
        f"device; and the change of WAF under DGC: {'; '.join(texts)}."
    ]


def about_sizes(runs: Runs) -> list[str]:
    """At the smallest and the largest host buffer."""
    texts = []
    for one in runs.experiments(WORKLOADS):
        at = sorted({run.case.at for run in runs.of(one.name, SGC)})
        ends = [_change(runs, one.name, SGC, place) for place in (at[0], at[-1])]
        texts.append(f"{one.title} {ends[0]} and {ends[1]}")
    return [f"SGC against GGC with the smallest and with the largest host buffer: {'; '.join(texts)}."]


def _mean_change(line: str, measure: Measure) -> Callable[[Runs, str], tuple[float, ...]]:
    return lambda runs, experiment: (mean(_swept_changes(runs, experiment, line, measure)),)


def claims() -> Iterator[Claim]:
    """The paper's numbers, of which only means over its traces are known to us."""
    claim = partial(Claim, experiments=WORKLOADS, is_change=True)
    for line, paper in WAF_CHANGES.items():
        yield claim("figure-6", f"WAF under {line}, mean change", paper=(paper,), ours=_mean_change(line, WAF))
    yield claim(
        "figure-7",
        f"GC time under {SGC}, mean change",
        paper=(SGC_GC_TIME_CHANGE,),
        ours=_mean_change(SGC, GC_TIME),
    )
