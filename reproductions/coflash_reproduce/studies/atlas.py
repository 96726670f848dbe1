"""The atlas: what GC may do with a valid page, and when which answer pays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from coflash import palette
from coflash.demo import find_trace
from coflash.measures.measure import MEASURES
from coflash.quantity import parsed
from coflash.results.estimate import estimate
from coflash.runs.run import fewest_programs
from coflash.scenario import Scenario, leaf
from coflash.sweep.advise import left_of
from coflash.sweep.answers import DEVICE, Answer
from coflash_reproduce.declare import study
from coflash_reproduce.paper import Case, Experiment, Run, spread
from coflash_reproduce.study import asked, four_dies

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
WITH_FORM = (BASE, READS, SPARE)
"""The panels of which the closed form says something."""
CACHES = (0.1, 1, 5, 10, 20)
DRIVES = ("7450-max", "cm7-r", "p5520", "pe8110", "pm9a3", "pm9d3a-drive-a", "wd")
ZIPF, JESD, PGBENCH = "Zipf 0.9, half reads", "JESD219", "pgbench (trace)"
WORKLOADS = (ZIPF, JESD, PGBENCH)
ALIKE, THEORY, PAYS, KEPT = 0.02, 0.1, 0.1, 0.75
TAILS = MEASURES["response_ns.all.p99_9"]
JOULES = {"page_read": 3700, "page_program": 4100, "block_erase": 100}
"""Nanojoules of flash for a page of 4 KiB, an erase shared by the pages of its block."""


def _name(*parts: str) -> str:
    return "-".join(part.replace(",", "").replace(" ", "-").replace("%", "percent") for part in parts)


def _buffered(drive: str) -> str:
    return f"{drive}, volatile"


PLACES = {
    **{_name(panel, skew): ["map", panel, skew] for panel in PANELS for skew in SKEWS},
    **{_name(drive, workload): ["drive", drive, workload] for drive in DRIVES for workload in WORKLOADS},
    **{_name(_buffered(drive), workload): ["volatile", drive, workload] for drive in DRIVES for workload in WORKLOADS},
}
"""What each experiment is of: the map or a drive, its panel or drive, and its skew or workload."""


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


def _half(device: Scenario) -> str:
    """Return the time of a fast program: half that of another, as for ShadowGC."""
    time, _ = parsed(device.to_dict()["timing"]["page_program"]) or (0.0, "")
    return f"{time / 2:.0f}ns"


@cache
def _bound(scenario: Scenario, trace: tuple[str, ...]) -> float:
    return fewest_programs(scenario, trace).waf_host or 0.0


def bound_of(run: Run) -> float:
    """Return the WAF below which no cooperation goes with the caches of a run, the future known."""
    trace = run.experiment.trace  # the same for all seeds
    return _bound(run.scenario.with_({"seed": 1}) if trace else run.scenario, trace)


def closed_form(run: Run) -> float:
    """Return what the closed form leaves, with the mean of dirty pages by the shares of pages that leave dirty."""
    cache = run.document["metrics"]["cache"]
    gone = cache["dirty_evictions_pages"] + cache["clean_evictions_pages"]
    dirty = cache["capacity_pages"] * cache["dirty_evictions_pages"] / gone if gone else 0.0
    return left_of(run.scenario, _live(run), dirty) or 0.0


def _live(run: Run) -> int:
    return int(run.document["workload"]["logical_bytes"]) // 4096


def pays_from(panel: str, run: Run) -> str:
    """Say from which cache on, in % of the footprint, the closed form saves enough to pay under uniform writes."""
    live, dirty = _live(run), 1 - float(PANELS[panel][0].rstrip("%")) / 100
    tried = (step / 20 for step in range(1, 400)) if panel in WITH_FORM else ()
    pays = (at for at in tried if (left_of(run.scenario, live, live * dirty * at / 100) or 1) <= 1 - PAYS)
    return next((f"; uniform writes pay from {at:.2g} %" for at in pays), "")


def refused(answer: str, run: Run) -> str:
    """Say why the device of a run cannot have an answer."""
    return ANSWERS[answer].refused(run.scenario)


def declared(answer: str) -> str:
    """Return the memory that the scheme of an answer declares."""
    return ANSWERS[answer].declared


def memory_share(answer: str, run: Run) -> float:
    """Return that memory as a share of the capacity of a run's device."""
    result = run.result()
    return float((ANSWERS[answer].memory_bytes(result) or 0) / result.workload["logical_bytes"])


def is_timed(run: Run) -> bool:
    """Return whether a drive was calibrated with response times."""
    return not any("without latencies" in limit for limit in run.scenario.to_dict()["limits"])


def tail_of(values: list[float]) -> str:
    """Show a mean of tails, whose values are the ends of bins."""
    mean = estimate(values)
    return spread(mean.widened(TAILS.bin_width * (mean.mean or 0.0)) if mean.half_width else mean, TAILS.unit)


def half_width(values: list[float]) -> float:
    """Return the half-width of the interval of a mean; 0 if it has none."""
    return estimate(values).half_width or 0.0


COLOURS = {
    NONE: "#e4e4e4",
    **{name: palette.LINES[place % len(palette.LINES)] for place, name in enumerate([*SHORT][1:])},
}
STUDY = study(globals())
