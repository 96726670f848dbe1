"""The device, the workloads and the experiments of the CDM paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from coflash import trace
from coflash.demo import find_trace
from coflash.scenario import Scenario
from coflash_reproduce.paper import Case, Experiment, flash_pages

GIB = 2**30
CAPACITY_GIB, PLANES = 64, 64
"""The capacity of the paper's device, and the number of its planes."""
ROUNDS = 10
"""The number of repetitions of every workload."""
WRITES, FOOTPRINT_GIB = 5_000_000, 20
"""The workloads without a cache: the number of 4 KiB writes, and their address space."""
JEDEC_REQUESTS, JEDEC_BYTES = 5_000_000, 31_200_000_000
OLTP_REQUESTS, OLTP_BYTES, OLTP_READS = 9_034_179, 30_700_000_000, "52%"
UNIFORM_GIB = 14
"""The live data of the second stand-in for JEDEC."""

RANDOM, SEQUENTIAL = "random, repeated", "sequential, repeated"
ONCE, INDEPENDENT = "random, once", "random, never repeated"
ANYWHERE, MIXED = "runs that begin anywhere", "one stream, random writes in between"
JEDEC_LIVE, UNIFORM_LIVE, OLTP_LIVE = "JEDEC (substitute)", "JEDEC (uniform)", "OLTP (generator)"
BASELINE, CDM, ADAPTIVE, WEIGHT_0 = "NVM-basic", "CDM", "CDM, adaptive weight", "CDM, weight 0"
OVERWRITES, REMOVABLE = "overwritten pages only", "removable pages only"
ON_CACHE, CONSISTENT = "invalid when cached", "consistent CDM"
HGC, DGC, SGC, CDM_HGC = "HGC", "DGC", "SGC, volatile cache", "CDM and HGC"
NARROW = {JEDEC_LIVE: "JEDEC (substitute), 20 GiB", OLTP_LIVE: "OLTP (generator), 20 GiB"}
"""The stand-ins with the address space of the random writes, by those with the paper's."""
JEDEC = ("jedec", "jedec-uniform")
OLTP = ("oltp", "oltp-like", "pgbench")
CACHED = (*JEDEC, *OLTP)
BUFFERED = "host-buffer"
VARIED = ("jedec-variants", "oltp-variants", "oltp", "pgbench")
"""The experiments that have the variants of CDM."""

_SCHEMES: dict[str, dict[str, Any]] = {
    BASELINE: {"name": "none"},
    CDM: {"name": "cdm", "removable_weight": 1.0},
    ADAPTIVE: {"name": "cdm", "removable_weight": "adaptive"},
    WEIGHT_0: {"name": "cdm", "removable_weight": 0.0},
    OVERWRITES: {"name": "cdm-overwrites"},
    REMOVABLE: {"name": "cdm-removable"},
    ON_CACHE: {"name": "cdm-invalidate-on-cache"},
    CONSISTENT: {"name": "cdm-consistent"},
    HGC: {"name": "hgc"},
    DGC: {"name": "dgc"},
    SGC: {"name": "sgc"},
    CDM_HGC: {"name": "cdm-hgc"},
}
PARTS = (WEIGHT_0, OVERWRITES, REMOVABLE, ON_CACHE, CONSISTENT)
"""Variants of CDM, which are run at some cache sizes."""


@dataclass(frozen=True)
class Scale:
    """The size of the experiments."""

    divisor: int
    """The divisor of capacities, address spaces and requests; caches and spare space follow the capacity."""
    capacities_gib: tuple[int, ...] = (32, 40, 48, 56, 64)
    """The capacities of figure 1 (a) and (b), before the division."""
    live_gib: tuple[int, ...] = (36, 40, 48, 64, 96, 128)
    """Those of figure 1 (c) and (d): the smallest holds JEDEC's address space."""
    random_percent: tuple[int, ...] = (0, 5, 10, 20, 40, 60, 80, 100)
    """The shares of random writes of figure 2."""
    cache_gib: tuple[float, ...] = (0.25, 0.5, 1, 2, 4, 8, 16)
    """The cache sizes of figures 6 to 9, on a device of 64 GiB."""
    parts_gib: tuple[float, ...] = (0.5, 2, 8)
    """Those at which the variants of CDM are run."""
    buffer_gib: tuple[float, ...] = (0.25, 1)
    """The sizes of a write buffer in the host."""
    small_divisor: int = 16
    """The least divisor of experiments that are compared with themselves alone."""
    rounds: int = ROUNDS
    requests_max: int | None = None
    """The maximum of requests from a trace of the user; None for all."""


SCALES = {"quick": Scale(16, requests_max=4_000_000), "full": Scale(1)}


def experiments(scale_name: str, traces: tuple[str, ...]) -> tuple[Experiment, ...]:
    """Return the experiments.

    Raises:
        CoflashError: A trace cannot be read.
    """
    scale = SCALES[scale_name]
    small = replace(scale, divisor=max(scale.divisor, scale.small_divisor))
    oltp = [_given(scale, traces)] if traces else [*_oltp_like(scale, small), _pgbench(scale)]
    return (
        _by_capacity(scale),
        _live_by_capacity(small),
        _by_random_share(scale),
        *_jedec(scale, small),
        _host_buffer(small),
        *oltp,
    )


def _device(scale: Scale, capacity_gib: float, workload: dict[str, Any], **tables: Any) -> Scenario:
    """Return the paper's device at another capacity, without a cache until a case gives it one."""
    base = Scenario.load("cdm-64g")
    values = base.with_({"cooperation": "none", "cache.size": "0B"}).to_dict()
    flash = {**values["flash"], "blocks_per_plane": _blocks(capacity_gib / scale.divisor)}
    return Scenario.from_dict({**values, "flash": flash, "workload": workload, **tables})


def _blocks(capacity_gib: float) -> int:
    """Return the blocks of a plane: 4096 make 64 GiB. With fewer than 32, GC has hardly any room for free blocks."""
    return max(32, round(capacity_gib * 4096 / CAPACITY_GIB))


def _space(count: float) -> str:
    """Write a size in whole pages."""
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
    def cases(line: str, generator: Callable[[int], dict[str, Any]]) -> list[Case]:
        shares = scale.random_percent
        return [Case(line, share, _uncached(scale, generator(share), scale.rounds)) for share in shares]

    # In the paper's simulator a sequential request continues the last one of any kind: each random one begins a run.
    runs = cases(ANYWHERE, lambda share: {"name": "runs", "sequential_share": f"{100 - share}%", "from": "uniform"})
    mixed = cases(MIXED, lambda share: {"name": "mixed", "random_share": f"{share}%"})
    return Experiment("random-share", "no cache, 32 GiB", _device(scale, 32, {}), (*runs, *mixed))


def _size(scenario: Scenario, gib: float) -> str:
    """Write a size that is the same share of this device as `gib` is of the paper's."""
    return f"{round(flash_pages(scenario) * gib / CAPACITY_GIB) * 4}KiB"


def _cached(scale: Scale, scenario: Scenario, lines: Sequence[str], parts: Sequence[str] = ()) -> tuple[Case, ...]:
    """Return each scheme with caches that have the same shares of the device as in the paper."""
    places = [(line, gib) for line in lines for gib in scale.cache_gib]
    places += [(line, gib) for line in parts for gib in scale.parts_gib]
    return tuple(
        Case(line, 100 * gib / CAPACITY_GIB, {"cache.size": _size(scenario, gib), "cooperation": _SCHEMES[line]})
        for line, gib in places
    )


def _live(scale: Scale) -> dict[str, dict[str, Any]]:
    """Return the stand-ins for the paper's traces that are generated."""
    jedec = {
        "name": "jedec-client",
        "requests": JEDEC_REQUESTS // scale.divisor,
        "space": _space(JEDEC_BYTES / scale.divisor),
        "arrival": {"name": "uniform", "max": "1ms"},
    }
    uniform = {
        "generator": "uniform",
        "requests": JEDEC_REQUESTS * scale.rounds // scale.divisor,
        "space": _space(UNIFORM_GIB * GIB / scale.divisor),
        "trim_share": "6%",
        "flush_share": "5%",
        "arrival": {"name": "uniform", "max": "4ms"},
    }
    oltp = {
        "name": "oltp-like",
        "requests": OLTP_REQUESTS // scale.divisor,
        "space": _space(OLTP_BYTES / scale.divisor),
        "read_share": OLTP_READS,
    }
    return {
        JEDEC_LIVE: {"preset": jedec, "repeat": scale.rounds},
        UNIFORM_LIVE: {"synthetic": uniform},
        OLTP_LIVE: {"preset": oltp, "repeat": scale.rounds},
    }


def _live_by_capacity(scale: Scale) -> Experiment:
    cases = [
        Case(
            line,
            gib,
            {
                **{f"workload.{key}": value for key, value in workload.items()},
                "flash.blocks_per_plane": _blocks(gib / scale.divisor),
            },
        )
        for line, workload in _live(scale).items()
        for gib in scale.live_gib
    ]
    narrow = _space(FOOTPRINT_GIB * GIB / scale.divisor)
    shared = sorted(set(scale.live_gib) & set(scale.capacities_gib))
    cases += [
        replace(case, line=NARROW[case.line], changes={**case.changes, **_narrowed(case, narrow)})
        for case in cases
        if case.line in NARROW and case.at in shared
    ]
    return Experiment("live-capacity", "no cache", _device(scale, CAPACITY_GIB, {}), tuple(cases))


def _narrowed(case: Case, space: str) -> dict[str, Any]:
    return {"workload.preset": {**case.changes["workload.preset"], "space": space}}


def _generated(
    name: str, title: str, scale: Scale, size: int, lines: Sequence[str], parts: Sequence[str]
) -> Experiment:
    scenario = _device(scale, CAPACITY_GIB, _live(scale)[title])
    cases = _cached(scale, scenario, lines, parts)
    return Experiment(name, title, scenario, cases, footprint_bytes=size // scale.divisor)


def _jedec(scale: Scale, small: Scale) -> tuple[Experiment, ...]:
    # They never read: no clean pages are cached, so none is removable, and the weight has no effect.
    both, uniform_bytes = (BASELINE, CDM), UNIFORM_GIB * GIB
    return (
        _generated("jedec", JEDEC_LIVE, scale, JEDEC_BYTES, both, ()),
        _generated("jedec-uniform", UNIFORM_LIVE, scale, uniform_bytes, both, ()),
        _generated("jedec-variants", UNIFORM_LIVE, small, uniform_bytes, (), (*both, CONSISTENT)),
    )


def _oltp_like(scale: Scale, small: Scale) -> tuple[Experiment, ...]:
    both = (BASELINE, CDM)
    return (
        _generated("oltp-like", OLTP_LIVE, scale, OLTP_BYTES, both, ()),
        _generated("oltp-variants", OLTP_LIVE, small, OLTP_BYTES, (), (*both, ADAPTIVE, *PARTS)),
    )


def _host_buffer(scale: Scale) -> Experiment:
    """Return a write buffer in the host over the device with 2 GiB of cache, and what GC knows of either."""
    # Fewer planes as large as the paper's: each keeps blocks apart for what is dirty in the host.
    planes = {"channels": 1, "planes_per_die": PLANES // scale.divisor, "blocks_per_plane": _blocks(CAPACITY_GIB)}
    scenario = _device(scale, CAPACITY_GIB, _live(scale)[OLTP_LIVE])
    scenario = scenario.with_({f"flash.{division}": count for division, count in planes.items()})
    # As long as a page may stay dirty, however slowly requests come.
    scenario = scenario.with_({"cache.size": _size(scenario, 2), "host_buffer.dirty_age_max": "10000h"})
    cases = [
        Case(
            line,
            100 * gib / CAPACITY_GIB,
            {"host_buffer.size": _size(scenario, gib), "cooperation": _SCHEMES[line], "cache.volatile": line == SGC},
        )
        for line in (BASELINE, HGC, DGC, SGC, CDM, CDM_HGC)
        for gib in scale.buffer_gib
    ]
    return Experiment(BUFFERED, OLTP_LIVE, scenario, tuple(cases), footprint_bytes=OLTP_BYTES // scale.divisor)


def _pgbench(scale: Scale) -> Experiment:
    # Recorded on a faster device: its clients wait for answers here as they did there.
    closed = {"mode": "closed", "queue_depth": 8}
    return _replayed("pgbench", "OLTP (pgbench)", scale, (str(find_trace()),), fitted=True, replay=closed)


def _given(scale: Scale, traces: tuple[str, ...]) -> Experiment:
    most = scale.requests_max
    return _replayed("oltp", "OLTP (given trace)", scale, traces, fitted=scale.divisor > 1, requests_max=most)


def _replayed(
    name: str,
    title: str,
    scale: Scale,
    traces: tuple[str, ...],
    *,
    fitted: bool,
    replay: dict[str, Any] | None = None,
    requests_max: int | None = None,
) -> Experiment:
    """Return a trace on the paper's device, or on one of which it touches the same share as OLTP of the paper's."""
    footprint_bytes = trace.info(traces)["footprint_pages"] * 4096
    capacity_gib = footprint_bytes / OLTP_BYTES * CAPACITY_GIB * scale.divisor if fitted else CAPACITY_GIB
    workload = {"remap": "dense", "repeat": scale.rounds, "requests_max": requests_max}
    scenario = _device(scale, capacity_gib, workload, replay=replay or {})
    cases = _cached(scale, scenario, (BASELINE, CDM, ADAPTIVE), PARTS)
    return Experiment(name, title, scenario, cases, traces, footprint_bytes)
