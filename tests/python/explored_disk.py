"""The disk that workloads and checks of an exploration get: it can send several requests in one message."""

from __future__ import annotations

import os
import sys

from raw_nbd import FLUSH, FUA, READ, TRIM, WRITE, Client, connected

__all__ = ["FLUSH", "FUA", "READ", "TRIM", "WRITE", "Disk", "mark"]


class Disk:
    """A connection to the served disk."""

    def __init__(self, name: str = "COFLASH_NBD") -> None:
        self._client = Client(os.environ[name])
        self._unsent = b""

    def send(self, command: int, offset: int = 0, data: bytes = b"", length: int = 0, flags: int = 0) -> None:
        """Send a request together with others, as `wait` begins."""
        self._unsent += self._client.request(command, offset, length, data, flags)

    def wait(self) -> bytes:
        """Send all, and wait for all answers; return the data of the last one. An error is an `OSError`."""
        self.transmit()
        data, failed = b"", 0
        while self._client.sent:
            _, error, data = self._client.answer()
            failed = failed or error
        if failed:
            raise OSError(failed, os.strerror(failed))
        return data

    def transmit(self) -> None:
        """Send all."""
        self._client.transmit(self._unsent)
        self._unsent = b""

    def await_answers(self, count: int) -> None:
        """Send all, and wait for some answers."""
        self.transmit()
        for _ in range(count):
            self._client.answer()

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


def program(code: str) -> str:
    """Return a program with a connection to the disk, as a command."""
    here = os.path.dirname(__file__)  # noqa: PTH120 - the disk is loaded in each state, and `pathlib` takes long
    begins = f"import os, sys, time\nsys.path.insert(0, {here!r})\nfrom explored_disk import *\ndisk = Disk()\n"
    quoted = (begins + code).replace("'", "'\\''")
    return f"exec {sys.executable} -S -E -c '{quoted}'"


def mark(text: str) -> None:
    """Write a mark, as docs/explore.md says."""
    marks = connected(os.environ["COFLASH_MARKS"])
    marks.sendall(text.encode() + b"\n")
    marks.recv(16)
