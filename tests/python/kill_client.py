"""A client that repeatedly kills the server of a disk in the midst of its requests, and checks the remaining data.

It runs in the interpreter for which libnbd is built. Arguments: the promise, and a seed. Each line of its input is a
server, by process and address: it checks the whole disk, sends requests, kills the server, and prints the number of
answers. The promise is one of

    answered    all answered requests survive
    flushed     all flushed requests survive, and any part of the later ones
    committed   a first few of the requests since the last flush survive, and nothing of the others
"""

from __future__ import annotations

import os
import random
import signal
import sys
from array import array
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import nbd

SECTOR = 512
PAGE = 8
"""Sectors of a page."""
MIB = 1 << 20


class Model:
    """The certain contents of the disk, and later requests: sectors, each with the number of its last write."""

    def __init__(self, promise: str, sectors: int) -> None:
        self.promise = promise
        self.sure = array("Q", bytes(8 * sectors))
        self.asked: list[list[tuple[int, int, int]]] = []

    def ask(self, first: int, end: int, number: int) -> int:
        """Notes a request, page after page; returns its place."""
        pages = [first, *range((first // PAGE + 1) * PAGE, end, PAGE), end]
        self.asked.append([(one, other, number) for one, other in pairwise(pages)])
        return len(self.asked) - 1

    def answered(self, place: int) -> None:
        if self.promise == "answered":
            self._settle(self.asked[place])
            self.asked[place] = []

    def flushed(self) -> None:
        for request in self.asked:
            self._settle(request)
        self.asked.clear()

    def check(self, found: array[int]) -> set[int]:
        """Returns the sectors that break the promise; from now on the contents that were found are certain."""
        wrong = {number for number, (one, other) in enumerate(zip(self.sure, found, strict=True)) if one != other}
        for first, end, number in (part for request in self.asked for part in request):
            if self.promise == "committed" and not wrong:
                break
            for sector in range(first, end):
                if found[sector] == number:
                    wrong.discard(sector)
                elif self.promise == "committed":
                    wrong.add(sector)
        self.sure = found
        self.asked.clear()
        return wrong

    def _settle(self, request: list[tuple[int, int, int]]) -> None:
        for first, end, number in request:
            self.sure[first:end] = array("Q", [number]) * (end - first)


def read(h: Any, size: int) -> array[int]:
    """The number in each sector of the disk."""
    found = array("Q")
    for offset in range(0, size, MIB):
        words = array("Q", bytes(h.pread(min(MIB, size - offset), offset)))
        for start in range(0, len(words), SECTOR // 8):
            sector = words[start : start + SECTOR // 8]
            if sector.count(sector[0]) != len(sector):
                sys.exit(f"the sector at {offset + 8 * start} is a mixture: {sector}")
            found.append(sector[0])
    return found


def batch(h: Any, model: Model, numbers: Iterator[int], draw: random.Random) -> dict[int, int]:
    """Sends a few requests that do not overlap; returns their places by their cookies."""
    sectors = len(model.sure)
    sent: dict[int, int] = {}
    taken: set[int] = set()
    for _ in range(draw.randint(1, 16)):
        first = draw.randrange(sectors)
        end = min(first + draw.randint(1, 40), sectors)
        what = draw.choice(["write", "write", "write", "write", "zero", "trim"])
        if what == "trim":
            first, end = first // PAGE * PAGE, -(-end // PAGE) * PAGE
        if not taken.isdisjoint(range(first, end)):
            continue
        taken.update(range(first, end))
        offset, length, number = first * SECTOR, (end - first) * SECTOR, next(numbers)
        place = model.ask(first, end, number if what == "write" else 0)
        if what == "write":
            data = nbd.Buffer.from_bytearray(bytearray(number.to_bytes(8, sys.byteorder) * (length // 8)))
            cookie = h.aio_pwrite(data, offset)
        else:
            cookie = (h.aio_zero if what == "zero" else h.aio_trim)(length, offset)
        sent[cookie] = place
    return sent


def settle(h: Any, model: Model, sent: dict[int, int], left: int) -> int:
    """Waits until no more than `left` requests wait for an answer, or the server has gone; counts the answers."""
    count = 0
    while True:
        for cookie in list(sent):
            try:
                is_answered = h.aio_command_completed(cookie)
            except nbd.Error:
                del sent[cookie]
                continue
            if is_answered:
                model.answered(sent.pop(cookie))
                count += 1
        if len(sent) <= left or h.aio_is_dead() or h.aio_is_closed():
            return count
        try:
            h.poll(-1)
        except nbd.Error:
            continue


def main() -> None:
    promise, seed = sys.argv[1], int(sys.argv[2])
    draw, numbers = random.Random(seed), iter(range(1, 1 << 63))
    model = None
    for cycle, line in enumerate(sys.stdin):
        server, address = line.split()
        h = nbd.NBD()
        h.connect_uri(address)
        size = h.get_size()
        model = model or Model(promise, size // SECTOR)
        if wrong := model.check(read(h, size)):
            sys.exit(f"{promise}, seed {seed}, cycle {cycle}: these sectors break the promise: {sorted(wrong)[:20]}")
        count = 0
        for _ in range(draw.randint(0, 40)):
            sent = batch(h, model, numbers, draw)
            count += settle(h, model, sent, 0)
            if draw.random() < 0.2:
                h.flush()
                model.flushed()
        sent = batch(h, model, numbers, draw)
        count += settle(h, model, sent, draw.randint(0, len(sent)))
        os.kill(int(server), signal.SIGKILL)
        count += settle(h, model, sent, 0)
        sys.stdout.write(f"{count}\n")
        sys.stdout.flush()


main()
