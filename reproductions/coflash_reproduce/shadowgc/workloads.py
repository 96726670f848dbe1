"""The device, the workloads and the experiments of the ShadowGC paper."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coflash import trace
from coflash._core import CoflashError
from coflash.demo import find_trace
from coflash.scenario import Scenario
from coflash_reproduce.paper import Case, Experiment

PAGE_BYTES = 16 * 2**10
MIB_ON_1_TIB = 1 / 2**20
"""A MiB as a share of the paper's device."""
HOST_MIB = 256
"""The host's buffer outside sweeps, on the paper's device; its size is not stated."""
SWEPT_MIB = (64, 256, 1024)
"""The sizes that stand for the paper's."""
DEVICE_PERCENT = 100 * 128 * MIB_ON_1_TIB
"""The paper's buffer in the device, as a share of the flash in percent."""

GGC, SEPARATION, DELAY, ZGC, HGC, DGC, SGC = "GGC", "+ separation", "+ delay", "ZGC", "HGC", "DGC", "SGC"
SCHEMES = {GGC: "ggc", DELAY: "delay", SEPARATION: "separation", ZGC: "zgc", HGC: "hgc", DGC: "dgc", SGC: "sgc"}
"""The schemes by their names in the paper."""
COMPARED = (GGC, ZGC, HGC, DGC, SGC)
"""The schemes that the paper compares, the baseline first."""
MOTIVATION = (GGC, DELAY, SEPARATION, ZGC)
"""The schemes of figure 2, the baseline first."""
DEVICE_SCHEMES = (GGC, DGC, SGC)
"""The schemes that depend on the device's buffer, and the baseline."""

TWO, THREE = "two active blocks", "three active blocks"
LAYOUTS = {TWO: [["host", "evict", "gc"]], THREE: [["host", "evict"]]}
"""The active blocks: the paper's, and the variant in which GC's copies have one of their own."""

VOLUMES = {"volume-100g": 10.0, "volume-10g": 1.0, "volume-1g": 0.1}
"""Workloads that write to as little as a volume of the paper's traces: the share of the flash, in percent."""
GIVEN = tuple(f"trace-{number}" for number in range(1, 17))
GENERATED = ("jesd219-enterprise", "oltp-like", "zipf", "sequential")
WORKLOADS = (*GIVEN, "pgbench", *GENERATED, *VOLUMES)
TITLES = {
    "pgbench": "pgbench (trace)",
    "jesd219-enterprise": "JESD219",
    "oltp-like": "OLTP (generator)",
    "zipf": "Zipf",
    "sequential": "sequential",
    "volume-100g": "Zipf, 100 GiB",
    "volume-10g": "Zipf, 10 GiB",
    "volume-1g": "Zipf, 1 GiB",
}
BUFFERED = ("pgbench", "zipf", "volume-10g")
"""The workloads of the experiments by the size of the device's buffer."""
AGE_LIMITS = {"age-limit": "30s", "age-none": "1000h"}
"""The experiments with the age at which the host writes a dirty page, and without one."""
ROOMS = {
    "room-plane": "two planes of 512 blocks",
    "room-die": "the same, both planes one pool",
    "room-here": "a plane of 2,048 blocks, as here",
}
"""Devices on which a block for shadows takes more and less of the spare space."""
VICTIMS = ("greedy", "cost-benefit")
"""The choices of victims that are compared."""
SHUTDOWNS = {"no restart": {}, **{kind: {"restart.shutdown": kind} for kind in ("sudden", "orderly")}}
"""The restarts, by what precedes them."""
NOTICE_BYTES = 5
"""The reserved bytes of a SATA command, by the paper: room for one address."""
NOTICES = (0, 1, 2)
"""The notices of that size for which a command has room; 0 for those of the scenario."""
RESTARTED = ("volume-100g", "volume-10g")
"""The workloads with restarts."""


@dataclass(frozen=True)
class Scale:
    """The size of the experiments."""

    requests: int
    """The requests of a generator."""
    rounds: int
    """The repetitions of the recorded trace."""
    host_mib: tuple[int, ...] = SWEPT_MIB
    """The sizes of the host's buffer, on the paper's device."""
    device_percent: tuple[float, ...] = (DEVICE_PERCENT, 1)
    """The sizes of the device's buffer, as shares of the flash."""
    footprint_percent: tuple[float, ...] = (100, 10, 3, 1, 0.3, 0.1)
    """The written spaces, as shares of the flash."""
    unlimited_mib: tuple[int, ...] = (256, 1024, 16384)
    """The sizes of the host's buffer with which the age limit is compared with none."""
    passes: tuple[float, ...] = (0.02, 0.05, 0.2, 1, 3)
    """The random overwrites of the prefill, in device writes."""
    restart_hours: tuple[float, ...] = (1, 2, 3, 4, 5, 6)
    """The times of the restarts."""
    blocks_per_plane: int = 2048
    pages_per_block: int = 512
    paper_sized: bool = True
    """Whether a trace of the user is replayed on a device as large as the paper's."""
    requests_max: int | None = None
    """The maximum of requests from such a trace; None for all."""


SCALES = {"quick": Scale(187_500, 1, pages_per_block=128, requests_max=1_000_000), "full": Scale(750_000, 2)}


def experiments(scale_name: str, traces: tuple[str, ...]) -> tuple[Experiment, ...]:
    """Return the experiments.

    With either layout of active blocks there is one for each workload, and those by written space, by prefill, by the
    choice of victims, with restarts and with short notices; with the paper's also those by the size of the device's
    buffer, with and without an age limit, and on the cost of a block for shadows.

    Raises:
        CoflashError: A trace cannot be read, or there are too many.
    """
    scale = SCALES[scale_name]
    if len(traces) > len(GIVEN):
        msg = f"{len(traces)} traces were given; at most {len(GIVEN)} are allowed, each a workload of its own"
        raise CoflashError(msg)
    recorded = str(find_trace())
    zipf = _device(scale, _made_up(scale)["zipf"])
    workloads: dict[str, tuple[str, Scenario, tuple[str, ...]]] = {
        name: (Path(file).stem, _given(scale, file), (file,)) for name, file in zip(GIVEN, traces, strict=False)
    }
    workloads["pgbench"] = (TITLES["pgbench"], _recorded(scale, recorded), (recorded,))
    workloads |= {name: (TITLES[name], _device(scale, made_up), ()) for name, made_up in _made_up(scale).items()}
    workloads |= {name: (TITLES[name], zipf.with_(_within(zipf, share)), ()) for name, share in VOLUMES.items()}
    done: list[Experiment] = []
    for layout, streams in LAYOUTS.items():
        shared = {"ftl.shared_streams": streams}
        for name, (title, scenario, files) in workloads.items():
            swept = scale.host_mib if name in (*GIVEN, *VOLUMES) else (HOST_MIB,)
            panel = title if layout == TWO else f"{title}, three blocks"
            done.append(_by_host(swept, in_layout(name, layout), panel, scenario.with_(shared), files))
        done.append(_by_footprint(scale, layout, zipf.with_(shared)))
        volume = workloads["volume-10g"][1].with_(shared)
        done.append(_by_prefill(scale, layout, volume))
        done.append(_by_victim(layout, volume))
        for name in RESTARTED:
            title, scenario, _ = workloads[name]
            done.append(_restarted(scale, in_layout(name, layout), f"{title}, {layout}", scenario.with_(shared)))
            done.append(_with_short_notices(in_layout(name, layout), f"{title}, {layout}", scenario.with_(shared)))
    for name in BUFFERED:
        done += _by_device(scale, name, *workloads[name])
    done += _by_age(scale, workloads["volume-100g"][1])
    done += _rooms(scale)
    return tuple(done)


def in_layout(experiment: str, layout: str) -> str:
    """Return the name of an experiment with a layout of active blocks."""
    return experiment if layout == TWO else f"{experiment}-three"


def by_device(workload: str) -> str:
    """Return the name of the experiment by the size of the device's buffer."""
    return f"{workload}-device"


def alone(workload: str) -> str:
    """Return the name of the experiment without a host's buffer."""
    return f"{workload}-alone"


def restarted(workload: str) -> str:
    """Return the name of the experiment with restarts."""
    return f"{workload}-restart"


def noticed(workload: str) -> str:
    """Return the name of the experiment by the bytes for notices in a command."""
    return f"{workload}-notices"


def raw_bytes(scenario: Scenario) -> int:
    """Return the size of all flash."""
    flash = scenario.to_dict()["flash"]
    divisions = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "blocks_per_plane")
    pages: int = math.prod(flash[division] for division in (*divisions, "pages_per_block"))
    return pages * PAGE_BYTES


def _device(scale: Scale, workload: Mapping[str, Any], flash: Mapping[str, Any] | None = None) -> Scenario:
    """Return a plane of `shadowgc-64g`."""
    values = Scenario.load("shadowgc-64g").to_dict()
    size = {"channels": 1, "chips_per_channel": 1, "planes_per_die": 1}
    size |= {"blocks_per_plane": scale.blocks_per_plane, "pages_per_block": scale.pages_per_block}
    return Scenario.from_dict({**values, "flash": {**values["flash"], **size, **(flash or {})}, "workload": workload})


def _made_up(scale: Scale) -> dict[str, dict[str, Any]]:
    """Return generators over the whole device, with the request rate of `shadowgc-64g` for each GiB of flash."""
    mean = _mean(_device(scale, {}))
    count = {"requests": scale.requests}
    poisson = {**count, "arrival": {"name": "poisson", "mean": mean}}
    return {
        "jesd219-enterprise": {"preset": {"name": "jesd219-enterprise", **poisson}},
        "oltp-like": {"preset": {"name": "oltp-like", **count, "interarrival": mean}},
        "zipf": {"synthetic": {"generator": {"name": "zipf", "exponent": 1.0}, **poisson, **_PAGES}},
        "sequential": {"synthetic": {"generator": "sequential", **poisson, **_PAGES}},
    }


_RATE = 2000
"""The requests per second on 1 TiB."""
_PAGES = {"size": {"name": "fixed", "size": "16KiB"}, "align": "16KiB"}


def _mean(device: Scenario) -> str:
    """Return the interval between requests."""
    return f"{round(1e6 * 2**40 / (_RATE * raw_bytes(device)))}us"


def _within(scenario: Scenario, percent: float) -> dict[str, str]:
    """Return the keys that limit requests to a share of the flash; empty for all exported space."""
    return {} if percent == 100 else {"workload.synthetic.space": _pages(raw_bytes(scenario), percent / 100)}


def _given(scale: Scale, file: str) -> Scenario:
    """Return a trace of the user at its own times, its pages numbered in the order of their first use."""
    workload = {"remap": "dense", "requests_max": scale.requests_max}
    if scale.paper_sized:
        return Scenario.from_dict({**Scenario.load("shadowgc-1t").to_dict(), "workload": workload})
    return _fitting(scale, file, workload)


def _recorded(scale: Scale, file: str) -> Scenario:
    """Return the demo's trace. Recorded on a faster device: its clients wait for answers here as they did there."""
    closed = {"mode": "closed", "queue_depth": 8}
    return _fitting(scale, file, {"remap": "dense", "repeat": scale.rounds}).with_({"replay": closed})


def _fitting(scale: Scale, file: str, workload: dict[str, Any]) -> Scenario:
    """Return a trace on a device with at least four times as many pages as it touches."""
    footprint = trace.info((file,), page="16KiB")["footprint_pages"]
    if footprint is None:
        msg = f"{file}: its requests are scattered too far to fit a device to them"
        raise CoflashError(msg)
    larger = max(1.0, 4 * footprint * PAGE_BYTES / raw_bytes(_device(scale, {})))
    return _device(scale, workload, {"blocks_per_plane": math.ceil(scale.blocks_per_plane * larger)})


def _by_host(
    host_mib: Sequence[int], name: str, title: str, scenario: Scenario, files: tuple[str, ...] = ()
) -> Experiment:
    cases = [_case(line, mib, *_buffers(scenario, mib)) for line in COMPARED for mib in host_mib]
    if name.removesuffix("-three") in (*GIVEN, *VOLUMES):
        cases += [_case(line, HOST_MIB, *_buffers(scenario, HOST_MIB)) for line in (DELAY, SEPARATION)]
    return Experiment(name, title, scenario, tuple(cases), files)


def _by_footprint(scale: Scale, layout: str, zipf: Scenario) -> Experiment:
    buffers, places = _buffers(zipf, HOST_MIB), scale.footprint_percent
    cases = [_case(line, at, *buffers, _within(zipf, at)) for line in COMPARED for at in places]
    volumes = VOLUMES.values()
    cases += [_case(line, at, *buffers, _within(zipf, at)) for line in (DELAY, SEPARATION) for at in volumes]
    return Experiment(in_layout("footprint", layout), layout, zipf, tuple(cases))


def _by_prefill(scale: Scale, layout: str, scenario: Scenario) -> Experiment:
    buffers = _buffers(scenario, HOST_MIB)
    prefill = {passes: {"precondition.random_passes": passes} for passes in scale.passes}
    cases = (_case(line, at, *buffers, prefill[at]) for line in (GGC, SGC) for at in scale.passes)
    return Experiment(in_layout("prefill", layout), f"Zipf, 10 GiB, {layout}", scenario, tuple(cases))


def _by_victim(layout: str, scenario: Scenario) -> Experiment:
    buffers = _buffers(scenario, HOST_MIB)
    cases = (
        _case(line, at, *buffers, {"gc.victim": victim})
        for at, victim in enumerate(VICTIMS)
        for line in (GGC, DELAY, SEPARATION, ZGC, HGC, SGC)
    )
    return Experiment(in_layout("victims", layout), layout, scenario, tuple(cases))


def _by_device(
    scale: Scale, name: str, title: str, scenario: Scenario, files: tuple[str, ...]
) -> tuple[Experiment, ...]:
    host, _ = _buffers(scenario, HOST_MIB)
    devices = [(percent, _pages(raw_bytes(scenario), percent / 100)) for percent in scale.device_percent]
    by_size = [_case(line, at, host, size) for line in DEVICE_SCHEMES for at, size in devices]
    without = [_case(line, at, "0B", size) for line in (GGC, DGC) for at, size in devices]
    return (
        Experiment(by_device(name), title, scenario, tuple(by_size), files),
        Experiment(alone(name), f"{title}, no host buffer", scenario, tuple(without), files),
    )


def _by_age(scale: Scale, scenario: Scenario) -> Iterator[Experiment]:
    """Return the sizes of the host's buffer with and without a limit on the age of its dirty pages."""
    for name, age in AGE_LIMITS.items():
        sizes = [(mib, *_buffers(scenario, mib)) for mib in scale.unlimited_mib]
        limit = {} if age == "30s" else {"host_buffer.dirty_age_max": age}
        cases = (_case(line, *size, limit) for line in (GGC, ZGC, HGC, SGC) for size in sizes)
        title = "Zipf, 100 GiB, " + (f"at most {age}" if age == "30s" else "no limit")
        yield Experiment(name, title, scenario, tuple(cases))


def _restarted(scale: Scale, name: str, title: str, scenario: Scenario) -> Experiment:
    times = {"restart.at": [f"{round(3600 * hour)}s" for hour in scale.restart_hours]}
    buffers = _buffers(scenario, HOST_MIB)
    changes = {kind: {**times, **how} if how else {} for kind, how in SHUTDOWNS.items()}
    cases = (Case(kind, 0, {**_case(SGC, 0, *buffers).changes, **more}) for kind, more in changes.items())
    return Experiment(restarted(name), title, scenario, tuple(cases))


def _with_short_notices(name: str, title: str, scenario: Scenario) -> Experiment:
    size, cases = f"{NOTICE_BYTES}B", []
    for room in NOTICES:
        short = {"host.notice_size": size, "host.piggyback_max": f"{room * NOTICE_BYTES}B"} if room else {}
        cases.append(_case(SGC, room, *_buffers(scenario, HOST_MIB), short))
    return Experiment(noticed(name), title, scenario, tuple(cases))


def _rooms(scale: Scale) -> Iterator[Experiment]:
    """Return uniform writes to all of a small device, with hardly any shadows."""
    blocks = scale.blocks_per_plane
    narrow = {"channels": 1, "chips_per_channel": 1, "planes_per_die": 2, "blocks_per_plane": blocks // 4}
    wide = {**narrow, "planes_per_die": 1, "blocks_per_plane": blocks}
    for (name, title), flash, pools in zip(
        ROOMS.items(), (narrow, narrow, wide), ("plane", "die", "plane"), strict=True
    ):
        arrival = {"name": "poisson", "mean": _mean(_device(scale, {}, flash))}
        uniform = {"generator": "uniform", "requests": scale.requests, "arrival": arrival, **_PAGES}
        device = _device(scale, {"synthetic": uniform}, flash).with_({"ftl.pools": pools})
        buffers = _buffers(device, SWEPT_MIB[0])
        yield Experiment(name, title, device, tuple(_case(line, 0, *buffers) for line in (GGC, SEPARATION)))


def _buffers(scenario: Scenario, host_mib: int) -> tuple[str, str]:
    """Return the buffers of host and device, with their shares of the paper's device."""
    flash = raw_bytes(scenario)
    return _pages(flash, host_mib * MIB_ON_1_TIB), _pages(flash, 128 * MIB_ON_1_TIB)


def _case(line: str, at: float, host: str, device: str, more: Mapping[str, Any] | None = None) -> Case:
    buffers = {"host_buffer.size": host, "cache.size": device}
    return Case(line, at, {"cooperation": SCHEMES[line], **buffers, **(more or {})})


def _pages(flash_bytes: int, share: float) -> str:
    """Write the size of a buffer with that share of flash, in whole pages."""
    return f"{max(1, round(flash_bytes * share / PAGE_BYTES)) * (PAGE_BYTES // 2**10)}KiB"
