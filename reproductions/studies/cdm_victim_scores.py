"""Measure where CDM gains and where it loses: victim scores and rewrite streams over workloads and cache sizes.

Print the rows as Markdown, and draw the figure of docs/cdm_victim_scores.md. Every run is compared with `none`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import coflash

ROOT = Path(__file__).parents[2]
TRACE = ROOT / "examples/traces/pgbench-oltp-400k.iolog.zst"
DEMO = coflash.Scenario.load("demo")
# Half of the demo's dies, so that every run takes a second.
SMALL = DEMO.with_(
    {
        "flash.channels": 2,
        "flash.chips_per_channel": 2,
        "flash.blocks_per_plane": 512,
        "workload.remap": "none",
    }
)


def cdm(weight: float | str, stream: str) -> dict[str, Any]:
    """Return a cooperation as in a scenario."""
    return {"name": "cdm", "removable_weight": weight, "rewrite_stream": stream}


SCHEMES = {
    "1, evict (paper)": cdm(1.0, "evict"),
    "1, gc": cdm(1.0, "gc"),
    "adaptive, evict": cdm("adaptive", "evict"),
    "adaptive, gc": cdm("adaptive", "gc"),
    "by-age, evict": cdm("by-age", "evict"),
    "by-age, gc": cdm("by-age", "gc"),
}


class Point(NamedTuple):
    """A workload on a device."""

    workload: str
    reads: str
    cache: str
    scenario: coflash.Scenario
    trace: Path | None = None


def points() -> Iterator[Point]:
    """Yield all points."""
    for cache in ("4MiB", "8MiB", "16MiB", "32MiB", "64MiB", "128MiB"):
        yield Point("pgbench trace", "37 %", cache, DEMO.with_({"cache.size": cache}), TRACE)
    generators = {"zipf 0.9": {"name": "zipf", "exponent": 0.9}, "hot-cold": "hot-cold", "uniform": "uniform"}
    caches = ("0.5%", "2%", "10%")
    for name, generator in generators.items():
        for reads in ("20%", "50%", "80%"):
            for cache in caches:
                keys = {
                    "workload.synthetic.generator": generator,
                    "workload.synthetic.requests": 600_000,
                    "workload.synthetic.read_share": reads,
                    "cache.size": cache,
                }
                yield Point(name, reads, cache, SMALL.with_(keys))
    for cache in caches:
        preset = {"name": "oltp-like", "requests": 400_000}
        yield Point("oltp-like", "23 %", cache, SMALL.with_({"workload.preset": preset, "cache.size": cache}))


def measure(point: Point) -> dict[str, tuple[float, float]]:
    """Measure WAF by host writes and mean response of each scheme, relative to `none`."""

    def of(cooperation: str | dict[str, Any]) -> tuple[float, float]:
        scenario = point.scenario.with_(cooperation=cooperation)
        metrics = coflash.run(scenario, point.trace or ()).metrics
        waf, response = metrics.waf_host, metrics.response_ns.all.mean
        assert waf is not None
        assert response is not None
        return waf, response

    waf, response = of("none")
    measured = {name: of(cooperation) for name, cooperation in SCHEMES.items()}
    return {name: (w / waf - 1, r / response - 1) for name, (w, r) in measured.items()}


def draw(rows: list[tuple[Point, dict[str, tuple[float, float]]]], file: Path) -> None:
    """Draw WAF and response of every point, with a colour for each scheme."""
    import matplotlib.pyplot as plt

    shown = ("1, evict (paper)", "adaptive, evict", "adaptive, gc", "by-age, gc")
    figure, axes = plt.subplots(2, 1, figsize=(11, 7), sharex=True, layout="constrained")
    for axis, index, title in zip(axes, (0, 1), ("WAF", "mean response"), strict=True):
        for name, colour, shape in zip(shown, ("#b3392c", "#d99a2b", "#2b6cb0", "#2f8f5b"), "oD^v", strict=True):
            values = [100 * measured[name][index] for _, measured in rows]
            axis.plot(range(len(rows)), values, shape, color=colour, label=name, markersize=5, alpha=0.85)
        axis.axhline(0, color="black", linewidth=0.8)
        axis.set_ylabel(f"{title} against none, %")
        axis.grid(axis="y", alpha=0.3)
    figure.legend(*axes[0].get_legend_handles_labels(), frameon=False, ncols=4, loc="outside upper center")
    labels = [f"{point.workload}, {point.reads} reads, {point.cache}" for point, _ in rows]
    axes[1].set_xticks(range(len(rows)), labels, rotation=90, fontsize=7)
    figure.savefig(file, dpi=110)


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--plot", type=Path, default=ROOT / "docs/images/cdm_victim_scores.png")
    options = parser.parse_args()
    with ThreadPoolExecutor(options.workers) as pool:
        rows = []
        print("| workload | reads | cache | " + " | ".join(SCHEMES) + " |")
        print("|---|---|---|" + "---|" * len(SCHEMES))
        everything = list(points())
        for point, measured in zip(everything, pool.map(measure, everything), strict=True):
            rows.append((point, measured))
            cells = (f"{100 * waf:+.1f}, {100 * response:+.1f}" for waf, response in measured.values())
            print("| " + " | ".join([point.workload, point.reads, point.cache, *cells]) + " |", flush=True)
    worst = {name: [max(m[name][i] for _, m in rows) for i in (0, 1)] for name in SCHEMES}
    cells = (f"**{100 * waf:+.1f}, {100 * response:+.1f}**" for waf, response in worst.values())
    print("| **worst** | | | " + " | ".join(cells) + " |")
    draw(rows, options.plot)


if __name__ == "__main__":
    main()
