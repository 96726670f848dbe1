"""The cheapest pair of two sizes that is enough, where more of either is never worse.

A pair that is not enough rules out all with no more of both, and one that is enough makes all with no less of both
needless. So a column, the firsts with one second, is halved between the most that is known to be too little and the
least that is known to be enough or too dear. Between columns the middle one is looked into, for as long as a pair there
may be cheaper. Where not even the largest pair is enough, a coarse grid is looked into as well.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeVar

_GRID, _AT_ONCE = 8, 3
"""The steps of the coarse grid; the most pairs that are looked into before others may be better."""
_Item = TypeVar("_Item")
Pair = tuple[int, int]
"""The indices of a first and of a second size, each in the order of its sizes."""


@dataclass
class Frontier:
    """A search among pairs of sizes."""

    firsts: int
    """The number of first sizes."""
    seconds: int
    """The number of second sizes."""
    columns: Sequence[int]
    """The second sizes that are looked into in any case."""
    cost: Callable[[Pair], float]
    """The cost of a pair, which grows with both; infinite from where a pair is not allowed."""
    lacks: Callable[[Sequence[Pair]], Sequence[float]]
    """Find out how much each of some pairs lacks; one that is enough lacks nothing."""
    close: float
    """The share of the cost by which a pair must be cheaper to be looked for."""
    most: float
    """The number of pairs after which only the column of the best one is looked into; `left` tells what that leaves."""
    best: float = math.inf
    """The cost of the cheapest pair that is enough, here or elsewhere."""
    known: dict[Pair, float] = field(default_factory=dict)
    """What each pair lacks that was looked into."""
    uneven: float = 0.0
    """The most that a pair lacked more than one with less of both: one that lacks no more than this rules out none."""

    def probe(self, pairs: Sequence[Pair]) -> bool:
        """Look into some pairs; return whether one is enough."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self.known]
        self.known |= zip(new, self.lacks(new), strict=True) if new else ()
        enough = [self.cost(pair) for pair in pairs if self.known[pair] <= 0]
        self.best = min([self.best, *enough])
        return bool(enough)

    def search(self) -> None:
        """Find the cheapest pair, as closely as is asked for; a second time with more pairs it goes on."""
        columns = self.columns
        if self.best == math.inf and not self.probe(self.largest(columns)):
            columns = range(self.seconds)  # of the allowed pairs those that are enough may be between the columns
            self.probe(self.largest(columns))
        if self.best < math.inf:
            self._halve(self.columns[len(self.columns) // 2 :][:1], self.close)
            self._halve(columns, self.close)
            while columns := self._between():
                self._halve(columns, self.close)
        else:
            firsts = dict.fromkeys((self.firsts - 1) * at // _GRID for at in range(_GRID + 1))
            grid = [(first, second) for first in firsts for second in self.columns[:: len(self.columns) // 2 or 1]]
            self.probe([pair for pair in grid if self.cost(pair) < math.inf])

    def largest(self, columns: Iterable[int]) -> list[Pair]:
        """Return the allowed pairs of some columns with the most of both: the largest one alone, if it is allowed."""
        ends = [(self.dearest(at, self.best), at) for at in columns]
        return [end for end, after in pairwise([*ends, (-1, self.seconds)]) if after[0] < end[0]]

    def refine(self, most: float) -> None:
        """Go on up to a number of pairs, then find the least second size alone, and the least first one of the best."""
        self.most = most
        self.search()
        self._least_second()
        self.most = math.inf
        self._halve([pair[1] for pair, lack in self.known.items() if lack <= 0 and self.cost(pair) == self.best], 0)

    def _least_second(self) -> None:
        """Find the least second size that is enough with the least first one, if that is the cheapest pair."""
        short = [at for (first, at), lack in self.known.items() if first == 0 and lack > 0]
        least = max(short, default=-1) + 1
        cheaper = [at for at in range(least, self.seconds) if self.cost((0, at)) < self.best < math.inf]
        bisect_left(cheaper, True, key=lambda at: self.probe([(0, at)]))

    def look_below(self, column: int) -> None:
        """Look at cheaper pairs of a column that others rule out, since there more is worse, and go on below these."""
        dearest = self.dearest(column, self.best * (1 - self.close))
        self.probe([(dearest * at // _GRID, column) for at in range(_GRID + 1) if dearest >= 0])
        self._halve([column], 0)

    def left(self) -> float:
        """Return the share by which a pair may be cheaper than the best one."""
        untried = self._paying(range(self.seconds), 0)
        least = min((self.cost((firsts[0], at)) for at, firsts in untried.items()), default=self.best)
        return max(0.0, 1 - least / self.best) if self.best else 0.0

    def dearest(self, column: int, cost: float) -> int:
        """Return the largest first size of a column that is cheaper than a cost; -1 if none is."""
        return bisect_left(range(self.firsts), cost, key=lambda first: self.cost((first, column))) - 1

    def _untried(self, column: int, close: float) -> Sequence[int]:
        """Return the first sizes of a column that may be the cheapest."""
        high = min([one for (one, other), lack in self.known.items() if lack <= 0 and other <= column] or [self.firsts])
        short = [one for (one, other), lack in self.known.items() if lack > self.uneven and other >= column]
        low = max((one for one in short if one < high), default=-1)
        between = range(low + 1, min(high, self.dearest(column, self.best * (1 - close)) + 1))
        return [one for one in between if (one, column) not in self.known] if self.uneven else between

    def _halve(self, columns: Sequence[int], close: float) -> None:
        while len(self.known) < self.most and (pairs := self._paying(columns, close)):
            # What may be the cheapest comes first; and of each column the least size, since it is often enough.
            first = sorted(pairs, key=lambda at, firsts=pairs: self.cost((firsts[at][0], at)))[:_AT_ONCE]  # type: ignore[misc]
            self.probe([(0 if pairs[at][0] == 0 else pairs[at][(len(pairs[at]) - 1) // 2], at) for at in first])

    def _paying(self, columns: Iterable[int], close: float) -> dict[int, Sequence[int]]:
        """Return the first sizes of the columns in which a cheaper pair may be."""
        return {at: firsts for at in columns if (firsts := self._untried(at, close))}

    def _between(self) -> list[int]:
        """Return the middle column of each gap in which a cheaper pair may be."""
        looked = sorted({column for _, column in self.known} | {*self.columns})
        gaps = (range(low + 1, high) for low, high in pairwise(looked))
        paying = ([*self._paying(gap, self.close)] for gap in gaps) if len(self.known) < self.most else ()
        return [columns[len(columns) // 2] for columns in paying if columns]


def first_enough(items: Sequence[_Item], is_enough: Callable[[_Item], bool], probes: int) -> Sequence[_Item]:
    """Return the first of rising items that is known to be enough after some probes; nothing if none is."""
    low, high = 0, len(items)
    for _ in range(probes):
        if (middle := (low + high) // 2) > low:
            low, high = (low, middle) if is_enough(items[middle]) else (middle, high)
    return items[high : high + 1]
