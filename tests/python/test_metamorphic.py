"""Pairs of scenarios whose results must agree, whatever the right result is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import coflash

FAMILIES = {family.key: [policy.name for policy in family.policies] for family in coflash.policies()}

DEVICE: dict[str, Any] = {
    "flash": {"channels": 2, "blocks_per_plane": 40, "pages_per_block": 16},
    "ftl": {"spare": {"share": "35%", "definition": "spare_of_physical"}},
    "gc": {"low_mark": 2},
    "cache": {"size": "10%"},
    "precondition": {"random_passes": 1.0},
    "workload": {
        "synthetic": {
            "generator": "zipf",
            "requests": 4_000,
            "read_share": "30%",
            "trim_share": "3%",
            "flush_share": "1%",
            "arrival": {"name": "poisson", "mean": "400us"},
        }
    },
}


def counted(**changes: Any) -> dict[str, Any]:
    """The metrics, without those that only a scheme with blocks for shadows has: none of these is used here."""
    flat = coflash.run(coflash.Scenario.from_dict(DEVICE).with_(**changes)).metrics.flat()
    assert not flat.pop("fast_blocks.victims_blocks", 0)
    return {name: value for name, value in flat.items() if not name.startswith("fast_blocks.")}


@pytest.mark.parametrize("victim", FAMILIES["gc.victim"])
@pytest.mark.parametrize("scheme", ["delay", "zgc"])
def test_delay_changes_nothing_where_the_host_has_no_buffer(scheme: str, victim: str) -> None:
    """Blocks with many host-shadows are put off, and there are none."""
    greedy_only = counted(gc__victim=victim, cache__volatile=True, cooperation="ggc")
    assert greedy_only["gc_copies_pages"] > 1_000
    assert counted(gc__victim=victim, cache__volatile=True, cooperation=scheme) == greedy_only


@pytest.mark.parametrize("scheme", ["separation", "hgc"])
def test_blocks_for_host_shadows_change_nothing_where_the_host_has_no_buffer(scheme: str) -> None:
    assert counted(cache__volatile=True, cooperation=scheme) == counted(cache__volatile=True, cooperation="ggc")


@pytest.mark.filterwarnings("ignore:.* no effect without ")
@pytest.mark.parametrize("policy", FAMILIES["cache.policy"])
def test_without_a_cache_cooperation_and_eviction_change_nothing(policy: str) -> None:
    alone = counted(cache__size="0B")
    cdm = counted(cache__size="0B", cache__policy=policy, cooperation="cdm")
    assert alone["gc_copies_pages"] > 1_000
    of_scheme = {name: cdm.pop(name) for name in list(cdm) if name.startswith("sole_copies.")}
    assert len(of_scheme) == 3
    assert set(of_scheme.values()) == {0}
    assert cdm == alone


@pytest.mark.filterwarnings("ignore:.* no effect without ")
@pytest.mark.parametrize("scheme", ["cdm-overwrites", "cdm-removable", "move-in", "expected-cost"])
def test_without_a_cache_every_scheme_is_none(scheme: str) -> None:
    with_scheme = counted(cache__size="0B", cooperation=scheme)
    assert not any(with_scheme.pop(name) for name in list(with_scheme) if name.startswith("sole_copies."))
    assert with_scheme == counted(cache__size="0B")


@pytest.mark.parametrize("stream", ["evict", "gc"])
@pytest.mark.parametrize("weight", [0, 0.5, 1, "adaptive", "by-age"])
def test_the_expected_cost_without_moves_is_cdm(weight: float | str, stream: str) -> None:
    """To the last digit, whatever the weight."""
    parameters = {"removable_weight": weight, "rewrite_stream": stream}
    busy = {"workload__synthetic__requests": 20_000, "workload__synthetic__read_share": "60%"}
    cdm = counted(cooperation={"name": "cdm", **parameters}, **busy)
    # With a stream of their own rewrites are twice as dear, and no drop is expected to pay.
    assert cdm["gc_drops_pages"] > 100 or stream == "evict"
    assert counted(cooperation={"name": "expected-cost", "moves_in": False, **parameters}, **busy) == cdm
    assert counted(cooperation={"name": "expected-cost", **parameters}, **busy)["moving.moved_in_pages"] > 10


def test_clean_first_evicts_a_dirty_page_only_if_none_is_clean() -> None:
    """The order of `cflru` with a window of 100 %: where pages are read, fewer dirty ones leave than under LRU."""
    first, lru = (counted(cache__policy=policy) for policy in ({"name": "cflru", "window": "100%"}, "lru"))
    assert first["cache.dirty_evictions_pages"] < lru["cache.dirty_evictions_pages"]
    assert first["cache.clean_evictions_pages"] > lru["cache.clean_evictions_pages"]


@pytest.mark.parametrize("channel", ["private", "shared"])
def test_a_device_twice_as_slow_takes_twice_as_long(channel: str) -> None:
    """Where requests arrive half as fast, too."""
    times_ns = {"page_read": 25_000, "page_program": 200_000, "block_erase": 1_500_000, "sector_transfer": 13_200}
    cache_ns = {"page_read": 1_000, "page_write": 2_000}

    def slowed(by: int) -> dict[str, Any]:
        return counted(
            timing={"channel": channel, **{key: f"{by * value}ns" for key, value in times_ns.items()}},
            replay__time_scale=float(by),
            **{f"cache__{key}": f"{by * value}ns" for key, value in cache_ns.items()},
        )

    fast, slow = slowed(1), slowed(2)
    for name, value in fast.items():
        if name.endswith(("_ns", "life_years")) or re.search(r"_ns\..*(mean|stddev|max)$", name):
            assert slow[name] == pytest.approx(2 * value, rel=1e-12), name
        elif name.startswith("throughput."):
            assert slow[name] == pytest.approx(value / 2, rel=1e-12), name
        elif "response_ns" not in name or name.endswith("count"):
            assert slow[name] == value, name


@pytest.mark.parametrize("scheme", ["none", "cdm"])
def test_a_request_waits_for_its_fences(scheme: str) -> None:
    free, timed = (counted(cooperation=scheme, cache__fence=fence) for fence in ("0s", "100ns"))
    assert timed["metadata.fences"] == free["metadata.fences"] > 1_000
    waited_ns = (timed["response_ns.all.mean"] - free["response_ns.all.mean"]) * free["requests"]
    assert waited_ns == pytest.approx(100 * free["metadata.fences"])


def _trimmed(count: int, elsewhere: bool) -> str:
    """A tenth of the requests trim a page; what is written there next is another page, which may lie elsewhere."""
    draw, pages = np.random.default_rng(3), 1500
    lines, place = [f"0,W,{(2 * pages + number) * 4096},4096" for number in range(10_000)], np.arange(pages)
    for time in range(count):
        page, kind = int(pages * draw.random() ** 2), draw.random()
        lines.append(f"{time},{'T' if kind < 0.1 else 'W' if kind < 0.75 else 'R'},{place[page] * 4096},4096")
        if kind < 0.1 and elsewhere:
            place[page] = (place[page] + pages) % (2 * pages)
    return "\n".join(lines) + "\n"


def test_a_trim_forgets_the_writes_of_a_page_cached_or_not(tmp_path: Path) -> None:
    scenario = coflash.Scenario.load("demo").with_(
        {
            "flash.channels": 1,
            "flash.chips_per_channel": 1,
            "flash.exported": f"{4 * 13_000}KiB",
            "cache.size": "512KiB",
            "cooperation": "move-in",
            "precondition": {"fill": "none", "random_passes": 0},
            "workload.remap": "none",
            "workload.trace_options.columns": "time:us,op,offset:bytes,size:bytes",
        }
    )
    found = []
    for elsewhere in (False, True):
        trace = tmp_path / f"{elsewhere}.csv"
        trace.write_text(_trimmed(60_000, elsewhere))
        metrics = coflash.run(scenario, trace).metrics
        found.append((metrics.programs_pages.to_dict(), metrics["moving"].to_dict()))
    assert found[0] == found[1]
    assert found[0][1]["moved_in_pages"] > 0
