"""Latencies of a drive: its dies, and the waits of reads and writes.

The simulated device has enough dies to write at the measured pace, so that each is as busy as a die of the drive. A
read overtakes operations that wait for its die, but waits for the current program, GC's included. Times of programs are
exponentially distributed, so that a read waits longer than x with the probability ρ exp(−x / τ): ρ is how busy dies
are, τ the mean time of a program. A write is answered when it is in the write buffer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from coflash.analytic import greedy
from coflash.calibrate.measured import Point
from coflash.calibrate.pattern import PAGE_BYTES
from coflash.results.result import Result
from coflash.roots import root
from coflash.runs.run import simulate
from coflash.scenario import Scenario

_BLOCKS_PER_DIE, _PAGES_PER_BLOCK = 64, 48
NOT_USABLE_BLOCKS = 3
"""Of each pool: two half-full open blocks and two free ones, see `coflash.analytic.usable`."""
_REQUESTS, _READS = 100_000, 10_000
"""The fewest of a simulation: ten reads or more are slower than the 99.9th percentile."""
_DIES_MAX = 32
"""A drive with more dies is simulated by this number, at the same rate per die: dies are independent."""
_PAGE_TYPES = (0.83, 1.0, 1.17)
"""Times of page types over their mean: 29.76 and 41.76 µs for the Samsung 970 PRO in NVMeVirt, and one between."""
_BUFFER = "16MiB"
CELL = "tlc"
"""Not measured: that of most drives. The times of page types and the endurance depend on it."""
_PERCENTILES = {
    "read_p50_us": "p50",
    "read_p99_us": "p99",
    "read_p999_us": "p99_9",
    "write_p50_us": "p50",
    "write_p99_us": "p99",
}


def spare(physical_pages: int, pages: int) -> dict[str, str]:
    """Return `ftl.spare` for a number of physical pages; rounded down, since rounding up could add a block."""
    return {"share": f"{(physical_pages - pages) * 10**9 // pages / 1e9:.9f}", "definition": "over_provisioning"}


@dataclass(frozen=True)
class Service:
    """A drive's steady state under uniform writes, and the times of its dies."""

    alpha: float
    waf: float
    writes_max_per_s: float
    copy_cost: float
    """The time of GC's read of a page, over that of a program."""
    program_us: float
    """The mean time of a program, and so of a read's wait for one."""
    read_us: float
    """The time of a read on an idle drive."""
    write_us: float
    """The time of a write on an idle drive."""
    ahead: float = 0.0
    """The share of blocks that GC frees ahead of need while a die is idle."""

    @property
    def array_read_us(self) -> float:
        """The part of a read that keeps its die busy."""
        return min(self.copy_cost * self.program_us, 0.8 * self.read_us)

    @property
    def dies(self) -> int:
        """The number of dies that together write at the measured pace, each one program of 4 KiB at a time."""
        busy_us = self.waf * self.program_us + (self.waf - 1) * self.array_read_us
        return max(4, round(self.writes_max_per_s * busy_us / 1e6))

    @property
    def part(self) -> float:
        """The fraction of the dies that is simulated."""
        return min(1.0, _DIES_MAX / self.dies)

    def keys(self) -> dict[str, Any]:
        """Return a scenario's keys for the scaled-down device, filled and written until it is steady."""
        dies, read_us = round(self.dies * self.part), self.array_read_us
        ahead = round(self.ahead * _BLOCKS_PER_DIE)
        # Small blocks are emptier when GC takes them: less spare space gives them the drive's write amplification.
        alpha = root(lambda alpha: greedy(alpha, _PAGES_PER_BLOCK) - self.waf, 1 + 1e-6, self.alpha)
        pages = dies * round((_BLOCKS_PER_DIE - NOT_USABLE_BLOCKS) * _PAGES_PER_BLOCK / alpha)
        physical = dies * _BLOCKS_PER_DIE * _PAGES_PER_BLOCK
        # A whole number of dies writes a little faster or slower; the program time makes up for it.
        program_us = (self.dies * 1e6 / self.writes_max_per_s - (self.waf - 1) * read_us) / self.waf
        return {
            "seed": 1,
            "flash": {
                "cell": CELL,
                "channels": dies,
                "pages_per_block": _PAGES_PER_BLOCK,
                "exported": f"{pages * PAGE_BYTES}B",
            },
            "timing": {
                "channel": "private",
                "page_reads": [f"{round(1000 * read_us * part)}ns" for part in _PAGE_TYPES],
                "page_program": f"{round(1000 * program_us)}ns",
                "program_distribution": "exponential",
                "block_erase": "0ns",
                "sector_transfer": "0ns",
                "read_priority": {"name": "overtake", "overtaken_max": 4096},
            },
            "controller": {
                "read_command": f"{round(1000 * (self.read_us - read_us))}ns",
                "write_command": f"{round(1000 * self.write_us)}ns",
                "write_buffer": _BUFFER,
            },
            "ftl.chips": "least-busy",
            "ftl.spare": spare(physical, pages),
            "gc.low_mark": 1,
            **({"gc.mode": {"name": "background", "mark": ahead}} if ahead > 1 else {}),
            "precondition": {"fill": "sequential", "random_passes": 2},
        }

    def predict(self, point: Point) -> float:
        """Return the latency at a point, in microseconds."""
        side, percentile = point.measure.partition("_")[0], _PERCENTILES[point.measure]
        result = self.at_rate(point.writes_per_s or 0, point.reads_per_s or 0)
        return float(result.metrics.flat()[f"response_ns.{side}.{percentile}"]) / 1000

    @lru_cache(maxsize=256)  # noqa: B019 - a value object; a fit has a few dozen
    def at_rate(self, writes_per_s: float, reads_per_s: float) -> Result:
        """Simulate reads and writes at fixed mean rates, as Poisson arrivals."""
        total = (writes_per_s + reads_per_s) * self.part
        read_share = reads_per_s / (writes_per_s + reads_per_s)
        synthetic = {
            "requests": max(_REQUESTS, round(_READS / max(read_share, 0.01))),
            "read_share": f"{read_share:.6f}",
            "arrival": {"name": "poisson", "mean": f"{round(1e9 / total)}ns"},
        }
        return simulate(Scenario.from_dict({**self.keys(), "workload.synthetic": synthetic}))
