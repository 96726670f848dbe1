"""The atlas: what GC may do with a valid page, and when which answer pays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from coflash import palette
from coflash.demo import find_trace
from coflash.measures.measure import MEASURES, WAF_HOST, Measure
from coflash.quantity import show, show_change
from coflash.runs.run import fewest_programs
from coflash.scenario import Scenario
from coflash.sweep.advise import left_of
from coflash.sweep.answers import DEVICE
from coflash_reproduce.paper import Case, Exhibit, Experiment, Grid, Picture, Row, Run, Runs, tabled
from coflash_reproduce.study import Finding, Study, asked, four_dies
from coflash_reproduce.text import Text

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

NONE, OVERWRITES, CDM, COST = "none", "cdm-overwrites", "cdm", "expected-cost"
FIRST, CDM_FIRST = "clean first", "cdm with clean first"
ANSWERS = {one.name: one for one in DEVICE if not one.is_step and one.needs != "host_buffer.size"}
SHORT = {
    NONE: "none",
    FIRST: "clean\nfirst",
    OVERWRITES: "over-\nwrites",
    "cdm-removable": "remov-\nable",
    CDM: "cdm",
    CDM_FIRST: "cdm,\nfirst",
    "move-in": "move\nin",
    COST: "cost",
}
"""The answers, those that take less memory first; where two are alike, the first one has the cell."""
SKEWS: Mapping[str, Any] = {
    "uniform": "uniform",
    **{f"Zipf {exponent}": {"name": "zipf", "exponent": exponent} for exponent in (0.7, 0.9, 1.1)},
}
BASE, READS, SPARE = "half reads, 12 % spare", "no reads", "28 % spare"
PANELS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    BASE: ("50%", {}),
    READS: ("0%", {}),
    SPARE: ("50%", {"ftl.spare.share": "28%"}),
    "dac": ("50%", {"ftl.placement": "dac"}),
    "sepbit": ("50%", {"ftl.placement": "sepbit"}),
}
"""Panels of the map: the share of reads, and what is unlike the first one."""
CACHES = (0.1, 1, 5, 10, 20)
DRIVES = ("7450-max", "cm7-r", "p5520", "pe8110", "pm9a3", "pm9d3a-drive-a", "wd")
ZIPF, JESD, PGBENCH = "Zipf 0.9, half reads", "JESD219", "pgbench (trace)"
WORKLOADS = (ZIPF, JESD, PGBENCH)
ALIKE, THEORY, PAYS, KEPT = 0.02, 0.1, 0.1, 0.75
TAILS = MEASURES["response_ns.all.p99_9"]
SHOWN = (WAF_HOST, MEASURES["cache.hit_ratio"], TAILS, MEASURES["endurance.drive_writes_per_day"])


@dataclass(frozen=True)
class Scale:
    """The size of the experiments."""

    requests: int
    caches: tuple[float, ...]
    drives: tuple[str, ...]
    workloads: tuple[str, ...]


SCALES = {
    "quick": Scale(60_000, (1, 5, 20), DRIVES[4:5], WORKLOADS[:2]),
    "full": Scale(200_000, CACHES, DRIVES, WORKLOADS),
}


def experiments(scale_name: str, _: tuple[str, ...]) -> tuple[Experiment, ...]:
    """Return the experiments: the map's, each a skew of a panel, and each workload on each drive."""
    scale, found = SCALES[scale_name], []
    for panel, (reads, changes) in PANELS.items():
        for skew, generator in SKEWS.items():
            device = asked(_small().with_(changes), generator, scale.requests, reads)
            cases = tuple(Case(name, at, _changes(name, at, device)) for at in scale.caches for name in SHORT)
            found.append(Experiment(_name(panel, skew), f"{panel}, {skew}", device, cases))
    for workload in scale.workloads:
        for drive in scale.drives:
            trace = (str(find_trace()),) if workload == PGBENCH else ()
            device = _drive(drive, workload, scale.requests)
            cases = tuple(Case(name, 5, _changes(name, 5, device)) for name in SHORT)
            found.append(Experiment(_name(drive, workload), f"{drive}, {workload}", device, cases, trace))
    return tuple(found)


def _name(*parts: str) -> str:
    return "-".join(part.replace(",", "").replace(" ", "-").replace("%", "percent") for part in parts)


def _changes(name: str, cache: float, device: Scenario) -> dict[str, Any]:
    def read(key: str, text: str) -> Any:
        value: Any = device.set([(key, text)]).to_dict()
        for part in key.split("."):
            value = value[part]
        return value

    return {"cache.size": f"{cache}%", **{key: read(key, text) for key, text in ANSWERS[name].on(device)}}


def _small() -> Scenario:
    """Return a device of 256 MiB with one pool of superblocks."""
    keys = {"flash.pages_per_block": 16, "ftl.pools": "device", "gc.low_mark": 8, "ftl.spare.share": "12%"}
    return four_dies(1024).with_({**keys, "precondition.until_steady": True, "name": "atlas"})


def _drive(name: str, workload: str, requests: int) -> Scenario:
    """Return a calibrated drive, with a workload in place of its own; for the trace as large as the trace touches."""
    values = Scenario.load(name).to_dict()
    values["workload"] = {"remap": "none"}
    if workload == PGBENCH:
        values["workload"] = {"remap": "dense"}
        del values["flash"]["blocks_per_plane"]  # which follows
        values["flash"]["exported"] = "1531200KiB"
    elif workload == JESD:
        values["workload"]["preset"] = {"name": "jesd219-enterprise", "requests": requests}
    else:
        values["workload"]["synthetic"] = {"generator": SKEWS["Zipf 0.9"], "requests": requests, "read_share": "50%"}
    values["cooperation"] = {"name": "cdm", "removable_weight": 1.0, "rewrite_stream": "gc"}
    values["replay"] = {"mode": "closed", "queue_depth": 8}
    return Scenario.from_dict(values).with_({"precondition.until_steady": True})


class Cell(NamedTuple):
    """A place of the map, or a workload on a drive: WAF by answer."""

    name: str
    found: Mapping[str, Run]

    def saved(self, answer: str) -> float:
        """Return the share of the programs of `none` that an answer saves; nothing where none are needed."""
        base = self.found[NONE].read(WAF_HOST)
        return 1 - self.found[answer].read(WAF_HOST) / base if base else 0.0

    @property
    def best(self) -> str:
        """The answer that saves the most, perhaps not beyond noise."""
        return max(self.found, key=self.saved)

    @property
    def bound(self) -> float:
        """The WAF below which no cooperation goes with this cache, the future known."""
        run = self.found[NONE]
        return _bound(run.scenario, run.experiment.trace)

    def left(self, answer: str) -> float:
        """Return the share of an answer's programs that is above the bound."""
        ran = self.found[answer].read(WAF_HOST)
        return 1 - self.bound / ran if ran else 0.0

    @property
    def winner(self) -> str:
        """The answer with the least memory among those as good as the best."""
        most = self.saved(self.best)
        return next(name for name in SHORT if name in self.found and most - self.saved(name) <= ALIKE)


@cache
def _bound(scenario: Scenario, trace: tuple[str, ...]) -> float:
    return fewest_programs(scenario, trace).waf_host or 0.0


def cells(runs: Runs, *groups: str) -> Iterator[Cell]:
    """Yield the cells of panels or drives that were run."""
    for name in (_name(one, other) for one in groups for other in (*SKEWS, *WORKLOADS)):
        found: dict[float, dict[str, Run]] = {}
        for run in runs.of(name):
            found.setdefault(run.case.at, {})[run.case.line] = run
        for at, of in found.items():
            yield Cell(f"{of[NONE].experiment.title}, cache {at:g} %", of)


def _least(runs: Runs, answer: str, groups: tuple[str, ...], against: str = NONE) -> tuple[float, Cell]:
    """Return by what share of the programs of `none` an answer is better than another where it is the least so."""
    one = min(cells(runs, *groups), key=lambda cell: cell.saved(answer) - cell.saved(against))
    return one.saved(answer) - one.saved(against), one


def _never_worse(runs: Runs) -> Finding:
    least, cell = _least(runs, OVERWRITES, (*PANELS, *DRIVES))
    return Finding(least >= -ALIKE, f"the least that it saves: {show(least, 'share')} ({cell.name})")


def _one_for_all(runs: Runs) -> Finding:
    against = [(other, *_least(runs, COST, (*PANELS, *DRIVES), other)) for other in (NONE, OVERWRITES, CDM_FIRST)]
    numbers = "; ".join(f"against {other} {show(least, 'share')} ({cell.name})" for other, least, cell in against)
    return Finding(all(least >= -ALIKE for _, least, _ in against), f"where it is the least better: {numbers}")


def _eviction(runs: Runs) -> Finding:
    least, cell = _least(runs, CDM_FIRST, (*PANELS, *DRIVES), CDM)
    return Finding(least >= -ALIKE, f"where it is the least better: {show(least, 'share')} ({cell.name})")


def _theory(runs: Runs) -> Finding:
    off = [(ran / left - 1, name) for name, left, ran in _uniform(runs)]
    worst, name = max(off, key=lambda one: abs(one[0]))
    return Finding(abs(worst) <= THEORY, f"at worst {show_change(worst)} ({name})")


def _placement(runs: Runs) -> Finding:
    by_place = {panel: {_place(cell): cell for cell in cells(runs, panel)} for panel in (BASE, "dac", "sepbit")}
    shares = [
        (max(map(cell.saved, cell.found)) / (max(map(by_place[BASE][place].saved, cell.found)) or 1.0), cell.name)
        for panel in ("dac", "sepbit")
        for place, cell in by_place[panel].items()
        if place[1] == 5
    ]
    least, name = min(shares)
    return Finding(least >= KEPT, f"at least {show(least, 'share')} of the saving is left ({name})")


def _place(cell: Cell) -> tuple[str, float]:
    run = cell.found[NONE]
    return run.experiment.title.rpartition(", ")[2], run.case.at


def _drives(runs: Runs) -> Finding:
    found = [*cells(runs, *DRIVES)]
    cell = min(found, key=lambda one: one.saved(one.best))
    pays = sum(one.saved(one.best) >= PAYS for one in found)
    least, same = show(cell.saved(cell.best), "share"), show(cell.saved(cell.winner), "share")
    star = (
        ""
        if cell.best == cell.winner
        else f"; {cell.winner} ★ takes less memory and saves {same}, as much but for noise"
    )
    return Finding(pays == len(found), f"{pays} of {len(found)}; the least: {least} ({cell.name}, {cell.best}{star})")


def _uniform(runs: Runs) -> Iterator[tuple[str, float, float]]:
    """Yield, where writes are uniform, what the closed form and the runs leave under known overwrites."""
    for cell in cells(runs, BASE, READS, SPARE):
        if "uniform" in cell.name:
            left = _closed(cell.found[OVERWRITES])
            if left is not None:
                yield cell.name, left, 1 - cell.saved(OVERWRITES)


def _closed(run: Run) -> float | None:
    """Return what the closed form leaves, with the mean of dirty pages by the shares of pages that leave dirty."""
    cache = run.document["metrics"]["cache"]
    gone = cache["dirty_evictions_pages"] + cache["clean_evictions_pages"]
    dirty = cache["capacity_pages"] * cache["dirty_evictions_pages"] / gone if gone else 0.0
    return left_of(run.scenario, run.document["workload"]["logical_bytes"] // 4096, dirty)


def _boundary(runs: Runs, panel: str) -> float | None:
    """Return the cache, in % of the footprint, from which the closed form saves enough to pay under uniform writes."""
    run = next(iter(runs.of(_name(panel, "uniform"), OVERWRITES)), None)
    if run is None:
        return None
    live, (reads, _) = run.document["workload"]["logical_bytes"] // 4096, PANELS[panel]
    dirty = 1 - float(reads.rstrip("%")) / 100
    tried = (step / 20 for step in range(1, 400))
    return next((at for at in tried if (left_of(run.scenario, live, live * dirty * at / 100) or 1) <= 1 - PAYS), None)


COLOURS = {
    NONE: "#e4e4e4",
    **{name: palette.LINES[place % len(palette.LINES)] for place, name in enumerate([*SHORT][1:])},
}


def _draw(runs: Runs) -> Canvas:
    from matplotlib.figure import Figure as Canvas
    from matplotlib.patches import Patch, Rectangle

    canvas = Canvas(figsize=(7.5, 8.2), layout="constrained")
    panels = canvas.subplots(3, 2, squeeze=False).ravel()
    for axes, panel in zip(panels, PANELS, strict=False):
        found = {_place(cell): cell for cell in cells(runs, panel)}
        caches = sorted({at for _, at in found})
        for (skew, at), cell in found.items():
            row, column, saved = [*SKEWS].index(skew), caches.index(at), cell.saved(cell.winner)
            colour = COLOURS[cell.winner]
            axes.add_patch(Rectangle((column, row), 1, 1, facecolor=colour, edgecolor="white", alpha=0.75))
            text = SHORT[cell.winner] + (f"\n{-100 * saved:.0f} %".replace("-", "−") if cell.winner != NONE else "")
            axes.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=5.5)
        pays = _boundary(runs, panel) if panel in (BASE, READS, SPARE) else None
        if pays is not None:
            below = [each for each in caches if each <= pays]
            place = len(below) - 0.5 if below else 0.5
            if below and len(below) < len(caches):
                place += (pays - below[-1]) / (caches[len(below)] - below[-1])
            axes.plot([place, place], [0, 1], color="black", linewidth=1.6)
            axes.annotate(f"{pays:.2g} %", (place, 0), (0, 2), textcoords="offset points", ha="center", fontsize=6)
        axes.set(xlim=(0, len(caches)), ylim=(len(SKEWS), 0))
        axes.set_xticks([place + 0.5 for place in range(len(caches))], [f"{at:g}" for at in caches])
        axes.set_yticks([place + 0.5 for place in range(len(SKEWS))], [*SKEWS])
        axes.tick_params(length=0)
        axes.set_title(panel, fontsize=8, pad=10)
        axes.set_xlabel("cache, % of the footprint", fontsize=7)
    panels[-1].axis("off")
    patches = [Patch(color=colour, alpha=0.75, label=name) for name, colour in COLOURS.items()]
    panels[-1].legend(handles=patches, loc="center", title="the answer that wins", title_fontsize=8)
    return canvas


@tabled("answer | cells that it wins | saves most | where | saves least | where | read hits, at worst")
def _wins(runs: Runs) -> Iterator[Row]:
    every = [*cells(runs, *PANELS)]
    for name in SHORT:
        most, least = max(every, key=lambda cell: cell.saved(name)), min(every, key=lambda cell: cell.saved(name))
        ends = [(show(cell.saved(name), "share"), cell.name) for cell in (most, least)]
        wins = f"{sum(cell.winner == name for cell in every)} of {len(every)}"
        hits = min(_hits(cell.found[name]) - _hits(cell.found[NONE]) for cell in every)
        yield (
            name,
            wins,
            *(
                ("–",) * 5
                if name == NONE
                else (*ends[0], *ends[1], f"{round(100 * hits, 1) + 0.0:.1f} points".replace("-", "−"))
            ),
        )


def _hits(run: Run) -> float:
    cache = run.document["metrics"]["cache"]
    return float(cache["read_hits"] / max(1, cache["read_hits"] + cache["read_misses"]))


@tabled("where | closed form leaves | the run leaves | difference")
def _beside(runs: Runs) -> Iterator[Row]:
    for name, left, ran in _uniform(runs):
        yield name, f"{left:.3f}", f"{ran:.3f}", show_change(ran / left - 1)


def _headroom(runs: Runs) -> Grid:
    by_row: dict[tuple[str, str], dict[str, str]] = {}
    for panel in PANELS:
        for cell in cells(runs, panel):
            skew, at = _place(cell)
            waf, left = cell.found[cell.best].read(WAF_HOST), show(cell.left(cell.best), "share")
            by_row.setdefault((panel, f"{at:g} %"), {})[skew] = f"{left} ({waf:.2f}, {cell.bound:.2f})"
    rows = ((*head, *(of.get(skew, "–") for skew in SKEWS)) for head, of in by_row.items())
    return Grid(("panel", "cache", *SKEWS), tuple(rows))


def _on_drives(workload: str, runs: Runs) -> Grid:
    rows = []
    for drive in DRIVES:
        for cell in cells(runs, drive):
            if cell.found[NONE].experiment.name == _name(drive, workload):
                for name, run in cell.found.items():
                    metadata = run.document["metrics"].get("metadata") or {}
                    stores = metadata.get("stores", 0) / max(1, run.metrics.host_writes_pages)
                    mark = " ★" if name == cell.winner else ""
                    saved = show(cell.saved(name), "share") if name != NONE else ""
                    waf, *others = (_shown(run, one) for one in SHOWN)
                    left = show(cell.left(name), "share")
                    rows.append((drive, f"{name}{mark}", saved, waf, left, *others, f"{stores:.2f}"))
    columns = (
        "WAF",
        "left to save, at most",
        "hit ratio",
        "p99.9, write tails not modelled",
        "drive writes a day",
        "metadata stores a page",
    )
    return Grid(("drive", "answer", "saved", *columns), tuple(rows))


def _shown(run: Run, measure: Measure) -> str:
    """Show a measure; no response times of a drive that was calibrated without any."""
    return run.shown(measure) if measure != TAILS or _is_timed(run) else "not calibrated"


def _is_timed(run: Run) -> bool:
    return not any("without latencies" in limit for limit in run.scenario.to_dict()["limits"])


def _answer(runs: Runs) -> Mapping[str, Any]:
    def spans(shares: Iterable[float]) -> str:
        ends = [*shares]
        return f"{show(min(ends), 'share')} to {show(max(ends), 'share')}"

    every, drives = [*cells(runs, *PANELS)], [*cells(runs, *DRIVES)]
    winners = [cell.winner for cell in every]
    order = sorted(dict.fromkeys(winners), key=winners.count, reverse=True)
    sizes = sorted({_place(cell)[1] for cell in every if cell.winner == NONE})
    return {
        "wins": ", ".join(f"`{name}` {winners.count(name)}" for name in order),
        "cells": len(every),
        "map": spans(cell.saved(cell.best) for cell in every),
        "drives": spans(cell.saved(cell.best) for cell in drives),
        "empty": f"a cache of {' or '.join(f'{at:g} %' for at in sizes)}" if sizes else "no cache",
        "left_map": spans(cell.left(cell.best) for cell in every),
        "left_drives": spans(cell.left(cell.best) for cell in drives),
        "copies_map": spans(map(_copies, every)),
        "copies_drives": spans(map(_copies, drives)),
        "tails": _tails(drives),
    }


def _copies(cell: Cell) -> float:
    """Return the share of GC's copies in what is left to the best answer."""
    run = cell.found[cell.best]
    left = run.read(WAF_HOST) - cell.bound
    return run.metrics.programs_pages.gc / run.metrics.host_writes_pages / left if left else 0.0


def _tails(drives: Sequence[Cell]) -> str:
    """Say how much longer the tails of the answer by cost are, and those of the others."""
    known = [cell for cell in drives if _is_timed(cell.found[COST])]
    longer = {name: [cell.found[name].change(cell.found[NONE], TAILS) or 0.0 for cell in known] for name in SHORT}
    if not known:
        return "no drive was calibrated with response times"
    most, rises = max(longer[COST]), sum(one > PAYS for one in longer[COST])
    where = known[longer[COST].index(most)].name
    others = max(max(of) for name, of in longer.items() if name != COST)
    at_worst = (
        f"at worst {show_change(most)} against `none` ({where}); the other answers {show_change(others)} at worst"
    )
    return f"by more than {PAYS:.0%} in {rises} of {len(known)} cases, {at_worst}"


STUDY = Study(
    name="atlas",
    text=Text.beside(__file__, globals()),
    experiments=experiments,
    hypotheses=(_never_worse, _one_for_all, _eviction, _theory, _placement, _drives),
    answer=_answer,
    exhibits=(
        Picture("figure-1", _draw, _wins),
        Exhibit("table-1", _beside),
        *(Exhibit(f"table-{number}", partial(_on_drives, workload)) for number, workload in enumerate(WORKLOADS, 2)),
        Exhibit("table-5", _headroom),
    ),
)
