"""Means over runs, and their confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from coflash.quantity import Unit, show
from coflash.roots import root


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
        error = self.half_width / t_bound(0.95, self.runs - 1)
        return 1 - t_share(self.mean / error, self.runs - 1)


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
    variance = math.fsum((value - mean) ** 2 for value in known) / (len(known) - 1)
    return Estimate(mean, t_bound(confidence, len(known) - 1) * math.sqrt(variance / len(known)), len(known))


def t_bound(share: float, degrees: int) -> float:
    """Return the t for which a given share of Student's distribution lies between −t and t."""
    angle = root(lambda angle: _t_share(angle, degrees) - share, 0.0, math.pi / 2)
    return math.sqrt(degrees) * math.tan(angle)


def t_share(t: float, degrees: int) -> float:
    """Return the share of Student's distribution between −t and t; the rest is the p-value of a two-sided test."""
    return _t_share(math.atan(abs(t) / math.sqrt(degrees)), degrees)


def _t_share(angle: float, degrees: int) -> float:
    """Return the share by its closed form (Abramowitz and Stegun, 26.7.3 and 26.7.4); tan(angle) is t / √degrees."""
    is_odd = degrees % 2
    term = math.cos(angle) if is_odd else 1.0
    total = 0.0
    for power in range(2 + is_odd, degrees + 1, 2):
        total += term
        term *= math.cos(angle) ** 2 * (power - 1) / power
    whole = math.sin(angle) * total
    return 2 / math.pi * (angle + whole) if is_odd else whole
