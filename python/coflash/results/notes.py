"""Notes on many runs, put together: each fact once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_NUMBER = re.compile(r"\d[\d,.]*\d|\d")
_NAMED = 3


def together(runs: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
    """Merge notes of named runs: notes that differ only in their numbers become one, with the names of its runs."""
    found: dict[str, dict[str, list[str]]] = {}
    total = 0
    for run, notes in runs:
        total += 1
        for note in dict.fromkeys(notes):
            found.setdefault(_NUMBER.sub("#", note), {}).setdefault(note, []).append(run)
    return [_one(alike, total) for alike in found.values()]


def _one(alike: dict[str, list[str]], total: int) -> str:
    """Write a note once; if not all runs have it in the same words, with the number of runs and some of their names."""
    note, names = next(iter(alike)), [run for runs in alike.values() for run in runs]
    if len(alike) == 1 and len(names) == total:
        return note
    others = f", and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    whose = f"; the numbers are those of {names[0]}" if len(alike) > 1 else ""
    return f"{note} (In {len(names)} of {total} runs: {', '.join(names[:_NAMED])}{others}{whose}.)"
