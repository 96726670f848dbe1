"""The options of FEMU's black-box mode, in a script that starts it.

Source: FEMU (Li et al., FAST 2018), the list of its device's properties and their documentation; FDP: the same of WARP
(FAST 2026). Options that a script does not give have FEMU's defaults.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coflash import CoflashError
from imported import Imported, Parameters, another_device, no_counterpart, percent, table, time_ns
from shell import Script

_OPTION = re.compile(r'(?:^|[\s,"])([\w.]+)=([^\s,"]+)', re.MULTILINE)
_DEVICE = re.compile(r"-device\s+(femu(?:-subsys)?,\S*)")
_READ = "secsz secs_per_pg ch_xfer_lat gc_thres_pcent lazy_gc_pcent op_pcent devsz_mb"
_KNOWN = {*_READ.split(), *(name for name, *_ in table("FEMU")[0])}
_RANDOM = {"name": "d-choices", "d": 1}
_VICTIMS = {name: name for name in ("greedy", "cost-benefit", "fifo")} | {"random": _RANDOM, "d-choice": "d-choices"}
_FDP_VICTIMS = {"0": "greedy", "1": "cost-benefit", "2": _RANDOM}
_CELLS = {"0": None, "1": "slc", "2": "mlc", "3": "tlc", "4": "qlc"}
_SUPERBLOCK = ("channels", "chips_per_channel", "planes_per_die", "pages_per_block")
_SECTOR_BYTES = 512


def is_known(text: str) -> bool:
    """Whether a text gives options of FEMU's device."""
    return "femu" in text.lower() and bool(_KNOWN & {name for name, _ in _OPTION.findall(text)})


def read(texts: Mapping[Path, str], _: str | None) -> Imported:
    """Read the options of a script.

    Raises:
        CoflashError: The drive is of another kind, or a value cannot be used.
    """
    file, text = next(iter(texts.items()))
    options, remarks = _options(text)
    given = Parameters(str(file), options)
    mode = given.text("femu_mode", "2")
    if mode != "1":
        kind = no_counterpart("FEMU").get(f"femu_mode={mode}", "not known before the script runs: set it")
        raise another_device(file, f"femu_mode = {mode} (its default is 2) is {kind}", "femu_mode = 1, a black box")
    page = given.whole("secsz", 512) * given.whole("secs_per_pg", 8)
    transfer = given.number("ch_xfer_lat", 0) or given.number("pg_xfer_lat", 0)
    values: dict[str, Any] = {
        "name": file.stem,
        **given.taken("FEMU"),
        "flash.page_size": f"{page}B",
        "timing.sector_transfer": time_ns(transfer * _SECTOR_BYTES / page),
        "gc.victim": given.one_of("gc_policy", _VICTIMS, "greedy"),
    }
    superblock = math.prod(values[f"flash.{part}"] for part in _SUPERBLOCK) * page
    blocks = values["flash.blocks_per_plane"]
    remarks.append('FEMU begins erased (precondition.fill = "none"): jobs write before they measure.')
    if spare := _spare(given, blocks * superblock, remarks):
        values["ftl.spare"] = {"share": percent(spare), "definition": "spare_of_physical"}
    lazy, hard = 1 - given.number("gc_thres_pcent", 75) / 100, 1 - given.number("gc_thres_pcent_high", 95) / 100
    if "lazy_gc_pcent" in given:
        valid = given.number("lazy_gc_pcent", 0) / 100
        values |= {"gc.mode": {"name": "lazy", "mark": percent(lazy), "valid": percent(valid)}}
    elif hard < lazy < (spare or 1 / 8):
        values |= {"gc.mode": {"name": "background", "mark": percent(lazy)}}
    elif hard < lazy and "gc_thres_pcent" in given:
        given.forget("gc_thres_pcent")  # with this spare space there are never as many free blocks
    values |= _memory(given, page, remarks)
    if given.switch("fdp"):
        values |= _fdp(given, blocks, remarks)
    if cell := given.one_of("nand_cell_type", _CELLS, "0"):
        values["flash.cell"] = cell
        remarks.append("nand_cell_type has array times of its own; here they are pg_rd_lat, pg_wr_lat, blk_er_lat.")
    if given.switch("pe_suspend"):
        values |= {"timing.read_priority": {"name": "suspend", "overhead": time_ns(given.number("tsusp_ns", 0))}}
    if "link.lane_rate" in values:
        values["link.sharing"] = "shared"
    if command := values.get("controller.read_command"):
        values |= {"controller.write_command": command, "controller.cores": 1}
    return Imported("FEMU", values, (*remarks, *given.remarks), given.not_asked())


def _options(text: str) -> tuple[dict[str, str], list[str]]:
    """Return the options of the device and its subsystem, and remarks on how they were found."""
    script, remarks = Script.of(text), []
    found = _DEVICE.findall(script.commands) or _DEVICE.findall("\n".join(script.variables.values()))
    devices = list(dict.fromkeys(found))  # a script that prints its options has them twice
    parts = {part.split(",", 1)[0]: part for part in reversed(devices)}  # of several the first
    options = {name: value for part in parts.values() for name, value in _OPTION.findall(part)}
    left = {name: value for name, value in script.variables.items() if name in _KNOWN and name not in options}
    if devices and left:
        remarks.append(f"{', '.join(left)}: set in the script, not passed to the device, and taken all the same.")
    if len(devices) > len(parts):
        remarks.append(f"The script starts {len(devices)} devices: this is the first.")
    if doubtful := sorted(script.doubtful & _KNOWN):
        remarks.append(f"{', '.join(doubtful)}: set again where a condition decides; the last value was taken.")
    return left | options, remarks


def _spare(given: Parameters, physical: int, remarks: list[str]) -> float:
    """Return the spare space as a part of the flash: FEMU hides op_pcent of what it shows, or shows devsz_mb."""
    exported = given.whole("devsz_mb", 0, least=0) << 20
    if over := given.number("op_pcent", 0):
        remarks += ["op_pcent decides the capacity, and devsz_mb does not."] * (exported > 0)
        return over / (100 + over)
    if exported > physical:
        raise CoflashError(f"devsz_mb: {exported >> 20} was given; less than the flash, {physical >> 20}, is allowed")
    if exported == physical:
        remarks.append("devsz_mb leaves no spare space, which an FTL needs: ftl.spare has its default. Set it.")
    return 1 - exported / physical if exported else 0


def _memory(given: Parameters, page: int, remarks: list[str]) -> dict[str, Any]:
    """Return the cache: FEMU's write buffer, or its cache for reads."""
    if buffer := given.whole("buffer_size", 0, least=0) * given.number("buffer_thres_pcent", 90) / 100:
        of_buffer = {"cache.read_allocate": False, "cache.volatile": given.switch("vwc")}
        return {"cache.size": f"{max(1, round(buffer)) * page}B", "cache.policy": "lru", **of_buffer}
    if cache := given.whole("read_cache_mb", 0, least=0):
        remarks.append("read_cache_mb is a cache for reads; here writes go past it.")
        policy = given.one_of("cache_evict", {name: name for name in ("lru", "clock", "arc")}, "clock")
        return {"cache.size": f"{cache}MiB", "cache.policy": policy, "cache.write_allocate": False}
    return {}


def _fdp(given: Parameters, blocks: int, remarks: list[str]) -> dict[str, Any]:
    """Return the placement: handles, isolation, reclaim units."""
    isolation = "persistently" if (persistent := given.text("fdp.isolation_mode", "0") == "1") else "initially"
    own = given.text("fdp.ruhs", "")
    handles = max(given.whole("fdp.nruh", 1), len(own.split(";")) if own else 1)
    if handles > (most := 8 if persistent else 15):
        remarks.append(f"fdp.nruh: {handles} handles, and {most} of them here, the most that are isolated {isolation}.")
    values: dict[str, Any] = {
        "ftl.placement": {
            "name": "fdp",
            "handles": min(handles, most),
            "isolation": isolation,
            "shares": ["100%"],
            "idle": "open",
        },
        "gc.victim": given.one_of("gc_strategy", _FDP_VICTIMS, "0"),
    }
    if given.whole("fdp.nru", blocks) != blocks:
        remarks.append("fdp.nru: a reclaim unit is a superblock, of which there are as many as blocks in a plane.")
    if size := re.fullmatch(r"([1-9]\d*)([KMG]?)i?B?", given.text("fdp.runs", "")):
        values["ftl.reclaim_unit"] = f"{int(size[1]) << {'': 0, 'K': 10, 'M': 20, 'G': 30}[size[2]]}B"
    return values
