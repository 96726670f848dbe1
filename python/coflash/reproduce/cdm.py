"""The CDM paper: its device, workloads and figures.

Source of the paper's numbers: the publication named in `PAPER.source`, sections 2 and 5. What it leaves open is in
`OPEN_QUESTIONS`, and on the page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from coflash import analytic, trace
from coflash.demo import find_trace
from coflash.measures import COPIED, MEAN, STDDEV, WAF_HOST
from coflash.quantity import show
from coflash.reproduce.paper import Axis, Case, Claim, Exhibit, Experiment, Figure, Grid, Line, Paper, Run, Runs
from coflash.scenario import Scenario

GIB = 2**30
CAPACITY_GIB = 64
"""Of the paper's device."""
ROUNDS = 10
"""Every workload is repeated so often."""
WRITES, FOOTPRINT_GIB = 5_000_000, 20
"""Of the workloads without a cache: writes of 4 KiB, and the space that they go to."""
JEDEC_REQUESTS, JEDEC_BYTES = 5_000_000, 31_200_000_000
OLTP_REQUESTS, OLTP_BYTES = 9_034_179, 30_700_000_000

RANDOM, SEQUENTIAL = "random", "sequential"
ONCE, INDEPENDENT = "random, once", "random, never repeated"
MIXED = "mixed"
BASELINE, CDM, ADAPTIVE = "NVM-basic", "CDM", "CDM, adaptive weight"
OLTP = ("oltp", "oltp-like", "pgbench")
CACHED = ("jedec", *OLTP)

_SCHEMES: dict[str, dict[str, Any]] = {
    BASELINE: {"name": "none"},
    CDM: {"name": "cdm", "removable_weight": 1.0},
    ADAPTIVE: {"name": "cdm", "removable_weight": "adaptive"},
}


@dataclass(frozen=True)
class Scale:
    """How large the experiments are."""

    divisor: int
    """Of the paper's capacities, address spaces and requests; caches and spare space follow the capacity."""
    capacities_gib: tuple[int, ...] = (32, 40, 48, 56, 64)
    """Of figure 1, before they are divided."""
    random_percent: tuple[int, ...] = (0, 5, 10, 20, 40, 60, 80, 100)
    """Of figure 2."""
    cache_gib: tuple[float, ...] = (0.25, 0.5, 1, 2, 4)
    """Of figures 6 to 9, on a device of 64 GiB."""
    rounds: int = ROUNDS
    requests_max: int | None = None
    """Of a trace that the user names; all of it where None."""


SCALES = {"quick": Scale(16, requests_max=4_000_000), "full": Scale(1)}


def experiments(scale_name: str, traces: tuple[str, ...]) -> tuple[Experiment, ...]:
    """What is run.

    Raises:
        CoflashError: A trace cannot be read.
    """
    scale = SCALES[scale_name]
    oltp = [_given(scale, traces)] if traces else [_oltp_like(scale), _pgbench(scale)]
    return _by_capacity(scale), _by_random_share(scale), _jedec(scale), *oltp


def _device(scale: Scale, capacity_gib: float, workload: dict[str, Any], **tables: Any) -> Scenario:
    """The paper's device at another capacity; without a cache until a case gives it one."""
    base = Scenario.load("cdm-64g")
    values = base.with_({"cooperation": "none", "cache.size": "0B"}).to_dict()
    flash = {**values["flash"], "blocks_per_plane": _blocks(capacity_gib / scale.divisor)}
    return Scenario.from_dict({**values, "flash": flash, "workload": workload, **tables})


def _blocks(capacity_gib: float) -> int:
    """Blocks of a plane: 4096 make 64 GiB."""
    return round(capacity_gib * 4096 / CAPACITY_GIB)


def raw_pages(scenario: Scenario) -> int:
    """All pages of its flash."""
    flash = scenario.to_dict()["flash"]
    divisions = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "blocks_per_plane")
    return math.prod(flash[division] for division in (*divisions, "pages_per_block"))


def _space(count: float) -> str:
    """That many bytes, in whole pages."""
    return f"{int(count) // 4096 * 4096}B"


def _uncached(scale: Scale, generator: Any, rounds: int, requests: int = WRITES) -> dict[str, Any]:
    made_up = {
        "generator": generator,
        "requests": requests // scale.divisor,
        "space": _space(FOOTPRINT_GIB * GIB / scale.divisor),
        "arrival": {"name": "uniform", "max": "1ms"},
    }
    return {"workload.synthetic": made_up, "workload.repeat": rounds}


def _by_capacity(scale: Scale) -> Experiment:
    lines = {
        SEQUENTIAL: _uncached(scale, "sequential", scale.rounds),
        RANDOM: _uncached(scale, "uniform", scale.rounds),
        ONCE: _uncached(scale, "uniform", 1),
        INDEPENDENT: _uncached(scale, "uniform", 1, WRITES * scale.rounds),
    }
    cases = [
        Case(line, gib, {**changes, "flash.blocks_per_plane": _blocks(gib / scale.divisor)})
        for line, changes in lines.items()
        for gib in scale.capacities_gib
    ]
    return Experiment("capacity", "no cache", _device(scale, CAPACITY_GIB, {}), tuple(cases))


def _by_random_share(scale: Scale) -> Experiment:
    def mixed(percent: int) -> dict[str, str]:
        return {"name": "mixed", "random_share": f"{percent}%"}

    cases = [Case(MIXED, share, _uncached(scale, mixed(share), scale.rounds)) for share in scale.random_percent]
    return Experiment("random-share", "no cache, 32 GiB", _device(scale, 32, {}), tuple(cases))


def _cached(scale: Scale, scenario: Scenario, lines: Sequence[str]) -> tuple[Case, ...]:
    """Each scheme with caches that have the same share of the device as on the paper's."""
    pages = raw_pages(scenario)
    return tuple(
        Case(
            line,
            100 * gib / CAPACITY_GIB,
            {"cache.size": f"{round(pages * gib / CAPACITY_GIB) * 4}KiB", "cooperation": _SCHEMES[line]},
        )
        for line in lines
        for gib in scale.cache_gib
    )


def _jedec(scale: Scale) -> Experiment:
    preset = {
        "name": "jedec-client",
        "requests": JEDEC_REQUESTS // scale.divisor,
        "space": _space(JEDEC_BYTES / scale.divisor),
        "arrival": {"name": "uniform", "max": "1ms"},
    }
    scenario = _device(scale, CAPACITY_GIB, {"preset": preset, "repeat": scale.rounds})
    # It never reads: nothing is cached clean, so nothing is removable and the weight has no say.
    return Experiment("jedec", "JEDEC (substitute)", scenario, _cached(scale, scenario, (BASELINE, CDM)))


def _oltp_like(scale: Scale) -> Experiment:
    preset = {
        "name": "oltp-like",
        "requests": OLTP_REQUESTS // scale.divisor,
        "space": _space(OLTP_BYTES / scale.divisor),
    }
    scenario = _device(scale, CAPACITY_GIB, {"preset": preset, "repeat": scale.rounds})
    return Experiment("oltp-like", "OLTP (generator)", scenario, _cached(scale, scenario, tuple(_SCHEMES)))


def _pgbench(scale: Scale) -> Experiment:
    file = str(find_trace())
    # Recorded on a faster device: its clients wait for answers here as they did there.
    closed = {"mode": "closed", "queue_depth": 8}
    return _replayed("pgbench", "OLTP (pgbench)", scale, (file,), _gib_for((file,)) * scale.divisor, replay=closed)


def _given(scale: Scale, traces: tuple[str, ...]) -> Experiment:
    capacity_gib = CAPACITY_GIB if scale.divisor == 1 else _gib_for(traces) * scale.divisor
    more = {} if scale.requests_max is None else {"requests_max": scale.requests_max}
    return _replayed("oltp", "OLTP (given trace)", scale, traces, capacity_gib, **more)


def _replayed(
    name: str,
    title: str,
    scale: Scale,
    traces: tuple[str, ...],
    capacity_gib: float,
    replay: dict[str, Any] | None = None,
    **more: int,
) -> Experiment:
    workload = {"remap": "dense", "repeat": scale.rounds, **more}
    scenario = _device(scale, capacity_gib, workload, replay=replay or {})
    return Experiment(name, title, scenario, _cached(scale, scenario, tuple(_SCHEMES)), traces)


def _gib_for(traces: tuple[str, ...]) -> float:
    """The capacity of which the trace's footprint has the share that OLTP has of the paper's device."""
    footprint_bytes = trace.info(traces)["footprint_pages"] * 4096
    return float(footprint_bytes / GIB * CAPACITY_GIB * GIB / OLTP_BYTES)
