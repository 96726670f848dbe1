"""Measure what a policy of one's own costs, against the same policy built in.

The cost is the ratio of the processor time of whole runs; both give the same result. Rounds alternate, and the median
counts. Victim choice is measured where GC works hardest: random writes, a full device, pools of some hundred blocks; so
is placement. Eviction is measured where nothing else takes time: reads of a cache, one page each.

`make bench` installs a release build of the core, and runs this after its other rows. Beginnings of names select rows.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import coflash

sys.path.append(str(Path(__file__).parents[1] / "tests" / "python"))

from policies_of_ones_own import CostBenefit, Fifo, FifoOfPages, Greedy, Lru, SepGc

ROUNDS = 3
COLLECTING = coflash.Scenario.load("demo").with_(
    {
        "flash.blocks_per_plane": 512,
        "precondition.random_passes": 1,
        "workload.synthetic.generator.name": "hot-cold",
        "workload.synthetic.requests": 1_000_000,
    }
)
CACHING = coflash.Scenario.load("demo").with_(
    {
        "flash.blocks_per_plane": 64,
        "cache.size": "5%",
        "workload.synthetic.generator.name": "zipf",
        "workload.synthetic.requests": 500_000,
        "workload.synthetic.read_share": "100%",
    }
)
PLACING = COLLECTING.with_({"gc.low_mark": 3, "workload.synthetic.requests": 300_000})
SEPARATED = {"name": "score", "score": "gc", "gc_classes": 1}
BY_LIFE = {
    "name": "score",
    "score": "if(gc, if(class < 1, 2, 3 + (age >= 4 * life) + (age >= 16 * life)), age >= life)",
    "classes": 6,
    "gc_classes": 4,
}
AS_COST_BENEFIT = {"name": "score", "score": "(age + 1) * freed / cost", "tie": "first-sealed"}
PAIRS: list[tuple[str, coflash.Scenario, str, Any, str, float]] = [
    ("score, greedy", COLLECTING, "gc.victim", {"name": "score", "score": "-u"}, "greedy", 2),
    ("score, cost-benefit", COLLECTING, "gc.victim", AS_COST_BENEFIT, "cost-benefit", 2),
    ("Python, greedy", COLLECTING, "gc.victim", Greedy, "greedy", 2),
    ("Python, FIFO", COLLECTING, "gc.victim", Fifo, "fifo", 2),
    ("Python, cost-benefit", COLLECTING, "gc.victim", CostBenefit, "cost-benefit", 2),
    ("score, sepgc", PLACING, "ftl.placement", SEPARATED, "sepgc", 2),
    ("score, SepBIT", PLACING.with_(gc__low_mark=9), "ftl.placement", BY_LIFE, "sepbit", 2),
    ("Python, sepgc", PLACING, "ftl.placement", SepGc, "sepgc", 40),
    ("Python, LRU", CACHING, "cache.policy", Lru, "lru", 40),
    ("Python, FIFO of pages", CACHING, "cache.policy", FifoOfPages, "fifo", 40),
]


def seconds(scenario: coflash.Scenario, key: str, policy: Any) -> tuple[float, Any]:
    """Return the processor time of the replay, and the metrics."""
    chosen = scenario.with_({key: policy})
    device = coflash.warm(chosen)
    begun = time.process_time()
    result = coflash.run(chosen, warm=device)
    return time.process_time() - begun, result.document["metrics"]


def main() -> None:
    """Measure and print; exit with status 1 if a bound is exceeded."""
    exceeded = False
    chosen = [pair for pair in PAIRS if not sys.argv[1:] or any(map(pair[0].startswith, sys.argv[1:]))]
    for name, scenario, key, own, built_in, bound in chosen:
        ratios = []
        for _ in range(ROUNDS):
            (ours, found), (theirs, expected) = (seconds(scenario, key, policy) for policy in (own, built_in))
            if found != expected:
                sys.exit(f"{name}: another result than {built_in}")
            ratios.append(ours / theirs)
        exceeded |= median(ratios) > bound
        print(f"{name:24} {median(ratios):6.2f} x of {built_in} (at most {bound:g})")
    sys.exit(int(exceeded))


if __name__ == "__main__":
    main()
