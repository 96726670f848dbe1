"""Where plain CDM loses to a cache that flash knows nothing of, and that expected costs do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from reproduced import tiny_scale

import coflash
from coflash_reproduce.reproduction import study
from coflash_reproduce.studies import cdm_victim_scores

TRACE = Path(__file__).parents[2] / "examples/traces/pgbench-oltp-400k.iolog.zst"
DEMO = coflash.Scenario.load("demo")
SMALL = DEMO.with_(
    {
        "flash.channels": 2,
        "flash.chips_per_channel": 2,
        "flash.blocks_per_plane": 128,
        "workload.remap": "none",
        "workload.synthetic.requests": 150_000,
    }
)
ESTIMATES = [
    {"name": "cdm", "removable_weight": weight, "rewrite_stream": stream}
    for weight in ("adaptive", "by-age")
    for stream in ("evict", "gc")
]


def measured(scenario: coflash.Scenario, trace: Path | None = None) -> tuple[float, float]:
    metrics = coflash.run(scenario, trace or ()).metrics
    assert metrics.waf_host is not None
    assert metrics.response_ns.all.mean is not None
    return metrics.waf_host, metrics.response_ns.all.mean


def test_the_study_finds_what_helps_plain_cdm(tmp_path: Path) -> None:
    scale = cdm_victim_scores.Scale(128, 100_000, (4,), (8,), (80,), 1, ("hot-cold",))
    recorded = tmp_path / "recorded.iolog"
    coflash.trace.slice(TRACE, recorded, count=150_000)
    with tiny_scale(cdm_victim_scores.STUDY, cdm_victim_scores, scale, recorded):
        done = study("cdm-victim-scores", "tiny", out=tmp_path / "out")
    loses, remedied, belongs, _ = done.judged
    assert all(one.finding.holds for one in (remedied, belongs))
    assert not loses.finding.holds, "it does on a device that was only filled"


@pytest.mark.parametrize("cache", ["1%", "8%"])
@pytest.mark.parametrize("reads", ["20%", "80%"])
@pytest.mark.parametrize("generator", [{"name": "zipf", "exponent": 0.9}, "hot-cold", "uniform"])
def test_expected_costs_lose_nowhere(generator: str | dict[str, Any], reads: str, cache: str) -> None:
    scenario = SMALL.with_(
        {
            "workload.synthetic.generator": generator,
            "workload.synthetic.read_share": reads,
            "cache.size": cache,
        }
    )
    waf, response = measured(scenario.with_(cooperation="none"))
    for cooperation in ESTIMATES:
        scored = measured(scenario.with_(cooperation=cooperation))
        assert scored[0] < waf, cooperation
        assert scored[1] < response, cooperation


def test_sole_copies_keep_to_their_bound_and_cost_what_they_cost() -> None:
    scenario = SMALL.with_(
        {"workload.synthetic.generator": "uniform", "workload.synthetic.read_share": "50%", "cache.size": "8%"}
    )
    peaks, wafs = [], []
    for bound in ({}, {"sole_copies_max": "25%"}, {"sole_copies_max": "1MiB"}):
        result = coflash.run(scenario.with_(cooperation={"name": "cdm", **bound}))
        sole = result.document["metrics"]["sole_copies"]
        peaks.append(sole["peak_pages"])
        wafs.append(result.metrics.waf_host or 0.0)
        assert (sole["cleaned_pages"] > 0) == bool(bound)
        programs = result.metrics.programs_pages.evict
        assert programs == result.metrics.cache.dirty_evictions_pages + sole["cleaned_pages"]
    capacity = result.metrics.cache.capacity_pages
    assert peaks[1:] == [capacity // 4, 256]
    assert capacity // 2 < peaks[0] <= capacity
    assert wafs == sorted(wafs), "the fewer sole copies there may be, the more flash is written"
