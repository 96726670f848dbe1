"""The numbers that the paper published, and the computation of ours."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from statistics import mean

from coflash.measures.measure import COPIED, MEAN, STDDEV, WAF_HOST, Measure
from coflash_reproduce.cdm.workloads import (
    ANYWHERE,
    BASELINE,
    CACHED,
    CDM,
    INDEPENDENT,
    JEDEC,
    JEDEC_LIVE,
    OLTP,
    OLTP_LIVE,
    RANDOM,
    SEQUENTIAL,
    UNIFORM_LIVE,
)
from coflash_reproduce.paper import Claim, Runs

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
LIVE = (JEDEC_LIVE, UNIFORM_LIVE, OLTP_LIVE)


def mean_waf(runs: Runs, experiment: str, line: str) -> float:
    """Return the write amplification of a line, mean over its places."""
    return mean(run.metrics.waf_host or 0 for run in runs.of(experiment, line))


def _mean_waf_of(line: str, runs: Runs, _: str) -> tuple[float, ...]:
    return (mean_waf(runs, "capacity", line),)


def _mean_change(measure: Measure) -> Callable[[Runs, str], tuple[float, ...]]:
    return lambda runs, experiment: (mean(runs.changes(experiment, CDM, BASELINE, measure)),)


def _range_of_changes(measure: Measure) -> Callable[[Runs, str], tuple[float, ...]]:
    def ends(runs: Runs, experiment: str) -> tuple[float, ...]:
        changes = runs.changes(experiment, CDM, BASELINE, measure)
        return max(changes), min(changes)

    return ends


def _greatest_waf(runs: Runs, experiment: str) -> tuple[float, ...]:
    return (max(run.metrics.waf_host or 0 for line in LIVE for run in runs.of(experiment, line)),)


def _mean_waf_live(runs: Runs, experiment: str) -> tuple[float, ...]:
    return (mean(mean_waf(runs, experiment, line) for line in LIVE),)


def over_random(runs: Runs, line: str) -> float:
    """Return the write amplification of a stand-in over that of random writes, mean over the capacities of both."""
    random = {run.case.at: run.metrics.waf_host or 0 for run in runs.of("capacity", RANDOM)}
    live = {run.case.at: run.metrics.waf_host or 0 for run in runs.of("live-capacity", line)}
    return mean(live[at] / waf for at, waf in random.items() if at in live)


def _over_random(line: str, runs: Runs, _: str) -> tuple[float, ...]:
    return (over_random(runs, line),)


def _at_20_percent(runs: Runs, experiment: str) -> tuple[float, ...]:
    by_share = {run.case.at: run.metrics.waf_host or 0 for run in runs.of(experiment, ANYWHERE)}
    return (by_share[20] / by_share[100],)


def _with_few_random(runs: Runs, experiment: str) -> tuple[float, ...]:
    by_share = {run.case.at: run.metrics.waf_host or 0 for run in runs.of(experiment, ANYWHERE) if run.case.at}
    return (by_share[min(by_share)] / by_share[100],)


def _mean_of_both(measure: Measure) -> Callable[[Runs, str], tuple[float, ...]]:
    """Return the mean of JEDEC's change and OLTP's, each over its stand-ins."""

    def of_both(runs: Runs, _: str) -> tuple[float, ...]:
        kinds = ([one.name for one in runs.experiments(names)] for names in (JEDEC, OLTP))
        return (mean(mean(_mean_change(measure)(runs, name)[0] for name in names) for names in kinds),)

    return of_both


def _growing_steps(measure: Measure, runs: Runs, experiment: str) -> tuple[float, ...]:
    """Return the share of steps to the next larger cache with which the saving grows, or stays complete."""
    changes = runs.changes(experiment, CDM, BASELINE, measure)
    return (mean(float(after < before or after <= -1) for before, after in itertools.pairwise(changes)),)


def claims() -> Iterator[Claim]:
    """Return the paper's numbers."""
    capacity, share = ("capacity",), ("random-share",)
    # The paper may repeat the same writes or the same kind of writes.
    for line in (RANDOM, INDEPENDENT):
        yield Claim(
            "figure-1",
            f"WAF, mean over the capacities: {line}",
            capacity,
            (RANDOM_WAF,),
            partial(_mean_waf_of, line),
            is_change=False,
        )
    yield Claim(
        "figure-1",
        f"WAF, mean over the capacities: {SEQUENTIAL}",
        capacity,
        (SEQUENTIAL_WAF,),
        partial(_mean_waf_of, SEQUENTIAL),
        is_change=False,
    )
    yield Claim(
        "figure-2",
        "WAF with 20 % random writes over that with 100 %",
        share,
        (1.0,),
        _at_20_percent,
        is_change=False,
        said="near 1",
    )
    yield Claim(
        "figure-2",
        "WAF with the least share of random writes over that with 100 %",
        share,
        (1.0,),
        _with_few_random,
        is_change=False,
        said="near 1",
    )
    for what, waf, of_live in (
        ("greatest", GREATEST_WAF, _greatest_waf),
        ("mean", MEAN_WAF_LIVE, _mean_waf_live),
    ):
        title = f"WAF of JEDEC and OLTP, {what} over the capacities"
        yield Claim("figure-1-cd", title, ("live-capacity",), (waf,), of_live, is_change=False)
    for line in LIVE:
        title = f"WAF over that of random writes, mean over the capacities of both: {line}"
        ratio = partial(_over_random, line)
        yield Claim("figure-1-cd", title, (), (1.0,), ratio, is_change=False, said="very similar")
    for figure, what, average, measure in (
        ("figure-6", "pages copied", COPIES_MEAN, COPIED),
        ("figure-8", "mean response", RESPONSE_MEAN, MEAN),
        ("figure-9", "its std. deviation", STDDEV_MEAN, STDDEV),
    ):
        title = f"{what}, mean change of JEDEC and OLTP (abstract)"
        yield Claim(figure, title, (), (average,), _mean_of_both(measure), is_change=True)
    for figure, saving, measure in (("figure-6", "the saving", COPIED), ("figure-7", "the saving of WAF", WAF_HOST)):
        title = f"steps to a larger cache with which {saving} grows"
        steps = partial(_growing_steps, measure)
        yield Claim(figure, title, CACHED, (1.0,), steps, is_change=False, said="all")
    for names, of in ((JEDEC, "jedec"), (OLTP, "oltp")):
        for figure, what, paper, ours in (
            ("figure-6", "pages copied, mean change", (COPIES_CHANGE[of],), _mean_change(COPIED)),
            ("figure-7", "WAF, least and greatest change", WAF_CHANGES[of], _range_of_changes(WAF_HOST)),
            ("figure-8", "mean response, mean change", (MEAN_CHANGE[of],), _mean_change(MEAN)),
            ("figure-9", "its std. deviation, mean change", (STDDEV_CHANGE[of],), _mean_change(STDDEV)),
        ):
            yield Claim(figure, what, names, paper, ours, is_change=True)
