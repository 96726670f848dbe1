"""The two configurations, the workloads and the experiments of the OP-FCL paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from coflash import trace
from coflash._core import quantity
from coflash.demo import find_trace
from coflash.scenario import Scenario
from coflash_reproduce.paper import Case, Experiment

GIB = 2**30
FP, RW, OP = "FP-FCL", "RW-FCL", "OP-FCL"
MEASURED = "OP-FCL, measured costs"
"""Our variant: the cost model uses the measured times of disks and garbage collection, and of requests that wait."""
STEADY = "OP-FCL, steady resizing"
"""The paper's model; a write cache shrinks by a fixed number of pages per request, whatever the load of the disks."""
OURS = (OP, MEASURED, STEADY)
"""The schemes that divide all flash by themselves."""
CONFIG_1 = ("financial", "home", "search", "pgbench", "given")
CONFIG_2 = ("exchange", "msn")
BY_UNIT, BY_PERIOD, BY_SEGMENT = "by-unit", "by-period", "by-segment"
BACKGROUND, RIVALS = "background", "rivals"
SILENT, FP_BY_CLASS, OP_BY_CLASS = "silent eviction", "FP-FCL, blocks by class", "OP-FCL, blocks by class"
"""Rivals: GC drops clean pages, since the disk holds them; clean and dirty pages have blocks of their own."""
SENSITIVE = ("financial", "home", "search", "given")
"""The workload of the sensitivity to the detector's unit, the resizer's period and its step."""

INITIAL_PERCENT = 95
"""The initial caching space of OP-FCL."""
UNIT_KIB, PERIOD_LOG2, SEGMENT_MIB = 128, 16, 256
FINANCIAL_REQUESTS = 5_334_987
"""The mean interval of Financial1."""


@dataclass(frozen=True)
class Scale:
    """The size of the experiments."""

    divisor: int
    """The divisor of the paper's flash, segment and period, and of address spaces and requests."""
    caching_percent: tuple[int, ...] = (40, 50, 60, 70, 80, 90, 95)
    """The fixed shares of caching space."""
    rivals_percent: tuple[int, ...] = (80, 95)
    """The shares at which the rivals are run."""
    units_kib: tuple[int, ...] = (16, 32, 64, 128, 256, 512)
    periods_log2: tuple[int, ...] = (12, 13, 14, 15, 16, 17, 18)
    """The requests of a period as powers of two, before the division."""
    segments_mib: tuple[int, ...] = (64, 128, 256, 512)
    """The sizes of a segment, before the division."""
    requests_max: int | None = None
    """The maximum of requests from a trace of the user; None for all."""


SCALES = {"quick": Scale(16, requests_max=1_000_000), "full": Scale(1)}


def experiments(scale_name: str, traces: tuple[str, ...]) -> tuple[Experiment, ...]:
    """Return the experiments.

    Raises:
        CoflashError: A trace cannot be read.
    """
    scale = SCALES[scale_name]
    if traces:
        first = [_given(scale, traces)]
    else:
        first = [_made_up(scale, name, 1) for name in ("financial", "home", "search")] + [_pgbench(scale)]
    second = [_made_up(scale, name, 2) for name in CONFIG_2]
    sensitive = [_by_unit(scale, one) for one in first if one.name in SENSITIVE]
    sensitive += [_by_period(scale, one) for one in first if one.name in SENSITIVE]
    sensitive += [_by_segment(scale, one) for one in first if one.name in SENSITIVE]
    background = [_in_background(one) for one in first]
    return (*first, *second, *sensitive, *background, *(_with_rivals(scale, one) for one in (*first, *second)))


def in_background(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the experiments in which no write waits for destaging."""
    return tuple(f"{name}-{BACKGROUND}" for name in names)


def with_rivals(name: str) -> str:
    """Return the name of the experiment of the rivals."""
    return f"{name}-{RIVALS}"


def sensitivity(kind: str) -> tuple[str, ...]:
    """Return the names of the experiments on `BY_UNIT`, `BY_PERIOD` or `BY_SEGMENT`."""
    return tuple(f"{name}-{kind}" for name in SENSITIVE)


def flash_bytes(scenario: Scenario) -> int:
    """Return the size of all flash."""
    flash = scenario.to_dict()["flash"]
    divisions = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "blocks_per_plane")
    pages: int = math.prod(flash[division] for division in (*divisions, "pages_per_block"))
    return 4096 * pages


_TITLES = {
    "financial": "Financial-like",
    "home": "Home-like",
    "search": "Search-like",
    "exchange": "Exchange-like",
    "msn": "MSN-like",
}


def _workload(name: str, divisor: int) -> dict[str, Any]:
    """Return the stand-in for one of the paper's traces.

    Shares of reads, sizes and numbers of requests are those of the published traces, as far as we know them; skew,
    address spaces and times are our choice, made once and not fitted to a result.
    """

    def space(gib: float) -> str:
        return f"{int(gib * GIB / divisor) // 2**20 * 2**20}B"

    if name == "financial":
        return {"preset": {"name": "oltp-like", "requests": FINANCIAL_REQUESTS // divisor, "space": space(16)}}
    requests, gib, rest = {
        # Writes to home directories: nine of ten go to a quarter of the space.
        "home": (
            8_000_000,
            8,
            {
                "generator": {"name": "hot-cold", "zones": _zones((60, 5), (30, 20), (10, 75))},
                "read_share": "10%",
                "arrival": {"name": "poisson", "mean": "8ms"},
            },
        ),
        # WebSearch reads only, 15 KiB on average.
        "search": (
            4_000_000,
            16,
            {
                "generator": {"name": "zipf", "exponent": 0.9, "scatter_block": "64KiB"},
                "read_share": "100%",
                "size": {"name": "fixed", "size": "16KiB"},
                "align": "16KiB",
                "arrival": {"name": "poisson", "mean": "12ms"},
            },
        ),
        "exchange": (12_000_000, 48, _server("45%")),
        "msn": (12_000_000, 36, _server("67%")),
    }[name]
    return {"synthetic": {"requests": requests // divisor, "space": space(gib), **rest}}


def _server(read_share: str) -> dict[str, Any]:
    """Return Exchange or MSN: small requests to places of very unequal popularity."""
    return {
        "generator": {"name": "zipf", "exponent": 0.99, "scatter_block": "64KiB"},
        "read_share": read_share,
        "size": {"name": "fixed", "size": "8KiB"},
        "align": "8KiB",
        "arrival": {"name": "poisson", "mean": "6ms"},
    }


def _zones(*shares: tuple[int, int]) -> list[dict[str, str]]:
    return [{"traffic": f"{traffic}%", "space": f"{space}%"} for traffic, space in shares]


def _device(configuration: int, divisor: float, workload: dict[str, Any], **tables: Any) -> Scenario:
    """Return a configuration of the paper with flash, segment and period divided."""
    values = Scenario.load(f"opfcl-config{configuration}").to_dict()
    hybrid = {
        **values["hybrid"],
        "segment": f"{round(SEGMENT_MIB * 2**20 / divisor) // 4096 * 4096}B",
        "period_requests": round(2**PERIOD_LOG2 / divisor),
    }
    flash = {**values["flash"], "blocks_per_plane": round(values["flash"]["blocks_per_plane"] / divisor)}
    return Scenario.from_dict({**values, "flash": flash, "hybrid": hybrid, "workload": workload, **tables})


def _partitions(scale: Scale) -> tuple[Case, ...]:
    """Return each scheme; OP-FCL has one run per line, since it chooses its own shares."""
    fixed = [
        Case(line, share, {"hybrid.scheme": {"name": name, "caching": f"{share}%"}})
        for line, name in ((FP, "fp-fcl"), (RW, "rw-fcl"))
        for share in scale.caching_percent
    ]
    return (*fixed, *(Case(line, INITIAL_PERCENT, _op_fcl(line)) for line in OURS))


def _op_fcl(line: str = OP) -> dict[str, Any]:
    costs = "measured" if line == MEASURED else "constants"
    return {
        "hybrid.scheme": {"name": "op-fcl", "initial_caching": f"{INITIAL_PERCENT}%", "costs": costs},
        "hybrid.resizing": "steady" if line == STEADY else "yielding",
    }


def _made_up(scale: Scale, name: str, configuration: int) -> Experiment:
    workload = {"remap": "none", **_workload(name, scale.divisor)}
    scenario = _device(configuration, scale.divisor, workload)
    return Experiment(name, _TITLES[name], scenario, _partitions(scale))


def _pgbench(scale: Scale) -> Experiment:
    # Recorded on a faster device: its clients wait for answers here as they did there.
    replay = {"mode": "closed", "queue_depth": 8}
    rounds = 2 if scale.divisor > 1 else 6
    return _fitted("pgbench", "pgbench (recorded)", scale, (str(find_trace()),), replay=replay, repeat=rounds)


def _given(scale: Scale, traces: tuple[str, ...]) -> Experiment:
    if scale.divisor > 1:
        return _fitted("given", "given trace", scale, traces, requests_max=scale.requests_max)
    scenario = _device(1, 1, {"remap": "dense"})
    return Experiment("given", "given trace", scenario, _partitions(scale), traces)


def _fitted(
    name: str, title: str, scale: Scale, traces: Sequence[str], replay: dict[str, Any] | None = None, **workload: Any
) -> Experiment:
    """Return a trace on a device with half as much flash as it touches."""
    footprint_bytes = trace.info(traces)["footprint_pages"] * 4096
    divisor = 4 * GIB / (footprint_bytes / 2)
    scenario = _device(1, divisor, {"remap": "dense", **workload}, **({"replay": replay} if replay else {}))
    return Experiment(name, title, scenario, _partitions(scale), tuple(traces), footprint_bytes)


def _by_unit(scale: Scale, of: Experiment) -> Experiment:
    cases = tuple(Case(OP, unit, {**_op_fcl(), "hybrid.sequential_unit": f"{unit}KiB"}) for unit in scale.units_kib)
    return Experiment(f"{of.name}-{BY_UNIT}", of.title, of.scenario, cases)


def _by_period(scale: Scale, of: Experiment) -> Experiment:
    cases = tuple(
        Case(OP, 2 ** (power - 10), {**_op_fcl(), "hybrid.period_requests": max(1, 2**power // scale.divisor)})
        for power in scale.periods_log2
    )
    return Experiment(f"{of.name}-{BY_PERIOD}", of.title, of.scenario, cases)


def _by_segment(scale: Scale, of: Experiment) -> Experiment:
    usual_bytes, _ = quantity(of.scenario.to_dict()["hybrid"]["segment"])

    def segment(mib: int) -> str:
        return f"{int(usual_bytes * mib / SEGMENT_MIB) // 4096 * 4096}B"

    cases = tuple(
        Case(line, mib, {**_op_fcl(line), "hybrid.segment": segment(mib)})
        for line in (OP, MEASURED)
        for mib in scale.segments_mib
    )
    return Experiment(f"{of.name}-{BY_SEGMENT}", of.title, of.scenario, cases)


def _in_background(of: Experiment) -> Experiment:
    """Return the same without RW-FCL and without writes that wait for destaging."""
    cases = tuple(
        Case(one.line, one.at, {**one.changes, "hybrid.destaging": "background"}) for one in of.cases if one.line != RW
    )
    return Experiment(f"{of.name}-{BACKGROUND}", of.title, of.scenario, cases, of.trace, of.footprint_bytes)


def _with_rivals(scale: Scale, of: Experiment) -> Experiment:
    by_class = {"hybrid.active_blocks": "by-class", "ftl.shared_streams": [["host", "gc"]]}
    fixed = {SILENT: ("silent-eviction", {}), FP_BY_CLASS: ("fp-fcl", by_class)}
    cases = [
        Case(line, share, {"hybrid.scheme": {"name": name, "caching": f"{share}%"}, **more})
        for line, (name, more) in fixed.items()
        for share in scale.rivals_percent
    ]
    cases.append(Case(OP_BY_CLASS, INITIAL_PERCENT, {**_op_fcl(), **by_class}))
    return Experiment(with_rivals(of.name), of.title, of.scenario, tuple(cases), of.trace, of.footprint_bytes)
