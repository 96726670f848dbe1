"""Write the tables of docs/scaling.md: what `--scale` keeps, on a drive whose whole can be simulated.

    python scripts/scaling.py                # some minutes
    python scripts/scaling.py qlc-122t       # the run of the large drive alone

Each workload runs whole and at each scale, with several seeds: three drive writes after a fill and two random passes.
"""

from __future__ import annotations

import json
import math
import resource
import statistics
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import NamedTuple

import coflash
from coflash.demo import find_trace

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "scaling.md"
BEGIN, END = "<!-- The tables are written by `python scripts/scaling.py`. -->\n", "<!-- End of the tables. -->"
LARGE = "`coflash run qlc-122t --scale 1/64`"
DIES, BLOCKS, PAGES, PASSES = 4, 2053, 64, 3
"""The drive: 2,048 blocks of each die hold data."""
SEEDS = {"1": 2, "1/16": 4, "1/64": 12}
"""Runs of the whole and of its parts."""
SPARES = ("7%", "15%", "28%")
WORKLOADS = {"uniform": "uniform", "Zipf 0.9": {"name": "zipf", "exponent": 0.9}, "hot-cold": "hot-cold"}
STREAMS = {
    "one": [["host", "evict", "gc"]],
    "two": [["host", "evict"], ["gc"]],
}
CACHES = {"none": {"cache.size": "0B", "cooperation": "none"}, "cdm, 4%": {"cache.size": "4%", "cooperation": "cdm"}}


class Row(NamedTuple):
    """A drive and its workload."""

    spare: str
    workload: str
    blocks: str
    cache: str

    def scenario(self) -> coflash.Scenario:
        """Return the whole drive."""
        keys = {
            "flash.channels": DIES,
            "flash.blocks_per_plane": BLOCKS,
            "flash.pages_per_block": PAGES,
            "ftl.spare": {"share": self.spare, "definition": "spare_of_physical"},
            "ftl.shared_streams": STREAMS[self.blocks],
            "gc.low_mark": 4,
            "precondition.random_passes": 2,
            "workload.synthetic": {"generator": WORKLOADS[self.workload], "requests": DIES * BLOCKS * PAGES * PASSES},
            "replay.mode": "closed",
            "replay.queue_depth": DIES,
        }
        return coflash.Scenario.load("random-5g").with_({**keys, **CACHES[self.cache]})


ROWS = [Row(*each) for each in product(SPARES, WORKLOADS, STREAMS, CACHES)]


def measured(row: Row, scale: str) -> tuple[list[float], list[float]]:
    """Return the programs per host write and the mean response of each seed."""
    scenario = row.scenario().scaled(scale)
    found = [coflash.run(scenario.with_(seed=seed)).metrics for seed in range(11, 11 + SEEDS[scale])]
    return [one.waf_host or 0.0 for one in found], [one.response_ns.all.mean or 0.0 for one in found]


def deviation(found: list[float], whole: list[float]) -> tuple[float, float]:
    """Return the deviation of the mean in percent, and two standard errors."""
    base = statistics.mean(whole)
    spread = math.sqrt(sum(statistics.variance(each) / len(each) for each in (found, whole)))
    return 100 * (statistics.mean(found) / base - 1), 200 * spread / base


def _cell(found: list[float], whole: list[float]) -> str:
    by, noise = deviation(found, whole)
    return f"{by:+.1f} ± {noise:.1f}".replace("-", "−")


def table(rows: list[Row], runs: dict[tuple[Row, str], tuple[list[float], list[float]]]) -> str:
    """Return the table as Markdown, and the greatest deviations."""
    parts = [scale for scale in SEEDS if scale != "1"]
    head = ["spare", "workload", "open blocks", "cache", "programs per host write, whole", *parts]
    lines = [
        "| " + " | ".join([*head, *(f"mean response, {scale}" for scale in parts)]) + " |",
        "|---:|---|---|---|" + "---:|" * (1 + 2 * len(parts)),
    ]
    for row in rows:
        whole = runs[row, "1"]
        cells = [_cell(runs[row, scale][which], whole[which]) for which in (0, 1) for scale in parts]
        lines.append(f"| {' | '.join(row)} | {statistics.mean(whole[0]):.3f} | {' | '.join(cells)} |")
    worst = {
        scale: max((abs(deviation(runs[row, scale][0], runs[row, "1"][0])[0]), row) for row in rows) for scale in parts
    }
    said = ", ".join(f"{by:.1f} % at {scale} ({', '.join(row)})" for scale, (by, row) in worst.items())
    return f"The greatest deviation of programs per host write: {said}.\n\n" + "\n".join(lines) + "\n"


def sampled() -> str:
    """Return what samples of the trace of the demo give on parts of its drive, as Markdown."""
    drive, trace = coflash.Scenario.load("demo"), str(find_trace())
    lines = [
        "| the trace of `demo`, sampled | requests | programs per host write | mean response |",
        "|---|---:|---:|---:|",
    ]
    for of in (1, 2, 4, 8, 16):
        sample = ROOT / "target" / "scaling.parquet"
        coflash.trace.slice(trace, sample, sample=of)
        metrics = coflash.run(drive.scaled(f"1/{of}", measured=False), sample).metrics
        mean = metrics.response_ns.all.mean or 0
        lines.append(f"| 1/{of} | {metrics.requests:,} | {metrics.waf_host:.3f} | {mean / 1e3:,.0f} µs |")
    return "\n".join(lines) + "\n"


def large() -> None:
    """Run a 64th of the large drive, and write what that takes."""
    scenario = str(ROOT / "scenarios" / "qlc-122t.toml")
    command = [sys.executable, "-m", "coflash", "run", scenario, "--scale", "1/64", "--json", "-", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - our own
    result, took = json.loads(done.stdout), resource.getrusage(resource.RUSAGE_CHILDREN)
    metrics = result["metrics"]
    line = (
        f"{LARGE} takes {took.ru_utime + took.ru_stime:.0f} s of processor time, its warm-up of a whole drive write "
        f"included, and {result['simulator']['peak_rss_bytes'] / 2**20:,.0f} MiB: {metrics['requests']:,} requests, "
        f"{metrics['waf_host']:.2f} programs per host write, a mean response of "
        f"{metrics['response_ns']['all']['mean'] / 1e3:.0f} µs."
    )
    before, _, rest = PAGE.read_text("utf-8").partition(LARGE)
    PAGE.write_text(before + line + "\n" + rest.partition("\n")[2], "utf-8")


def main() -> None:
    """Run all, and write the page."""
    if sys.argv[1:] == ["qlc-122t"]:
        large()
        return
    todo = list(product(ROWS, SEEDS))
    with ProcessPoolExecutor() as pool:
        runs = dict(zip(todo, pool.map(measured, *zip(*todo, strict=True)), strict=True))
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + BEGIN + "\n" + table(ROWS, runs) + "\n" + sampled() + END + after, "utf-8")


if __name__ == "__main__":
    main()
