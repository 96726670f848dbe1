"""Greedy garbage collection remembers how the device was filled: spare space that lies in cold blocks stays there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import mean
from typing import Any

import numpy as np

from coflash import analytic
from coflash.measures.measure import WAF_HOST, Measure
from coflash.measures.metrics import Metrics
from coflash.quantity import change, show, show_change
from coflash.results.estimate import Estimate
from coflash.scenario import Scenario
from coflash_reproduce.paper import Axis, Case, Exhibit, Experiment, Figure, Grid, Line, Run, Runs, scenario_beside
from coflash_reproduce.study import Finding, Study, at, each_holds, shown
from coflash_reproduce.text import Text

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


def _blocks(run: Run) -> int:
    return int(run.scenario.to_dict()["flash"]["blocks_per_plane"])


def threshold(runs: Runs) -> float:
    """Return the prefill from which on greedy is stuck, by the closed form, in percent of a pass."""
    spread = alpha(_blocks(runs.of(PREFILL)[0]))
    return 100 * (spread - 1 - HOT_SHARE * spread)


def _in_theory(runs: Runs) -> Sequence[Line]:
    of = runs.of(PREFILL, GREEDY)
    places = sorted({run.case.at for run in of})
    values = [
        (percent, analytic.greedy_after_fill(alpha(_blocks(of[0])), HOT_SHARE, percent / 100, PAGES_PER_BLOCK))
        for percent in places
    ]
    return (Line("closed form, greedy", tuple(values)),)


def _limit(runs: Runs) -> Sequence[Line]:
    sizes = sorted({run.case.at for run in runs.of(SIZE)})
    values = tuple((size, analytic.greedy(alpha(int(size)), PAGES_PER_BLOCK)) for size in sizes)
    return (Line("uniform writes to the whole device, closed form", values),)


def course(run: Run) -> tuple[float, float]:
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
    return early, late


def _beyond(runs: Runs, line: str) -> dict[float, Estimate]:
    """Return WAF at the places beyond the threshold."""
    places = sorted({run.case.at for run in runs.of(PREFILL, line) if run.case.at > threshold(runs)})
    return {place: at(runs, PREFILL, line, place, WAF_HOST) for place in places}


def _all_shown(found: Mapping[float, Estimate], unit: str = " %") -> str:
    return "; ".join(f"{place:g}{unit}: {shown(one, WAF_HOST)}" for place, one in found.items())


def _below(runs: Runs) -> Finding:
    (line,) = _in_theory(runs)
    theory = {place: waf for place, waf in line.points if place < threshold(runs)}
    found = {place: at(runs, PREFILL, GREEDY, place, WAF_HOST).mean or 0 for place in theory}
    worst = max(abs(found[place] / theory[place] - 1) for place in theory)
    numbers = "; ".join(f"{place:g} %: {found[place]:.3f} for {theory[place]:.3f}" for place in theory)
    return Finding(worst <= 0.1, f"{numbers}; threshold {threshold(runs):.1f} %")


def _stays(runs: Runs) -> Finding:
    courses = [course(run) for run in runs.of(PREFILL, GREEDY) if run.case.at > threshold(runs)]
    early, late = (mean(one[part] for one in courses) for part in (0, 1))
    drift = abs(late / early - 1)
    found = _beyond(runs, GREEDY)
    stuck = all((one.mean or 0) >= STUCK for one in found.values())
    return Finding(stuck and drift <= 0.1, f"{_all_shown(found)}; second fifth {early:.2f}, last {late:.2f}")


def _lies_in_cold(runs: Runs) -> Finding:
    places = list(_beyond(runs, GREEDY))
    stuck, recovered = (
        [at(runs, PREFILL, line, place, FROZEN).mean or 0 for place in places] for line in (GREEDY, COST_BENEFIT)
    )
    numbers = f"greedy {show(min(stuck), 'share')} at least, cost-benefit {show(max(recovered), 'share')} at most"
    return Finding(min(stuck) > 0.8 and max(recovered) < 0.5, numbers)


def _recovers(runs: Runs) -> Finding:
    found = _beyond(runs, COST_BENEFIT)
    return Finding(max(one.mean or 0 for one in found.values()) <= RECOVERED, _all_shown(found))


def _mixed(runs: Runs) -> Finding:
    found = {line: _beyond(runs, line) for line in (ONE_GREEDY, ONE_COST_BENEFIT)}
    least = min(one.mean or 0 for of in found.values() for one in of.values())
    return Finding(least >= STUCK, ". ".join(f"{line}: {_all_shown(of)}" for line, of in found.items()))


def _grows(runs: Runs) -> Finding:
    (line,) = _limit(runs)
    found = {size: at(runs, SIZE, GREEDY, size, WAF_HOST) for size, _ in line.points}
    means = [one.mean or 0 for one in found.values()]
    below = all(waf < limit for waf, (_, limit) in zip(means, line.points, strict=True))
    return Finding(below and means == sorted(means), f"{_all_shown(found, '')}; limit {line.points[-1][1]:.2f}")


def _saving(runs: Runs, layout: str, scheme: str, victim: str, place: float) -> list[float]:
    """Return the relative changes from GGC under greedy, of each seed."""
    line, base = _shadow_line(layout, scheme, victim), _shadow_line(layout, "ggc", GREEDY)
    waf = {(run.case.line, run.seed): DEVICE_WAF.read(run.metrics) for run in runs.of(SHADOWS) if run.case.at == place}
    seeds = {seed for _, seed in waf}
    return [change(waf[line, seed], waf[base, seed]) or 0 for seed in sorted(seeds)]


DEVICE_WAF = Measure("WAF of the device", "ratio", lambda metrics: metrics.host_buffer.waf_device)


@each_holds
def _age_beats_shadows(runs: Runs) -> Iterator[Finding]:
    for place in sorted({run.case.at for run in runs.of(SHADOWS)}):
        both = (("sgc", GREEDY), ("ggc", COST_BENEFIT))
        shadows, age = (mean(_saving(runs, "GC's own block", *of, place)) for of in both)
        yield Finding(age < shadows, f"{place:g} %: {show_change(shadows)} and {show_change(age)}")


def _shadow_table(runs: Runs) -> Grid:
    places = sorted({run.case.at for run in runs.of(SHADOWS)})
    rows = []
    for layout, scheme, victim in product(LAYOUTS, ("ggc", "sgc"), (GREEDY, COST_BENEFIT)):
        cells = []
        for place in places:
            waf = at(runs, SHADOWS, _shadow_line(layout, scheme, victim), place, DEVICE_WAF)
            saved = mean(_saving(runs, layout, scheme, victim, place))
            cells += [shown(waf, DEVICE_WAF), show_change(saved) if saved else ""]
        rows.append((layout, scheme.upper(), victim, *cells))
    columns = [text for place in places for text in (f"WAF, {place:g} % written", "change")]
    return Grid(("layout", "scheme", "victims", *columns), tuple(rows))


def _answer(runs: Runs) -> dict[str, Any]:
    of = runs.of(PREFILL, GREEDY)
    last = max(run.case.at for run in of)
    stuck = [run.metrics for run in of if run.case.at == last]
    return {
        "passes": last / 100,
        "copied": show(mean(one.gc_copies_pages / (one.erases_blocks * PAGES_PER_BLOCK) for one in stuck), "share"),
        "frozen": mean(one.spare.frozen_pages for one in stuck),
        "invalid": mean(one.spare.invalid_pages for one in stuck),
        "left": show(at(runs, PREFILL, COST_BENEFIT, last, FROZEN).mean, "share"),
        "threshold": threshold(runs),
    }


STUDY = Study(
    name="frozen-spare",
    text=Text.beside(__file__, globals()),
    experiments=experiments,
    hypotheses=(_below, _stays, _lies_in_cold, _recovers, _mixed, _grows, _age_beats_shadows),
    answer=_answer,
    exhibits=(
        Figure(
            "figure-1",
            WAF_HOST,
            Axis("random writes before, share of the device", "%", logarithmic=True),
            (PREFILL,),
            beside=_in_theory,
        ),
        Figure(
            "figure-2", FROZEN, Axis("random writes before, share of the device", "%", logarithmic=True), (PREFILL,)
        ),
        Figure("figure-3", WAF_HOST, Axis("blocks", "", logarithmic=True), (SIZE,), beside=_limit),
        Figure("figure-4", WAF_HOST, Axis("written share of the device", "%", logarithmic=True), (HOT,)),
        Exhibit("table-1", _shadow_table),
    ),
)
