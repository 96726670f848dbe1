"""A client of network block devices, request by request: what was answered, and when the disk vanished."""

from __future__ import annotations

import select
import struct

# `socket` takes longer to load than Python itself, and explorations begin a program in each state of a disk.
from _socket import AF_INET, AF_UNIX, socket

READ, WRITE, FLUSH, TRIM, ZERO = 0, 1, 3, 4, 6
FUA, NO_HOLE = 1, 2
PAGE = 4096


class Vanished(Exception):  # noqa: N818 - it is what happens to the disk
    """The connection ended before an answer."""


def connected(path: str) -> socket:
    """Returns a connection to the socket of a path."""
    connection = socket(AF_UNIX)
    connection.connect(path)
    return connection


class Client:
    """A connection. Requests may be sent ahead; `sent` has those without an answer."""

    def __init__(self, address: str) -> None:
        """Connects to a URI, or to the path of a socket."""
        if address.startswith("nbd://"):
            host, _, port = address.removeprefix("nbd://").rstrip("/").rpartition(":")
            self._socket = socket(AF_INET)
            self._socket.connect((host, int(port)))
        else:
            self._socket = connected(address.removeprefix("nbd+unix:///?socket="))
        self.sent: dict[int, int] = {}
        """The length of the data of an answer, by cookie."""
        self.number = 0
        """That of the last request, its cookie."""
        self._receive(18)
        self._socket.sendall(struct.pack(">I", 3) + b"IHAVEOPT" + struct.pack(">IIIH", 7, 6, 0, 0))
        self._receive(20 + 12 + 20)

    def __del__(self) -> None:
        self._socket.close()

    def request(self, command: int, offset: int = 0, length: int = 0, data: bytes = b"", flags: int = 0) -> bytes:
        """Returns the message of a new request, to be transmitted."""
        self.number += 1
        self.sent[self.number] = length if command == READ else 0
        return struct.pack(">IHHQQI", 0x25609513, flags, command, self.number, offset, len(data) or length) + data

    def transmit(self, message: bytes) -> None:
        """Sends one or more requests in one message."""
        try:
            self._socket.sendall(message)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise Vanished from error

    def send(self, command: int, offset: int = 0, length: int = 0, data: bytes = b"", flags: int = 0) -> int:
        """Sends a request; returns its cookie."""
        self.transmit(self.request(command, offset, length, data, flags))
        return self.number

    def answer(self) -> tuple[int, int, bytes]:
        """Waits for the next answer: its cookie, its error, its data."""
        magic, error, cookie = struct.unpack(">IIQ", self._receive(16))
        assert magic == 0x67446698
        length = self.sent.pop(cookie)
        return cookie, error, b"" if error else self._receive(length)

    def has_answer(self, within_s: float) -> bool:
        """Waits for the next answer to begin, at most for a time."""
        return bool(select.select([self._socket], [], [], within_s)[0])

    def ask(self, command: int, offset: int = 0, length: int = 0, data: bytes = b"", flags: int = 0) -> bytes:
        """Sends a request, and waits for its success."""
        cookie = self.send(command, offset, length, data, flags)
        answered, error, found = self.answer()
        assert (answered, error) == (cookie, 0)
        return found

    def pages(self, first: int, count: int) -> list[int]:
        """Returns the first byte of each page, all of whose bytes must be equal."""
        data = self.ask(READ, first * PAGE, count * PAGE)
        found = [data[at : at + PAGE] for at in range(0, len(data), PAGE)]
        assert all(page == page[:1] * PAGE for page in found), "a page is a mixture"
        return [page[0] for page in found]

    def write(self, first: int, count: int, value: int, flags: int = 0) -> None:
        """Writes whole pages of a value."""
        self.ask(WRITE, first * PAGE, data=bytes([value]) * (count * PAGE), flags=flags)

    def has_vanished(self) -> bool:
        """Whether the next request gets no answer: a flush, which must never succeed after a loss."""
        try:
            self.send(FLUSH)
            while True:
                self.answer()
        except Vanished:
            return True

    def _receive(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            try:
                piece = self._socket.recv(count - len(data))
            except ConnectionResetError:
                piece = b""
            if not piece:
                raise Vanished
            data += piece
        return bytes(data)
