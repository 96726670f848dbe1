"""The preset `msr-ssd` against the published outputs of the simulator that it stands for.

The workloads are that simulator's, draw for draw, so that no randomness remains. Its statistics leave out the last
request of a run.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import pytest

from coflash import Result, Scenario, run


class Published(NamedTuple):
    """The results of a run of the reference simulator."""

    pattern: str
    requests: int
    mean_ms: float
    stddev_ms: float
    max_ms: float | None = None
    cleans: int = 0
    pages_moved: int = 0

    def scenario(self) -> Scenario:
        return Scenario.load("msr-ssd").with_(
            {"workload.disksim.pattern": self.pattern, "workload.disksim.requests": self.requests - 1}
        )


PUBLISHED = {
    "sequential read": Published("sequential-read", 250_000, 0.132511, 0.000072),
    "random read": Published("random-read", 250_000, 0.136118, 0.015205, max_ms=0.485446),
    "sequential write": Published("sequential-write", 250_000, 0.310895, 0.026646),
    "random write": Published("random-write", 250_000, 0.329458, 0.068898),
    "sequential write, 5 million": Published("sequential-write", 5_000_000, 0.334365, 0.184392, cleans=77_493),
    "random write, 5 million": Published(
        "random-write", 5_000_000, 0.593438, 0.970446, cleans=143_179, pages_moved=1_929_239
    ),
}


@pytest.fixture(scope="module")
def runs() -> dict[str, Future[Result]]:
    """All runs, two at a time; the longest begin first."""
    longest_first = sorted(PUBLISHED, key=lambda name: -PUBLISHED[name].requests)
    with ThreadPoolExecutor(2) as pool:
        return {name: pool.submit(run, PUBLISHED[name].scenario()) for name in longest_first}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_reference_device_gives_what_was_published(name: str, runs: dict[str, Future[Result]]) -> None:
    published, metrics = PUBLISHED[name], runs[name].result().metrics
    response = metrics.response_ns.all
    assert metrics.requests == response.count == published.requests - 1
    assert response.mean is not None
    assert response.stddev is not None
    assert response.max is not None
    assert response.mean / 1e6 == pytest.approx(published.mean_ms, rel=0.01)
    assert response.stddev / 1e6 == pytest.approx(published.stddev_ms, rel=0.05, abs=0.003)
    if published.max_ms is not None:
        assert response.max / 1e6 == published.max_ms
    # A count of zero cleaned or moved pages must be met exactly.
    assert metrics.erases_blocks == pytest.approx(published.cleans, rel=0.01)
    assert metrics.gc_copies_pages == pytest.approx(published.pages_moved, rel=0.01)
    assert metrics.programs_pages.gc == metrics.gc_copies_pages


def test_a_page_costs_what_its_parts_cost(runs: dict[str, Future[Result]]) -> None:
    """A lone 4 KiB read: array, bus and link; each sequential one meets an idle element."""
    metrics = runs["sequential read"].result().metrics
    link_ns = 4096 / (8 * 256 * 2**20) * 1e9
    assert metrics.response_ns.all.mean == 25_000 + 8 * 13_200 + round(link_ns)
    assert metrics.response_ns.all.stddev == 0


def test_an_aligned_page_is_never_read_to_be_written(runs: dict[str, Future[Result]]) -> None:
    for name in ("sequential write", "random write"):
        metrics = runs[name].result().metrics
        assert metrics.flash_reads_pages == metrics.host_reads_pages == 0
        assert metrics.programs_pages.host == metrics.host_writes_pages
