"""Requests served by a model of a device, and the measures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from models.device import Device
from models.request import Request
from models.shadow import HostBuffer
from models.timing import Moment, on_private_channels, on_shared_channels

CAUSES = ("host", "evict", "gc", "refresh", "wear_levelling", "destage", "metadata")


def serve(system: Device | HostBuffer, options: dict[str, Any], requests: Sequence[Request]) -> dict[str, Any]:
    """The measures of the requests, by the names in a result."""
    page_bytes = options["flash"]["page_size"]
    counters: Counter[str] = Counter()
    answers: list[tuple[Request, Moment, int]] = []
    for request in requests:
        start, tail_ns = system.begin(request)
        done = start
        pages = request.pages(page_bytes)
        if request.operation in ("read", "write"):
            counters[f"host_{request.operation}s_bytes"] += request.size
        if request.operation == "flush":
            counters["flushes"] += 1
            done = done + system.flush(start)
        elif request.operation == "trim":
            for page in (page for page in pages if request.covers(page, page_bytes)):
                counters["host_trims_pages"] += 1
                done = done + system.trim(page, start)
        elif request.operation == "read":
            for page in pages:
                counters["host_reads_pages"] += 1
                done = done + system.read(page, start)
        else:
            for page in pages:
                counters["host_writes_pages"] += 1
                done = done + system.write(page, not request.covers(page, page_bytes), start)
        answers.append((request, done, tail_ns))

    device = system.device if isinstance(system, HostBuffer) else system
    end = on_shared_channels if options["timing"]["channel"] == "shared" else on_private_channels
    ends = end(device.ftl.operations)
    answered_ns = [ends.come_ns(done) + tail_ns for _, done, tail_ns in answers]
    responses_ns = [at_ns - request.arrival_ns for at_ns, request in zip(answered_ns, requests, strict=True)]
    metrics: dict[str, Any] = {"requests": len(requests), "simulated_ns": max(answered_ns), **counters}
    for kind in ("all", "read", "write"):
        of_kind = [ns for ns, request in zip(responses_ns, requests, strict=True) if kind in ("all", request.operation)]
        metrics |= {f"response_ns.{kind}.{name}": value for name, value in moments(of_kind).items()}
    per_second = {
        "iops": len(requests),
        "read_iops": metrics["response_ns.read.count"],
        "write_iops": metrics["response_ns.write.count"],
        "read_bandwidth": counters["host_reads_bytes"],
        "write_bandwidth": counters["host_writes_bytes"],
    }
    rates = {name: count / metrics["simulated_ns"] * 1e9 for name, count in per_second.items()}
    rates["bandwidth"] = rates["read_bandwidth"] + rates["write_bandwidth"]
    metrics |= {f"throughput.{name}": rate for name, rate in rates.items()}
    programs = sum(device.ftl.counters[f"programs_pages.{cause}"] for cause in CAUSES)
    written_bytes = counters["host_writes_bytes"]
    metrics["waf_media"] = programs * page_bytes / written_bytes if written_bytes else None
    if isinstance(system, HostBuffer):
        metrics |= host_buffer_counters(system)
    return metrics | device_counters(device, counters["host_writes_pages"])


def host_buffer_counters(buffer: HostBuffer) -> dict[str, Any]:
    programs = sum(buffer.ftl.counters[f"programs_pages.{cause}"] for cause in CAUSES)
    written, delays_ns = buffer.counters["host_buffer.written_pages"], buffer.notices.delays_ns
    return {
        **buffer.counters,
        **lookups("host_buffer", buffer.counters, buffer.cache.pages),
        "host_buffer.capacity_pages": buffer.cache.pages,
        "host_buffer.dirty_pages": len(buffer.dirty_since_ns),
        "host_buffer.waf_device": programs / written if written else None,
        "host.to_device.delay_mean_ns": sum(delays_ns) / len(delays_ns) if delays_ns else 0.0,
        "host.to_device.delay_max_ns": max(delays_ns, default=0),
    }


def device_counters(device: Device, host_writes_pages: int) -> dict[str, Any]:
    counters = device.ftl.counters
    programs = sum(counters[f"programs_pages.{cause}"] for cause in CAUSES)
    arriving = counters["programs_pages.host"] + counters["programs_pages.evict"]
    cache = device.counters
    erases = moments(device.ftl.erase_counts())
    return {
        **counters,
        **cache,
        "ftl_writes_pages": arriving,
        "gc_copies_pages": counters["programs_pages.gc"],
        "waf_host": programs / host_writes_pages if host_writes_pages else None,
        "waf_ftl": programs / arriving if arriving else None,
        "cache.capacity_pages": device.cache.pages,
        **lookups("cache", cache, device.cache.pages),
        "cache.written_pages": cache["cache.dirty_evictions_pages"] + cache["cache.flushed_pages"],
        "cache.dirty_pages": len(device.cache.dirty),
        "sole_copies.peak_pages": device.sole_copies_peak,
        **{f"erase_count.{name}": erases[name] for name in ("mean", "max", "stddev")},
        "fast_blocks.states_bytes": device.states_bytes,
        "mapped_pages": len(device.ftl.map),
        "spare.invalid_pages": sum(device.ftl.invalid_pages()),
        "spare.frozen_pages": sum(
            invalid
            for invalid, count in zip(device.ftl.invalid_pages(), device.ftl.erase_counts(), strict=True)
            if count == 0
        ),
    }


def lookups(section: str, counters: Counter[str], capacity_pages: int) -> dict[str, Any]:
    hits = counters[f"{section}.read_hits"] + counters[f"{section}.write_hits"]
    misses = counters[f"{section}.read_misses"] + counters[f"{section}.write_misses"]
    return {
        f"{section}.hits_pages": hits,
        f"{section}.misses_pages": misses,
        f"{section}.hit_ratio": hits / (hits + misses) if capacity_pages and hits + misses else None,
    }


def moments(values: Iterable[int]) -> dict[str, float | int | None]:
    values = list(values)
    if not values:
        return {"count": 0, "mean": None, "max": None, "stddev": None}
    n, total, squares = len(values), sum(values), sum(value * value for value in values)
    variance = float(n * squares - total * total) / (float(n) * float(n))
    return {"count": n, "mean": total / n, "max": max(values), "stddev": math.sqrt(variance)}
