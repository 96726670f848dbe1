"""Figures of a trace: six panels in one file, or one file for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coflash import charts, palette
from coflash._core import CoflashError
from coflash.charts import Axis, Chart, Look, Row
from coflash.files import atomic_write, kinds

if TYPE_CHECKING:
    from coflash.trace.trace_info import Distribution, MissRatioCurves, Sampling, TraceInfo

_STYLES = {
    "writes": Look(palette.LINES[0]),
    "reads": Look(palette.LINES[1], charts.DASHES[1]),
    "all": Look(charts.INK, charts.DASHES[2]),
    "arrivals": Look(charts.INK),
    "distinct": Look(palette.LINES[0]),
    "if all were new": Look(charts.SOFT, charts.DASHES[1]),
}
_INCHES = (charts.COLUMN_INCHES, 2.3)


def check_place(place: Path) -> None:
    """Raise the errors of `draw` in advance, so that no trace is read in vain.

    Raises:
        CoflashError: The place cannot be written.
    """
    if _format(place) is not None:
        atomic_write.check_file(place, kinds.FIGURE)
    elif place.exists() and not place.is_dir():
        raise CoflashError(f"{place}: is a file; give a folder, or a name that ends in .{', .'.join(charts.FORMATS)}")


def draw(info: TraceInfo | None, place: Path, curves: MissRatioCurves | None = None) -> list[Path]:
    """Draw a trace, and return the files.

    Args:
        info: The description of the trace; None for the curves alone.
        curves: Simulated caches, which the panel of miss ratios shows beside LRU.
        place: A file that ends in .pdf, .svg or .png, for all panels; or a folder, for a PDF of each.

    Raises:
        CoflashError: The place cannot be written.
    """
    check_place(place)
    panels = {} if info is None else {name: panel(info) for name, panel in PANELS.items()}
    if curves is not None:
        panels["miss-ratio"] = _policies(info, curves)
    if (ending := _format(place)) is None:
        return charts.write_pictures(
            place, [(f"{name}.pdf", charts.picture(chart, "pdf")) for name, chart in panels.items()]
        )
    atomic_write.write_file(place, charts.picture(list(panels.values()), ending, columns=3))
    return [place]


def _format(place: Path) -> charts.Format | None:
    """Return the format of a file; None for a folder."""
    return None if not place.suffix or place.is_dir() else charts.format_of(place, ", or a folder")


def _panel(
    rows: Iterable[Row],
    x: Axis,
    y: Axis,
    *,
    step: bool = True,
    styles: Mapping[str, Look] = _STYLES,
) -> Chart:
    drawn = list(rows)
    names = dict.fromkeys(str(row["name"]) for row in drawn)
    title = "" if drawn else "nothing to show"
    return charts.lines(
        drawn, x, y, styles={name: styles[name] for name in names}, step=step, inches=_INCHES, title=title
    )


def _points(name: str, x: Iterable[float], y: Iterable[float]) -> Iterable[Row]:
    return ({"x": float(at), "y": float(value), "name": name} for at, value in zip(x, y, strict=True))


def _share(label: str) -> Axis:
    return Axis(label, "share", low=0, high=1)


def _sizes(info: TraceInfo) -> Chart:
    sizes = {"writes": info.write.size_bytes, "reads": info.read.size_bytes}
    rows = [row for name, each in sizes.items() if each is not None for row in _distribution(each, name)]
    return _panel(rows, Axis("request size", "bytes", log=2), _share("requests no larger"))


def _gaps(info: TraceInfo) -> Chart:
    gaps = info.interarrival_ns
    rows = _distribution(gaps, "arrivals") if gaps is not None and gaps.max > 0 else ()
    return _panel(rows, Axis("time between arrivals", "ns", log=10), _share("arrivals no further apart"))


def _misses(info: TraceInfo) -> Chart:
    rows: list[Row] = []
    if info.reuse is not None and info.reuse.curve.cache_pages:
        curve = info.reuse.curve
        ratios = {"writes": curve.write_miss_ratio, "reads": curve.read_miss_ratio, "all": curve.miss_ratio}
        # A cache of one page hits only reuses of depth 1.
        sizes = np.array([1, *curve.cache_pages]) * info.page_bytes
        for name, ratio in ratios.items():
            if ratio is not None:
                rows += _points(name, sizes, [1.0 if curve.cache_pages[0] > 1 else ratio[0], *ratio])
    return _panel(rows, Axis(f"LRU cache{_sampled(info.sampling)}", "bytes", log=2), _share("miss ratio"))


def _policies(info: TraceInfo | None, curves: MissRatioCurves) -> Chart:
    rows, pages = list[Row](), np.array(curves.cache_pages)
    styles = {"LRU stack": Look(charts.SOFT), **charts.looks(curves.miss_ratio, markers=False)}
    if info is not None and info.reuse is not None and info.reuse.curve.cache_pages and curves.cache_pages:
        curve = info.reuse.curve
        held = np.searchsorted(curve.cache_pages, pages, side="right")
        rows += _points("LRU stack", pages * info.page_bytes, np.array([1.0, *curve.miss_ratio])[held])
    for policy, ratios in curves.miss_ratio.items():
        rows += _points(policy, pages * curves.page_bytes, ratios)
    across = Axis(f"cache{_sampled(curves.sampling)}", "bytes", log=2)
    return _panel(rows, across, _share("miss ratio"), step=False, styles=styles)


def _sampled(sampling: Sampling) -> str:
    return "" if sampling.method == "exact" else f" (estimated from {sampling.share * 100:.3g} % of pages)"


def _popularity(info: TraceInfo) -> Chart:
    spreads = {"writes": info.popularity.write, "reads": info.popularity.read, "all": info.popularity.all}
    curves = {name: spread.curve for name, spread in spreads.items() if spread is not None}
    rows = [row for name, each in curves.items() for row in _points(name, each.pages_share, each.accesses_share)]
    return _panel(rows, Axis("hottest pages", "share", log=10), _share("accesses to them"), step=False)


def _growth(info: TraceInfo) -> Chart:
    growth, rows = info.write_growth, list[Row]()
    if growth is not None and growth.written_pages[-1] > 0:
        written, distinct = (np.array(each) * info.page_bytes for each in (growth.written_pages, growth.distinct_pages))
        rows += _points("distinct", written, distinct)
        rows += _points("if all were new", [0, distinct[-1]], [0, distinct[-1]])
    across, up = Axis("pages written", "bytes", low=0), Axis("distinct pages written", "bytes")
    return _panel(rows, across, up, step=False)


def _course(info: TraceInfo) -> Chart:
    course, rows = info.course, list[Row]()
    if course.read_bytes:
        rates = {"writes": np.array(course.written_bytes), "reads": np.array(course.read_bytes)}
        if len(course.read_bytes) > 1:
            # The end of the trace cuts the last window short.
            rates = {name: rate[:-1] for name, rate in rates.items()}
        starts = np.arange(len(rates["reads"]) + 1) * course.window_ns
        for name, rate in rates.items():
            if rate.any():
                rows += _points(name, starts, np.append(rate, rate[-1]) / (course.window_ns / 1e9))
    return _panel(rows, Axis("time", "ns", low=0), Axis("throughput asked for", "bytes/s"))


PANELS: Mapping[str, Callable[[TraceInfo], Chart]] = {
    "request-sizes": _sizes,
    "interarrival": _gaps,
    "course": _course,
    "miss-ratio": _misses,
    "popularity": _popularity,
    "written-footprint": _growth,
}


def _distribution(of: Distribution, name: str) -> Iterable[Row]:
    """Return a cumulative distribution; zeros count, but have no place on a logarithmic axis."""
    through, counts = np.array(of.histogram.through, dtype=float), of.histogram.counts
    share = np.array(list(accumulate(counts))) / sum(counts)
    seen = through > 0
    before: Any = share[~seen][-1:] if not seen.all() else [0.0]
    return _points(name, [through[seen][0], *through[seen]], [*before, *share[seen]])
