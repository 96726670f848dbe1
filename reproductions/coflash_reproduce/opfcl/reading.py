"""The analysis of the runs: the paper's numbers, and conclusions."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import TYPE_CHECKING, Any

from coflash import costmodel
from coflash.measures.measure import MEAN, Measure
from coflash.measures.metrics import Metrics
from coflash.quantity import change, show, show_change
from coflash_reproduce.opfcl.workloads import (
    CONFIG_1,
    CONFIG_2,
    DAYS,
    FP,
    FP_BY_CLASS,
    FP_THROUGH,
    MEASURED,
    OP,
    OP_BY_CLASS,
    OP_THROUGH,
    OURS,
    RW,
    SILENT,
    VARIED,
    flash_bytes,
    in_background,
    with_rivals,
)
from coflash_reproduce.paper import Axis, Experiment, Grid, Line, Run, Runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

PAGE_BYTES = 4096

CACHING_AXIS = Axis("caching space, share of the flash", "%")
UNIT_AXIS = Axis("sequential unit", "KiB", logarithmic=True)
PERIOD_AXIS = Axis("period, before scaling", "Ki requests", logarithmic=True)
SEGMENT_AXIS = Axis("segment, before scaling", "MiB", logarithmic=True)
BOTH = (*CONFIG_1, *CONFIG_2)

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


def _gc_ns(metrics: Metrics) -> float:
    return metrics.gc_time_ns / metrics.requests


HITS = Measure("hit rate", "share", _hit_ratio, "more")
GC_TIME = Measure("GC time / request", "ns", _gc_ns)
ERASES = Measure("erases of a block, mean", "ratio", lambda m: m.erase_count.mean)


def least(runs: Runs, experiment: str, line: str) -> Run:
    """Return the run of a line with the shortest mean response."""
    return min(runs.of(experiment, line), key=lambda run: MEAN.read(run.metrics) or 0.0)


def only(runs: Runs, experiment: str, line: str = OP) -> Run:
    """Return the run of OP-FCL, or of another line with a single run."""
    (run,) = runs.of(experiment, line)
    return run


def excess(runs: Runs, experiment: str, over: str = FP, line: str = OP) -> float:
    """Return the relative change of OP-FCL's mean response from that of the best fixed share."""
    best = least(runs, experiment, over)
    return change(MEAN.read(only(runs, experiment, line).metrics), MEAN.read(best.metrics)) or 0.0


def late_ns(run: Run) -> float:
    """Return the mean response of requests that arrive in the second half of the simulated time."""
    series = run.result().series()
    late = slice(len(series) // 2, None)
    requests, means = series["requests"][late], series["response_mean_ns"][late]
    answered = requests > 0
    return float((means[answered] * requests[answered]).sum() / requests.sum())


def late_excess(runs: Runs, experiment: str, line: str = OP) -> float:
    """Return the same relative change over the second half of the simulated time."""
    best = min(late_ns(run) for run in runs.of(experiment, FP))
    return late_ns(only(runs, experiment, line)) / best - 1


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


def best_partitions(runs: Runs) -> Grid:
    """Compare OP-FCL with the best fixed shares, and count the workloads with the paper's margin."""
    found = runs.experiments(BOTH)
    rows = []
    for experiment in found:
        fixed = [least(runs, experiment.name, line) for line in (FP, RW)]
        shares = [text for run in fixed for text in (CACHING_AXIS.text(run.case.at), MEAN.shown(run.metrics))]
        for line in OURS:
            run = only(runs, experiment.name, line)
            changes = (show_change(one) for one in _excesses(runs, experiment.name, line))
            settles = show(mean(settled(run.metrics)), "share")
            rows.append((experiment.title, *shares, line, settles, MEAN.shown(run.metrics), *changes, _given_up(run)))
            shares = [""] * len(shares)
    for line in OURS:
        near = zip(*(_excesses(runs, experiment.name, line) for experiment in found), strict=True)
        counts = (f"{sum(one <= WITHIN for one in column)} of {len(column)}" for column in near)
        rows.append((f"within {WITHIN:.0%}", "", "", "", "", line, "", "", *counts, ""))
    columns = ("", "best FP-FCL", "response", "best RW-FCL", "response", "line", "settles at", "response")
    above = ("over best FP-FCL", "over best RW-FCL", "over best FP-FCL, second half")
    return Grid((*columns, *above, "of destaged pages, given up by resizing"), tuple(rows))


def about_rw(runs: Runs) -> list[str]:
    """Name the workloads in which OP-FCL is behind the best RW-FCL, and compare it with RW-FCL at its own share."""
    texts = []
    for experiment in runs.experiments(BOTH):
        name = experiment.name
        above = excess(runs, name, RW)
        if above <= WITHIN:
            continue
        ours, learnt = only(runs, name), only(runs, name, MEASURED)
        share, later = (mean(settled(run.metrics)) for run in (ours, learnt))
        near = min(runs.of(name, RW), key=lambda run: abs(run.case.at - 100 * share))
        given_up = _given_up(learnt) or "none"
        texts.append(
            f"With {experiment.title} OP-FCL is {above:.1%} slower than the best RW-FCL. It settles at "
            f"{show(share, 'share')}; against RW-FCL at {CACHING_AXIS.text(near.case.at)}, the nearest share, it is "
            f"{show_change(change(MEAN.read(ours.metrics), MEAN.read(near.metrics)))}. By measured costs it settles at "
            f"{show(later, 'share')} and is {show_change(excess(runs, name, RW, MEASURED))} against the best RW-FCL, "
            f"where {given_up} of what it destages is given up by resizing, for which no write waits."
        )
    return texts or [f"OP-FCL is within {WITHIN:.0%} of the best RW-FCL with each of them."]


def _excesses(runs: Runs, experiment: str, line: str) -> tuple[float, float, float]:
    over_fp, over_rw = (excess(runs, experiment, over, line) for over in (FP, RW))
    return over_fp, over_rw, late_excess(runs, experiment, line)


def best_in_background(names: Sequence[str], runs: Runs) -> Grid:
    """Describe the same if no write waits for destaging, so that destages of a resize gain nothing."""
    rows = []
    for experiment in runs.experiments(names):
        fixed = [least(runs, experiment.name, line) for line in (FP, RW)]
        shares = [text for run in fixed for text in (CACHING_AXIS.text(run.case.at), MEAN.shown(run.metrics))]
        for line in OURS:
            run, above = only(runs, experiment.name, line), excess(runs, experiment.name, line=line)
            settles = show(mean(settled(run.metrics)), "share")
            rows.append((experiment.title, *shares, line, settles, MEAN.shown(run.metrics), show_change(above)))
            shares = [""] * len(shares)
    columns = ("", "best FP-FCL", "response", "best RW-FCL", "response", "line", "settles at", "response")
    return Grid((*columns, "over best FP-FCL"), tuple(rows))


def about_background(names: Sequence[str], runs: Runs) -> list[str]:
    """Compare RW-FCL with FP-FCL at the same share, where writes wait for destaging and where none does."""
    texts = []
    for experiment in runs.experiments(names):
        at = least(runs, experiment.name, RW).case.at
        changes = (_rw_over_fp(runs, name, at) for name in (experiment.name, in_background([experiment.name])[0]))
        texts.append("{} {} and {} at {}".format(experiment.title, *map(show_change, changes), CACHING_AXIS.text(at)))
    each = "; ".join(texts)
    return [f"RW-FCL over FP-FCL with as much caching space, where RW-FCL is fastest, first where writes wait: {each}."]


def _rw_over_fp(runs: Runs, name: str, at: float) -> float | None:
    rw, fp = (runs.at(name, line, at) for line in (RW, FP))
    return change(MEAN.read(rw.metrics), MEAN.read(fp.metrics)) if rw and fp else None


def rivals(runs: Runs) -> Grid:
    """Describe GC that drops clean pages, blocks that hold one class of pages, and writes that go through."""
    rows = []
    for experiment in runs.experiments([with_rivals(name) for name in BOTH]):
        name = experiment.name
        fixed = {run.case.at: run for run in runs.of(name, FP)}
        lines = (SILENT, FP_BY_CLASS, FP_THROUGH)
        pairs = [(run, fixed[run.case.at]) for line in lines for run in runs.of(name, line)]
        pairs += [(only(runs, name, line), only(runs, name)) for line in (OP_BY_CLASS, OP_THROUGH)]
        for run, over in pairs:
            share = CACHING_AXIS.text(run.case.at) if over.case.line == FP else "its own"
            changes = (
                show_change(change(measure.read(run.metrics), measure.read(over.metrics)))
                for measure in (MEAN, ERASES, HITS)
            )
            rows.append((experiment.title, run.case.line, share, over.case.line, MEAN.shown(run.metrics), *changes))
    columns = ("", "line", "caching space", "over", "response", "change", "erases, change", "hit rate, change")
    return Grid(columns, tuple(rows))


def erases_by_share(runs: Runs, experiment: str) -> dict[float, float]:
    """Return FP-FCL's mean erases of a block at each of its shares."""
    return {run.case.at: ERASES.read(run.metrics) or 0.0 for run in runs.of(experiment, FP)}


def most_erases(runs: Runs, experiment: str) -> float:
    """Return those at its largest share."""
    erases = erases_by_share(runs, experiment)
    return erases[max(erases)]


def early_rise(runs: Runs, experiment: str) -> float:
    """Return their rise from the smallest share to 70 %, as a share of that to the largest."""
    erases = erases_by_share(runs, experiment)
    first, until = erases[min(erases)], erases[max(at for at in erases if at <= 70)]
    whole = erases[max(erases)] - first
    return (until - first) / whole if whole else 0.0


def varied(runs: Runs) -> Grid:
    """Compare stand-ins with others that differ in one thing."""
    rows = []
    for experiment in runs.experiments([name for pair in VARIED.items() for name in reversed(pair)]):
        name = experiment.name
        best, ours = least(runs, name, FP), only(runs, name)
        rows.append(
            (
                experiment.title,
                CACHING_AXIS.text(best.case.at),
                MEAN.shown(best.metrics),
                MEAN.shown(ours.metrics),
                show_change(excess(runs, name)),
                show(mean(settled(ours.metrics)), "share"),
                f"{most_erases(runs, name):.1f}",
                show(early_rise(runs, name), "share"),
            )
        )
    columns = ("", "best FP-FCL", "response", "OP-FCL", "over best FP-FCL", "settles at", "erases at the largest share")
    return Grid((*columns, "of their rise, up to 70 %"), tuple(rows))


def divided(runs: Runs) -> Grid:
    """Compare runs of the paper's size with those that have everything divided."""
    rows = []
    for experiment in runs.experiments(BOTH):
        for run in runs.of(with_rivals(experiment.name)):
            whole = runs.at(experiment.name, run.case.line, run.case.at)
            if whole is None or whole.metrics.hybrid.flash_pages <= run.metrics.hybrid.flash_pages:
                continue
            at = "its own" if run.case.line == OP else CACHING_AXIS.text(run.case.at)
            sizes_of_flash = (show(flash_bytes(one.scenario), "bytes") for one in (whole, run))
            means = (MEAN.shown(one.metrics) for one in (whole, run))
            changed = show_change(change(MEAN.read(run.metrics), MEAN.read(whole.metrics)))
            rows.append((experiment.title, run.case.line, at, *sizes_of_flash, *means, changed))
    return Grid(("", "line", "caching space", "flash", "flash, divided", "response", "response", "change"), tuple(rows))


def _given_up(run: Run) -> str:
    tier = run.metrics.hybrid
    return show(tier.given_up_pages / tier.destages_pages, "share") if tier.destages_pages else ""


def about_response(names: Sequence[str], runs: Runs) -> list[str]:
    """Name the workloads with more than the paper's margin, and their differences."""
    texts = []
    for experiment in runs.experiments(names):
        texts += _about_disks(runs, experiment)
        above = excess(runs, experiment.name)
        if above <= WITHIN:
            continue
        ours, best = only(runs, experiment.name), least(runs, experiment.name, FP)
        texts.append(
            f"With {experiment.title} OP-FCL is {above:.1%} slower than FP-FCL at {CACHING_AXIS.text(best.case.at)}: "
            f"its hit rate is {HITS.shown(ours.metrics)} against {HITS.shown(best.metrics)}, its GC time a request "
            f"{GC_TIME.shown(ours.metrics)} against {GC_TIME.shown(best.metrics)}, and dirty pages destaged for each "
            f"thousand requests {_destages(ours):.0f} against {_destages(best):.0f}. In the second half of the run it "
            f"is {show_change(late_excess(runs, experiment.name))} against what is best then; by measured costs, "
            f"{show_change(excess(runs, experiment.name, line=MEASURED))} over all."
        )
    if not texts:
        texts = [f"OP-FCL is within {WITHIN:.0%} of the best fixed share with each of them."]
    return texts


def _about_disks(runs: Runs, experiment: Experiment) -> list[str]:
    """State whether requests arrive faster than the disks can serve them in the best run."""
    if experiment.scenario.replay_mode != "open":
        return []
    idlest = min(
        (run for run in runs.of(experiment.name)), key=lambda run: float(run.metrics.hybrid.disk_utilisation or 0.0)
    )
    busy = float(idlest.metrics.hybrid.disk_utilisation or 0.0)
    if busy < OVERLOADED:
        return []
    return [
        f"**With {experiment.title} requests come faster than the disks can serve them**: they are busy for {busy:.1%} "
        "of the time, and with no partition for less. Then a mean response says how long the trace is, and not how "
        "good a partition: replay it at a lower rate, or on more disks."
    ]


def _destages(run: Run) -> float:
    return 1000 * float(run.metrics.hybrid.destages_pages) / run.metrics.requests


def about_copies(names: Sequence[str], runs: Runs) -> list[str]:
    """Compare garbage collection with the expectation of the cost model."""
    texts = []
    for experiment in runs.experiments(names):
        run = least(runs, experiment.name, FP)
        valid = costmodel.victim_utilisation(run.case.at / 100)
        texts.append(
            f"{copies_a_page(run):.2f} with {experiment.title} at {CACHING_AXIS.text(run.case.at)} "
            f"({valid / (1 - valid):.2f})"
        )
    return [
        "Pages copied for each page that is put into flash, with FP-FCL at its best share, and in brackets what the "
        f"model expects there by equation 3: {', '.join(texts)}.",
        *(text for experiment in runs.experiments(names) for text in _about_dip(runs, experiment)),
    ]


def _about_dip(runs: Runs, experiment: Experiment) -> list[str]:
    """State why GC takes less time in a larger cache, if it does."""
    fixed = runs.of(experiment.name, FP)
    least_gc = min(fixed, key=lambda run: GC_TIME.read(run.metrics) or 0.0)
    smallest, is_search = fixed[0], experiment.name == "search"
    if least_gc is smallest or not smallest.metrics.requests:
        return []
    put = [f"{_puts(run):.2f}" for run in (smallest, least_gc)]
    shares = [CACHING_AXIS.text(run.case.at) for run in (smallest, least_gc)]
    text = (
        f"With {experiment.title} GC takes {GC_TIME.shown(smallest.metrics)} a request at {shares[0]} and "
        f"{GC_TIME.shown(least_gc.metrics)} at {shares[1]}: a larger cache misses less, and a request puts "
        f"{put[0]} and {put[1]} pages into flash."
    )
    return [f"{text} The paper's erases of this trace fall for that reason (figure 14)." if is_search else text]


def _puts(run: Run) -> float:
    programs = run.metrics.programs_pages
    return float(programs.host + programs.evict) / run.metrics.requests


def copies_a_page(run: Run) -> float:
    """Return the number of GC copies for each page put into flash."""
    programs = run.metrics.programs_pages
    put = programs.host + programs.evict
    return run.metrics.gc_copies_pages / put if put else 0.0


def about_erases(runs: Runs) -> list[str]:
    """Describe the erases that OP-FCL saves."""
    ratios = [
        f"{erases_ratio(runs, experiment):.2f} and {_erases_ratio(least(runs, experiment.name, FP), runs):.2f} with "
        f"{experiment.title}"
        for experiment in runs.experiments(BOTH)
    ]
    return [
        "FP-FCL's erases at its largest share over those of OP-FCL, and at the share that is fastest: "
        f"{', '.join(ratios)}."
    ]


def erases_ratio(runs: Runs, experiment: Experiment) -> float:
    """Return the erases of FP-FCL at its largest share over those of OP-FCL."""
    return _erases_ratio(max(runs.of(experiment.name, FP), key=lambda run: run.case.at), runs)


def _erases_ratio(fixed: Run, runs: Runs) -> float:
    ours = only(runs, fixed.experiment.name).metrics.erases_blocks
    return fixed.metrics.erases_blocks / ours if ours else 0.0


RELATIVE = Measure("response over the usual one", "ratio", MEAN.read)
"""The mean response over that at the paper's usual setting."""


def relative(usual: float, runs: Runs, experiment: Experiment) -> list[Line]:
    """Return OP-FCL's mean responses over that at this place of the axis."""
    means = {run.case.at: MEAN.read(run.metrics) or 0.0 for run in runs.of(experiment.name)}
    return [Line(OP, tuple((at, mean / means[usual]) for at, mean in means.items()))] if usual in means else []


def about_range(names: Sequence[str], runs: Runs) -> list[str]:
    """Describe the effect of a parameter."""
    texts = []
    for experiment in runs.experiments(names):
        values = [MEAN.read(run.metrics) or 0.0 for run in runs.of(experiment.name)]
        texts.append(f"{experiment.title} by {max(values) / min(values) - 1:.1%}")
    return [f"From least to most the mean response varies: {', '.join(texts)}."]


def about_units(names: Sequence[str], runs: Runs) -> list[str]:
    """Describe the effect of the sequential unit, and that of units above the size of every request."""
    texts = []
    for experiment in runs.experiments(names):
        values = [MEAN.read(run.metrics) or 0.0 for run in runs.of(experiment.name) if run.case.at >= 32]
        texts.append(f"{experiment.title} by {max(values) / min(values) - 1:.1%}" if values else "")
    largest = [text for text in texts if text]
    return [*about_range(names, runs), *([f"From 32 KiB on: {', '.join(largest)}."] if largest else [])]


def draw_sizes(names: Sequence[str], runs: Runs) -> Canvas:
    """Draw the caches of OP-FCL over time, as shares of the flash."""
    from matplotlib.figure import Figure

    panels = runs.experiments(names)
    canvas = Figure(figsize=(max(3.8, 2.7 * len(panels)), 2.5), layout="constrained")
    several = canvas.subplots(1, len(panels), squeeze=False)[0]
    for axes, experiment in zip(several, panels, strict=True):
        _sizes_panel(axes, only(runs, experiment.name))
        axes.set_title(experiment.title, fontsize=8)
    several[0].set_ylabel("share of the flash (%)")
    canvas.legend(*several[0].get_legend_handles_labels(), loc="outside upper center", ncols=5)
    return canvas


def _sizes_panel(axes: Axes, run: Run) -> None:
    from coflash import palette
    from coflash.figures.style import DASHES

    samples, flash_pages = sizes(run.metrics), run.metrics.hybrid.flash_pages
    hours = [sample["at_ns"] / 3.6e12 for sample in samples]
    reads, writes = (
        [100 * sample[f"{kind}_limit_pages"] / flash_pages for sample in samples] for kind in ("read", "write")
    )
    lines = {
        "read cache": reads,
        "write cache": writes,
        "over-provisioned": [100 - read - write for read, write in zip(reads, writes, strict=True)],
        "clean pages": [100 * sample["clean_pages"] / flash_pages for sample in samples],
        "dirty pages": [100 * sample["dirty_pages"] / flash_pages for sample in samples],
    }
    for index, (label, values) in enumerate(lines.items()):
        held = index >= 3  # in the colour of their cache
        colour = palette.LINES[index - 3 if held else index]
        axes.plot(hours, values, label=label, color=colour, linestyle=DASHES[2 if held else 0])
    axes.set_xlabel("time (h)")
    axes.set_ylim(0, 100)
    axes.grid(axis="y")


def table_of_sizes(names: Sequence[str], runs: Runs) -> Grid:
    """Return the caches of OP-FCL at some moments."""
    rows = []
    for experiment in runs.experiments(names):
        run = only(runs, experiment.name)
        samples, flash_pages = sizes(run.metrics), run.metrics.hybrid.flash_pages
        moments = 8 if experiment.name in DAYS else 4
        for moment in range(moments + 1):
            sample = samples[moment * (len(samples) - 1) // moments]
            reads, writes = sample["read_limit_pages"] / flash_pages, sample["write_limit_pages"] / flash_pages
            at = show(sample["at_ns"], "ns")
            rows.append((experiment.title, at, *(show(one, "share") for one in (reads, writes, 1 - reads - writes))))
    return Grid(("", "at", "read cache", "write cache", "over-provisioned"), tuple(rows))


def devices(runs: Runs) -> Grid:
    """Describe the workloads and their devices."""
    device = ("flash", "segment", "period", "tracker, of the flash", "without its index")
    names = (*device, "requests", "pages read", "pages written", "past the cache", "issued")
    columns: dict[str, tuple[str, ...]] = {}
    for experiment in runs.experiments(BOTH):
        run, values = only(runs, experiment.name), experiment.scenario.to_dict()
        metrics = run.metrics
        pages = metrics.host_reads_pages + metrics.host_writes_pages
        passed = metrics.hybrid.bypassed_reads_pages + metrics.hybrid.bypassed_writes_pages
        columns[experiment.title] = (
            show(flash_bytes(experiment.scenario), "bytes"),
            values["hybrid"]["segment"],
            f"{values['hybrid']['period_requests']:,} requests",
            *(show(tracker_share(run, whole), "share") for whole in (True, False)),
            f"{metrics.requests:,}",
            f"{metrics.host_reads_pages:,}",
            f"{metrics.host_writes_pages:,}",
            show(passed / pages, "share"),
            experiment.issued,
        )
    return Grid(("", *columns), tuple(zip(names, *columns.values(), strict=True)))
