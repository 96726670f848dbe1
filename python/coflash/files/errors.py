"""Errors of the system and of drivers, as messages about the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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
