"""The measured drives, from the tables in the folder `drives`: a rule that the page states holds most points out."""

from __future__ import annotations

import re
from pathlib import Path

from coflash.calibrate import Measured, Point, read_csv
from coflash.calibrate.sheet import Sheet
from coflash_reproduce.data import toml_beside

DRIVES = toml_beside(__file__, "drives/drives.toml")
"""Of each drive by its file: name, source and capacity, what the data sheet states, and what was not steady."""
FDP_DRIVE = "PM9D3a (drive A)"
"""The drive whose counters tell the write amplification with placement and without."""


def read_drives() -> tuple[Measured, ...]:
    """Return the measurements of each drive."""
    return tuple(
        read_csv(
            Path(__file__).with_name("drives") / f"{file}.csv",
            drive.get("capacity_bytes"),
            drive["source"],
            Sheet.of(drive),
            name=drive["name"],
        )
        for file, drive in DRIVES.items()
    )


def is_unsteady(drive: str, point: Point) -> bool:
    """Whether a throughput was not steady when it was measured."""
    patterns = {one["name"]: one.get("unsteady") for one in DRIVES.values()}.get(drive) or "(?!)"
    return (
        point.measure == "write_mib_per_s"
        and point.initial == "sequential"
        and re.fullmatch(patterns, str(point.pattern)) is not None
    )
