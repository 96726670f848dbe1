from __future__ import annotations

import re
from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coflash import CoflashError
from coflash.sweep.design import DESIGNS, Axis, Choices, Design, Range, assignments, axis, axis_of

NAMES = st.sampled_from(["a", "b.c", "d.e.f"])
AXES = st.dictionaries(NAMES, st.integers(1, 6), min_size=1).map(
    lambda sizes: [axis_of(key, [f"{key}{n}" for n in range(size)]) for key, size in sizes.items()]
)


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("none,cdm", ["none", "cdm"]),
        ("1..4", ["1", "2", "3", "4"]),
        ("1..8:3", ["1", "4", "7"]),
        ("1,2,5..7", ["1", "2", "5", "6", "7"]),
        ("64MiB..256MiB*2", ["67108864B", "134217728B", "268435456B"]),
        ("512KiB..1MiB:256KiB", ["524288B", "786432B", "1048576B"]),
        ("100us..1ms*10", ["100000ns", "1000000ns"]),
        ("5%..10%:2.5%", ["5%", "7.5%", "10%"]),
        ("0.1..0.3:0.1", ["0.1", "0.2", "0.3"]),
        ('"a,b",c', ['"a,b"', "c"]),
        ('{name="x", d=1},[1, 2]', ['{name="x", d=1}', "[1, 2]"]),
        ("../a..b", ["../a..b"]),
        ("a,a", ["a"]),
    ],
)
def test_values_are_lists_and_ranges(text: str, points: list[str]) -> None:
    assert list(axis(f"k={text}").points()) == points


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("k", "KEY=VALUES"),
        ("k=", "empty value"),
        ("k=a,,b", "empty value"),
        ("k=[1,2", "not closed"),
        ("k=1..", "LOW..HIGH"),
        ("k=1..2MiB", "different units"),
        ("k=8..1", "goes down"),
        ("k=1..8:0", "above 0"),
        ("k=1..8:1MiB", "unit of the ends"),
        ("k=1..8*1", "above 1"),
        ("k=0..8*2", "above 0"),
        ("k=1Mib..2MiB", 'did you mean "MiB"'),
        ("k=64MiB..1GiB", "64MiB..1GiB*2"),
        ("k=0.1..0.5", "add a step"),
        ("k=1..9999999", "at most"),
    ],
)
def test_what_describes_no_axis_is_said(text: str, message: str) -> None:
    with pytest.raises(CoflashError, match=re.escape(message)):
        axis(text).points()


@given(AXES)
def test_a_grid_is_every_combination_once(axes: list[Axis]) -> None:
    points = assignments(axes, "grid")
    expected = set(product(*([(a.key, value) for value in a.points()] for a in axes)))
    assert set(points) == expected
    assert len(points) == len(expected)


@given(AXES, st.integers(1, 40), st.integers(0, 3), st.sampled_from(["random", "lhs"]))
def test_drawn_points_lie_on_the_axes_and_follow_from_the_seed(
    axes: list[Axis], samples: int, seed: int, design: Design
) -> None:
    points = assignments(axes, design, samples, seed)
    assert 1 <= len(points) <= samples
    assert points == assignments(axes, design, samples, seed)
    for point in points:
        assert all(value in a.points() for (_, value), a in zip(point, axes, strict=True))


@given(st.integers(2, 30), st.integers(0, 5))
def test_a_latin_hypercube_takes_every_value_of_an_axis_as_often(samples: int, seed: int) -> None:
    axes = [axis(f"a=1..{samples}"), axis(f"b=1..{samples}")]
    points = assignments(axes, "lhs", samples, seed)
    for column in range(2):
        assert set(Counter(point[column][1] for point in points).values()) == {1}


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.floats(0, 1, exclude_max=True))
def test_a_value_of_a_range_is_within_it(one: int, other: int, share: float) -> None:
    low, high = sorted((one, other))
    found = axis(f"k={low}..{high}").at if low != high else Choices("k", (str(low),)).at
    assert low <= int(found(share)) <= high
    sizes = axis(f"k={low}KiB..{high}KiB")
    assert isinstance(sizes, Range)
    assert low * 1024 <= int(sizes.at(share).removesuffix("B")) <= high * 1024
    assert int(sizes.at(share).removesuffix("B")) % 1024 == 0


def test_a_list_takes_values_side_by_side() -> None:
    assert assignments([axis("a=1,2"), axis("b=x,y")], "list") == [
        (("a", "1"), ("b", "x")),
        (("a", "2"), ("b", "y")),
    ]
    with pytest.raises(CoflashError, match="a has 2, b has 3"):
        assignments([axis("a=1,2"), axis("b=x,y,z")], "list")


def test_a_key_is_varied_once_and_a_design_has_a_name() -> None:
    with pytest.raises(CoflashError, match="varied twice"):
        assignments([axis("a=1,2"), axis("a=3")])
    with pytest.raises(CoflashError, match='did you mean "grid"'):
        assignments([axis("a=1")], "gird")  # type: ignore[arg-type]
    with pytest.raises(CoflashError, match="at least 1"):
        assignments([axis("a=1")], "lhs", 0)
    assert all(assignments([], design) == [()] for design in DESIGNS)
