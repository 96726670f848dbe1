"""A disk in memory that knows every state in which a power cut may leave it, by the order of its requests alone.

A write with FUA is durable when it is answered, and covers no other one. A flush that is answered covers the writes
that were answered before it arrived. Of all else that has arrived a cut leaves any sectors.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from nbd_disk import FLUSH, FUA, READ, SECTOR, Disk

EXHAUSTIVE_MAX = 10
"""Of up to this number of sectors every subset is a state; of more some are drawn."""


@dataclass
class _Request:
    command: int
    flags: int
    at: int
    length: int
    sectors: dict[int, bytes]
    covers: list[_Request]
    is_answered: bool = False
    is_durable: bool = False


class DiskModel(Disk):
    """A disk whose requests are remembered."""

    def __init__(self, contents: dict[int, bytes] | None = None) -> None:
        """Begin with contents by sector, by default blank."""
        self._contents = contents or {}
        self._arrived: list[_Request] = []
        self._moments: list[list[tuple[int, bytes, bool]]] = []
        """What has arrived at each moment, sector by sector, and whether it is durable."""

    def another(self) -> Disk:
        """Return this one."""
        return self

    def _request(self, command: int, at: int, data: bytes, length: int, flags: int) -> tuple[int, bytes]:
        content = b"" if command in {READ, FLUSH} else data or bytes(length)
        sectors = {at + offset: content[offset : offset + SECTOR] for offset in range(0, len(content), SECTOR)}
        covers = [each for each in self._arrived if each.is_answered] if command == FLUSH else []
        self._arrived.append(_Request(command, flags, at, length, sectors, covers))
        self._note()
        return len(self._arrived) - 1, b""

    def _transmit(self, message: bytes) -> None:
        pass

    def wait(self, number: int) -> bytes:
        """Answer a request."""
        request = self._arrived[number]
        request.is_answered = True
        request.is_durable = request.flags & FUA != 0
        for each in request.covers:
            each.is_durable = True
        self._note()
        if request.command != READ:
            return b""
        now = self.uncut()
        return b"".join(now.get(request.at + offset, bytes(SECTOR)) for offset in range(0, request.length, SECTOR))

    def _note(self) -> None:
        self._moments.append(
            [(at, data, each.is_durable) for each in self._arrived for at, data in each.sectors.items()]
        )

    def uncut(self) -> dict[int, bytes]:
        """Return the contents without a cut."""
        return self._contents | {at: data for each in self._arrived for at, data in each.sectors.items()}

    def states(self, seed: int) -> Iterator[dict[int, bytes]]:
        """Yield what power cuts may leave, each state once."""
        draw, seen = random.Random(seed), set()
        for arrived in self._moments:
            # What a later durable write has replaced is in no state.
            last = {at: place for place, (at, _, is_durable) in enumerate(arrived) if is_durable}
            sectors = [each for place, each in enumerate(arrived) if place >= last.get(each[0], 0)]
            loose = sum(not is_durable for _, _, is_durable in sectors)
            every = range(1 << min(loose, EXHAUSTIVE_MAX))
            for choice in every if loose <= EXHAUSTIVE_MAX else (draw.getrandbits(loose) for _ in every):
                kept = iter(f"{choice:0{loose}b}")
                left = {at: data for at, data, is_durable in sectors if is_durable or next(kept) == "1"}
                if (state := frozenset(left.items())) not in seen:
                    seen.add(state)
                    yield self._contents | left
