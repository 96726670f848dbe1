"""The figure of why: flash programs by cause under each scheme, and a difference as the sum of its shares."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence

import numpy as np

from coflash import palette
from coflash.figures.style import Format, axis_unit, new_figure, picture, style
from coflash.measures.measure import Measure, causes
from coflash.quantity import show
from coflash.results.result import Result
from coflash.results.why import Why

_ROW_INCHES, _LABEL_LETTERS, _CAPTION_LETTERS = 0.24, 22, 125
_TOTAL, _LESS, _MORE = palette.LINES[4], palette.LINES[2], palette.LINES[7]


def draw(
    variants: Mapping[str, Sequence[Result]],
    explained: Measure,
    whys: Sequence[Why],
    form: Format,
    bound: float | None = None,
    caption: str = "",
) -> bytes:
    """Draw the figure.

    Args:
        variants: The runs under each scheme, one for each seed.
        explained: The measure whose differences are explained.
        whys: These differences.
        form: The format.
        bound: A bound of the measure, drawn as a line.
        caption: The text below.

    Raises:
        CoflashError: matplotlib is missing.
    """
    rows = [row for why in whys for row in _rows(why)]
    with style(2):
        figure, programs = new_figure(1.05 + _ROW_INCHES * max(len(variants), len(rows)) + 0.1 * (len(caption) > 0))
        if rows:
            programs.set_subplotspec(figure.add_gridspec(1, 2)[0])
        left, places = np.zeros(len(variants)), np.arange(len(variants))
        for cause, name in causes(run.metrics for runs in variants.values() for run in runs).items():
            shares = np.array([np.mean([_per_write(run, cause) for run in runs]) for runs in variants.values()])
            if shares.any():
                programs.barh(places, shares, left=left, height=0.7, label=name, color=palette.CAUSES[cause])
                left += shares
        programs.set_yticks(places, list(variants))
        programs.invert_yaxis()
        programs.set_xlabel("flash programs for each page that the host writes")
        programs.grid(axis="x")
        programs.legend(loc="lower right", ncols=1)
        if rows:
            axes = figure.add_subplot(figure.add_gridspec(1, 2)[1])
            factor, unit = axis_unit(explained.unit, max(abs(from_) + abs(by) for _, from_, by, _, _ in rows))
            places = np.arange(len(rows))
            for place, (_, from_, by, error, is_total) in enumerate(rows):
                colour = _TOTAL if is_total else _LESS if by < 0 else _MORE
                axes.barh(place, by / factor, left=from_ / factor, height=0.7, color=colour)
                axes.errorbar((from_ + by) / factor, place, xerr=error / factor, color="#333333", capsize=2, lw=0.8)
                sign = "" if is_total else "−" if by < 0 else "+"
                end = (max(from_, from_ + by) + error) / factor
                axes.annotate(
                    sign + show(abs(by), explained.unit), (end, place), (4, 0), textcoords="offset points",
                    va="center", fontsize=6,
                )  # fmt: skip
            axes.set_yticks(places, [textwrap.fill(label, _LABEL_LETTERS) for label, *_ in rows])
            axes.invert_yaxis()
            axes.margins(x=0.2)
            axes.set_xlim(left=min(0.0, axes.get_xlim()[0]) if min(row[1] for row in rows) < 0 else 0.0)
            axes.set_xlabel(f"{explained.label} ({unit})" if unit else explained.label)
            axes.grid(axis="x")
            if bound is not None:
                axes.axvline(bound / factor, color="#333333", linestyle="--", linewidth=0.9)
        for plot in figure.axes:
            plot.tick_params(axis="y", length=0)
        if caption:
            lines = textwrap.fill(caption.replace("$", r"\$"), _CAPTION_LETTERS)
            figure.supxlabel(lines, x=0.01, ha="left", fontsize=6, color="#555555")
        return picture(figure, form)


def _rows(why: Why) -> list[tuple[str, float, float, float, bool]]:
    """Return the rows of a difference: label, beginning, length, half-width of the interval, whether it is a total."""
    at = why.base.mean or 0.0
    rows = [(why.before, 0.0, at, why.base.half_width or 0.0, True)]
    for part, share in why.shares.items():
        by = share.mean or 0.0
        rows.append((part, at, by, share.half_width or 0.0, False))
        at += by
    assert math.isclose(at, why.whole.mean or 0.0, rel_tol=1e-9, abs_tol=1e-9), "the shares add up to the difference"
    return [*rows, (why.after, 0.0, at, why.whole.half_width or 0.0, True)]


def _per_write(run: Result, cause: str) -> float:
    return float(run.metrics.programs_pages.get(cause, 0)) / max(1, run.metrics.host_writes_pages)
