"""Roots, Student's distribution and Latin hypercubes, against those of SciPy, which is no dependency."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtr, stdtrit
from scipy.stats import qmc

from coflash.results.estimate import t_bound, t_share
from coflash.roots import root
from coflash.sweep.design import assignments, axis


@given(st.floats(-50, 50), st.floats(1e-3, 1e3), st.sampled_from(["line", "cube", "exp", "step", "flat"]))
def test_a_root_is_found_to_the_last_bits(at: float, scale: float, shape: str) -> None:
    shapes: dict[str, Callable[[float], float]] = {
        "line": lambda x: scale * (x - at),
        "cube": lambda x: float((x - at) ** 3),
        "exp": lambda x: math.expm1((x - at) / 10),
        "step": lambda x: -1.0 if x < at else 1.0,
        "flat": lambda x: math.copysign(math.sqrt(abs(x - at)), x - at),
    }
    calls = 0

    def counted(x: float) -> float:
        nonlocal calls
        calls += 1
        return shapes[shape](x)

    found = root(counted, at - 20 - scale, at + 70)
    # Of the cube, all is zero within the cube root of the least number.
    assert abs(found - at) <= (1e-100 if shape == "cube" else 0) + 4 * math.ulp(max(1.0, abs(at)))
    # Towards zero there are ever more numbers: 1,081 powers of two, and two steps for each.
    assert calls < (200 if abs(at) > 1e-9 else 2_500)


def test_a_root_at_an_end_is_found_and_none_is_refused() -> None:
    assert root(lambda x: x - 1, 1.0, 3.0) == 1.0
    assert root(lambda x: x - 3, 1.0, 3.0) == 3.0
    with pytest.raises(ValueError, match="different signs"):
        root(lambda x: x * x + 1, -1.0, 1.0)


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 9, 10, 31, 100, 999])
def test_students_distribution_is_that_of_scipy(degrees: int) -> None:
    for share in (0.5, 0.9, 0.95, 0.99, 0.999):
        bound = t_bound(share, degrees)
        assert bound == pytest.approx(float(stdtrit(degrees, (1 + share) / 2)), rel=1e-11)
        assert t_share(-bound, degrees) == pytest.approx(share, abs=1e-12)
        assert 1 - t_share(bound, degrees) == pytest.approx(2 * float(stdtr(degrees, -bound)), abs=1e-12)


@pytest.mark.parametrize(("samples", "seed"), [(1, 0), (5, 7), (64, 3)])
def test_a_latin_hypercube_is_that_of_scipy(samples: int, seed: int) -> None:
    points = assignments([axis("link.coding=0.0..1.0"), axis("replay.time_scale=1.0..2.0")], "lhs", samples, seed)
    expected = qmc.LatinHypercube(2, rng=np.random.default_rng(seed)).random(samples) + np.array([0, 1])
    assert np.array([[float(value) for _, value in point] for point in points]) == pytest.approx(expected, abs=1e-6)
