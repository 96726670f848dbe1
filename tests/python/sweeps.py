"""Scenarios that sweeps in tests run."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import coflash
from processes import begin

SMALL = coflash.Scenario.load("demo").with_(
    {
        "flash.blocks_per_plane": 50,
        "gc.low_mark": 2,
        "ftl.spare.share": "20%",
        "cooperation.removable_weight": "adaptive",
        "workload.synthetic.generator": "uniform",
        "workload.synthetic.requests": 5_000,
    }
)
"""A run of some milliseconds."""

BUSY = SMALL.with_(
    {
        "precondition.random_passes": 0.5,
        "workload.synthetic.generator.name": "hot-cold",
        "workload.synthetic.requests": 20_000,
        "workload.synthetic.read_share": "30%",
        "cache.size": "5%",
    }
)
"""Its cache and GC have much to do."""

SPACIOUS = BUSY.with_({"flash.blocks_per_plane": 100, "gc.low_mark": 9, "ftl.spare.share": "40%"})
"""Has room for a free block of each class of a placement policy."""

ENDLESS = "1000000000000"
"""The requests of a run that does not end during the test."""


def command(out: Path, *arguments: str) -> list[str]:
    """A `coflash sweep` of the scenario in another process."""
    file = out.parent / f"{out.name}.toml"
    file.write_text(SMALL.to_toml(), encoding="utf-8")
    return [sys.executable, "-m", "coflash", "sweep", str(file), "--out", str(out), *arguments]


def start(arguments: list[str]) -> AbstractContextManager[subprocess.Popen[str]]:
    """Starts it; the first lines of its standard error stream are those of its first runs."""
    return begin(*arguments, encoding="utf-8", env={**os.environ, "COLUMNS": "200"})
