"""The loop of a sweep: as many parallel runs as memory allows, each result stored at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from coflash._core import CoflashError
from coflash.quantity import show
from coflash.results.store import Failure, Store, Unstored
from coflash.sweep.devices import Sharing
from coflash.sweep.engine import Engine
from coflash.sweep.plan import Job, Ran

if TYPE_CHECKING:
    from coflash.sweep.progress import Watch


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run."""

    job: Job
    failure: Failure | None = None


_LOOK_S = 0.2
"""The longest wait for a run before signals are looked at."""


def work(jobs: Iterator[Job], engine: Engine, store: Store, watch: Watch, *, ahead: bool = True) -> Iterator[Outcome]:
    """Run jobs and store their results; yields the outcome of each job when it ends, in any order.

    The next job is requested when there is room for it, so it may depend on the outcomes so far. Runs in the store are
    not repeated.

    Args:
        jobs: The runs.
        engine: The engine that executes them.
        store: The store of the results.
        watch: The display of progress.
        ahead: Whether workers get their next job before the current one ends, so that none waits while a result is
            written; otherwise a job is requested as late as possible.

    Raises:
        CoflashError: A result cannot be stored.
    """
    at_once = engine.slots if ahead else engine.workers
    under_way: dict[Future[Ran], Job] = {}
    memory = _Memory(engine)
    able = _able(jobs, engine, store, watch)
    held: Job | None = None  # requested, but there is no room for it yet
    try:
        while True:
            new: list[Job] = []
            while len(under_way) + len(new) < at_once and (job := held or next(able, None)) is not None:
                held = None
                if isinstance(job, Outcome):
                    yield job
                elif (under_way or new) and not memory.fits(job):
                    held = job
                    break
                else:
                    memory.take(job)
                    new.append(job)
            under_way |= zip(engine.submit(new), new, strict=True) if new else ()
            if not under_way:
                return
            watch.under_way(min(len(under_way), engine.workers))
            ended: Collection[Future[Ran]] = ()
            while not ended:
                # A signal that comes just before a wait does not end it, but is seen after it.
                ended, _ = wait(under_way, _LOOK_S, FIRST_COMPLETED)
            for future in [future for future in under_way if future in ended]:
                job = under_way.pop(future)
                memory.give_back(job)
                yield _settled(job, future, store, watch)
    finally:
        # Runs remain only if the sweep was stopped: those that have ended by now are stored.
        for future, job in under_way.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                with suppress(CoflashError):
                    _store(store, job, future.result())


def _able(jobs: Iterator[Job], engine: Engine, store: Store, watch: Watch) -> Iterator[Job | Outcome]:
    """Yield the runs to execute; of the others what becomes of them."""
    for job in jobs:
        if job.key in store:
            watch.kept()
            yield Outcome(job)
            continue
        if job.needed_bytes + job.shared_bytes > engine.largest_bytes:
            job = replace(job, sharing=None)
        if job.needed_bytes > engine.largest_bytes:
            much, room = show(job.needed_bytes, "bytes"), show(engine.largest_bytes, "bytes")
            yield _failed(job, f"it needs up to {much} of memory; {room} are free", store, watch)
        else:
            yield job


class _Memory:
    """The memory that runs take together; a device that several share counts once where they share memory."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._bytes = engine, 0
        self._devices: Counter[Sharing | None] = Counter()

    def fits(self, job: Job) -> bool:
        return self._bytes + self._more(job) <= self._engine.memory_bytes

    def take(self, job: Job) -> None:
        self._bytes += self._more(job)
        self._devices[job.sharing] += 1

    def give_back(self, job: Job) -> None:
        self._devices[job.sharing] -= 1
        self._bytes -= self._more(job)

    def _more(self, job: Job) -> int:
        is_there = self._engine.shares_memory and self._devices[job.sharing] > 0
        return job.needed_bytes + (0 if is_there else job.shared_bytes)


def _settled(job: Job, future: Future[Ran], store: Store, watch: Watch) -> Outcome:
    error = future.exception()
    if isinstance(error, (KeyboardInterrupt, Unstored)):
        raise error
    if error is not None:
        reason = str(error) if isinstance(error, CoflashError) else f"{type(error).__name__}: {error}"
        return _failed(job, reason, store, watch)
    _store(store, job, future.result())
    watch.done(job.label, future.result())
    return Outcome(job)


def _store(store: Store, job: Job, ran: Ran) -> None:
    """Store the result of a run, unless its worker has done so."""
    if ran.result is not None:
        store.write(job.key, ran.result)
    store.added(job.key)


def _failed(job: Job, error: str, store: Store, watch: Watch) -> Outcome:
    failure = Failure(job.key, job.label, error)
    store.fail(failure)
    watch.failed(failure)
    return Outcome(job, failure)
