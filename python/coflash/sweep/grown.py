"""A trace that is grown to a drive: each page that it touches stands for many pages of the drive.

It runs on a part of the drive with as much less of blocks and caches, as `--scale` has it. Where that leaves too few
blocks, copies of the trace run side by side on a larger part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from coflash._core import CoflashError
from coflash.measures.measure import MEASURES
from coflash.measures.metrics import Metrics
from coflash.quantity import parsed, show
from coflash.results.assumptions import LIFE
from coflash.scenario import Scenario
from coflash.sweep.finding import say
from coflash.sweep.goal import Condition
from coflash.table import Table
from coflash.trace import Options, Paths, head
from coflash.trace.trace_info import TraceInfo

_ROOM, _REQUESTS_MAX = 1.04, 20_000_000
"""What a device exports for each page that is touched; the most requests of copies, which are made in memory."""
_APART_BYTES, _FRACTION_MAX, _BLOCKS_MIN = 1 << 20, 2**20 - 1, 16
_OF_THE_WHOLE = (LIFE, MEASURES["endurance.tbw_bytes"])
"""The measures of a part that are so much smaller than those of the drive."""


@dataclass(frozen=True)
class Grown:
    """What a trace touches, and the device or the part of a drive that it fills."""

    about: TraceInfo
    """The trace."""
    margin: float
    """How much more is exported, as a share."""
    capacity: str = ""
    """What the drive exports; empty for a device that follows the trace."""
    copies: int = 1

    def on(self, drive: Scenario) -> Grown:
        """Return the trace in as few copies as fill a part of a drive that has enough blocks.

        Raises:
            CoflashError: It touches more than the drive exports, or the copies would be too long.
        """
        reason, flash = "", drive.to_dict()["flash"]
        # With as few as that none would be enough, and to find the next fraction that is takes long.
        blocks = flash["planes_per_die"] * drive.core.sizes()[0] * _BLOCKS_MIN
        least = blocks * flash["pages_per_block"] * _page_bytes(drive) / (self.room * self.about.page_bytes)
        one = replace(self, copies=1 << max(0, math.ceil(math.log2(least))))
        while one.times >= 1:
            try:
                one.part(drive.with_({"flash.exported": one.exported}))
                return one
            except CoflashError as error:
                reason, one = str(error), replace(one, copies=2 * one.copies)
            if one.copies * self.about.requests > _REQUESTS_MAX:
                break
        reason = reason or say("grown too little")
        raise CoflashError(say("not grown", touched=self.touched, capacity=self.capacity, reason=reason))

    @property
    def room(self) -> int:
        """The pages that the device exports, or the part."""
        return math.ceil((self.about.footprint_pages or 0) * self.copies * _ROOM * (1 + self.margin))

    @property
    def times(self) -> float:
        """The pages of the drive for which one of the part stands."""
        size, _ = parsed(self.capacity) or (0.0, "")
        return size * (1 + self.margin) / (self.room * self.about.page_bytes) if size else 1.0

    @property
    def exported(self) -> str:
        """What the device exports, or the whole drive."""
        return f"{self.room * self.about.page_bytes * self.times:.0f}B"

    @property
    def touched(self) -> str:
        """What the trace touches."""
        return show((self.about.footprint_pages or 0) * self.about.page_bytes, "bytes")

    @property
    def how(self) -> Sequence[str]:
        """Say how the trace was grown, if it was."""
        copies = say("copies", copies=self.copies) if self.copies > 1 else ""
        grown = say("grown", capacity=self.capacity, touched=self.touched, times=self.times, copies=copies)
        return [grown] if self.capacity else []

    def part(self, drive: Scenario) -> Scenario:
        """Return the part of a drive that the trace fills, which exports as much under any spare space."""
        if not self.capacity:
            return drive
        scale = Fraction(1 / self.times).limit_denominator(_FRACTION_MAX)
        part = drive.core.scaled(f"{scale.numerator}/{scale.denominator}")
        pages = self.room * self.about.page_bytes / _page_bytes(drive)
        return Scenario(part.exporting(math.ceil(pages / part.sizes()[0])))

    def bound(self, bound: Condition) -> Condition:
        """Return a bound of the drive, of which a part is judged: it wears out as much sooner."""

        def value(runs: Sequence[Metrics], scenario: Scenario) -> float | None:
            of_part = bound.value(runs, scenario)
            return of_part and of_part * self.times

        return replace(bound, value=value) if bound.measure in _OF_THE_WHOLE else bound

    def written(self, trace: Paths, options: Options, folder: Path) -> Paths:
        """Write the copies as a trace; one stays as it is.

        A request comes once in each copy, after the time to the next request of the trace: so rates stay.
        """
        import numpy as np

        if self.copies == 1:
            return trace
        one = head(trace, self.about.requests, options).to_dict()
        turns = np.arange(self.copies, dtype=np.uint64)
        times, begins, lengths = (np.asarray(one[name]) for name in ("time_ns", "offset_bytes", "length_bytes"))
        apart = np.uint64((begins + lengths).max() // _APART_BYTES * _APART_BYTES + _APART_BYTES)
        columns = {
            "time_ns": (times * np.uint64(self.copies))[:, None] + np.diff(times, append=times[-1:])[:, None] * turns,
            "op": np.repeat(np.asarray(one["op"], dtype=object), self.copies),
            "offset_bytes": begins[:, None] + apart * turns,
            "length_bytes": np.repeat(lengths, self.copies),
        }
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{self.copies}-copies.parquet"
        Table({name: column.ravel() for name, column in columns.items()}).write_parquet(file)
        return file


def _page_bytes(drive: Scenario) -> float:
    page_bytes, _ = parsed(drive.to_dict()["flash"]["page_size"]) or (1.0, "")
    return page_bytes
