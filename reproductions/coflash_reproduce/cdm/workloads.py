"""The device, the workloads and the experiments of the CDM paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from coflash import trace
from coflash.demo import find_trace
from coflash.scenario import Scenario
from coflash.sweep.memory import flash_pages
from coflash_reproduce.paper import Case, Experiment

GIB = 2**30
CAPACITY_GIB, PLANES = 64, 64
"""The capacity of the paper's device, and the number of its planes."""
ROUNDS = 10
"""The number of repetitions of every workload."""
WRITES, FOOTPRINT_GIB = 5_000_000, 20
"""The workloads without a cache: the number of 4 KiB writes, and their address space."""
JEDEC_REQUESTS, JEDEC_BYTES = 5_000_000, 31_200_000_000
OLTP_REQUESTS, OLTP_BYTES, OLTP_READS = 9_034_179, 30_700_000_000, "52%"
UNIFORM_GIB, ZIPF_GIB, SKEW = 14, 21, 0.7
"""The address spaces of the main stand-ins for JEDEC and OLTP, and the exponent of Zipf's law of the latter."""

RANDOM, SEQUENTIAL = "random, repeated", "sequential, repeated"
ONCE, INDEPENDENT = "random, once", "random, never repeated"
ANYWHERE, MIXED = "runs that begin anywhere", "one stream, random writes in between"
UNIFORM_LIVE, ZIPF_LIVE = "JEDEC (uniform)", "OLTP (Zipf 0.7)"
JEDEC_LIVE, OLTP_LIVE = "JEDEC (substitute)", "OLTP (generator)"
LIVE, MAIN_LIVE = (UNIFORM_LIVE, ZIPF_LIVE, JEDEC_LIVE, OLTP_LIVE), (UNIFORM_LIVE, ZIPF_LIVE)
BASELINE, CDM, ADAPTIVE, WEIGHT_0 = "NVM-basic", "CDM", "CDM, adaptive weight", "CDM, weight 0"
OVERWRITES, REMOVABLE = "overwritten pages only", "removable pages only"
ON_CACHE, CONSISTENT = "invalid when cached", "consistent CDM"
HGC, DGC, SGC, CDM_HGC = "HGC", "DGC", "SGC, volatile cache", "CDM and HGC"
MAIN = ("jedec-uniform", "oltp-zipf")
"""The main set-ups, by which the paper's statements are judged; a trace of the user takes the place of the second."""
JEDEC = ("jedec-uniform", "jedec")
OLTP = ("oltp", "oltp-zipf", "oltp-like", "pgbench")
CACHED = (*JEDEC, *OLTP)
SEEDS = {name: f"{name}-seeds" for name in MAIN}
"""The same main set-ups with several seeds."""
_ZONES = [{"traffic": "70%", "space": "30%"}, {"traffic": "30%", "space": "70%"}]
SKEWED = {
    "uniform": ("uniform", ZIPF_GIB),
    "Zipf 0.35": ({"name": "zipf", "exponent": 0.35}, ZIPF_GIB),
    "Zipf 0.7": ({"name": "zipf", "exponent": SKEW}, ZIPF_GIB),
    "Zipf 0.9": ({"name": "zipf", "exponent": 0.9}, ZIPF_GIB),
    "70 % to 30 %": ({"name": "hot-cold", "zones": _ZONES}, ZIPF_GIB),
    "Zipf 0.7, 26 GiB": ({"name": "zipf", "exponent": SKEW}, 26),
}
"""Other choices of what OLTP asks for: the distribution, and the address space in GiB."""
SKEWS = tuple(f"skew-{n}" for n in range(len(SKEWED)))
"""Their experiments."""
BUFFERED = "host-buffer"
VARIED = ("jedec-variants", "zipf-variants", "oltp", "pgbench")
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
VARIANTS = (BASELINE, CDM, OVERWRITES, REMOVABLE, ON_CACHE, CONSISTENT, WEIGHT_0, ADAPTIVE)
PARTS = (WEIGHT_0, OVERWRITES, REMOVABLE, ON_CACHE, CONSISTENT)
"""Variants of CDM, which are run at some cache sizes."""
SUBSETS_GIB = ((0.25, 0.5, 1, 2, 4), (0.5, 1, 2, 4, 8), (1, 2, 4, 8, 16), (0.25, 1, 4, 16), (2, 4, 8, 16))
"""Choices of cache sizes, on 64 GiB."""
UNDER_WAY_MAX = 64
"""The number of parallel requests, eight for each element of the device, from which on a queue never empties."""


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
    cache_gib: tuple[float, ...] = (1, 2, 4, 8, 16)
    """The cache sizes of figures 6 to 9 under both workloads, on a device of 64 GiB."""
    more_gib: tuple[float, ...] = (0.25, 0.5, 1, 2, 4, 8, 16)
    """Those of the main set-ups with several seeds, from which other choices are drawn."""
    seeds: int = 3
    parts_gib: tuple[float, ...] = (1, 4, 8)
    """Those of them at which the variants of CDM are run."""
    buffer_gib: tuple[float, ...] = (0.25, 1)
    """The sizes of a write buffer in the host."""
    small_divisor: int = 16
    """The least divisor of all but the main set-ups and figure 1 (a) and (b)."""
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
    oltp = [_given(scale, traces)] if traces else [*_stand_ins(scale, small, *_OLTP), _pgbench(scale)]
    return (
        _by_capacity(scale),
        _live_by_capacity(small),
        _by_random_share(small),
        *_stand_ins(scale, small, *_JEDEC),
        _host_buffer(small),
        *_skewed(small),
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


def _cached(scenario: Scenario, sizes_gib: Mapping[str, Sequence[float]]) -> tuple[Case, ...]:
    """Return each scheme with caches that have the same shares of the device as these have of the paper's."""
    places = [(line, gib) for line, sizes in sizes_gib.items() for gib in sizes]
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
    zipf = {
        "generator": {"name": "zipf", "exponent": SKEW},
        "requests": OLTP_REQUESTS * scale.rounds // scale.divisor,
        "space": _space(ZIPF_GIB * GIB / scale.divisor),
        "read_share": OLTP_READS,
        "arrival": {"name": "uniform", "max": "6250us"},
    }
    oltp = {
        "name": "oltp-like",
        "requests": OLTP_REQUESTS // scale.divisor,
        "space": _space(OLTP_BYTES / scale.divisor),
        "read_share": OLTP_READS,
    }
    return {
        UNIFORM_LIVE: {"synthetic": uniform},
        ZIPF_LIVE: {"synthetic": zipf},
        JEDEC_LIVE: {"preset": jedec, "repeat": scale.rounds},
        OLTP_LIVE: {"preset": oltp, "repeat": scale.rounds},
    }


def _live_by_capacity(scale: Scale) -> Experiment:
    lines = {line: {f"workload.{key}": of for key, of in each.items()} for line, each in _live(scale).items()}
    cases = [
        Case(line, gib, {**workload, "flash.blocks_per_plane": _blocks(gib / scale.divisor)})
        for line, workload in lines.items()
        for gib in scale.live_gib
    ]
    return Experiment("live-capacity", "no cache", _device(scale, CAPACITY_GIB, {}), tuple(cases))


_BYTES = {UNIFORM_LIVE: UNIFORM_GIB * GIB, ZIPF_LIVE: ZIPF_GIB * GIB, JEDEC_LIVE: JEDEC_BYTES, OLTP_LIVE: OLTP_BYTES}
"""The address spaces, before the division."""


def _generated(
    name: str,
    title: str,
    scale: Scale,
    sizes_gib: Sequence[float],
    lines: Sequence[str] = (BASELINE, CDM),
    seeds: int = 1,
) -> Experiment:
    scenario = _device(scale, CAPACITY_GIB, _live(scale)[title])
    cases = _cached(scenario, dict.fromkeys(lines, sizes_gib))
    return Experiment(name, title, scenario, cases, footprint_bytes=_BYTES[title] // scale.divisor, seeds=seeds)


# JEDEC's stand-ins never read: no clean pages are cached, so none is removable, and the weight has no effect.
_JEDEC = (MAIN[0], UNIFORM_LIVE, ("jedec", JEDEC_LIVE), ("jedec-variants", (CONSISTENT,)))
_OLTP = (MAIN[1], ZIPF_LIVE, ("oltp-like", OLTP_LIVE), ("zipf-variants", (ADAPTIVE, *PARTS)))


def _stand_ins(
    scale: Scale, small: Scale, main: str, title: str, other: tuple[str, str], variants: tuple[str, tuple[str, ...]]
) -> Iterator[Experiment]:
    """Yield a main stand-in, the same with several seeds, another one, and the variants of CDM."""
    yield _generated(main, title, scale, scale.cache_gib)
    yield _generated(SEEDS[main], title, small, scale.more_gib, seeds=scale.seeds)
    yield _generated(*other, small, scale.cache_gib)
    yield _generated(variants[0], title, small, scale.parts_gib, (BASELINE, CDM, *variants[1]))


def _skewed(scale: Scale) -> Iterator[Experiment]:
    """Yield the main stand-in for OLTP with other choices of what it asks for."""
    asked = _live(scale)[ZIPF_LIVE]["synthetic"]
    for name, (title, (generator, gib)) in zip(SKEWS, SKEWED.items(), strict=True):
        space = _space(gib * GIB / scale.divisor)
        scenario = _device(scale, CAPACITY_GIB, {"synthetic": {**asked, "generator": generator, "space": space}})
        yield Experiment(name, title, scenario, _cached(scenario, dict.fromkeys((BASELINE, CDM), scale.cache_gib)))


def _host_buffer(scale: Scale) -> Experiment:
    """Return a write buffer in the host over the device with 2 GiB of cache, and what GC knows of either."""
    # Fewer planes as large as the paper's: each keeps blocks apart for what is dirty in the host.
    planes = {"channels": 1, "planes_per_die": PLANES // scale.divisor, "blocks_per_plane": _blocks(CAPACITY_GIB)}
    scenario = _device(scale, CAPACITY_GIB, _live(scale)[ZIPF_LIVE])
    scenario = scenario.with_({f"flash.{division}": count for division, count in planes.items()})
    # As long as a page may stay dirty, however slowly requests come.
    scenario = scenario.with_({"cache.size": _size(scenario, 2), "host_buffer.dirty_age_max": "10000h"})
    cases = [
        Case(line, 100 * gib / CAPACITY_GIB, {"host_buffer.size": _size(scenario, gib), **scheme})
        for line in (BASELINE, HGC, DGC, SGC, CDM, CDM_HGC)
        for scheme in [{"cooperation": _SCHEMES[line], "cache.volatile": line == SGC}]
        for gib in scale.buffer_gib
    ]
    return Experiment(BUFFERED, ZIPF_LIVE, scenario, tuple(cases), footprint_bytes=_BYTES[ZIPF_LIVE] // scale.divisor)


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
    sizes = dict.fromkeys((BASELINE, CDM, ADAPTIVE), scale.cache_gib)
    cases = _cached(scenario, {**sizes, **dict.fromkeys(PARTS, scale.parts_gib)})
    return Experiment(name, title, scenario, cases, traces, footprint_bytes)
