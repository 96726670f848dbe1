"""Describe and check served devices, cut their power, compare them with the simulation.

Options:
    side: `--side device|host|both` The side that loses power. With the cache in the host, the other one goes on.
    seed: `--seed 0..` Seed of the random effects of a power cut.
    folder: `DIR` The folder of the device.
"""

from __future__ import annotations

import signal
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import typer

from coflash import device
from coflash._core import CoflashError
from coflash.cli.console import errors, notes, output, say, scenario_with, show_table
from coflash.cli.live_display import Tiles
from coflash.cli.options import Group
from coflash.quantity import show
from coflash.text_table import TextTable

app = Group(no_args_is_help=True)

_SECONDS_BETWEEN_LOOKS = 0.2


def serve(
    folder: Path,
    scenario: str | None = None,
    assignments: list[str] | None = None,
    size: str | None = None,
    listen: str | None = None,
    insecure: bool = False,
    emulate: bool = False,
    cut_after: str | None = None,
    side: str = "device",
    seed: int = 0,
    dashboard: bool = False,
) -> None:
    """Serve a device as a network block device until Control-C. Do not keep data on it: it is for experiments.

    Options:
        folder: `--device DIR` The folder of the device.
        scenario: `[SCENARIO]` A built-in scenario ('coflash scenario list'), or a TOML file. Default: that of the
            device in DIR.
        size: `--size` The capacity, such as 8GiB.
        listen: `--listen PATH|HOST:PORT` A Unix socket, by its path, or a TCP address, such as 127.0.0.1:10809.
            Default: DIR/nbd.
        insecure: `--insecure` Let --listen take an address that other machines reach: no password, no encryption.
        emulate: `--emulate` Delay each answer until the simulated device would give it.
        cut_after: `--cut-after writes=N|flush=N` Cut the power once, in or after this request.
        dashboard: `--dashboard` Show its flash at work on a page, for a browser on this machine.
    """
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
        shown_at, tiles = 0.0, Tiles()
        while not stop.wait(_SECONDS_BETWEEN_LOOKS):
            notes(news := served.look())
            if not page:
                continue
            values = None
            if time.monotonic() - shown_at >= 1:
                shown_at, values = time.monotonic(), served.measured()
            page.tell(served.recorded(), served.clients, news, tiles.take(values) if values else ())
        notes(served.look())
    for session in served.sessions:
        say(f"result: {session / 'result'}", errors())


@app.command()
def info(folder: Path) -> None:
    """Describe a device: its scenario, its size, and the data on it."""
    scenario, numbers = device.info(folder)
    table = TextTable(["", ""])
    table.add("scenario", f"{scenario.name} {scenario.hash}")
    for name, number in numbers.items():
        table.add(name.replace("_", " "), show(number, "bytes") if name.endswith("_bytes") else f"{number:,}")
    table.add("sessions", str(len(device.sessions(folder))))
    if reason := device.refusal(folder):
        table.add("read-only", reason)
    show_table(table)


@app.command()
def check(folder: Path) -> None:
    """Check every record and all data of a device; exit status 1 means damage."""
    damage = device.check(folder)
    for line in damage or ["nothing is damaged"]:
        say(line)
    if damage:
        raise typer.Exit(1)


@app.command()
def cut(folder: Path, side: str = "device", seed: int = 0) -> None:
    """Cut the power of a device that is being served, or of its host, power it on again, and say what was lost."""
    output().print(device.cut(folder, seed, side).told, soft_wrap=True)


@app.command()
def mark(text: str) -> None:
    """Write a mark between the requests of the workload that coflash explore runs, for its failures and checks.

    Options:
        text: `TEXT` One line.
    """
    device.mark(text)


@app.command()
def twin(folder: Path) -> None:
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
