"""What `coflash explore` finds, how little of it a failure tells, and what it leaves behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from coflash import CoflashError, device
from explored_disk import program
from processes import COFLASH, PATIENCE_S, await_file, begin, coflash
from served_devices import scenario

RECORD = """
for n in range(1, 6):
    record(n)
    disk.write(0, n.to_bytes(8, "big") * 64, FUA)
disk.flush()
"""
CHECK = """
count = int.from_bytes(disk.read(0, 8), "big")
for n in range(1, count + 1):
    if disk.read(4096 * n, 4096) != n.to_bytes(8, "big") * 512:
        sys.exit(f"record {n} of {count} is not there")
"""


def recording(steps: str) -> str:
    """A log of records, each made durable by these steps before the number that counts it."""
    body = "\n    ".join(["def record(n):", 'data = n.to_bytes(8, "big") * 512', *steps.split("; ")])
    return program(f"{body}\n{RECORD}")


def small(place: Path) -> str:
    """The scenario as a file."""
    file = place / "small.toml"
    file.write_text(scenario("none").to_toml())
    return str(file)


WRITE = "disk.write(4096 * n, data)"
FAULTY = {
    "nothing": WRITE,
    "an unrelated write with FUA": f"{WRITE}; disk.write(1 << 20, bytes(512), FUA)",
    "a read with FUA": f"{WRITE}; disk.read(1 << 20, 512, FUA)",
    "a flush sent before the answer": "disk.send(WRITE, 4096 * n, data); disk.send(FLUSH); disk.wait()",
    "a flush of another time": f"disk.flush(); {WRITE}",
}
RIGHT = {
    "a flush": f"{WRITE}; disk.flush()",
    "FUA": "disk.write(4096 * n, data, FUA)",
    "a flush after writes that were sent together": (
        "disk.send(WRITE, 4096 * n, data[:2048]); disk.send(WRITE, 4096 * n + 2048, data[2048:]); disk.wait();"
        " disk.flush()"
    ),
}


@pytest.mark.parametrize("steps", FAULTY.values(), ids=FAULTY)
def test_what_does_not_cover_a_record_is_found_and_shrunk_to_it(steps: str, tmp_path: Path) -> None:
    found = device.explore(scenario("none"), tmp_path / "device", recording(steps), program(CHECK), points=60, seed=1)
    assert found.failed > 0
    failure = found.failures[0]
    (lost,) = failure.lost
    assert lost.length == 4096
    assert {request.offset for request in failure.kept} <= {0}, "at most the number that counts it"
    assert f"write of 4096 bytes at {lost.offset}" in (Path(failure) / "failure.txt").read_text()
    assert f"record {lost.offset // 4096} of" in failure.output


@pytest.mark.parametrize("steps", RIGHT.values(), ids=RIGHT)
def test_what_covers_a_record_is_no_finding(steps: str, tmp_path: Path) -> None:
    found = device.explore(scenario("none"), tmp_path / "device", recording(steps), program(CHECK), points=60, seed=1)
    assert found.failed == 0, found.failures
    assert found.states > 10


def test_a_small_workload_is_explored_whole_and_no_state_twice(tmp_path: Path) -> None:
    run = program("disk.write(0, b'a' * 512); disk.write(512, b'b' * 512); disk.flush(); disk.write(0, b'a' * 512)")
    seen = tmp_path / "seen"
    check = program(f"print(os.environ['COFLASH_FLUSHES'], disk.read(0, 1024), file=open({str(seen)!r}, 'a'))")
    found = device.explore(scenario("none"), tmp_path / "device", run, check)
    states = seen.read_text().splitlines()[1:]  # the first check is that without a power cut
    assert len(states) == len(set(states)) == found.states == 5
    assert found.coverage == [{"windows": 2, "shapes": 2, "shapes_checked": 2}]
    none = device.explore(None, tmp_path / "device", run, check, points=0)
    assert none.states == 2, "the begin, and after the flush: the write after it changes nothing"


def test_two_writes_under_way_together_land_in_either_order(tmp_path: Path) -> None:
    sent = "disk.send(WRITE, 0, b'1' * 4096); disk.send(WRITE, 2048, b'2' * 4096); disk.wait()"
    waited = "disk.write(0, b'1' * 4096); disk.write(2048, b'2' * 4096)"
    check = program("sys.exit(disk.read(0, 6144) == b'1' * 4096 + b'2' * 2048)")
    for steps, is_found in ((sent, True), (waited, False)):
        found = device.explore(scenario("none"), tmp_path / "device", program(steps), check, atomic="8KiB")
        assert (found.failed > 0) == is_found
        assert all(failure.reordered for failure in found.failures)


TWICE = "disk.send(WRITE, 0, b'1' * 4096); disk.send(WRITE, 0, b'2' * 4096); disk.wait()"


@pytest.mark.parametrize(
    ("between", "is_found"),
    [
        ("", True),
        ("disk.read(8192, 512); ", True),
        ("disk.read(0, 512); ", False),
        ("disk.write(0, b'2' * 4096); ", False),
    ],
)
def test_what_was_under_way_together_is_durable_in_either_order_until_a_read_settles_it(
    between: str, is_found: bool, tmp_path: Path
) -> None:
    run = program(f"{TWICE}; {between}disk.flush(); disk.write(8192, b'done' * 128, FUA)")
    check = program("sys.exit(disk.read(8192, 4) == b'done' and disk.read(0, 1) != b'2')")
    found = device.explore(scenario("none"), tmp_path / "device", run, check, points=40, atomic="4KiB", seed=1)
    assert (found.failed > 0) == is_found
    assert all(failure.reordered for failure in found.failures)


LATE = """
for n in range(1, 5):
    disk.send(WRITE, 4096 * n, n.to_bytes(8, "big") * 512)
    disk.send(WRITE, 1 << 20, bytes(512))
    {}
    disk.write(0, n.to_bytes(8, "big") * 64, FUA)
"""


@pytest.mark.parametrize(
    ("steps", "is_found"),
    [
        ("disk.await_answers(1); disk.send(FLUSH); disk.wait()", True),
        ("disk.transmit(); time.sleep(0.06); disk.send(FLUSH); disk.wait()", True),
        ("disk.wait(); disk.flush()", False),
    ],
)
def test_an_answer_that_is_not_waited_for_has_not_come(steps: str, is_found: bool, tmp_path: Path) -> None:
    found = device.explore(
        scenario("none"), tmp_path / "device", program(LATE.format(steps)), program(CHECK), points=40, seed=1
    )
    assert (found.failed > 0) == is_found
    for failure in found.failures:
        assert "does not cover it: its answer came at" in failure.story


def test_a_flush_that_is_forgotten_once_in_many_rounds_is_found_with_every_seed(tmp_path: Path) -> None:
    run = program(
        'for n in range(1, 41):\n    disk.write(4096 * n, n.to_bytes(8, "big") * 512)\n    n == 30 or disk.flush()\n'
        '    disk.write(0, n.to_bytes(8, "big") * 64, FUA)'
    )
    for seed in range(2):
        found = device.explore(scenario("none"), tmp_path / f"{seed}", run, program(CHECK), points=20, seed=seed)
        assert found.coverage[0]["shapes_checked"] == found.coverage[0]["shapes"]
        (failure,) = found.failures
        assert [request.offset for request in failure.lost] == [4096 * 30]


def test_a_mark_is_what_a_check_may_rely_on_and_what_a_failure_tells(tmp_path: Path) -> None:
    steps = "for n in range(1, 4):\n    disk.write(4096 * n, b'x' * 4096){}\n    mark(f'done {{n}}')"
    check = program(
        "last = int((os.environ['COFLASH_MARK'] or 'done 0').split()[1])\n"
        "sys.exit(any(disk.read(4096 * n, 4096) != b'x' * 4096 for n in range(1, last + 1)))"
    )
    found = device.explore(
        scenario("none"), tmp_path / "device", program(steps.format("; disk.flush()")), check, points=20
    )
    assert (found.failed, found.marks) == (0, 3)
    found = device.explore(None, tmp_path / "device", program(steps.format("")), check, points=20)
    assert found.failed > 0
    assert found.failures[0].mark == "done 1"
    for request in (request for failure in found.failures for request in failure.lost):
        before = request.offset // 4096 - 1
        assert request.mark == (f"done {before}" if before else None)


def test_the_command_writes_marks(tmp_path: Path) -> None:
    run = f"{' '.join(COFLASH)} device mark 'a mark'"
    assert device.explore(scenario("none"), tmp_path / "device", run, "true").marks == 1
    done = coflash("device", "mark", "a mark")
    assert (done.returncode, "COFLASH_MARKS is not set" in done.stderr) == (2, True)


def test_faults_come_once_and_what_was_promised_before_is_still_asked_for(tmp_path: Path) -> None:
    # This program takes an error for a success.
    careless = """
for n in range(1, 4):
    try:
        disk.read(4096 * n, 512); disk.write(4096 * n, b'x' * 4096); disk.flush()
    except OSError as error:
        print(error.errno)
    mark(f'done {n}')
"""
    careful = careless.replace("print(error.errno)", "sys.exit(f'failed: {error.errno}')")
    check = program(
        "last = int((os.environ['COFLASH_MARK'] or 'done 0').split()[1])\n"
        "sys.exit(any(disk.read(4096 * n, 4096) != b'x' * 4096 for n in range(1, last + 1)))"
    )
    faults = ["write-error@2", "flush-error@2", "full@3", "read-error@1", "stuck@1", "bad-sector@*"]
    found = device.explore(scenario("none"), tmp_path / "device", program(careful), check, faults=faults, points=12)
    assert found.failed == 0, found.failures
    assert found.faults[5:] == [(f"bad-sector@{number}", True) for number in (1, 2, 3)]
    assert all(came for _, came in found.faults)
    found = device.explore(None, tmp_path / "device", program(careless), check, faults=faults[:4], points=12)
    assert {failure.fault for failure in found.failures} >= {"write-error@2", "flush-error@2"}
    for fault, said in (
        ("smoke", "unknown variant `smoke`, expected one of `read-error`, `write-error`, `flush-error`"),
        ("stuck@0", "a kind, KIND@N, with the number of its request from 1, or KIND@*"),
    ):
        with pytest.raises(CoflashError, match=f'fault: "{fault}" was given.*{re.escape(said)}'):
            device.explore(None, tmp_path / "device", "true", "true", faults=[fault])


SEALED = """
def sealed(n, value):
    body = n.to_bytes(8, "big") + value.to_bytes(8, "big") * 510
    return zlib.crc32(body).to_bytes(8, "big") + body
import zlib
promised = int(os.environ.get("COFLASH_MARK") or 0)
"""
CHAIN = f"""{SEALED}
disk.write(4096, sealed(1, 1)); disk.flush(); mark("1")
for n in (2, 3):
    before = disk.read(4096 * (n - 1), 4096)
    if CHECKED and before != sealed(n - 1, int.from_bytes(before[16:24], "big")):
        sys.exit("damaged")
    disk.write(4096 * n, sealed(n, int.from_bytes(before[16:24], "big") + 1)); disk.flush(); mark(str(n))
"""
CHAINED = f"""{SEALED}
for n in range(1, promised + 1):
    found = disk.read(4096 * n, 4096)
    if CHECKED and os.environ["COFLASH_FAULT"] and found != sealed(n, int.from_bytes(found[16:24], "big")):
        continue
    if int.from_bytes(found[16:24], "big") != n or found[24:] != found[16:24] * 509:
        sys.exit(f"record {{n}} is wrong, after the fault {{os.environ['COFLASH_FAULT']}}")
"""
SILENT = ["bit-rot@2", "lost-write@2", "stale-sector@2", "misdirected-write@2", "misdirected-read@1"]


@pytest.mark.parametrize("checked", [False, True])
def test_a_silent_fault_is_believed_by_a_program_without_checksums_and_seen_by_one_with_them(
    checked: bool, tmp_path: Path
) -> None:
    run, check = (program(code.replace("CHECKED", str(checked))) for code in (CHAIN, CHAINED))
    found = device.explore(scenario("none"), tmp_path / "device", run, check, faults=SILENT, points=10)
    assert found.faults == [(fault, True) for fault in SILENT]
    assert {failure.fault for failure in found.failures} == (set() if checked else set(SILENT)), found.failures


@pytest.mark.parametrize(
    ("zeros", "is_found"),
    [("disk.send(TRIM, 4096, length=4096); disk.wait()", True), ("disk.write(4096, bytes(4096))", False)],
)
def test_a_trim_leaves_anything(zeros: str, is_found: bool, tmp_path: Path) -> None:
    run = program(f"disk.write(4096, b'a' * 4096); disk.flush(); {zeros}; disk.flush(); mark('zeros')")
    check = program("sys.exit(os.environ['COFLASH_MARK'] == 'zeros' and any(disk.read(4096, 4096)))")
    found = device.explore(scenario("none"), tmp_path / "device", run, check, faults=["kept-trim"], points=10)
    assert (found.failed > 0) == is_found
    assert all(failure.fault == "kept-trim@1" for failure in found.failures)


def test_the_durable_trim_that_makes_a_lost_write_fatal_is_named(tmp_path: Path) -> None:
    trim = "disk.send(TRIM, 8 << 12, length=4096); disk.wait(); disk.flush()"
    log = "disk.write(9 << 12, b'page' * 1024); disk.flush()"
    page = "disk.write(8 << 12, b'page' * 1024); disk.write(0, b'head' * 128); disk.flush(); mark('page')"
    check = program("sys.exit(bool(os.environ['COFLASH_MARK']) and not any(disk.read(8 << 12, 8192)))")
    found, right = (
        device.explore(scenario("none"), tmp_path / "device", program(f"{page}; {steps}"), check, points=10)
        for steps in (f"{trim}; disk.write(0, b'more' * 128); {log}", f"{log}; {trim}")
    )
    assert right.failures == []
    (failure,) = (one for one in found.failures if not one.kept)
    assert [(one.kind, one.offset, one.length) for one in failure.fatal] == [("trim", 8 << 12, 4096)]
    assert "wrong without it:\n  request 4: trim of 4096 bytes at 32768" in failure.story
    assert 0 < failure.power_on_s < time.time()


LOGGED = """
for n in range(1, 4):
    disk.write(0, n.to_bytes(8, "big") * 64); disk.flush(); mark(str(n))
    disk.write(4096, n.to_bytes(8, "big") * 64); disk.flush()
    disk.write(0, bytes(512)); disk.flush()
"""
RECOVERY = """
log = disk.read(0, 512)
steps = [(4096, log), (0, bytes(512))]
for place, data in steps[::ORDER] if any(log) else []:
    disk.write(place, data); disk.flush()
"""


@pytest.mark.parametrize(("order", "is_found"), [("-1", True), ("1", False)])
def test_recovery_is_cut_again_and_a_log_that_is_cleared_before_it_is_applied_is_lost(
    order: str, is_found: bool, tmp_path: Path
) -> None:
    folder = tmp_path / "device"
    check = program(
        "found = max(int.from_bytes(disk.read(place, 8), 'big') for place in (0, 4096))\n"
        "sys.exit(found < int(os.environ['COFLASH_MARK'] or 0))"
    )
    recover = program(RECOVERY.replace("ORDER", order))
    commands = (program(LOGGED), check)
    assert device.explore(scenario("none"), folder, *commands, points=40).failed == 0
    found = device.explore(None, folder, *commands, recover=recover, points=40)
    assert (found.failed > 0) == is_found, found.failures
    recovered = [run["recovers"] for run in found.coverage if "recovers" in run]
    assert len(recovered) > 3
    assert f"recovery: {len(recovered)} runs" in found.summary()
    for failure in found.failures:
        assert failure.recovers in recovered
        assert f"and again in the recovery of state {failure.recovers}" in failure.story
        (lost,) = failure.lost
        assert (lost.number, lost.offset) == (3, 4096), "of the recovery, the write after the log is cleared"
        (again,) = device.explore(None, folder, state=failure.state).failures
        assert again.story.partition(":")[2] == failure.story.partition(":")[2]


def test_recovery_meets_faults_and_a_wrong_state_is_not_recovered(tmp_path: Path) -> None:
    wrong = program("sys.exit(os.environ['COFLASH_STATE'] != '0')")
    found = device.explore(scenario("none"), tmp_path / "device", program(LOGGED), wrong, recover="true", points=0)
    assert {failure.recovers for failure in found.failures} == {None}, "all states were wrong already"
    recover = program(
        RECOVERY.replace("ORDER", "1").replace("disk.flush()", "\n    try: disk.flush()\n    except OSError: pass")
    )
    check = program(
        "found = max(int.from_bytes(disk.read(place, 8), 'big') for place in (0, 4096))\n"
        "sys.exit(found < int(os.environ['COFLASH_MARK'] or 0))"
    )
    commands, faults = (program(LOGGED), check), ["flush-error@1"]
    found = device.explore(None, tmp_path / "device", *commands, recover=recover, faults=faults, points=40)
    assert {(failure.fault, failure.recovers is None) for failure in found.failures} == {("flush-error@1", False)}


def test_shapes_count_as_checked_when_a_state_of_them_was(tmp_path: Path) -> None:
    run = program("for n in range(1, 9):\n    disk.write(65536 * n, bytes([n]) * (512 << n)); disk.flush()")
    plan = (scenario("none"), tmp_path / "device", run, "true")
    whole = device.explore(*plan, points=100).coverage[0]
    assert whole["shapes"] == whole["shapes_checked"] == 8
    stopped = device.explore(*plan, points=100, jobs=1, progress=lambda done, _states, _wrong: done < 2)
    assert stopped.coverage[0]["shapes_checked"] < 8


def test_a_number_of_points_may_be_larger_than_any_number_of_states(tmp_path: Path) -> None:
    found = device.explore(
        scenario("none"), tmp_path / "device", program("disk.write(0, bytes([1]) * 1024)"), "true", points=2**40
    )
    assert found.states == 4


def test_a_check_that_fails_without_a_power_cut_or_cannot_run_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "device"
    for check, said in (
        (
            "echo no; exit 3",
            "the check fails on the device after the whole workload, without a power cut: exit status 3: no",
        ),
        ("./missing", "the check cannot run: exit status 127"),
        ("[ $COFLASH_STATE -lt 1 ] || ./missing", "the check cannot run: exit status 127"),
        (" ", "the check cannot run: exit status 0"),
    ):
        with pytest.raises(CoflashError, match=re.escape(said)):
            device.explore(scenario("none"), folder, program("disk.write(0, bytes(512))"), check)
    with pytest.raises(CoflashError, match=re.escape("the workload failed: exit status 3: oh")):
        device.explore(None, folder, "echo oh; exit 3", "true")


def test_a_command_that_does_not_end_is_ended_with_all_that_it_began(tmp_path: Path) -> None:
    begins = f"sleep 1000 & echo $! >> {tmp_path}/left"
    with pytest.raises(CoflashError, match=re.escape("the workload failed: it did not end within 0.2 s")):
        device.explore(scenario("none"), tmp_path / "device", f"{begins}; wait", "true", timeout_s=0.2)
    flush = program("disk.flush()")
    device.explore(None, tmp_path / "device", f"{begins}; {flush}", begins)
    check = f"[ $COFLASH_STATE -eq 0 ] || {{ {begins}; wait; }}"
    found = device.explore(None, tmp_path / "device", flush, check, timeout_s=4)
    assert [failure.ended for failure in found.failures] == ["it did not end within 4 s"]
    for number in (tmp_path / "left").read_text().split():
        assert has_ended(int(number))


def has_ended(number: int) -> bool:
    """Whether a process has ended, if perhaps nobody has asked for its status."""
    try:
        return "Z" in Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("where", ["run", "check"])
def test_an_interrupted_exploration_leaves_nothing(number: signal.Signals, where: str, tmp_path: Path) -> None:
    slow = f"[ ${{COFLASH_STATE:-1}} -eq 0 ] || {{ echo $$ >> {tmp_path}/pids; sleep 1000; }}"
    commands = {"run": program("disk.flush()"), "check": "true", where: slow}
    (tmp_path / "temporary").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    arguments = ["explore", small(tmp_path), "--device", str(tmp_path / "device")]
    arguments += ["--run", commands["run"], "--check", commands["check"]]
    with begin(*COFLASH, *arguments, env=environment) as process:
        await_file(process, tmp_path / "pids")
        process.send_signal(number)
        process.wait(PATIENCE_S)
    assert process.returncode == 128 + number
    assert list((tmp_path / "temporary").iterdir()) == []
    for pid in (tmp_path / "pids").read_text().split():
        assert has_ended(int(pid))


def test_a_stopped_exploration_tells_what_it_has_found(tmp_path: Path) -> None:
    arguments = ["explore", small(tmp_path), "--device", str(tmp_path / "device"), "--run", recording(WRITE)]
    places = ["--json", str(tmp_path / "found.json"), "--junit", str(tmp_path / "found.xml")]
    with begin(*COFLASH, *arguments, "--points", "100000", "--check", program(CHECK), *places) as process:
        await_file(process, tmp_path / "device" / "failures")
        process.send_signal(signal.SIGTERM)
        told = process.communicate(timeout=PATIENCE_S)[0]
    assert process.returncode == 128 + signal.SIGTERM
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["is_stopped"]
    assert len(found["failures"]) >= 1
    assert f"interrupted after {found['states']:,} of {found['planned']:,} states" in told
    assert told.splitlines()[-1] == f"to go on: coflash explore --device {tmp_path}/device"
    assert int(suite_of(tmp_path).attrib["failures"]) >= 1


def there(found: device.Explored, folder: Path) -> device.Explored:
    """The findings with the folders that they have below another one."""
    failures = [replace(one, folder=str(folder / "failures" / Path(one).name)) for one in found.failures]
    return replace(found, failures=failures)


def test_an_exploration_that_was_stopped_goes_on_to_what_a_whole_one_finds(tmp_path: Path) -> None:
    folder, states, most = tmp_path / "device", tmp_path / "states", tmp_path / "most"
    # What fails goes by the number of the state. The last check that is allowed does not end.
    check = (
        f"echo $COFLASH_STATE >> {states}; [ $(wc -l < {states}) -lt $(cat {most}) ] || sleep 1000;"
        " case $COFLASH_STATE in *2) echo lost; exit 1;; *4) echo torn; exit 1;; esac"
    )

    def explored(place: Path, checks: int, **new: Any) -> device.Explored:
        most.write_text(str(checks))
        states.write_text("")
        go_on = lambda *_: len(states.read_text().split()) < checks  # noqa: E731
        return device.explore(scenario("none"), place, jobs=1, progress=go_on, **new)

    found = explored(folder, 5, run=recording(WRITE), check=check, recover="true", points=24, seed=2)
    assert (found.is_stopped, 0 < found.states < found.planned) == (True, True)
    # The same runs, of which nothing was checked.
    whole = shutil.copytree(folder, tmp_path / "whole")
    (whole / "states/verdicts.jsonl").unlink()
    for checks in (12, 30, 2_000):
        kept = (folder / "states/verdicts.jsonl").read_text(errors="replace").splitlines()
        done = {json.loads(line)[0] for line in kept if line.endswith("]")}
        # As if the process had been killed while it wrote, and the disk had lost what it held.
        with (folder / "states/verdicts.jsonl").open("ab") as verdicts:
            verdicts.write(b'\n[1, [\n[2, "\xff')
        before, found = found.states, explored(folder, checks)
        assert not done & {*map(int, states.read_text().split())}
        assert (found.is_stopped, found.states > before) == (checks < 2_000, True)
    at_once = explored(whole, 2_000)
    assert (at_once.is_stopped, len(at_once.failures) > 3) == (False, True)
    assert there(at_once, folder) == found
    assert {Path(failure) for failure in found.failures} == {*(folder / "failures").iterdir()}
    copy = shutil.copytree(folder, tmp_path / "copy")
    assert explored(copy, 2_000) == there(found, copy), "what it keeps and removes is its own"
    assert explored(folder, 2_000, check=check) == found
    assert states.read_text().split() == ["0"], "the disk that lost no power"
    for cannot, said in (
        ("./missing", "the check cannot run"),
        ("false", "the check fails"),
        ("", "the check cannot run"),
    ):
        with pytest.raises(CoflashError, match=said):
            explored(folder, 2_000, check=cannot)
    assert explored(folder, 2_000) == found, "a check that cannot be used leaves everything as it was"
    other = explored(folder, 2_000, check="true")
    assert (other.planned, other.failed, (folder / "failures").exists()) == (found.planned, 0, False)


def test_a_state_is_made_again_alone_and_looked_at(tmp_path: Path) -> None:
    folder = tmp_path / "device"
    found = device.explore(scenario("none"), folder, recording(WRITE), program(CHECK), points=40, seed=3)
    first = found.failures[0]
    (again,) = device.explore(None, folder, state=first.state).failures
    assert replace(again, count=first.count, story=first.story) == first
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run([Path(again) / "look.sh"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert first.output.strip() in done.stderr
    right = next(n for n in range(1, found.states + 1) if not device.explore(None, folder, state=n).failed)
    assert (folder / f"states/{right:06}/look.sh").exists()
    with pytest.raises(CoflashError, match=f"state 10000 was asked for; states 1 to {found.states} were explored"):
        device.explore(None, folder, state=10_000)
    with device.serve(None, folder):
        pass
    for state in (first.state, None):
        with pytest.raises(CoflashError, match="the device has changed since it was explored"):
            device.explore(None, folder, state=state)


def test_failures_that_are_alike_are_told_once_with_their_number(tmp_path: Path) -> None:
    folder = tmp_path / "device"
    run = recording(f"{WRITE}; disk.write(4096 * n + (1 << 20), data)")
    copy = "disk.read(4096 * n + (1 << 20), 4096) != n.to_bytes(8, 'big') * 512"
    checks = CHECK + f"    if {copy}:\n        sys.exit(f'the copy of record {{n}} has gone')\n"
    found = device.explore(scenario("none"), folder, run, program(checks), points=150, seed=2)
    said = [re.sub("[0-9]+", "N", failure.output.strip()) for failure in found.failures]
    assert set(said) == {"record N of N is not there", "the copy of record N has gone"}
    assert sum(failure.count for failure in found.failures) == found.failed > len(found.failures)
    assert f"state {found.failures[0].state} and {found.failures[0].count - 1} alike" in found.failures[0].story
    assert {Path(failure).name for failure in found.failures} == {path.name for path in (folder / "failures").iterdir()}


def suite_of(place: Path) -> ET.Element:
    return ET.parse(place / "found.xml").getroot()  # noqa: S314 - it is our own


def test_the_command_tells_its_findings_in_words_json_junit_and_its_status(tmp_path: Path) -> None:
    places = ["--json", str(tmp_path / "found.json"), "--junit", str(tmp_path / "found.xml")]
    common = ["explore", small(tmp_path), "--device", str(tmp_path / "device"), "--check", program(CHECK)]
    wrong = coflash(*common, "--run", recording(WRITE), "--points", "40", *places)
    assert wrong.returncode == 1
    assert "fewest requests that must be lost, all others being there:\n  request" in wrong.stdout
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["failures"][0]["lost"][0]["length"] == 4096
    (alike,) = found["failures"]
    assert alike["count"] == found["failed"] > 1
    suite = suite_of(tmp_path)
    assert f"states that fail alike: {alike['count']}" in suite.findall("testcase/failure")[1].attrib["message"]
    assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure")) == len(found["failures"]) + 1
    assert coflash(*common, "--run", recording(RIGHT["FUA"]), "--points", "10", *places).returncode == 0
    assert suite_of(tmp_path).attrib["failures"] == "0"
    assert coflash(*common, "--run", "exit 1", *places).returncode == 2
    assert suite_of(tmp_path).attrib["errors"] == "1"
    for given, said in (
        (["--run", "true"], "check: none was given; a workload needs one"),
        (["--seed", "3"], "--seed: has no effect without --run: an exploration goes on as it began"),
        (["--run", "true", "--state", "2"], "--state: has no effect beside --run, which explores anew"),
        (["--check", "true", "--state", "2"], "--check: has no effect beside --state: the check of the exploration"),
        ([], "nothing was explored here to its end"),
    ):
        wrong = coflash("explore", "--device", str(tmp_path / "device"), *given)
        assert (wrong.returncode, said in wrong.stderr) == (2, True), wrong.stderr
