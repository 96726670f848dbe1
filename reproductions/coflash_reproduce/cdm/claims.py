"""The numbers that the paper published, and the computation of ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from statistics import mean

from coflash.measures.measure import COPIED, MEAN, STDDEV, WAF_HOST, Measure
from coflash.quantity import change
from coflash_reproduce.cdm import workloads as of
from coflash_reproduce.claim import READING, RISES, Claim, Kind, Numbers, Ours, climb
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
NEARLY = 0.05
"""Our reading of "almost identical"."""
LIVE = (of.UNIFORM_LIVE, of.ZIPF_LIVE, of.JEDEC_LIVE, of.OLTP_LIVE)
MAIN_LIVE = (of.UNIFORM_LIVE, of.ZIPF_LIVE)


def mean_waf(runs: Runs, experiment: str, line: str) -> float:
    """Return the write amplification of a line, mean over its places."""
    return mean(run.read(WAF_HOST) for run in runs.of(experiment, line))


def _over_random(line: str, runs: Runs, _: str) -> float:
    """Return the write amplification of a stand-in over that of random writes, mean over the capacities of both."""
    random, live = (runs.by_place(WAF_HOST, *one) for one in (("capacity", of.RANDOM), ("live-capacity", line)))
    return mean(live[at] / waf for at, waf in random.items() if at in live)


def changes_at(
    runs: Runs, experiment: str, measure: Measure, seed: int | None = None, line: str = of.CDM
) -> dict[float, float]:
    """Return CDM's change from the baseline by cache size, where the baseline collects; the mean of the seeds, or one.

    One rule for all measures: where the baseline copies nothing, there is nothing to save.
    """
    bases = {(run.case.at, run.seed): run for run in runs.of(experiment, of.BASELINE) if run.metrics.gc_copies_pages}
    found: dict[float, list[float]] = {}
    for run in runs.of(experiment, line):
        base = bases.get((run.case.at, run.seed))
        if base and seed in (None, run.seed):
            relative = change(measure.read(run.metrics), measure.read(base.metrics))
            found.setdefault(run.case.at, []).append(relative or 0.0)
    return {at: mean(of_seeds) for at, of_seeds in sorted(found.items())}


def mean_change(runs: Runs, experiment: str, measure: Measure) -> float | None:
    """Return the mean of these changes; None if the baseline never collects."""
    found = changes_at(runs, experiment, measure).values()
    return mean(found) if found else None


def judged_by(runs: Runs, main: str) -> str:
    """Return the experiment by which statements are judged: a trace of the user takes the place of OLTP's main one."""
    return main if runs.of(main) else "oltp"


def _mean_change(measure: Measure) -> Ours:
    return lambda runs, experiment: mean_change(runs, experiment, measure)


def _ends(runs: Runs, experiment: str) -> Numbers | None:
    """Return the least and the greatest change of write amplification."""
    found = changes_at(runs, experiment, WAF_HOST).values()
    return (max(found), min(found)) if found else None


def _greatest_waf(lines: Sequence[str]) -> Ours:
    return lambda runs, experiment: max(run.read(WAF_HOST) for line in lines for run in runs.of(experiment, line))


def _mean_waf_live(lines: Sequence[str]) -> Ours:
    return lambda runs, experiment: mean(mean_waf(runs, experiment, line) for line in lines)


def _off_random(line: str, runs: Runs, experiment: str) -> float:
    """Return by how much write amplification with some random writes is off that with all, the most at any share."""
    by_share = runs.by_place(WAF_HOST, experiment, line)
    return max((by_share[at] / by_share[100] - 1 for at in by_share if at), key=abs)


def _mean_of_both(measure: Measure) -> Ours:
    """Return the mean of JEDEC's change and OLTP's, in the main set-ups."""

    def ours(runs: Runs, _: str) -> float | None:
        found = [mean_change(runs, judged_by(runs, name), measure) for name in of.MAIN]
        known = [one for one in found if one is not None]
        return mean(known) if len(known) == len(found) else None

    return ours


def _growth(measure: Measure) -> Ours:
    """Return the rise of the saving with the cache."""

    def ours(runs: Runs, experiment: str) -> float | None:
        found = changes_at(runs, experiment, measure).values()
        return climb([-one for one in found]) if len(found) > 1 else None

    return ours


def claims() -> Iterator[Claim]:
    """Return the paper's numbers."""
    # The paper may repeat the same writes or the same kind of writes.
    for line, waf in ((of.RANDOM, RANDOM_WAF), (of.INDEPENDENT, RANDOM_WAF), (of.SEQUENTIAL, SEQUENTIAL_WAF)):
        what, aside = f"WAF, mean over the capacities: {line}", READING if line == of.INDEPENDENT else ""
        yield Claim("figure-1", what, ("capacity",), waf, partial(mean_waf, line=line), aside=aside)
    for line, aside in ((of.ANYWHERE, ""), (of.MIXED, READING)):
        what = f"WAF with some random writes against that with random writes alone, the most at any share: {line}"
        off = partial(Claim, "figure-2", what, ("random-share",), NEARLY, partial(_off_random, line))
        yield off(kind=Kind.ALIKE, is_change=True, said="almost identical", aside=aside)
    for lines, title, aside in ((MAIN_LIVE, "JEDEC and OLTP", ""), (LIVE, "all stand-ins", READING)):
        for which, waf, ours in (
            ("greatest", GREATEST_WAF, _greatest_waf(lines)),
            ("mean", MEAN_WAF_LIVE, _mean_waf_live(lines)),
        ):
            what = f"WAF of {title}, {which} over the capacities"
            yield Claim("figure-1-cd", what, ("live-capacity",), waf, ours, aside=aside)
    for line in LIVE:
        title = f"WAF over that of random writes, mean over the capacities of both: {line}"
        aside = "" if line in MAIN_LIVE else READING
        yield Claim("figure-1-cd", title, (), 1.0, partial(_over_random, line), said="very similar", aside=aside)
    for figure, what, average, measure in (
        ("figure-6", "pages copied", COPIES_MEAN, COPIED),
        ("figure-8", "mean response", RESPONSE_MEAN, MEAN),
        ("figure-9", "its std. deviation", STDDEV_MEAN, STDDEV),
    ):
        title = f"{what}, mean change of JEDEC and OLTP (abstract)"
        yield Claim(figure, title, (), average, _mean_of_both(measure), is_change=True, aside=READING)
    main = ("oltp", *of.MAIN)
    others = tuple(name for name in of.CACHED if name not in main)
    for names, aside in ((main, ""), (others, READING)):
        for figure, saving, measure in (("figure-6", "copies", COPIED), ("figure-7", "WAF", WAF_HOST)):
            title = f"saving of {saving} by cache size"
            grows = partial(Claim, figure, title, names, RISES, _growth(measure), kind=Kind.EFFECT, aside=aside)
            yield grows(said="the larger the cache, the more")
        for kind, paper in ((of.JEDEC, "jedec"), (of.OLTP, "oltp")):
            about = tuple(name for name in kind if name in names)
            for figure, what, numbers, measured in (
                ("figure-6", "pages copied, mean change", COPIES_CHANGE[paper], _mean_change(COPIED)),
                ("figure-7", "WAF, least and greatest change", WAF_CHANGES[paper], _ends),
                ("figure-8", "mean response, mean change", MEAN_CHANGE[paper], _mean_change(MEAN)),
                ("figure-9", "its std. deviation, mean change", STDDEV_CHANGE[paper], _mean_change(STDDEV)),
            ):
                yield Claim(figure, what, about, numbers, measured, is_change=True, aside=aside)
