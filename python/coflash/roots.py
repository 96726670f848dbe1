"""The root of a continuous function, without a library of 140 MB."""

from __future__ import annotations

import math
from collections.abc import Callable


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """Find where a continuous function changes its sign, to the precision of a float.

    By bisection, in some sixty steps.

    Raises:
        ValueError: The function has the same sign at both ends.
    """
    below = function(low)
    if math.copysign(1, below) == math.copysign(1, above := function(high)) and below and above:
        raise ValueError(
            f"the function is {above} at {high} and {below} at {low}; ends with different signs are allowed"
        )
    sign = -math.copysign(1, below) if below else math.copysign(1, above)
    while low < (middle := low + (high - low) / 2) < high:
        low, high = (low, middle) if math.copysign(1, function(middle)) == sign else (middle, high)
    return low if abs(function(low)) < abs(function(high)) else high
