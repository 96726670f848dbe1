"""The charts of a report, as data for plotly.js.

A chart holds what it shows and its axes. Colours are names of the style sheet's variables, which `report.js` resolves
when it draws, so that a chart follows the reader's light or dark scheme; all other looks are in `report.js`, too.
Times are in seconds, for plotly writes them with the prefix that fits: 250µs, 1.5ms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from coflash.comparison import Case, Comparison
from coflash.measures import (
    CAUSES,
    COPIED,
    DROPPED,
    MEAN,
    P99,
    P99_9,
    REWRITTEN,
    STDDEV,
    WAF_FTL,
    WAF_HOST,
    Measure,
)
from coflash.quantity import show
from coflash.result import KINDS, Result
from coflash.table import Table

_DASHES = ("dot", "dash", "solid", "dashdot", "longdash")
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross")
_SECONDS = {"tickformat": "~s", "ticksuffix": "s", "hoverformat": ".4~s"}
_COUNT = {"tickformat": "~s", "hoverformat": ",.0f"}


@dataclass(frozen=True)
class Chart:
    """One chart: traces and axes for plotly.js."""

    title: str
    caption: str
    data: list[dict[str, Any]]
    layout: dict[str, Any]
    controls: list[str] = field(default_factory=list)
    """Keys of the traces' `meta` of which the reader chooses one value each."""
    height_px: int = 280

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Section:
    """Charts that answer one question."""

    title: str
    text: str
    charts: list[Chart]
    legend: str = "schemes"
    """What its colours mean: `schemes` or `causes`."""


def sections(comparison: Comparison) -> Iterator[Section]:
    """All that there is to show of a comparison; what needs several cache sizes is left out where there is one."""
    if len(comparison.cache_sizes_bytes) > 1:
        yield _write_amplification(comparison)
        yield _garbage_collection(comparison)
    yield _programs(comparison)
    if len(comparison.cache_sizes_bytes) > 1:
        yield _response(comparison)
    yield _distribution(comparison)
    if all(len(case.result.series()) > 1 for case in comparison.cases):
        yield _course(comparison)


def scheme_colour(comparison: Comparison, scheme: str) -> str:
    """The style sheet's colour of a scheme: 0 without a cache, 1 the baseline, 2 and up the others."""
    place = comparison.schemes.index(scheme)
    if not comparison.baseline:
        place += 2
    elif not comparison.without_cache:
        place += 1
    return f"var(--scheme-{min(place, len(_DASHES) - 1)})"


def _write_amplification(comparison: Comparison) -> Section:
    axis = {"title": {"text": "flash programs per page"}, "tickformat": ".2~f", "hoverformat": ".3f"}
    return Section(
        "Write amplification",
        "All flash programs, divided by what the host wrote, and by what reached the FTL after the cache had absorbed "
        "its share. The first is what wears the flash for a given job; the second shows garbage collection alone.",
        [
            _against_cache_size(comparison, WAF_HOST, "By host writes", "", axis),
            _against_cache_size(comparison, WAF_FTL, "By FTL writes", "", axis),
        ],
    )


def _garbage_collection(comparison: Comparison) -> Section:
    axis = {"title": {"text": "pages"}, **_COUNT}
    dropped = _against_cache_size(comparison, DROPPED, "Dropped", "Filled: dropped. Open, dotted: written later.", axis)
    for trace in _against_cache_size(comparison, REWRITTEN, "", "", axis).data:
        if trace["mode"] != "lines" and any(trace["y"]):
            trace["line"]["dash"] = "dot"
            trace["marker"]["symbol"] += "-open"
            trace["name"] += ", written later"
            dropped.data.append(trace)
    return Section(
        "What garbage collection moved",
        "A valid page of a victim block is copied, or dropped because the cache holds it. A dropped page comes back: "
        "the cache must write it when it evicts it, even if it was clean.",
        [_against_cache_size(comparison, COPIED, "Copied", "", axis), dropped],
    )


def _programs(comparison: Comparison) -> Section:
    labels = [case.label for case in comparison.cases]
    bars = []
    for cause, name in CAUSES.items():
        pages = [case.result.metrics.programs_pages[cause] for case in comparison.cases]
        if any(pages):
            colour = f"var(--cause-{cause.replace('_', '-')})"
            bars.append(
                {
                    "type": "bar",
                    "orientation": "h",
                    "name": name,
                    "x": pages,
                    "y": labels,
                    "marker": {"color": colour},
                    "hovertemplate": "%{x:,.0f} pages<extra>" + name + "</extra>",
                }
            )
    layout = {
        "barmode": "stack",
        "bargap": 0.3,
        "hovermode": "closest",
        "xaxis": {"title": {"text": "pages programmed"}, **_COUNT},
        "yaxis": {"autorange": "reversed", "automargin": True, "ticksuffix": "  ", "showgrid": False},
    }
    chart = Chart("Flash programs by cause", "", bars, layout, height_px=90 + 30 * len(labels))
    text = "Every page programmed, under the one cause that it has."
    return Section("Where programs come from", text, [chart], legend="causes")


def _response(comparison: Comparison) -> Section:
    axis = {"title": {"text": "time"}, **_SECONDS}
    return Section(
        "Response time",
        "From a request's arrival to its completion, all requests. Garbage collection in the way of a request shows in "
        "the deviation and in the high percentiles before it shows in the mean.",
        [
            _against_cache_size(comparison, MEAN, "Mean", "", axis),
            _against_cache_size(comparison, STDDEV, "Standard deviation", "", axis),
            _against_cache_size(comparison, P99, "99th percentile", "", axis),
            _against_cache_size(comparison, P99_9, "99.9th percentile", "", axis),
        ],
    )


def _distribution(comparison: Comparison) -> Section:
    traces = []
    for case, line in _by_run(comparison):
        for kind in KINDS:
            seconds, share = _tail(case.result, kind)
            requests = "all requests" if kind == "all" else f"{kind}s"
            meta = {**line["meta"], "requests": requests}
            traces.append({**line, "x": seconds, "y": share, "meta": meta, "line": {**line["line"], "shape": "hv"}})
    decades = [10.0**-power for power in range(7)]
    layout = {
        "xaxis": {"type": "log", "title": {"text": "response time"}, "dtick": 1, **_SECONDS},
        "yaxis": {
            "type": "log",
            "title": {"text": "share of requests"},
            "tickvals": decades,
            "ticktext": ["all", *(f"1 in {10**power:,}" for power in range(1, 7))],
            "hoverformat": ".2~%",
            "automargin": True,
        },
    }
    text = (
        "How many requests take longer than a given time; both axes are logarithmic. Lower and further left is better."
    )
    chart = Chart(
        "Requests that take longer than …",
        "",
        traces,
        layout,
        _controls(comparison, "requests"),
        height_px=420,
    )
    return Section("The tail", text, [chart])


def _course(comparison: Comparison) -> Section:
    def chart(title: str, unit: dict[str, Any], of: Callable[[Table], Sequence[float]]) -> Chart:
        traces = []
        for case, line in _by_run(comparison):
            series = case.result.series()
            traces.append({**line, "x": _rounded(series["start_ns"] / 1e9), "y": of(series)})
        layout = {
            "xaxis": {"title": {"text": "simulated time"}, "ticksuffix": " s", "hoverformat": ".2f"},
            "yaxis": {"rangemode": "tozero", **unit},
        }
        return Chart(title, "", traces, layout, _controls(comparison), height_px=240)

    return Section(
        "Over time",
        "The same measures, window by window. Where the host waits for answers before it asks again, a faster device "
        "is done sooner.",
        [
            chart(
                "Mean response",
                {"title": {"text": "time"}, **_SECONDS},
                lambda series: _rounded(series["response_mean_ns"] / 1e9),
            ),
            chart(
                "Write amplification by host writes",
                {"title": {"text": "programs per page"}, "hoverformat": ".2f"},
                _amplification,
            ),
            chart(
                "Pages copied by GC",
                {"title": {"text": "pages per second"}, **_COUNT},
                lambda series: _rounded(series["programs_gc_pages"] / _window_seconds(series)),
            ),
        ],
    )


def _against_cache_size(
    comparison: Comparison, measure: Measure, title: str, caption: str, axis: dict[str, Any]
) -> Chart:
    sizes = comparison.cache_sizes_bytes
    scale = 1e-9 if measure.unit == "ns" else 1.0
    traces = []
    for case in comparison.without_cache:
        # It has no size: a level across the chart.
        level = _scaled(measure, case.result, scale)
        edges = [sizes[0] / 2, sizes[-1] * 2]
        traces.append({**_line(comparison, case.scheme), "mode": "lines", "x": edges, "y": [level, level]})
    for scheme in comparison.schemes:
        points = [(size, result) for size in sizes if (result := comparison.at(scheme, size)) is not None]
        if points:
            line = _line(comparison, scheme)
            xs, ys = [size for size, _ in points], [_scaled(measure, result, scale) for _, result in points]
            traces.append({**line, "mode": "lines+markers", "x": xs, "y": ys})
    margin = float(np.log10(sizes[-1] / sizes[0])) * 0.06
    layout = {
        "xaxis": {
            "type": "log",
            "title": {"text": "cache size"},
            "tickvals": sizes,
            "ticktext": [show(size, "bytes") for size in sizes],
            "range": [float(np.log10(sizes[0])) - margin, float(np.log10(sizes[-1])) + margin],
            "showgrid": False,
        },
        "yaxis": {"rangemode": "tozero", **axis},
    }
    return Chart(title, caption, traces, layout)


def _by_run(comparison: Comparison) -> Iterator[tuple[Case, dict[str, Any]]]:
    """Every run with the look of its line; a run without a cache is seen at every cache size."""
    for case in comparison.cases:
        meta = {"cache": show(case.cache_bytes, "bytes")} if case.cache_bytes else {}
        line = _line(comparison, case.scheme)
        yield (
            case,
            {**line, "mode": "lines", "meta": meta, "line": {"color": line["line"]["color"], "width": 1.75}},
        )


def _controls(comparison: Comparison, *more: str) -> list[str]:
    return [*(["cache"] if len(comparison.cache_sizes_bytes) > 1 else []), *more]


def _line(comparison: Comparison, scheme: str) -> dict[str, Any]:
    place = min(comparison.schemes.index(scheme), len(_DASHES) - 1)
    colour = scheme_colour(comparison, scheme)
    return {
        "type": "scatter",
        "name": scheme,
        "line": {"color": colour, "dash": _DASHES[place], "width": 2.25},
        "marker": {"color": colour, "symbol": _SYMBOLS[place], "size": 8},
        "cliponaxis": False,
    }


def _scaled(measure: Measure, result: Result, scale: float) -> float | None:
    value = measure.read(result.metrics)
    return None if value is None else value * scale


def _tail(result: Result, kind: Any) -> tuple[list[float], list[float]]:
    """The share of requests beyond each time, thinned to what a screen can show."""
    histogram = result.histogram(kind)
    share = histogram.exceeded_by()
    seen = share > 0
    seconds, share = histogram.values_ns[seen] / 1e9, share[seen]
    cells = np.stack([np.log10(seconds) * 100, np.log10(share) * 40]).round()
    _, kept = np.unique(cells, axis=1, return_index=True)
    kept.sort()
    return _rounded(seconds[kept]), _rounded(share[kept])


def _amplification(series: Table) -> list[float]:
    causes = [series[name] for name in series.columns if name.startswith("programs_")]
    written = series["host_writes_pages"].astype(np.float64)
    written[written == 0] = np.nan
    return _rounded(np.sum(causes, axis=0) / written)


def _window_seconds(series: Table) -> float:
    return float(series["start_ns"][1] - series["start_ns"][0]) / 1e9


def _rounded(values: Any) -> list[Any]:
    """Plain numbers of five digits, which keep the file small; no number becomes a gap."""
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in np.asarray(values, np.float64)]
