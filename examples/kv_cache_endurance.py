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
# reclaim-unit handle of its own (LMCache, pull request 4016, July 2026). The order in which its writers replaced objects
# is not published; here it is least recently used, with reads that follow Zipf's law.
#
# Jupyter and VS Code open this file as a notebook; `python examples/kv_cache_endurance.py` runs it.

# %%
from pathlib import Path
from typing import Any

import numpy as np

from coflash import Result, Scenario, Table, run
from coflash.report import Study, write_report

# %% [markdown]
# ## The drive and its writers
#
# Everything is divided by 512: capacity, objects and reclaim units, which are superblocks of 16 GiB on the drive. Write
# amplification depends on proportions. Spare space is 18.9 % of the exported capacity, as the first garbage collection of
# such a drive suggests; that is the one number taken from elsewhere.

# %%
SCALE = 512
GIB, MIB = 2**30, 2**20
CAPACITY_GIB = 960
PASSES = 4
READS = 0.5

#: Class, number of writers, size of an object in MiB, space of each writer in GiB.
CLASSES = [("chat", 2, 4, 90), ("long", 1, 32, 180), ("shared", 2, 16, 90), ("random", 3, 2, 90), ("metadata", 1, 1, 45)]


def writer(name: str, object_mib: int, space_gib: int) -> dict[str, Any]:
    """A tenant that writes `PASSES` times its space, in proportion to the others."""
    size = f"{object_mib * MIB // SCALE}B"
    writes = PASSES * space_gib * GIB // (object_mib * MIB)
    return {
        "name": name,
        "space": f"{space_gib * GIB // SCALE}B",
        "synthetic": {
            "generator": {"name": "kv-cache", "object": size},
            "align": size,
            "size": {"name": "fixed", "size": size},
            "read_share": f"{READS:.0%}",
            "requests": round(writes / (1 - READS)),
            # All writers end at the same time.
            "arrival": {"name": "poisson", "mean": f"{object_mib * 18_000 // space_gib}us"},
        },
    }


DRIVE = Scenario.load("demo").with_(
    {
        "flash": {
            "channels": 4,
            "chips_per_channel": 4,
            "dies_per_chip": 1,
            "planes_per_die": 1,
            "pages_per_block": 512,
            "page_size": "4KiB",
            "exported": f"{CAPACITY_GIB * GIB // SCALE}B",
        },
        "ftl.spare.share": "18.9%",
        "ftl.pools": "device",
        "gc.low_mark": 2,
        "cache.size": "0B",
        "cooperation": {"name": "none"},
        "precondition.fill": "mapped",
        "replay.mode": "closed",
        "workload": {
            "tenants": [
                writer(f"{name}-{number}", object_mib, space_gib)
                for name, writers, object_mib, space_gib in CLASSES
                for number in range(writers)
            ]
        },
    }
)

# %% [markdown]
# ## The runs
#
# - *as it comes*: all data share the open superblock;
# - *a handle for each class*: flexible data placement, with initially isolated handles as on the drive;
# - *cooperation*: the same drive with a non-volatile cache of 1 %, whose pages garbage collection does not copy.

# %%
SHARES = [f"{100 * writers * space_gib / CAPACITY_GIB}%" for _, writers, _, space_gib in CLASSES]
HANDLES = {"name": "fdp", "handles": len(CLASSES), "shares": SHARES}
CACHE = {"cache.size": "1%", "cooperation": {"name": "cdm"}}


def measured(name: str, **changes: Any) -> Result:
    """One run of the workload."""
    return run(DRIVE.with_({"name": name, **changes}))


results = [
    measured("as it comes", **{"ftl.shared_streams": [["host", "evict", "gc"]]}),
    measured("copies apart"),
    measured("a handle for each class", **{"ftl.placement": HANDLES, "gc.low_mark": 3}),
    measured("cooperation", **CACHE),
    measured("cooperation and handles", **CACHE, **{"ftl.placement": HANDLES, "gc.low_mark": 3}),
]

# %% [markdown]
# ## What it comes to
#
# Drive writes a day over five years, for cells that bear 3,000 erases: the capacity times 3,000, divided by write
# amplification and days.

# %%
ERASES, DAYS = 3_000, 5 * 365
waf = np.array([result.metrics.waf_host or 0.0 for result in results])
Table(
    {
        "placement": np.array([result.scenario.name for result in results]),
        "waf": waf.round(3),
        "drive_writes_per_day": (1.189 * ERASES / DAYS / waf).round(2),
    }
)

# %%
write_report(Study(results, question=__doc__ or ""), Path("results/kv-cache.html"))
