"""Conservation laws of any system: no count is lost, or counted twice."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import numpy as np
import pytest

from coflash import CoflashError, Result, Scenario, run
from coflash.results.histogram import KINDS
from random_scenarios import ERASE_NS, FAMILIES, PAGE_BYTES, REQUESTS, system, system_at_the_edges

pytestmark = pytest.mark.filterwarnings("ignore:.* no effect without ")  # keys are drawn at random

SYSTEMS = 340
DRAWS = int(os.environ.get("COFLASH_DRAWS", "240"))
"""The number of systems with extreme values, more of them by hand: `COFLASH_DRAWS=10000 pytest -k runs_to_its_end`."""

CHOSEN = {
    "gc.victim": ("gc", "victim"),
    "cache.policy": ("cache", "policy"),
    "cooperation": ("cooperation",),
    "hybrid.scheme": ("hybrid", "scheme"),
    "hybrid.disks.model": ("hybrid", "disks", "model"),
}
"""Families of policies, with their keys."""

MOVING = ("move-in", "expected-cost")
"""Schemes by which garbage collection moves pages into the cache."""
DROPPING = ("cdm", "cdm-removable", "cdm-hgc", "cdm-consistent", *MOVING, "silent-eviction", "drop-evict")
"""Schemes by which garbage collection drops pages that another tier holds."""

SERIES_OF_METRICS = {
    "requests": "requests",
    "host_reads_pages": "host_reads_pages",
    "host_writes_pages": "host_writes_pages",
    "gc_drops_pages": "gc_drops_pages",
    "gc_spared_pages": "gc_spared_pages",
    "drop_rewrites_pages": "drop_rewrites_pages",
    "erases_blocks": "erases_blocks",
}


def test_every_policy_is_met_and_a_quarter_are_hybrids() -> None:
    met: Counter[str] = Counter()
    for seed in range(SYSTEMS):
        options = system(seed).to_dict()
        met["hybrids"] += "hybrid" in options
        for family, path in CHOSEN.items():
            chosen: Any = options
            for key in path:
                chosen = chosen.get(key, {})
            met[f"{family} {chosen.get('name')}"] += 1
    assert abs(met["hybrids"] / SYSTEMS - 0.25) < 0.05
    policies = [f"{family} {policy.name}" for family in CHOSEN for policy in FAMILIES[family]]
    assert {policy: met[policy] for policy in policies if met[policy] < 5} == {}


@pytest.mark.parametrize("seed", range(SYSTEMS))
def test_everything_adds_up(seed: int) -> None:
    result = run(system(seed))
    requests_add_up(result)
    programs_add_up(result)
    the_cache_adds_up(result)
    buffers_add_up(result)
    disks_add_up(result)
    erases_add_up(result)
    the_series_adds_up(result)
    histograms_add_up(result)


@pytest.mark.parametrize("seed", range(DRAWS))
def test_what_is_accepted_runs_to_its_end(seed: int) -> None:
    """Or time is over; the core is built with overflow checks."""
    drawn = system_at_the_edges(seed)
    try:
        result = run(drawn)
    except CoflashError as refused:
        assert "36 years" in str(refused), drawn.to_toml()
    except BaseException as panic:  # no ordinary exception
        pytest.fail(f"{panic!r} in {drawn.to_toml()}")
    else:
        assert result.metrics.requests > 0


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
    # A page that is written in part may be read first, and one that is destaged is. A page that is dirty as it is the
    # only copy is written whole, with the rest of its unit.
    counted, unit = metrics.flat(), pages_per_unit(result)
    destages = counted.get("hybrid.destages_pages", 0)
    unwritten = metrics.gc_drops_pages + counted.get("sole_copies.from_reads_pages", 0)
    read_for_writes = metrics.host_writes_pages * unit + unwritten * (unit - 1)
    assert metrics.flash_reads_pages <= metrics.host_reads_pages + read_for_writes + destages


def pages_per_unit(result: Result) -> int:
    """Pages that are written, at most, for one that leaves a cache: all of its indirection unit."""
    unit = result.scenario.to_dict()["ftl"].get("indirection_unit", f"{PAGE_BYTES}B")
    return 4 if unit == "16KiB" else 1


def programs_add_up(result: Result) -> None:
    metrics, counted = result.metrics, result.metrics.flat()
    programs, ftl = metrics.programs_pages, result.scenario.to_dict()["ftl"]
    total = sum(programs.values())
    assert metrics.gc_copies_pages == programs.gc
    assert metrics.ftl_writes_pages == programs.host + programs.evict
    if "hybrid.fills_pages" in counted:
        assert programs.host == metrics.host_writes_pages - counted["hybrid.bypassed_writes_pages"]
        assert programs.evict == counted["hybrid.fills_pages"]
    else:
        stayed = metrics.cache.flushed_pages + counted.get("sole_copies.cleaned_pages", 0)
        left = metrics.cache.dirty_evictions_pages + stayed
        assert left <= programs.evict <= left * pages_per_unit(result)
    assert programs.destage == 0  # a page that is destaged goes to a disk
    assert programs.refresh == 0 or "refresh" in ftl
    assert programs.wear_levelling == 0 or ftl["wear_levelling"]["name"] == "static"
    assert programs.metadata == 0 or ftl["summary"] != "off" or "hybrid.journal_pages" in counted
    for amplification, pages in (
        (metrics.waf_host, metrics.host_writes_pages),
        (metrics.waf_ftl, metrics.ftl_writes_pages),
        (counted.get("host_buffer.waf_device"), counted.get("host_buffer.written_pages")),
    ):
        assert amplification == (total / pages if pages else None)


def told_twice(result: Result) -> int:
    """Grants that the host may take for used once too often, at most.

    A use is told by the refused revocation and by a late notice. A restart takes each grant for a used one.
    """
    counted = result.metrics.flat()
    granted = result.metrics.cache.capacity_pages if counted.get("host.grants_pages") else 0
    return int(counted.get("host.revoke.refused_pages", 0) + granted * counted.get("restart.restarts", 0))


def the_cache_adds_up(result: Result) -> None:
    metrics, cache, counted = result.metrics, result.metrics.cache, result.metrics.flat()
    options = result.scenario.to_dict()
    scheme = options["hybrid"]["scheme"]["name"] if "hybrid" in options else options["cooperation"]["name"]
    hits = cache.read_hits + cache.write_hits
    unmodified = metrics.gc_drops_pages + counted.get("sole_copies.from_reads_pages", 0)
    written = cache.dirty_evictions_pages + counted.get("sole_copies.cleaned_pages", 0)
    assert metrics.drop_rewrites_pages <= min(unmodified + told_twice(result), written)
    assert metrics.gc_drops_pages == 0 or scheme in DROPPING
    is_told = scheme in MOVING or (scheme.startswith("cdm") and scheme != "cdm-removable")
    assert metrics.gc_spared_pages == 0 or is_told
    assert counted.get("moving.moved_in_pages", 0) <= metrics.gc_drops_pages
    assert "sole_copies.from_reads_pages" not in counted or unmodified == metrics.gc_drops_pages or "on-cache" in scheme
    if "hybrid" in options:
        return

    # Requests that reach the device: all requests of the host, or those that its buffer does not answer.
    reads, writes = metrics.host_reads_pages, metrics.host_writes_pages
    if "host_buffer.capacity_pages" in counted:
        reads = counted["host_buffer.read_misses"] + counted["host_buffer.merged_pages"]
        writes = counted["host_buffer.written_pages"]
        # A partial write reads the rest of the page, which may never have been written.
        absent = cache.read_hits + cache.read_misses - reads
        assert 0 <= absent <= counted["host_buffer.write_misses"] - counted["host_buffer.merged_pages"]
        reads += absent
    assert cache.read_hits + cache.read_misses == reads
    assert cache.write_hits + cache.write_misses == writes
    assert cache.hit_ratio == (hits / (reads + writes) if cache.capacity_pages and reads + writes else None)
    assert cache.capacity_pages <= result.workload["logical_bytes"] // PAGE_BYTES
    if cache.capacity_pages == 0:
        assert cache.nvm_writes_pages == cache.nvm_reads_pages == hits == metrics.gc_drops_pages == 0
        assert cache.clean_evictions_pages == cache.dirty_evictions_pages == 0
        assert writes <= metrics.programs_pages.host <= writes * pages_per_unit(result)
        return

    if options["cache"]["write_allocate"]:
        assert metrics.programs_pages.host == 0
        assert cache.nvm_writes_pages >= writes
    if scheme == "cdm-consistent":  # its checkpointed pages stay, and old versions have slots
        assert counted["consistency.checkpoints_pages"] == cache.dirty_evictions_pages
        assert counted["consistency.early_commits"] <= counted["consistency.commits"]
        return
    stayed = metrics.cache.flushed_pages + counted.get("sole_copies.cleaned_pages", 0)
    assert cache.nvm_reads_pages == cache.read_hits + cache.dirty_evictions_pages + stayed
    # Every inserted page has left or is still cached: at most the capacity, less the pages that left another way.
    entered_at_most = cache.write_misses * options["cache"]["write_allocate"]
    entered_at_most += cache.read_misses * options["cache"]["read_allocate"]
    entered_at_most += counted.get("moving.moved_in_pages", 0)
    left = cache.clean_evictions_pages + cache.dirty_evictions_pages
    assert left <= entered_at_most
    if options["cache"]["write_allocate"]:
        other_ways = metrics.host_trims_pages + counted.get("shadows.discarded_twins_pages", 0)
        fills = 1 + counted.get("restart.restarts", 0)  # a restart empties the cache of clean pages
        assert cache.write_misses - left <= cache.capacity_pages * fills + other_ways
    assert counted.get("sole_copies.peak_pages", 0) <= cache.capacity_pages


def buffers_add_up(result: Result) -> None:
    """A page that becomes dirty in a volatile buffer stays dirty until one of the counted events."""
    counted, options = result.metrics.flat(), result.scenario.to_dict()

    def of(section: str, *names: str) -> int:
        return sum(counted.get(f"{section}.{name}", 0) for name in names)

    if "host_buffer.capacity_pages" in counted:
        assert of("host_buffer", "read_hits", "read_misses") == result.metrics.host_reads_pages
        written = of("host_buffer", "write_hits", "write_misses")
        assert written == result.metrics.host_writes_pages
        passed_on = of("host_buffer", "dirty_evictions_pages", "aged_pages", "crowded_pages", "flushed_pages")
        assert passed_on == of("host_buffer", "written_pages")
        dirtied = written - of("host_buffer", "absorbed_pages")
        lost = of("restart", "lost_host_pages")
        assert dirtied == passed_on + of("host_buffer", "dropped_pages", "dirty_pages") + lost
        assert of("host_buffer", "dirty_pages") <= of("host_buffer", "capacity_pages")
        assert dirtied >= of("host.to_device", "posted") >= of("host.to_device", "withdrawn")
    if options["cache"]["write_allocate"] and "hybrid" not in options and result.metrics.cache.capacity_pages:
        written = of("cache", "write_hits", "write_misses") - of("cache", "absorbed_pages")
        # A page that GC drops is dirty from then on, unless the host had newer data already, and so is one that a read
        # makes the only copy.
        dropped = result.metrics.gc_drops_pages - of("host", "protect_obsolete_pages")
        dropped += of("sole_copies", "from_reads_pages")
        programmed = of("cache", "dirty_evictions_pages", "flushed_pages") + of("sole_copies", "cleaned_pages")
        gone = of("cache", "dropped_pages") + of("shadows", "from_buffer_pages", "discarded_twins_pages")
        side = "device" if options["cache"]["placement"] == "in-storage" else "host"
        lost = of("restart", f"lost_{side}_pages")
        ended = programmed + gone + of("cache", "dirty_pages") + lost
        # A restart also loses deletions that were not committed.
        deleted = min(lost, result.metrics.host_trims_pages) if "consistency.commits" in counted else 0
        if of("host", "grants_pages"):  # the host is told of their use late, or twice
            assert written <= ended <= written + dropped + told_twice(result) + deleted
        else:
            assert written + dropped <= ended <= written + dropped + deleted
    if "shadows.moved_valid_pages" in counted:
        states = [f"moved_{state}_pages" for state in ("valid", "host", "device", "twin")]
        programs = result.metrics.programs_pages
        assert of("shadows", *states) == programs.gc + programs.refresh + programs.wear_levelling
        assert of("shadows", "from_buffer_pages") <= of("shadows", "moved_device_pages", "moved_twin_pages")
        assert of("shadows", "fast_pages") <= of("shadows", "moved_host_pages", "moved_twin_pages")


def disks_add_up(result: Result) -> None:
    metrics, options = result.metrics, result.scenario.to_dict()
    if "hybrid" not in options:
        return
    hybrid, cache = metrics["hybrid"], metrics.cache
    assert hybrid.overflowed_writes_pages <= hybrid.bypassed_writes_pages
    assert hybrid.fills_pages <= hybrid.disk_reads_pages
    if "metadata.stores" in metrics.flat() or "host_buffer.capacity_pages" in metrics.flat():
        return  # other levels lie between the host and the flash cache
    assert cache.read_hits + cache.read_misses + hybrid.bypassed_reads_pages == metrics.host_reads_pages
    assert cache.write_hits + cache.write_misses + hybrid.bypassed_writes_pages == metrics.host_writes_pages
    assert hybrid.read_hits_clean_pages + hybrid.read_hits_dirty_pages == cache.read_hits
    assert hybrid.joined_reads_pages <= cache.read_misses
    assert hybrid.given_up_pages <= hybrid.destages_pages
    assert hybrid.destage_groups <= hybrid.destages_pages <= hybrid.destage_groups * options["hybrid"]["destage_pages"]
    if options["hybrid"]["write_policy"] == "write-through":
        assert hybrid.written_through_pages == cache.write_hits + cache.write_misses
        assert hybrid.destages_pages == 0
    else:
        assert hybrid.written_through_pages == 0
    # A page overwritten while its group waits for the disk is not written there.
    written_pages = hybrid.bypassed_writes_pages + hybrid.written_through_pages
    assert written_pages <= hybrid.disk_writes_pages <= written_pages + hybrid.destages_pages
    for sizes in hybrid.sizes:
        assert sizes["clean_pages"] + sizes["dirty_pages"] <= hybrid.flash_pages


def erases_add_up(result: Result) -> None:
    metrics, erases = result.metrics, result.erase_counts()
    options = result.scenario.to_dict()
    flash, ftl, programs = options["flash"], options["ftl"], metrics.programs_pages
    planes = flash["channels"] * flash["chips_per_channel"] * flash["dies_per_chip"] * flash["planes_per_die"]
    blocks = planes * flash["blocks_per_plane"]
    assert len(erases) == blocks
    assert int(erases.sum()) == metrics.erases_blocks
    assert metrics.erase_count.max == erases.max()
    assert metrics.erase_count.mean == pytest.approx(erases.mean())
    assert metrics.erase_count.stddev == pytest.approx(erases.std())
    if metrics.erases_blocks == 0:
        assert metrics.gc_drops_pages == 0
    moves_for_others = "refresh" in ftl or ftl["wear_levelling"]["name"] == "static"
    cleaning_ns = metrics.gc_time_ns + metrics.service_time_ns * moves_for_others
    assert cleaning_ns >= metrics.erases_blocks * ERASE_NS

    # A program takes a free page, an erase frees a block of them: the difference is the number of free pages before,
    # less the number after. Before, all logical pages were mapped, so at most the spare pages were free. A superblock
    # has one summary.
    unit = planes if ftl["pools"] == "device" else 1
    data_pages_per_unit = unit * flash["pages_per_block"] - (ftl["summary"] != "off")
    data_programs = sum(programs.values()) - programs.metadata
    spare_pages = blocks // unit * data_pages_per_unit
    if options["precondition"]["fill"] != "none":
        spare_pages -= result.workload["logical_bytes"] // PAGE_BYTES
    assert metrics.erases_blocks % unit == 0
    used_up = data_programs - metrics.erases_blocks // unit * data_pages_per_unit
    assert used_up <= spare_pages
    # Wear levelling seals blocks that are not full, and so may refresh.
    if not moves_for_others:
        assert -blocks // unit * data_pages_per_unit < used_up
        if ftl["summary"] == "on" and "hybrid" not in options:
            # One for each sealed block: for all pages programmed, but for those of blocks open before or after.
            pools, streams = blocks // flash["blocks_per_plane"], 4
            assert abs(programs.metadata * data_pages_per_unit - data_programs) <= pools * streams * data_pages_per_unit


def the_series_adds_up(result: Result) -> None:
    metrics, series = result.metrics, result.series()
    counted = metrics.flat()
    causes = {f"programs_{cause}_pages": f"programs_pages.{cause}" for cause in metrics.programs_pages}
    of_metrics = SERIES_OF_METRICS | {column: name for column, name in causes.items() if column in series.columns}
    for column, metric in of_metrics.items():
        assert int(series[column].sum()) == counted[metric], column
    cache = metrics.cache
    assert int(series["cache_hits_pages"].sum()) == cache.read_hits + cache.write_hits
    assert int(series["cache_misses_pages"].sum()) == cache.read_misses + cache.write_misses
    answered = series["requests"] > 0
    assert np.all(np.isfinite(series["response_mean_ns"]) == answered)
    total = float((series["response_mean_ns"][answered] * series["requests"][answered]).sum())
    assert total / metrics.requests == pytest.approx(metrics.response_ns.all.mean)
    assert int(series["response_max_ns"].max()) == metrics.response_ns.all.max
    assert np.all(series["response_p99_ns"] <= series["response_max_ns"])
    # No less than the least and no more than the highest of its windows, to their digits.
    assert metrics.response_ns.all.p99 <= series["response_p99_ns"].max() * (1 + 1e-3)
    steps = np.diff(series["start_ns"].astype(np.int64))
    assert np.all(steps == steps[0]) if len(steps) else True
    assert set(series.columns) == {
        *of_metrics,
        "start_ns",
        "cache_hits_pages",
        "cache_misses_pages",
        "response_mean_ns",
        "response_p99_ns",
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


def test_the_series_has_every_program() -> None:
    """Otherwise write amplification over time would be too low."""
    device = {"flash": {"channels": 1, "blocks_per_plane": 40, "pages_per_block": 16}, "gc": {"low_mark": 2}}
    ftl = {"spare": {"share": "40%"}, "wear_levelling": {"name": "static", "gap": 1}, "refresh": {"retention": "100ms"}}
    synthetic = {"requests": 2_000, "generator": "hot-cold", "arrival": {"name": "fixed", "interval": "500us"}}
    result = run(Scenario.from_dict({**device, "ftl": ftl, "workload": {"synthetic": synthetic}}))
    programs, series = result.metrics.programs_pages, result.series()
    if programs.refresh == 0 or programs.wear_levelling == 0:
        pytest.fail(f"nothing to miss: {programs}")
    counted = sum(int(series[column].sum()) for column in series.columns if column.startswith("programs_"))
    assert counted == sum(programs.values())


def test_a_device_that_gc_could_not_keep_going_is_refused() -> None:
    """The scenarios above leave enough room; with less, the error names the key."""
    with pytest.raises(CoflashError, match=r"ftl\.spare\.share"):
        run(Scenario.from_toml("[flash]\nblocks_per_plane = 10\n[ftl]\nspare = { share = '10%' }\n[gc]\nlow_mark = 2"))
