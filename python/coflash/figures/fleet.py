"""The figure of a fleet: the share of volumes up to each value of a measure, and up to each share saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coflash.charts import COLUMN_INCHES, Axis, Format, ecdf, lines, looks, picture
from coflash.measures.measure import Measure
from coflash.quantity import counted

_INCHES = (COLUMN_INCHES, 2.6)


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
    styles, shares = looks(names, markers=False), Axis("share of volumes", "share", low=0, high=1)
    values = [row for name, each in zip(names, found, strict=True) for row in ecdf(each.values(), name)]
    less = [row for name, each in zip(names[1:], saved[1:], strict=True) for row in ecdf(each.values(), name)]
    return picture(
        [
            lines(values, Axis(measure.label, measure.unit), shares, styles=styles, step=True, inches=_INCHES),
            lines(
                less,
                Axis(f"less than {designs[0]}", "share"),
                shares,
                styles=styles,
                step=True,
                rules=[(0.0, "")],
                inches=_INCHES,
            ),
        ],
        form,
    )
