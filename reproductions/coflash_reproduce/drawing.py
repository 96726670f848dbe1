"""Figures of a paper or a study, as charts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from coflash import charts, palette
from coflash.charts import Axis, Chart, Format, Look, Row, picture
from coflash.measures.metrics import Metrics
from coflash.results.estimate import estimate_of
from coflash_reproduce.paper import Experiment, Figure, Line, Picture, Runs

FORMATS: tuple[Format, ...] = ("png", "svg")
_PANEL_INCHES, _ALONE_INCHES, _BARS_INCHES = (2.7, 2.5), (3.8, 2.5), (7.0, 2.5)
_SHADED_INCHES, _DARKEST = 2.95, 60.0
"""The width of a panel of shaded cells beside its labels, and the change in percent that is darkest."""
_LOOKS = ("color", "fill", "shape", "strokeDash")
_PAGE_INCHES = 8.2
"""The width into which panels fit side by side."""
_SPOKEN = re.compile(rb' (?:aria-[\w-]+|role)="[^"]*"')
"""What a screen reader would say of each mark: a page shows a picture as a whole, and has its numbers in a table."""
_BESIDE = ("cross", "triangle-up", "triangle-down")
"""The markers of lines beside the runs, which are black."""


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
        means = [(at, each) for at, each in estimates if each.mean is not None]
        if label in figure.across:
            means = [(at, each) for at in places for _, each in means]
        points = tuple((at, float(each.mean or 0)) for at, each in means)
        lines.append(Line(label, points, tuple(each.half_width for _, each in means)))
    return lines


def draw(figure: Figure | Picture, runs: Runs) -> dict[Format, bytes]:
    """Draw the figure in each format; the same runs give the same bytes."""
    drawn = figure.draw(runs) if isinstance(figure, Picture) else _panels(figure, runs)
    stacked = isinstance(figure, Picture) and figure.is_column
    columns = 1 if stacked else max(1, int(_PAGE_INCHES / drawn[0].inches[0]))
    files = {kind: picture(drawn, kind, columns=columns) for kind in FORMATS}
    return {kind: _SPOKEN.sub(b"", file) if kind == "svg" else file for kind, file in files.items()}


def looks(names: Sequence[str], without_marker: Sequence[str] = ()) -> dict[str, Look]:
    """Return the looks of lines: from the third on markers are hollow, which do not hide a line below."""
    return {
        name: look._replace(marker="" if name in without_marker else look.marker, hollow=at > 1)
        for at, (name, look) in enumerate(charts.looks(names).items())
    }


def _panels(figure: Figure, runs: Runs) -> list[Chart]:
    panels = figure.panels(runs)
    others = [figure.beside(runs, experiment) for experiment in panels]
    shown = [lines_of(runs, experiment, figure) for experiment in panels]
    names = list(dict.fromkeys(line.label for lines in shown for line in lines))
    black = dict.fromkeys(line.label for lines in others for line in lines)
    styles = looks(names, figure.across) | {
        label: Look("#202020", (), marker) for label, marker in zip(black, _BESIDE, strict=False)
    }
    across = Axis(
        f"{figure.axis.label} ({figure.axis.unit})" if figure.axis.unit else figure.axis.label,
        log=2 * figure.axis.logarithmic,
        low=0 if figure.axis.from_zero else None,
    )
    found = []
    for experiment, lines, beside in zip(panels, shown, others, strict=True):
        rows = [row for line in (*lines, *beside) for row in _rows(line)]
        low = None if figure.from_zero else min(float(row.get("low", row["y"])) for row in rows)
        found.append(
            charts.lines(
                rows,
                across,
                Axis(figure.measure.label, figure.measure.unit, low=low),
                styles=styles,
                inches=_PANEL_INCHES if len(panels) > 1 else _ALONE_INCHES,
                title=experiment.title if len(panels) > 1 else "",
            )
        )
    return found


def _rows(line: Line) -> list[Row]:
    halves = (*line.half_widths, *[None] * len(line.points))
    return [
        {"x": at, "y": value, "name": line.label}
        | ({"low": max(0.0, value - half), "high": value + half} if half else {})
        for (at, value), half in zip(line.points, halves, strict=False)
    ]


def bars(
    groups: Mapping[str, Mapping[str, float]],
    label: str,
    *,
    stacked: bool = False,
    halves: Mapping[tuple[str, str], float] = {},
    inches: tuple[float, float] = _BARS_INCHES,
    title: str = "",
    legend: bool = True,
    names: Sequence[str] = (),
) -> Chart:
    """Draw a group of bars for each name, beside or upon each other, on an axis that begins at 0 or below.

    Bars beside each other have the half-widths of their intervals where these are known, by group and name. All names
    of a picture, if they are given, have the same colours in each of its charts.
    """
    rows: list[Row] = [
        {"row": group, "name": name, "from": 0, "to": value}
        | ({"low": value - half, "high": value + half} if (half := halves.get((group, name))) else {})
        for group, of in groups.items()
        for name, value in of.items()
    ]
    return charts.bars(
        charts.stacked(groups) if stacked else rows,
        Axis(label),
        styles=charts.looks(names) if names else None,
        grouped=not stacked,
        upright=True,
        inches=inches,
        title=title,
        legend=legend,
    )


def cells(
    rows: Sequence[Sequence[tuple[str, str]]],
    x: tuple[str, Sequence[str]],
    y: tuple[str, Sequence[str]],
    colours: Mapping[str, str],
    title: str,
    *,
    shaded: bool = False,
) -> Chart:
    """Draw a panel of cells, a row for each place of y from below: each has the colour of its label, and a text.

    Shaded cells say what their colours mean, so that they need no legend; they fit a column of a paper.
    """
    drawn: list[Row] = [
        {"x": across, "x2": across + 1, "y": up, "y2": up + 1, "name": label, "text": text}
        for up, row in enumerate(rows)
        for across, (label, text) in enumerate(row)
    ]
    axes = (Axis(label, ticks={at + 0.5: place for at, place in enumerate(places)}) for label, places in (x, y))
    styles = {label: Look(colour) for label, colour in colours.items()}
    if not shaded:
        return charts.cells(drawn, *axes, styles=styles, inches=_PANEL_INCHES, title=title)
    chart = charts.cells(drawn, *axes, styles=styles, inches=(_SHADED_INCHES, 0.7 + 0.19 * len(rows)), title=title)
    below, *texts = chart.layers
    plain = {"mark": below["mark"] | {"opacity": 1}, "encoding": without_legend(below["encoding"])}
    return replace(chart, layers=[below | plain, *texts])


def shades(changes: Sequence[str]) -> dict[str, str]:
    """Return colours of changes in percent, light enough for a black text: bluer the less, more orange the more."""
    found = {}
    for change in changes:
        number = float(change.replace("−", "-"))
        part = min(1.0, abs(number) / _DARKEST)
        of = (0x5A, 0x94, 0xDC) if number < 0 else (0xF0, 0x90, 0x30)
        found[change] = "#" + "".join(f"{round(244 - part * (244 - each)):02x}" for each in of)
    return found


def without_legend(encoding: Mapping[str, Any]) -> dict[str, Any]:
    """Return an encoding whose looks have no legend."""
    return {key: {**each, "legend": None} if key in _LOOKS else each for key, each in encoding.items()}


def named_at_ends(chart: Chart) -> Chart:
    """Return a chart of lines whose names stand beside their last points, in place of a legend."""
    layers = [{**layer, "encoding": without_legend(layer["encoding"])} for layer in chart.layers]
    last = {"data": {"values": [*{row["name"]: row for row in chart.rows}.values()]}}
    at = layers[-1]["encoding"]
    text = {"x": at["x"], "y": at["y"], "text": {"field": "name"}, "color": at["color"]}
    return replace(chart, layers=[*layers, last | {"mark": {"type": "text", "dx": 6}, "encoding": text}])


def colours_of(labels: Sequence[str]) -> dict[str, str]:
    """Return a colour for each label."""
    return dict(zip(sorted(set(labels)), palette.LINES, strict=False))
