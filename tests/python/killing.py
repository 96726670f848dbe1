"""Served devices whose process is killed repeatedly."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from coflash import Scenario, device
from nbd_clients import PYTHON_OF_DEBIAN
from processes import PATIENCE_S, begin

CLIENT = Path(__file__).with_name("kill_client.py")


def kill_servers(
    scenario: Scenario,
    folder: Path,
    promise: str,
    cycles: int,
    seed: int,
    then: Callable[[], None] = lambda: None,
) -> int:
    """Serves a device and kills its process in the midst of requests, `cycles` times; returns the number of answers.

    Args:
        scenario: The scenario of the device.
        folder: The folder of the device.
        promise: What survives, in the words of `kill_client.py`.
        cycles: The number of kills.
        seed: The seed of the requests.
        then: Called after each kill.

    Raises:
        AssertionError: The data left after a kill breaks the promise of `kill_client.py`.
    """
    # A process is forked from one that has loaded the package.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["coflash.device"])
    answered = 0
    with begin(str(PYTHON_OF_DEBIAN), str(CLIENT), promise, str(seed)) as client:
        assert client.stdin is not None
        assert client.stdout is not None
        assert client.stderr is not None
        for _ in range(cycles):
            here, there = context.Pipe()
            server = context.Process(target=_serve, args=(scenario.to_toml(), folder, there))
            server.start()
            there.close()
            client.stdin.write(f"{server.pid} {here.recv()}\n")
            client.stdin.flush()
            line = client.stdout.readline()
            if not line:
                server.kill()
            server.join(PATIENCE_S)
            assert line, client.stderr.read()
            assert server.exitcode == -signal.SIGKILL
            then()
            answered += int(line)
        client.stdin.close()
        assert client.wait(PATIENCE_S) == 0, client.stderr.read()
    return answered


def _serve(scenario: str, folder: Path, address: Connection) -> None:
    """Serves a device until the process is killed."""
    served = device.serve(Scenario.from_toml(scenario), folder)
    address.send(served.address)
    signal.pause()
