"""Figures for papers: one file each, as wide as a column or two, in colours and dashes that survive a printer.

Axis and lines are chosen as in the report: a numeric key makes the axis, a key with words the lines, and runs that
differ in nothing else are averaged, with an interval. A line joins two points only if their runs are alike in all keys
but the axis and the seed; those of a random design stay points. A note below each figure states what is averaged, over
how many runs, and what is left out. Needs `pip install 'coflash[plots]'`.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from coflash import palette
from coflash._core import CoflashError
from coflash.figures.style import (
    COLUMN_INCHES,
    DASHES,
    MARKERS,
    Format,
    axis_unit,
    new_figure,
    picture,
    style,
    write_pictures,
)
from coflash.figures.why import draw as draw_why
from coflash.measures.catalogue import is_number, measure, metric
from coflash.measures.measure import WAF_HOST, Measure, causes
from coflash.quantity import number_in
from coflash.results.estimate import estimate
from coflash.results.result import Result, mixed_revisions
from coflash.results.selection import key_called
from coflash.results.subject import Subject
from coflash.results.varying_keys import Key
from coflash.results.why import Why, explained, scheme_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METRICS = ("waf_host", "gc_copies_pages", "response_ns.all.mean", "response_ns.all.p99")
_BARS_MAX, _LINES_MAX = 24, 6
_GAP = (math.nan,) * 4
_CAPTION_LETTERS, _LABEL_LETTERS = 78, 28
_LABEL_GAP_POINTS = 4


@dataclass(frozen=True)
class Layout:
    """The size of the figures, and the annotations of those of a measure."""

    columns: Literal[1, 2] = 1
    """Their width, in columns of a paper."""
    height_inches: float | None = None
    """The height of the figures of measures; None for the default."""
    annotations: tuple[str, ...] = ()
    """Texts at values of the axis, each as `VALUE=TEXT`, such as `"64MiB=working set"`."""

    def apply(self, figure: Figure, over: Key) -> None:
        """Apply size and annotations to the figure of a measure.

        Raises:
            CoflashError: An annotation is not written VALUE=TEXT, or the axis has no such value.
        """
        if self.height_inches is not None:
            figure.set_figheight(self.height_inches)
        (axes,) = figure.get_axes()
        for annotation in self.annotations:
            at = _place(annotation, over)
            axes.axvline(at, color="#555555", linewidth=0.8, linestyle=(0, (2, 2)), zorder=1)
            text = annotation.partition("=")[2].replace("$", r"\$")
            axes.annotate(
                text,
                (at, 1),
                (2, -2),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                rotation=90,
                ha="left",
                va="top",
                fontsize=6.5,
                color="#333333",
            )


def _place(annotation: str, over: Key) -> float:
    """Find the place of an annotation on the axis."""
    given, equals, _ = annotation.partition("=")
    value, shown = number_in(given), [text.replace("\u00a0", " ") for text in over.texts]
    for code, place in enumerate(_places(over)):
        number = over.numbers[code] if over.numbers is not None else None
        if equals and (given.strip() == shown[code] or (value is not None and value[0] == number)):
            return place
    msg = f"annotation {annotation!r}: VALUE=TEXT is allowed, with a value of {over.path}: {', '.join(shown)}"
    raise CoflashError(msg)


@dataclass(frozen=True)
class Plan:
    """The keys of the axis and of the lines."""

    over: Key | None
    by: Key | None

    @classmethod
    def of(cls, subject: Subject, over: str | None = None, by: str | None = None) -> Plan:
        """Choose the keys of those paths, or the most suitable ones.

        Raises:
            CoflashError: A key does not vary.
        """
        by_key = key_called(subject.varied, by) if by else None
        meant = [key for key in subject.varied if key.path != "seed"]
        numbers = sorted((k for k in meant if k.numbers is not None and k != by_key), key=lambda k: -len(k.values))
        others = [key for key in meant if key.numbers is None and key != by_key]
        axis = key_called(subject.varied, over) if over else next(iter(numbers + others), None)
        lines = [key for key in meant if key is not axis and len(key.values) <= len(palette.LINES)]
        named = [key for key in lines if subject.baseline in key.texts]
        words = [key for key in lines if key.numbers is None]
        return cls(axis, by_key or next(iter(named + words + lines), None))

    def rest(self, subject: Subject) -> list[Key]:
        """Return the keys, without the seed, that have neither the axis nor the lines."""
        return [key for key in subject.varied if key.path != "seed" and key not in (self.over, self.by)]


@dataclass(frozen=True)
class Point:
    """The mean of runs, and its interval: 95 % confidence over seeds, minimum to maximum over other keys."""

    mean: float
    low: float
    high: float
    runs: int
    settings: frozenset[tuple[int, ...]] = frozenset()
    """Its runs' values of the other keys, without the seed."""

    @classmethod
    def of(cls, values: Sequence[float], settings: frozenset[tuple[int, ...]], bin_width: float = 0.0) -> Point:
        """Average some runs; with one setting, they differ in their seed alone."""
        found = estimate(values)
        assert found.mean is not None
        ends = found.widened(bin_width * found.mean).bounds(least=0.0) if len(settings) == 1 else None
        return cls(found.mean, *(ends or (min(values), max(values))), found.runs, settings)


def write_figures(
    subject: Subject,
    folder: Path,
    format: Format = "pdf",
    metrics: Sequence[str] = METRICS,
    over: str | None = None,
    by: str | None = None,
    layout: Layout | None = None,
) -> list[Path]:
    """Write a file for each figure into a folder, which is created; return the files.

    Args:
        subject: The results.
        folder: The folder; files of the same names are replaced, others stay.
        format: The format of the files.
        metrics: Names of metrics, such as `response.read.p99`: a figure for each. Two more figures show the
            distribution of response times and flash programs by cause; where the combinations of a scheme's parts are
            there, one more shows the share of each part in write amplification.
        over: The key for the axis; the numeric key with the most values if None.
        by: The key for the lines; words before numbers if None.
        layout: Size and annotations; one column without annotations if None.

    Raises:
        CoflashError: matplotlib is missing, a measure, a key or the place of an annotation is unknown, or the folder
            cannot be written.
    """
    layout = layout or Layout()
    with style(layout.columns):
        figures = _figures(subject, metrics, Plan.of(subject, over, by), layout)
        drawn = [(f"{name}.{format}", picture(figure, format)) for name, figure in figures]
    drawn += [(f"why.{format}", content) for content in _why(subject, format)]
    return write_pictures(folder, drawn)


def _why(subject: Subject, form: Format) -> Iterator[bytes]:
    """Draw the shares of a difference between schemes, if their combinations are there; of several points one."""
    groups: dict[tuple[int, ...], list[Why]] = {}
    for places, why in explained([(one.document, one.metrics) for one in subject.results], WAF_HOST.read):
        groups.setdefault(tuple(places), []).append(why)
    if not groups:
        return
    middle = list(groups)[len(groups) // 2]
    variants: dict[str, list[Result]] = {}
    for place in middle:
        variants.setdefault(scheme_of(subject.results[place].document), []).append(subject.results[place])
    rest = [key for key in subject.varied if key.path != "seed" and len({key.codes[place] for place in middle}) == 1]
    caption = ", ".join(subject.labelled(middle[:1], rest)) + "." if rest else ""
    yield draw_why(variants, WAF_HOST, groups[middle], form, caption=caption)


def _figures(subject: Subject, metrics: Sequence[str], plan: Plan, layout: Layout) -> Iterator[tuple[str, Figure]]:
    rows = [result.metrics.flat() for result in subject.results]
    known = dict.fromkeys(name for row in rows for name, value in row.items() if is_number(value))
    for name in metrics:
        path = name if name in known else metric(name)
        if path not in known:
            raise CoflashError(f"{name}: these runs have no such measure; they have {', '.join(known)}")
        if plan.over is not None:
            figure = _measure(subject, measure(path), [row.get(path) for row in rows], plan, plan.over)
            layout.apply(figure, plan.over)
            yield path.replace(".", "-"), figure
        elif layout.annotations:
            msg = f"annotation {layout.annotations[0]!r}: these runs differ in no key, so that there is no axis"
            raise CoflashError(msg)
    yield "response-times", _tail(subject, plan)
    yield "programs-by-cause", _programs(subject, plan)


def points(
    subject: Subject, values: Sequence[float | None], plan: Plan, bin_width: float = 0.0
) -> dict[int, dict[int, Point]]:
    """Average the runs at each value of the lines' key and each value of the axis' key."""
    rest = plan.rest(subject)
    groups: dict[int, dict[int, list[int]]] = {}
    for run, value in enumerate(values):
        if value is not None:
            line = groups.setdefault(plan.by.codes[run] if plan.by else 0, {})
            line.setdefault(plan.over.codes[run] if plan.over else 0, []).append(run)

    def point(runs: list[int]) -> Point:
        settings = frozenset(tuple(key.codes[run] for key in rest) for run in runs)
        return Point.of([value for run in runs if (value := values[run]) is not None], settings, bin_width)

    return {line: {at: point(runs) for at, runs in sorted(of.items())} for line, of in sorted(groups.items())}


def _measure(subject: Subject, what: Measure, values: Sequence[float | None], plan: Plan, over: Key) -> Figure:
    figure, axes = new_figure(2.3)
    lines = points(subject, values, plan, what.bin_width)
    most = max((point.high for line in lines.values() for point in line.values()), default=1.0)
    factor, unit = axis_unit(what.unit, most)
    places = _places(over)
    for line, of in lines.items():
        joined = _joined(of)
        rows = [
            (places[at], of[at].mean / factor, of[at].low / factor, of[at].high / factor) if at is not None else _GAP
            for part in joined
            for at in (*part, None)
        ]
        x, mean, low, high = np.array(rows).T
        spread = np.abs([mean - low, high - mean])
        axes.errorbar(
            x,
            mean,
            yerr=spread if np.nan_to_num(spread).any() else None,
            label=plan.by.texts[line] if plan.by else None,
            color=palette.LINES[line % len(palette.LINES)],
            linestyle=DASHES[line % len(DASHES)] if len(joined) < len(of) and over.numbers is not None else "none",
            marker=MARKERS[line % len(MARKERS)],
            capsize=2,
            elinewidth=0.8,
        )
    axes.set_xticks(places, over.texts)
    axes.set_xlabel(over.label)
    axes.set_ylabel(f"{what.label} ({unit})" if unit else what.label)
    if most > 0:
        low, high = axes.get_ylim()
        axes.set_ylim(min(0.0, low), 1.03 * high)  # otherwise the edge cuts the highest mark
    axes.grid(axis="y")
    if plan.by is not None:
        axes.legend(title=plan.by.label, title_fontsize=7)
    _leave_legible(figure, axes, is_words=over.numbers is None)
    return _captioned(figure, subject, *_averaged(subject, plan, lines))


def _leave_legible(figure: Figure, axes: Axes, *, is_words: bool) -> None:
    """Hide the numbers of the x axis that would run into the one before; turn words, of which each is needed."""
    figure.draw_without_rendering()
    end = -math.inf
    for label in axes.get_xticklabels():
        box = label.get_window_extent()
        if box.x0 <= end and is_words:
            axes.tick_params(axis="x", rotation=90)
            figure.draw_without_rendering()
            longest = max(label.get_window_extent().height for label in axes.get_xticklabels())
            figure.set_figheight(figure.get_figheight() + longest / figure.dpi)
            return
        label.set_visible(box.x0 > end)
        if label.get_visible():
            end = box.x1 + _LABEL_GAP_POINTS * figure.dpi / 72


def _joined(points: dict[int, Point]) -> list[list[int]]:
    """Split a line between neighbours on the axis whose runs have different settings: no line joins them."""
    parts: list[list[int]] = []
    for place, point in points.items():
        if parts and points[parts[-1][-1]].settings == point.settings:
            parts[-1].append(place)
        else:
            parts.append([place])
    return parts


def _averaged(subject: Subject, plan: Plan, lines: dict[int, dict[int, Point]]) -> Iterator[str]:
    """State over what is averaged, over how many runs, and why points are not joined."""
    found = [point for line in lines.values() for point in line.values()]
    counts = sorted({point.runs for point in found})
    runs = f"n = {counts[0]}" if len(counts) == 1 else f"n = {counts[0]}–{counts[-1]}"
    rest = plan.rest(subject)
    pooled = [key for place, key in enumerate(rest) if any(len({s[place] for s in p.settings}) > 1 for p in found)]
    names = [f"{len(key.values)} values of {key.label}" for key in pooled]
    if pooled:
        names += ["seeds"] * any(key.path == "seed" for key in subject.varied)
        yield f"Means over {', '.join(names)} ({runs}); bars: least to most."
    elif counts[-1] > 1:
        covered = ", for preconditioning and random choices on the same trace" if subject.is_replayed else ""
        yield f"Means over seeds ({runs}); bars: 95% confidence{covered}."
    else:
        yield "Each point is one run (n = 1)."
    if any(len(_joined(line)) > 1 for line in lines.values()):
        yield f"Points that are not joined differ in {', '.join(key.label for key in rest)} as well."


def _captioned(figure: Figure, subject: Subject, *sentences: str) -> Figure:
    """Put sentences below a figure, and the conditions by which its runs were chosen."""
    chosen = (f"Only runs with {', '.join(subject.where)}.",) if subject.where else ()
    mixed = mixed_revisions(result.document for result in subject.results)
    text = " ".join((*sentences, *chosen, *("Runs of different revisions of results are mixed." for _ in mixed)))
    # A $ would begin a formula.
    letters = round(_CAPTION_LETTERS * figure.get_figwidth() / COLUMN_INCHES)
    lines = textwrap.fill(text.replace("$", r"\$"), letters)
    if lines:
        figure.supxlabel(lines, x=0.01, ha="left", fontsize=6, color="#555555")
    return figure


def _tail(subject: Subject, plan: Plan) -> Figure:
    figure, axes = new_figure(2.5)
    chosen = typical(subject, plan)
    for place, run in enumerate(chosen):
        histogram = subject.results[run].histogram()
        beyond = histogram.exceeded_by()
        seen = beyond > 0
        code = plan.by.codes[run] if plan.by else place
        if not len(beyond):
            continue
        # The line begins just below the shortest time and ends at the longest: all times may be equal.
        times_ns = [0.98 * histogram.values_ns[0], *histogram.values_ns[seen], histogram.values_ns[-1]]
        shares = [1.0, *beyond[seen]]
        axes.step(
            np.maximum(times_ns, 1.0) / 1e6,
            [*shares, shares[-1]],
            where="post",
            label=subject.labels[run],
            color=palette.LINES[code % len(palette.LINES)],
            linestyle=DASHES[code % len(DASHES)],
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xlabel("response time (ms)")
    axes.set_ylabel("requests that take longer (share)")
    axes.grid()
    axes.legend(loc="lower left")
    return _captioned(
        figure, subject, f"{len(chosen)} of {len(subject.results)} runs." if len(chosen) > 1 else "One run."
    )


def _programs(subject: Subject, plan: Plan) -> Figure:
    points = programs(subject, plan)
    whole = sum(len(of) for of in points)
    # As many settings as fit, evenly spread, each with all its schemes side by side.
    room = max(1, _BARS_MAX // max(map(len, points)))
    kept = [points[round(place)] for place in np.linspace(0, len(points) - 1, min(room, len(points)))]
    shown = [runs for of in kept for runs in of]
    keys = [key for key in subject.varied if key.path != "seed"]
    keys.sort(key=lambda key: key == plan.by)
    labels = [textwrap.fill(text, _LABEL_LETTERS) for text in subject.labelled((runs[0] for runs in shown), keys)]
    lines = sum(label.count("\n") for label in labels)
    names = causes(subject.results[run].metrics for runs in shown for run in runs)
    pages = {
        cause: np.array([np.mean([_pages(subject.results[run], cause) for run in runs]) for runs in shown])
        for cause in names
    }
    figure, axes = new_figure(0.95 + 0.19 * len(shown) + 0.09 * lines)
    factor, unit = axis_unit("pages", float(max(np.sum(list(pages.values()), axis=0), default=1)))
    left = np.zeros(len(shown))
    places = np.arange(len(shown))
    for cause, name in names.items():
        if pages[cause].any():
            axes.barh(places, pages[cause] / factor, left=left, height=0.7, label=name, color=palette.CAUSES[cause])
            left += pages[cause] / factor
    axes.set_yticks(places, labels)
    axes.invert_yaxis()
    axes.set_xlabel(f"flash programs ({unit})", loc="right")
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside upper center", ncols=3, columnspacing=1.2, handlelength=1.2)
    counts = sorted({len(runs) for runs in shown})
    means = f"Means over {'–'.join(map(str, counts))} seeds." if counts[-1] > 1 else ""
    left_out = f"{len(shown)} of {whole} points, evenly spread; the others are left out." if len(shown) < whole else ""
    return _captioned(figure, subject, *filter(None, (means, left_out)))


def programs(subject: Subject, plan: Plan) -> list[list[list[int]]]:
    """Group the runs that differ in their seed alone, and these groups where they differ in the lines' key alone.

    Both are in the order of the values of their keys.
    """
    rest = [*filter(None, (plan.over,)), *plan.rest(subject)]
    settings: dict[tuple[int, ...], dict[int, list[int]]] = {}
    for run in range(len(subject.results)):
        points = settings.setdefault(tuple(key.codes[run] for key in rest), {})
        points.setdefault(plan.by.codes[run] if plan.by else 0, []).append(run)
    return [[runs for _, runs in sorted(points.items())] for _, points in sorted(settings.items())]


def typical(subject: Subject, plan: Plan) -> list[int]:
    """Choose one run for each line, equal in all other keys, at a middle value of the axis; a few at most."""
    rest = [key for key in subject.varied if key not in (plan.over, plan.by)]
    groups: dict[tuple[int, ...], list[int]] = {}
    for run in range(len(subject.results)):
        at = plan.over.codes[run] if plan.over else 0
        groups.setdefault((at, *(key.codes[run] for key in rest)), []).append(run)
    most = max(map(len, groups.values()))
    whole_groups = {place: runs for place, runs in groups.items() if len(runs) == most}
    places = sorted({place[0] for place in whole_groups})
    middle = places[len(places) // 2]
    return next(runs for place, runs in sorted(whole_groups.items()) if place[0] == middle)[:_LINES_MAX]


def _pages(result: Result, cause: str) -> int:
    return int(result.metrics.programs_pages.get(cause, 0))


def _places(key: Key) -> list[float]:
    """Return the places of a key's values: in proportion for numbers, logarithmic for a wide range of numbers."""
    if key.numbers is None or len(key.numbers) < 3:
        return list(map(float, range(len(key.values))))
    positive = [number for number in key.numbers if number > 0]
    if min(key.numbers) < 0 or positive[-1] / positive[0] < 5:
        return list(key.numbers)
    step = positive[1] / positive[0]
    return [math.log2(number or positive[0] / step) for number in key.numbers]
