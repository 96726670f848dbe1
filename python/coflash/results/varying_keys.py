"""Varying keys: the keys in which scenarios differ, found from the scenarios alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from coflash.policies import policies
from coflash.quantity import parsed, show
from coflash.scenario import flat, toml_value

_NAME = "name"
_LABELS = frozenset({_NAME, "description"})
"""Keys that describe a scenario and do not influence results."""
_KEYS_OF_A_SYSTEM = 8
"""Scenarios that differ in more keys at once than this are different systems, best told apart by name."""
NONE = "–"
_ACRONYMS = frozenset({"gc", "ftl", "ecc", "nvm"})
_FIRST = "cooperation.name"
"""The key that comes before all others."""
_NAMES = {("cache.size", 0.0): "no cache"}
"""Values that are shown by another name."""


@dataclass(frozen=True)
class Key:
    """A key in which the scenarios differ."""

    path: str
    unit: str
    """The unit of its numbers: `bytes`, `ns`, `share`, or empty; `text` if its values are not numbers."""
    values: tuple[Any, ...]
    """The distinct values: numbers ascending, policies in the order of their family, others in that of the runs."""
    numbers: tuple[float, ...] | None
    """The values as numbers, if all of them are numbers."""
    codes: tuple[int, ...]
    """For each run, the index of its value."""
    along: tuple[str, ...] = ()
    """Other keys that differ between the same runs."""

    @property
    def label(self) -> str:
        """The path in words."""
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
    """Turn a path into words: `cooperation.name` into cooperation, `cache.size` into cache size."""
    parts = path.removesuffix(".name").replace(".", " ").replace("_", " ").split()
    return " ".join(part.upper() if part in _ACRONYMS else part for part in parts)


def varied_keys(scenarios: Sequence[Mapping[str, Any]]) -> tuple[Key, ...]:
    """Find the keys in which the scenarios differ: words, then numbers, then the seed.

    One key stands for all that differ between the same runs; it names the others in `along`.
    """
    leaves = [{path: value for path, value in flat(one) if value is not None} for one in scenarios]
    paths = dict.fromkeys(path for leaf in leaves for path in leaf)
    groups: dict[tuple[int, ...], list[str]] = {}
    for path in paths:
        codes = _codes([_hashable(leaf.get(path)) for leaf in leaves])
        if max(codes, default=0):
            groups.setdefault(codes, []).append(path)
    meant = {codes: group for codes, group in groups.items() if set(group) - _LABELS}
    # Runs that differ in nothing else are distinguished by their names.
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
    """Whether a key is a parameter of a policy, with one value for each policy."""
    beside = key.path != policy.path and key.path.startswith(policy.path.removesuffix("name"))
    return beside and len(set(zip(policy.codes, key.codes, strict=True))) == len(policy.values)


@cache
def _family(path: str) -> tuple[str, ...]:
    """Return the names of the policies that the key of that path can choose."""
    families = (family for family in policies() if family.key == path.removesuffix(".name"))
    return tuple(policy.name for family in families for policy in family.policies)


def _told_by(group: Sequence[str], leaves: Sequence[Mapping[str, Any]]) -> str:
    """Choose the key that stands for a group of keys that differ between the same runs."""
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
        # A run without this key comes last; the values are then words.
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
    """Encode the values by numbers in the order of their appearance."""
    places: dict[Any, int] = {}
    return tuple(places.setdefault(value, len(places)) for value in values)


def _hashable(value: Any) -> Any:
    """Make a value hashable: lists and booleans become TOML, since True equals 1 and lists have no hash."""
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
