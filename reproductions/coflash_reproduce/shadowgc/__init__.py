"""The ShadowGC paper.

Source of its numbers: the publication named in `PAPER`. `shadowgc.md` has its prose.
"""

from __future__ import annotations

from coflash.measures.measure import Measure
from coflash_reproduce.paper import Axis, Exhibit, Figure, Notes, Paper
from coflash_reproduce.shadowgc import reading
from coflash_reproduce.shadowgc.claims import claims
from coflash_reproduce.shadowgc.workloads import AGE_LIMITS, BUFFERED, COMPARED, GGC, WORKLOADS, by_device, experiments
from coflash_reproduce.text import Text


def _by_host(name: str, measure: Measure, notes: Notes) -> Figure:
    axis, shown = reading.HOST_AXIS, reading.SWEPT
    return Figure(name, measure, axis, shown, baseline=GGC, from_zero=False, only=COMPARED, notes=notes)


def _motivation(name: str, measure: Measure) -> Figure:
    axis, shown, lines = reading.FOOTPRINT_AXIS, reading.FOOTPRINTS, reading.motivation(measure)
    return Figure(name, measure, axis, shown, baseline=GGC, from_zero=False, lines=lines)


def _changes(name: str, axis: Axis, shown: tuple[str, ...], notes: Notes) -> Figure:
    paper, lines = (reading.PAPER_SGC,), reading.changes
    return Figure(name, reading.CHANGE, axis, shown, from_zero=False, across=paper, lines=lines, notes=notes)


PAPER = Paper(
    name="shadowgc",
    text=Text.beside(__file__, globals()),
    experiments=experiments,
    exhibits=(
        Figure(
            "figure-1",
            reading.FOOTPRINT,
            reading.WRITTEN_AXIS,
            WORKLOADS,
            lines=reading.growth,
            notes=reading.about_growth,
        ),
        _motivation("figure-2a", reading.WAF),
        _motivation("figure-2b", reading.GC_TIME),
        Exhibit("schemes", reading.by_scheme),
        _changes("footprint", reading.FOOTPRINT_AXIS, reading.FOOTPRINTS, reading.about_footprints),
        Exhibit("regimes", reading.regimes),
        _by_host("figure-6", reading.WAF, reading.about_sizes),
        _by_host("figure-7", reading.GC_TIME, reading.about_given),
        Figure(
            "figure-8",
            reading.SHADOWS,
            reading.HOST_AXIS,
            reading.SWEPT,
            lines=reading.kinds,
            notes=reading.about_kinds,
        ),
        _changes("age-limit", reading.HOST_AXIS, tuple(AGE_LIMITS), reading.about_ages),
        Figure("prefill", reading.WAF, reading.PREFILL_AXIS, reading.PREFILLS, baseline=GGC),
        Exhibit("victims", reading.victims),
        Exhibit("restart", reading.restarts),
        Exhibit("overheads", reading.overheads, reading.about_overheads),
        Exhibit("rooms", reading.rooms),
        Figure(
            "device-buffer",
            reading.WAF,
            reading.DEVICE_AXIS,
            tuple(map(by_device, BUFFERED)),
            baseline=GGC,
            notes=reading.about_device,
        ),
        Exhibit("double-caching", reading.double_caching),
        Exhibit("sizes", reading.sizes),
    ),
    claims=tuple(claims()),
)
