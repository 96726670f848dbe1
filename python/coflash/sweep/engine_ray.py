"""Runs on a Ray cluster: an existing one, or one of processes on this machine."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ray

from coflash._core import CoflashError
from coflash.sweep.devices import Devices
from coflash.sweep.engine import Place
from coflash.sweep.plan import Group, Outcomes, execute_all

_SECONDS_TO_CONNECT = 30

_DEVICES = Devices()
"""The devices of a worker, which Ray ends with the sweep."""


class RayEngine:
    """The current resources of the cluster. Ray itself holds a run back until its memory is free on one node."""

    shares_memory = False

    def __init__(self, place: Place) -> None:
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        self.workers = int(sum(node.get("CPU", 0) for node in nodes))
        self.slots = 2 * self.workers
        self.memory_bytes = int(sum(node.get("memory", 0) for node in nodes))
        self.largest_bytes = int(max(node.get("memory", 0) for node in nodes))
        # Into the object store, from which a node fetches it once, for its first run.
        files = [file for file in place.inputs if not file.is_url]
        self._content = {file.sha256: ray.put(Path(file.source).read_bytes()) for file in files}
        self._execute = ray.remote(max_retries=2)(_execute)

    def submit(self, groups: Sequence[tuple[Group, int]]) -> Sequence[Future[Outcomes]]:
        """Give groups to Ray."""
        return [self._started(group, needed_bytes) for group, needed_bytes in groups]

    def _started(self, group: Group, needed_bytes: int) -> Future[Outcomes]:
        reference = self._execute.options(num_cpus=1, memory=needed_bytes).remote(group, self._content)
        future: Future[Outcomes] = Future()
        reference.future().add_done_callback(lambda ended: _hand_on(ended, future))
        return future


@contextmanager
def opened(place: Place) -> Iterator[RayEngine]:
    """Open the cluster of that address, or a new one with one process for each core."""
    if place.address is not None:
        _check(place.address)
    try:
        ray.init(
            address=place.address or "local",  # None would join any cluster on this machine
            num_cpus=place.workers if place.address is None else None,
            include_dashboard=None if place.address else False,
            log_to_driver=False,
            logging_level="ERROR",
        )
        engine = RayEngine(place)
    except (ConnectionError, ValueError, RuntimeError, ImportError) as error:
        ray.shutdown()
        msg = f"address: no Ray cluster answers at {place.address}: {error}{_hint(place.address)}"
        raise CoflashError(msg) from error
    try:
        yield engine
    finally:
        ray.shutdown()


def _check(address: str) -> None:
    """Check that a cluster answers: Ray itself would wait for many minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        try:
            socket.create_connection((host, int(port)), _SECONDS_TO_CONNECT).close()
        except OSError as error:
            why = f"{error.strerror or error}; `ray start --head` starts one"
            raise CoflashError(f"address: no Ray cluster answers at {address}: {why}") from error


def _hint(address: str | None) -> str:
    """Return advice on tokens: Ray sends none to a given address by default."""
    if address in (None, "auto") or "RAY_AUTH_MODE" in os.environ:
        return ""
    return " (a cluster that wants a token gets it with RAY_AUTH_MODE=token in the environment)"


def _hand_on(ended: Future[Outcomes], to: Future[Outcomes]) -> None:
    error = ended.exception()
    if error is None:
        to.set_result(ended.result())
    else:
        # Ray wraps an exception of a run into one of its own, with the whole traceback as its text.
        to.set_exception(getattr(error, "cause", None) or error)


def _execute(group: Group, content: dict[str, Any]) -> Outcomes:
    for file in (file for job in group for file in job.inputs):
        if not file.is_url and not file.kept.exists():
            file.keep(ray.get(content[file.sha256]))
    return execute_all(group, _DEVICES, shipped=True)
