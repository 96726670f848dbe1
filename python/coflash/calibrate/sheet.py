"""A drive's data sheet: what its link and its reads can carry, which measurements of writes do not tell."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from coflash._core import CoflashError
from coflash.calibrate.pattern import PAGE_BYTES
from coflash.quantity import show

_PCIE = re.compile(r"PCIe ?([1-5])(?:\.\d)? ?x ?(1|2|4|8|16)", re.IGNORECASE)
_SATA = re.compile(r"SATA ?(1\.5|3|6) ?Gb/s", re.IGNORECASE)
_GENERATIONS = {1: (312_500_000, 0.8), 2: (625_000_000, 0.8), 3: (10**9, 128 / 130)}
"""Raw bytes per second of a PCIe lane, and the share that carries data, by generation; later ones double the rate."""


@dataclass(frozen=True)
class Link:
    """The link of a drive."""

    name: str
    lanes: int
    lane_rate: int
    """Raw bytes per second of a lane."""
    coding: float
    """The share of the raw rate that carries data."""

    @property
    def bytes_per_s(self) -> float:
        """The rate of data."""
        return self.lanes * self.lane_rate * self.coding

    @classmethod
    def pcie(cls, generation: int, lanes: int) -> Link:
        """Return a PCI Express link."""
        rate, coding = _GENERATIONS[min(generation, 3)]
        return cls(f"PCIe {generation}.0 x{lanes}", lanes, rate * 2 ** max(0, generation - 3), coding)

    @classmethod
    def read(cls, text: str) -> Link:
        """Read a link as data sheets write it: PCIe 4.0 x4, SATA 6Gb/s.

        Raises:
            CoflashError: It is no such link.
        """
        if found := _PCIE.fullmatch(text.strip()):
            return cls.pcie(int(found[1]), int(found[2]))
        if found := _SATA.fullmatch(text.strip()):
            return cls(f"SATA {found[1]} Gb/s", 1, round(float(found[1]) * 125_000_000), 0.8)
        raise CoflashError(
            f"link: {text!r} was given; PCIe of generation 1 to 5 with 1, 2, 4, 8 or 16 lanes is allowed, such as "
            "'PCIe 4.0 x4'; or 'SATA 6Gb/s'"
        )


@dataclass(frozen=True)
class Sheet:
    """What a data sheet states; None where it does not."""

    link: Link | None = None
    read_bytes_per_s: float | None = None
    """The bandwidth of reads."""
    reads_per_s: float | None = None
    """The most reads of 4 KiB per second."""

    @classmethod
    def of(cls, stated: Mapping[str, Any]) -> Sheet:
        """Return what the values of a data sheet, by their names, state of link and reads."""
        link = Link.read(stated["link"]) if "link" in stated else None
        return cls(link, stated.get("sequential_read"), stated.get("random_read"))

    @property
    def bytes_per_s(self) -> float | None:
        """The bandwidth of reads, and so of the link: the lesser of both."""
        known = [rate for rate in (self.read_bytes_per_s, self.link and self.link.bytes_per_s) if rate]
        return min(known, default=None)

    def stated(self) -> Iterator[str]:
        """Yield what it states."""
        if self.link:
            yield self.link.name
        if self.read_bytes_per_s:
            yield f"reads of at most {show(self.read_bytes_per_s, 'bytes/s')}"
        if self.reads_per_s:
            yield f"at most {show(self.reads_per_s, '1/s')} reads per second"

    def unlimited(self) -> str:
        """State what it does not limit; empty if it limits both bandwidth and rate of reads."""
        missing = ["the bandwidth of the link or of reads"] * (not self.bytes_per_s)
        missing += ["the rate of reads"] * (not self.reads_per_s)
        if not missing:
            return ""
        return f"Not stated, and not limited: {' and '.join(missing)}. Reads may be faster than the drive's."

    def limiting(self, keys: Mapping[str, Any], part: float, read_us: float, write_us: float) -> dict[str, Any]:
        """Return the keys of a scenario with a part of the drive, and those by which no run exceeds the limits.

        Idle, a request of 4 KiB takes as long as without: its time on the link is taken from that of the firmware.

        Args:
            keys: The keys of the drive without limits.
            part: The part of the drive's rates.
            read_us: The time of the firmware for a read, without the link.
            write_us: The same for a write.
        """
        link_keys: dict[str, Any] = {}
        if rate := self.bytes_per_s:
            link = self.link or Link("", 1, round(rate), 1.0)
            coding = min(1.0, rate / (link.lanes * link.lane_rate))
            lane = f"{round(link.lane_rate * part)}B"
            link_keys["link"] = {"lanes": link.lanes, "lane_rate": lane, "coding": f"{coding:.6%}", "sharing": "shared"}
            crossing_us = PAGE_BYTES / (rate * part) * 1e6
            read_us, write_us = max(0.0, read_us - crossing_us), max(0.0, write_us - crossing_us)
        controller: dict[str, Any] = dict(keys.get("controller", {}))
        if self.reads_per_s:
            most_per_us = self.reads_per_s * part / 1e6
            controller["cores"] = max(1, math.floor(read_us * most_per_us))
            read_us = max(read_us, controller["cores"] / most_per_us)
        if link_keys or self.reads_per_s:
            controller["read_command"] = f"{math.ceil(1000 * read_us)}ns"
            controller["write_command"] = f"{round(1000 * write_us)}ns"
        return {**keys, **link_keys, "controller": controller}


UNSTATED = Sheet()
"""No data sheet."""
