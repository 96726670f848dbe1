"""Job files, results in fio's JSON, and configurations of other simulators."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import coflash
from coflash import CoflashError
from coflash.calibrate.fio_beside import beside, read_fio_json
from coflash.cli import app
from coflash.imports import imported
from coflash.results.fio_json import bin_of, bins_of, fio_json

CLAT2CSV = shutil.which("fio_jsonplus_clat2csv")

SMALL = {
    "flash.channels": 2,
    "flash.blocks_per_plane": 64,
    "flash.pages_per_block": 16,
    "timing.channel": "private",
    "name": "small",
}

JOB = """\
[global]
ioengine=libaio
direct=1
bs=4k
iodepth=4
[fill]
rw=write
[mixed]
stonewall
rw=randrw
rwmixread=70
size=50%
fsync=8
"""


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A job file."""
    path = tmp_path / "job.fio"
    path.write_text(JOB)
    return path


@pytest.fixture
def result(job: Path) -> coflash.Result:
    """The result of its run."""
    return coflash.run({**SMALL, "workload.fio": str(job)})


def test_the_input_is_the_job_file(result: coflash.Result, job: Path) -> None:
    assert [entry["file"] for entry in result.workload["inputs"]] == [str(job)]
    assert result.workload["description"] == (
        "fio: fill: write of 4KiB, depth 4, then mixed: randrw of 4KiB, each block once, depth 4"
    )


def test_a_trace_of_jobs_has_what_they_send_to_the_device(result: coflash.Result, job: Path, tmp_path: Path) -> None:
    device, file = coflash.Scenario.of(SMALL).with_jobs(str(job)), tmp_path / "sent.parquet"
    wrote = coflash.trace.generate(device, file)
    ran = result.metrics
    assert wrote["requests"] == ran.requests and wrote["requests"] > 0
    again = coflash.run({**SMALL, "workload.trace": [str(file)], "replay.mode": "open"}).metrics
    names = ("requests", "host_reads_pages", "host_writes_pages", "host_reads_bytes", "host_writes_bytes")
    assert [getattr(again, name) for name in names] == [getattr(ran, name) for name in names]
    with pytest.raises(coflash.CoflashError, match=r"^space: jobs are laid out over their device"):
        coflash.trace.generate(device, tmp_path / "other.parquet", space="1MiB")


def test_included_files_are_inputs_of_a_run_and_of_a_sweep(tmp_path: Path) -> None:
    job, common, deep = (tmp_path / name for name in ("job.fio", "common.fio", "deep.fio"))
    job.write_text("include common.fio\n[j]\nrw=write\nsize=1m\ninclude deep.fio\n")
    common.write_text("[global]\ninclude deep.fio\n")
    deep.write_text("bs=4k\n")
    scenario = {**SMALL, "workload.fio": str(job)}

    def found() -> tuple[list[tuple[str, str]], list[str], int]:
        result = coflash.run(scenario)
        swept = coflash.sweep(scenario, {"seed": [1]}, out=tmp_path / "runs")
        (key,) = (job.key for point in swept.points for job in point.jobs)
        assert swept.results[key].workload["inputs"] == result.workload["inputs"]
        inputs = [(entry["file"], entry["sha256"]) for entry in result.workload["inputs"]]
        return inputs, sorted(path.name for path in (tmp_path / "runs" / "runs").iterdir()), result.metrics.requests

    inputs, runs, requests = found()
    assert inputs == [(str(file), hashlib.sha256(file.read_bytes()).hexdigest()) for file in (job, common, deep)]
    assert found() == (inputs, runs, requests)
    deep.write_text("bs=8k\n")
    edited, both, fewer = found()
    assert edited[:2] == inputs[:2]
    assert edited[2] != inputs[2]
    assert len(both) == 2 and set(runs) < set(both)
    assert fewer == requests // 2


def test_the_form_is_that_of_fio(result: coflash.Result) -> None:
    fill, mixed = fio_json(result)["jobs"]
    assert (fill["jobname"], fill["groupid"], mixed["groupid"]) == ("fill", 0, 1)
    assert mixed["job options"]["rwmixread"] == "70" and mixed["job options"]["bs"] == "4k"
    write = fill["write"]
    assert write["io_bytes"] == 4096 * write["total_ios"] == result.workload["logical_bytes"]
    assert write["bw_bytes"] == pytest.approx(write["iops"] * 4096, rel=1e-6)
    times = write["clat_ns"]
    assert times["min"] <= times["percentile"]["50.000000"] <= times["percentile"]["99.900000"] <= times["max"] * 1.01
    assert "bins" not in times
    # As fio 3.33: after the eighth write also between reads, until the next write.
    assert mixed["sync"]["total_ios"] > mixed["write"]["total_ios"] // 8
    for unit in ("ns", "us", "ms"):
        assert set(fill[f"latency_{unit}"].values()) != {None}
    shares = [share for unit in ("ns", "us", "ms") for share in mixed[f"latency_{unit}"].values()]
    assert sum(shares) == pytest.approx(100)


def test_bins_are_those_of_fio(result: coflash.Result) -> None:
    # Times and bins that fio 3.33 wrote.
    for time_ns, middle in [(3675, 3664), (21682, 21632), (63, 63), (127, 127), (128, 129), (4448, 4448)]:
        assert bin_of(time_ns) == middle
    assert bins_of([(3670, 2), (3675, 1), (21682, 4)]) == {3664: 3, 21632: 4}
    times = fio_json(result, bins=True)["jobs"][1]["read"]["clat_ns"]
    assert sum(times["bins"].values()) == times["N"] > 0


def test_a_run_without_a_job_file_is_one_job() -> None:
    result = coflash.run({**SMALL, "workload.synthetic": {"requests": 1000, "read_share": "50%"}})
    (job,) = fio_json(result)["jobs"]
    assert job["jobname"] == "small"
    assert job["read"]["total_ios"] + job["write"]["total_ios"] == 1000
    assert job["read"]["io_bytes"] + job["write"]["io_bytes"] == 4_096_000


@pytest.mark.skipif(CLAT2CSV is None, reason="fio is not installed: scripts/clients installs it")
def test_a_tool_of_fio_reads_it(job: Path, tmp_path: Path) -> None:
    settings = [f"--set={key}={value}" for key, value in SMALL.items()]
    out = tmp_path / "out.json"
    given = ["--trace", str(job), "--output-format", "fio-json+", "--json", str(out), "-q"]
    run = CliRunner().invoke(app, ["run", "demo", *settings, *given])
    assert run.exit_code == 0, run.output
    subprocess.run([str(CLAT2CSV), str(out), str(tmp_path / "out.csv")], check=True, capture_output=True)
    lines = (tmp_path / "out_job1.csv").read_text().splitlines()
    times = json.loads(out.read_text())["jobs"][1]["read"]["clat_ns"]
    assert len(lines) > len(times["bins"])
    assert str(times["N"]) in lines[-1] or any(str(times["N"]) in line for line in lines)


def test_a_measured_drive_stands_beside_a_simulated_one(result: coflash.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "simulated")
    measured = fio_json(result)
    measured["jobs"][0]["write"]["iops"] *= 2
    (tmp_path / "measured.json").write_text("fio: a warning\n" + json.dumps(measured))
    rows = {(row.job, row.label): row for row in beside(fio_json(result), read_fio_json(tmp_path / "measured.json"))}
    row = rows["fill", "write: requests a second"]
    assert row.second == pytest.approx(2 * row.first)  # type: ignore[operator]
    assert ("mixed", "read: response time, 99 %") in rows
    shown = CliRunner().invoke(app, ["compare", str(tmp_path / "simulated"), str(tmp_path / "measured.json")])
    assert shown.exit_code == 0 and "+100" in shown.output, shown.output
    measured["jobs"] = [{**job, "jobname": "other"} for job in measured["jobs"]]
    with pytest.raises(CoflashError, match="one has fill, mixed, the other other"):
        list(beside(fio_json(result), measured))


@pytest.mark.parametrize("text", ["", "{}", '{"jobs": []}', '{"jobs": [3]}', "[1, 2"])
def test_what_is_no_json_of_fio_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(CoflashError, match="is no JSON of fio"):
        read_fio_json(tmp_path / "x.json")


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


def test_the_command_lists_what_has_no_counterpart(tmp_path: Path) -> None:
    arguments: list[Any] = ["scenario", "import", at(tmp_path / "ssdconfig.xml", MQSIM), "-o", tmp_path / "mqsim.toml"]
    shown = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert shown.exit_code == 0, shown.output
    assert "no counterpart: Transaction_Scheduling_Policy = PRIORITY_OUT_OF_ORDER" in shown.output
    assert coflash.Scenario.load(tmp_path / "mqsim.toml").to_dict()["flash"]["channels"] == 8


def test_questions_of_many_runs_take_a_job_file_too(tmp_path: Path) -> None:
    job = tmp_path / "job.fio"
    job.write_text("[w]\nrw=randwrite\nbs=4k\nsize=8m\nio_size=2m\niodepth=4\nioengine=libaio\n")
    device = ("random-5g", "--set", "flash.channels=1", "--set", "flash.blocks_per_plane=100", "--trace", str(job))
    vary = ("--vary", "cache.size=0B,1MiB", "--out", str(tmp_path / "out"))
    ran = CliRunner().invoke(app, ["sweep", *device, *vary])
    assert ran.exit_code == 0, ran.output
    runs = coflash.results(str(tmp_path / "out"))
    assert [runs.document(run)["metrics"]["requests"] for run in runs] == [512, 512]
    both = CliRunner().invoke(
        app, ["tune", *device, "--trace", "a.csv", "--over", "seed=1..2", "--minimise", "waf_ftl"]
    )
    assert "--trace a.csv: has no effect beside " in str(both.exception)
