"""NVMeVirt's ssd_config.h: one of its drives.

Source: NVMeVirt (Kim et al., FAST 2023), its header of drives.
"""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from coflash._core import CoflashError
from coflash.imports.imported import Imported, Parameters, percent, time_ns
from coflash.lookup import no_such

_BRANCH = re.compile(
    r"#\s*(?:el)?if\s*\(\s*BASE_SSD\s*==\s*(\w+)\s*\)(.*?)(?=#\s*elif|\n#endif\s*\n/{8}|\Z)", re.DOTALL
)
_DEFINE = re.compile(r"^\s*#\s*define\s+(\w+)[ \t]+(.+?)\s*(?://.*|/\*.*)?$", re.MULTILINE)
_SUFFIX = re.compile(r"\b(\d+)(?:ull|ul|u|l)\b", re.IGNORECASE)
_SIZES = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv}
_SECTOR_BYTES = 512
_NO_NUMBER = (SyntaxError, ValueError, ArithmeticError, TypeError, RecursionError, MemoryError)


def is_known(text: str) -> bool:
    """Whether a text is NVMeVirt's header of drives."""
    return "BASE_SSD" in text and "NAND_CHANNELS" in text


def read(texts: Mapping[Path, str], profile: str | None) -> Imported:
    """Read one of the drives with flash, by its name, or the first.

    Raises:
        CoflashError: There is no such drive, or a value cannot be used.
    """
    file, text = next(iter(texts.items()))
    drives = {name: dict(_DEFINE.findall(body)) for name, body in _BRANCH.findall(text)}
    drives = {name: defines for name, defines in drives.items() if "NAND_CHANNELS" in defines}
    if not drives:
        msg = f"{file}: has no drive with NAND_CHANNELS"
        raise CoflashError(msg)
    chosen = profile or next(iter(drives))
    if chosen not in drives:
        raise no_such(f"{file}: no drive", chosen, drives)
    defines = drives[chosen]
    numbers: dict[str, str] = {}
    given = Parameters(f"{file}: {chosen}", {name: _number(name, defines, numbers) for name in defines})
    values, remarks = _values(given)
    if len(drives) > 1:
        remarks.append(f"{file.name} has {', '.join(drives)}: this is {chosen} (--profile).")
    return Imported("NVMeVirt", {"name": chosen.lower().replace("_", "-"), **values}, tuple(remarks), given.not_asked())


def _values(given: Parameters) -> tuple[dict[str, Any], list[str]]:
    remarks = ["Its channels stream a page in parts; here a page crosses its channel as a whole."]
    page = given.whole("FLASH_PAGE_SIZE")
    reads = [time for cell in ("LSB", "CSB", "MSB") if (time := given.number(f"NAND_READ_LATENCY_{cell}", 0)) > 0]
    if not reads:
        msg = "NAND_READ_LATENCY_LSB: is missing"
        raise CoflashError(msg)
    if len(set(reads)) > 1:
        remarks.append("NAND_READ_LATENCY: the mean of all kinds of pages.")
    oneshot = given.whole("ONESHOT_PAGE_SIZE", page, least=page) // page
    if oneshot > 1:
        remarks.append(f"NAND_PROG_LATENCY programs {oneshot} pages at once; here a page takes its part of that time.")
    values: dict[str, Any] = {
        "flash.channels": given.whole("NAND_CHANNELS"),
        "flash.chips_per_channel": given.whole("LUNS_PER_NAND_CH"),
        "flash.planes_per_die": given.whole("PLNS_PER_LUN", 1),
        "flash.page_size": f"{page}B",
        "timing.page_read": time_ns(sum(reads) / len(reads)),
        "timing.page_program": time_ns(given.number("NAND_PROG_LATENCY") / oneshot),
        "timing.block_erase": time_ns(given.number("NAND_ERASE_LATENCY", 0)),
        "timing.sector_transfer": time_ns(_SECTOR_BYTES * 1e3 / given.number("NAND_CHANNEL_BANDWIDTH", least=1)),
        "timing.channel": "shared",
        "link.lanes": 1,
        "link.lane_rate": f"{round(given.number('PCIE_BANDWIDTH', least=1)) * 10**6}B",
    }
    if blocks := given.whole("BLKS_PER_PLN", 0, least=0):
        values["flash.blocks_per_plane"] = blocks
        remarks.append("The pages of a block follow from the memory that NVMeVirt reserves: set flash.pages_per_block.")
    elif size := given.whole("BLK_SIZE", 0, least=0):
        values["flash.pages_per_block"] = size // page
        remarks.append(
            "The number of blocks follows from the memory that NVMeVirt reserves: set flash.blocks_per_plane."
        )
    if spare := given.number("OP_AREA_PERCENT", 0):
        values["ftl.spare"] = {"share": percent(spare), "definition": "over_provisioning"}
    if buffer := given.whole("GLOBAL_WB_SIZE", 0, least=0):
        values |= {"cache.size": f"{buffer}B", "cache.volatile": True}
    return values, remarks


def _number(name: str, defines: Mapping[str, str], known: dict[str, str]) -> str:
    """Return the value of a macro as a number, or its text if it is none; each macro is expanded once."""
    if name not in known:
        known[name] = defines[name].strip()  # for a macro that names itself
        text = _SUFFIX.sub(r"\1", defines[name]).replace("/", "//")
        with suppress(*_NO_NUMBER), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as 10ms, which Python reads as a number and a word
            known[name] = str(_value(ast.parse(text.strip(), mode="eval").body, defines, known))
    return known[name]


def _value(node: ast.expr, defines: Mapping[str, str], known: dict[str, str]) -> float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id=name) if name in defines:
            return float(_number(name, defines, known))
        case ast.Call(func=ast.Name(id=unit), args=[size]) if unit in _SIZES:
            return _value(size, defines, known) * _SIZES[unit]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            found: float = _OPERATORS[type(op)](_value(left, defines, known), _value(right, defines, known))
            return found
    raise ValueError(ast.dump(node))
