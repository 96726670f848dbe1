"""What coflash is held against beside drives: closed forms, and the published outputs of the reference simulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


PUBLISHED_MEAN_MS = {
    "sequential-read": 0.132511,
    "random-read": 0.136118,
    "sequential-write": 0.310895,
    "random-write": 0.329458,
}
"""Mean response times that the reference simulator, DiskSim 4.0 with the Microsoft SSD extension, is published with."""


def reference_simulator() -> Other:
    """Compare mean response times of the reference device."""
    base = Scenario.load("msr-ssd")
    runs = [run(base.with_({"workload.disksim.pattern": pattern})) for pattern in PUBLISHED_MEAN_MS]
    ours = [(done.metrics.response_ns.all.mean or 0) / 1e6 for done in runs]
    return Other("published mean response times of the reference simulator", list(PUBLISHED_MEAN_MS.values()), ours)
