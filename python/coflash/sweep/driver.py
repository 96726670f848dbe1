"""The loop of a sweep: as many parallel runs as memory allows, each result stored at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from coflash._core import CoflashError
from coflash.quantity import show
from coflash.results.store import Failure, Store, Unstored
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
    held: Job | None = None  # requested, but there is no room for it yet
    try:
        while True:
            while len(under_way) < at_once and (job := held or next(jobs, None)) is not None:
                held = None
                if job.key in store:
                    watch.kept()
                    yield Outcome(job)
                    continue
                if _taken([job], engine) > engine.largest_bytes:
                    job = replace(job, sharing=None)  # its own device needs no second copy
                needed = _taken([job], engine)
                if needed > engine.largest_bytes:
                    much, room = show(needed, "bytes"), show(engine.largest_bytes, "bytes")
                    yield _failed(job, f"it needs up to {much} of memory; {room} are free", store, watch)
                    continue
                if under_way and _taken([job, *under_way.values()], engine) > engine.memory_bytes:
                    held = job
                    break
                under_way[engine.submit(job, needed)] = job
            if not under_way:
                return
            watch.under_way(min(len(under_way), engine.workers))
            ended = set[Future[Ran]]()
            while not ended:
                # A signal that comes just before a wait does not end it, but is seen after it.
                ended, _ = wait(under_way, timeout=_LOOK_S, return_when=FIRST_COMPLETED)
            for future in ended:
                yield _settled(under_way[future], future, store, watch)
                del under_way[future]
    finally:
        # Runs remain only if the sweep was stopped: those that have ended by now are stored.
        for future, job in under_way.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                with suppress(CoflashError):
                    _store(store, job, future.result())


def _taken(jobs: Sequence[Job], engine: Engine) -> int:
    """Return the memory that runs need together, shared devices included."""
    shared = [(job.sharing.key, job.shared_bytes) for job in jobs if job.sharing is not None]
    devices = dict(shared).values() if engine.shares_memory else [size for _, size in shared]
    return sum(job.needed_bytes for job in jobs) + sum(devices)


def _settled(job: Job, future: Future[Ran], store: Store, watch: Watch) -> Outcome:
    error = future.exception()
    if isinstance(error, (KeyboardInterrupt, Unstored)):
        raise error
    if error is not None:
        text = str(error) if isinstance(error, CoflashError) else f"{type(error).__name__}: {error}"
        return _failed(job, text, store, watch)
    ran = future.result()
    _store(store, job, ran)
    watch.done(job.label, ran)
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
