"""The measures of a step, from fio's results and the drive's counters before and after."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coflash._core import CoflashError
from coflash.calibrate.fio_beside import read_fio_json
from coflash.calibrate.nvme_fdp import as_counters
from coflash.calibrate.pattern import PAGE_BYTES
from coflash.files.errors import text_of

_PERCENTILES = {"p50": "50.000000", "p99": "99.000000", "p999": "99.900000"}


REACHED = 0.95
"""The share of its rate of writes from which on a step has reached it; below, it was the drive that set the rate."""


def fio_measures(folder: Path, step: str, rate_per_s: float | None) -> dict[str, float]:
    """Return the measures of a step; and the WAF if it was counted.

    At a given rate of writes these are latencies, or the most writes if the drive could not keep up; without a rate,
    the throughput.

    Raises:
        CoflashError: A file cannot be read, or is no result of fio.
    """
    file = folder / f"{step}.json"
    try:
        jobs = read_fio_json(file)["jobs"]
        sides: dict[str, list[Mapping[str, Any]]] = {
            s: [j[s] for j in jobs if j[s]["io_bytes"]] for s in ("read", "write")
        }
        written_per_s = sum(job["bw_bytes"] for job in sides["write"])
        if rate_per_s is None:
            taken = {"write_mib_per_s": written_per_s / 2**20}
        elif written_per_s < REACHED * rate_per_s * PAGE_BYTES:
            taken = {"writes_max_per_s": written_per_s / PAGE_BYTES}
        else:
            taken = _latencies(sides)
    except (KeyError, TypeError, ZeroDivisionError) as error:
        msg = f"{file}: no result of fio as JSON: {error!r} is missing; `fio --output-format=json` writes it"
        raise CoflashError(msg) from error
    counted = [_written(folder, f"{step}.{when}") for when in ("before", "after")]
    before, after = counted
    if before and after and after[0] > before[0]:
        taken["waf"] = (after[1] - before[1]) / (after[0] - before[0])
    return taken


def _latencies(sides: Mapping[str, list[Mapping[str, Any]]]) -> dict[str, float]:
    found = {}
    for side, jobs in sides.items():
        for name, percentile in _PERCENTILES.items():
            if jobs and (measure := f"{side}_{name}_us") != "write_p999_us":
                found[measure] = max(job["clat_ns"]["percentile"][percentile] for job in jobs) / 1000
    return found


def _written(folder: Path, name: str) -> tuple[float, float] | None:
    """Return the lifetime bytes written by the host and to flash; None without such logs."""
    smart, ocp = (folder / f"{name}.{log}.json" for log in ("smart", "ocp"))
    if not (smart.exists() and ocp.exists() and smart.stat().st_size and ocp.stat().st_size):
        return None
    counters = dict(re.findall(r"([HM]BMW): (\d+)", as_counters(text_of(smart) + text_of(ocp))))
    return (float(counters["HBMW"]), float(counters["MBMW"])) if len(counters) == 2 else None
