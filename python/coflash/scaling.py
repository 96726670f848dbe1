"""The exported capacity with which a fraction of a drive programs as many pages for a host write as the whole.

A pool of few blocks with the spare share of the whole amplifies writes less or more: open blocks, the spread of what
blocks hold, and the part of a page's life that a block takes to be filled weigh more. No formula has their sum for all
workloads, victims and schemes, so it is measured: some dies of the whole, and as many of the small drive.
"""

from __future__ import annotations

import json
from functools import lru_cache

from coflash import _core, external
from coflash._core import CoflashError

_WHOLE_PAGES = 2**19
"""The most pages of the dies that stand for the whole: of a larger die a part is measured."""
_SMALL_PAGES, _SEEDS_MAX = 2**17, 32
"""The pages of all runs of small dies with one capacity, and the most runs."""
_PASSES, _HALVINGS = 3, 7
"""The most requests for each page, and the capacities that are tried: to a 40th of a block."""
_EQUAL = 0.003


@lru_cache(maxsize=1024)
def kept_capacity(whole: _core.Scenario, scale: str) -> tuple[int, str]:
    """Return the pages that a die of the scaled drive exports, and a sentence on how well the two agree.

    Raises:
        CoflashError: The drive cannot be scaled, or not run.
    """
    small = whole.scaled(scale)
    (all_dies, whole_pages, _), (_, nominal, block) = whole.sizes(), small.sizes()
    dies = max(1, min(all_dies, _WHOLE_PAGES // whole_pages))
    seeds = max(1, min(_SEEDS_MAX, _SMALL_PAGES // (dies * nominal)))

    def programs(scenario: _core.Scenario, seeds: int) -> float:
        some = scenario.of_dies(dies)
        requests = ("workload.requests_max", str(_PASSES * dies * some.sizes()[1]))
        runs = [some.set([requests, ("seed", str(seed))]) for seed in range(1, seeds + 1)]
        with external.seeded(whole.to_dict()):
            results = [json.loads(_core.run(run, None, None, (None, None), None).to_json()) for run in runs]
        return sum(result["metrics"]["waf_host"] or 0.0 for result in results) / seeds

    wanted = programs(whole.scaled(f"1/{-(-whole_pages // _WHOLE_PAGES)}"), 1)
    at, low, high = nominal, nominal - 2 * block, nominal + 2 * block
    for left in range(_HALVINGS, -1, -1):
        try:
            reached = programs(small.exporting(at), seeds)
        except CoflashError:  # too much for its blocks
            reached = float("inf")
        if abs(reached - wanted) <= _EQUAL * wanted or not left:
            break
        low, high = (at, high) if reached < wanted else (low, at)
        at = (low + high) // 2
    if reached == float("inf"):  # the most that was measured
        at, reached = low, programs(small.exporting(low), seeds)
    return at, (
        f"Its exported capacity keeps write amplification: {dies} of its dies in a closed loop have {wanted:.3f} "
        f"programs per host write whole and {reached:.3f} scaled ({100 * (reached / (wanted or 1.0) - 1):+.1f} %)."
    )
