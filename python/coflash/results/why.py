"""The why of a difference between schemes: exact shares of its parts, from runs of the schemes between.

A scheme may consist of parts, each of which is a scheme alone. Where all combinations ran, the share of a part is its
mean effect over the orders in which the parts may be added (Shapley, "A value for n-person games", 1953). The shares
add up to the difference: nothing is left over.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coflash.results.estimate import Estimate, estimate

Parts = frozenset[str]
_OVERWRITES, _REMOVABLE = "overwritten pages known at once", "cached pages not copied"
_SEPARATION, _DELAY = "shadows apart", "victims without shadows"
LATTICES: tuple[Mapping[str, Parts], ...] = (
    {
        "none": frozenset(),
        "cdm-overwrites": frozenset({_OVERWRITES}),
        "cdm-removable": frozenset({_REMOVABLE}),
        "cdm": frozenset({_OVERWRITES, _REMOVABLE}),
    },
    {
        "ggc": frozenset(),
        "separation": frozenset({_SEPARATION}),
        "delay": frozenset({_DELAY}),
        "zgc": frozenset({_SEPARATION, _DELAY}),
    },
    {"fp-fcl": frozenset(), "rw-fcl": frozenset({"read and write cache sized by costs"})},
    {"rw-fcl": frozenset(), "op-fcl": frozenset({"spare space sized by costs"})},
)
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

    def document(self) -> dict[str, Any]:
        """Return it as plain data."""
        shares = {part: one._asdict() for part, one in self.shares.items()}
        totals = {"base": self.base._asdict(), "whole": self.whole._asdict()}
        return {"from": self.before, "to": self.after, **totals, "shares": shares}


def shapley(parts: Sequence[str], value: Callable[[Parts], float]) -> dict[str, float]:
    """Return the share of each part in the difference from none of them to all."""

    def effect(part: str, before: Sequence[str]) -> float:
        return value(frozenset((*before, part))) - value(frozenset(before))

    orders = list(itertools.permutations(parts))
    return {part: math.fsum(effect(part, of[: of.index(part)]) for of in orders) / len(orders) for part in parts}


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
        known = {pair: {parts: values[pair] or 0.0 for parts, values in of.items()} for pair in pairs}
        before, *_, after = lattice
        by_pair = [shapley(sorted(lattice[after]), known[pair].__getitem__) for pair in pairs]
        explained.append(
            Why(
                before,
                after,
                estimate([values[lattice[before]] for values in known.values()]),
                estimate([values[lattice[after]] for values in known.values()]),
                {part: estimate([one[part] for one in by_pair]) for part in by_pair[0]},
            )
        )
    return explained
