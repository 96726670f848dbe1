"""What this process may use of the machine: memory and cores."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_SHARE_USED = 0.8
"""The share of the free memory that runs may use; the rest is for other programs."""
_GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)
"""The files with a container's limit and its use, in both versions of control groups."""


def available_bytes() -> int:
    """Return the memory that runs may use now on this machine, within the limit of a container."""
    import psutil

    free = psutil.virtual_memory().available
    for limit, used in _GROUPS:
        with suppress(OSError, ValueError):  # another version, no container, or no limit ("max")
            free = min(free, int(Path(limit).read_text()) - int(Path(used).read_text()))
    return int(max(free, 0) * _SHARE_USED)


def cores() -> int:
    """Return the number of cores that this process may use, if the system knows it."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
