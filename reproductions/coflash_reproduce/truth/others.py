"""What coflash is held against beside drives: closed forms, and the published outputs of the reference simulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from coflash.analytic import d_choices, fifo, greedy
from coflash.calibrate.model import PAGES_PER_BLOCK, Device, waf_between
from coflash.calibrate.pattern import Pattern
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
