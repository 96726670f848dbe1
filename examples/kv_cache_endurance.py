"""Does a KV cache burn out my drive, and what do placement and cooperation save?"""

# %% [markdown]
# # Does a KV cache burn out my drive, and what do placement and cooperation save?
#
# Servers of large language models keep keys and values of earlier prompts on flash: objects of a few MiB, written once,
# read while somebody needs them, replaced when the store is full. That is gigabytes of writes a minute. What garbage
# collection adds to them depends on which objects share erase blocks.
#
# The workload is one that was measured: nine writers on a Samsung PM9D3a limited to 960 GiB, 89 % of it in use, four
# times its capacity written. The drive's write amplification was 2.600, and 1.425 when each class of writers had a
# reclaim-unit handle of its own (LMCache, pull request 4016, July 2026). How fast each writer was, in which order it
# replaced objects, and the spare space are not published. Here all write equally fast, and replace what was used
# longest ago; reads follow Zipf's law; the 11 % that no object uses are unmapped.
#
# Jupyter and VS Code open this file as a notebook; `python examples/kv_cache_endurance.py` runs it.

# %%
from pathlib import Path
from typing import Any

import numpy as np

from coflash import Result, Scenario, Table, run
from coflash.report import Subject, write_report

# %% [markdown]
# ## The drive and its writers
#
# Everything is divided by 1024: capacity, objects (down to a page) and reclaim units, which are superblocks. Write
# amplification depends on proportions. Spare space, 24 % of the space in use, is the one number that is fitted, to both
# published ones.

# %%
SCALE = 1024
GIB, MIB = 2**30, 2**20
PASSES = 4
READS = 0.5

#: Class, number of writers, size of an object in MiB, space of each writer in GiB.
CLASSES = [
    ("chat", 2, 4, 90),
    ("long", 1, 32, 180),
    ("shared", 2, 16, 90),
    ("random", 3, 2, 90),
    ("metadata", 1, 1, 45),
]
WRITERS = sum(writers for _, writers, _, _ in CLASSES)
USED_GIB = sum(writers * space_gib for _, writers, _, space_gib in CLASSES)


def writer(name: str, object_mib: int, space_gib: int, handle: int) -> dict[str, Any]:
    """Return a tenant that writes a ninth of all, `PASSES` times the space in use, and labels its writes."""
    size_bytes = max(object_mib * MIB // SCALE, 4096)
    size = f"{size_bytes}B"
    writes = PASSES * USED_GIB * GIB // SCALE // WRITERS // size_bytes
    return {
        "name": name,
        "placement": handle,
        "space": f"{space_gib * GIB // SCALE}B",
        "synthetic": {
            "generator": {"name": "kv-cache", "object": size},
            "align": size,
            "size": {"name": "fixed", "size": size},
            "read_share": f"{READS:.0%}",
            "requests": round(writes / (1 - READS)),
            # All writers end at the same time.
            "arrival": {"name": "poisson", "mean": f"{size_bytes // 9}us"},
        },
    }


DRIVE = Scenario.load("demo").with_(
    {
        "flash": {
            "channels": 4,
            "chips_per_channel": 4,
            "dies_per_chip": 1,
            "planes_per_die": 1,
            "cell": "tlc",
            "page_size": "4KiB",
            "exported": f"{USED_GIB * GIB // SCALE}B",
        },
        "ftl.spare": {"share": "24%", "definition": "over_provisioning"},
        "ftl.pools": "device",
        "gc.low_mark": 3,
        "cache.size": "0B",
        "cooperation": {"name": "none"},
        "precondition.fill": "mapped",
        "replay.mode": "closed",
        "workload": {
            "tenants": [
                writer(f"{name}-{number}", object_mib, space_gib, handle)
                for handle, (name, writers, object_mib, space_gib) in enumerate(CLASSES)
                for number in range(writers)
            ]
        },
    }
)

# %% [markdown]
# ## The runs
#
# - *as it comes*: all data share the open superblock;
# - *copies apart*: what garbage collection copies has a superblock of its own;
# - *handles*: flexible data placement, a handle for each class, initially isolated as on the drive;
# - *cooperation*: handles, and a non-volatile cache of 1 % whose pages garbage collection does not copy.
#
# Each with reclaim units of 16 GiB, as the drive's were said to be, and of 2 GiB.

# %%
HANDLES = {"ftl.placement": {"name": "fdp", "handles": len(CLASSES)}}
PLACEMENTS: dict[str, dict[str, Any]] = {
    "as it comes": {"ftl.shared_streams": [["host", "evict", "gc"]]},  # 2.600 on the drive
    "copies apart": {},
    "handles": HANDLES,  # 1.425 on the drive
    "cooperation": {**HANDLES, "cache.size": "1%", "cooperation": {"name": "cdm"}},
}
DIES = 16


def measured(name: str, unit_gib: int) -> Result:
    """Return the result of one run of the workload."""
    pages_per_block = unit_gib * GIB // SCALE // DIES // 4096
    named = {"name": f"{name}, units of {unit_gib} GiB", "flash.pages_per_block": pages_per_block}
    return run(DRIVE.with_({**PLACEMENTS[name], **named}))


results = {unit_gib: [measured(name, unit_gib) for name in PLACEMENTS] for unit_gib in (16, 2)}

# %% [markdown]
# The first of them, as a result shows itself:

# %%
results[16][0]

# %% [markdown]
# ## What it comes to
#
# `endurance.drive_writes_per_day` is over five years, with the 3,000 erases that a block of TLC cells is rated for by
# default (`endurance.rated_cycles`). The erases of each block are in `result.erase_counts()`.

# %%
columns: dict[str, Any] = {"waf, published": np.array(["2.600", "–", "1.425", "–"])}
for unit_gib, of_units in results.items():
    metrics = [result.metrics for result in of_units]
    columns |= {
        f"waf, units of {unit_gib} GiB": np.array([of.waf_host for of in metrics]).round(3),
        f"drive writes a day, {unit_gib} GiB": np.array([of.endurance.drive_writes_per_day for of in metrics]).round(2),
    }
Table({"placement": np.array(list(PLACEMENTS)), **columns})

# %% [markdown]
# Keeping copies apart is worth most, handles add to it, and a cache that cooperates adds a little more. With units of 2
# GiB both numbers are near those of the drive. With 16 GiB the drive has 67 units and 13 of them spare, and the units
# that are open at the same time take half of the spare space away: neither number is that of the drive. Which units it
# collects, and whether it may use spare ones of a larger drive, is not said; that would decide it.
#
# Does it burn out the drive? Objects that come at 1 GB/s write these 855 GiB over 94 times a day. The drive then lasts
# 17 days as it comes, and 28 with handles and cooperation (units of 2 GiB). At 1 drive write a day it lasts four years
# as it comes, and seven.

# %%
OUT = Path("results/kv-cache")
OUT.mkdir(parents=True, exist_ok=True)
write_report(Subject([*results[16], *results[2]], question=__doc__ or ""), OUT / "report.html")
