"""`coflash explore`."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from coflash import device
from coflash._core import CoflashError
from coflash.cli.console import (
    STANDARD_OUTPUT,
    check_json,
    errors,
    output,
    say,
    scenario_with,
    write_json,
)
from coflash.cli.device import Device, DeviceScenario
from coflash.cli.options import Assignments, JsonFile, Workers
from coflash.exploration import Failure, junit
from coflash.files import atomic_write, kinds


def explore(
    folder: Device,
    run: Annotated[str | None, typer.Option("--run", metavar="COMMAND", help="The workload, for the shell.")] = None,
    check: Annotated[
        str | None,
        typer.Option("--check", metavar="COMMAND", help="The check, for the shell: a state is wrong if it fails."),
    ] = None,
    scenario: DeviceScenario = None,
    assignments: Assignments = None,
    size: Annotated[str | None, typer.Option("--size", help="The capacity of a new device, such as 64MiB.")] = None,
    points: Annotated[
        int, typer.Option("--points", min=0, help="Number of states, besides those right after flushes and marks.")
    ] = 100,
    atomic: Annotated[
        str,
        typer.Option("--atomic", metavar="SIZE", help="What a power cut keeps or loses whole, a multiple of 512B."),
    ] = "512B",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the states.")] = 0,
    faults: Annotated[
        list[str] | None,
        typer.Option(
            "--fault",
            metavar="KIND[@N]",
            help="Run the workload once more with a fault at its Nth read, write or flush: read-error, write-error,"
            " flush-error, bad-sector, stuck or full.",
        ),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option("--timeout", metavar="SECONDS", help="The time that the workload, and each check, may take."),
    ] = 600.0,
    jobs: Workers = None,
    json_file: JsonFile = None,
    junit_file: Annotated[
        Path | None, typer.Option("--junit", metavar="FILE", help="Write the findings as JUnit's XML.")
    ] = None,
    state: Annotated[
        int | None,
        typer.Option(
            "--state", metavar="N", min=1, help="Only make state N of the last exploration again, and keep it."
        ),
    ] = None,
) -> None:
    """Run a workload, and check the states that power cuts may leave; exit status 1 means that one is wrong.

    Exit status 0 means that no state is wrong. 2 means that nothing was found out: an argument cannot be used, the
    workload fails, or the check fails or cannot run on the device that has lost no power.
    """
    # What they begin ends with them.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    if state is not None:
        place, failure = device.explore_again(folder, state)
        say(_about(failure) if failure else f"state {state} is right\n  look: {place}/look.sh")
        raise typer.Exit(int(failure is not None))
    if run is None or check is None:
        msg = f"{'--check' if run else '--run'} is missing: the commands of the workload and of the check are necessary"
        raise CoflashError(msg)
    check_json(json_file)
    if junit_file is not None:
        atomic_write.check_file(junit_file, kinds.JUNIT)
    chosen = None if scenario is None else scenario_with(scenario, assignments)
    begun = time.monotonic()
    with Progress(console=errors(), transient=True, disable=not errors().is_terminal) as bars:
        bar = bars.add_task("states", total=None)
        options = {"size": size, "points": points, "atomic": atomic, "seed": seed, "faults": faults or [], "jobs": jobs}
        try:
            found = device.explore(
                chosen,
                folder,
                run,
                check,
                timeout_s=timeout,
                progress=lambda done, states, _: bars.update(bar, completed=done, total=states or None),
                **options,  # type: ignore[arg-type]
            )
        except CoflashError as error:
            if junit_file is not None:
                atomic_write.write_file(junit_file, junit([("all states", str(error), "")], "error"))
            raise
    speed = f"{found.states / (time.monotonic() - begun):,.1f} states a second"
    console = errors() if json_file == STANDARD_OUTPUT else output()
    say("\n\n".join([f"{found.summary()}\n{speed}", *map(_about, found.failures)]), console)
    write_json(json_file, found.to_json())
    if junit_file is not None:
        atomic_write.write_file(junit_file, found.to_junit())
    if found.failed:
        raise typer.Exit(1)


def _about(failure: Failure) -> str:
    said = failure.output.strip()[-300:]
    return f"{failure.story}  the check: {failure.ended}; {said}\n  look: {failure.folder}/look.sh"
