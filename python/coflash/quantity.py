"""How numbers are shown: three or four significant digits, with the unit that reads best; and how they are read."""

from __future__ import annotations

import difflib
import math
import re
from decimal import Decimal
from typing import Literal

from coflash._core import CoflashError

Unit = Literal["ratio", "share", "pages", "blocks", "requests", "ns", "bytes", ""]

_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns"))
_SIZES = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))

_WORTH = {
    "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
    "ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9,
    "%": 1, "": 1,
}  # fmt: skip
QUANTITY = r"[-+]?[\d_]+(?:\.\d+)?(?:[eE][-+]?\d+)?\s*[A-Za-z%]*"
"""A number and its unit, as a regular expression without groups."""


def show(value: float | None, unit: Unit) -> str:
    """`value` as text: 1,234,567 · 2.84 · 132.5 µs · 64 MiB · 12.3 %; a dash where there is none."""
    if value is None or not math.isfinite(value):
        return "–"
    match unit:
        case "ns":
            return _scaled(value, _TIMES)
        case "bytes":
            return _scaled(value, _SIZES)
        case "share":
            return f"{value:.1%}".replace("%", "\N{NO-BREAK SPACE}%").replace("-", "−")
        case "ratio":
            return f"{value:.3f}"
        case "" if value != round(value):
            return f"{value:.4g}"
    return f"{value:,.0f}"


def change(value: float | None, reference: float | None) -> float | None:
    """The relative change from `reference` to `value`; None where it means nothing."""
    if value is None or not reference:
        return None
    return value / reference - 1


def show_change(relative: float | None) -> str:
    """A relative change as text: −12.3 %."""
    if relative is None:
        return ""
    return f"{relative:+.1%}".replace("%", "\N{NO-BREAK SPACE}%").replace("-", "−")


def read(text: str) -> tuple[Decimal, str, Decimal]:
    """A quantity of a scenario, such as 64MiB, 25us, 5% or 8, exactly.

    Returns:
        The number in its base unit; the base unit (B, ns, % or none); how many of it the unit given is worth.

    Raises:
        CoflashError: It is none.
    """
    if not re.fullmatch(QUANTITY, text.strip()):
        msg = f"{text!r} was given; a number and its unit is allowed, such as 64MiB, 25us, 5% or 8"
        raise CoflashError(msg)
    number = text.strip().rstrip("%ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
    unit = text.strip()[len(number) :]
    if unit not in _WORTH:
        near = difflib.get_close_matches(unit, _WORTH, 1, 0.4)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        msg = f"{text!r} has the unit {unit!r}{meant} (allowed: {', '.join(filter(None, _WORTH))})"
        raise CoflashError(msg)
    base = unit if unit in ("", "%") else "B" if unit.endswith("B") else "ns"
    return Decimal(number.strip()) * _WORTH[unit], base, Decimal(_WORTH[unit])


def _scaled(value: float, scales: tuple[tuple[float, str], ...]) -> str:
    factor, unit = next((scale for scale in scales if abs(value) >= scale[0]), scales[-1])
    scaled = value / factor
    if scaled == round(scaled):
        return f"{scaled:,.0f} {unit}"
    return f"{scaled:,.{max(0, 3 - len(f'{abs(scaled):.0f}'))}f} {unit}"
