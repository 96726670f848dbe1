"""Engines, which execute runs: the protocol, and the place where runs are executed, which opens its engine."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from coflash._core import CoflashError
from coflash.runs.inputs import Input
from coflash.sweep.finding import say
from coflash.sweep.plan import Job, Ran

On = int | str | None
"""Where runs are executed: the most parallel runs on this machine (None: one for each core), or the address of a Dask
scheduler, such as `"tcp://head:8786"`."""


class Engine(Protocol):
    """An executor of parallel runs; leaving its `with` block abandons the current runs."""

    workers: int
    """The number of parallel runs."""
    slots: int
    """The number of runs to hand over in advance, so that each worker has its next run ready."""
    memory_bytes: int
    """The memory for all current runs together."""
    largest_bytes: int
    """The memory for one run."""
    shares_memory: bool
    """Whether all runs share warm devices; otherwise each worker has its own."""

    def submit(self, jobs: Sequence[Job]) -> Sequence[Future[Ran]]:
        """Start runs: a future for each."""


@dataclass(frozen=True)
class Place:
    """Where runs are executed, and the files that they read.

    Raises:
        CoflashError: There is no such place.
    """

    on: On = None
    inputs: tuple[Input, ...] = ()

    def __post_init__(self) -> None:
        if self.is_here and not (self.on is None or (str(self.on).isdecimal() and int(self.on))):
            raise CoflashError(say("no engine", on=repr(self.on)))

    @property
    def is_here(self) -> bool:
        """Whether runs are threads of this process."""
        return "://" not in str(self.on)

    @property
    def workers(self) -> int | None:
        """The number of parallel runs on this machine; None for one on each core."""
        return int(self.on) if self.on is not None and self.is_here else None

    def engine(self) -> AbstractContextManager[Engine]:
        """Open its engine: threads of this process, or a cluster of Dask.

        Raises:
            CoflashError: Dask is not installed, or no scheduler answers.
        """
        if self.is_here:
            from coflash.sweep import engine_local

            return engine_local.opened(self.workers)
        try:
            from coflash.sweep import engine_dask  # an extra
        except ImportError as error:
            raise CoflashError(f"Dask is not installed: pip install 'coflash[dask]' ({error})") from error
        return engine_dask.opened(str(self.on), self.inputs)
