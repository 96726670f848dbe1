"""What always adds up, whatever the scenario: nothing that is counted is lost, or counted twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coflash import CoflashError, Result, Scenario, run
from coflash.result import KINDS

PAGE_BYTES = 4096
REQUESTS = 2_000
ERASE_NS = 1_500_000

SERIES_OF_METRICS = {
    "requests": "requests",
    "host_reads_pages": "host_reads_pages",
    "host_writes_pages": "host_writes_pages",
    "programs_host_pages": "programs_pages.host",
    "programs_evict_pages": "programs_pages.evict",
    "programs_gc_pages": "programs_pages.gc",
    "programs_metadata_pages": "programs_pages.metadata",
    "gc_drops_pages": "gc_drops_pages",
    "drop_rewrites_pages": "drop_rewrites_pages",
    "erases_blocks": "erases_blocks",
}


def shares(most: int) -> st.SearchStrategy[str]:
    return st.integers(0, most).map(lambda percent: f"{percent}%")


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Any small device that GC keeps busy, with any policies, under any workload."""
    pages_per_block = draw(st.integers(2, 40))
    pools = draw(st.sampled_from(["plane", "die"]))
    blocks_per_plane = draw(st.integers(24, 48))
    planes = draw(st.integers(1, 2))
    generators: list[Any] = [
        "uniform",
        "sequential",
        "mixed",
        "zipf",
        {"name": "zipf", "exponent": 1.3, "scattered": False},
        "hot-cold",
    ]
    sizes: list[Any] = [
        {"name": "fixed", "size": "4KiB"},
        {"name": "fixed", "size": "12KiB"},
        {"name": "exponential", "mean": "6KiB", "max": "32KiB"},
        {"name": "choice", "sizes": [{"size": "512B", "weight": 1}, {"size": "8KiB", "weight": 3}]},
    ]
    arrivals: list[Any] = [
        "back-to-back",
        {"name": "poisson", "mean": "300us"},
        {"name": "uniform", "max": "3ms"},
        {"name": "fixed", "interval": "1ms"},
    ]
    values: dict[str, Any] = {
        "seed": draw(st.integers(0, 2**32)),
        "flash": {
            "channels": draw(st.integers(1, 3)),
            "chips_per_channel": draw(st.integers(1, 2)),
            "planes_per_die": planes,
            "blocks_per_plane": blocks_per_plane,
            "pages_per_block": pages_per_block,
            "page_size": f"{PAGE_BYTES}B",
        },
        "timing": {
            "block_erase": f"{ERASE_NS}ns",
            "copy_back": draw(st.booleans()),
            "channel": draw(st.sampled_from(["private", "shared"])),
            "planes": draw(st.sampled_from(["serial", "parallel"])),
            "ecc_decode": draw(st.sampled_from(["0ns", "5us"])),
        },
        "ftl": {
            "spare": {
                "share": f"{draw(st.integers(30, 60))}%",
                "definition": draw(st.sampled_from(["spare_of_physical", "over_provisioning"])),
            },
            "chips": draw(st.sampled_from(["static", "round-robin", "least-busy"])),
            "pools": pools,
            "shared_streams": draw(st.sampled_from([[], [["host", "evict"]], [["host", "evict", "gc"]]])),
            "summary": draw(st.sampled_from(["off", "on", "free-in-gc"])),
            "wear_levelling": draw(st.sampled_from(["off", "dynamic"])),
        },
        "gc": {
            "victim": draw(
                st.sampled_from(["greedy", "random", "fifo", "d-choices", "windowed-greedy", "cost-benefit"])
            ),
            "low_mark": draw(st.integers(1, 2)),
            "trigger": draw(st.sampled_from(["write", "operation"])),
        },
        "cache": {
            "size": draw(shares(20)),
            "policy": draw(st.sampled_from(["lru", "fifo", "clock"])),
            "read_allocate": draw(st.booleans()),
            "write_allocate": draw(st.booleans()),
            "eviction": draw(st.sampled_from(["foreground", "background"])),
        },
        "cooperation": draw(
            st.sampled_from(
                ["none", *({"name": "cdm", "removable_weight": w} for w in (0.0, 0.5, 1.0, "adaptive", "by-age"))]
            )
        ),
        "link": {"lane_rate": draw(st.sampled_from(["0B", "200MB"])), "per_command": "1us"},
        "precondition": {
            "fill": draw(st.sampled_from(["sequential", "mapped"])),
            "random_passes": draw(st.sampled_from([0, 1, "steady"])),
        },
        "workload": {
            "synthetic": {
                "generator": draw(st.sampled_from(generators)),
                "requests": REQUESTS,
                "read_share": draw(shares(60)),
                "trim_share": draw(shares(10)),
                "flush_share": draw(shares(10)),
                "size": draw(st.sampled_from(sizes)),
                "align": draw(st.sampled_from(["512B", "4KiB"])),
                "arrival": draw(st.sampled_from(arrivals)),
            }
        },
        "replay": {
            "mode": draw(st.sampled_from(["open", "closed"])),
            "queue_depth": draw(st.integers(1, 8)),
        },
    }
    return Scenario.from_dict(values)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(scenarios())
def test_everything_adds_up(scenario: Scenario) -> None:
    result = run(scenario)
    requests_add_up(result)
    programs_add_up(result)
    the_cache_adds_up(result)
    erases_add_up(result)
    the_series_adds_up(result)
    histograms_add_up(result)


def requests_add_up(result: Result) -> None:
    metrics = result.metrics
    reads, writes, everything = metrics.response_ns.read, metrics.response_ns.write, metrics.response_ns.all
    synthetic = result.scenario.to_dict()["workload"]["synthetic"]
    assert metrics.requests == everything.count == REQUESTS
    # Of trims, only the pages that lie in them whole are counted; with whole pages only, each has one at least.
    others = everything.count - reads.count - writes.count
    assert others >= metrics.flushes
    assert metrics.host_reads_pages >= reads.count
    assert metrics.host_writes_pages >= writes.count
    if synthetic["size"] == {"name": "fixed", "size": "4KiB"} and synthetic["align"] == "4KiB":
        assert metrics.host_reads_pages == reads.count
        assert metrics.host_writes_pages == writes.count
        assert metrics.host_trims_pages == others - metrics.flushes
    # A page that is written in part may be read first.
    assert metrics.flash_reads_pages <= metrics.host_reads_pages + metrics.host_writes_pages


def programs_add_up(result: Result) -> None:
    metrics = result.metrics
    programs = metrics.programs_pages
    total = sum(programs.values())
    assert metrics.gc_copies_pages == programs.gc
    assert metrics.ftl_writes_pages == programs.host + programs.evict
    assert programs.evict == metrics.cache.dirty_evictions_pages
    assert programs.refresh == programs.wear_levelling == programs.destage == 0  # nothing here causes any
    for amplification, pages in (
        (metrics.waf_host, metrics.host_writes_pages),
        (metrics.waf_ftl, metrics.ftl_writes_pages),
    ):
        assert amplification == (total / pages if pages else None)
    if result.scenario.to_dict()["ftl"]["summary"] == "off":
        assert programs.metadata == 0


def the_cache_adds_up(result: Result) -> None:
    metrics, cache = result.metrics, result.metrics.cache
    options = result.scenario.to_dict()
    assert cache.read_hits + cache.read_misses == metrics.host_reads_pages
    assert cache.write_hits + cache.write_misses == metrics.host_writes_pages
    lookups, hits = metrics.host_reads_pages + metrics.host_writes_pages, cache.read_hits + cache.write_hits
    assert cache.hit_ratio == (hits / lookups if cache.capacity_pages and lookups else None)
    assert cache.capacity_pages <= result.workload["logical_bytes"] // PAGE_BYTES
    assert cache.nvm_reads_pages == cache.read_hits + cache.dirty_evictions_pages

    # What entered has left, or is still there: at most the capacity, or less by what was trimmed.
    entered_at_most = cache.write_misses * options["cache"]["write_allocate"]
    entered_at_most += cache.read_misses * options["cache"]["read_allocate"]
    left = cache.clean_evictions_pages + cache.dirty_evictions_pages
    assert left <= entered_at_most
    if cache.capacity_pages == 0:
        assert left == cache.nvm_writes_pages == cache.nvm_reads_pages == hits == 0
        assert metrics.programs_pages.host == metrics.host_writes_pages
    elif options["cache"]["write_allocate"]:
        assert metrics.programs_pages.host == 0
        assert cache.nvm_writes_pages >= metrics.host_writes_pages
        kept = cache.write_misses - left
        assert kept <= cache.capacity_pages + metrics.host_trims_pages

    assert metrics.drop_rewrites_pages <= min(metrics.gc_drops_pages, cache.dirty_evictions_pages)
    if options["cooperation"]["name"] == "none" or cache.capacity_pages == 0 or not options["cache"]["read_allocate"]:
        assert metrics.gc_drops_pages == 0  # only a clean cached page is dropped


def erases_add_up(result: Result) -> None:
    metrics, erases = result.metrics, result.erase_counts()
    options = result.scenario.to_dict()
    flash, ftl = options["flash"], options["ftl"]
    blocks = (
        flash["channels"]
        * flash["chips_per_channel"]
        * flash["dies_per_chip"]
        * flash["planes_per_die"]
        * flash["blocks_per_plane"]
    )
    assert len(erases) == blocks
    assert int(erases.sum()) == metrics.erases_blocks
    assert metrics.erase_count.max == erases.max()
    assert metrics.erase_count.mean == pytest.approx(erases.mean())
    assert metrics.erase_count.stddev == pytest.approx(erases.std())
    if metrics.erases_blocks == 0:
        assert metrics.gc_time_ns == metrics.gc_copies_pages == metrics.gc_drops_pages == 0
    assert metrics.gc_time_ns >= metrics.erases_blocks * ERASE_NS

    # A program uses up a free page, an erase brings back a block of them: the difference is what is free before, less
    # what is free after. Before, all logical pages were mapped, so at most the spare pages were free.
    data_pages_per_block = flash["pages_per_block"] - (ftl["summary"] != "off")
    data_programs = metrics.ftl_writes_pages + metrics.gc_copies_pages
    spare_pages = blocks * data_pages_per_block - result.workload["logical_bytes"] // PAGE_BYTES
    used_up = data_programs - metrics.erases_blocks * data_pages_per_block
    assert -blocks * data_pages_per_block < used_up <= spare_pages
    if ftl["summary"] == "on":
        # One for each block that was sealed: for all pages programmed, but for those of blocks open before or after.
        streams = 3 if not ftl["shared_streams"] else 4 - len(ftl["shared_streams"][0])
        pools = blocks // flash["blocks_per_plane"]
        assert abs(metrics.programs_pages.metadata * data_pages_per_block - data_programs) <= (
            pools * streams * data_pages_per_block
        )


def the_series_adds_up(result: Result) -> None:
    metrics, series = result.metrics, result.series()
    counted = metrics.flat()
    for column, metric in SERIES_OF_METRICS.items():
        assert int(series[column].sum()) == counted[metric], column
    cache = metrics.cache
    assert int(series["cache_hits_pages"].sum()) == cache.read_hits + cache.write_hits
    assert int(series["cache_misses_pages"].sum()) == cache.read_misses + cache.write_misses
    answered = series["requests"] > 0
    assert np.all(np.isfinite(series["response_mean_ns"]) == answered)
    total = float((series["response_mean_ns"][answered] * series["requests"][answered]).sum())
    assert total / metrics.requests == pytest.approx(metrics.response_ns.all.mean)
    assert int(series["response_max_ns"].max()) == metrics.response_ns.all.max
    steps = np.diff(series["start_ns"].astype(np.int64))
    assert np.all(steps == steps[0]) if len(steps) else True
    assert set(series.columns) == {
        *SERIES_OF_METRICS,
        "start_ns",
        "cache_hits_pages",
        "cache_misses_pages",
        "response_mean_ns",
        "response_max_ns",
    }, "a column that no law here covers"


def histograms_add_up(result: Result) -> None:
    metrics = result.metrics
    for kind in KINDS:
        values_ns, counts = result.histogram(kind)
        response = metrics.response_ns[kind]
        assert int(counts.sum()) == response.count
        assert np.all(counts > 0)
        assert np.all(np.diff(values_ns.astype(np.int64)) > 0)
        if response.count == 0:
            assert all(value is None for name, value in response.items() if name != "count")
            continue
        quantiles = [response[name] for name in ("p50", "p90", "p99", "p99_9", "p99_99", "max")]
        assert quantiles == sorted(quantiles)
        assert 0 <= response.mean <= response.max <= metrics.simulated_ns
        assert int(values_ns[-1]) >= response.max
        assert np.average(values_ns, weights=counts) == pytest.approx(response.mean, rel=0.002, abs=1)
        through = np.cumsum(counts)
        for name, quantile in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99_9", 0.999), ("p99_99", 0.9999)):
            value = int(values_ns[np.searchsorted(through, quantile * response.count - 1e-6)])
            assert response[name] == min(value, response.max), name


def test_a_device_that_gc_could_not_keep_going_is_refused() -> None:
    """The scenarios above leave enough room; with less, the error names the key."""
    with pytest.raises(CoflashError, match=r"ftl\.spare\.share"):
        run(Scenario.from_toml("[flash]\nblocks_per_plane = 10\n[ftl]\nspare = { share = '10%' }\n[gc]\nlow_mark = 2"))
