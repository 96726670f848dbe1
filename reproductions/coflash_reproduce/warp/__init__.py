"""WARP: a drive with flexible data placement, whose artifact publishes its counters.

Source of its numbers: the artifact named in `warp.md`. `curves.csv` has the published counters in a form of ours, and
`reached.csv` the rates of their logs: differences of the counters by those of the clock, which tells seconds.
"""

from __future__ import annotations

from coflash.measures.measure import WAF_HOST
from coflash_reproduce.paper import Exhibit, Figure, Grid, Paper
from coflash_reproduce.text import Text
from coflash_reproduce.warp import reading, workloads
from coflash_reproduce.warp.claims import claims
from coflash_reproduce.warp.workloads import CURVES, experiments

PAPER = Paper(
    name="warp",
    text=Text.beside(__file__, vars(workloads)),
    experiments=experiments,
    exhibits=(
        Exhibit("conservation", reading.conservation),
        Exhibit("logs", reading.logs),
        Exhibit("copies", reading.copies),
        Figure("curves", WAF_HOST, reading.FILLS_AXIS, tuple(CURVES), from_zero=False, lines=reading.lines),
        Exhibit("points", reading.deviations, reading.missed),
        Exhibit("isolations", reading.isolations),
        Exhibit("mixes", reading.mixes),
        Exhibit("stream", reading.stream),
        Exhibit("reached", lambda _: Grid.beside(__file__, "reached.csv")),
        Exhibit("rates", reading.rates),
        Exhibit("sizes", reading.sizes),
        Exhibit("cost", reading.cost),
    ),
    claims=tuple(claims()),
)
