"""The optimal weight of a removable page: the expected cost of a drop in closed form, and where weight 0 fails."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from coflash import analytic, trace
from coflash._core import quantity
from coflash.demo import find_trace
from coflash.scenario import Scenario
from coflash_reproduce.declare import study
from coflash_reproduce.paper import Case, Experiment, Run
from coflash_reproduce.study import WARM, asked, four_dies

AMONG_COPIES, AMONG_EVICTIONS = "rewritten among GC's copies", "rewritten among evictions"
STREAMS = {AMONG_COPIES: "gc", AMONG_EVICTIONS: "evict"}
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
STATIONARY, SCAN, SCATTERED, PGBENCH, GIVEN = ("uniform", "zipf"), "scan", "scattered", "pgbench", "given"
WORKLOADS = (*STATIONARY, SCAN, SCATTERED, PGBENCH, GIVEN)
_TITLES = {
    "uniform": "uniform",
    "zipf": "Zipf 0.9",
    "scan": "random writes beside a scan",
    "scattered": "the same, scattered in flash",
    "pgbench": "pgbench (trace)",
    "given": "given trace",
}
PREDICTED = "predicted"
"""Stationary workloads by cache and read share, to compare the closed form of what leaves unmodified."""
_GENERATORS: Mapping[str, Any] = {"uniform": "uniform", "zipf": {"name": "zipf", "exponent": 0.9}}
FAILS, HARMLESS = 0.1, 0.05
"""The excess of WAF from which on a weight is said to fail, and up to which it is said to be harmless."""
AS_GOOD = 0.02
"""The excess of WAF up to which a weight is said to be as good as the best."""


@dataclass(frozen=True)
class Scale:
    """The size of the experiments."""

    blocks_per_plane: int
    requests: int
    seeds: int
    cache_percent: tuple[int, ...]
    read_percent: tuple[int, ...]


SCALES = {"quick": Scale(64, 150_000, 2, (5, 20), (50,)), "full": Scale(128, 300_000, 3, (2, 10, 30), (20, 50, 80))}


def experiments(scale_name: str, traces: tuple[str, ...]) -> tuple[Experiment, ...]:
    """Return the experiments: each workload by weight, and stationary ones by cache and read share."""
    scale = SCALES[scale_name]
    demo = Scenario.load("demo").with_(WARM)
    small = four_dies(scale.blocks_per_plane).with_({"cache.size": "10%"})
    found = []
    for name, generator in _GENERATORS.items():
        found.append(_by_weight(name, asked(small, generator, scale.requests, "50%"), seeds=scale.seeds))
    scan = small.to_dict() | {"workload": {"remap": "none", "tenants": _scan(scale)}}
    for name, fill in ((SCAN, "sequential"), (SCATTERED, "random")):
        filled = Scenario.from_dict(scan | {"precondition": {"fill": fill, "random_passes": 0.0}}).with_(WARM)
        found.append(_by_weight(name, filled, seeds=scale.seeds))
    found.append(_by_weight(PGBENCH, demo.with_({"cache.size": "64MiB"}), (str(find_trace()),)))
    if traces:
        found.append(_by_weight(GIVEN, _fitted(demo, traces), traces))
    for name, generator in _GENERATORS.items():
        for reads in scale.read_percent:
            scenario = asked(small, generator, scale.requests, f"{reads}%").with_({"cooperation": _cdm(1.0, "gc")})
            cases = tuple(Case(f"{reads} % reads", cache, {"cache.size": f"{cache}%"}) for cache in scale.cache_percent)
            found.append(Experiment(f"{PREDICTED}-{name}-{reads}", _TITLES[name], scenario, cases, seeds=scale.seeds))
    return tuple(found)


def _cdm(weight: float | str, stream: str) -> dict[str, Any]:
    return {"name": "cdm", "removable_weight": weight, "rewrite_stream": stream}


def _by_weight(name: str, scenario: Scenario, files: tuple[str, ...] = (), seeds: int = 1) -> Experiment:
    cases = tuple(
        Case(line, weight, {"cooperation": _cdm(weight, stream)})
        for line, stream in STREAMS.items()
        for weight in WEIGHTS
    )
    return Experiment(name, _TITLES[name], scenario, cases, files, seeds=seeds)


def _fitted(demo: Scenario, traces: tuple[str, ...]) -> Scenario:
    """Return a device of which the trace touches 55 %, and ten rounds of the trace."""
    footprint_pages = trace.info(traces)["footprint_pages"]
    flash = demo.to_dict()["flash"]
    plane_pages = flash["channels"] * flash["chips_per_channel"] * flash["pages_per_block"]
    blocks = max(64, math.ceil((footprint_pages or 0) / 0.55 / plane_pages))
    return demo.with_({"flash.blocks_per_plane": blocks, "cache.size": "10%", "workload.repeat": 10})


def _scan(scale: Scale) -> list[dict[str, Any]]:
    """Return random writes to a third of the space, and a scan of the rest, as many requests each."""
    half = {"requests": scale.requests // 2}
    return [
        {"name": "writes", "space": "30%", "synthetic": {**half, "generator": "uniform"}},
        {"name": "scan", "space": "70%", "synthetic": {**half, "generator": "sequential", "read_share": "100%"}},
    ]


def in_theory(run: Run) -> float:
    """Return the share of removable pages that leave unmodified, by the closed form."""
    values = run.scenario.to_dict()
    made_up = values["workload"]["synthetic"]
    pages = run.document["workload"]["logical_bytes"] // 4096
    exponent = 0.9 if made_up["generator"]["name"] == "zipf" else 0.0
    popularity = np.arange(1, pages + 1, dtype=np.float64) ** -exponent
    ratios = analytic.lru_hit_ratios(popularity, run.metrics.cache.capacity_pages)
    return analytic.leaves_unmodified(np.clip(ratios, 1e-12, 1 - 1e-12), quantity(made_up["read_share"])[0] / 1e9)


def weight_of(unmodified: float, copied_again: float) -> float:
    """Return w* of a share of removable pages that leave unmodified, and one of rewrites that are copied again."""
    return float(analytic.removable_weight(unmodified, copied_again))


STUDY = study(globals())
