"""The statements of the ShadowGC paper, and the same numbers from the runs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations
from statistics import mean

from coflash.measures.measure import Measure
from coflash_reproduce.claim import FALLS, INPUT, READING, RISES, Claim, Kind, Numbers, Ours
from coflash_reproduce.paper import Run, Runs
from coflash_reproduce.shadowgc import reading
from coflash_reproduce.shadowgc import workloads as its

SHORT = {reading.WAF: "WAF", reading.GC_TIME: "GC time"}
"""The measures as statements call them."""
_APART = 0.01
"""The least difference of shares of shadows, in points of the pages moved, that tells two workloads apart."""


def claims() -> Iterator[Claim]:
    """Return what the paper says, in the order of its figures; of its numbers only means over its traces are known."""
    yield from _of_footprints()
    about_all = partial(Claim, experiments=())
    for figure, measure in (("figure-2a", reading.WAF), ("figure-2b", reading.GC_TIME)):
        for line, way, said in ((its.DELAY, RISES, "tends to degrade"), (its.SEPARATION, FALLS, "improves")):
            what = f"{SHORT[measure]}, {line}"
            effect = partial(about_all, figure, kind=Kind.EFFECT, said=said)
            yield effect(what, paper=way, ours=_main_change(line, measure))
            yield effect(f"{what}, mean of the workloads", paper=way, ours=_average(line, measure), aside=READING)
        strong = max(its.LAMBDAS)
        what = f"{SHORT[measure]}, {its.DELAY} with λ = {strong}"
        yield effect(what, paper=RISES, ours=_heaviest(measure), said="tends to degrade", aside=READING)
    for (what, (line, measure)), paper in zip(reading.AVERAGES.items(), reading.PAPERS, strict=True):
        number = partial(about_all, "figure-6" if measure is reading.WAF else "figure-7", paper=paper, is_change=True)
        chosen = INPUT if line == its.ZGC else ""  # the weight of a zombie was chosen for it
        yield number(f"{what}, mean change", ours=_main_change(line, measure), aside=chosen)
        yield number(f"{what}, mean of the workloads", ours=_average(line, measure), aside=READING)
        for name in reading.TERABYTE:
            ours = _change(name, line, measure)
            yield number(
                f"{what}, 1 TiB live, {name.removeprefix('terabyte-')} active blocks", ours=ours, aside=READING
            )
    extremes, what = (
        (reading.SGC_LEAST, reading.SGC_BEST),
        f"WAF under {its.SGC}, least and most change of a workload",
    )
    yield about_all("figure-6", what, paper=extremes, ours=_range, is_change=True, aside=INPUT)
    what = f"WAF under {its.SGC} against the best of the others"
    yield Claim("figure-6", what, its.WORKLOADS, FALLS, _over_the_best, kind=Kind.EFFECT, said="lower than all")
    for measure in (reading.WAF, reading.GC_TIME):
        what = f"pairs of workloads of which the one with more shadows has the larger fall of {SHORT[measure]}"
        yield about_all("figure-8", what, paper=1.0, ours=_agreement(measure), said="all")
    for kind in ("no restart", "sudden"):
        what = "refreshes, of all programs, over four weeks" + (", with restarts" if kind == "sudden" else "")
        bound = partial(about_all, "restart", kind=Kind.BOUND, is_change=True, said="below 1 %")
        yield bound(what, paper=reading.REFRESH_MAX, ours=partial(_refreshes, kind))
    yield from _of_overheads()


def _of_footprints() -> Iterator[Claim]:
    """Return what the paper says of figure 1, which our workloads were chosen to have."""
    linear, slow = ("sequential",), ("hot-cold",)
    modest = tuple(name for name in its.TITLES if name not in (*slow, *linear))
    share = "writes to pages not written before, of all writes"
    classes = partial(Claim, "figure-1", ours=_new_pages, kind=Kind.BOUND, aside=INPUT)
    for like, names, most, said in (("src12", slow, 0.1, "very few"), ("prn1", modest, 0.6, "a modest share")):
        yield classes(f"{share}, as {like}", names, most, said=f"{said} (at most {most:g})")
    yield Claim("figure-1", f"{share}, as web2", linear, 1.0, _new_pages, said="almost all (1)", aside=INPUT)


def _of_overheads() -> Iterator[Claim]:
    """Return what the paper says of its costs, in sections 3.2 to 3.4."""
    about_all = partial(Claim, "overheads", experiments=())
    what = "valid pages, of those of the blocks for shadows that GC chose"
    yield about_all(what, paper=0.5, ours=_left_valid, said="most are invalid", kind=Kind.BOUND)
    what = "memory for the states of shadows, 128 GB in pages of 16 KiB, MB"
    yield about_all(
        what, paper=2.0, ours=lambda runs, _: max(map(reading.marks_bytes, runs.of(its.MAIN, its.SGC))) / 2**20
    )
    what = "messages for notices alone, the most of any run"
    # Notices that go with commands are what we chose.
    yield about_all(what, paper=0.0, ours=_messages, said="no additional messages", kind=Kind.BOUND, aside=INPUT)
    what = f"WAF under {its.SGC} with 5 bytes for notices in a command, against that with 64"
    yield about_all(what, paper=0.01, ours=_short_notices, said="5 bytes may be used", kind=Kind.ALIKE, is_change=True)


def _change(name: str, line: str, measure: Measure) -> Ours:
    return lambda runs, _: reading.changed(runs, name, line, measure)


def _main_change(line: str, measure: Measure) -> Ours:
    """Return the mean change of the user's traces, or that of the main set-up where none is given."""

    def ours(runs: Runs, _: str) -> float | None:
        names = [one.name for one in runs.experiments(its.GIVEN)] or [its.MAIN]
        found = [value for name in names if (value := reading.changed(runs, name, line, measure)) is not None]
        return mean(found) if found else None

    return ours


def _average(line: str, measure: Measure) -> Ours:
    return lambda runs, _: reading.normalised(runs, (line,), measure)["average"][line] - 1


def _heaviest(measure: Measure) -> Ours:
    def ours(runs: Runs, _: str) -> float | None:
        (base,), heaviest = runs.of("lambda", its.GGC), runs.at("lambda", its.DELAY, max(its.LAMBDAS))
        return heaviest.change(base, measure) if heaviest else None

    return ours


def _range(runs: Runs, _: str) -> Numbers:
    found = [of[its.SGC] - 1 for of in reading.normalised(runs, (its.SGC,), reading.WAF).values()]
    return max(found), min(found)


def _over_the_best(runs: Runs, name: str) -> float | None:
    changes = {line: reading.changed(runs, name, line, reading.WAF) for line in its.COMPARED[1:]}
    known = {line: 1 + change for line, change in changes.items() if change is not None}
    sgc = known.pop(its.SGC, None)
    return None if sgc is None else sgc / min(1.0, *known.values()) - 1


def _agreement(measure: Measure) -> Ours:
    """Return the share of pairs of workloads in which more shadows go with a larger fall; None without such a pair."""

    def ours(runs: Runs, _: str) -> float | None:
        points = [
            (
                mean(reading.shadows(run.metrics) for run in runs.of(name, its.SGC)),
                reading.changed(runs, name, its.SGC, measure) or 0.0,
            )
            for name in (one.name for one in runs.experiments(its.WORKLOADS))
        ]
        pairs = [(one, other) for one, other in combinations(points, 2) if abs(one[0] - other[0]) >= _APART]
        return mean(float((one[0] > other[0]) == (one[1] < other[1])) for one, other in pairs) if pairs else None

    return ours


def _new_pages(runs: Runs, experiment: str) -> float:
    """Return the share of writes that go to pages not written before."""
    (one,) = runs.experiments((experiment,))
    written, distinct = reading.growth(runs, one)[0].points[-1]
    return float(distinct / (written * 2**30))


def _refreshes(kind: str, runs: Runs, _: str) -> float | None:
    """Return the share of refreshes; None where no block for shadows was there, or could fall due in the time."""
    (run,) = runs.of("restart", kind)
    refresh = run.scenario.to_dict()["ftl"]["refresh"]
    due_ns = 3.6e12 * (_hours(refresh["fast_retention"]) - _hours(refresh["power_off"]))
    could = run.metrics["shadows"]["fast_pages"] and (kind != "no restart" or run.metrics.simulated_ns > due_ns)
    return reading.refreshed(run.metrics) if could else None


def _hours(text: str) -> float:
    return float(text.removesuffix("h"))


def _of_sgc(runs: Runs) -> list[Run]:
    return [run for one in runs.experiments(its.WORKLOADS) for run in runs.of(one.name, its.SGC)]


def _left_valid(runs: Runs, _: str) -> float | None:
    return reading.left_valid(_of_sgc(runs))


def _messages(runs: Runs, _: str) -> float:
    return float(max(run.metrics["host"]["to_device"]["messages"] for run in _of_sgc(runs)))


def _short_notices(runs: Runs, _: str) -> float | None:
    usual, short, _more = runs.of("notices")
    return short.change(usual, reading.WAF)
