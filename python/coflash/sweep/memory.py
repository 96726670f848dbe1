"""The memory that a run needs, and the memory and the cores that are free."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from coflash._core import quantity
from coflash.quantity import PPB
from coflash.scenario import Scenario

_BYTES_PER_PAGE, _BYTES_PER_BLOCK, _BYTES_PER_SLOT = 20, 64, 36
"""Upper bounds for the state of a device: for each physical page, each block, each page of the cache."""
_BYTES_APART = 48 * 2**20
"""The memory of a run beside its device: read-ahead, decompression, histograms, series."""
_SHARE_USED = 0.8
"""The share of the free memory that runs may use; the rest is for other programs."""

_BLOCKS = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "blocks_per_plane")
_GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)
"""The files with a container's limit and its use, in both versions of control groups."""


def needed_bytes(scenario: Scenario) -> tuple[int, int]:
    """Return upper bounds for the memory of a run, and of a warm device that it shares, without building them."""
    values = scenario.to_dict()
    pages, blocks = _size(values["flash"])
    cache, unit = quantity(values["cache"]["size"])
    page_bytes, _ = quantity(values["flash"]["page_size"])
    slots = pages * cache // PPB if unit == "ppb" else cache // page_bytes
    device = pages * _BYTES_PER_PAGE + blocks * _BYTES_PER_BLOCK
    return device + min(slots, pages) * _BYTES_PER_SLOT + _BYTES_APART, device


def flash_bytes(scenario: Scenario) -> int:
    """Return the size of all flash, spare space included."""
    flash = scenario.to_dict()["flash"]
    return int(_size(flash)[0] * quantity(flash["page_size"])[0])


def _size(flash: Mapping[str, Any]) -> tuple[int, int]:
    """Return the numbers of pages and of blocks."""
    blocks = math.prod(flash[name] for name in _BLOCKS)
    return blocks * flash["pages_per_block"], blocks


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
