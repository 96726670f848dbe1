"""WARP: a drive with flexible data placement, whose artifact publishes its counters.

Source of its numbers: the artifact named in `warp.md`. `curves.csv` has the published counters in a form of ours; the
rates of its logs are differences of the counters by those of the clock, which tells seconds.
"""

from __future__ import annotations

from coflash_reproduce.declare import paper
from coflash_reproduce.warp import reading, workloads

PAPER = paper(__file__, workloads, reading)
