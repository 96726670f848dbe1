"""Figures for papers: one file each, as wide as a column, in colours and dashes that survive a printer.

Axis and lines are chosen as in the report: a numeric key makes the axis, a key with words the lines, and runs that
differ in nothing else are averaged, with an interval. Needs `pip install 'coflash[plots]'`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from coflash import palette
from coflash._core import CoflashError
from coflash.figures.style import DASHES, MARKERS, Format, axis_unit, new_figure, picture, style, write_pictures
from coflash.measures.catalogue import is_number, measure
from coflash.measures.measure import Measure, causes
from coflash.results.estimate import estimate
from coflash.results.result import Result
from coflash.results.study import Study
from coflash.results.varying_keys import Key

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METRICS = ("waf_host", "gc_copies_pages", "response_ns.all.mean", "response_ns.all.p99")
_BARS_MAX, _LINES_MAX = 24, 6


@dataclass(frozen=True)
class Plan:
    """The keys of the axis and of the lines."""

    over: Key | None
    by: Key | None

    @classmethod
    def of(cls, study: Study, over: str | None = None, by: str | None = None) -> Plan:
        """Choose the keys of those paths, or the most suitable ones.

        Raises:
            CoflashError: A key does not vary.
        """
        keys = {key.path: key for key in study.varied}
        for path in filter(None, (over, by)):
            if path not in keys:
                msg = f"{path}: does not vary among these runs; what varies: {', '.join(keys) or 'nothing'}"
                raise CoflashError(msg)
        meant = [key for key in keys.values() if key.path != "seed"]
        numbers = sorted((k for k in meant if k.numbers is not None and k.path != by), key=lambda k: -len(k.values))
        others = [key for key in meant if key.numbers is None and key.path != by]
        axis = keys[over] if over else next(iter(numbers + others), None)
        lines = [key for key in meant if key is not axis and len(key.values) <= len(palette.LINES)]
        named = [key for key in lines if study.baseline in key.texts]
        words = [key for key in lines if key.numbers is None]
        return cls(axis, keys[by] if by else next(iter(named + words + lines), None))


@dataclass(frozen=True)
class Point:
    """The mean of runs, and its interval: 95 % confidence over seeds, minimum to maximum over other keys."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float], of_seeds: bool) -> Point:
        """Average some runs."""
        found = estimate(values)
        assert found.mean is not None
        if found.half_width is None or not of_seeds:
            return cls(found.mean, min(values), max(values))
        return cls(found.mean, found.mean - found.half_width, found.mean + found.half_width)


def write_figures(
    study: Study,
    folder: Path,
    format: Format = "pdf",
    metrics: Sequence[str] = METRICS,
    over: str | None = None,
    by: str | None = None,
) -> list[Path]:
    """Write a file for each figure into a folder, which is created; return the files.

    Args:
        study: The results.
        folder: The folder; files of the same names are replaced, others stay.
        format: The format of the files.
        metrics: Paths of metrics, such as `response_ns.read.p99`: a figure for each. Two more figures show the
            distribution of response times and flash programs by cause.
        over: The path of the key for the axis; the numeric key with the most values if None.
        by: The path of the key for the lines; words before numbers if None.

    Raises:
        CoflashError: matplotlib is missing, a metric or key is unknown, or the folder cannot be written.
    """
    with style():
        figures = _figures(study, metrics, Plan.of(study, over, by))
        return write_pictures(folder, ((f"{name}.{format}", picture(figure, format)) for name, figure in figures))


def _figures(study: Study, metrics: Sequence[str], plan: Plan) -> Iterator[tuple[str, Figure]]:
    rows = [result.metrics.flat() for result in study.results]
    for path in metrics:
        known = dict.fromkeys(name for row in rows for name, value in row.items() if is_number(value))
        if path not in known:
            msg = f"{path}: is no metric of these runs; there are {', '.join(known)}"
            raise CoflashError(msg)
        if plan.over is not None:
            yield (
                path.replace(".", "-"),
                _measure(study, measure(path), [row.get(path) for row in rows], plan, plan.over),
            )
    yield "response-times", _tail(study, plan)
    yield "programs-by-cause", _programs(study)


def points(study: Study, values: Sequence[float | None], plan: Plan) -> dict[int, dict[int, Point]]:
    """Average the runs at each value of the lines' key and each value of the axis' key."""
    rest = [key for key in study.varied if key.path != "seed" and key not in (plan.over, plan.by)]
    groups: dict[int, dict[int, list[int]]] = {}
    for run, value in enumerate(values):
        if value is not None:
            line = groups.setdefault(plan.by.codes[run] if plan.by else 0, {})
            line.setdefault(plan.over.codes[run] if plan.over else 0, []).append(run)

    def point(runs: list[int]) -> Point:
        of_seeds = len({tuple(key.codes[run] for key in rest) for run in runs}) == 1
        return Point.of([value for run in runs if (value := values[run]) is not None], of_seeds)

    return {line: {at: point(runs) for at, runs in sorted(of.items())} for line, of in sorted(groups.items())}


def _measure(study: Study, what: Measure, values: Sequence[float | None], plan: Plan, over: Key) -> Figure:
    figure, axes = new_figure(2.3)
    lines = points(study, values, plan)
    most = max((point.high for line in lines.values() for point in line.values()), default=1.0)
    factor, unit = axis_unit(what.unit, most)
    places = _places(over)
    for line, of in lines.items():
        x = [places[code] for code in of]
        y = np.array([[point.mean, point.low, point.high] for point in of.values()]) / factor
        spread = np.abs(y[:, 1:].T - y[:, 0])
        axes.errorbar(
            x,
            y[:, 0],
            yerr=spread if spread.any() else None,
            label=plan.by.texts[line] if plan.by else None,
            color=palette.LINES[line % len(palette.LINES)],
            linestyle=DASHES[line % len(DASHES)],
            marker=MARKERS[line % len(MARKERS)],
            capsize=2,
            elinewidth=0.8,
        )
    axes.set_xticks(places, over.texts)
    axes.set_xlabel(over.label)
    axes.set_ylabel(f"{what.label} ({unit})" if unit else what.label)
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]) if most > 0 else None)
    axes.grid(axis="y")
    if plan.by is not None:
        axes.legend(title=plan.by.label, title_fontsize=7)
    return figure


def _tail(study: Study, plan: Plan) -> Figure:
    figure, axes = new_figure(2.5)
    for place, run in enumerate(typical(study, plan)):
        histogram = study.results[run].histogram()
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
            label=study.labels[run],
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
    return figure


def _programs(study: Study) -> Figure:
    shown = study.results[:_BARS_MAX]
    figure, axes = new_figure(0.75 + 0.19 * len(shown))
    labels = study.labels[: len(shown)]
    names = causes(result.metrics for result in shown)
    pages = {cause: np.array([_pages(result, cause) for result in shown]) for cause in names}
    factor, unit = axis_unit("pages", float(max(np.sum(list(pages.values()), axis=0), default=1)))
    left = np.zeros(len(shown))
    places = np.arange(len(shown))
    for cause, name in names.items():
        if pages[cause].any():
            axes.barh(places, pages[cause] / factor, left=left, height=0.7, label=name, color=palette.CAUSES[cause])
            left += pages[cause] / factor
    axes.set_yticks(places, labels)
    axes.invert_yaxis()
    axes.set_xlabel(f"flash programs ({unit})")
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside upper center", ncols=3, columnspacing=1.2, handlelength=1.2)
    return figure


def typical(study: Study, plan: Plan) -> list[int]:
    """Choose one run for each line, equal in all other keys, at a middle value of the axis; a few at most."""
    rest = [key for key in study.varied if key not in (plan.over, plan.by)]
    groups: dict[tuple[int, ...], list[int]] = {}
    for run in range(len(study.results)):
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
