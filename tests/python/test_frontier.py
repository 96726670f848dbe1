"""The cheapest pair of two sizes: against all pairs, on made-up frontiers, and on devices that are run."""

from __future__ import annotations

import math
import os
import random
import re
from collections.abc import Sequence
from itertools import accumulate, repeat, takewhile
from pathlib import Path
from typing import Any

import pytest

import coflash
from coflash.sweep.frontier import Frontier, Pair
from coflash.sweep.goal import number
from sweeps import SMALL

SHARES = range(7, 57)
COLUMNS = [0, 3, 7, 13, 21, 33, 49]


class Known(Frontier):
    """A frontier of which everything is known."""

    def __init__(self, seed: int, close: float, looked_most: int) -> None:
        draw = random.Random(seed)
        most, dear, need = draw.choice([2000, 380_000]), draw.choice([0.5, 3, 20]), 1.2 * draw.random()
        every = accumulate(repeat(1), lambda at, _: at + max(1, at // 100))
        sizes = [0, *takewhile(lambda at: at <= most, every)]
        pages = len(sizes)
        worth, bend, self.looked = draw.choice([0.5, 1, 2, 4]), draw.random(), list[Pair]()

        def cost(pair: Pair) -> float:
            return sizes[pair[0]] / most * dear + (1 + SHARES[pair[1]] / 100) * 0.32

        def is_enough(pair: Pair) -> bool:
            return bool((sizes[pair[0]] / most) ** bend * 1.5 + SHARES[pair[1]] / 60 * worth >= need)

        def lacks(pairs: Sequence[Pair]) -> list[float]:
            self.looked += pairs
            return [float(not is_enough(pair)) for pair in pairs]

        super().__init__(pages, len(SHARES), COLUMNS, cost, lacks, close, looked_most)
        self.truth = math.inf
        for column in range(len(SHARES)):
            low, high = -1, pages
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if is_enough((middle, column)) else (middle, high)
            self.truth = min(self.truth, cost((high, column)) if high < pages else math.inf)


@pytest.mark.parametrize("seed", range(0, 120, 4))
def test_under_a_limit_of_the_cost_the_cheapest_pair_is_found_all_the_same(seed: int) -> None:
    free = Known(seed, 0.005, 10_000)
    limit = 1.05 * free.truth if free.truth < math.inf else 0.7 * free.cost((free.firsts - 1, free.seconds - 1))
    search = Known(seed, 0.005, 10_000)
    cost = search.cost
    search.cost = lambda pair: cost(pair) if cost(pair) <= limit else math.inf
    search.search()
    assert all(cost(pair) <= limit for pair in search.known), "what is too dear is not looked into"
    assert search.best <= free.truth / (1 - 0.0051) if free.truth < math.inf else search.best == math.inf


@pytest.mark.parametrize("seed", range(120))
def test_no_pair_is_cheaper_and_enough_but_for_what_is_told_and_none_is_looked_into_twice(seed: int) -> None:
    search = Known(seed, 0.005, 10_000)
    search.search()
    search.refine(10_000)
    assert len(set(search.looked)) == len(search.looked)
    if search.truth == math.inf:
        assert search.best == math.inf
        return
    assert search.truth <= search.best <= search.truth / (1 - 0.0051)
    assert search.left() <= 0.0051
    short = Known(seed, 0.005, 40)
    short.search()
    short.refine(40)
    assert len(short.looked) <= 40 + len(COLUMNS) + 3 * 9
    alone = [short.cost((0, at)) for at in range(len(SHARES)) if short.lacks([(0, at)])[0] <= 0]
    assert short.best <= min(alone, default=math.inf), "the least second size alone is found in any case"
    assert 1 - short.truth / short.best <= short.left() + 1e-9, "it tells how much cheaper one may be that it left"


def test_where_more_is_worse_a_grid_is_looked_into() -> None:
    def lacks(pairs: Sequence[Pair]) -> list[float]:
        return [float(first >= 100) for first, _ in pairs]

    search = Frontier(1000, 50, COLUMNS, lambda pair: pair[0] + pair[1] + 1, lacks, 0.005, 40)
    search.search()
    assert search.best == 1 and search.known[999, 49] > 0


def test_a_pair_is_found_below_those_that_are_too_little_where_more_is_worse() -> None:
    looked: list[Pair] = []

    def lacks(pairs: Sequence[Pair]) -> list[float]:
        looked.extend(pairs)
        return [float(not (80 <= first < 330 or first >= 900)) for first, _ in pairs]

    search = Frontier(1000, 1, [0], lambda pair: pair[0] + 1, lacks, 0.005, 40)
    search.search()
    assert search.best > 900, "halves alone do not see it"
    search.look_below(0)
    assert search.best == 81 and len(looked) < 40 and len({*looked}) == len(looked)


@pytest.mark.parametrize("seed", range(20))
def test_where_more_is_somewhat_worse_a_longer_search_leaves_less_and_tells_how_much_at_most(seed: int) -> None:
    draw = random.Random(seed)
    need, rough = draw.uniform(0.2, 0.9), draw.uniform(0.01, 0.1)
    noise = [draw.uniform(0, rough) for _ in range(1000)]

    def lacks(pairs: Sequence[Pair]) -> list[float]:
        return [need - first / 1000 + noise[first] for first, _ in pairs]

    truth = next(first for first in range(1000) if lacks([(first, 0)])[0] <= 0) + 1
    ends = []
    for most in (20, 60, 1000):
        search = Frontier(1000, 1, [0], lambda pair: pair[0] + 1, lacks, 0, 20, uneven=0.0)
        search.search()
        search.uneven, search.most = rough, most
        search.search()
        assert search.best * (1 - search.left()) <= truth <= search.best
        ends.append(search.left())
    assert ends == sorted(ends, reverse=True) and ends[-1] == 0.0


WORKLOADS: dict[str, dict[str, Any]] = {
    "zipf": {"generator": {"name": "zipf", "exponent": 1.0}},
    "flat zipf": {"generator": {"name": "zipf", "exponent": 0.7}},
    "uniform": {"generator": "uniform"},
    "hot-cold": {"generator": "hot-cold"},
    "reads": {"generator": {"name": "zipf", "exponent": 0.9}, "read_share": "70%"},
    "trims": {"generator": {"name": "zipf", "exponent": 0.9}, "trim_share": "5%"},
    "large": {"generator": {"name": "zipf", "exponent": 0.9}, "size": {"name": "fixed", "size": "16KiB"}},
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
"""Whether all workloads run on all drives, which takes some minutes of processor time."""
CASES = [(workload, drive) for workload in WORKLOADS for drive in DRIVES] if ALL else [("zipf", "two dies")]


def brute_force(workload: str, drive: str, folder: Path) -> tuple[coflash.Sizing, float]:
    """Size a device, and run a grid of devices; return the answer, and the cost of the cheapest that meets the goal.

    It must meet it by a percent, by which numbers of one seed scatter: under hot-cold and cost-benefit 0, 4, 8, 12, 16
    and 20 KiB of cache give 1.622, 1.596, 1.622, 1.601, 1.604 and 1.584, though the means of eight such traces fall
    steadily: on a slightly larger device 1.656, 1.645, 1.637, 1.632, 1.620 and 1.614.
    """
    file, device = (
        folder / "trace.parquet",
        {"flash.channels": 2, "flash.chips_per_channel": 1, "flash.pages_per_block": 16},
    )
    scenario = SMALL.with_({**device, **DRIVES[drive]})
    made = scenario.with_(workload={"synthetic": {"requests": 6000, **WORKLOADS[workload]}})
    coflash.trace.generate(made, file, space="8MiB")
    over: dict[str, Any] = {"cooperation": ["none"]}
    found = coflash.size(file, "waf_host<1.6", drive=scenario, over=over, out=folder / "out", seeds=1)
    grid = {
        "cache.size": [f"{pages * 4}KiB" for pages in (0, 1, 3, 10, 30, 100, 300, 1000)],
        "ftl.spare.share": ["7%", "11%", "16%", "23%", "32%", "45%", "56%"],
    }
    swept = coflash.sweep(found.scenario, grid, file, out=folder / "grid")
    pairs = zip(swept.points, swept.estimates("waf_host"), strict=True)
    met = [point for point, waf in pairs if waf.mean is not None and waf.mean <= 1.584 and not point.refused]
    price = number(f"cost {found.cost}").value
    return found, min((price((), point.jobs[0].scenario) or 0.0 for point in met), default=math.inf)


@pytest.mark.parametrize(("workload", "drive"), CASES)
def test_no_device_of_a_grid_is_cheaper_and_meets(workload: str, drive: str, tmp_path: Path) -> None:
    found, cheapest = brute_force(workload, drive, tmp_path)
    told = re.search(r"may be up to ([\d.]+)\s%\scheaper", found.how[-1])
    left = max(0.02, float(told[1]) / 100 + 0.001 if told else 0.0)
    assert cheapest >= found.answer.cost * (1 - left) if found.is_met else cheapest == math.inf
