"""What a sweep varies, and at which points.

A key is varied over an axis: choices (`none,cdm`), or a range (`1..8`, `1..8:2`, `64MiB..1GiB*2`). A design takes axes
to points; a point gives every axis' key one value, as the text that the scenario's TOML has for it.
"""

from __future__ import annotations

import difflib
import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, get_args

from coflash._core import CoflashError
from coflash.quantity import QUANTITY, read
from coflash.scenario import toml_value

if TYPE_CHECKING:
    import numpy as np

Assignment = tuple[tuple[str, str], ...]
"""A value for each varied key, as `Scenario.set` takes them."""

Design = Literal["grid", "list", "random", "lhs"]
DESIGNS: tuple[Design, ...] = get_args(Design)

Vary = Mapping[str, "str | Sequence[Any]"] | Sequence[Mapping[str, Any]]
"""What Python callers vary: axes by key, or the points themselves."""

_RANGE = re.compile(rf"({QUANTITY})\.\.({QUANTITY})(?:([:*])({QUANTITY}))?")
_BEGINS = re.compile(rf"{QUANTITY}\.\.")
POINTS_MAX = 1_000_000


@dataclass(frozen=True)
class Choices:
    """One of some values."""

    key: str
    values: tuple[str, ...]

    def points(self) -> tuple[str, ...]:
        """All values."""
        return self.values

    def at(self, share: float) -> str:
        """The value at a share of the way, from 0 to less than 1."""
        return self.values[int(share * len(self.values))]


@dataclass(frozen=True)
class Range:
    """From `low` to `high`, both included, in a base unit: bytes, nanoseconds, percent or none."""

    key: str
    text: str
    low: Decimal
    high: Decimal
    unit: str
    grain: Decimal | None
    """What a value between the ends is a multiple of; None for a number that is not whole."""
    step: Decimal | None = None
    factor: Decimal | None = None

    def points(self) -> tuple[str, ...]:
        """The points of its step or factor; of whole numbers without a unit, all.

        Raises:
            CoflashError: It does not say which, or there are too many.
        """
        if self.step is None and self.factor is None and (self.unit or self.grain is None):
            msg = (
                f"{self.key}: {self.text} does not say at which points; add a step, such as {self.text}:"
                f"{self.shown((self.high - self.low) / 4)}, or a factor, such as {self.text}*2"
            )
            raise CoflashError(msg)
        count = self.count or 0
        if count > POINTS_MAX:
            msg = f"{self.key}: {self.text} has {count:,} points; at most {POINTS_MAX:,} are allowed"
            raise CoflashError(msg)
        return tuple(self.value(index) for index in range(count))

    @property
    def count(self) -> int | None:
        """How many values it has; None for a continuum."""
        if self.factor is not None:
            count = 1
            while self.low * self.factor**count <= self.high:
                count += 1
            return count
        step = self.step or self.grain
        return None if step is None else int((self.high - self.low) / step) + 1

    def value(self, index: int) -> str:
        """One of its values, from 0."""
        if self.factor is not None:
            return self.shown(self.low * self.factor**index)
        return self.shown(self.low + index * (self.step or self.grain or 0))

    def at(self, share: float) -> str:
        """The value at a share of the way, from 0 to less than 1."""
        if self.count is not None:
            return self.value(int(share * self.count))
        return self.shown(self.low + (self.high - self.low) * Decimal(share))

    def shown(self, value: Decimal) -> str:
        """A number of base units as text of the scenario."""
        if self.grain is not None:
            value = value.quantize(Decimal(1) if self.unit != "%" else Decimal("0.0001"))
            return f"{value.normalize():f}{self.unit}"
        return repr(float(f"{value:.9g}")) + self.unit


Axis = Choices | Range


def axis(assignment: str) -> Axis:
    """The axis that `KEY=VALUES` describes.

    Raises:
        CoflashError: It describes none.
    """
    key, equals, values = assignment.partition("=")
    if not equals or not key.strip():
        msg = f"'{assignment}' was given; KEY=VALUES is allowed, such as cache.size=64MiB,128MiB or seed=1..8"
        raise CoflashError(msg)
    return axis_of(key.strip(), values)


def axis_of(key: str, values: str | Sequence[Any]) -> Axis:
    """The axis of a key: its values, or the text that the command line takes for them.

    Raises:
        CoflashError: It describes none.
    """
    if not isinstance(values, str):
        texts = [toml_value(value) for value in values]
    else:
        items = _split(key, values)
        if len(items) == 1 and (only := _range(key, items[0])):
            return only
        texts = []
        for item in items:
            part = _range(key, item)
            texts += part.points() if part else [item]
    if not texts:
        msg = f"{key}: no value was given; at least one is allowed, such as {key}=a,b or {key}=1..8"
        raise CoflashError(msg)
    return Choices(key, tuple(dict.fromkeys(texts)))


def axes_of(vary: Mapping[str, str | Sequence[Any]]) -> list[Axis]:
    """An axis for each key."""
    return [axis_of(key, values) for key, values in vary.items()]


def check_keys(axes: Sequence[Axis]) -> None:
    """Raises if a key is varied twice.

    Raises:
        CoflashError: It is.
    """
    keys = [axis.key for axis in axes]
    if twice := sorted({key for key in keys if keys.count(key) > 1}):
        msg = f"{twice[0]} is varied twice; give all its values at once, such as {twice[0]}=a,b"
        raise CoflashError(msg)


def assignments(axes: Sequence[Axis], design: Design = "grid", samples: int = 20, seed: int = 0) -> list[Assignment]:
    """The points of a design, each once, in a fixed order.

    Args:
        axes: What is varied.
        design: `"grid"`: every combination; `"list"`: the first values of all axes, then the second, and so on;
            `"random"`: independent uniform draws; `"lhs"`: a Latin hypercube, in which every axis is covered evenly.
        samples: How many points are drawn, where they are drawn.
        seed: Of the draws.

    Raises:
        CoflashError: The axes do not go with the design.
    """
    check_keys(axes)
    if design not in DESIGNS:
        near = difflib.get_close_matches(str(design), DESIGNS, 1)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        msg = f"design: {design!r} was given{meant} (allowed: {', '.join(DESIGNS)})"
        raise CoflashError(msg)
    if design in ("random", "lhs") and not 1 <= samples <= POINTS_MAX:
        msg = f"samples: {samples} was given; at least 1 and at most {POINTS_MAX} is allowed"
        raise CoflashError(msg)
    if not axes:
        return [()]
    rows = _DESIGNS[design](axes, samples, seed)
    return list(dict.fromkeys(tuple(zip((a.key for a in axes), row, strict=True)) for row in rows))


def _grid(axes: Sequence[Axis], _samples: int, _seed: int) -> list[tuple[str, ...]]:
    columns = [axis.points() for axis in axes]
    if (size := math.prod(map(len, columns))) > POINTS_MAX:
        msg = f"the grid has {size:,} points; at most {POINTS_MAX:,} are allowed: take fewer values, or the design lhs"
        raise CoflashError(msg)
    return list(itertools.product(*columns))


def _list(axes: Sequence[Axis], _samples: int, _seed: int) -> list[tuple[str, ...]]:
    columns = [axis.points() for axis in axes]
    if len(set(map(len, columns))) > 1:
        lengths = ", ".join(f"{axis.key} has {len(column)}" for axis, column in zip(axes, columns, strict=True))
        msg = f"the design list takes as many values for each key: {lengths}"
        raise CoflashError(msg)
    return list(zip(*columns, strict=True))


def _random(axes: Sequence[Axis], samples: int, seed: int) -> list[tuple[str, ...]]:
    import numpy as np

    return _at(axes, np.random.default_rng(seed).random((samples, len(axes))))


def _latin_hypercube(axes: Sequence[Axis], samples: int, seed: int) -> list[tuple[str, ...]]:
    import numpy as np
    from scipy.stats import qmc  # takes a while, and most designs need none

    return _at(axes, qmc.LatinHypercube(len(axes), rng=np.random.default_rng(seed)).random(samples))


_DESIGNS: dict[Design, Callable[[Sequence[Axis], int, int], list[tuple[str, ...]]]] = {
    "grid": _grid,
    "list": _list,
    "random": _random,
    "lhs": _latin_hypercube,
}


def _at(axes: Sequence[Axis], shares: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> list[tuple[str, ...]]:
    return [tuple(axis.at(float(share)) for axis, share in zip(axes, row, strict=True)) for row in shares]


def _split(key: str, text: str) -> list[str]:
    """The items between commas that stand in no quotes and no brackets."""
    items, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
        if character == "," and not depth and not quote:
            items.append("")
        else:
            items[-1] += character
    if depth or quote:
        msg = f"{key}: {text!r} has a quote or a bracket that is not closed"
        raise CoflashError(msg)
    items = [item.strip() for item in items]
    if "" in items:
        msg = f'{key}: {text!r} has an empty value; write "" for an empty text'
        raise CoflashError(msg)
    return items


def _range(key: str, text: str) -> Range | None:
    """The range that `text` describes; None where it is a plain value."""
    found = _RANGE.fullmatch(text)
    if found is None:
        if _BEGINS.match(text):
            msg = f"{key}: {text!r} was given; LOW..HIGH, LOW..HIGH:STEP or LOW..HIGH*FACTOR is allowed"
            raise CoflashError(msg)
        return None
    low_text, high_text, kind, by_text = found.groups()
    (low, unit, grain), (high, high_unit, high_grain) = _quantity(key, low_text), _quantity(key, high_text)
    if unit != high_unit:
        msg = f"{key}: the ends of {text} have different units; give both the same, such as 64MiB..1GiB"
        raise CoflashError(msg)
    if low > high:
        msg = f"{key}: {text} goes down; write the lower end first"
        raise CoflashError(msg)
    is_whole = grain is not None and high_grain is not None
    step = factor = None
    if kind == ":":
        step, step_unit, step_grain = _quantity(key, by_text)
        is_whole = is_whole and step_grain is not None
        if step <= 0 or step_unit != unit:
            msg = f"{key}: {text} has the step {by_text}; one above 0 in the unit of the ends is allowed"
            raise CoflashError(msg)
    elif kind == "*":
        factor, factor_unit, _ = _quantity(key, by_text)
        if factor <= 1 or factor_unit or low <= 0:
            msg = f"{key}: {text} has the factor {by_text}; one above 1 without a unit is allowed, from an end above 0"
            raise CoflashError(msg)
    return Range(key, text.split(":")[0].split("*")[0], low, high, unit, grain if is_whole else None, step, factor)


def _quantity(key: str, text: str) -> tuple[Decimal, str, Decimal | None]:
    """A number in its base unit, the base unit, and the grain that values between it and others have."""
    try:
        number, base, worth = read(text)
    except CoflashError as error:
        msg = f"{key}: {error}"
        raise CoflashError(msg) from error
    if base == "%":
        return number, base, Decimal("0.01")
    is_whole = bool(base) or ("." not in text and "e" not in text.lower())
    return number, base, worth if is_whole else None
