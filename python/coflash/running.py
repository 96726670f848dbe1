"""Running a scenario, and looking into a trace before."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Literal

from coflash import _core
from coflash.inputs import credited, fetched
from coflash.metrics import SoFar
from coflash.progress import shown
from coflash.result import Result
from coflash.scenario import Scenario
from coflash.trace import Paths, Progress, info, paths
from coflash.warming import Warm
from coflash.workload_info import TraceInfo


def run(
    scenario: Scenario | str | os.PathLike[str],
    trace: Paths = (),
    progress: Progress | bool = False,
    measured: Callable[[SoFar], None] | None = None,
    warm: Warm | str | os.PathLike[str] | None = None,
) -> Result:
    """Simulates a scenario. The same scenario and trace give the same result, bit for bit.

    Args:
        scenario: The scenario, or the name or file of one.
        trace: The trace to replay instead of the scenario's own workload: a path, or a URL that fsspec knows; several
            files are parts of one trace.
        progress: True shows a progress bar on the standard error stream; a function is called some ten times a second
            with the phase, how much of it is done (0 to 1, None where that is unknown) and the requests so far.
        measured: Called as often while the workload is replayed, with what was measured so far: write amplification,
            response times, simulated time.
        warm: A device to start from instead of preconditioning one, or the file of one; the result is the same.

    Raises:
        CoflashError: The scenario, the trace or the warm device cannot be used.
        KeyboardInterrupt: Control-C was pressed.
    """
    if not isinstance(scenario, Scenario):
        scenario = Scenario.load(scenario)
    sources = paths(trace) or scenario.to_dict()["workload"]["trace"]
    files = [fetched(source) for source in sources]
    if warm is not None and not isinstance(warm, Warm):
        warm = Warm.load(warm)
    device = warm.core if warm else None
    tell = None if measured is None else lambda fields: measured(SoFar(fields))
    if progress is True:
        with shown(scenario.name) as report:
            core = _core.run(scenario.core, files, report, tell, device)
    else:
        core = _core.run(scenario.core, files, progress or None, tell, device)
    return credited(Result.from_core(core), files, sources)


def trace_info(
    trace: Paths,
    format: str | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    progress: Progress | None = None,
) -> TraceInfo:
    """What is in a trace; [`coflash.trace.info`][coflash.trace.info] with the two commonest options.

    Args:
        trace: Its file, or its files in order.
        format: The format's name; found out from the content where None.
        on_error: What to do at a record that is not what the format says.
        progress: Called as for [`run`][coflash.run].

    Raises:
        CoflashError: The trace cannot be read.
    """
    return info(trace, {"format": format, "on_error": on_error}, progress)
