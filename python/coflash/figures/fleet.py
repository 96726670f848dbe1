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
    names = [f"{name} ({counted(len(each), 'volume')})" for name, each in zip(designs, found, strict=True)]
    less = Axis(f"less than {designs[0]}", "share")
    panels = (names, found, Axis(measure.label, measure.unit), ()), (names[1:], saved[1:], less, [(0.0, "")])
    styles, shares = looks(names, markers=False), Axis("share of volumes", "share", low=0, high=1)
    charts = []
    for shown, values, axis, rules in panels:
        rows = [row for name, each in zip(shown, values, strict=True) for row in ecdf(each.values(), name)]
        charts.append(lines(rows, axis, shares, styles=styles, step=True, rules=rules, inches=(COLUMN_INCHES, 2.6)))
    return picture(charts, form)
