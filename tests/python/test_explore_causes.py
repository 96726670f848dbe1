"""What an exploration says of the cause: roles of requests, one verdict over recoveries, a check that is to blame."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from coflash import CoflashError, device
from explored_disk import program
from processes import COFLASH, coflash
from served_devices import scenario
from test_explore import CHECK, LOGGED, RECOVERY, WRITE, recording, small

ROUNDS = """
def between(): pass
for n in range(1, 4):
    for page in range(4):
        disk.write(512 * (8 * n + page), n.to_bytes(8, "big") * 64)
    between()
    disk.write(0, n.to_bytes(8, "big") * 64); disk.flush()
"""
WHOLE = """
count = int.from_bytes(disk.read(0, 8), "big")
for n in range(1, count + 1):
    if disk.read(512 * 8 * n, 2048) != n.to_bytes(8, "big") * 256:
        sys.exit(f"round {n} of {count} is not whole")
"""


def test_the_repair_is_told_by_the_role_of_a_request_though_all_have_one_size(tmp_path: Path) -> None:
    found = device.explore(scenario("none"), tmp_path / "device", program(ROUNDS), program(WHOLE), points=40, seed=1)
    (repair,) = found.repairs
    assert [*map(tuple, repair["flushes"])] == [(4, 1), (10, 1), (16, 1)], "one before each number that counts"
    assert (
        "a flush before each write of 512 bytes at 0 (between requests 4 and 5, 10 and 11, 16 and 17)"
        in repair["story"]
    )
    mended = ROUNDS.replace("    between()", "    disk.flush()")
    right = device.explore(None, tmp_path / "device", program(mended), program(WHOLE), points=40, seed=1)
    assert (right.failed, right.repairs) == (0, [])


def test_a_failure_names_the_last_request_before_which_a_flush_suffices(tmp_path: Path) -> None:
    found = device.explore(scenario("none"), tmp_path / "device", program(ROUNDS), program(WHOLE), points=40, seed=1)
    for failure in found.failures:
        (kept,) = failure.kept
        assert all(f"between its answer and request {kept.number} would" in str(lost.why) for lost in failure.lost)


def test_recoveries_have_one_verdict_and_one_repair(tmp_path: Path) -> None:
    steps = "[(4096 + 512 * n, log) for n in range(3)] + [(0, bytes(512))]"
    recover = program(
        "log = disk.read(0, 512)\n"
        f"for place, data in {steps} if any(log) else []:\n"
        "    disk.write(place, data)\n"
        "disk.flush()"
    )
    check = program(
        "found = [int.from_bytes(disk.read(place, 8), 'big') for place in (0, 4096, 4608, 5120)]\n"
        "sys.exit(max(found[0], min(found[1:])) < int(os.environ['COFLASH_MARK'] or 0))"
    )
    run = program(LOGGED.replace("disk.write(4096,", "for p in (4096, 4608, 5120): disk.write(p,"))
    found = device.explore(scenario("none"), tmp_path / "device", run, check, recover=recover, points=60)
    assert len({failure.recovers for failure in found.failures}) == len(found.failures) == 1
    assert found.failures[0].count == found.failed > 1
    (repair,) = found.repairs
    assert repair["recovers"] in {run["recovers"] for run in found.coverage if "recovers" in run}
    assert "a flush before each write of 512 bytes at 0 (in the recovery of state" in repair["story"]
    assert [*map(tuple, repair["flushes"])] == [(3, 1)], "where the log is cleared"


def test_recovery_that_clears_its_log_first_is_one_failure_that_no_flush_mends(tmp_path: Path) -> None:
    check = program(
        "found = max(int.from_bytes(disk.read(place, 8), 'big') for place in (0, 4096))\n"
        "sys.exit(found < int(os.environ['COFLASH_MARK'] or 0))"
    )
    recover = program(RECOVERY.replace("ORDER", "-1"))
    found = device.explore(scenario("none"), tmp_path / "device", program(LOGGED), check, recover=recover, points=40)
    (repair,) = found.repairs
    assert "no flush mends it" in repair["story"]
    assert found.failures


def test_a_check_that_fails_now_and_then_is_named_and_no_request(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    check = program(
        "import pathlib\n"
        f"seen = pathlib.Path({str(seen)!r} + os.environ['COFLASH_STATE'])\n"
        "first = not seen.exists(); seen.touch()\n"
        "sys.exit(first and os.environ['COFLASH_STATE'] == '3')"
    )
    found = device.explore(scenario("none"), tmp_path / "device", recording(WRITE), check, points=10)
    (failure,) = found.failures
    assert failure.is_unsteady
    assert failure.lost == failure.kept == []
    assert "checked again it is right: the check is unsteady" in failure.story
    assert found.repairs[0]["story"] == "none is sought, since the check is unsteady"


def test_a_check_that_fails_with_nothing_lost_is_told_of(tmp_path: Path) -> None:
    check = program("sys.exit(os.environ['COFLASH_STATE'] != '0')")
    found = device.explore(scenario("none"), tmp_path / "device", program("disk.flush()"), check, points=10)
    assert {failure.is_unsteady for failure in found.failures} == {False}
    assert "nothing is lost, and the check fails all the same: look at the check first" in found.failures[0].story


def test_a_workload_that_sends_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CoflashError, match="the workload sent the device no write, trim or flush: its address is in"):
        device.explore(scenario("none"), tmp_path / "device", program("disk.read(0, 512)"), "true")


def test_a_state_is_made_again_only_where_its_check_can_run(tmp_path: Path) -> None:
    checks = tmp_path / "checks"
    checks.mkdir()
    (checks / "check.sh").write_text(f"{program(CHECK)}\n")
    common = ["explore", "--device", str(tmp_path / "device")]
    run = [*common, small(tmp_path), "--run", recording(WRITE), "--check", "sh ./check.sh", "--points", "20"]
    found = subprocess.run([*COFLASH, *run], cwd=checks, capture_output=True, text=True, check=False)
    assert found.returncode == 1
    (failure,) = (tmp_path / "device/failures").iterdir()
    story = (failure / "failure.txt").read_text()
    elsewhere = coflash(*common, "--state", str(int(failure.name)))
    assert (elsewhere.returncode, "a check must succeed there" in elsewhere.stderr) == (2, True), elsewhere.stderr
    assert (failure / "failure.txt").read_text() == story
    assert subprocess.run([*COFLASH, *common, "--state", failure.name], cwd=checks, check=False).returncode == 1


@pytest.mark.parametrize("points", ["-1", "1.5", "many"])
def test_points_that_are_no_number_and_no_time_are_refused(points: str, tmp_path: Path) -> None:
    given = ["explore", "--device", str(tmp_path / "device"), "--run", "true", "--check", "true", f"--points={points}"]
    refused = coflash(*given)
    assert refused.returncode == 2
    assert f'points: "{points}" was given; a number, or a time such as "10min", is allowed' in refused.stderr
