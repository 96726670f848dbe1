"""What a host's write buffer, a cache in NVM and a flash cache before disks save together, and what each alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

from coflash.demo import find_trace
from coflash.results.why import shapley
from coflash.scenario import Scenario
from coflash.sweep.memory import flash_bytes
from coflash_reproduce.declare import study
from coflash_reproduce.opfcl import reading
from coflash_reproduce.opfcl import workloads as opfcl
from coflash_reproduce.paper import Case, Experiment, Run

BUFFER, NVM, TIER = "write buffer (HGC)", "NVM cache (CDM)", "OP-FCL"
PARTS = (BUFFER, NVM, TIER)
SETS = tuple(frozenset(some) for count in range(4) for some in combinations(PARTS, count))
"""All sets of parts; the place of a case is the number of its set."""
KNOWLEDGE, TIERS = "knowledge", "tiers"
"""All memories are there, and a part is what GC knows of one, or how flash is divided; or the memory is a part, too."""
ZIPF, PGBENCH = "zipf", "pgbench"
WORKLOADS = {ZIPF: "Zipf 1.0, half reads", PGBENCH: "pgbench (trace)"}
CACHING, MEMORIES, BUFFERS = (70, 80, 90, 95), ("2MiB", "4MiB", "16MiB"), ("512KiB", "2MiB")
"""The law: shares of the flash for caching, in %, sizes of the cache in NVM and of the write buffer before 128 MiB."""
LAW = {f"law {nvm} {buffer}": [nvm, buffer] for buffer in BUFFERS for nvm in MEMORIES}
NAMED = [f"law {nvm} {BUFFERS[-1]}" for nvm in MEMORIES]
"""The experiments of the law, and those of its figure."""
OWN, SPARED, MEASURED = 0, -1, -2
"""The places of OP-FCL as it is, of one that counts what GC is spared, and of one with measured costs."""
PARTITIONERS: dict[int, Any] = {
    OWN: "op-fcl",
    SPARED: {"name": "op-fcl", "costs": "spared"},
    MEASURED: {"name": "op-fcl", "costs": "measured"},
}
STAND_INS = {f"stand-in {name}": name for name in (*opfcl.FIRST, *opfcl.CONFIG_2)}
"""The workloads of the OP-FCL paper, of which there are stand-ins."""
FLASH_OVER_CACHE = 8
"""The flash of a stand-in over its cache in NVM."""
UNKNOWN, KNOWN = "nothing known", "both known"
HALF = (0.4, 0.6)
"""What is called half of a bill."""
LEAST = 0.05
"""The least relative saving that counts as one."""


UNSTEADY_TOO = (
    "a flash cache before disks begins empty and cannot be warmed up, so that the law counts after the first third"
)


@dataclass(frozen=True)
class Scale:
    """The size of the experiments."""

    requests: int
    seeds: int
    with_trace: bool = True
    rounds: int = 3
    """The requests of the law over those of the rest; the first part of them is not counted."""


SCALES = {"quick": Scale(120_000, 2, with_trace=False), "full": Scale(240_000, 3)}


def experiments(scale_name: str, _: tuple[str, ...]) -> tuple[Experiment, ...]:
    """Return the experiments: each set of parts on each workload."""
    scale, cases = SCALES[scale_name], tuple(_cases())
    found = [Experiment(ZIPF, WORKLOADS[ZIPF], _generated(scale), cases, seeds=scale.seeds)]
    longer = _generated(replace(scale, requests=scale.rounds * scale.requests))
    for name, (nvm, buffer) in LAW.items():
        device = longer.with_({"cache.size": nvm, "host_buffer.size": buffer})
        title = f"cache {nvm}, buffer {buffer}"
        found.append(Experiment(name, title, device, tuple(_law(scale)), seeds=scale.seeds))
    if scale.with_trace:
        found += _stand_ins(scale_name, scale.seeds)
        trace = (str(find_trace()),)
        found.append(Experiment(PGBENCH, WORKLOADS[PGBENCH], _traced(), cases, trace, seeds=1))  # nothing draws by it
    return tuple(found)


def _cases() -> Iterator[Case]:
    for line in (KNOWLEDGE, TIERS):
        for place, parts in enumerate(SETS):
            schemes = {(False, False): "none", (True, False): "hgc", (False, True): "cdm", (True, True): "cdm-hgc"}
            changes: dict[str, Any] = {"cooperation": schemes[BUFFER in parts, NVM in parts]}
            changes["hybrid.scheme"] = "op-fcl" if TIER in parts else {"name": "fp-fcl", "caching": "80%"}
            if line == TIERS:
                missing = {"host_buffer.size": BUFFER, "cache.size": NVM}
                changes |= {key: "0B" for key, part in missing.items() if part not in parts}
            yield Case(line, place, changes)


def _law(scale: Scale) -> Iterator[Case]:
    """Yield each division of the flash with and without knowledge, whole and up to where counting begins."""
    for (place, scheme), known, begin in product(_schemes(*CACHING).items(), (UNKNOWN, KNOWN), (True, False)):
        if known == KNOWN or place >= OWN:  # without knowledge nothing is spared
            changes: dict[str, Any] = {"hybrid.scheme": scheme}
            changes |= {"cooperation": "none" if known == UNKNOWN else "cdm-hgc"}
            changes |= {"workload.requests_max": scale.requests} if begin else {}
            yield Case(f"{known}, begin" if begin else known, place, changes)


def _schemes(*shares: int) -> dict[int, Any]:
    """Return what divides the flash, by place: fixed shares in %, and the partitioners."""
    return {share: {"name": "fp-fcl", "caching": f"{share}%"} for share in shares} | PARTITIONERS


def _stand_ins(scale_name: str, seeds: int) -> Iterator[Experiment]:
    """Yield the partitioners under the workloads of the OP-FCL paper, below a cache in NVM."""
    known = {one.name: one for one in opfcl.experiments(scale_name, ())}
    for title, name in STAND_INS.items():
        one = known[name]
        cache = {
            "cache.size": f"{flash_bytes(one.scenario) // FLASH_OVER_CACHE // 4096 * 4}KiB",
            "hybrid.resizing": "yielding",
        }
        cases = (
            Case(line, place, {"hybrid.scheme": scheme, "cooperation": "none" if line == UNKNOWN else "cdm", **cache})
            for (place, scheme), line in product(_schemes(opfcl.BEST[name][0]).items(), (UNKNOWN, KNOWN))
            if line == KNOWN or place >= OWN
        )
        yield replace(one, name=title, cases=tuple(cases), seeds=seeds)


def _device(blocks: int, buffer: str, cache: str, segment: str) -> Scenario:
    """Return configuration 1 of OP-FCL with a smaller flash, below a cache and a write buffer."""
    changes = {"flash.blocks_per_plane": blocks, "hybrid.segment": segment, "hybrid.period_requests": 8192}
    memories = {"host_buffer.size": buffer, "host_buffer.dirty_age_max": "10min", "cache.size": cache}
    fast = {"timing.page_program_fast": "100us", "hybrid.disks.model.capacity": "2GB"}
    return Scenario.load("opfcl-config1").with_({**changes, **memories, **fast})


def _generated(scale: Scale) -> Scenario:
    generator = {"name": "zipf", "exponent": 1.0}
    arrival = {"name": "poisson", "mean": "4ms"}
    own = {"requests": scale.requests, "space": "256MiB", "read_share": "50%"}
    values = _device(512, "2MiB", "4MiB", "4MiB").to_dict()
    values["workload"] = {"remap": "dense", "synthetic": {"generator": generator, "arrival": arrival, **own}}
    return Scenario.from_dict(values | {"name": "all-three"})


def _traced() -> Scenario:
    values = _device(2048, "8MiB", "16MiB", "16MiB").to_dict()
    values["workload"], values["replay"] = {"remap": "dense"}, {"mode": "closed", "queue_depth": 8}
    return Scenario.from_dict(values | {"name": "all-three"})


TITLES = tuple(" + ".join(part for part in PARTS if part in parts) or "none of them" for parts in SETS)


def shapley_of(savings: list[float]) -> list[float]:
    """Return the exact share of each part in what all save, given what each set saves."""
    return [*shapley(PARTS, lambda parts: savings[SETS.index(parts)]).values()]


def late_erases(run: Run) -> float:
    """Return the erases in the second half of a run."""
    erases = run.result().series()["erases_blocks"]
    return float(erases[len(erases) // 2 :].sum())


def caching(run: Run) -> float:
    """Return the share of the flash for caching at the end of a run."""
    return reading.caching(run)[-1]


STUDY = study(globals())
