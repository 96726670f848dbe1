"""Engines, which execute runs: the protocol, and the engines by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

from coflash._core import CoflashError, hint
from coflash.runs.inputs import Input
from coflash.sweep.plan import Group, Outcomes

EngineName = Literal["local", "dask", "ray"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)


class Engine(Protocol):
    """An executor of parallel runs; leaving its `with` block abandons the current runs."""

    @property
    def workers(self) -> int:
        """The number of parallel runs."""
        ...

    @property
    def slots(self) -> int:
        """The number of runs to hand over in advance, so that each worker has its next run ready."""
        ...

    @property
    def memory_bytes(self) -> int:
        """The memory for all current runs together."""
        ...

    @property
    def largest_bytes(self) -> int:
        """The memory for one run."""
        ...

    @property
    def shares_memory(self) -> bool:
        """Whether all runs share warm devices; otherwise each worker has its own."""
        ...

    def submit(self, groups: Sequence[tuple[Group, int]]) -> Sequence[Future[Outcomes]]:
        """Start groups of runs, each with the memory that it needs: a future for each."""
        ...


@dataclass(frozen=True)
class Place:
    """An engine, and the arguments to open it."""

    engine: EngineName
    workers: int | None
    """The number of parallel runs; None for one on each core."""
    address: str | None
    """The address of an existing cluster; None for a cluster on this machine."""
    inputs: tuple[Input, ...]


Opener = Callable[[Place], AbstractContextManager[Engine]]


def open_engine(place: Place) -> AbstractContextManager[Engine]:
    """Open the engine of a place.

    Raises:
        CoflashError: There is no such engine, it is not installed, or `place` does not fit it.
    """
    name = place.engine
    if name not in ENGINES:
        raise CoflashError(f'engine: "{name}" was given{hint(str(name), ENGINES)}')
    if place.workers is not None and place.workers < 1:
        raise CoflashError(f"workers: {place.workers} was given; at least 1 is allowed")
    if name == "local" and place.address is not None:
        raise CoflashError(f"address: {place.address!r} was given; the engine local has none (dask and ray have)")
    try:
        opener: Opener = importlib.import_module(f"coflash.sweep.engine_{name}").opened
    except ImportError as error:
        raise CoflashError(f"the engine {name} is not installed: pip install 'coflash[{name}]' ({error})") from error
    return opener(place)
