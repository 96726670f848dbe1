"""Results in notebooks: a few kilobytes of HTML without a script, since many viewers run none."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from coflash import palette
from coflash.measures.measure import HEADLINE, applying, causes
from coflash.measures.metrics import Metrics
from coflash.measures.renamed import metrics_of
from coflash.measures.sections import Course, sections
from coflash.quantity import counted, show
from coflash.results.assumptions import assumptions_of
from coflash.results.histogram import Histogram

_CELL = "padding:.15rem .9rem .15rem 0;text-align:right;border:0;background:none;white-space:nowrap"
_TABLE = "border-collapse:collapse;color:inherit;font:inherit"
_NAME = _CELL.replace("right", "left", 1)
_VERDICTS = {"better": "color:#0a8a62", "worse": "color:#c9581b", "": "opacity:.7"}
_DOT = "display:inline-block;width:.7em;height:.7em;border-radius:2px;margin-right:.35em"
_LAYERS = (palette.LINES[1], palette.LINES[0], palette.CAUSES["metadata"])
_WIDTH, _HEIGHT = 360, 180


def result_html(document: Mapping[str, Any], setting: Mapping[str, str], revision: int, histogram: Histogram) -> str:
    """Draw one run: workload, measures, programs by cause, tail of response times."""
    metrics = metrics_of(document)
    rows = [_row(measure.label, measure.shown(metrics)) for measure in applying(HEADLINE, [metrics])]
    rows.append(_row("requests", show(metrics.requests, "requests")))
    name, scheme, cache, workload, replay = (escape(text) for text in setting.values())
    return (
        '<div style="font:0.9rem/1.4 system-ui,sans-serif">'
        f"<div><strong>{name}</strong> · {scheme} · cache {cache} · {workload} · {replay}</div>"
        '<div style="display:flex;flex-wrap:wrap;gap:.5rem 2.5rem;align-items:flex-start;margin-top:.4rem">'
        f'<table style="{_TABLE};margin:0"><tbody>{"".join(rows)}</tbody></table>'
        f"<div>{_programs(metrics)}{_tail(histogram)}</div></div>{_parts(document, metrics)}"
        f'<div style="opacity:.7;font-size:.8rem">scenario {escape(document["scenario_hash"])}, '
        f"seed {document['seed']}, revision {revision} of results, "
        f"coflash {escape(str(document['coflash']))}</div></div>"
    )


def _parts(document: Mapping[str, Any], metrics: Metrics) -> str:
    """Draw a table for each part that only some systems have."""
    tables = []
    for section in sections([metrics]):
        rows = [_row(label, escape(str(one))) for label, one in assumptions_of(document, section.path).items()]
        for measure in applying(section.measures, [metrics]):
            share = measure.share(metrics)
            beside = "" if share is None else f' <small style="opacity:.7">{show(share, "share")}</small>'
            rows.append(_row(measure.short, measure.shown(metrics) + beside, measure.about))
        tables.append(
            f'<div><table style="{_TABLE};margin:0"><caption style="text-align:left;font-weight:600">'
            f"{escape(section.title)}</caption><tbody>{''.join(rows)}</tbody></table></div>"
            f"{_layers(section.courses(metrics))}"
        )
    style = "display:flex;flex-wrap:wrap;gap:.8rem 2.5rem;align-items:flex-start;margin:.8rem 0 .4rem"
    return f'<div style="{style}">{"".join(tables)}</div>' if tables else ""


def _layers(courses: Sequence[Course]) -> str:
    """Draw shares of a whole over time, stacked."""
    if not courses or len(courses[0].shares) < 2:
        return ""
    height = _HEIGHT - 60
    x = np.linspace(0, _WIDTH, len(courses[0].shares))
    below = np.zeros(len(x))
    layers, key = [], []
    for course, colour in zip(courses, _LAYERS, strict=False):
        above = below + np.asarray(course.shares)
        over = [f"{a:.0f} {height * (1 - b):.1f}" for a, b in zip(x, above, strict=True)]
        under = [f"{a:.0f} {height * (1 - b):.1f}" for a, b in zip(x[::-1], below[::-1], strict=True)]
        layers.append(f'<path d="M{"L".join(over + under)}z" fill="{colour}" fill-opacity=".75"/>')
        name = f"{escape(course.label)} {show(course.shares[-1], 'share')}"
        dot = f'<i style="{_DOT};background:{colour}"></i>'
        key.append(f'<span style="white-space:nowrap;margin-right:1em">{dot}{name}</span>')
        below = above
    return (
        '<div><div style="opacity:.75">How flash is divided, over time</div>'
        f'<svg role="img" aria-label="How flash is divided, over time" width="{_WIDTH}" height="{height}" '
        f'style="max-width:100%;border-radius:3px">{"".join(layers)}</svg>'
        f'<div style="font-size:.8rem">at the end: {"".join(key)}</div></div>'
    )


def _row(label: str, text: str, about: str = "") -> str:
    title = f' title="{escape(about)}"' if about else ""
    name = f'<th scope="row" style="{_NAME};font-weight:400"{title}>{escape(label)}</th>'
    return f'<tr style="background:none">{name}<td style="{_CELL}">{text}</td></tr>'


def _programs(metrics: Metrics) -> str:
    """Draw programs by cause as one stacked bar with a legend."""
    names = causes([metrics])
    pages = {cause: int(metrics.programs_pages.get(cause, 0)) for cause in names}
    total = sum(pages.values())
    if not total:
        return ""
    parts, key = [], []
    for cause, count in pages.items():
        if count:
            share = count / total
            box = f"background:{palette.CAUSES[cause]};"
            parts.append(f'<div style="{box}width:{share:.2%}" title="{names[cause]}: {counted(count, "page")}"></div>')
            dot = f'<i style="{_DOT};{box}"></i>'
            name = f"{names[cause]} {share * 100:.0f}\u00a0%"
            key.append(f'<span style="white-space:nowrap;margin-right:1em">{dot}{name}</span>')
    return (
        f'<div style="max-width:{_WIDTH}px"><div style="opacity:.75">{counted(total, "page")} programmed</div>'
        f'<div style="display:flex;height:1.1rem;border-radius:3px;overflow:hidden">{"".join(parts)}</div>'
        f'<div style="font-size:.8rem">{"".join(key)}</div></div>'
    )


def _tail(histogram: Histogram) -> str:
    """Draw the share of requests that take longer than a given time; both axes are logarithmic."""
    beyond = histogram.exceeded_by() if len(histogram.counts) else np.zeros(0)
    # A flush without dirty pages takes no time, which a logarithmic axis cannot show.
    seen = (beyond > 0) & (histogram.values_ns > 0)
    if seen.sum() < 2:
        return ""
    times, shares = np.log10(histogram.values_ns[seen]), np.log10(beyond[seen])
    low = math.floor(times[0])
    high, depth = max(low + 1, math.ceil(times[-1])), max(1, -math.floor(shares[-1]))
    left, top, width, height = 88, 6, _WIDTH - 98, _HEIGHT - 42
    x = left + (times - low) / (high - low) * width
    y = top - shares / depth * height
    kept = np.append(True, (np.abs(np.diff(np.round(x))) + np.abs(np.diff(np.round(y)))) > 0)
    path = f"M{left} {top}" + "".join(f"H{a:.0f}V{b:.0f}" for a, b in zip(x[kept], y[kept], strict=True))
    return (
        f'<svg role="img" aria-label="Requests that take longer than a given time" width="{_WIDTH}" height="{_HEIGHT}" '
        'style="margin-top:.6rem;max-width:100%" fill="currentColor" font-size="11" font-family="system-ui,sans-serif">'
        f"{''.join(_axes(left, top, width, height, low, high, depth))}"
        f'<path d="{path}" fill="none" stroke="#2c83c4" stroke-width="1.6"/></svg>'
    )


def _axes(left: int, top: int, width: int, height: int, low: int, high: int, depth: int) -> Iterator[str]:
    for power in range(0, depth + 1, max(1, math.ceil(depth / 4))):
        y = top + power / depth * height
        label = f"1 in {10**power:,}" if power else "all"
        yield f'<path d="M{left} {y:.1f}h{width}" stroke="currentColor" stroke-opacity=".15"/>'
        yield f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end" opacity=".75">{label}</text>'
    for power in range(low, high + 1, max(1, math.ceil((high - low) / 4))):
        x = left + (power - low) / (high - low) * width
        time = show(10.0**power, "ns")
        yield f'<text x="{x:.1f}" y="{top + height + 16}" text-anchor="middle" opacity=".75">{time}</text>'
    yield (
        f'<text x="{left + width}" y="{top + height + 32}" text-anchor="end" opacity=".75">'
        "requests that take longer than …</text>"
    )
