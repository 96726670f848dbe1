"""What the CDM paper leaves open: footprints, skew, load and cache sizes, and how parts of its text are to be read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import mean
from typing import Any

from coflash import trace
from coflash.measures.measure import COPIED, MEAN, STDDEV, WAF_HOST, Measure
from coflash.scenario import Scenario
from coflash_reproduce.cdm import workloads as its
from coflash_reproduce.cdm.claims import COPIES_CHANGE, MEAN_CHANGE, STDDEV_CHANGE, WAF_CHANGES
from coflash_reproduce.inference.definition import Inference, Measured, Reading, Target, Unknown
from coflash_reproduce.text import Text

TEXT = Text.beside(__file__, {})
_unknown = partial(Unknown.of, TEXT)
_reading = partial(Reading.of, TEXT)

CACHE_GIB = (0.25, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0)
"""The cache sizes, on the paper's device."""
SIZES_MIN = 4
"""The fewest sizes of a figure."""
PLANES = 64
"""The planes of the paper's device. On one of them pauses are as many times longer."""

_SPACE, _SKEW, _PAUSE = (
    "workload.synthetic.space",
    "workload.synthetic.generator.exponent",
    "workload.synthetic.arrival.max",
)
_RUNS = {"name": "runs", "sequential_share": "94%", "from": "uniform"}
Own = tuple[Reading, ...]
"""Readings that only one workload has."""
_WEIGHT_0 = {"cooperation": {"name": "cdm", "removable_weight": 0.0}}


def inferences(divisor: int, traces: tuple[str, ...]) -> tuple[Inference, ...]:
    """Return those of both workloads of figures 6 to 9; with a trace, that of OLTP on it.

    Args:
        divisor: That of capacities, address spaces and requests: a power of 2 up to 1024.
        traces: The files of the OLTP trace, where the user has it.

    Raises:
        CoflashError: A trace cannot be read.
    """
    if traces:
        return (_replayed(traces),)
    jedec, oltp = (its.JEDEC_REQUESTS, its.JEDEC_BYTES, 14), (its.OLTP_REQUESTS, its.OLTP_BYTES, 22)
    return (
        _generated(divisor, "jedec", jedec, {"trim_share": "6%", "flush_share": "5%"}, _JEDEC_ONLY),
        _generated(divisor, "oltp", oltp, {"read_share": its.OLTP_READS}, _OLTP_ONLY),
    )


def _device(divisor: int, workload: dict[str, Any]) -> Scenario:
    """Return one plane of the paper's device, smaller by the rest of the division."""
    base = Scenario.load("cdm-64g").with_({"cooperation": "none", "cache.size": "0B"}).to_dict()
    flash = {**base["flash"], "channels": 1, "planes_per_die": 1, "blocks_per_plane": 4096 * PLANES // divisor}
    return Scenario.from_dict({**base, "flash": flash, "workload": workload})


def _workload(divisor: int, requests: int, gib: float, **shares: str) -> dict[str, Any]:
    return {
        "synthetic": {
            "generator": {"name": "zipf", "exponent": 0.5},
            "requests": requests // divisor,
            "space": _size(gib * its.GIB / divisor),
            "arrival": {"name": "uniform", "max": "8ms"},
            **shares,
        }
    }


def _size(count: float) -> str:
    """Write a size in whole pages."""
    return f"{int(count) // 4096 * 4}KiB"


def _unknowns(divisor: int) -> tuple[Unknown, ...]:
    step = 2**20 // divisor
    return (
        _unknown(_SPACE, "live footprint", f"{4 * step}KiB..{48 * step}KiB:{step}KiB", divisor),
        _unknown(_SKEW, "skew (exponent of Zipf's law)", "0.02..1.2"),
        _unknown(_PAUSE, "longest pause between requests", f"{125 * PLANES}us..{16000 * PLANES}us*2", 1 / PLANES),
    )


def _lines(cooperation: Mapping[str, Any] | None = None) -> dict[str, dict[str, Any]]:
    cdm = cooperation or {"name": "cdm", "removable_weight": 1.0}
    return {its.BASELINE: {"cooperation": {"name": "none"}}, its.CDM: {"cooperation": cdm}}


def _of(choose: Callable[[Sequence[float]], float], measure: Measure) -> Callable[[Measured], float]:
    return lambda measured: choose(measured.changes(its.CDM, measure))


def _targets(of: str) -> tuple[Target, ...]:
    least, greatest = WAF_CHANGES[of]
    return (
        Target("pages copied, mean change", COPIES_CHANGE[of], _of(mean, COPIED)),
        Target("WAF, least change", least, _of(max, WAF_HOST)),
        Target("WAF, greatest change", greatest, _of(min, WAF_HOST)),
        Target("mean response, mean change", MEAN_CHANGE[of], _of(mean, MEAN)),
        Target("its std. deviation, mean change", STDDEV_CHANGE[of], _of(mean, STDDEV)),
    )


def _selections() -> tuple[tuple[float, ...], ...]:
    """Return the sizes that a figure may have: each twice the one before, or equal steps, perhaps after a small one."""
    doubled = [gib for gib in CACHE_GIB if math.log2(gib).is_integer()]
    ends = [(low, high) for low in range(len(doubled)) for high in range(low + SIZES_MIN, len(doubled) + 1)]
    steps = ((2.0, 4.0, 6.0, 8.0), (4.0, 8.0, 12.0, 16.0))
    small = [((gib,) if gib else ()) for gib in (0.0, 0.25, 0.5, 1.0)]
    return *(tuple(doubled[low:high]) for low, high in ends), *(first + rest for rest in steps for first in small)


_SELECTED = {
    "least cache size": "0.25 to 4 GiB",
    "greatest cache size": "2 to 16 GiB",
    "their spacing": "each twice the one before, or equal steps, perhaps after a smaller one",
}


_REFERENCE = _reading("reference")


def _rounds(requests: int) -> tuple[Reading, ...]:
    """Return what else ten rounds may be, given the requests of one."""
    return (
        _reading("repeated", {"workload.repeat": its.ROUNDS, "workload.synthetic.requests": requests}),
        _reading("one-round", {"workload.synthetic.requests": requests}),
    )


def _shared(scale: float) -> tuple[Reading, ...]:
    """Return the readings of both workloads, given the time in which as large a share of the cache is written.

    Args:
        scale: That time, as a multiple of the paper's: commits come after 5 s there.
    """
    commits = {"name": "cdm-consistent", "commit_interval": f"{round(5e6 * scale)}us"}
    return (
        _reading("erased", {"precondition": {"fill": "none"}}),
        _reading("own-block", {"ftl.shared_streams": [["host", "evict"]]}),
        _reading("over-provisioning", {"ftl.spare.definition": "over_provisioning"}),
        _reading("consistent", lines={its.CDM: {"cooperation": commits}}),
    )


def _generated(divisor: int, name: str, size: tuple[int, int, float], shares: dict[str, str], own: Own) -> Inference:
    """Return a workload by its requests of a round, its size in bytes, and its live footprint at first in GiB."""
    requests, size_bytes, gib = size
    in_space = Reading(
        "address-space",
        f"{size_bytes / 1e9:g} GB are its address space",
        "Table 1 calls it the size of the workload.",
        {_SPACE: _size(size_bytes / divisor)},
    )
    return Inference(
        name=name,
        title=name.upper(),
        scenario=_device(divisor, _workload(divisor, requests * its.ROUNDS, gib, **shares)),
        scaling=f"Capacity, caches, footprint and requests are {divisor} times smaller than the paper's. There is one "
        f"plane of {PLANES}, with pauses {PLANES} times as long, so that it has the paper's load. All values are shown "
        "as on the paper's device. Requests of one page of 4 KiB by Zipf's law stand for the trace, with the "
        "shares of reads, trims and flushes of the paper's table 1.",
        lines=_lines(),
        axis={gib: {"cache.size": _size(gib * its.GIB / divisor)} for gib in CACHE_GIB},
        unknowns=_unknowns(divisor),
        targets=_targets(name),
        readings=(_REFERENCE, in_space, *own, *_rounds(requests // divisor), *_shared(PLANES / divisor)),
        selections=_selections(),
        selected=_SELECTED,
        unit="GiB",
    )


_JEDEC_ONLY: Own = (
    _reading("sequential", {"workload.synthetic.generator": _RUNS}),
    _reading("drains", lines={its.BASELINE: {"cache.volatile": True}}),
)
_OLTP_ONLY: Own = (
    _reading("weight-0", lines={its.CDM: _WEIGHT_0}),
    _reading("no-read-allocate", {"cache.read_allocate": False}),
)


def _replayed(traces: tuple[str, ...]) -> Inference:
    """Return OLTP on the user's trace: the device is as large as makes its footprint a share of the flash."""
    footprint = int(trace.info(traces)["footprint_pages"])
    blocks = [round(footprint / share / 64) for share in (0.75, 0.35)]
    scenario = _device(256, {"remap": "dense", "repeat": its.ROUNDS}).with_({"flash.blocks_per_plane": blocks[0]})
    return Inference(
        name="oltp-trace",
        title="OLTP on the given trace",
        scenario=scenario,
        scaling=f"The trace is repeated {its.ROUNDS} times on one plane, of which its {footprint:,} pages are a share. "
        "Cache sizes have the same shares of the device as on the paper's.",
        lines=_lines(),
        # A size in percent is of the exported space, which is 85 % of the flash.
        axis={gib: {"cache.size": f"{100 * gib / its.CAPACITY_GIB / 0.85:.4f}%"} for gib in CACHE_GIB},
        unknowns=(
            _unknown("flash.blocks_per_plane", "blocks of 64 pages", f"{blocks[0]}..{blocks[1]}"),
            Unknown(
                "replay.time_scale",
                "factor on the pauses between requests",
                "1..64*4",
                f"The device has one plane, the paper's {PLANES}.",
            ),
        ),
        targets=_targets("oltp"),
        readings=(_REFERENCE, *_OLTP_ONLY, *_shared(footprint / 0.55 * 4096 / (its.CAPACITY_GIB * its.GIB))),
        selections=_selections(),
        selected=_SELECTED,
        unit="GiB",
        trace=traces,
    )
