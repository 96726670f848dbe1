"""The figure of advice: what each answer saves, and the parts of the advised one."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from coflash import palette
from coflash.figures.style import Format, new_figure, picture, style
from coflash.measures.measure import Measure
from coflash.quantity import show, signed

_ROW_INCHES, _LABEL_LETTERS, _CAPTION_LETTERS, _DARK = 0.24, 22, 130, "#333333"


class Bar(NamedTuple):
    """What an answer saves, as a share, and its 95 % interval."""

    name: str
    saved: float
    between: tuple[float, float] | None
    is_best: bool


def draw(
    bars: Sequence[Bar],
    measure: Measure,
    ends: tuple[tuple[str, float], tuple[str, float]],
    shares: Mapping[str, float],
    how: str,
    form: Format,
) -> bytes:
    """Draw the figure.

    Args:
        bars: The answers.
        measure: What is saved.
        ends: The measure of the baseline and of the advised answer.
        shares: The parts of the difference.
        how: How the runs were made.
        form: The format.

    Raises:
        CoflashError: matplotlib is missing.
    """
    (before, base), (after, best) = ends
    with style(2):
        figure, left = new_figure(1.3 + _ROW_INCHES * max(len(bars), 4))
        grid = figure.add_gridspec(1, 2 if shares else 1)
        left.set_subplotspec(grid[0])
        for place, one in enumerate(bars):
            colour = palette.LINES[2] if one.saved > 0 else palette.LINES[7]
            left.barh(place, 100 * one.saved, 0.7, color=colour, alpha=1.0 if one.is_best else 0.55)
            if one.between is not None:
                left.plot([100 * end for end in one.between], [place, place], color=_DARK, linewidth=0.9)
        left.axvline(0, color=_DARK, linewidth=0.6)
        left.set_yticks(range(len(bars)), [one.name for one in bars])
        left.set_xlabel(f"less {measure.label} than {before} (%)")
        if shares:
            right, at = figure.add_subplot(grid[1]), base
            most = max(base, best)
            names = [before, *shares, after]
            for place, by in enumerate(shares.values(), 1):
                right.barh(place, by, 0.7, left=at, color=palette.LINES[2] if by < 0 else palette.LINES[7])
                text = signed(by, measure.unit)
                right.annotate(
                    text, (max(at, at + by), place), (4, 0), textcoords="offset points", va="center", fontsize=6
                )
                at += by
                most = max(most, at)
            for place, value in ((0, base), (len(names) - 1, best)):
                right.barh(place, value, 0.7, color=palette.LINES[4])
                text = show(value, measure.unit)
                right.annotate(text, (value, place), (4, 0), textcoords="offset points", va="center", fontsize=6)
            right.set_yticks(range(len(names)), [textwrap.fill(name, _LABEL_LETTERS) for name in names])
            right.set_xlim(0.0, 1.2 * most)
            right.set_xlabel(measure.label)
        for plot in figure.axes:
            plot.invert_yaxis()
            plot.grid(axis="x")
            plot.tick_params(axis="y", length=0)
        caption = "Lines: 95 % intervals. Right: exact shares of the parts of the advised answer." if shares else ""
        lines = textwrap.fill(f"{how} {caption}".replace("$", r"\$"), _CAPTION_LETTERS)
        figure.supxlabel(lines, x=0.01, ha="left", fontsize=6, color="#555555")
        return picture(figure, form)
