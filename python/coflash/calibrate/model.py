"""The model of a drive: a few parameters that predict each measured point.

Writes are simulated: one pool of superblocks on a device of the drive's proportions, but with fewer pages. With many
pages, write amplification depends on the proportions alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from coflash.analytic import greedy
from coflash.calibrate.latency import NOT_USABLE_BLOCKS, Service, spare
from coflash.calibrate.measured import Point
from coflash.calibrate.pattern import PAGE_BYTES, Pattern
from coflash.results.result import Result
from coflash.runs.run import simulate
from coflash.scenario import Scenario

SIMULATED_PAGES = 2**17
"""The physical pages of the simulated device, however many blocks share them."""
BLOCKS = 256
"""The blocks of the simulated device if no point depends on the drive's superblocks.

Superblocks have a million pages, so that all of one age have equal shares of valid pages. Blocks of few pages differ by
chance, and GC would take the emptiest: few large blocks are nearer to the drive than many small ones.
"""
PAGES_PER_BLOCK = SIMULATED_PAGES // BLOCKS
WAITS = 0.05
"""From this `host_gap` on, flash waits for the host, so that GC can run ahead: repeated measurements differ by
some percent."""
UNITS_PER_FLASH_PAGE = 4
"""Pages of 4 KiB in a flash page of 16 KiB; GC reads whole flash pages."""
VICTIMS: dict[str, Any] = {
    "greedy": "greedy",
    "cost-benefit": "cost-benefit",
    "cost-benefit, root of age": {"name": "cost-benefit", "age": "root"},
    "d-choices 10": {"name": "d-choices", "d": 10},
    "fifo": "fifo",
}
"""The candidate victim policies; points with skewed writes decide."""
STREAMS: dict[str, dict[str, Any]] = {"separate": {}, "shared": {"ftl.shared_streams": [["host", "gc"]]}}
"""Whether GC's copies go to blocks of their own, or share those of host writes."""
WEAR_GAPS = (16, 8, 4)
"""The candidate differences in erases: the default of `ftl.wear_levelling.gap`, and less, down to one that uniform
writes hardly reach in as many passes as drives are measured."""


@dataclass(frozen=True)
class Parameters:
    """The unknown parameters of a drive."""

    spare: float
    """(T − U) / U: physical space that holds data, over the user capacity, less one."""
    floor: float = 1.0
    """NAND bytes per host byte of sequential writes: parity and metadata."""
    sequential_mib_per_s: float = math.nan
    """Host writes without GC."""
    read_cost: float = 0.0
    """The time of GC's read of a flash page, over that of a program."""
    victim: str = "greedy"
    """A name of `VICTIMS`."""
    streams: str = "separate"
    """A name of `STREAMS`."""
    wear_gap: int | None = None
    """The difference in erases from which cold data moves to worn blocks; None if wear is not levelled."""
    buffer_pages: float = 0.0
    """Pages of the write buffer in which a page may be replaced, see `Pattern.absorbed`."""
    superblock_bytes: float | None = None
    """The unit of erasing; None if no point depends on it."""
    host_gap: float = 0.0
    """The wait of flash for each write at queue depth 1, over the time to program it."""
    ahead: float = 0.0
    """The share of blocks that GC frees ahead of need while the drive is idle, also between writes at queue depth 1."""
    frees_trimmed: bool = True
    """Whether trimmed pages are free for GC; otherwise they count as valid until they are overwritten."""
    program_us: float = math.nan
    """The mean wait of a read for a program, see `coflash.calibrate.latency`."""
    read_us: float = math.nan
    """The time of a read of 4 KiB on an idle drive."""
    write_us: float = math.nan
    """The time of a write of 4 KiB on an idle drive."""


@dataclass(frozen=True)
class Model:
    """A drive with its parameters."""

    parameters: Parameters
    capacity_bytes: float | None = None

    def with_(self, **changes: Any) -> Model:
        """Return the model with some parameters changed."""
        return replace(self, parameters=replace(self.parameters, **changes))

    def alpha(self, used: float) -> float:
        """Return T / U if only a part of the capacity is used."""
        return (1 + self.parameters.spare) / used

    def predict(self, point: Point) -> float:
        """Predict a point."""
        match point.measure:
            case "gc_onset":
                return self.alpha(point.used) - 1
            case "waf":
                return self.parameters.floor * self._waf(point)
            case "write_mib_per_s":
                passed = 1 - point.pattern.absorbed(self._drive_pages, self.parameters.buffer_pages)
                slow = slowdown(self._waf(point) / passed, self.parameters.read_cost, point.pattern.scattered)
                gap = self.parameters.host_gap if point.one_at_a_time else 0.0
                return self.parameters.sequential_mib_per_s / (slow * passed + gap)
            case "writes_max_per_s":
                return self.predict(replace(point, measure="write_mib_per_s")) * 2**20 / PAGE_BYTES
        return self.service().predict(point)

    def service(self) -> Service:
        """Return the inputs of the latency model."""
        found = self.parameters
        waf = greedy(self.alpha(1), PAGES_PER_BLOCK)
        most = self.predict(Point("writes_max_per_s", 1))
        copy_cost = (slowdown(waf, found.read_cost, scattered=True) - waf) / (waf - 1)
        return Service(
            self.alpha(1), waf, most, copy_cost, found.program_us, found.read_us, found.write_us, found.ahead
        )

    @property
    def _drive_pages(self) -> float:
        return (self.capacity_bytes or 2.0**40) / PAGE_BYTES

    def _waf(self, point: Point) -> float:
        """Return programs per host write without metadata; by the closed form where it is exact."""
        pattern = point.pattern._replace(trimmed=point.pattern.trimmed and self.parameters.frees_trimmed)
        if pattern.kind == "sequential":
            return 1.0
        if pattern.kind == "uniform" and point.is_steady:
            return greedy(self.alpha(point.used), PAGES_PER_BLOCK)
        buffer = self.parameters.buffer_pages if pattern.kind == "zipf" else 0.0
        found = self.parameters
        idles = point.one_at_a_time and found.host_gap >= WAITS
        alpha = self.alpha(point.used) * (1 - found.ahead * idles)
        blocks = self._superblocks if pattern.kind == "zones" else BLOCKS
        device = Device(alpha, found.victim, found.streams, blocks, self.capacity_bytes, buffer, found.wear_gap)
        passed = 1 - pattern.absorbed(self._drive_pages, buffer)
        begin, end = point.begin * passed, point.passes * passed
        runs = [device.run(pattern, point.initial, math.ceil(end), seed) for seed in pattern.seeds]
        return passed * float(np.mean([waf_between(result, pages, begin, end) for result, pages in runs]))

    @property
    def _superblocks(self) -> int:
        superblock, capacity = self.parameters.superblock_bytes, self.capacity_bytes
        if superblock is None or capacity is None:
            return BLOCKS
        return round(min(8192, max(128, (1 + self.parameters.spare) * capacity / superblock)))


@dataclass(frozen=True)
class Device:
    """A simulated device of the drive's proportions."""

    alpha: float
    victim: str
    streams: str = "separate"
    blocks: int = BLOCKS
    capacity_bytes: float | None = None
    buffer_pages: float = 0.0
    wear_gap: int | None = None

    @property
    def pages_per_block(self) -> int:
        """The pages of a block."""
        return SIMULATED_PAGES // self.blocks

    @property
    def pages(self) -> int:
        """The pages of the host."""
        return round(self.blocks * self.pages_per_block / self.alpha)

    @lru_cache(maxsize=1024)  # noqa: B019 - a value object; a fit has a few hundred
    def run(self, pattern: Pattern, initial: str, passes: int, seed: int = 1) -> tuple[Result, int]:
        """Simulate a number of passes of writes over the used space; return the result, and the pages of that space."""
        pages = self.pages
        scenario = self.scenario(initial)
        drive_pages = (self.capacity_bytes or 2.0**40) / PAGE_BYTES
        generator = pattern.generator(pages, drive_pages, self.buffer_pages)
        if generator is not None:
            synthetic = {"generator": generator, "requests": passes * pages}
            return simulate(Scenario.from_dict({**scenario, "workload.synthetic": synthetic})), pages
        writes = passes * pages
        trace = pattern.requests(pages, writes, pages / (self.capacity_bytes or pages * PAGE_BYTES), seed)
        return simulate(Scenario.from_dict({**scenario, "replay.mode": "closed"}), trace), pages

    def scenario(self, initial: str) -> dict[str, Any]:
        """Return the keys of the device, in a state before the run."""
        physical = (self.blocks + NOT_USABLE_BLOCKS) * self.pages_per_block
        return {
            "seed": 1,
            "flash": {
                "channels": 1,
                "pages_per_block": self.pages_per_block,
                "exported": f"{self.pages * PAGE_BYTES}B",
            },
            "timing": {"channel": "private"},
            "ftl.spare": spare(physical, self.pages),
            **wear(self.wear_gap),
            "gc": {"victim": VICTIMS[self.victim], "low_mark": 1},
            **STREAMS[self.streams],
            "precondition.fill": {"shuffled": "random", "blank": "none"}.get(initial, initial),
        }


def slowdown(waf: float, read_cost: float, scattered: bool) -> float:
    """Return the time of a host write over that of one without GC.

    Each host write costs `waf` programs, and 1 / N of a victim of N pages for each of these. GC reads a flash page of
    a victim if any of its units is valid. With a share v of valid pages these are 1 − (1 − v)^4 of the flash pages of
    16 KiB if valid pages are scattered, and v of them if valid pages lie together.
    """
    valid = 1 - 1 / waf
    return waf * (1 + read_cost * (1 - (1 - valid) ** UNITS_PER_FLASH_PAGE if scattered else valid))


def wear(gap: int | None) -> dict[str, Any]:
    """Return the keys for a difference in erases."""
    return {} if gap is None else {"ftl.wear_levelling": {"name": "static", "gap": gap}}


def waf_between(result: Result, pages: int, begin: float, end: float) -> float:
    """Return programs over host writes between two moments, given as host writes over the pages of the device."""
    series = result.series()
    writes = np.cumsum(series["host_writes_pages"].astype(np.float64))
    copies = sum(series[f"programs_{cause}_pages"].astype(np.float64) for cause in ("gc", "wear_levelling"))
    programs = writes + np.cumsum(copies)
    at = np.interp([begin * pages, end * pages], np.concatenate([[0], writes]), np.concatenate([[0], programs]))
    return float((at[1] - at[0]) / (min(end * pages, writes[-1]) - begin * pages))
