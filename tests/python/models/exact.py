"""The fewest flash programs on a tiny device, by search: all ways to evict, bypass and clean blocks are tried."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

Write = tuple[int, bool]
"""A page, and whether it is written, or trimmed."""


class State(NamedTuple):
    """Where the current versions of pages are. A page may be in several places; blocks have no order."""

    cached: frozenset[int]
    blocks: tuple[tuple[int, frozenset[int]], ...]
    """Of each block the programmed pages, and the pages whose current version is in it."""

    def elsewhere(self, number: int) -> frozenset[int]:
        """The pages that are in the cache, or in another block."""
        return self.cached.union(*(pages for other, (_, pages) in enumerate(self.blocks) if other != number))

    def with_block(self, number: int, programmed: int, pages: frozenset[int]) -> State:
        """The state with another content of a block."""
        return self.of(self.cached, [*self.blocks[:number], (programmed, pages), *self.blocks[number + 1 :]])

    @staticmethod
    def of(cached: frozenset[int], blocks: Sequence[tuple[int, frozenset[int]]]) -> State:
        """A state in its one form: a block without data is erased, which costs nothing and closes no way."""
        found = [(used if pages else 0, pages) for used, pages in blocks]
        return State(cached, tuple(sorted(found, key=lambda block: (block[0], sorted(block[1])))))

    def without(self, page: int) -> State:
        """The state in which the version of a page is dead."""
        gone = {page}
        return self.of(self.cached - gone, [(used, pages - gone) for used, pages in self.blocks])


def _programmed(state: State, page: int, pages_per_block: int) -> Iterator[State]:
    for number, (used, pages) in enumerate(state.blocks):
        if used < pages_per_block and page not in pages:
            yield state.with_block(number, used + 1, pages | {page})


def _cached(state: State, page: int, slots: int) -> Iterator[State]:
    """Put a page into the cache: its own slot, a free one, or that of a page that is in flash as well."""
    if len(state.cached | {page}) <= slots:
        yield state._replace(cached=state.cached | {page})
        return
    in_flash = frozenset[int]().union(*(pages for _, pages in state.blocks))
    for out in state.cached & in_flash:
        yield state._replace(cached=state.cached - {out} | {page})


def _served(state: State, write: Write, slots: int, pages_per_block: int) -> Iterator[tuple[int, State]]:
    """Serve a request. The older version of the page lives until the new one is safe."""
    page, is_write = write
    if not is_write:
        yield 0, state.without(page)
        return
    for room in _cached(state, page, slots):
        after = room.without(page)
        yield 0, after._replace(cached=after.cached | {page})
    for number, (used, _) in enumerate(state.blocks):
        if used < pages_per_block:
            gone = {page}
            blocks = [(each, pages - gone) for each, pages in state.blocks]
            blocks[number] = (used + 1, blocks[number][1] | {page})
            yield 1, State.of(state.cached - gone, blocks)


def _meanwhile(state: State, slots: int, pages_per_block: int) -> Iterator[tuple[int, State]]:
    """What cache and GC may do between two requests."""
    for number, (used, pages) in enumerate(state.blocks):
        if used and pages <= state.elsewhere(number):
            yield 0, state.with_block(number, 0, frozenset())
    for page in state.cached.union(*(pages for _, pages in state.blocks)):
        for after in _programmed(state, page, pages_per_block):
            yield 1, after
        if page not in state.cached:
            for after in _cached(state, page, slots):
                yield 0, after


def fewest(writes: Sequence[Write], slots: int, blocks: int, pages_per_block: int, left: Sequence[int]) -> int | None:
    """The fewest programs; None if the device is too small. `left` bounds those of the requests from each one on."""
    first = State.of(frozenset(), [(0, frozenset())] * blocks)
    order = count()
    queue = [(left[0], next(order), 0, 0, first)]
    least = {(0, first): 0}
    while queue:
        _, _, programs, at, state = heapq.heappop(queue)
        if at == len(writes):
            return programs
        if programs > least[at, state]:
            continue
        ways = [(at, way) for way in _meanwhile(state, slots, pages_per_block)]
        ways += [(at + 1, way) for way in _served(state, writes[at], slots, pages_per_block)]
        for then, (cost, after) in ways:
            new = programs + cost
            if new < least.get((then, after), new + 1):
                least[then, after] = new
                heapq.heappush(queue, (new + left[then], -next(order), new, then, after))
    return None
