"""The figure of a fleet: the share of volumes up to each value of a measure, and up to each share saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coflash.charts import COLUMN_INCHES, Axis, Format, ecdf, lines, looks, picture
from coflash.measures.measure import Measure
from coflash.quantity import counted


def draw(
    designs: Sequence[str],
    measure: Measure,
    found: Sequence[Mapping[str, float]],
    saved: Sequence[Mapping[str, float]],
    form: Format,
) -> bytes:
    """Draw the cumulative distributions over volumes.

    Args:
        designs: The names of the points of the design; the first is the baseline.
        measure: The measure.
        found: For each point the measure of each volume.
        saved: For each point the share that each volume saves.
        form: The format.
    """
    styles, shares = looks(designs, markers=False), Axis("share of volumes", "share", low=0, high=1)
    known = max(map(len, saved[1:]), default=0)
    less = Axis(f"less than {designs[0]}, of {counted(known, 'volume')}", "share")
    panels = (0, found, Axis(measure.label, measure.unit), ()), (1, saved, less, [(0.0, "")])
    charts = []
    for first, values, axis, rules in panels:
        of_designs = [*zip(designs, values, strict=True)][first:]
        shown = {f"{name} ({counted(len(each), 'volume')})": (styles[name], each) for name, each in of_designs}
        rows = [row for name, (_, each) in shown.items() for row in ecdf(each.values(), name)]
        own = {name: look for name, (look, _) in shown.items()}
        charts.append(lines(rows, axis, shares, styles=own, step=True, rules=rules, inches=(COLUMN_INCHES, 2.6)))
    return picture(charts, form)
