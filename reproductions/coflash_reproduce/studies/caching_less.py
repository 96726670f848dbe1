"""How much of a flash cache should hold data with the costs of today, by OP-FCL's model and by simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from coflash import costmodel
from coflash.costmodel import BOTH_EXAMPLE, READS_EXAMPLE, Costs, Demand
from coflash.results.estimate import estimate
from coflash.scenario import Scenario
from coflash_reproduce.declare import study
from coflash_reproduce.paper import Case, Experiment

TRANSFER_US = 3.4
"""4 KiB at 1.2 GB/s."""
FP = "simulated, FP-FCL"


@dataclass(frozen=True)
class System:
    """Flash before a slower store; times in microseconds, of 4 KiB."""

    title: str
    costs: Costs
    transfer_us: float = TRANSFER_US

    @property
    def read_us(self) -> float:
        """The time of a flash read without its transfer."""
        return self.costs.page_read_us - self.transfer_us

    @property
    def program_us(self) -> float:
        """The time of a program without its transfer."""
        return self.costs.page_program_us - self.transfer_us


def _today(flash: tuple[float, float], store: tuple[float, float, int]) -> Costs:
    """Return costs from (read, program) of flash and (read, write, bytes per second) of the store."""
    read, program = flash
    return Costs(256, program + TRANSFER_US, read + TRANSFER_US, read + program, 300.0, *store)


_TLC, _QLC = (45.0, 50.0), (145.0, 341.0)
_DISK, _OBJECTS, _QLC_STORE = (12_400.0, 12_400.0, 175_000_000), (1e5, 1e5, 85_000_000), (*_QLC, 1_200_000_000)
SYSTEMS: Mapping[str, System] = {
    "2012": System("SLC before a 10K disk (2012)", Costs(), 100.0),
    "tlc-disk": System("TLC before a 7.2K disk", _today(_TLC, _DISK)),
    "qlc-disk": System("QLC before a 7.2K disk", _today(_QLC, _DISK)),
    "tlc-objects": System("TLC before an object store", _today(_TLC, _OBJECTS)),
    "tlc-qlc": System("TLC before QLC flash", _today(_TLC, _QLC_STORE)),
}
READS, BOTH = "reads", "both"
DEMANDS: Mapping[str, Demand] = {READS: READS_EXAMPLE, BOTH: BOTH_EXAMPLE}


UNSTEADY_TOO = "a flash cache before disks begins empty, so that the second half of each run counts"


@dataclass(frozen=True)
class Scale:
    """The size of the experiments."""

    blocks: int
    pages_per_block: int
    passes: int
    """The requests of a run, over the pages of flash."""
    caching_percent: tuple[int, ...]
    seeds: int


SCALES = {
    "quick": Scale(256, 64, 8, (30, 45, 60, 75, 90), 2),
    "full": Scale(256, 128, 12, (20, 30, 40, 50, 60, 70, 80, 85, 90, 95), 3),
}


def experiments(scale_name: str, _: tuple[str, ...]) -> tuple[Experiment, ...]:
    """Return the experiments: for each system and demand the fixed shares of caching space."""
    scale = SCALES[scale_name]
    cases = tuple(
        Case(FP, share, {"hybrid.scheme": {"name": "fp-fcl", "caching": f"{share}%"}})
        for share in scale.caching_percent
    )
    return tuple(
        Experiment(
            f"{name}-{demand}", SYSTEMS[name].title, _device(scale, SYSTEMS[name], demand), cases, seeds=scale.seeds
        )
        for demand in DEMANDS
        for name in SYSTEMS
    )


def _device(scale: Scale, system: System, demand: str) -> Scenario:
    pages = scale.blocks * scale.pages_per_block
    costs = system.costs
    changes = {
        "flash.blocks_per_plane": scale.blocks,
        "flash.pages_per_block": scale.pages_per_block,
        "timing.page_read": f"{round(1000 * system.read_us)}ns",
        "timing.page_program": f"{round(1000 * system.program_us)}ns",
        "timing.block_erase": f"{round(1000 * costs.block_erase_us * scale.pages_per_block / costs.pages_per_block)}ns",
        "timing.sector_transfer": f"{round(1000 * system.transfer_us / 8)}ns",
        "ftl.summary": "off",
        "hybrid.segment": f"{pages * 4096 // 64 // 4096 * 4}KiB",
        "hybrid.destaging": "foreground",
        "hybrid.destage_pages": 1,
        "hybrid.disks.model": {
            "name": "constant",
            "read_positioning": f"{round(costs.read_positioning_us)}us",
            "write_positioning": f"{round(costs.write_positioning_us)}us",
            "bandwidth_per_s": f"{costs.bandwidth_bytes_per_s}B",
            "capacity": "36GB",
        },
        "replay": {"mode": "closed", "queue_depth": 1},
    }
    values = Scenario.load("opfcl-config1").with_(changes).to_dict()
    return Scenario.from_dict({**values, "workload": {"remap": "none", **_workload(scale, demand, pages)}})


def _workload(scale: Scale, demand: str, pages: int) -> dict[str, Any]:
    """Return the model's example as requests: zones of 1 % of flash, each with the traffic of its rank."""
    requests = scale.passes * pages

    def tenant(exponent: float, working_set: float, count: int, read_percent: int) -> dict[str, Any]:
        segment_pages = pages // 100
        hits = costmodel.zipf_hit_rates(exponent, working_set)
        shares = [round(1e7 * share) for share in (hits[0], *(after - before for before, after in pairwise(hits)))]
        shares[0] += 10**7 - sum(shares)
        spaces = [10**7 // len(hits)] * len(hits)
        spaces[0] += 10**7 - sum(spaces)
        zones = [
            {"traffic": f"{traffic / 1e5}%", "space": f"{space / 1e5}%"}
            for traffic, space in zip(shares, spaces, strict=True)
        ]
        return {
            "name": f"zipf-{exponent}",
            "space": f"{4 * segment_pages * len(hits)}KiB",
            "synthetic": {
                "generator": {"name": "hot-cold", "zones": zones},
                "requests": count,
                "read_share": f"{read_percent}%",
            },
        }

    if demand == READS:
        return {"tenants": [tenant(1.2, 1.2, requests, 100)]}
    return {"tenants": [tenant(1.2, 1.2, requests // 5, 100), tenant(1.4, 2.2, requests * 4 // 5, 20)]}


def costs_of(system: str) -> list[float]:
    """Return the times of a flash read, program and copy, and of a read and a write of the store."""
    costs = SYSTEMS[system].costs
    flash = (costs.page_read_us, costs.page_program_us, costs.page_copy_us)
    return [*flash, costs.read_positioning_us, costs.write_positioning_us]


def best_by_model(system: str, demand: str, slowness: float) -> float:
    """Return the best share by the model, for a store that is `slowness` times as slow."""
    costs = SYSTEMS[system].costs
    read_us, write_us = slowness * costs.read_positioning_us, slowness * costs.write_positioning_us
    store = replace(costs, read_positioning_us=read_us, write_positioning_us=write_us)
    return store.best(DEMANDS[demand], 0.01).u


def cost_by_model(system: str, demand: str, share: float) -> float:
    """Return the model's cost of a request with the best share of read cache."""
    return min(SYSTEMS[system].costs.hybrid_us(DEMANDS[demand], share, r / 20) for r in range(21))


def hundredths(values: list[float]) -> str:
    """Show a mean of shares, with its interval where it has one."""
    found = estimate(values)
    return f"{found.mean:.2f}" + (f" ± {found.half_width:.2f}" if found.half_width else "")


STUDY = study(globals())
