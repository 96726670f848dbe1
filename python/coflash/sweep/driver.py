"""Does the runs of a sweep: as many at once as there is room for, each one kept as soon as it is done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass, replace

from coflash._core import CoflashError
from coflash.quantity import show
from coflash.store import Failure, Store
from coflash.sweep.engine import Engine
from coflash.sweep.plan import Job, Ran
from coflash.sweep.progress import Watch


@dataclass(frozen=True)
class Outcome:
    """What became of a run."""

    job: Job
    failure: Failure | None = None


def work(jobs: Iterator[Job], engine: Engine, store: Store, watch: Watch, *, ahead: bool = True) -> Iterator[Outcome]:
    """Does the jobs and keeps their results; tells of each when it is done, in no particular order.

    A job is asked for when there is room for one more, so it may depend on the outcomes so far. What is in the store is
    not done again.

    Args:
        jobs: What to do.
        engine: Where.
        store: Where results are kept.
        watch: Who is told of progress.
        ahead: Whether workers are given their next job before they are done with one, so that none waits while a
            result is written; without, a job is asked for as late as can be.

    Raises:
        CoflashError: A result cannot be kept.
    """
    at_once = engine.slots if ahead else engine.workers
    under_way: dict[Future[Ran], Job] = {}
    held: Job | None = None  # asked for, but there is no room for it yet
    try:
        while True:
            while len(under_way) < at_once and (job := held or next(jobs, None)) is not None:
                held = None
                if job.key in store:
                    watch.kept()
                    yield Outcome(job)
                    continue
                if _taken([job], engine) > engine.largest_bytes:
                    job = replace(job, sharing=None)  # it warms its own, which takes no room twice
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
            ended, _ = wait(under_way, return_when=FIRST_COMPLETED)
            for future in ended:
                yield _settled(under_way[future], future, store, watch)
                del under_way[future]
    finally:
        # Nothing is left here unless the sweep was stopped: what is done by now is kept.
        for future, job in under_way.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                with suppress(CoflashError):
                    store.add(job.key, future.result().result)


def _taken(jobs: Sequence[Job], engine: Engine) -> int:
    """The memory that runs take together, the devices included from which they start."""
    shared = [(job.sharing.key, job.shared_bytes) for job in jobs if job.sharing is not None]
    devices = dict(shared).values() if engine.shares_memory else [size for _, size in shared]
    return sum(job.needed_bytes for job in jobs) + sum(devices)


def _settled(job: Job, future: Future[Ran], store: Store, watch: Watch) -> Outcome:
    error = future.exception()
    if isinstance(error, KeyboardInterrupt):
        raise error
    if error is not None:
        text = str(error) if isinstance(error, CoflashError) else f"{type(error).__name__}: {error}"
        return _failed(job, text, store, watch)
    ran = future.result()
    store.add(job.key, ran.result)
    watch.done(job.label, ran)
    return Outcome(job)


def _failed(job: Job, error: str, store: Store, watch: Watch) -> Outcome:
    failure = Failure(job.key, job.label, error)
    store.fail(failure)
    watch.failed(failure)
    return Outcome(job, failure)
