"""What a page that CDM can drop should count in a victim's cost, and with what its later write should share a block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

from coflash.charts import Axis, Chart, lines, looks
from coflash.demo import find_trace
from coflash.measures.measure import COPIED, MEAN, WAF_HOST, Measure
from coflash.quantity import change, show_change
from coflash.scenario import Scenario
from coflash_reproduce.paper import Case, Exhibit, Experiment, Picture, Row, Run, Runs, tabled
from coflash_reproduce.study import Finding, Study, asked, four_dies, mean_of, shown
from coflash_reproduce.text import Text

NONE, PLAIN, AMONG_COPIES = "none", "1, evict", "1, gc"
ADAPTIVE, BY_AGE = "adaptive, evict", "by-age, evict"
ONE_STREAM = [["host", "evict", "gc"]]


def _cdm(weight: float | str, stream: str) -> dict[str, Any]:
    return {"name": "cdm", "removable_weight": weight, "rewrite_stream": stream}


SCHEMES: Mapping[str, dict[str, Any]] = {
    NONE: {"name": "none"},
    PLAIN: _cdm(1.0, "evict"),
    AMONG_COPIES: _cdm(1.0, "gc"),
    ADAPTIVE: _cdm("adaptive", "evict"),
    "adaptive, gc": _cdm("adaptive", "gc"),
    BY_AGE: _cdm("by-age", "evict"),
    "by-age, gc": _cdm("by-age", "gc"),
}
"""By weight and stream, as `cooperation.removable_weight` and `cooperation.rewrite_stream` have them."""
REMEDIES = tuple(SCHEMES)[2:]
DRAWN = (PLAIN, ADAPTIVE, AMONG_COPIES, "by-age, gc")
PGBENCH, OLTP, TORN, TOGETHER = "pgbench", "oltp-like", "torn", "one-stream"
_GENERATORS: Mapping[str, Any] = {
    "zipf": {"name": "zipf", "exponent": 0.9},
    "hot-cold": "hot-cold",
    "uniform": "uniform",
}
HOT_READS = "hot-cold-80"
"""Reads and writes of the same hot pages, most of them reads."""


@dataclass(frozen=True)
class Scale:
    """The size of the experiments."""

    blocks_per_plane: int
    requests: int
    cache_mib: tuple[int, ...]
    """The caches under the trace."""
    cache_percent: tuple[float, ...]
    """The caches under the generators."""
    read_percent: tuple[int, ...]
    seeds: int
    """The seeds of the experiment on what GC's stream mixes."""
    generators: tuple[str, ...] = tuple(_GENERATORS)


SCALES = {
    "quick": Scale(128, 150_000, (4,), (8,), (80,), 2),
    "full": Scale(512, 600_000, (4, 8, 16, 32, 64, 128), (0.5, 2, 10), (20, 50, 80), 6),
}


def experiments(scale_name: str, _: tuple[str, ...]) -> tuple[Experiment, ...]:
    """Return the experiments: a trace and generators by cache size, and two on what shares a block."""
    scale = SCALES[scale_name]
    demo = Scenario.load("demo")
    trace = (str(find_trace()),)
    small = four_dies(scale.blocks_per_plane)
    found = [Experiment(PGBENCH, "pgbench (trace)", demo, _cases(scale.cache_mib, "MiB", SCHEMES), trace)]
    for name in scale.generators:
        for reads in scale.read_percent:
            scenario = asked(small, _GENERATORS[name], scale.requests, f"{reads}%")
            title = f"{name}, {reads} % reads"
            found.append(Experiment(f"{name}-{reads}", title, scenario, _cases(scale.cache_percent, "%", SCHEMES)))
    oltp = small.with_({"workload.preset": {"name": "oltp-like", "requests": 2 * scale.requests // 3}})
    found.append(Experiment(OLTP, "oltp-like", oltp, _cases(scale.cache_percent, "%", SCHEMES)))
    together = demo.with_({"ftl.shared_streams": ONE_STREAM})
    found.append(Experiment(TOGETHER, "pgbench, one stream", together, _cases((4,), "MiB", (NONE, PLAIN)), trace))
    torn = small.with_(
        {
            "flash.blocks_per_plane": 128,
            "workload.synthetic": {"generator": "hot-cold", "requests": scale.requests, "read_share": "80%"},
        }
    )
    lines = (NONE, "adaptive, gc", AMONG_COPIES, PLAIN)
    return (*found, Experiment(TORN, "hot-cold, 80 % reads", torn, _cases((1,), "%", lines), seeds=scale.seeds))


def _cases(caches: Iterable[float], unit: str, lines: Iterable[str]) -> tuple[Case, ...]:
    sizes = tuple(caches)
    return tuple(
        Case(line, size, {"cooperation": SCHEMES[line], "cache.size": f"{size}{unit}"})
        for line in lines
        for size in sizes
    )


@dataclass(frozen=True)
class Compared:
    """A workload with a cache: the changes of each scheme from `none`."""

    title: str
    cache: str
    of: Mapping[str, Run]

    def change(self, scheme: str, measure: Measure) -> float:
        """Return the relative change of a scheme from `none`."""
        values = (measure.read(self.of[line].metrics) for line in (scheme, NONE))
        return change(*values) or 0.0


def rows(runs: Runs) -> list[Compared]:
    """Return the workloads with their caches, in order."""
    found: dict[tuple[str, float], dict[str, Run]] = {}
    titles: dict[str, tuple[str, str]] = {}
    for run in runs:
        name = run.experiment.name
        if name not in (TORN, TOGETHER):
            found.setdefault((name, run.case.at), {})[run.case.line] = run
            titles[name] = run.experiment.title, "MiB" if name == PGBENCH else "%"
    return [Compared(titles[name][0], f"{at:g} {titles[name][1]}", of) for (name, at), of in found.items()]


@tabled(f"workload | cache | {' | '.join(tuple(SCHEMES)[1:])}")
def _all(runs: Runs) -> Iterator[Row]:
    def cells(of: Sequence[Compared]) -> Iterator[str]:
        for scheme in tuple(SCHEMES)[1:]:
            yield ", ".join(show_change(max(row.change(scheme, one) for row in of)) for one in (WAF_HOST, MEAN))

    for row in rows(runs):
        yield row.title, row.cache, *cells([row])
    yield "**worst**", "", *cells(rows(runs))


def _draw(runs: Runs) -> list[Chart]:
    places = {float(at): f"{row.title}, {row.cache}" for at, row in enumerate(rows(runs))}
    styles = {scheme: look._replace(dash=()) for scheme, look in looks(DRAWN).items()}
    return [
        lines(
            [
                {"x": at, "y": row.change(scheme, measure), "name": scheme, "part": at}
                for scheme in DRAWN
                for at, row in enumerate(rows(runs))
            ],
            Axis("", ticks=places, words=True),
            Axis(f"{label} against none", "share"),
            styles=styles,
            inches=(7.5, 2.5),
        )
        for measure, label in ((WAF_HOST, "WAF"), (MEAN, "response"))
    ]


_DROPS = Measure("pages dropped by GC", "pages", lambda metrics: metrics.gc_drops_pages)
_OF_TORN = (WAF_HOST, COPIED, _DROPS)


@tabled(f"| {' | '.join(measure.label for measure in _OF_TORN)}")
def _torn(runs: Runs) -> Iterator[Row]:
    names = {NONE: "no cooperation", "adaptive, gc": "copied", AMONG_COPIES: "dropped, rewritten among GC's copies"}
    names[PLAIN] = "dropped, rewritten among evictions"
    for line, title in names.items():
        yield title, *(shown(mean_of(runs.of(TORN, line), measure), measure) for measure in _OF_TORN)


def _smallest(runs: Runs) -> Compared:
    return rows(runs)[0]


def _loses(runs: Runs) -> Finding:
    row = _smallest(runs)
    found = row.change(PLAIN, WAF_HOST)
    return Finding(found > 0, f"{show_change(found)} at {row.cache}")


def _remedied(runs: Runs) -> Finding:
    worst = {scheme: max(row.change(scheme, WAF_HOST) for row in rows(runs)) for scheme in REMEDIES}
    name = max(worst, key=lambda scheme: worst[scheme])
    return Finding(worst[name] < 0, f"worst of {len(rows(runs))} rows: {show_change(worst[name])} ({name})")


def _mixing(runs: Runs) -> Finding:
    (relative,) = runs.changes(TOGETHER, PLAIN, NONE, WAF_HOST)
    return Finding(relative < 0, f"{show_change(relative)} in one stream")


def _belongs(runs: Runs) -> Finding:
    last = [row for row in rows(runs) if row.of[NONE].experiment.name == HOT_READS][-1]
    changes = {scheme: last.change(scheme, WAF_HOST) for scheme in SCHEMES}
    numbers = ", ".join(f"{scheme}: {show_change(changes[scheme])}" for scheme in (PLAIN, AMONG_COPIES, ADAPTIVE))
    return Finding(min(changes.values()) == changes[PLAIN], f"{last.cache}: {numbers}")


def _graded(runs: Runs) -> Finding:
    points = mean(row.change(BY_AGE, WAF_HOST) - row.change(ADAPTIVE, WAF_HOST) for row in rows(runs))
    return Finding(points < -0.005, f"{100 * points:+.2f} points on average".replace("-", "−"))


def _answer(runs: Runs) -> dict[str, Any]:
    row = _smallest(runs)
    plain, none = row.of[PLAIN], row.of[NONE]
    copied, dropped = (runs.of(TORN, line) for line in ("adaptive, gc", AMONG_COPIES))
    more = mean(run.programs for run in dropped) - mean(run.programs for run in copied)
    return {
        "cache": row.cache,
        "again": plain.metrics.drop_rewrites_pages,
        "drops": plain.metrics.gc_drops_pages,
        "more": plain.programs - none.programs,
        "more_a_drop": more / mean(run.metrics.gc_drops_pages for run in dropped),
    }


STUDY = Study(
    name="cdm-victim-scores",
    text=Text.beside(__file__, globals()),
    experiments=experiments,
    hypotheses=(_loses, _remedied, _mixing, _belongs, _graded),
    answer=_answer,
    exhibits=(Picture("figure-1", _draw, _all, columns=1), Exhibit("table-1", _torn)),
)
