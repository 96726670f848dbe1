"""What queries cannot compute: write amplification over time, and the rates that are reached."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from coflash.sweep.memory import flash_pages as pages_of
from coflash_reproduce.paper import Run
from coflash_reproduce.warp import workloads as its
from coflash_reproduce.warp.streams import PAGES, SECOND, TIMES_LARGER, Numbers

NEAR = 0.05
"""A point is near if its write amplification deviates by at most this, and"""
NEAR_COPIES, FEW_COPIES = 0.2, 0.01
"""the copies, which are the rest over 1, by at most this share, or this much of what the host writes."""
CURVES_FILE, SECOND_FILE, WHOLE_FILE = (
    str(Path(__file__).with_name(f"{name}.csv")) for name in ("curves", "second", "whole")
)
"""The published curves, those of a second drive, and the table of sizes for the whole drive, of `--scale whole`."""
TIME_TITLES = tuple(its.TIMES)


def divisor_of(run: Run) -> int:
    """Return how much smaller than the drive a run's device is."""
    return 1024 // int(run.scenario.to_dict()["flash"]["pages_per_block"])


def flash_pages(run: Run) -> int:
    """Return the pages of a run's flash."""
    return pages_of(run.scenario)


_COURSES: dict[str, tuple[Numbers, Numbers]] = {}


def _course(run: Run) -> tuple[Numbers, Numbers]:
    """Return the fills and the write amplification at the end of each interval of a run."""
    if run.key not in _COURSES:
        series = run.result().series()
        programs = sum(np.cumsum(series[name], dtype=float) for name in series.columns if name.startswith("programs_"))
        host = np.cumsum(series["host_writes_pages"], dtype=float)
        of_fill = PAGES / divisor_of(run)
        if run.experiment.name in its.SECONDS:
            of_fill *= TIMES_LARGER[SECOND] * 1024 / its.SECOND_PAGES
        _COURSES[run.key] = host / of_fill, np.asarray(programs) / np.maximum(host, 1)
    return _COURSES[run.key]


def last_fill(run: Run) -> float:
    """Return the fills of a whole run."""
    return float(_course(run)[0][-1])


def waf_at(run: Run, fills: float) -> float:
    """Return the write amplification since the beginning, at a number of fills."""
    return float(np.interp(fills, *_course(run)))


def interpolated(at: float, places: list[float], values: list[float]) -> float:
    """Return the value of a curve at a place."""
    return float(np.interp(at, places, values))


def copied(run: Run) -> list[int]:
    """Return the pages that GC copied into units of handles 0, 1 and 2."""
    classes = run.document["metrics"]["placement"]
    return [classes[len(classes) // 2 + handle]["copied_pages"] for handle in range(3)]


_FILL = (0.9, 0.1, 0.0)
"""What the fill writes through handles 0, 1 and 2, in fills."""


def reached_mb(run: Run) -> list[float]:
    """Return the rates of handles 0, 1 and 2 since the fill, in MB/s."""
    exported, seconds = PAGES / divisor_of(run) * 4096, its.rated_seconds(run.case.line, divisor_of(run))
    classes = run.document["metrics"]["placement"]
    return [(classes[at]["host_bytes"] - _FILL[at] * exported) / seconds / 1e6 for at in range(3)]


def behind(run: Run) -> str:
    """Return the fills at which less than 99 % of what is asked is written, over all since the fill."""
    asked_mb, exported, series = sum(its.ASKED_MB[run.case.line]), PAGES / divisor_of(run) * 4096, run.result().series()
    starts, written = np.asarray(series["start_ns"], float), np.cumsum(series["host_writes_pages"], dtype=float) * 4096
    begin = int(np.searchsorted(written, exported))
    since = (written[begin:-1] - written[begin]) / np.maximum(starts[begin + 1 :] - starts[begin + 1], 1) * 1e3
    late = np.flatnonzero(since[1:] < 0.99 * asked_mb)
    return f"{written[begin + 1 + late[0]] / exported:.1f} fills" if len(late) else "never"
