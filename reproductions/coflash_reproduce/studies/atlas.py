"""The atlas: what knowledge of a cache, the order of eviction and the bytes of the cache save, each by itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from coflash.charts import Axis, Chart, Look, lines
from coflash.demo import find_trace
from coflash.policies import policies
from coflash.results.estimate import estimate
from coflash.runs.run import fewest_programs
from coflash.scenario import Scenario
from coflash.sweep.goal import goals
from coflash.sweep.sized import PRICES
from coflash.trace import info
from coflash_reproduce.declare import study
from coflash_reproduce.drawing import looks, named_at_ends
from coflash_reproduce.paper import Case, Experiment, Run, Runs
from coflash_reproduce.study import WARM, four_dies

NONE, OVERWRITES, DROP, BOTH, MOVING, COST = "none", "overwrites", "drop", "both", "moving in", "expected cost"
SCHEMES = {
    NONE: "none",
    OVERWRITES: "cdm-overwrites",
    DROP: "cdm-removable",
    BOTH: "cdm",
    MOVING: "move-in",
    COST: "expected-cost",
}
"""What garbage collection knows, and the scheme of that name."""
IN_HOST = (NONE, OVERWRITES, DROP, BOTH)
"""What it can know of a cache in the host: nothing moves pages over the link."""
LRU, FIRST, TINY, FIFO = "LRU", "clean first", "W-TinyLFU", "S3-FIFO"
EVICTIONS: Mapping[str, Any] = {
    LRU: "lru",
    FIRST: {"name": "cflru", "window": "100%"},
    TINY: "w-tinylfu",
    FIFO: "s3-fifo",
    "2Q": "2q",
    "SIEVE": "sieve",
}
KNOWN, ORDERS = tuple(SCHEMES), tuple(EVICTIONS)
MARKS = dict(zip(ORDERS, ("LRU", "first", "Tiny", "S3", "2Q", "SIEVE"), strict=True))
"""The orders of eviction, in few letters."""
SOME, FEW = (NONE, OVERWRITES, BOTH, COST), (LRU, FIRST, TINY, FIFO)
"""The knowledge and the orders of eviction that are run where not all are."""
ZIPF = "Zipf 0.9"
SKEWS: Mapping[str, Any] = {
    "uniform": "uniform",
    **{f"Zipf {exponent}": {"name": "zipf", "exponent": exponent} for exponent in (0.9, 1.1)},
}
MIB, SPARE, CACHE = 112, 12, 5
"""The device: what it exports, in MiB; its spare space and its cache, in % of that."""
CACHES = (1, CACHE, 20)
SPARES = (7, SPARE, 20, 28, 45, 70, 110, 160, 200)
DEVICES = (7, SPARE, 28)
"""Spare spaces, in %, of devices without cooperation, and of those with it."""
READS, SHARES = (0, 50, 80, 95), (5, 20, 50)
"""Shares of reads, and caches, in %, over which the drop alone is looked at."""
LARGER = "four times the device"
DRIVES = {f"{drive} (drive)": drive for drive in ("pm9a3", "wd")}
ALIKE = 0.02
"""The tolerance: a change of programs that is no larger is called none."""
HITS = 0.01
"""The same for the share of reads that the cache serves."""
RATIO = 3 / 0.08
"""The price of a byte of cache over that of a byte of flash, as `coflash size` assumes them for TLC."""
JOULES = {"page_read": 3700, "page_program": 4100, "block_erase": 1600}
"""Nanojoules of flash for a page of 4 KiB, and for a block of 16."""
ZONES = [{"traffic": f"{30 if part else 40}%", "space": f"{space}%"} for part, space in enumerate((1, 9, 90))]
"""Zones with about the shares of Zipf 0.9: the first is the hottest."""


@dataclass(frozen=True)
class Scale:
    """The size of the experiments."""

    writes: int
    """The pages that the host writes, but for traces."""
    skews: tuple[str, ...]
    axes: tuple[str, ...]
    """The conditions; all where none is named."""
    seeds: int
    """Those of all runs but traces."""


SCALES = {
    "quick": Scale(50_000, ("uniform", ZIPF), ("the hot set moves", "reads to other pages"), 1),
    "full": Scale(100_000, tuple(SKEWS), (), 3),
}


def _requests(writes: int, reads: int) -> int:
    return writes * 100 // (100 - reads)


def _generated(generator: Any, writes: int, reads: int = 50, **keys: Any) -> dict[str, Any]:
    own = {"generator": generator, "requests": _requests(writes, reads), "read_share": f"{reads}%"}
    return {"remap": "none", "synthetic": {**own, **keys}}


def _apart(writes: int, order: int) -> dict[str, Any]:
    """Return reads and writes side by side: to pages that are as popular (1), or least so (-1), or by chance (0)."""
    tenants = []
    for name, reads in (("reads", "100%"), ("writes", "0%")):
        zones = ZONES[::-1] if order < 0 and name == "reads" else ZONES
        generator = {"name": "hot-cold", "zones": zones, "scattered": order == 0}
        part = {"generator": generator, "requests": writes, "read_share": reads}
        tenants.append({"name": name, "offset": "0%", "space": "100%", "synthetic": part})
    return {"remap": "none", "tenants": tenants}


def _phases(writes: int, flood: bool) -> dict[str, Any]:
    """Return phases: the hot set is another one in each, or is the same but for floods of sequential writes."""
    phases = []
    for phase in range(8):
        part = _generated(SKEWS[ZIPF if flood else "Zipf 1.1"], writes // 8)["synthetic"]
        if flood:
            part["generator"] = {**part["generator"], "scattered": False}  # the same pages in each phase
            more = {"generator": "sequential", "requests": writes // 20, "read_share": "0%"}
            phases.append({"name": f"flood {phase}", "offset": "50%", "synthetic": more})
        phases.append({"name": f"phase {phase}", "offset": "0%", "synthetic": part})
    return {"remap": "none", "phases": phases}


def _axes(writes: int) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Return the conditions: what is unlike the first one, its workload and its keys."""
    zipf = SKEWS[ZIPF]
    base = _generated(zipf, writes)
    open_loop = {"mode": "open"}
    found: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "half reads, Zipf 0.9": (base, {}),
        **{f"{reads} % reads": (_generated(zipf, writes, reads), {}) for reads in (0, 80, 95)},
        "reads to the same pages": (_apart(writes, 1), {}),
        "reads to other pages": (_apart(writes, 0), {}),
        "reads to pages seldom written": (_apart(writes, -1), {}),
        "the hot set moves": (_phases(writes, flood=False), {}),
        "floods": (_phases(2 * writes, flood=True), {}),
        "JESD219": ({"remap": "none", "preset": {"name": "jesd219-enterprise", "requests": writes}}, {}),
        "28 % spare": (base, {"ftl.spare.share": "28%"}),
        "sepbit": (base, {"ftl.placement": "sepbit"}),
        LARGER: (_generated(zipf, 4 * writes), {"flash.exported": f"{4 * MIB}MiB"}),
    }
    for load, gap in LOADS.items():
        arrival = {"name": "poisson", "mean": gap}
        found[f"{load} % of the load"] = (_generated(zipf, writes, arrival=arrival), {"replay": open_loop})
    return found


LOADS = {50: "266us", 80: "166us"}
"""Loads, in % of the requests a second that `none` with LRU answers in a closed loop, and the gaps of requests."""


@cache
def _device() -> Scenario:
    """Return a small device with one pool of superblocks, in the steady state of its workload, caches included."""
    keys = {"flash.exported": f"{MIB}MiB", "flash.pages_per_block": 16, "ftl.pools": "device", "gc.low_mark": 8}
    energy = {f"energy.{key}": f"{each}nJ" for key, each in JOULES.items()}
    spare = {"ftl.spare.share": f"{SPARE}%", "cache.size": f"{CACHE}%"}
    return four_dies(1024).with_({**keys, **energy, **spare, "name": "atlas"})


def _with(workload: Mapping[str, Any], changes: Mapping[str, Any], device: Scenario | None = None) -> Scenario:
    values = (device or _device()).with_(changes).to_dict()
    return Scenario.from_dict({**values, "workload": dict(workload)})


def _changes(knowledge: str, eviction: str) -> dict[str, Any]:
    scheme: dict[str, Any] = {"name": SCHEMES[knowledge]}
    if knowledge in (DROP, BOTH, MOVING):
        scheme |= {"removable_weight": 1.0, "rewrite_stream": "gc"}
    return {"cooperation": scheme, "cache.policy": EVICTIONS[eviction]}


def _cases(
    known: Iterable[str], evictions: Iterable[str], size: float = CACHE, at: float | None = None, **changes: Any
) -> tuple[Case, ...]:
    """Return cases with a cache of a size in %; their place is that size, or another one beside which it is named."""
    changes, place = {"cache.size": f"{size}%", **changes}, size if at is None else at
    named = () if at is None else (f"{size}",)
    pairs = product(known, evictions)
    return tuple(Case(", ".join((*pair, *named)), place, {**_changes(*pair), **changes}) for pair in pairs)


def _in_host(scenario: Scenario) -> Scenario:
    """Return a device whose cache is the host's, which begins empty."""
    return scenario.with_({"precondition.through_caches": False, "cache.placement": "host"})


def experiments(scale_name: str, traces: tuple[str, ...]) -> tuple[Experiment, ...]:
    """Return the experiments: the factorial by place, skew and cache; the axes; the spare space; the drop."""
    scale, found = SCALES[scale_name], []
    for skew in scale.skews:
        base = _with(_generated(SKEWS[skew], scale.writes), {})
        for size in CACHES:
            cases, title = _cases(SCHEMES, EVICTIONS, size), f"{skew}, cache {size} %"
            found.append(Experiment(f"device {skew} {size}", title, base, cases))
        longer = _in_host(_with(_generated(SKEWS[skew], 2 * scale.writes), {}))
        cases, title = _cases(IN_HOST, FEW), f"{skew}, cache {CACHE} %, in the host"
        found.append(Experiment(f"host {skew} {CACHE}", title, longer, cases))
        found.append(Experiment(f"spare {skew}", skew, base, tuple(_by_spare())))
        found.append(Experiment(f"baseline {skew}", skew, base, _baselines()))
    for skew, reads in product([skew for skew in ("uniform", ZIPF) if skew in scale.skews], READS):
        device = _with(_generated(SKEWS[skew], scale.writes, reads), {})
        cases = tuple(case for at in SHARES for case in _cases(IN_HOST, (LRU,), at))
        found.append(Experiment(f"drop {skew} {reads}", f"{skew}, {reads} % reads", device, cases))
    conditions = {
        name: _with(*each) for name, each in _axes(scale.writes).items() if name in scale.axes or not scale.axes
    }
    if not scale.axes:
        conditions |= {name: _drive(drive, 2 * scale.writes) for name, drive in DRIVES.items()}
    cases, slow = _cases(SOME, FEW), _cases((NONE, OVERWRITES, COST), (LRU, FIRST, TINY))
    for name, device in conditions.items():
        found.append(Experiment(f"axis {name}", name, device, slow if name in (LARGER, *DRIVES) else cases))
    found = [replace(one, seeds=scale.seeds) for one in found]
    for trace in (str(find_trace()), *traces) if not scale.axes else traces:
        name = f"{Path(trace).name.partition('.')[0]} (trace)"
        found.append(Experiment(f"axis {name}", name, _for_trace(trace), slow, (trace,)))
    return tuple(found)


def _by_spare() -> Iterable[Case]:
    """Yield devices by their spare space: without cooperation, and on fewer of them with it."""
    for at in SPARES:
        spare = {"ftl.spare.share": f"{at}%"}
        yield Case(f"{NONE}, no cache, 0", at, {"cooperation": "none", "cache.size": "0B", **spare})
        for size in (1, CACHE):
            yield from _cases((NONE,), (LRU, TINY), size, at, **spare)
        for size in CACHES if at in DEVICES else ():
            yield from _cases((OVERWRITES, COST), (FIRST, TINY), size, at, **spare)


def _baselines() -> tuple[Case, ...]:
    """Return what the same bytes, dollars or memory buy in place of cooperation, and a plain write buffer."""
    no_cache = {"cooperation": "none", "cache.size": "0B"}
    tiny = _changes(NONE, TINY)
    rows: dict[str, dict[str, Any]] = {
        "no cache": no_cache,
        "the same bytes as spare space": {**no_cache, "ftl.spare.share": f"{SPARE + CACHE}%"},
        "the same dollars as spare space": {**no_cache, "ftl.spare.share": f"{SPARE + CACHE * RATIO:g}%"},
        "a cache of 1 %, the rest of the dollars as spare space": {
            **tiny,
            "cache.size": "1%",
            "ftl.spare.share": f"{SPARE + (CACHE - 1) * RATIO:g}%",
        },
        "a plain write buffer, two maps": {**_changes(NONE, LRU), "cache.read_allocate": False},
        "a plain write buffer, one map": {**_changes(OVERWRITES, LRU), "cache.read_allocate": False},
        "the memory of one map as cache": {**tiny, "cache.size": f"{CACHE + 0.1}%"},
        "the memory of expected cost as cache, one map": {
            **_changes(OVERWRITES, TINY),
            "cache.size": f"{CACHE + 0.3}%",
        },
    }
    return tuple(Case(name, 0, changes) for name, changes in rows.items())


def _drive(name: str, writes: int) -> Scenario:
    """Return a calibrated drive, as small as it was calibrated, with a workload in place of its own."""
    values = Scenario.load(name).to_dict()
    values["workload"], values["replay"] = _generated(SKEWS[ZIPF], writes), {"mode": "closed", "queue_depth": 8}
    return Scenario.from_dict(values).with_({**WARM, "cache.size": f"{CACHE}%"})


def _for_trace(trace: str) -> Scenario:
    """Return a device as large as a trace touches."""
    about = info(trace)
    room = int((about.footprint_pages or 0) * 1.04) * about.page_bytes
    return _with(
        {"remap": "dense"}, {"flash.exported": f"{room}B", "flash.pages_per_block": 64, "replay.mode": "closed"}
    )


@cache
def _bound(scenario: Scenario, trace: tuple[str, ...]) -> float:
    return fewest_programs(scenario, trace).waf_host or 0.0


def bound_of(run: Run) -> float:
    """Return the WAF below which no cooperation goes with the caches of a run, the future known."""
    return _bound(run.scenario.with_({"seed": 1}) if run.experiment.trace else run.scenario, run.experiment.trace)


def begins_empty(run: Run) -> bool:
    """Return whether the cache of a run begins empty, so that what is dirty at its end was never charged."""
    return not run.scenario.to_dict()["precondition"].get("through_caches")


def dollars(run: Run) -> float:
    """Return the price of a run's device at the prices of `coflash size`, for a GiB that it exports."""
    (cost,) = goals(None, None, PRICES)
    exported = float(run.document["workload"]["logical_bytes"])
    return (cost.value([run.metrics], run.scenario) or 0.0) * 2**30 / exported


def declared(knowledge: str) -> str:
    """Return the memory that a scheme declares."""
    named = (one for of in policies() for one in of.policies if one.name == SCHEMES[knowledge])
    return next((one.needs for one in named if one.needs), "nothing")


UNSTEADY_TOO = "only in the intervals over slices, for no other row is theirs"


def _draw_prices(runs: Runs) -> list[Chart]:
    """Draw the prices at which cooperation breaks even, and those that `coflash size` assumes."""
    query = "select skew, spare, prices from breaks where size = $CACHE and prices is not null order by rank, spare"
    points: list[dict[str, Any]] = []
    for skew, spare, prices in STUDY.queries.rows(query, runs)[1]:
        mean, half = estimate(prices).mean or 0.0, estimate(prices).half_width or 0.0
        points.append({"x": spare, "y": mean, "low": mean - half, "high": mean + half, "name": skew})
    looked = looks([*dict.fromkeys(point["name"] for point in points)])
    for name, price in ((f"TLC: {RATIO:g}", RATIO), (f"SLC: {RATIO / 3:g}", RATIO / 3)):
        points += [{"x": at, "y": price, "name": name} for at in (DEVICES[0], DEVICES[-1])]
        looked[name] = Look("#6f7780", (1, 2))
    across = Axis("spare space of the device with cooperation (%)", low=0, high=1.4 * DEVICES[-1])
    up = Axis("price of a byte of cache, in bytes of flash", log=2, low=1, high=64)
    return [named_at_ends(lines(points, across, up, styles=looked, inches=(3.35, 2.6)))]


STUDY = study(globals(), pictures={"figure-2": _draw_prices})
