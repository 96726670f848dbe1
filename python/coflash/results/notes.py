"""Notes on what the numbers of a run do not say; and notes on many runs, put together: each fact once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from coflash.quantity import counted, some
from coflash.scenario import Scenario

_COLUMNS = "read with columns="
_PARTICULAR = re.compile(rf"(?<={_COLUMNS}).*|\d[\d,.]*\d|\d")
"""What notes of one kind may differ in: numbers, and the columns of a trace."""
_NOT_OF_A_DEVICE_IN_USE = "write amplification, drive writes a day and tails tell nothing of a device in use"
_WORKLOADS = ("trace", "synthetic", "preset", "disksim", "fio", "like", "phases", "tenants")


def checks(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Say where the numbers of a result tell nothing; of several reasons the first, from which the others follow."""
    metrics, scenario, exported = document["metrics"], document["scenario"], document["workload"].get("logical_bytes")
    if not any(map(scenario.get("workload", {"trace": True}).get, _WORKLOADS)):
        return (
            "No workload was given: the numbers are of uniform random writes, and tell nothing of other workloads.",
        )
    if scenario.get("hybrid") or not metrics.get("host_writes_pages"):
        return ()
    if not metrics["ftl_writes_pages"]:
        return (f"The caches took every write: {_NOT_OF_A_DEVICE_IN_USE}; a longer run or a smaller cache would tell.",)
    if not metrics["erases_blocks"]:
        return (f"GC erased no block here: {_NOT_OF_A_DEVICE_IN_USE}; a longer run (workload.repeat) would tell.",)
    passes = metrics.get("host_writes_bytes", 0) / exported if exported else 1
    if passes < 1 and not scenario["precondition"].get("until_steady"):
        return (f"The host wrote {passes:.0%} of what the device holds: its state before the run decides as much.",)
    return ()


def times_of_cell(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Say where flash with several bits per cell has the default times, which are those of one bit."""
    cell, given = document["scenario"].get("flash", {}).get("cell", "slc"), document["scenario"].get("timing", {})
    if cell == "slc" or any(given.get(key) != default for key, default in _default_times().items()):
        return ()
    times = ", ".join(f"timing.{key}={given[key]}" for key in ("page_read", "page_program", "block_erase"))
    return (
        f"The flash is {cell.upper()}, but its times are the defaults ({times}), which are SLC's: response times are "
        f"far too short; its own times must be set, or a scenario with them taken, such as qlc or tlc-enterprise.",
    )


@cache
def _default_times() -> dict[str, Any]:
    timing = Scenario.from_dict({}).to_dict()["timing"]
    return {key: timing[key] for key in ("page_read", "page_reads", "page_program", "page_programs", "block_erase")}


def together(runs: Iterable[tuple[str, Sequence[str]]], of: str = "run") -> list[str]:
    """Merge notes of named runs, or of others: those that differ only in numbers become one, with the names it is of.

    Runs whose names begin alike, before a dot in the middle, are named by this beginning if all of them have a note.
    """
    found: dict[str, dict[str, list[str]]] = {}
    every = []
    for run, notes in runs:
        every.append(run)
        for note in dict.fromkeys(notes):
            found.setdefault(_PARTICULAR.sub("#", note), {}).setdefault(note, []).append(run)
    return [_one(alike, every, of) for alike in found.values()]


def _one(alike: dict[str, list[str]], every: Sequence[str], of: str) -> str:
    """Write a note once; if not all runs have it in the same words, with the number of runs and some of their names."""
    note, all_runs = next(iter(alike)), [run for runs in alike.values() for run in runs]
    if len(alike) == 1 and len(all_runs) == len(every):
        return note
    whole, partly = Counter(map(_system, every)), Counter(map(_system, all_runs))
    names = [*dict.fromkeys(_system(run) if partly[_system(run)] == whole[_system(run)] else run for run in all_runs)]
    what = "columns" if note.startswith(_COLUMNS) else "numbers"
    whose = f"; the {what} are those of {all_runs[0]}" if len(alike) > 1 else ""
    return f"{note} (In {len(all_runs)} of {counted(len(every), of)}: {some(names)}{whose}.)"


def _system(run: str) -> str:
    return run.partition(" · ")[0]
