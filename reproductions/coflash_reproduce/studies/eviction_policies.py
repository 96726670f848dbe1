"""Eviction policies in front of flash: hits, write amplification, tail and endurance in one table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import coflash
from coflash.demo import find_trace
from coflash.measures.measure import MEASURES, P99, WAF_HOST, Measure
from coflash.quantity import show, show_change
from coflash.scenario import Scenario
from coflash_reproduce.paper import Axis, Case, Exhibit, Experiment, Figure, Line, Row, Runs, tabled
from coflash_reproduce.study import Finding, Study, asked, at, each_holds, four_dies, shown
from coflash_reproduce.text import Text

POLICIES = tuple(
    policy.name for family in coflash.policies() if family.key == "cache.policy" for policy in family.policies
)
RESIST_SCANS = ("2q", "lirs", "arc", "w-tinylfu", "s3-fifo", "sieve")
SCHEMES = {"none": "none", "cdm": {"name": "cdm", "removable_weight": 1.0, "rewrite_stream": "gc"}}
PGBENCH, ZIPF, SCAN, WRITES, GIVEN = "pgbench", "zipf", "zipf-scan", "zipf-writes", "given"
WORKLOADS = {
    PGBENCH: "pgbench (trace)",
    ZIPF: "Zipf 0.9, half reads",
    SCAN: "Zipf 0.9 beside a scan",
    WRITES: "Zipf 0.9, writes only",
    GIVEN: "given trace",
}
HITS = Measure("hit ratio", "share", lambda metrics: metrics.cache.hit_ratio)
TBW = MEASURES["endurance.tbw_bytes"]
ALIKE = 0.01
"""The relative difference of WAF up to which two policies are as good."""
TOGETHER = 0.9
"""The rank correlation from which on two orders of policies are called the same."""


@dataclass(frozen=True)
class Scale:
    """The size of the experiments."""

    blocks_per_plane: int
    requests: int
    seeds: int
    with_trace: bool = True


SCALES = {"quick": Scale(64, 100_000, 2), "full": Scale(128, 300_000, 3)}


def experiments(scale_name: str, traces: tuple[str, ...]) -> tuple[Experiment, ...]:
    """Return the experiments: each workload under every policy, without cooperation and with CDM."""
    scale = SCALES[scale_name]
    demo = Scenario.load("demo").with_({"endurance.rated_cycles": 3000})
    small = four_dies(scale.blocks_per_plane).with_({"endurance.rated_cycles": 3000, "cache.size": "10%"})
    generator = {"name": "zipf", "exponent": 0.9}
    found = []
    if scale.with_trace:
        found.append(_experiment(PGBENCH, demo.with_({"cache.size": "64MiB"}), (str(find_trace()),)))
    if traces:
        found.append(_experiment(GIVEN, demo.with_({"workload.remap": "modulo", "cache.size": "5%"}), traces))
    for name, reads in ((ZIPF, "50%"), (WRITES, "0%")):
        found.append(_experiment(name, asked(small, generator, scale.requests, reads), seeds=scale.seeds))
    half = {"requests": scale.requests // 2}
    tenants: list[dict[str, Any]] = [
        {"name": "zipf", "space": "50%", "synthetic": {**half, "generator": generator, "read_share": "50%"}},
        {"name": "scan", "space": "50%", "synthetic": {**half, "generator": "sequential", "read_share": "100%"}},
    ]
    scanned = Scenario.from_dict(small.to_dict() | {"workload": {"remap": "none", "tenants": tenants}})
    found.append(_experiment(SCAN, scanned, seeds=scale.seeds))
    return tuple(found)


def _experiment(name: str, scenario: Scenario, files: tuple[str, ...] = (), seeds: int = 1) -> Experiment:
    cases = tuple(
        Case(scheme, number, {"cache.policy": policy, "cooperation": keys})
        for scheme, keys in SCHEMES.items()
        for number, policy in enumerate(POLICIES)
    )
    return Experiment(name, WORKLOADS[name], scenario, cases, files, seeds=seeds)


def _values(runs: Runs, name: str, scheme: str, measure: Measure) -> dict[str, float]:
    """Return the mean of a measure under each policy."""
    return {policy: at(runs, name, scheme, number, measure).mean or 0 for number, policy in enumerate(POLICIES)}


def _names(runs: Runs) -> list[str]:
    return [name for name in WORKLOADS if runs.of(name)]


def _correlation(one: dict[str, float], other: dict[str, float]) -> float:
    """Return the rank correlation (Spearman's) of two measures over the policies."""
    ranks = [np.argsort(np.argsort(list(values.values()))) for values in (one, other)]
    return 1 - 6 * float(((ranks[0] - ranks[1]) ** 2).sum()) / (len(one) * (len(one) ** 2 - 1))


def _hits_tell(runs: Runs) -> Finding:
    found = {}
    for name in _names(runs):
        hits, waf = _values(runs, name, "none", HITS), _values(runs, name, "none", WAF_HOST)
        found[name] = -_correlation(hits, waf)
    numbers = "; ".join(f"{WORKLOADS[name]} " + f"{value:.2f}".replace("-", "−") for name, value in found.items())
    return Finding(min(found.values()) >= TOGETHER, numbers)


def _resist(runs: Runs) -> Finding:
    hits = _values(runs, SCAN, "none", HITS)
    found = {policy: hits[policy] - hits["lru"] for policy in RESIST_SCANS}
    points = {policy: f"{100 * value:+.1f}".replace("-", "−") for policy, value in found.items()}
    numbers = "; ".join(f"{policy} {value} points" for policy, value in points.items())
    return Finding(min(found.values()) > 0, f"LRU {show(hits['lru'], 'share')}; {numbers}")


def _changes(runs: Runs, name: str) -> dict[str, float]:
    """Return the change of WAF that CDM makes, under each policy."""
    none, cdm = (_values(runs, name, scheme, WAF_HOST) for scheme in SCHEMES)
    return {policy: cdm[policy] / none[policy] - 1 for policy in POLICIES}


def _cdm_helps(runs: Runs) -> Finding:
    found = {(name, policy): change for name in _names(runs) for policy, change in _changes(runs, name).items()}
    (name, policy), worst = max(found.items(), key=lambda item: item[1])
    best = min(found.values())
    numbers = f"{show_change(best)} to {show_change(worst)} ({policy}, {WORKLOADS[name]})"
    return Finding(worst <= ALIKE, numbers)


@each_holds
def _best_stays(runs: Runs) -> Iterator[Finding]:
    for name in _names(runs):
        none, cdm = (_values(runs, name, scheme, WAF_HOST) for scheme in SCHEMES)
        best = min(none, key=lambda policy: none[policy])
        excess = cdm[best] / min(cdm.values()) - 1
        yield Finding(excess <= ALIKE, f"{WORKLOADS[name]}: {best}, {show_change(excess)}")


def _lines(runs: Runs, experiment: Experiment) -> Sequence[Line]:
    """Return WAF by hit ratio: a point for each policy, a line for each scheme."""
    lines = []
    for scheme in SCHEMES:
        hits, waf = (_values(runs, experiment.name, scheme, measure) for measure in (HITS, WAF_HOST))
        points = sorted((100 * hits[policy], waf[policy]) for policy in POLICIES)
        lines.append(Line(scheme, tuple(points)))
    return lines


@tabled("policy | hit ratio | WAF | WAF, cdm | p99 | p99, cdm | TBW | TBW, cdm")
def _table(name: str, runs: Runs) -> Iterator[Row]:
    def cell(number: int, scheme: str, measure: Measure) -> str:
        return shown(at(runs, name, scheme, number, measure), measure)

    for number, policy in enumerate(POLICIES):
        if runs.at(name, "none", number):
            cells = (cell(number, scheme, one) for one in (WAF_HOST, P99, TBW) for scheme in SCHEMES)
            yield policy, cell(number, "none", HITS), *cells


def _explanation(runs: Runs) -> Iterator[str]:
    for name in _names(runs):
        hits, waf = _values(runs, name, "none", HITS), _values(runs, name, "none", WAF_HOST)
        most, least = max(hits, key=lambda policy: hits[policy]), min(waf, key=lambda policy: waf[policy])
        change = _changes(runs, name)
        gain = min(change, key=lambda policy: change[policy])
        yield (
            f"{WORKLOADS[name]}: the most hits has {most} ({show(hits[most], 'share')}, LRU "
            f"{show(hits['lru'], 'share')}), the least WAF {least} ({waf[least]:.2f}, LRU {waf['lru']:.2f}); CDM "
            f"changes WAF by {show_change(change['lru'])} under LRU and by {show_change(change[gain])} under {gain}."
        )


STUDY = Study(
    name="eviction-policies",
    text=Text.beside(__file__, globals()),
    experiments=experiments,
    hypotheses=(_hits_tell, _resist, _cdm_helps, _best_stays),
    explanation=_explanation,
    exhibits=(
        Figure("figure-1", WAF_HOST, Axis("hit ratio", "%"), tuple(WORKLOADS), from_zero=False, lines=_lines),
        *(Exhibit(f"table-{at}", partial(_table, name)) for at, name in enumerate(WORKLOADS, 1) if name != GIVEN),
    ),
)
