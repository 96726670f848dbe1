"""`coflash warm`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coflash.cli.console import Assignments, Quiet, ScenarioName, errors, output, scenario_with
from coflash.files import atomic_write, kinds
from coflash.quantity import show
from coflash.runs.progress import shown
from coflash.runs.warm import warm as warm_up


def warm(
    scenario: ScenarioName,
    file: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The file of the device.")],
    assignments: Assignments = None,
    quiet: Quiet = False,
) -> None:
    """Precondition a scenario's device and save it, so that runs with --warm start from it."""
    chosen = scenario_with(scenario, assignments)
    atomic_write.check_file(file, kinds.WARM, [scenario])
    if quiet:
        warm_up(chosen, file)
        return
    with shown(chosen.name, errors()) as report:
        device = warm_up(chosen, file, report)
    size = show(file.stat().st_size, "bytes")
    output().print(f"{file}: {size}, warm key {device.key}", markup=False, highlight=False, soft_wrap=True)
