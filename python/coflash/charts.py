"""Charts: lines, bars and cells, each a Vega-Lite specification, which the report's page draws and files hold.

A chart is made of rows, dictionaries of what is drawn:

- `lines`: `x`, `y`, `name`; an interval from `low` to `high`; `from` where an area begins; `part` of a line in pieces.
- `bars`: `row` (and its `label`), `from`, `to`, `name`; an interval from `low` to `high`; a `text` behind `end`.
- `cells`: `x`, `x2`, `y`, `y2`, and `value`, or `name` and `text`.

Names have looks, in their order: colour, dashes, marker. `upon` lays a chart over another one, and `picture` makes a
file of one or several, whose sizes are in inches. A page has the same layers with holes (`templates`), and its script
fills them with the rows of the runs that are left.

    chart = lines(rows, Axis("cache size"), Axis("WAF", "ratio"), rules=[(64.0, "working set")])
    write_pictures(folder, [("waf.pdf", picture(chart, "pdf", caption="Means over seeds."))])
"""

from __future__ import annotations

import itertools
import json
import math
import re
import struct
import textwrap
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, Literal, NamedTuple, get_args

from coflash import palette
from coflash._core import CoflashError
from coflash.files import atomic_write, kinds
from coflash.quantity import SCALES, Unit, scale

Format = Literal["pdf", "svg", "png"]
FORMATS: tuple[Format, ...] = get_args(Format)
Row = Mapping[str, Any]
Spec = dict[str, Any]
COLUMN_INCHES = 3.4
"""The width of a column of a paper."""
DASHES: tuple[Sequence[float], ...] = ((1, 0), (4, 1.6), (1, 1.4), (5, 1.5, 1, 1.5), (7, 2), (2.5, 1.2))
MARKERS = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "triangle-right", "triangle-left")
INK, SOFT = "#333333", "#6f7780"
_DPI, _POINTS = 300, 72
_SIZE, _SMALL, _LABEL_LETTERS = 8.0, 7.0, 28
_MARGINS = (44, 40)
"""The room for axes of a chart among several, across and up."""
_OTHER = {"x": "y", "y": "x", "x2": "y2", "y2": "x2", "xOffset": "yOffset", "yOffset": "xOffset"}
_SOFTWARE = b"tEXtSoftware\0coflash"
_MARK_OF_PNG = struct.pack(">I", len(_SOFTWARE) - 4) + _SOFTWARE + struct.pack(">I", zlib.crc32(_SOFTWARE))
_MARK_OF_SVG, _MARK_OF_PDF = "<!-- drawn by coflash -->", b"\n% drawn by coflash\n"
_DIGITS = "0123456789"
_FONT = "Liberation Sans, Arial, sans-serif"
_SHADES = ["#f2f5f8", "#0067a8", "#0b2540"]
"""The colours of values, from the least to the greatest."""
_TICK = 10
"""The width of the ends of an interval of a line: more than that of a marker, which may hide all the rest."""
_LETTER = 0.5
"""The mean width of a letter, as a share of the size of its font."""


class Look(NamedTuple):
    """How a name is drawn: `marker` is empty where points have none, and `dash` where no line joins them."""

    colour: str
    dash: Sequence[float] = DASHES[0]
    marker: str = ""
    hollow: bool = False


def looks(names: Iterable[str], *, markers: bool = True) -> dict[str, Look]:
    """Return the looks of names that are in no order: colours, dashes and markers that survive a printer."""

    def look(place: int) -> Look:
        colour, dash = palette.LINES[place % len(palette.LINES)], DASHES[place % len(DASHES)]
        return Look(colour, dash, MARKERS[place % len(MARKERS)] if markers else "")

    return {name: look(place) for place, name in enumerate(dict.fromkeys(names))}


@dataclass(frozen=True)
class Axis:
    """What an axis measures, and how."""

    label: str
    unit: Unit = ""
    log: int = 0
    """The base of a logarithmic axis; 0 for a linear one."""
    low: float | None = None
    """The least value; None for 0 or that of the data."""
    high: float | None = None
    ticks: Mapping[float, str] | None = None
    """The texts at places of the axis."""
    words: bool = False
    """Whether each of these texts is needed: they are turned where there is no room for all."""


@dataclass(frozen=True)
class Chart:
    """One view: its layers, its rows, and its size."""

    layers: Sequence[Spec]
    rows: Sequence[Row]
    inches: tuple[float, float]
    title: str = ""

    @property
    def view(self) -> Spec:
        """The specification, without its size."""
        title = {"title": {"text": self.title, "anchor": "middle"}} if self.title else {}
        return {"data": {"values": list(self.rows)}, "layer": list(self.layers), **title}


def axis_unit(unit: Unit, most: float) -> tuple[float, str]:
    """Return the factor and the name of the unit for the labels of an axis."""
    if unit in SCALES:
        return scale(unit, most)
    if unit == "share":
        return 0.01, "%"
    if unit in ("ratio", ""):
        return 1.0, ""
    if most >= 1e6:
        return 1e6, f"million {unit}"
    return (1e3, f"thousand {unit}") if most >= 2e4 else (1.0, unit)


def lines(
    rows: Sequence[Row],
    x: Axis,
    y: Axis,
    *,
    styles: Mapping[str, Look] | None = None,
    by: str = "",
    step: bool = False,
    rules: Sequence[tuple[float, str]] = (),
    inches: tuple[float, float] = (COLUMN_INCHES, 2.3),
    title: str = "",
) -> Chart:
    """Make a chart of lines, with markers, intervals and areas where its looks and rows have some.

    Args:
        rows: The points, in the order in which lines join them.
        x: The axis across.
        y: The axis up; it begins at 0 unless it is logarithmic or has another beginning.
        styles: The looks of the names; those of `looks` if None.
        by: What the names are, for the legend.
        step: Whether a value holds until the next one.
        rules: Upright lines at places of the axis across, each with a text.
        inches: Width and height.
        title: The text above.
    """
    styles = styles or looks((str(row.get("name", "")) for row in rows), markers=not step)
    across, placed, factor = _axis(x, rows, ("x",))
    up, drawn, _ = _axis(y, placed, ("y", "low", "high", "from"), from_zero=True)
    for place, row in enumerate(drawn):
        look = styles[row.setdefault("name", "")]
        row.update(place=place, part=row.get("part", 0), marked=bool(look.marker), opacity=row.get("opacity", 0.7))
    layers = line_layers(
        {"x": across, "y": up, **_channels(styles, by)},
        step=step,
        areas=any("from" in row for row in rows),
        intervals=any(row.get("low") is not None for row in rows),
        markers=any(look.marker for look in styles.values()),
    )
    texts = list((x.ticks or {}).values()) if x.words else []
    if _LETTER * _SIZE * sum(len(text) + 2 for text in texts) > 0.8 * _POINTS * inches[0]:
        across["axis"] |= {"labelAngle": -90, "labelOverlap": False}
        inches = inches[0], inches[1] + _LETTER * _SIZE * max(map(len, texts)) / _POINTS
    marked = (layer for at, text in rules for layer in _rule(at / factor, text, turned=True))
    return Chart([*layers, *marked], drawn, inches, title)


def line_layers(
    channels: Mapping[str, Spec],
    *,
    step: bool = False,
    areas: bool = False,
    intervals: bool = True,
    markers: bool = True,
) -> list[Spec]:
    """Return the layers of lines, for axes and looks that are known, or are holes of a page."""
    how = "step-after" if step else "linear"
    x, y, colour = ({**channels["x"], "field": "x"}, channels["y"], channels["color"])
    joined = {"detail": {"field": "part"}, "order": {"field": "place", "type": "quantitative"}}
    at = {"x": x, "y": {**y, "field": "y"}}
    layers = []
    if areas:
        between = {**at, "y2": {"field": "from"}, "color": colour, "detail": joined["detail"]}
        opacity = {"opacity": {"field": "opacity", "type": "quantitative", "scale": None, "legend": None}}
        layers.append(_layer("area", between | opacity, "isValid(datum.from)", interpolate=how, clip=True))
    if intervals:
        low, high = ({**y, "field": end} for end in ("low", "high"))
        spread = "isValid(datum.low) && datum.low != datum.high"
        layers.append(_layer("rule", {"x": x, "y": low, "y2": {"field": "high"}, "color": colour}, spread))
        layers += [
            _layer("tick", {"x": x, "y": end, "color": colour}, spread, orient="horizontal", size=_TICK)
            for end in (low, high)
        ]
    dashes = {"color": colour, "strokeDash": channels["strokeDash"]}
    layers.append(_layer("line", {**at, **dashes, **joined}, interpolate=how, clip=True))
    marks = {key: channels[key] for key in ("color", "fill", "shape")}
    if markers:
        layers.append(_layer("point", {**at, **marks}, "datum.marked && isValid(datum.y)"))
    return layers


def bars(
    rows: Sequence[Row],
    x: Axis,
    *,
    styles: Mapping[str, Look] | None = None,
    grouped: bool = False,
    upright: bool = False,
    legend: bool = True,
    rules: Sequence[tuple[float, str]] = (),
    inches: tuple[float, float] | None = None,
    title: str = "",
) -> Chart:
    """Make a chart of bars, a row each for `row`; `stacked` makes rows of parts that stand one behind the other.

    Args:
        rows: The bars, in the order of their rows.
        x: The axis of their lengths.
        styles: The looks of the names, of which the colour counts; those of `looks` if None.
        grouped: Whether the bars of a row stand side by side, and not upon each other.
        upright: Whether the bars stand.
        legend: Whether there is a legend.
        rules: Lines across at lengths, each with a text.
        inches: Width and height; None for a column, and as high as the rows need.
        title: The text above.
    """
    styles = styles or looks(str(row.get("name", "")) for row in rows)
    along, drawn, factor = _axis(x, rows, ("from", "to", "end", "low", "high"), from_zero=True)
    along["axis"]["grid"] = True
    for row in drawn:
        row.update(row=str(row["row"]), name=row.get("name", ""))
    names = {row["row"]: str(row.get("label", row["row"])) for row in drawn}
    colour = _colours(styles, legend=legend, offset=16 if rules else 6)
    offset = {"yOffset": {"field": "name", "type": "nominal", "sort": list(styles)}} if grouped else {}
    layers = bar_layers({"x": along, "y": _names(names, upright=upright), "color": colour, **offset})
    layers += [layer for at, text in rules for layer in _rule(at / factor, text)]
    breaks = sum(len(_wrapped(name)) - 1 for name in names.values())
    if upright:
        layers = _turned(layers)
    return Chart(layers, drawn, inches or (COLUMN_INCHES, 0.8 + 0.19 * len(names) + 0.09 * breaks), title)


def bar_layers(channels: Mapping[str, Spec]) -> list[Spec]:
    """Return the layers of bars, for axes and looks that are known, or are holes of a page."""
    y = {key: channels[key] for key in ("y", "yOffset") if key in channels}
    x, colour = channels["x"], channels["color"]
    low, high = ({**x, "field": field} for field in ("low", "high"))
    spread = "isValid(datum.low) && datum.low != datum.high"
    return [
        _layer("bar", {**y, "x": {**x, "field": "from"}, "x2": {"field": "to"}, "color": colour}),
        _layer("rule", {**y, "x": low, "x2": {"field": "high"}}, spread, color=INK),
        *(_layer("tick", {**y, "x": end}, spread, orient="vertical", color=INK) for end in (low, high)),
        _layer("text", {**y, "x": {**x, "field": "end"}, "text": {"field": "text"}}, "isValid(datum.text)"),
    ]


def stacked(groups: Mapping[str, Mapping[str, float]]) -> list[Row]:
    """Return rows of bars whose parts stand one behind the other."""
    rows: list[Row] = []
    for group, parts in groups.items():
        ends = list(itertools.accumulate(parts.values(), initial=0.0))
        rows += [{"row": group, "name": name, "from": ends[at], "to": ends[at + 1]} for at, name in enumerate(parts)]
    return rows


def cells(
    rows: Sequence[Row],
    x: Axis,
    y: Axis,
    *,
    label: str = "",
    styles: Mapping[str, Look] | None = None,
    inches: tuple[float, float] = (COLUMN_INCHES, 2.3),
    title: str = "",
) -> Chart:
    """Make a chart of cells, each with the colour of its value, or of its name and a text.

    Args:
        rows: The cells.
        x: The axis across.
        y: The axis up.
        label: What the values are.
        styles: The looks of the names, of which the colour counts; None where cells have values.
        inches: Width and height.
        title: The text above.
    """
    across, placed, _ = _axis(x, rows, ("x", "x2"))
    up, drawn, _ = _axis(y, placed, ("y", "y2"))
    at = {"x": {**across, "field": "x"}, "x2": {"field": "x2"}, "y": {**up, "field": "y"}, "y2": {"field": "y2"}}
    if styles is None:
        shade: Spec = {"field": "value", "type": "quantitative", "title": label, "scale": {"range": _SHADES}}
        shade["legend"] = {"gradientLength": 80, "gradientThickness": 6}
        return Chart([_layer("rect", {**at, "color": shade})], drawn, inches, title)
    for row in drawn:
        row.update(across=(row["x"] + row["x2"]) / 2, up=(row["y"] + row["y2"]) / 2)
    up["axis"]["grid"] = False  # no lines through the texts
    middle = {"x": {**across, "field": "across"}, "y": {**up, "field": "up"}, "text": {"field": "text"}}
    text = _layer("text", middle, "isValid(datum.text)", align="center", dx=0)
    return Chart([_layer("rect", {**at, "color": _colours(styles)}, opacity=0.35), text], drawn, inches, title)


def upon(below: Chart, above: Chart) -> Chart:
    """Return a chart with another one, of the same axes, drawn over it."""
    rows = {"data": {"values": list(above.rows)}}
    return replace(below, layers=[*below.layers, *(rows | layer for layer in above.layers)])


def ecdf(values: Iterable[float], name: str) -> list[Row]:
    """Return the rows of a line with steps: the share of values up to each."""
    ordered = sorted(values)
    shares = (
        [(ordered[0], 0.0), *((each, (at + 1) / len(ordered)) for at, each in enumerate(ordered))] if ordered else []
    )
    return [{"x": each, "y": share, "name": name} for each, share in shares]


def picture(charts: Chart | Sequence[Chart], format: Format, *, columns: int = 0, caption: str = "") -> bytes:
    """Draw a chart, or several in one picture; the same charts give the same bytes.

    Args:
        charts: The charts; the legend above is that of the first.
        format: The format.
        columns: The number of charts side by side; 0 for all.
        caption: The text below.
    """
    import vl_convert

    spec = whole([charts] if isinstance(charts, Chart) else charts, columns, caption)
    svg = _renumbered(vl_convert.vegalite_to_svg(spec))
    if format == "svg":
        return svg.replace(">", f">{_MARK_OF_SVG}", 1).encode()
    if format == "png":
        drawn = vl_convert.svg_to_png(svg, ppi=_DPI, scale=1)
        at = drawn.index(b"IEND") - 4
        return drawn[:at] + _MARK_OF_PNG + drawn[at:]
    # The order of the entries of a dictionary is by chance.
    entries = rb"(?:[ ]*/\w+ \d+ 0 R\n)+"
    pdf = re.sub(entries, lambda each: b"".join(sorted(each[0].splitlines(keepends=True))), vl_convert.svg_to_pdf(svg))
    return pdf + _MARK_OF_PDF


def _renumbered(svg: str) -> str:
    """Return a picture whose identifiers count from 0, and not from those of the picture before."""
    ids = {
        name: f"{name.rstrip(_DIGITS)}{place}"
        for place, name in enumerate(dict.fromkeys(re.findall(r'id="([^"]+)"', svg)))
    }
    return re.sub(r'(id="|url\(#)([^")]+)', lambda found: found[1] + ids.get(found[2], found[2]), svg)


def whole(charts: Sequence[Chart], columns: int = 0, caption: str = "") -> Spec:
    """Return the specification of a picture."""
    points = _POINTS * min(columns or len(charts), len(charts)) * charts[0].inches[0] - 2 * _SMALL
    below = {"text": broken(caption, points, _SMALL), "orient": "bottom", "anchor": "start", "frame": "bounds"}
    said = (
        {"title": below | {"fontSize": _SMALL, "fontWeight": "normal", "color": SOFT, "offset": 8}} if caption else {}
    )
    if len(charts) == 1 and not (caption and charts[0].title):
        (chart,) = charts
        width, height = (round(_POINTS * inches) for inches in chart.inches)
        fit = {"width": width, "height": height, "autosize": {"type": "fit", "contains": "padding"}}
        return {**chart.view, **fit, **said, "config": _with_legend(chart, width)}
    views = []
    for chart in charts:
        width, height = (round(_POINTS * inches) - room for inches, room in zip(chart.inches, _MARGINS, strict=True))
        views.append({**chart.view, "width": width, "height": height})
    look = _with_legend(charts[0], charts[0].inches[0] * _POINTS * min(columns or len(charts), len(charts)))
    names = {json.dumps([layer["encoding"].get("color") for layer in chart.layers], sort_keys=True) for chart in charts}
    scales = "shared" if len(names) == 1 else "independent"
    keys = ("color", "strokeDash", "stroke", "fill", "shape")
    resolve = {"scale": dict.fromkeys(keys, scales), "legend": dict.fromkeys(keys, scales)}
    return {"concat": views, "columns": columns or len(charts), "resolve": resolve, **said, "config": look}


def broken(text: str, points: float, size: float) -> list[str]:
    """Break a text into lines that fit a width, in the widths of the letters of the font (`letter_widths.json`)."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        fits = sum(_widths().get(letter, 0.7) for letter in longer) * size <= points
        lines[len(lines) - (fits or not lines[-1]) :] = [longer if fits or not lines[-1] else word]
    return lines


@cache
def _widths() -> Mapping[str, float]:
    by_width: Mapping[str, str] = json.loads(Path(__file__).with_name("letter_widths.json").read_text("utf-8"))
    return {letter: int(width) / 1000 for width, letters in by_width.items() for letter in letters}


def _with_legend(chart: Chart, width: float) -> Spec:
    """Return the look of a picture whose legend has as many columns as have room in its width."""
    look = config()
    colours = [layer["encoding"].get("color", {}) for layer in chart.layers]
    named: Spec = next((each for each in colours if "domain" in each.get("scale", {})), {"scale": {"domain": []}})
    names: list[str] = named["scale"]["domain"]
    labels = max((len(str(row.get("row", ""))[:_LABEL_LETTERS]) for row in chart.rows), default=0)
    labels += len(named.get("title") or "")
    each = _LETTER * _SIZE * max(map(len, names), default=0) + 24
    return look | {"legend": look["legend"] | {"columns": max(1, int((width - _LETTER * _SIZE * labels) / each))}}


def config(size: float = _SIZE, **colours: object) -> Spec:
    """Return the look of all charts (`charts.json`), in the colours of paper or in others."""
    of_paper = {"ink": INK, "soft": SOFT, "grid": "#e4e4e4", "paper": "#ffffff"}
    values = {name: json.dumps(value) for name, value in {**of_paper, **colours}.items()}
    template = Template(Path(__file__).with_suffix(".json").read_text("utf-8"))
    sizes = {"size": size, "larger": size + 1, "point": round(2.6 * size), "line": round(size / 5.4, 1)}
    found: Spec = json.loads(template.substitute(values, font=json.dumps(_FONT), **sizes))
    return found


def templates() -> Spec:
    """Return the layers of charts for a page, with holes for axes and looks, and what these are made of.

    The colours of all but the data are those of the style of the page.
    """
    holes = {name: {"hole": name} for name in ("x", "y", "color", "fill", "shape", "strokeDash")}
    return {
        "lines": line_layers(holes),
        "steps": line_layers(holes, areas=True, intervals=False, step=True),
        "courses": line_layers(holes, areas=True, intervals=False),
        "bars": bar_layers(holes),
        "config": config(12, **{name: f"var(--{name})" for name in ("ink", "soft", "grid", "paper")}),
        "dashes": DASHES,
        "markers": MARKERS,
        "labels": {unit: unit_labels(unit) for unit in [*get_args(Unit), "count"]},
    }


def format_of(file: Path, or_else: str = "") -> Format:
    """Return the format of a picture from the suffix of its file.

    Args:
        file: The file.
        or_else: Other allowed values, for the message.

    Raises:
        CoflashError: It has no suffix of a known format.
    """
    for form in FORMATS:
        if file.suffix.lower() == f".{form}":
            return form
    ending = file.suffix or "a name without an ending"
    msg = f"{file}: {ending} cannot be drawn; a name that ends in .{', .'.join(FORMATS)}{or_else} is allowed"
    raise CoflashError(msg)


def write_pictures(folder: Path, pictures: Iterable[tuple[str, bytes]]) -> list[Path]:
    """Write pictures into a folder, which is created; return the files.

    Raises:
        CoflashError: The folder cannot be written, or holds another file of that name.
    """
    atomic_write.make_folder(folder)
    written = []
    for name, content in pictures:
        atomic_write.check_file(folder / name, kinds.FIGURE)
        atomic_write.write_file(folder / name, content)
        written.append(folder / name)
    return written


def unit_labels(unit: Unit) -> str:
    """Return the expression that labels a tick: with its unit, 10 µs, 64 MiB, 1.5 %, but a count without, 2 million."""
    steps = SCALES.get(unit) or (((0.01, "%"),) if unit == "share" else ((1e6, "million"), (1.0, "")))
    texts = [f"format(datum.value / {least!r}, ',.3~r') + {json.dumps(f' {name}'.rstrip())}" for least, name in steps]
    larger = zip(steps, texts[:-1], strict=False)
    tests = (f"abs(datum.value) >= {least!r} ? {text} : " for (least, _), text in larger)
    return "datum.value == 0 ? '0' : " + "".join(tests) + texts[-1]


def powers(low: float, high: float, base: int, most: int = 7) -> list[float]:
    """Return the powers of a base that are ticks of a logarithmic axis."""
    first, last = (math.ceil(math.log(low, base) - 1e-9), math.floor(math.log(high, base) + 1e-9))
    return [float(base) ** power for power in range(first, last + 1, max(1, math.ceil((last - first + 1) / most)))]


def _axis(
    axis: Axis, rows: Sequence[Row], fields: Sequence[str], *, from_zero: bool = False
) -> tuple[Spec, list[dict[str, Any]], float]:
    """Return the encoding of an axis, the rows with its fields in the unit of the axis, and the factor of the unit."""
    values = [row[field] for row in rows for field in fields if row.get(field) is not None]
    ends = {f"domain{end}": value for end, value in (("Min", axis.low), ("Max", axis.high)) if value is not None}
    factor, label = 1.0, axis.label
    if axis.ticks is not None:
        places = list(axis.ticks)
        texts = f"{json.dumps(list(axis.ticks.values()))}[indexof({json.dumps(places)}, datum.value)]"
        pad = (max(places) - min(places) or 1) * 0.06
        span = [min([*places, *values]) - pad, max([*places, *values]) + pad]
        size: Spec = {"domain": span, "nice": False, "zero": False}
        marks: Spec = {"values": places, "labelExpr": texts}
    elif axis.log:
        positive = [value for value in values if value > 0] or [1, axis.log]
        ticks = powers(axis.low or min(positive), axis.high or max(positive), axis.log)
        size = {"type": "log", "base": axis.log, "nice": False, **ends}
        marks = {"values": ticks, "labelExpr": unit_labels(axis.unit)}
    else:
        factor, unit = axis_unit(axis.unit, max(map(abs, values), default=1.0))
        label = f"{axis.label} ({unit})" if unit and axis.label else axis.label or unit
        size = {"zero": from_zero and axis.low is None, "nice": 5 if from_zero else False}
        size |= {key: value / factor for key, value in ends.items()}
        marks = {"tickCount": 5}
    scaled = fields if factor != 1 else ()
    drawn = [
        {key: value / factor if key in scaled and value is not None else value for key, value in row.items()}
        for row in rows
    ]
    return {"type": "quantitative", "title": label or None, "scale": size, "axis": marks}, drawn, factor


def _channels(styles: Mapping[str, Look], by: str = "") -> dict[str, Spec]:
    """Return the encodings of names by their looks."""
    names, all_looks = list(styles), list(styles.values())
    marked = any(look.marker for look in all_looks)
    ranges: dict[str, list[Any]] = {
        "color": [look.colour for look in all_looks],
        "fill": ["white" if look.hollow else look.colour for look in all_looks],
        "shape": [look.marker or "circle" for look in all_looks],
        "strokeDash": [list(look.dash) for look in all_looks],
    }
    shown = {} if marked else {"symbolSize": 200, "symbolStrokeWidth": 1.3}
    legend: Spec = {"legend": shown} if len(names) > 1 else {"legend": None}

    def encoding(key: str) -> Spec:
        field = {"field": "name", "type": "nominal", "title": by or None}
        if key == "strokeDash" and marked:
            # A legend has the markers, or else the dashes; of another domain, the dashes stay out of it.
            return field | {"scale": {"domain": [*names, ""], "range": [*ranges[key], [1, 0]]}, "legend": None}
        return field | {"scale": {"domain": names, "range": ranges[key]}} | legend

    return {key: encoding(key) for key in ranges}


def _colours(styles: Mapping[str, Look], *, legend: bool = True, offset: float = 6) -> Spec:
    """Return the encoding of names by their colours alone."""
    encoding = _channels({name: Look(look.colour) for name, look in styles.items()})["color"]
    return {**encoding, "legend": {"offset": offset} if legend and len(styles) > 1 else None}


def _names(names: Mapping[str, str], *, upright: bool = False) -> Spec:
    """Return the encoding of the rows of bars, with their names, of which long ones take several lines."""
    texts = json.dumps(["\n".join(_wrapped(name)) for name in names.values()])
    label = f"split({texts}[indexof({json.dumps(list(names))}, datum.value)], '\\n')"
    axis = {"labelExpr": label, "grid": False, "domain": False, "ticks": False, "labelPadding": 4}
    if upright:
        axis |= {"labelAngle": -20, "labelAlign": "right", "labelOverlap": False, "domain": True}
    return {"field": "row", "type": "nominal", "sort": None, "title": None, "axis": axis}


def _wrapped(name: str) -> list[str]:
    return textwrap.wrap(name, _LABEL_LETTERS) or [""]


def _rule(at: float, text: str, *, turned: bool = False) -> list[Spec]:
    """Return the layers of a line across a chart, and its text."""
    place = {"data": {"values": [{"at": at, "said": text}]}}
    x = {"x": {"field": "at", "type": "quantitative"}}
    look: Spec = {"angle": 90, "align": "left", "dx": 2} if turned else {"align": "center", "dx": 0}
    top = {"y": {"value": 0}, "text": {"field": "said"}}
    line = _layer("rule", x, strokeDash=[2, 2], color=SOFT)
    return [place | line, place | _layer("text", x | top, baseline="bottom", dy=-3, **look)]


def _layer(mark: str, encoding: Mapping[str, Any], filter: str = "", **look: Any) -> Spec:
    kept = {"transform": [{"filter": filter}]} if filter else {}
    return {**kept, "mark": {"type": mark, **look}, "encoding": dict(encoding)}


def _turned(node: Any) -> Any:
    """Return a specification with its axes changed for one another."""
    if isinstance(node, Mapping):
        return {_OTHER.get(key, key): _turned(value) for key, value in node.items()}
    flat = "horizontal" if node == "vertical" else node  # of the ends of intervals
    return [_turned(each) for each in node] if isinstance(node, list) else flat
