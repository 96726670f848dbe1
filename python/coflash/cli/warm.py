"""`coflash warm`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coflash import whole
from coflash.cli.console import Assignments, Quiet, ScenarioName, errors, output, scenario_with
from coflash.progress import shown
from coflash.quantity import show
from coflash.warming import warm as warm_up


def warm(
    scenario: ScenarioName,
    file: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="Where the device is written.")],
    assignments: Assignments = None,
    quiet: Quiet = False,
) -> None:
    """Precondition a scenario's device and keep it, for runs with --warm to start from."""
    chosen = scenario_with(scenario, assignments)
    whole.check_file(file)
    if quiet:
        warm_up(chosen, file)
        return
    with shown(chosen.name, errors()) as report:
        device = warm_up(chosen, file, report)
    size = show(file.stat().st_size, "bytes")
    output().print(f"{file}: {size}, warm key {device.key}", markup=False, highlight=False, soft_wrap=True)
