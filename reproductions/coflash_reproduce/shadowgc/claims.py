"""The statements of the ShadowGC paper, and the same numbers from the runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import combinations
from statistics import mean

from coflash.measures.measure import Measure
from coflash_reproduce.claim import Claim, Kind, Numbers, Ours
from coflash_reproduce.paper import Run, Runs
from coflash_reproduce.shadowgc.reading import (
    GC_TIME,
    GROUPS,
    NOTICED,
    REFRESH_MAX,
    RESTARTS,
    SGC_BEST,
    SGC_GC_TIME_CHANGE,
    SGC_LEAST,
    WAF,
    WAF_CHANGES,
    against_ggc,
    growth,
    left_valid,
    marks_bytes,
    mean_changes,
    refreshed,
    shadows,
)
from coflash_reproduce.shadowgc.workloads import (
    COMPARED,
    DELAY,
    GGC,
    GIVEN,
    LAYOUTS,
    SEPARATION,
    SGC,
    SWEPT_MIB,
    TWO,
    VOLUMES,
    WORKLOADS,
    in_layout,
)

SHORT = {WAF: "WAF", GC_TIME: "GC time"}
"""The measures as statements call them."""


def _mean_change(names: Iterable[str], layout: str, line: str, measure: Measure) -> Ours:
    return lambda runs, _: mean(mean_changes(runs, names, layout, line, measure))


def _sgc_range(layout: str) -> Ours:
    def ours(runs: Runs, _: str) -> Numbers:
        found = mean_changes(runs, WORKLOADS, layout, SGC, WAF)
        return max(found), min(found)

    return ours


def _refresh_max(names: Iterable[str]) -> Ours:
    return lambda runs, _: max(refreshed(run.metrics) for name in names for run in runs.of(name))


def _new_pages(runs: Runs, experiment: str) -> float:
    """Return the share of writes that go to pages not written before."""
    (one,) = runs.experiments((experiment,))
    written, distinct = growth(runs, one)[0].points[-1]
    return float(distinct / (written * 2**30))


def _over_the_best(names: Iterable[str], layout: str) -> Ours:
    """Return by how much SGC's WAF is above that of the best other scheme, in the workload where it is the most."""

    def ours(runs: Runs, _: str) -> float:
        schemes = [line for line in COMPARED if line != GGC]
        changes = {line: mean_changes(runs, names, layout, line, WAF) for line in schemes}
        sgc = changes.pop(SGC)
        best: list[float] = [min(0.0, *others) for others in zip(*changes.values(), strict=True)]
        return max((1 + one) / (1 + other) - 1 for one, other in zip(sgc, best, strict=True))

    return ours


def _agreement(layout: str, measure: Measure) -> Ours:
    """Return the share of pairs of SGC's runs in which the one with more shadows has the larger change."""

    def ours(runs: Runs, _: str) -> float:
        names = [in_layout(name, layout) for name in (*GIVEN, *VOLUMES)]
        of = [run for name in names for run in runs.of(name, SGC) if run.case.at in SWEPT_MIB]
        points = [(shadows(run.metrics), against_ggc(runs, run, measure) or 0.0) for run in of]
        pairs = [(one, other) for one, other in combinations(points, 2) if one[0] != other[0]]
        return mean(float((one[0] > other[0]) == (one[1] < other[1])) for one, other in pairs) if pairs else 0.0

    return ours


def claims() -> Iterator[Claim]:
    """Return the paper's numbers, of which we know only means over its traces, and what it says of figures 1 and 2."""
    about_all = partial(Claim, experiments=(), is_change=True)
    slow, linear = ("volume-10g", "volume-1g"), ("sequential",)
    modest = tuple(name for name in WORKLOADS if name not in (*GIVEN, *slow, *linear))
    classes = partial(Claim, "figure-1", ours=_new_pages)
    share = "writes to pages not written before, of all writes"
    yield classes(f"{share}, as src12", slow, 0.1, said="very few (at most 0.1)", kind=Kind.BOUND)
    yield classes(f"{share}, as prn1", modest, 0.6, said="a modest share (at most 0.6)", kind=Kind.BOUND)
    yield classes(f"{share}, as web2", linear, 1.0, said="almost all (1)")
    volumes = next(iter(GROUPS.values()))
    for layout in LAYOUTS:
        for figure, measure in (("figure-2a", WAF), ("figure-2b", GC_TIME)):
            for line, sign, said in ((DELAY, 0.01, "tends to degrade"), (SEPARATION, -0.05, "improves")):
                ours = _mean_change(volumes, layout, line, measure)
                yield about_all(figure, f"{SHORT[measure]}, {line}, {layout}", paper=sign, ours=ours, said=said)
    for layout in LAYOUTS:
        for group, names in GROUPS.items():
            of = f"mean change, {group}, {layout}"
            for line, paper in WAF_CHANGES.items():
                ours = _mean_change(names, layout, line, WAF)
                yield about_all("figure-6", f"WAF under {line}, {of}", paper=paper, ours=ours)
            ours = _mean_change(names, layout, SGC, GC_TIME)
            yield about_all("figure-7", f"GC time under {SGC}, {of}", paper=SGC_GC_TIME_CHANGE, ours=ours)
        extremes = (SGC_LEAST, SGC_BEST)
        what = f"WAF under {SGC}, least and most change, {layout}"
        yield about_all("figure-6", what, paper=extremes, ours=_sgc_range(layout))
        for group, names in GROUPS.items():
            of = f"{group}, {layout}"
            what = f"WAF under {SGC} over the best of the others, at most, {of}"
            best = _over_the_best(names, layout)
            yield about_all("figure-6", what, paper=0.0, ours=best, said="lower than all", kind=Kind.BOUND)
        for measure in (WAF, GC_TIME):
            what = f"pairs of runs in which more shadows go with a larger fall of {SHORT[measure]}, {layout}"
            agree = partial(Claim, "figure-8", experiments=(), said="all")
            yield agree(what, paper=1.0, ours=_agreement(layout, measure))
    refreshes = partial(about_all, "restart", paper=REFRESH_MAX, said="below 1 %", kind=Kind.BOUND)
    every = tuple(in_layout(name, layout) for layout in LAYOUTS for name in WORKLOADS)
    yield refreshes("refreshes, of all programs, at most", ours=_refresh_max(every))
    often = _refresh_max(RESTARTS)
    yield refreshes("refreshes, of all programs, with restarts, at most", ours=often)
    yield from _of_overheads()


def _of_overheads() -> Iterator[Claim]:
    """Return what the paper says of its costs, in sections 3.2 to 3.4."""
    about_all = partial(Claim, "overheads", experiments=())
    for layout in LAYOUTS:
        what = f"valid pages, of those of the blocks for shadows that GC chose, {layout}"
        yield about_all(what, paper=0.5, ours=_left_valid(layout), said="most are invalid", kind=Kind.BOUND)
    what = "memory for the states of shadows, 128 GB in pages of 16 KiB, MB"
    yield about_all(what, paper=2.0, ours=lambda runs, _: max(map(marks_bytes, _of_sgc(runs, TWO))) / 2**20)
    what = "messages for notices alone, the most of any run"
    yield about_all(what, paper=0.0, ours=_messages, said="no additional messages", kind=Kind.BOUND)
    what = f"WAF under {SGC} with 5 bytes for notices in a command, over that with 64, at most"
    yield about_all(what, paper=1.01, ours=_with_short_notices, said="5 bytes may be used", kind=Kind.BOUND)


def _of_sgc(runs: Runs, layout: str) -> list[Run]:
    return [run for name in WORKLOADS for run in runs.of(in_layout(name, layout), SGC)]


def _left_valid(layout: str) -> Ours:
    return lambda runs, _: left_valid(_of_sgc(runs, layout))


def _messages(runs: Runs, _: str) -> float:
    sent = (run.metrics["host"]["to_device"]["messages"] for layout in LAYOUTS for run in _of_sgc(runs, layout))
    return int(max(sent))


def _with_short_notices(runs: Runs, _: str) -> float:
    found = ([run.read(WAF) for run in runs.of(one.name)] for one in runs.experiments(NOTICED))
    return max(short / usual for usual, short, _ in found)
