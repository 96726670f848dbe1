"""What a page that CDM can drop should count in a victim's cost, and with what its later write should share a block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from coflash.charts import Axis, Chart, lines, looks
from coflash.demo import find_trace
from coflash.scenario import Scenario
from coflash_reproduce.declare import study
from coflash_reproduce.paper import Case, Experiment, Runs
from coflash_reproduce.study import WARM, asked, four_dies

NONE, PLAIN, AMONG_COPIES = "none", "1, evict", "1, gc"
ADAPTIVE, BY_AGE = "adaptive, evict", "by-age, evict"


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
PGBENCH, OLTP, TORN = "pgbench", "oltp-like", "torn"
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
    demo = Scenario.load("demo").with_(WARM)
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


def _change(label: str, changes: Iterable[float]) -> Axis:
    """Return an axis of changes, which has zero and keeps its points off its ends."""
    found = [0.0, *changes]
    return Axis(f"{label} against none", "share", low=min(found) - 0.03, high=max(found) + 0.02)


def _draw(runs: Runs) -> list[Chart]:
    """Draw the changes on the trace, and beside the generators' middle cache."""
    _, rows = STUDY.queries.rows(
        "select row, title || ', ' || cache, line, waf, response from changes where list_contains($DRAWN, line) and "
        "(experiment = $PGBENCH or place = (select median(place) from changes where experiment <> $PGBENCH))",
        runs,
    )
    order = sorted({row for row, *_ in rows}, reverse=True)
    places = {float(order.index(row)): place for row, place, *_ in rows}
    styles = {scheme: look._replace(dash=()) for scheme, look in looks(DRAWN).items()}
    return [
        lines(
            [{"x": row[at], "y": order.index(row[0]), "name": row[2], "part": order.index(row[0])} for row in rows],
            _change(label, (row[at] for row in rows)),
            Axis("", ticks=places),
            styles=styles,
            by="weight, stream",
            inches=(3.4, 3.0),
        )
        for at, label in ((3, "WAF"), (4, "mean response"))
    ]


STUDY = study(globals(), pictures={"figure-1": _draw})
