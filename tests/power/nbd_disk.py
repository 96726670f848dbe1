"""A client of a network block device, of the standard library alone: every request, answer and flag by hand."""

from __future__ import annotations

import os
import socket
import struct

SECTOR = 512
PAGE = 4096
READ, WRITE, FLUSH, TRIM = 0, 1, 3, 4
FUA = 1
_OPTION_GO, _REPLY_ACK, _REPLY_INFO = 7, 1, 3
_REQUEST = struct.Struct(">IHHQQI")
_ANSWER = struct.Struct(">IIQ")
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

    def __init__(self, path: str | None = None) -> None:
        """Connect."""
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(path or os.environ["COFLASH_SOCKET"])
        self._requests = 0
        self._lengths: dict[int, int] = {}
        self._answers: dict[int, bytes] = {}
        self._receive(18)
        self._socket.sendall(struct.pack(">I8sIIIH", 3, b"IHAVEOPT", _OPTION_GO, 6, 0, 0))
        reply = _REPLY_INFO
        while reply != _REPLY_ACK:
            _, _, reply, length = struct.unpack(">QIII", self._receive(20))
            text = self._receive(length)
            if reply not in {_REPLY_ACK, _REPLY_INFO}:
                msg = f"the server refuses: {text.decode(errors='replace')}"
                raise OSError(msg)

    def _receive(self, length: int) -> bytes:
        received = bytearray()
        while len(received) < length:
            if not (part := self._socket.recv(length - len(received))):
                msg = "the server closed the connection"
                raise ConnectionError(msg)
            received += part
        return bytes(received)

    def _request(self, command: int, at: int, data: bytes, length: int, flags: int) -> tuple[int, bytes]:
        """Return the number of a new request, and its message."""
        self._requests += 1
        self._lengths[self._requests] = length if command == READ else 0
        return self._requests, _REQUEST.pack(0x25609513, flags, command, self._requests, at, length) + data

    def _transmit(self, message: bytes) -> None:
        self._socket.sendall(message)

    def _done(
        self, command: int, at: int = 0, data: bytes = b"", *, length: int | None = None, fua: bool = False
    ) -> bytes:
        number, message = self._request(command, at, data, len(data) if length is None else length, fua * FUA)
        self._transmit(message)
        return self.wait(number)

    def wait(self, number: int) -> bytes:
        """Wait for the answer of a request, and return its data."""
        while number not in self._answers:
            _, error, answered = _ANSWER.unpack(self._receive(_ANSWER.size))
            if error:
                raise OSError(error, os.strerror(error))
            self._answers[answered] = self._receive(self._lengths.pop(answered))
        return self._answers.pop(number)

    def another(self) -> Disk:
        """Return another connection to the same device."""
        return Disk(self._socket.getpeername())

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
