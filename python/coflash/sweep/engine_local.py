"""Runs on the cores of this machine, as threads of this process.

The core releases the interpreter lock while it simulates, so that threads keep all cores busy. They start at once, hand
over results without a copy, and share memory, such as warm devices. Processes would isolate the crash of one run from
the others; but a sweep resumes after a crash, and only the current runs are repeated.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from coflash.machine import available_bytes, cores
from coflash.sweep.devices import Devices
from coflash.sweep.plan import Job, Ran, Stopped, execute


class LocalEngine:
    """A pool of threads."""

    shares_memory = True

    def __init__(self, pool: ThreadPoolExecutor, workers: int) -> None:
        self.workers, self.slots = workers, workers + 1
        self.memory_bytes = self.largest_bytes = available_bytes()
        self._pool = pool
        self._devices = Devices()
        self._stop = threading.Event()
        self._busy = set[int]()

    def submit(self, jobs: Sequence[Job]) -> Sequence[Future[Ran]]:
        """Start each run as soon as a thread is free."""
        return [self._pool.submit(self._execute, job) for job in jobs]

    def stop(self) -> None:
        """Abandon the current runs, within a twentieth of a second: the core reports that often.

        A Python policy's hook may never return, so the exception is also raised inside the thread.
        """
        self._stop.set()
        for thread in tuple(self._busy):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Stopped))

    def _execute(self, job: Job) -> Ran:
        thread = threading.get_ident()
        self._busy.add(thread)
        try:
            return execute(job, self._devices, self._look)
        finally:
            self._busy.discard(thread)

    def _look(self, *_: object) -> None:
        if self._stop.is_set():
            raise Stopped


@contextmanager
def opened(workers: int | None) -> Iterator[LocalEngine]:
    """Open a pool with a thread for each core, or as many as requested."""
    workers = workers or cores()
    with ThreadPoolExecutor(workers, thread_name_prefix="coflash") as pool:
        engine = LocalEngine(pool, workers)
        try:
            yield engine
        finally:
            engine.stop()
            pool.shutdown(wait=False, cancel_futures=True)
