"""Names of metrics in earlier versions, and their present names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from coflash.measures.metrics import Metrics

_BUFFER = ("flushed", "merged", "absorbed", "dropped", "dirty")
_NOTICES = {
    "notices_posted": "posted",
    "notices_withdrawn": "withdrawn",
    "notice_messages": "messages",
    "notice_bytes": "bytes",
    "notice_delay_mean_ns": "delay_mean_ns",
    "notice_delay_max_ns": "delay_max_ns",
}

RENAMED = {
    "host_buffer.evicted_pages": "host_buffer.dirty_evictions_pages",
    "host_buffer.device_writes_pages": "host_buffer.written_pages",
    **{f"host_buffer.{before}": f"host.to_device.{now}" for before, now in _NOTICES.items()},
    **{f"host.{way}.rides": f"host.{way}.carrying_commands" for way in ("to_device", "to_host")},
    **{f"device_buffer.{what}_pages": f"cache.{what}_pages" for what in _BUFFER},
}
"""The present path of a metric, by its path in older results."""

_PLACES = {path: path.split(".", 1) for path in RENAMED}


def metrics_of(document: Mapping[str, Any]) -> Metrics:
    """Return the metrics of a result, also of an earlier version, under their present names."""
    return Metrics(_renamed(document["metrics"]))


def _renamed(metrics: dict[str, Any]) -> dict[str, Any]:
    found = [path for path, (section, name) in _PLACES.items() if name in metrics.get(section, ())]
    if not found:
        return metrics
    metrics = {key: dict(value) if isinstance(value, dict) else value for key, value in metrics.items()}
    for path in found:
        section, name = _PLACES[path]
        *groups, now = RENAMED[path].split(".")
        place = metrics
        for group in groups:
            place = place.setdefault(group, {})
        place.setdefault(now, metrics[section].pop(name))
    metrics.pop("device_buffer", None)
    return metrics
