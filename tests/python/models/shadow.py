"""ShadowGC and its rivals: a device that knows the dirty pages of two write buffers, and the buffer in the host."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, NamedTuple

from models.device import Cache, Device
from models.ftl import FULL, Move
from models.request import Request
from models.timing import Moment, at, later

NOTICE_BYTES = 8
PIGGYBACK_NOTICES = 8
BATCH_NOTICES = 32
BATCH_WAIT_NS = 1_000_000

HOST, DEVICE = frozenset({"host"}), frozenset({"device"})
BOTH = HOST | DEVICE


class Scheme(NamedTuple):
    """The parts of a scheme."""

    knows: frozenset[str]
    """The tiers whose dirty pages make shadows of flash pages."""
    delay: float = 0.0
    """The weight of a shadow in a victim's cost, beyond that of a page to copy."""
    apart: frozenset[str] = frozenset()
    """The tiers whose shadows go to blocks of their own."""
    fast: bool = False
    """Whether these are programmed fast."""
    from_buffer: bool = False
    """Whether a device-shadow is copied from the device's buffer, where the page is then clean."""
    discards_twins: bool = False
    """Whether the device discards its copy of a page that is dirty in the host too."""


def scheme(parameters: dict[str, Any]) -> Scheme:
    shadows = parameters.get("shadows", "host")
    chosen = BOTH if shadows == "both" else frozenset({shadows})
    delay = parameters.get("lambda", 0.0)
    return {
        "ggc": Scheme(frozenset()),
        "separation": Scheme(chosen, apart=chosen),
        "delay": Scheme(chosen, delay),
        "zgc": Scheme(HOST, delay, apart=HOST),
        "hgc": Scheme(HOST, apart=HOST, fast=True),
        "dgc": Scheme(DEVICE, from_buffer=True),
        "sgc": Scheme(BOTH, apart=HOST, fast=True, from_buffer=True, discards_twins=True),
        "hgc-dgc": Scheme(BOTH, apart=HOST, fast=True, from_buffer=True),
        "twin-discard": Scheme(BOTH, discards_twins=True),
    }[parameters["name"]]


class ShadowDevice(Device):
    """A device whose flash pages are shadows while a write buffer holds newer data."""

    def __init__(self, options: dict[str, Any], logical_pages: int) -> None:
        self.shadow = scheme(options["cooperation"])
        self.keeps_shadows_apart = bool(self.shadow.apart)
        self.weight_max = FULL + round(self.shadow.delay * FULL)
        self.host_dirty: set[int] = set()
        """Pages that the host has reported as dirty in its buffer."""
        self.leaving: int | None = None
        """The page that is on its way from the buffer to flash."""
        super().__init__(options, logical_pages)
        if self.keeps_shadows_apart:
            # Bitmaps in words, and a count for each block.
            bitmaps = 3 if "host" in self.shadow.knows else 2
            words = math.ceil(options["flash"]["pages_per_block"] / 64)
            self.states_bytes = len(self.ftl.pool_of) * (8 * bitmaps * words + 4)

    def shadows_of(self, lpn: int) -> frozenset[str]:
        """The tiers known to hold newer data of a page than flash."""
        in_device = lpn in self.cache.dirty and lpn != self.leaving
        return self.shadow.knows & {
            tier for tier, holds in (("host", lpn in self.host_dirty), ("device", in_device)) if holds
        }

    def weight(self, lpn: int) -> int:
        return self.weight_max if self.shadow.delay and self.shadows_of(lpn) else FULL

    def move(self, lpn: int) -> Move:
        shadows = self.shadows_of(lpn)
        state = "twin" if shadows == BOTH else next(iter(shadows), "valid")
        self.counters[f"shadows.moved_{state}_pages"] += 1
        self.counters["shadows.moved_pages"] += 1
        stream = "shadow" if shadows & self.shadow.apart else "gc"
        fast = self.shadow.fast and stream == "shadow"
        from_buffer = self.shadow.from_buffer and "device" in shadows
        self.counters["shadows.fast_pages"] += fast
        if from_buffer:
            self.counters["shadows.from_buffer_pages"] += 1
            self.cache.dirty.pop(lpn, None)
        return Move(stream, from_buffer, fast)

    def host_dirties(self, lpn: int) -> None:
        self.host_dirty.add(lpn)
        self.ftl.weight_changed(lpn)

    def host_wrote(self, lpn: int) -> None:
        self.host_dirty.discard(lpn)
        self.ftl.weight_changed(lpn)

    def trim(self, lpn: int, start: Moment) -> Moment:
        self.host_dirty.discard(lpn)
        return super().trim(lpn, start)

    def discards(self, lpn: int, *, in_flush: bool) -> bool:
        promised = in_flush and self.scheme.get("twins_at_flush") != "discarded"
        twin = lpn in self.ftl.map and self.shadows_of(lpn) == BOTH
        if twin and self.shadow.discards_twins and not promised:
            self.counters["shadows.discarded_twins_pages"] += 1
            return True
        return False

    def write_out(self, lpn: int, start: Moment) -> Moment:
        self.leaving = lpn
        self.ftl.weight_changed(lpn)
        done = super().write_out(lpn, start)
        self.cache.dirty.pop(lpn, None)
        self.leaving = None
        return done


class Notices:
    """The host's notices to the device: pages that became dirty."""

    def __init__(self, sending: str, link: dict[str, int], device: ShadowDevice) -> None:
        self.sending, self.link, self.device = sending, link, device
        self.waiting: dict[int, int] = {}
        """When each page with a pending notice became dirty."""
        self.under_way: dict[int, int] = {}
        """When the notice of each page arrives."""
        self.delays_ns: list[int] = []
        self.counters: Counter[str] = Counter()

    def post(self, lpn: int, now_ns: int) -> None:
        self.waiting[lpn] = now_ns
        self.counters["host.to_device.posted"] += 1
        if self.sending == "each" or (self.sending == "batched" and len(self.waiting) == BATCH_NOTICES):
            self.send(now_ns)

    def send(self, now_ns: int) -> None:
        self.counters["host.to_device.messages"] += 1
        takes_ns = self.link["per_command"] + len(self.waiting) * NOTICE_BYTES * self.link["ns_per_byte"]
        self.depart(len(self.waiting), now_ns + takes_ns, now_ns + takes_ns)

    def depart(self, notices: int, heard_ns: int, arrives_ns: int) -> None:
        self.counters["host.to_device.bytes"] += notices * NOTICE_BYTES
        for lpn in list(self.waiting)[:notices]:
            self.delays_ns.append(heard_ns - self.waiting.pop(lpn))
            self.under_way[lpn] = arrives_ns

    def pass_time(self, now_ns: int) -> None:
        if self.sending == "batched" and self.waiting:
            due_ns = next(iter(self.waiting.values())) + BATCH_WAIT_NS
            if due_ns <= now_ns:
                self.send(due_ns)
        self.arrive(now_ns)

    def arrive(self, now_ns: int) -> None:
        for lpn in [lpn for lpn, arrives_ns in self.under_way.items() if arrives_ns <= now_ns]:
            del self.under_way[lpn]
            self.device.host_dirties(lpn)

    def ride(self, now_ns: int) -> int:
        """A command crosses: the additional time for the notices that it carries."""
        longer_ns = 0
        if self.sending == "piggybacked":
            notices = min(PIGGYBACK_NOTICES, len(self.waiting))
            longer_ns = notices * NOTICE_BYTES * self.link["ns_per_byte"]
            self.depart(notices, now_ns + longer_ns, now_ns)
        self.arrive(now_ns)
        return longer_ns

    def withdraw(self, lpn: int, now_ns: int) -> int:
        """The page is clean now: when a command may name it, so that no stale notice follows."""
        if lpn in self.waiting:
            del self.waiting[lpn]
            self.counters["host.to_device.withdrawn"] += 1
        elif lpn in self.under_way:
            arrives_ns = self.under_way[lpn]
            self.arrive(arrives_ns)
            return max(now_ns, arrives_ns)
        return now_ns


class HostBuffer:
    """The host's write buffer, over a device at the end of a link."""

    def __init__(self, options: dict[str, Any], logical_pages: int) -> None:
        self.device = ShadowDevice(options, logical_pages)
        self.ftl = self.device.ftl
        self.options, self.link = options["host_buffer"], options["link"]
        self.page_bytes = options["flash"]["page_size"]
        self.cache = Cache(logical_pages * self.options["percent"] // 100, self.options["policy"])
        self.dirty_since_ns: dict[int, int] = {}
        """Dirty pages in the order in which they became so."""
        self.dirty_max = self.cache.pages * self.options["dirty_percent_max"] // 100
        self.notices = Notices(self.options["notices"], self.link, self.device)
        self.now_ns = 0
        self.crossed_pages = 0
        """Pages that have crossed to the host for this request."""
        self.has_crossed = False
        """Whether a command has crossed for this request, a trim."""
        self.trimming_ns = 0
        """How long that command takes."""
        self.may_cross_ns = 0
        """When no notice about a page of this trim is under way any more."""
        self.crossed_ns = 0
        """When the last page that was written has crossed the link."""
        self.counters = self.notices.counters

    def begin(self, request: Request) -> tuple[Moment, int]:
        """Passes time; the buffer's answers do not cross the link."""
        while self.dirty_since_ns:
            due_ns = next(iter(self.dirty_since_ns.values())) + self.options["dirty_age_max"]
            if due_ns > request.arrival_ns:
                break
            self.pass_time(due_ns)
        self.pass_time(request.arrival_ns)
        self.crossed_pages, self.has_crossed = 0, False
        self.may_cross_ns = self.now_ns
        return at(self.now_ns), 0

    def pass_time(self, now_ns: int) -> None:
        self.now_ns = self.ftl.now_ns = now_ns
        self.notices.pass_time(now_ns)
        while self.dirty_since_ns:
            lpn, since_ns = next(iter(self.dirty_since_ns.items()))
            if since_ns + self.options["dirty_age_max"] > now_ns:
                break
            self.write_back(lpn, "aged")
        while len(self.dirty_since_ns) > self.dirty_max:
            self.write_back(next(iter(self.dirty_since_ns)), "crowded")

    def read(self, lpn: int, start: Moment) -> Moment:
        if lpn in self.cache:
            self.counters["host_buffer.read_hits"] += 1
            self.counters["host_buffer.nvm_reads_pages"] += 1
            self.cache.use(lpn)
            return later(start, self.options["page_read"])
        self.counters["host_buffer.read_misses"] += 1
        is_there = self.device.holds(lpn)
        done = self.read_device(lpn, start)
        if is_there and self.options["read_allocate"]:
            self.make_room(start)
            self.cache.insert(lpn)
            self.counters["host_buffer.nvm_writes_pages"] += 1
        return done

    def write(self, lpn: int, part: bool, start: Moment) -> Moment:
        ready = start
        if lpn in self.cache:
            self.counters["host_buffer.write_hits"] += 1
            self.cache.use(lpn)
        else:
            self.counters["host_buffer.write_misses"] += 1
            ready = self.make_room(start)
            if part:
                self.counters["host_buffer.merged_pages"] += self.device.holds(lpn)
                self.counters["host_buffer.nvm_writes_pages"] += self.device.holds(lpn)
                ready = ready + self.read_device(lpn, start)
            self.cache.insert(lpn)
        self.counters["host_buffer.nvm_writes_pages"] += 1
        if lpn in self.dirty_since_ns:
            self.counters["host_buffer.absorbed_pages"] += 1
        else:
            self.dirty_since_ns[lpn] = self.now_ns
            self.notices.post(lpn, self.now_ns)
        return later(ready, self.options["page_write"])

    def trim(self, lpn: int, start: Moment) -> Moment:
        if lpn in self.cache:
            if lpn in self.dirty_since_ns:
                self.counters["host_buffer.dropped_pages"] += 1
                self.may_cross_ns = max(self.may_cross_ns, self.clean(lpn))
            self.cache.remove(lpn)
        riding_ns = self.notices.ride(self.now_ns)
        self.device.trim(lpn, start)
        # The pages of a request are trimmed by one command, which waits for the notices about them.
        if not self.has_crossed:
            self.has_crossed, self.trimming_ns = True, riding_ns + self.link["per_command"]
        return at(self.may_cross_ns + self.trimming_ns)

    def flush(self, start: Moment) -> Moment:
        done = start
        for lpn in list(self.dirty_since_ns):
            done = done + self.write_back(lpn, "flushed")
        begin_ns = self.now_ns + self.notices.ride(self.now_ns) + self.link["per_command"]
        done = done + self.device.flush(at(max(begin_ns, self.crossed_ns)))
        if not self.device.cache.pages:
            for program in self.ftl.last_program.values():
                done = done + program
        return done

    def make_room(self, start: Moment) -> Moment:
        if not self.cache.is_full():
            return start
        lpn = next(iter(self.cache.order))
        written = start
        if lpn in self.dirty_since_ns:
            written = self.write_back(lpn, "dirty_evictions")
        else:
            self.counters["host_buffer.clean_evictions_pages"] += 1
        self.cache.remove(lpn)
        return written

    def write_back(self, lpn: int, why: str) -> Moment:
        self.counters[f"host_buffer.{why}_pages"] += 1
        self.counters["host_buffer.written_pages"] += 1
        may_cross_ns = self.clean(lpn)
        crossing_ns = self.link["per_command"] + self.page_bytes * self.link["ns_per_byte"]
        begin_ns = may_cross_ns + self.notices.ride(self.now_ns) + crossing_ns
        self.crossed_ns = max(self.crossed_ns, begin_ns)
        self.counters["host_buffer.nvm_reads_pages"] += 1
        # The device reads the memory across the link where it takes the page in.
        return self.device.write(lpn, False, at(begin_ns), self.options["page_read"])

    def clean(self, lpn: int) -> int:
        del self.dirty_since_ns[lpn]
        return self.notices.withdraw(lpn, self.now_ns)

    def read_device(self, lpn: int, start: Moment) -> Moment:
        begin = later(start, self.notices.ride(self.now_ns) + self.link["per_command"])
        if not self.device.holds(lpn):
            self.device.read(lpn, begin)
            return start
        # The pages of a request cross one after another.
        self.crossed_pages += 1
        return later(self.device.read(lpn, begin), self.crossed_pages * self.page_bytes * self.link["ns_per_byte"])
