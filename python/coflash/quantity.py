"""How numbers are shown: three or four significant digits, with the unit that reads best."""

from __future__ import annotations

import math
from typing import Literal

Unit = Literal["ratio", "share", "pages", "blocks", "requests", "ns", "bytes"]

_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns"))
_SIZES = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))


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
            return f"{value:.1%}".replace("%", "\N{NO-BREAK SPACE}%")
        case "ratio":
            return f"{value:.3f}"
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


def _scaled(value: float, scales: tuple[tuple[float, str], ...]) -> str:
    factor, unit = next((scale for scale in scales if abs(value) >= scale[0]), scales[-1])
    scaled = value / factor
    if scaled == round(scaled):
        return f"{scaled:,.0f} {unit}"
    return f"{scaled:,.{max(0, 3 - len(f'{abs(scaled):.0f}'))}f} {unit}"
