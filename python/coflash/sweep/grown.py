"""A trace that is grown to a drive: each page that it touches stands for many pages of the drive.

It runs on a part of the drive with as much less of blocks and caches, as `--scale` has it. Where that leaves too few
blocks, copies of the trace run on a larger part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, repeat, takewhile
from pathlib import Path

from coflash._core import CoflashError
from coflash.files.atomic_write import new_file
from coflash.quantity import counted, parsed, show
from coflash.results.result import Result
from coflash.scenario import Scenario
from coflash.sweep.finding import say
from coflash.sweep.memory import flash_over_exported, page_bytes
from coflash.table import Table
from coflash.table_files import write_parquet
from coflash.trace import Options, Paths, head
from coflash.trace.trace_info import TraceInfo

_ROOM, BLOCKS_MIN, _REQUESTS_MAX = 1.04, 64, 20_000_000
"""What a device exports for each page that is touched; the least blocks of a plane that it fills on a part of a drive;
the most requests of copies, which are made in memory."""
_TURN, _APART_BYTES, _FRACTION_MAX = 32, 1 << 20, 2**20 - 1
_FINE = 100
"""The pages from which a step of the cache is more than a page: a percent."""


@dataclass(frozen=True)
class Grown:
    """A trace, and the device or the part of a drive that it fills."""

    about: TraceInfo
    touched: str
    room: int
    """The pages that the device exports, or the part."""
    copies: int = 1
    times: float = 1.0
    """The pages of the drive for which one of the part stands."""
    dies: int = 0
    """The dies that run, if these are not all: each has its share of the requests, and the same write amplification."""
    how: Sequence[str] = ()
    can_grow: bool = False
    """Whether it is not grown to a capacity, but can be."""

    @property
    def read(self) -> str:
        """How the trace was read, in sentences."""
        span = f" over {show(self.about.span_ns, 'ns')}" if self.about.span_ns else ""
        requests = f"{counted(self.about.requests, 'request')}{span}"
        read = say("read", formats=", ".join(self.about.formats), requests=requests, touched=self.touched)
        return ". ".join([read, *(f"{one[:1].upper()}{one[1:]}".rstrip(".") for one in self.about.remarks)]) + "."

    def caches(self, page: int) -> list[str]:
        """Return the sizes of a cache up to all that is touched: none, a page, and steps of a page or a percent."""
        most, step = self.room * self.about.page_bytes // page, page * math.ceil(self.times)
        pages = accumulate(repeat(1), lambda at, _: at + max(1, at // _FINE))
        return ["0B", *(f"{at * step}B" for at in takewhile(lambda at: at <= most, pages))]

    @classmethod
    def of(cls, about: TraceInfo, margin: float, capacity: str, drive: Scenario, *, is_timed: bool) -> Grown:
        """Grow a trace to the capacity of a drive, if one is given; of times all dies must tell.

        Raises:
            CoflashError: It touches more than that, or the copies would be too long.
        """
        touched_bytes, flash = (about.footprint_pages or 0) * about.page_bytes, drive.to_dict()["flash"]
        has_units = drive.to_dict()["ftl"].get("indirection_unit")
        units = say("in units", unit=about.page_bytes) if has_units else ""
        touched, more = show(touched_bytes, "bytes") + units, _ROOM * (1 + margin) / about.page_bytes
        if not capacity:
            return cls(about, touched, math.ceil(touched_bytes * more))
        whole_drive, die = drive.sizes()[0], flash["planes_per_die"] * flash["pages_per_block"] * page_bytes(drive)
        dies = whole_drive if is_timed else max(1, min(whole_drive, touched_bytes // (die * BLOCKS_MIN)))
        copies = math.ceil(dies * die * BLOCKS_MIN / touched_bytes)
        room, (whole, unit) = math.ceil(touched_bytes * copies * more), parsed(capacity) or (0.0, "")
        times = whole * (1 + margin) / about.page_bytes / room
        if unit != "bytes" or whole < touched_bytes:
            raise CoflashError(say("no capacity", touched=touched, capacity=capacity))
        if times < 1 or copies * about.requests > _REQUESTS_MAX:
            raise CoflashError(say("not grown", touched=touched, capacity=capacity, copies=copies, most=_REQUESTS_MAX))
        said = say("copies", copies=copies) if copies > 1 else ""
        some = say("some dies", dies=counted(dies, "die"), of=whole_drive) if dies < whole_drive else say("all dies")
        how = [say("grown", capacity=capacity, touched=touched, times=times, copies=said, rate=some)]
        return cls(about, touched, room, copies, times, dies % whole_drive, how)

    def part(self, drive: Scenario) -> Scenario:
        """Return the part of a drive that the trace fills, which exports as much under any spare space."""
        if not self.how:
            return drive
        (all_dies, *_), room = drive.sizes(), self.room * self.about.page_bytes
        scale = Fraction(all_dies / (self.dies or all_dies) / self.times).limit_denominator(_FRACTION_MAX)
        scaled = drive.scaled(scale, measured=False)
        part = scaled.of_dies(self.dies) if self.dies else scaled
        fills = Scenario(part.exporting(math.ceil(room / page_bytes(drive) / part.sizes()[0])))
        cache, unit = parsed(drive.to_dict()["cache"]["size"]) or (0.0, "")
        # Blocks are whole, so they are somewhat more than that part; a cache is not.
        cached = min(cache / self.times, room) // page_bytes(drive) * page_bytes(drive)
        return fills.with_({"cache.size": f"{cached:.0f}B"}) if unit == "bytes" else fills

    def of_drive(self, run: Result, drive: Scenario) -> Result:
        """Return a run with the drive writes per day of the drive: its flash, and the write amplification of the run.

        Blocks that are always free are not fewer on a part, so that it has more flash for what it exports.
        """
        endurance = run.document["metrics"].get("endurance", {})
        if not self.how or endurance.get("drive_writes_per_day") is None:
            return run
        daily = endurance["drive_writes_per_day"] * flash_over_exported(drive) / flash_over_exported(run.scenario)
        metrics = {**run.document["metrics"], "endurance": {**endurance, "drive_writes_per_day": daily}}
        return run.with_document({**run.document, "metrics": metrics})

    def written(self, trace: Paths, options: Options, file: Path) -> Path:
        """Write the copies as a trace, unless they are there.

        They take turns of a few requests, each at another place of the trace: caches see all that is in use at a time,
        and pages that are written one after another are not the same page of each copy, which GC would find overwritten
        together.
        """
        import numpy as np

        if file.exists():
            return file
        one = {name: np.asarray(column) for name, column in head(trace, self.about.requests, options).to_dict().items()}
        slices = np.array_split(np.arange(self.about.requests), count := -(-self.about.requests // _TURN))
        turns = [(copy, at + copy * count // self.copies) for at in range(count) for copy in range(self.copies)]
        order = np.concatenate([slices[at % count] for _, at in turns])
        copies = np.repeat([copy for copy, _ in turns], [len(slices[at % count]) for _, at in turns])
        apart = int((one["offset_bytes"] + one["length_bytes"]).max()) // _APART_BYTES * _APART_BYTES + _APART_BYTES
        gaps = np.diff(one["time_ns"], append=one["time_ns"][-1:])[order]
        columns = {name: column[order] for name, column in one.items()}
        columns |= {"time_ns": np.cumsum(gaps) - gaps, "op": columns["op"].astype(object)}
        columns["offset_bytes"] += np.uint64(apart) * copies.astype(np.uint64)
        file.parent.mkdir(parents=True, exist_ok=True)
        with new_file(file) as new:
            write_parquet(Table(columns), new)
        return file
