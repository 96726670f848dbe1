"""MQSim's ssdconfig.xml and workload files.

Source: MQSim (Tavakkol et al., FAST 2018), its parameter sets and the comments of its sources. A declaration of a
document type is refused, so that no entity can be defined and expanded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from coflash import CoflashError
from imported import Imported, Parameters, percent, time_ns

_DEVICE, _WORKLOAD = "Execution_Parameter_Set", "MQSim_IO_Scenarios"
_SETS = {"Host_Parameter_Set", "Device_Parameter_Set", "Flash_Parameter_Set"}
_FLOW, _TRACE = "IO_Flow_Parameter_Set_Synthetic", "IO_Flow_Parameter_Set_Trace_Based"
_SUSPENDED = {"PROGRAM": ("Program",), "ERASE": ("Erase",), "PROGRAM_ERASE": ("Program", "Erase")}
_SECTOR_BYTES = 512
_RANDOM = {"name": "d-choices", "d": 1}
_VICTIMS = {"GREEDY": "greedy", "FIFO": "fifo", "RANDOM": _RANDOM, "RANDOM_P": _RANDOM, "RANDOM_PP": _RANDOM}
_UNITS = {"NANOSECOND": "1ns", "MICROSECOND": "1us", "MILLISECOND": "1ms"}
_CACHING = {name: name for name in ("TURNED_OFF", "READ_CACHE", "WRITE_CACHE", "WRITE_READ_CACHE")}
_PAGES = {"SLC": ("LSB",), "MLC": ("LSB", "MSB"), "TLC": ("LSB", "CSB", "MSB")}


def is_known(text: str) -> bool:
    """Whether a text is one of MQSim's files."""
    return f"<{_DEVICE}" in text or f"<{_WORKLOAD}" in text


def read(texts: Mapping[Path, str], profile: str | None) -> Imported:
    """Read a device, a workload, or both.

    Raises:
        CoflashError: A file is no XML of MQSim, or holds a value that cannot be used.
    """
    values: dict[str, Any] = {}
    remarks: list[str] = []
    missing: dict[str, str] = {}
    modes: set[str] = set()
    roots = [(file, _root(file, text)) for file, text in texts.items()]
    for file, root in sorted(roots, key=lambda one: one[1].tag != _DEVICE):  # what a workload needs comes last
        if root.tag == _DEVICE:
            parameters = Parameters(str(file), _leaves(root))
            values.update(_device(parameters, remarks))
            missing.update(parameters.not_asked())
        else:
            values.update(_workload(file, root, profile or "1", remarks, missing, modes))
    if len(modes) > 1:
        remarks.append("Device_Level_Data_Caching_Mode: flows differ; all of them use the cache for all requests.")
    elif modes and "cache.size" in values:
        values.update(_cached(values, modes.pop(), remarks))
    values.setdefault("name", next(iter(texts)).stem)
    return Imported("MQSim", values, tuple(remarks), missing)


def _root(file: Path, text: str) -> ElementTree.Element:
    if "<!" in text.replace("<!--", ""):
        msg = f"{file}: a declaration '<!...' was given; in a configuration none is allowed, so that nothing expands"
        raise CoflashError(msg)
    try:
        return ElementTree.fromstring(text)  # noqa: S314 - nothing is declared, so nothing expands
    except ElementTree.ParseError as error:
        raise CoflashError(f"{file}: is no XML: {error}") from error


def _leaves(element: ElementTree.Element) -> dict[str, str]:
    """Return the values of MQSim's parameter sets, those of other elements after their names; none of empty ones."""
    leaves: dict[str, str] = {}
    below = [(child, "") for child in reversed(element)]
    while below:
        child, other = below.pop()
        if len(child):
            other = other or ("" if child.tag in _SETS else f"{child.tag}/")
            below += [(inner, other) for inner in reversed(child)]
        elif text := (child.text or "").strip():
            leaves[other + child.tag] = text
    return leaves


def _device(given: Parameters, remarks: list[str]) -> dict[str, Any]:
    blocks = given.whole("Block_No_Per_Plane")
    pages = given.one_of("Flash_Technology", _PAGES, "SLC")

    def mean(operation: str) -> float:
        times = [given.number(f"Page_{operation}_Latency_{page}") for page in pages]
        if len(set(times)) > 1:
            remarks.append(f"Page_{operation}_Latency: the mean of all kinds of pages.")
        return sum(times) / len(times)

    wear: Any = "dynamic" if given.switch("Dynamic_Wearleveling_Enabled") else "off"
    if given.switch("Static_Wearleveling_Enabled"):
        wear = {"name": "static", "gap": given.whole("Static_Wearleveling_Threshold", 100)}
    # Transfers a second and bytes a transfer.
    mbytes_per_s = given.number("Channel_Transfer_Rate", least=1) * given.whole("Flash_Channel_Width", 1)
    values: dict[str, Any] = {
        **given.taken("MQSim"),
        "timing.page_read": time_ns(mean("Read")),
        "timing.page_program": time_ns(mean("Program")),
        "timing.sector_transfer": time_ns(_SECTOR_BYTES * 1e3 / mbytes_per_s),
        "timing.copy_back": given.switch("Use_Copyback_for_GC"),
        "ftl.spare": {"share": percent(given.number("Overprovisioning_Ratio")), "definition": "spare_of_physical"},
        "ftl.wear_levelling": wear,
        "gc.victim": _victim(given, blocks, remarks),
        "gc.mode": "preemptive" if given.switch("Preemptible_GC_Enabled") else "foreground",
        "precondition.fill": "sequential" if given.switch("Enabled_Preconditioning") else "none",
    }
    if suspended := _SUSPENDED.get(given.text("CMD_Suspension_Support", "NONE")):
        overhead = max(given.number(f"Suspend_{operation}_Time", 0) for operation in suspended)
        values |= {"timing.read_priority": {"name": "suspend", "overhead": time_ns(overhead)}}
        if len(suspended) == 1:
            remarks.append(f"CMD_Suspension_Support: it suspends {suspended[0].lower()}s alone; here both kinds are.")
    if given.text("Caching_Mechanism", "SIMPLE") != "NONE" and given.whole("Data_Cache_Capacity", 0, least=0) > 0:
        values |= {"cache.size": f"{given.whole('Data_Cache_Capacity')}B", "cache.volatile": True}
    remarks.append('timing.planes = "serial": in MQSim, planes work together only on pages of one number, a rare case.')
    remarks.append('Pages go to dies by their numbers (ftl.chips = "static"), whatever Plane_Allocation_Scheme says.')
    return values


def _victim(given: Parameters, blocks: int, remarks: list[str]) -> Any:
    # The size of the random set is the logarithm of the blocks of a plane.
    choices = {"name": "d-choices", "d": max(1, int(math.log2(blocks)))}
    if (policy := given.text("GC_Block_Selection_Policy", "RGA")) in ("RANDOM_P", "RANDOM_PP"):
        remarks.append(f"GC_Block_Selection_Policy {policy} draws again from blocks nearly all valid: random does not.")
    return given.one_of("GC_Block_Selection_Policy", {"RGA": choices, **_VICTIMS}, "RGA")


def _workload(
    file: Path, root: ElementTree.Element, number: str, remarks: list[str], missing: dict[str, str], modes: set[str]
) -> dict[str, Any]:
    scenarios = root.findall("IO_Scenario")
    if not number.isdecimal() or not 1 <= int(number) <= len(scenarios):
        raise CoflashError(f"{file}: scenario '{number}' was given; a number from 1 to {len(scenarios)} is allowed")
    if len(scenarios) > 1:
        remarks.append(f"{file.name} has {len(scenarios)} scenarios: this is number {number} (--profile).")
    tenants: list[dict[str, Any]] = []
    parameters: list[Parameters] = []
    depth = 0
    chosen = scenarios[int(number) - 1]
    flows = [flow for flow in chosen if flow.tag in (_FLOW, _TRACE)]
    missing.update({other.tag: (other.text or "").strip() for other in chosen if other not in flows})
    if not flows:
        remarks.append(f"{file.name}: scenario {number} has no flow of MQSim, so that no workload is set.")
        return {}
    for place, flow in enumerate(flows):
        given = Parameters(f"{file}: flow {place}", _leaves(flow))
        modes.add(given.one_of("Device_Level_Data_Caching_Mode", _CACHING, "WRITE_CACHE"))
        if flow.tag == _FLOW:
            # Flows have equal parts of the device, and use their working set of it.
            used = given.number("Working_Set_Percentage", 100, least=1) / 100 / len(flows)
            tenant = {"name": f"flow-{place}", "offset": percent(place / len(flows)), "space": percent(used)}
            tenants.append(tenant | {"synthetic": _flow(given)})
            if given.text("Synthetic_Generator_Type", "QUEUE_DEPTH") == "QUEUE_DEPTH":
                depth += given.whole("Average_No_of_Reqs_in_Queue")
            elif end := given.number("Stop_Time", 0):  # with a queue depth it has no times of its own
                tenants[-1]["duration"] = time_ns(end)
        parameters.append(given)
    traces = [given for given, flow in zip(parameters, flows, strict=True) if flow.tag == _TRACE]
    values: dict[str, Any] = _traces(file.parent, traces, remarks) if traces else {"workload.tenants": tenants}
    for place, given in enumerate(parameters):
        missing.update({f"flow {place}: {name}": value for name, value in given.not_asked().items()})
    if traces:
        if tenants:
            remarks.append("Synthetic flows beside traces are left out: a run replays traces or generates requests.")
        return values
    if all(tenant["synthetic"]["read_share"] == "100%" for tenant in tenants):
        values["precondition.fill"] = "sequential"
        remarks.append("The device is filled: MQSim reads pages that were never written as if they had been.")
    if depth:
        values |= {"replay.mode": "closed", "replay.queue_depth": depth}
        if len(tenants) > 1:
            remarks.append("The flows share one queue, as deep as all of theirs together.")
    return values


def _traces(folder: Path, flows: list[Parameters], remarks: list[str]) -> dict[str, Any]:
    """Return the traces of flows, which run beside each other, each from its first time on."""
    files = [Path(flow.text("File_Path")) for flow in flows]
    beside = [folder / file if (folder / file).is_file() and not file.is_file() else file for file in files]
    values: dict[str, Any] = {"workload.trace": [str(file) for file in beside], "workload.remap": "modulo"}
    if len(flows) > 1:
        values["workload.trace_options.merge"] = "time"
        remarks.append("Each flow of MQSim has its own part of the device; here the files of all share its addresses.")
    rounds = {flow.whole("Relay_Count", 1) for flow in flows}
    units = {flow.one_of("Time_Unit", _UNITS, "NANOSECOND") for flow in flows}
    if len(rounds) > 1 or len(units) > 1:
        remarks.append("Relay_Count, Time_Unit: flows differ; here all are as the one with the most rounds, and in ns.")
    if (count := max(rounds)) > 1:
        values["workload.repeat"] = count
    if len(units) == 1 and units != {"1ns"}:
        values["workload.trace_options.units.time"] = min(units)
    return values


def _cached(values: Mapping[str, Any], mode: str, remarks: list[str]) -> dict[str, Any]:
    """Return what a mode of caching changes in a device with a cache."""
    off = {"cache.size": "0B", "cache.volatile": False}
    match mode:
        case "WRITE_READ_CACHE":
            return {}
        case "READ_CACHE":
            return {"cache.write_allocate": False}
        case "TURNED_OFF":
            return off
        case _:
            # A write is answered when it is in DRAM; a page of each plane may be on its way from there to flash.
            parts = ("channels", "chips_per_channel", "dies_per_chip", "planes_per_die")
            on_its_way = math.prod(values[f"flash.{part}"] for part in parts) * int(values["flash.page_size"][:-1])
            remarks.append(
                "Data_Cache_Capacity: MQSim's write cache programs data that is new to it at once, as a write buffer "
                "does; data that is written again while it is there is not absorbed here."
            )
            return off | {"controller.write_buffer": f"{on_its_way}B", "controller.volatile": True}


def _flow(given: Parameters) -> dict[str, Any]:
    """Return a synthetic flow as a synthetic workload. MQSim counts in sectors of 512 bytes."""
    size = given.whole("Average_Request_Size") * _SECTOR_BYTES
    hot = given.number("Percentage_of_Hot_Region", 0) / 100
    zones = [{"traffic": percent(1 - hot), "space": percent(hot)}, {"traffic": percent(hot), "space": percent(1 - hot)}]
    patterns: dict[str, Any] = {
        "RANDOM_UNIFORM": "uniform",
        "STREAMING": "sequential",
        "RANDOM_HOTCOLD": {"name": "hot-cold", "zones": zones, "scattered": False},
    }
    flow: dict[str, Any] = {
        "generator": given.one_of("Address_Distribution", patterns, "RANDOM_UNIFORM"),
        "read_share": percent(given.number("Read_Percentage") / 100),
        "size": {"name": "fixed", "size": f"{size}B"},
    }
    if given.switch("Generated_Aligned_Addresses", default=True):
        flow["align"] = f"{given.whole('Address_Alignment_Unit', 1) * _SECTOR_BYTES}B"
    if total := given.whole("Total_Requests_To_Generate", 0, least=0):
        flow["requests"] = total
    if given.text("Synthetic_Generator_Type", "QUEUE_DEPTH") == "BANDWIDTH":
        flow["arrival"] = {"name": "poisson", "mean": time_ns(size * 1e9 / given.number("Bandwidth", least=1))}
    return flow
