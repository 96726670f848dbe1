"""The statements of the OP-FCL paper, and the same numbers from the runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from statistics import mean

from coflash.measures.measure import MEAN, Measure
from coflash.quantity import change
from coflash_reproduce.opfcl import model
from coflash_reproduce.opfcl.reading import (
    BOTH,
    GC_TIME,
    HITS,
    WITHIN,
    early_rise,
    erases_by_share,
    erases_ratio,
    excess,
    halves_of_days,
    held,
    late_excess,
    least,
    most_erases,
    only,
    settled,
    tracker_share,
)
from coflash_reproduce.opfcl.workloads import (
    BY_PERIOD,
    BY_UNIT,
    CONFIG_1,
    CONFIG_2,
    DAYS,
    FP,
    OP,
    OP_THROUGH,
    PERIOD_LOG2,
    RW,
    UNIT_KIB,
    sensitivity,
    with_rivals,
)
from coflash_reproduce.paper import Claim, Runs

ERASES_RATIO = 3.0
"""The largest reduction of erases."""
FINANCIAL_USE = (0.5, 0.625)
"""2 to 2.5 of 4 GB."""
BEST_SHARES = {
    FP: {"financial": 0.6, "home": 0.5, "search": 0.95, "exchange": 0.7, "msn": 0.8},
    RW: {"financial": 0.6, "home": 0.5, "search": 0.95, "exchange": 0.8, "msn": 0.8},
}
"""The fixed shares that the paper found best."""
ERASES_AXES = {"financial": 14, "home": 80, "search": 5, "exchange": 120, "msn": 120}
"""The ends of figure 14's axes: the most erases of a block are a little less."""
MUCH = 0.8
"""Our reading of "very poorly", "far less efficient" and "noticeable": a change by a fifth."""

AS_FAST = 0.01
"""What a line may rise before its least value or fall after it: so much is chance."""

SMALL = ("financial", "home", "search", "given")
WRITERS = ("financial", "home", "given", *CONFIG_2)

Number = Callable[[Runs, str], float]


def claims() -> Iterator[Claim]:
    """Return the paper's statements, in the order of its figures."""
    yield from _of_the_model()
    for figure, names in (("figure-6", CONFIG_1), ("figure-10", CONFIG_2)):
        yield from _of_responses(figure, names)
    for figure, measure, traces in (
        ("figure-7", GC_TIME, SMALL),
        ("figure-8", HITS, SMALL),
        ("figure-11", GC_TIME, CONFIG_2),
        ("figure-12", HITS, CONFIG_2),
    ):
        what = f"{measure.label}, FP-FCL: the most by which it falls where the caching space grows"
        yield _bound(figure, what, traces, 0.0, partial(_fall, measure), said="rises all along", is_change=True)
    yield from _of_the_servers()
    what = "hit rate, FP-FCL: the most by which it is off a straight line"
    yield _bound("figure-8", what, ("search",), WITHIN, _bend, said="almost linear", is_change=True)
    yield from _of_sizes()
    yield from _of_erases()
    yield from _of_parameters()
    what = "memory of the workload tracker, of the flash, the most over the workloads"
    yield _bound("workloads", what, (), 0.01, _most_tracked, said="roughly 1 %", is_change=True)
    yield _bound(
        "rivals",
        "mean response, OP-FCL, write-back over write-through",
        [with_rivals(name) for name in WRITERS],
        MUCH,
        partial(_over, OP, OP_THROUGH),
        said="write-through is far less efficient",
    )


def _of_the_model() -> Iterator[Claim]:
    for figure, what, number, ours in (
        ("figure-3", "u of least cost, reads only", model.READS_U, lambda *_: model.best_of_reads().u),
        ("figure-4", "u of least cost, reads and writes", model.BOTH_U, lambda *_: model.best_of_both().u),
        ("figure-4", "r of least cost, reads and writes", model.BOTH_R, lambda *_: model.best_of_both().r),
    ):
        yield _number(figure, what, (), number, ours)


def _of_responses(figure: str, names: Sequence[str]) -> Iterator[Claim]:
    against = "mean response, OP-FCL against the best fixed share of"
    for what, said, above in (
        (f"{against} FP-FCL", "about the same", excess),
        ("the same over the second half of the run", "about the same", late_excess),
        (f"{against} RW-FCL", "almost the same", partial(excess, over=RW)),
    ):
        yield _bound(figure, what, names, WITHIN, above, said=said, is_change=True)
    rw = "mean response, the best RW-FCL against the best FP-FCL"
    for rivalry, of, most, rw_over_fp, said in (
        (rw, ("financial", "home"), 0.0, _rw_over_fp, "lower"),
        (f"{rw}, without sign", ("search", "msn"), WITHIN, _rw_beside_fp, "almost identical"),
    ):
        if among := [name for name in of if name in names]:
            yield _bound(figure, rivalry, among, most, rw_over_fp, said=said, is_change=True)
    for line in (FP, RW):
        what = f"mean response, {line}: the most by which it rises before its least, or falls after it"
        said = "falls to its least, then rises"
        yield _bound(figure, what, names, AS_FAST, partial(_not_a_valley, line), said=said, is_change=True)
    for line, shares in BEST_SHARES.items():
        for name in names:
            if name in shares:
                yield _number(figure, f"best fixed share of {line}", (name,), shares[name], partial(_best_share, line))


def _of_the_servers() -> Iterator[Claim]:
    """Why RW-FCL may use a larger share than FP-FCL under Exchange, and not under MSN."""
    what = "hit rate at 80 %, FP-FCL over RW-FCL"
    yield _bound("figure-12", what, ("exchange",), 1.0, partial(_fp_over_rw, HITS, 80), said="RW-FCL's is higher")
    what = "rise of GC time from 70 to 80 %, RW-FCL over FP-FCL"
    yield _bound("figure-11", what, ("exchange",), 1.0, _rise_over_fp, said="FP-FCL's is steeper")
    what = "hit rate, RW-FCL against FP-FCL, the most at any share, without sign"
    yield _bound("figure-12", what, ("msn",), WITHIN, _rates_apart, said="almost the same curves", is_change=True)


def _of_sizes() -> Iterator[Claim]:
    yield Claim(
        "figure-9",
        "caching space that OP-FCL uses, second half, least and most",
        ("financial",),
        FINANCIAL_USE,
        _used,
        is_change=False,
    )
    yield _bound(
        "figure-9",
        "caching space that OP-FCL uses, second half, mean",
        ("home",),
        0.5,
        lambda runs, name: mean(settled(only(runs, name).metrics)),
        said="less than half",
    )
    yield _bound(
        "figure-9",
        "flash beyond the caching space of OP-FCL, second half, mean",
        ("search",),
        0.5,
        lambda runs, name: 1 - mean(settled(only(runs, name).metrics)),
        said="most is caching space",
    )
    what = "data in flash: the most by which it falls until it is near what it is in the second half"
    yield _bound("figure-13", what, CONFIG_2, AS_FAST, _fall_while_filling, said="grows from empty", is_change=True)
    for figure, names in (("figure-9", ("search",)), ("figure-13", CONFIG_2)):
        what = "caching space of OP-FCL, second half, the most over the least"
        yield _bound(figure, what, names, 1 / MUCH, _range_when_settled, said="stabilises")
    for figure, name in zip(("figure-9", "figure-13"), DAYS, strict=True):
        what = "caching space after half a day of writes over that after half a day of reads, OP-FCL"
        yield _bound(figure, what, (name,), 1 - WITHIN, _swing, said="goes up and down with the workload")


def _of_erases() -> Iterator[Claim]:
    for name, end in ERASES_AXES.items():
        what = "erases of a block, FP-FCL at its largest share"
        yield _number("figure-14", what, (name,), end, most_erases, said=f"axis to {end}")
    what = "erases, FP-FCL: the rise up to 70 % of the flash, of that up to the largest share"
    yield _bound("figure-14", what, WRITERS, 0.25, early_rise, said="slight up to 70 %, then sharp")
    what = "erases, FP-FCL at 80 % over those at the smallest share"
    yield _bound("figure-14", what, ("search",), MUCH, _dip, said="noticeable drop")
    what = "erases, OP-FCL over FP-FCL at 70 %"
    yield _bound("figure-14", what, WRITERS, 1.0, _erases_over_fp, said="low")
    what = "erases, FP-FCL at its largest share, over the least of the other workloads"
    yield _bound("figure-14", what, ("search",), MUCH, _over_the_others, said="noticeably lower")
    yield _number(
        "figure-14",
        "erases, FP-FCL at its largest share over OP-FCL, the most over the workloads",
        (),
        ERASES_RATIO,
        lambda runs, _: max(erases_ratio(runs, one) for one in runs.experiments(BOTH)),
        said="up to 3",
    )


def _of_parameters() -> Iterator[Claim]:
    units, periods = sensitivity(BY_UNIT), sensitivity(BY_PERIOD)
    usual = 2.0 ** (PERIOD_LOG2 - 10)
    what = "mean response with a sequential unit of 128 KiB over that with 4 KiB"
    yield _bound("figure-15a", what, units, MUCH, partial(_between, UNIT_KIB, 4), said="4 KiB: very poorly")
    what = "mean response, the most over the least, 16 to 512 KiB"
    yield _bound("figure-15a", what, units, 1 + WITHIN, partial(_spread, 16, 512), said="similar")
    what = "mean response, the most over the least, periods of 2^14 to 2^16"
    yield _bound("figure-15b", what, periods, 1 + WITHIN, partial(_spread, 16, 64), said="consistent")
    what = "mean response with a period of 2^16 over that with 2^12"
    yield _bound("figure-15b", what, (f"home-{BY_PERIOD}",), 1.0, partial(_between, usual, 4), said="2^12: worse")
    what = "mean response with a period of 2^14 over that with 2^12"
    yield _bound("figure-15b", what, (f"home-{BY_PERIOD}",), 1.0, partial(_between, 16, 4), said="worse, the shorter")
    what = "mean response with a period of 2^16 over that with 2^18"
    yield _bound("figure-15b", what, periods, 1.0, partial(_between, usual, 256), said="2^18: slightly worse")
    what = "mean response with a period of 2^16 over that with 2^20"
    servers = [f"{name}-{BY_PERIOD}" for name in CONFIG_2]
    yield _bound("figure-15b", what, servers, 1.0, partial(_between, usual, 1024), said="2^20: degrades")


def _number(figure: str, what: str, names: Sequence[str], paper: float, ours: Number, said: str = "") -> Claim:
    return Claim(figure, what, tuple(names), (paper,), partial(_one, ours), is_change=False, said=said)


def _bound(
    figure: str, what: str, names: Sequence[str], most: float, ours: Number, *, said: str, is_change: bool = False
) -> Claim:
    return Claim(figure, what, tuple(names), (most,), partial(_one, ours), is_change=is_change, said=said, at_most=True)


def _one(of: Number, runs: Runs, experiment: str) -> tuple[float, ...]:
    return (of(runs, experiment),)


def _rw_over_fp(runs: Runs, experiment: str) -> float:
    rw, fp = (MEAN.read(least(runs, experiment, line).metrics) for line in (RW, FP))
    return change(rw, fp) or 0.0


def _rw_beside_fp(runs: Runs, experiment: str) -> float:
    return abs(_rw_over_fp(runs, experiment))


def _best_share(line: str, runs: Runs, experiment: str) -> float:
    return least(runs, experiment, line).case.at / 100


def _fall(measure: Measure, runs: Runs, experiment: str) -> float:
    values = [measure.read(run.metrics) or 0.0 for run in runs.of(experiment, FP)]
    return max([0.0, *(1 - after / before for before, after in pairwise(values) if before)])


def _by_share(measure: Measure, runs: Runs, experiment: str, line: str) -> dict[float, float]:
    return {run.case.at: measure.read(run.metrics) or 0.0 for run in runs.of(experiment, line)}


def _not_a_valley(line: str, runs: Runs, experiment: str) -> float:
    values = list(_by_share(MEAN, runs, experiment, line).values())
    lowest = values.index(min(values))
    steps = [(before, after) for before, after in pairwise(values[: lowest + 1])]
    steps += [(after, before) for before, after in pairwise(values[lowest:])]
    return max([0.0, *(after / before - 1 for before, after in steps)])


def _bend(runs: Runs, experiment: str) -> float:
    points = list(_by_share(HITS, runs, experiment, FP).items())
    (first, low), (last, high) = points[0], points[-1]
    line = [(value, low + (high - low) * (at - first) / (last - first)) for at, value in points]
    return max(abs(value / straight - 1) for value, straight in line if straight)


def _near(values: dict[float, float], at: float) -> float:
    """Return the value at a share, or at the nearest one that was run."""
    return values[min(values, key=lambda one: abs(one - at))]


def _fp_over_rw(measure: Measure, at: float, runs: Runs, experiment: str) -> float:
    return _near(_by_share(measure, runs, experiment, FP), at) / _near(_by_share(measure, runs, experiment, RW), at)


def _rise_over_fp(runs: Runs, experiment: str) -> float:
    lines = [_by_share(GC_TIME, runs, experiment, line) for line in (RW, FP)]
    rw, fp = (_near(values, 80) - _near(values, 70) for values in lines)
    return rw / fp if fp else 0.0


def _rates_apart(runs: Runs, experiment: str) -> float:
    fp, rw = (_by_share(HITS, runs, experiment, line) for line in (FP, RW))
    return max(abs(rw[at] / fp[at] - 1) for at in rw if fp.get(at))


def _used(runs: Runs, experiment: str) -> tuple[float, ...]:
    used = settled(only(runs, experiment).metrics)
    return min(used), max(used)


def _fall_while_filling(runs: Runs, experiment: str) -> float:
    values = held(only(runs, experiment).metrics)
    near = MUCH * mean(values[len(values) // 2 :])
    filling = values[: next(at for at, value in enumerate(values) if value >= near) + 1]
    return max([0.0, *(1 - after / before for before, after in pairwise(filling) if before)])


def _range_when_settled(runs: Runs, experiment: str) -> float:
    used = settled(only(runs, experiment).metrics)
    return max(used) / min(used)


def _most_tracked(runs: Runs, _: str) -> float:
    return max(tracker_share(only(runs, one.name)) for one in runs.experiments(BOTH))


def _swing(runs: Runs, experiment: str) -> float:
    writes, reads = halves_of_days(only(runs, experiment))
    return mean(writes) / mean(reads)


def _dip(runs: Runs, experiment: str) -> float:
    erases = erases_by_share(runs, experiment)
    first = erases[min(erases)]
    return erases[max(at for at in erases if at <= 80)] / first if first else 0.0


def _erases_over_fp(runs: Runs, experiment: str) -> float:
    ours = only(runs, experiment).metrics.erase_count.mean or 0.0
    fixed = _near(erases_by_share(runs, experiment), 70)
    return ours / fixed if fixed else 0.0


def _over_the_others(runs: Runs, experiment: str) -> float:
    others = min(most_erases(runs, one.name) for one in runs.experiments(BOTH) if one.name != experiment)
    return most_erases(runs, experiment) / others if others else 0.0


def _means(runs: Runs, experiment: str) -> dict[float, float]:
    return {run.case.at: MEAN.read(run.metrics) or 0.0 for run in runs.of(experiment)}


def _between(at: float, over: float, runs: Runs, experiment: str) -> float:
    means = _means(runs, experiment)
    return _near(means, at) / _near(means, over)


def _spread(first: float, last: float, runs: Runs, experiment: str) -> float:
    means = [mean for at, mean in _means(runs, experiment).items() if first <= at <= last]
    return max(means) / min(means)


def _over(line: str, other: str, runs: Runs, experiment: str) -> float:
    one, over = (MEAN.read(only(runs, experiment, of).metrics) or 0.0 for of in (line, other))
    return one / over
