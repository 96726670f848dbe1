"""The figure of advice: what each answer saves, and the parts of the advised one."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from coflash import palette
from coflash.figures.style import Format, new_figure, picture, style
from coflash.quantity import show, signed

if TYPE_CHECKING:
    from coflash.sweep.advise import Advice

_ROW_INCHES, _LABEL_LETTERS, _CAPTION_LETTERS, _DARK = 0.24, 22, 130, "#333333"


def draw(found: Advice, form: Format) -> bytes:
    """Draw the figure.

    Raises:
        CoflashError: matplotlib is missing.
    """
    base, *rest = found.tried
    with style(2):
        figure, left = new_figure(1.3 + _ROW_INCHES * max(len(rest), 4))
        grid = figure.add_gridspec(1, 2 if found.shares else 1)
        left.set_subplotspec(grid[0])
        for place, one in enumerate(rest):
            colour = palette.LINES[2] if one.saved > 0 else palette.LINES[7]
            left.barh(place, 100 * one.saved, 0.7, color=colour, alpha=1.0 if one is found.best else 0.55)
            if one.between is not None:
                left.plot([100 * one.between.low, 100 * one.between.high], [place, place], color=_DARK, linewidth=0.9)
        left.axvline(0, color=_DARK, linewidth=0.6)
        left.set_yticks(range(len(rest)), [one.answer.name for one in rest])
        left.set_xlabel(f"less {found.measure.label} than {base.answer.name} (%)")
        if found.shares:
            right, at = figure.add_subplot(grid[1]), base.value
            most = max(base.value, found.best.value)
            names = [base.answer.name, *found.shares, found.best.answer.name]
            for place, by in enumerate(found.shares.values(), 1):
                right.barh(place, by, 0.7, left=at, color=palette.LINES[2] if by < 0 else palette.LINES[7])
                text = signed(by, found.measure.unit)
                right.annotate(
                    text, (max(at, at + by), place), (4, 0), textcoords="offset points", va="center", fontsize=6
                )
                at += by
                most = max(most, at)
            for place, value in ((0, base.value), (len(names) - 1, found.best.value)):
                right.barh(place, value, 0.7, color=palette.LINES[4])
                text = show(value, found.measure.unit)
                right.annotate(text, (value, place), (4, 0), textcoords="offset points", va="center", fontsize=6)
            right.set_yticks(range(len(names)), [textwrap.fill(name, _LABEL_LETTERS) for name in names])
            right.set_xlim(0.0, 1.2 * most)
            right.set_xlabel(found.measure.label)
        for plot in figure.axes:
            plot.invert_yaxis()
            plot.grid(axis="x")
            plot.tick_params(axis="y", length=0)
        caption = (
            "Lines: 95 % intervals. Right: exact shares of the parts of the advised answer." if found.shares else ""
        )
        lines = textwrap.fill(f"{found.how} {caption}".replace("$", r"\$"), _CAPTION_LETTERS)
        figure.supxlabel(lines, x=0.01, ha="left", fontsize=6, color="#555555")
        return picture(figure, form)
