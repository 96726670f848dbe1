"""What the ShadowGC paper leaves open: footprints, the host's buffer, the prefill, the layout and the age limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from coflash.measures.measure import Measure
from coflash.scenario import Scenario
from coflash_reproduce.inference.definition import Inference, Measured, Reading, Target, Unknown, refuse_traces
from coflash_reproduce.shadowgc import reading as paper
from coflash_reproduce.shadowgc.workloads import COMPARED, SCHEMES, SGC, ZGC
from coflash_reproduce.text import Text

TEXT = Text.beside(__file__, {})
_unknown = partial(Unknown.of, TEXT)

_SPACE, _SKEW, _PAUSE = (
    "workload.synthetic.space",
    "workload.synthetic.generator.exponent",
    "workload.synthetic.arrival.mean",
)
_TWO_BLOCKS, _THREE_BLOCKS = [["host", "evict", "gc"]], [["host", "evict"]]
_BLOCKS, _AGE, _VICTIM = "ftl.shared_streams", "host_buffer.dirty_age_max", "gc.victim"
_NO_LIMIT = {_AGE: "8760h", _PAUSE: "256ms"}
"""Pages stay dirty for up to a year, so that no result but times depends on the rate."""
_NOISE = 0.05
"""Changes below it are within what a run's chance makes of a small footprint; errors are relative to it at least."""
_FLASH_MIB = 2**20
"""The flash of the paper's device."""


def inferences(divisor: int, traces: tuple[str, ...]) -> tuple[Inference, ...]:
    """Return the one of its averages over traces.

    Args:
        divisor: That of the device, its buffers and the rate: a power of 2 up to 1024.
        traces: None: the unknowns are those of a generator.

    Raises:
        CoflashError: A trace was given.
    """
    refuse_traces("shadowgc", traces)
    return (
        Inference(
            name="shadowgc",
            title="averages over the traces",
            scenario=_device(divisor),
            scaling=f"One plane of 2,048 blocks with {_FLASH_MIB // divisor * 64 // 2048} pages each, {divisor} times "
            "smaller than the paper's device, with buffers, footprint and rate in proportion; values are shown as on "
            "the paper's device. One stream of writes by Zipf's law stands for fifteen traces. The error of a number "
            f"below {_NOISE:.0%} is relative to {_NOISE:.0%}: smaller changes are within what chance makes of a run.",
            lines={line: {"cooperation": SCHEMES[line]} for line in COMPARED},
            axis={0.0: {}},
            unknowns=_unknowns(divisor),
            targets=tuple(_targets()),
            readings=_READINGS,
            is_average=True,
        ),
    )


def _device(divisor: int) -> Scenario:
    base = Scenario.load("shadowgc-64g").to_dict()
    pages = _FLASH_MIB // divisor * 64  # of 16 KiB
    flash = {"channels": 1, "chips_per_channel": 1, "planes_per_die": 1, "pages_per_block": pages // 2048}
    workload = {
        "synthetic": {
            "generator": {"name": "zipf", "exponent": 1.0},
            "requests": pages,
            "space": f"{_FLASH_MIB // divisor // 64}MiB",
            "size": {"name": "fixed", "size": "16KiB"},
            "align": "16KiB",
            "arrival": {"name": "poisson", "mean": "128ms"},
        }
    }
    cache = {**base["cache"], "size": f"{128 * 1024 // divisor}KiB"}
    whole = {**base, "flash": {**base["flash"], **flash}, "cache": cache, "workload": workload}
    return Scenario.from_dict(whole).with_({_BLOCKS: _TWO_BLOCKS})


def _unknowns(divisor: int) -> tuple[Unknown, ...]:
    gib = 1024 // divisor
    return (
        _unknown(_SPACE, "written footprint", f"{gib}MiB..{256 * gib}MiB*2", divisor),
        _unknown(_SKEW, "skew (exponent of Zipf's law)", "0.02..1.2"),
        _unknown(
            "host_buffer.size", "host buffer", f"{64 * 1024 // divisor}KiB..{16 * 2**20 // divisor}KiB*2", divisor
        ),
        _unknown("precondition.random_passes", "random prefill (device writes)", "0.02..1.28*2"),
        _unknown(_PAUSE, "mean pause between requests", f"{125 * divisor}us..{16000 * divisor}us*2", 1 / divisor),
    )


def _change(line: str, measure: Measure) -> Callable[[Measured], float]:
    return lambda measured: measured.changes(line, measure)[0]


def _targets() -> list[Target]:
    of_waf = [
        Target(f"WAF under {line}, mean change", number, _change(line, paper.WAF), _NOISE)
        for line, number in paper.WAF_CHANGES.items()
    ]
    of_time = Target(f"GC time under {SGC}, mean change", paper.SGC_GC_TIME_CHANGE, _change(SGC, paper.GC_TIME), _NOISE)
    return [*of_waf, of_time]


def _reading(name: str, *changes: Mapping[str, Any], lines: Mapping[str, Any] | None = None) -> Reading:
    return Reading.of(TEXT, name, {key: value for one in changes for key, value in one.items()}, lines or {})


_READINGS = (
    _reading("two-blocks"),
    _reading("three-blocks", {_BLOCKS: _THREE_BLOCKS}),
    _reading("two-blocks-no-limit", _NO_LIMIT),
    _reading("three-blocks-no-limit", {_BLOCKS: _THREE_BLOCKS}, _NO_LIMIT),
    _reading("long-delay", _NO_LIMIT, lines={ZGC: {"cooperation": {"name": "zgc", "lambda": 15.0}}}),
    _reading("cost-benefit", {_BLOCKS: _THREE_BLOCKS, _VICTIM: "cost-benefit"}, _NO_LIMIT),
)
