"""LIRS as Jiang and Zhang describe it (SIGMETRICS 2002), with lists and scans."""

from __future__ import annotations

from collections import OrderedDict


class Lirs:
    """A cache of `slots` keys, of which 1 %, at least one, is for HIR keys; its stack has at most two keys for a slot.

    libCacheSim 0.3.5 differs from the paper in one respect, which `demotes_on_queue_hits` turns on: a hit of an HIR key
    outside the stack moves the oldest LIR key into the queue, which evicts the last key of the queue. With a queue of
    one that is the key that was hit, and its next access counts as a hit although it was evicted.
    """

    def __init__(self, slots: int, demotes_on_queue_hits: bool = False) -> None:
        self.slots = slots
        self.queue_max = max(1, slots // 100)
        self.lirs = 0
        self.lirs_max = slots - self.queue_max
        self.demotes_on_queue_hits = demotes_on_queue_hits
        self.stack: OrderedDict[int, str] = OrderedDict()
        """Oldest first: "lir", "hir", or "gone"."""
        self.queue: OrderedDict[int, None] = OrderedDict()
        self.gone: OrderedDict[int, None] = OrderedDict()

    def access(self, key: int) -> bool:
        """Accesses a key; returns whether it was cached."""
        hit = self.stack.get(key) in ("lir", "hir") or key in self.queue
        if self.stack.get(key) == "lir":
            self.stack.move_to_end(key)
            self._prune()
        elif self.stack.get(key) == "hir":
            self.queue.pop(key, None)
            self._promote(key)
        elif key in self.queue:
            self.queue.move_to_end(key)
            while self.demotes_on_queue_hits and self.lirs == self.lirs_max:
                self._demote()
            self.stack[key] = "hir"
        else:
            self._miss(key)
        while len(self.stack) > 2 * self.slots and self.gone:
            oldest, _ = self.gone.popitem(last=False)
            del self.stack[oldest]
        return hit

    def _miss(self, key: int) -> None:
        if self.lirs + len(self.queue) == self.slots:
            self._evict()
        if key in self.stack:
            self.gone.pop(key)
            self._promote(key)
        elif self.lirs < self.lirs_max:
            self.stack[key] = "lir"
            self.lirs += 1
        else:
            self.stack[key] = "hir"
            self.queue[key] = None

    def _promote(self, key: int) -> None:
        self.stack[key] = "hir"
        self.stack.move_to_end(key)
        while self.lirs == self.lirs_max:
            self._demote()
        self.stack[key] = "lir"
        self.lirs += 1

    def _demote(self) -> None:
        oldest, _ = self.stack.popitem(last=False)
        self.lirs -= 1
        while len(self.queue) >= self.queue_max:
            self._evict()
        self.queue[oldest] = None
        self._prune()

    def _evict(self) -> None:
        leaving, _ = self.queue.popitem(last=False)
        if self.stack.get(leaving) == "hir":
            self.stack[leaving] = "gone"
            self.gone[leaving] = None

    def _prune(self) -> None:
        while len(self.stack) > 1 and next(iter(self.stack.values())) != "lir":
            oldest, _ = self.stack.popitem(last=False)
            self.gone.pop(oldest, None)
