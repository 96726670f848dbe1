"""Numbers as text: three or four significant digits, with the unit that reads best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from coflash import _core

Unit = Literal["ratio", "share", "pages", "blocks", "requests", "ns", "bytes", "bytes/s", "1/s", "J", "nJ", "years", ""]

Scale = tuple[float, str]
SCALES: Mapping[Unit, tuple[Scale, ...]] = {
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns")),
    "bytes": ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B")),
    "bytes/s": ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1, "B/s")),
    "J": ((1e3, "kJ"), (1, "J"), (1e-3, "mJ"), (1e-6, "µJ")),
    "nJ": ((1e9, "J"), (1e6, "mJ"), (1e3, "µJ"), (1, "nJ")),
}
"""The units in which times, sizes, rates and energies are shown, the largest first."""

_NAMED = 3
_OF_SEVERAL = {"is": "are", "was": "were", "has": "have"}
"""The verbs of several that are not those of one without an s."""
PPB = 10**9
"""One, in parts per billion, the unit of shares in the core."""


def counted(count: int, noun: str) -> str:
    """Say how many there are: 1 volume, 3,000 volumes."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def some(names: Sequence[str], between: str = ", ") -> str:
    """Name the first few of many, and say how many more there are."""
    more = f"{between}and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return between.join(names[:_NAMED]) + more


def agreed(count: int, verb: str) -> str:
    """Return the verb that agrees with a count, given that of one: 1 holds, 3,000 hold; 1 was, 2 were."""
    return verb if count == 1 else _OF_SEVERAL.get(verb, verb.removesuffix("s"))


def show(value: float | None, unit: Unit, beside: float | None = None) -> str:
    """Show a number as text: 1,234,567 · 2.84 · 132.5 µs · 64 MiB · 12.3 %; None is a dash.

    Beside another number it has the same unit as that: 11,482 ms.
    """
    if value is None or not math.isfinite(value):
        return "–"
    match unit:
        case "ns" | "bytes" | "bytes/s" | "J" | "nJ":
            return _scaled(value, unit, beside)
        case "years" if value < 1:
            return f"{365 * value:.3g} days"
        case "years":
            return f"{value:.3g} years" if value < 100 else f"{value:,.0f} years"
        case "1/s" if value < 100:
            return f"{value:.3g}"
        case "share":
            return f"{value:.1%}".replace("%", "\u00a0%").replace("-", "−")
        case "ratio":
            return f"{value:,.{_decimals(value, digits=4)}f}"
        case "" if value != round(value):
            return f"{value:.4g}"
    return f"{value:,.0f}"


def change(value: float | None, reference: float | None) -> float | None:
    """Return the relative change from `reference` to `value`; None without a reference."""
    if value is None or not reference:
        return None
    return value / reference - 1


def show_change(relative: float | None) -> str:
    """Show a relative change as text: −12.3 %."""
    if relative is None:
        return ""
    return f"{relative:+,.{int(abs(relative) < 10)}%}".replace("%", "\u00a0%").replace("-", "−")


def signed(value: float | None, unit: Unit, beside: float | None = None) -> str:
    """Show a difference as text: −2.84 ms; one of shares in percentage points: −0.79 points."""
    size = abs(value or 0.0)
    shown = f"{100 * size:.2f} points" if unit == "share" else show(size, unit, beside)
    return f"{'−' if (value or 0) < 0 else '+'}{shown}"


def parsed(value: Any) -> tuple[float, Unit] | None:
    """Read a value of a scenario as a number with its display unit; None if it is not a number."""
    match value:
        case bool():
            return None
        case int() | float():
            return float(value), ""
        case str():
            with suppress(_core.CoflashError):
                number, unit = _core.quantity(value)
                return (number / PPB, "share") if unit == "ppb" else (float(number), unit)
    return None


def with_units(columns: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """Turn columns of sizes, times, energies and shares, given as texts, into numbers whose unit ends the name.

    A name that ends with the unit stays, as that of `ftl.spare.share`. A column whose texts have several units stays as
    it is.
    """
    found: dict[str, Sequence[Any]] = {}
    for name, values in columns.items():
        pairs = [parsed(value) if isinstance(value, str) else None for value in values]
        known = [pair for pair, value in zip(pairs, values, strict=True) if value is not None]
        units = {pair[1] if pair else "" for pair in known if pair is None or pair[0]}
        units = units or {pair[1] for pair in known if pair}
        unit = units.pop().lower() if len(units) == 1 else ""
        is_whole = all(pair is None or pair[0].is_integer() for pair in pairs)
        numbers = [None if pair is None else int(pair[0]) if is_whole else pair[0] for pair in pairs]
        named = name if name.endswith(unit) else f"{name}_{unit}"
        found.update({named: numbers} if unit else {name: values})
    return found


def number_in(value: Any) -> tuple[float, Unit] | None:
    """Read a user's value, also as text, such as 2, "2" or "64MiB"; None if it is no number."""
    if isinstance(value, str):
        with suppress(ValueError):
            return float(value), ""
    return parsed(value)


def worths() -> dict[str, float]:
    """Return every unit of scenarios, with its factor to the display unit."""
    return {name: worth / PPB if unit == "ppb" else worth for name, (worth, unit) in _core.units()}


def scale(unit: Unit, value: float) -> Scale:
    """Return the factor and the name of the largest unit in which a number is at least 1."""
    return next((scale for scale in SCALES[unit] if abs(value) >= scale[0]), SCALES[unit][-1])


def _scaled(value: float, kind: Unit, beside: float | None) -> str:
    factor, unit = scale(kind, value if beside is None else beside)
    scaled = value / factor
    if scaled == round(scaled):
        return f"{scaled:,.0f} {unit}"
    return f"{scaled:,.{_decimals(scaled, digits=3)}f} {unit}"


def _decimals(value: float, digits: int) -> int:
    """Return the decimals that give `digits` significant digits; below 1 as many as from 1 on."""
    power = int(f"{value:.{digits - 1}e}".partition("e")[2])  # of ten, when rounded: 9.997 counts as 10.0
    return max(0, digits - 1 - max(0, power))
