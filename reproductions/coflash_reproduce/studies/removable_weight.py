"""The optimal weight of a removable page: the expected cost of a drop in closed form, and where weight 0 fails."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from coflash import analytic, trace
from coflash._core import quantity
from coflash.demo import find_trace
from coflash.measures.measure import WAF_HOST, Measure
from coflash.measures.metrics import Metrics
from coflash.quantity import show, show_change
from coflash.results.estimate import Estimate
from coflash.scenario import Scenario
from coflash_reproduce.paper import Axis, Case, Exhibit, Experiment, Figure, Grid, Run, Runs
from coflash_reproduce.study import Finding, Hypothesis, Study, asked, at, four_dies, shown

AMONG_COPIES, AMONG_EVICTIONS = "rewritten among GC's copies", "rewritten among evictions"
STREAMS = {AMONG_COPIES: "gc", AMONG_EVICTIONS: "evict"}
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)
STATIONARY, SCAN, SCATTERED, PGBENCH, GIVEN = ("uniform", "zipf"), "scan", "scattered", "pgbench", "given"
WORKLOADS = (*STATIONARY, SCAN, SCATTERED, PGBENCH, GIVEN)
_TITLES = {
    "uniform": "uniform",
    "zipf": "Zipf 0.9",
    "scan": "random writes beside a scan",
    "scattered": "the same, scattered in flash",
    "pgbench": "pgbench (trace)",
    "given": "given trace",
}
PREDICTED = "predicted"
"""Stationary workloads by cache and read share, to compare the closed form of what leaves unmodified."""
_GENERATORS: Mapping[str, Any] = {"uniform": "uniform", "zipf": {"name": "zipf", "exponent": 0.9}}
FAILS, HARMLESS = 0.1, 0.05
"""The excess of WAF from which on a weight is said to fail, and up to which it is said to be harmless."""
AS_GOOD = 0.02
"""The excess of WAF up to which a weight is said to be as good as the best."""


def _unmodified(metrics: Metrics) -> float | None:
    drops: int = metrics.gc_drops_pages
    return metrics.drop_rewrites_pages / drops if drops else None


UNMODIFIED = Measure("drops that were written again", "share", _unmodified)


@dataclass(frozen=True)
class Scale:
    """The size of the experiments."""

    blocks_per_plane: int
    requests: int
    seeds: int
    cache_percent: tuple[int, ...]
    read_percent: tuple[int, ...]


SCALES = {
    "quick": Scale(64, 150_000, 2, (5, 20), (50,)),
    "full": Scale(128, 300_000, 3, (2, 10, 30), (20, 50, 80)),
}


def experiments(scale_name: str, traces: tuple[str, ...]) -> tuple[Experiment, ...]:
    """Return the experiments: each workload by weight, and stationary ones by cache and read share."""
    scale = SCALES[scale_name]
    demo = Scenario.load("demo")
    small = four_dies(scale.blocks_per_plane).with_({"cache.size": "10%"})
    found = []
    for name, generator in _GENERATORS.items():
        found.append(_by_weight(name, asked(small, generator, scale.requests, "50%"), seeds=scale.seeds))
    scan = small.to_dict() | {"workload": {"remap": "none", "tenants": _scan(scale)}}
    for name, fill in ((SCAN, "sequential"), (SCATTERED, "random")):
        filled = Scenario.from_dict(scan | {"precondition": {"fill": fill, "random_passes": 0.0}})
        found.append(_by_weight(name, filled, seeds=scale.seeds))
    found.append(_by_weight(PGBENCH, demo.with_({"cache.size": "64MiB"}), (str(find_trace()),)))
    if traces:
        found.append(_by_weight(GIVEN, _fitted(demo, traces), traces))
    for name, generator in _GENERATORS.items():
        for reads in scale.read_percent:
            scenario = asked(small, generator, scale.requests, f"{reads}%").with_({"cooperation": _cdm(1.0, "gc")})
            cases = tuple(Case(f"{reads} % reads", cache, {"cache.size": f"{cache}%"}) for cache in scale.cache_percent)
            found.append(Experiment(f"{PREDICTED}-{name}-{reads}", _TITLES[name], scenario, cases, seeds=scale.seeds))
    return tuple(found)


def _cdm(weight: float | str, stream: str) -> dict[str, Any]:
    return {"name": "cdm", "removable_weight": weight, "rewrite_stream": stream}


def _by_weight(name: str, scenario: Scenario, files: tuple[str, ...] = (), seeds: int = 1) -> Experiment:
    cases = tuple(
        Case(line, weight, {"cooperation": _cdm(weight, stream)})
        for line, stream in STREAMS.items()
        for weight in WEIGHTS
    )
    return Experiment(name, _TITLES[name], scenario, cases, files, seeds=seeds)


def _fitted(demo: Scenario, traces: tuple[str, ...]) -> Scenario:
    """Return a device of which the trace touches 55 %, and ten rounds of the trace."""
    footprint_pages = trace.info(traces)["footprint_pages"]
    flash = demo.to_dict()["flash"]
    plane_pages = flash["channels"] * flash["chips_per_channel"] * flash["pages_per_block"]
    blocks = max(64, math.ceil((footprint_pages or 0) / 0.55 / plane_pages))
    return demo.with_({"flash.blocks_per_plane": blocks, "cache.size": "10%", "workload.repeat": 10})


def _scan(scale: Scale) -> list[dict[str, Any]]:
    """Return random writes to a third of the space, and a scan of the rest, as many requests each."""
    half = {"requests": scale.requests // 2}
    return [
        {"name": "writes", "space": "30%", "synthetic": {**half, "generator": "uniform"}},
        {"name": "scan", "space": "70%", "synthetic": {**half, "generator": "sequential", "read_share": "100%"}},
    ]


def in_theory(run: Run) -> float:
    """Return the share of removable pages that leave unmodified, by the closed form."""
    values = run.scenario.to_dict()
    made_up = values["workload"]["synthetic"]
    pages = run.document["workload"]["logical_bytes"] // 4096
    exponent = 0.9 if made_up["generator"]["name"] == "zipf" else 0.0
    popularity = np.arange(1, pages + 1, dtype=np.float64) ** -exponent
    ratios = analytic.lru_hit_ratios(popularity, run.metrics.cache.capacity_pages)
    return analytic.leaves_unmodified(np.clip(ratios, 1e-12, 1 - 1e-12), quantity(made_up["read_share"])[0] / 1e9)


def _predicted(runs: Runs) -> list[tuple[Run, Estimate, float]]:
    """Return one run, the measured share and that of the closed form, for each place."""
    places = {(run.experiment.name, run.case.line, run.case.at): run for run in runs if _is_predicted(run)}
    return [(run, at(runs, *place, UNMODIFIED), in_theory(run)) for place, run in places.items()]


def _is_predicted(run: Run) -> bool:
    return run.experiment.name.startswith(PREDICTED)


def _waf(runs: Runs, name: str, line: str) -> dict[float, float]:
    return {weight: at(runs, name, line, weight, WAF_HOST).mean or 0 for weight in WEIGHTS}


def _optimal(runs: Runs, name: str) -> float:
    """Return w* of a workload, with rewrites among GC's copies: from its drops at weight 1."""
    return analytic.removable_weight(min(1.0, at(runs, name, AMONG_COPIES, 1.0, UNMODIFIED).mean or 0))


def _excess(waf: Mapping[float, float], weight: float) -> float:
    return waf[weight] / min(waf.values()) - 1


def _closed_form_holds(runs: Runs) -> Finding:
    gaps = [(found.mean or 0) - theory for _, found, theory in _predicted(runs)]
    worst = max(gaps, key=abs)
    numbers = f"at most {100 * worst:+.1f} points in {len(gaps)} places".replace("-", "−")
    return Finding(abs(worst) <= 0.05, numbers)


def _of(runs: Runs, names: tuple[str, ...]) -> dict[str, dict[float, float]]:
    return {name: _waf(runs, name, AMONG_COPIES) for name in names if runs.of(name)}


def _harmless(runs: Runs) -> Finding:
    found = {name: _excess(waf, 0.0) for name, waf in _of(runs, STATIONARY).items()}
    return Finding(max(found.values()) <= HARMLESS, _changes(found))


def _at_zero(runs: Runs, name: str) -> float:
    """Return the excess of WAF at weight 0 over that at weight 1."""
    waf = _waf(runs, name, AMONG_COPIES)
    return waf[0.0] / waf[1.0] - 1


def _fails(runs: Runs) -> Finding:
    found = _at_zero(runs, SCAN)
    return Finding(found >= FAILS, show_change(found))


def _lies_together(runs: Runs) -> Finding:
    found = _at_zero(runs, SCATTERED)
    return Finding(found <= HARMLESS, show_change(found))


def _unmodified_is_enough(runs: Runs) -> Finding:
    found = _at_zero(runs, PGBENCH)
    again = at(runs, PGBENCH, AMONG_COPIES, 1.0, UNMODIFIED)
    return Finding(found >= FAILS, f"{show_change(found)}, where {shown(again, UNMODIFIED)} come back")


def _is_optimal(runs: Runs) -> Finding:
    found = {}
    for name, waf in _of(runs, WORKLOADS).items():
        best = _optimal(runs, name)
        found[name] = _excess(waf, min(WEIGHTS, key=lambda weight: abs(weight - best)))
    return Finding(max(found.values()) <= AS_GOOD, _changes(found))


def _changes(found: Mapping[str, float]) -> str:
    return "; ".join(f"{_TITLES[name]}: {show_change(one)}" for name, one in found.items())


def _prediction_table(runs: Runs) -> Grid:
    rows = [
        (
            run.experiment.title,
            run.case.line,
            f"{run.case.at:g} %",
            shown(found, UNMODIFIED),
            show(theory, "share"),
            f"{analytic.removable_weight(theory):.2f}",
            f"{analytic.removable_weight(theory, 1.0):.2f}",
        )
        for run, found, theory in _predicted(runs)
    ]
    columns = ("", "", "cache", "drops written again", "closed form", "w*, among copies", "w*, all copied again")
    return Grid(columns, tuple(rows))


def _drops_table(runs: Runs) -> Grid:
    drops = Measure("drops", "pages", lambda metrics: metrics.gc_drops_pages)
    rows = []
    for name in WORKLOADS:
        if runs.of(name):
            cells = [shown(at(runs, name, AMONG_COPIES, weight, drops), drops) for weight in (0.0, 1.0)]
            again = at(runs, name, AMONG_COPIES, 1.0, UNMODIFIED)
            rows.append((_TITLES[name], *cells, shown(again, UNMODIFIED), f"{_optimal(runs, name):.2f}"))
    return Grid(("", "drops, weight 0", "drops, weight 1", "written again", "w*"), tuple(rows))


def _explanation(runs: Runs) -> Iterator[str]:
    yield (
        "A drop saves a copy, and costs a program later if the page leaves the cache unmodified. A program takes a "
        "free page as a copy does, so the expected cost of a drop, in copies, is w* = q (1 + s): q is the share of "
        "removable pages that leave unmodified, s the share of rewrites that lie among hotter data and are copied once "
        "more. For independent requests to an LRU cache q follows from each page's hit ratio and the read share "
        "(`coflash.analytic.leaves_unmodified`), and the hit ratios from cache and footprint (`lru_hit_ratios`)."
    )
    yield (
        "So w* is near 1 for small caches and few writes, whatever the popularity. That weight 0 is harmless where "
        "requests are independent has another reason: removable pages then lie in all blocks alike, and a weight that "
        "lowers the cost of every block lowers none before the others. Where pages are read in the order in which they "
        "lie in flash, whole blocks become removable. At weight 0 such a block is the cheapest victim, however full; "
        "GC drops all of it, and all of it comes back."
    )
    none, full = (
        [run.metrics for run in runs.of(SCATTERED, AMONG_COPIES) if run.case.at == weight] for weight in (0, 1)
    )
    drops = sum(one.gc_drops_pages for one in none) - sum(one.gc_drops_pages for one in full)
    copies = sum(one.gc_copies_pages for one in full) - sum(one.gc_copies_pages for one in none)
    yield (
        "w* counts what a drop costs and saves by itself. Where cold pages lie scattered among those that are written, "
        f"weight 0 does better than that: each further drop saves {copies / drops:.1f} copies. A page that was dropped "
        "comes back among other cold pages, and no longer has to be copied with every block of written ones. A weight "
        "that counts this would have to know where pages lie."
    )


STUDY = Study(
    name="removable-weight",
    title="The optimal weight of a removable page",
    question="CDM's garbage collection drops pages that the cache holds clean. What should such a page count when a "
    "victim is chosen: nothing (0), as much as a page that must be copied (1), or something between? When does a wrong "
    "weight matter?",
    scales={
        "quick": "Four dies of 64 blocks, 2 seeds; the trace on the device of `demo`, once.",
        "full": "Four dies of 128 blocks, 3 seeds; the trace on the device of `demo`, once.",
    },
    experiments=experiments,
    hypotheses=(
        Hypothesis(
            "For independent requests the closed form tells which share of drops is written again",
            "a measured share more than 5 points from it",
            _closed_form_holds,
        ),
        Hypothesis(
            "Weight 0 is harmless where requests are independent",
            f"a WAF more than {HARMLESS:.0%} above the least of all weights",
            _harmless,
        ),
        Hypothesis(
            "Weight 0 fails where data is read in the order in which it was written",
            f"a WAF less than {FAILS:.0%} above that of weight 1, for random writes beside a scan",
            _fails,
        ),
        Hypothesis(
            "What decides is that pages which are cached together lie in the same blocks",
            f"a WAF more than {HARMLESS:.0%} above that of weight 1 for the same requests, the data scattered in flash",
            _lies_together,
        ),
        Hypothesis(
            "It is enough that all drops come back",
            f"a WAF less than {FAILS:.0%} above that of weight 1 under pgbench",
            _unmodified_is_enough,
        ),
        Hypothesis(
            "w* = q is the best weight of the grid, or as good, everywhere",
            f"a WAF at the weight nearest to w* more than {AS_GOOD:.0%} above the least",
            _is_optimal,
        ),
    ),
    explanation=_explanation,
    exhibits=(
        Figure(
            "figure-1",
            "WAF by weight",
            WAF_HOST,
            Axis("weight of a removable page", ""),
            WORKLOADS,
            "Independent requests read and write half each, with a cache of 10 % of the device; the trace has 64 MiB.",
            from_zero=False,
        ),
        Exhibit(
            "table-1",
            "what is dropped",
            _drops_table,
            "Rewrites among GC's copies, so that s is 0; w* is from the drops at weight 1.",
        ),
        Exhibit(
            "table-2",
            "what leaves unmodified, for independent requests",
            _prediction_table,
            "The last two columns are w* for s = 0 and s = 1.",
        ),
    ),
    limits=(
        "A fixed weight changes the choice of victims only; GC drops every removable page of a victim. The schemes "
        "`adaptive` and `by-age` also copy where a drop costs no less.",
        "The share s of rewrites that are copied again is an argument of the closed form, not predicted by it.",
        "The closed form weights removable pages by the time for which they are removable. GC asks for those whose "
        "blocks it cleans, which with unequal popularity are the hotter ones and come back less: it is then too high.",
        "That drops sort pages by how often they are written is inferred from the counts; no page was followed.",
        "One recorded trace; `--trace FILE` adds one of your own.",
    ),
)
