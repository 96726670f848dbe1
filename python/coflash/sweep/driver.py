"""Does the runs of a sweep: as many at once as there is room for, each one kept as soon as it is done."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass

from coflash._core import CoflashError
from coflash.quantity import show
from coflash.result import Result
from coflash.store import Failure, Store
from coflash.sweep.engine import Engine
from coflash.sweep.memory import needed_bytes
from coflash.sweep.plan import Job
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
    under_way: dict[Future[Result], Job] = {}
    needs: dict[str, int] = {}
    held: Job | None = None  # asked for, but there is no room for it yet
    try:
        while True:
            while len(under_way) < at_once and (job := held or next(jobs, None)) is not None:
                held = None
                if job.key in store:
                    watch.kept()
                    yield Outcome(job)
                    continue
                needed = needs[job.key] = needed_bytes(job.scenario)
                if needed > engine.largest_bytes:
                    much, room = show(needed, "bytes"), show(engine.largest_bytes, "bytes")
                    yield _failed(job, f"it needs up to {much} of memory; {room} are free", store, watch)
                    continue
                taken = sum(needs[other.key] for other in under_way.values())
                if under_way and needed + taken > engine.memory_bytes:
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
                    store.add(job.key, future.result())


def _settled(job: Job, future: Future[Result], store: Store, watch: Watch) -> Outcome:
    error = future.exception()
    if isinstance(error, KeyboardInterrupt):
        raise error
    if error is not None:
        text = str(error) if isinstance(error, CoflashError) else f"{type(error).__name__}: {error}"
        return _failed(job, text, store, watch)
    store.add(job.key, future.result())
    watch.done(job.label)
    return Outcome(job)


def _failed(job: Job, error: str, store: Store, watch: Watch) -> Outcome:
    failure = Failure(job.key, job.label, error)
    store.fail(failure)
    watch.failed(failure)
    return Outcome(job, failure)
