"""The cost of a page request to a flash cache in front of a disk, as a function of the division of its flash.

The symbols are those of Y. Oh, J. Choi, D. Lee & S. H. Noh, "Caching less for better performance: balancing cache size
and update cost of flash memory cache in hybrid storage systems", FAST 2012:

- ``u``: caching space / flash. The rest is over-provisioned space, in which garbage collection works.
- ``r``: read cache / caching space. The rest is write cache.
- ``u'``: valid pages / pages of the block that is cleaned, `victim_utilisation`.

All results are in microseconds. The simulated cache divides its flash by the same equations.

Examples:
    >>> from coflash import costmodel
    >>> round(costmodel.Costs().write_us(0.80), 1)
    744.0
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import NamedTuple

from coflash._core import CoflashError
from coflash.roots import root

__all__ = ["Costs", "Demand", "Partition", "victim_utilisation", "zipf_hit_rates"]


def victim_utilisation(u: float) -> float:
    """Return U(u) of equation 3: the u' that solves u = (u' - 1) / ln u', for u from 0 to 1.

    Raises:
        CoflashError: u is outside 0 to 1.
    """
    _check("u", u, 0.0, 1.0)
    if u in (0.0, 1.0):
        return float(u)
    low = math.exp(-1 / u)  # below it: (u' - 1) / ln u' < -1 / ln u'
    return root(lambda valid: (valid - 1) / math.log(valid) - u if valid < 1 else 1 - u, low, 1.0) if low else 0.0


def zipf_hit_rates(exponent: float, working_set: float, segment: float = 0.01) -> list[float]:
    """Return the hit rates of caches of one, two ... segments that hold the most popular segments.

    Args:
        exponent: Popularity is in proportion to 1 / rank^exponent; at least 0.
        working_set: The requested space / flash; above 0.
        segment: The unit of ranking, as a share of flash. Smaller segments have a more popular top.

    Raises:
        CoflashError: An argument is outside its range.
    """
    if not (exponent >= 0 and working_set > 0 and 0 < segment <= 1):
        given = f"exponent {exponent}, working set {working_set}, segment {segment}"
        raise CoflashError(f"{given}: at least 0, above 0, and above 0 up to 1 are allowed")
    ranks = range(1, max(1, round(working_set / segment)) + 1)
    hits = list(accumulate(rank**-exponent for rank in ranks))
    return [hit / hits[-1] for hit in hits]


@dataclass(frozen=True)
class Demand:
    """The demand on the cache; what takes it raises `CoflashError` if a rate is outside 0 to 1, or hit rates fall."""

    reads: float
    """IO_R, the share of page requests to the read cache: reads, except hits in the write cache."""
    writes: float
    """IO_W, the share of page requests to the write cache: writes, and reads that hit there."""
    read_hit_rates: Sequence[float] = ()
    """H_R of read caches of one, two ... segments."""
    write_hit_rates: Sequence[float] = ()
    """H_W of write caches of one, two ... segments."""
    reads_of_write_hits: float = 0.0
    """h', the share of the write cache's hits that are reads."""
    segment: float = 0.01
    """The size of a segment as a share of flash."""

    def check(self) -> None:
        """Check the rates.

        Raises:
            CoflashError: A rate is outside 0 to 1, hit rates fall, or a segment is empty.
        """
        for name in ("reads", "writes", "reads_of_write_hits"):
            _check(name, getattr(self, name), 0.0, 1.0)
        _check("segment", self.segment, math.ulp(0.0), 1.0)
        for name in ("read_hit_rates", "write_hit_rates"):
            rates = [0.0, *getattr(self, name), 1.0]
            if rates != sorted(rates):
                raise CoflashError(f"{name}: rates from 0 to 1 that never fall are allowed")


class Partition(NamedTuple):
    """A division of flash."""

    u: float
    """Caching space / flash."""
    r: float
    """Read cache / caching space."""
    cost_us: float
    """C_HY, the mean cost of a page request."""


@dataclass(frozen=True)
class Costs:
    """The costs of flash and disk; the defaults are the paper's configuration 1.

    Methods raise `CoflashError` if a cost is negative or an argument outside its range.
    """

    pages_per_block: int = 64
    page_program_us: float = 300.0
    page_read_us: float = 125.0
    page_copy_us: float = 225.0
    block_erase_us: float = 1500.0
    read_positioning_us: float = 4500.0
    write_positioning_us: float = 4900.0
    bandwidth_bytes_per_s: int = 72_000_000
    page_bytes: int = 4096
    write_through: bool = False
    """Whether each write goes to the disk as well; otherwise pages are destaged when they leave the write cache."""

    def write_us(self, u: float) -> float:
        """Return C_PW, the cost of a program with its share of cleaning: equation 4. It may be infinite."""
        for name, value in asdict(self).items():
            _check(name, value, 1 if name in ("pages_per_block", "bandwidth_bytes_per_s") else 0, 1e12)
        valid = victim_utilisation(u)
        cleaned = valid * self.pages_per_block * self.page_copy_us + self.block_erase_us
        return cleaned / ((1 - valid) * self.pages_per_block) + self.page_program_us if valid < 1 else math.inf

    def hybrid_us(self, demand: Demand, u: float, r: float) -> float:
        """Return C_HY(u, r), the mean cost of a page request: equations 5 and 6."""
        demand.check()
        _check("r", r, 0.0, 1.0)
        return self._divided_us(demand, u, r, self.write_us(u))

    def _divided_us(self, demand: Demand, u: float, r: float, write_us: float) -> float:
        """Return the mean cost, given C_PW. A class without requests costs nothing, even if its cost is infinite."""
        transfer_us = self.page_bytes / self.bandwidth_bytes_per_s * 1e6
        hit, write_hit = (
            _at(demand.read_hit_rates, u * r / demand.segment),
            _at(demand.write_hit_rates, u * (1 - r) / demand.segment),
        )
        read = hit * self.page_read_us + (1 - hit) * (self.read_positioning_us + transfer_us + write_us)
        to_disk_us, destage_us = self.write_positioning_us + transfer_us, 0.0
        if self.write_through:
            write_us += to_disk_us
        else:
            destage_us = self.page_read_us + to_disk_us
        reads = demand.reads_of_write_hits
        of_hit = (1 - reads) * write_us + reads * self.page_read_us
        write = (1 - write_hit) * (destage_us + write_us) + write_hit * of_hit
        return sum(cost * share for cost, share in ((read, demand.reads), (write, demand.writes)) if share)

    def best(self, demand: Demand, step: float = 1 / 16, u_max: float = 1.0) -> Partition:
        """Find the division of least cost (algorithm 1): u from a step to below 1, at most ``u_max``; r from 0 to 1."""
        _check("step", step, math.ulp(0.0), math.nextafter(1.0, 0.0))
        _check("u_max", u_max, step, 1.0)
        demand.check()
        shares = [number * step for number in range(1, 1 + int(1 / step + 1e-9))]
        found = None
        for u in (u for u in shares if u < 1 - step * 1e-9 and u <= u_max + step * 1e-9):
            write_us = self.write_us(u)
            for r in (0.0, *(min(share, 1.0) for share in shares)):
                cost = self._divided_us(demand, u, r, write_us)
                found = found if found and found.cost_us <= cost else Partition(u, r, cost)
        assert found, "the step itself is allowed"
        return found


def _check(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        ends = f"{low:g} to {high:g}" if low != math.ulp(0.0) else f"above 0 and up to {high:g}"
        raise CoflashError(f"{name} is {value:g}; {ends} is allowed")


def _at(hit_rates: Sequence[float], place: float) -> float:
    """Return the hit rate of a cache of `place` segments: linear between whole ones, constant beyond the last."""
    rates = [0.0, *hit_rates]
    before = min(int(place), len(rates) - 1)
    after = min(before + 1, len(rates) - 1)
    return rates[before] + (rates[after] - rates[before]) * min(place - before, 1.0)


READS_EXAMPLE = Demand(1.0, 0.0, zipf_hit_rates(1.2, 1.2))
"""The paper's first example: reads only, Zipf 1.2 over 120 % of flash."""
BOTH_EXAMPLE = Demand(0.2, 0.8, zipf_hit_rates(1.2, 1.2), zipf_hit_rates(1.4, 2.2), reads_of_write_hits=0.2)
"""The paper's second example: a fifth reads, writes Zipf 1.4 over 220 % of flash, h' = 0.2."""
