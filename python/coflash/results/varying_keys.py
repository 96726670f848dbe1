"""Varying keys: the keys in which scenarios differ, found from the scenarios alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from coflash.policies import policies
from coflash.quantity import parsed, show
from coflash.scenario import LABELS, flat, toml_value

_NAME = "name"
OWN = "external"
"""The name of a policy whose code is the user's own."""
_KEYS_OF_A_SYSTEM = 8
"""If names decide more keys than this, scenarios are different systems, distinguished by name."""
NONE = "–"
_ACRONYMS = frozenset({"gc", "ftl", "ecc", "nvm"})
_FIRST = "cooperation.name"
"""The key that comes before all others."""
_TRACE = "workload.trace"
"""The key that is shown by the name, where each name has its own: in a fleet."""
_FOLLOWS = {"flash.blocks_per_plane": "flash.exported"}
"""Keys that follow from others if another key is given."""
_NAMES = {("cache.size", 0.0): "no cache"}
"""Display names of values."""
_PROPORTION, _WIDE = 3, 5
"""The number of values from which distances on an axis say something, and the ratio from which they are logarithmic."""


@dataclass(frozen=True)
class Key:
    """A key in which the scenarios differ."""

    path: str
    unit: str
    """The unit of its numbers: `bytes`, `ns`, `share`, or empty; `text` if its values are not numbers."""
    values: tuple[Any, ...]
    """The distinct values: numbers ascending, policies in the order of their family and then the user's own by their
    names, others in the order of the runs."""
    numbers: tuple[float, ...] | None
    """The values as numbers, if all of them are numbers."""
    codes: tuple[int, ...]
    """For each run, the index of its value."""
    along: tuple[str, ...] = ()
    """Keys that belong to its values: the parameters of a policy, or all the keys of a system."""

    @property
    def label(self) -> str:
        """The path in words."""
        return words(self.path)

    @cached_property
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

    @cached_property
    def places(self) -> tuple[float, ...]:
        """The places of its values on an axis: in proportion for numbers, logarithmic for a wide range of numbers."""
        if self.numbers is None or len(self.numbers) < _PROPORTION:
            return tuple(map(float, range(len(self.values))))
        positive = [number for number in self.numbers if number > 0]
        if min(self.numbers) < 0 or positive[-1] / positive[0] < _WIDE:
            return self.numbers
        # Zero has no place on a logarithmic axis: it stands one step below the least value.
        step = positive[1] / positive[0]
        return tuple(math.log2(number or positive[0] / step) for number in self.numbers)


def labels(runs: Iterable[int], keys: Sequence[Key]) -> list[str]:
    """Return the values of some keys of each run, as text; empty if it has none of them."""
    names = [f"{key.label} " if _needs_name(key, keys) else "" for key in keys]
    shown = [["" if text == NONE else name + text for text in key.texts] for key, name in zip(keys, names, strict=True)]
    found = ([texts[key.codes[run]] for key, texts in zip(keys, shown, strict=True)] for run in runs)
    return [" · ".join(filter(None, texts)) for texts in found]


def _needs_name(key: Key, keys: Sequence[Key]) -> bool:
    """Whether a value needs its key's name: a bare number does, “64 MiB” only if two keys have sizes as values."""
    alike = [other for other in keys if other.unit == key.unit != "text"]
    return key.unit in ("", "share") or "yes" in key.texts or "no" in key.texts or len(alike) > 1


def words(path: str) -> str:
    """Turn a path into words: `cooperation.name` into cooperation, `cache.size` into cache size."""
    parts = path.removesuffix(".name").replace(".", " ").replace("_", " ").split()
    return " ".join(part.upper() if part in _ACRONYMS else part for part in parts)


def varied_keys(scenarios: Sequence[Mapping[str, Any]]) -> tuple[Key, ...]:
    """Find the keys in which the scenarios differ: words, then numbers, then the seed.

    Two kinds of keys have no entry of their own, but are listed in `along` of another key. A parameter with one value
    for each policy belongs to the policy's name. Keys with one value for each system, if there are many, belong to the
    system's name.
    """
    leaves = [{path: value for path, value in flat(one).items() if value is not None} for one in _differing(scenarios)]
    for leaf in leaves:
        for path, other in _FOLLOWS.items():
            if other in leaf:
                leaf.pop(path, None)
    name_own(leaves)
    paths: dict[str, Any] = {}
    for leaf in leaves:
        paths.update(leaf)
    columns = {path: [leaf.get(path) for leaf in leaves] for path in paths}
    codes = {path: _codes([*map(_hashable, column)]) for path, column in columns.items()}
    codes = {path: places for path, places in codes.items() if max(places, default=0)}
    owners = _owners(codes, all(leaf.get(_NAME) for leaf in leaves))
    paths = dict.fromkeys(owners.values())
    keys = [_key(path, tuple(one for one, by in owners.items() if by == path != one), leaves) for path in paths]
    return tuple(sorted(keys, key=lambda key: (key.path == "seed", key.numbers is not None, key.path != _FIRST)))


def name_own(leaves: Sequence[dict[str, Any]]) -> None:
    """Name policies of the user's own by their classes; where two are alike, by the module or the digest, too."""
    for path in {path for leaf in leaves for path, value in leaf.items() if value == OWN and path.endswith(".name")}:
        table = path.removesuffix("name")
        own = [(leaf, str(leaf.get(f"{table}code", OWN))) for leaf in leaves if leaf.get(path) == OWN]
        versions = Counter(code for code, _ in {(code, leaf.get(f"{table}digest")) for leaf, code in own})
        classes = Counter(code.rpartition(":")[2] for code in versions)
        for leaf, code in own:
            name, digest = code.rpartition(":")[2], str(leaf.get(f"{table}digest", ""))[:8]
            leaf[path] = (name if classes[name] == 1 else code) + f" {digest}" * (versions[code] > 1)


def _differing(scenarios: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Keep of each scenario the entries in which it differs from any other: whole sections, where they are nested."""
    entries = dict.fromkeys(entry for one in scenarios for entry in one)
    kept = []
    for entry in entries:
        first = scenarios[0].get(entry)
        if any(one.get(entry) != first or type(one.get(entry)) is not type(first) for one in scenarios):
            kept.append(entry)
    return [{entry: one[entry] for entry in kept if entry in one} for one in scenarios]


def _owners(codes: Mapping[str, tuple[int, ...]], are_named: bool) -> dict[str, str]:
    """Return for each varying key the key under which it is shown: itself, a policy, or the name of the system."""
    meant = [path for path in codes if path not in LABELS]
    # Runs that differ in nothing else are distinguished by their names.
    if not meant:
        return {path: path for path in codes if path == _NAME or _NAME not in codes}
    # The outermost policy first: it determines the policies inside it.
    policies = sorted((path for path in meant if path.endswith(".name")), key=len)
    owners = {path: path for path in meant}
    for policy in reversed(policies):
        owners |= {path: policy for path in meant if _is_parameter(path, policy, codes)}
    decided = {path for path in meant if path != "seed" and _decides(_NAME, path, codes)} if are_named else set()
    if len(decided & set(owners.values())) > _KEYS_OF_A_SYSTEM:
        owners = {_NAME: _NAME} | {path: _NAME if path in decided else owner for path, owner in owners.items()}
    if _TRACE in decided and _decides(_TRACE, _NAME, codes):
        owners |= {_NAME: _NAME, _TRACE: _NAME}
    return owners


def _is_parameter(path: str, policy: str, codes: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether a key is a parameter of a policy, with one value for each policy."""
    return path != policy and path.startswith(policy.removesuffix("name")) and _decides(policy, path, codes)


def _decides(one: str, other: str, codes: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether runs with the same value of a key have the same value of another."""
    return one in codes and len(set(zip(codes[one], codes[other], strict=True))) == max(codes[one]) + 1


@cache
def _family(path: str) -> tuple[str, ...]:
    """Return the names of the policies that a key can choose."""
    families = (family for family in policies() if family.key == path.removesuffix(".name"))
    return tuple(policy.name for family in families for policy in family.policies)


def _key(path: str, along: tuple[str, ...], leaves: Sequence[Mapping[str, Any]]) -> Key:
    column = [leaf.get(path) for leaf in leaves]
    own = [leaf.get(path) for leaf in leaves if f"{path.removesuffix('name')}code" in leaf]
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
    elif {*map(str, values)} <= {*(family := _family(path)), *own, str(None)}:
        places = {name: place for place, name in enumerate(family)}
        values.sort(key=lambda value: (value is None, places.get(str(value), len(places)), str(value)))
    places = {_hashable(value): place for place, value in enumerate(values)}
    return Key(path, unit, tuple(values), numbers, tuple(places[_hashable(value)] for value in column), along)


def _codes(values: Sequence[Any]) -> tuple[int, ...]:
    """Give numbers to the distinct values in the order of their appearance."""
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
