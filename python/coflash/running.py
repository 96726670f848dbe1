"""Running a scenario, and looking into a trace before."""

from __future__ import annotations

import os
from typing import Any, Literal

from coflash import _core
from coflash.progress import shown
from coflash.result import Result
from coflash.scenario import Scenario
from coflash.trace import Paths, Progress, info, paths


def run(
    scenario: Scenario | str | os.PathLike[str],
    trace: Paths = (),
    progress: Progress | bool = False,
) -> Result:
    """Simulates a scenario. The same scenario and trace give the same result, bit for bit.

    Args:
        scenario: The scenario, or the name or file of one.
        trace: The trace to replay instead of the scenario's own workload; several files are parts of one trace.
        progress: True shows a progress bar on the standard error stream; a function is called some ten times a second
            with the phase, how much of it is done (0 to 1, None where that is unknown) and the requests so far.

    Raises:
        CoflashError: The scenario or the trace cannot be used.
        KeyboardInterrupt: Control-C was pressed.
    """
    if not isinstance(scenario, Scenario):
        scenario = Scenario.load(scenario)
    files = paths(trace)
    if progress is True:
        with shown(scenario.name) as report:
            return Result.from_core(_core.run(scenario.core, files, report))
    return Result.from_core(_core.run(scenario.core, files, progress or None))


def trace_info(
    trace: Paths,
    format: str | None = None,
    on_error: Literal["stop", "skip"] = "stop",
    progress: Progress | None = None,
) -> dict[str, Any]:
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
