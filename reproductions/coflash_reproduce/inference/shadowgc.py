"""What the ShadowGC paper leaves open: the buffers against the live flash, the age limit, the weight of a zombie."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from coflash.measures.measure import Measure
from coflash_reproduce.inference.definition import Inference, Measured, Reading, Target, Unknown, refuse_traces
from coflash_reproduce.shadowgc import reading as paper
from coflash_reproduce.shadowgc import workloads as of
from coflash_reproduce.text import Text

TEXT = Text.beside(__file__, {})
_unknown = partial(Unknown.of, TEXT)

_HOST, _DEVICE, _AGE = "host_buffer.size", "cache.size", "host_buffer.dirty_age_max"
_SPACE, _SKEW = "workload.synthetic.space", "workload.synthetic.generator.exponent"
_NOISE = 0.05
"""Changes below it are within what a run's chance makes of a small device; errors are relative to it at least."""
_PAGES_PER_BLOCK = 128


def inferences(divisor: int, traces: tuple[str, ...]) -> tuple[Inference, ...]:
    """Return the one of its averages over traces.

    Args:
        divisor: That of the paper's 1 TiB: a power of 2 up to 1024.
        traces: None: the unknowns are those of a generator.

    Raises:
        CoflashError: A trace was given.
    """
    refuse_traces("shadowgc", traces)
    blocks = 2**26 // divisor // _PAGES_PER_BLOCK  # pages of 16 KiB
    scenario = of.main_set_up(of.Scale(of.QUICK.requests, blocks, _PAGES_PER_BLOCK))
    mib = of.raw_bytes(scenario) // 2**20
    return (
        Inference(
            name="shadowgc",
            title="averages over the traces",
            scenario=scenario,
            scaling=f"One plane of {blocks:,} blocks with {_PAGES_PER_BLOCK} pages each, {divisor} times smaller than "
            "the paper's device; the live flash is shown as on 1 TiB. One stream of writes by Zipf's law stands for "
            f"fifteen traces. The error of a number below {_NOISE:.0%} is relative to {_NOISE:.0%}: smaller changes "
            "are within what chance makes of a run. The weight of a zombie is a further unknown, which each reading "
            "sets: ZGC's number depends on it, and no other.",
            lines={line: {"cooperation": of.SCHEMES[line]} for line in of.COMPARED},
            axis={0.0: {}},
            unknowns=(
                _unknown(_HOST, "host buffer", "0.1%..10%*1.2"),
                _unknown(_DEVICE, "device buffer", "0.1%..10%*1.2"),
                _unknown(_SKEW, "skew (exponent of Zipf's law)", "0.02..1.2"),
                _unknown(_SPACE, "live flash", f"{mib // 16}MiB..{mib * 7 // 8}MiB:{mib // 16}MiB", divisor),
                _unknown(_AGE, "limit of age", "4s..4096s*2"),
            ),
            targets=tuple(_targets()),
            readings=tuple(_readings(mib, divisor)),
            is_average=True,
        ),
    )


def _readings(mib: int, divisor: int) -> list[Reading]:
    all_live = {_SPACE: f"{mib * 100 // 107}MiB"}
    live = {**of.NO_LIMIT, **all_live}
    literal = {_DEVICE: f"{of.DEVICE_MIB * 1024 // divisor}KiB", **of.LINUX}
    three = {"ftl.shared_streams": of.LAYOUTS[of.THREE]}
    weights = {weight: {of.ZGC: {"cooperation": {"name": "zgc", "lambda": weight}}} for weight in (1.0, 4.0, 15.0)}
    return [
        Reading.of(TEXT, "live", live),
        Reading.of(TEXT, "least-ratio", {**live, _DEVICE: "0.1%"}),
        Reading.of(TEXT, "age", all_live),
        Reading.of(TEXT, "part-live", of.NO_LIMIT),
        Reading.of(TEXT, "literal", literal),
        Reading.of(TEXT, "three-blocks", {**live, **three}),
        *(Reading.of(TEXT, f"weight-{weight:g}", live, lines) for weight, lines in weights.items()),
    ]


def _change(line: str, measure: Measure) -> Callable[[Measured], float]:
    return lambda measured: measured.changes(line, measure)[0]


def _targets() -> list[Target]:
    return [
        Target(f"{what}, mean change", number, _change(line, measure), _NOISE)
        for (what, (line, measure)), number in zip(paper.AVERAGES.items(), paper.PAPERS, strict=True)
    ]
