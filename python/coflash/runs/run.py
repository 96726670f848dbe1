"""Simulation of a scenario."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

from coflash import _core, external
from coflash._core import CoflashError
from coflash.files.atomic_write import check_apart, check_file
from coflash.files.digest import awaited
from coflash.files.kept import fetched
from coflash.files.kinds import RECORD
from coflash.measures.record import Record
from coflash.results.identity import reading
from coflash.results.result import Result
from coflash.runs.checkpoint import Checkpoint
from coflash.runs.inputs import credited, own_files
from coflash.runs.warm import Warm
from coflash.scenario import Scenario, ScenarioLike
from coflash.trace import Paths, Progress, paths


def run(
    scenario: ScenarioLike,
    trace: Paths = (),
    progress: Progress | bool = False,
    warm: Warm | str | os.PathLike[str] | None = None,
    *,
    operations: str | os.PathLike[str] | None = None,
    decisions: str | os.PathLike[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Result:
    """Simulate a scenario. The same scenario, trace and revision of results give the same result, bit for bit.

    Args:
        scenario: The scenario, as an object, as nested dictionaries, or by its name or file.
        trace: The trace to replay instead of the scenario's own workload: a path, a URL that fsspec knows, or a frame
            (polars, pandas, Arrow) with the columns `time_ns`, `op`, `offset`, `length`, and `placement` if there are
            placement hints; several are parts of one.
        progress: True shows a progress bar on the standard error stream; a function is called about ten times a second
            with the phase, its finished share (0 to 1, or None if unknown) and the number of requests so far.
        warm: A warm device, or the file of one, to start from instead of preconditioning; the result is the same.
        operations: A Parquet file to write, with a row for each flash operation; `docs/records.md` lists its columns.
        decisions: A Parquet file to write, with a row for each candidate of each GC decision.
        checkpoint: A file that keeps every ten minutes and on Control-C what the run has become. If it is there, the
            same run goes on from it, with the same result; it is removed at the end. The checkpoint of another run is
            refused, and so is any other file.

    Raises:
        CoflashError: The scenario, the trace or the warm device cannot be used, or a file cannot be written.
        KeyboardInterrupt: Control-C was pressed.
    """
    scenario = Scenario.of(scenario)
    for sentence in replaying(scenario, trace).without_effect():
        warnings.warn(sentence, stacklevel=2)
    kept = None if checkpoint is None else Checkpoint(Path(checkpoint).resolve(), _warn)
    if kept and not kept.file.parent.is_dir():
        raise CoflashError(f"checkpoint: {kept.file}: there is no folder {kept.file.parent}")
    if kept and (operations or decisions):
        raise CoflashError("checkpoint: has no effect beside operations or decisions, whose files are written at once")
    result = simulate(scenario, trace, progress, warm, (operations, decisions), kept)
    if kept:
        kept.remove()
    return result


def _warn(sentence: str) -> None:
    """Warn of a checkpoint; no run is lost to it where warnings are errors."""
    with suppress(UserWarning):
        warnings.warn(sentence, stacklevel=5)


def simulate(
    scenario: ScenarioLike,
    trace: Paths = (),
    progress: Progress | bool = False,
    warm: Warm | str | os.PathLike[str] | None = None,
    records: Sequence[str | os.PathLike[str] | None] = (None, None),
    checkpoint: Checkpoint | None = None,
) -> Result:
    """Simulate a scenario as [`run`][coflash.run] does; records are the files of operations and of decisions.

    Only the notes of the result name keys without effect. The file of a checkpoint stays.
    """
    scenario = Scenario.of(scenario)
    read = _Read.of(scenario, trace)
    check_apart(*records)
    for record in records:
        if record is not None:
            check_file(Path(record), RECORD, read.local)
    if warm is not None and not isinstance(warm, Warm):
        warm = Warm.load(warm)
    with ExitStack() as stack:
        scenario = read.by(scenario)
        stack.enter_context(external.seeded(scenario.to_dict(), warm and warm._generators))
        if progress is True:
            from coflash.runs.progress import shown  # needs rich

            progress = stack.enter_context(shown(scenario.name))
        kept = None if (to := checkpoint) is None else (to.file, to.replaces_another, to.seconds, to.tell)
        given = scenario, progress or None, warm, (records[0], records[1]), kept
        core = awaited(read.local, lambda: _core.run(*given))
    return credited(Result.from_core(core), read.local, read.sources)


def fewest_programs(scenario: ScenarioLike, trace: Paths = (), progress: Progress | None = None) -> FewestPrograms:
    """Return a lower bound of flash programs: no cooperation of cache and GC has fewer with caches of this size.

    Each version of a page that the host writes is programmed, unless a slot holds it until the page is written again or
    trimmed, or the workload ends; the most versions that slots can hold follow from the workload alone, with the future
    known (Carlisle & Lloyd, "On the k-coloring of intervals", Discrete Applied Mathematics 59(3), 1995). Eviction,
    cooperation, GC, placement and the state at the beginning do not matter. The bound knows no GC: of a device without
    enough spare space it says too little. Nothing is simulated; the workload is read once.

    Args:
        scenario: The scenario, as an object, as nested dictionaries, or by its name or file.
        trace: The trace that [`run`][coflash.run] would be given.
        progress: Called as for `run`.

    Raises:
        CoflashError: The scenario or the trace cannot be used; there are disks behind the flash, restarts, or a
            workload that goes by answers (jobs of fio).
        KeyboardInterrupt: Control-C was pressed.
    """
    scenario = Scenario.of(scenario)
    return FewestPrograms(_core.fewest_programs(_Read.of(scenario, trace).by(scenario), progress))


class FewestPrograms(Record):
    """A lower bound of flash programs, by [`fewest_programs`][coflash.fewest_programs]; all counts are of pages."""

    slots: int
    """The slots of all caches and write buffers."""
    host_writes_pages: int
    """The pages that the host writes."""
    absorbed_pages: int
    """The most of them that need not be programmed."""
    programs_pages: int
    """The others, which any cache of this size lets through."""

    @property
    def waf_host(self) -> float | None:
        """The fewest programs for each page that the host writes; None if it writes none."""
        return self.programs_pages / self.host_writes_pages if self.host_writes_pages else None


class _Read(NamedTuple):
    """What a scenario reads: a trace, or its own files."""

    sources: list[str]
    """Their paths or URLs, as they were given."""
    local: list[str]
    is_own: bool

    @classmethod
    def of(cls, scenario: Scenario, trace: Paths) -> _Read:
        workload = scenario.to_dict()["workload"]
        given = paths(trace) or workload["trace"]
        sources = given or own_files(workload)
        return cls(sources, [fetched(source) for source in sources], not given)

    def by(self, scenario: Scenario) -> Scenario:
        """Return the scenario that reads the local files in their place."""
        if not self.is_own:
            return scenario.replaying(self.local)
        return scenario if self.local == self.sources else reading(scenario, self.local)


def replaying(scenario: Scenario, trace: Paths) -> Scenario:
    """Return the scenario as it is told: a trace that is given stands for its own workload."""
    return scenario.replaying(paths(trace))
