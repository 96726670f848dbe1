"""Write patterns of measurements, as workloads of a device of any size."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from coflash import _core
from coflash._core import CoflashError, hint
from coflash.table import Table

_Pages: TypeAlias = NDArray[np.int64]
_ZONES = re.compile(r"zones (\d+) ?x ?(\S+)( trimmed)?")
PAGE_BYTES = 4096
WRITE, _TRIM = 1, 2
"""The codes of operations in a trace."""
_PLAIN = ("uniform", "sequential", "permuted")
RANDOM = ("uniform", "zipf", "two-zone", "read-only")
"""The patterns whose writes are of 4 KiB."""
_WITH_NUMBER = {"zipf": (0.0, 3.0), "two-zone": (0.5, 1.0), "read-only": (0.0, 1.0)}


class Pattern(NamedTuple):
    """A pattern of writes of 4 KiB; `str` writes it as in a table."""

    kind: str
    number: float = 0.0
    """The exponent of a zipf; for others the share of pages that are cold or never written, or of open zones."""
    zone_bytes: float = 0.0
    contiguous: bool = False
    """Whether pages of similar rank lie together; otherwise they are scattered."""
    trimmed: bool = False
    """Whether a zone is trimmed when it is opened."""

    @classmethod
    def read(cls, text: str) -> Pattern:
        """Read a pattern as written in a table.

        Raises:
            CoflashError: The text is not a pattern.
        """
        if text in _PLAIN:
            return cls(text)
        if found := _ZONES.fullmatch(text):
            try:
                size, unit = _core.quantity(found[2])
            except CoflashError as error:
                raise CoflashError(f"pattern: {text!r} was given: {error}") from error
            if unit == "bytes" and size > 0 and 0 < int(found[1]) <= 1024:
                return cls("zones", int(found[1]), size, trimmed=found[3] is not None)
        words = text.split()
        if words and words[0] in _WITH_NUMBER and words[2:] in ([], ["contiguous"]):
            least, most = _WITH_NUMBER[words[0]]
            try:
                number = float(words[1])
            except (IndexError, ValueError):
                number = -1.0
            if least < number < most:
                return cls(words[0], number, contiguous=words[-1] == "contiguous")
            msg = f"pattern: {text!r} was given; a number between {least:g} and {most:g} follows {words[0]!r}"
            raise CoflashError(msg)
        allowed = [*_PLAIN, "zipf 0.8", "two-zone 0.9", "read-only 0.4", "zones 4 x 8GiB", "zones 4 x 8GiB trimmed"]
        raise CoflashError(f"pattern: {text!r}{hint(text, allowed)}")

    def __str__(self) -> str:
        """Write it as in a table."""
        match self.kind:
            case "zones":
                return f"zones {self.number:g} x {self.zone_bytes / 2**30:g}GiB{' trimmed' * self.trimmed}"
            case "uniform" | "sequential" | "permuted":
                return self.kind
        return f"{self.kind} {self.number:g}{' contiguous' * self.contiguous}"

    @property
    def scattered(self) -> bool:
        """Whether neighbouring pages of a block are overwritten independently."""
        return self.kind not in ("zones", "sequential")

    @property
    def seeds(self) -> range:
        """The seeds over which a prediction is a mean: by which zones die, one run differs from another by percents."""
        return range(1, 4 if self.kind == "zones" else 2)

    def generator(self, pages: int, drive_pages: float, buffer_pages: float) -> Any:
        """Return the generator of its addresses on a device of a given size; None if it is a list of addresses.

        Args:
            pages: The pages of the simulated device.
            drive_pages: Those of the drive; each simulated page stands for several ranks of a zipf.
            buffer_pages: The size of the drive's write buffer, see `absorbed`.
        """
        match self.kind:
            case "uniform" | "sequential":
                return self.kind
            case "two-zone" | "read-only":
                cold = round(1e9 * self.number)
                traffic = 10**9 - cold if self.kind == "two-zone" else 0
                zones = [_zone(traffic, cold), _zone(10**9 - traffic, 10**9 - cold)]
                return {"name": "hot-cold", "zones": zones, "scattered": not self.contiguous}
            case "zipf":
                edges = np.unique(np.concatenate([np.arange(0, 33, 2), np.round(np.geomspace(35, pages, 100))]))
                weights = np.diff(
                    np.interp(edges * (drive_pages / pages), *_zipf(self.number, drive_pages, buffer_pages))
                )
                zones = [_zone(*both) for both in zip(_parts(weights), _parts(np.diff(edges)), strict=True)]
                return {"name": "hot-cold", "zones": zones, "scattered": not self.contiguous}
        return None

    def absorbed(self, drive_pages: float, buffer_pages: float) -> float:
        """Return the share of writes that replace a page in the drive's write buffer.

        A page with a share p of the writes stays there while b = `buffer_pages` other writes arrive. Meanwhile p b more
        writes to it arrive, so that 1 / (1 + p b) of its writes reach flash. Only a zipf has pages hot enough for that.
        """
        return 1 - float(_zipf(self.number, drive_pages, buffer_pages)[1][-1]) if self.kind == "zipf" else 0.0

    def requests(self, pages: int, writes: int, pages_per_byte: float, seed: int) -> Table:
        """Return `addresses` as requests of a page each, all at once, with a trim before the first write of a zone."""
        at = self.addresses(pages, writes, pages_per_byte, seed)
        zone = self._zone_pages(pages_per_byte)
        opened = np.flatnonzero(at % zone == 0) if self.trimmed else np.empty(0, np.int64)
        offset = np.insert(at, opened, at[opened]).astype(np.uint64) * PAGE_BYTES
        op = np.insert(np.ones(writes, np.uint8), opened, _TRIM)
        length = np.insert(np.full(writes, PAGE_BYTES, np.uint64), opened, zone * PAGE_BYTES)
        return requests_at(offset, op, length)

    def _zone_pages(self, pages_per_byte: float) -> int:
        return max(1, round(self.zone_bytes * pages_per_byte))

    def addresses(self, pages: int, writes: int, pages_per_byte: float, seed: int) -> _Pages:
        """Return the pages of `permuted` or `zones`, in order; shape (writes,).

        `permuted` writes every page once in each pass, in a new random order, as fio does with its random map. In
        `zones`, each open zone is written in order, and each write goes to a random open zone. A full zone is replaced
        by a random one that is not open.
        """
        random = np.random.default_rng(seed)
        if self.kind == "permuted":
            return np.concatenate([random.permutation(pages) for _ in range(-(-writes // pages))])[:writes]
        size, count = self._zone_pages(pages_per_byte), int(self.number)
        zones = pages // size
        if zones <= count:
            raise CoflashError(f"pattern: {self} was given; more zones than are open must fit into the capacity")
        slot = random.integers(count, size=writes)
        nth = np.empty(writes, np.int64)  # of the writes to its slot
        nth[np.argsort(slot, kind="stable")] = np.concatenate(
            [np.arange(n) for n in np.bincount(slot, minlength=count)]
        )
        rounds = nth // size
        opened = np.zeros((count, rounds.max() + 2), np.int64)
        opened[:, 0] = held = random.permutation(zones)[:count]
        for full in np.flatnonzero(nth % size == size - 1):
            while (zone := random.integers(zones)) in held:
                pass
            held[slot[full]] = opened[slot[full], rounds[full] + 1] = zone
        return opened[slot, rounds] * size + nth % size


UNIFORM = Pattern("uniform")


def requests_at(offset: NDArray[np.uint64], op: Any, length: Any, apart_ns: int = 1) -> Table:
    """Return a table of requests, one after the other; codes of operations and lengths may be the same for all."""
    count = len(offset)
    codes, lengths = (np.broadcast_to(each, count).astype(kind) for each, kind in ((op, np.uint8), (length, np.uint64)))
    times_ns = np.arange(count, dtype=np.uint64) * np.uint64(apart_ns)
    return Table({"time_ns": times_ns, "op": codes, "offset": offset, "length": lengths})


def _zone(traffic: int, space: int) -> dict[str, str]:
    return {"traffic": f"{traffic / 1e7:.7f}%", "space": f"{space / 1e7:.7f}%"}


def _parts(weights: NDArray[np.float64]) -> list[int]:
    """Return shares in parts per billion that sum to one billion."""
    ends = np.round(np.cumsum(weights) / weights.sum() * 1e9).astype(np.int64)
    return [int(part) for part in np.diff(ends, prepend=0)]


def _zipf(exponent: float, ranks: float, buffer_pages: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ranks, and for each the cumulative share of writes up to it that pass the buffer."""
    edges = np.unique(np.concatenate([np.arange(1.0, 1025), np.geomspace(1025, ranks + 1, 4000)]))
    density = ((edges[:-1] + edges[1:] - 1) / 2) ** -exponent
    density /= (density * np.diff(edges)).sum()
    passed = np.cumsum(density / (1 + density * buffer_pages) * np.diff(edges))
    return np.concatenate([[0.0], edges[1:] - 1]), np.concatenate([[0.0], passed])
