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
    while low < (middle := low + (high - low) / 2) < high:
        if math.copysign(1, function(middle)) == math.copysign(1, below):
            low = middle
        else:
            high = middle
    return low if abs(function(low)) < abs(function(high)) else high
