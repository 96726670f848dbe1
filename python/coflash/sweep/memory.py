"""How much memory a run takes, and how much there is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

from coflash.quantity import read
from coflash.scenario import Scenario

_BYTES_PER_PAGE, _BYTES_PER_BLOCK, _BYTES_PER_SLOT = 20, 64, 36
"""Of the device's state, at most: for each physical page, for each block, for each page of the cache."""
_BYTES_APART = 48 * 2**20
"""What a run takes whatever its device: read-ahead, decompression, histograms, series."""
_SHARE_USED = 0.8
"""Of the memory that is free; others need some, too."""

_BLOCKS = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "blocks_per_plane")
_GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)
"""Where a container's limit and what it uses are told, in both versions of control groups."""


def needed_bytes(scenario: Scenario) -> int:
    """What a run of the scenario takes at most, told from the size of its device without building it."""
    values = scenario.to_dict()
    pages, _ = _size(values["flash"])
    cache, unit, _ = read(values["cache"]["size"])
    share = cache / 100 if unit == "%" else cache / read(values["flash"]["page_size"])[0] / pages
    slots = pages * min(share, Decimal(1))
    return device_bytes(scenario) + int(slots * _BYTES_PER_SLOT) + _BYTES_APART


def device_bytes(scenario: Scenario) -> int:
    """What the device takes of it, without its cache: what a warm one takes that runs share."""
    pages, blocks = _size(scenario.to_dict()["flash"])
    return pages * _BYTES_PER_PAGE + blocks * _BYTES_PER_BLOCK


def _size(flash: Mapping[str, Any]) -> tuple[int, int]:
    """Pages and blocks."""
    blocks = math.prod(flash[name] for name in _BLOCKS)
    return blocks * flash["pages_per_block"], blocks


def available_bytes() -> int:
    """What runs may take on this machine now, within the limit of the container if there is one."""
    import psutil

    free = psutil.virtual_memory().available
    for limit, used in _GROUPS:
        with suppress(OSError, ValueError):  # another version, no container, or no limit ("max")
            free = min(free, int(Path(limit).read_text()) - int(Path(used).read_text()))
    return int(max(free, 0) * _SHARE_USED)
