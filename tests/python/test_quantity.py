from __future__ import annotations

import pytest

from coflash.quantity import Unit, change, show, show_change

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
        (64 * 2**20, "bytes", "64 MiB"),
        (1_503_238_553, "bytes", "1.40 GiB"),
        (1_234_567, "pages", "1,234,567"),
        (2.84, "ratio", "2.840"),
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
    assert show_change(None) == ""
