"""What varied: the keys in which scenarios differ, found out from the scenarios alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from coflash.policies import policies
from coflash.quantity import show
from coflash.scenario import toml_value

_NAME = "name"
_LABELS = frozenset({_NAME, "description"})
"""Keys that say what a scenario is called, and change nothing."""
_KEYS_OF_A_SYSTEM = 8
"""Where more keys than these differ together, they make different systems, which their names tell best."""
NONE = "–"
_ACRONYMS = frozenset({"gc", "ftl", "ecc", "nvm"})
_FIRST = "cooperation.name"
"""The key that coflash is about comes before all others."""
_QUANTITY = re.compile(r"(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*([a-zµ%]+)", re.IGNORECASE)
_SIZES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9}
_TIMES = {"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}
_NAMES = {("cache.size", 0.0): "no cache"}
"""Values that are better known by another name."""


@dataclass(frozen=True)
class Key:
    """A key of the scenario in which runs differ."""

    path: str
    unit: str
    """Of its numbers: `bytes`, `ns`, `share`, `` for plain ones; `text` where the values are none."""
    values: tuple[Any, ...]
    """The different values: numbers ascending, policies in the order of their family, others in that of the runs."""
    numbers: tuple[float, ...] | None
    """The values as numbers, where all of them are such."""
    codes: tuple[int, ...]
    """For each run, which of the values it has."""
    along: tuple[str, ...] = ()
    """Other keys that differ between the same runs."""

    @property
    def label(self) -> str:
        """Its path in words."""
        return words(self.path)

    @property
    def texts(self) -> tuple[str, ...]:
        """The values as they are shown."""
        if self.numbers is not None and self.unit in ("bytes", "ns"):
            shown = tuple(show(number, self.unit) for number in self.numbers)  # type: ignore[arg-type]
            shown = tuple(
                _NAMES.get((self.path, number), text) for text, number in zip(shown, self.numbers, strict=True)
            )
            if len(set(shown)) == len(shown):
                return shown
        return tuple(_text(value) for value in self.values)


def words(path: str) -> str:
    """`cooperation.name` as words: cooperation; `cache.size`: cache size."""
    parts = path.removesuffix(".name").replace(".", " ").replace("_", " ").split()
    return " ".join(part.upper() if part in _ACRONYMS else part for part in parts)


def flat(scenario: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Each key of a scenario by its dotted path; what has no value is left out."""
    for name, value in scenario.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        elif value is not None:
            yield prefix + name, value


def varied_keys(scenarios: Sequence[Mapping[str, Any]]) -> tuple[Key, ...]:
    """The keys in which the scenarios differ: words, then numbers, then the seed.

    Keys that differ between the same runs are one, with the others beside it.
    """
    leaves = [dict(flat(scenario)) for scenario in scenarios]
    paths = dict.fromkeys(path for leaf in leaves for path in leaf)
    groups: dict[tuple[int, ...], list[str]] = {}
    for path in paths:
        codes = _codes([_hashable(leaf.get(path)) for leaf in leaves])
        if max(codes, default=0):
            groups.setdefault(codes, []).append(path)
    meant = {codes: group for codes, group in groups.items() if set(group) - _LABELS}
    # Runs that differ in nothing else are told apart by their names.
    keys = [_key(group, leaves) for group in (meant or groups).values()]
    policies = [key for key in keys if key.path.endswith(".name")]
    owners = {key.path: next((p.path for p in policies if _is_parameter(key, p)), key.path) for key in keys}
    keys = [
        replace(key, along=key.along + tuple(path for path, owner in owners.items() if owner == key.path != path))
        for key in keys
        if owners[key.path] == key.path
    ]
    return tuple(sorted(keys, key=lambda key: (key.path == "seed", key.numbers is not None, key.path != _FIRST)))


def _is_parameter(key: Key, policy: Key) -> bool:
    """Whether a key stands beside the name of a policy and says no more than that does."""
    beside = key.path != policy.path and key.path.startswith(policy.path.removesuffix("name"))
    return beside and len(set(zip(policy.codes, key.codes, strict=True))) == len(policy.values)


def parsed(value: Any) -> tuple[float, str] | None:
    """A value of a scenario as a number with the unit it is shown in; None for what is no number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value), ""
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    number, unit = float(match[1]), match[2]
    if unit == "%":
        return number / 100, "share"
    if unit in _SIZES:
        return number * _SIZES[unit], "bytes"
    return (number * _TIMES[unit], "ns") if unit in _TIMES else None


@cache
def _family(path: str) -> tuple[str, ...]:
    """The names of the policies among which the key of that path chooses."""
    families = (family for family in policies() if family.key == path.removesuffix(".name"))
    return tuple(policy.name for family in families for policy in family.policies)


def _told_by(group: Sequence[str], leaves: Sequence[Mapping[str, Any]]) -> str:
    """The key that stands for those that differ between the same runs."""
    if len(group) > _KEYS_OF_A_SYSTEM and _NAME in group and all(leaf.get(_NAME) for leaf in leaves):
        return _NAME
    known = [path for path in group if path not in _LABELS] or group
    return min(known, key=lambda path: (path == "seed", not path.endswith(".name"), path.count(".")))


def _key(group: list[str], leaves: Sequence[Mapping[str, Any]]) -> Key:
    path = _told_by(group, leaves)
    column = [leaf.get(path) for leaf in leaves]
    values = list({_hashable(value): value for value in column}.values())
    quantities = {place: quantity for place, value in enumerate(values) if (quantity := parsed(value))}
    units = {unit for _, unit in quantities.values()}
    numbers = None
    unit = "text"
    if len(units) == 1 and all(place in quantities or value is None for place, value in enumerate(values)):
        # A run that has no such key comes last, and then these are words.
        order = sorted(quantities, key=lambda place: quantities[place][0])
        if len(order) == len(values):
            unit = units.pop()
            numbers = tuple(quantities[place][0] for place in order)
        values = [values[place] for place in order] + [None] * (len(values) - len(order))
    elif set(map(str, values)) <= {*(family := _family(path)), str(None)}:
        values.sort(key=lambda value: len(family) if value is None else family.index(value))
    places = {_hashable(value): place for place, value in enumerate(values)}
    return Key(
        path=path,
        unit=unit,
        values=tuple(values),
        numbers=numbers,
        codes=tuple(places[_hashable(value)] for value in column),
        along=tuple(other for other in group if other != path and other not in _LABELS),
    )


def _codes(values: Sequence[Any]) -> tuple[int, ...]:
    """Equal values by equal numbers, in the order in which they appear."""
    places: dict[Any, int] = {}
    return tuple(places.setdefault(value, len(places)) for value in values)


def _hashable(value: Any) -> Any:
    """As JSON has it, so that 1 and true and 1.0 are told apart as little as TOML does, and lists can be compared."""
    return toml_value(value) if isinstance(value, list | bool) else value


def _text(value: Any) -> str:
    match value:
        case None:
            return NONE
        case bool():
            return "yes" if value else "no"
        case list():
            return ", ".join(map(str, value)) or NONE
    return str(value)
