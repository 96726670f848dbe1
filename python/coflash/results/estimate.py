"""Means over runs, and their confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from coflash.measures.measure import Measure
from coflash.measures.metrics import Metrics
from coflash.quantity import Unit, show
from coflash.roots import root


class Estimate(NamedTuple):
    """A mean, with the half-width of its 95 % confidence interval (Student's t)."""

    mean: float | None
    """None if no run has a value."""
    half_width: float | None
    """None for fewer than two values, whose spread is unknown."""
    runs: int
    rounding: float = 0.0
    """The part of the half-width that is due to values from bins."""

    @property
    def p_of_zero(self) -> float:
        """The p-value of the two-sided t-test that the mean is zero; 1 for fewer than two values.

        Of values from bins, that of the mean nearest to zero that the bins permit.
        """
        if self.mean is None or self.half_width is None or (least := abs(self.mean) - self.rounding) <= 0:
            return 1.0
        if self.half_width == self.rounding:
            return 0.0
        error = (self.half_width - self.rounding) / t_bound(0.95, self.runs - 1)
        return 1 - t_share(least / error, self.runs - 1)

    def widened(self, rounding: float) -> Estimate:
        """Return the estimate of values that may be off by an amount, as those from bins: its interval is wider."""
        if self.half_width is None:
            return self
        return self._replace(half_width=self.half_width + rounding, rounding=rounding)

    def bounds(self, least: float = -math.inf) -> tuple[float, float] | None:
        """Return the ends of the interval of a mean that is at least `least`; None without an interval."""
        if self.mean is None or self.half_width is None:
            return None
        return max(least, self.mean - self.half_width), self.mean + self.half_width


def show_estimate(found: Estimate, unit: Unit, beside: float | None = None) -> str:
    """Show the mean of a measure as text, with the half-width of its interval as a share of it: 2.84 ms ± 1.2 %.

    That of a share is in percentage points: 6.4 % ± 0.17 points.
    No measure is negative: an interval that would reach below zero begins there, and is shown by its ends:
    2.84 ms (0 … 6.12 ms). Beside another number it has the same unit as that.
    """
    text = show(found.mean, unit, beside)
    if not found.mean or found.half_width is None:
        return text
    if found.half_width > found.mean:
        return f"{text} (0 … {show(found.mean + found.half_width, unit, beside)})"
    width, of = (
        (100 * found.half_width, " points") if unit == "share" else (100 * found.half_width / found.mean, "\u00a0%")
    )
    return f"{text} ± {width:,.1f}{of}" if width >= 0.1 or not width else f"{text} ± {width:.1g}{of}"


def estimate_of(measure: Measure, runs: Iterable[Metrics]) -> Estimate:
    """Estimate the mean of a measure over runs. Where its values are the ends of bins, its interval is wider by one."""
    found = estimate([measure.read(metrics) for metrics in runs])
    return found.widened(measure.bin_width * (found.mean or 0.0))


def estimate(values: Sequence[float | None], confidence: float = 0.95) -> Estimate:
    """Estimate the mean of the known values."""
    known = [value for value in values if value is not None and math.isfinite(value)]
    if not known:
        return Estimate(None, None, 0)
    mean = known[0] if min(known) == max(known) else math.fsum(known) / len(known)
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
