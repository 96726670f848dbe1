"""Job files, and results in fio's JSON."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

import coflash
from coflash import CoflashError
from coflash.calibrate.fio_beside import beside, read_fio_json
from coflash.cli import app
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
