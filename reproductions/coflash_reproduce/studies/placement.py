"""What is left of cooperation when a placement policy sorts pages by their lifetime."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from coflash.charts import Chart
from coflash.demo import find_trace
from coflash.measures.measure import MEAN, WAF_HOST, Measure
from coflash.quantity import show_change
from coflash.scenario import Scenario
from coflash_reproduce.drawing import bars
from coflash_reproduce.paper import Case, Exhibit, Experiment, Grid, Picture, Row, Runs, tabled
from coflash_reproduce.study import Finding, Study, at, each_holds, four_dies, shown
from coflash_reproduce.text import Text

BASE, WITH = "alone", "with"
ONE_BLOCK, FDP = "one block", "fdp"
PLACEMENTS: Mapping[str, Any] = {
    ONE_BLOCK: "none",
    "none": "none",
    "sepgc": "sepgc",
    "dac": "dac",
    "sepbit": "sepbit",
    FDP: {"name": "fdp", "handles": 2, "isolation": "persistently"},
}
CDM, SHADOWS, TIER = "cdm", "shadowgc", "op-fcl"
SYSTEMS: Mapping[str, tuple[str, str]] = {
    CDM: ("CDM", "no cooperation"),
    SHADOWS: ("ShadowGC (SGC)", "GGC"),
    TIER: ("OP-FCL", "FP-FCL, 80 % for caching"),
}
"""The systems, and the baseline of each."""
PGBENCH, ZIPF, TENANTS = "pgbench", "zipf", "tenants"
WORKLOADS = {PGBENCH: "pgbench (trace)", ZIPF: "Zipf 1.0, half reads", TENANTS: "two tenants"}
ALIKE = 0.01
"""The relative difference up to which two results are called the same."""


@dataclass(frozen=True)
class Scale:
    """The size of the experiments."""

    requests: int
    seeds: int
    with_trace: bool = True


SCALES = {"quick": Scale(60_000, 2, with_trace=False), "full": Scale(120_000, 3)}


def experiments(scale_name: str, _: tuple[str, ...]) -> tuple[Experiment, ...]:
    """Return the experiments: each system on each workload, with and without it, under each placement."""
    scale = SCALES[scale_name]
    found = []
    for system in SYSTEMS:
        for workload in WORKLOADS:
            if workload == PGBENCH and not scale.with_trace:
                continue
            scenario = (_tier if system == TIER else _device)(workload, scale)
            title = f"{SYSTEMS[system][0]}, {WORKLOADS[workload]}"
            trace = (str(find_trace()),) if workload == PGBENCH else ()
            seeds = 1 if trace else scale.seeds
            cases = tuple(_cases(system, workload))
            found.append(Experiment(_name(system, workload), title, scenario, cases, trace, seeds=seeds))
    return tuple(found)


def _name(system: str, workload: str) -> str:
    return f"{system}-{workload}"


def _placements(system: str, workload: str) -> list[str]:
    """Return the placements; handles go by tenant, and the tier's flash knows no tenants."""
    return [name for name in PLACEMENTS if name != FDP or (workload == TENANTS and system != TIER)]


def _cases(system: str, workload: str) -> Iterator[Case]:
    schemes: Mapping[str, tuple[Any, Any]] = {
        CDM: ("none", {"name": "cdm", "removable_weight": 1.0, "rewrite_stream": "gc"}),
        SHADOWS: ("ggc", "sgc"),
        TIER: ({"name": "fp-fcl", "caching": "80%"}, "op-fcl"),
    }
    key = "hybrid.scheme" if system == TIER else "cooperation"
    buffers: dict[str, Any] = {}
    if system == SHADOWS:
        own, host = ("8MiB", "64MiB") if workload == PGBENCH else ("256KiB", "1MiB")
        buffers = {"cache.size": own, "cache.volatile": True, "cache.read_allocate": False, "host_buffer.size": host}
    elif system == CDM:
        buffers = {"cache.size": "64MiB" if workload == PGBENCH else "2%"}
    for line, scheme in zip((BASE, WITH), schemes[system], strict=True):
        for placement in _placements(system, workload):
            place = list(PLACEMENTS).index(placement)
            streams = {"ftl.shared_streams": [["host", "evict", "gc"]]} if placement == ONE_BLOCK else {}
            yield Case(line, place, {key: scheme, "ftl.placement": PLACEMENTS[placement], **streams, **buffers})


def _requests(workload: str, requests: int, space: str | None, mean: str | None) -> dict[str, Any]:
    """Return a generated workload: over a space if not all of the device, at times if not in a closed loop."""
    arrival = {"arrival": {"name": "poisson", "mean": mean}} if mean else {}
    generator = {"name": "zipf", "exponent": 1.0}
    common = {"read_share": "50%", **arrival}
    if workload == ZIPF:
        own = {"space": space} if space else {}
        return {"synthetic": {"generator": generator, "requests": requests, **own, **common}}
    half = {"requests": requests // 2, **common}
    tenants = [
        {"name": "hot", "placement": 0, "space": "50%", "synthetic": {"generator": generator, **half}},
        {"name": "even", "placement": 1, "space": "50%", "synthetic": {"generator": "uniform", **half}},
    ]
    if space:
        tenants = [tenant | {"space": space} for tenant in tenants]
    return {"tenants": tenants}


def _device(workload: str, scale: Scale) -> Scenario:
    """Return the device of `demo` as one pool of superblocks; for generators a smaller one with as many superblocks."""
    pools = {"name": "placement", "ftl.pools": "device", "gc.low_mark": 8}
    if workload == PGBENCH:
        return Scenario.load("demo").with_(pools)
    small = four_dies(512).with_({**pools, "flash.pages_per_block": 8, "ftl.spare.share": "12%"})
    return Scenario.from_dict(
        small.to_dict() | {"workload": {"remap": "none", **_requests(workload, scale.requests, None, None)}}
    )


def _tier(workload: str, scale: Scale) -> Scenario:
    """Return OP-FCL's configuration 1 with a smaller flash cache, whose copies have a block of their own."""
    values = Scenario.load("opfcl-config1").to_dict()
    values["ftl"].pop("shared_streams")
    values["name"] = "placement-tier"
    blocks, segment = (2048, "16MiB") if workload == PGBENCH else (512, "4MiB")
    values["workload"] = {"remap": "dense"}
    if workload == PGBENCH:
        values["replay"] = {"mode": "closed", "queue_depth": 8}
    else:
        space = "256MiB" if workload == ZIPF else "128MiB"
        values["workload"] |= _requests(workload, 2 * scale.requests, space, "8ms" if workload == TENANTS else "4ms")
    changes = {"flash.blocks_per_plane": blocks, "hybrid.segment": segment, "hybrid.period_requests": 8192}
    return Scenario.from_dict(values).with_(changes)


@dataclass(frozen=True, eq=False)
class Compared:
    """A system on a workload under a placement."""

    system: str
    workload: str
    placement: str
    runs: Runs

    @property
    def title(self) -> str:
        """The workload and placement in words."""
        return f"{WORKLOADS[self.workload]}, {self.placement}"

    def value(self, line: str, measure: Measure) -> float:
        """Return the mean over seeds, alone or with the system."""
        place = list(PLACEMENTS).index(self.placement)
        return at(self.runs, _name(self.system, self.workload), line, place, measure).mean or 0

    def shown(self, line: str, measure: Measure) -> str:
        """Show the mean with its confidence interval."""
        place = list(PLACEMENTS).index(self.placement)
        return shown(at(self.runs, _name(self.system, self.workload), line, place, measure), measure)

    def change(self, measure: Measure) -> float:
        """Return the relative change that the system makes."""
        return self.value(WITH, measure) / self.value(BASE, measure) - 1


def rows(runs: Runs, system: str) -> list[Compared]:
    """Return what was run of a system, in order."""
    names = [workload for workload in WORKLOADS if runs.of(_name(system, workload))]
    return [Compared(system, workload, one, runs) for workload in names for one in _placements(system, workload)]


def _by_workload(runs: Runs) -> list[list[Compared]]:
    """Return the rows of each system on each workload; the first one is that of one block."""
    return [
        [row for row in rows(runs, system) if row.workload == workload]
        for system in SYSTEMS
        for workload in WORKLOADS
        if runs.of(_name(system, workload))
    ]


def _lowers(runs: Runs) -> Finding:
    found = {row: row.change(WAF_HOST) for system in SYSTEMS for row in rows(runs, system)}
    worst = {
        system: max((row for row in found if row.system == system), key=lambda row: found[row]) for system in SYSTEMS
    }
    numbers = "; ".join(f"{SYSTEMS[one][0]} {show_change(found[row])} ({row.title})" for one, row in worst.items())
    return Finding(max(found.values()) < 0, f"the least: {numbers}")


def _sorted_best(group: list[Compared], line: str) -> Compared:
    """Return the row with the least WAF, that of one block apart."""
    return min(group[1:], key=lambda row: row.value(line, WAF_HOST))


@each_holds
def _less_is_left(runs: Runs) -> Iterator[Finding]:
    for group in _by_workload(runs):
        best = _sorted_best(group, BASE)
        before, after = group[0].change(WAF_HOST), best.change(WAF_HOST)
        yield Finding(after > before, f"{_of(best)}: {show_change(before)}, {show_change(after)} ({best.placement})")


def _of(row: Compared) -> str:
    return f"{SYSTEMS[row.system][0]}, {WORKLOADS[row.workload]}"


@each_holds
def _more_than_placement(runs: Runs) -> Iterator[Finding]:
    for group in _by_workload(runs):
        best, unsorted = _sorted_best(group, BASE), group[0]
        placed = best.value(BASE, WAF_HOST) / unsorted.value(BASE, WAF_HOST) - 1
        change = unsorted.change(WAF_HOST)
        yield Finding(change < placed, f"{_of(best)}: {show_change(change)}, {show_change(placed)} ({best.placement})")


@each_holds
def _add_up(runs: Runs) -> Iterator[Finding]:
    for group in _by_workload(runs):
        least = min((row.value(line, WAF_HOST), line, row.placement) for row in group for line in (BASE, WITH))
        holds, name = least[2] not in (ONE_BLOCK, "none"), "with it" if least[1] == WITH else "without it"
        yield Finding(least[1] == WITH and holds, f"{_of(group[0])}: {least[0]:.3f} ({name}, {least[2]})")


def _response(runs: Runs) -> Finding:
    found = {row: row.change(MEAN) for system in SYSTEMS for row in rows(runs, system)}
    worst = max(found, key=lambda row: found[row])
    least = show_change(min(found.values()))
    return Finding(
        found[worst] <= ALIKE, f"{least} to {show_change(found[worst])} ({SYSTEMS[worst.system][0]}, {worst.title})"
    )


def _draw(runs: Runs) -> list[Chart]:
    found = []
    for measure, label in ((WAF_HOST, "WAF"), (MEAN, "mean response")):
        for system, (title, base) in SYSTEMS.items():
            groups: dict[str, dict[str, float]] = {}
            for row in rows(runs, system):
                groups.setdefault(row.workload, {})[row.placement] = 100 * row.change(measure)
            above = f"{title} against {base}" if measure is WAF_HOST else ""
            found.append(bars(groups, f"{label}, change (%)", inches=(2.5, 2.3), title=above, legend=not found))
    return found


@tabled(f"system | workload | {' | '.join(PLACEMENTS)}")
def _changes(runs: Runs) -> Iterator[Row]:
    for group in _by_workload(runs):
        yield *_of(group[0]).split(", ", 1), *(_change_of(group, placement) for placement in PLACEMENTS)


def _change_of(group: list[Compared], placement: str) -> str:
    row = next((one for one in group if one.placement == placement), None)
    return ", ".join(show_change(row.change(measure)) for measure in (WAF_HOST, MEAN)) if row else ""


def _table(system: str, runs: Runs) -> Grid:
    cells = [
        (
            WORKLOADS[row.workload],
            row.placement,
            *(row.shown(line, measure) for measure in (WAF_HOST, MEAN) for line in (BASE, WITH)),
        )
        for row in rows(runs, system)
    ]
    base, name = SYSTEMS[system][1], SYSTEMS[system][0]
    columns = ("workload", "placement", f"WAF, {base}", f"WAF, {name}", f"response, {base}", f"response, {name}")
    return Grid(columns, tuple(cells))


def _explanation(runs: Runs) -> Iterator[str]:
    for group in _by_workload(runs):
        if group[0].system != CDM:
            continue
        streams, sepgc = group[1], group[2]
        yield (
            f"{WORKLOADS[streams.workload]}: CDM changes WAF by {show_change(streams.change(WAF_HOST))} with its own "
            f"stream, and by {show_change(sepgc.change(WAF_HOST))} with `sepgc`. The difference is what this stream "
            "gives, which is placement, too."
        )


STUDY = Study(
    name="placement",
    text=Text.beside(__file__, globals()),
    experiments=experiments,
    hypotheses=(_lowers, _less_is_left, _more_than_placement, _add_up, _response),
    explanation=_explanation,
    exhibits=(
        Picture("figure-1", _draw, _changes, columns=3),
        *(Exhibit(f"table-{number}", partial(_table, system)) for number, system in enumerate(SYSTEMS, 1)),
    ),
)
