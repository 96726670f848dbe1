"""Notes on runs: what their numbers do not say by themselves; and notes on many runs, put together: each fact once."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from coflash.quantity import parsed

_NUMBER = re.compile(r"\d[\d,.]*\d|\d")
_NAMED = 3


class _Ran:
    """What the checks ask of a run."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        metrics, scenario = document["metrics"], document["scenario"]
        self.writes, self.programs = metrics.get("host_writes_pages") or 0, metrics.get("ftl_writes_pages") or 0
        self.erases, self.has_tier = metrics.get("erases_blocks") or 0, bool(scenario.get("hybrid"))
        cells = document["workload"].get("logical_bytes") or 0
        page_bytes, _ = parsed(scenario["flash"]["page_size"]) or (math.inf, "")
        self.passes = self.writes * page_bytes / cells if cells else math.inf
        before = scenario.get("precondition", {})
        self.is_warmed = bool(before.get("until_steady"))
        self.begins_empty = not before.get("through_caches")
        self.dirty = (metrics.get("cache", {}).get("dirty_pages") or 0) / self.writes if self.writes else 0.0


_CHECKS: Sequence[tuple[Callable[[_Ran], bool], str]] = (
    (
        lambda run: run.writes > 0 and run.programs == 0,
        "The caches took every write: flash programmed no page of the host, so that write amplification and drive "
        "writes tell nothing of this device. A longer run or a smaller cache would.",
    ),
    (
        lambda run: run.programs > 0 and run.erases == 0,
        "GC erased no block in this run: write amplification, drive writes a day and tails tell nothing of a device "
        "in use.",
    ),
    (
        lambda run: 0 < run.passes < 1 and run.erases > 0 and not run.is_warmed,
        "The host wrote less than the device holds ({run.passes:.0%} of it): the state before the run (precondition) "
        "decides write amplification as much as the workload does.",
    ),
    (
        lambda run: run.dirty > _DIRTY and run.begins_empty and run.programs > 0,
        "What was dirty in the cache at the end is not charged: {run.dirty:.1%} of the pages that the host wrote. "
        "precondition.through_caches=true begins with a cache that is as dirty as at the end.",
    ),
)
"""The checks of a run, each with what it says; of the first one that holds, since the others would follow from it."""
_DIRTY = 0.02


def checks(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a result does not tell, from its document."""
    run = _Ran(document)
    said = (text.format(run=run) for holds, text in _CHECKS if not run.has_tier and holds(run))
    return tuple(said)[:1]


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
