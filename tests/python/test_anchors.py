"""The simulator against the closed forms: write amplification under uniform random writes.

Times do not matter. One die is one pool with one open block for all streams, so that only the victim policy and the
spare space matter. The spare space is computed to a fraction of a block, so that the devices may be small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest
from scipy.optimize import brentq

from coflash import Result, Scenario, analytic, run

SEED = 2012
OVER_PROVISIONING_PERCENT = (7, 15, 28, 50)
BLOCKS_OF_PAGES_PER_BLOCK = {64: 4096, 256: 1024}

Model = Callable[[float, int], float]
"""Write amplification, given alpha and the pages of a block."""

MODELS: dict[str, Model] = {
    "greedy": analytic.greedy,
    "fifo": lambda alpha, _: analytic.fifo(alpha),
    "2-choices": lambda alpha, n: analytic.d_choices(alpha, n, 2),
    "10-choices": lambda alpha, n: analytic.d_choices(alpha, n, 10),
}
VICTIMS: dict[str, Any] = {
    "greedy": "greedy",
    "fifo": "fifo",
    "2-choices": {"name": "d-choices", "d": 2},
    "10-choices": {"name": "d-choices", "d": 10},
}
TOLERANCES = {"greedy": 0.002, "fifo": 0.002, "2-choices": 0.006, "10-choices": 0.002}


class Device(NamedTuple):
    """One die under uniform random writes of single pages."""

    pages_per_block: int
    blocks: int
    over_provisioning_percent: int
    victim: str = "greedy"
    low_mark: int = 1

    @property
    def logical_pages(self) -> int:
        return self.pages_per_block * self.blocks * 100 // (100 + self.over_provisioning_percent)

    def scenario(self, random_passes: int, measured_passes: int) -> Scenario:
        """A sequential fill, then random writes, uncounted and counted; all in multiples of the logical pages."""
        return Scenario.from_dict(
            {
                "name": "anchor",
                "seed": SEED,
                "flash": {
                    "channels": 1,
                    "blocks_per_plane": self.blocks,
                    "pages_per_block": self.pages_per_block,
                    "page_size": "4KiB",
                },
                "ftl": {
                    "spare": {
                        "share": f"{self.over_provisioning_percent}%",
                        "definition": "over_provisioning",
                    },
                    "shared_streams": [["host", "evict", "gc"]],
                },
                "gc": {"victim": VICTIMS[self.victim], "low_mark": self.low_mark},
                "precondition": {"fill": "sequential", "random_passes": random_passes},
                "workload": {
                    "synthetic": {
                        "generator": "uniform",
                        "requests": measured_passes * self.logical_pages,
                        "size": {"name": "fixed", "size": "4KiB"},
                        "arrival": {"name": "fixed", "interval": "1ms"},
                    }
                },
            }
        )

    def usable_pages(self, amplification: float) -> float:
        """T: all pages but those of low_mark + 1 + 1/(2A) blocks.

        GC goes on until low_mark + 1 blocks are free. The open block then holds the copies, 1 - 1/A of it, and host
        writes fill the rest: on average over these, half of 1/A is missing.
        """
        return (self.blocks - self.low_mark - 1 - 0.5 / amplification) * self.pages_per_block

    def expected(self, model: Callable[[float], float]) -> float:
        """The fixed point A: T depends on A, and the model gives A for T."""
        amplification = 1.0
        for _ in range(100):
            amplification = model(self.usable_pages(amplification))
        return amplification


class Comparison(NamedTuple):
    """A measured number, with its expected value."""

    what: str
    measured: float
    expected: float

    @property
    def error(self) -> float:
        return self.measured / self.expected - 1

    def __str__(self) -> str:
        return f"{self.what}: measured {self.measured:.5f}, expected {self.expected:.5f}, {self.error:+.3%}"


def in_parallel(scenarios: Iterable[Scenario]) -> list[Result]:
    """The results of independent runs, in parallel: the core releases the interpreter lock."""
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(run, scenarios))


def agree(comparisons: list[Comparison], tolerance: float) -> None:
    """Asserts that all errors are within the tolerance, and shows all of them if one is not."""
    table = "\n".join(map(str, comparisons))
    print(table)  # noqa: T201  (seen with pytest -rP)
    assert all(abs(comparison.error) <= tolerance for comparison in comparisons), (
        f"seed {SEED}, tolerance {tolerance:.1%}\n{table}"
    )


@pytest.mark.parametrize("pages_per_block", BLOCKS_OF_PAGES_PER_BLOCK)
@pytest.mark.parametrize("victim", MODELS)
def test_uniform_writes_amplify_as_the_model_of_the_victim_policy_says(victim: str, pages_per_block: int) -> None:
    devices = [
        Device(pages_per_block, BLOCKS_OF_PAGES_PER_BLOCK[pages_per_block], percent, victim)
        for percent in OVER_PROVISIONING_PERCENT
    ]
    # Few random choices make noise: they take more writes to average out.
    passes = (3, 4) if victim == "2-choices" else (2, 2)
    results = in_parallel(device.scenario(*passes) for device in devices)
    comparisons = []
    for device, result in zip(devices, results, strict=True):
        assert result.workload["logical_bytes"] == device.logical_pages * 4096
        assert result.metrics.waf_host is not None

        def model(usable: float, logical: int = device.logical_pages) -> float:
            return MODELS[victim](usable / logical, pages_per_block)

        expected = device.expected(model)
        what = f"{victim}, {device.over_provisioning_percent} %, {pages_per_block} pages"
        comparisons.append(Comparison(what, result.metrics.waf_host, expected))
    agree(comparisons, TOLERANCES[victim])


@pytest.mark.parametrize("low_mark", [1, 3])
def test_open_and_reserve_blocks_cost_what_their_count_says(low_mark: int) -> None:
    """On a small device, where a block matters most: the blocks that `Device.usable_pages` leaves out."""
    devices = [Device(64, 512, 7, victim, low_mark) for victim in ("greedy", "fifo", "10-choices")]
    results = in_parallel(device.scenario(random_passes=6, measured_passes=30) for device in devices)
    comparisons = []
    for device, result in zip(devices, results, strict=True):
        measured = result.metrics.waf_host
        assert measured is not None

        def too_much(blocks: float, device: Device = device, measured: float = measured) -> float:
            alpha = (device.blocks - blocks) * device.pages_per_block / device.logical_pages
            return MODELS[device.victim](alpha, device.pages_per_block) - measured

        blocks = brentq(too_much, 0, device.blocks * 0.06)
        comparisons.append(Comparison(f"blocks lost, {device.victim}", blocks, low_mark + 1 + 0.5 / measured))
    agree(comparisons, 0.1 / (low_mark + 1))


@pytest.mark.parametrize("cached_percent", [1, 5, 10, 20])
def test_a_cooperative_write_cache_saves_what_the_model_says(cached_percent: int) -> None:
    """CDM: C of U pages are dirty in the cache, flash is written at the rate 1 - C/U, and holds U - C pages."""
    skipped_passes = 2  # in which the cache fills and flash comes to rest
    devices = [
        Device(pages_per_block, BLOCKS_OF_PAGES_PER_BLOCK[pages_per_block] // 2, percent)
        for pages_per_block in BLOCKS_OF_PAGES_PER_BLOCK
        for percent in (7, 28)
    ]
    results = in_parallel(
        device.scenario(random_passes=1, measured_passes=skipped_passes + 2).with_(
            cache__size=f"{cached_percent}%", cooperation="cdm"
        )
        for device in devices
    )
    comparisons = []
    for device, result in zip(devices, results, strict=True):
        cache = result.metrics.cache
        assert cache.capacity_pages == device.logical_pages * cached_percent // 100
        # Every cached page is dirty, and the only copy: it stays until it is written.
        assert cache.clean_evictions_pages == result.metrics.gc_drops_pages == 0
        assert cache.write_misses - cache.dirty_evictions_pages == cache.capacity_pages
        assert result.metrics.ftl_writes_pages == cache.dirty_evictions_pages

        series = result.series()
        measured = series["host_writes_pages"].cumsum() > skipped_passes * device.logical_pages
        host, evicted, copied = (
            int(series[column][measured].sum())
            for column in ("host_writes_pages", "programs_evict_pages", "programs_gc_pages")
        )

        def model(usable: float, device: Device = device, cached: int = cache.capacity_pages) -> Any:
            return analytic.cdm(usable, device.logical_pages, cached, device.pages_per_block)

        expected = model(device.usable_pages(device.expected(lambda usable: model(usable).waf_ftl)))
        what = f"{cached_percent} % cached, {device.over_provisioning_percent} %, {device.pages_per_block} pages"
        comparisons += [
            Comparison(f"{what}, pages reaching flash per page written", evicted / host, expected.flash_write_rate),
            Comparison(f"{what}, WAF by FTL writes", (evicted + copied) / evicted, expected.waf_ftl),
            Comparison(f"{what}, WAF by host writes", (evicted + copied) / host, expected.waf_host),
        ]
    agree(comparisons, 0.003)
