"""The analysis of the runs: closed forms, tables and conclusions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import mean
from typing import Any

from coflash import analytic
from coflash._core import quantity
from coflash.measures.measure import COPIED, MEAN, STDDEV, WAF_HOST, Measure
from coflash.quantity import PPB, change, show, show_change
from coflash_reproduce.cdm.claims import (
    COPIES_CHANGE,
    LIVE,
    MEAN_CHANGE,
    MEAN_WAF_LIVE,
    RANDOM_WAF,
    STDDEV_CHANGE,
    WAF_CHANGES,
    mean_waf,
    over_random,
)
from coflash_reproduce.cdm.workloads import (
    ANYWHERE,
    BASELINE,
    BUFFERED,
    CACHED,
    CAPACITY_GIB,
    CDM,
    CDM_HGC,
    INDEPENDENT,
    JEDEC,
    JEDEC_REQUESTS,
    MIXED,
    NARROW,
    OLTP,
    OLTP_READS,
    OLTP_REQUESTS,
    ONCE,
    PARTS,
    RANDOM,
    ROUNDS,
    VARIED,
    raw_pages,
)
from coflash_reproduce.paper import Axis, Experiment, Grid, Line, Run, Runs

CAPACITY_AXIS = Axis("capacity", "GiB")
CACHE_AXIS = Axis("cache, share of the flash", "%", logarithmic=True)

UNDER_WAY_MAX = 64
"""The number of parallel requests, eight for each element of the device, from which on a queue never empties."""


def theory(runs: Runs) -> list[Line]:
    """Return the closed form at each capacity."""
    points = [(run.case.at, closed_form(run)) for run in runs.of("capacity", INDEPENDENT)]
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
    blocks = raw_pages(run.scenario) // flash["pages_per_block"]
    pools = blocks // flash["blocks_per_plane"]
    low_mark = math.floor(_percent(values["gc"]["low_mark"]) * flash["blocks_per_plane"])
    physical = analytic.usable(blocks * data_pages, data_pages, pools, 1, low_mark + 1)
    logical = run.document["workload"]["logical_bytes"] // 4096
    footprint = quantity(made_up["space"])[0] // 4096
    alpha = (physical - (logical - footprint)) / footprint
    waf: float = analytic.greedy(alpha, data_pages) * flash["pages_per_block"] / data_pages
    return waf


def _percent(text: str) -> float:
    return quantity(text)[0] / PPB


def in_the_long_run(run: Run) -> float:
    """Return the write amplification over the second half of the simulated time."""
    series = run.result().series()
    late = slice(len(series) // 2, None)
    programs = sum(int(series[column][late].sum()) for column in series.columns if column.startswith("programs_"))
    return programs / int(series["host_writes_pages"][late].sum())


def against_theory(runs: Runs) -> Grid:
    """Compare simulation and closed form."""
    rows = []
    for run in runs.of("capacity", INDEPENDENT):
        late, theory = in_the_long_run(run), closed_form(run)
        shown = (WAF_HOST.shown(run.metrics), f"{late:.3f}", f"{theory:.3f}", show_change(late / theory - 1))
        rows.append((CAPACITY_AXIS.text(run.case.at), *shown))
    return Grid(("capacity", "WAF, all writes", "WAF, second half", "theory", "deviation"), tuple(rows))


def about_capacity(runs: Runs) -> list[str]:
    """Describe the effect of repeating the same writes."""
    run = runs.of("capacity", RANDOM)[0]
    made_up = run.scenario.to_dict()["workload"]["synthetic"]
    untouched = math.exp(-made_up["requests"] / (quantity(made_up["space"])[0] / 4096))
    repeated, once, independent = (mean_waf(runs, "capacity", line) for line in (RANDOM, ONCE, INDEPENDENT))
    return [
        f"Over the capacities the mean for random writes is {repeated:.2f} for the same writes "
        f"{run.scenario.to_dict()['workload']['repeat']} times, {once:.2f} for them once and {independent:.2f} for as "
        f"many that are never repeated; the paper has {RANDOM_WAF}.",
        f"Repeating lowers it: {untouched:.0%} of the footprint is in none of the draws and is never written, and "
        "what is written together is overwritten together.",
    ]


def about_live(runs: Runs) -> list[str]:
    """Describe which capacities give the paper's mean."""
    of = [run for line in LIVE for run in runs.of("live-capacity", line)]
    places = sorted({run.case.at for run in of})
    means = {least: mean(run.metrics.waf_host or 0 for run in of if run.case.at >= least) for least in places}
    each = ", ".join(f"{waf:.2f} from {least:g} GiB on" for least, waf in means.items())
    return [
        f"The mean over workloads and capacities is {each}; an earlier version of the paper has {MEAN_WAF_LIVE}. The "
        "smaller capacities give the paper's maximum, the larger ones its mean.",
        f"Over that of random writes WAF is {_over_random(runs, LIVE)}; with the 20 GiB of these as address space it "
        f"is {_over_random(runs, NARROW.values())}.",
    ]


def _over_random(runs: Runs, lines: Iterable[str]) -> str:
    return ", ".join(f"{over_random(runs, line):.2f} with {line}" for line in lines)


def about_random_share(runs: Runs) -> list[str]:
    """Describe how soon write amplification is that of random writes."""
    texts = []
    for line in (ANYWHERE, MIXED):
        of = runs.of("random-share", line)
        most = max(run.metrics.waf_host or 0 for run in of)
        shares = [
            f"{(run.metrics.waf_host or 0) / most:.0%} at {run.case.at:g} %" for run in of if 0 < run.case.at < 50
        ]
        texts.append(f"“{line[0].upper()}{line[1:]}” reaches {', '.join(shares)} of its greatest WAF.")
    return texts


def about_copies(runs: Runs) -> list[str]:
    """Describe the possible saving."""
    shares = []
    for experiment in runs.experiments(CACHED):
        of = [run.metrics for run in runs.of(experiment.name, BASELINE)]
        programs = [sum(one.programs_pages.to_dict().values()) for one in of]
        # A cache that holds all that is written has flash programmed not once.
        copied = [one.gc_copies_pages / all_pages for one, all_pages in zip(of, programs, strict=True) if all_pages]
        shares.append(f"{min(copied):.0%} to {max(copied):.0%} with {experiment.title}")
    jedec, oltp = (WAF_CHANGES[name][1] / COPIES_CHANGE[name] for name in ("jedec", "oltp"))
    return [
        f"Under {BASELINE} GC copies are {', '.join(shares)} of all programs here.",
        f"In the paper they were about {jedec:.0%} (JEDEC) and {oltp:.0%} (OLTP), going by its greatest savings of WAF "
        "over its mean savings of copies.",
    ]


def about_sizes(runs: Runs) -> list[str]:
    """Describe the saving by cache size."""
    savings = []
    for experiment in runs.experiments(CACHED):
        changes = runs.changes(experiment.name, CDM, BASELINE, COPIED)
        savings.append(f"{show_change(max(changes))} to {show_change(min(changes))} with {experiment.title}")
    return [f"CDM changes them by {', '.join(savings)}; a mean over cache sizes is a matter of which sizes."]


SUBSETS_GIB = ((0.25, 0.5, 1, 2, 4), (0.5, 1, 2, 4, 8), (1, 2, 4, 8, 16))
"""Fivefold choices of cache sizes, on 64 GiB."""


def by_sizes(runs: Runs) -> Grid:
    """Compare means over several choices of cache sizes."""
    rows = []
    for experiment in runs.experiments(CACHED):
        for sizes in (*SUBSETS_GIB, ()):
            at = [100 * gib / CAPACITY_GIB for gib in sizes] or sorted({case.at for case in experiment.cases})
            found = [_changes_at(runs, experiment, at, measure) for measure in (COPIED, WAF_HOST, MEAN, STDDEV)]
            if not all(found):
                continue
            copies, waf, response, deviation = found
            rows.append(
                (
                    experiment.title,
                    f"{at[0]:.2g} % to {at[-1]:.3g} %",
                    show_change(mean(copies)),
                    f"{show_change(max(waf))} … {show_change(min(waf))}",
                    show_change(mean(response)),
                    show_change(mean(deviation)),
                )
            )
    columns = ("workload", "caches", "pages copied", "WAF", "mean response", "its std. deviation")
    return Grid(columns, tuple(rows))


def about_by_sizes(runs: Runs) -> list[str]:
    """Name the sizes whose means are nearest to the paper's."""
    texts = []
    for experiment in runs.experiments(CACHED):
        of = "jedec" if experiment.name in JEDEC else "oltp"
        paper = {COPIED: COPIES_CHANGE[of], MEAN: MEAN_CHANGE[of], STDDEV: STDDEV_CHANGE[of]}

        def distance(
            sizes: tuple[float, ...], one: Experiment = experiment, goal: dict[Measure, float] = paper
        ) -> float:
            at = [100 * gib / CAPACITY_GIB for gib in sizes]
            found = {measure: _changes_at(runs, one, at, measure) for measure in goal}
            return sum((mean(found[measure]) / value - 1) ** 2 for measure, value in goal.items())

        nearest = min(SUBSETS_GIB, key=distance)
        texts.append(
            f"{experiment.title} is nearest to the paper's three means with caches of {nearest[0]:g} to "
            f"{nearest[-1]:g} GiB for 64 GiB of flash (root mean square of the relative errors "
            f"{math.sqrt(distance(nearest) / 3):.0%})."
        )
    return texts


def _changes_at(runs: Runs, experiment: Experiment, places: Iterable[float], measure: Measure) -> list[float]:
    """Return the changes of CDM from the baseline at places that both have."""
    pairs = ((runs.at(experiment.name, CDM, at), runs.at(experiment.name, BASELINE, at)) for at in places)
    values = (change(measure.read(one.metrics), measure.read(other.metrics)) for one, other in pairs if one and other)
    return [relative for relative in values if relative is not None]


def spared(runs: Runs) -> Grid:
    """Compare what early invalidation and removable pages spare under CDM."""
    rows = []
    for experiment in runs.experiments(CACHED):
        for run in runs.of(experiment.name, CDM):
            base = runs.at(experiment.name, BASELINE, run.case.at)
            if base is None:
                continue
            m = run.metrics
            rows.append(
                (
                    experiment.title,
                    CACHE_AXIS.text(run.case.at),
                    f"{base.metrics.gc_copies_pages:,}",
                    f"{m.gc_copies_pages:,}",
                    f"{m.gc_spared_pages:,}",
                    f"{m.gc_drops_pages:,}",
                    f"{m.drop_rewrites_pages:,}",
                )
            )
    return Grid(
        ("workload", "cache", "copies, NVM-basic", "copies, CDM", "spared", "dropped", "rewritten"), tuple(rows)
    )


def about_spared(runs: Runs) -> list[str]:
    """Compare the two ways of saving."""
    texts = []
    for experiment in runs.experiments(OLTP):
        of = [run.metrics for run in runs.of(experiment.name, CDM)]
        early = sum(one.gc_spared_pages for one in of)
        late = sum(one.gc_drops_pages - one.drop_rewrites_pages for one in of)
        texts.append(
            f"With {experiment.title} early invalidation spares {early:,} copies of victims, and drops less later "
            f"rewrites {late:,}."
        )
    return texts


def about_parts(runs: Runs) -> list[str]:
    """Describe each variant of CDM by its mean change of write amplification."""
    texts = []
    for experiment in runs.experiments(VARIED):
        at = sorted({case.at for case in experiment.cases if case.line in PARTS})
        lines = [line for line in (CDM, *PARTS) if runs.of(experiment.name, line)]
        changes = []
        for line in lines:
            pairs = ((runs.at(experiment.name, line, place), runs.at(experiment.name, BASELINE, place)) for place in at)
            found = [change(one.metrics.waf_host, base.metrics.waf_host) for one, base in pairs if one and base]
            changes.append(f"{show_change(mean(value for value in found if value is not None))} ({line})")
        texts.append(f"Mean changes of WAF with {experiment.title}: {', '.join(changes)}.")
    return texts


def about_buffers(runs: Runs) -> list[str]:
    """Say what the knowledge of the host's buffer adds to CDM."""
    both = ((run, runs.at(BUFFERED, CDM, run.case.at)) for run in runs.of(BUFFERED, CDM_HGC))
    changes = [
        f"{show_change(change(run.metrics.waf_host, cdm.metrics.waf_host))} of WAF and "
        f"{show_change(change(run.metrics.gc_copies_pages, cdm.metrics.gc_copies_pages))} of copies with a buffer of "
        f"{CACHE_AXIS.text(run.case.at)}"
        for run, cdm in both
        if cdm
    ]
    return [f"Beside CDM the second knowledge changes {', '.join(changes)}."]


def two_buffers(runs: Runs) -> Grid:
    """Compare what GC gains by knowing the cache, the host's write buffer, or both."""
    rows = []
    for run in runs.of(BUFFERED):
        base = runs.at(BUFFERED, BASELINE, run.case.at)
        if base is None:
            continue
        m, b = run.metrics, base.metrics
        rows.append(
            (
                CACHE_AXIS.text(run.case.at),
                run.case.line,
                f"{m.gc_copies_pages:,}",
                WAF_HOST.shown(m),
                show_change(change(m.waf_host, b.waf_host)),
                show_change(change(m.response_ns.read.mean, b.response_ns.read.mean)),
                f"{run.document['metrics'].get('shadows', {}).get('fast_pages', 0):,}",
            )
        )
    columns = ("host's buffer", "GC knows", "pages copied", "WAF", "change", "mean read", "fast programs")
    return Grid(columns, tuple(rows))


def about_weight(runs: Runs) -> list[str]:
    """Describe the later rewrites of dropped pages."""
    texts = []
    for experiment in runs.experiments(OLTP):
        of = [run.metrics for run in runs.of(experiment.name, CDM)]
        drops, again = sum(one.gc_drops_pages for one in of), sum(one.drop_rewrites_pages for one in of)
        copies = sum(one.gc_copies_pages for one in of)
        texts.append(
            f"With {experiment.title} CDM dropped {drops:,} pages beside {copies:,} copied, and had to write "
            f"{again:,} of them later."
        )
    return texts


def about_load(runs: Runs) -> list[str]:
    """Name workloads that arrive faster than the device answers, so that response times are those of a queue."""
    texts = []
    for experiment in runs.experiments(CACHED):
        at_once = max(map(_under_way, runs.of(experiment.name, BASELINE)))
        if at_once > UNDER_WAY_MAX:
            texts.append(
                f"{experiment.title} arrives faster than this device answers: under {BASELINE} up to {at_once:,.0f} "
                "requests are under way on average. Response times then say how long the queue grew, not how long a "
                "request takes; copies and WAF do not depend on it."
            )
    return texts


def _under_way(run: Run) -> float:
    """Return the mean number of parallel requests by Little's law; 0 for a closed replay."""
    if run.scenario.replay_mode == "closed":
        return 0.0
    return run.metrics.requests * (run.metrics.response_ns.all.mean or 0.0) / run.metrics.simulated_ns


def characteristics(runs: Runs) -> Grid:
    """Return the paper's table of devices and workloads."""
    shown = runs.experiments(CACHED)
    first = [runs.of(experiment.name)[0] for experiment in shown]
    caches = [[run.metrics.cache.capacity_pages * 4096 for run in runs.of(one.name, BASELINE)] for one in shown]
    values = [run.scenario.to_dict() for run in first]
    rounds = [one["workload"].get("repeat", 1) for one in values]

    def times(one: dict[str, Any]) -> str:
        return ", ".join(one["timing"][name] for name in ("page_read", "page_program", "block_erase"))

    def operations(run: Run) -> str:
        m = run.metrics
        counts = {"write": m.response_ns.write.count, "read": m.response_ns.read.count}
        counts |= {"trim": m.requests - m.flushes - sum(counts.values()), "flush": m.flushes}
        return ", ".join(f"{count / m.requests:.0%} {name}" for name, count in counts.items() if count)

    def row(name: str, jedec: str, oltp: str, ours: Iterable[str]) -> tuple[str, ...]:
        return name, jedec, oltp, *ours

    rows = (
        row("flash", "64 GB", "64 GB", (show(raw_pages(run.scenario) * 4096, "bytes") for run in first)),
        row("exported", "", "", (show(run.document["workload"]["logical_bytes"], "bytes") for run in first)),
        row("spare, of physical", "15%", "15%", (one["ftl"]["spare"]["share"] for one in values)),
        row("GC at free blocks", "5%", "5%", (one["gc"]["low_mark"] for one in values)),
        row("read, program, erase", "", "", map(times, values)),
        row("cache", "", "", (f"{show(min(of), 'bytes')} to {show(max(of), 'bytes')}" for of in caches)),
        row(
            "requests of a round",
            f"{JEDEC_REQUESTS:,}",
            f"{OLTP_REQUESTS:,}",
            (f"{run.metrics.requests // times:,}" for run, times in zip(first, rounds, strict=True)),
        ),
        row("operations", "89% write, 6% trim, 5% flush", f"{OLTP_READS} read, 48% write", map(operations, first)),
        row("size", "31.2 GB", "30.7 GB", ("" for _ in shown)),
        row("address space or footprint", "", "", (show(one.footprint_bytes, "bytes") for one in shown)),
        row(
            "written in a round",
            "",
            "",
            (
                show(run.metrics.host_writes_pages * 4096 / times, "bytes")
                for run, times in zip(first, rounds, strict=True)
            ),
        ),
        row("rounds", str(ROUNDS), str(ROUNDS), map(str, rounds)),
        row("issued", "", "", (experiment.issued for experiment in shown)),
    )
    return Grid(("", "paper, JEDEC", "paper, OLTP", *(experiment.title for experiment in shown)), rows)
