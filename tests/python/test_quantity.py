"""Numbers as they are shown, and quantities of scenarios as they are read."""

from __future__ import annotations

from typing import Any

import pytest

from coflash.quantity import Unit, agreed, change, parsed, show, show_change, worths
from coflash.results.varying_keys import varied_keys

NBSP = "\N{NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, "ns", "0 ns"),
        (999, "ns", "999 ns"),
        (132_511, "ns", "133 µs"),
        (1_500, "ns", "1.50 µs"),
        (15_550_000, "ns", "15.6 ms"),
        (39_900_000_000, "ns", "39.9 s"),
        (9_710_000, "ns", "9.71 ms"),
        (9_497_000, "ns", "9.50 ms"),
        (9_997_000, "ns", "10.0 ms"),
        (99_960_000, "ns", "100 ms"),
        (64 * 2**20, "bytes", "64 MiB"),
        (1_503_238_553, "bytes", "1.40 GiB"),
        (1_234_567, "pages", "1,234,567"),
        (2.84, "ratio", "2.840"),
        (0.0264, "ratio", "0.026"),
        (9.9996, "ratio", "10.00"),
        (45.2704, "ratio", "45.27"),
        (181.454, "ratio", "181.5"),
        (12_345.6, "ratio", "12,346"),
        (0.01072, "years", "3.91 days"),
        (12.34, "years", "12.3 years"),
        (0.123, "share", f"12.3{NBSP}%"),
        (None, "ratio", "–"),
        (float("nan"), "ns", "–"),
    ],
)
def test_a_quantity_reads_in_the_unit_that_fits(value: float | None, unit: Unit, text: str) -> None:
    assert show(value, unit) == text


def test_a_change_is_relative_and_nothing_where_there_is_no_reference() -> None:
    assert change(80, 100) == pytest.approx(-0.2)
    assert change(80, 0) is None
    assert change(80, None) is None
    assert change(None, 100) is None
    assert show_change(-0.2) == f"−20.0{NBSP}%"
    assert show_change(0.055) == f"+5.5{NBSP}%"
    assert show_change(1864.426) == f"+186,443{NBSP}%"
    assert show_change(None) == ""


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("64MiB", (2**26, "bytes")),
        ("985MB", (985e6, "bytes")),
        ("25us", (25e3, "ns")),
        ("7.5%", (0.075, "share")),
        (3, (3.0, "")),
        ("greedy", None),
        (True, None),
        ("3 apples", None),
    ],
)
def test_quantities_of_scenarios_are_numbers(text: Any, number: tuple[float, str] | None) -> None:
    assert parsed(text) == number


def test_every_unit_of_a_scenario_is_read_and_shown_as_it_is_worth() -> None:
    for name, worth in worths().items():
        found = parsed(f"1{name}")
        assert found is not None
        assert found[0] == worth, name


@pytest.mark.parametrize(("texts", "unit"), [("1min,1h,30s", "ns"), ("2TB,1TB", "bytes"), ("20%,7%", "share")])
def test_what_a_sweep_varies_in_any_unit_makes_an_axis_of_numbers(texts: str, unit: str) -> None:
    (point,) = varied_keys([{"key": value} for value in texts.split(",")])
    assert point.unit == unit
    assert point.numbers == tuple(sorted(parsed(text)[0] for text in texts.split(",")))  # type: ignore[index]


def test_a_verb_agrees_with_its_count() -> None:
    assert [f"{count} {agreed(count, 'holds')}" for count in (0, 1, 2)] == ["0 hold", "1 holds", "2 hold"]
    assert [agreed(count, verb) for verb in ("is", "was", "has") for count in (1, 3)] == [
        "is", "are", "was", "were", "has", "have",
    ]  # fmt: skip


def test_volumes_of_a_fleet_are_told_apart_by_their_names_and_not_by_their_traces() -> None:
    volumes = [
        {"name": name, "workload": {"trace": [f"{name}.csv"]}, "cache": {"size": size}}
        for name in ("a", "b")
        for size in ("0B", "1MiB")
    ]
    assert [(key.path, key.along) for key in varied_keys(volumes)] == [
        ("name", ("workload.trace",)),
        ("cache.size", ()),
    ]
    same = [one | {"name": "a"} for one in volumes]
    assert [key.path for key in varied_keys(same)] == ["workload.trace", "cache.size"]
