"""Where runs take place: the protocol, and the engines by name."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

from coflash._core import CoflashError
from coflash.inputs import Input
from coflash.sweep.plan import Job, Ran

EngineName = Literal["local", "dask", "ray"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)


class Engine(Protocol):
    """Does runs, several at once; it is closed by leaving its `with` block, and gives up what is under way then."""

    @property
    def workers(self) -> int:
        """How many runs it does at once."""
        ...

    @property
    def slots(self) -> int:
        """How many runs to hand over, so that each worker has its next one at hand."""
        ...

    @property
    def memory_bytes(self) -> int:
        """What all runs under way may take together."""
        ...

    @property
    def largest_bytes(self) -> int:
        """What one run may take."""
        ...

    @property
    def shares_memory(self) -> bool:
        """Whether all runs see the same warm devices; otherwise each worker has its own."""
        ...

    def submit(self, job: Job, needed_bytes: int) -> Future[Ran]:
        """Begins a run. The future raises what the run raised."""
        ...


@dataclass(frozen=True)
class Place:
    """Which engine, and what it is opened with."""

    engine: EngineName
    workers: int | None
    """How many runs at once; None for as many as there are cores."""
    address: str | None
    """Of a cluster that is there; None for one of this machine's own."""
    inputs: tuple[Input, ...]


Opener = Callable[[Place], AbstractContextManager[Engine]]


def open_engine(place: Place) -> AbstractContextManager[Engine]:
    """The engine of a place.

    Raises:
        CoflashError: There is none, it is not installed, or `place` does not fit it.
    """
    name = place.engine
    if name not in ENGINES:
        near = difflib.get_close_matches(str(name), ENGINES, 1)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        msg = f"engine: {name!r} was given{meant} (allowed: {', '.join(ENGINES)})"
        raise CoflashError(msg)
    if place.workers is not None and place.workers < 1:
        msg = f"workers: {place.workers} was given; at least 1 is allowed"
        raise CoflashError(msg)
    if name == "local" and place.address is not None:
        msg = f"address: {place.address!r} was given; the engine local has none (dask and ray have)"
        raise CoflashError(msg)
    try:
        opener: Opener = importlib.import_module(f"coflash.sweep.engine_{name}").opened
    except ImportError as error:
        msg = f"the engine {name} is not installed: pip install 'coflash[{name}]' ({error})"
        raise CoflashError(msg) from error
    return opener(place)
