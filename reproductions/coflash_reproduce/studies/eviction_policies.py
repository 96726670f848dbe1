"""Eviction policies in front of flash: hits, write amplification, tail and endurance in one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import coflash
from coflash.demo import find_trace
from coflash.scenario import Scenario
from coflash_reproduce.declare import study
from coflash_reproduce.paper import Case, Experiment
from coflash_reproduce.study import WARM, asked, four_dies

POLICIES = tuple(
    policy.name for family in coflash.policies() if family.key == "cache.policy" for policy in family.policies
)
RESIST_SCANS = ("2q", "arc", "w-tinylfu", "s3-fifo", "sieve")
SCHEMES = {"none": "none", "cdm": {"name": "cdm", "removable_weight": 1.0, "rewrite_stream": "gc"}}
PGBENCH, ZIPF, SCAN, WRITES, GIVEN = "pgbench", "zipf", "zipf-scan", "zipf-writes", "given"
WORKLOADS = {
    PGBENCH: "pgbench (trace)",
    ZIPF: "Zipf 0.9, half reads",
    SCAN: "Zipf 0.9 beside a scan",
    WRITES: "Zipf 0.9, writes only",
    GIVEN: "given trace",
}
ALIKE = 0.01
"""The relative difference of WAF up to which two policies are as good."""
TOGETHER = 0.9
"""The rank correlation from which on two orders of policies are called the same."""


@dataclass(frozen=True)
class Scale:
    """The size of the experiments."""

    blocks_per_plane: int
    requests: int
    seeds: int
    with_trace: bool = True


SCALES = {"quick": Scale(64, 100_000, 2), "full": Scale(128, 300_000, 3)}


def experiments(scale_name: str, traces: tuple[str, ...]) -> tuple[Experiment, ...]:
    """Return the experiments: each workload under every policy, without cooperation and with CDM."""
    scale = SCALES[scale_name]
    demo = Scenario.load("demo").with_({**WARM, "endurance.rated_cycles": 3000})
    small = four_dies(scale.blocks_per_plane).with_({"endurance.rated_cycles": 3000, "cache.size": "10%"})
    generator = {"name": "zipf", "exponent": 0.9}
    found = []
    if scale.with_trace:
        found.append(_experiment(PGBENCH, demo.with_({"cache.size": "64MiB"}), (str(find_trace()),)))
    if traces:
        found.append(_experiment(GIVEN, demo.with_({"workload.remap": "modulo", "cache.size": "5%"}), traces))
    for name, reads in ((ZIPF, "50%"), (WRITES, "0%")):
        found.append(_experiment(name, asked(small, generator, scale.requests, reads), seeds=scale.seeds))
    half = {"requests": scale.requests // 2}
    tenants: list[dict[str, Any]] = [
        {"name": "zipf", "space": "50%", "synthetic": {**half, "generator": generator, "read_share": "50%"}},
        {"name": "scan", "space": "50%", "synthetic": {**half, "generator": "sequential", "read_share": "100%"}},
    ]
    scanned = Scenario.from_dict(small.to_dict() | {"workload": {"remap": "none", "tenants": tenants}})
    found.append(_experiment(SCAN, scanned, seeds=scale.seeds))
    return tuple(found)


def _experiment(name: str, scenario: Scenario, files: tuple[str, ...] = (), seeds: int = 1) -> Experiment:
    cases = tuple(
        Case(scheme, number, {"cache.policy": policy, "cooperation": keys})
        for scheme, keys in SCHEMES.items()
        for number, policy in enumerate(POLICIES)
    )
    return Experiment(name, WORKLOADS[name], scenario, cases, files, seeds=seeds)


def correlation(one: list[float], other: list[float]) -> float:
    """Return the rank correlation (Spearman's) of two measures over the policies."""
    ranks = [np.argsort(np.argsort(values)) for values in (one, other)]
    return 1 - 6 * float(((ranks[0] - ranks[1]) ** 2).sum()) / (len(one) * (len(one) ** 2 - 1))


STUDY = study(globals())
