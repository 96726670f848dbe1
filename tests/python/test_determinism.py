"""The same scenario, seed and revision give the same result, bit for bit; another seed gives another."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from coflash import Result, Scenario, run
from coflash.results.histogram import KINDS

# Everything random or dependent on an order: every kind of request, queues, random victims, drops, learning weights.
BUSY = Scenario.from_toml("""
name = "busy"
seed = 7
cache = { size = "4%" }
cooperation = { name = "cdm", removable_weight = 0.5 }

[flash]
channels = 2
chips_per_channel = 2
planes_per_die = 2
blocks_per_plane = 64
pages_per_block = 16

[ftl]
spare = { share = "25%" }
chips = "least-busy"
summary = "on"
wear_levelling = "dynamic"

[gc]
victim = { name = "d-choices", d = 3 }
low_mark = 2

[precondition]
random_passes = 1

[workload.synthetic]
generator = "zipf"
requests = 30_000
read_share = "40%"
trim_share = "3%"
flush_share = "2%"
size = { name = "exponential", mean = "6KiB", max = "64KiB" }
arrival = { name = "poisson", mean = "1ms" }
""")

VARIANTS = {
    f"{channel} channels, {replay} loop": BUSY.with_(timing__channel=channel, replay__mode=replay)
    for channel in ("private", "shared")
    for replay in ("open", "closed")
}


def document_text(result: Result) -> str:
    """The document as text, without the speed of the simulation."""
    return json.dumps({**result.document, "simulator": None}, indent=2)


def assert_same(one: Result, other: Result) -> None:
    assert document_text(one) == document_text(other)
    assert one.series().columns == other.series().columns
    for column in one.series().columns:
        assert one.series()[column].dtype == other.series()[column].dtype
        assert one.series()[column].tobytes() == other.series()[column].tobytes(), column
    for kind in KINDS:
        for ours, theirs in zip(one.histogram(kind), other.histogram(kind), strict=True):
            np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(one.erase_counts(), other.erase_counts())


def run_elsewhere(scenario: Scenario, place: Path) -> Result:
    """The result of a process of its own, with its own hash seed."""
    (place / "scenario.toml").write_text(scenario.to_toml(), encoding="utf-8")
    subprocess.run(
        [sys.executable, "-m", "coflash", "run", "scenario.toml", "--quiet", "--out", "result"],
        cwd=place,
        env={**os.environ, "PYTHONHASHSEED": "1"},
        check=True,
    )
    return Result.load(place / "result")


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_same_scenario_gives_the_same_result(variant: str, tmp_path: Path) -> None:
    scenario = VARIANTS[variant]
    first = run(scenario)
    assert first.metrics.gc_drops_pages > 0
    assert first.metrics.drop_rewrites_pages > 0
    with ThreadPoolExecutor(2) as pool:
        for again in pool.map(run, [scenario, scenario]):
            assert_same(first, again)
    assert_same(first, run_elsewhere(scenario, tmp_path))


@pytest.mark.parametrize("variant", VARIANTS)
def test_another_seed_gives_another_result(variant: str) -> None:
    documents, histograms = set(), set()
    for seed in (7, 8, 9):
        result = run(VARIANTS[variant].with_(seed=seed))
        assert result.seed == seed
        documents.add(json.dumps(result.metrics.to_dict()))
        histograms.add(result.histogram().counts.tobytes())
    assert len(documents) == len(histograms) == 3


def test_variants_differ_where_they_should() -> None:
    """Otherwise the tests above would test one scenario four times."""
    assert len({document_text(run(scenario)) for scenario in VARIANTS.values()}) == len(VARIANTS)
    means = {run(scenario).metrics.response_ns.all.mean for scenario in VARIANTS.values()}
    assert len(means) == len(VARIANTS)
