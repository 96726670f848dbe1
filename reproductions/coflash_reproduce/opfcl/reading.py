"""The analysis of the runs: the paper's numbers, and conclusions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import mean
from typing import TYPE_CHECKING, Any

from coflash import costmodel
from coflash.measures.measure import MEAN, Measure
from coflash.measures.metrics import Metrics
from coflash.quantity import show, show_change
from coflash_reproduce.opfcl import workloads as its
from coflash_reproduce.paper import Axis, Experiment, Grid, Line, Row, Run, Runs, flash_pages, tabled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

PAGE_BYTES = 4096

CACHING_AXIS = Axis("caching space, share of the flash", "%", from_zero=True)
UNIT_AXIS = Axis("sequential unit", "KiB", logarithmic=True)
PERIOD_AXIS = Axis("period, before scaling", "Ki requests", logarithmic=True)
BOTH = (*its.CONFIG_1, *its.CONFIG_2)

WITHIN = 0.05
"""The maximum by which OP-FCL may exceed the best fixed partition."""
OVERLOADED = 0.98
"""The utilisation from which on disks do not keep up."""


def _hit_ratio(metrics: Metrics) -> float | None:
    """Return the share of page requests that hit the cache; requests past the cache count as misses."""
    tier = metrics.hybrid
    pages = metrics.host_reads_pages + metrics.host_writes_pages
    if not pages:
        return None
    cached_writes = metrics.host_writes_pages - tier.bypassed_writes_pages + tier.overflowed_writes_pages
    write_uses = cached_writes + tier.read_hits_dirty_pages
    return (tier.read_hits_clean_pages + (tier.write_hit_ratio or 0.0) * write_uses) / pages


HITS = Measure("hit rate", "share", _hit_ratio, "more")
GC_TIME = Measure("GC time / request", "ns", lambda m: m.gc_time_ns / m.requests)
ERASES = Measure("erases of a block, mean", "ratio", lambda m: m.erase_count.mean)


def least(runs: Runs, experiment: str, line: str) -> Run:
    """Return the run of a line with the shortest mean response."""
    return min(runs.of(experiment, line), key=lambda run: run.read(MEAN))


def only(runs: Runs, experiment: str, line: str = its.OP) -> Run:
    """Return the run of OP-FCL, or of another line with a single run."""
    (run,) = runs.of(experiment, line)
    return run


def excess(runs: Runs, experiment: str, over: str = its.FP, line: str = its.OP) -> float:
    """Return the relative change of OP-FCL's mean response from that of the best fixed share."""
    return only(runs, experiment, line).change(least(runs, experiment, over), MEAN) or 0.0


def late_excess(runs: Runs, experiment: str, line: str = its.OP) -> float:
    """Return the same relative change over the second half of the simulated time."""
    best = min(run.late_ns() for run in runs.of(experiment, its.FP))
    return only(runs, experiment, line).late_ns() / best - 1


def sizes(metrics: Metrics) -> list[dict[str, Any]]:
    """Return the sizes of the caches over time."""
    samples: list[dict[str, Any]] = metrics.hybrid["sizes"]
    return samples


def caching(metrics: Metrics) -> list[float]:
    """Return the caching space as a share of the flash, over time."""
    flash_pages = metrics.hybrid.flash_pages
    return [(sample["read_limit_pages"] + sample["write_limit_pages"]) / flash_pages for sample in sizes(metrics)]


def held(metrics: Metrics) -> list[float]:
    """Return the pages of data in flash as a share of it, over time."""
    flash_pages = metrics.hybrid.flash_pages
    return [(sample["clean_pages"] + sample["dirty_pages"]) / flash_pages for sample in sizes(metrics)]


def past_the_cache(metrics: Metrics) -> float:
    """Return the share of the pages that went past the cache."""
    passed = metrics.hybrid.bypassed_reads_pages + metrics.hybrid.bypassed_writes_pages
    return float(passed / (metrics.host_reads_pages + metrics.host_writes_pages))


def tracker_share(run: Run, with_index: bool = True) -> float:
    """Return the memory of the workload tracker as a share of the flash; its two lists are indexed by disk page."""
    tier, disk_pages = run.metrics.hybrid, run.document["workload"]["logical_bytes"] / PAGE_BYTES
    index_bytes = 0 if with_index else 2 * 4 * disk_pages
    return float((tier.tracker_bytes - index_bytes) / (tier.flash_pages * PAGE_BYTES))


def settled(metrics: Metrics) -> list[float]:
    """Return the same for the second half of the samples."""
    shares = caching(metrics)
    return shares[len(shares) // 2 :]


def halves_of_days(run: Run) -> tuple[list[float], list[float]]:
    """Return the caching space at the ends of the phases of writes and of those of reads, but for the first day."""
    shares = caching(run.metrics)
    ends = [shares[half * (len(shares) - 1) // 8] for half in range(3, 9)]
    return ends[::2], ends[1::2]


_BESIDE = "| best FP-FCL | response | best RW-FCL | response | line | settles at | response"


def _beside_fixed(runs: Runs, name: str, title: str) -> Iterator[tuple[Run, Row]]:
    """Yield each of our lines, and its cells beside the best fixed shares, which stand in the first row alone."""
    fixed = [least(runs, name, line) for line in (its.FP, its.RW)]
    shares = [text for run in fixed for text in (CACHING_AXIS.text(run.case.at), run.shown(MEAN))]
    for line in its.OURS:
        run = only(runs, name, line)
        yield run, (title, *shares, line, show(mean(settled(run.metrics)), "share"), run.shown(MEAN))
        shares = [""] * len(shares)


@tabled(
    f"{_BESIDE} | over best FP-FCL | over best RW-FCL | over best FP-FCL, second half | "
    "of destaged pages, given up by resizing"
)
def best_partitions(runs: Runs) -> Iterator[Row]:
    """Compare OP-FCL with the best fixed shares, and count the workloads with the paper's margin."""
    found: dict[str, list[tuple[float, ...]]] = {line: [] for line in its.OURS}
    for experiment in runs.experiments(BOTH):
        for run, cells in _beside_fixed(runs, experiment.name, experiment.title):
            of = (experiment.name, run.case.line)
            over = tuple(excess(runs, of[0], fixed, of[1]) for fixed in (its.FP, its.RW))
            found[run.case.line].append((*over, late_excess(runs, *of)))
            yield *cells, *map(show_change, found[run.case.line][-1]), _given_up(run)
    for line, excesses in found.items():
        counts = (f"{sum(one <= WITHIN for one in column)} of {len(column)}" for column in zip(*excesses, strict=True))
        yield f"within {WITHIN:.0%}", "", "", "", "", line, "", "", *counts, ""


@tabled(f"{_BESIDE} | over best FP-FCL")
def best_in_background(names: Sequence[str], runs: Runs) -> Iterator[Row]:
    """Describe the same if no write waits for destaging, so that destages of a resize gain nothing."""
    for experiment in runs.experiments(names):
        for run, cells in _beside_fixed(runs, experiment.name, experiment.title):
            yield *cells, show_change(excess(runs, experiment.name, line=run.case.line))


@tabled("| change | best FP-FCL | response | OP-FCL | over best FP-FCL | settles at | given up by resizing")
def causes(runs: Runs) -> Iterator[Row]:
    """Tabulate OP-FCL beside the best fixed share under changes that may explain what it does."""
    for name, changes in its.CAUSES.items():
        for experiment in runs.experiments([its.by_cause(name)]):
            for title in changes:
                ours, *fixed = runs.of(experiment.name, title)
                best = min(fixed, key=lambda run: run.read(MEAN))
                at, used = CACHING_AXIS.text(best.case.at), show(mean(settled(ours.metrics)), "share")
                over = ours.changed(best, MEAN)
                yield experiment.title, title, at, best.shown(MEAN), ours.shown(MEAN), over, used, _given_up(ours)


@tabled("| line | caching space | over | response | change | erases, change | hit rate, change")
def rivals(runs: Runs) -> Iterator[Row]:
    """Describe GC that drops clean pages, and writes that go through."""
    for experiment in runs.experiments([its.with_rivals(name) for name in BOTH]):
        name = experiment.name
        fixed = {run.case.at: run for run in runs.of(name, its.FP)}
        lines = (its.SILENT, its.FP_THROUGH)
        pairs = [(run, fixed[run.case.at]) for line in lines for run in runs.of(name, line)]
        pairs.append((only(runs, name, its.OP_THROUGH), only(runs, name)))
        for run, over in pairs:
            share = CACHING_AXIS.text(run.case.at) if over.case.line == its.FP else "its own"
            changes = (run.changed(over, measure) for measure in (MEAN, ERASES, HITS))
            yield experiment.title, run.case.line, share, over.case.line, run.shown(MEAN), *changes


def most_erases(runs: Runs, experiment: str) -> float:
    """Return FP-FCL's mean erases of a block at its largest share."""
    erases = runs.by_place(ERASES, experiment, its.FP)
    return erases[max(erases)]


def early_rise(runs: Runs, experiment: str) -> float:
    """Return their rise from the smallest share to 70 %, as a share of that to the largest."""
    erases = runs.by_place(ERASES, experiment, its.FP)
    first, until = erases[min(erases)], erases[max(at for at in erases if at <= 70)]
    whole = erases[max(erases)] - first
    return (until - first) / whole if whole else 0.0


@tabled(
    "| best FP-FCL | response | OP-FCL | over best FP-FCL | settles at | erases at the largest share | "
    "of their rise, up to 70 %"
)
def varied(runs: Runs) -> Iterator[Row]:
    """Compare stand-ins with others that differ in one thing."""
    for experiment in runs.experiments([name for pair in its.VARIED.items() for name in reversed(pair)]):
        name = experiment.name
        best, ours = least(runs, name, its.FP), only(runs, name)
        responses = (CACHING_AXIS.text(best.case.at), best.shown(MEAN), ours.shown(MEAN))
        settles = show(mean(settled(ours.metrics)), "share")
        erases = (f"{most_erases(runs, name):.1f}", show(early_rise(runs, name), "share"))
        yield experiment.title, *responses, show_change(excess(runs, name)), settles, *erases


@tabled("| disks | best FP-FCL | response | best RW-FCL | response | OP-FCL | over best FP-FCL | over best RW-FCL")
def on_disks(runs: Runs) -> Iterator[Row]:
    """Compare mechanical disks and an elevator with disks of constant times."""
    for name in BOTH:
        for experiment in runs.experiments(
            [name, f"{name}-{its.CONSTANT}"] if runs.of(f"{name}-{its.CONSTANT}") else []
        ):
            kind = "mechanical" if experiment.name == name else its.CONSTANT
            fixed = (least(runs, experiment.name, line) for line in (its.FP, its.RW))
            best = [text for run in fixed for text in (CACHING_AXIS.text(run.case.at), run.shown(MEAN))]
            over = (show_change(excess(runs, experiment.name, line)) for line in (its.FP, its.RW))
            yield experiment.title, kind, *best, only(runs, experiment.name).shown(MEAN), *over


def _given_up(run: Run) -> str:
    tier = run.metrics.hybrid
    return show(tier.given_up_pages / tier.destages_pages, "share") if tier.destages_pages else ""


def about_response(names: Sequence[str], runs: Runs) -> Iterator[str]:
    """Name the workloads with more requests than the disks can serve."""
    for experiment in runs.experiments(names):
        yield from _about_disks(runs, experiment)


def _about_disks(runs: Runs, experiment: Experiment) -> Iterator[str]:
    """State whether requests arrive faster than the disks can serve them in the best run."""
    busy = min(float(run.metrics.hybrid.disk_utilisation or 0.0) for run in runs.of(experiment.name))
    if experiment.scenario.replay_mode == "open" and busy >= OVERLOADED:
        yield (
            f"**With {experiment.title} requests come faster than the disks can serve them**: they are busy for "
            f"{busy:.1%} of the time, and with no partition for less. Then a mean response says how long the trace is, "
            "and not how good a partition: replay it at a lower rate, or on more disks."
        )


def about_copies(names: Sequence[str], runs: Runs) -> Iterator[str]:
    """Compare garbage collection with the expectation of the cost model."""
    texts = []
    for experiment in runs.experiments(names):
        run = least(runs, experiment.name, its.FP)
        valid, programs = costmodel.victim_utilisation(run.case.at / 100), run.metrics.programs_pages
        put = programs.host + programs.evict
        copies = run.metrics.gc_copies_pages / put if put else 0.0
        at = CACHING_AXIS.text(run.case.at)
        texts.append(f"{copies:.2f} with {experiment.title} at {at} ({valid / (1 - valid):.2f})")
    yield (
        "Pages copied for each page that is put into flash, with FP-FCL at its best share, and in brackets what the "
        f"model expects there by equation 3: {', '.join(texts)}."
    )


def about_erases(runs: Runs) -> Iterator[str]:
    """Describe the erases that OP-FCL saves."""
    ratios = [
        f"{erases_ratio(runs, one):.2f} and {_erases_ratio(least(runs, one.name, its.FP), runs):.2f} with {one.title}"
        for one in runs.experiments(BOTH)
    ]
    yield (
        "FP-FCL's erases at its largest share over those of OP-FCL, and at the share that is fastest: "
        f"{', '.join(ratios)}."
    )


def erases_ratio(runs: Runs, experiment: Experiment) -> float:
    """Return the erases of FP-FCL at its largest share over those of OP-FCL."""
    return _erases_ratio(max(runs.of(experiment.name, its.FP), key=lambda run: run.case.at), runs)


def _erases_ratio(fixed: Run, runs: Runs) -> float:
    ours = only(runs, fixed.experiment.name).metrics.erases_blocks
    return fixed.metrics.erases_blocks / ours if ours else 0.0


RELATIVE = Measure("response over the usual one", "ratio", MEAN.read)
"""The mean response over that at the paper's usual setting."""


def relative(usual: float, names: Sequence[str], runs: Runs, _: Experiment) -> list[Line]:
    """Return OP-FCL's mean responses under each workload over that at this place of the axis."""
    lines = []
    for experiment in runs.experiments(names):
        found = runs.by_place(MEAN, experiment.name)
        if usual in found:
            lines.append(Line(experiment.title, tuple((at, one / found[usual]) for at, one in found.items())))
    return lines


def draw_sizes(names: Sequence[str], runs: Runs) -> Canvas:
    """Draw the caches of OP-FCL over logical time, as shares of the flash."""
    from matplotlib.figure import Figure

    panels = runs.experiments(names)
    canvas = Figure(figsize=(max(3.8, 2.4 * len(panels)), 2.5), layout="constrained")
    several = canvas.subplots(1, len(panels), squeeze=False)[0]
    for axes, experiment in zip(several, panels, strict=True):
        _sizes_panel(axes, only(runs, experiment.name))
        axes.set_title(experiment.title, fontsize=8)
    several[0].set_ylabel("share of the flash (%)")
    canvas.legend(*several[0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
    return canvas


def _logical(run: Run) -> list[float]:
    """Return the requests before each sample, in millions; they come at a steady rate but between phases."""
    times = [sample["at_ns"] for sample in sizes(run.metrics)]
    return [at / times[-1] * run.metrics.requests / 1e6 for at in times]


def _sizes_panel(axes: Axes, run: Run) -> None:
    from coflash import palette
    from coflash.figures.style import DASHES

    samples, flash_pages = sizes(run.metrics), run.metrics.hybrid.flash_pages
    lines = {
        "caching space": [100 * share for share in caching(run.metrics)],
        "read cache": [100 * sample["read_limit_pages"] / flash_pages for sample in samples],
        "data in flash": [100 * share for share in held(run.metrics)],
    }
    for index, (label, values) in enumerate(lines.items()):
        colour, dashes = palette.LINES[index], DASHES[2 if index == 2 else 0]
        axes.plot(_logical(run), values, label=label, color=colour, linestyle=dashes)
    axes.set_xlabel("requests (million)")
    axes.set(xlim=(0, None), ylim=(0, 100))
    axes.grid(axis="y")


@tabled("| requests | caching space | read cache | write cache | over-provisioned")
def table_of_sizes(names: Sequence[str], runs: Runs) -> Iterator[Row]:
    """Return the caches of OP-FCL at some moments."""
    for experiment in runs.experiments(names):
        run = only(runs, experiment.name)
        samples, flash, logical = sizes(run.metrics), run.metrics.hybrid.flash_pages, _logical(run)
        moments = 8 if experiment.name in its.DAYS else 4
        for moment in range(moments + 1):
            at = moment * (len(samples) - 1) // moments
            reads, writes = samples[at]["read_limit_pages"] / flash, samples[at]["write_limit_pages"] / flash
            shares = (show(one, "share") for one in (reads + writes, reads, writes, 1 - reads - writes))
            yield experiment.title, f"{1e6 * logical[at]:,.0f}", *shares


def devices(runs: Runs) -> Grid:
    """Describe the workloads and their devices."""
    found = runs.experiments(BOTH)
    columns = [_device(only(runs, experiment.name)) for experiment in found]
    rows = tuple((name, *(column[name] for column in columns)) for name in (columns[0] if columns else ()))
    return Grid(("", *(experiment.title for experiment in found)), rows)


def _device(run: Run) -> dict[str, str]:
    hybrid, metrics = run.experiment.scenario.to_dict()["hybrid"], run.metrics
    return {
        "flash": show(PAGE_BYTES * flash_pages(run.scenario), "bytes"),
        "segment": hybrid["segment"],
        "period": f"{hybrid['period_requests']:,} requests",
        "tracker, of the flash": show(tracker_share(run), "share"),
        "without its index": show(tracker_share(run, with_index=False), "share"),
        "requests": f"{metrics.requests:,}",
        "pages read": f"{metrics.host_reads_pages:,}",
        "pages written": f"{metrics.host_writes_pages:,}",
        "past the cache": show(past_the_cache(metrics), "share"),
        "issued": run.experiment.issued,
    }
