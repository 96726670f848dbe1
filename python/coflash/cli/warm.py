"""`coflash warm`."""

from __future__ import annotations

from pathlib import Path

from coflash.cli.console import errors, say, scenario_with
from coflash.files import atomic_write, kinds
from coflash.quantity import show
from coflash.runs.progress import shown
from coflash.runs.warm import warm as warm_up


def warm(scenario: str, file: Path, assignments: list[str] | None = None) -> None:
    """Precondition a scenario's device and save it, so that runs with --warm start from it.

    Options:
        file: `--out -o FILE` The file of the device.
    """
    chosen = scenario_with(scenario, assignments)
    atomic_write.check_file(file, kinds.WARM, [scenario])
    with shown(chosen.name, errors()) as report:
        device = warm_up(chosen, file, report)
    size = show(file.stat().st_size, "bytes")
    say(f"{file}: {size}, warm key {device.key}")
