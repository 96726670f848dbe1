"""What coflash is held against beside drives: closed forms, and published outputs of other simulators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from coflash import costmodel
from coflash.analytic import d_choices, fifo, greedy
from coflash.calibrate.model import PAGES_PER_BLOCK, Device, waf_between
from coflash.calibrate.pattern import Pattern, requests_at
from coflash.runs.run import run
from coflash.scenario import Scenario


@dataclass(frozen=True)
class Other:
    """Numbers known otherwise, and ours."""

    what: str
    known: Sequence[float]
    ours: Sequence[float]

    def row(self) -> tuple[str, ...]:
        """Return the cells of the table; nothing is fitted."""
        errors = np.array(self.ours) / np.array(self.known) - 1
        worst = f"{errors[np.abs(errors).argmax()]:+.2%}".replace("-", "−")
        return (self.what, str(len(errors)), "0", worst, f"{np.abs(errors).mean():.2%}")


def closed_forms() -> list[Other]:
    """Compare simulated write amplification with closed forms, over alpha = T / U."""
    alphas = (1.08, 1.15, 1.3, 1.6, 2.0)
    found = []
    for victim, form in (
        ("greedy", lambda alpha: greedy(alpha, PAGES_PER_BLOCK)),
        ("fifo", fifo),
        ("d-choices 10", lambda alpha: d_choices(alpha, PAGES_PER_BLOCK, 10)),
    ):
        runs = [Device(alpha, victim).run(Pattern("uniform"), "sequential", 6) for alpha in alphas]
        ours = [waf_between(result, pages, 3, 6) for result, pages in runs]
        found.append(Other(f"closed form of {victim}, uniform writes", [form(alpha) for alpha in alphas], ours))
    return found


class Published(NamedTuple):
    """What is published of a run of the reference simulator, DiskSim 4.0 with the Microsoft SSD extension."""

    pattern: str
    requests: int
    mean_ms: float
    """The mean response time."""
    cleans: int = 0
    """The blocks that were erased."""


PUBLISHED = (
    Published("sequential-read", 250_000, 0.132511),
    Published("random-read", 250_000, 0.136118),
    Published("sequential-write", 250_000, 0.310895),
    Published("random-write", 250_000, 0.329458),
    Published("sequential-write", 5_000_000, 0.334365, 77_493),
    Published("random-write", 5_000_000, 0.593438, 143_179),
)


def reference_simulator() -> Other:
    """Compare the reference device with what is published: mean response times, and the cleans where there are any."""
    base = Scenario.load("msr-ssd")
    known, ours = [], []
    for published in PUBLISHED:
        # Its generator issues one request fewer than it is asked for.
        keys = {"workload.disksim.pattern": published.pattern, "workload.disksim.requests": published.requests - 1}
        metrics = run(base.with_(keys)).metrics
        known.append(published.mean_ms)
        ours.append((metrics.response_ns.all.mean or 0) / 1e6)
        if published.cleans:
            known.append(float(published.cleans))
            ours.append(float(metrics.erases_blocks or 0))
    return Other("published mean response times and cleans of the reference simulator", known, ours)


OPFCL_COSTS = {
    0.50: (0.2032, 386.8),
    0.64: (0.3789, 475.0),
    0.80: (0.6286, 744.0),
    0.90: (0.8069, 1361.6),
    0.95: (0.9017, 2602.0),
}
"""By u, the used share of the flash: u' of the block that is cleaned, and the µs of a write (OP-FCL, FAST 2012)."""
_DISK_BYTES_PER_S = 72e6
_POSITIONING_S = {"read": 4.5e-3, "write": 4.9e-3}
_DISK_SIZES = (128 * 2**10, 256 * 2**10, 2**20)
"""Requests that go past the cache to the disk, which are 128 KiB or more."""
_DISK_REQUESTS = 1000


def opfcl() -> list[Other]:
    """Compare OP-FCL's cost model with its figures, and the disk below the cache with the times that it is given."""
    figures = list(OPFCL_COSTS.items())
    published = [number for _, both in figures for number in both]
    ours = [n for u, _ in figures for n in (costmodel.victim_utilisation(u), costmodel.Costs().write_us(u))]
    kinds = [(op, side, size) for op, side in enumerate(_POSITIONING_S) for size in _DISK_SIZES]
    return [
        Other("published costs of OP-FCL, by used share of flash", published, ours),
        Other(
            "OP-FCL's disk: positioning and transfer of requests past the cache",
            [_POSITIONING_S[side] + size / _DISK_BYTES_PER_S for _, side, size in kinds],
            [_disk_s(op, size) for op, _, size in kinds],
        ),
    ]


def _disk_s(op: int, size: int) -> float:
    """Return the mean response time of requests at random places, each of which finds the disk idle."""
    places = np.random.default_rng(1).permutation(16 * 2**30 // size)[:_DISK_REQUESTS].astype(np.uint64)
    requests = requests_at(places * size, op, size, apart_ns=100_000_000)
    metrics = run(Scenario.load("opfcl-config1").with_({"workload.remap": "none"}), requests).metrics
    return (metrics.response_ns.all.mean or 0) / 1e9
