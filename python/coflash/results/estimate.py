"""Means over runs, and their confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from coflash.quantity import Unit, show


class Estimate(NamedTuple):
    """A mean, with the half-width of its 95 % confidence interval (Student's t)."""

    mean: float | None
    """None if no run has a value."""
    half_width: float | None
    """None for fewer than two values, whose spread is unknown."""
    runs: int


def show_estimate(found: Estimate, unit: Unit) -> str:
    """Show a mean as text, with the half-width of its interval as a share of it: 2.84 ms ± 1.2 %."""
    text = show(found.mean, unit)
    if found.half_width is not None and found.mean:
        text += f" ± {show(found.half_width / abs(found.mean), 'share')}"
    return text


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
