"""Runs on a Dask cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import distributed

from coflash._core import CoflashError
from coflash.machine import available_bytes
from coflash.runs.inputs import Input
from coflash.sweep.devices import Devices
from coflash.sweep.finding import say
from coflash.sweep.plan import Job, Ran, execute

_SECONDS_TO_CONNECT = 30

_DEVICES = Devices()
"""The devices of a worker."""


class ShippedInputs(distributed.WorkerPlugin):  # type: ignore[misc]
    """A plugin that puts the trace on each worker once, later workers included."""

    def __init__(self, inputs: tuple[Input, ...]) -> None:
        self.files = [(file, Path(file.source).read_bytes()) for file in inputs if not file.is_url]
        self.name = "coflash-" + "-".join(file.sha256[:16] for file in inputs)

    def setup(self, worker: Any) -> None:  # noqa: ARG002 - what Dask calls
        """Store the files; Dask calls this on the worker."""
        for file, content in self.files:
            file.keep(content)


class DaskEngine:
    """The current workers of a scheduler."""

    shares_memory = False

    def __init__(self, client: Any) -> None:
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        if not workers:
            raise CoflashError(say("no workers", address=client.scheduler.address))
        limits = [worker["memory_limit"] or available_bytes() for worker in workers]
        self.workers = sum(worker["nthreads"] for worker in workers)
        self.slots = 2 * self.workers
        self.memory_bytes = sum(limits)
        self.largest_bytes = max(limits)
        self._client = client

    def submit(self, jobs: Sequence[Job]) -> Sequence[Future[Ran]]:
        """Give runs to the scheduler together, which takes a fraction of the time of one by one."""
        tasks = self._client.map(_execute, list(jobs), pure=False)
        futures: list[Future[Ran]] = [Future() for _ in tasks]
        self._client.loop.add_callback(_hand_on_all, tasks, futures)
        return futures


@contextmanager
def opened(address: str, inputs: tuple[Input, ...]) -> Iterator[DaskEngine]:
    """Open the cluster of an address, whose workers get a copy of the files."""
    try:
        client = distributed.Client(address, timeout=_SECONDS_TO_CONNECT)
    except (OSError, ValueError) as error:
        raise CoflashError(say("no scheduler", address=address, error=error)) from error
    try:
        plugin = ShippedInputs(inputs)
        if plugin.files:
            client.register_plugin(plugin)
        yield DaskEngine(client)
    finally:
        client.run(_clear, on_error="ignore")  # its workers stay
        client.close()


async def _hand_on_all(tasks: Sequence[Any], to: Sequence[Future[Ran]]) -> None:
    await asyncio.gather(*map(_hand_on, tasks, to))


async def _hand_on(task: Any, to: Future[Ran]) -> None:
    try:
        to.set_result(await task)
    except BaseException as error:  # it is raised where the run is waited for
        to.set_exception(error)


def _execute(job: Job) -> Ran:
    return execute(job, _DEVICES, shipped=True)


def _clear() -> None:
    _DEVICES.clear()
