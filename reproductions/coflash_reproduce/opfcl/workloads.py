"""The two configurations, the workloads and the experiments of the OP-FCL paper."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
OURS = (OP, MEASURED)
"""The schemes that divide all flash by themselves."""
CONFIG_1 = ("financial", "home", "search", "pgbench", "given")
CONFIG_2 = ("exchange", "msn")
DAYS = ("days", "server-days")
"""The workloads with phases, under configurations 1 and 2."""
VARIED = {
    "financial-narrow": "financial",
    "home-slow": "home",
    "home-still": "home",
    "exchange-flat": "exchange",
    "msn-flat": "msn",
}
"""Stand-ins that differ in one thing from another."""
MECHANICAL = {"name": "mechanical", "write_cache": False}
"""The Atlas 10K, whose parameters DiskSim has; the paper names the Atlas 10K IV."""
DISK_BYTES = 8_984_504 * 2**10
"""Its size."""
CONSTANT_DISK: dict[str, Any] = {
    "hybrid.disks.model": Scenario.load("opfcl-config1").to_dict()["hybrid"]["disks"]["model"],
    "hybrid.disks.scheduler": "fcfs",
}
"""One with the paper's mean times."""
CONSTANT = "constant"
"""The experiments with a disk of constant times, which serves transfers as they come."""
PHASES = {"home": 20, "home-slow": 5}
"""How often the hot set of Home moves on."""
BY_UNIT, BY_PERIOD = "by-unit", "by-period"
BACKGROUND, RIVALS = "background", "rivals"
SILENT = "silent eviction"
"""A rival: GC drops clean pages, since the disk holds them."""
FP_THROUGH, OP_THROUGH = "FP-FCL, write-through", "OP-FCL, write-through"
"""Variants: the disk gets each write at once."""
SENSITIVE = ("financial", "home", "search", *CONFIG_2, "given")
"""The workloads of the sensitivity to the detector's unit and the resizer's period."""

INITIAL_PERCENT = 95
"""The initial caching space of OP-FCL."""
PERIOD_LOG2, SEGMENT_MIB = 16, 256
PERIODS = (*SENSITIVE, "home-still", *DAYS)
"""The workloads of the sensitivity to the resizer's period."""
PHASED = ("home-slow", "home-still")
"""What is shown beside Home."""
BOTH = (*CONFIG_1, *CONFIG_2)
UNITS = tuple(f"{name}-{BY_UNIT}" for name in SENSITIVE)
PERIODED = tuple(f"{name}-{BY_PERIOD}" for name in PERIODS)
PERIODED_SERVERS = tuple(f"{name}-{BY_PERIOD}" for name in SENSITIVE)
WRITERS = ("financial", "home", "given", *CONFIG_2)
WRITERS_WITH_RIVALS = tuple(f"{name}-{RIVALS}" for name in WRITERS)
SEQUENTIAL_LEAST = 0.01
"""The least share of the pages past the cache with which the sequential unit may matter."""
SIZED = ((*CONFIG_1, *PHASED, DAYS[0]), (*CONFIG_2, DAYS[1]))
"""The workloads whose caches are shown over time, by configuration."""
VARIATIONS = tuple(name for pair in VARIED.items() for name in reversed(pair))
"""Stand-ins, each before the one that differs."""
FINANCIAL_REQUESTS = 5_334_987
HALF_DAY_US = 12 * 3600 * 10**6


@dataclass(frozen=True)
class Scale:
    """The size of the experiments. A divisor is that of flash, segment, period, address spaces and requests."""

    whole: int
    """The divisor of the main comparison, at least what makes a workload fit on its disks."""
    parts: int
    """The divisor of all beyond it: phases, sensitivity, rivals, and destaging in the background."""
    fp_percent: tuple[int, ...] = (20, 40, 50, 60, 70, 80, 90, 95)
    """The fixed shares of caching space."""
    rw_percent: tuple[int, ...] = (20, 50, 60, 70, 80, 95)
    rivals_percent: tuple[int, ...] = (80, 95)
    """The shares at which the rivals are run."""
    units_kib: tuple[int, ...] = (4, 16, 32, 128, 512)
    periods_log2: tuple[int, ...] = (12, 14, 16, 18, 19, 20)
    """The requests of a period as powers of two, before the division."""
    causes_percent: tuple[int, ...] = (40, 50, 60, 70)
    """The shares at which FP-FCL is run beside each change to what OP-FCL does under Financial and Home."""
    requests_max: int | None = None
    """The maximum of requests of a stand-in, or of a trace of the user; None for all."""


SCALES = {"quick": Scale(32, 64, requests_max=1_000_000), "full": Scale(1, 8)}
FIRST = ("financial", "home", "search")
"""The workloads of configuration 1 that have stand-ins."""


def experiments(scale_name: str, traces: tuple[str, ...]) -> tuple[Experiment, ...]:
    """Return the experiments.

    Raises:
        CoflashError: A trace cannot be read.
    """
    scale = SCALES[scale_name]

    def whole(name: str) -> Experiment:
        return _made_up(scale, name, max(scale.whole, _least_divisor(name)))

    def part(name: str) -> Experiment:
        return _made_up(scale, name, scale.parts)

    if traces:
        given = [_given(scale, traces)]
        first, before_one_disk = given, given
    else:
        first = [*map(whole, FIRST), _pgbench(scale)]
        before_one_disk = [part(name) for name in FIRST]
    parts = [*before_one_disk, *map(part, CONFIG_2)]
    return (
        *first,
        *map(whole, CONFIG_2),
        *map(part, DAYS),
        *(part(name) if of in CONFIG_2 else whole(name) for name, of in VARIED.items() if not traces),
        *(_changed(whole(name), CONSTANT, CONSTANT_DISK) for name in (*FIRST, *CONFIG_2) if not traces),
        *(_by_unit(scale, one) for one in parts if one.name in SENSITIVE),
        *(_by_period(scale, one) for one in (*parts, *map(part, PERIODS[-3:])) if one.name in PERIODS),
        *(_by_cause(scale, one) for one in before_one_disk if one.name in CAUSES),
        *(_changed(one, BACKGROUND, {"hybrid.destaging": "background"}) for one in parts),
        *(_with_rivals(scale, one) for one in parts),
    )


def sensitivity(kind: str, names: Sequence[str] = SENSITIVE) -> tuple[str, ...]:
    """Return the names of the experiments on `BY_UNIT`, `BY_PERIOD` or `BY_SEGMENT`."""
    return tuple(f"{name}-{kind}" for name in names)


_STAND_INS = {
    "financial": ("Financial-like", 5.1),
    "home": ("Home-like", 16),
    "search": ("Search-like", 5),
    "exchange": ("Exchange-like", 74),
    "msn": ("MSN-like", 36),
    "days": ("four days", 12),
    "server-days": ("four days", 36),
    "financial-narrow": ("Financial-like, a quarter less space", 3.8),
    "home-slow": ("Home-like, moving more slowly", 16),
    "home-still": ("Home-like, not moving", 16),
    "exchange-flat": ("Exchange-like, less skewed", 74),
    "msn-flat": ("MSN-like, less skewed", 36),
}
"""The titles of the stand-ins, and the space that they touch, in GiB before the division."""
_SMALLEST_BYTES = 64 * 2**20
"""The least space of the preset of Financial."""


def _space_bytes(name: str, divisor: int) -> int:
    return max(_SMALLEST_BYTES, int(_STAND_INS[name][1] * GIB / divisor) // 2**20 * 2**20)


def _workload(name: str, divisor: int) -> dict[str, Any]:
    """Return the stand-in for one of the paper's traces.

    Working sets, shares of reads, sizes and numbers of requests are those of the published traces, as far as we know
    them; skew, places and times are our choice, made once and not fitted to a result.
    """
    space = f"{_space_bytes(name, divisor)}B"
    if name in DAYS:
        half_requests, size = (640_000, "4KiB") if name == "days" else (2_560_000, "8KiB")
        return {"phases": _days(half_requests // divisor, space, size)}
    if name.startswith("financial"):
        preset = {"name": "oltp-like", "requests": FINANCIAL_REQUESTS // divisor, "space": space}
        return {"phases": [{"preset": preset, "space": space}]}
    if name in PHASES:
        return {"phases": [_hot_fifth(20_000_000 // divisor, space, at, PHASES[name]) for at in range(PHASES[name])]}
    if name == "home-still":
        # The space is 16 GiB; 4.6 GiB of it are written. Nine of ten requests are for a quarter of the space.
        shares = ((60, 5), (30, 20), (10, 75))
        zones = [{"traffic": f"{traffic}%", "space": f"{of}%"} for traffic, of in shares]
        written, read = (
            {
                "space": share,
                "synthetic": {
                    "requests": requests // divisor,
                    "generator": {"name": "hot-cold", "zones": zones},
                    "read_share": read_share,
                    "arrival": {"name": "poisson", "mean": mean},
                },
            }
            for share, requests, read_share, mean in (
                ("29%", 17_000_000, "5%", "9600us"),
                ("71%", 3_000_000, "100%", "54400us"),
            )
        )
        return {"phases": [{"space": space, "tenants": [written, read]}]}
    requests, rest = {
        # 15 KiB on average; the paper's hit rate is almost linear in the size of the cache (section 6.3).
        "search": (
            1_030_000,
            {
                "generator": "uniform",
                "read_share": "99%",
                "size": {"name": "fixed", "size": "16KiB"},
                "align": "16KiB",
                "arrival": {"name": "poisson", "mean": "12ms"},
            },
        ),
        "exchange": (30_000_000, _server("45%")),
        "exchange-flat": (30_000_000, _server("45%", exponent=0.7)),
        "msn": (23_000_000, _server("59%")),
        "msn-flat": (23_000_000, _server("59%", exponent=0.7)),
    }[name]
    return {"synthetic": {"requests": requests // divisor, "space": space, **rest}}


def _hot_fifth(requests: int, space: str, at: int, of: int) -> dict[str, Any]:
    """Return a phase in which 85 % of the requests are for one of five parts of the space, the next one each time."""
    shares = [0.85 if part == at % 5 else 0.15 / 4 for part in range(5)]
    tenants = [
        {
            "space": "20%",
            "synthetic": {
                "requests": round(requests / of * share),
                "generator": {"name": "zipf", "exponent": 0.9, "scatter_block": "64KiB"},
                "read_share": "19%",
                "arrival": {"name": "poisson", "mean": f"{8160 / share:.0f}us"},
            },
        }
        for share in shares
    ]
    return {"space": space, "tenants": tenants}


def _server(read_share: str, exponent: float = 0.99) -> dict[str, Any]:
    """Return Exchange or MSN: small requests to places of very unequal popularity."""
    return {
        "generator": {"name": "zipf", "exponent": exponent, "scatter_block": "64KiB"},
        "read_share": read_share,
        "size": {"name": "fixed", "size": "8KiB"},
        "align": "8KiB",
        "arrival": {"name": "poisson", "mean": "6ms"},
    }


def _days(requests: int, space: str, size: str) -> list[dict[str, Any]]:
    """Return four days: for half of each a third of the space is written, for the other half all of it is read."""

    def half(read_share: str, share: str) -> dict[str, Any]:
        synthetic = {
            "requests": requests,
            "generator": {"name": "zipf", "exponent": 0.9, "scatter_block": "64KiB"},
            "read_share": read_share,
            "size": {"name": "fixed", "size": size},
            "align": size,
            "arrival": {"name": "poisson", "mean": f"{HALF_DAY_US // requests}us"},
        }
        return {"space": space, "tenants": [{"space": share, "synthetic": synthetic}]}

    return 4 * [half("20%", "33%"), half("95%", "100%")]


def _configuration(name: str) -> int:
    return 2 if VARIED.get(name, name) in (*CONFIG_2, DAYS[1]) else 1


def _least_divisor(name: str) -> int:
    """Return the least divisor with which the space of a stand-in fits on its disks."""
    disks = 3 if _configuration(name) == 2 else 1
    return math.ceil(_STAND_INS[name][1] * GIB / (disks * DISK_BYTES))


def device(
    configuration: int, divisor: float, workload: dict[str, Any], *, replay: dict[str, Any] | None = None
) -> Scenario:
    """Return a configuration of the paper with flash, segment and period divided.

    The disks are the mechanical ones that the paper emulates, with an elevator; each serves from its whole space, so
    that seeks are the shorter, the more is divided. A `constant` disk has the paper's mean times.
    """
    values = Scenario.load(f"opfcl-config{configuration}").to_dict()
    hybrid = {
        **values["hybrid"],
        "segment": f"{round(SEGMENT_MIB * 2**20 / divisor) // 4096 * 4096}B",
        "period_requests": round(2**PERIOD_LOG2 / divisor),
    }
    disks = {**values["hybrid"]["disks"], "model": dict(MECHANICAL), "scheduler": "elevator"}
    hybrid["disks"] = {**disks, "placement": "striped"} if disks["count"] > 1 else disks
    flash = {**values["flash"], "blocks_per_plane": round(values["flash"]["blocks_per_plane"] / divisor)}
    replay = replay or values["replay"]
    changed = {"flash": flash, "hybrid": hybrid, "workload": workload, "replay": replay}
    return Scenario.from_dict({**values, **changed})


def _partitions(scale: Scale) -> tuple[Case, ...]:
    """Return each scheme; OP-FCL has one run per line, since it chooses its own shares."""
    fp = (fixed_share(FP, "fp-fcl", share) for share in scale.fp_percent)
    rw = (fixed_share(RW, "rw-fcl", share) for share in scale.rw_percent)
    return (*fp, *rw, *(Case(line, INITIAL_PERCENT, op_fcl(line)) for line in OURS))


def fixed_share(line: str, name: str, share: int, changes: Mapping[str, Any] | None = None) -> Case:
    """Return a scheme with a fixed caching space, in percent of the flash."""
    return Case(line, share, {"hybrid.scheme": {"name": name, "caching": f"{share}%"}, **(changes or {})})


def op_fcl(line: str = OP) -> dict[str, Any]:
    """Return the changes to the scenario that make one of `OURS`."""
    costs = "measured" if line == MEASURED else "constants"
    return {
        "hybrid.scheme": {"name": "op-fcl", "initial_caching": f"{INITIAL_PERCENT}%", "costs": costs},
        "hybrid.resizing": "steady" if line == STEADY else "yielding",
    }


def _made_up(scale: Scale, name: str, divisor: int) -> Experiment:
    configuration = _configuration(name)
    workload = {"remap": "none", **_workload(name, divisor)}
    if name not in DAYS and scale.requests_max is not None:
        workload["requests_max"] = scale.requests_max
    scenario = device(configuration, divisor, workload)
    ours = Case(OP, INITIAL_PERCENT, op_fcl())
    if name in DAYS:
        cases: tuple[Case, ...] = (ours,)
    elif name in VARIED:
        cases = (*(fixed_share(FP, "fp-fcl", share) for share in scale.rw_percent), ours)
    else:
        cases = _partitions(scale)
    return Experiment(name, _STAND_INS[name][0], scenario, cases)


def _pgbench(scale: Scale) -> Experiment:
    # Recorded on a faster device: its clients wait for answers here as they did there.
    replay = {"mode": "closed", "queue_depth": 8}
    rounds = 3 if scale.whole == 1 else 1
    return _fitted("pgbench", "pgbench (recorded)", scale, (str(find_trace()),), replay=replay, repeat=rounds)


def _given(scale: Scale, traces: tuple[str, ...]) -> Experiment:
    if scale.whole > 1:
        return _fitted("given", "given trace", scale, traces, requests_max=scale.requests_max)
    scenario = device(1, 1, {"remap": "dense"})
    return Experiment("given", "given trace", scenario, _partitions(scale), traces)


def _fitted(
    name: str, title: str, scale: Scale, traces: Sequence[str], replay: dict[str, Any] | None = None, **workload: Any
) -> Experiment:
    """Return a trace on a device with half as much flash as it touches."""
    footprint_bytes = trace.info(traces)["footprint_pages"] * 4096
    divisor = 4 * GIB / (footprint_bytes / 2)
    scenario = device(1, divisor, {"remap": "dense", **workload}, replay=replay)
    return Experiment(name, title, scenario, _partitions(scale), tuple(traces), footprint_bytes)


def _with_cases(of: Experiment, kind: str, cases: Iterable[Case]) -> Experiment:
    """Return the same workload in other cases."""
    return replace(of, name=f"{of.name}-{kind}", cases=tuple(cases))


def _by_unit(scale: Scale, of: Experiment) -> Experiment:
    units = ((unit, {**op_fcl(), "hybrid.sequential_unit": f"{unit}KiB"}) for unit in scale.units_kib)
    return _with_cases(of, BY_UNIT, (Case(OP, *unit) for unit in units))


def _by_period(scale: Scale, of: Experiment) -> Experiment:
    usual = of.scenario.to_dict()["hybrid"]["period_requests"]
    periods = {power: max(1, round(usual * 2.0 ** (power - PERIOD_LOG2))) for power in scale.periods_log2}
    changes = ((2.0 ** (power - 10), {**op_fcl(), "hybrid.period_requests": one}) for power, one in periods.items())
    return _with_cases(of, BY_PERIOD, (Case(OP, *change) for change in changes))


_SLOW_STEADY = {"hybrid.resizing": "steady", "hybrid.resize_pages": 1, "hybrid.destage_pages": 512}
_MEASURED = {"hybrid.scheme": {"name": "op-fcl", "initial_caching": f"{INITIAL_PERCENT}%", "costs": "measured"}}
CAUSES: dict[str, dict[str, dict[str, Any]]] = {
    "financial": {
        "as it is": {},
        "segments of 64 MiB": {"hybrid.segment": 0.25},
        "requests four times slower": {"replay.time_scale": 4.0},
        "four times slower, segments of 64 MiB": {"replay.time_scale": 4.0, "hybrid.segment": 0.25},
        "measured costs": _MEASURED,
        "measured costs, no write waits": {**_MEASURED, "hybrid.destaging": "background"},
        "GC in blocks of its own": {"ftl.shared_streams": [["host", "evict"]]},
        "periods of 2^14": {"hybrid.period_requests": 0.25},
    },
    "home": {
        "as it is": {},
        "no write waits": {"hybrid.destaging": "background"},
        "no write waits, 2^12": {"hybrid.destaging": "background", "hybrid.period_requests": 1 / 16},
        "steady, two pages a request": {"hybrid.resizing": "steady"},
        "the same, 2^12": {"hybrid.resizing": "steady", "hybrid.period_requests": 1 / 16},
        "the same, 2^18": {"hybrid.resizing": "steady", "hybrid.period_requests": 4},
        "steady, one page": {"hybrid.resizing": "steady", "hybrid.resize_pages": 1},
        "steady, one page, groups of 512": _SLOW_STEADY,
        "one page, groups of 512, 2^12": {**_SLOW_STEADY, "hybrid.period_requests": 1 / 16},
    },
}
"""Changes that may explain what OP-FCL does; a number for a segment or a period is that of the usual one."""


def by_cause(name: str) -> str:
    """Return the name of the experiment on the changes under a workload."""
    return f"{name}-causes"


def _by_cause(scale: Scale, of: Experiment) -> Experiment:
    """Return OP-FCL with each change, at 0, beside FP-FCL at some shares with the same change."""
    hybrid, cases = of.scenario.to_dict()["hybrid"], []
    segment_bytes, _ = quantity(hybrid["segment"])
    for title, changes in CAUSES[of.name].items():
        change = dict(changes)
        if times := change.get("hybrid.segment"):
            change["hybrid.segment"] = f"{int(segment_bytes * times) // 4096 * 4096}B"
        if times := change.get("hybrid.period_requests"):
            change["hybrid.period_requests"] = max(1, round(hybrid["period_requests"] * times))
        cases.append(Case(title, 0, {**op_fcl(), **change}))
        change.pop("hybrid.scheme", None)
        cases += [fixed_share(title, "fp-fcl", share, change) for share in scale.causes_percent]
    return replace(of, name=by_cause(of.name), cases=tuple(cases))


def _changed(of: Experiment, kind: str, changes: Mapping[str, Any]) -> Experiment:
    return _with_cases(of, kind, (replace(one, changes={**one.changes, **changes}) for one in of.cases))


def _with_rivals(scale: Scale, of: Experiment) -> Experiment:
    """Return variants of FP-FCL at some shares and of OP-FCL, beside both as they are."""
    through = {"hybrid.write_policy": "write-through"}
    schemes: dict[str, tuple[str, dict[str, Any]]] = {
        FP: ("fp-fcl", {}),
        SILENT: ("silent-eviction", {}),
        FP_THROUGH: ("fp-fcl", through),
    }
    cases = [
        fixed_share(line, name, share, more) for line, (name, more) in schemes.items() for share in scale.rivals_percent
    ]
    ours: dict[str, dict[str, Any]] = {OP: {}, OP_THROUGH: through}
    cases += [Case(line, INITIAL_PERCENT, {**op_fcl(), **more}) for line, more in ours.items()]
    return _with_cases(of, RIVALS, cases)
