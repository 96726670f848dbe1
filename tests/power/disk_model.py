"""A disk in memory that knows every state in which a power cut may leave it, by the order of its requests alone.

A write with FUA is durable when it is answered, and covers no other one. A flush that is answered covers the writes
of its device that were answered before it arrived. Of all else that has arrived a cut leaves any sectors. Of two
requests that were under way together either may lie above.
"""

from __future__ import annotations

import copy
import itertools
import math
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from nbd_disk import FLUSH, FUA, READ, SECTOR, Disk

STATES_MAX = 1024
"""Of up to this number of states of a moment all are there; of more some are drawn."""


SECOND = 1 << 40
"""The first byte of the second device, behind the first one."""


@dataclass
class _Request:
    device: int
    command: int
    flags: int
    at: int
    length: int
    sectors: dict[int, bytes]
    covers: list[_Request]
    before: list[_Request]
    is_answered: bool = False
    is_durable: bool = False


class DiskModel(Disk):
    """A disk whose requests are remembered."""

    many = 6

    def __init__(self, contents: dict[int, bytes] | None = None) -> None:
        """Begin with contents by sector, by default blank."""
        self._contents = contents or {}
        self._device = 0
        self._arrived: list[_Request] = []
        self._moments: list[dict[int, list[bytes | None]]] = []
        """What a cut at each moment may leave in each sector; None: what was there before."""

    def another(self) -> Disk:
        """Return this one."""
        return self

    def second(self) -> Disk:
        """Return the second device, which knows the same requests."""
        other = copy.copy(self)
        other._device = SECOND
        return other

    def _request(self, command: int, at: int, data: bytes, length: int, flags: int) -> tuple[int, bytes]:
        at += self._device
        content = b"" if command in {READ, FLUSH} else data or bytes(length)
        sectors = {at + offset: content[offset : offset + SECTOR] for offset in range(0, len(content), SECTOR)}
        before = [each for each in self._arrived if each.is_answered]
        covers = [each for each in before if each.device == self._device] if command == FLUSH else []
        self._arrived.append(_Request(self._device, command, flags, at, length, sectors, covers, before))
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
        left: dict[int, list[_Request]] = {}
        for each in self._arrived:
            for at in each.sectors:
                left.setdefault(at, []).append(each)
        moment: dict[int, list[bytes | None]] = {}
        for at, requests in left.items():
            durable = [each for each in requests if each.is_durable]
            moment[at] = [] if durable else [None]
            moment[at] += [each.sectors[at] for each in requests if not any(each in other.before for other in durable)]
        self._moments.append(moment)

    def uncut(self) -> dict[int, bytes]:
        """Return the contents without a cut."""
        return self._contents | {at: data for each in self._arrived for at, data in each.sectors.items()}

    def states(self, seed: int) -> Iterator[dict[int, bytes]]:
        """Yield what power cuts may leave, each state once."""
        draw, seen = random.Random(seed), set()
        for moment in self._moments:
            most = math.prod(len(left) for left in moment.values())
            every: Iterable[tuple[bytes | None, ...]] = itertools.product(*moment.values())
            if most > STATES_MAX:
                every = (tuple(draw.choice(left) for left in moment.values()) for _ in range(STATES_MAX))
            for contents in every:
                left = zip(moment, contents, strict=True)
                state = self._contents | {at: data for at, data in left if data is not None}
                if (key := hash(frozenset(state.items()))) not in seen:
                    seen.add(key)
                    yield state
