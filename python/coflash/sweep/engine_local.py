"""Runs on the cores of this machine, as threads of this process.

The core gives the interpreter up while it simulates, so threads keep all cores busy: they start at once, hand results
over without copying them, and share what is in memory, such as warm devices. What processes would add, that a
crash of one run takes no other with it, resuming gives as well: only what was under way is done again.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from coflash.sweep.devices import Devices
from coflash.sweep.engine import Place
from coflash.sweep.memory import available_bytes
from coflash.sweep.plan import Job, Ran, execute


class Stopped(Exception):  # noqa: N818 - nothing is wrong
    """The run was given up."""


class LocalEngine:
    """A pool of threads."""

    shares_memory = True

    def __init__(self, pool: ThreadPoolExecutor, workers: int) -> None:
        self.workers, self.slots = workers, workers + 1
        self.memory_bytes = self.largest_bytes = available_bytes()
        self._pool = pool
        self._devices = Devices()
        self._stop = threading.Event()

    def submit(self, job: Job, needed_bytes: int) -> Future[Ran]:  # noqa: ARG002 - the driver sees to it
        """Begins a run as soon as a thread is free."""
        return self._pool.submit(execute, job, self._devices, self._look)

    def stop(self) -> None:
        """Gives up what is under way; within a twentieth of a second, as that is how often the core reports."""
        self._stop.set()

    def _look(self, *_: object) -> None:
        if self._stop.is_set():
            raise Stopped


@contextmanager
def opened(place: Place) -> Iterator[LocalEngine]:
    """A pool with a thread for each core, or as many as asked for."""
    workers = place.workers or _cores()
    with ThreadPoolExecutor(workers, thread_name_prefix="coflash") as pool:
        engine = LocalEngine(pool, workers)
        try:
            yield engine
        finally:
            engine.stop()
            pool.shutdown(wait=False, cancel_futures=True)


def _cores() -> int:
    """Those that this process may use, where the system tells it."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
