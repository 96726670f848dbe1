"""Describe and check served devices, cut their power, compare them with the simulation."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from coflash import device
from coflash._core import CoflashError
from coflash.cli import live_display
from coflash.cli.console import errors, notes, output, say, scenario_with, show_table
from coflash.cli.options import Assignments
from coflash.quantity import show
from coflash.text_table import TextTable

app = typer.Typer(no_args_is_help=True, add_completion=False)

DeviceFolder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the device.")]
Device = Annotated[Path, typer.Option("--device", metavar="DIR", help="The folder of the device.")]
DeviceScenario = Annotated[
    str | None,
    typer.Argument(
        metavar="SCENARIO",
        help="A built-in scenario ('coflash scenario list'), or a TOML file. Default: that of the device in DIR.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the random effects of a power cut.")]
Side = Annotated[
    str,
    typer.Option(
        "--side",
        metavar="device|host|both",
        help="The side that loses power. With the cache in the host, the other one goes on.",
    ),
]
_SECONDS_BETWEEN_LOOKS = 0.2


def serve(
    folder: Device,
    scenario: DeviceScenario = None,
    assignments: Assignments = None,
    size: Annotated[str | None, typer.Option("--size", help="The capacity, such as 8GiB.")] = None,
    listen: Annotated[
        str | None,
        typer.Option(
            "--listen",
            metavar="PATH|HOST:PORT",
            help="A Unix socket, by its path, or a TCP address, such as 127.0.0.1:10809. Default: DIR/nbd.",
        ),
    ] = None,
    insecure: Annotated[
        bool,
        typer.Option(
            "--insecure", help="Let --listen take an address that other machines reach: no password, no encryption."
        ),
    ] = False,
    emulate: Annotated[
        bool, typer.Option("--emulate", help="Delay each answer until the simulated device would give it.")
    ] = False,
    cut_after: Annotated[
        str | None,
        typer.Option("--cut-after", metavar="writes=N|flush=N", help="Cut the power once, in or after this request."),
    ] = None,
    side: Side = "device",
    seed: Seed = 0,
    dashboard: Annotated[
        bool, typer.Option("--dashboard", help="Show its flash at work on a page, for a browser on this machine.")
    ] = False,
    live: Annotated[bool, typer.Option("--live", help="Show the current measures on this terminal.")] = False,
) -> None:
    """Serve a device as a network block device until Control-C. Do not keep data on it: it is for experiments."""
    chosen = None if scenario is None else scenario_with(scenario, assignments)
    is_path = listen is not None and ("/" in listen or ":" not in listen)
    options: dict[str, Any] = {"size": size, "socket" if is_path else "listen": listen}
    options |= {"insecure": insecure, "emulate": emulate}
    stop = threading.Event()
    # An exception could come while a result is being saved.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    from coflash.report.live import LivePage  # needs numpy, which --help does not

    with ExitStack() as open_:
        page = open_.enter_context(LivePage(folder.name)) if dashboard else None
        served = open_.enter_context(device.serve(chosen, folder, cut_after=cut_after, side=side, seed=seed, **options))
        say(served.address)
        if page:
            say(page.address)
        view = (
            open_.enter_context(live_display.displayed(live_display.ServedView(served.folder.name, errors())))
            if live
            else None
        )
        shown = 0.0
        while not stop.wait(_SECONDS_BETWEEN_LOOKS):
            notes(news := served.look())
            if page:
                page.tell(served.recorded(), served.clients, news)
            if view and time.monotonic() - shown >= 1:
                shown = time.monotonic()
                view.show(served.measured())
        notes(served.look())
    for session in served.sessions:
        say(f"result: {session / 'result'}", errors())


@app.command()
def info(folder: DeviceFolder) -> None:
    """Describe a device: its scenario, its size, and the data on it."""
    scenario, numbers = device.info(folder)
    table = TextTable(["", ""])
    table.add("scenario", f"{scenario.name} {scenario.hash}")
    for name, number in numbers.items():
        is_bytes = name.endswith("_bytes")
        table.add(name.replace("_", " "), show(number, "bytes") if is_bytes else f"{number:,}")
    table.add("sessions", str(len(device.sessions(folder))))
    if reason := device.refusal(folder):
        table.add("read-only", reason)
    show_table(table)


@app.command()
def check(folder: DeviceFolder) -> None:
    """Check every record and all data of a device; exit status 1 means damage."""
    damage = device.check(folder)
    for line in damage or ["nothing is damaged"]:
        say(line)
    if damage:
        raise typer.Exit(1)


@app.command()
def cut(folder: DeviceFolder, side: Side = "device", seed: Seed = 0) -> None:
    """Cut the power of a device that is being served, or of its host, power it on again, and say what was lost."""
    output().print(device.cut(folder, seed, side).told, soft_wrap=True)


@app.command()
def mark(text: Annotated[str, typer.Argument(metavar="TEXT", help="One line.")]) -> None:
    """Write a mark between the requests of the workload that coflash explore runs, for its failures and checks."""
    device.mark(text)


@app.command()
def twin(folder: DeviceFolder) -> None:
    """Simulate every session of a device, and compare all measures; exit status 1 means a difference, or no answer."""
    failed = 0
    if not (sessions := device.sessions(folder)):
        notes([f"{folder}: no session has ended: there is nothing to compare"])
    for session in sessions:
        try:
            differences = device.twin(session)
        except CoflashError as error:  # the other sessions may have an answer
            failed += 1
            errors().print(f"error: {error}", style="red", soft_wrap=True)
            continue
        failed += bool(differences)
        line = ", ".join(f"{key}: {one} served, {other} simulated" for key, (one, other) in differences.items())
        say(f"{session.name}: {line or 'equal'}")
    if failed:
        raise typer.Exit(1)
