"""The OP-FCL paper.

Source of its numbers: the publication named in `PAPER`, sections 2 to 5. `opfcl.md` has its prose.
"""

from __future__ import annotations

from functools import partial

from coflash.measures.measure import MEAN, Measure
from coflash_reproduce.opfcl import model, reading, workloads
from coflash_reproduce.opfcl.claims import claims
from coflash_reproduce.paper import Axis, Exhibit, Figure, Notes, Paper, Picture
from coflash_reproduce.text import Text


def _by_share(name: str, measure: Measure, names: tuple[str, ...], notes: Notes = lambda _: ()) -> Figure:
    return Figure(name, measure, reading.CACHING_AXIS, names, baseline=workloads.FP, across=workloads.OURS, notes=notes)


def _sizes(name: str, names: tuple[str, ...]) -> Picture:
    return Picture(name, partial(reading.draw_sizes, names), partial(reading.table_of_sizes, names))


def _relative(name: str, axis: Axis, usual: float, kind: str, names: tuple[str, ...]) -> Figure:
    """Return a figure with a line for each workload: the response over that at the usual place."""
    of = workloads.sensitivity(kind, names)
    return Figure(name, reading.RELATIVE, axis, of[:1], lines=partial(reading.relative, usual, of))


PAPER = Paper(
    name="opfcl",
    text=Text.beside(__file__, vars(workloads)),
    experiments=workloads.experiments,
    exhibits=(
        Exhibit("best-partitions", reading.best_partitions),
        Picture("figure-3", model.draw_reads, model.table_of_reads),
        Picture("figure-4", model.draw_both, model.table_of_both),
        _by_share("figure-6", MEAN, workloads.CONFIG_1, partial(reading.about_response, workloads.CONFIG_1)),
        _by_share("figure-7", reading.GC_TIME, workloads.CONFIG_1, partial(reading.about_copies, workloads.CONFIG_1)),
        _by_share("figure-8", reading.HITS, workloads.CONFIG_1),
        _sizes("figure-9", (*workloads.CONFIG_1, *workloads.PHASED, workloads.DAYS[0])),
        _by_share("figure-10", MEAN, workloads.CONFIG_2, partial(reading.about_response, workloads.CONFIG_2)),
        _by_share("figure-11", reading.GC_TIME, workloads.CONFIG_2, partial(reading.about_copies, workloads.CONFIG_2)),
        _by_share("figure-12", reading.HITS, workloads.CONFIG_2),
        _sizes("figure-13", (*workloads.CONFIG_2, workloads.DAYS[1])),
        _by_share("figure-14", reading.ERASES, reading.BOTH, reading.about_erases),
        _relative("figure-15a", reading.UNIT_AXIS, workloads.UNIT_KIB, workloads.BY_UNIT, workloads.SENSITIVE),
        _relative("figure-15b", reading.PERIOD_AXIS, workloads.USUAL_PERIOD, workloads.BY_PERIOD, workloads.PERIODS),
        Exhibit("further", partial(reading.best_in_background, workloads.in_background(reading.BOTH))),
        Exhibit("rivals", reading.rivals),
        Exhibit("variations", reading.varied),
        Exhibit("causes", reading.causes),
        Exhibit("disks", reading.on_disks),
        Exhibit("workloads", reading.devices),
    ),
    claims=tuple(claims()),
)
