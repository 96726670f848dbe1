"""The simulators whose configurations are read: MQSim, NVMeVirt, FEMU.

An importer takes parameters with a counterpart. It lists the others with their values; none is dropped in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import femu
import mqsim
import nvmevirt
from coflash import CoflashError
from imported import Imported

_Read = Callable[[Mapping[Path, str], str | None], Imported]
_SYSTEMS: dict[Callable[[str], bool], _Read] = {system.is_known: system.read for system in (mqsim, nvmevirt, femu)}


def imported(files: list[Path], profile: str | None = None) -> Imported:
    """Read the configuration of another simulator.

    Args:
        files: MQSim's ssdconfig.xml, its workload file, or both; NVMeVirt's ssd_config.h; a script that starts FEMU.
        profile: For NVMeVirt, the drive (`BASE_SSD`); for a workload file of MQSim, the number of the scenario, from 1.

    Raises:
        CoflashError: A file cannot be read, is of no known system, or holds a value that cannot be used.
    """
    texts = {file: _text_of(file) for file in files}
    for is_known, read in _SYSTEMS.items():
        if all(is_known(text) for text in texts.values()):
            return read(texts, profile)
    names = ", ".join(str(file) for file in files)
    msg = f"{names}: of no known system; MQSim's XML, NVMeVirt's ssd_config.h or a script that starts FEMU is allowed"
    raise CoflashError(msg)


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise CoflashError(f"{file}: cannot be read: {error.strerror}") from error
