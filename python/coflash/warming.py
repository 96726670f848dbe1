"""Warm devices: brought into their state once, for many runs to start from."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import final

from coflash import _core
from coflash.progress import shown
from coflash.scenario import Scenario


@final
class Warm:
    """A device in the state from which it is measured. Never changes: every run starts from a copy.

    It fits all scenarios of the same [`warm_key`][coflash.Scenario.warm_key]: those with the same flash, FTL, garbage
    collection, preconditioning and seed, whatever their timing, cache, link and workload. Of the cooperation it matters
    only whether pages may count in part in a victim's cost. The result is that of a run without it.
    """

    __slots__ = ("core",)

    def __init__(self, core: _core.Warm) -> None:
        self.core = core

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Warm:
        """The device that `save` wrote there.

        Raises:
            CoflashError: The file is no warm device, is damaged, or was written by another version.
        """
        return cls(_core.Warm.load(path))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the device to a file, whole or not at all.

        Raises:
            CoflashError: The file cannot be written.
        """
        self.core.save(path)

    @property
    def key(self) -> str:
        """The `warm_key` of the scenarios that it fits."""
        return self.core.key

    @property
    def heap_bytes(self) -> int:
        """The memory that it takes; every run takes as much for its copy."""
        return self.core.heap_bytes

    def __repr__(self) -> str:
        return f"<Warm {self.key}>"


def warm(
    scenario: Scenario | str | os.PathLike[str],
    path: str | os.PathLike[str] | None = None,
    progress: Callable[[str, float | None, int], None] | bool = False,
) -> Warm:
    """Brings the device of a scenario into the state from which it is measured.

    Args:
        scenario: The scenario, or the name or file of one.
        path: A file to save it to as well.
        progress: As for [`run`][coflash.run], pages in place of requests.

    Raises:
        CoflashError: The scenario cannot be used, or the file cannot be written.
        KeyboardInterrupt: Control-C was pressed.
    """
    if not isinstance(scenario, Scenario):
        scenario = Scenario.load(scenario)
    if progress is True:
        with shown(scenario.name) as report:
            device = Warm(_core.warm(scenario.core, report))
    else:
        device = Warm(_core.warm(scenario.core, progress or None))
    if path is not None:
        device.save(path)
    return device
