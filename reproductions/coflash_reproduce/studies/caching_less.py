"""How much of a flash cache should hold data with the costs of today, by OP-FCL's model and by simulation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from coflash import costmodel
from coflash.costmodel import BOTH_EXAMPLE, READS_EXAMPLE, Costs, Demand
from coflash.measures.measure import MEAN, Measure
from coflash.quantity import show
from coflash.results.estimate import Estimate, estimate
from coflash.scenario import Scenario
from coflash_reproduce.paper import Axis, Case, Exhibit, Experiment, Figure, Grid, Line, Row, Runs, tabled
from coflash_reproduce.study import Finding, Study
from coflash_reproduce.text import Text

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
_DEMAND_TITLES = {READS: "reads only", BOTH: "reads and writes"}


@dataclass(frozen=True)
class Scale:
    """The size of the experiments."""

    blocks: int
    pages_per_block: int
    passes: int
    """The requests of a run, over the pages of flash."""
    caching_percent: tuple[int, ...]
    seeds: int
    systems: tuple[str, ...] = tuple(SYSTEMS)


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
        for name in scale.systems
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


def late_ns(runs: Runs, experiment: str) -> dict[float, list[float]]:
    """Return by share the mean response of each seed in the second half of the run, when the cache is warm."""
    found: dict[float, list[float]] = {}
    for run in runs.of(experiment):
        found.setdefault(run.case.at, []).append(run.late_ns)
    return found


def best_share(runs: Runs, experiment: str) -> Estimate:
    """Return the share of least mean response, over the seeds."""
    found = late_ns(runs, experiment)
    seeds = zip(*found.values(), strict=True)
    return estimate([list(found)[values.index(min(values))] / 100 for values in seeds])


def model_best(name: str, demand: str) -> costmodel.Partition:
    """Return the best division by the model."""
    return SYSTEMS[name].costs.best(DEMANDS[demand], 0.01)


def _lines(runs: Runs, experiment: Experiment) -> Sequence[Line]:
    """Return the simulated responses and the model's costs, each over its least."""
    name, demand = experiment.name.rsplit("-", 1)
    found = {share: estimate(values) for share, values in sorted(late_ns(runs, experiment.name).items())}
    least = min(one.mean or 0 for one in found.values())
    points = tuple((share, (one.mean or 0) / least) for share, one in found.items())
    halves = tuple((one.half_width or 0) / least for one in found.values())
    costs = {share: _least_us(SYSTEMS[name].costs, DEMANDS[demand], share / 100) for share in found}
    model = tuple((share, cost / min(costs.values())) for share, cost in costs.items())
    return (Line(FP, points, halves), Line("model", model))


def _least_us(costs: Costs, demand: Demand, u: float) -> float:
    return min(costs.hybrid_us(demand, u, r / 20) for r in range(21))


def _figure(demand: str) -> Figure:
    return Figure(
        {READS: "figure-1", BOTH: "figure-2"}[demand],
        RELATIVE,
        Axis("caching space, share of the flash", "%"),
        tuple(f"{name}-{demand}" for name in SYSTEMS),
        lines=_lines,
    )


RELATIVE = Measure("response over the least", "ratio", MEAN.read)


_MODEL_OR_RUNS = " | ".join(f"u, model, {title} | u, simulated" for title in _DEMAND_TITLES.values())


@tabled(f"| flash: read / program / copy (µs) | store: read / write (µs) | {_MODEL_OR_RUNS}")
def _table(runs: Runs) -> Iterator[Row]:
    for name, system in SYSTEMS.items():
        costs = system.costs
        flash = f"{costs.page_read_us:g} / {costs.page_program_us:g} / {costs.page_copy_us:g}"
        cells = [flash, f"{costs.read_positioning_us:,.0f} / {costs.write_positioning_us:,.0f}"]
        for demand in DEMANDS:
            cells += [f"{model_best(name, demand).u:.2f}", _share(best_share(runs, f"{name}-{demand}"))]
        yield system.title, *cells


def _share(found: Estimate) -> str:
    return f"{found.mean:.2f}" + (f" ± {found.half_width:.2f}" if found.half_width else "")


@tabled("reads and writes, u by the model | store twice as fast | as above | half as fast")
def _sensitivity(_: Runs) -> Iterator[Row]:
    for system in (SYSTEMS[name] for name in ("tlc-disk", "tlc-objects", "tlc-qlc")):
        read_us, write_us = system.costs.read_positioning_us, system.costs.write_positioning_us
        scaled = (
            replace(system.costs, read_positioning_us=factor * read_us, write_positioning_us=factor * write_us)
            for factor in (0.5, 1.0, 2.0)
        )
        yield system.title, *(f"{costs.best(BOTH_EXAMPLE, 0.01).u:.2f}" for costs in scaled)


def _alive(runs: Runs) -> Finding:
    found = {name: best_share(runs, f"{name}-{BOTH}") for name in ("tlc-disk", "tlc-objects")}
    numbers = "; ".join(f"{SYSTEMS[name].title}: {_share(one)}" for name, one in found.items())
    return Finding(min(one.mean or 0 for one in found.values()) >= 0.75, numbers)


def _more_true(runs: Runs) -> Finding:
    then, now = (best_share(runs, f"{name}-{BOTH}") for name in ("2012", "tlc-qlc"))
    return Finding((now.mean or 0) <= (then.mean or 0) - 0.1, f"{_share(then)} in 2012, {_share(now)} before QLC")


def _by_model(runs: Runs) -> Finding:
    gaps = {}
    for name in SYSTEMS:
        for demand in DEMANDS:
            found = late_ns(runs, f"{name}-{demand}")
            means = {share: sum(values) / len(values) for share, values in found.items()}
            nearest = min(means, key=lambda share: abs(share / 100 - model_best(name, demand).u))
            gaps[name, demand] = means[nearest] / min(means.values()) - 1
    worst = max(gaps, key=lambda key: gaps[key])
    numbers = f"at most {show(gaps[worst], 'share')} ({SYSTEMS[worst[0]].title}, {_DEMAND_TITLES[worst[1]]})"
    return Finding(gaps[worst] <= 0.1, numbers)


def _answer(_: Runs) -> dict[str, Any]:
    return {"before_qlc": model_best("tlc-qlc", BOTH).u, "before_disk": model_best("tlc-disk", BOTH).u}


STUDY = Study(
    name="caching-less",
    text=Text.beside(__file__, globals()),
    experiments=experiments,
    hypotheses=(_alive, _more_true, _by_model),
    answer=_answer,
    exhibits=(
        Exhibit("table-1", _table),
        _figure(READS),
        _figure(BOTH),
        Exhibit("table-2", lambda _: Grid.beside(__file__, "caching_less.csv")),
        Exhibit("table-3", _sensitivity),
    ),
)
