"""Garbage collection that moves pages into the cache: `move-in`, and `expected-cost` with a fixed weight."""

from __future__ import annotations

import math
from collections import OrderedDict
from typing import Any

from models.device import Device
from models.ftl import Move
from models.timing import Moment

BUCKETS = 8
EVICTED, DISPLACED = "evicted", "displaced"


class History:
    """The writes of each page; the time is that of the last write into the cache."""

    def __init__(self, slots: int) -> None:
        self.now = 0
        self.kept = float(slots)
        self.writes: dict[int, list[int]] = {}

    def age(self, lpn: int) -> int | None:
        return self.now - self.writes[lpn][-1] if lpn in self.writes else None

    def interval(self, lpn: int) -> int | None:
        writes = self.writes.get(lpn, [])
        return writes[-1] - writes[-2] if len(writes) > 1 else None

    def wrote(self, lpn: int) -> None:
        self.now += 1
        self.writes.setdefault(lpn, []).append(self.now)

    def left(self, lpn: int) -> None:
        age = self.age(lpn)
        if age is not None:
            self.kept += (age - self.kept) / 256


class Chances:
    """How often a page of each class was written, or read, within a turnover after a question about it."""

    def __init__(self) -> None:
        self.asked: dict[Any, float] = {}
        self.came: dict[Any, float] = {EVICTED: 64.0}
        self.open: dict[int, tuple[Any, int]] = {}

    def share(self, kind: Any) -> float:
        return min(self.came.get(kind, 0.0) / max(self.asked.get(kind, 64.0), 1.0), 1.0)

    def count(self, kind: Any) -> None:
        asked = self.asked.get(kind, 64.0)
        if asked >= 1024:
            asked /= 2
            self.came[kind] = self.came.get(kind, 0.0) / 2
        self.asked[kind] = asked + 1

    def ask(self, kind: Any, lpn: int, history: History) -> None:
        earlier = self.take(lpn, history)
        if earlier is not None:
            self.asked[earlier] -= 1
        self.count(kind)
        self.open[lpn] = kind, history.now

    def take(self, lpn: int, history: History) -> Any:
        kind, at = self.open.pop(lpn, (None, 0))
        return kind if history.now - at <= history.kept else None


class MovingDevice(Device):
    """A device whose garbage collection moves pages in."""

    def __init__(self, options: dict[str, Any], logical_pages: int) -> None:
        super().__init__(options, logical_pages)
        self.learns = self.scheme["name"] == "expected-cost"
        self.moves = self.cache.pages > 0 and self.scheme.get("moves_in", True)
        self.history = History(self.cache.pages)
        self.clean: OrderedDict[int, None] = OrderedDict()
        """Clean pages, the one used longest ago first."""
        self.serving: int | None = None
        self.chances = Chances()
        self.copied = 0
        self.copied_share = self.written = self.evicted = self.room = 0.0
        self.program = 1.0

    # The rules.

    def pays(self, lpn: int) -> bool:
        age, interval = self.history.age(lpn), self.history.interval(lpn)
        if not self.learns:
            if age is None or interval is None:
                return False
            return (interval - age if interval > age else age) < self.history.kept
        kind = self.bucket(age), self.bucket(interval)
        self.chances.ask(kind, lpn, self.history)
        again, lost, read = (self.chances.share(each) for each in (kind, EVICTED, DISPLACED))
        weight: float = self.scheme["read_weight"]
        return self.program * (again - lost) + self.room > weight * read

    def bucket(self, time: int | None) -> int:
        if time is None:
            return BUCKETS - 1
        turnovers = time / max(self.history.kept, 1.0)
        return next((each for each in range(BUCKETS - 2) if turnovers < 2**each), BUCKETS - 2)

    def is_about_to_clean(self) -> None:
        super().is_about_to_clean()
        self.copied_share += (self.copied / self.ftl.block_pages - self.copied_share) / 64
        self.copied = 0
        u = min(max(self.copied_share, 0.05), 0.98)
        self.program = 1.0 / (1.0 - u)
        slope = (math.log(u) - (u - 1.0) / u) / (math.log(u) * math.log(u))
        pages = self.history.kept * self.evicted / max(self.written, 1.0)
        flash_pages = len(self.ftl.pool_of) * self.ftl.block_pages
        self.room = pages * self.program * self.program / slope / flash_pages

    # Questions of garbage collection.

    def move(self, lpn: int) -> Move | None:
        move = super().move(lpn)
        if move is None:
            self.clean.pop(lpn, None)
        elif self.moves and lpn not in self.cache and not self.is_at_bound() and self.pays(lpn):
            if not self.clean:
                self.counters["moving.without_room_pages"] += 1
            elif lpn == self.serving:
                return move
            else:
                self.move_in(lpn)
                return Move(into_cache=True)
        self.copied += move is not None
        return move

    def move_in(self, lpn: int) -> None:
        left, _ = self.clean.popitem(last=False)
        self.chances.ask(DISPLACED, left, self.history)
        self.cache.remove(left)
        self.cache.insert(lpn)
        self.cache.orphans.add(lpn)
        self.becomes_dirty(lpn)
        self.ftl.weight_changed(left)
        self.counters["moving.moved_in_pages"] += 1
        self.counters["cache.clean_evictions_pages"] += 1
        self.counters["cache.nvm_writes_pages"] += 1

    # Events of the cache.

    def is_served(self, lpn: int) -> None:
        self.serving = lpn

    def used(self, lpn: int) -> None:
        if lpn in self.clean:
            self.clean.move_to_end(lpn)

    def became_clean(self, lpn: int, *, by_read: bool) -> None:
        self.clean[lpn] = None
        if by_read and self.chances.take(lpn, self.history) == DISPLACED:
            self.chances.came[DISPLACED] = self.chances.came.get(DISPLACED, 0.0) + 1

    def about_to_change(self, lpn: int) -> None:
        self.clean.pop(lpn, None)

    def wrote(self, lpn: int) -> None:
        self.clean.pop(lpn, None)
        kind = self.chances.take(lpn, self.history)
        if kind not in {None, DISPLACED}:
            self.chances.came[kind] = self.chances.came.get(kind, 0.0) + 1
        if self.written >= 65536:
            self.written, self.evicted = self.written / 2, self.evicted / 2
        self.written += 1
        self.history.wrote(lpn)

    def evicting(self, lpn: int) -> None:
        self.clean.pop(lpn, None)
        if lpn not in self.cache.dirty:
            self.chances.count(EVICTED)
            return
        if lpn not in self.cache.orphans:
            self.history.left(lpn)
        self.evicted += 1
        self.chances.ask(EVICTED, lpn, self.history)

    def trimmed(self, lpn: int) -> None:
        """Forgets a cached page."""
        self.clean.pop(lpn, None)

    def trim(self, lpn: int, start: Moment) -> Moment:
        """What is written there next is another page, also where none is cached."""
        self.history.writes.pop(lpn, None)
        return super().trim(lpn, start)
