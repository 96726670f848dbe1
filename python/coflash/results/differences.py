"""Paired differences between schemes: intervals and tests over seeds, and intervals over slices of the workload."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coflash.measures.measure import Measure
from coflash.quantity import change, show, show_change, signed
from coflash.results.estimate import estimate
from coflash.results.result import Result
from coflash.text_table import TextTable

if TYPE_CHECKING:
    from coflash.results.database import Results

_WORDS = json.loads(Path(__file__).with_name("method.json").read_text("utf-8"))
SEEDS_OF_A_TRACE, OF_BINS = _WORDS["seeds of a trace"], _WORDS["bins"]
METHOD: Sequence[str] = [sentence.format(of_bins=OF_BINS) for sentence in _WORDS["intervals"]]
"""A description of the intervals of a table of differences, in the words of a methods section."""


@dataclass(frozen=True)
class Interval:
    """A confidence interval of a difference, and its p-value."""

    low: float
    high: float
    p: float


@dataclass(frozen=True)
class Difference:
    """The difference of a measure between some runs and their partners."""

    measure: Measure
    baseline: float
    """The mean over the partners."""
    mean: float
    """The mean difference."""
    pairs: int
    """The number of pairs of runs, each of one seed."""
    over_seeds: Interval | None
    """None for a single pair."""
    over_slices: Interval | None
    """None for a measure that time series do not give, such as a percentile."""

    def texts(self) -> list[str]:
        """Write the measure, the baseline, the difference, and its intervals over seeds and slices."""
        unit = self.measure.unit
        relative = show_change(change(self.baseline + self.mean, self.baseline))
        shift = f"{signed(self.mean, unit)} ({relative})" if relative else signed(self.mean, unit)
        seeds = f"n = {self.pairs}"
        if self.over_seeds is not None:
            seeds = _interval(self.over_seeds, self.measure, self.pairs)
        slices = "–" if self.over_slices is None else _interval(self.over_slices, self.measure)
        return [self.measure.label, show(self.baseline, unit), shift, seeds, slices]


def difference(measure: Measure, baseline: Sequence[Result], others: Sequence[Result]) -> Difference | None:
    """Compare runs in pairs of the same seed; None if no pair has the measure.

    Args:
        measure: The measure.
        baseline: The partners, each with another seed.
        others: The runs of another scheme.
    """
    by_seed = {result.seed: result for result in baseline}
    pairs = [(by_seed[other.seed], other) for other in others if other.seed in by_seed]
    if not pairs and len(baseline) == len(others) == 1:
        pairs = [(baseline[0], others[0])]
    known = [(a, b) for a, b in pairs if measure.read(a.metrics) is not None and measure.read(b.metrics) is not None]
    if not known:
        return None
    values = [(measure.read(a.metrics) or 0.0, measure.read(b.metrics) or 0.0) for a, b in known]
    mean = math.fsum(a for a, _ in values) / len(values)
    found = estimate([b - a for a, b in values])
    found = found.widened(measure.bin_width * max(mean, mean + (found.mean or 0.0)))
    ends = found.bounds()
    by_t = None if ends is None else Interval(*ends, found.p_of_zero)
    return Difference(measure, mean, found.mean or 0.0, len(known), by_t, _by_slices(measure, known))


def _by_slices(measure: Measure, pairs: Sequence[tuple[Result, Result]]) -> Interval | None:
    import numpy as np

    from coflash.results.slices import RESAMPLES, sliced  # needs numpy

    cut = [(sliced(a.series(), measure.path), sliced(b.series(), measure.path)) for a, b in pairs]
    if any(a is None or b is None for a, b in cut):
        return None
    drawn = np.mean([b.resampled() - a.resampled() for a, b in cut if a is not None and b is not None], axis=0)
    if not np.all(np.isfinite(drawn)):
        return None
    low, high = np.quantile(drawn, [0.025, 0.975])
    # The observed difference itself is counted, so that p is never 0 (Davison and Hinkley, 1997).
    beyond = min(np.count_nonzero(drawn <= 0), np.count_nonzero(drawn >= 0))
    return Interval(float(low), float(high), min(1.0, 2 * (int(beyond) + 1) / (RESAMPLES + 1)))


def notes_on_seeds(results: Results, measures: Sequence[Measure]) -> list[str]:
    """State what intervals over seeds cover, if there are several seeds: nothing, percentiles, a replayed trace."""
    known = [[*filter(None, map(results.metrics, runs))] for runs in results.of_one_point() if len(runs) > 1]
    if not any(known):
        return []
    if all(measure.read(one) == measure.read(runs[0]) for runs in known for one in runs for measure in measures):
        return [_WORDS["alike"]]
    notes = [OF_BINS] if any(measure.bin_width for measure in measures) else []
    return [*notes, SEEDS_OF_A_TRACE] if results.is_replayed else notes


def differences_table(results: Results, runs: Sequence[str], measures: Sequence[Measure]) -> TextTable:
    """Make a table of the paired differences of other points from the first, with intervals and tests."""
    points = results.of_one_point()
    members = {run: [results[one] for one in next(group for group in points if run in group)] for run in runs}
    first, *others = results.labels(runs)
    table = TextTable(["to", "measure", f"from {first}", "difference", "95 % over seeds", "95 % over slices"], "llr")
    for label, run in zip(others, runs[1:], strict=True):
        for measure in measures:
            found = difference(measure, members[runs[0]], members[run])
            if found is not None:
                table.add(label, *found.texts())
    return table


def _interval(found: Interval, measure: Measure, pairs: int = 0) -> str:
    test = "p < 0.001" if found.p < 0.001 else f"p = {found.p:.3f}"
    ends = f"[{signed(found.low, measure.unit)}, {signed(found.high, measure.unit)}]"
    return f"{ends}, {f'n = {pairs}, ' if pairs else ''}{test}"
