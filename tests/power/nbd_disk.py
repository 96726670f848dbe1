"""The disk of the programs: requests one by one or together, over the client of the tests of served devices."""

from __future__ import annotations

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "python"))  # noqa: PTH118, PTH120 - it starts for each state

from raw_nbd import FLUSH, FUA, PAGE, READ, TRIM, WRITE, Client, connected

__all__ = ["FLUSH", "FUA", "PAGE", "READ", "RECEIPT", "SECTOR", "TRIM", "WRITE", "Disk", "connected", "page", "sector"]

SECTOR = 512
RECEIPT = 1 * PAGE
"""Where a program writes what it has promised to somebody outside, past any order of its own."""


def sector(number: int) -> bytes:
    """Return a sector filled with a number."""
    return number.to_bytes(8, "little") * (SECTOR // 8)


def page(number: int) -> bytes:
    """Return a page filled with a number."""
    return number.to_bytes(8, "little") * (PAGE // 8)


class Disk:
    """A connection, by default to the device of `COFLASH_SOCKET`."""

    many = 160
    """The rounds of a program in which only one has a fault."""

    def __init__(self, path: str | None = None) -> None:
        """Connect."""
        self._path = path or os.environ["COFLASH_SOCKET"]
        self._client = Client(self._path)
        self._answers: dict[int, bytes] = {}

    def _request(self, command: int, at: int, data: bytes, length: int, flags: int) -> tuple[int, bytes]:
        """Return the number of a new request, and its message."""
        message = self._client.request(command, at, length, data, flags)
        return self._client.number, message

    def _transmit(self, message: bytes) -> None:
        self._client.transmit(message)

    def _done(
        self, command: int, at: int = 0, data: bytes = b"", *, length: int | None = None, fua: bool = False
    ) -> bytes:
        return self.wait(self.send(command, at, data, length=length, fua=fua))

    def send(
        self, command: int, at: int = 0, data: bytes = b"", *, length: int | None = None, fua: bool = False
    ) -> int:
        """Send a request, and return its number."""
        number, message = self._request(command, at, data, len(data) if length is None else length, fua * FUA)
        self._transmit(message)
        return number

    def comes_within(self, number: int, seconds: float) -> bool:
        """Wait for the answer of a request, at most for a time; return whether it has come."""
        until = time.monotonic() + seconds
        while number not in self._answers and (left := until - time.monotonic()) > 0:
            if self._client.has_answer(left):
                self._next()
        return number in self._answers

    def wait(self, number: int) -> bytes:
        """Wait for the answer of a request, and return its data."""
        while number not in self._answers:
            self._next()
        return self._answers.pop(number)

    def _next(self) -> None:
        """Take the next answer."""
        answered, error, data = self._client.answer()
        if error:
            raise OSError(error, os.strerror(error))
        self._answers[answered] = data

    def another(self) -> Disk:
        """Return another connection to the same device."""
        return Disk(self._path)

    def second(self) -> Disk:
        """Return the second device."""
        return Disk(os.environ["COFLASH_SOCKET_2"])

    def read(self, at: int, length: int = PAGE, *, fua: bool = False) -> bytes:
        """Read."""
        return self._done(READ, at, length=length, fua=fua)

    def number(self, at: int) -> int:
        """Return the number at the beginning of a sector."""
        return int.from_bytes(self.read(at, SECTOR)[:8], "little")

    def write(self, at: int, data: bytes, *, fua: bool = False) -> None:
        """Write, and wait for the answer."""
        self._done(WRITE, at, data, fua=fua)

    def flush(self) -> None:
        """Flush, and wait for the answer."""
        self._done(FLUSH)

    def trim(self, at: int, length: int = PAGE) -> None:
        """Trim, and wait for the answer."""
        self._done(TRIM, at, length=length)

    def write_and_flush_at_once(self, at: int, data: bytes) -> None:
        """Send a write and a flush in one message, and wait for both answers."""
        write, message = self._request(WRITE, at, data, len(data), 0)
        flush, behind = self._request(FLUSH, 0, b"", 0, 0)
        self._transmit(message + behind)
        self.wait(write)
        self.wait(flush)

    def begin_write(self, at: int, data: bytes) -> tuple[int, bytes]:
        """Send a write but for its last sector; return its number and the rest."""
        number, message = self._request(WRITE, at, data, len(data), 0)
        self._transmit(message[:-SECTOR])
        return number, message[-SECTOR:]

    def finish_write(self, number: int, rest: bytes) -> None:
        """Send the rest of a write, and wait for the answer."""
        self._transmit(rest)
        self.wait(number)

    def receipt(self, number: int) -> None:
        """Note that somebody outside was told of a number."""
        self.write(RECEIPT, sector(number))
