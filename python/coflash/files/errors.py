"""Errors of the system and of drivers, as messages about the file."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coflash._core import CoflashError


def near_file(path: str) -> str:
    """End an error of a file that is not there: `; did you mean X?` if its folder holds a similar name."""
    folder = Path(path).parent
    names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    near = difflib.get_close_matches(Path(path).name, names, 1)
    return f"; did you mean {folder / near[0]}?" if near else ""


@contextmanager
def named(place: object, done: str, errors: type[Exception] = OSError) -> Iterator[None]:
    """Turn errors into a message that a place cannot be `done` (read, written)."""
    try:
        yield
    except CoflashError:
        raise
    except errors as error:
        if isinstance(error, FileNotFoundError) and done == "read":
            msg = f"{place}: no such file{near_file(str(place))}"
            raise CoflashError(msg) from error
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
