"""Flash and its translation layer: a map, blocks as dictionaries of valid pages, victims found by a scan."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count
from typing import Any, Protocol

from models.timing import Moment, Operation, later

FULL = 16
"""The weight of a valid page in the cost of its block, in sixteenths of a page."""


@dataclass
class Move:
    """The fate of a valid page of a victim: it is written elsewhere."""

    stream: str = "gc"
    from_buffer: bool = False
    fast: bool = False
    into_cache: bool = False
    """It is read into the cache, which has the only copy: nothing is programmed."""


@dataclass(eq=False)
class Block:
    number: int
    valid: dict[int, int] = field(default_factory=dict)
    """The logical page of each valid page, by its place in the block."""
    programmed_pages: int = 0
    erases: int = 0
    is_fast: bool = False
    """Whether its pages were programmed fast."""
    sealed: bool = False
    sealed_at: int = 0
    """Programs of the device when its last page was programmed."""
    cost: int = 0
    cost_since: int = 0
    """A number that grows with each change of any block's cost."""


@dataclass(eq=False)
class Pool:
    die: int
    blocks: list[Block]
    free: list[Block]
    open: dict[int, Block] = field(default_factory=dict)
    """The open block of each group of streams."""

    def valid_pages(self) -> int:
        return sum(len(block.valid) for block in self.blocks)

    def candidates(self) -> list[Block]:
        """Sealed blocks, in the order of sealing."""
        return sorted((block for block in self.blocks if block.sealed), key=lambda block: block.sealed_at)


class KnowsCopies(Protocol):
    """The FTL's questions to the cache above it."""

    weight_max: int
    """The largest weight of a page."""

    def is_about_to_clean(self) -> None:
        """A victim is about to be chosen."""

    def weight(self, lpn: int) -> int:
        """The weight of a valid page in the cost of its block."""

    def move(self, lpn: int) -> Move | None:
        """The fate of a valid page of a victim; None if it is dropped, since the cache holds it."""


class Ftl:
    """Page mapping with foreground garbage collection."""

    def __init__(self, options: dict[str, Any], cache: KnowsCopies, *, apart: bool) -> None:
        """With `apart`, the stream "shadow" has blocks of its own."""
        flash, ftl, gc = options["flash"], options["ftl"], options["gc"]
        self.cache = cache
        self.flash, self.timing = flash, options["timing"]
        self.buffer_read_ns = options["cache"]["page_read"]
        self.summary, self.chips = ftl["summary"], ftl["chips"]
        self.victim = gc["victim"]
        self.least_erased_first = ftl["wear_levelling"] == "dynamic"
        self.operation_triggers = gc["trigger"] == "operation"
        self.planes = flash["planes_per_die"]
        self.dies: int = flash["channels"] * flash["chips_per_channel"]
        self.block_pages: int = flash["pages_per_block"] - (self.summary != "off")

        pools_per_die, pool_blocks = (self.planes, flash["blocks_per_plane"])
        if ftl["pools"] == "die":
            pools_per_die, pool_blocks = 1, self.planes * flash["blocks_per_plane"]
        numbers = count()
        self.pools: list[list[Pool]] = []
        for die in range(self.dies):
            of_die = [[Block(next(numbers)) for _ in range(pool_blocks)] for _ in range(pools_per_die)]
            self.pools.append([Pool(die, blocks, list(blocks)) for blocks in of_die])
        self.pool_of = {block.number: pool for die in self.pools for pool in die for block in pool.blocks}
        self.low_mark = gc["low_mark"]
        self.next_die = 0
        self.next_write = [0] * self.dies
        self.next_clean = [0] * self.dies

        self.group: dict[str, int] = {}
        for group, streams in enumerate(ftl["shared_streams"]):
            self.group |= dict.fromkeys(streams, group)
        for stream in ("host", "evict", "gc"):
            self.group.setdefault(stream, max(self.group.values(), default=-1) + 1)
        own = max(self.group.values()) + 1
        self.group.setdefault("shadow", own if apart else self.group["gc"])
        groups = len(set(self.group.values()))
        self.pool_pages_max = (pool_blocks - self.low_mark - groups - 1) * self.block_pages

        self.map: dict[int, tuple[Block, int]] = {}
        self.superseded: dict[int, tuple[Block, int]] = {}
        """The places of flash copies that are invalid only because the cache is about to rewrite the page."""
        self.costs = count()
        self.programs = 0
        self.operations: list[Operation] = []
        self.now_ns = 0
        """The arrival of the current request."""
        self.last_program: dict[int, Moment] = {}
        self.counters: Counter[str] = Counter()

    def begin_measuring(self) -> None:
        """Takes the history so far as the initial state: it took no time and is not counted."""
        self.operations.clear()
        self.last_program.clear()
        self.counters.clear()
        self.erases_before = {block.number: block.erases for die in self.pools for pool in die for block in pool.blocks}

    def erase_counts(self) -> list[int]:
        blocks = (block for die in self.pools for pool in die for block in pool.blocks)
        return [block.erases - self.erases_before[block.number] for block in blocks]

    def invalid_pages(self) -> list[int]:
        """The pages of each full block that are no longer valid."""
        blocks = (block for die in self.pools for pool in die for block in pool.blocks)
        return [self.block_pages - len(block.valid) if block.sealed else 0 for block in blocks]

    # Requests of the cache above. `start` is the beginning of the request; garbage collection takes place then.

    def read(self, lpn: int, after: Moment, start: Moment) -> Moment | None:
        """None if the page has no flash copy."""
        if lpn not in self.map:
            return None
        if self.operation_triggers:
            self.collect(self.pool_of[self.map[lpn][0].number].die, start)
        self.counters["flash_reads_pages"] += 1
        phases = (self.timing["page_read"], self.transfer_ns(), 0)
        return later(self.operate(self.map[lpn][0], phases, "host", after), self.timing["ecc_decode"])

    def make_room(self, lpn: int, start: Moment) -> int:
        """Chooses the die for a write of a page, and cleans it as far as necessary."""
        die = self.choose_die(lpn)
        self.collect(die, start)
        return die

    def write(self, die: int, lpn: int, stream: str, cause: str, after: Moment) -> Moment:
        self.invalidate(lpn)
        pool = self.choose_pool(die, self.group[stream])
        block = self.program(pool, self.group[stream], lpn, cause)
        phases = (0, self.transfer_ns(), self.timing["page_program"])
        done = self.operate(block, phases, cause, after)
        if self.seal_if_full(pool, self.group[stream]) and self.summary != "off":
            done = self.write_summary(block, done)
        self.note_program(block, done)
        return done

    def supersede(self, lpn: int) -> None:
        """Invalidates the flash copy of a page before the cache writes it anew."""
        if lpn in self.map:
            place = self.map[lpn]
            self.invalidate(lpn)
            self.superseded[lpn] = place

    def invalidate(self, lpn: int) -> None:
        self.superseded.pop(lpn, None)
        if lpn in self.map:
            block, place = self.map.pop(lpn)
            del block.valid[place]
            self.recost(block)

    def weight_changed(self, lpn: int) -> None:
        if lpn in self.map:
            self.recost(self.map[lpn][0])

    def weights_changed(self) -> None:
        for die in self.pools:
            for pool in die:
                for block in pool.blocks:
                    self.recost(block)

    # Placement of a page.

    def choose_die(self, lpn: int) -> int:
        if self.chips == "static":
            return lpn % self.dies
        leaves = self.pool_of[self.map[lpn][0].number] if lpn in self.map else None
        for turn in range(self.dies):
            die = (self.next_die + turn) % self.dies
            if any(pool.valid_pages() - (pool is leaves) < self.pool_pages_max for pool in self.pools[die]):
                self.next_die = (die + 1) % self.dies
                return die
        raise AssertionError("no die has room")

    def choose_pool(self, die: int, group: int) -> Pool:
        pools = self.pools[die]
        if len(pools) == 1:
            return pools[0]

        def free_pages(pool: Pool) -> int:
            left = self.block_pages - pool.open[group].programmed_pages if group in pool.open else 0
            return len(pool.free) * self.block_pages + left

        turns = [(self.next_write[die] + turn) % len(pools) for turn in range(len(pools))]
        with_room = [turn for turn in turns if pools[turn].valid_pages() < self.pool_pages_max]
        best = max(with_room, key=lambda turn: free_pages(pools[turn]))
        self.next_write[die] = (best + 1) % len(pools)
        return pools[best]

    def program(self, pool: Pool, group: int, lpn: int, cause: str) -> Block:
        """Enters a page at the next place of the group's block."""
        if group not in pool.open:
            pool.open[group] = self.take_free(pool)
        block = pool.open[group]
        block.valid[block.programmed_pages] = lpn
        self.map[lpn] = (block, block.programmed_pages)
        block.programmed_pages += 1
        self.programs += 1
        self.counters[f"programs_pages.{cause}"] += 1
        return block

    def take_free(self, pool: Pool) -> Block:
        first = pool.free[0]
        if self.least_erased_first:
            first = min(pool.free, key=lambda block: (block.erases, block.number))
        pool.free.remove(first)
        return first

    def seal_if_full(self, pool: Pool, group: int) -> bool:
        block = pool.open[group]
        if block.programmed_pages < self.block_pages:
            return False
        del pool.open[group]
        block.sealed, block.sealed_at = True, self.programs
        block.cost, block.cost_since = self.cost(block), next(self.costs)
        return True

    def write_summary(self, block: Block, after: Moment) -> Moment:
        self.programs += 1
        self.counters["programs_pages.metadata"] += 1
        phases = (0, self.timing["sector_transfer"], self.timing["page_program"])
        return self.operate(block, phases, "metadata", after)

    # Garbage collection.

    def collect(self, die: int, start: Moment) -> None:
        """Cleans one block after the other while a pool of the die has too few free ones, the pools in turn."""
        pools = self.pools[die]
        cleaned = True
        while cleaned:
            cleaned = False
            for turn in range(len(pools)):
                index = (self.next_clean[die] + turn) % len(pools)
                if len(pools[index].free) <= self.low_mark and self.clean(pools[index], start):
                    self.next_clean[die] = (index + 1) % len(pools)
                    cleaned = True
                    break

    def clean(self, pool: Pool, start: Moment) -> bool:
        """Cleans one block; false if cleaning would free nothing in any block."""
        self.cache.is_about_to_clean()
        candidates = pool.candidates()
        if all(len(block.valid) == self.block_pages for block in candidates):
            return False
        victim = self.pick(candidates)
        victim.sealed = False
        self.counters["fast_blocks.victims_blocks"] += victim.is_fast
        self.counters["fast_blocks.victims_valid_pages"] += len(victim.valid) * victim.is_fast
        for _, lpn in sorted(victim.valid.items()):
            move = self.cache.move(lpn)
            if move is not None and move.into_cache:
                self.operate(victim, (self.timing["page_read"], self.transfer_ns(), 0), "gc", start)
            if move is None or move.into_cache:
                del self.map[lpn]
                self.superseded.pop(lpn, None)
                self.counters["gc_drops_pages"] += 1
                continue
            group = self.group[move.stream]
            block = self.program(pool, group, lpn, "gc")
            block.is_fast |= move.fast
            program_ns = self.timing["page_program_fast" if move.fast else "page_program"]
            if move.from_buffer:
                after = later(start, self.buffer_read_ns)
                done = self.operate(block, (0, self.transfer_ns(), program_ns), "gc", after)
                self.note_program(block, done)
            else:
                inside = self.plane_of(victim) == self.plane_of(block) and self.timing["copy_back"]
                out_and_in_ns = 0 if inside else 2 * self.transfer_ns() + self.timing["ecc_decode"]
                self.operate(block, (self.timing["page_read"], out_and_in_ns, program_ns), "gc", start)
            if self.seal_if_full(pool, group) and self.summary == "on":
                self.note_program(block, self.write_summary(block, start))
        spared = [lpn for lpn, (block, _) in self.superseded.items() if block is victim]
        self.counters["gc_spared_pages"] += len(spared)
        for lpn in spared:
            del self.superseded[lpn]
        self.operate(victim, (0, 0, self.timing["block_erase"]), "gc", start)
        self.counters["erases_blocks"] += 1
        victim.valid.clear()
        victim.programmed_pages = 0
        victim.is_fast = False
        victim.erases += 1
        pool.free.append(victim)
        return True

    def cost(self, block: Block) -> int:
        if len(block.valid) == self.block_pages and self.cache.weight_max > FULL:
            return self.block_pages * self.cache.weight_max  # nothing to gain: it comes last
        return sum(self.cache.weight(lpn) for lpn in block.valid.values())

    def recost(self, block: Block) -> None:
        if block.sealed and (cost := self.cost(block)) != block.cost:
            block.cost, block.cost_since = cost, next(self.costs)

    def pick(self, candidates: list[Block]) -> Block:
        name, parameters = self.victim["name"], self.victim
        if name == "fifo":
            return candidates[0]
        if name == "windowed-greedy":
            return min(candidates[: parameters["window"]], key=lambda block: block.cost)
        if name == "cost-benefit":
            free = [block for block in candidates if block.cost == 0]
            return free[0] if free else max(candidates, key=self.benefit)
        ties = {
            "oldest": lambda block: block.cost_since,
            "newest": lambda block: -block.cost_since,
            "highest-block": lambda block: -block.number,
        }
        return min(candidates, key=lambda block: (block.cost, ties[parameters["tie"]](block)))

    def benefit(self, block: Block) -> Fraction:
        age = self.programs - block.sealed_at + 1
        # Pages with a weight above one delay the choice of a block, and free nothing.
        freed = self.block_pages * FULL - min(block.cost, len(block.valid) * FULL)
        return Fraction(age * freed, block.cost)

    # Time.

    def transfer_ns(self) -> int:
        sectors: int = self.flash["page_size"] // self.flash["sector_size"]
        return sectors * int(self.timing["sector_transfer"])

    def plane_of(self, block: Block) -> int:
        return int(block.number // self.flash["blocks_per_plane"])

    def operate(self, block: Block, phases: tuple[int, int, int], cause: str, after: Moment) -> Moment:
        self.counters["gc_time_ns" if cause == "gc" else "service_time_ns"] += sum(phases)
        self.counters["channel_time_ns"] += phases[1]
        plane = self.plane_of(block)
        die = plane // self.planes
        server = plane if self.timing["planes"] == "parallel" else die
        self.operations.append(Operation(server, die % self.flash["channels"], *phases, self.now_ns, after))
        return ((len(self.operations) - 1, 0),)

    def note_program(self, block: Block, done: Moment) -> None:
        """A flush waits for the last program of each die."""
        self.last_program[self.plane_of(block)] = done
