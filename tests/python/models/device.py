"""A device with a cache, under `none`, `cdm` and its parts: the cache is a dictionary in the order of use."""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import Any

from models.ftl import FULL, Ftl, Move
from models.request import Request
from models.timing import Moment, at, later

OVERWRITES_AT_ONCE = {"cdm", "cdm-overwrites", "cdm-invalidate-on-cache", "move-in", "expected-cost"}


class Cache:
    """Pages in the order of eviction, and their slots."""

    def __init__(self, pages: int, policy: str) -> None:
        self.pages = pages
        self.is_lru = policy == "lru"
        self.order: OrderedDict[int, int] = OrderedDict()
        """The slot of each page; the next victim is the first."""
        self.free = list(reversed(range(pages)))
        self.dirty: dict[int, None] = {}
        """Dirty pages, the one with the oldest write, or becoming dirty, at the front."""
        self.orphans: set[int] = set()
        """Pages that are dirty only because garbage collection dropped their flash copy."""

    def __contains__(self, lpn: int) -> bool:
        return lpn in self.order

    def is_full(self) -> bool:
        return not self.free

    def use(self, lpn: int) -> None:
        if self.is_lru:
            self.order.move_to_end(lpn)

    def insert(self, lpn: int) -> None:
        self.order[lpn] = self.free.pop()

    def remove(self, lpn: int) -> None:
        self.free.append(self.order.pop(lpn))
        self.dirty.pop(lpn, None)
        self.orphans.discard(lpn)

    def by_slot(self) -> list[int]:
        return sorted(self.order, key=self.order.__getitem__)


class Device:
    """Serves pages: the cache over the FTL."""

    keeps_shadows_apart = False
    weight_max = FULL
    states_bytes = 0
    """The counted memory for the states of pages."""

    def __init__(self, options: dict[str, Any], logical_pages: int) -> None:
        self.options = options["cache"]
        self.scheme, self.link = options["cooperation"], options["link"]
        self.cache = Cache(logical_pages * self.options["percent"] // 100, self.options["policy"])
        self.ftl = Ftl(options, self, apart=self.keeps_shadows_apart)
        self.counters: Counter[str] = Counter()
        self.sole_copies_peak = 0
        share = self.scheme.get("sole_copies_percent", 100)
        self.sole_copies_max = self.cache.pages * share // 100 if share < 100 else None
        self.near_bound = False

    # Questions of garbage collection.

    def is_removable(self, lpn: int) -> bool:
        """Cache and flash hold the same data, and flash knows that."""
        has_removable = self.scheme["name"] in {"cdm", "cdm-removable", "move-in", "expected-cost"}
        return has_removable and lpn in self.cache and lpn not in self.cache.dirty

    def is_at_bound(self) -> bool:
        return self.sole_copies_max is not None and len(self.cache.dirty) >= self.sole_copies_max

    def is_about_to_clean(self) -> None:
        """A removable page is no cheaper at the bound, nor until there is room again for a sixteenth of it."""
        if self.sole_copies_max is not None:
            room, near_before = self.sole_copies_max - len(self.cache.dirty), self.near_bound
            self.near_bound = room == 0 or (near_before and room <= self.sole_copies_max // 16)
            if self.near_bound != near_before:
                self.ftl.weights_changed()

    def weight(self, lpn: int) -> int:
        if self.near_bound or not self.is_removable(lpn):
            return FULL
        weight: float = self.scheme["removable_weight"]
        return round(weight * FULL)

    def move(self, lpn: int) -> Move | None:
        if not self.is_removable(lpn) or self.is_at_bound():
            return Move()
        self.cache.orphans.add(lpn)
        self.becomes_dirty(lpn)
        return None

    # Changes of the cached copy of a page.

    def host_wrote(self, lpn: int) -> None:
        """The flash copy of the page is out of date."""
        if self.scheme["name"] in OVERWRITES_AT_ONCE:
            self.ftl.supersede(lpn)
        else:
            self.ftl.weight_changed(lpn)

    def discards(self, lpn: int, *, in_flush: bool) -> bool:  # noqa: ARG002
        """Whether a dirty page that is about to be programmed need not be."""
        return False

    # Events of the cache, for schemes that follow them.

    def is_served(self, lpn: int) -> None:
        """A page is about to be read or written."""

    def used(self, lpn: int) -> None:
        """A cached page was read."""

    def became_clean(self, lpn: int, *, by_read: bool) -> None:
        """Cache and flash hold the same data, since the page was read, or written to flash."""

    def about_to_change(self, lpn: int) -> None:
        """The host is about to write to a cached page."""

    def wrote(self, lpn: int) -> None:
        """The host wrote to the cached copy of a page."""

    def evicting(self, lpn: int) -> None:
        """A page is about to leave the cache, and to be programmed if it is dirty."""

    def trimmed(self, lpn: int) -> None:
        """A cached page is about to be trimmed."""

    # Requests of the host.

    def holds(self, lpn: int) -> bool:
        return lpn in self.cache or lpn in self.ftl.map

    def begin(self, request: Request) -> tuple[Moment, int]:
        """When a request that crosses the link begins, and the time of the way back."""
        self.ftl.now_ns = request.arrival_ns
        crossing_ns = self.link["ns_per_byte"] * request.size
        start_ns = request.arrival_ns + self.link["per_command"]
        if request.operation == "write":
            return at(start_ns + crossing_ns), 0
        return at(start_ns), crossing_ns if request.operation == "read" else 0

    def read(self, lpn: int, start: Moment) -> Moment:
        self.is_served(lpn)
        if lpn in self.cache:
            self.counters["cache.read_hits"] += 1
            self.counters["cache.nvm_reads_pages"] += 1
            self.cache.use(lpn)
            self.used(lpn)
            return later(start, self.options["page_read"])
        self.counters["cache.read_misses"] += 1
        done = self.ftl.read(lpn, start, start)
        if done is None:
            return start
        if self.options["read_allocate"] and self.cache.pages:
            self.make_room(start)
            self.cache.insert(lpn)
            self.counters["cache.nvm_writes_pages"] += 1
            if self.scheme["name"] == "cdm-invalidate-on-cache":
                self.ftl.supersede(lpn)
                self.cache.orphans.add(lpn)
                self.becomes_dirty(lpn)
                self.counters["sole_copies.from_reads_pages"] += 1
            self.became_clean(lpn, by_read=True)
            self.ftl.weight_changed(lpn)
        return done

    def write(self, lpn: int, part: bool, start: Moment, source_ns: int = 0) -> Moment:
        """Writes a page, given the time to read its data from the source."""
        self.is_served(lpn)
        if lpn in self.cache:
            self.counters["cache.write_hits"] += 1
            self.counters["cache.absorbed_pages"] += lpn in self.cache.dirty
            self.cache.use(lpn)
            self.about_to_change(lpn)
            ready = start if lpn in self.cache.dirty else self.make_room_for_sole_copy(start)
            return self.write_slot(lpn, later(ready, source_ns))
        self.counters["cache.write_misses"] += 1
        if self.cache.pages and self.options["write_allocate"]:
            return self.write_allocating(lpn, part, start, source_ns)
        ready = start
        if part and (read := self.ftl.read(lpn, start, start)) is not None:
            self.counters["flash_merges_pages"] += 1
            ready = read
        die = self.ftl.make_room(lpn, start)
        self.host_wrote(lpn)
        return self.ftl.write(die, lpn, "host", "host", later(ready, source_ns))

    def write_allocating(self, lpn: int, part: bool, start: Moment, source_ns: int) -> Moment:
        waits = self.options["eviction"] == "foreground" or self.is_at_bound()
        written = self.make_room(start)
        ready = (written if waits else start) + self.make_room_for_sole_copy(start)
        self.cache.insert(lpn)
        self.cache.dirty[lpn] = None
        if part and (read := self.ftl.read(lpn, start, start)) is not None:
            self.counters["cache.merged_pages"] += 1
            self.counters["cache.nvm_writes_pages"] += 1
            ready = ready + read
        return self.write_slot(lpn, later(ready, source_ns))

    def write_slot(self, lpn: int, after: Moment) -> Moment:
        self.counters["cache.nvm_writes_pages"] += 1
        self.cache.orphans.discard(lpn)
        self.becomes_dirty(lpn)
        self.wrote(lpn)
        self.host_wrote(lpn)
        return later(after, self.options["page_write"])

    def trim(self, lpn: int, start: Moment) -> Moment:
        if lpn in self.cache:
            self.trimmed(lpn)
            self.counters["cache.dropped_pages"] += lpn in self.cache.dirty
            self.cache.remove(lpn)
        self.ftl.invalidate(lpn)
        return start

    def flush(self, start: Moment) -> Moment:
        """Every dirty page goes to flash and stays; a cache that is not volatile is as durable as flash."""
        if not self.options["volatile"]:
            return start
        done = start
        for program in self.ftl.last_program.values():
            done = done + program
        for lpn in self.cache.by_slot():
            if lpn in self.cache.dirty:
                if self.discards(lpn, in_flush=True):
                    self.cache.remove(lpn)
                    continue
                self.counters["cache.flushed_pages"] += 1
                done = done + self.write_out(lpn, start)
                self.cache.dirty.pop(lpn, None)
        return done

    def make_room(self, start: Moment) -> Moment:
        """Empties a slot if none is free; returns the time."""
        if not self.cache.is_full():
            return start
        lpn = next(iter(self.cache.order))
        self.evicting(lpn)
        written = start
        if lpn in self.cache.dirty:
            if not self.discards(lpn, in_flush=False):
                self.counters["cache.dirty_evictions_pages"] += 1
                written = self.write_out(lpn, start)
        else:
            self.counters["cache.clean_evictions_pages"] += 1
        self.cache.remove(lpn)
        self.ftl.weight_changed(lpn)
        return written

    def make_room_for_sole_copy(self, start: Moment) -> Moment:
        """At the bound, the oldest sole copy goes to flash, and stays cached; returns the time."""
        if not self.is_at_bound():
            return start
        lpn = next(iter(self.cache.dirty))
        written = self.write_out(lpn, start)
        self.counters["sole_copies.cleaned_pages"] += 1
        del self.cache.dirty[lpn]
        self.cache.orphans.discard(lpn)
        self.became_clean(lpn, by_read=False)
        self.ftl.weight_changed(lpn)
        return written

    def write_out(self, lpn: int, start: Moment) -> Moment:
        stream = "evict"
        self.counters["cache.nvm_reads_pages"] += 1
        if lpn in self.cache.orphans:
            self.counters["drop_rewrites_pages"] += 1
            stream = self.scheme.get("rewrite_stream", "evict")
        die = self.ftl.make_room(lpn, start)
        return self.ftl.write(die, lpn, stream, "evict", later(start, self.options["page_read"]))

    def becomes_dirty(self, lpn: int) -> None:
        self.cache.dirty.pop(lpn, None)
        self.cache.dirty[lpn] = None
        self.sole_copies_peak = max(self.sole_copies_peak, len(self.cache.dirty))
