"""Warm devices: preconditioned once, for many runs to start from."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, final

from coflash import _core, external
from coflash.files.atomic_write import check_file
from coflash.files.kinds import WARM
from coflash.scenario import Scenario, ScenarioLike


@final
class Warm(_core.Warm):
    """A preconditioned device. Immutable: every run starts from a copy.

    It fits all scenarios with the same [`warm_key`][coflash.Scenario.warm_key]: the same flash, FTL, garbage
    collection, preconditioning and seed, with any timing, cache, link and workload. Cooperation schemes must agree in
    one respect: whether a page may have a fractional weight in a victim's cost. The result equals that of a run without
    a warm device.
    """

    _generators: Any = None
    """The states of `random` and numpy's generator at the end, if a policy of the user's may use them."""

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Warm:
        """Load a device that `save` wrote.

        Raises:
            CoflashError: The file is not a warm device, is damaged, or is of another revision of results.
        """
        return cls(super().load(path))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the device to a file, whole or not at all.

        Raises:
            CoflashError: The file cannot be written, or is there and no warm device.
        """
        check_file(Path(path), WARM)
        super().save(path)

    def __repr__(self) -> str:
        return f"<Warm {self.key}>"


def warm(
    scenario: ScenarioLike,
    path: str | os.PathLike[str] | None = None,
    progress: Callable[[str, float | None, int], None] | bool = False,
) -> Warm:
    """Precondition the device of a scenario.

    Args:
        scenario: The scenario, as an object, as nested dictionaries, or by its name or file.
        path: A file to which the device is saved as well.
        progress: As for [`run`][coflash.run], with pages in place of requests.

    Raises:
        CoflashError: The scenario cannot be used, or the file cannot be written.
        KeyboardInterrupt: Control-C was pressed.
    """
    scenario = Scenario.of(scenario)
    if path is not None:
        check_file(Path(path), WARM)
    with ExitStack() as stack:
        states = stack.enter_context(external.seeded(scenario.to_dict()))
        if progress is True:
            from coflash.runs.progress import shown  # needs rich

            progress = stack.enter_context(shown(scenario.name))
        device = Warm(_core.warm(scenario, progress or None))
        device._generators = states()
    if path is not None:
        device.save(path)
    return device
