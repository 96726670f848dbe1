"""Unknown names: an error that lists the existing ones, for tables and mappings alike."""

from __future__ import annotations

from collections.abc import Iterable

from coflash._core import CoflashError, hint


class UnknownNameError(CoflashError, KeyError):
    """An unknown name in a table or a mapping; a `KeyError`, as mappings promise."""

    __str__ = Exception.__str__  # that of KeyError would quote the message


def no_such(what: str, name: object, allowed: Iterable[str]) -> UnknownNameError:
    """Return the error: the given name, the nearest match, and the allowed names."""
    return UnknownNameError(f"{what} {name!r}{hint(str(name), list(allowed))}")
