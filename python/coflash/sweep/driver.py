"""The loop of a sweep: as many parallel runs as memory allows, each result stored at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from coflash._core import CoflashError
from coflash.quantity import show
from coflash.results.store import Failure, Store, Unstored
from coflash.sweep.engine import Engine
from coflash.sweep.plan import Group, Job, Outcomes, Ran

if TYPE_CHECKING:
    from coflash.sweep.progress import Watch


@dataclass(frozen=True)
class Outcome:
    """The outcome of a run."""

    job: Job
    failure: Failure | None = None


_LOOK_S = 0.2
"""The longest wait for a run before signals are looked at."""


def work(
    jobs: Iterator[Job], engine: Engine, store: Store, watch: Watch, *, ahead: bool = True, together: int = 1
) -> Iterator[Outcome]:
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
        together: The runs that a worker gets at once. Those that it lost are done one by one.

    Raises:
        CoflashError: A result cannot be stored.
    """
    at_once = engine.slots if ahead else engine.workers
    under_way: dict[Future[Outcomes], Group] = {}
    ended: SimpleQueue[Future[Outcomes]] = SimpleQueue()
    memory = _Memory(engine)
    able = _able(jobs, engine, store, watch)
    lost: list[Job] = []
    held: Group = ()  # requested, but there is no room for it yet
    try:
        while True:
            new: list[Group] = []
            while len(under_way) + len(new) < at_once:
                group, outcome = (held, None) if held else _group(able, lost, together)
                held = ()
                if outcome is not None:
                    yield outcome
                elif not group:
                    break
                if group and (under_way or new) and not memory.fits(group):
                    held = group
                    break
                if group:
                    memory.take(group)
                    new.append(group)
            for future, group in zip(engine.submit(new) if new else (), new, strict=True):
                under_way[future] = group
                future.add_done_callback(ended.put)
            if not under_way:
                return
            watch.under_way(min(sum(map(len, under_way.values())), engine.workers))
            for future in _all(ended):
                group = under_way.pop(future)
                memory.give_back(group)
                error = future.exception()
                if isinstance(error, (KeyboardInterrupt, Unstored)):
                    raise error
                if error is not None and len(group) > 1:
                    lost += group
                    continue
                told = future.result() if error is None else [f"{type(error).__name__}: {error}"]
                for job, ran in zip(group, told, strict=True):
                    yield _settled(job, ran, store, watch)
    finally:
        # Runs remain only if the sweep was stopped: those that have ended by now are stored.
        for future, group in under_way.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                for job, ran in zip(group, future.result(), strict=True):
                    if isinstance(ran, Ran):
                        with suppress(CoflashError):
                            _store(store, job, ran)


def _able(jobs: Iterator[Job], engine: Engine, store: Store, watch: Watch) -> Iterator[Job | Outcome]:
    """Yield the runs to execute; of the others what becomes of them."""
    for job in jobs:
        if job.key in store:
            watch.kept()
            yield Outcome(job)
            continue
        if _alone((job,)) > engine.largest_bytes:
            job = replace(job, sharing=None)
        if (needed := _alone((job,))) > engine.largest_bytes:
            much, room = show(needed, "bytes"), show(engine.largest_bytes, "bytes")
            yield _failed(job, f"it needs up to {much} of memory; {room} are free", store, watch)
        else:
            yield job


def _group(able: Iterator[Job | Outcome], lost: list[Job], together: int) -> tuple[Group, Outcome | None]:
    """Return the next runs, as many as go together, or fewer with the outcome of another."""
    if lost:
        return (lost.pop(),), None
    group: list[Job] = []
    while len(group) < together and (one := next(able, None)) is not None:
        if isinstance(one, Outcome):
            return tuple(group), one
        group.append(one)
    return tuple(group), None


def _alone(group: Group) -> int:
    return max(job.needed_bytes + job.shared_bytes for job in group)


class _Memory:
    """The memory that groups take together; a device that several share counts once where they share memory."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._bytes = engine, 0
        self._devices: Counter[str] = Counter()

    def fits(self, group: Group) -> bool:
        return self._bytes + self._more(group) <= self._engine.memory_bytes

    def take(self, group: Group) -> None:
        self._bytes += self._more(group)
        self._devices.update(_devices(group))

    def give_back(self, group: Group) -> None:
        self._devices.subtract(_devices(group))
        self._bytes -= self._more(group)

    def _more(self, group: Group) -> int:
        if self._engine.shares_memory and any(self._devices[key] > 0 for key in _devices(group)):
            return max(job.needed_bytes for job in group)
        return _alone(group)


def _devices(group: Group) -> set[str]:
    return {job.sharing.key for job in group if job.sharing is not None}


def _all(ended: SimpleQueue[Future[Outcomes]]) -> Iterator[Future[Outcomes]]:
    """Wait for a group, and yield all that have ended by then."""
    first = None
    while first is None:
        # A signal that comes just before a wait does not end it, but is seen after it.
        with suppress(Empty):
            first = ended.get(timeout=_LOOK_S)
    yield first
    with suppress(Empty):
        while True:
            yield ended.get_nowait()


def _settled(job: Job, ran: Ran | str, store: Store, watch: Watch) -> Outcome:
    if isinstance(ran, str):
        return _failed(job, ran, store, watch)
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
