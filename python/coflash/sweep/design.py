"""Designs of sweeps: from axes to points.

A key varies along an axis: choices (`none,cdm`), or a range (`1..8`, `1..8:2`, `64MiB..1GiB*2`). A design makes points
from axes; a point has one value for each key, as TOML text.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, get_args

from coflash._core import CoflashError, hint, quantity
from coflash.quantity import counted
from coflash.scenario import toml_value

if TYPE_CHECKING:
    import numpy as np

Assignment = tuple[tuple[str, str], ...]
"""A value for each varied key, as `Scenario.set` accepts them."""

Design = Literal["grid", "list", "random", "lhs"]
DESIGNS: tuple[Design, ...] = get_args(Design)

Vary = Mapping[str, "str | Sequence[Any]"] | Sequence[Mapping[str, Any]]
"""The argument of Python callers: axes by key, or the points themselves."""

_QUANTITY = r"[-+]?[\d_]+(?:\.\d+)?(?:[eE][-+]?\d+)?\s*[A-Za-z%]*"
"""A number with or without a unit, as a regular expression without groups."""
_RANGE = re.compile(rf"({_QUANTITY})\.\.({_QUANTITY})(?:([:*])({_QUANTITY}))?")
_BEGINS = re.compile(rf"{_QUANTITY}\.\.")
POINTS_MAX = 1_000_000


@dataclass(frozen=True)
class Choices:
    """A list of values."""

    key: str
    values: tuple[str, ...]

    def points(self) -> tuple[str, ...]:
        """Return all values."""
        return self.values

    def at(self, share: float) -> str:
        """Return the value at a fraction of the axis, from 0 to less than 1."""
        return self.values[int(share * len(self.values))]


@dataclass(frozen=True)
class Range:
    """The values from `low` to `high`, both included, in a base unit: bytes, nanoseconds, percent or none."""

    key: str
    text: str
    low: Decimal
    high: Decimal
    unit: str
    grain: Decimal | None
    """The common divisor of all values between the ends; None for real numbers."""
    step: Decimal | None = None
    factor: Decimal | None = None

    def points(self) -> tuple[str, ...]:
        """Return the points of its step or factor, or all whole numbers if there is no unit.

        Raises:
            CoflashError: A step or a factor is missing, or there are too many points.
        """
        if self.step is None and self.factor is None and (self.unit or self.grain is None):
            raise CoflashError(
                f"{self.key}: {self.text} does not say at which points; add a step, such as {self.text}:"
                f"{self.shown((self.high - self.low) / 4)}, or a factor, such as {self.text}*2"
            )
        count = self.count or 0
        if count > POINTS_MAX:
            msg = f"{self.key}: {self.text} has {counted(count, 'point')}; at most {POINTS_MAX:,} are allowed"
            raise CoflashError(msg)
        return tuple(self.value(index) for index in range(count))

    @property
    def count(self) -> int | None:
        """The number of values; None for a continuum."""
        if self.factor is not None:
            count = 1
            while self.low * self.factor**count <= self.high:
                count += 1
            return count
        step = self.step or self.grain
        return None if step is None else int((self.high - self.low) / step) + 1

    def value(self, index: int) -> str:
        """Return the value of an index, from 0."""
        if self.factor is not None:
            return self.shown(self.low * self.factor**index)
        return self.shown(self.low + index * (self.step or self.grain or 0))

    def at(self, share: float) -> str:
        """Return the value at a fraction of the axis, from 0 to less than 1."""
        if self.count is not None:
            return self.value(int(share * self.count))
        return self.shown(self.low + (self.high - self.low) * Decimal(share))

    def shown(self, value: Decimal) -> str:
        """Write a number of base units as TOML text."""
        if self.grain is not None:
            value = value.quantize(Decimal(1) if self.unit != "%" else Decimal("0.0001"))
            return f"{value.normalize():f}{self.unit}"
        return repr(float(f"{value:.9g}")) + self.unit


Axis = Choices | Range


def axis(assignment: str) -> Axis:
    """Read an axis from `KEY=VALUES`.

    Raises:
        CoflashError: The text is not an axis.
    """
    ((key, values),) = values_by_key([assignment]).items()
    return axis_of(key, values)


def values_by_key(assignments: Iterable[str]) -> dict[str, str]:
    """Split texts such as `cache.size=64MiB,128MiB` into keys and values.

    Raises:
        CoflashError: One is not written so, or a key is varied twice.
    """
    pairs = list(map(_key_and_values, assignments))
    check_keys(key for key, _ in pairs)
    return dict(pairs)


def _key_and_values(assignment: str) -> tuple[str, str]:
    key, equals, values = assignment.partition("=")
    if not equals or not key.strip():
        msg = f"'{assignment}' was given; KEY=VALUES is allowed, such as cache.size=64MiB,128MiB or seed=1..8"
        raise CoflashError(msg)
    return key.strip(), values


def axis_of(key: str, values: str | Sequence[Any]) -> Axis:
    """Make the axis of a key from its values, or from their text on the command line.

    Raises:
        CoflashError: The values are not an axis.
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
        raise CoflashError(f"{key}: no value was given; at least one is allowed, such as {key}=a,b or {key}=1..8")
    return Choices(key, tuple(dict.fromkeys(texts)))


def axes_of(vary: Mapping[str, str | Sequence[Any]]) -> list[Axis]:
    """Make an axis for each key."""
    return [axis_of(key, values) for key, values in vary.items()]


def check_keys(given: Iterable[str]) -> None:
    """Check that no key is varied twice, also under its other name: `cooperation` is `cooperation.name`.

    Raises:
        CoflashError: A key is.
    """
    keys = [key.removesuffix(".name") for key in given]
    if twice := sorted({key for key in keys if keys.count(key) > 1}):
        raise CoflashError(f"{twice[0]} is varied twice; give all its values at once, such as {twice[0]}=a,b")


def assignments(axes: Sequence[Axis], design: Design = "grid", samples: int = 20, seed: int = 0) -> list[Assignment]:
    """Return the points of a design, each once, in a fixed order.

    Args:
        axes: The axes.
        design: `"grid"`: every combination; `"list"`: the first values of all axes, then the second, and so on;
            `"random"`: independent uniform draws; `"lhs"`: a Latin hypercube, which covers every axis evenly.
        samples: The number of points of a random design.
        seed: The seed of a random design.

    Raises:
        CoflashError: The axes do not fit the design.
    """
    check_keys(axis.key for axis in axes)
    if design not in DESIGNS:
        raise CoflashError(f'design: "{design}" was given{hint(str(design), DESIGNS)}')
    if design in ("random", "lhs") and not 1 <= samples <= POINTS_MAX:
        raise CoflashError(f"samples: {samples} was given; at least 1 and at most {POINTS_MAX} is allowed")
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
        raise CoflashError(f"the design list takes as many values for each key: {lengths}")
    return list(zip(*columns, strict=True))


def _random(axes: Sequence[Axis], samples: int, seed: int) -> list[tuple[str, ...]]:
    import numpy as np

    return _at(axes, np.random.default_rng(seed).random((samples, len(axes))))


def _latin_hypercube(axes: Sequence[Axis], samples: int, seed: int) -> list[tuple[str, ...]]:
    import numpy as np

    draws = np.random.default_rng(seed).spawn(1)[0]  # as in SciPy's designs
    within = draws.uniform(size=(samples, len(axes)))
    rows = np.tile(np.arange(1, samples + 1), (len(axes), 1))
    for row in rows:  # each of `samples` equal parts of a key's range has one value
        draws.shuffle(row)
    return _at(axes, (rows.T - within) / samples)


_DESIGNS: dict[Design, Callable[[Sequence[Axis], int, int], list[tuple[str, ...]]]] = {
    "grid": _grid,
    "list": _list,
    "random": _random,
    "lhs": _latin_hypercube,
}


def _at(axes: Sequence[Axis], shares: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> list[tuple[str, ...]]:
    return [tuple(axis.at(float(share)) for axis, share in zip(axes, row, strict=True)) for row in shares]


def _split(key: str, text: str) -> list[str]:
    """Split a text at the commas outside quotes and brackets."""
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
        raise CoflashError(f"{key}: {text!r} has a quote or a bracket that is not closed")
    items = [item.strip() for item in items]
    if "" in items:
        raise CoflashError(f'{key}: {text!r} has an empty value; write "" for an empty text')
    return items


def _range(key: str, text: str) -> Range | None:
    """Read a range; None if the text is a plain value."""
    found = _RANGE.fullmatch(text)
    if found is None:
        if _BEGINS.match(text):
            raise CoflashError(f"{key}: {text!r} was given; LOW..HIGH, LOW..HIGH:STEP or LOW..HIGH*FACTOR is allowed")
        return None
    low_text, high_text, kind, by_text = found.groups()
    (low, unit, grain), (high, high_unit, high_grain) = _quantity(key, low_text), _quantity(key, high_text)
    if unit != high_unit:
        raise CoflashError(f"{key}: the ends of {text} have different units; give both the same, such as 64MiB..1GiB")
    if low > high:
        raise CoflashError(f"{key}: {text} goes down; write the lower end first")
    is_whole = grain is not None and high_grain is not None
    step = factor = None
    if kind == ":":
        step, step_unit, step_grain = _quantity(key, by_text)
        is_whole = is_whole and step_grain is not None
        if step <= 0 or step_unit != unit:
            raise CoflashError(f"{key}: {text} has the step {by_text}; one above 0 in the unit of the ends is allowed")
    elif kind == "*":
        factor, factor_unit, _ = _quantity(key, by_text)
        if factor <= 1 or factor_unit or low <= 0:
            msg = f"{key}: {text} has the factor {by_text}; one above 1 without a unit is allowed, from an end above 0"
            raise CoflashError(msg)
    return Range(key, text.split(":")[0].split("*")[0], low, high, unit, grain if is_whole else None, step, factor)


def _quantity(key: str, text: str) -> tuple[Decimal, str, Decimal | None]:
    """Read a number: its value in the base unit, the base unit, and the grain of a range that ends there."""
    if text[-1].isdigit():
        return Decimal(text), "", Decimal(1) if text.lstrip("+-").replace("_", "").isdigit() else None
    try:
        (count, counted), (worth, _) = quantity(text), quantity("1" + text.lstrip("0123456789._ "))
    except CoflashError as error:
        raise CoflashError(f"{key}: {error}") from error
    if counted == "ppb":
        return Decimal(count).scaleb(-7), "%", Decimal("0.01")
    return Decimal(count), {"bytes": "B", "ns": "ns"}[counted], Decimal(worth)
