"""Requests of a database that trims the pages whose images its log holds; `the_log_holds_the_page.py` explains it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

PAGE_BYTES = 8192
RECORD_BYTES = 160
READ, WRITE, TRIM, FLUSH = "read", "write", "trim", "flush"
Row = tuple[str, int, int]


class RuleBrokenError(Exception):
    """A trimmed page could not be recovered after a crash."""


@dataclass
class Database:
    """Requests of a database with a pool of pages and a log of page images; see the notebook.

    `pool` is a share of the pages, `distance` the log between two checkpoints as a share of the data, `commits` how
    many transactions share a flush. `images` says where whole pages are written: in the `log` at their first change, as
    PostgreSQL does, in an area of their own right before the page itself, the `doublewrite` of InnoDB, or nowhere
    (`none`), as where the drive writes a page whole or not at all. With
    `trims_log` the log that recovery will not read again is trimmed when a checkpoint is complete: the simplest rival.
    """

    pages: int = 16_384
    pool: float = 0.1
    skew: float = 0.8
    updates: float = 0.5
    distance: float = 0.5
    commits: int = 4
    images: str = "log"
    deallocate: str = "none"
    trims_log: bool = False
    seed: int = 1

    _pool: OrderedDict[int, bool] = field(default_factory=OrderedDict, init=False)
    """The pages of the pool, those used last at the end, and whether each is dirty."""
    _image: dict[int, tuple[int, int]] = field(default_factory=dict, init=False)
    """The checkpoint after which a page's latest image was logged, and the image's end in the log."""
    _record: dict[int, int] = field(default_factory=dict, init=False)
    """The end in the log of a page's latest change."""
    _changes: dict[int, int] = field(default_factory=dict, init=False)
    """Changes of a page since it came into the pool or was written."""
    _trimmed: set[int] = field(default_factory=set, init=False)
    _dirtied: dict[int, None] = field(default_factory=dict, init=False)
    """Dirty pages that may be trimmed after the next flush."""
    _to_write: OrderedDict[int, None] = field(default_factory=OrderedDict, init=False)
    """What the running checkpoint still has to write."""
    _owed: int = field(default=0, init=False)
    """How many pages it had to write."""
    _log: int = field(default=0, init=False)
    _durable: int = field(default=0, init=False)
    _redo: int = field(default=0, init=False)
    """Where the latest checkpoint began."""
    _dead: int = field(default=0, init=False)
    """Until where recovery needs no log."""
    _checkpoint: int = field(default=0, init=False)
    _completed: int = field(default=0, init=False)
    """The latest checkpoint, and the latest that is complete."""

    @property
    def distance_bytes(self) -> int:
        """The log between two checkpoints."""
        return int(self.distance * self.pages * PAGE_BYTES)

    @property
    def log_bytes(self) -> int:
        """The ring holds the log of two intervals, and what a group of commits adds."""
        return 2 * self.distance_bytes + (1 << 20)

    @property
    def space_bytes(self) -> int:
        """What the drive must export: pages, log, and an area for a doublewrite."""
        return self.pages * PAGE_BYTES + self.log_bytes + (1 << 20)

    @property
    def logged_bytes(self) -> int:
        """How much was logged until now."""
        return self._log

    def requests(self, transactions: int) -> Iterator[Row]:
        """Yield the requests of a number of transactions: operation, offset, bytes; further ones go on from there."""
        random = np.random.default_rng(self.seed)
        weights = 1 / np.arange(1, self.pages + 1) ** self.skew
        cumulative = np.cumsum(weights / weights.sum())
        places = random.permutation(self.pages)
        drawn = places[np.minimum(np.searchsorted(cumulative, random.random(transactions)), self.pages - 1)]
        updates = random.random(transactions) < self.updates
        for number, (page, is_update) in enumerate(zip(drawn.tolist(), updates.tolist(), strict=True), 1):
            yield from self._fetched(page)
            if is_update:
                yield from self._changed(page)
            if number % self.commits == 0:
                yield from self._flushed()
                yield from self._trims()
            yield from self._checkpointed()

    def _fetched(self, page: int) -> Iterator[Row]:
        if page in self._pool:
            self._pool.move_to_end(page)
            return
        if len(self._pool) >= self.pool * self.pages:
            yield from self._written(next(iter(self._pool)))
            self._pool.popitem(last=False)
        if page in self._trimmed:
            raise RuleBrokenError(f"page {page} is read while it is trimmed")
        yield READ, page * PAGE_BYTES, PAGE_BYTES
        self._pool[page] = False

    def _changed(self, page: int) -> Iterator[Row]:
        is_first = self.images == "log" and self._image.get(page, (-1, 0))[0] < self._checkpoint
        self._log += RECORD_BYTES + is_first * PAGE_BYTES
        if is_first:
            self._image[page] = (self._checkpoint, self._log)
        self._record[page] = self._log
        self._changes[page] = self._changes.get(page, 0) + 1
        self._pool[page] = True
        least = {"none": np.inf, "hot-only": 2}.get(self.deallocate, 1)
        if self.images == "log" and self._changes[page] >= least and page not in self._trimmed:
            self._dirtied[page] = None
        if self.deallocate == "too-early":
            yield from self._trims()

    def _written(self, page: int) -> Iterator[Row]:
        """Write a page back if it is dirty, behind its log."""
        if not self._pool.get(page):
            return
        if self._durable < self._record[page]:
            yield from self._flushed()
        if self.images == "doublewrite":
            yield WRITE, self.pages * PAGE_BYTES + self.log_bytes + page % 128 * PAGE_BYTES, PAGE_BYTES
        yield WRITE, page * PAGE_BYTES, PAGE_BYTES
        self._pool[page] = False
        self._trimmed.discard(page)
        self._dirtied.pop(page, None)
        self._changes.pop(page, None)

    def _flushed(self) -> Iterator[Row]:
        """Write what the log has grown by, with the page that is begun, and flush."""
        at, begin = self._durable // PAGE_BYTES * PAGE_BYTES, self.pages * PAGE_BYTES
        while at < self._log:
            place = at % self.log_bytes
            length = min(-(-(self._log - at) // PAGE_BYTES) * PAGE_BYTES, 1 << 17, self.log_bytes - place)
            yield WRITE, begin + place, length
            at += length
        yield FLUSH, 0, 0
        self._durable = self._log

    def _trims(self) -> Iterator[Row]:
        waiting, self._dirtied = self._dirtied, {}
        for page in waiting:
            if page in self._to_write or not self._pool.get(page):
                continue
            self._trimmed.add(page)
            self._check(page)
            yield TRIM, page * PAGE_BYTES, PAGE_BYTES

    def _log_trims(self) -> Iterator[Row]:
        """Trim the whole pages of the log before the place from which recovery would begin."""
        at, self._dead = self._dead, self._redo // PAGE_BYTES * PAGE_BYTES
        while self.trims_log and at < self._dead:
            place = at % self.log_bytes
            length = min(self._dead - at, 1 << 20, self.log_bytes - place)
            yield TRIM, self.pages * PAGE_BYTES + place, length
            at += length

    def _check(self, page: int) -> None:
        """Assert the rule for a trimmed page."""
        checkpoint, end = self._image[page]
        if end > self._durable or checkpoint < self._completed or not self._pool.get(page):
            raise RuleBrokenError(
                f"page {page} is trimmed, and its image is not durable, or older than recovery begins"
            )

    def _checkpointed(self) -> Iterator[Row]:
        since = self._log - self._redo
        if self._to_write:
            left = int(self._owed * max(0.0, 1 - since / (0.9 * self.distance_bytes)))
            while len(self._to_write) > left:
                yield from self._written(self._to_write.popitem(last=False)[0])
            if not self._to_write:
                yield FLUSH, 0, 0
        if not self._to_write and self._completed < self._checkpoint:
            self._completed = self._checkpoint
            for page in self._trimmed:
                self._check(page)
            yield from self._log_trims()
        if since >= self.distance_bytes:
            self._to_write = OrderedDict.fromkeys(sorted(page for page, is_dirty in self._pool.items() if is_dirty))
            self._owed, self._redo = len(self._to_write), self._log
            self._checkpoint += 1
