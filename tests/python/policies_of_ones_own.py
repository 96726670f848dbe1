"""Policies from outside that tests use."""

from __future__ import annotations

from collections import OrderedDict
from typing import SupportsIndex

import numpy as np

import coflash


@coflash.policy("gc.victim")
class Greedy:
    def pick(self, candidates: coflash.Candidates) -> SupportsIndex:
        return candidates.cost.argmin()


@coflash.policy("gc.victim")
class Fifo:
    def pick(self, candidates: coflash.Candidates) -> SupportsIndex:
        return candidates.age.argmax()


@coflash.policy("gc.victim")
class CostBenefit:
    def __init__(self, offset: int = 1) -> None:
        self.offset = offset

    def pick(self, candidates: coflash.Candidates) -> SupportsIndex:
        cost, age = candidates.cost, candidates.age
        score = (age + self.offset) * (candidates.pages_per_block - cost)
        score /= np.maximum(cost, 1e-9)  # blocks without cost come first
        best = (score == score.max()).nonzero()[0]
        chosen: SupportsIndex = best[age[best].argmax()]
        return chosen


@coflash.policy("cache.policy")
class Lru:
    def __init__(self, _pages: int) -> None:
        self.recent: OrderedDict[int, None] = OrderedDict()

    def insert(self, page: int, _dirty: bool) -> None:
        self.recent[page] = None

    def hit(self, page: int) -> None:
        self.recent.move_to_end(page)

    def remove(self, page: int) -> None:
        del self.recent[page]

    def evict(self) -> int:
        return next(iter(self.recent))


@coflash.policy("cache.policy")
class FifoOfPages(Lru):
    def hit(self, page: int) -> None:
        pass


@coflash.policy("ftl.placement")
class SepGc:
    classes = 2
    gc_classes = 1

    def __init__(self, _pages: int) -> None:
        pass

    def user_write(self, _page: int, _replaces: int | None, _is_evicted: bool, _now: int) -> int:
        return 0

    def gc_write(self, _page: int, _source: int, _now: int) -> int:
        return 1


@coflash.policy("ftl.placement")
class Dac:
    """A page goes to a hotter class with each overwrite, and to a colder one with each copy; 0 is the hottest."""

    classes = 6
    gc_classes = 5

    def __init__(self, pages: int) -> None:
        self.place = np.zeros(pages, np.uint8)

    def user_write(self, page: int, replaces: int | None, _is_evicted: bool, _now: int) -> SupportsIndex:
        self.place[page] = 5 if replaces is None else max(self.place.item(page) - 1, 0)
        return self.place.item(page)

    def gc_write(self, page: int, _source: int, _now: int) -> SupportsIndex:
        self.place[page] = min(self.place.item(page) + 1, 5)
        return self.place.item(page)
