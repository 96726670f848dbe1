"""Calibration: the pack of fio jobs that measure a drive, and what is read back from it."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from coflash import CoflashError
from coflash.calibrate import Point, fit, read_fio
from coflash.calibrate.jobs import SCRIPT, STEPS, steps, write_pack
from coflash.calibrate.model import Model, Parameters
from coflash.calibrate.pattern import Pattern

KNOWN = Parameters(spare=0.31, floor=1.06, sequential_mib_per_s=1500.0, read_cost=0.4)


def test_the_pack_of_jobs_is_read_back(tmp_path: Path) -> None:
    write_pack(tmp_path)
    subprocess.run(["/bin/sh", "-n", str(tmp_path / SCRIPT)], check=True)
    script = (tmp_path / SCRIPT).read_text()
    assert script.index("read -r answer") < script.index("    blkdiscard")
    model = Model(KNOWN, 1e12)
    for step in steps():
        assert (tmp_path / f"{step.name}.fio").exists()
        if not step.conditions or "writes_per_s" in step.conditions:
            continue
        point = Point("waf", 1, Pattern.read(step.conditions["pattern"]), used=float(step.conditions.get("used", 1)))
        if point.pattern.kind not in ("uniform", "sequential"):
            continue
        speed, waf = (model.predict(replace(point, measure=m)) for m in ("write_mib_per_s", "waf"))
        write = {"io_bytes": 1e12, "bw_bytes": speed * 2**20}
        text = json.dumps({"jobs": [{"jobname": step.name, "read": {"io_bytes": 0}, "write": write}]})
        (tmp_path / f"{step.name}.json").write_text("fio: a note\n" + text)
        for when, host in (("before", 0), ("after", 1000)):
            (tmp_path / f"{step.name}.{when}.smart.json").write_text(json.dumps({"data_units_written": host}))
            name = "Physical media units written " if when == "before" else "physical_media_units_written"
            flash = {name: {"hi": 0, "lo": round(host * 512_000 * waf)}}
            (tmp_path / f"{step.name}.{when}.ocp.json").write_text(json.dumps(flash))
    found = fit(read_fio(tmp_path))
    assert found.model.parameters.spare == pytest.approx(KNOWN.spare, rel=0.01)
    held = [one for one in found.predictions if one.point.held_out]
    assert len(held) == 4
    assert all(one.within for one in held)


def results(folder: Path, rates: dict[str, float]) -> None:
    """Write a result of fio for each step of a pack: as many writes a second, all answered in 10 µs."""
    for name, rate in rates.items():
        clat = {"percentile": {"50.000000": 10_000, "99.000000": 10_000, "99.900000": 10_000}}
        side = {"io_bytes": 4096, "bw_bytes": rate * 4096, "clat_ns": clat}
        (folder / f"{name}.json").write_text(json.dumps({"jobs": [{"jobname": name, "read": side, "write": side}]}))


@pytest.mark.parametrize(
    ("most", "fitted"), [(1e9, [5000, 40_000]), (41_000, [5000, 40_000]), (12_000, [5000, 10_000])]
)
def test_a_rate_that_was_not_reached_tells_the_most_writes(tmp_path: Path, most: float, fitted: list[float]) -> None:
    write_pack(tmp_path)
    asked = {step.name: float(step.conditions["writes_per_s"]) for step in steps() if "writes_per_s" in step.conditions}
    results(tmp_path, {name: min(rate, most) for name, rate in asked.items()})
    points = read_fio(tmp_path).points
    reads = [p for p in points if p.measure == "read_p50_us"]
    assert [p.writes_per_s for p in reads] == [rate for rate in asked.values() if rate <= most / 0.95]
    assert [p.writes_per_s for p in reads if not p.held_out] == fitted
    knees = [p for p in points if p.measure == "writes_max_per_s"]
    assert len(knees) + len(reads) == len(asked)
    assert all(p.value == most and p.writes_per_s is None and p.held_out for p in knees)


#: Stand-ins that note what they do; fio fails as long as there is a file `fail-NAME`.
STAND_INS = {
    "fio": 'for job; do :; done; n=${job%.fio}; echo "fio $n" >>done; [ ! -e "fail-$n" ]; echo {} >"$n.json.part"',
    "wipefs": "echo wipefs >>done",
    "blkdiscard": "echo trim >>done",
    "lsblk": "case $1 in -dnbo) cat identity;; *) cat mounted 2>/dev/null || :;; esac",
}


def test_the_script_goes_on_where_it_ended_and_trims_before_fills_alone(tmp_path: Path) -> None:
    write_pack(tmp_path)
    script = tmp_path / SCRIPT
    script.write_text(script.read_text().replace('[ -b "$DRIVE" ]', '[ -e "$DRIVE" ]'))
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in STAND_INS.items():
        (programs / name).write_text(f"#!/bin/sh\nset -e\n{text}\n")
        (programs / name).chmod(0o755)
    (tmp_path / "identity").write_text("1000000000\n")
    drive, log = tmp_path / "drive", tmp_path / "done"
    drive.touch()

    def runs(answer: str) -> tuple[int, str, list[str]]:
        log.write_text("")
        path = f"{programs}:{os.environ['PATH']}"
        ran = subprocess.run(
            [str(script), str(drive)], input=answer, text=True, capture_output=True, env={**os.environ, "PATH": path}
        )
        return ran.returncode, ran.stderr, log.read_text().splitlines()

    assert runs("yes\n")[::2] == (1, [])
    (tmp_path / "fail-uniform").touch()
    ended = runs(f"{drive}\n")
    assert ended[0] != 0
    assert ended[2] == ["wipefs", "trim", "fio sequential", "fio uniform-settle", "fio uniform"]
    (tmp_path / "fail-uniform").unlink()
    code, _, done = runs(f"{drive}\n")
    assert code == 0
    assert done[0] == "fio uniform"
    fills = [step.name for step in steps() if step.options["rw"] == "write"][1:]
    assert [done[at + 1] for at, what in enumerate(done) if what == "trim"] == [f"fio {name}" for name in fills]
    assert runs(f"{drive}\n")[::2] == (0, [])
    (tmp_path / "mounted").write_text("/home\n")
    assert runs(f"{drive}\n") == (2, f"{drive} is in use\n", [])
    (tmp_path / "mounted").unlink()
    (tmp_path / "identity").write_text("2000000000\n")
    code, told, done = runs(f"{drive}\n")
    assert (code, done) == (2, [])
    assert "of another drive: 1000000000" in told


def test_a_pack_that_was_not_run(tmp_path: Path) -> None:
    write_pack(tmp_path)
    with pytest.raises(CoflashError, match=r"no step has results yet; run\.sh"):
        read_fio(tmp_path)


def test_results_that_are_none_of_fio(tmp_path: Path) -> None:
    (tmp_path / STEPS).write_text("step,pattern\na,uniform\n")
    for text, problem in {
        '{"jobs": [{"jobname": "a"}]}': "no result of fio",
        "{}": 'is no JSON of fio: no list of "jobs"',
        "fio: failed": "is no JSON of fio",
    }.items():
        (tmp_path / "a.json").write_text(text)
        with pytest.raises(CoflashError, match=rf"a\.json: {problem}"):
            read_fio(tmp_path)
