"""NVMeVirt's ssd_config.h: one of its drives.

Source: NVMeVirt (Kim et al., FAST 2023), its header of drives.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arithmetic import evaluate
from coflash import CoflashError
from imported import Imported, Parameters, another_device, no_counterpart, percent, time_ns

_BRANCH = re.compile(
    r"#\s*(?:el)?if\s*\(\s*BASE_SSD\s*==\s*(\w+)\s*\)(.*?)(?=#\s*elif|\n#endif\s*\n/{8}|\Z)", re.DOTALL
)
_OFF = re.compile(r"#\s*if\s+([01])\b(.*?)(?:#\s*else(.*?))?#\s*endif", re.DOTALL)
"""A part that is switched off or on, and its alternative."""
_DEFINE = re.compile(r"^\s*#\s*define\s+(\w+)[ \t]+(.+?)\s*(?://.*|/\*.*)?$", re.MULTILINE)
_SECTOR_BYTES = 512
_CELLS = {"1": "slc", "2": "mlc", "3": "tlc", "4": "qlc"}
_PAGES = {"mlc": ("LSB", "MSB"), "tlc": ("LSB", "CSB", "MSB")}


def is_known(text: str) -> bool:
    """Whether a text is NVMeVirt's header of drives."""
    return "BASE_SSD" in text and "NAND_CHANNELS" in text


def read(texts: Mapping[Path, str], profile: str | None) -> Imported:
    """Read one of the drives with flash, by its name, or the first one without zones.

    Raises:
        CoflashError: There is no such drive, it is of another kind, or a value cannot be used.
    """
    file, text = next(iter(texts.items()))
    text = _OFF.sub(lambda found: (found[3] or "") if found[1] == "0" else found[2], text)
    common = dict(_DEFINE.findall(_BRANCH.sub("", text)))  # of all drives
    drives = {name: dict(_DEFINE.findall(body)) for name, body in _BRANCH.findall(text)}
    drives = {name: defines for name, defines in drives.items() if "NAND_CHANNELS" in defines or _kind(defines)}
    if not drives:
        raise CoflashError(f"{file}: has no drive with NAND_CHANNELS")
    kinds = {name: _kind(defines) for name, defines in drives.items()}
    simulated = [name for name, kind in kinds.items() if not kind]
    chosen = profile or (simulated or list(drives))[0]
    if chosen not in drives:
        raise CoflashError(f"{file}: drive '{chosen}' was given; {', '.join(drives)} is allowed")
    if kind := kinds[chosen]:
        raise another_device(f"{file}: {chosen}", kind, ", ".join(simulated) or "none of this header")
    defines = {name: value for name, value in common.items() if "SLC" in name and "MODE" not in name} | drives[chosen]
    numbers: dict[str, str] = {}
    given = Parameters(f"{file}: {chosen}", {name: _number(name, common | defines, numbers) for name in defines})
    values, remarks = _values(given)
    if len(drives) > 1:
        remarks.append(f"{file.name} has {', '.join(drives)}: this is {chosen} (--profile).")
    return Imported("NVMeVirt", {"name": chosen.lower().replace("_", "-"), **values}, tuple(remarks), given.not_asked())


def _kind(defines: Mapping[str, str]) -> str | None:
    """Return what a drive is, if it has no FTL of its own."""
    types = [value.strip("() ") for value in defines.values() if value.strip("( ").startswith("SSD_TYPE_")]
    return next((kind for name in types if (kind := no_counterpart("NVMeVirt").get(name))), None)


def _values(given: Parameters) -> tuple[dict[str, Any], list[str]]:
    remarks = ["Its channels stream a page in parts; here a page crosses its channel as a whole."]
    page = given.whole("FLASH_PAGE_SIZE")
    reads = [time for cell in ("LSB", "CSB", "MSB") if (time := given.number(f"NAND_READ_LATENCY_{cell}", 0)) > 0]
    reads = reads or [given.number("NAND_READ_LATENCY", least=1)]
    if len(set(reads)) > 1:
        remarks.append("NAND_READ_LATENCY: the mean of all kinds of pages.")
    values: dict[str, Any] = {
        **given.taken("NVMeVirt"),
        "timing.page_read": time_ns(sum(reads) / len(reads)),
        "timing.one_shot_pages": given.whole("ONESHOT_PAGE_SIZE", page, least=page) // page,
        "timing.sector_transfer": time_ns(_SECTOR_BYTES * 1e3 / given.number("NAND_CHANNEL_BANDWIDTH", least=1)),
    }
    if blocks := given.whole("BLKS_PER_PLN", 0, least=0):
        values["flash.blocks_per_plane"] = blocks
        values["flash.pages_per_block"] = 192  # whole word lines of any kind of cell
        remarks.append("The pages of a block follow from the memory that NVMeVirt reserves: 192 were taken. Set them.")
    elif size := given.whole("BLK_SIZE", 0, least=0):
        values["flash.pages_per_block"] = size // page
        remarks.append("The blocks of a plane follow from the memory that is reserved: set flash.blocks_per_plane.")
    if cell := _CELLS.get(given.text("CELL_MODE", "0")):
        values["flash.cell"] = cell
        if (kinds := _PAGES.get(cell)) and len(set(reads)) > 1 and len(reads) == len(kinds):
            del values["timing.page_read"], remarks[1]
            values["timing.page_reads"] = [time_ns(given.number(f"NAND_READ_LATENCY_{kind}")) for kind in kinds]
    if "ftl.slc_cache.blocks" in values and cell in (None, "slc"):
        values["flash.cell"] = "tlc"
        remarks.append("CELL_MODE does not say how many bits a cell has beside SLC: three.")
    if spare := given.number("OP_AREA_PERCENT", 0):
        values["ftl.spare"] = {"share": percent(spare), "definition": "over_provisioning"}
    buffer = given.whole("GLOBAL_WB_SIZE", 0, least=0) or given.whole("WRITE_BUFFER_SIZE", 0, least=0)
    if buffer and given.switch("WRITE_EARLY_COMPLETION"):
        values |= {"controller.write_buffer": f"{buffer}B", "controller.volatile": True}
    elif buffer:
        values |= {"cache.size": f"{buffer}B", "cache.volatile": True}
    return values, remarks


def _number(name: str, defines: Mapping[str, str], known: dict[str, str]) -> str:
    """Return the value of a macro as a number, or its text if it is none; each macro is expanded once."""
    if name not in known:
        known[name] = defines[name].strip()  # for a macro that names itself

        def variable(other: str) -> float:
            text = _number(other, defines, known)
            return int(text) if text.isdecimal() else float(text)

        number = evaluate(known[name], variable)
        known[name] = known[name] if number is None else str(number)
    return known[name]
