"""The why of a difference between schemes: exact shares of its parts, from runs of the schemes between.

A scheme may consist of parts, each of which is a scheme alone. Where all combinations ran, the share of a part is its
mean effect over the orders in which the parts may be added (Shapley, "A value for n-person games", 1953). The shares
add up to the difference: nothing is left over.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coflash.measures.measure import Measure
from coflash.measures.metrics import Metrics
from coflash.quantity import show, signed
from coflash.results.estimate import Estimate, estimate
from coflash.scenario import LABELS, as_text, flat

Parts = frozenset[str]
_NAMES = {"none": "none (a cache without cooperation)"}
_NOTHING = 0.001
"""The share of a measure that is no change."""
_SCHEMES, _NOT_THE_REST = ("cooperation.", "hybrid.scheme."), ("cooperation", "hybrid.scheme", "seed", *LABELS)
OVERWRITES, REMOVABLE = "overwritten pages known at once", "cached pages not copied"
_LATTICES: Sequence[Mapping[str, Sequence[str]]] = json.loads(
    Path(__file__).with_name("lattices.json").read_text("utf-8")
)
LATTICES = tuple({name: frozenset(parts) for name, parts in one.items()} for one in _LATTICES)
"""Schemes with all that lie between, each with its parts: the first has none, the last all."""
TIERS = ("fp-fcl", "rw-fcl", "op-fcl")
"""The schemes of a flash cache before disks, each with one more part than the one before."""


@dataclass(frozen=True)
class Why:
    """The difference of a number from one scheme to another, as a sum of the shares of its parts."""

    before: str
    after: str
    base: Estimate
    """The number under the first scheme, over pairs of runs."""
    whole: Estimate
    """The number under the other."""
    shares: Mapping[str, Estimate]
    """The share of each part in the difference: their means add up to it."""

    def said(self, measure: Measure, bound: float | None = None) -> str:
        """Say how a measure changes from one scheme to another, in the unit of its bound if there is one."""
        least, most = self.base.mean or 0.0, self.whole.mean or 0.0
        before, after = (show(each, measure.unit, bound) for each in (least, most))
        pair = f"from {_NAMES.get(self.before, self.before)} to {self.after}"
        grain = _NOTHING * max(abs(least), abs(most))
        found = {part: one.mean or 0.0 for part, one in self.shares.items() if abs(one.mean or 0.0) > grain}
        if not found:
            return f"{pair} {measure.label} stays at {after}"
        shares = ", ".join(f"{part} {signed(mean, measure.unit, bound)}" for part, mean in found.items())
        return f"{pair} {measure.label} changes from {before} to {after} ({shares})"

    def document(self) -> dict[str, Any]:
        """Return it as plain data."""
        shares = {part: one._asdict() for part, one in self.shares.items()}
        totals = {"base": self.base._asdict(), "whole": self.whole._asdict()}
        return {"from": self.before, "to": self.after, **totals, "shares": shares}


Run = tuple[Mapping[str, Any], Metrics]
"""The document of a run, and its metrics."""


def explained(runs: Sequence[Run], read: Callable[[Metrics], float | None]) -> Iterator[tuple[list[int], Why]]:
    """Explain a number among runs that are alike in all but scheme and seed; yields the places of the runs, too."""
    alike: dict[str, dict[tuple[str, int], list[int]]] = {}
    for place, (document, _) in enumerate(runs):
        keys = flat(document["scenario"])
        rest = {key: one for key, one in keys.items() if key not in _NOT_THE_REST and not key.startswith(_SCHEMES)}
        digests = [file["sha256"] for file in document["workload"]["inputs"]]
        group = alike.setdefault(repr((rest, digests, document.get("revision"))), {})
        group.setdefault((scheme_of(document), document["scenario"].get("seed", 0)), []).append(place)
    for group in alike.values():
        # Others differ in a parameter of their scheme, or of those beside it.
        flats = [flat(runs[place][0]["scenario"]) for places in group.values() for place in places]
        own = {(key, as_text(one)) for keys in flats for key, one in keys.items() if key.startswith(_SCHEMES)}
        own = {pair for pair in own if not pair[0].endswith(".name")}
        if len({key for key, _ in own}) == len(own) and all(len(places) == 1 for places in group.values()):
            places = [place for (place,) in group.values()]
            yield from ((places, why) for why in whys([(*of, read(runs[place][1])) for of, (place,) in group.items()]))


def scheme_of(document: Mapping[str, Any]) -> str:
    """Return the scheme of a run: of its cache, or of its flash cache before disks."""
    scenario = document["scenario"]
    chosen = (scenario.get("hybrid") or {}).get("scheme") or scenario.get("cooperation") or "none"
    return str(chosen["name"] if isinstance(chosen, Mapping) else chosen)


def between(before: str, after: str) -> tuple[str, ...]:
    """Return the schemes of whose runs the exact shares of a difference follow, both ends included; none if none do."""
    return next((tuple(lattice) for lattice in LATTICES if [*lattice][:: len(lattice) - 1] == [before, after]), ())


def shapley(parts: Sequence[str], value: Callable[[Parts], float]) -> dict[str, float]:
    """Return the share of each part in the difference from none of them to all."""

    def effect(part: str, before: Sequence[str]) -> float:
        return value(frozenset((*before, part))) - value(frozenset(before))

    orders = list(itertools.permutations(parts))
    return {part: math.fsum(effect(part, of[: of.index(part)]) for of in orders) / len(orders) for part in parts}


def whole(before: str, after: str, of: Mapping[Parts, Sequence[float]], parts: Parts) -> Why:
    """Explain the difference from nothing to some parts, given the numbers of sums of parts, one for each seed.

    Parts of which not all combinations are there have one share together, beyond those of the largest that has all.
    """

    def is_whole(one: Parts) -> bool:
        return all(frozenset(each) in of for size in range(len(one)) for each in itertools.combinations(one, size))

    most = max((one for one in of if one <= parts and is_whole(one)), key=len)
    seeds = range(len(of[parts]))
    by_seed = [shapley(sorted(most), lambda one, seed=seed: of[one][seed]) for seed in seeds]  # type: ignore[misc]
    shares = {part: estimate([one[part] for one in by_seed]) for part in sorted(most)}
    if most != parts:
        shares[", ".join(sorted(parts - most))] = estimate([of[parts][seed] - of[most][seed] for seed in seeds])
    return Why(before, after, estimate(of[frozenset()]), estimate(of[parts]), shares)


def whys(runs: Iterable[tuple[str, Any, float | None]]) -> list[Why]:
    """Explain the differences between schemes whose combinations are all there.

    Args:
        runs: For each run its scheme, what pairs it with others, such as its seed, and the number.
    """
    found: dict[str, dict[Any, float | None]] = {}
    for scheme, pair, value in runs:
        found.setdefault(scheme, {})[pair] = value
    explained = []
    for lattice in LATTICES:
        of = {parts: found.get(scheme, {}) for scheme, parts in lattice.items()}
        pairs = [pair for pair in of[frozenset()] if all(values.get(pair) is not None for values in of.values())]
        if not pairs:
            continue
        before, *_, after = lattice
        numbers = {parts: [values[pair] or 0.0 for pair in pairs] for parts, values in of.items()}
        explained.append(whole(before, after, numbers, lattice[after]))
    return explained
