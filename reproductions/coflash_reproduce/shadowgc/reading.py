"""The analysis of the runs: the paper's numbers, the pages that GC moved, and conclusions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from coflash import trace
from coflash.measures.measure import Measure
from coflash.measures.metrics import Metrics
from coflash.quantity import show, show_change
from coflash.scenario import Scenario
from coflash_reproduce import drawing
from coflash_reproduce.claim import NEAR
from coflash_reproduce.paper import Axis, Experiment, Grid, Line, Notes, Picture, Row, Run, Runs, tabled
from coflash_reproduce.shadowgc import workloads as its

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

HOST_AXIS = Axis("host buffer, share of the live flash", "%", logarithmic=True)
WRITTEN_AXIS = Axis("written", "GiB")
LIVE_AXIS = Axis("live flash", "GiB", logarithmic=True)
LAMBDA_AXIS = Axis("weight of a zombie λ", "")
SHARE_AXIS = Axis("written to, share of 1 TiB", "%", logarithmic=True)
TERABYTE = tuple(map(its.on_1_tib, its.LAYOUTS))
"""The experiments with all of 1 TiB live."""

WAF_CHANGES = {its.ZGC: -0.009, its.HGC: -0.064, its.DGC: -0.023, its.SGC: -0.162}
"""The paper's measurements of each scheme against GGC, on average over its traces."""
SGC_GC_TIME_CHANGE = -0.205
SGC_LEAST, SGC_BEST = -0.006, -0.434
"""The paper's smallest and largest change of WAF under SGC."""
REFRESH_MAX = 0.01
"""The paper's bound on refreshes, as a share of all programs."""

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
AVERAGES = {**{f"WAF, {line}": (line, WAF) for line in WAF_CHANGES}, f"GC time, {its.SGC}": (its.SGC, GC_TIME)}
"""The paper's five averages: the scheme and the measure of each."""
PAPERS = (*WAF_CHANGES.values(), SGC_GC_TIME_CHANGE)


def growth(_: Runs, experiment: Experiment) -> list[Line]:
    """Return distinct bytes against written bytes, for one pass of the workload."""
    points = _growth(experiment.scenario, experiment.trace)
    places = sorted({round(index * (len(points) - 1) / 6) for index in range(7)})
    shown = [(points[place][0] * its.PAGE_BYTES / 2**30, float(points[place][1] * its.PAGE_BYTES)) for place in places]
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


def changed(runs: Runs, name: str, line: str, measure: Measure, at: float | None = None) -> float | None:
    """Return a scheme's mean change from GGC over seeds and places, or at one place; None if it was not run."""
    chosen = Runs(tuple(run for run in runs.of(name) if at in (None, run.case.at)))
    found = chosen.changes(name, line, its.GGC, measure)
    return mean(found) if found else None


def normalised(runs: Runs, lines: Sequence[str], measure: Measure) -> dict[str, dict[str, float]]:
    """Return each scheme's measure over GGC's for each workload, by title, and their mean."""
    found = {
        one.title: {
            line: 1 + change for line in lines if (change := changed(runs, one.name, line, measure)) is not None
        }
        for one in runs.experiments(its.WORKLOADS)
    }
    return found | {"average": {line: mean(of[line] for of in found.values()) for line in lines}}


def barred(name: str, lines: Sequence[str], measure: Measure, notes: Notes = lambda _: ()) -> Picture:
    """Return a figure with a group of bars for each workload, as the paper has one for each of its traces."""

    def grid(runs: Runs) -> Grid:
        found = normalised(runs, lines, measure)
        return Grid(("", *lines), tuple((title, *(f"{one:.3f}" for one in of.values())) for title, of in found.items()))

    label = f"{re.split(', | per ', measure.label)[0]}, normalised to {its.GGC}"
    return Picture(name, lambda runs: drawing.bars(normalised(runs, lines, measure), label), grid, notes)


def _shadow_shares(runs: Runs) -> dict[str, dict[str, float]]:
    """Return the shares of shadows among the pages that GC moved under SGC, for each workload, by kind."""
    of = {one.title: runs.of(one.name, its.SGC) for one in runs.experiments(its.WORKLOADS)}
    return {
        title: {label: mean(_moved(run.metrics, kind) for run in each) for label, kind in KINDS.items()}
        for title, each in of.items()
    }


def draw_shadows(runs: Runs) -> Canvas:
    """Draw these shares upon each other."""
    percent = {title: {kind: 100 * one for kind, one in of.items()} for title, of in _shadow_shares(runs).items()}
    return drawing.bars(percent, "of the pages moved (%)", stacked=True)


@tabled(f"| {' | '.join(KINDS)}")
def tabled_shadows(runs: Runs) -> Iterator[Row]:
    """Tabulate them."""
    for title, of in _shadow_shares(runs).items():
        yield title, *(show(one, "share") for one in of.values())


@tabled("| paper | main set-up | with each seed | mean of the workloads | 1 TiB live, two blocks | three blocks")
def averages(runs: Runs) -> Iterator[Row]:
    """Tabulate the paper's five averages beside the main set-up, all workloads, and the literal sizes."""
    names = [one.name for one in runs.experiments(its.WORKLOADS)]
    for (what, (line, measure)), paper in zip(AVERAGES.items(), PAPERS, strict=True):
        of_seeds = runs.changes(its.MAIN, line, its.GGC, measure)
        over = mean(found for name in names if (found := changed(runs, name, line, measure)) is not None)
        literal = (changed(runs, name, line, measure) for name in TERABYTE)
        seeds = f"{show_change(min(of_seeds))} … {show_change(max(of_seeds))}"
        yield (
            what,
            show_change(paper),
            show_change(mean(of_seeds)),
            seeds,
            show_change(over),
            *map(show_change, literal),
        )


@tabled("| WAF | GC time | taken from the buffer | moved by fast programs | twins not written")
def parts(runs: Runs) -> Iterator[Row]:
    """Tabulate the parts of SGC, alone and together: changes, and pages for each page written to the device."""
    for line in (its.HGC, its.DGC, its.TWINS, its.BOTH, its.SGC):
        of = [run.metrics for run in runs.of(its.MAIN, line)]
        counters = ("from_buffer_pages", "fast_pages", "discarded_twins_pages")
        pages = (mean(one["shadows"][counter] / _written(one) for one in of) for counter in counters)
        changes = (show_change(changed(runs, its.MAIN, line, measure)) for measure in (WAF, GC_TIME))
        yield line, *changes, *(show(one, "share") for one in pages)


def about_parts(runs: Runs) -> Iterator[str]:
    """Say how much more SGC saves than its parts alone."""
    waf = {line: changed(runs, its.MAIN, line, WAF) or 0.0 for line in (its.HGC, its.DGC, its.TWINS, its.BOTH, its.SGC)}
    yield (
        f"HGC and DGC alone add up to {show_change(waf[its.HGC] + waf[its.DGC])}; together they give "
        f"{show_change(waf[its.BOTH])}, {_points(waf[its.BOTH] - waf[its.HGC] - waf[its.DGC])} more. Twins that are "
        f"not written add {_points(waf[its.SGC] - waf[its.BOTH])} to that, and give {show_change(waf[its.TWINS])} "
        f"alone. The paper's sum is {show_change(WAF_CHANGES[its.HGC] + WAF_CHANGES[its.DGC])}, and its SGC "
        f"{show_change(WAF_CHANGES[its.SGC])}."
    )


def _points(change: float) -> str:
    return f"{abs(100 * change):.1f} points"


def _line(label: str, points: Mapping[float, float | None]) -> Line:
    return Line(label, tuple(sorted((at, value) for at, value in points.items() if value is not None)))


def by_place(lines: Sequence[str]) -> Callable[[Runs, Experiment], list[Line]]:
    """Return the lines of each scheme's change of write amplification from GGC at the same place."""

    def found(runs: Runs, experiment: Experiment) -> list[Line]:
        places = sorted({run.case.at for run in runs.of(experiment.name, its.SGC)})
        changes = {line: {at: changed(runs, experiment.name, line, WAF, at) for at in places} for line in lines}
        of_paper = _line(PAPER_SGC, dict.fromkeys(places, WAF_CHANGES[its.SGC]))
        return [*(_line(line, points) for line, points in changes.items()), of_paper]

    return found


def about_live(runs: Runs) -> Iterator[str]:
    """Say how many pages of the blocks for shadows are valid when GC chooses them, by live flash."""
    of = sorted(runs.of("live", its.SGC), key=lambda run: run.case.at)
    found = ((run, left_valid([run])) for run in of)
    texts = (f"{LIVE_AXIS.text(run.case.at)} {show(valid, 'share')}" for run, valid in found if valid is not None)
    yield f"Valid pages in the blocks for shadows that GC chose under SGC: {'; '.join(texts)}."


PAPER_SGC, PAPER_ZGC = "SGC, paper's mean", "ZGC, paper's mean"


def by_lambda(runs: Runs, experiment: Experiment) -> list[Line]:
    """Return the changes under delay and ZGC by the weight of a zombie; separation alone has none."""
    (base,), (apart,) = (runs.of(experiment.name, line) for line in (its.GGC, its.SEPARATION))
    weighed = {
        line: {run.case.at: run.change(base, WAF) for run in runs.of(experiment.name, line)}
        for line in (its.DELAY, its.ZGC)
    }
    places = weighed[its.ZGC]
    across = {its.SEPARATION: apart.change(base, WAF), PAPER_ZGC: WAF_CHANGES[its.ZGC]}
    lines = [*weighed.items(), *((label, dict.fromkeys(places, value)) for label, value in across.items())]
    return [_line(label, points) for label, points in lines]


def degrades_from(runs: Runs) -> float | None:
    """Return the least weight from which on delay costs; None if it costs at none."""
    (experiment,) = runs.experiments(("lambda",))
    delay = by_lambda(runs, experiment)[0].points
    return next((at for index, (at, _) in enumerate(delay) if all(value > 0 for _, value in delay[index:])), None)


def about_lambda(runs: Runs) -> Iterator[str]:
    """Say from which weight on delay costs."""
    at = degrades_from(runs)
    yield f"Delay alone costs from λ = {at:g} on." if at is not None else "Delay alone costs at no weight."


@tabled(f"change | WAF, {its.GGC} | {' | '.join(AVERAGES)} | within a fifth of the paper's")
def variants(runs: Runs) -> Iterator[Row]:
    """Tabulate the five averages under changes to the main set-up, one at a time."""
    for at, title in enumerate(its.VARIANTS):
        base = runs.at("variants", its.GGC, at)
        found = [changed(runs, "variants", line, measure, at) or 0.0 for line, measure in AVERAGES.values()]
        near = sum(abs(ours - paper) <= NEAR * abs(paper) for ours, paper in zip(found, PAPERS, strict=True))
        assert base
        yield title, base.shown(WAF), *map(show_change, found), f"{near} of {len(PAPERS)}"


def _compared(runs: Runs, host: float, device: float, weight: float) -> dict[str, float]:
    """Return the changes of the schemes at a cell of the map."""
    lines = {its.ZGC: its.zombie(its.ZGC, weight), **{line: line for line in (its.HGC, its.DGC, its.SGC)}}
    return {label: changed(runs, its.by_host(host), line, WAF, device) or 0.0 for label, line in lines.items()}


def _shares(runs: Runs) -> tuple[float, ...]:
    return tuple(at for at in its.SHARES_PERCENT if runs.of(its.by_host(at)))


def draw_map(runs: Runs) -> Canvas:
    """Draw which scheme has the least write amplification, by both buffers, for each weight of a zombie."""
    shares, panels = _shares(runs), {}
    for weight in its.MAP_LAMBDAS:
        rows = []
        for host in shares:
            of = [_compared(runs, host, device, weight) for device in shares]
            best = [min(one, key=one.__getitem__) for one in of]
            rows.append([(name, show_change(one[name])) for name, one in zip(best, of, strict=True)])
        panels[f"ZGC with λ = {weight:g}"] = rows
    x, y = "device buffer, of the live flash (%)", "host buffer, of the live flash (%)"
    return drawing.cells(panels, [f"{share:g}" for share in shares], x, y)


MAPPED = (*(its.zombie(its.ZGC, weight) for weight in its.MAP_LAMBDAS), its.HGC, its.DGC, its.SGC)


@tabled(f"host buffer | device buffer | WAF, {its.GGC} | {' | '.join(MAPPED)}")
def cells(runs: Runs) -> Iterator[Row]:
    """Tabulate the map."""
    for host in _shares(runs):
        for base in runs.of(its.by_host(host), its.GGC):
            changes = (show_change(changed(runs, its.by_host(host), line, WAF, base.case.at)) for line in MAPPED)
            yield HOST_AXIS.text(host), HOST_AXIS.text(base.case.at), base.shown(WAF), *changes


def about_map(runs: Runs) -> Iterator[str]:
    """Count the cells in which each scheme is the best."""
    shares, texts = _shares(runs), []
    for weight in its.MAP_LAMBDAS:
        of = [_compared(runs, host, device, weight) for host in shares for device in shares]
        best = [min(one, key=one.__getitem__) for one in of]
        won = ", ".join(f"{name} {best.count(name)}" for name in dict.fromkeys(sorted(best)))
        texts.append(f"λ = {weight:g}: {won}")
    yield f"Of {len(shares) ** 2} cells, the least WAF with {'; '.join(texts)}."


@tabled(
    "| restarts | lost by one in the host | in the device | refreshed | of all programs | "
    f"dies busy with it | until all are idle, at most | WAF, {its.SGC} | change"
)
def restarts(runs: Runs) -> Iterator[Row]:
    """Tabulate the cost of restarts, by what precedes them."""
    (base,) = runs.of("restart", "no restart")
    yield "no restart", "", "", "", "", show(refreshed(base.metrics), "share"), "", "", base.shown(WAF), ""
    for run in (run for kind in list(its.SHUTDOWNS)[1:] for run in runs.of("restart", kind)):
        counted = run.metrics["restart"]
        happened = counted["restarts"]
        pages = ("lost_host_pages", "lost_device_pages", "refreshed_pages")
        yield (
            run.case.line,
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


def left_valid(runs: Iterable[Run]) -> float | None:
    """Return the share of valid pages in the blocks for shadows that GC chose; None if they are too few to tell."""
    counted = [(run.metrics["fast_blocks"], _pages_per_block(run)) for run in runs]
    chosen = sum(of["victims_blocks"] for of, _ in counted)
    pages = sum(of["victims_blocks"] * pages for of, pages in counted)
    return sum(of["victims_valid_pages"] for of, _ in counted) / pages if chosen >= _FEW_BLOCKS else None


_FEW_BLOCKS = 100


def _pages_per_block(run: Run) -> int:
    return int(run.scenario.to_dict()["flash"]["pages_per_block"])


def marks_bytes(run: Run) -> float:
    """Return the memory for the states of pages beyond the bit for valid ones, on a device of 128 GiB."""
    pages = its.raw_bytes(run.scenario) / its.PAGE_BYTES
    return float((run.metrics["fast_blocks"]["states_bytes"] - pages / 8) / pages * 2**37 / its.PAGE_BYTES)


@tabled(
    "| blocks erased | of their pages copied | blocks for shadows that GC chose | valid pages in these | "
    "notices | messages for these alone"
)
def overheads(runs: Runs) -> Iterator[Row]:
    """Tabulate what GC finds in the blocks for shadows, and how notices reach the device."""
    for one in runs.experiments(its.WORKLOADS):
        run = runs.of(one.name, its.SGC)[0]
        metrics, erased = run.metrics, run.metrics.erases_blocks
        chosen, notices = metrics["fast_blocks"]["victims_blocks"], metrics["host"]["to_device"]
        copied = metrics.gc_copies_pages / max(1, erased * _pages_per_block(run))
        valid = show(left_valid([run]), "share")
        blocks = (show(erased, "blocks"), show(copied, "share"), show(chosen, "blocks"), valid)
        yield one.title, *blocks, f"{notices['sent']:,}", f"{notices['messages']:,}"


def about_overheads(runs: Runs) -> Iterator[str]:
    """Describe short notices, and the memory for shadows."""
    usual, *short = runs.of("notices")
    first, *waits = [show(run.metrics["host"]["to_device"]["delay_mean_ns"], "ns") for run in (usual, *short)]
    each = ", ".join(f"{run.changed(usual, WAF)} ({wait})" for run, wait in zip(short, waits, strict=True))
    memory = max(marks_bytes(run) for run in runs.of(its.MAIN, its.SGC))
    yield (
        f"With room for one notice of 5 bytes in a command, and for two, WAF under SGC changes by (the mean wait of a "
        f"notice in brackets): {each}, otherwise {first}. A page that becomes dirty in the host is announced by one "
        "notice, and written by one command later."
    )
    yield (
        f"The two further bits of a page, and four bytes a block, take {show(memory, 'bytes')} of a device of 128 GiB."
    )


def shadows(metrics: Metrics) -> float:
    """Return the share of shadows in the pages that GC moved."""
    return sum(_moved(metrics, kind) for kind in KINDS.values())


@tabled(f"| {its.GGC}, off | {its.GGC}, on | absorbed by it | {its.DGC}, off | {its.DGC}, on | {its.SGC}, on")
def double_caching(runs: Runs) -> Iterator[Row]:
    """Return the same workload with and without the host's buffer."""
    for one in runs.experiments(its.WORKLOADS):
        off, on = (runs.of(name, its.GGC)[0] for name in (its.alone(one.name), one.name))
        absorbed = show(1 - _written(on.metrics) / max(1, _written(off.metrics)), "share")
        of = ((its.alone(one.name), its.DGC), (one.name, its.DGC), (one.name, its.SGC))
        changes = (show_change(changed(runs, *which, WAF)) for which in of)
        yield one.title, off.shown(WAF), on.shown(WAF), absorbed, *changes


@tabled(
    "| flash | buffers, device and host | requests | written, times the flash | flushes | "
    "written because of one | absorbed in the host | in the device | dies busy"
)
def sizes(runs: Runs) -> Iterator[Row]:
    """Tabulate the device and the workloads."""
    for one in runs.experiments(its.WORKLOADS):
        run = runs.of(one.name, its.GGC)[0]
        metrics, values = run.metrics, run.scenario.to_dict()
        buffer, cache, flash = metrics["host_buffer"], metrics["cache"], its.raw_bytes(run.scenario)
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
            f"{metrics.host_writes_pages * its.PAGE_BYTES / flash:.2f}",
            *(show(share, "share") for share in shares),
        )


def _busy(run: Run) -> float:
    """Return the utilisation of the dies."""
    flash, metrics = run.scenario.to_dict()["flash"], run.metrics
    dies = flash["channels"] * flash["chips_per_channel"] * flash["dies_per_chip"]
    return float((metrics.gc_time_ns + metrics.service_time_ns) / (dies * max(1, metrics.simulated_ns)))


SATURATED = 0.95
"""The utilisation above which dies never catch up."""


def about_given(runs: Runs) -> Iterator[str]:
    """Say which of the given traces come faster than they are served, and what they give on the literal device."""
    for one in runs.experiments((*its.GIVEN, *its.LITERAL)):
        busiest = max(map(_busy, runs.of(one.name)))
        if busiest > SATURATED:
            yield (
                f"**{one.title}: its requests come faster than the device serves them.** Dies are busy "
                f"{show(busiest, 'share')} of the time: what a page costs stands, when it is answered does not."
            )
    for one in runs.experiments(its.LITERAL):
        of = ", ".join(f"{line} {show_change(changed(runs, one.name, line, WAF))}" for line in its.COMPARED[1:])
        yield f"{one.title} on 1 TiB with the literal sizes: {of}."


def about_growth(runs: Runs) -> Iterator[str]:
    """Describe the mean number of writes of a page."""
    texts = []
    for one in runs.experiments(its.WORKLOADS):
        written, distinct = growth(runs, one)[0].points[-1]
        texts.append(f"{one.title} {written * 2**30 / distinct:.1f}")
    yield f"Times that a page is written, on average: {'; '.join(texts)}."
