"""What GC may do with a valid page: the answers that can be compared on one scenario, and the parts of each."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from coflash._core import CoflashError
from coflash.policies import policies
from coflash.quantity import parsed
from coflash.results.result import Result
from coflash.results.why import OVERWRITES, REMOVABLE, Parts, Why, whole, whys
from coflash.scenario import Scenario, flat, toml_value
from coflash.sweep.design import Assignment
from coflash.sweep.memory import page_bytes
from coflash.sweep.plan import refusal

_CACHE, _BUFFER, TIER = "cache.size", "host_buffer.size", "hybrid"
_NEEDS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    _CACHE: ("there is no cache", {_CACHE: "5%"}),
    _BUFFER: ("there is no write buffer in the host", {_BUFFER: "64MiB"}),
    TIER: ("there are no disks behind the flash (a scenario such as opfcl-config1)", {}),
}
"""What a scenario lacks, and the keys that mend it."""
_VOLATILE = "cache.volatile"
_SCHEME, _HYBRID = "cooperation.name", "hybrid.scheme.name"
_FIRST = '{ name = "cflru", window = "100%" }'
ORDERS = {"clean first": _FIRST, "W-TinyLFU": "w-tinylfu", "S3-FIFO": "s3-fifo", "SIEVE": "sieve", "LRU": "lru"}
"""The orders of eviction that are answers, and their policies."""
_MOVED, _COSTS = "pages moved into the cache", "moves and drops by expected cost"
_HOST, _DEVICE, _TWINS = "pages dirty in the host apart", "newer data taken from the buffer", "twins not written"
_SIZED, _SPARE = "read and write cache sized by costs", "spare space sized by costs"
_ALL, _SOON = "clean pages dropped", "pages dropped that would soon be evicted"
_ALIKE, _SHARED = ("cdm", "cdm-removable", "move-in"), ("removable_weight", "rewrite_stream", "sole_copies_max")
"""The schemes whose parameters mean the same, and these: a scenario that gives them to one gives them to all."""


@dataclass(frozen=True)
class Answer:
    """One answer: a scheme, and for some the order of eviction."""

    name: str
    settings: Assignment
    parts: Parts = frozenset()
    needs: str = _CACHE
    """What it needs: a key of `_NEEDS`, or nothing."""
    is_step: bool = False
    """Whether it is run only to take another answer apart."""

    def on(self, scenario: Scenario) -> Assignment:
        """Return its settings on a scenario, with the parameters that the scenario gives to schemes of this kind."""
        first, *rest = self.settings
        return (scheme_on(scenario, first[1]) if first[0] == _SCHEME else first, *rest)

    def refused(self, scenario: Scenario) -> str:
        """Return why a scenario cannot have it; empty if it can."""
        keys = flat(scenario.to_dict())
        has = {key: (parsed(keys.get(key)) or (0.0, ""))[0] > 0 for key in (_CACHE, _BUFFER)}
        has[TIER] = _HYBRID in keys
        if self.needs and not has[self.needs]:
            why, mend = _NEEDS[self.needs]
            with suppress(CoflashError):
                if mend and self.refused(scenario.with_(mend)).startswith(f"{_VOLATILE}:"):
                    mend = {**mend, _VOLATILE: "true"}
            sets = " ".join(f"--set {key}={value}" for key, value in mend.items())
            return f"{why} ({sets})" if sets else why
        if (order := self.settings[1:]) and scenario.set([*order]) == scenario:
            return "the scenario evicts in this order already"
        name = re.escape(self.settings[0][1])  # the same text for all that it refuses
        return re.sub(rf"(?<![\w-]){name}(?![\w-])", "it", refusal(scenario, self.on(scenario)))

    def memory_bytes(self, run: Result) -> int | None:
        """Return the memory of its scheme and of the order of eviction on the device of a run, if both tell it."""
        pages = run.workload["logical_bytes"] // page_bytes(run.scenario)
        slots = getattr(run.metrics.cache, "capacity_pages", 0)
        count = {"a logical page": pages, "a slot": slots, "": 1}
        declared = {one.name: one.needs for family in policies() for one in family.policies if one.needs}
        order = run.scenario.to_dict()["cache"]["policy"]["name"]
        needs = [declared.get(name, "") for name in (self.settings[0][1], order)]
        terms = [term.partition(" B") for each in needs for term in each.removeprefix("nothing").split(", ") if term]
        return round(sum(float(number) * count[each.strip()] for number, _, each in terms)) if all(needs) else None


def scheme_on(scenario: Scenario, scheme: str) -> tuple[str, str]:
    """Return the key and the value of a scheme, with the parameters that a scenario gives to schemes of its kind."""
    own = scenario.to_dict().get("cooperation")
    if scheme not in _ALIKE or not isinstance(own, Mapping) or own["name"] not in _ALIKE or own["name"] == scheme:
        return _SCHEME, scheme
    alike = {"name": scheme, **{key: own[key] for key in _SHARED if key in own}}
    has_defaults = scenario.with_({_SCHEME: scheme}) == scenario.with_(cooperation=alike)
    return (_SCHEME, scheme) if has_defaults else ("cooperation", toml_value(alike))


def vary_of(scenario: Scenario, schemes: Sequence[str]) -> str:
    """Return the option of a sweep over schemes, for a shell, with their parameters as of `scheme_on`."""
    values = ",".join(scheme_on(scenario, scheme)[1] for scheme in schemes)
    return f"--vary {shlex.quote(f'cooperation={values}')}"


def _of(name: str, *parts: str, step: bool = False, needs: str = _CACHE) -> Answer:
    return Answer(name, ((_HYBRID if needs == TIER else _SCHEME, name),), frozenset(parts), needs, step)


def _with(one: Answer, order: str) -> Answer:
    name = order if one is _ALONE[0] else f"{one.name} with {order}"
    settings = (*one.settings, ("cache.policy", ORDERS[order]))
    return Answer(name, settings, one.parts | {f"eviction by {order}"}, is_step=one.parts == {REMOVABLE})


_ALONE = (
    _of("none", needs=""),
    _of("cdm-overwrites", OVERWRITES),
    _of("cdm-removable", REMOVABLE),
    _of("cdm", OVERWRITES, REMOVABLE),
    _of("expected-cost", OVERWRITES, REMOVABLE, _COSTS),
)
DEVICE: tuple[Answer, ...] = (
    *_ALONE,
    _of("move-in", OVERWRITES, REMOVABLE, _MOVED),  # with an order of eviction it saves what cdm does
    *(_with(one, order) for order in ORDERS for one in _ALONE),
    _of("hgc", _HOST, needs=_BUFFER),
    _of("dgc", _DEVICE, needs=_BUFFER),
    _of("hgc-dgc", _HOST, _DEVICE, needs=_BUFFER, step=True),
    _of("sgc", _HOST, _DEVICE, _TWINS, needs=_BUFFER),
)
BEFORE_DISKS: tuple[Answer, ...] = (
    _of("fp-fcl", needs=TIER),
    _of("rw-fcl", _SIZED, needs=TIER, step=True),
    _of("op-fcl", _SIZED, _SPARE, needs=TIER),
    _of("silent-eviction", _ALL, needs=TIER),
    _of("drop-evict", _SOON, needs=TIER),
)
"""The answers of each kind of device; the first one of each is what the others are compared with."""


def whys_of(own: str, runs: Sequence[tuple[str, Any, float | None]]) -> tuple[Why, ...]:
    """Explain the differences between schemes as `whys` does; in their place that of `own`, if none ends in it."""
    known, numbers = tuple(whys(runs)), dict[str, list[float]]()
    for scheme, _, number in runs:
        numbers.setdefault(scheme, []).append(number or 0.0)
    before, *others = DEVICE if DEVICE[0].name in numbers else BEFORE_DISKS
    if own not in numbers or before.name not in numbers or any(own in (why.before, why.after) for why in known):
        return known
    parts = {one.name: one.parts for one in others if one.name in numbers}
    parts = {own: frozenset({own}), **parts, before.name: before.parts}
    return (whole(before.name, own, {of: numbers[name] for name, of in parts.items()}, parts[own]),)
