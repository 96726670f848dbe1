"""What is left of cooperation when a placement policy sorts pages by their lifetime."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from coflash.charts import Chart
from coflash.demo import find_trace
from coflash.scenario import Scenario
from coflash_reproduce.declare import study
from coflash_reproduce.drawing import bars
from coflash_reproduce.paper import Case, Experiment, Runs
from coflash_reproduce.queries import literal
from coflash_reproduce.study import WARM, four_dies

BASE, WITH = "alone", "with"
ONE_BLOCK, FDP = "one block", "fdp"
PLACEMENTS: Mapping[str, Any] = {
    ONE_BLOCK: "none",
    "none": "none",
    "sepgc": "sepgc",
    "dac": "dac",
    "sepbit": "sepbit",
    FDP: {"name": "fdp", "handles": 2, "isolation": "persistently"},
}
PLACEMENT_NAMES = tuple(PLACEMENTS)
CDM, SHADOWS, TIER = "cdm", "shadowgc", "op-fcl"
SYSTEMS: Mapping[str, tuple[str, str]] = {
    CDM: ("CDM", "no cooperation"),
    SHADOWS: ("ShadowGC (SGC)", "GGC"),
    TIER: ("OP-FCL", "FP-FCL, 80 % for caching"),
}
"""The systems, and the baseline of each."""
PGBENCH, ZIPF, TENANTS = "pgbench", "zipf", "tenants"
WORKLOADS = {PGBENCH: "pgbench (trace)", ZIPF: "Zipf 1.0, half reads", TENANTS: "two tenants"}
ALIKE = 0.01
"""The relative difference up to which two results are called the same."""


@dataclass(frozen=True)
class Scale:
    """The size of the experiments."""

    requests: int
    seeds: int
    with_trace: bool = True
    tier_over: int = 2
    """The requests to OP-FCL's flash, which begins empty, over those to the others."""


SCALES = {"quick": Scale(60_000, 2, with_trace=False), "full": Scale(120_000, 3, tier_over=32)}


def experiments(scale_name: str, _: tuple[str, ...]) -> tuple[Experiment, ...]:
    """Return the experiments: each system on each workload, with and without it, under each placement."""
    scale = SCALES[scale_name]
    found = []
    for system in SYSTEMS:
        for workload in WORKLOADS:
            if workload == PGBENCH and (system == TIER or not scale.with_trace):
                continue
            scenario = (_tier if system == TIER else _device)(workload, scale)
            title = f"{SYSTEMS[system][0]}, {WORKLOADS[workload]}"
            trace = (str(find_trace()),) if workload == PGBENCH else ()
            seeds = 1 if trace else scale.seeds
            cases = tuple(_cases(system, workload))
            found.append(Experiment(_name(system, workload), title, scenario, cases, trace, seeds=seeds))
    return tuple(found)


def _name(system: str, workload: str) -> str:
    return f"{system}-{workload}"


def _placements(system: str, workload: str) -> list[str]:
    """Return the placements; handles go by tenant, and the tier's flash knows no tenants."""
    return [name for name in PLACEMENTS if name != FDP or (workload == TENANTS and system != TIER)]


def _cases(system: str, workload: str) -> Iterator[Case]:
    schemes: Mapping[str, tuple[Any, Any]] = {
        CDM: ("none", {"name": "cdm", "removable_weight": 1.0, "rewrite_stream": "gc"}),
        SHADOWS: ("ggc", "sgc"),
        TIER: ({"name": "fp-fcl", "caching": "80%"}, "op-fcl"),
    }
    key = "hybrid.scheme" if system == TIER else "cooperation"
    buffers: dict[str, Any] = {}
    if system == SHADOWS:
        own, host = ("8MiB", "64MiB") if workload == PGBENCH else ("256KiB", "1MiB")
        buffers = {"cache.size": own, "cache.volatile": True, "cache.read_allocate": False, "host_buffer.size": host}
        buffers["precondition.through_caches"] = False  # a buffer in the host begins empty
    elif system == CDM:
        buffers = {"cache.size": "64MiB" if workload == PGBENCH else "2%"}
    for line, scheme in zip((BASE, WITH), schemes[system], strict=True):
        for placement in _placements(system, workload):
            place = list(PLACEMENTS).index(placement)
            streams = {"ftl.shared_streams": [["host", "evict", "gc"]]} if placement == ONE_BLOCK else {}
            yield Case(line, place, {key: scheme, "ftl.placement": PLACEMENTS[placement], **streams, **buffers})


def _requests(workload: str, requests: int, space: str | None, mean: str | None) -> dict[str, Any]:
    """Return a generated workload: over a space if not all of the device, at times if not in a closed loop."""
    arrival = {"arrival": {"name": "poisson", "mean": mean}} if mean else {}
    generator = {"name": "zipf", "exponent": 1.0}
    common = {"read_share": "50%", **arrival}
    if workload == ZIPF:
        own = {"space": space} if space else {}
        return {"synthetic": {"generator": generator, "requests": requests, **own, **common}}
    half = {"requests": requests // 2, **common}
    tenants = [
        {"name": "hot", "placement": 0, "space": "50%", "synthetic": {"generator": generator, **half}},
        {"name": "even", "placement": 1, "space": "50%", "synthetic": {"generator": "uniform", **half}},
    ]
    if space:
        tenants = [tenant | {"space": space} for tenant in tenants]
    return {"tenants": tenants}


def _device(workload: str, scale: Scale) -> Scenario:
    """Return the device of `demo` as one pool of superblocks; for generators a smaller one with as many superblocks."""
    pools = {"name": "placement", "ftl.pools": "device", "gc.low_mark": 8}
    if workload == PGBENCH:
        return Scenario.load("demo").with_({**WARM, **pools})
    small = four_dies(512).with_({**pools, "flash.pages_per_block": 8, "ftl.spare.share": "12%"})
    return Scenario.from_dict(
        small.to_dict() | {"workload": {"remap": "none", **_requests(workload, scale.requests, None, None)}}
    )


def _tier(workload: str, scale: Scale) -> Scenario:
    """Return OP-FCL's configuration 1 with a smaller flash cache, whose copies have a block of their own."""
    values = Scenario.load("opfcl-config1").to_dict()
    values["ftl"].pop("shared_streams")
    values["name"] = "placement-tier"
    space, mean = ("256MiB", "4ms") if workload == ZIPF else ("128MiB", "8ms")
    values["workload"] = {"remap": "dense", **_requests(workload, scale.tier_over * scale.requests, space, mean)}
    changes = {"flash.blocks_per_plane": 512, "hybrid.segment": "4MiB", "hybrid.period_requests": 8192}
    return Scenario.from_dict(values).with_(changes)


def _draw(runs: Runs) -> list[Chart]:
    found: list[tuple[str, Chart]] = []
    drawn = [name for name in PLACEMENTS if name != "sepgc"]  # it is as none in each row
    for measure, label in (("waf", "WAF"), ("response", "mean response")):
        query = f"""select system, title, placement, 100 * {measure}, 100 * coalesce({measure}_half, 0)
            from placed where list_contains({literal(drawn)}, placement) order by rank, place"""  # noqa: S608
        changes: dict[str, dict[str, dict[str, float]]] = {}
        halves: dict[str, dict[tuple[str, str], float]] = {}
        for system, workload, placement, change, half in STUDY.queries.rows(query, runs)[1]:
            changes.setdefault(system, {}).setdefault(workload, {})[placement] = change
            halves.setdefault(system, {})[workload, placement] = half
        for system, of in changes.items():
            chart = bars(
                of,
                f"{label}, change (%)",
                halves=halves[system],
                inches=(3.4, 2.3),
                title=" against ".join(SYSTEMS[system]),
                legend=not found,
                names=drawn,
            )
            found.append((system, chart))
    return [chart for system in SYSTEMS for name, chart in found if name == system]


STUDY = study(globals(), pictures={"figure-1": _draw})
