"""The device and the workloads of the ShadowGC paper, and what is run of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coflash import trace
from coflash._core import CoflashError
from coflash.demo import find_trace
from coflash.reproduce.paper import Case, Experiment
from coflash.scenario import Scenario

PAGE_BYTES = 16 * 2**10
MIB_ON_1_TIB = 1 / 2**20
"""The share of the paper's device that a MiB is."""
HOST_MIB = 256
"""The host's buffer where it is not swept, on the paper's device; its size is not stated."""
SWEPT_MIB = (64, 1024)
"""The ends of the sizes that are taken for the paper's."""

GGC, SEPARATION, DELAY, ZGC, HGC, DGC, SGC = "GGC", "+ separation", "+ delay", "ZGC", "HGC", "DGC", "SGC"
SCHEMES = {GGC: "ggc", DELAY: "delay", SEPARATION: "separation", ZGC: "zgc", HGC: "hgc", DGC: "dgc", SGC: "sgc"}
"""By what they are called in the paper."""
DEVICE_SCHEMES = (GGC, DGC, SGC)
"""Those that the device's buffer matters to, and the baseline."""

GIVEN = tuple(f"trace-{number}" for number in range(1, 17))
WORKLOADS = (*GIVEN, "pgbench", "jesd219-enterprise", "oltp-like", "zipf")
TITLES = {
    "pgbench": "pgbench (trace)",
    "jesd219-enterprise": "JESD219",
    "oltp-like": "OLTP (generator)",
    "zipf": "Zipf",
}


@dataclass(frozen=True)
class Scale:
    """How large the experiments are."""

    planes: int | None
    """Of the device, each a die of its own; None: as `shadowgc-64g` has them."""
    requests: int
    """Of a generator."""
    rounds: int
    """How often the recorded trace is gone through."""
    host_mib: tuple[int, ...]
    """The host's buffer, on the paper's device."""
    device_percent: tuple[float, ...] = (0.01, 0.1, 1)
    """The device's buffer, of the flash."""
    blocks_per_plane: int = 512
    pages_per_block: int = 512
    requests_max: int | None = None
    """Of a trace that the user names; all of it where None."""


SCALES = {
    "quick": Scale(2, 400_000, 2, (64, 256, 1024, 8192), requests_max=1_000_000),
    "full": Scale(None, 3_200_000, 16, (64, 256, 1024, 8192)),
}


def experiments(scale_name: str, traces: tuple[str, ...]) -> tuple[Experiment, ...]:
    """What is run: for each workload one experiment by the size of either buffer, and one without that of the host.

    Raises:
        CoflashError: A trace cannot be read, or there are too many.
    """
    scale = SCALES[scale_name]
    if len(traces) > len(GIVEN):
        msg = f"{len(traces)} traces were given; at most {len(GIVEN)} are allowed, each a workload of its own"
        raise CoflashError(msg)
    done: list[Experiment] = []
    for name, file in zip(GIVEN, traces, strict=False):
        done += _replayed(scale, name, Path(file).stem, file, {"requests_max": scale.requests_max}, {})
    # Recorded on a faster device: its clients wait for answers here as they did there.
    closed = {"mode": "closed", "queue_depth": 8}
    done += _replayed(scale, "pgbench", TITLES["pgbench"], str(find_trace()), {"repeat": scale.rounds}, closed)
    for name, workload in _made_up(scale).items():
        done += _of(scale, name, TITLES[name], _device(scale, scale.blocks_per_plane, workload))
    return tuple(done)


def by_device(workload: str) -> str:
    """The name of the experiment by the size of the device's buffer."""
    return f"{workload}-device"


def alone(workload: str) -> str:
    """The name of the experiment without a host's buffer."""
    return f"{workload}-alone"


def raw_bytes(scenario: Scenario) -> int:
    """All of its flash."""
    flash = scenario.to_dict()["flash"]
    divisions = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "blocks_per_plane")
    pages: int = math.prod(flash[division] for division in (*divisions, "pages_per_block"))
    return pages * PAGE_BYTES


def _device(scale: Scale, blocks_per_plane: int, workload: Mapping[str, Any], **tables: Any) -> Scenario:
    values = Scenario.load("shadowgc-64g").to_dict()
    flash = {**values["flash"], "blocks_per_plane": blocks_per_plane, "pages_per_block": scale.pages_per_block}
    if scale.planes is not None:
        flash |= {"channels": scale.planes, "chips_per_channel": 1, "planes_per_die": 1}
    return Scenario.from_dict({**values, "flash": flash, "workload": workload, **tables})


def _made_up(scale: Scale) -> dict[str, dict[str, Any]]:
    """Generators over the whole device, as many requests for each die as `shadowgc-64g` has in a second."""
    values = Scenario.load("shadowgc-64g").to_dict()
    dies = values["flash"]["channels"] * values["flash"]["chips_per_channel"]
    mean = f"{2 * dies / (scale.planes or dies):g}ms"
    count = {"requests": scale.requests}
    poisson = {**count, "arrival": {"name": "poisson", "mean": mean}}
    page = {"size": {"name": "fixed", "size": "16KiB"}, "align": "16KiB"}
    return {
        "jesd219-enterprise": {"preset": {"name": "jesd219-enterprise", **poisson}},
        "oltp-like": {"preset": {"name": "oltp-like", **count, "interarrival": mean}},
        "zipf": {"synthetic": {"generator": {"name": "zipf", "exponent": 1.0}, **poisson, **page}},
    }


def _replayed(
    scale: Scale, name: str, title: str, file: str, workload: dict[str, Any], replay: dict[str, Any]
) -> Sequence[Experiment]:
    """A trace: its pages, numbered as they are first touched, on a device that has at least four times as many."""
    footprint = trace.info((file,), page="16KiB")["footprint_pages"]
    if footprint is None:
        msg = f"{file}: its requests are scattered too far to fit a device to them"
        raise CoflashError(msg)
    smallest = _device(scale, scale.blocks_per_plane, {})
    larger = max(1.0, 4 * footprint * PAGE_BYTES / raw_bytes(smallest))
    blocks = math.ceil(scale.blocks_per_plane * larger)
    scenario = _device(scale, blocks, {"remap": "dense", **workload}, replay=replay)
    return _of(scale, name, title, scenario, (file,))


def _of(scale: Scale, name: str, title: str, scenario: Scenario, files: tuple[str, ...] = ()) -> Sequence[Experiment]:
    flash = raw_bytes(scenario)
    hosts = [(mib, _pages(flash, mib * MIB_ON_1_TIB)) for mib in scale.host_mib]
    devices = [(percent, _pages(flash, percent / 100)) for percent in scale.device_percent]
    host, device = _pages(flash, HOST_MIB * MIB_ON_1_TIB), _pages(flash, 128 * MIB_ON_1_TIB)

    def case(line: str, at: float, host: str, device: str) -> Case:
        return Case(line, at, {"cooperation": SCHEMES[line], "host_buffer.size": host, "cache.size": device})

    swept = [case(line, at, size, device) for line in SCHEMES for at, size in hosts]
    by_size = [case(line, at, host, size) for line in DEVICE_SCHEMES for at, size in devices]
    without = [case(line, at, "0B", size) for line in (GGC, DGC) for at, size in devices]
    return (
        Experiment(name, title, scenario, tuple(swept), files),
        Experiment(by_device(name), title, scenario, tuple(by_size), files),
        Experiment(alone(name), f"{title}, no host buffer", scenario, tuple(without), files),
    )


def _pages(flash_bytes: int, share: float) -> str:
    """A buffer of that share of flash, in whole pages."""
    return f"{max(1, round(flash_bytes * share / PAGE_BYTES)) * (PAGE_BYTES // 2**10)}KiB"
