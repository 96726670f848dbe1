"""Figures of a paper, in the style of `coflash.figures.style`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from coflash import palette
from coflash.figures.style import DASHES, MARKERS, Format, axis_unit, picture, style
from coflash.measures.metrics import Metrics
from coflash.results.estimate import estimate_of
from coflash_reproduce.paper import Experiment, Figure, Line, Picture, Runs

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

FORMATS: tuple[Format, ...] = ("png", "svg")
_PANEL_INCHES, _HEIGHT_INCHES = 2.7, 2.5
_ALONE_INCHES, _BARS_INCHES = 3.8, 7.0
_PANELS_ABREAST = 4
_SHORT_LABEL = 28
"""The length of a label up to which two fit side by side."""
_LINE_LETTERS, _PANEL_LETTERS = 6, 34
"""The room of a line beside its label in a legend, and of a panel, in letters."""
_TICKS_MAX = 12
"""The most places that have a tick each."""


def lines_of(runs: Runs, experiment: Experiment, figure: Figure) -> list[Line]:
    """Return the lines of a panel: each place has the mean of its seeds, a line across has one value at all places."""
    if figure.lines is not None:
        return list(figure.lines(runs, experiment))
    labels = dict.fromkeys(case.line for case in experiment.cases)
    places = sorted({case.at for case in experiment.cases if case.line not in figure.across})
    lines = []
    for label in [label for label in figure.only if label in labels] or labels:
        seeds: dict[float, list[Metrics]] = {}
        for run in runs.of(experiment.name, label):
            seeds.setdefault(run.case.at, []).append(run.metrics)
        estimates = [(at, estimate_of(figure.measure, of)) for at, of in sorted(seeds.items())]
        means = [(at, found) for at, found in estimates if found.mean is not None]
        if label in figure.across:
            means = [(at, found) for at in places for _, found in means]
        points = tuple((at, float(found.mean or 0)) for at, found in means)
        lines.append(Line(label, points, tuple(found.half_width for _, found in means)))
    return lines


def draw(figure: Figure | Picture, runs: Runs) -> dict[Format, bytes]:
    """Draw the figure in each format; the same runs give the same bytes.

    Raises:
        CoflashError: matplotlib is missing.
    """
    if isinstance(figure, Picture):
        with style():
            canvas = figure.draw(runs)
            return _in_each_format(canvas)
    panels = figure.panels(runs)
    with style():
        from matplotlib.figure import Figure as Canvas

        columns = min(len(panels), _PANELS_ABREAST)
        rows = math.ceil(len(panels) / columns)
        width = _ALONE_INCHES if len(panels) == 1 else _PANEL_INCHES * columns
        canvas = Canvas(figsize=(width, _HEIGHT_INCHES * rows), layout="constrained")
        several = [canvas.add_subplot(rows, columns, place) for place in range(1, len(panels) + 1)]
        beside = list(figure.beside(runs))
        shown = [lines_of(runs, experiment, figure) for experiment in panels]
        labels = dict.fromkeys(line.label for lines in shown for line in lines)
        styles = {label: index for index, label in enumerate(labels)}
        for axes, experiment, lines in zip(several, panels, shown, strict=True):
            _panel(axes, figure, lines, beside, styles)
            if len(panels) > 1:
                axes.set_title(experiment.title, fontsize=8)
        found = legend_of(canvas)
        if len(found) > 1:
            letters = sum(len(label) + _LINE_LETTERS for label in found)
            entries = math.ceil(len(found) / math.ceil(letters / (_PANEL_LETTERS * columns)))
            columns = entries if len(panels) > 1 else 1 + (max(map(len, found)) < _SHORT_LABEL)
            canvas.legend(found.values(), found.keys(), loc="outside upper center", ncols=columns)
        return _in_each_format(canvas)


def bars(groups: Mapping[str, Mapping[str, float]], label: str, *, stacked: bool = False) -> Canvas:
    """Draw a group of bars for each name, beside or upon each other, on an axis that begins at 0 or below."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(_BARS_INCHES, _HEIGHT_INCHES), layout="constrained")
    axes = canvas.add_subplot()
    lines = list(dict.fromkeys(line for of in groups.values() for line in of))
    width = 0.6 if stacked else 0.8 / len(lines)
    below = [0.0] * len(groups)
    for index, line in enumerate(lines):
        heights = [of.get(line, 0.0) for of in groups.values()]
        aside = 0.0 if stacked else (index - (len(lines) - 1) / 2) * width
        places = [place + aside for place in range(len(groups))]
        axes.bar(places, heights, width, below, color=palette.LINES[index], label=line)
        if stacked:
            below = [low + height for low, height in zip(below, heights, strict=True)]
    axes.set_xticks(range(len(groups)), list(groups), rotation=20, ha="right")
    axes.set_ylabel(label)
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.grid(axis="y")
    canvas.legend(loc="outside upper center", ncols=len(lines))
    return canvas


def cells(panels: Mapping[str, Sequence[Sequence[tuple[str, str]]]], places: Sequence[str], x: str, y: str) -> Canvas:
    """Draw panels of cells, a row for each place of y from below: each has the colour of its label, and a text."""
    from matplotlib.figure import Figure as Canvas
    from matplotlib.patches import Patch, Rectangle

    canvas = Canvas(figsize=(_PANEL_INCHES * len(panels), _PANEL_INCHES), layout="constrained")
    labels = dict.fromkeys(label for rows in panels.values() for row in rows for label, _ in row)
    colours = dict(zip(sorted(labels), palette.LINES, strict=False))
    for index, (title, rows) in enumerate(panels.items(), 1):
        axes = canvas.add_subplot(1, len(panels), index)
        for height, row in enumerate(rows):
            for across, (label, text) in enumerate(row):
                axes.add_patch(Rectangle((across, height), 1, 1, color=colours[label], alpha=0.35, linewidth=0))
                axes.text(across + 0.5, height + 0.5, text, ha="center", va="center", fontsize=6)
        middles = [place + 0.5 for place in range(len(places))]
        axes.set(xlim=(0, len(places)), ylim=(0, len(places)), title=title, xlabel=x, ylabel=y if index == 1 else "")
        axes.set_xticks(middles, places)
        axes.set_yticks(middles, places)
        axes.title.set_fontsize(8)
    patches = [Patch(color=colour, alpha=0.35, label=label) for label, colour in colours.items()]
    canvas.legend(handles=patches, loc="outside upper center", ncols=len(patches))
    return canvas


def legend_of(canvas: Canvas) -> dict[str, Artist]:
    """Return the handle of each label in any of the panels."""
    legends = (axes.get_legend_handles_labels() for axes in canvas.axes)
    return {label: handle for legend in legends for handle, label in zip(*legend, strict=True)}


def _in_each_format(canvas: Canvas) -> dict[Format, bytes]:
    drawn = {}
    for kind in FORMATS:
        drawn[kind] = picture(canvas, kind)
        canvas.set_layout_engine(None)  # once is enough, and slow; with "none" it would still be drawn once more
    return drawn


def _panel(axes: Axes, figure: Figure, lines: Sequence[Line], beside: Sequence[Line], styles: dict[str, int]) -> None:
    most = max(value for line in itertools.chain(lines, beside) for _, value in line.points)
    factor, unit = axis_unit(figure.measure.unit, most)

    def drawn(line: Line) -> tuple[list[float], list[float]]:
        return [at for at, _ in line.points], [value / factor for _, value in line.points]

    for line in lines:
        style, (places, values) = styles[line.label], drawn(line)
        colour = palette.LINES[style % len(palette.LINES)]
        axes.plot(
            places,
            values,
            label=line.label,
            color=colour,
            linestyle=DASHES[style % len(DASHES)],
            marker="" if line.label in figure.across else MARKERS[style % len(MARKERS)],
            markevery=max(1, len(places) // 12),  # more would hide the line, and weigh
            fillstyle="full" if style < 2 else "none",  # otherwise it would hide a line below it
        )
        if any(line.half_widths):
            above = [(half or 0) / factor for half in line.half_widths]
            below = list(map(min, above, values))
            axes.errorbar(places, values, [below, above], fmt="none", ecolor=colour, elinewidth=0.8, capsize=2)
    for line in beside:
        axes.plot(*drawn(line), label=line.label, color="#202020", marker="+", linestyle="none")
    places = sorted({at for line in lines for at, _ in line.points} | ({0.0} if figure.axis.from_zero else set()))
    if figure.axis.logarithmic:
        axes.set_xscale("log", base=2)
    if len(places) <= _TICKS_MAX:
        axes.set_xticks(places, [f"{at:.2g}" if at < 10 else f"{at:g}" for at in places])
    if figure.axis.from_zero:
        axes.set_xlim(left=0)
    axes.minorticks_off()
    axes.set_xlabel(f"{figure.axis.label} ({figure.axis.unit})" if figure.axis.unit else figure.axis.label)
    axes.set_ylabel(f"{figure.measure.label} ({unit})" if unit else figure.measure.label)
    if figure.from_zero:
        axes.set_ylim(bottom=0, top=most / factor * 1.06 or 1)
    axes.grid(axis="y")
