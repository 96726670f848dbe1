"""Where trims of logged pages pay: pools, skews, distances of checkpoints, spare space, units, drives, rivals.

The generator of `the_log_holds_the_page.py`, on the drive of `drive.py`. In the folder of the examples,
`python -m trimmed_page.map base grid spare units drives` (or some of these) prints a table in Markdown for each; `grid`
also draws `log-holds-figure-1.svg`. The seed is 1 where a row does not name another. A run takes about a second.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt

from coflash import Result, Scenario
from trimmed_page import drive
from trimmed_page.database import PAGE_BYTES, Database
from trimmed_page.drive import BASE

TRANSACTIONS = 40_000
CASES: dict[str, dict[str, Any]] = {
    "none": {},
    "log": {"trims_log": True},
    "pages": {"deallocate": "first-dirty"},
    "both": {"trims_log": True, "deallocate": "first-dirty"},
}
CALIBRATED = {"7450-max": True, "p5520": True, "cm7-r": True, "pe8110": True, "wd": True, "pm9a3": False}
"""The drives whose calibration says whether trimmed pages are freed."""


def measured(database: Database, keys: Mapping[str, object], whole: int = 1) -> Result:
    """Return the result of a database on a drive that frees units of `whole` bytes."""
    with tempfile.TemporaryDirectory() as folder:
        trace = drive.written(database, TRANSACTIONS, Path(folder) / "requests.csv", whole)
        return drive.measured(database, trace, keys)


def row(
    database: Database, keys: Mapping[str, object] | None = None, whole: int = 1
) -> dict[str, tuple[float, float, float]]:
    """Return WAF, flash programs a transaction, and time a transaction in microseconds, of each case."""
    found = {}
    for case, options in CASES.items():
        result = measured(replace(database, **options), keys or {}, whole)
        time = result.metrics.simulated_ns / TRANSACTIONS / 1000
        found[case] = (drive.waf(result), drive.programs(result, TRANSACTIONS), time)
    return found


def less(found: dict[str, tuple[float, float, float]], case: str, rival: str, measure: int = 1) -> float:
    """Return the change of a measure, in percent."""
    return 100 * (found[case][measure] / found[rival][measure] - 1)


def signed(value: float) -> str:
    """Return a change as text."""
    return f"{value:+.1f} %".replace("-", "−")


def table(first: str, rows: dict[str, dict[str, tuple[float, float, float]]]) -> None:
    """Print WAF of each case, and what trims of pages change alone and above the dead log."""
    print(f"\n| {first} | WAF: none | log | pages | both | programs by pages | above log | time by pages | above log |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, found in rows.items():
        wafs = " | ".join(f"{found[case][0]:.2f}" for case in CASES)
        changes = [less(found, "pages", "none"), less(found, "both", "log")]
        changes += [less(found, "pages", "none", 2), less(found, "both", "log", 2)]
        print(f"| {name} | {wafs} | {' | '.join(signed(change) for change in changes)} |", flush=True)


def base() -> None:
    """Print the base over seeds, and above rivals."""
    rows = {f"seed {seed}": row(replace(BASE, seed=seed)) for seed in (1, 2, 3)}
    rows["two handles, log and data"] = row(BASE, drive.two_handles(BASE))
    rows["SepBIT"] = row(BASE, {"ftl.placement": {"name": "sepbit"}})
    rows["the pool's bytes as spare space, too"] = row(BASE, drive.pool_as_spare(BASE))
    cached = drive.pool_as_cache(BASE)
    rows["the pool's bytes as a cache in the drive, too"] = row(BASE, cached)
    rows["such a cache, with CDM"] = row(BASE, {**cached, "cooperation.name": "cdm"})
    rows["such a cache, with CDM and W-TinyLFU"] = row(
        BASE, {**cached, "cooperation.name": "cdm", "cache.policy": "w-tinylfu"}
    )
    rows["commits shared by 16"] = row(replace(BASE, commits=16))
    rows["doublewrite in place of images"] = row(replace(BASE, images="doublewrite"))
    table("base, and rivals", rows)
    images()


def logged_bytes(database: Database) -> int:
    """Return how much a database logs."""
    new = replace(database)
    for _ in new.requests(TRANSACTIONS):
        pass
    return new.logged_bytes


def images() -> None:
    """Print programs a transaction beside those of a database without images, on a drive that writes pages whole.

    Its log is so short that no checkpoint is due within a run; with a distance as much shorter they are as many.
    """
    lone = replace(BASE, images="none")
    as_often = replace(lone, distance=BASE.distance * logged_bytes(lone) / logged_bytes(BASE), trims_log=True)
    space: dict[str, object] = {"flash.exported": f"{-(-BASE.space_bytes // drive.UNIT_BYTES) * drive.UNIT_BYTES}B"}
    keys: dict[str, dict[str, object]] = {
        "base": {},
        "two handles, log and data": drive.two_handles(BASE),
        "SepBIT": {"ftl.placement": {"name": "sepbit"}},
        "7% of spare": {"ftl.spare.share": "7%"},
        "28% of spare": {"ftl.spare.share": "28%"},
    }
    print("\n| programs a transaction | none | log | pages | both | no images | checkpoints as often, log |")
    print("|---|---|---|---|---|---|---|")
    for name, more in keys.items():
        found = [programs for _, programs, _ in row(BASE, more).values()]
        found += [drive.programs(measured(each, {**more, **space}), TRANSACTIONS) for each in (lone, as_often)]
        print(f"| {name} | {' | '.join(f'{programs:.2f}' for programs in found)} |", flush=True)


POOLS, SKEWS, DISTANCES = (0.05, 0.1, 0.2, 0.3), (0.0, 0.8, 1.1), (0.05, 0.25, 0.5)


def grid() -> None:
    """Print and draw the map over pools, skews and distances."""
    rows = {
        (skew, distance, pool): row(replace(BASE, pool=pool, skew=skew, distance=distance))
        for skew in SKEWS
        for distance in DISTANCES
        for pool in POOLS
    }
    table("Zipf, distance, pool", {f"{s:g}, {d:.0%}, {p:.0%}": found for (s, d, p), found in rows.items()})
    figure, panels = plt.subplots(1, len(SKEWS), figsize=(8, 2.6), sharey=True, layout="constrained")
    for axes, skew in zip(panels, SKEWS, strict=True):
        values = np.array([[less(rows[skew, d, p], "both", "log") for p in POOLS] for d in DISTANCES])
        image = axes.imshow(values, cmap="Blues_r", vmin=-40, vmax=0, origin="lower", aspect="auto")
        for (y, x), value in np.ndenumerate(values):
            light = value < -18
            axes.text(x, y, f"{value:+.0f}".replace("-", "−"), ha="center", va="center", color="w" if light else "k")
        axes.set_xticks(range(len(POOLS)), [f"{pool:.0%}" for pool in POOLS])
        axes.set(xlabel="pool", title="uniform" if not skew else f"Zipf {skew:g}")
    panels[0].set_yticks(range(len(DISTANCES)), [f"{distance:.0%}" for distance in DISTANCES])
    panels[0].set_ylabel("log between\ncheckpoints")
    figure.colorbar(image, ax=panels, label="programs, %")
    figure.savefig("log-holds-figure-1.svg")
    figure.savefig("log-holds-figure-1.png", dpi=120)


def spare() -> None:
    """Print the base over spare space."""
    table(
        "spare", {f"{share:.0%}": row(BASE, {"ftl.spare.share": f"{share:.0%}"}) for share in (0.07, 0.12, 0.28, 0.5)}
    )


def units() -> None:
    """Print the base over the unit that the drive maps, and over what a command costs."""
    rows = {}
    for kib in (4, 8, 16, 32, 64):
        keys: dict[str, object] = {} if kib == 4 else {"ftl.indirection_unit": f"{kib}KiB"}
        rows[f"units of {kib} KiB"] = row(BASE, keys)
        if kib > 8:
            rows[f"units of {kib} KiB, freed whole"] = row(BASE, keys, whole=kib << 10)
    for microseconds in (10, 20, 50):
        rows[f"a command takes {microseconds} µs"] = row(BASE, {"controller.write_command": f"{microseconds}us"})
    table("unit, command", rows)
    trims = measured(replace(BASE, **CASES["pages"]), {}).metrics.host_trims_pages * 4096 / PAGE_BYTES / TRANSACTIONS
    times = {case: time for case, (_, _, time) in rows["units of 4 KiB"].items()}
    for rival, case in {"none": "pages", "log": "both"}.items():
        saved = times[rival] - times[case]
        print(f"\n{trims:.2f} trims a transaction, above {rival}, save {saved:.0f} µs", end=": ")
        print(f"all is lost where one takes {saved / trims:.0f} µs")


def drives() -> None:
    """Print the base with the spare space, the victims and the times of calibrated drives.

    A page is read in the mean of their times: blocks of four pages have no whole word lines of three.
    """
    rows = {}
    for name, frees in CALIBRATED.items():
        values = Scenario.load(name).to_dict()
        timing = dict(values["timing"])
        if reads := timing.pop("page_reads"):
            timing["page_read"] = f"{round(sum(int(time.removesuffix('ns')) for time in reads) / len(reads))}ns"
        keys: dict[str, object] = {"ftl.spare": values["ftl"]["spare"], "timing": timing}
        keys |= {"gc.victim": values["gc"].get("victim", "greedy")}
        keys |= {"controller.write_command": values.get("controller", {}).get("write_command", "0ns")}
        rows[name if frees else f"{name}, if it freed trimmed pages"] = row(BASE, keys)
    table("as calibrated", rows)


PARTS: dict[str, Callable[[], None]] = {"base": base, "grid": grid, "spare": spare, "units": units, "drives": drives}


def main(names: Sequence[str]) -> None:
    """Print the parts that are named, or all."""
    for name in names or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
