"""The fewest programs that any cooperation could reach: below what a search finds, which is below every run."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

import coflash
from coflash import CoflashError, Scenario
from coflash.runs.run import simulate
from models.exact import Write, fewest
from policies_of_ones_own import Dac, Greedy, Lru
from random_scenarios import FAMILIES, system
from sweeps import SMALL

PAGE_BYTES = 4096
TINY = Scenario.load("demo").with_(
    {
        **{f"flash.{key}": 1 for key in ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die")},
        "ftl.spare": {"share": "60%", "definition": "spare_of_physical"},
        "ftl.shared_streams": [["host", "evict", "gc"]],
        "gc.low_mark": 1,
        "precondition": {"fill": "none"},
        "workload.remap": "none",
        "workload.trace_options": {"columns": "time:us,op,offset:bytes,size:bytes"},
    }
)
"""One plane, whose blocks are given."""


def _requests(seed: int, pages: int, count: int) -> list[Write]:
    """A write of each page, then writes, and few trims."""
    rng = random.Random(seed)
    return [(page, True) for page in range(pages)] + [
        (rng.randrange(pages), rng.random() < 0.95) for _ in range(count - pages)
    ]


def _trace(requests: Sequence[Write], folder: Path) -> Path:
    """A trace of these requests, with reads between them, which change nothing but what the cache holds."""
    rng, lines = random.Random(len(requests)), []
    for page, is_write in requests:
        other = rng.choice(requests)[0]
        lines += [f"0,{'W' if is_write else 'T'},{page * PAGE_BYTES},4096", f"0,R,{other * PAGE_BYTES},4096"]
    (folder / "trace.csv").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return folder / "trace.csv"


def _tiny(blocks: int, pages_per_block: int, slots: int) -> Scenario:
    keys = {"flash.blocks_per_plane": blocks, "flash.pages_per_block": pages_per_block}
    return TINY.with_({**keys, "cache.size": f"{slots * PAGE_BYTES}B"})


def _bound(requests: Sequence[Write], slots: int, folder: Path) -> int:
    """The bound. Blocks do not matter to it: here there are enough for any of these requests."""
    if not requests:
        return 0
    return coflash.fewest_programs(_tiny(20, 2, slots), _trace(requests, folder)).programs_pages


def _exact(requests: Sequence[Write], slots: int, blocks: int, pages_per_block: int, folder: Path) -> int:
    left = [_bound(requests[at:], slots, folder) for at in range(len(requests) + 1)]
    found = fewest(requests, slots, blocks, pages_per_block, left)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("pages", "blocks", "slots", "count", "more"),
    [(5, 4, 1, 16, (0, 0)), (5, 4, 2, 16, (0, 0)), (4, 3, 1, 16, (0, 0)), (5, 3, 1, 20, (0.01, 0.06))],
)
def test_no_search_finds_fewer_programs_and_one_finds_as_few_where_more_than_a_page_is_spare(
    pages: int, blocks: int, slots: int, count: int, more: tuple[float, float], tmp_path: Path
) -> None:
    bounds, exact = 0, 0
    for seed in range(12):
        requests = _requests(seed, pages, count)
        bound, found = _bound(requests, slots, tmp_path), _exact(requests, slots, blocks, 2, tmp_path)
        assert bound <= found, seed
        bounds, exact = bounds + bound, exact + found
    least, most = more
    assert least <= exact / bounds - 1 <= most, "with a page to spare GC must copy at times"


@pytest.mark.parametrize("order", ["lru", '{ name = "cflru", window = "100%" }', "fifo"])
@pytest.mark.parametrize("slots", [1, 2])
def test_no_scheme_has_fewer_programs_than_the_search(slots: int, order: str, tmp_path: Path) -> None:
    ran = set()
    for seed in range(4):
        requests = _requests(seed, 4, 18)
        exact = _exact(requests, slots, 5, 2, tmp_path)
        trace = _trace(requests, tmp_path)
        for scheme in FAMILIES["cooperation"]:
            try:
                scenario = _tiny(5, 2, slots).set([("cooperation", scheme.name), ("cache.policy", order)])
                scenario.check()
            except CoflashError:
                continue  # it needs a larger device
            programs = sum(coflash.run(scenario, trace).metrics.programs_pages.to_dict().values())
            assert exact <= programs, (scheme.name, seed)
            ran.add(scheme.name)
    assert ran >= {"none", "cdm", "cdm-overwrites", "cdm-removable", "cdm-consistent", "move-in", "expected-cost"}


@pytest.mark.parametrize("seed", range(40))
def test_no_run_of_any_system_has_fewer_programs(seed: int) -> None:
    scenario = system(seed)
    try:
        bound = coflash.fewest_programs(scenario)
    except CoflashError as refused:
        assert str(refused).startswith(("hybrid: disks behind flash", "restart.at: what a restart loses"))
        return
    metrics = simulate(scenario).metrics
    assert bound.host_writes_pages == metrics.host_writes_pages
    assert bound.programs_pages <= sum(metrics.programs_pages.to_dict().values())


def test_a_larger_cache_needs_no_more_and_none_needs_all() -> None:
    device = SMALL.with_({"workload.synthetic.requests": 5000, "workload.synthetic.read_share": "30%"})
    found = [coflash.fewest_programs(device.with_({"cache.size": size})) for size in ("0B", "64KiB", "1MiB", "8MiB")]
    assert found[0].waf_host == 1.0 and found[0].absorbed_pages == 0 == found[0].slots
    counts = [one.programs_pages for one in found]
    assert counts == sorted(counts, reverse=True) and len(set(counts)) == len(counts)
    both = coflash.fewest_programs(device.with_({"cache.size": "512KiB", "host_buffer.size": "512KiB"}))
    assert both == found[2], "slots of caches and buffers are alike"


def test_policies_do_not_matter_to_it_be_they_ones_own() -> None:
    device = SMALL.with_({"workload.synthetic.requests": 2000, "workload.synthetic.generator": "zipf"})
    own = device.with_({"gc.victim": Greedy, "cache.policy": Lru, "ftl.placement": Dac, "cooperation": "none"})
    assert coflash.fewest_programs(own) == coflash.fewest_programs(device)


def test_what_cannot_be_bound_is_refused_with_its_key(tmp_path: Path) -> None:
    (tmp_path / "jobs.fio").write_text("[a]\nrw=randwrite\nbs=4k\nsize=4m\n", encoding="utf-8")
    jobs = SMALL.with_({"workload.synthetic": None, "workload.fio": str(tmp_path / "jobs.fio")})
    with pytest.raises(CoflashError, match="workload: it must know what is written later, which depends on answers"):
        coflash.fewest_programs(jobs)
    (tmp_path / "far.csv").write_text("0,W,0,4096\n0,W,99999999995904,4096\n", encoding="utf-8")
    with pytest.raises(CoflashError, match="request 2 lies beyond the device"):
        coflash.fewest_programs(TINY.with_({"flash.blocks_per_plane": 20}), tmp_path / "far.csv")
    reads = SMALL.with_({"workload.synthetic.read_share": "100%", "workload.synthetic.requests": 50})
    assert coflash.fewest_programs(reads).waf_host is None
