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
        with np.errstate(divide="ignore"):
            score = (candidates.age + self.offset) * (candidates.pages_per_block - candidates.cost) / candidates.cost
        best = np.flatnonzero(score == score.max())
        return int(best[candidates.age[best].argmax()])


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
