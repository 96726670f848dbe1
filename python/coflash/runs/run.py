"""Simulation of a scenario."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

from coflash import _core
from coflash.files.atomic_write import check_apart, check_file
from coflash.files.kinds import RECORD
from coflash.measures.record import SoFar
from coflash.results.identity import reading
from coflash.results.result import Result
from coflash.runs.inputs import credited, fetched, own_files
from coflash.runs.warm import Warm
from coflash.scenario import Scenario, ScenarioLike
from coflash.trace import Paths, Progress, arrow, info, paths
from coflash.trace.trace_info import TraceInfo


def run(
    scenario: ScenarioLike,
    trace: Paths = (),
    progress: Progress | bool = False,
    measured: Callable[[SoFar], None] | None = None,
    warm: Warm | str | os.PathLike[str] | None = None,
    *,
    operations: str | os.PathLike[str] | None = None,
    decisions: str | os.PathLike[str] | None = None,
    threads: int | None = None,
) -> Result:
    """Simulate a scenario. The same scenario, trace and revision of results give the same result, bit for bit.

    Args:
        scenario: The scenario, as an object, as nested dictionaries, or by its name or file.
        trace: The trace to replay instead of the scenario's own workload: a path, a URL that fsspec knows, or a frame
            (polars, pandas, Arrow) with the columns `time_ns`, `op`, `offset`, `length`, and `placement` if there are
            placement hints; several are parts of one.
        progress: True shows a progress bar on the standard error stream; a function is called about ten times a second
            with the phase, its finished share (0 to 1, or None if unknown) and the number of requests so far.
        measured: Called as often during the replay, with the measures so far: write amplification, response times,
            simulated time.
        warm: A warm device, or the file of one, to start from instead of preconditioning; the result is the same.
        operations: A Parquet file to write, with a row for each flash operation; `docs/records.md` lists its columns.
        decisions: A Parquet file to write, with a row for each candidate of each GC decision.
        threads: The most threads that simulate parts of the device side by side, where
            [`Scenario.coupling`][coflash.Scenario.coupling] is None; the result is the same. By default one for each
            core, and one in a process that another one has started.

    Raises:
        CoflashError: The scenario, the trace or the warm device cannot be used, or a file cannot be written.
        KeyboardInterrupt: Control-C was pressed.
    """
    scenario = Scenario.of(scenario)
    for sentence in replaying(scenario, trace).without_effect():
        warnings.warn(sentence, stacklevel=2)
    if threads is None and _has_parent():
        threads = 1
    return simulate(
        scenario, trace, progress, measured, warm, operations=operations, decisions=decisions, threads=threads
    )


def simulate(
    scenario: ScenarioLike,
    trace: Paths = (),
    progress: Progress | bool = False,
    measured: Callable[[SoFar], None] | None = None,
    warm: Warm | str | os.PathLike[str] | None = None,
    *,
    operations: str | os.PathLike[str] | None = None,
    decisions: str | os.PathLike[str] | None = None,
    threads: int | None = 1,
) -> Result:
    """Simulate a scenario as [`run`][coflash.run] does, by default on one thread.

    Only the notes of the result name keys without effect.
    """
    scenario = Scenario.of(scenario)
    workload = scenario.to_dict()["workload"]
    sources = paths(trace) or workload["trace"]
    is_own = not sources
    sources = sources or own_files(workload)
    local = [fetched(source) for source in sources]
    check_apart(operations, decisions)
    for record in (operations, decisions):
        if record is not None:
            check_file(Path(record), RECORD, local)
    if warm is not None and not isinstance(warm, Warm):
        warm = Warm.load(warm)
    device = warm.core if warm else None
    tell = None if measured is None else lambda fields: measured(SoFar(fields))
    with arrow.converted(local) as files, ExitStack() as stack:
        if not is_own:
            scenario = scenario.replaying(files)
        elif files != sources:
            scenario = reading(scenario, files)
        if progress is True:
            from coflash.runs.progress import shown  # needs rich

            progress = stack.enter_context(shown(scenario.name))
        core = _core.run(scenario.core, progress or None, tell, device, (operations, decisions), threads)
    return credited(Result.from_core(core), files, local, sources)


def _has_parent() -> bool:
    """Tell whether a process of this program has started this one: then there are others for the cores."""
    process = sys.modules.get("multiprocessing.process")
    return process is not None and process.parent_process() is not None


def replaying(scenario: Scenario, trace: Paths) -> Scenario:
    """Return the scenario as it is told: a trace that is given stands for its own workload."""
    return scenario.replaying(paths(trace))


def trace_info(
    trace: Paths,
    format: str | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    progress: Progress | None = None,
) -> TraceInfo:
    """Describe a trace; [`coflash.trace.info`][coflash.trace.info] with the two most common options.

    Args:
        trace: Its file, or its files in order.
        format: The name of the format; recognised from the content if None.
        on_error: Whether a malformed record is an error or skipped.
        progress: Called as for [`run`][coflash.run].

    Raises:
        CoflashError: The trace cannot be read.
    """
    return info(trace, {"format": format, "on_error": on_error}, progress)
