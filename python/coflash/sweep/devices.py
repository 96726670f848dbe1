"""Warm devices that runs share.

The first run that needs a device preconditions it; others wait for it, and all start from a copy. A device is freed
after its last announced run or, if their number is unknown, when another device is needed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from coflash.runs.warm import Warm, warm
from coflash.scenario import Scenario
from coflash.trace import Progress

_IDLE_MAX = 1
"""The number of devices to keep that no current run uses."""
_SECONDS_BETWEEN_LOOKS = 0.05


@dataclass(frozen=True)
class Sharing:
    """The device that a run shares with others."""

    key: str
    """The `device_key` of all of them."""
    runs: int | None
    """The number of these runs; None if unknown."""


@dataclass(frozen=True)
class Lent:
    """A device for one run."""

    warm: Warm
    seconds: float
    """The processor time of its preconditioning."""
    is_new: bool
    """Whether it was preconditioned for this run."""


@dataclass
class _Kept:
    """A device, once it is preconditioned, and its use."""

    warm: Warm | None = None
    seconds: float = 0.0
    users: int = 0
    uses: int = 0
    turn: threading.Lock = field(default_factory=threading.Lock)
    """Held while a run preconditions it, or finds that another one has."""


class Devices:
    """The warm devices of a process."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}  # the most recently used one is last
        self._counts = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    @contextmanager
    def lent(self, scenario: Scenario, sharing: Sharing, progress: Progress | None = None) -> Iterator[Lent]:
        """Lend the device for one run; it is preconditioned first if necessary.

        Args:
            scenario: The scenario of the run.
            sharing: The runs that share the device.
            progress: Called while this run or another one preconditions the device; may raise.

        Raises:
            CoflashError: The scenario cannot be used.
        """
        with self._counts:
            kept = self._kept[sharing.key] = self._kept.pop(sharing.key, _Kept())
            kept.users += 1
        try:
            while not kept.turn.acquire(timeout=_SECONDS_BETWEEN_LOOKS):
                if progress:
                    progress("precondition", None, 0)
            try:
                kept.uses += 1
                if is_new := kept.warm is None:
                    begun = time.thread_time()
                    kept.warm = warm(scenario, progress=progress or False)
                    kept.seconds = time.thread_time() - begun
            finally:
                kept.turn.release()
            yield Lent(kept.warm, kept.seconds, is_new)
        finally:
            self._given_back(sharing, kept)

    def clear(self) -> None:
        """Free all devices that no current run uses."""
        with self._counts:
            self._kept = {key: kept for key, kept in self._kept.items() if kept.users}

    def _given_back(self, sharing: Sharing, kept: _Kept) -> None:
        with self._counts:
            kept.users -= 1
            if kept.uses == sharing.runs:
                self._kept.pop(sharing.key, None)
            idle = [key for key, kept in self._kept.items() if not kept.users]
            for key in idle[: len(idle) - _IDLE_MAX]:
                del self._kept[key]
