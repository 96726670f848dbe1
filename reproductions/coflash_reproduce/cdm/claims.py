"""The numbers that the paper published, and the computation of ours."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from statistics import mean

from coflash.measures.measure import COPIED, MEAN, STDDEV, WAF_HOST, Measure
from coflash_reproduce.cdm import workloads as of
from coflash_reproduce.claim import Claim, Numbers, Ours
from coflash_reproduce.paper import Runs

RANDOM_WAF, SEQUENTIAL_WAF = 2.84, 1.0
"""The paper's measurements without a cache, over its capacities."""
COPIES_CHANGE = {"jedec": -0.483, "oltp": -0.544}
WAF_CHANGES = {"jedec": (-0.021, -0.176), "oltp": (-0.043, -0.382)}
MEAN_CHANGE = {"jedec": -0.097, "oltp": -0.203}
STDDEV_CHANGE = {"jedec": -0.31, "oltp": -0.39}
"""The paper's measurements of CDM against NVM-basic, over its cache sizes."""
GREATEST_WAF, MEAN_WAF_LIVE = 6.0, 2.07
"""The paper's measurements of JEDEC and OLTP without a cache; the mean is that of an earlier version in Korean."""
COPIES_MEAN, RESPONSE_MEAN, STDDEV_MEAN = -0.514, -0.15, -0.354
"""The averages of the paper's abstract, over both workloads."""
LIVE = (of.JEDEC_LIVE, of.UNIFORM_LIVE, of.OLTP_LIVE)


def mean_waf(runs: Runs, experiment: str, line: str) -> float:
    """Return the write amplification of a line, mean over its places."""
    return mean(run.read(WAF_HOST) for run in runs.of(experiment, line))


def over_random(runs: Runs, line: str) -> float:
    """Return the write amplification of a stand-in over that of random writes, mean over the capacities of both."""
    random, live = (_waf(runs, *of_line) for of_line in (("capacity", of.RANDOM), ("live-capacity", line)))
    return mean(live[at] / waf for at, waf in random.items() if at in live)


def _over_random(line: str, runs: Runs, _: str) -> float:
    return over_random(runs, line)


def _waf(runs: Runs, experiment: str, line: str) -> dict[float, float]:
    return {run.case.at: run.read(WAF_HOST) for run in runs.of(experiment, line)}


def _changes(runs: Runs, experiment: str, measure: Measure) -> list[float]:
    return runs.changes(experiment, of.CDM, of.BASELINE, measure)


def _mean_change(measure: Measure) -> Ours:
    return lambda runs, experiment: mean(_changes(runs, experiment, measure))


def _ends(runs: Runs, experiment: str) -> Numbers:
    """Return the least and the greatest change of write amplification."""
    changes = _changes(runs, experiment, WAF_HOST)
    return max(changes), min(changes)


def _greatest_waf(runs: Runs, experiment: str) -> float:
    return max(run.read(WAF_HOST) for line in LIVE for run in runs.of(experiment, line))


def _mean_waf_live(runs: Runs, experiment: str) -> float:
    return mean(mean_waf(runs, experiment, line) for line in LIVE)


def _over_all_random(share: Callable[[list[float]], float]) -> Ours:
    """Return the write amplification with a share of random writes over that with all."""

    def ours(runs: Runs, experiment: str) -> float:
        by_share = _waf(runs, experiment, of.ANYWHERE)
        return by_share[share([at for at in by_share if at])] / by_share[100]

    return ours


def _mean_of_both(measure: Measure) -> Ours:
    """Return the mean of JEDEC's change and OLTP's, each over its stand-ins."""

    def ours(runs: Runs, _: str) -> float:
        kinds = (runs.experiments(names) for names in (of.JEDEC, of.OLTP))
        return mean(mean(mean(_changes(runs, one.name, measure)) for one in several) for several in kinds)

    return ours


def _growing_steps(measure: Measure) -> Ours:
    """Return the share of steps to the next larger cache with which the saving grows, or stays complete."""

    def ours(runs: Runs, experiment: str) -> float:
        steps = itertools.pairwise(_changes(runs, experiment, measure))
        return mean(float(after < before or after <= -1) for before, after in steps)

    return ours


def claims() -> Iterator[Claim]:
    """Return the paper's numbers."""
    # The paper may repeat the same writes or the same kind of writes.
    for line, waf in ((of.RANDOM, RANDOM_WAF), (of.INDEPENDENT, RANDOM_WAF), (of.SEQUENTIAL, SEQUENTIAL_WAF)):
        ours = partial(mean_waf, line=line)
        yield Claim("figure-1", f"WAF, mean over the capacities: {line}", ("capacity",), waf, ours)
    for share, place in (("20 %", lambda _: 20), ("the least share of", min)):
        what = f"WAF with {share} random writes over that with 100 %"
        yield Claim("figure-2", what, ("random-share",), 1.0, _over_all_random(place), said="near 1")
    for which, waf, of_live in (("greatest", GREATEST_WAF, _greatest_waf), ("mean", MEAN_WAF_LIVE, _mean_waf_live)):
        title = f"WAF of JEDEC and OLTP, {which} over the capacities"
        yield Claim("figure-1-cd", title, ("live-capacity",), waf, of_live)
    for line in LIVE:
        title = f"WAF over that of random writes, mean over the capacities of both: {line}"
        yield Claim("figure-1-cd", title, (), 1.0, partial(_over_random, line), said="very similar")
    for figure, what, average, measure in (
        ("figure-6", "pages copied", COPIES_MEAN, COPIED),
        ("figure-8", "mean response", RESPONSE_MEAN, MEAN),
        ("figure-9", "its std. deviation", STDDEV_MEAN, STDDEV),
    ):
        title = f"{what}, mean change of JEDEC and OLTP (abstract)"
        yield Claim(figure, title, (), average, _mean_of_both(measure), is_change=True)
    for figure, saving, measure in (("figure-6", "the saving", COPIED), ("figure-7", "the saving of WAF", WAF_HOST)):
        title = f"steps to a larger cache with which {saving} grows"
        yield Claim(figure, title, of.CACHED, 1.0, _growing_steps(measure), said="all")
    for names, paper in ((of.JEDEC, "jedec"), (of.OLTP, "oltp")):
        for figure, what, numbers, measured in (
            ("figure-6", "pages copied, mean change", COPIES_CHANGE[paper], _mean_change(COPIED)),
            ("figure-7", "WAF, least and greatest change", WAF_CHANGES[paper], _ends),
            ("figure-8", "mean response, mean change", MEAN_CHANGE[paper], _mean_change(MEAN)),
            ("figure-9", "its std. deviation, mean change", STDDEV_CHANGE[paper], _mean_change(STDDEV)),
        ):
            yield Claim(figure, what, names, numbers, measured, is_change=True)
