"""The figure of why: flash programs by cause under each scheme, and a difference as the sum of its shares."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from coflash import palette
from coflash.figures.style import Format, axis_unit, new_figure, picture, style
from coflash.measures.measure import WAF_HOST, Measure, causes
from coflash.quantity import show, signed
from coflash.results.result import Result
from coflash.results.why import Why

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW_INCHES, _LABEL_LETTERS, _CAPTION_LETTERS = 0.24, 22, 130
_TOTAL, _LESS, _MORE, _DARK = palette.LINES[4], palette.LINES[2], palette.LINES[7], "#333333"
_FAR = 20
"""The ratio of two totals from which the smaller one cannot be seen on a linear axis."""
_SHARES = "Right: shares of the parts, each the mean effect over all orders of adding them (Shapley)."
_PLAIN = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
"""Behind a number, so that the line of the goal does not strike it out."""


def draw(
    variants: Mapping[str, Sequence[Result]],
    explained: Measure,
    whys: Sequence[Why],
    form: Format,
    bound: float | None = None,
    caption: str = "",
    fewest: float | None = None,
) -> bytes:
    """Draw the figure.

    Args:
        variants: The runs under each scheme, one for each seed.
        explained: The measure whose differences are explained.
        whys: These differences.
        form: The format.
        bound: A bound of the measure, drawn as a line.
        caption: The beginning of the text below.
        fewest: The fewest flash programs per page that the host writes, drawn as a line.

    Raises:
        CoflashError: matplotlib is missing.
    """
    rows = [row for why in whys for row in _rows(why)]
    seeds = max(map(len, variants.values()))
    with style(2):
        figure, programs = new_figure(1.3 + _ROW_INCHES * max(len(variants), len(rows)))
        grid = figure.add_gridspec(1, 2 if rows else 1)
        programs.set_subplotspec(grid[0])
        left, places = np.zeros(len(variants)), np.arange(len(variants))
        for cause, name in causes(run.metrics for runs in variants.values() for run in runs).items():
            pages = np.array([np.mean([_per_write(run, cause) for run in runs]) for runs in variants.values()])
            if pages.any():
                programs.barh(places, pages, left=left, height=0.7, label=name, color=palette.CAUSES[cause])
                left += pages
        programs.set_yticks(places, list(variants))
        programs.set_xlabel("flash programs per page that the host writes")
        if fewest is not None:
            _mark(programs, fewest, f"lower bound: {show(fewest, WAF_HOST.unit)}")
        if left.any():
            figure.legend(loc="outside upper left", ncols=4, columnspacing=1.2, handlelength=1.2)
        if rows:
            axes = figure.add_subplot(grid[1])
            ends = [by for _, begin, by, _ in rows if not begin] + [bound or 0.0]
            least, most = min((each for each in ends if each > 0), default=0.0), max(ends)
            is_log = most > _FAR * least > 0
            factor, unit = axis_unit(explained.unit, least if is_log else most)
            for place, (label, begin, by, error) in enumerate(rows):
                is_total = label in (rows[0][0], rows[-1][0])
                colour = _TOTAL if is_total else _LESS if by < 0 else _MORE
                axes.barh(place, by / factor, left=begin / factor, height=0.7, color=colour)
                axes.errorbar((begin + by) / factor, place, xerr=error / factor, color=_DARK, capsize=2, lw=0.8)
                at = (max(begin, begin + by) + error) / factor, place
                text = (show if is_total else signed)(by, explained.unit, least if is_log else None)
                axes.annotate(text, at, (4, 0), textcoords="offset points", va="center", fontsize=6, bbox=_PLAIN)
            axes.set_yticks(range(len(rows)), [textwrap.fill(label, _LABEL_LETTERS) for label, *_ in rows])
            axes.margins(x=0.2)
            if is_log:
                axes.set_xscale("log", nonpositive="clip")
                axes.set_xlim(least / factor / 3, most / factor * (most / least) ** 0.3)
            else:
                axes.set_xlim(left=0.0)
            label = f"{explained.label} ({unit})" if unit else explained.label
            axes.set_xlabel(f"{label}, logarithmic" if is_log else label)
            if bound is not None:
                _mark(axes, bound / factor, f"goal: {show(bound, explained.unit)}")
        for plot in figure.axes:
            plot.invert_yaxis()
            plot.grid(axis="x")
            plot.tick_params(axis="y", length=0)
        means = [f"Means over {seeds} seeds; bars: 95% confidence."] * (seeds > 1)
        lines = textwrap.fill(
            " ".join([caption, *means, *[_SHARES] * bool(rows)]).replace("$", r"\$"), _CAPTION_LETTERS
        )
        figure.supxlabel(lines, x=0.01, ha="left", fontsize=6, color="#555555")
        return picture(figure, form)


def _mark(axes: Axes, at: float, text: str) -> None:
    axes.axvline(at, color=_DARK, linestyle="--", linewidth=0.9)
    top, axis = (at, 1.0), axes.get_xaxis_transform()
    axes.annotate(text, top, (0, 2), xycoords=axis, textcoords="offset points", ha="center", fontsize=6)


def _rows(why: Why) -> Iterator[tuple[str, float, float, float]]:
    """Yield the rows of a difference: label, beginning, length, half-width of the interval."""
    at = why.base.mean or 0.0
    yield why.before, 0.0, at, why.base.half_width or 0.0
    for part, share in why.shares.items():
        yield part, at, share.mean or 0.0, share.half_width or 0.0
        at += share.mean or 0.0
    yield why.after, 0.0, why.whole.mean or 0.0, why.whole.half_width or 0.0


def _per_write(run: Result, cause: str) -> float:
    return float(run.metrics.programs_pages.get(cause, 0)) / max(1, run.metrics.host_writes_pages)
