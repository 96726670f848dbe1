"""The statements of the OP-FCL paper, and the same numbers from the runs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from statistics import mean

from coflash.measures.measure import MEAN, Measure
from coflash_reproduce.claim import FALLS, INPUT, READING, RISES, Claim, Kind, Numbers, climb, valley
from coflash_reproduce.opfcl import model, reading
from coflash_reproduce.opfcl import workloads as of
from coflash_reproduce.paper import Runs

ERASES_RATIO = 3.0
"""The largest reduction of erases."""
FINANCIAL_USE = (0.5, 0.625)
"""2 to 2.5 of 4 GB."""
BEST_SHARES = {
    of.FP: {"financial": 0.6, "home": 0.5, "search": 0.95, "exchange": 0.7, "msn": 0.8},
    of.RW: {"financial": 0.6, "home": 0.5, "search": 0.95, "exchange": 0.8, "msn": 0.8},
}
"""The fixed shares that the paper found best."""
ERASES_AXES = {"financial": 14, "home": 80, "search": 5, "exchange": 120, "msn": 120}
"""The ends of figure 14's axes: the most erases of a block are a little less."""
MUCH = 0.2
"""Our reading of "very poorly", "far less efficient" and "noticeable": a change by a fifth."""
SEQUENTIAL_LEAST = 0.01
"""The least share of the pages past the cache with which the sequential unit may matter."""

SMALL: tuple[str, ...] = ("financial", "home", "search", "given")
WRITERS = ("financial", "home", "given", *of.CONFIG_2)
OTHERS = ("financial-narrow", "home-slow", "home-still")
"""Other readings of Financial and Home."""

alike = partial(Claim, kind=Kind.ALIKE, is_change=True)
effect = partial(Claim, kind=Kind.EFFECT)
bound = partial(Claim, kind=Kind.BOUND)
change_bound = partial(bound, is_change=True)


def claims() -> Iterator[Claim]:
    """Return the paper's statements, in the order of its figures."""
    both = "reads and writes"
    yield Claim("figure-3", "u of least cost, reads only", (), model.READS_U, lambda *_: model.best_of_reads().u)
    yield Claim("figure-4", f"u of least cost, {both}", (), model.BOTH_U, lambda *_: model.best_of_both().u)
    yield Claim("figure-4", f"r of least cost, {both}", (), model.BOTH_R, lambda *_: model.best_of_both().r)
    for figure, all_names in (("figure-6", of.CONFIG_1), ("figure-10", of.CONFIG_2)):
        yield from _of_responses(figure, all_names)
    for figure, measure, names in (
        ("figure-7", reading.GC_TIME, SMALL),
        ("figure-8", reading.HITS, SMALL),
        ("figure-11", reading.GC_TIME, of.CONFIG_2),
        ("figure-12", reading.HITS, of.CONFIG_2),
    ):
        what = f"{measure.label}, FP-FCL, by caching space"
        yield effect(figure, what, names, RISES, partial(_climb, measure), said="rises all along")
    yield from _of_the_servers()
    what = "hit rate, FP-FCL: the most by which it is off a straight line"
    yield alike("figure-8", what, ("search",), reading.WITHIN, _bend, said="almost linear")
    yield from _of_sizes()
    yield from _of_erases()
    yield from _of_parameters()
    what = "memory of the lists of the workload tracker, of the flash, the most over the workloads"
    yield change_bound("workloads", what, (), 0.01, _most_tracked, said="roughly 1 %")
    what, writers = "mean response, OP-FCL, write-back against write-through", tuple(map(of.with_rivals, WRITERS))
    yield effect("rivals", what, writers, FALLS, _over_through, said="write-through is far less efficient", least=MUCH)


def _of_responses(figure: str, names: tuple[str, ...]) -> Iterator[Claim]:
    against = "mean response, OP-FCL against the best fixed share of"
    rw, nearly = "mean response, the best RW-FCL against the best FP-FCL", "almost identical"
    yield alike(figure, f"{against} FP-FCL", names, reading.WITHIN, reading.excess, said="about the same")
    yield alike(
        figure, f"{against} RW-FCL", names, reading.WITHIN, partial(reading.excess, over=of.RW), said="almost the same"
    )
    late = "the same as FP-FCL over the second half of the run"
    yield alike(figure, late, names, reading.WITHIN, reading.late_excess, said="about the same", aside=READING)
    lower, same, falling = (
        tuple(name for name in names if name in of) for of in (("financial", "home"), ("search", "msn"), ("search",))
    )
    if lower:
        yield alike(
            figure, f"{against} FP-FCL", OTHERS, reading.WITHIN, reading.excess, said="about the same", aside=READING
        )
        yield effect(figure, rw, lower, FALLS, _rw_over_fp, said="lower")
    yield alike(figure, rw, same, reading.WITHIN, _rw_over_fp, said=nearly)
    for line in (of.FP, of.RW):
        what, valleys = f"mean response, {line}, by caching space", tuple(name for name in names if name != "search")
        curve = partial(effect, figure, what)
        both_legs = (FALLS, RISES)
        yield curve(valleys, both_legs, partial(_valley, line), said="falls to its least, then rises")
        if falling:
            yield curve(falling, FALLS, partial(_descent, line), said="falls all along")
    for line, shares in BEST_SHARES.items():
        for name in (name for name in names if name in shares):
            ours = partial(_best_share, line)
            yield Claim(figure, f"best fixed share of {line}", (name,), shares[name], ours)


def _of_the_servers() -> Iterator[Claim]:
    """Why RW-FCL may use a larger share than FP-FCL under Exchange, and not under MSN."""
    what = "hit rate at 80 %, RW-FCL against FP-FCL"
    yield effect(
        "figure-12", what, ("exchange",), RISES, partial(_rw_against_fp, reading.HITS, 80), said="RW-FCL's is higher"
    )
    what = "rise of GC time from 70 to 80 %, RW-FCL against FP-FCL"
    yield effect("figure-11", what, ("exchange",), FALLS, _rise_against_fp, said="FP-FCL's is steeper")
    what = "hit rate, RW-FCL against FP-FCL, the most at any share"
    yield alike("figure-12", what, ("msn",), reading.WITHIN, _rates_apart, said="almost the same curves")


def _of_sizes() -> Iterator[Claim]:
    used, half = "caching space that OP-FCL uses, second half", "most is caching space"
    yield Claim("figure-9", f"{used}, least and most", ("financial",), FINANCIAL_USE, _used)
    # How often the hot set moves on was chosen for it.
    yield bound("figure-9", f"{used}, mean", ("home",), 0.5, _used_mean, said="less than half", aside=INPUT)
    yield bound("figure-9", f"{used}, mean", OTHERS[1:], 0.5, _used_mean, said="less than half", aside=READING)
    what, moves = f"{used}, rise from the least to the most", ("financial", "home")
    yield effect("figure-9", what, moves, RISES, _moves, said="increases and decreases repeatedly", least=MUCH)
    what = "flash beyond the caching space of OP-FCL, second half, mean"
    yield bound("figure-9", what, ("search",), 0.5, lambda *at: 1 - _used_mean(*at), said=half)
    what = "data in flash until it is near what it is in the second half"
    yield effect("figure-13", what, of.CONFIG_2, RISES, _filling, said="grows from empty")
    for figure, names in (("figure-9", ("search",)), ("figure-13", of.CONFIG_2)):
        what = "caching space of OP-FCL, second half, the most over the least"
        yield bound(figure, what, names, 1 + MUCH, _range_when_settled, said="stabilises")
    for figure, name in zip(("figure-9", "figure-13"), of.DAYS, strict=True):
        what = "caching space after half a day of writes against that after half a day of reads, OP-FCL"
        yield effect(
            figure, what, (name,), FALLS, _swing, said="goes up and down with the workload", least=reading.WITHIN
        )


def _of_erases() -> Iterator[Claim]:
    largest = "erases, FP-FCL at its largest share"
    for name, end in ERASES_AXES.items():
        what = "erases of a block, FP-FCL at its largest share"
        yield Claim("figure-14", what, (name,), end, reading.most_erases, said=f"axis to {end}")
    what = "erases, FP-FCL: the rise up to 70 % of the flash, of that up to the largest share"
    yield bound("figure-14", what, WRITERS, 0.25, reading.early_rise, said="slight up to 70 %, then sharp")
    what = "erases, FP-FCL at 80 % against those at the smallest share"
    yield effect("figure-14", what, ("search",), FALLS, _dip, said="noticeable drop", least=MUCH)
    what = "erases, OP-FCL over FP-FCL at 70 %"
    yield bound("figure-14", what, WRITERS, 1.0, _erases_over_fp, said="low")
    what = f"{largest}, against the least of the other workloads"
    yield effect("figure-14", what, ("search",), FALLS, _against_the_others, said="noticeably lower", least=MUCH)
    what = f"{largest} over OP-FCL, the most over the workloads"
    yield Claim("figure-14", what, (), ERASES_RATIO, _most_saved, said="up to 3")


def _of_parameters() -> Iterator[Claim]:
    units, periods, home = (
        of.sensitivity(of.BY_UNIT),
        of.sensitivity(of.BY_PERIOD),
        of.sensitivity(of.BY_PERIOD, ("home",)),
    )
    servers = of.sensitivity(of.BY_PERIOD, of.CONFIG_2)
    what = "mean response with a sequential unit of 128 KiB against that with 4 KiB"
    ours = partial(_between, of.UNIT_KIB, 4)
    yield effect("figure-15a", what, units, FALLS, ours, said="4 KiB: very poorly", least=MUCH)
    what = "mean response, the most over the least, 16 to 512 KiB"
    yield bound("figure-15a", what, units, 1 + reading.WITHIN, _spread_of_units, said="similar")
    what = "mean response, the most over the least, periods of 2^14 to 2^16"
    yield bound("figure-15b", what, periods, 1 + reading.WITHIN, partial(_spread, 16, 64), said="consistent")
    for at, over, names, said in (
        (16, 12, home, "2^12: worse"),
        (14, 12, home, "worse, the shorter"),
        (16, 18, periods, "2^18: slightly worse"),
        (16, 20, servers, "2^20: degrades"),
    ):
        what = f"mean response with a period of 2^{at} against that with 2^{over}"
        ours = partial(_between, 2.0 ** (at - 10), 2.0 ** (over - 10))
        yield effect("figure-15b", what, names, FALLS, ours, said=said)


def _rw_over_fp(runs: Runs, experiment: str) -> float:
    rw, fp = (reading.least(runs, experiment, line) for line in (of.RW, of.FP))
    return rw.change(fp, MEAN) or 0.0


def _best_share(line: str, runs: Runs, experiment: str) -> float:
    return reading.least(runs, experiment, line).case.at / 100


def _climb(measure: Measure, runs: Runs, experiment: str) -> float:
    return climb([*runs.by_place(measure, experiment, of.FP).values()])


def _valley(line: str, runs: Runs, experiment: str) -> Numbers:
    return valley(list(runs.by_place(MEAN, experiment, line).values()))


def _descent(line: str, runs: Runs, experiment: str) -> float:
    return -climb([*runs.by_place(MEAN, experiment, line).values()][::-1])


def _bend(runs: Runs, experiment: str) -> float:
    points = list(runs.by_place(reading.HITS, experiment, of.FP).items())
    (first, low), (last, high) = points[0], points[-1]
    line = [(value, low + (high - low) * (at - first) / (last - first)) for at, value in points]
    return max((value / straight - 1 for value, straight in line if straight), key=abs)


def _near(values: dict[float, float], at: float) -> float:
    """Return the value at a share, or at the nearest one that was run."""
    return values[min(values, key=lambda one: abs(one - at))]


def _rw_against_fp(measure: Measure, at: float, runs: Runs, experiment: str) -> float:
    fp, rw = (_near(runs.by_place(measure, experiment, line), at) for line in (of.FP, of.RW))
    return rw / fp - 1


def _rise_against_fp(runs: Runs, experiment: str) -> float | None:
    lines = [runs.by_place(reading.GC_TIME, experiment, line) for line in (of.RW, of.FP)]
    rw, fp = (_near(values, 80) - _near(values, 70) for values in lines)
    return rw / fp - 1 if fp > 0 else None


def _rates_apart(runs: Runs, experiment: str) -> float:
    fp, rw = (runs.by_place(reading.HITS, experiment, line) for line in (of.FP, of.RW))
    return max((rw[at] / fp[at] - 1 for at in rw if fp.get(at)), key=abs)


def _used(runs: Runs, experiment: str) -> Numbers:
    used = reading.settled(reading.only(runs, experiment).metrics)
    return min(used), max(used)


def _used_mean(runs: Runs, experiment: str) -> float:
    return mean(reading.settled(reading.only(runs, experiment).metrics))


def _filling(runs: Runs, experiment: str) -> float:
    values = reading.held(reading.only(runs, experiment).metrics)
    near = (1 - MUCH) * mean(values[len(values) // 2 :])
    return climb(values[: next(at for at, value in enumerate(values) if value >= near) + 1])


def _range_when_settled(runs: Runs, experiment: str) -> float:
    used = reading.settled(reading.only(runs, experiment).metrics)
    return max(used) / min(used)


def _moves(runs: Runs, experiment: str) -> float:
    return _range_when_settled(runs, experiment) - 1


def _most_tracked(runs: Runs, _: str) -> float:
    return max(
        reading.tracker_share(reading.only(runs, one.name), with_index=False) for one in runs.experiments(reading.BOTH)
    )


def _most_saved(runs: Runs, _: str) -> float:
    return max(reading.erases_ratio(runs, one) for one in runs.experiments(reading.BOTH))


def _swing(runs: Runs, experiment: str) -> float:
    writes, reads = reading.halves_of_days(reading.only(runs, experiment))
    return mean(writes) / mean(reads) - 1


def _dip(runs: Runs, experiment: str) -> float | None:
    erases = runs.by_place(reading.ERASES, experiment, of.FP)
    first = erases[min(erases)]
    return erases[max(at for at in erases if at <= 80)] / first - 1 if first else None


def _erases_over_fp(runs: Runs, experiment: str) -> float | None:
    fixed = _near(runs.by_place(reading.ERASES, experiment, of.FP), 70)
    return reading.only(runs, experiment).read(reading.ERASES) / fixed if fixed else None


def _against_the_others(runs: Runs, experiment: str) -> float | None:
    others = min(
        reading.most_erases(runs, one.name) for one in runs.experiments(reading.BOTH) if one.name != experiment
    )
    return reading.most_erases(runs, experiment) / others - 1 if others else None


def _between(at: float, over: float, runs: Runs, experiment: str) -> float:
    found = runs.by_place(MEAN, experiment)
    return _near(found, at) / _near(found, over) - 1


def _spread(first: float, last: float, runs: Runs, experiment: str) -> float:
    found = [one for at, one in runs.by_place(MEAN, experiment).items() if first <= at <= last]
    return max(found) / min(found)


def _spread_of_units(runs: Runs, experiment: str) -> float | None:
    """Return how much the unit matters; None if no unit has anything to pass by the cache."""
    past = max(reading.past_the_cache(run.metrics) for run in runs.of(experiment) if run.case.at >= 16)
    return _spread(16, 512, runs, experiment) if past >= SEQUENTIAL_LEAST else None


def _over_through(runs: Runs, experiment: str) -> float:
    back, through = (reading.only(runs, experiment, line).read(MEAN) for line in (of.OP, of.OP_THROUGH))
    return back / through - 1
