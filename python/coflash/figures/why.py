"""The figure of why: flash programs by cause under each scheme, and a difference as the sum of its shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from coflash import palette
from coflash.charts import COLUMN_INCHES, Axis, Chart, Format, Look, Row, bars, picture, stacked
from coflash.measures.measure import WAF_HOST, Measure, causes
from coflash.quantity import show, signed
from coflash.results.result import Result
from coflash.results.why import Why

_ROW_INCHES = 0.24
_STYLES = {
    "total": Look(palette.LINES[4]),
    "better": Look(palette.LINES[2]),
    "worse": Look(palette.LINES[7]),
    "": Look("#b9c0c7"),
}
"""The colours of totals, and of shares that are better, worse, or neither: their interval has zero in it."""
_SHARES = "Right: shares of the parts, each the mean effect over all orders of adding them (Shapley)."


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
    """
    seeds = max(map(len, variants.values()))
    inches = (COLUMN_INCHES, 1.0 + _ROW_INCHES * max(len(variants), sum(len(why.shares) + 2 for why in whys)))
    rules = [] if fewest is None else [(fewest, f"lower bound: {show(fewest, WAF_HOST.unit)}")]
    axis = Axis("flash programs per page that the host writes")
    charts = [by_cause(variants, axis, lambda run: max(1, run.metrics.host_writes_pages), rules=rules, inches=inches)]
    if whys:
        charts.append(_waterfall(explained, whys, bound, inches))
    means = [f"Means over {seeds} seeds; bars: 95% confidence."] * (seeds > 1)
    return picture(charts, form, caption=" ".join([caption, *means, *[_SHARES] * bool(whys)]).strip())


def by_cause(
    groups: Mapping[str, Sequence[Result]], axis: Axis, whole: Callable[[Result], float] = lambda _: 1, **more: Any
) -> Chart:
    """Return bars of flash programs by cause, the mean over the runs of each group, as shares of a whole.

    Args:
        groups: The runs, by the name of their bar.
        axis: The axis of the bars.
        whole: What programs are divided by.
        more: What the chart takes as well.
    """
    names = causes(run.metrics for runs in groups.values() for run in runs)
    means = {
        group: {
            name: float(np.mean([run.metrics.programs_pages.get(cause, 0) / whole(run) for run in runs]))
            for cause, name in names.items()
        }
        for group, runs in groups.items()
    }
    styles = {name: Look(palette.CAUSES[c]) for c, name in names.items() if any(of[name] for of in means.values())}
    shown = {group: {name: of[name] for name in styles} for group, of in means.items()}
    return bars(stacked(shown), axis, styles=styles, **more)


def _waterfall(explained: Measure, whys: Sequence[Why], bound: float | None, inches: tuple[float, float]) -> Chart:
    rows = [row for why in whys for row in _rows(why, explained)]
    rows = [{**row, "row": place, "label": row["row"]} for place, row in enumerate(rows)]
    goal = [] if bound is None else [(bound, f"goal: {show(bound, explained.unit)}")]
    return bars(rows, Axis(explained.label, explained.unit), styles=_STYLES, legend=False, rules=goal, inches=inches)


def _rows(why: Why, explained: Measure) -> Iterator[Row]:
    """Yield the rows of a difference: a bar for each total, and for each share one from where the last one ended."""
    at = why.base.mean or 0.0
    parts = [(name, 0.0, each, "total") for name, each in ((why.before, why.base), (why.after, why.whole))]
    for part, share in why.shares.items():
        by, half = share.mean or 0.0, share.half_width or 0.0
        parts.insert(-1, (part, at, share, explained.verdict(by if abs(by) > half else None)))
        at += by
    for name, begin, each, kind in parts:
        by, half = each.mean or 0.0, each.half_width or 0.0
        text = show(by, explained.unit) if kind == "total" else signed(by, explained.unit)
        low, high = begin + by - half, begin + by + half
        spread = {"low": low, "high": high} if half else {}
        end = max(begin, begin + by, high)
        yield {"row": name, "from": begin, "to": begin + by, "name": kind, "text": text, "end": end, **spread}
