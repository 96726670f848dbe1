"""A client of the network block device protocol for workloads and checks: it can send several requests together."""

from __future__ import annotations

import os
import socket
import struct

READ, WRITE, FLUSH, TRIM = 0, 1, 3, 4
FUA = 1
_GREETING, _REPLY = 0x49484156454F5054, 0x67446698


class Disk:
    """A connection to the served disk."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(os.environ["COFLASH_SOCKET"])
        self._receive(18)
        self._socket.sendall(struct.pack(">IQIIIH", 3, _GREETING, 7, 6, 0, 0))
        kind = 0
        while kind != 1:
            *_, kind, length = struct.unpack(">QIII", self._receive(20))
            self._receive(length)
        self._waiting: dict[int, int] = {}
        self._number = 0
        self._unsent = b""

    def _receive(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self._socket.recv(count - len(data))
            if not part:
                raise ConnectionError
            data += part
        return data

    def send(self, command: int, offset: int = 0, data: bytes = b"", length: int | None = None, flags: int = 0) -> None:
        """Send a request together with others, as `wait` begins."""
        length = len(data) if length is None else length
        self._number += 1
        self._waiting[self._number] = length if command == READ else 0
        self._unsent += struct.pack(">IHHQQI", 0x25609513, flags, command, self._number, offset, length) + data

    def wait(self) -> bytes:
        """Send all, and wait for all answers; return the data of the last one. An error is an `OSError`."""
        self._socket.sendall(self._unsent)
        self._unsent = b""
        data = b""
        failed = 0
        while self._waiting:
            _, error, number = struct.unpack(">IIQ", self._receive(16))
            length = self._waiting.pop(number)
            failed = failed or error
            data = b"" if error else self._receive(length)
        if failed:
            raise OSError(failed, os.strerror(failed))
        return data

    def write(self, offset: int, data: bytes, flags: int = 0) -> None:
        """Write."""
        self.send(WRITE, offset, data, flags=flags)
        self.wait()

    def read(self, offset: int, length: int, flags: int = 0) -> bytes:
        """Read."""
        self.send(READ, offset, length=length, flags=flags)
        return self.wait()

    def flush(self) -> None:
        """Flush."""
        self.send(FLUSH)
        self.wait()


def mark(text: str) -> None:
    """Write a mark, as docs/explore.md says."""
    marks = socket.socket(socket.AF_UNIX)
    marks.connect(os.environ["COFLASH_MARKS"])
    marks.sendall(text.encode() + b"\n")
    marks.recv(16)
