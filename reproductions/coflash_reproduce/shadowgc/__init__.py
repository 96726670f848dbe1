"""The ShadowGC paper.

Source of its numbers: the publication named in `PAPER`. `shadowgc.md` has its prose.
"""

from __future__ import annotations

from coflash_reproduce.paper import Exhibit, Figure, Paper, Picture
from coflash_reproduce.shadowgc import reading, workloads
from coflash_reproduce.shadowgc.claims import claims
from coflash_reproduce.shadowgc.workloads import COMPARED, DGC, HGC, MOTIVATION, SGC, WORKLOADS, experiments
from coflash_reproduce.text import Text

PAPER = Paper(
    name="shadowgc",
    text=Text.beside(__file__, vars(workloads)),
    experiments=experiments,
    exhibits=(
        Exhibit("averages", reading.averages),
        Figure(
            "figure-1",
            reading.FOOTPRINT,
            reading.WRITTEN_AXIS,
            WORKLOADS,
            lines=reading.growth,
            notes=reading.about_growth,
        ),
        reading.barred("figure-2a", MOTIVATION, reading.WAF),
        reading.barred("figure-2b", MOTIVATION, reading.GC_TIME),
        reading.barred("figure-6", COMPARED, reading.WAF),
        reading.barred("figure-7", COMPARED, reading.GC_TIME, reading.about_given),
        Picture("figure-8", reading.draw_shadows, reading.tabled_shadows),
        Exhibit("parts", reading.parts, reading.about_parts),
        Figure(
            "live",
            reading.CHANGE,
            reading.LIVE_AXIS,
            ("live",),
            from_zero=False,
            lines=reading.by_place((HGC, DGC, SGC)),
            across=(reading.PAPER_SGC,),
            notes=reading.about_live,
        ),
        Picture("map", reading.draw_map, reading.cells, reading.about_map),
        Figure(
            "lambda",
            reading.CHANGE,
            reading.LAMBDA_AXIS,
            ("lambda",),
            from_zero=False,
            lines=reading.by_lambda,
            notes=reading.about_lambda,
        ),
        Exhibit("variants", reading.variants),
        Figure(
            "terabyte",
            reading.CHANGE,
            reading.SHARE_AXIS,
            reading.TERABYTE,
            from_zero=False,
            lines=reading.by_place(COMPARED[1:]),
            across=(reading.PAPER_SGC,),
        ),
        Exhibit("restart", reading.restarts),
        Exhibit("overheads", reading.overheads, reading.about_overheads),
        Exhibit("double-caching", reading.double_caching),
        Exhibit("sizes", reading.sizes),
    ),
    claims=tuple(claims()),
)
