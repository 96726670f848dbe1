"""The atlas: what GC may do with a valid page, and when which answer pays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from operator import methodcaller
from statistics import fmean
from typing import Any, NamedTuple

from coflash import palette
from coflash.charts import Chart
from coflash.demo import find_trace
from coflash.measures.measure import MEASURES, WAF_HOST
from coflash.quantity import Unit, parsed, show, show_change
from coflash.results.estimate import Estimate, estimate
from coflash.runs.run import fewest_programs
from coflash.scenario import Scenario, leaf
from coflash.sweep.advise import left_of
from coflash.sweep.answers import DEVICE, Answer
from coflash_reproduce import drawing
from coflash_reproduce.paper import Case, Exhibit, Experiment, Grid, Picture, Row, Run, Runs, spread, tabled
from coflash_reproduce.study import Finding, Study, asked, four_dies
from coflash_reproduce.text import Text

NONE, OVERWRITES, CDM, COST = "none", "cdm-overwrites", "cdm", "expected-cost"
FIRST, CDM_FIRST = "clean first", "cdm with clean first"
CONSISTENT = Answer("cdm-consistent", (("cooperation.name", "cdm-consistent"),))
ANSWERS = {one.name: one for one in (*DEVICE, CONSISTENT) if not one.is_step}
SHORT = {
    NONE: "none",
    FIRST: "first",
    OVERWRITES: "overwrites",
    "cdm-removable": "removable",
    CDM: "cdm",
    CDM_FIRST: "cdm, first",
    "move-in": "move in",
    COST: "cost",
}
"""The answers, those that take less memory first; where two are alike, the first one has the cell."""
SGC = "sgc"
SHADOWS = (NONE, "hgc", SGC)
"""The answers of ShadowGC, for volatile memories of the same size in the host and in the device."""
SKEWS: Mapping[str, Any] = {
    "uniform": "uniform",
    **{f"Zipf {exponent}": {"name": "zipf", "exponent": exponent} for exponent in (0.7, 0.9, 1.1)},
}
BASE, READS, SPARE = "half reads, 12 % spare", "no reads", "28 % spare"
QUARTER, FOURFOLD = SIZES = ("blocks a quarter as large", "blocks four times as large")
PANELS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    BASE: ("50%", {}),
    READS: ("0%", {}),
    SPARE: ("50%", {"ftl.spare.share": "28%"}),
    "dac": ("50%", {"ftl.placement": "dac"}),
    "sepbit": ("50%", {"ftl.placement": "sepbit"}),
    QUARTER: ("50%", {"flash.pages_per_block": 4, "flash.blocks_per_plane": 4096, "gc.low_mark": 32}),
    FOURFOLD: ("50%", {"flash.pages_per_block": 64, "flash.blocks_per_plane": 256, "gc.low_mark": 2}),
}
"""Panels of the map: the share of reads, and what is unlike the first one."""
CACHES = (0.1, 1, 5, 10, 20)
DRIVES = ("7450-max", "cm7-r", "p5520", "pe8110", "pm9a3", "pm9d3a-drive-a", "wd")
ZIPF, JESD, PGBENCH = "Zipf 0.9, half reads", "JESD219", "pgbench (trace)"
WORKLOADS = (ZIPF, JESD, PGBENCH)
ALIKE, THEORY, PAYS, KEPT = 0.02, 0.1, 0.1, 0.75
TAILS = MEASURES["response_ns.all.p99_9"]
WAF, TAIL, ENERGY = (methodcaller("read", one) for one in (WAF_HOST, TAILS, MEASURES["energy.total"]))
JOULES = {"page_read": 3700, "page_program": 4100, "block_erase": 100}
"""Nanojoules of flash for a page of 4 KiB, an erase shared by the pages of its block."""


@dataclass(frozen=True)
class Scale:
    """The size of the experiments."""

    requests: int
    caches: tuple[float, ...]
    drives: tuple[str, ...]
    workloads: tuple[str, ...]
    seeds: int
    """The runs of each case on drives; the map has one."""


SCALES = {
    "quick": Scale(60_000, (1, 5, 20), DRIVES[4:5], WORKLOADS[:2], 1),
    "full": Scale(200_000, CACHES, DRIVES, WORKLOADS, 3),
}


def experiments(scale_name: str, _: tuple[str, ...]) -> tuple[Experiment, ...]:
    """Return the experiments: the map's, each a skew of a panel, and each workload on each drive."""
    scale, found = SCALES[scale_name], []
    for panel, (reads, changes) in PANELS.items():
        for skew, generator in SKEWS.items():
            device = asked(_small().with_(changes), generator, scale.requests, reads)
            caches = (5.0,) if panel in SIZES else scale.caches
            cases = tuple(Case(name, at, _changes(name, at, device)) for at in caches for name in SHORT)
            found.append(Experiment(_name(panel, skew), f"{panel}, {skew}", device, cases))
    for workload in scale.workloads:
        for drive in scale.drives:
            trace = (str(find_trace()),) if workload == PGBENCH else ()
            device = _drive(drive, workload, scale.requests)
            cases, title = tuple(Case(name, 5, _changes(name, 5, device)) for name in SHORT), f"{drive}, {workload}"
            found.append(Experiment(_name(drive, workload), title, device, cases, trace, seeds=scale.seeds))
            name, device = _name(_buffered(drive), workload), _buffers(device)
            able = tuple(Case(one, 5, _changes(one, 5, device)) for one in SHADOWS if not ANSWERS[one].refused(device))
            found.append(Experiment(name, f"{title}, volatile memories", device, able, trace, seeds=scale.seeds))
    return tuple(found)


def _name(*parts: str) -> str:
    return "-".join(part.replace(",", "").replace(" ", "-").replace("%", "percent") for part in parts)


def _changes(name: str, cache: float, device: Scenario) -> dict[str, Any]:
    fast = {"timing.page_program_fast": _half(device)} if name in SHADOWS[1:] else {}
    own = {one[0]: leaf(device.set([one]).to_dict(), one[0].split(".")) for one in ANSWERS[name].on(device)}
    return {"cache.size": f"{cache}%", **fast, **own}


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
    pages = {"block_erase": values["flash"]["pages_per_block"]}
    values["energy"] = {key: f"{each * pages.get(key, 1)}nJ" for key, each in JOULES.items()}
    fill = "random" if workload == PGBENCH else "sequential"  # what a seed varies of a recorded trace
    return Scenario.from_dict(values).with_({"precondition.until_steady": True, "precondition.fill": fill})


def _buffers(drive: Scenario) -> Scenario:
    """Return a drive with ShadowGC's memories, and the blocks that GC needs to fill two at once."""
    own = drive.to_dict()["gc"]
    marks = {"gc.low_mark": max(2, own["low_mark"])}
    if "mark" in own["mode"]:
        marks["gc.mode.mark"] = max(3, own["mode"]["mark"])
    return drive.with_(
        {"cache.size": "5%", "cache.volatile": True, "host_buffer.size": "5%", "cooperation": NONE, **marks}
    )


def _buffered(drive: str) -> str:
    return f"{drive}, volatile"


def _half(device: Scenario) -> str:
    """Return the time of a fast program: half that of another, as for ShadowGC."""
    time, _ = parsed(device.to_dict()["timing"]["page_program"]) or (0.0, "")
    return f"{time / 2:.0f}ns"


class Cell(NamedTuple):
    """A place of the map, or a workload on a drive: its runs by answer, one for each seed."""

    name: str
    found: Mapping[str, Sequence[Run]]

    def saving(self, answer: str) -> Estimate:
        """Estimate the share of the programs of `none` that an answer saves; nothing where none are needed."""
        pairs = zip(map(WAF, self.found[answer]), map(WAF, self.found[NONE]), strict=True)
        return estimate([1 - ran / base if base else 0.0 for ran, base in pairs])

    def saved(self, answer: str) -> float:
        """Return the mean of that share."""
        return self.saving(answer).mean or 0.0

    @property
    def best(self) -> str:
        """The answer that saves the most, perhaps not beyond noise."""
        return max(self.found, key=self.saved)

    @property
    def bounds(self) -> list[float]:
        """The WAF below which no cooperation goes with these caches, the future known, of each seed."""
        trace = _experiment(self).trace  # the same for all seeds
        return [_bound((self.found[NONE][0] if trace else run).scenario, trace) for run in self.found[NONE]]

    def lefts(self, answer: str) -> list[float]:
        """Return the share of an answer's programs that is above the bound, of each seed."""
        pairs = zip(map(WAF, self.found[answer]), self.bounds, strict=True)
        return [1 - bound / ran if ran else 0.0 for ran, bound in pairs]

    def mean(self, answer: str, of: Callable[[Run], float | None]) -> float:
        """Return the mean of a number of an answer's runs."""
        return fmean(of(run) or 0.0 for run in self.found[answer])

    @property
    def winner(self) -> str:
        """The answer with the least memory among those as good as the best."""
        most = self.saved(self.best)
        return next(name for name in self.found if most - self.saved(name) <= ALIKE)


@cache
def _bound(scenario: Scenario, trace: tuple[str, ...]) -> float:
    return fewest_programs(scenario, trace).waf_host or 0.0


def cells(runs: Runs, *groups: str) -> Iterator[Cell]:
    """Yield the cells of panels or drives that were run."""
    for name in (_name(one, other) for one in groups for other in (*SKEWS, *WORKLOADS)):
        found: dict[float, dict[str, list[Run]]] = {}
        for run in runs.of(name):
            found.setdefault(run.case.at, {}).setdefault(run.case.line, []).append(run)
        for at, of in found.items():
            yield Cell(f"{of[NONE][0].experiment.title}, cache {at:g} %", of)


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
    return _kept(runs, "dac", "sepbit")


def _block_size(runs: Runs) -> Finding:
    return _kept(runs, *SIZES)


def _kept(runs: Runs, *panels: str) -> Finding:
    """Return whether panels keep most of the first one's best saving."""
    by_place = {panel: {_place(cell): cell for cell in cells(runs, panel)} for panel in (BASE, *panels)}
    shares = [
        (cell.saved(cell.best) / (max(map(by_place[BASE][place].saved, cell.found)) or 1.0), cell.name)
        for panel in panels
        for place, cell in by_place[panel].items()
        if place[1] == 5
    ]
    least, name = min(shares)
    return Finding(least >= KEPT, f"at least {show(least, 'share')} of the saving is left ({name})")


def _shadows(runs: Runs) -> Finding:
    able = [cell for cell in cells(runs, *map(_buffered, DRIVES)) if SGC in cell.found]
    cell = min(able, key=lambda one: one.saved(SGC))
    return Finding(cell.saved(SGC) >= -ALIKE, f"the least that it saves: {_saved(cell, SGC)} ({cell.name})")


def _saved(cell: Cell, answer: str) -> str:
    return spread(cell.saving(answer), "share")


def _experiment(cell: Cell) -> Experiment:
    return cell.found[NONE][0].experiment


def _place(cell: Cell) -> tuple[str, float]:
    return _experiment(cell).title.rpartition(", ")[2], cell.found[NONE][0].case.at


def _drives(runs: Runs) -> Finding:
    found = [*cells(runs, *DRIVES)]
    cell = min(found, key=lambda one: one.saved(one.best))
    pays = sum(one.saved(one.best) >= PAYS for one in found)
    star = f"; {cell.winner} ★ takes less memory and saves {_saved(cell, cell.winner)}, as much but for noise"
    least = f"{_saved(cell, cell.best)} ({cell.name}, {cell.best}{star if cell.best != cell.winner else ''})"
    return Finding(pays == len(found), f"{pays} of {len(found)}; the least: {least}")


def _uniform(runs: Runs) -> Iterator[tuple[str, float, float]]:
    """Yield, where writes are uniform, what the closed form and the runs leave under known overwrites."""
    for cell in cells(runs, BASE, READS, SPARE):
        if "uniform" in cell.name:
            left = _closed(cell.found[OVERWRITES][0])
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


def _draw(runs: Runs) -> list[Chart]:
    found = []
    for panel in (one for one in PANELS if one not in SIZES):
        by_place = {_place(cell): cell for cell in cells(runs, panel)}
        caches = sorted({at for _, at in by_place})
        pays = _boundary(runs, panel) if panel in (BASE, READS, SPARE) else None
        title = panel if pays is None else f"{panel}; uniform writes pay from {pays:.2g} %"
        across = "cache, % of the footprint", [f"{at:g}" for at in caches]
        found.append(_map([[by_place[skew, at] for at in caches] for skew in _skews(by_place)], across, title))
    sizes = {"1/4": QUARTER, "1": BASE, "4": FOURFOLD}
    at_five = [
        {_place(cell)[0]: cell for cell in cells(runs, panel) if _place(cell)[1] == 5} for panel in sizes.values()
    ]
    rows = [[by_skew[skew] for by_skew in at_five] for skew in SKEWS if all(skew in one for one in at_five)]
    across = "size of blocks, 1 as in the other panels", [*sizes]
    return [*found, _map(rows, across, "half reads, 12 % spare, cache 5 %")]


def _skews(by_place: Mapping[tuple[str, float], Cell]) -> list[str]:
    ran = {skew for skew, _ in by_place}
    return [skew for skew in SKEWS if skew in ran]


def _map(rows: Sequence[Sequence[Cell]], across: tuple[str, Sequence[str]], title: str) -> Chart:
    """Return the winners of cells, a row for each skew from below."""

    def text(cell: Cell) -> str:
        saved = cell.saved(cell.winner)
        return "none" if cell.winner == NONE else f"{SHORT[cell.winner]} {-100 * saved:.0f} %".replace("-", "−")

    texts = [[(cell.winner, text(cell)) for cell in row] for row in rows]
    skews = [_place(row[0])[0] for row in rows if row]
    return drawing.cells(texts, across, ("", skews), COLOURS, title)


@tabled("answer | cells that it wins | saves most | where | saves least | where | read hits, at worst")
def _wins(runs: Runs) -> Iterator[Row]:
    every = [*cells(runs, *PANELS)]
    for name in SHORT:
        most, least = max(every, key=lambda cell: cell.saved(name)), min(every, key=lambda cell: cell.saved(name))
        ends = [(show(cell.saved(name), "share"), cell.name) for cell in (most, least)]
        wins = f"{sum(cell.winner == name for cell in every)} of {len(every)}"
        hits = 100 * min(cell.mean(name, _hits) - cell.mean(NONE, _hits) for cell in every)
        lost = f"{round(hits, 1) + 0.0:.1f} points".replace("-", "−")
        yield name, wins, *(("–",) * 5 if name == NONE else (*ends[0], *ends[1], lost))


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
            waf, left = cell.mean(cell.best, WAF), show(fmean(cell.lefts(cell.best)), "share")
            by_row.setdefault((panel, f"{at:g} %"), {})[skew] = f"{left} ({waf:.2f}, {fmean(cell.bounds):.2f})"
    rows = ((*head, *(of.get(skew, "–") for skew in SKEWS)) for head, of in by_row.items())
    return Grid(("panel", "cache", *SKEWS), tuple(rows))


def _stores(run: Run) -> float:
    metadata = run.document["metrics"].get("metadata") or {}
    return float(metadata.get("stores", 0) / max(1, run.metrics.host_writes_pages))


def _hit_ratio(run: Run) -> float:
    """Return the hit ratio of the memory that the host reaches first."""
    metrics = run.document["metrics"]
    return float((metrics.get("host_buffer") or metrics["cache"])["hit_ratio"])


NUMBERS: Mapping[str, tuple[Unit, Callable[[Run], float | None]]] = {
    "WAF": ("ratio", WAF),
    "hit ratio": ("share", _hit_ratio),
    "p99.9, write tails not modelled": ("ns", lambda run: TAIL(run) if _is_timed(run) else None),
    "drive writes a day": ("ratio", lambda run: run.read(MEASURES["endurance.drive_writes_per_day"])),
    "flash energy a page": (
        "J",
        lambda run: ENERGY(run) / (run.metrics.host_reads_pages + run.metrics.host_writes_pages),
    ),
    "metadata stores a page": ("ratio", _stores),
}
"""The columns of drives: unit, and number of a run."""


def _on(runs: Runs, workload: str, *drives: str) -> Iterator[tuple[str, Cell]]:
    """Yield the cells of a workload, each with its drive."""
    for drive in drives:
        yield from ((drive, cell) for cell in cells(runs, drive) if _experiment(cell).name == _name(drive, workload))


def _on_drives(workload: str, runs: Runs) -> Grid:
    rows = []
    for drive, cell in _on(runs, workload, *(one for name in DRIVES for one in (name, _buffered(name)))):
        for name, some in cell.found.items():
            shown = [_mean([of(run) for run in some], unit) for unit, of in NUMBERS.values()]
            saved, left = _saved(cell, name) if name != NONE else "", _mean(cell.lefts(name), "share")
            rows.append(
                (drive, f"{name}{' ★' if name == cell.winner and len(cell.found) > 1 else ''}", saved, *shown, left)
            )
    return Grid(("drive", "answer", "saved", *NUMBERS, "left to save, at most"), tuple(rows))


def _mean(values: Sequence[float | None], unit: Unit) -> str:
    """Show a mean over seeds; no response times of a drive that was calibrated without any."""
    found = estimate(values)
    if unit == TAILS.unit and found.half_width:
        found = found.widened(TAILS.bin_width * (found.mean or 0.0))
    return "not calibrated" if found.mean is None else spread(found, unit)


def _unable(workload: str, runs: Runs) -> Iterator[str]:
    """Yield which drives cannot have ShadowGC's answers, and why."""
    for drive, cell in _on(runs, workload, *map(_buffered, DRIVES)):
        for name in (one for one in SHADOWS if one not in cell.found):
            yield f"{drive}, cannot have `{name}`: {ANSWERS[name].refused(cell.found[NONE][0].scenario)}."


@tabled(
    "answer | its memories | memory of its scheme | of the drive's capacity | notices a page written | "
    "after a power cut: a write that was answered | one that was flushed | one that was committed"
)
def _needs(runs: Runs) -> Iterator[Row]:
    committed, kept, buffered = "there, if a commit followed", ("there",) * 3, [*map(_buffered, DRIVES)]
    for drives, answers, memories, cut in (
        (DRIVES, SHORT, "not volatile", kept),
        (DRIVES, [CONSISTENT.name], "not volatile", (committed, *kept[1:])),
        (buffered, SHADOWS[1:], "volatile", ("there or not", "there", "there, as flushed")),
    ):
        for name in answers:
            some = [cell.found[name if name in cell.found else NONE][0] for cell in cells(runs, *drives)]
            result, sent = some[0].result(), max(map(_notices, some))
            share = show((ANSWERS[name].memory_bytes(result) or 0) / result.workload["logical_bytes"], "share")
            yield name, memories, ANSWERS[name].declared, share, f"at most {sent:.2f}" if sent else "none", *cut


def _notices(run: Run) -> float:
    host = run.document["metrics"].get("host")
    return float(host["to_device"]["sent"] / max(1, run.metrics.host_writes_pages)) if host else 0.0


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
        "left_map": spans(fmean(cell.lefts(cell.best)) for cell in every),
        "left_drives": spans(fmean(cell.lefts(cell.best)) for cell in drives),
        "copies_map": spans(map(_copies, every)),
        "copies_drives": spans(map(_copies, drives)),
        "tails": _tails(drives),
        "energy": spans(1 - cell.mean(cell.best, ENERGY) / cell.mean(NONE, ENERGY) for cell in drives),
        "widest": show(max(cell.saving(one).half_width or 0.0 for cell in drives for one in SHORT), "share"),
        "shadows": "; ".join(_of_shadows(runs)),
        "sizes": spans(cell.saved(cell.best) for cell in cells(runs, *SIZES)),
    }


def _of_shadows(runs: Runs) -> Iterator[str]:
    """Yield what ShadowGC's answers save, by workload."""
    for workload in WORKLOADS:
        every = [cell for _, cell in _on(runs, workload, *map(_buffered, DRIVES))]
        for name in SHADOWS[1:]:
            found = [cell.saved(name) for cell in every if name in cell.found]
            if found:
                yield f"`{name}` {show(min(found), 'share')} to {show(max(found), 'share')} ({workload})"


def _copies(cell: Cell) -> float:
    """Return the share of GC's copies in what is left to the best answer."""
    left = cell.mean(cell.best, WAF) - fmean(cell.bounds)
    copies = cell.mean(cell.best, lambda run: run.metrics.programs_pages.gc / run.metrics.host_writes_pages)
    return copies / left if left else 0.0


def _tails(drives: Sequence[Cell]) -> str:
    """Say how much longer the tails of the answer by cost are, and those of the others."""
    known = [cell for cell in drives if _is_timed(cell.found[COST][0])]
    longer = {name: [cell.mean(name, TAIL) / cell.mean(NONE, TAIL) - 1 for cell in known] for name in SHORT}
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
    hypotheses=(_never_worse, _one_for_all, _eviction, _theory, _placement, _block_size, _drives, _shadows),
    answer=_answer,
    exhibits=(
        Picture("figure-1", _draw, _wins),
        Exhibit("table-1", _beside),
        *(
            Exhibit(f"table-{number}", partial(_on_drives, workload), partial(_unable, workload))
            for number, workload in enumerate(WORKLOADS, 2)
        ),
        Exhibit("table-5", _headroom),
        Exhibit("table-6", _needs),
    ),
)
