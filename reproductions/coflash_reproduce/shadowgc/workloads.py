"""The device, the workloads and the experiments of the ShadowGC paper."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from coflash import trace
from coflash._core import CoflashError
from coflash.demo import find_trace
from coflash.scenario import Scenario
from coflash.sweep.memory import flash_pages
from coflash_reproduce.paper import Case, Experiment

PAGE_BYTES = 16 * 2**10
TIB_MIB = 2**20
"""The paper's flash, in MiB."""
DEVICE_MIB, HOST_GIB = 128, 1
"""The paper's buffer in the device, and what we take for the host's, whose size is not stated."""
LIVE_GIB = 50
"""The live flash of the main set-up: the size against which buffers count."""
DEVICE_PERCENT = 100 * DEVICE_MIB / 1024 / LIVE_GIB
HOST_PERCENT = 100 * HOST_GIB / LIVE_GIB
"""The buffers of the main set-up, as shares of the live flash: 0.25 % and 2 %."""
LAMBDA = 10.0
"""The weight of a zombie with which ZGC comes to the paper's number; the paper does not state it."""
NO_LIMIT, LINUX = {"host_buffer.dirty_age_max": "8760h"}, {"host_buffer.dirty_age_max": "30s"}
"""The ages up to which a page may be dirty in the host: the paper names none, Linux 30 s."""

GGC, SEPARATION, DELAY, ZGC, HGC, DGC, SGC = "GGC", "+ separation", "+ delay", "ZGC", "HGC", "DGC", "SGC"
BOTH, TWINS = "HGC + DGC", "twins discarded"
SCHEMES: dict[str, Any] = {
    GGC: "ggc",
    DELAY: {"name": "delay", "lambda": LAMBDA},
    SEPARATION: "separation",
    ZGC: {"name": "zgc", "lambda": LAMBDA},
    HGC: "hgc",
    DGC: "dgc",
    BOTH: "hgc-dgc",
    TWINS: "twin-discard",
    SGC: "sgc",
}
"""The schemes by their names in the paper, and two that take SGC apart."""
COMPARED = (GGC, ZGC, HGC, DGC, SGC)
"""The schemes that the paper compares, the baseline first."""
MOTIVATION = (GGC, DELAY, SEPARATION, ZGC)
"""The schemes of figure 2, the baseline first."""

TWO, THREE = "two active blocks", "three active blocks"
LAYOUTS = {TWO: [["host", "evict", "gc"]], THREE: [["host", "evict"]]}
"""The active blocks: the paper's, and the variant in which GC's copies have one of their own."""
_BLOCKS = "ftl.shared_streams"

MAIN = "zipf"
"""The workload of the main set-up."""
TITLES = {
    MAIN: "Zipf 0.7",
    "zipf-1": "Zipf 1.0",
    "uniform": "uniform",
    "hot-cold": "hot and cold",
    "oltp-like": "OLTP (generator)",
    "jesd219-enterprise": "JESD219",
    "sequential": "sequential",
    "pgbench": "pgbench (trace)",
}
GIVEN = tuple(f"trace-{number}" for number in range(1, 17))
WORKLOADS = (*GIVEN, *TITLES)
MODEST = tuple(name for name in TITLES if name not in ("hot-cold", "sequential"))
"""The workloads that write a modest share of new pages."""
LITERAL = tuple(f"{name}-1t" for name in GIVEN)
"""The traces of the user on all of the paper's device."""
LAMBDAS = (1, 4, 7, 10, 11, 13, 15)
"""The weights of a zombie that are compared."""
LIVES_GIB = (1024, 256, 128, 64, 50, 32, 16, 8)
"""The live flash under buffers of 128 MiB and 1 GiB."""
READ_TITLES = ("30 % reads", "30 % reads, three active blocks")
VARIANTS: dict[str, Mapping[str, Any]] = {
    "main set-up": {},
    "three active blocks": {_BLOCKS: LAYOUTS[THREE]},
    "pages written after 30 s": LINUX,
    "a prefill of one pass": {"precondition.random_passes": 1.0},
    "blocks of 512 pages, as the paper's": {"flash.pages_per_block": 4, "workload.synthetic.requests": 4},
    "the same, but as few as fit": {"flash.pages_per_block": 4, "flash.blocks_per_plane": 1 / 4},
    "blocks of 32 pages": {"flash.pages_per_block": 1 / 4, "flash.blocks_per_plane": 4},
    "cost-benefit victims": {"gc.victim": "cost-benefit"},
    "Zipf 0.5": {"workload.synthetic.generator.exponent": 0.5},
    "Zipf 0.9": {"workload.synthetic.generator.exponent": 0.9},
    "half of the flash live": {"workload.synthetic.space": 0.5},
    "CFLRU in the device": {"cache.policy": "cflru"},
    "PT-LRU in the device": {"cache.policy": "pt-lru"},
    "BPLRU in the device": {"cache.policy": "bplru"},
    "4 GiB in the host": {"host_buffer.size": 4.0},
    "4 GiB in the host, λ = 4": {"host_buffer.size": 4.0, "lambda": 4.0},
    "4 GiB in the host, λ = 1": {"host_buffer.size": 4.0, "lambda": 1.0},
    READ_TITLES[0]: {"workload.synthetic.read_share": "30%"},
    READ_TITLES[1]: {"workload.synthetic.read_share": "30%", _BLOCKS: LAYOUTS[THREE]},
}
"""What may matter: changes to the main set-up, one at a time; numbers are factors of its own."""
VARIANT_TITLES = tuple(VARIANTS)
SHARES_PERCENT = (0.1, 0.5, 2, 5, 10)
"""The buffers of the map, as shares of the live flash: the range that the paper cites."""
MAP_LAMBDAS = (1.0, 4.0, LAMBDA)
WRITTEN_PERCENT = {"1 TiB": 100, "100 GiB": 10, "10 GiB": 1, "1 GiB": 0.1}
"""What is written to where all of 1 TiB is live, as a share of the flash."""
SHUTDOWNS = {"no restart": {}, **{kind: {"restart.shutdown": kind} for kind in ("sudden", "orderly")}}
"""The restarts, by what precedes them."""
RESTART_HOURS = (100, 200, 300, 400, 500)
_WEEKS_4 = 4 * 7 * 24 * 3600
NOTICE_BYTES = 5
"""The reserved bytes of a SATA command, by the paper: room for one address."""
PAPER_SGC, PAPER_ZGC = "SGC, paper's mean", "ZGC, paper's mean"
NEAR = 0.2
"""The share within which a variant has a number of the paper."""
APART = 0.01
"""The least difference of shares of shadows, in points of the pages moved, that tells two workloads apart."""
FEW_BLOCKS = 100
"""The least number of blocks for shadows that tells how full they are when GC chooses them."""
SATURATED = 0.95
"""The utilisation above which dies never catch up."""
NOTICES = (0, 1, 2)
"""The notices of that size for which a command has room; 0 for those of the scenario."""
NOTICE_READS = (0, 5, 10, 30)
"""The shares of reads with which notices are sent, in percent; the last one is counted."""
NOTICED = tuple(f"notices-{percent}" for percent in NOTICE_READS)


@dataclass(frozen=True)
class Scale:
    """The size of the experiments."""

    requests: int
    """The requests of a generator."""
    blocks_per_plane: int = 2048
    pages_per_block: int = 128
    seeds: int = 3
    """The seeds of the main set-up."""
    shares_percent: tuple[float, ...] = SHARES_PERCENT
    """The buffers of the map."""
    requests_max: int | None = None
    """The maximum of requests from a trace of the user; None for all."""


QUICK = Scale(150_000, blocks_per_plane=1024, seeds=2, requests_max=1_000_000)
SCALES = {"quick": QUICK, "full": Scale(600_000)}


def experiments(scale_name: str, traces: tuple[str, ...]) -> tuple[Experiment, ...]:
    """Return the experiments: the workloads, and around the main set-up all that may matter.

    Raises:
        CoflashError: A trace cannot be read, or there are too many.
    """
    scale = SCALES[scale_name]
    if len(traces) > len(GIVEN):
        msg = f"{len(traces)} traces were given; at most {len(GIVEN)} are allowed, each a workload of its own"
        raise CoflashError(msg)
    done: list[Experiment] = []
    for name, title, scenario, files in _workloads(scale, traces):
        lines = tuple(SCHEMES) if name == MAIN else (*COMPARED, *MOTIVATION[1:3])
        seeds = scale.seeds if name == MAIN else 1
        done.append(Experiment(name, title, scenario, _cases(lines), files, seeds=seeds))
        done.append(
            Experiment(f"{name}-alone", title, scenario.with_({"host_buffer.size": "0B"}), _cases((GGC, DGC)), files)
        )
        if name in GIVEN:
            literal = Scenario.load("shadowgc-1t").to_dict() | {"workload": scenario.to_dict()["workload"]}
            done.append(Experiment(f"{name}-1t", title, Scenario.from_dict(literal), _cases(COMPARED), files))
    main = main_set_up(scale)
    done += [_by_lambda(main), _by_live_flash(main), _variants(main), *_map(scale), *_on_1_tib(scale)]
    return (*done, _restarted(scale, main), *(_with_reads(main, share) for share in NOTICE_READS))


def by_host(percent: float) -> str:
    """Return the name of the experiment of the map with a size of the host's buffer."""
    return f"map-{percent:g}"


def zombie(scheme: str, weight: float) -> str:
    """Return the name of a scheme with a weight of zombies."""
    return f"{scheme}, λ {weight:g}"


def raw_bytes(scenario: Scenario) -> int:
    """Return the size of all flash."""
    return flash_pages(scenario) * PAGE_BYTES


def _workloads(scale: Scale, traces: Sequence[str]) -> Iterator[tuple[str, str, Scenario, tuple[str, ...]]]:
    """Yield the workloads, each over all of a device: name, title, scenario, files of its trace."""
    for name, file in zip(GIVEN, traces, strict=False):
        workload = {"remap": "dense", "requests_max": scale.requests_max}
        yield name, Path(file).stem, _fitting(scale, file, workload), (file,)
    for name, workload in _made_up(scale).items():
        yield name, TITLES[name], _device(scale, workload), ()
    recorded = str(find_trace())
    # It was recorded on a faster device: its clients wait for answers here as they did there.
    closed = {"replay": {"mode": "closed", "queue_depth": 8}}
    yield "pgbench", TITLES["pgbench"], _fitting(scale, recorded, {"remap": "dense"}).with_(closed), (recorded,)


_PAGES = {"size": {"name": "fixed", "size": "16KiB"}, "align": "16KiB"}


def _made_up(scale: Scale) -> dict[str, dict[str, Any]]:
    """Return generators over the whole device, at a rate at which GC has idle time."""
    arrival = {"requests": scale.requests, "arrival": {"name": "poisson", "mean": "64ms"}}
    uniform = {"hot-cold": {"name": "hot-cold", "zones": _ZONES}, "uniform": "uniform", "sequential": "sequential"}
    by_zipf = {MAIN: {"name": "zipf", "exponent": 0.7}, "zipf-1": {"name": "zipf", "exponent": 1.0}}
    single = {name: {"synthetic": {"generator": one, **arrival, **_PAGES}} for name, one in (by_zipf | uniform).items()}
    oltp = {"name": "oltp-like", "requests": scale.requests, "interarrival": "64ms"}
    jesd = {"name": "jesd219-enterprise", **arrival}
    found = {**single, "oltp-like": {"preset": oltp}, "jesd219-enterprise": {"preset": jesd}}
    return {name: found[name] for name in TITLES if name in found}


_ZONES = [{"traffic": "90%", "space": "5%"}, {"traffic": "10%", "space": "95%"}]


def main_set_up(scale: Scale) -> Scenario:
    """Return the scenario of the main set-up."""
    return _device(scale, _made_up(scale)[MAIN])


def _device(scale: Scale, workload: Mapping[str, Any]) -> Scenario:
    """Return a plane of `shadowgc-64g`, all of it live, with the buffers of the main set-up."""
    values = Scenario.load("shadowgc-64g").to_dict()
    size = {"channels": 1, "chips_per_channel": 1, "planes_per_die": 1}
    size |= {"blocks_per_plane": scale.blocks_per_plane, "pages_per_block": scale.pages_per_block}
    made = Scenario.from_dict({**values, "flash": {**values["flash"], **size}, "workload": workload})
    return made.with_({**buffers(made, HOST_PERCENT, DEVICE_PERCENT), **NO_LIMIT})


def buffers(scenario: Scenario, host_percent: float, device_percent: float) -> dict[str, str]:
    """Return the keys of buffers with these shares of the flash, in whole pages."""
    shares = {"host_buffer.size": host_percent, "cache.size": device_percent}
    pages = flash_pages(scenario)
    kib = PAGE_BYTES // 2**10
    return {key: f"{max(1, round(pages * percent / 100)) * kib}KiB" for key, percent in shares.items()}


def _fitting(scale: Scale, file: str, workload: dict[str, Any]) -> Scenario:
    """Return a trace on a device that has just the room for the pages that it touches."""
    footprint = trace.info((file,), page="16KiB")["footprint_pages"]
    if footprint is None:
        raise CoflashError(f"{file}: its requests are scattered too far to fit a device to them")
    pages_per_block = min(scale.pages_per_block, max(4, footprint // _BLOCKS_MIN))
    blocks = math.ceil(footprint * 1.07 / pages_per_block) + 2
    return _device(replace(scale, pages_per_block=pages_per_block, blocks_per_plane=blocks), workload)


_BLOCKS_MIN = 512
"""The blocks of a device that fits a trace, unless they would be too small: GC keeps some back."""


def _cases(lines: Sequence[str], at: float = 0, changes: Mapping[str, Any] | None = None) -> tuple[Case, ...]:
    return tuple(Case(line, at, {"cooperation": SCHEMES[line], **(changes or {})}) for line in lines)


def _by_lambda(main: Scenario) -> Experiment:
    weighed = {DELAY: "delay", ZGC: "zgc"}
    cases = [
        Case(line, at, {"cooperation": {"name": name, "lambda": float(at)}})
        for line, name in weighed.items()
        for at in LAMBDAS
    ]
    return Experiment("lambda", TITLES[MAIN], main, (*_cases((GGC, SEPARATION)), *cases))


def _by_live_flash(main: Scenario) -> Experiment:
    """Return the buffers of 1 GiB and 128 MiB as shares of more and less live flash."""
    shares = {gib: buffers(main, 100 * HOST_GIB / gib, 100 * DEVICE_MIB / 1024 / gib) for gib in LIVES_GIB}
    cases = (case for gib, sizes in shares.items() for case in _cases(COMPARED, gib, sizes))
    return Experiment("live", TITLES[MAIN], main, tuple(cases))


def _variants(main: Scenario) -> Experiment:
    values = main.to_dict()
    own = {f"flash.{key}": values["flash"][key] for key in ("pages_per_block", "blocks_per_plane")}
    own["workload.synthetic.requests"] = values["workload"]["synthetic"]["requests"]
    cases: list[Case] = []
    for at, variant in enumerate(VARIANTS.values()):
        changes = {key: int(value * own[key]) if key in own else value for key, value in variant.items()}
        if share := changes.get(_SPACE):
            changes[_SPACE] = f"{round(share * raw_bytes(main) / 1.07 / PAGE_BYTES) * PAGE_BYTES // 2**10}KiB"
        times, zgc = changes.pop("host_buffer.size", 1), {"name": "zgc", "lambda": changes.pop("lambda", LAMBDA)}
        changes |= buffers(main.with_(changes), times * HOST_PERCENT, DEVICE_PERCENT)
        weighed = _cases((ZGC,), at, {**changes, "cooperation": zgc})
        cases += (*_cases((GGC,), at, changes), *weighed, *_cases((HGC, DGC, SGC), at, changes))
    return Experiment("variants", TITLES[MAIN], main, tuple(cases))


_SPACE = "workload.synthetic.space"


_SMALL: dict[str, Any] = {"blocks_per_plane": QUICK.blocks_per_plane, "requests": QUICK.requests}
"""The device of the map, which has many runs."""


def _map(scale: Scale) -> Iterator[Experiment]:
    """Return the sizes of both buffers, an experiment for each of the host's."""
    main = main_set_up(replace(scale, **_SMALL) if scale.blocks_per_plane > QUICK.blocks_per_plane else scale)
    for host in scale.shares_percent:
        cases: list[Case] = []
        for device in scale.shares_percent:
            sizes = buffers(main, host, device)
            cases += _cases((GGC, HGC, DGC, SGC), device, sizes)
            for weight in MAP_LAMBDAS:
                cooperation = {"name": "zgc", "lambda": weight}
                cases.append(Case(zombie(ZGC, weight), device, {"cooperation": cooperation, **sizes}))
        yield Experiment(by_host(host), f"host buffer {host:g} %", main, tuple(cases))


def _on_1_tib(scale: Scale) -> Iterator[Experiment]:
    """Return the literal sizes: 128 MiB in the device, 256 MiB in the host, 1 TiB live, pages written after 30 s."""
    zipf = _device(scale, _made_up(scale)["zipf-1"])
    sizes = buffers(zipf, 100 * 256 / TIB_MIB, 100 * DEVICE_MIB / TIB_MIB)
    pages = raw_bytes(zipf) / PAGE_BYTES
    for layout, streams in LAYOUTS.items():
        cases: list[Case] = []
        for percent in WRITTEN_PERCENT.values():
            space = {} if percent == 100 else {_SPACE: f"{round(pages * percent / 100) * PAGE_BYTES // 2**10}KiB"}
            cases += _cases(COMPARED, percent, {**sizes, **LINUX, **space, _BLOCKS: streams})
        yield Experiment(on_1_tib(layout), layout, zipf, tuple(cases))


def on_1_tib(layout: str) -> str:
    """Return the name of the experiment with all of 1 TiB live."""
    return f"terabyte-{'two' if layout == TWO else 'three'}"


def _restarted(scale: Scale, main: Scenario) -> Experiment:
    """Return SGC over four weeks, so that blocks for shadows can fall due, without and with restarts."""
    slow = main.with_({"workload.synthetic.arrival.mean": f"{round(1e6 * _WEEKS_4 / scale.requests)}us"})
    times = {"restart.at": [f"{hour}h" for hour in RESTART_HOURS]}
    cases = (Case(kind, 0, {"cooperation": "sgc", **(times if how else {}), **how}) for kind, how in SHUTDOWNS.items())
    return Experiment("restart", TITLES[MAIN], slow, tuple(cases))


def _with_reads(main: Scenario, percent: int) -> Experiment:
    """Return short notices beside usual ones under the writes of the main set-up, with reads among them."""
    changes = {
        "workload.synthetic.read_share": f"{percent}%",
        "workload.synthetic.requests": round(main.to_dict()["workload"]["synthetic"]["requests"] / (1 - percent / 100)),
    }
    cases: list[Case] = []
    for room in NOTICES:
        short = {"host.notice_size": f"{NOTICE_BYTES}B", "host.notices.bytes_max": f"{room * NOTICE_BYTES}B"}
        cases += _cases((SGC,), room, short if room else {})
    return Experiment(f"notices-{percent}", TITLES[MAIN], main.with_(changes), tuple(cases))
