"""Write the tables of docs/scaling.md: what `--scale` keeps, on drives whose whole can be simulated.

    python scripts/scaling.py                # all devices, some minutes each; runs that are there are not repeated
    python scripts/scaling.py pm9a3 demo     # these devices alone
    python scripts/scaling.py qlc-122t       # the run of the large drive alone

Each device runs each workload whole and at each scale, with several seeds: a drive write after its own warm-up.
"""

from __future__ import annotations

import json
import math
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import coflash
from coflash.demo import find_trace
from coflash.sweep import Sweep
from coflash.sweep.memory import flash_bytes

ROOT = Path(__file__).parents[1]
PAGE, RUNS = ROOT / "docs" / "scaling.md", ROOT / "target" / "scaling"
BEGIN, END = "<!-- The tables are written by `python scripts/scaling.py`. -->\n", "<!-- End of the tables. -->"
SEEDS = 3
SCALES = ("1", "1/2", "1/4", "1/8", "1/16", "1/32", "1/64", "1/128")
LARGE = "`coflash run qlc-122t --scale 1/64`"
LONG = ", long"
"""Runs with as many requests as on the whole."""
DEVICES = {
    "random-5g": "1",
    "demo": "1",
    "7450-max": "4",
    f"7450-max{LONG}": "4",
    "cm7-r": "4",
    "p5520": "4",
    "pm9a3": "4",
}
"""The whole, as a multiple: the calibrated drives come with a quarter of these blocks."""
WORKLOADS: dict[str, dict[str, Any]] = {
    "uniform": {"workload.synthetic.generator": "uniform"},
    "Zipf 0.9": {"workload.synthetic.generator": {"name": "zipf", "exponent": 0.9}},
    "Zipf 1.1": {"workload.synthetic.generator": {"name": "zipf", "exponent": 1.1}},
    "JESD219": {"workload.preset": {"name": "jesd219-enterprise"}},
}
MEASURES = {
    "Programs per host write": "waf_host",
    "Mean response": "response_ns.all.mean",
    "99.9th percentile of responses": "response_ns.all.p99_9",
}
T_95 = 2.78
"""Student's t of 95 % for the difference of two means of three runs each."""


def loaded(device: str) -> coflash.Scenario:
    """Return a whole device."""
    return coflash.Scenario.load(device.removesuffix(LONG)).scaled(DEVICES[device])


def runs(device: str, workload: str, scale: str) -> Sweep | None:
    """Run a device, or find its runs; None where so few blocks are refused."""
    whole = loaded(device)
    requests = flash_bytes(whole) // 4096 * (int(scale.removeprefix("1/")) if device.endswith(LONG) else 1)
    keys = dict(WORKLOADS[workload])
    if "workload.preset" in keys:
        keys["workload.preset"] = {**keys["workload.preset"], "requests": requests}
    else:
        keys["workload.synthetic.requests"] = requests
    try:
        whole.with_(keys).scaled(scale)
    except coflash.CoflashError:
        return None
    return coflash.sweep(whole, [keys], out=RUNS, seeds=SEEDS, scale=scale, on=1, progress=True)


def blocks(device: str, scale: str) -> str:
    """Return the blocks of a pool; a dash where they are too few."""
    try:
        scenario = loaded(device).scaled(scale)
    except coflash.CoflashError:
        return "–"
    return str(scenario.to_dict()["flash"]["blocks_per_plane"])


def deviation(found: list[float], whole: list[float]) -> tuple[float, float]:
    """Return the deviation of the mean in percent, and half its interval of 95 %."""
    base = statistics.mean(whole)
    spread = math.sqrt((statistics.variance(found) + statistics.variance(whole)) / SEEDS)
    return 100 * (statistics.mean(found) / base - 1), 100 * T_95 * spread / base


def limits(devices: list[str], values: Callable[[str, str, str, str], list[float]]) -> str:
    """Say from which scale on the write amplification of a device is another, as Markdown."""
    lines = [
        "| write amplification deviates | beyond the interval in most workloads | by more than 5 % in any |",
        "|---|---:|---:|",
    ]
    for device in devices:
        beyond, far = "–", "–"
        for scale in reversed(SCALES[1:]):
            cases = [
                (values(device, workload, scale, "waf_host"), values(device, workload, "1", "waf_host"))
                for workload in WORKLOADS
            ]
            found = [deviation(*case) for case in cases if case[0]]
            shown = f"{scale}, {blocks(device, scale)} blocks"
            beyond = shown if sum(abs(by) > noise for by, noise in found) > len(WORKLOADS) / 2 else beyond
            far = shown if any(abs(by) > max(5, noise) for by, noise in found) else far
        lines.append(f"| {device} | {beyond} | {far} |")
    return "\n".join(lines) + "\n"


def cell(found: list[float], whole: list[float]) -> str:
    """Return a deviation in percent with its interval."""
    by, noise = deviation(found, whole)
    text = f"{by:+.1f} ± {noise:.1f}".replace("-", "−")
    return f"**{text}**" if abs(by) > noise else text


def tables(devices: list[str], values: Callable[[str, str, str, str], list[float]]) -> str:
    """Return the tables as Markdown."""
    lines: list[str] = []
    for title, measure in MEASURES.items():
        head = [f"{title}: deviation from the whole drive in % (bold beyond the 95 % interval)", "whole", *SCALES[1:]]
        lines += ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
        for device in devices:
            for workload in WORKLOADS:
                whole = values(device, workload, "1", measure)
                if not whole:
                    continue
                shown = (
                    f"{statistics.mean(whole):.3f}"
                    if measure == "waf_host"
                    else f"{statistics.mean(whole) / 1e3:,.0f} µs"
                )
                row = [f"{device}, {workload}", shown]
                for scale in SCALES[1:]:
                    found = values(device, workload, scale, measure)
                    row.append(cell(found, whole) if found else "–")
                lines.append("| " + " | ".join(row) + " |")
        lines.append("")
    return "\n".join(lines)


def sizes(devices: list[str]) -> str:
    """Return the blocks of a pool at each scale, as Markdown."""
    lines = ["| blocks of a pool | whole | " + " | ".join(SCALES[1:]) + " |", "|---|" + "---:|" * len(SCALES)]
    for device in devices:
        cells = [blocks(device, scale) for scale in SCALES]
        lines.append(f"| {device} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def sampled() -> str:
    """Return what samples of the trace of the demo give on parts of its drive, as Markdown."""
    drive, trace = coflash.Scenario.load("demo"), str(find_trace())
    lines = [
        "| the trace of `demo`, sampled | requests | programs per host write | mean response |",
        "|---|---:|---:|---:|",
    ]
    for of in (1, 2, 4, 8, 16):
        sample = RUNS / "sample.parquet"
        coflash.trace.slice(trace, sample, sample=of)
        metrics = coflash.run(drive.scaled(f"1/{of}"), sample).metrics
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
    """Run devices, and write the page."""
    if sys.argv[1:] == ["qlc-122t"]:
        large()
        return
    devices = sys.argv[1:] or list(DEVICES)
    known = {
        (device, workload, scale): runs(device, workload, scale)
        for device in devices
        for workload in WORKLOADS
        for scale in SCALES
    }

    def values(device: str, workload: str, scale: str, measure: str) -> list[float]:
        found = known[device, workload, scale]
        metrics = [] if found is None else [found.results.metrics(job.key) for job in found.points[0].jobs]
        return [float(attrgetter(measure)(each)) for each in metrics if each is not None]

    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(
        before
        + BEGIN
        + "\n"
        + sizes(devices)
        + "\n"
        + limits(devices, values)
        + "\n"
        + tables(devices, values)
        + "\n"
        + sampled()
        + END
        + after,
        "utf-8",
    )


if __name__ == "__main__":
    main()
