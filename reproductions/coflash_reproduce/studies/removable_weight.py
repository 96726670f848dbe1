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
from coflash_reproduce.paper import Axis, Case, Exhibit, Experiment, Figure, Row, Run, Runs, tabled
from coflash_reproduce.study import Finding, Study, asked, at, four_dies, shown
from coflash_reproduce.text import Text

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


SCALES = {"quick": Scale(64, 150_000, 2, (5, 20), (50,)), "full": Scale(128, 300_000, 3, (2, 10, 30), (20, 50, 80))}


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
    predicted = [run for run in runs if run.experiment.name.startswith(PREDICTED)]
    places = {(run.experiment.name, run.case.line, run.case.at): run for run in predicted}
    return [(run, at(runs, *place, UNMODIFIED), in_theory(run)) for place, run in places.items()]


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


@tabled("| | cache | drops written again | closed form | w*, among copies | w*, all copied again")
def _prediction_table(runs: Runs) -> Iterator[Row]:
    for run, found, theory in _predicted(runs):
        weights = (f"{analytic.removable_weight(theory, *again):.2f}" for again in ((), (1.0,)))
        measured = (f"{run.case.at:g} %", shown(found, UNMODIFIED), show(theory, "share"))
        yield run.experiment.title, run.case.line, *measured, *weights


_DROPS = Measure("drops", "pages", lambda metrics: metrics.gc_drops_pages)


@tabled("| drops, weight 0 | drops, weight 1 | written again | w*")
def _drops_table(runs: Runs) -> Iterator[Row]:
    for name in (name for name in WORKLOADS if runs.of(name)):
        cells = [shown(at(runs, name, AMONG_COPIES, weight, _DROPS), _DROPS) for weight in (0.0, 1.0)]
        again = at(runs, name, AMONG_COPIES, 1.0, UNMODIFIED)
        yield _TITLES[name], *cells, shown(again, UNMODIFIED), f"{_optimal(runs, name):.2f}"


def _answer(runs: Runs) -> dict[str, Any]:
    none, full = (
        [run.metrics for run in runs.of(SCATTERED, AMONG_COPIES) if run.case.at == weight] for weight in (0, 1)
    )
    drops = sum(one.gc_drops_pages for one in none) - sum(one.gc_drops_pages for one in full)
    copies = sum(one.gc_copies_pages for one in full) - sum(one.gc_copies_pages for one in none)
    return {"saved": copies / drops}


STUDY = Study(
    name="removable-weight",
    text=Text.beside(__file__, globals()),
    experiments=experiments,
    hypotheses=(_closed_form_holds, _harmless, _fails, _lies_together, _unmodified_is_enough, _is_optimal),
    answer=_answer,
    exhibits=(
        Figure("figure-1", WAF_HOST, Axis("weight of a removable page", ""), WORKLOADS, from_zero=False),
        Exhibit("table-1", _drops_table),
        Exhibit("table-2", _prediction_table),
    ),
)
