"""Figures for papers: one file each, as wide as a column, in colours and dashes that survive a printer.

Axis and lines are chosen as in the report: a numeric key makes the axis, a key with words the lines, and runs that
differ in nothing else are averaged, with an interval. A line joins two points only if their runs are alike in all keys
but the axis and the seed; those of a random design stay points. A note below each figure states what is averaged, over
how many runs, and what is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from coflash import charts, palette
from coflash._core import CoflashError
from coflash.charts import Axis, Chart, Row
from coflash.figures.why import by_cause
from coflash.figures.why import draw as draw_why
from coflash.measures.catalogue import is_number, measure, metric
from coflash.measures.measure import WAF_HOST, Measure
from coflash.results.estimate import estimate
from coflash.results.histogram import Histogram
from coflash.results.result import Result, mixed_revisions
from coflash.results.selection import key_called
from coflash.results.subject import Subject
from coflash.results.varying_keys import NONE, Key, labels
from coflash.results.why import Why, explained, scheme_of

METRICS = ("waf_host", "gc_copies_pages", "response_ns.all.mean", "response_ns.all.p99", "cache.hit_ratio")
"""The measures that are drawn if none are named, where the runs have them."""
_BARS_MAX, _LINES_MAX = 24, 6


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
        return cls(axis, by_key or next(iter(named + [key for key in lines if key.numbers is None] + lines), None))

    @property
    def beside(self) -> Key | None:
        """The key whose values stand side by side, alike in all else: that of the lines, or else a short axis."""
        return self.by or (self.over if self.over and len(self.over.values) <= len(palette.LINES) else None)

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
    format: charts.Format = "pdf",
    metrics: Sequence[str] = (),
    over: str | None = None,
    by: str | None = None,
) -> list[Path]:
    """Write a file for each figure into a folder, which is created; return the files.

    Args:
        subject: The results.
        folder: The folder; files of the same names are replaced, others stay.
        format: The format of the files.
        metrics: Names of metrics, such as `response.read.p99`: a figure for each; by default those of `METRICS`.
            Two more figures show the distribution of response times and flash programs by cause; where the
            combinations of a scheme's parts are there, one more shows the share of each part in write amplification.
        over: The key for the axis; the numeric key with the most values if None.
        by: The key for the lines; words before numbers if None.

    Raises:
        CoflashError: A measure or a key is unknown, or the folder cannot be written.
    """
    figures = _figures(subject, metrics, Plan.of(subject, over, by))
    drawn = [(f"{name}.{format}", charts.picture(chart, format, caption=caption)) for name, chart, caption in figures]
    drawn += [(f"why.{format}", content) for content in _why(subject, format)]
    return charts.write_pictures(folder, drawn)


def _why(subject: Subject, form: charts.Format) -> Iterator[bytes]:
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


def _figures(subject: Subject, metrics: Sequence[str], plan: Plan) -> Iterator[tuple[str, Chart, str]]:
    """Yield the name of each figure, its chart, and the text below."""
    rows = [result.metrics.flat() for result in subject.results]
    known = dict.fromkeys(name for row in rows for name, value in row.items() if is_number(value))
    for name in metrics or [each for each in METRICS if each in known]:
        path = name if name in known else metric(name)
        if path not in known:
            raise CoflashError(f"{name}: these runs have no such measure; they have {', '.join(known)}")
        if plan.over is not None:
            found = points(subject, [row.get(path) for row in rows], plan, measure(path).bin_width)
            chart = _measure(measure(path), found, plan, plan.over)
            yield path.replace(".", "-"), chart, _captioned(subject, *_averaged(subject, plan, found))
    yield "response-times", *_tail(subject, plan)
    yield "programs-by-cause", *_programs(subject, plan)


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


def _measure(what: Measure, found: dict[int, dict[int, Point]], plan: Plan, over: Key) -> Chart:
    places, rows = over.places, list[Row]()
    for line, of in found.items():
        for part, members in enumerate(_joined(of) if over.numbers is not None else [[at] for at in of]):
            for point, at in ((of[at], at) for at in members):
                ends = {"low": point.low, "high": point.high} if point.high > point.low else {}
                name = plan.by.texts[line] if plan.by else ""
                rows.append({"x": places[at], "y": point.mean, "name": name, "part": part, **ends})
    axis = Axis(over.label, ticks=dict(zip(places, over.texts, strict=True)), words=over.numbers is None)
    names, by = (plan.by.texts, plan.by.label) if plan.by else ([""], "")
    return charts.lines(rows, axis, Axis(what.label, what.unit), styles=charts.looks(names), by=by)


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


def _captioned(subject: Subject, *sentences: str) -> str:
    """Return the text below a figure: sentences, and the conditions by which its runs were chosen."""
    chosen = (f"Only runs with {', '.join(subject.where)}.",) if subject.where else ()
    mixed = mixed_revisions(result.document for result in subject.results)
    return " ".join((*sentences, *chosen, *("Runs of different revisions of results are mixed." for _ in mixed)))


def _tail(subject: Subject, plan: Plan) -> tuple[Chart, str]:
    chosen = typical(subject, plan)
    same = [key for key in subject.varied if len({key.codes[run] for run in chosen}) == 1]
    apart = [key for key in subject.varied if key not in same]
    names = [label or NONE for label in labels(chosen, apart)] if apart else subject.labelled(chosen, ())
    histograms = [subject.results[run].histogram() for run in chosen]
    rows = [row for name, of in zip(names, histograms, strict=True) for row in _beyond(of, name)]
    codes = [plan.by.codes[run] if plan.by else place for place, run in enumerate(chosen)]
    every = list(charts.looks(map(str, range(1 + max(codes))), markers=False).values())
    chart = charts.lines(
        rows,
        Axis("response time", "ns", log=10),
        Axis("requests that take longer", "share", log=10),
        styles={name: every[code] for name, code in zip(names, codes, strict=True)},
        step=True,
        inches=(charts.COLUMN_INCHES, 2.5),
    )
    told = f": {subject.labelled(chosen[:1], same)[0]}" if same else ""
    said = f"{len(chosen)} of {len(subject.results)} runs{told}." if len(subject.results) > 1 else "One run."
    return chart, _captioned(subject, said)


def _beyond(histogram: Histogram, name: str) -> Iterator[Row]:
    """Yield the share of requests that take longer than each time, from below the shortest one: all may be equal."""
    beyond = histogram.exceeded_by()
    if not len(beyond):
        return
    seen = beyond > 0
    times_ns = [0.98 * histogram.values_ns[0], *histogram.values_ns[seen], histogram.values_ns[-1]]
    shares = [1.0, *beyond[seen]]
    for time_ns, share in zip(times_ns, [*shares, shares[-1]], strict=True):
        yield {"x": max(1.0, float(time_ns)), "y": float(share), "name": name}


def _programs(subject: Subject, plan: Plan) -> tuple[Chart, str]:
    points = programs(subject, plan)
    whole = sum(len(of) for of in points)
    # As many settings as fit, evenly spread, each with all its schemes side by side.
    room = max(1, _BARS_MAX // max(map(len, points)))
    kept = [points[round(place)] for place in np.linspace(0, len(points) - 1, min(room, len(points)))]
    shown = [runs for of in kept for runs in of]
    keys = [key for key in subject.varied if key.path != "seed"]
    keys.sort(key=lambda key: key == plan.beside)
    labels = subject.labelled((runs[0] for runs in shown), keys)
    groups = {label: [subject.results[run] for run in runs] for label, runs in zip(labels, shown, strict=True)}
    counts = sorted({len(runs) for runs in shown})
    means = f"Means over {'–'.join(map(str, counts))} seeds." if counts[-1] > 1 else ""
    left_out = f"{len(shown)} of {whole} points, evenly spread; the others are left out." if len(shown) < whole else ""
    chart = by_cause(groups, Axis("flash programs", "pages"))
    return chart, _captioned(subject, *filter(None, (means, left_out)))


def programs(subject: Subject, plan: Plan) -> list[list[list[int]]]:
    """Group the runs that differ in their seed alone, and these groups where they differ alone in what is side by side.

    Both are in the order of the values of their keys.
    """
    rest = [key for key in (plan.over, *plan.rest(subject)) if key and key != plan.beside]
    settings: dict[tuple[int, ...], dict[int, list[int]]] = {}
    for run in range(len(subject.results)):
        points = settings.setdefault(tuple(key.codes[run] for key in rest), {})
        points.setdefault(plan.beside.codes[run] if plan.beside else 0, []).append(run)
    return [[runs for _, runs in sorted(points.items())] for _, points in sorted(settings.items())]


def typical(subject: Subject, plan: Plan) -> list[int]:
    """Choose one run for each line, or value of an axis without lines, equal in all other keys; a few at most.

    Of an axis with lines the middle value counts.
    """
    rest = [key for key in subject.varied if key not in (plan.over, plan.by)]
    groups: dict[tuple[int, ...], list[int]] = {}
    for run in range(len(subject.results)):
        at = plan.over.codes[run] if plan.over and plan.by else 0
        groups.setdefault((at, *(key.codes[run] for key in rest)), []).append(run)
    most = max(map(len, groups.values()))
    whole_groups = {place: runs for place, runs in groups.items() if len(runs) == most}
    places = sorted({place[0] for place in whole_groups})
    middle = places[len(places) // 2]
    return next(runs for place, runs in sorted(whole_groups.items()) if place[0] == middle)[:_LINES_MAX]
