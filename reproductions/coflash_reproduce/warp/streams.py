"""The published curves, and the requests of the three streams in the mix that the logs of a curve show.

A log says how much the host had written through each handle. So the mix need not be guessed where each stream has its
own handle: the requests follow the log, quarter by quarter of a fill. Places are drawn as fio draws them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from coflash.files import atomic_write
from coflash_reproduce.data import csv_beside

EXPORTED_GIB = 224
PAGES = EXPORTED_GIB * 2**18
"""The exported pages of the whole drive."""
OWN, SHARED, NONE, SECOND = "own", "shared", "none", "second"
HANDLES: Mapping[str, tuple[int, int, int]] = {OWN: (0, 2, 1), SHARED: (0, 0, 1), NONE: (0, 0, 0), SECOND: (0, 2, 1)}
"""The handles of the sequential stream, the one that overwrites it, and the one beside it."""
TIMES_LARGER = {SECOND: 2}
"""How many times as large the second drive is."""
WORKLOADS = ("zipf 1.2", "zipf 2.2", "zoned")
UNIFORM, QUIET = "uniform", "quiet"
"""Overwrites at even places, and no overwrites."""
MIX = (0.84, 0.08, 0.08)
"""The share of each stream where no log says it."""
_ZONES = ((0.8, 0.0, 0.2), (0.1, 0.2, 0.2), (0.1, 0.4, 0.6))
"""Share of the accesses, begin and size of each zone."""
_ZIPF_RANKS = 10_000_000
"""The most ranks of which fio sums the probabilities."""
_SEQUENTIAL = 32
"""Pages of a request of the sequential stream."""
SEED = 39
"""The seed of the places."""
_TOGETHER = 100_000
"""Requests that are formatted at once: a tenth of the time of `numpy.savetxt`."""
Numbers = NDArray[Any]


@dataclass(frozen=True)
class Row:
    """A row of a log, in fills since the beginning."""

    fills: float
    host: float
    media: float
    hosts: tuple[float, float, float]
    medias: tuple[float, float, float]

    @property
    def waf(self) -> float:
        """The write amplification since the beginning."""
        return self.media / self.host


@cache
def published() -> Mapping[tuple[str, str], tuple[Row, ...]]:
    """Return the published curves by workload and handles."""
    found: dict[tuple[str, str], list[Row]] = {}
    for of in (*csv_beside(__file__, "curves.csv"), *csv_beside(__file__, "second.csv")):
        exported_gib = EXPORTED_GIB * TIMES_LARGER.get(of["handles"], 1)
        sides = {name: float(of[name]) / exported_gib for name in of if name.startswith(("host", "media"))}
        hosts, medias = (tuple(sides[f"{side}_{handle}"] for handle in range(3)) for side in ("host", "media"))
        row = Row(float(of["fills"]), sides["host"], sides["media"], hosts, medias)  # type: ignore[arg-type]
        found.setdefault((of["workload"], of["handles"]), []).append(row)
    return {key: tuple(rows) for key, rows in found.items()}


def mix(
    workload: str, handles: str, fills: float, logged: bool = True, over_beside: float = 1.0
) -> Iterator[tuple[float, float, float]]:
    """Yield what the sequential stream, the overwriting one and the one beside it write, in fills, step by step.

    Where the first two share a handle, the overwriting stream writes `over_beside` of what the one beside it does,
    whose job is the same. Without a log by handle the fill is followed by the mix that is reached with handles.
    """
    if handles == NONE or not logged or (workload, handles) not in published():
        yield 0.9, 0.0, 0.1
        steps = int((fills - 1) * 4)
        first, over, beside = (share / 4 for share in MIX)
        yield from [(first, 0.0 if workload == QUIET else over, beside)] * steps
        return
    before = (0.0, 0.0, 0.0)
    for row in published()[workload, handles]:
        if row.fills > fills:
            return
        first, beside, over = (now - then for now, then in zip(row.hosts, before, strict=True))
        if handles == SHARED:
            over = over_beside * beside if row.fills > 1.03 else 0.0
            first -= over
        yield first, over, beside
        before = row.hosts


def _zipf(draws: Numbers, places: int, exponent: float) -> Numbers:
    """Return the places of draws between 0 and 1 under fio's zipf: ranks by its formula, hashed to places."""
    total = float((1.0 / np.arange(1, min(places, _ZIPF_RANKS) + 1) ** exponent).sum())
    second = 1 + 0.5**exponent
    eta = (1 - (2 / places) ** (1 - exponent)) / (1 - second / total)
    ranks = (places * (eta * draws - eta + 1) ** (1 / (1 - exponent))).astype(np.uint64)
    ranks = np.where(draws * total < 1, 0, np.where(draws * total < second, 1, ranks)).astype(np.uint64)
    hashed: Numbers = ranks * np.uint64(0x61C8864680B583EB) % np.uint64(places)
    return hashed.astype(np.int64)


def _over(workload: str, random: np.random.Generator, count: int, places: int) -> Numbers:
    """Draw places of the overwriting stream."""
    if workload.startswith("zipf"):
        return _zipf(random.random(count), places, float(workload.split()[1]))
    if workload in (UNIFORM, QUIET):
        return random.integers(0, places, count)
    shares, begins, sizes = zip(*_ZONES, strict=True)
    zones = random.choice(len(_ZONES), count, p=shares)
    found: Numbers = (np.take(begins, zones) + random.random(count) * np.take(sizes, zones)) * places
    return found.astype(np.int64)


def requests(
    workload: str, handles: str, scale: int, fills: float, logged: bool = True, over_beside: float = 1, seed: int = SEED
) -> Iterator[Numbers]:
    """Yield tables of page, pages and handle, in the order of the requests; the device is 1 / scale of the drive's."""
    random, exported = np.random.default_rng(seed), PAGES * TIMES_LARGER.get(handles, 1) // scale
    front = exported * 9 // 10 // _SEQUENTIAL * _SEQUENTIAL
    at, owed = 0, np.zeros(3)
    for written in mix(workload, handles, fills, logged, over_beside):
        owed += np.maximum(written, 0) * np.array([exported / _SEQUENTIAL, exported, exported])
        counts = owed.astype(int)
        owed -= counts
        places = (
            (at + np.arange(counts[0])) * _SEQUENTIAL % front,
            _over(workload, random, counts[1], front),
            front + random.integers(0, exported - front, counts[2]),
        )
        at += int(counts[0])
        times = np.concatenate([(np.arange(count) + 0.5) / max(count, 1) for count in counts])
        sizes, handle = np.repeat((_SEQUENTIAL, 1, 1), counts), np.repeat(HANDLES[handles], counts)
        yield np.column_stack([np.concatenate(places), sizes, handle])[np.argsort(times, kind="stable")]


def trace(
    workload: str, handles: str, scale: int, fills: float, logged: bool = True, over_beside: float = 1, seed: int = SEED
) -> str:
    """Write the requests as a trace, unless it is there; return its path."""
    marks = ("" if logged else "-written") + ("" if over_beside == 1 else f"-{over_beside:g}")
    marks += "" if seed == SEED else f"-seed-{seed}"
    name = f"{workload.replace(' ', '-')}-{handles}-{scale}-{fills:g}{marks}.csv"
    return _written(name, lambda: requests(workload, handles, scale, fills, logged, over_beside, seed))


def passes(pages: int, count: int) -> str:
    """Write a trace of random writes that meet each page once a pass, as fio's do with a map; return its path."""
    random = np.random.default_rng(SEED)
    orders = (random.permutation(pages) for _ in range(count))
    tables = (np.column_stack([order, np.ones(pages, int), np.zeros(pages, int)]) for order in orders)
    return _written(f"passes-{pages}-{count}.csv", lambda: tables)


def jobs(rates_mb: tuple[int, int, int], seconds: int) -> str:
    """Write the artifact's jobs of zoned, own, for fio, with rates at handles 0, 1 and 2; return the file's path."""
    front, back = "rw=write bs=128k size=90% plids=0", "rw=randwrite bs=4k offset=90% size=10% plids=1"
    over = "rw=randwrite bs=4k size=90% plids=2 random_distribution=zoned:80/20:10/20:10/60"
    timed = [f"time_based runtime={seconds} rate={rate * 1_000_000}" for rate in rates_mb]
    sections = {
        "global": "fdp=1 ioengine=io_uring norandommap",
        "ready0": f"{front} iodepth=128",
        "ready1": f"{back} iodepth=128",
        "worker0": f"stonewall {front} iodepth=1 {timed[0]}",
        "jumper": f"{over} iodepth=32 {timed[2]}",
        "worker1": f"{back} iodepth=32 {timed[1]}",
    }
    text = "\n".join(f"[{name}] {options}".replace(" ", "\n") for name, options in sections.items())
    name = f"zoned-own-{'-'.join(map(str, rates_mb))}-{seconds}.fio"
    return _kept(name, lambda file: file.write(text.encode()))


def _written(name: str, drawn: Callable[[], Iterator[Numbers]]) -> str:
    def write(file: IO[bytes]) -> None:
        for table in drawn():
            for part in np.array_split(table, len(table) // _TOGETHER + 1):
                file.write(b"%d,%d,%d\n" * len(part) % tuple(part.ravel().tolist()))

    return _kept(name, write)


def _kept(name: str, write: Callable[[IO[bytes]], Any]) -> str:
    path = Path(tempfile.gettempdir()) / "coflash-warp" / name
    if not path.exists():
        atomic_write.make_folder(path.parent)
        with atomic_write.new_file(path) as file:
            write(file)
    return str(path)
