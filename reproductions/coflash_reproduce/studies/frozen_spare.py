"""Greedy garbage collection remembers how the device was filled: spare space that lies in cold blocks stays there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from coflash import analytic
from coflash.measures.measure import Measure
from coflash.measures.metrics import Metrics
from coflash.scenario import Scenario
from coflash_reproduce.declare import study
from coflash_reproduce.paper import Case, Experiment, Run, scenario_beside

PREFILL, SIZE, HOT, SHADOWS = "prefill", "size", "hot", "shadows"
GREEDY, COST_BENEFIT, CHOICES = "greedy", "cost-benefit", "d-choices, d = 10"
ONE_GREEDY, ONE_COST_BENEFIT = "greedy, one block for all", "cost-benefit, one block for all"
_VICTIMS: Mapping[str, Any] = {
    GREEDY: "greedy",
    COST_BENEFIT: "cost-benefit",
    CHOICES: {"name": "d-choices", "d": 10},
    ONE_GREEDY: "greedy",
    ONE_COST_BENEFIT: "cost-benefit",
}
OWN_BLOCK, ONE_BLOCK = [["host", "evict"]], [["host", "evict", "gc"]]
"""The layouts of active blocks: GC has one of its own, or shares that of the host's writes."""
LAYOUTS = {"GC's own block": OWN_BLOCK, "one block": ONE_BLOCK}
PAGES_PER_BLOCK, LOW_MARK, SPARE = 64, 4, 0.07
HOT_SHARE = 0.01
"""The share of the device that is written, where it does not vary."""
STEADY_PASSES = 3
"""Random writes after which the fullness of blocks no longer changes."""
RECOVERED, STUCK = 1.5, 3.0
"""The WAF up to which the spare space is said to be recovered, and the least at which GC is said to be stuck."""


def _frozen(metrics: Metrics) -> float | None:
    invalid: int = metrics.spare.invalid_pages
    return metrics.spare.frozen_pages / invalid if invalid else None


FROZEN = Measure("frozen spare space", "share", _frozen, path="")


UNSTEADY_TOO = "how long the state after the fill lasts is the question"


@dataclass(frozen=True)
class Scale:
    """The size of the experiments."""

    blocks: int
    passes: tuple[float, ...]
    sizes_blocks: tuple[int, ...]
    hot_percent: tuple[float, ...]
    footprint_percent: tuple[float, ...]
    """The written share of ShadowGC's device."""
    shadow_blocks: int
    seeds: int
    device_writes: float = 4.0
    """The pages written in a run, over the logical pages."""


SCALES = {
    "quick": Scale(1024, (0.02, 0.05, 0.06, 1), (256, 1024), (1, 10), (1,), 512, 2),
    "full": Scale(
        2048,
        (0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.1, 0.2, 1, 3),
        (256, 512, 1024, 2048, 4096, 8192),
        (0.3, 1, 3, 10, 30, 100),
        (1, 10),
        1024,
        5,
    ),
}


def experiments(scale_name: str, _: tuple[str, ...]) -> tuple[Experiment, ...]:
    """Return the experiments: by prefill, by size of the device, by written share, and in ShadowGC's setting."""
    scale = SCALES[scale_name]
    device = _device(scale, scale.blocks)
    by_prefill = tuple(
        Case(
            line,
            100 * passes,
            {
                "gc.victim": victim,
                "precondition.random_passes": passes,
                "ftl.shared_streams": ONE_BLOCK if line in (ONE_GREEDY, ONE_COST_BENEFIT) else OWN_BLOCK,
            },
        )
        for line, victim in _VICTIMS.items()
        for passes in scale.passes
    )
    by_size = tuple(Case(GREEDY, blocks, _space(scale, blocks, HOT_SHARE)) for blocks in scale.sizes_blocks)
    by_hot = tuple(
        Case(line, percent, {"gc.victim": _VICTIMS[line], **_space(scale, scale.blocks, percent / 100)})
        for line in (GREEDY, COST_BENEFIT)
        for percent in scale.hot_percent
    )
    return (
        Experiment(PREFILL, "by prefill", device, by_prefill, seeds=scale.seeds),
        Experiment(SIZE, "by size", device, by_size, seeds=scale.seeds),
        Experiment(HOT, "by written share", device, by_hot, seeds=scale.seeds),
        Experiment(SHADOWS, "ShadowGC's setting", _shadow_device(scale), tuple(_shadows(scale)), seeds=scale.seeds),
    )


def _logical_pages(blocks: int, pages_per_block: int = PAGES_PER_BLOCK) -> int:
    return int(blocks * pages_per_block / (1 + SPARE))


def _space(scale: Scale, blocks: int, hot_share: float) -> dict[str, Any]:
    logical = _logical_pages(blocks)
    return {
        "flash.blocks_per_plane": blocks,
        "workload.synthetic.space": f"{4 * round(hot_share * logical)}KiB",
        "workload.synthetic.requests": round(scale.device_writes * logical),
    }


def _device(scale: Scale, blocks: int) -> Scenario:
    spare = {"ftl.spare.share": f"{SPARE:.0%}", "ftl.shared_streams": OWN_BLOCK, "gc.low_mark": LOW_MARK}
    filled = {"flash.pages_per_block": PAGES_PER_BLOCK, "precondition.random_passes": float(STEADY_PASSES)}
    base = scenario_beside(__file__, "frozen_spare.toml")
    return base.with_({**spare, **filled, **_space(scale, blocks, HOT_SHARE)})


def _shadow_device(scale: Scale) -> Scenario:
    """Return a plane of the paper's device with fewer and smaller blocks, the buffers in proportion."""
    flash_kib = scale.shadow_blocks * 128 * 16
    changes = {
        "flash.channels": 1,
        "flash.planes_per_die": 1,
        "flash.blocks_per_plane": scale.shadow_blocks,
        "flash.pages_per_block": 128,
        "host_buffer.size": f"{max(1, flash_kib // 4096 // 16) * 16}KiB",
        "cache.size": f"{max(1, flash_kib // 8192 // 16) * 16}KiB",
        "workload.synthetic.requests": round(scale.device_writes * _logical_pages(scale.shadow_blocks, 128)),
        "workload.synthetic.arrival": {"name": "poisson", "mean": "100ms"},
    }
    return Scenario.load("shadowgc-64g").with_(changes)


def _shadows(scale: Scale) -> Iterator[Case]:
    logical = _logical_pages(scale.shadow_blocks, 128)
    for layout, scheme, victim in product(LAYOUTS, ("ggc", "sgc"), (GREEDY, COST_BENEFIT)):
        for percent in scale.footprint_percent:
            changes = {
                "cooperation": scheme,
                "gc.victim": victim,
                "ftl.shared_streams": LAYOUTS[layout],
                "workload.synthetic.space": f"{16 * round(percent / 100 * logical)}KiB",
            }
            yield Case(_shadow_line(layout, scheme, victim), percent, changes)


def _shadow_line(layout: str, scheme: str, victim: str) -> str:
    return f"{scheme.upper()}, {victim}, {layout}"


def alpha(blocks: int) -> float:
    """Return physical over logical pages, without open and reserve blocks."""
    physical = analytic.usable(blocks * PAGES_PER_BLOCK, PAGES_PER_BLOCK, 1, 2, LOW_MARK + 1)
    return physical / _logical_pages(blocks)


def threshold(blocks: int) -> float:
    """Return the prefill from which on greedy is stuck, by the closed form, in percent of a pass."""
    return 100 * (alpha(blocks) - 1 - HOT_SHARE * alpha(blocks))


def after_fill(blocks: int, percent: float) -> float:
    """Return greedy's write amplification after a prefill, by the closed form."""
    return float(analytic.greedy_after_fill(alpha(blocks), HOT_SHARE, percent / 100, PAGES_PER_BLOCK))


def limit_of(blocks: float) -> float:
    """Return the write amplification of uniform writes to all of a device."""
    return float(analytic.greedy(alpha(int(blocks)), PAGES_PER_BLOCK))


def course(run: Run) -> list[float]:
    """Return WAF over the second and the last fifth of the writes."""
    series = run.result().series()
    written = series["host_writes_pages"].cumsum()
    causes = [series[column] for column in series.columns if column.startswith("programs_")]
    programs = np.sum(causes, axis=0).cumsum()
    ends = [int((written < share * written[-1]).sum()) for share in (0.2, 0.4, 0.8, 1)]
    early, late = (
        float((programs[end] - programs[begin]) / (written[end] - written[begin]))
        for begin, end in (ends[:2], ends[2:])
    )
    return [early, late]


STUDY = study(globals())
