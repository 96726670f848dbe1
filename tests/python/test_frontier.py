"""The cheapest pair of two sizes: against all pairs, on made-up frontiers, and on devices that are run."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import coflash
from coflash.sweep.frontier import Frontier, Pair
from sweeps import SMALL

SHARES = range(7, 57)
COLUMNS = [0, 3, 7, 13, 21, 33, 49]


class Known(Frontier):
    """A frontier of which everything is known."""

    def __init__(self, seed: int, close: float, most: int) -> None:
        draw = random.Random(seed)
        pages, dear, need = draw.choice([2000, 380_000]), draw.choice([0.5, 3, 20]), 1.2 * draw.random()
        worth, bend, self.looked = draw.choice([0.5, 1, 2, 4]), draw.random(), list[Pair]()

        def cost(pair: Pair) -> float:
            return pair[0] / pages * dear + (1 + SHARES[pair[1]] / 100) * 0.32

        def is_enough(pair: Pair) -> bool:
            return bool((pair[0] / pages) ** bend * 1.5 + SHARES[pair[1]] / 60 * worth >= need)

        def are_enough(pairs: Sequence[Pair]) -> list[bool]:
            self.looked += pairs
            return [is_enough(pair) for pair in pairs]

        super().__init__(pages, len(SHARES), COLUMNS, cost, are_enough, True, close, most)
        self.truth = math.inf
        for column in range(len(SHARES)):
            low, high = -1, pages
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if is_enough((middle, column)) else (middle, high)
            self.truth = min(self.truth, cost((high, column)) if high < pages else math.inf)


@pytest.mark.parametrize("seed", range(120))
def test_no_pair_is_cheaper_and_enough_but_for_what_is_told_and_none_is_looked_into_twice(seed: int) -> None:
    search = Known(seed, 0.005, 10_000)
    search.search()
    assert len(set(search.looked)) == len(search.looked)
    if search.truth == math.inf:
        assert search.best == math.inf
        return
    assert search.truth <= search.best <= search.truth / (1 - 0.0051)
    assert search.left <= 0.0051
    short = Known(seed, 0.005, 40)
    short.search()
    assert len(short.looked) <= 40 + len(COLUMNS) + 3 * 9
    assert 1 - short.truth / short.best <= short.left + 1e-9, "it tells how much cheaper one may be that it left"


def test_where_more_is_worse_a_grid_is_looked_into() -> None:
    def are_enough(pairs: Sequence[Pair]) -> list[bool]:
        return [first < 100 for first, _ in pairs]

    search = Frontier(1000, 50, COLUMNS, lambda pair: pair[0] + pair[1] + 1, are_enough, True, 0.005, 40)
    search.search()
    assert search.best == 1 and search.known[999, 0] is False


WORKLOADS: dict[str, dict[str, Any]] = {
    "zipf": {"generator": {"name": "zipf", "exponent": 1.0}},
    "flat zipf": {"generator": {"name": "zipf", "exponent": 0.7}},
    "uniform": {"generator": "uniform"},
    "hot-cold": {"generator": "hot-cold"},
    "reads": {"generator": {"name": "zipf", "exponent": 0.9}, "read_share": "70%"},
    "trims": {"generator": {"name": "zipf", "exponent": 0.9}, "trim_share": "5%"},
    "large": {"generator": {"name": "zipf", "exponent": 0.9}, "size": "16KiB"},
    "sequential": {"generator": "sequential"},
    "hotter": {"generator": {"name": "zipf", "exponent": 1.2}},
    "half": {"generator": "hot-cold", "read_share": "50%"},
}
DRIVES: dict[str, dict[str, Any]] = {
    "two dies": {},
    "one pool": {"ftl.pools": "device"},
    "cost-benefit": {"gc.victim": "cost-benefit"},
}
ALL = os.environ.get("COFLASH_BRUTE_FORCE") == "1"
"""Whether all workloads run on all drives, which takes an hour of processor time."""
CASES = [(workload, drive) for workload in WORKLOADS for drive in DRIVES] if ALL else [("zipf", "two dies")]


@pytest.mark.parametrize(("workload", "drive"), CASES)
def test_no_device_of_a_grid_is_cheaper_and_meets(workload: str, drive: str, tmp_path: Path) -> None:
    file, device = (
        tmp_path / "trace.parquet",
        {"flash.channels": 2, "flash.chips_per_channel": 1, "flash.pages_per_block": 16},
    )
    scenario = SMALL.with_({**device, **DRIVES[drive]})
    made = scenario.with_(workload={"synthetic": {"requests": 6000, **WORKLOADS[workload]}})
    coflash.trace.generate(made, file, space="8MiB")
    goals = ["waf_host<1.6"]
    over: dict[str, Any] = {"cooperation": ["none"]}
    found = coflash.size(file, goals, drive=scenario, over=over, out=tmp_path / "out", seeds=1)
    base = found.scenario
    grid = {
        "cache.size": [f"{pages * 4}KiB" for pages in (0, 1, 3, 10, 30, 100, 300, 1000)],
        "ftl.spare.share": ["7%", "11%", "16%", "23%", "32%", "45%", "56%"],
    }
    swept = coflash.sweep(base, grid, file, out=tmp_path / "grid")
    price = sizes_cost(found)
    for point, number in zip(swept.points, swept.estimates("waf_host"), strict=True):
        if number.mean is not None and number.mean <= 1.6 and not point.refused:
            cost = price(point.jobs[0].scenario)
            assert cost >= found.answer.cost * (1 - 0.0051) or found.how[-1].endswith("cheaper."), point.values


def sizes_cost(found: coflash.Sizing) -> Any:
    """The cost of a device by the prices of an answer."""
    from coflash.sweep.goal import number

    priced = number(f"cost {found.cost}")
    return lambda scenario: priced.value((), scenario)
