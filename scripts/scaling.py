"""Write the tables of docs/scaling.md: what `--scale` keeps, on drives whose whole can be simulated.

    python scripts/scaling.py                # all cases, some minutes a device; finished runs are kept
    python scripts/scaling.py pm9a3          # the runs of one device; the page only has what has been run

Each device runs each workload whole and at each scale, with several seeds; each run writes the drive once after a warm-up.
"""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import coflash

ROOT = Path(__file__).parents[1]
PAGE, KEPT = ROOT / "docs" / "scaling.md", ROOT / "target" / "scaling"
BEGIN, END = "<!-- Written by `python scripts/scaling.py`: -->", "<!-- end -->"
SEEDS = 3
SCALES = ("1", "1/2", "1/4", "1/8", "1/16", "1/32", "1/64", "1/128")
_UNIFORM = {"generator": "uniform"}
WORKLOADS: dict[str, dict[str, Any]] = {
    "uniform": {"synthetic": _UNIFORM},
    "Zipf 0.9": {"synthetic": {"generator": {"name": "zipf", "exponent": 0.9}}},
    "Zipf 1.1": {"synthetic": {"generator": {"name": "zipf", "exponent": 1.1}}},
    "JESD219": {"preset": "jesd219-enterprise"},
}
DEVICES = {"random-5g": "1", "demo": "1", "pm9a3": "8", "7450-max": "8", "cm7-r": "8", "p5520": "8"}
"""The calibrated drives are reduced already: the whole is so many times as large."""
MEASURES = {"WA": "waf_host", "mean": "response.mean_ns", "p99.9": "response.p999_ns"}


class Row(NamedTuple):
    """The runs of a device under a workload at a scale."""

    blocks: int
    values: dict[str, list[float]]


def scenario(device: str, workload: str) -> coflash.Scenario:
    """Return a whole device under a workload that writes it once."""
    whole = coflash.Scenario.load(device).scaled(DEVICES[device])
    pages = coflash.parsed_pages(whole)
    return whole


if __name__ == "__main__":
    pass
