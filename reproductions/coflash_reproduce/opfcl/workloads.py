"""The two configurations, the workloads and the experiments of the OP-FCL paper."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from coflash import trace
from coflash._core import quantity
from coflash.demo import find_trace
from coflash.scenario import Scenario
from coflash_reproduce.paper import Case, Experiment

GIB = 2**30
BLOCKS = 16384
"""The blocks of a die in the paper's configurations."""
FP, RW, OP = "FP-FCL", "RW-FCL", "OP-FCL"
MEASURED = "OP-FCL, measured costs"
"""Our variant: the cost model uses the measured times of disks and garbage collection, and of requests that wait."""
OURS = (OP, MEASURED)
"""The schemes that divide all flash by themselves."""
CONFIG_1 = ("financial", "home", "search", "pgbench", "given")
CONFIG_2 = ("exchange", "msn")
DAYS = ("days", "server-days")
"""The workloads with phases, under configurations 1 and 2."""
VARIED = {
    "financial-narrow": "financial",
    "home-slow": "home",
    "exchange-flat": "exchange",
    "msn-flat": "msn",
}
"""Stand-ins that differ in one thing from another."""
OLD_DISK: dict[str, Any] = {
    "hybrid.disks.model": {"name": "mechanical", "drive": "atlas10k", "write_cache": False},
    "hybrid.disks.placement": "striped",
}
"""The Atlas 10K of 9 GB, as DiskSim measured it on a slow bus: not the paper's."""
CONSTANT_DISK: dict[str, Any] = {
    "hybrid.disks.model": Scenario.load("opfcl-config1").to_dict()["hybrid"]["disks"]["model"],
    "hybrid.disks.scheduler": "fcfs",
}
"""One with the paper's mean times."""
DISKS: tuple[tuple[str, dict[str, Any]], ...] = (("iv", {}), ("constant", CONSTANT_DISK), ("old", OLD_DISK))
"""The disks of a table: the paper's, one of constant times, which serves transfers as they come, and the older one."""
OF_DISK = "OP-FCL, costs of the disk"
"""A variant: equation 6 has the mean times of the simulated disk, and not those of the paper's table 2."""
PHASES = {"home": 20, "home-slow": 5}
"""How often the hot set of Home moves on."""
BY_UNIT, BY_PERIOD = "by-unit", "by-period"
SIZES, JUDGED, NEAR, JITTER = "size", "judged", "near", "divided period"
"""Experiments on what dividing all changes, with several seeds, on shares around the best; a period divided, too."""
SENSITIVE = ("financial", "home", "search", *CONFIG_2, "given")
"""The workloads of the sensitivity to the detector's unit and the resizer's period."""

INITIAL_PERCENT = 95
"""The initial caching space of OP-FCL."""
PERIOD_LOG2, SEGMENT_MIB = 16, 256
BOTH = (*CONFIG_1, *CONFIG_2)
UNITS = tuple(f"{name}-{BY_UNIT}" for name in SENSITIVE)
PERIODED = tuple(f"{name}-{BY_PERIOD}" for name in (*SENSITIVE, *DAYS))
PERIODED_SERVERS = tuple(f"{name}-{BY_PERIOD}" for name in SENSITIVE)
WRITERS = ("financial", "home", "given", *CONFIG_2)
LEAST_PERIODS = 8
"""The least periods in a run that says something of their length."""
SEQUENTIAL_LEAST = 0.01
"""The least share of the pages past the cache with which the sequential unit may matter."""
SIZED = ((*CONFIG_1, "home-slow", DAYS[0]), (*CONFIG_2, DAYS[1]))
"""The workloads whose caches are shown over time, by configuration."""
VARIATIONS = tuple(name for pair in VARIED.items() for name in reversed(pair))
"""Stand-ins, each before the one that differs."""
REQUESTS = {
    "financial": 5_334_987,
    "home": 20_000_000,
    "search": 1_030_000,
    "exchange": 30_000_000,
    "msn": 23_000_000,
    DAYS[0]: 8 * 640_000,
    DAYS[1]: 8 * 2_560_000,
}
"""The requests of the paper's traces, as far as we know them, and of ours with phases."""


@dataclass(frozen=True)
class Scale:
    """The size of the experiments.

    A divisor is that of flash, segment, disks, address spaces and requests, not of periods: the least with which a
    workload keeps to its most requests.
    """

    judged_requests: int
    """The most requests of a workload where OP-FCL is judged beside the best fixed shares."""
    whole_requests: int
    """The most where all fixed shares are run."""
    part_requests: int
    """The most in all beyond it: phases, sensitivity, variations, and destaging in the background."""
    fp_percent: tuple[int, ...] = (20, 30, 40, 50, 60, 70, 80, 95)
    """The fixed shares of caching space."""
    rw_percent: tuple[int, ...] = (20, 30, 40, 50, 60, 70, 80, 95)
    varied_percent: tuple[int, ...] = (40, 60, 80)
    """The shares under stand-ins that differ in one thing."""
    sizes: tuple[int, ...] = (64, 16)
    """The divisors beside which the judged size stands."""
    size_requests: int = 2_000_000
    """Their requests, if the judged size has more: there are 30 periods."""
    seeds: int = 3
    """The seeds of each."""
    units_kib: tuple[int, ...] = (4, 16, 32, 128, 512)
    periods_log2: tuple[int, ...] = (12, 14, 16, 18, 20)
    """The requests of a period as powers of two."""
    period_log2: int = PERIOD_LOG2
    """The requests of a period, as a power of two."""


SCALES = {"quick": Scale(1_000_000, 1_000_000, 300_000), "full": Scale(30_000_000, 1_000_000, 1_000_000)}
FIRST = ("financial", "home", "search")
"""The workloads of configuration 1 that have stand-ins."""
BEST = {"financial": (50, 60), "home": (40, 30), "search": (95, 95), "exchange": (60, 60), "msn": (70, 70)}
"""The best share of FP-FCL and of RW-FCL where all are run."""
WHOLE_BEST = {"financial": (40, 50), "search": (95, 95), "exchange": (50, 50), "msn": (50, 50), "home": (40, 30)}
"""Those at the paper's size, by the runs of `NEAR`."""


def experiments(scale_name: str, traces: tuple[str, ...]) -> tuple[Experiment, ...]:
    """Return the experiments.

    Raises:
        CoflashError: A trace cannot be read.
    """
    scale = SCALES[scale_name]

    def whole(name: str) -> Experiment:
        return _made_up(scale, name, _divisor(name, scale.whole_requests))

    def part(name: str) -> Experiment:
        return _made_up(scale, name, _divisor(name, scale.part_requests))

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
        *(_of_size(scale, name, divisor) for name in CONFIG_2 for divisor in scale.sizes if not traces),
        *(_by_cause(one, CAUSES[one.name], BEST[one.name][0]) for one in parts if one.name in CAUSES),
        *(_in_background(one) for one in parts),
        *map(part, DAYS),
        *(_by_unit(scale, one) for one in parts if one.name in SENSITIVE),
        *(_by_period(scale, one) for one in (*parts, *map(part, DAYS))),
        *(part(name) for name in VARIED if not traces),
        *(_on_another(part(name), *disk) for name in ("financial", "exchange") for disk in DISKS if not traces),
        *(one for name in WHOLE_BEST if not traces for one in _judged(scale, name)),
    )


def _divisor(name: str, requests_max: int) -> int:
    # Home, which moves on, has twice as many: it must not do so more than once in a period.
    times = 2 if name.startswith("home") else 1
    return math.ceil(REQUESTS[VARIED.get(name, name)] / (times * requests_max))


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
    "exchange-flat": ("Exchange-like, less skewed", 74),
    "msn-flat": ("MSN-like, less skewed", 36),
}
"""The titles of the stand-ins, and the space that they touch, in GiB before the division."""


def _space_bytes(name: str, divisor: int) -> int:
    # The preset of Financial has a least space of 64 MiB.
    return max(64 * 2**20, int(_STAND_INS[name][1] * GIB / divisor) // 2**20 * 2**20)


def _workload(name: str, divisor: int, fewer: int) -> dict[str, Any]:
    """Return the stand-in for one of the paper's traces: its space is divided by one, its requests by another number.

    Working sets, shares of reads, sizes and numbers of requests are those of the published traces, as far as we know
    them; skew, places and times are our choice, made once. Only how often Home moves on was chosen for a result.
    """
    space = f"{_space_bytes(name, divisor)}B"
    if name in DAYS:
        return {"phases": _days(REQUESTS[name] // 8 // fewer, space, "4KiB" if name == "days" else "8KiB")}
    if name.startswith("financial"):
        preset = {"name": "oltp-like", "requests": REQUESTS["financial"] // fewer, "space": space}
        return {"phases": [{"preset": preset, "space": space}]}
    if name in PHASES:
        requests, phases = REQUESTS["home"] // fewer, PHASES[name]
        return {"phases": [_hot_fifth(requests, space, at, phases) for at in range(phases)]}
    if name == "search":
        # 15 KiB on average; the paper's hit rate is almost linear in the size of the cache (section 6.3).
        synthetic = {
            "requests": REQUESTS[name] // fewer,
            "space": space,
            "generator": "uniform",
            "read_share": "99%",
            "size": {"name": "fixed", "size": "16KiB"},
            "align": "16KiB",
            "arrival": {"name": "poisson", "mean": "12ms"},
        }
        return {"synthetic": synthetic}
    of = VARIED.get(name, name)
    volume = _server(REQUESTS[of] // fewer // 3, "45%" if of == "exchange" else "59%", 0.7 if name != of else 0.99)
    return {"phases": [{"space": space, "tenants": [{"space": "33.33%", "synthetic": volume} for _ in range(3)]}]}


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


def _server(requests: int, read_share: str, exponent: float) -> dict[str, Any]:
    """Return one of three volumes of Exchange or MSN: small requests to places of very unequal popularity."""
    return {
        "requests": requests,
        "generator": {"name": "zipf", "exponent": exponent, "scatter_block": "64KiB"},
        "read_share": read_share,
        "size": {"name": "fixed", "size": "8KiB"},
        "align": "8KiB",
        "arrival": {"name": "poisson", "mean": "18ms"},
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
            "arrival": {"name": "poisson", "mean": f"{12 * 3600 * 10**6 // requests}us"},
        }
        return {"space": space, "tenants": [{"space": share, "synthetic": synthetic}]}

    return 4 * [half("20%", "33%"), half("95%", "100%")]


def device(
    configuration: int,
    divisor: float,
    workload: dict[str, Any],
    *,
    disk_bytes: int = 0,
    period_log2: int = PERIOD_LOG2,
    replay: dict[str, Any] | None = None,
) -> Scenario:
    """Return a configuration of the paper with flash and segment divided.

    The disks are mechanical, by what the paper says of them, with an elevator, and a volume has a disk of its own. Each
    is as large as what is asked for (`disk_bytes`), so that the mean seek is the paper's at any size.
    """
    values = Scenario.load(f"opfcl-config{configuration}").to_dict()
    drive = {"name": "data-sheet", "capacity": f"{disk_bytes}B"} if disk_bytes else "atlas10k-iv"
    model = {"name": "mechanical", "drive": drive, "write_cache": False}
    hybrid = {
        **values["hybrid"],
        "segment": f"{round(SEGMENT_MIB * 2**20 / divisor) // 4096 * 4096}B",
        "period_requests": 2**period_log2,
        "disks": {**values["hybrid"]["disks"], "model": model, "scheduler": "elevator"},
    }
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
    costs = {MEASURED: "measured", OF_DISK: "of-disk"}.get(line, "constants")
    scheme = {"name": "op-fcl", "initial_caching": f"{INITIAL_PERCENT}%", "costs": costs}
    return {"hybrid.scheme": scheme, "hybrid.resizing": "yielding"}


def _made_up(scale: Scale, name: str, divisor: int, fewer: int = 0) -> Experiment:
    configuration = 2 if VARIED.get(name, name) in (*CONFIG_2, DAYS[1]) else 1
    fewer, divisor = fewer or divisor, min(divisor, 128)  # garbage collection needs blocks
    workload = {"remap": "none", **_workload(name, divisor, fewer)}
    disks = 3 if configuration == 2 else 1
    disk_bytes = math.ceil(_space_bytes(name, divisor) / disks / 4096) * 4096
    scenario = device(configuration, divisor, workload, disk_bytes=disk_bytes, period_log2=scale.period_log2)
    ours = Case(OP, INITIAL_PERCENT, op_fcl())
    if name in DAYS:
        cases: tuple[Case, ...] = (ours,)
    elif name in VARIED:
        cases = (*(fixed_share(FP, "fp-fcl", share) for share in scale.varied_percent), ours)
    else:
        cases = _partitions(scale)
    return Experiment(name, _STAND_INS[name][0], scenario, cases)


def _pgbench(scale: Scale) -> Experiment:
    # Recorded on a faster device: its clients wait for answers here as they did there.
    replay = {"mode": "closed", "queue_depth": 8}
    rounds = 3 if scale is SCALES["full"] else 1
    return _fitted("pgbench", "pgbench (recorded)", scale, (str(find_trace()),), replay=replay, repeat=rounds)


def _given(scale: Scale, traces: tuple[str, ...]) -> Experiment:
    if scale is not SCALES["full"]:
        return _fitted("given", "given trace", scale, traces, requests_max=scale.whole_requests)
    scenario = device(1, 1, {"remap": "dense"})
    return Experiment("given", "given trace", scenario, _partitions(scale), traces)


def _fitted(
    name: str, title: str, scale: Scale, traces: Sequence[str], replay: dict[str, Any] | None = None, **workload: Any
) -> Experiment:
    """Return a trace on a device with half as much flash as it touches."""
    footprint_bytes = trace.info(traces)["footprint_pages"] * 4096
    divisor = 4 * GIB / (footprint_bytes / 2)
    scenario = device(
        1,
        divisor,
        {"remap": "dense", **workload},
        disk_bytes=footprint_bytes + GIB // 16,  # repeats and ends of requests take a little more
        period_log2=scale.period_log2,
        replay=replay,
    )
    return Experiment(name, title, scenario, _partitions(scale), tuple(traces), footprint_bytes)


def _judged(scale: Scale, name: str) -> Iterator[Experiment]:
    """Yield OP-FCL and the best fixed shares with several seeds; shares around these, measured costs, other rules."""
    of = _made_up(scale, name, _divisor(name, scale.judged_requests))
    fp, rw = _around(scale, WHOLE_BEST[name])
    paper, measured = (Case(line, INITIAL_PERCENT, op_fcl(line)) for line in OURS)
    yield replace(_with_cases(of, JUDGED, [fp[0], rw[0], paper]), seeds=scale.seeds)
    yield _with_cases(of, NEAR, [*fp, *rw, paper, measured])
    if name in RULED:
        yield _by_cause(of, RULES, WHOLE_BEST[name][0], "rules")


def _around(scale: Scale, best: tuple[int, int]) -> tuple[list[Case], list[Case]]:
    """Return FP-FCL and RW-FCL at the shares nearest to these, which come first, and at the two beside them."""
    fp, rw = (
        sorted(shares, key=lambda share: abs(share - at))[:3]
        for shares, at in zip((scale.fp_percent, scale.rw_percent), best, strict=True)
    )
    return [fixed_share(FP, "fp-fcl", share) for share in fp], [fixed_share(RW, "rw-fcl", share) for share in rw]


def _of_size(scale: Scale, name: str, divisor: int) -> Experiment:
    """Return both, and OP-FCL with a period that is divided, too, with more and more divided."""
    of = _made_up(scale, name, divisor, min(divisor, _divisor(name, scale.size_requests)))
    divided = {**op_fcl(), "hybrid.period_requests": max(1, 2**scale.period_log2 // divisor)}
    cases = [*_around(scale, BEST[name])[0], Case(OP, divisor, op_fcl()), Case(JITTER, divisor, divided)]
    return replace(_with_cases(of, f"{SIZES}-{divisor}", cases), seeds=scale.seeds)


def _with_cases(of: Experiment, kind: str, cases: Iterable[Case]) -> Experiment:
    """Return the same workload in other cases."""
    return replace(of, name=f"{of.name}-{kind}", cases=tuple(cases))


def _by_unit(scale: Scale, of: Experiment) -> Experiment:
    # The paper's detector takes requests greater than the unit, the kernel's those that fill it: one page more.
    units = ((unit, {**op_fcl(), "hybrid.sequential_unit": f"{unit + 4}KiB"}) for unit in scale.units_kib)
    return _with_cases(of, BY_UNIT, (Case(OP, *unit) for unit in units))


def _by_period(scale: Scale, of: Experiment) -> Experiment:
    periods = ((2.0 ** (power - 10), 2 ** (scale.period_log2 + power - PERIOD_LOG2)) for power in scale.periods_log2)
    cases = (Case(OP, at, {**op_fcl(), "hybrid.period_requests": period}) for at, period in periods)
    return _with_cases(of, BY_PERIOD, cases)


_OF_RESIZING = ("hybrid.scheme", "hybrid.resizing", "hybrid.resize_pages")
_MEASURED, _SLOWER, _FINER = op_fcl(MEASURED), {"replay.time_scale": 4.0}, {"hybrid.segment": 0.25}
CAUSES: dict[str, dict[str, dict[str, Any]]] = {
    "search": {
        "as it is": {},
        "four times as many requests": {"workload.synthetic.requests": 4.0},
        "periods of 2^18": {"hybrid.period_requests": 4.0},
    },
    "financial": {
        "as it is": {},
        "segments of 64 MiB": _FINER,
        "requests four times slower": _SLOWER,
        "four times slower, segments of 64 MiB": {**_SLOWER, **_FINER},
        "measured costs": _MEASURED,
    },
    "home": {
        "as it is": {},
        "no request waits": {"hybrid.destaging": "background"},
        "periods of 2^12": {"hybrid.period_requests": 1 / 16},
        "steady, one page a request": {"hybrid.resizing": "steady", "hybrid.resize_pages": 1},
        "measured costs": _MEASURED,
    },
    "exchange": {
        "as it is": {},
        "no request waits": {"hybrid.destaging": "background"},
        "requests four times slower": _SLOWER,
        "four times slower, no request waits": {**_SLOWER, "hybrid.destaging": "background"},
        "measured costs": _MEASURED,
    },
}
"""Changes that may explain what OP-FCL does; numbers for a segment, a period or requests are those of the usual one."""


RULED = ("home", "msn")
"""The workloads under which what resizing gives up decides, at the paper's size."""
RULES = {title: CAUSES["home"][title] for title in ("as it is", "steady, one page a request", "no request waits")}
"""Other readings of who waits for what resizing gives up, or for any destage."""


def _by_cause(of: Experiment, causes: Mapping[str, Mapping[str, Any]], share: int, kind: str = "causes") -> Experiment:
    """Return OP-FCL with each change, at 0, beside FP-FCL at its best share with the same change."""
    values, cases = of.scenario.to_dict(), []
    segment_bytes, _ = quantity(values["hybrid"]["segment"])
    for title, changes in causes.items():
        change = dict(changes)
        if times := change.get("hybrid.segment"):
            change["hybrid.segment"] = f"{int(segment_bytes * times) // 4096 * 4096}B"
        if times := change.get("hybrid.period_requests"):
            change["hybrid.period_requests"] = max(1, round(values["hybrid"]["period_requests"] * times))
        if times := change.get("workload.synthetic.requests"):
            change["workload.synthetic.requests"] = round(values["workload"]["synthetic"]["requests"] * times)
        cases.append(Case(title, 0, {**op_fcl(), **change}))
        fixed = {key: value for key, value in change.items() if key not in _OF_RESIZING}
        cases.append(fixed_share(title, "fp-fcl", share, fixed))
    return _with_cases(of, kind, cases)


def _on_another(of: Experiment, kind: str, changes: Mapping[str, Any]) -> Experiment:
    """Return FP-FCL near its best share and OP-FCL on other disks, of the same size if they have one to choose."""
    other = {**of.scenario.to_dict()["hybrid"]["disks"]["model"], **changes.get("hybrid.disks.model", {})}
    if other["name"] == "constant":
        other = {**changes["hybrid.disks.model"], "capacity": other["drive"]["capacity"]}
    changes = {**changes, "hybrid.disks.model": other}
    cases = [fixed_share(FP, "fp-fcl", BEST[of.name][0], changes)]
    lines = (OP,) if other["name"] == "constant" else (OP, OF_DISK)
    cases += [Case(line, INITIAL_PERCENT, {**op_fcl(line), **changes}) for line in lines]
    return _with_cases(of, kind, cases)


def _in_background(of: Experiment) -> Experiment:
    """Return the schemes with nobody waiting for a destage; the fixed ones at their best shares where requests wait."""
    none = {"hybrid.destaging": "background"}
    schemes = zip(((FP, "fp-fcl"), (RW, "rw-fcl")), BEST.get(of.name, (60, 60)), strict=True)
    cases = [fixed_share(*scheme, share, none) for scheme, share in schemes]
    return _with_cases(
        of, "background", [*cases, *(Case(one, INITIAL_PERCENT, {**op_fcl(one), **none}) for one in OURS)]
    )
