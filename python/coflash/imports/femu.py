"""The options of FEMU's black-box mode, in a script that starts it.

Source: FEMU (Li et al., FAST 2018), the list of its device's properties. Options that a script does not give have
FEMU's defaults.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coflash._core import CoflashError
from coflash.imports.imported import Imported, Parameters, percent, time_ns

_OPTION = re.compile(r'(?:^|[\s,"])(\w+)=([\w.+-]+)(?=[\s,;"]|$)', re.MULTILINE)
_KNOWN = frozenset(
    {"secsz", "secs_per_pg", "pgs_per_blk", "blks_per_pl", "luns_per_ch", "nchs", "pg_rd_lat", "pg_wr_lat"}
)
_VICTIMS = {
    "greedy": "greedy",
    "random": "random",
    "cost-benefit": "cost-benefit",
    "fifo": "fifo",
    "d-choice": "d-choices",
}
_POLICIES = {"lru": "lru", "clock": "clock"}
_SECTOR_BYTES = 512


def is_known(text: str) -> bool:
    """Whether a text gives options of FEMU's device."""
    return "femu" in text.lower() and bool(_KNOWN & {name for name, _ in _OPTION.findall(text)})


def read(texts: Mapping[Path, str], profile: str | None) -> Imported:
    """Read the options of a script.

    Raises:
        CoflashError: A value cannot be used.
    """
    del profile
    file, text = next(iter(texts.items()))
    lines = "\n".join(line.split("#", 1)[0] for line in text.splitlines())
    given = Parameters(str(file), dict(_OPTION.findall(lines)))
    remarks = ["FEMU cleans lines, which are superblocks over all dies; here each plane is cleaned for itself."]
    sector, sectors = given.whole("secsz", 512), given.whole("secs_per_pg", 8)
    channels, chips, planes = given.whole("nchs", 8), given.whole("luns_per_ch", 8), given.whole("pls_per_lun", 1)
    blocks, pages = given.whole("blks_per_pl", 256), given.whole("pgs_per_blk", 256)
    physical = channels * chips * planes * blocks * pages * sectors * sector
    values: dict[str, Any] = {
        "name": file.stem,
        "flash.channels": channels,
        "flash.chips_per_channel": chips,
        "flash.planes_per_die": planes,
        "flash.blocks_per_plane": blocks,
        "flash.pages_per_block": pages,
        "flash.page_size": f"{sector * sectors}B",
        "timing.page_read": time_ns(given.number("pg_rd_lat", 40_000)),
        "timing.page_program": time_ns(given.number("pg_wr_lat", 200_000)),
        "timing.block_erase": time_ns(given.number("blk_er_lat", 2_000_000)),
        "timing.sector_transfer": time_ns(given.number("ch_xfer_lat", 0) * _SECTOR_BYTES / (sector * sectors)),
        "timing.channel": "shared",
        "gc.low_mark": percent(1 - given.number("gc_thres_pcent", 75) / 100),
        "gc.victim": _one_of(given, "gc_policy", "greedy", _VICTIMS),
    }
    if exported := given.whole("devsz_mb", 0, least=0) << 20:
        if exported >= physical:
            msg = f"{file}: devsz_mb: {exported >> 20} was given; less than the flash, {physical >> 20}, is allowed"
            raise CoflashError(msg)
        values["ftl.spare"] = {"share": percent(1 - exported / physical), "definition": "spare_of_physical"}
    if cache := given.whole("read_cache_mb", 0, least=0):
        values |= {"cache.size": f"{cache}MiB", "cache.policy": _one_of(given, "cache_evict", "clock", _POLICIES)}
        remarks.append("read_cache_mb is a cache for reads; here writes go through it, too.")
    if rate := given.whole("pcie_bandwidth_mbps", 0, least=0):
        values |= {"link.lanes": 1, "link.lane_rate": f"{rate * 10**6}B"}
    if overhead := given.number("fw_cpu_ns", 0):
        values["link.per_command"] = time_ns(overhead)
    return Imported("FEMU", values, tuple(remarks), given.not_asked())


def _one_of(given: Parameters, name: str, default: str, known: Mapping[str, str]) -> str:
    text = given.text(name, default)
    if text not in known:
        msg = f"{name}: '{text}' was given; of FEMU's values {', '.join(known)} have a counterpart"
        raise CoflashError(msg)
    return known[text]
