"""Results in the form of fio's JSON, and fio's JSON as measures.

The form is that of `fio --output-format=json` or `json+` of fio 3. Values that a simulation does not measure are left
out: processor times, submission latencies, bandwidth samples. A run without a job file is one job, named as its
scenario.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Literal

from coflash.results.result import Result

Bins = dict[int, int]
"""Requests by response time: the middle of each bin in ns, ascending, and the requests in it."""

PERCENTILES = (1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 99.5, 99.9, 99.95, 99.99)
"""fio's default percentiles."""

_BIN_BITS = 6
"""fio divides each power of two into 2^6 bins."""

_LIMITS = (2, 4, 10, 20, 50, 100, 250, 500, 750, 1000)
_UNITS_NS = {"ns": 1, "us": 10**3, "ms": 10**6}
OPERATIONS = ("read", "write", "trim")


def bin_of(time_ns: int) -> int:
    """Return the middle of fio's bin of a time in ns."""
    shift = max(time_ns.bit_length() - 1 - _BIN_BITS, 0)
    if shift == 0:
        return time_ns
    return (time_ns >> shift << shift) + (1 << shift >> 1)


def bins_of(histogram: Sequence[Sequence[int]]) -> Bins:
    """Sum a histogram, pairs of a bucket's highest time in ns and its requests, in fio's bins, which are coarser."""
    bins: Bins = {}
    for time_ns, requests in histogram:
        middle = bin_of(int(time_ns))
        bins[middle] = bins.get(middle, 0) + int(requests)
    return dict(sorted(bins.items()))


def fio_json(result: Result, *, bins: bool = False) -> dict[str, Any]:
    """Return a result in the form of fio's JSON.

    Args:
        result: The result.
        bins: Whether to include the bins of response times (`json+`).
    """
    return {
        "fio version": f"coflash-{result.document['coflash']}",
        "timestamp": 0,
        "timestamp_ms": 0,
        "time": "Thu Jan  1 00:00:00 1970",
        "jobs": [_job(job, bins=bins) for job in result.document.get("jobs") or [_whole(result)]],
        "coflash": {
            "revision": result.revision,
            "scenario_hash": result.scenario_hash,
            "metrics": result.document["metrics"],
        },
    }


def fio_text(result: Result, *, bins: bool = False) -> str:
    """Return a result as fio's JSON text, indented by two spaces, with a newline at its end."""
    return json.dumps(fio_json(result, bins=bins), indent=2, ensure_ascii=False) + "\n"


def _whole(result: Result) -> dict[str, Any]:
    """Return a run without jobs as a single job."""
    metrics = result.metrics.flat()

    def operation(kind: Literal["read", "write"]) -> dict[str, Any]:
        found = result.histogram(kind)
        return {
            "requests": int(metrics[f"response_ns.{kind}.count"] or 0),
            "bytes": int(metrics[f"host_{kind}s_bytes"] or 0),
            "mean_ns": metrics[f"response_ns.{kind}.mean"],
            "stddev_ns": metrics[f"response_ns.{kind}.stddev"],
            "min_ns": int(found.values_ns[0]) if len(found.values_ns) else None,
            "max_ns": metrics[f"response_ns.{kind}.max"],
            "histogram": list(zip(found.values_ns.tolist(), found.counts.tolist(), strict=True)),
        }

    times = dict.fromkeys(("mean_ns", "stddev_ns", "min_ns", "max_ns"))
    none: dict[str, Any] = {"requests": 0, "bytes": 0, **times, "histogram": []}
    return {
        "name": result.document["scenario"].get("name") or "coflash",
        "phase": 0,
        "options": {},
        "runtime_ns": int(metrics["simulated_ns"] or 0),
        "read": operation("read"),
        "write": operation("write"),
        "trim": none,
        "flush": none,
    }


def _job(job: Mapping[str, Any], *, bins: bool) -> dict[str, Any]:
    return {
        "jobname": job["name"],
        "groupid": job["phase"],
        "error": 0,
        "elapsed": -(-job["runtime_ns"] // 10**9),
        "job options": dict(job["options"]),
        **{operation: _direction(job[operation], job["runtime_ns"], bins=bins) for operation in OPERATIONS},
        "sync": {"total_ios": job["flush"]["requests"], "lat_ns": _times(job["flush"], with_bins=bins)},
        "job_runtime": job["runtime_ns"] // 10**6,
        **dict(_shares([bins_of(job[operation]["histogram"]) for operation in OPERATIONS])),
    }


def _direction(operation: Mapping[str, Any], runtime_ns: int, *, bins: bool) -> dict[str, Any]:
    """Return the numbers of reads, writes or trims."""
    seconds = runtime_ns / 1e9
    bandwidth, rate = (operation[count] / seconds if seconds else 0.0 for count in ("bytes", "requests"))
    return {
        "io_bytes": operation["bytes"],
        "io_kbytes": operation["bytes"] >> 10,
        "bw_bytes": round(bandwidth),
        "bw": round(bandwidth) >> 10,
        "iops": rate,
        "runtime": runtime_ns // 10**6 if operation["requests"] else 0,
        "total_ios": operation["requests"],
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0},
        "clat_ns": _times(operation, with_bins=bins),
        "lat_ns": _times(operation, with_bins=False),
        "bw_mean": bandwidth / 1024,
        "iops_mean": rate,
    }


def _times(operation: Mapping[str, Any], *, with_bins: bool) -> dict[str, Any]:
    """Return the response times of an operation, as completion latencies."""
    times: dict[str, Any] = {
        "min": operation["min_ns"] or 0,
        "max": operation["max_ns"] or 0,
        "mean": operation["mean_ns"] or 0.0,
        "stddev": operation["stddev_ns"] or 0.0,
        "N": operation["requests"],
    }
    bins = bins_of(operation["histogram"])
    if bins:
        times["percentile"] = {f"{share:.6f}": _percentile(bins, share) for share in PERCENTILES}
    if bins and with_bins:
        times["bins"] = {str(middle): requests for middle, requests in bins.items()}
    return times


def _percentile(bins: Bins, percent: float) -> int:
    """Return the bin of a percentile."""
    needed = percent / 100 * sum(bins.values())
    return next(middle for middle, requests in zip(bins, accumulate(bins.values()), strict=True) if requests >= needed)


def _shares(of_operations: Sequence[Bins]) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the percentages of requests by latency: up to 2 ns, up to 4 ns, ..."""
    total = sum(sum(bins.values()) for bins in of_operations) or 1
    lower = 0
    for unit, unit_ns in _UNITS_NS.items():
        limits = (*_LIMITS, 2000) if unit == "ms" else _LIMITS
        shares = {}
        for limit in limits:
            upper = limit * unit_ns
            inside = sum(n for bins in of_operations for middle, n in bins.items() if lower < middle <= upper)
            shares[str(limit)] = 100 * inside / total
            lower = upper
        if unit == "ms":
            beyond = sum(n for bins in of_operations for middle, n in bins.items() if middle > lower)
            shares[">=2000"] = 100 * beyond / total
        yield f"latency_{unit}", shares
