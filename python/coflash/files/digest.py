"""Digests of files, given by path or URL."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Event, Thread
from typing import IO, TypeVar

from coflash._core import CoflashError
from coflash.files import remote

_CHUNK_BYTES = 1 << 20
_RING_S = 0.02
_Read = TypeVar("_Read")


def digest_of(place: str) -> str:
    """Return the SHA-256 of a file as hexadecimal digits.

    Raises:
        CoflashError: It cannot be read.
    """
    found = hashlib.sha256()
    with opened(place) as file:
        while content := chunk(file, place):
            found.update(content)
    return found.hexdigest()


def is_there_once(place: str) -> bool:
    """Whether a second reader would find nothing, and wait: the standard input, or a pipe."""
    return place == "-" or (not remote.is_url(place) and remote.path_of(place).is_fifo())


def awaited(files: Iterable[str], read: Callable[[], _Read]) -> _Read:
    """Read files, but first wait for the writer of a pipe: Control-C ends this wait, and not that of the core.

    The core opens the pipe again. Its writer may have ended by then: what it wrote stays while the pipe is open here,
    and the open waits until another writer comes, if only for a moment.
    """
    pipe = next((file for file in files if file != "-" and is_there_once(file)), None)
    if pipe is None:
        return read()
    reader, ended = os.open(pipe, os.O_RDONLY), Event()

    def ring() -> None:
        with suppress(OSError):  # it was removed
            while not ended.wait(_RING_S):
                os.close(os.open(pipe, os.O_WRONLY))

    (bell := Thread(target=ring, daemon=True)).start()
    try:
        return read()
    finally:
        ended.set()
        bell.join()
        os.close(reader)


def check_lasting(places: Iterable[str], why: str) -> None:
    """Refuse what is there only once.

    Raises:
        CoflashError: One of them is; `why` more than one reader is needed.
    """
    for place in filter(is_there_once, places):
        name = "standard input" if place == "-" else f"{place}, a pipe"
        raise CoflashError(f"{name}: it is there only once, and {why}: give a file")


def opened(place: str) -> IO[bytes]:
    """Open a file to read.

    Raises:
        CoflashError: It cannot be opened.
    """
    if remote.is_url(place):
        return remote.opened(place)
    with remote.named(place, "read"):
        return remote.path_of(place).open("rb")


def chunk(file: IO[bytes], name: str) -> bytes:
    """Read the next part of a file; nothing at its end.

    Raises:
        CoflashError: It cannot be read.
    """
    with remote.named(name, "read"):
        return file.read(_CHUNK_BYTES)
