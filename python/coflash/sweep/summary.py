"""What a sweep found: for each point the mean over its seeds, and how far off it may be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Estimate(NamedTuple):
    """A mean, with the half-width of its 95 % confidence interval (Student's t)."""

    mean: float | None
    """None where no run has a value."""
    half_width: float | None
    """None where there are fewer than two values: nothing is known of their spread."""
    runs: int


def estimate(values: Sequence[float | None], confidence: float = 0.95) -> Estimate:
    """The mean of the values that are there."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    if not known:
        return Estimate(None, None, 0)
    mean = math.fsum(known) / len(known)
    if len(known) < 2:
        return Estimate(mean, None, 1)
    from scipy.stats import t  # takes a while, and a sweep over one seed needs none

    variance = math.fsum((value - mean) ** 2 for value in known) / (len(known) - 1)
    quantile = float(t.ppf((1 + confidence) / 2, len(known) - 1))
    return Estimate(mean, quantile * math.sqrt(variance / len(known)), len(known))
