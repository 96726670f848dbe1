"""The analysis of the runs: closed forms, tables and conclusions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import mean
from typing import Any

from coflash import analytic
from coflash._core import quantity
from coflash.measures.measure import COPIED, MEAN, STDDEV, WAF_HOST, Measure
from coflash.quantity import PPB, change, show, show_change
from coflash_reproduce.cdm import claims
from coflash_reproduce.cdm import workloads as of
from coflash_reproduce.paper import Axis, Experiment, Grid, Line, Row, Run, Runs, flash_pages, tabled

CAPACITY_AXIS = Axis("capacity", "GiB")
CACHE_AXIS = Axis("cache, share of the flash", "%", logarithmic=True)

UNDER_WAY_MAX = 64
"""The number of parallel requests, eight for each element of the device, from which on a queue never empties."""


def theory(runs: Runs) -> list[Line]:
    """Return the closed form at each capacity."""
    points = [(run.case.at, closed_form(run)) for run in runs.of("capacity", of.INDEPENDENT)]
    return [Line("theory, never repeated", tuple(points))]


def closed_form(run: Run) -> float:
    """Return the write amplification of independent uniform writes to a part of the device in the long run.

    Pages that are never written stay in blocks of their own, and leave the rest of the flash to the footprint. Source:
    `analytic.greedy`. The last page of each block holds its summary: a block has one page less, and each of its pages
    costs accordingly more.
    """
    values = run.scenario.to_dict()
    flash, made_up = values["flash"], values["workload"]["synthetic"]
    data_pages = flash["pages_per_block"] - 1
    blocks = flash_pages(run.scenario) // flash["pages_per_block"]
    pools = blocks // flash["blocks_per_plane"]
    low_mark = math.floor(quantity(values["gc"]["low_mark"])[0] / PPB * flash["blocks_per_plane"])
    physical = analytic.usable(blocks * data_pages, data_pages, pools, 1, low_mark + 1)
    logical = run.document["workload"]["logical_bytes"] // 4096
    footprint = quantity(made_up["space"])[0] // 4096
    alpha = (physical - (logical - footprint)) / footprint
    waf: float = analytic.greedy(alpha, data_pages) * flash["pages_per_block"] / data_pages
    return waf


def in_the_long_run(run: Run) -> float:
    """Return the write amplification over the second half of the simulated time."""
    series = run.result().series()
    late = slice(len(series) // 2, None)
    programs = sum(int(series[column][late].sum()) for column in series.columns if column.startswith("programs_"))
    return programs / int(series["host_writes_pages"][late].sum())


@tabled("capacity | WAF, all writes | WAF, second half | theory | deviation")
def against_theory(runs: Runs) -> Iterator[Row]:
    """Compare simulation and closed form."""
    for run in runs.of("capacity", of.INDEPENDENT):
        late, theory = in_the_long_run(run), closed_form(run)
        shown = (run.shown(WAF_HOST), f"{late:.3f}", f"{theory:.3f}", show_change(late / theory - 1))
        yield CAPACITY_AXIS.text(run.case.at), *shown


def about_capacity(runs: Runs) -> Iterator[str]:
    """Describe the effect of repeating the same writes."""
    workload = runs.of("capacity", of.RANDOM)[0].scenario.to_dict()["workload"]
    made_up = workload["synthetic"]
    untouched = math.exp(-made_up["requests"] / (quantity(made_up["space"])[0] / 4096))
    repeated, once, independent = (
        claims.mean_waf(runs, "capacity", one) for one in (of.RANDOM, of.ONCE, of.INDEPENDENT)
    )
    yield (
        f"Over the capacities the mean for random writes is {repeated:.2f} for the same writes "
        f"{workload['repeat']} times, {once:.2f} for them once and {independent:.2f} for as "
        f"many that are never repeated; the paper has {claims.RANDOM_WAF}."
    )
    yield (
        f"Repeating lowers it: {untouched:.0%} of the footprint is in none of the draws and is never written, and "
        "what is written together is overwritten together."
    )


def about_live(runs: Runs) -> Iterator[str]:
    """Describe which capacities give the paper's mean."""
    live = [run for line in claims.LIVE for run in runs.of("live-capacity", line)]
    places = sorted({run.case.at for run in live})
    means = {least: mean(run.read(WAF_HOST) for run in live if run.case.at >= least) for least in places}
    each = ", ".join(f"{waf:.2f} from {least:g} GiB on" for least, waf in means.items())
    yield (
        f"The mean over workloads and capacities is {each}; an earlier version of the paper has "
        f"{claims.MEAN_WAF_LIVE}. The smaller capacities give the paper's maximum, the larger ones its mean."
    )


def about_random_share(runs: Runs) -> Iterator[str]:
    """Describe how soon write amplification is that of random writes."""
    for line in (of.ANYWHERE, of.MIXED):
        waf = runs.by_place(WAF_HOST, "random-share", line)
        most = max(waf.values())
        shares = ", ".join(f"{one / most:.0%} at {at:g} %" for at, one in waf.items() if 0 < at < 50)
        yield f"“{line[0].upper()}{line[1:]}” reaches {shares} of its greatest WAF."


def about_copies(runs: Runs) -> Iterator[str]:
    """Describe the possible saving."""
    shares = []
    for experiment in runs.experiments(of.CACHED):
        # A cache that holds all that is written has flash programmed not once.
        programmed = [run for run in runs.of(experiment.name, of.BASELINE) if run.programs]
        copied = [run.metrics.gc_copies_pages / run.programs for run in programmed]
        shares.append(f"{min(copied):.0%} to {max(copied):.0%} with {experiment.title}")
    jedec, oltp = (claims.WAF_CHANGES[name][1] / claims.COPIES_CHANGE[name] for name in ("jedec", "oltp"))
    yield f"Under {of.BASELINE} GC copies are {', '.join(shares)} of all programs here."
    yield (
        f"In the paper they were about {jedec:.0%} (JEDEC) and {oltp:.0%} (OLTP), going by its greatest savings of WAF "
        "over its mean savings of copies."
    )


NORMALISED = {MEAN: Measure("mean response over NVM-basic", "ratio", MEAN.read)}
NORMALISED[STDDEV] = Measure("its std. deviation over NVM-basic", "ratio", STDDEV.read)


def normalised(measure: Measure, runs: Runs, experiment: Experiment) -> list[Line]:
    """Return each scheme's measure over that of the baseline, by cache size."""
    found = {line: claims.changes_at(runs, experiment.name, measure, line=line) for line in (of.CDM, of.ADAPTIVE)}
    lines = [Line(line, tuple((at, 1 + one) for at, one in changes.items())) for line, changes in found.items()]
    return [line for line in lines if line.points]


def _averages(runs: Runs, name: str, sizes_gib: Sequence[float] = (), seed: int | None = None) -> Row:
    """Return the mean changes and the ends of WAF's, over some sizes or all, where the baseline collects."""
    at = [100 * gib / of.CAPACITY_GIB for gib in sizes_gib]
    found = [claims.changes_at(runs, name, measure, seed) for measure in (COPIED, WAF_HOST, MEAN, STDDEV)]
    copies, waf, *times = ([one for place, one in of.items() if not at or place in at] for of in found)
    if not copies:
        return ("",) * 4
    means = (show_change(mean(values)) for values in (copies, *times))
    first, *rest = means
    return first, f"{show_change(max(waf))} … {show_change(min(waf))}", *rest


_COLUMNS = "| caches | pages copied | WAF, least and most | mean response | its std. deviation"


@tabled(_COLUMNS)
def averages(runs: Runs) -> Iterator[Row]:
    """Tabulate the paper's averages beside ours: the main set-ups, with each seed, and the other stand-ins."""
    for kind, names in (("jedec", of.JEDEC), ("oltp", of.OLTP)):
        ends = " … ".join(map(show_change, claims.WAF_CHANGES[kind]))
        times = map(show_change, (claims.MEAN_CHANGE[kind], claims.STDDEV_CHANGE[kind]))
        yield f"paper, {kind.upper()}", "", show_change(claims.COPIES_CHANGE[kind]), ends, *times
        for one in runs.experiments(names):
            yield one.title, _caches(runs, one.name), *_averages(runs, one.name)
            sizes = sorted({case.at * of.CAPACITY_GIB / 100 for case in one.cases})
            several = of.SEEDS.get(one.name, "")
            for seed in sorted({run.seed for run in runs.of(several)}):
                yield f"{one.title}, a smaller device, seed {seed}", "", *_averages(runs, several, sizes, seed)


def _caches(runs: Runs, name: str) -> str:
    """Name the cache sizes that count, on 64 GiB of flash."""
    return ", ".join(f"{at * of.CAPACITY_GIB / 100:g}" for at in claims.changes_at(runs, name, COPIED)) + " GiB"


SUBSETS_GIB = ((0.25, 0.5, 1, 2, 4), (0.5, 1, 2, 4, 8), (1, 2, 4, 8, 16), (0.25, 2, 4, 6, 8), (1, 2, 4, 8, 12, 16))
"""Choices of cache sizes, on 64 GiB."""


@tabled(_COLUMNS)
def by_sizes(runs: Runs) -> Iterator[Row]:
    """Compare means over several choices of cache sizes, in the main set-ups with several seeds."""
    for experiment in runs.experiments(of.SEEDS.values()):
        places = {case.at for case in experiment.cases}
        for sizes in SUBSETS_GIB:
            if {100 * gib / of.CAPACITY_GIB for gib in sizes} <= places:
                name = ", ".join(f"{gib:g}" for gib in sizes) + " GiB"
                yield experiment.title, name, *_averages(runs, experiment.name, sizes)


@tabled("workload | cache | copies, NVM-basic | copies, CDM | spared | dropped | rewritten")
def spared(runs: Runs) -> Iterator[Row]:
    """Compare what early invalidation and removable pages spare under CDM."""
    for run, base in runs.pairs(of.CACHED, of.CDM, of.BASELINE):
        m = run.metrics
        ours = (m.gc_copies_pages, m.gc_spared_pages, m.gc_drops_pages, m.drop_rewrites_pages)
        pages = (f"{count:,}" for count in (base.metrics.gc_copies_pages, *ours))
        yield run.experiment.title, CACHE_AXIS.text(run.case.at), *pages


def about_parts(runs: Runs) -> Iterator[str]:
    """Describe each variant of CDM by its mean change of write amplification."""
    for experiment in runs.experiments(of.VARIED):
        places = {case.at for case in experiment.cases if case.line in of.PARTS}
        found = []
        for line in (line for line in (of.CDM, *of.PARTS) if runs.of(experiment.name, line)):
            pairs = [pair for pair in runs.pairs([experiment.name], line, of.BASELINE) if pair[0].case.at in places]
            changes = [one for run, base in pairs if (one := run.change(base, WAF_HOST)) is not None]
            found.append(f"{show_change(mean(changes))} ({line})")
        yield f"Mean changes of WAF with {experiment.title}: {', '.join(found)}."


def about_buffers(runs: Runs) -> Iterator[str]:
    """Say what the knowledge of the host's buffer adds to CDM."""
    changes = [
        f"{run.changed(cdm, WAF_HOST)} of WAF and {run.changed(cdm, COPIED)} of copies with a buffer of "
        f"{CACHE_AXIS.text(run.case.at)}"
        for run, cdm in runs.pairs([of.BUFFERED], of.CDM_HGC, of.CDM)
    ]
    yield f"Beside CDM the second knowledge changes {', '.join(changes)}."


@tabled("host's buffer | GC knows | pages copied | WAF | change | mean read | fast programs")
def two_buffers(runs: Runs) -> Iterator[Row]:
    """Compare what GC gains by knowing the cache, the host's write buffer, or both."""
    for line in dict.fromkeys(run.case.line for run in runs.of(of.BUFFERED)):
        for run, base in runs.pairs([of.BUFFERED], line, of.BASELINE):
            m, b = run.metrics, base.metrics
            read = show_change(change(m.response_ns.read.mean, b.response_ns.read.mean))
            fast = run.document["metrics"].get("shadows", {}).get("fast_pages", 0)
            found = (run.shown(WAF_HOST), run.changed(base, WAF_HOST), read, f"{fast:,}")
            yield CACHE_AXIS.text(run.case.at), line, f"{m.gc_copies_pages:,}", *found


def about_load(runs: Runs) -> Iterator[str]:
    """Name workloads that arrive faster than the device answers, so that response times are those of a queue."""
    for experiment in runs.experiments(of.CACHED):
        at_once = max(map(_under_way, runs.of(experiment.name, of.BASELINE)))
        if at_once > UNDER_WAY_MAX:
            yield (
                f"{experiment.title} arrives faster than this device answers: under {of.BASELINE} up to {at_once:,.0f} "
                "requests are under way on average. Response times then say how long the queue grew, not how long a "
                "request takes; copies and WAF do not depend on it."
            )


def _under_way(run: Run) -> float:
    """Return the mean number of parallel requests by Little's law; 0 for a closed replay."""
    if run.scenario.replay_mode == "closed":
        return 0.0
    return run.metrics.requests * run.read(MEAN) / run.metrics.simulated_ns


def characteristics(runs: Runs) -> Grid:
    """Return the paper's table of devices and workloads."""
    shown = runs.experiments(of.CACHED)
    columns = [_characteristics(one, runs) for one in shown]
    paper = {
        "flash": ("64 GB", "64 GB"),
        "spare, of physical": ("15%", "15%"),
        "GC at free blocks": ("5%", "5%"),
        "requests of a round": (f"{of.JEDEC_REQUESTS:,}", f"{of.OLTP_REQUESTS:,}"),
        "operations": ("89% write, 6% trim, 5% flush", f"{of.OLTP_READS} read, 48% write"),
        "size": ("31.2 GB", "30.7 GB"),
        "rounds": (str(of.ROUNDS), str(of.ROUNDS)),
    }
    rows = [(name, *paper.get(name, ("", "")), *(column[name] for column in columns)) for name in columns[0]]
    return Grid(("", "paper, JEDEC", "paper, OLTP", *(experiment.title for experiment in shown)), tuple(rows))


def _characteristics(experiment: Experiment, runs: Runs) -> dict[str, str]:
    run = runs.of(experiment.name)[0]
    values: dict[str, Any] = run.scenario.to_dict()
    m, rounds, timing = run.metrics, values["workload"].get("repeat", 1), values["timing"]
    caches = [one.metrics.cache.capacity_pages * 4096 for one in runs.of(experiment.name, of.BASELINE)]
    counts = {"write": m.response_ns.write.count, "read": m.response_ns.read.count}
    counts |= {"trim": m.requests - m.flushes - sum(counts.values()), "flush": m.flushes}
    return {
        "flash": show(flash_pages(run.scenario) * 4096, "bytes"),
        "exported": show(run.document["workload"]["logical_bytes"], "bytes"),
        "spare, of physical": values["ftl"]["spare"]["share"],
        "GC at free blocks": values["gc"]["low_mark"],
        "read, program, erase": ", ".join(timing[name] for name in ("page_read", "page_program", "block_erase")),
        "cache": f"{show(min(caches), 'bytes')} to {show(max(caches), 'bytes')}",
        "requests of a round": f"{m.requests // rounds:,}",
        "operations": ", ".join(f"{count / m.requests:.0%} {name}" for name, count in counts.items() if count),
        "size": "",
        "address space or footprint": show(experiment.footprint_bytes, "bytes"),
        "written in a round": show(m.host_writes_pages * 4096 / rounds, "bytes"),
        "rounds": str(rounds),
        "issued": experiment.issued,
    }
