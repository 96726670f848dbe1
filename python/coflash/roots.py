"""The root of a continuous function, without a library of 140 MB."""

from __future__ import annotations

import math
from collections.abc import Callable

_EPSILON = 2.0**-52


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """Find where a continuous function changes its sign, to the precision of a float.

    Inverse quadratic interpolation where three points allow it, otherwise bisection.

    Source: T. R. Chandrupatla, "A new hybrid quadratic/bisection algorithm for finding the zero of a nonlinear
    function without using derivatives", Advances in Engineering Software 28(3), 1997.

    Raises:
        ValueError: The function has the same sign at both ends.
    """
    a, b = high, low
    fa, fb = function(a), function(b)
    if math.copysign(1, fa) == math.copysign(1, fb) and fa and fb:
        raise ValueError(f"the function is {fb} at {low} and {fa} at {high}; ends with different signs are allowed")
    part = 0.5
    while True:
        x = a + part * (b - a)
        fx = function(x)
        c, fc = a, fa  # the point that is left out
        if math.copysign(1, fx) != math.copysign(1, fa):
            c, fc, b, fb = b, fb, a, fa
        a, fa = x, fx
        best = a if abs(fa) < abs(fb) else b
        tolerance = _EPSILON * abs(best) + 5e-324
        if not min(abs(fa), abs(fb)) or tolerance >= abs(b - a) / 2:
            return best
        part = 0.5
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        if phi**2 < xi and (1 - phi) ** 2 < 1 - xi:
            part = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        least = tolerance / abs(b - a)
        part = min(1 - least, max(least, part))
