"""The terminal. Printed text is never markup, whatever characters a name or a cell has."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def output() -> Console:
    """Return the console for results: standard output."""
    return _console(stderr=False)


def errors() -> Console:
    """Return the console for progress and errors: standard error."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    from rich.console import Console  # slow to import, and most uses do not need it

    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)
