"""Errors of the system and of drivers, as messages about the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coflash._core import CoflashError


@contextmanager
def named(place: object, done: str, errors: type[Exception] = OSError) -> Iterator[None]:
    """Turn errors into a message that a place cannot be `done` (read, written)."""
    try:
        yield
    except CoflashError:
        raise
    except errors as error:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        msg = f"{place}: cannot be {done}: {why.splitlines()[0]}"
        raise CoflashError(msg) from error


def text_of(file: str | Path) -> str:
    """Read a file of text, with or without a byte order mark.

    Raises:
        CoflashError: It cannot be read, or is no text.
    """
    with named(file, "read"):
        content = Path(file).read_bytes()
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        msg = f"{file}: is no text in UTF-8: byte {error.start:,} is 0x{content[error.start]:02x}"
        raise CoflashError(msg) from error
