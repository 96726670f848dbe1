"""What queries cannot compute: closed forms, write amplification in the long run, and what runs were given."""

from __future__ import annotations

import math

from coflash import analytic
from coflash._core import quantity
from coflash.quantity import PPB
from coflash.sweep.memory import flash_pages
from coflash_reproduce.paper import Run


def closed_form(run: Run) -> float:
    """Return the write amplification of independent uniform writes to a part of the device in the long run.

    Pages that are never written stay in blocks of their own, and leave the rest of the flash to the footprint. Source:
    `analytic.greedy`. The last page of each block holds its summary: a block has one page less, and each of its pages
    costs accordingly more.
    """
    values = run.scenario.to_dict()
    flash, made_up = values["flash"], values["workload"]["synthetic"]
    data_pages = flash["pages_per_block"] - 1
    blocks = flash_pages(run.scenario) // flash["pages_per_block"]
    pools = blocks // flash["blocks_per_plane"]
    low_mark = math.floor(quantity(values["gc"]["low_mark"])[0] / PPB * flash["blocks_per_plane"])
    physical = analytic.usable(blocks * data_pages, data_pages, pools, 1, low_mark + 1)
    logical = run.document["workload"]["logical_bytes"] // 4096
    footprint = quantity(made_up["space"])[0] // 4096
    alpha = (physical - (logical - footprint)) / footprint
    waf: float = analytic.greedy(alpha, data_pages) * flash["pages_per_block"] / data_pages
    return waf


def exported_bytes(run: Run) -> int:
    """Return the size of the address space that the device offers."""
    return int(run.document["workload"]["logical_bytes"])


def footprint_bytes(run: Run) -> int:
    """Return the address space, or the footprint, of the requests."""
    return run.experiment.footprint_bytes
