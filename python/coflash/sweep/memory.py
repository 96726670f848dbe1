"""The memory that a run needs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from coflash._core import quantity
from coflash.quantity import PPB
from coflash.scenario import Scenario

_BYTES_PER_PAGE, _BYTES_PER_BLOCK, _BYTES_PER_SLOT = 20, 64, 36
"""Upper bounds for the state of a device: for each physical page, each block, each page of the cache."""
_BYTES_APART = 48 * 2**20
"""The memory of a run beside its device: read-ahead, decompression, histograms, series."""

_BLOCKS = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die", "blocks_per_plane")


def needed_bytes(scenario: Scenario) -> tuple[int, int]:
    """Return upper bounds for the memory of a run, and of a warm device that it shares, without building them."""
    values = scenario.to_dict()
    pages, blocks = _size(values["flash"])
    cache, unit = quantity(values["cache"]["size"])
    slots = pages * cache // PPB if unit == "ppb" else cache // page_bytes(scenario)
    device = pages * _BYTES_PER_PAGE + blocks * _BYTES_PER_BLOCK
    return device + min(slots, pages) * _BYTES_PER_SLOT + _BYTES_APART, device


def flash_bytes(scenario: Scenario) -> int:
    """Return the size of all flash, spare space included."""
    return flash_pages(scenario) * page_bytes(scenario)


def flash_over_exported(scenario: Scenario) -> float:
    """Return the size of all flash over that of what is exported."""
    return flash_bytes(scenario) / quantity(scenario.to_dict()["flash"]["exported"])[0]


def spare_share(scenario: Scenario) -> float:
    """Return the share of spare space that a device really has, since its blocks are whole."""
    over = flash_bytes(scenario) / scenario.exported_bytes() - 1
    is_of_exported = scenario.to_dict()["ftl"]["spare"]["definition"] == "over_provisioning"
    return over if is_of_exported else over / (1 + over)


def flash_pages(scenario: Scenario) -> int:
    """Return the pages of all flash."""
    return _size(scenario.to_dict()["flash"])[0]


def page_bytes(scenario: Scenario) -> int:
    """Return the size of a page of flash."""
    return int(quantity(scenario.to_dict()["flash"]["page_size"])[0])


def _size(flash: Mapping[str, Any]) -> tuple[int, int]:
    """Return the numbers of pages and of blocks."""
    blocks = math.prod(flash[name] for name in _BLOCKS)
    return blocks * flash["pages_per_block"], blocks
