"""Means over runs, and their confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Estimate(NamedTuple):
    """A mean, with the half-width of its 95 % confidence interval (Student's t)."""

    mean: float | None
    """None if no run has a value."""
    half_width: float | None
    """None for fewer than two values, whose spread is unknown."""
    runs: int

    @property
    def p_of_zero(self) -> float:
        """The p-value of the two-sided t-test that the mean is zero; 1 for fewer than two values."""
        if not self.mean or self.half_width is None:
            return 1.0
        if not self.half_width:
            return 0.0
        from scipy.special import stdtr, stdtrit

        error = self.half_width / float(stdtrit(self.runs - 1, 0.975))
        return 2 * float(stdtr(self.runs - 1, -abs(self.mean) / error))


def estimate(values: Sequence[float | None], confidence: float = 0.95) -> Estimate:
    """Estimate the mean of the known values."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    if not known:
        return Estimate(None, None, 0)
    mean = math.fsum(known) / len(known)
    if len(known) < 2:
        return Estimate(mean, None, 1)
    from scipy.special import stdtrit  # Student's t; slow to import, and a single seed does not need it

    variance = math.fsum((value - mean) ** 2 for value in known) / (len(known) - 1)
    quantile = float(stdtrit(len(known) - 1, (1 + confidence) / 2))
    return Estimate(mean, quantile * math.sqrt(variance / len(known)), len(known))
