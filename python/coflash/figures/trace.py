"""Figures of a trace: six panels in one file, or one file for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from coflash import palette
from coflash._core import CoflashError
from coflash.figures.style import (
    COLUMN_INCHES,
    DASHES,
    FORMATS,
    Format,
    axis_unit,
    format_of,
    picture,
    style,
    write_pictures,
)
from coflash.files import atomic_write, kinds
from coflash.quantity import Unit, show
from coflash.trace.trace_info import Distribution, MissRatioCurves, Sampling, TraceInfo

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Panel = Callable[["Axes", TraceInfo], None]

_COLOURS = {"writes": palette.LINES[0], "reads": palette.LINES[1], "all": "#3a4048", "arrivals": "#3a4048"}
_DASHED = {"writes": DASHES[0], "reads": DASHES[1], "all": DASHES[2], "arrivals": DASHES[0]}
_HEIGHT_INCHES = 2.3


def check_place(place: Path) -> None:
    """Raise the errors of `draw` in advance, so that no trace is read in vain.

    Raises:
        CoflashError: matplotlib is missing, or the place cannot be written.
    """
    with style():
        pass
    if _format(place) is not None:
        atomic_write.check_file(place, kinds.FIGURE)
    elif place.exists() and not place.is_dir():
        raise CoflashError(f"{place}: is a file; give a folder, or a name that ends in .{', .'.join(FORMATS)}")


def draw(info: TraceInfo, place: Path, curves: MissRatioCurves | None = None) -> list[Path]:
    """Draw a trace, and return the files.

    Args:
        info: The description of the trace.
        curves: Simulated caches, which the panel of miss ratios shows beside LRU.
        place: A file that ends in .pdf, .svg or .png, for all panels; or a folder, for a PDF of each.

    Raises:
        CoflashError: matplotlib is missing, or the place cannot be written.
    """
    panels: dict[str, Panel] = dict(PANELS)
    if curves is not None:
        panels["miss-ratio"] = lambda axes, info: _policies(axes, info, curves)
    with style():
        from matplotlib.figure import Figure

        ending = _format(place)
        if ending is not None:
            figure = Figure(figsize=(3 * COLUMN_INCHES, 2 * _HEIGHT_INCHES), layout="constrained")
            for axes, panel in zip(figure.subplots(2, 3).flat, panels.values(), strict=True):
                _fill(axes, panel, info)
            atomic_write.write_file(place, picture(figure, ending))
            return [place]
        pictures = []
        for name, panel in panels.items():
            figure = Figure(figsize=(COLUMN_INCHES, _HEIGHT_INCHES), layout="constrained")
            _fill(figure.add_subplot(), panel, info)
            pictures.append((f"{name}.pdf", picture(figure, "pdf")))
        return write_pictures(place, pictures)


def _format(place: Path) -> Format | None:
    """Return the format of a file; None for a folder."""
    return None if not place.suffix or place.is_dir() else format_of(place, ", or a folder")


def _fill(axes: Axes, panel: Panel, info: TraceInfo) -> None:
    panel(axes, info)
    axes.grid()
    if not axes.lines:
        axes.text(0.5, 0.5, "nothing to show", transform=axes.transAxes, ha="center", color="#6f7780")
        axes.set_xticks([])
        axes.set_yticks([])
    elif len(axes.lines) > 1:
        axes.legend()


def _sizes(axes: Axes, info: TraceInfo) -> None:
    for name, operation in (("writes", info.write), ("reads", info.read)):
        if operation.size_bytes is not None:
            _distribution(axes, operation.size_bytes, name)
    _logarithmic(axes, "bytes", "request size")
    _percent(axes, "requests no larger")


def _gaps(axes: Axes, info: TraceInfo) -> None:
    if info.interarrival_ns is not None and info.interarrival_ns.max > 0:
        _distribution(axes, info.interarrival_ns, "arrivals")
    _logarithmic(axes, "ns", "time between arrivals")
    _percent(axes, "arrivals no further apart")


def _misses(axes: Axes, info: TraceInfo) -> None:
    if info.reuse is not None and info.reuse.curve.cache_pages:
        curve = info.reuse.curve
        ratios = {"writes": curve.write_miss_ratio, "reads": curve.read_miss_ratio, "all": curve.miss_ratio}
        # A cache of one page hits only reuses of depth 1.
        sizes = np.array([1, *curve.cache_pages]) * info.page_bytes
        for name, ratio in ratios.items():
            if ratio is not None:
                _line(axes, sizes, 100 * np.array([1.0 if curve.cache_pages[0] > 1 else ratio[0], *ratio]), name)
    _logarithmic(axes, "bytes", f"LRU cache{_sampled(info.sampling)}")
    _percent(axes, "miss ratio")


def _policies(axes: Axes, info: TraceInfo, curves: MissRatioCurves) -> None:
    if info.reuse is not None and info.reuse.curve.cache_pages and curves.cache_pages:
        curve, sizes = info.reuse.curve, np.array(curves.cache_pages)
        held = np.searchsorted(curve.cache_pages, sizes, side="right")
        lru = np.array([1.0, *curve.miss_ratio])[held]
        axes.plot(
            sizes * info.page_bytes, 100 * lru, color=_COLOURS["all"], linewidth=2.2, alpha=0.35, label="LRU stack"
        )
        for number, (policy, ratios) in enumerate(curves.miss_ratio.items()):
            colour, dashes = palette.LINES[number % len(palette.LINES)], DASHES[number % len(DASHES)]
            percent = 100 * np.array(ratios)
            axes.plot(sizes * curves.page_bytes, percent, color=colour, linestyle=dashes, linewidth=1.0, label=policy)
    _logarithmic(axes, "bytes", f"cache{_sampled(curves.sampling)}")
    _percent(axes, "miss ratio")


def _sampled(sampling: Sampling) -> str:
    return "" if sampling.method == "exact" else f" (estimated from {sampling.share * 100:.3g} % of pages)"


def _popularity(axes: Axes, info: TraceInfo) -> None:
    kinds = {"writes": info.popularity.write, "reads": info.popularity.read, "all": info.popularity.all}
    for name, spread in kinds.items():
        if spread is not None:
            curve = spread.curve
            _line(axes, 100 * np.array(curve.pages_share), 100 * np.array(curve.accesses_share), name, stepped=False)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("hottest pages (%)")
    _percent(axes, "accesses to them")


def _growth(axes: Axes, info: TraceInfo) -> None:
    growth = info.write_growth
    unit = ""
    if growth is not None and growth.written_pages[-1] > 0:
        factor, name = axis_unit("bytes", growth.written_pages[-1] * info.page_bytes)
        unit = f" ({name})"
        columns = (growth.written_pages, growth.distinct_pages)
        written, distinct = (np.array(column) * (info.page_bytes / factor) for column in columns)
        _line(axes, written, distinct, "writes", stepped=False)
        axes.lines[0].set_label("distinct")
        axes.plot([0, distinct[-1]], [0, distinct[-1]], color="#9aa1a9", linewidth=0.8, label="if all were new")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
    axes.set_xlabel(f"pages written{unit}")
    axes.set_ylabel(f"distinct pages written{unit}")


def _course(axes: Axes, info: TraceInfo) -> None:
    course = info.course
    if course.read_bytes:
        second = course.window_ns / 1e9
        rates = {"writes": np.array(course.written_bytes), "reads": np.array(course.read_bytes)}
        if len(course.read_bytes) > 1:
            # The end of the trace cuts the last window short.
            rates = {name: rate[:-1] for name, rate in rates.items()}
        scale, unit = axis_unit("bytes", max(float(rate.max()) for rate in rates.values()) / second)
        time, time_unit = axis_unit("ns", course.window_ns * len(course.read_bytes))
        starts = np.arange(len(rates["reads"]) + 1) * course.window_ns / time
        for name, rate in rates.items():
            if rate.any():
                _line(axes, starts, np.append(rate, rate[-1]) / second / scale, name)
                axes.lines[-1].set_linewidth(0.9)
        axes.set_ylim(bottom=0)
        axes.set_xlabel(f"time ({time_unit})")
        axes.set_ylabel(f"throughput asked for ({unit}/s)")


PANELS: Mapping[str, Panel] = {
    "request-sizes": _sizes,
    "interarrival": _gaps,
    "course": _course,
    "miss-ratio": _misses,
    "popularity": _popularity,
    "written-footprint": _growth,
}


def _distribution(axes: Axes, of: Distribution, name: str) -> None:
    """Draw a cumulative distribution; zeros count, but have no place on a logarithmic axis."""
    through, counts = np.array(of.histogram.through, dtype=float), of.histogram.counts
    share = 100 * np.array(list(accumulate(counts))) / sum(counts)
    seen = through > 0
    before = share[~seen][-1:] if not seen.all() else [0.0]
    _line(axes, [through[seen][0], *through[seen]], [*before, *share[seen]], name)


def _line(axes: Axes, x: ArrayLike, y: ArrayLike, name: str, stepped: bool = True) -> None:
    style = "steps-post" if stepped else "default"
    axes.plot(x, y, color=_COLOURS[name], linestyle=_DASHED[name], label=name, drawstyle=style)


def _logarithmic(axes: Axes, unit: Unit, label: str) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    base = 2 if unit == "bytes" else 10
    axes.set_xscale("log", base=base)
    axes.xaxis.set_major_locator(LogLocator(base=base, numticks=6))
    axes.xaxis.set_major_formatter(lambda value, _: show(value, unit))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(label)


def _percent(axes: Axes, label: str) -> None:
    axes.set_ylim(0, 103)
    axes.set_ylabel(f"{label} (%)")
