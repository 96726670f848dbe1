"""Served devices: real bytes on the firmware that the simulator runs, as a network block device.

Nobody should keep data on one: it is for experiments. They need Unix (Linux, macOS).
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from coflash import _core
from coflash._core import CoflashError
from coflash.exploration import Explored as Explored
from coflash.exploration import Failure as Failure
from coflash.machine import cores
from coflash.measures.catalogue import is_number
from coflash.measures.metrics import Metrics
from coflash.results.result import Result
from coflash.scenario import Scenario
from coflash.table_files import parquet_of

_RESULT, _METADATA = "result", "metadata"


def _check_system() -> None:
    """Say so where the core is without devices."""
    if not hasattr(_core, "ServedDevice"):
        raise CoflashError(
            f"the served device needs Unix (Linux or macOS), and this is {sys.platform}: "
            "use one of these, a container or WSL; simulations, traces and reports work here"
        )


@dataclass(frozen=True)
class Recorded:
    """What the flash of a served device did in a part of a session.

    Attributes:
        session: The folder of the session.
        operations: Its operations, as the file of `run(operations=...)`; no bytes if there were none.
        decisions: The victims that GC picked, as the file of `run(decisions=...)` without the other candidates.
        left_out: Operations that are missing: more came than a part may have, 262,144.
    """

    session: Path
    operations: bytes
    decisions: bytes
    left_out: int


@final
class Served:
    """A device that is served until `stop`, or until the end of a `with` block.

    Attributes:
        folder: The folder of the device.
        sessions: The folders of the sessions that have ended; each has a `result`.
    """

    def __init__(self, core: _core.ServedDevice, folder: Path, *, emulated: bool) -> None:
        self._core = core
        self._emulated = emulated
        self.folder = folder
        self.sessions: list[Path] = []

    @property
    def address(self) -> str:
        """The URI that clients take."""
        return self._core.address()

    @property
    def metrics(self) -> Metrics | None:
        """The measures since power on; None where the device could not be powered on again."""
        core = self._core.result()
        return None if core is None else Result.from_core(core).metrics

    def measured(self) -> dict[str, float]:
        """Return numbers by their paths: the measures since power on, and the load since the last call.

        The load is by the clock of this machine: `load.requests` answered, `load.queue_depth`, a mean over time, and
        `load.response_mean_ns` and `load.response_p99_ns`, from when a request was read until its answer. Simulated
        response times are there only if clients wait for them (`emulate`).
        """
        paths = ("requests", "queue_depth", "response_mean_ns", "response_p99_ns")
        load = zip((f"load.{path}" for path in paths), self._core.take_load(), strict=True)
        flat = {} if (metrics := self.metrics) is None else metrics.flat()
        told = ((path, value) for path, value in flat.items() if self._emulated or not path.startswith("response_ns."))
        return {path: value for path, value in (*load, *told) if is_number(value)}

    @property
    def clients(self) -> int:
        """The number of clients that are connected."""
        return self._core.clients()

    def recorded(self) -> list[Recorded]:
        """Return what flash did since the last call; the first call begins to record. Recovery is not recorded."""
        parts = self._core.take_live()
        return [Recorded(Path(place), parquet_of(ops), parquet_of(gc), out) for place, ops, gc, out in parts]

    def cut(self, seed: int = 0, side: str = "device") -> Loss:
        """Cut the power of a side, and power it on again. Clients lose their connections, and may connect anew.

        Args:
            seed: It draws which of the stores survive that no fence has made durable.
            side: "device", "host" or "both". With the cache in the host, a host that keeps its power goes on with it,
                and its clients keep their connections.
        """
        loss = cut(self.folder, seed, side)
        self._save(self._core.take_ended())
        return loss

    def look(self) -> list[str]:
        """Save the results of sessions that ended in power cuts, and return the errors since the last call.

        Raises:
            CoflashError: A result cannot be saved, or the server has failed.
        """
        self._save(self._core.take_ended())
        problems = self._core.take_problems()
        if self._core.has_failed():
            self.stop()
        return problems

    def stop(self) -> None:
        """Stop the device: flush, switch off, save the result. A second call does nothing.

        Raises:
            CoflashError: The device or a result cannot be written.
        """
        self._save(self._core.stop())

    def _save(self, ended: list[tuple[str, _core.RunResult]]) -> None:
        for session, result in ended:
            Result.from_core(result).save(Path(session) / _RESULT)
            self.sessions.append(Path(session))

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def serve(
    scenario: Scenario | str | os.PathLike[str] | None,
    folder: str | os.PathLike[str],
    *,
    size: str | None = None,
    socket: str | os.PathLike[str] | None = None,
    listen: str | None = None,
    insecure: bool = False,
    connections: int = 256,
    trace: str | os.PathLike[str] | None = None,
    emulate: bool = False,
    cut_after: str | None = None,
    side: str = "device",
    seed: int = 0,
) -> Served:
    """Serve a device as a network block device; a new, erased one if the folder has none.

    Args:
        scenario: The scenario, or the name or file of one. None: that of the device in the folder. For an existing
            device, its policies and times may differ, but nothing on which the contents depend.
        folder: The folder of the device.
        size: The capacity, such as "8GiB". None: that of the scenario, or of the device.
        socket: The file of a Unix socket. None: `nbd` in the folder.
        listen: An address such as "127.0.0.1:10809" instead of a socket.
        insecure: Whether `listen` may be an address that other machines reach. There is no password and no encryption.
        connections: How many clients may be connected. One more is refused.
        trace: The file of the trace. None: `trace.csv` in the folder of the session.
        emulate: Whether each answer is held back until the device would give it.
        cut_after: "writes=N" or "flush=N": cut the power once, in or soon after the Nth write or flush.
        side: The side of that cut, as in `Served.cut`.
        seed: It draws the step of that cut, and which stores survive.

    Raises:
        CoflashError: The device cannot be made, opened or recovered, or is one of another scenario.
    """
    _check_system()
    chosen = None if scenario is None else Scenario.of(scenario)
    path = Path(folder)
    served = _core.ServedDevice.start(
        path, chosen, size, socket, listen, insecure, connections, trace, emulate, cut_after, side, seed
    )
    return Served(served, path, emulated=emulate)


@dataclass(frozen=True)
class Loss:
    """What a power cut took from clients.

    Attributes:
        told: The loss in words.
        writes: Answered writes, and where they wait for a commit also trims, after the last flush or commit.
        bytes: Their bytes.
        pages: Of these, pages that are gone; None: all of them are.
        connections: Connections that ended.
    """

    told: str
    writes: int
    bytes: int
    pages: int | None
    connections: int


def cut(folder: str | os.PathLike[str], seed: int = 0, side: str = "device") -> Loss:
    """Cut the power of a side of a device that another process serves, as `Served.cut` does.

    Raises:
        CoflashError: Nobody serves it, or it has no such side.
    """
    _check_system()
    return Loss(**_core.device_cut(folder, side, seed))


def explore(
    scenario: Scenario | str | os.PathLike[str] | None,
    folder: str | os.PathLike[str],
    run: str | None = None,
    check: str | None = None,
    *,
    state: int | None = None,
    recover: str | None = None,
    size: str | None = None,
    points: int = 100,
    runs: int = 1,
    atomic: str = "512B",
    seed: int = 0,
    faults: Iterable[str] = (),
    timeout_s: float = 600.0,
    jobs: int | None = None,
    progress: Callable[[int, int, int], bool | None] | None = None,
) -> Explored:
    """Run a workload, and check the states in which power cuts may leave it. The device stays as it was.

    Both commands find the device in `COFLASH_NBD`, a URI, and its socket in `COFLASH_SOCKET`. The check has the number
    of flushes before the cut in `COFLASH_FLUSHES`, the last mark in `COFLASH_MARK`, and the fault of the run in
    `COFLASH_FAULT`; a state is wrong if the check fails.

    Args:
        scenario: The scenario, if the folder has no device yet.
        folder: The folder of the device.
        run: The command of the workload, for the shell. None: the last exploration of the folder goes on, over the runs
            that it has recorded. States that it has checked count, with their failures, and are not checked again.
            Then only `folder`, `check`, `state`, `jobs` and `progress` are looked at.
        check: The command of the check. Where an exploration goes on, None or the same text is its own; by another one
            all states are checked anew.
        state: Where an exploration goes on: only make this state again, and check it by the check of the exploration.
            Its device is kept in `failures` of the folder, or in `states` if it is right.
        recover: The command that recovers from a power cut. It runs on up to 16 states of the workload. What a second
            cut leaves of those that are right is checked, with as many points more, and with each fault.
        size: The capacity of a new device. "64MiB+64MiB" are two devices with one clock and a flush each, parts of that
            of the folder: the second one is in `COFLASH_NBD_2` and `COFLASH_SOCKET_2`.
        points: The number of states, beside those right after flushes and marks.
        runs: How often the workload runs, each time with its requests answered in another order; the points are shared.
        atomic: The atomic write unit, a multiple of 512 bytes: a power cut keeps or loses each whole. A drive of one
            sector of 4 KiB has `4KiB`.
        seed: It draws the order of answers, and states.
        faults: Faults, such as "write-error", "bit-rot@17" or "write-error@*": the workload runs with the fault at four
            requests, at that one, or at 32, each time anew, and may fail.
        timeout_s: The time that the workload, and each check, may take.
        jobs: Checks at the same time. None: as many as there are processors.
        progress: Called now and then with the number of states so far, of all states, and of failures. If it returns
            False, the exploration ends, with what it has found.

    Raises:
        CoflashError: The device cannot be made or opened, the workload fails, or the check fails without a power cut.
            Or no exploration is there that could go on, or the device has changed since.
        KeyboardInterrupt: Control-C was pressed.
    """
    _check_system()
    chosen, jobs = None if scenario is None else Scenario.of(scenario), jobs or cores()
    plan = (run, check, recover, state, points, runs, atomic, seed, [*faults], timeout_s)
    return Explored.of(_core.device_explore(folder, chosen, size, plan, jobs, progress))


def mark(text: str) -> None:
    """Write a mark between the requests of a workload that is explored.

    Raises:
        CoflashError: No exploration runs this program.
    """
    if (path := os.environ.get("COFLASH_MARKS")) is None:
        raise CoflashError("COFLASH_MARKS is not set: marks are for the workload of coflash explore")
    try:
        with socket.socket(socket.AF_UNIX) as marks:
            marks.connect(path)
            marks.sendall(text.replace("\n", " ").encode() + b"\n")
            marks.recv(16)
    except OSError as error:
        raise CoflashError(f"{path}: the exploration does not take the mark: {error.strerror}") from None


def info(folder: str | os.PathLike[str]) -> tuple[Scenario, dict[str, int]]:
    """Return the scenario of a device, and numbers on its container. Nothing is written.

    Raises:
        CoflashError: There is no device, or it is damaged.
    """
    _check_system()
    scenario, numbers, _ = _core.device_info(folder)
    return Scenario(scenario), numbers


def refusal(folder: str | os.PathLike[str]) -> str | None:
    """Return why a device that is served refuses writes, if it does: the host could not write its files.

    Raises:
        CoflashError: There is no device, or it is damaged.
    """
    _check_system()
    return _core.device_info(folder)[2]


def check(folder: str | os.PathLike[str]) -> list[str]:
    """Check every record and all data of a device; return the damage. Nothing is written.

    Raises:
        CoflashError: There is no device, or it is being served.
    """
    _check_system()
    return _core.device_check(folder)


def sessions(folder: str | os.PathLike[str]) -> list[Path]:
    """Return the folders of the sessions of a device that have ended and have their result, in order.

    Raises:
        CoflashError: There is no device.
    """
    if not Path(folder, _METADATA).exists():
        info(folder)  # says that there is none
    found = Path(folder).glob(f"sessions/*/{_RESULT}")
    return sorted(path.parent for path in found)


def twin(session: str | os.PathLike[str], progress: Any = None) -> dict[str, tuple[Any, Any]]:
    """Simulate a session, and compare all measures; return those that differ, of the session and of the simulation.

    Args:
        session: The folder of the session.
        progress: As for [`run`][coflash.run].

    Raises:
        CoflashError: The session has not ended, or its result is of another revision of results.
    """
    _check_system()
    served = Result.load(Path(session) / _RESULT)
    if served.revision != _core.REVISION:
        raise _core.CoflashError(
            f"{session}: the session's result is of revision {served.revision} of results "
            f"(coflash {served.document['coflash']}), and a simulation is of revision {_core.REVISION} "
            f"(coflash {_core.__version__}), whose numbers may differ for that alone: install the version that served "
            "it, or serve the device anew and compare that session"
        )
    simulated = Result.from_core(_core.device_twin(session, progress))
    one, other = (result.metrics.flat() for result in (served, simulated))
    return {key: (one.get(key), other.get(key)) for key in {**one, **other} if one.get(key) != other.get(key)}
