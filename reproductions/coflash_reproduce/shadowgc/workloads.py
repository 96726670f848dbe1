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

GGC, SEPARATION, DELAY, ZGC, HGC, DGC, SGC = "GGC", "+ separation", "+ delay", "ZGC", "HGC", "DGC", "SGC"
SCHEMES = {GGC: "ggc", DELAY: "delay", SEPARATION: "separation", ZGC: "zgc", HGC: "hgc", DGC: "dgc", SGC: "sgc"}
"""The schemes by their names in the paper."""
COMPARED = (GGC, ZGC, HGC, DGC, SGC)
"""The schemes that the paper compares, the baseline first."""
DEVICE_SCHEMES = (GGC, DGC, SGC)
"""The schemes that depend on the device's buffer, and the baseline."""

VOLUMES = {"volume-10g": 1.0, "volume-1g": 0.1}
"""Workloads that write to as little as a volume of the paper's traces: the share of the flash, in percent."""
GIVEN = tuple(f"trace-{number}" for number in range(1, 17))
WORKLOADS = (*GIVEN, "pgbench", "jesd219-enterprise", "oltp-like", "zipf", *VOLUMES)
TITLES = {
    "pgbench": "pgbench (trace)",
    "jesd219-enterprise": "JESD219",
    "oltp-like": "OLTP (generator)",
    "zipf": "Zipf",
    "volume-10g": "Zipf, 10 GiB",
    "volume-1g": "Zipf, 1 GiB",
}
HOT_COLD = "footprint-hot-cold"
"""The experiment by written space in which nine writes of ten go to a tenth of that space."""
ROOMS = {
    "room-plane": "two planes of 512 blocks",
    "room-die": "the same, both planes one pool",
    "room-here": "a plane of 2,048 blocks, as here",
}
"""Devices on which a block for shadows takes more and less of the spare space."""


@dataclass(frozen=True)
class Scale:
    """The size of the experiments."""

    planes: int | None
    """The planes of the device, each a die of its own; None for those of `shadowgc-64g`."""
    requests: int
    """The requests of a generator."""
    rounds: int
    """The repetitions of the recorded trace."""
    host_mib: tuple[int, ...] = SWEPT_MIB
    """The sizes of the host's buffer, on the paper's device."""
    device_percent: tuple[float, ...] = (0.01, 0.1, 1)
    """The sizes of the device's buffer, as shares of the flash."""
    footprint_percent: tuple[float, ...] = (100, 30, 10, 3, 1, 0.3, 0.1)
    """The written spaces, as shares of the flash."""
    rates: tuple[int, ...] = (10, 100, 1000, 10_000)
    """The requests per second on the paper's device."""
    blocks_per_plane: int = 2048
    pages_per_block: int = 512
    paper_sized: bool = True
    """Whether a trace of the user is replayed on a device as large as the paper's."""
    requests_max: int | None = None
    """The maximum of requests from such a trace; None for all."""


SCALES = {
    "quick": Scale(1, 1_000_000, 2, requests_max=1_000_000),
    "full": Scale(None, 3_000_000, 8),
}


def experiments(scale_name: str, traces: tuple[str, ...]) -> tuple[Experiment, ...]:
    """Return the experiments.

    For each workload there is one by the size of either buffer and one without the host's; for Zipf's law also by
    written space and by rate; and one on the cost of a block for shadows.

    Raises:
        CoflashError: A trace cannot be read, or there are too many.
    """
    scale = SCALES[scale_name]
    if len(traces) > len(GIVEN):
        msg = f"{len(traces)} traces were given; at most {len(GIVEN)} are allowed, each a workload of its own"
        raise CoflashError(msg)
    done: list[Experiment] = []
    for name, file in zip(GIVEN, traces, strict=False):
        done += _of(scale, name, Path(file).stem, _given(scale, file), (file,))
    recorded = str(find_trace())
    done += _of(scale, "pgbench", TITLES["pgbench"], _recorded(scale, recorded), (recorded,))
    for name, workload in _made_up(scale).items():
        done += _of(scale, name, TITLES[name], _device(scale, workload))
    zipf = _device(scale, _made_up(scale)["zipf"])
    for name, percent in VOLUMES.items():
        done.append(_by_host(scale, name, TITLES[name], zipf.with_(_within(zipf, percent))))
    done += (_by_footprint(scale, by_footprint(mib), "Zipf", zipf, mib) for mib in scale.host_mib)
    hot_cold = zipf.with_({"workload.synthetic.generator": "hot-cold"})
    done.append(_by_footprint(scale, HOT_COLD, "hot and cold", hot_cold, HOST_MIB))
    done.append(_by_rate(scale, zipf))
    done += _rooms(scale)
    return tuple(done)


def by_device(workload: str) -> str:
    """Return the name of the experiment by the size of the device's buffer."""
    return f"{workload}-device"


def alone(workload: str) -> str:
    """Return the name of the experiment without a host's buffer."""
    return f"{workload}-alone"


def by_footprint(host_mib: int) -> str:
    """Return the name of the experiment by written space."""
    return f"footprint-{host_mib}"


def raw_bytes(scenario: Scenario) -> int:
    """Return the size of all flash."""
    flash = scenario.to_dict()["flash"]
    divisions = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "blocks_per_plane")
    pages: int = math.prod(flash[division] for division in (*divisions, "pages_per_block"))
    return pages * PAGE_BYTES


def _device(scale: Scale, workload: Mapping[str, Any], flash: Mapping[str, Any] | None = None) -> Scenario:
    """Return `shadowgc-64g`, or a number of its planes."""
    values = Scenario.load("shadowgc-64g").to_dict()
    size = {"blocks_per_plane": scale.blocks_per_plane, "pages_per_block": scale.pages_per_block}
    if scale.planes is not None:
        size |= {"channels": scale.planes, "chips_per_channel": 1, "planes_per_die": 1}
    return Scenario.from_dict({**values, "flash": {**values["flash"], **size, **(flash or {})}, "workload": workload})


def _made_up(scale: Scale) -> dict[str, dict[str, Any]]:
    """Return generators over the whole device, with the request rate of `shadowgc-64g` for each GiB of flash."""
    mean = _mean(_device(scale, {}), _RATE)
    count = {"requests": scale.requests}
    poisson = {**count, "arrival": {"name": "poisson", "mean": mean}}
    return {
        "jesd219-enterprise": {"preset": {"name": "jesd219-enterprise", **poisson}},
        "oltp-like": {"preset": {"name": "oltp-like", **count, "interarrival": mean}},
        "zipf": {"synthetic": {"generator": {"name": "zipf", "exponent": 1.0}, **poisson, **_PAGES}},
    }


_RATE = 2000
"""The requests per second on 1 TiB outside sweeps."""
_PAGES = {"size": {"name": "fixed", "size": "16KiB"}, "align": "16KiB"}


def _mean(device: Scenario, rate: float) -> str:
    """Return the interval between requests for a rate on 1 TiB."""
    return f"{round(1e6 * 2**40 / (rate * raw_bytes(device)))}us"


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


def _of(scale: Scale, name: str, title: str, scenario: Scenario, files: tuple[str, ...] = ()) -> Sequence[Experiment]:
    flash = raw_bytes(scenario)
    host = _pages(flash, HOST_MIB * MIB_ON_1_TIB)
    devices = [(percent, _pages(flash, percent / 100)) for percent in scale.device_percent]
    by_size = [_case(line, at, host, size) for line in DEVICE_SCHEMES for at, size in devices]
    without = [_case(line, at, "0B", size) for line in (GGC, DGC) for at, size in devices]
    return (
        _by_host(scale, name, title, scenario, files),
        Experiment(by_device(name), title, scenario, tuple(by_size), files),
        Experiment(alone(name), f"{title}, no host buffer", scenario, tuple(without), files),
    )


def _by_host(scale: Scale, name: str, title: str, scenario: Scenario, files: tuple[str, ...] = ()) -> Experiment:
    sizes = [(mib, *_buffers(scenario, mib)) for mib in scale.host_mib]
    return Experiment(name, title, scenario, tuple(_case(line, *size) for line in SCHEMES for size in sizes), files)


def _by_footprint(scale: Scale, name: str, title: str, scenario: Scenario, mib: int) -> Experiment:
    buffers, places = _buffers(scenario, mib), scale.footprint_percent
    cases = (_case(line, at, *buffers, _within(scenario, at)) for line in COMPARED for at in places)
    return Experiment(name, f"{title}, host buffer {mib:,} MiB", scenario, tuple(cases))


def _by_rate(scale: Scale, zipf: Scenario) -> Experiment:
    where = _within(zipf, VOLUMES["volume-10g"])
    pauses = {rate: {"workload.synthetic.arrival.mean": _mean(zipf, rate)} for rate in scale.rates}
    buffers = _buffers(zipf, HOST_MIB)
    cases = (_case(line, rate, *buffers, {**where, **pauses[rate]}) for line in COMPARED for rate in scale.rates)
    return Experiment("rate", "Zipf, 10 GiB", zipf, tuple(cases))


def _rooms(scale: Scale) -> Iterator[Experiment]:
    """Return uniform writes to all of a small device, with hardly any shadows."""
    blocks = scale.blocks_per_plane
    narrow = {"channels": 1, "chips_per_channel": 1, "planes_per_die": 2, "blocks_per_plane": blocks // 4}
    wide = {**narrow, "planes_per_die": 1, "blocks_per_plane": blocks}
    for (name, title), flash, pools in zip(
        ROOMS.items(), (narrow, narrow, wide), ("plane", "die", "plane"), strict=True
    ):
        arrival = {"name": "poisson", "mean": _mean(_device(scale, {}, flash), _RATE)}
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
