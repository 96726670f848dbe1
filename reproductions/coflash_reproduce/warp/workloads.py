"""The drive, the readings of what its logs leave open, and the experiments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from coflash.scenario import Scenario
from coflash_reproduce.paper import Case, Experiment, scenario_beside
from coflash_reproduce.warp.streams import (
    EXPORTED_GIB,
    NONE,
    OWN,
    SECOND,
    SHARED,
    UNIFORM,
    WORKLOADS,
    jobs,
    passes,
    trace,
)

UNITS = 985
EXPORTED_UNITS = EXPORTED_GIB * 4
"""Units of 256 MiB."""
FIRST, LAZY, IDLE, CALLER = "hard mark only", "and lazy mark", "and idle units", "and copies to the caller"
INITIALLY, PERSISTENTLY = "initially", "persistently"
_LAZY = {"gc.mode": {"name": "lazy", "mark": "10%", "valid": "5%"}}
READINGS: Mapping[str, Mapping[str, Any]] = {
    FIRST: {},
    LAZY: _LAZY,
    IDLE: {**_LAZY, "idle": "open"},
    CALLER: {**_LAZY, "idle": "open", "isolation": {"name": PERSISTENTLY, "copies": "of-caller"}},
}
"""The readings, each with one more than the one before it. None has a number that was chosen for the curves."""
SETTLED = CALLER
CURVES = {
    f"{workload.replace(' ', '-')}-{handles}": (workload, handles)
    for workload in WORKLOADS
    for handles in (OWN, SHARED, NONE)
}
SECONDS = {f"{SECOND}-{workload.replace(' ', '-')}": workload for workload in (*WORKLOADS, UNIFORM)}
"""The workloads of a second drive, by their experiments."""
SECOND_CURVES = tuple(SECONDS)
SECOND_UNITS, SECOND_PAGES = 4086, 512
"""Its units, of 128 MiB, and the pages of a block."""
COUNTED = tuple(name for name, (_, handles) in CURVES.items() if handles != NONE)
"""The curves that are counted: those of which a log has the mix, but for the overwriting stream of a shared handle."""
PROVISION = {5: "5 %", 7: "7 %", 10: "10 %", 14: "14 %"}
"""The over-provisioning of the drives of initial and persistent isolation, in percent."""
OP, EVEN, SIZES, MIXES, STREAM, RATES = "over-provisioning", "uniform-own", "size", "mix", "one-stream", "rates"
ANYWHERE, ONCE = "any place each time", "each place once a pass"
ORDERS = (ONCE, ANYWHERE)
SIZED = ("zipf-1.2-own", "zipf-1.2-shared")
"""The curves that are run at other sizes."""
SECOND_FROM = 16
"""How much smaller a drive is at least on which the second of them is run."""
MIXED = ("zipf-1.2-shared", "zipf-2.2-shared")
OVER_BESIDE = (0.86, 0.9, 1.02, 1.05)
"""What the overwriting stream of these curves may have written, of what the one beside it did."""
ASKED_MB: Mapping[str, tuple[int, int, int]] = {"told": (800, 77, 77), "of the log": (1805, 181, 180)}
"""The rates of handles 0, 1 and 2 in MB/s: told of the jobs, and reached by zoned, own, in fills 3 to 5."""
_SECONDS = {"told": 20, "of the log": 9}
"""For how long the jobs write on a drive 64 times smaller."""
TIMES = {"2.5 µs, 10 µs": ("2500ns", "10us"), "50 µs, 200 µs": ("50us", "200us"), "500 µs, 2 ms": ("500us", "2ms")}
"""The times of a program and an erase: the emulator's, and those of which its scripts say that they are scaled down."""
SPARES = (7, 14, 20, 28, 40)
"""Spare space of the real drive that writes one stream, in percent of what it exports: the one unknown."""


@dataclass(frozen=True)
class Scale:
    """The size of the experiments."""

    divisor: int
    """The drive is this many times smaller: its units are, of which it has as many."""
    fills: float
    others: Mapping[int, float] = field(default_factory=dict)
    """The sizes at which curves are run as well, and for how many fills."""
    only: tuple[str, ...] = ()
    """The curves, if these are run alone and under the settled reading."""


SCALES = {
    "quick": Scale(64, 11, {128: 11, 16: 11, 4: 5.5}),
    "full": Scale(16, 11, {64: 11, 128: 11, 4: 5.5}),
    "whole": Scale(1, 6, only=COUNTED),
}


def drive(divisor: int, units: int = UNITS, exported: int = EXPORTED_UNITS, pages: int = 1024) -> Scenario:
    """Return the drive with smaller units."""
    share = int((1 - exported / units) * 1e6) / 1e4
    flash = {"flash.blocks_per_plane": units, "flash.pages_per_block": pages // divisor}
    ftl = {"ftl.spare.share": f"{share:.4f}%", "ftl.placement": placement(PERSISTENTLY)}
    return scenario_beside(__file__, "warp.toml").with_({**flash, **ftl})


def placement(isolation: str, **more: Any) -> dict[str, Any]:
    """Return the placement of eight handles."""
    return {"name": "fdp", "handles": 8, "isolation": isolation, "shares": ["100%"], **more}


def case(line: str, at: float, reading: str) -> Case:
    """Return a case under a reading."""
    changes = dict(READINGS[reading])
    of_handles = {key: changes.pop(key) for key in ("idle", "isolation") if key in changes}
    return Case(line, at, {**changes, "ftl.placement": placement(PERSISTENTLY) | of_handles})


def experiments(scale_name: str, _: tuple[str, ...]) -> tuple[Experiment, ...]:
    """Return an experiment for each curve, one without a published curve, the isolations, and a smaller drive."""
    scale, settled = SCALES[scale_name], (case(SETTLED, 0, SETTLED),)
    found = [
        Experiment(
            name,
            f"{workload}, {handles}",
            drive(scale.divisor),
            settled if scale.only else tuple(case(reading, 0, reading) for reading in READINGS),
            (trace(workload, handles, scale.divisor, scale.fills),),
        )
        for name, (workload, handles) in CURVES.items()
        if name in (scale.only or CURVES)
    ]
    if scale.only:
        return tuple(found)
    even = (trace(UNIFORM, OWN, scale.divisor, scale.fills),)
    found.append(Experiment(EVEN, "uniform, own", drive(scale.divisor), settled, even))
    in_a_handle = {**_LAZY, "ftl.placement": placement(INITIALLY, idle="open", handles=7)}
    for name, workload in SECONDS.items():
        second = drive(scale.divisor, SECOND_UNITS, EXPORTED_UNITS * 4, SECOND_PAGES)
        written = (trace(workload, SECOND, scale.divisor, scale.fills),)
        found.append(Experiment(name, workload, second, (Case(INITIALLY, 0, in_a_handle),), written))
    for percent, said in PROVISION.items():
        units = round(EXPORTED_UNITS * (1 + percent / 100))
        cases = (Case(INITIALLY, percent, in_a_handle), *(case(of, percent, of) for of in (IDLE, CALLER)))
        written = (trace("zoned", OWN, scale.divisor, 8, logged=False),)
        found.append(Experiment(f"{OP}-{percent}", said, drive(scale.divisor, units), cases, written))
    for name in SIZED:
        for divisor, fills in scale.others.items():
            if divisor >= SECOND_FROM or name == SIZED[0]:
                written = (trace(*CURVES[name], divisor, fills),)
                title = f"{name}, 1 / {divisor}"
                found.append(Experiment(f"{SIZES}-{name}-{divisor}", title, drive(divisor), settled, written))
    for name in MIXED:
        for times in OVER_BESIDE:
            written = (trace(*CURVES[name], scale.divisor, scale.fills, over_beside=times),)
            title = f"{name}, × {times}"
            found.append(Experiment(f"{MIXES}-{name}-{times}", title, drive(scale.divisor), settled, written))
    found += [_rated(scale, asked, times) for asked in ASKED_MB for times in TIMES]
    return (*found, *(_one_stream(scale, order, spare) for order in ORDERS for spare in SPARES))


def rated_seconds(asked: str, divisor: int) -> int:
    """Return for how long the jobs with rates write."""
    return max(_SECONDS[asked] * 64 // divisor, 1)


def _rated(scale: Scale, asked: str, times: str) -> Experiment:
    """Return the jobs of zoned, own, with rates, on a drive whose programs and erases take these times."""
    base = drive(scale.divisor).to_dict()
    base["timing"] |= dict(zip(("page_program", "block_erase"), TIMES[times], strict=True))
    base["workload"] = {"fio": jobs(ASKED_MB[asked], rated_seconds(asked, scale.divisor))}
    del base["replay"]
    rated = Case(asked, 0, case(SETTLED, 0, SETTLED).changes)
    return Experiment(f"{RATES}-{asked}-{times}", f"{asked}, {times}", Scenario.from_dict(base), (rated,))


def _one_stream(scale: Scale, order: str, spare: int) -> Experiment:
    """Return random writes of 128 KiB over a whole drive without handles: a page of this drive stands for a request."""
    divisor, fills = 4 * scale.divisor, int(scale.fills)
    base = drive(divisor).to_dict()
    base["ftl"].pop("placement")
    base["ftl"]["spare"] = {"share": f"{spare}%", "definition": "over_provisioning"}
    pages = int(UNITS * 65536 // divisor / (1 + spare / 100)) // 64 * 64 - 64
    if order == ANYWHERE:
        base["workload"] = {"synthetic": {"generator": "uniform", "requests": fills * pages}}
    written = () if order == ANYWHERE else (passes(pages, fills),)
    name = f"{STREAM}-{order}-{spare}"
    return Experiment(
        name, f"one stream, {order}, {spare} %", Scenario.from_dict(base), (Case(order, spare, {}),), written
    )
