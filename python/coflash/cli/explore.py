"""`coflash explore`."""

from __future__ import annotations

import math
import shlex
import signal
import sys
import time
from pathlib import Path

import typer

from coflash import device
from coflash._core import CoflashError, quantity
from coflash.cli import console
from coflash.exploration import Failure, junit
from coflash.files import atomic_write, kinds
from coflash.runs.progress import shown


def explore(
    folder: Path,
    run: list[str] | None = None,
    check: str | None = None,
    scenario: str | None = None,
    assignments: list[str] | None = None,
    size: str | None = None,
    points: str = "100",
    atomic: str = "512B",
    seed: int = 0,
    faults: list[str] | None = None,
    timeout: float = 600.0,
    workers: int | None = None,
    json: Path | None = None,
    junit_file: Path | None = None,
    state: int | None = None,
) -> None:
    """Run a workload, and check the states that power cuts may leave; exit status 1 means that one is wrong.

    Without --run the last exploration goes on: what it has checked is not checked again.

    Exit status 0 means that no state is wrong. 2 means that nothing was found out: an argument cannot be used, the
    workload fails, or the check fails or cannot run on the device that has lost no power.

    Options:
        folder: `--device DIR` The folder of the device.
        run: `--run COMMAND` The workload, for the shell. A second one recovers from a power cut: it runs on some of the
            states that are right, and is cut again.
        check: `--check COMMAND` The check, for the shell: a state is wrong if it fails. Without --run all states are
            checked anew by it, unless it is that of the last exploration, which goes on.
        scenario: `[SCENARIO]` A built-in scenario ('coflash scenario list'), or a TOML file. Default: that of the
            device in DIR.
        size: `--size` The capacity of a new device, such as 64MiB; 64MiB+64MiB are two devices, with a flush each.
        points: `--points N|TIME` Number of states, besides those right after flushes and marks; or the time for the
            checks, such as 10min.
        atomic: `--atomic SIZE` What a power cut keeps or loses whole, a multiple of 512B.
        seed: `--seed 0..` Seed of the states.
        faults: `--fault KIND[@N|@*]` Run the workload four more times, each with a fault at another request:
            read-error, write-error, flush-error, bad-sector, stuck, full or unplugged, or a silent one: bit-rot,
            lost-write, stale-sector, misdirected-write, misdirected-read or kept-trim; once at the Nth; or up to 32
            times.
        timeout: `--timeout SECONDS` The time that the workload, and each check, may take.
        junit_file: `--junit FILE` Write the findings as JUnit's XML.
        state: `--state N 1..` Only make state N of the last exploration again, and keep it.
    """
    stopped: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # What the commands begin ends with them, and what was found is told.
        signal.signal(number, lambda number, _: stopped.append(128 + number))
    run = run or []
    if len(run) > 2:
        raise CoflashError(f"--run: {len(run)} commands were given; a workload, and one that recovers, are allowed")
    if not run:
        new = {"SCENARIO": scenario, "--size": size, "--points": points.isdecimal() and points != "100"}
        new |= {"--atomic": atomic != "512B", "--seed": seed > 0, "--fault": bool(faults), "--timeout": timeout != 600}
        console.check_effect(new, "without --run: an exploration goes on as it began")
        console.check_effect({"--check": state and check}, "beside --state: the check of the exploration looks at it")
    else:
        console.check_effect({"--state": state}, "beside --run, which explores anew")
    console.check_json(json)
    if junit_file is not None:
        atomic_write.check_file(junit_file, kinds.JUNIT)
    chosen = None if scenario is None else console.scenario_with(scenario, assignments)
    begun, (count, until) = time.monotonic(), _budget(points)
    with shown("explore") as show:

        def go_on(done: int, states: int, _wrong: int) -> bool:
            nonlocal begun  # the time is that of the checks
            show("states" if states else "workload", done / states if states else None, done)
            begun = begun if done else time.monotonic()
            return not stopped and time.monotonic() < begun + until

        try:
            found = device.explore(
                chosen,
                folder,
                run[0] if run else None,
                check,
                state=state,
                recover="".join(run[1:]) or None,
                size=size,
                points=count,
                atomic=atomic,
                seed=seed,
                faults=faults or [],
                timeout_s=timeout,
                jobs=workers,
                progress=go_on,
            )
        except CoflashError as error:
            if junit_file is not None:
                atomic_write.write_file(junit_file, junit([("all states", str(error), "")], "error"))
            raise
    told = [found.summary(), *map(_about, found.failures)]
    if state is not None and not found.failed:
        told.append(f"look: {folder}/states/{state:06}/look.sh")
    elif found.is_stopped and found.planned:
        told.append(f"to go on: coflash explore --device {shlex.quote(str(folder))}")
    console.say("\n\n".join(told), console.errors() if json == console.STANDARD_OUTPUT else console.output())
    console.write_json(json, found.to_json())
    if junit_file is not None:
        cut_short = junit([("all states", found.summary(), "")], "error")
        atomic_write.write_file(junit_file, cut_short if stopped and not found.failed else found.to_junit())
    if stopped or found.failed:
        raise typer.Exit(stopped[0] if stopped else 1)


def _budget(points: str) -> tuple[int, float]:
    """Return how many states are planned, and the time for them in seconds."""
    if points.isdecimal():
        return min(int(points), sys.maxsize), math.inf
    refused = CoflashError(f'points: "{points}" was given; a number, or a time such as "10min", is allowed')
    try:
        count, unit = quantity(points)
    except CoflashError:
        raise refused from None
    if unit != "ns" or count < 0:
        raise refused
    # More than are checked in that time.
    return min(int(count / 1e9 * 50), sys.maxsize), count / 1e9


def _about(failure: Failure) -> str:
    said = "; ".join(filter(None, [failure.ended, failure.output.strip()[-300:]]))
    return f"{failure.story}  the check: {said}\n  look: {failure.folder}/look.sh"
