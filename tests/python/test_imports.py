"""Configurations of other simulators as people write them, and the claim that a parameter has no counterpart."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import coflash
from coflash import CoflashError
from coflash.keys import keys
from coflash.results.fio_json import fio_json
from imported import table
from shell import Script
from simulators import imported

ROOT = Path(__file__).parents[2]
INPUTS = ROOT / "tests" / "inputs"
SYSTEMS = ("FEMU", "MQSim", "NVMeVirt")


MQSIM = """<?xml version="1.0" encoding="us-ascii"?>
<Execution_Parameter_Set><Host_Parameter_Set><PCIe_Lane_Bandwidth>1.0</PCIe_Lane_Bandwidth>
<PCIe_Lane_Count>4</PCIe_Lane_Count></Host_Parameter_Set>
<Device_Parameter_Set><Seed>321</Seed><Overprovisioning_Ratio>0.07</Overprovisioning_Ratio><GC_Exec_Threshold>0.05</GC_Exec_Threshold>
<GC_Block_Selection_Policy>RGA</GC_Block_Selection_Policy><Flash_Channel_Count>8</Flash_Channel_Count>
<Channel_Transfer_Rate>333</Channel_Transfer_Rate><Chip_No_Per_Channel>4</Chip_No_Per_Channel>
<Transaction_Scheduling_Policy>PRIORITY_OUT_OF_ORDER</Transaction_Scheduling_Policy>
<Flash_Parameter_Set><Flash_Technology>MLC</Flash_Technology><Page_Read_Latency_LSB>75000</Page_Read_Latency_LSB>
<Page_Read_Latency_MSB>85000</Page_Read_Latency_MSB><Page_Program_Latency_LSB>750000</Page_Program_Latency_LSB>
<Page_Program_Latency_MSB>750000</Page_Program_Latency_MSB><Block_Erase_Latency>3800000</Block_Erase_Latency>
<Die_No_Per_Chip>2</Die_No_Per_Chip><Plane_No_Per_Die>2</Plane_No_Per_Die><Block_No_Per_Plane>2048</Block_No_Per_Plane>
<Page_No_Per_Block>256</Page_No_Per_Block><Page_Capacity>8192</Page_Capacity></Flash_Parameter_Set>
</Device_Parameter_Set></Execution_Parameter_Set>"""

FLOWS = """<MQSim_IO_Scenarios><IO_Scenario><IO_Flow_Parameter_Set_Synthetic>
<Working_Set_Percentage>50</Working_Set_Percentage>
<Synthetic_Generator_Type>QUEUE_DEPTH</Synthetic_Generator_Type><Read_Percentage>30</Read_Percentage>
<Address_Distribution>RANDOM_HOTCOLD</Address_Distribution><Percentage_of_Hot_Region>20</Percentage_of_Hot_Region>
<Average_Request_Size>16</Average_Request_Size><Average_No_of_Reqs_in_Queue>16</Average_No_of_Reqs_in_Queue>
<Stop_Time>100</Stop_Time></IO_Flow_Parameter_Set_Synthetic></IO_Scenario><IO_Scenario/></MQSim_IO_Scenarios>"""

NVMEVIRT = """
#if (BASE_SSD == INTEL_OPTANE)
#define LBA_BITS (9)
#elif (BASE_SSD == SOME_DRIVE)
#define NAND_CHANNELS (8)
#define LUNS_PER_NAND_CH (2)
#define FLASH_PAGE_SIZE KB(32)
#define ONESHOT_PAGE_SIZE (FLASH_PAGE_SIZE * 1)
#define BLKS_PER_PLN (1024)
#define NAND_CHANNEL_BANDWIDTH (800ull) //MB/s
#define PCIE_BANDWIDTH (3360ull) //MB/s
#define NAND_READ_LATENCY_LSB (36013 - 6000)
#define NAND_READ_LATENCY_MSB (36013 + 6000)
#define NAND_PROG_LATENCY (185000)
#define FW_READ_LATENCY (30490)
#define OP_AREA_PERCENT (0.07)
#define GLOBAL_WB_SIZE (NAND_CHANNELS * LUNS_PER_NAND_CH * ONESHOT_PAGE_SIZE * 2)
#endif
"""

FEMU = """#!/bin/bash
# Starts FEMU
secs_per_pg=8   # sectors
nchs=4
devsz_mb=3584
FEMU_OPTIONS="-device femu,femu_mode=1,devsz_mb=3584,pg_rd_lat=50000,luns_per_ch=4"
pgs_per_blk=256
blks_per_pl=256
gc_thres_pcent=75
"""


def doubled(times: int) -> str:
    """Macros, each the square of the next: to expand them takes 2^`times` steps."""
    defines = (f"#define A{n} (A{n + 1} * A{n + 1})" for n in range(times))
    return "\n".join([*defines, f"#define A{times} (2)"]) + "\n"


def at(path: Path, text: str) -> Path:
    """Write a file."""
    path.write_text(text)
    return path


def values_of(name: str) -> dict[str, Any]:
    """Return the keys of one of our own inputs."""
    return dict(imported([INPUTS / name]).values)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script that tries inputs."""
    spec = importlib.util.spec_from_file_location("inputs", ROOT / "scripts" / "inputs.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["inputs"] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_says_what_becomes_of_our_own_files(script: ModuleType) -> None:
    rows = script.own()
    assert "\n".join(script.section("Our own", rows)) in script.PAGE.read_text("utf-8"), "run scripts/inputs.py"
    assert {how for _, how, _ in rows} == {"read", "refused"}, "none is open"


def test_the_size_of_a_femu_drive_may_be_a_variable() -> None:
    scenario = imported([INPUTS / "femu_plain.sh"]).scenario
    assert scenario.check()[0].startswith("exports 12GiB "), scenario.check()


def test_arithmetic_lists_and_defaults_of_a_shell_are_followed() -> None:
    values = values_of("femu_arithmetic.sh")
    assert (values["flash.pages_per_block"], values["timing.page_program"]) == (512, "600000ns")
    assert values["ftl.spare"] == {"share": "62.5%", "definition": "spare_of_physical"}


@pytest.mark.parametrize(
    ("script_text", "line"),
    [
        ("a=3\nrun x=$((a*2+1))", "run x=7"),
        ("a=3; b=${a}0\nrun x=$b", "run x=30"),
        ("export a='$b'\nrun \"x=$a\"", "run x=$b"),
        ("run x=${none:-5} y=${none}", "run x=5 y=${none}"),
        ("a=0x10\nrun x=$(( a << 1 )) y=$((2 ** 3))", "run x=32 y=$((2 ** 3))"),
        ("a=7 # seven\nrun x=$a", "run x=7"),
        ("a=-d\na+=' f,x=1'\nrun $a", "run -d f,x=1"),
        ('x=5 run y=$(echo "$x * 3" | bc)', "run y=15"),
        ("a=1\\\n0\nrun x=$a", "run x=1"),
        ("run x=$[256*2]", "run x=512"),
        ("run x=$((none + 1)) y=$((1/0))", "run x=$((none + 1)) y=$((1/0))"),
    ],
)
def test_a_script_is_followed_and_never_run(script_text: str, line: str) -> None:
    assert line in [found.strip() for found in Script.of(script_text).commands.splitlines()]


def test_a_value_that_a_condition_decides_is_told(tmp_path: Path) -> None:
    text = (
        (INPUTS / "femu_plain.sh")
        .read_text("utf-8")
        .replace("blocks=256", 'blocks=256\nif [ "$1" ]; then\n  pages=512\nfi')
    )
    (tmp_path / "run.sh").write_text(text.replace("pages", "pgs_per_blk"))
    found = imported([tmp_path / "run.sh"])
    assert found.values["flash.pages_per_block"] == 512
    assert any(remark.startswith("pgs_per_blk: set again where a condition decides") for remark in found.remarks)


def test_a_value_that_is_an_argument_is_left_to_the_reader() -> None:
    found = imported([INPUTS / "femu_argument.sh"])
    assert found.values["flash.channels"] == 8
    assert any(remark.startswith("nchs = ${2} is not known before the script runs: 8") for remark in found.remarks)


def test_spare_suspension_and_buffer_of_femu_have_counterparts() -> None:
    values = values_of("femu_spare.sh")
    assert imported([INPUTS / "femu_spare.sh"]).scenario.check()[0].startswith("exports 341.")
    assert values["timing.read_priority"] == {"name": "suspend", "overhead": "20000ns"}
    assert (values["cache.size"], values["cache.volatile"]) == (f"{922 * 4096}B", True), "90 % of 1024 pages"
    assert (values["gc.mode"], values["gc.low_mark"]) == ({"name": "background", "mark": "8%"}, "5%")


def test_a_drive_without_spare_space_is_written_with_a_remark() -> None:
    found = imported([INPUTS / "femu_full.sh"])
    assert found.problem is None and any("no spare space" in remark for remark in found.remarks)


def test_a_drive_with_fdp_is_the_one_that_the_script_describes() -> None:
    found = imported([INPUTS / "femu_fdp.sh"])
    assert found.values["ftl.pools"] == "device" and found.values["precondition.fill"] == "none"
    placement = {"name": "fdp", "handles": 8, "isolation": "persistently", "shares": ["100%"], "idle": "open"}
    assert found.values["ftl.placement"] == placement
    assert found.values["gc.mode"] == {"name": "lazy", "mark": "10%", "valid": "5%"}
    assert (found.values["gc.low_mark"], found.values["flash.blocks_per_plane"]) == ("1%", 985)
    assert found.scenario.check()[0].startswith("exports 224.00 GiB "), found.scenario.check()[0]
    assert {"id", "nqn", "subsys", "fdp.nrg"} <= found.missing.keys()
    assert not found.lost(), "names and plain values are not told"


def test_jobs_with_handles_run_on_a_drive_with_fdp() -> None:
    """A small one of the same kind: the writes of each handle stay in units of their own."""
    drive = imported([INPUTS / "femu_fdp.sh"]).scenario
    size = {"channels": 2, "chips_per_channel": 2, "blocks_per_plane": 1024, "pages_per_block": 8}
    small = drive.with_(**{f"flash__{part}": number for part, number in size.items()})
    result = coflash.run(small.with_(workload={"fio": str(INPUTS / "fdp.fio")}))
    assert [job["jobname"] for job in fio_json(result)["jobs"]] == ["fill-log", "fill-table", "log", "table"]
    assert any("written before stonewall, and so the fill" in note for note in result.notes)


def test_the_slc_portion_of_a_fork_is_a_cache() -> None:
    values = values_of("nvmevirt_slc.h")
    assert values["ftl.slc_cache.blocks"] == "10%" and values["flash.cell"] == "tlc"
    assert (values["timing.slc_page_read"], values["timing.slc_page_program"]) == ("16369ns", "40547ns")
    assert values["timing.page_reads"] == ["30013ns", "36013ns", "42013ns"] and values["timing.one_shot_pages"] == 3
    assert imported([INPUTS / "nvmevirt_slc.h"]).problem is None


def test_elements_of_other_tools_and_empty_ones_change_nothing() -> None:
    device = imported([INPUTS / "mqsim_device.xml"])
    assert device.values["flash.channels"] == 4 and device.values["seed"] == 0
    assert list(device.missing) == ["Of_Another_Tool/Flash_Channel_Count"]
    assert device.values["timing.read_priority"] == {"name": "suspend", "overhead": "30000ns"}
    flows = imported([INPUTS / "mqsim_flows.xml"])
    (flow,) = flows.values["workload.tenants"]
    assert flow["duration"] == "2000000000ns" and "Of_Another_Tool" in flows.missing


@pytest.mark.parametrize("mode", ["", ",femu_mode=0", ",femu_mode=2", ",femu_mode=3", ",femu_mode=5"])
def test_a_drive_of_another_kind_is_refused(tmp_path: Path, mode: str) -> None:
    (tmp_path / "run.sh").write_text(f"qemu-system-x86_64 -device femu,devsz_mb=4096,id=nvme0{mode}\n")
    with pytest.raises(CoflashError, match="another device: femu_mode"):
        imported([tmp_path / "run.sh"])


def test_of_a_header_the_first_conventional_drive_is_taken(tmp_path: Path) -> None:
    zoned = "#if (BASE_SSD == MY_ZNS)\n#define NS_SSD_TYPE_0 SSD_TYPE_ZNS\n#define NAND_CHANNELS (8)\n"
    (tmp_path / "ssd_config.h").write_text(zoned + "#endif\n")
    with pytest.raises(CoflashError, match="MY_ZNS: another device: a zoned drive"):
        imported([tmp_path / "ssd_config.h"])
    plain = (INPUTS / "nvmevirt_slc.h").read_text("utf-8")
    (tmp_path / "ssd_config.h").write_text(plain.replace("#if (BASE_SSD", f"{zoned}#elif (BASE_SSD", 1))
    assert imported([tmp_path / "ssd_config.h"]).values == values_of("nvmevirt_slc.h")
    with pytest.raises(CoflashError, match="a zoned drive"):
        imported([tmp_path / "ssd_config.h"], "MY_ZNS")


def test_older_names_of_a_write_buffer_and_a_read_are_taken(tmp_path: Path) -> None:
    text = """#if (BASE_SSD == OLD)
#define NAND_CHANNELS 8
#define LUNS_PER_NAND_CH 2
#define FLASH_PAGE_SIZE (32*1024)
#define BLKS_PER_PLN 1024
#define NAND_CHANNEL_BANDWIDTH (800ull)
#define PCIE_BANDWIDTH (3360ull)
#define NAND_READ_LATENCY (36013)
#define NAND_PROG_LATENCY (185000)
#define WRITE_BUFFER_SIZE (NAND_CHANNELS * LUNS_PER_NAND_CH * FLASH_PAGE_SIZE * 2)
#define WRITE_EARLY_COMPLETION 1
#endif
"""
    (tmp_path / "ssd_config.h").write_text(text)
    found = imported([tmp_path / "ssd_config.h"])
    assert found.values["timing.page_read"] == "36013ns" and not found.lost()
    assert (found.values["controller.write_buffer"], found.values["controller.volatile"]) == ("1048576B", True)


FLOW = "<IO_Flow_Parameter_Set_Trace_Based><File_Path>{}</File_Path>{}</IO_Flow_Parameter_Set_Trace_Based>"


def test_traces_of_flows_run_beside_each_other(tmp_path: Path) -> None:
    for name, first in (("a.trace", 0), ("b.trace", 500_000)):
        rows = (f"{first + n * 10**6} 0 {n * 800} 8 {n % 2}\n" for n in range(3))
        (tmp_path / name).write_text("".join(rows))
    more = "<Percentage_To_Be_Executed>100</Percentage_To_Be_Executed>"
    more += "<Relay_Count>{}</Relay_Count><Time_Unit>{}</Time_Unit>"

    def flows(rounds: int, unit: str) -> Any:
        flows = "".join(FLOW.format(name, more.format(rounds, unit)) for name in ("a.trace", "b.trace"))
        (tmp_path / "w.xml").write_text(f"<MQSim_IO_Scenarios><IO_Scenario>{flows}</IO_Scenario></MQSim_IO_Scenarios>")
        return imported([tmp_path / "w.xml"])

    found = flows(1, "NANOSECOND")
    assert found.values["workload.trace_options.merge"] == "time" and not found.lost()
    info = coflash.trace.info(found.values["workload.trace"], {"merge": "time"})
    assert (info.requests, info.span_ns) == (6, 2_500_000)
    assert any("share its addresses" in remark for remark in found.remarks)
    again = flows(10, "MICROSECOND")
    assert (again.values["workload.repeat"], again.values["workload.trace_options.units.time"]) == (10, "1us")


def test_the_rate_of_a_flow_is_its_bandwidth(tmp_path: Path) -> None:
    text = (INPUTS / "mqsim_flows.xml").read_text("utf-8")
    (flow,) = values_of("mqsim_flows.xml")["workload.tenants"]
    assert flow["synthetic"]["arrival"] == {"name": "poisson", "mean": "125000000ns"}, "4 KiB at 32 KiB/s"
    (tmp_path / "w.xml").write_text(text.replace("Bandwidth>", "Intensity>"))
    with pytest.raises(CoflashError, match="Bandwidth: is missing"):
        imported([tmp_path / "w.xml"])


def test_a_configuration_of_mqsim(tmp_path: Path) -> None:
    files = [at(tmp_path / "ssdconfig.xml", MQSIM), at(tmp_path / "workload.xml", FLOWS)]
    found = imported(files)
    values = found.scenario.to_dict()
    assert values["flash"]["blocks_per_plane"] == 2048 and values["flash"]["page_size"] == "8KiB"
    assert values["timing"]["page_read"] == "80us" and values["timing"]["sector_transfer"] == "1538ns"
    assert values["gc"]["victim"] == {"name": "d-choices", "d": 11}
    assert values["ftl"]["spare"] == {"share": "7%", "definition": "spare_of_physical"}
    assert found.missing == {
        "Transaction_Scheduling_Policy": "PRIORITY_OUT_OF_ORDER",
        "flow 0: Stop_Time": "100",
    }
    assert any("mean of all kinds" in remark for remark in found.remarks)
    (flow,) = values["workload"]["tenants"]
    assert flow["space"] == "50%" and flow["synthetic"]["size"] == {"name": "fixed", "size": "8KiB"}
    assert values["replay"]["queue_depth"] == 16
    assert coflash.Scenario.from_toml(found.to_toml()) == found.scenario


@pytest.mark.parametrize(
    ("mode", "cache", "buffer"),
    [
        ("WRITE_CACHE", "0B", "1MiB"),
        ("READ_CACHE", "2MiB", "0B"),
        ("WRITE_READ_CACHE", "2MiB", "0B"),
        ("TURNED_OFF", "0B", "0B"),
    ],
)
def test_the_cache_of_mqsim(mode: str, cache: str, buffer: str, tmp_path: Path) -> None:
    device = MQSIM.replace("<Seed>", "<Data_Cache_Capacity>2097152</Data_Cache_Capacity><Seed>")
    of_mode = f"<Device_Level_Data_Caching_Mode>{mode}</Device_Level_Data_Caching_Mode><Read_Percentage>"
    flows = FLOWS.replace("<Read_Percentage>30", f"{of_mode}100")
    found = imported([at(tmp_path / "workload.xml", flows), at(tmp_path / "ssdconfig.xml", device)])
    values = found.scenario.to_dict()
    assert (values["cache"]["size"], values["controller"]["write_buffer"]) == (cache, buffer)
    assert values["cache"]["write_allocate"] is (mode != "READ_CACHE")
    assert values["precondition"]["fill"] == "sequential", "all flows read"
    with pytest.raises(CoflashError, match="Caching_Mode: 'SOME' was given"):
        imported([at(tmp_path / "workload.xml", flows.replace(mode, "SOME")), tmp_path / "ssdconfig.xml"])


def test_a_drive_of_nvmevirt(tmp_path: Path) -> None:
    found = imported([at(tmp_path / "ssd_config.h", NVMEVIRT)])
    values = found.scenario.to_dict()
    assert (values["name"], values["flash"]["chips_per_channel"]) == ("some-drive", 2)
    assert values["timing"]["page_read"] == "36013ns" and values["cache"]["size"] == "1MiB"
    assert found.missing == {"FW_READ_LATENCY": "30490"}
    with pytest.raises(CoflashError, match="SOME_DRIVE"):
        imported([tmp_path / "ssd_config.h"], profile="SOME_DRVE")


def test_options_of_femu(tmp_path: Path) -> None:
    found = imported([at(tmp_path / "run.sh", FEMU)])
    values = found.scenario.to_dict()
    assert values["flash"]["channels"] == 4 and values["timing"]["page_read"] == "50us"
    assert values["gc"]["low_mark"] == "5%", "FEMU's hard mark; with this spare space the other is out of reach"
    assert values["ftl"]["spare"]["share"] == "12.5%"
    assert found.missing == {"gc_thres_pcent": "75"}


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        (
            "bomb.xml",
            '<!DOCTYPE x [<!ENTITY a "b">]><Execution_Parameter_Set>&a;</Execution_Parameter_Set>',
            "nothing expands",
        ),
        ("cut.xml", "<Execution_Parameter_Set><a>", "is no XML"),
        ("less.xml", "<Execution_Parameter_Set><a>1</a></Execution_Parameter_Set>", "is missing"),
        ("wrong.xml", MQSIM.replace(">256<", ">-3<"), "Page_No_Per_Block: '-3' was given"),
        ("policy.xml", MQSIM.replace("RGA", "BEST"), "GC_Block_Selection_Policy: 'BEST' was given"),
        ("femu.sh", FEMU.replace("3584", "999999"), "less than the flash"),
        (
            "deep.xml",
            f"<Execution_Parameter_Set>{'<a>' * 10**5}{'</a>' * 10**5}</Execution_Parameter_Set>",
            "is missing",
        ),
        ("small.h", NVMEVIRT.replace("(FLASH_PAGE_SIZE * 1)", "KB(4)"), "ONESHOT_PAGE_SIZE: '4096' was given"),
        ("huge.h", NVMEVIRT.replace("(8)", f"(1{'0' * 400} * 0.5)"), "NAND_CHANNELS: .* was given; a number"),
        ("twice.h", NVMEVIRT.replace("(8)", "(A0)") + doubled(60), "NAND_CHANNELS: .* was given; a number"),
        ("circle.h", NVMEVIRT.replace("(8)", "(NAND_CHANNELS * NAND_CHANNELS)"), "NAND_CHANNELS: .* was given"),
        ("else.txt", "hello", "of no known system"),
    ],
)
def test_a_configuration_that_cannot_be_used(name: str, text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(CoflashError, match=problem):
        imported([at(tmp_path / name, text)])


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The example, as users begin it."""
    command = [sys.executable, str(ROOT / "examples" / "imports"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_example_uses_only_what_coflash_makes_public() -> None:
    texts = [file.read_text("utf-8") for file in (ROOT / "examples" / "imports").glob("*.py")]
    used = {match for text in texts for match in re.findall(r"^\s*(?:from|import) (coflash\S*)", text, re.MULTILINE)}
    assert used == {"coflash"}


def test_the_command_lists_what_has_no_counterpart(tmp_path: Path) -> None:
    config, out = at(tmp_path / "ssdconfig.xml", MQSIM), tmp_path / "mqsim.toml"
    shown = run(config, "-o", out)
    assert shown.returncode == 0, shown.stderr
    assert "no counterpart: Transaction_Scheduling_Policy = PRIORITY_OUT_OF_ORDER" in shown.stdout
    assert coflash.Scenario.load(out).to_dict()["flash"]["channels"] == 8
    assert run(config).stdout == out.read_text("utf-8"), "without a file it is shown"


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    config = at(tmp_path / "ssdconfig.xml", MQSIM)
    for out, problem in ((config, "exists"), (tmp_path, "exists"), (tmp_path / "none/x.toml", "cannot be written")):
        refused = run(config, "-o", out)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr.startswith(f"error: {out}: {problem}")
    assert config.read_text() == MQSIM
    unread = run(tmp_path)
    assert unread.returncode == 2 and unread.stderr == f"error: {tmp_path}: cannot be read: Is a directory\n"


def test_what_cannot_run_is_written_to_be_edited(tmp_path: Path) -> None:
    text = (INPUTS / "nvmevirt_slc.h").read_text("utf-8").replace("BLKS_PER_PLN (1024)", "BLKS_PER_PLN (20)")
    (tmp_path / "ssd_config.h").write_text(text)
    out = tmp_path / "drive.toml"
    shown = run(tmp_path / "ssd_config.h", "-o", out)
    assert shown.returncode == 2 and "was written, to be edited: it cannot be run as it stands" in shown.stderr
    assert "# It cannot be run as it stands: " in out.read_text("utf-8")


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_parameter_has_a_counterpart_or_a_reason(system: str) -> None:
    known = {key.path for key in keys()}
    taken, reasons = table(system)
    for name, key, *_ in taken:
        assert key in known, name
        assert name not in reasons, f"{name} has a counterpart"
    for name, reason in reasons.items():
        for near in re.findall(r"[a-z_]+(?:\.[a-z_0-9]+)+", reason.partition("near: ")[2]):
            assert near in known, f"{name}: there is no key {near}"


WORDS = {
    "suspend": "timing.read_priority",
    "slc": "ftl.slc_cache",
    "cache": "cache",
    "buffer": "controller.write_buffer",
    "ecc": "timing.ecc_decode",
    "thres": "gc.",
    "wearlevel": "ftl.wear",
    "latency": "timing.",
    "lat": "timing.",
    "retention": "ftl.refresh",
    "namespace": "workload.tenants",
    "mapping": "ftl.indirection_unit",
}
"""Words in the names of parameters, and where a key for such a thing would be."""


@pytest.mark.parametrize("system", SYSTEMS)
def test_where_a_key_is_near_the_reason_names_it(system: str) -> None:
    """A parameter that sounds like a key must say which key it is not."""
    for name, reason in table(system)[1].items():
        for word, key in WORDS.items():
            sounds = re.search(rf"(?:^|_){word}", name.lower()) and name != "plain"
            excused = "log" in name.lower() or any(one in reason for one in ("without", "held in memory", "no zones"))
            if sounds and not excused:
                assert "near: " in reason, f"{name} sounds like {key}"
