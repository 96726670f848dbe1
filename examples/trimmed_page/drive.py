"""The drive and the database on which trims of logged pages are tried, and what is measured there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from coflash import Result, Scenario, run
from trimmed_page.database import PAGE_BYTES, TRIM, Database

BASE = Database(pages=4_096, pool=0.2, distance=0.25)
DRIVE = Scenario.load("demo").with_(
    {
        "flash": {"channels": 4, "chips_per_channel": 2, "dies_per_chip": 1, "planes_per_die": 1, "cell": "tlc"},
        "flash.page_size": "4KiB",
        "flash.pages_per_block": 4,
        "ftl.pools": "device",
        "gc.low_mark": 6,
        "ftl.spare": {"share": "12%", "definition": "over_provisioning"},
        "cache.size": "0B",
        "cooperation": {"name": "none"},
        "precondition": {"fill": "mapped", "until_steady": True},
        "replay": {"mode": "closed", "queue_depth": 8},
    }
)
"""Eight dies of TLC that the log and the data fill, without a cache; eight requests are always waiting."""
UNIT_BYTES = 1 << 16
"""What the drive exports is a multiple of it: the largest unit that is mapped."""


def two_handles(database: Database) -> dict[str, object]:
    """Return the keys of a drive with a handle for the data and another for the log."""
    data = f"{100 * database.pages * PAGE_BYTES / database.space_bytes:.1f}%"
    return {"ftl.placement": {"name": "fdp", "handles": 2, "shares": [data]}}


def pool_as_spare(database: Database) -> dict[str, object]:
    """Return the keys of a drive with as many bytes more of spare space as the pool has."""
    share = 0.12 + database.pool * database.pages * PAGE_BYTES / database.space_bytes
    return {"ftl.spare.share": f"{share:.1%}"}


def pool_as_cache(database: Database) -> dict[str, object]:
    """Return the keys of a drive with a cache of as many bytes as the pool has, which is not volatile."""
    size = f"{round(database.pool * database.pages) * PAGE_BYTES}B"
    return {"cache.size": size, "precondition.through_caches": True}


def written(database: Database, transactions: int, file: Path, whole: int = 1) -> str:
    """Write the requests of a database, from its empty pool on, as a trace; return its name.

    Trims of less than `whole` bytes, or not at a multiple of them, are left out, as by a drive that frees whole units.
    """
    requests = replace(database).requests(transactions)
    heeded = (row for row in requests if row[0] != TRIM or not (row[1] % whole or row[2] % whole))
    rows = (f"0,{op},{offset},{size}\n" for op, offset, size in heeded)
    file.write_text("time_ns,op,offset,length\n" + "".join(rows))
    return str(file)


def measured(database: Database, trace: str, keys: Mapping[str, object]) -> Result:
    """Return the result of a database, whose requests are a trace, on the drive; refuse one that is not steady."""
    space = f"{-(-database.space_bytes // UNIT_BYTES) * UNIT_BYTES}B"
    result = run(DRIVE.with_({"flash.exported": space, "workload": {"trace": [trace]}, **keys}))
    if not any("Write amplification was steady then" in note for note in result.notes):
        raise RuntimeError(f"{database}: {result.notes}")
    return result


def waf(result: Result) -> float:
    """Return the write amplification."""
    return float(result.metrics.waf_host or 0)


def programs(result: Result, transactions: int) -> float:
    """Return the flash pages that a transaction takes."""
    return waf(result) * result.metrics.host_writes_pages / transactions
