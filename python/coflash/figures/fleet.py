"""The figure of a fleet: the share of volumes up to each value of a measure, and up to each share saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from coflash import palette
from coflash.figures.style import Format, axis_unit, new_figure, picture, style
from coflash.measures.measure import Measure
from coflash.quantity import counted

_HEIGHT_INCHES = 2.6
_DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))


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

    Raises:
        CoflashError: matplotlib is missing.
    """
    with style(2):
        figure, left = new_figure(_HEIGHT_INCHES)
        grid = figure.add_gridspec(1, 2)
        left.set_subplotspec(grid[0])
        right = figure.add_subplot(grid[1])
        most = max((value for of in found for value in of.values()), default=1.0)
        factor, unit = axis_unit(measure.unit, most)
        for place, (name, of, less) in enumerate(zip(designs, found, saved, strict=True)):
            line: dict[str, Any] = {
                "color": palette.LINES[place % len(palette.LINES)],
                "linestyle": _DASHES[place % len(_DASHES)],
            }
            left.ecdf(np.array(list(of.values())) / factor, label=f"{name} ({counted(len(of), 'volume')})", **line)
            if place:
                right.ecdf(100 * np.array(list(less.values())), label=name, **line)
        left.set_xlabel(f"{measure.label} ({unit})" if unit else measure.label)
        left.set_ylabel("share of volumes")
        left.legend(loc="lower right")
        right.axvline(0, color=palette.LINES[4], linewidth=0.6)
        right.set_xlabel(f"less than {designs[0]} (%)")
        right.set_yticklabels([])
        if len(designs) > 2:
            right.legend(loc="upper left")
        return picture(figure, form)
