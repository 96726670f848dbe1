"""The OP-FCL paper.

Source of its numbers: the publication named in `PAPER`, sections 2 to 5. `opfcl.md` has its prose.
"""

from __future__ import annotations

from functools import partial

from coflash.measures.measure import MEAN, Measure
from coflash_reproduce.opfcl import model, reading
from coflash_reproduce.opfcl.claims import claims
from coflash_reproduce.opfcl.workloads import (
    BY_PERIOD,
    BY_UNIT,
    CONFIG_1,
    CONFIG_2,
    DAYS,
    FP,
    OURS,
    PERIODS,
    PHASED,
    SENSITIVE,
    UNIT_KIB,
    USUAL_PERIOD,
    experiments,
    in_background,
    sensitivity,
)
from coflash_reproduce.paper import Axis, Exhibit, Figure, Notes, Paper, Picture
from coflash_reproduce.text import Text


def _by_share(name: str, measure: Measure, names: tuple[str, ...], notes: Notes = lambda _: ()) -> Figure:
    return Figure(name, measure, reading.CACHING_AXIS, names, baseline=FP, across=OURS, notes=notes)


def _sizes(name: str, names: tuple[str, ...]) -> Picture:
    return Picture(name, partial(reading.draw_sizes, names), partial(reading.table_of_sizes, names))


def _relative(name: str, axis: Axis, usual: float, kind: str, names: tuple[str, ...]) -> Figure:
    """Return a figure with a line for each workload: the response over that at the usual place."""
    of = sensitivity(kind, names)
    return Figure(name, reading.RELATIVE, axis, of[:1], lines=partial(reading.relative, usual, of))


PAPER = Paper(
    name="opfcl",
    text=Text.beside(__file__, globals()),
    experiments=experiments,
    exhibits=(
        Exhibit("best-partitions", reading.best_partitions),
        Picture("figure-3", model.draw_reads, model.table_of_reads),
        Picture("figure-4", model.draw_both, model.table_of_both),
        _by_share("figure-6", MEAN, CONFIG_1, partial(reading.about_response, CONFIG_1)),
        _by_share("figure-7", reading.GC_TIME, CONFIG_1, partial(reading.about_copies, CONFIG_1)),
        _by_share("figure-8", reading.HITS, CONFIG_1),
        _sizes("figure-9", (*CONFIG_1, *PHASED, DAYS[0])),
        _by_share("figure-10", MEAN, CONFIG_2, partial(reading.about_response, CONFIG_2)),
        _by_share("figure-11", reading.GC_TIME, CONFIG_2, partial(reading.about_copies, CONFIG_2)),
        _by_share("figure-12", reading.HITS, CONFIG_2),
        _sizes("figure-13", (*CONFIG_2, DAYS[1])),
        _by_share("figure-14", reading.ERASES, reading.BOTH, reading.about_erases),
        _relative("figure-15a", reading.UNIT_AXIS, UNIT_KIB, BY_UNIT, SENSITIVE),
        _relative("figure-15b", reading.PERIOD_AXIS, USUAL_PERIOD, BY_PERIOD, PERIODS),
        Exhibit("further", partial(reading.best_in_background, in_background(reading.BOTH))),
        Exhibit("rivals", reading.rivals),
        Exhibit("variations", reading.varied),
        Exhibit("causes", reading.causes),
        Exhibit("disks", reading.on_disks),
        Exhibit("workloads", reading.devices),
    ),
    claims=tuple(claims()),
)
