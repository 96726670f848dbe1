"""The data of the page, small enough that a thousand runs open at once.

Scenarios differ in a few lines: each line is stored once, and a scenario is a list of line numbers. Numbers that every
run has are columns. Distributions and time series are thinned to the resolution of a screen, and packed as texts; the
page decodes only those of the runs that it draws.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coflash.charts import templates
from coflash.figures.publication import Plan, typical
from coflash.measures.catalogue import is_number, measure
from coflash.measures.measure import HEADLINE, Measure, applying, causes
from coflash.measures.metrics import Metrics
from coflash.measures.sections import can_act, sections
from coflash.quantity import SCALES, Unit, counted
from coflash.report.search import search_charts
from coflash.results.assumptions import NONE, beside
from coflash.results.differences import METHOD, difference
from coflash.results.estimate import t_bound
from coflash.results.histogram import KINDS, Histogram
from coflash.results.result import Result
from coflash.results.subject import Subject
from coflash.results.varying_keys import Key
from coflash.results.why import LATTICES, explained, scheme_of
from coflash.scenario import flat, toml_value
from coflash.sweep.answers import vary_of
from coflash.table import Table

Floats = NDArray[np.float32]

_FEW_RUNS = 40
"""The number of runs up to which all details are kept."""
_WINDOWS_MAX, _WINDOWS_MIN = 512, 48
_STRETCH = 8
"""The mean number of successive windows with requests from which a line over them is legible."""
_ERASE_BINS = 60
_RUNS_FIRST = 4
_DEGREES = 30
"""The degrees of freedom from which Student's t is that of the normal distribution, as good as drawn."""
_MEANS = {"response_mean_ns": "requests"}
"""Columns of the series that are means, and the columns that weight them."""


@dataclass(frozen=True)
class Course:
    """What is shown over time: a column, a rate, or a ratio of columns of the series."""

    title: str
    unit: Unit
    path: str
    """Its name in files."""
    above: tuple[str, ...]
    """The beginnings of the names of the columns whose sum it is."""
    below: tuple[str, ...] = ()
    """The columns by whose sum that is divided; without any it is itself."""

    def read(self, windows: Mapping[str, Floats]) -> Floats:
        """Return it for each window; nothing if the columns are not there."""
        sums = [[windows[name] for name in windows if name.startswith(starts)] for starts in (self.above, self.below)]
        if not sums[0] or (self.below and not sums[1]):
            return np.zeros(0, np.float32)
        above, below = (np.sum(columns, axis=0) if columns else 1.0 for columns in sums)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(below, above / below, np.nan).astype(np.float32)


_SECONDS = ("seconds",)
COURSES = (
    Course("Mean response", "ns", "response_mean_ns", ("response_mean_ns",)),
    Course("99th percentile of responses", "ns", "response_p99_ns", ("response_p99_ns",)),
    Course("Longest response", "ns", "response_max_ns", ("response_max_ns",)),
    Course("Write amplification, by host writes", "ratio", "waf_host", ("programs_",), ("host_writes_pages",)),
    Course("Pages programmed per second", "pages", "programs_per_s", ("programs_",), _SECONDS),
    Course("Pages copied by GC per second", "pages", "gc_copies_per_s", ("programs_gc_pages",), _SECONDS),
    Course("Pages dropped by GC per second", "pages", "gc_drops_per_s", ("gc_drops_pages",), _SECONDS),
    Course("Pages of victims invalid early, per second", "pages", "gc_spared_per_s", ("gc_spared_pages",), _SECONDS),
    Course("Blocks erased per second", "blocks", "erases_per_s", ("erases_blocks",), _SECONDS),
    Course("Requests per second", "requests", "requests_per_s", ("requests",), _SECONDS),
    Course("Pages written by the host per second", "pages", "host_writes_per_s", ("host_writes_pages",), _SECONDS),
    Course("Pages read by the host per second", "pages", "host_reads_per_s", ("host_reads_pages",), _SECONDS),
    Course("Cache hits", "share", "hit_ratio", ("cache_hits_pages",), ("cache_hits_pages", "cache_misses_pages")),
)
"""What is shown over time, as far as its columns were recorded."""


def payload(subject: Subject) -> dict[str, Any]:
    """Return the data of the page."""
    results = subject.results
    fine = len(results) <= _FEW_RUNS
    columns = series_columns(results)
    courses = [each for each in COURSES if any(name.startswith(each.above) for name in columns)]
    lines, scenarios = _scenarios(results)
    return {
        "answer": subject.answer,
        "baseline": subject.baseline,
        "target": subject.target,
        "labels": subject.labels,
        "points": subject.labelled(range(len(results)), [key for key in subject.varied if key.path != "seed"]),
        "keys": [
            {**_key(key), "acts": [can_act(key.path, each.metrics) for each in results]} for key in subject.varied
        ],
        "metrics": list(_metrics(subject)),
        "sections": list(_sections(results)),
        "causes": causes(result.metrics for result in results),
        "replayed": subject.is_replayed,
        "differences": list(_differences(subject)) if fine else [],
        "whys": list(_whys(subject)),
        "between": [*_between(subject)],
        "method": METHOD,
        "t": [t_bound(0.95, degrees) for degrees in range(1, _DEGREES + 1)],
        "kinds": KINDS,
        "lines": lines,
        "scenarios": scenarios,
        "hashes": [result.scenario_hash for result in results],
        "courses": [{name: getattr(each, name) for name in ("title", "unit", "path")} for each in courses],
        "details": [_details(result, columns, courses, fine) for result in results],
        "first": _first(subject),
        "runs": [_facts(result) for result in results],
        "search": search_charts(subject.search) if subject.search else None,
        "scales": SCALES,
        "charts": templates(),
    }


def _first(subject: Subject) -> dict[str, Any]:
    """Return what the page shows at first: axis and lines as in figures, and the runs that it draws one by one."""
    plan, count = Plan.of(subject), len(subject.results)
    over, by = (subject.varied.index(key) if key else None for key in (plan.over, plan.by))
    spread = [round(float(place)) for place in np.linspace(0, count - 1, min(count, _RUNS_FIRST))]
    return {"over": over, "by": by, "runs": typical(subject, plan) if plan.beside and count > _RUNS_FIRST else spread}


def series_columns(results: Any) -> list[str]:
    """List the columns, except time, that all series have and that are not always zero."""
    tables = [result.series().to_dict() for result in results]
    names = [name for name in tables[0] if name != "start_ns"] if tables else []
    shared = (name for name in names if all(name in table for table in tables))
    return [name for name in shared if any(table[name].any() for table in tables)]


def _differences(subject: Subject) -> Iterator[dict[str, Any]]:
    """Yield paired differences from the baseline, or else the first value, between runs alike in all other keys."""
    keys = [key for key in subject.varied if key.path != "seed"]
    if not keys:
        return
    asked = next((key for key in keys if subject.baseline in key.texts), None)
    key = asked or next((key for key in keys if not key.numbers), keys[0])
    base = key.texts.index(subject.baseline) if asked else 0
    rest = [other for other in keys if other is not key]
    measures = applying(HEADLINE, (result.metrics for result in subject.results))
    alike: dict[tuple[int, ...], dict[int, list[int]]] = {}
    for run in range(len(subject.results)):
        by_value = alike.setdefault(tuple(other.codes[run] for other in rest), {})
        by_value.setdefault(key.codes[run], []).append(run)
    for by_value in alike.values():
        firsts = by_value.pop(base, [])
        for code, runs in by_value.items():
            first, others = ([subject.results[run] for run in of] for of in (firsts, runs))
            differences = [difference(each, first, others) for each in measures]
            rows = [each.texts() for each in differences if each and (each.over_seeds or each.over_slices)]
            if rows:
                where = [*subject.labelled(runs[:1], rest)] if rest else []
                yield {
                    "key": key.path,
                    "from": base,
                    "to": code,
                    "runs": [*firsts, *runs],
                    "title": ", ".join([*where, counted(next(filter(None, differences)).pairs, "seed")]),
                    "rows": rows,
                }


def _between(subject: Subject) -> Iterator[dict[str, Any]]:
    """Yield schemes with those between them, and how runs are had of which exact shares follow."""
    ran = {scheme_of(result.document) for result in subject.results}
    for *others, last in (tuple(lattice) for lattice in LATTICES if len(lattice) > 2):
        if run := next((one for one in subject.results if scheme_of(one.document) == last), None):
            vary = vary_of(run.scenario, [*others, last])
            alike = ", alike in all else, which these runs are not" if ran >= {*others, last} else ""
            said = f"Shares without a rest need the schemes between{alike}: coflash sweep … {vary}."
            yield {"schemes": [*others, last], "said": said}


def _whys(subject: Subject) -> Iterator[dict[str, Any]]:
    """Yield exact shares of the differences of flash programs between schemes whose combinations are there."""
    runs = [(result.document, result.metrics) for result in subject.results]
    for places, why in explained(runs, lambda metrics: float(sum(metrics.programs_pages.values()))):
        if key := next((key for key in subject.varied if {why.before, why.after} <= {*key.texts}), None):
            yield {
                "key": key.path,
                "from": key.texts.index(why.before),
                "to": key.texts.index(why.after),
                "runs": places,
                "base": why.base.mean,
                "whole": why.whole.mean,
                "shares": {part: one.mean for part, one in why.shares.items()},
            }


def _key(key: Key) -> dict[str, Any]:
    return {name: getattr(key, name) for name in ("path", "label", "texts", "numbers", "places", "codes")}


def described(measure: Measure, *more: str) -> dict[str, Any]:
    """Return what the page shows of a measure; `more` is said of it as well."""
    about = plain(" ".join([measure.about, *more]))
    return {name: getattr(measure, name) for name in ("path", "label", "unit", "better")} | {"about": about}


def _metrics(subject: Subject) -> Iterator[dict[str, Any]]:
    """Yield a column for each number that any run has, the measures of every summary first."""
    results = subject.results
    rows = [result.metrics.flat() for result in results]
    names = causes(result.metrics for result in results)
    found = [measure(path, names) for path in dict.fromkeys(path for row in rows for path in row)]
    order = {each.path: place for place, each in enumerate(applying(HEADLINE, (result.metrics for result in results)))}
    for each in sorted(found, key=lambda one: order.get(one.path, len(order))):
        values = [_short(row.get(each.path)) for row in rows]
        is_headline = each.path in order
        if any(values) or is_headline:
            yield {
                **described(each, *subject.assumed([each])),
                "headline": is_headline,
                "bin_width": each.bin_width,
                "values": values,
            }


def _sections(results: Any) -> Iterator[dict[str, Any]]:
    """Yield the sections of the parts that any run has; other runs have no values there."""
    runs = [result.metrics for result in results]
    for section in sections(runs):
        taken = beside([result.document for result in results], section.path)
        rows = [
            {
                **described(each),
                "label": each.short,
                "values": [_short(each.read(metrics)) for metrics in runs],
                "shares": [_short(each.share(metrics)) for metrics in runs] if each.whole else None,
            }
            for each in section.measures
            if any(each.applies(metrics) for metrics in runs) and NONE in taken.get(each.label, NONE)
        ]
        yield {
            "title": section.title,
            "about": plain(section.about),
            "path": section.path,
            "assumed": [{"label": label, "texts": texts} for label, texts in taken.items()],
            "measures": rows,
        }


def plain(text: str) -> str:
    """Take the marks of code away, which the page would show."""
    return text.replace("`", "")


def _short(value: Any) -> float | None:
    """Shorten a number: integers stay, others get seven digits; anything else is None."""
    if isinstance(value, float):
        return float(f"{value:.7g}") if math.isfinite(value) else None
    return value if is_number(value) else None


def _scenarios(results: Any) -> tuple[list[str], list[list[int]]]:
    """Return the distinct lines of the scenarios, in their order, and the line numbers of each run."""
    lines: dict[str, int] = {}
    before: dict[str, tuple[Any, list[int]]] = {}

    def numbers(section: str, values: Any) -> list[int]:
        # Most sections are those of the run before.
        if section not in before or before[section][0] != values:
            leaves = ((path, value) for path, value in flat({section: values}).items() if value is not None)
            texts = (f"{path} = {toml_value(value)}" for path, value in leaves)
            before[section] = (values, [lines.setdefault(text, len(lines)) for text in texts])
        return before[section][1]

    scenarios = (result.document["scenario"].items() for result in results)
    found = [[number for part in one for number in numbers(*part)] for one in scenarios]
    return list(lines), found


def _facts(result: Result) -> dict[str, Any]:
    """Return the inputs of a run, and the speed of its simulation."""
    return {
        "workload": result.workload["description"],
        "replay": result.workload.get("replay", ""),
        "inputs": [[given["file"], given["sha256"]] for given in result.workload["inputs"]],
        "remarks": result.notes,
        "coflash": result.document["coflash"],
        "revision": result.revision,
        "seed": result.seed,
        "pace": round(result.simulator["requests_per_second"]),
        "memory": result.simulator["peak_rss_bytes"],
    }


def _details(result: Result, columns: list[str], courses: Sequence[Course], fine: bool) -> dict[str, Any]:
    """Return the distributions of a run, and its courses over time."""
    most = _WINDOWS_MAX if fine else _WINDOWS_MIN
    window_ns, windows = merged(result.series(), columns, most)
    seconds = np.full(len(windows[0]) if windows else 0, window_ns / 1e9 or math.nan, np.float32)
    by_name = dict(zip(columns, windows, strict=False)) | {"seconds": seconds}
    times = {kind: thinned(result.histogram(kind), cells_per_decade=100 if fine else 30) for kind in KINDS}
    return {
        **{kind: packed(*columns) for kind, columns in times.items()},
        "window_ns": window_ns,
        "courses": packed(*(course.read(by_name) for course in courses)),
        "erases": packed(*erase_histogram(result.erase_counts())),
        "divided": packed(*divided(result.metrics, most)),
    }


def packed(*columns: Floats) -> list[str]:
    """Write each column as a text: 32-bit floats in base64."""
    return [base64.b64encode(column.astype("<f4").tobytes()).decode("ascii") for column in columns]


def thinned(histogram: Histogram, cells_per_decade: int) -> tuple[Floats, Floats]:
    """Return ascending times, and the number of requests up to each; one point for each pixel of a screen."""
    times = histogram.values_ns.astype(np.float64)
    through = np.cumsum(histogram.counts, dtype=np.float64)
    if not len(times):
        return np.zeros(0, np.float32), np.zeros(0, np.float32)
    across = np.floor(np.log10(np.maximum(times, 1)) * cells_per_decade)
    up = np.floor(np.log10(np.maximum(through[-1] - through, 0.5) / through[-1]) * 0.4 * cells_per_decade)
    last = np.append((across[1:] != across[:-1]) | (up[1:] != up[:-1]), True)
    return times[last].astype(np.float32), through[last].astype(np.float32)


def merged(series: Table, columns: list[str], windows_max: int) -> tuple[float, list[Floats]]:
    """Return the length of a window, and the columns with neighbouring windows merged down to a maximum."""
    starts = series["start_ns"]
    if not len(starts) or not columns:
        return 0.0, []
    by = max(1, 2 ** math.ceil(math.log2(len(starts) / windows_max)))
    edges = np.arange(0, len(starts), by)
    while len(edges) > _WINDOWS_MIN and _in_fragments(np.add.reduceat(series["requests"], edges)):
        by *= 2
        edges = np.arange(0, len(starts), by)
    window_ns = float(starts[1] - starts[0]) if len(starts) > 1 else 0.0

    values = np.array([series[name] for name in columns], np.float64)
    found = np.add.reduceat(values, edges, axis=1)
    for place, name in enumerate(columns):
        if name in _MEANS and _MEANS[name] in series:
            weights = series[_MEANS[name]].astype(np.float64)
            sums = np.add.reduceat(np.nan_to_num(values[place]) * weights, edges)
            with np.errstate(invalid="ignore", divide="ignore"):
                found[place] = sums / np.add.reduceat(weights, edges)
        elif name.startswith("response_"):  # of percentiles the highest: that of all is no higher
            found[place] = np.fmax.reduceat(values[place], edges)
    return window_ns * by, [*found.astype(np.float32)]


def _in_fragments(requests: NDArray[Any]) -> bool:
    """Whether windows without a request alternate with others, as where GC takes longer than a window."""
    filled = requests > 0
    stretches = int(np.count_nonzero(filled[1:] & ~filled[:-1])) + int(filled[0])
    return stretches > 1 and int(np.count_nonzero(filled)) < _STRETCH * stretches


def erase_histogram(counts: NDArray[np.uint32]) -> tuple[Floats, Floats]:
    """Return the lowest erase count of each bin, and its number of blocks; about sixty bins of equal width at most."""
    if not len(counts):
        return np.zeros(0, np.float32), np.zeros(0, np.float32)
    low, high = int(counts.min()), int(counts.max())
    width = max(1, math.ceil((high - low + 1) / _ERASE_BINS))
    blocks = np.bincount((counts.astype(np.int64) - low) // width)
    return (low + width * np.arange(len(blocks))).astype(np.float32), blocks.astype(np.float32)


def divided(metrics: Metrics, moments_max: int) -> list[Floats]:
    """Return the division of a flash cache over time: times in ns, and the clean, dirty and allowed shares of flash.

    The columns are empty without a flash cache.
    """
    sizes = metrics.hybrid["sizes"] if "hybrid" in metrics else []
    by = max(1, math.ceil(len(sizes) / moments_max))
    kept = sizes[:-1:by] + sizes[-1:]
    flash_pages = metrics.hybrid.flash_pages if sizes else 1
    columns = (
        [size["at_ns"] for size in kept],
        [size["clean_pages"] / flash_pages for size in kept],
        [size["dirty_pages"] / flash_pages for size in kept],
        [(size["read_limit_pages"] + size["write_limit_pages"]) / flash_pages for size in kept],
    )
    return [np.asarray(column, np.float32) for column in columns]
