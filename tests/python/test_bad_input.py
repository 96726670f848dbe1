"""Bad input is refused in one line that names it: no panic, no traceback, no wrong number, no partial result."""

from __future__ import annotations

import gzip
import itertools
import os
import random
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import coflash
from coflash import CoflashError, Scenario
from coflash.cli import main
from processes import COFLASH, COFLASH_TELLING, await_line, begin, interrupt

FIO = "fio version 3 iolog\n"
SMALL = ("run", "demo", "--set", "flash.channels=1", "--set", "flash.blocks_per_plane=64")
OPEN = (*SMALL, "--set", "replay.mode=open")


def fio(*lines: str) -> bytes:
    return (FIO + "".join(f"{line}\n" for line in lines)).encode()


FILES = {
    "good": fio("1 d write 0 4096", "2 d read 0 4096"),
    "empty": b"",
    "blank": b"\n\n \n",
    "garbage": random.Random(1).randbytes(5000),
    "no-requests": fio("0 d add"),
    "backwards": fio("5000 d write 0 4096", "1000 d write 0 4096"),
    "beyond-disks": fio("5 d write 99999997952 4096"),
    "far": fio("5 d write 9223372036854775807 4096"),
    "farther": fio("5 d write 9223372036854775808 4096"),
    "farthest": fio("5 d write 99999999999999999999 4096"),
    "zero": fio("5 d write 0 0"),
    "typo": fio("5 d wrte 0 4096"),
    "letters": fio("1 d write 0 4096", "2 d write ten 4096"),
    "negative": fio("1 d write -1 4096"),
    "short": fio("1 d write 0"),
    "long": fio("1 d write 0 4096", "2 d write 0 4611686018427387904"),
    "long-trim": fio("1 d trim 0 4611686018427387904"),
    "late": fio("18446744073709551 d write 0 4096"),
    "later": fio("18446744073709552 d write 0 4096"),
    "wide": fio("1 d write 1099511627776 4096", "2 d write 0 4096"),
    "truncated.gz": gzip.compress(fio(*(f"{time} d write {time}000 4096" for time in range(99))))[:-20],
    "damaged.gz": gzip.compress(FIO.encode())[:12] + b"\0" * 20,
    "truncated.zst": b"\x28\xb5\x2f\xfd\x24",
    "duplicate.toml": b"seed = 1\nseed = 2\n",
    "unfinished.toml": b"[cache]\nsize = \n",
    "latin.toml": b'name = "\xe9"\n',
    "deep.toml": b"a = " + b"[" * 9999,
    "unknown.toml": b'[gc]\nvictm = "greedy"\n',
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with all the bad files in it."""
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.tex").touch()
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "scenario.toml").write_text('name = "mine"')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def everything(place: Path) -> dict[Path, bytes | None]:
    return {path: None if path.is_dir() else path.read_bytes() for path in place.rglob("*")}


def run_main(arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["coflash", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code if isinstance(ended.value.code, int) else 0


def set_(assignment: str) -> tuple[str, ...]:
    return ("run", "demo", "--set", assignment)


def trace(*names: str) -> tuple[str, ...]:
    return (*SMALL, *(part for name in names for part in ("--trace", name)))


CASES: list[tuple[tuple[str, ...], list[str]]] = [
    # scenarios
    (("run", "demmo"), ['"demmo"', 'did you mean "demo"?', "msr-ssd", ".toml"]),
    (("run", "absent.toml"), ["absent.toml", "no such file"]),
    (("run", "folder/"), ["folder/", "is a folder", "thesis.tex"]),
    (("run", "latin.toml"), ["latin.toml", "UTF-8"]),
    (("run", "duplicate.toml"), ["duplicate.toml: line 2", "duplicate key"]),
    (("run", "unfinished.toml"), ["unfinished.toml: line 2"]),
    (("run", "deep.toml"), ["deep.toml", "recur"]),
    (("run", "unknown.toml"), ["gc.victm", 'did you mean "victim"?', "low_mark"]),
    (("scenario", "check", "unknown.toml"), ["gc.victm"]),
    (("scenario", "check", "demo", "--set", "workload.synthetic.requests=0"), ["workload.synthetic.requests", "1"]),
    (("scenario", "show", "demo", "--set", "seed"), ["seed", "KEY=VALUE"]),
    (set_("cache.size"), ["cache.size", "KEY=VALUE"]),
    (set_("=3"), ["KEY=VALUE"]),
    (set_("cache.siz=1MiB"), ["cache.siz", 'did you mean "size"?', "page_read"]),
    (set_("cach.size=1MiB"), ["cach", 'did you mean "cache"?']),
    (set_(".".join("a" * 40_000) + "=1"), ["a: no such key"]),
    (set_("seed.x=1"), ["seed.x"]),
    (set_("flash=1"), ["flash", "1 was given", "a table"]),
    (set_("gc.victim=gredy"), ["gc.victim", '"gredy"', 'did you mean "greedy"?', "d-choices"]),
    (set_("cache.policy=lur"), ["cache.policy", 'did you mean "lru"?']),
    (set_("cooperation=cmd"), ["cooperation", "allowed: none, cdm"]),
    (set_("cooperation=op-fcl"), ["cooperation", "it is one of hybrid.scheme"]),
    (("run", "op-fcl"), ["op-fcl", 'did you mean "opfcl-config1"?']),
    (("run", "opfcl-config1", "--set", "hybrid.scheme.initial_caching=120%"), ["hybrid.scheme", "0% to 100%"]),
    (("run", "opfcl-config1", "--set", "workload.remap=none", "--trace", "beyond-disks"), ["the disks hold", "count"]),
    (set_("cooperation.removable_weight=2"), ["removable_weight", "2 was given", "0 to 1"]),
    (set_("cache.size=64"), ["cache.size", "64 was given"]),
    (set_("cache.size='64'"), ["cache.size", "unit is missing", "MiB"]),
    (set_("cache.size=64Mib"), ["cache.size", '"64Mib"', 'did you mean "MiB"?']),
    (set_("cache.size=0.5B"), ["cache.size", "whole number of B"]),
    (set_("cache.size=99999TiB"), ["cache.size", "99999TiB", "of the device"]),
    (set_("cache.size=99999999TiB"), ["cache.size", "64 bits"]),
    (set_("timing.page_read=25"), ["timing.page_read", "25 was given", "a duration"]),
    (set_("timing.page_read=25sec"), ["timing.page_read", '"sec"', "us"]),
    (set_("seed=-1"), ["seed", "-1 was given", "a whole number from 0"]),
    (set_("seed=18446744073709551616"), ["seed", "18446744073709551616", "a whole number from 0"]),
    (("run", "opfcl-config1", "--set", 'restart.at=["1s"]'), ["restart.at", "hybrid"]),
    (set_('restart.at=["1"]'), ["restart.at", "unit is missing"]),
    (set_("restart.shutdown=orderl"), ["restart.shutdown", 'did you mean "orderly"?']),
    (set_("flash.channels=0"), ["flash.channels", "0", "at least 1"]),
    (set_("flash.blocks_per_plane=4294967295"), ["flash.blocks_per_plane", "too many", "2147483647"]),
    (set_("flash.blocks_per_plane=99999999999"), ["flash.blocks_per_plane", "99999999999 was given", "4294967295"]),
    (set_("flash.sector_size=500B"), ["flash.sector_size", "500", "does not divide"]),
    (set_("ftl.spare.share=0%"), ["ftl.spare.share", "0%", "more than 0%"]),
    (set_("ftl.spare={share='120%',definition='spare_of_physical'}"), ["ftl.spare.share", "120%", "below 100%"]),
    (set_("ftl.spare.share=0.1%"), ["ftl.spare.share", "too small", "more blocks"]),
    (set_("flash.blocks_per_plane=4"), ["gc.low_mark", "4 blocks", "at least 1"]),
    (set_("replay.queue_depth=0"), ["replay.queue_depth", "0 was given", "from 1 to 1048576"]),
    (set_("replay.time_scale=nan"), ["replay.time_scale", "NaN", "a finite number"]),
    (set_("replay.time_scale=0"), ["replay.time_scale", "1e-9"]),
    (set_("workload.requests_max=0"), ["workload.requests_max", "0 was given", "from 1 to"]),
    (set_("workload.disksim.size_mean=1B"), ["workload.disksim.size_mean", "1B", "512B"]),
    (set_("workload.disksim.space=16777215TiB"), ["workload.disksim.space", "2^63"]),
    (set_("workload.synthetic.space=1TiB"), ["workload.synthetic.space", "1TiB", "exported capacity"]),
    (set_("workload.synthetic.read_share=101%"), ["workload.synthetic.read_share", "101%"]),
    (set_("workload.synthetic.generator=zipff"), ["workload.synthetic.generator", 'did you mean "zipf"?']),
    # traces
    (trace("absent"), ["absent", "no such file"]),
    (trace("folder"), ["folder", "is a folder", "folder/thesis.tex"]),
    (trace("/dev/null"), ["/dev/null", "the file is empty"]),
    (trace("empty"), ["empty", "no requests"]),
    (trace("blank"), ["blank", "no requests"]),
    (trace("no-requests"), ["no-requests", "no requests"]),
    (trace("garbage"), ["garbage", "known format", "coflash policies", "--read", "header_lines"]),
    (trace("backwards"), ["backwards:3: time", "1000000 ns after 5000000 ns", "time_slack"]),
    (trace("far"), ["far:2: offset", "9223372036854775807", "2^63"]),
    (trace("farther"), ["farther:2: offset", "9223372036854775808", "2^63"]),
    (trace("farthest"), ["farthest:2: offset", "99999999999999999999", "2^64"]),
    (trace("zero"), ["zero", "no requests", "1 request of length 0"]),
    (trace("typo"), ["typo:2: action", '"wrte"', 'did you mean "write"?', "trim"]),
    (trace("letters"), ["letters:3: offset", '"ten"', "a whole number"]),
    (trace("negative"), ["negative:2: offset", '"-1"', "a whole number"]),
    (trace("short"), ["short:2: length", "missing"]),
    (trace("good", "typo"), ["typo:2: action"]),
    (trace("good", "absent"), ["absent", "no such file"]),
    (trace("truncated.gz"), ["truncated.gz", "gzip", "truncated"]),
    (trace("damaged.gz"), ["damaged.gz", "gzip"]),
    (trace("truncated.zst"), ["truncated.zst", "zstd", "truncated"]),
    ((*trace("zero"), "--read", "format=fioo"), ["workload.trace_options.format", 'did you mean "fio"?']),
    ((*trace("zero"), "--read", "units.sice=4KiB"), ["workload.trace_options.units.sice", 'did you mean "size"?']),
    ((*trace("zero"), "--read", "on_error=skip"), ["zero", "no requests", "1 request of length 0"]),
    ((*trace("good"), "--set", "workload.trace_options.format=foi"), ["trace_options.format", 'did you mean "fio"?']),
    ((*trace("good"), "--set", "workload.trace_options.device_stride=0B"), ["trace_options.device_stride", "at least"]),
    (("trace", "info", "typo"), ["typo:2: action"]),
    (("trace", "info", "good", "--read", "format=foi"), ["format", 'did you mean "fio"?']),
    # conflicting input
    (
        ("run", "random-5g", "--set", "workload={ synthetic = {}, fio = 'a.fio' }"),
        ["workload: synthetic and fio were given", "leave out", "--trace FILE"],
    ),
    ((*trace("good"), "--set", "workload.fio=a.fio", "--set", "workload.trace=['t']"), ["workload: trace and fio"]),
    (
        (*trace("wide"), "--set", "workload.remap=none"),
        ["1099511631872", "exports 29.91 MiB", 'flash.exported to "1048577MiB"'],
    ),
    ((*trace("long"), "--set", "workload.remap=none"), ["4611686018427387904", "exports", "flash.exported"]),
    ((*trace("long"), "--set", "workload.remap=dense"), ["4194304.00 TiB long", "exports"]),
    ((*trace("long"), "--set", "workload.remap=modulo"), ["4194304.00 TiB long", "exports"]),
    ((*trace("long-trim"), "--set", "workload.remap=modulo"), ["4194304.00 TiB long", "exports"]),
    ((*OPEN, "--trace", "late"), ["simulated time", "36 years", "replay.time_scale"]),
    ((*OPEN, "--trace", "later"), ["later:2: time", "2^64"]),
    ((*SMALL, "--set", "timing.page_program=5000000h"), ["simulated time", "timing"]),
    ((*SMALL, "--set", "timing.sector_transfer=5000000h"), ["simulated time", "timing"]),
    ((*SMALL, "--set", "timing.channel=private", "--set", "timing.block_erase=5000000h"), ["simulated time"]),
    ((*SMALL, "--set", "cache.page_write=5000000h"), ["simulated time", "cache"]),
    ((*OPEN, "--set", "link.per_command=5000000h"), ["simulated time", "link"]),
    ((*SMALL, "--set", "link.per_command=5000000h"), ["simulated time", "link"]),
    # other files
    (("evaluate", "absent"), ["absent", "gc.victim"]),
    (("evaluate", "folder"), ["folder", "ends in .py"]),
    (("evaluate", "garbage"), ["garbage", "ends in .py"]),
    (("calibrate", "garbage"), ["garbage", "no text in UTF-8", "byte"]),
    (("advise", "demo", "x.csv"), ["unexpected extra argument", "did you mean --trace x.csv?"]),
    (("trace", "cut", "x"), ["no such command 'cut'", "did you mean coflash trace slice?"]),
    (
        ("scenario", "import", "run.sh", "-o", "drive.toml"),
        ["no such command 'import'", "did you mean python examples/imports, in a source tree of coflash?"],
    ),
    (("check", "demo"), ["no such command 'check'", "did you mean coflash device check or coflash scenario check?"]),
    (("compare", "absent", "good"), ["absent", "there is no such folder"]),
    (("compare", "garbage", "good"), ["garbage", "no text in UTF-8"]),
    (("device", "twin", "folder"), ["folder", "no device"]),
    (("device", "twin", "absent"), ["absent", "no device"]),
    # output paths
    ((*trace("good"), "--json", "absent/result.json"), ["absent/result.json", "no folder absent"]),
    ((*trace("good"), "--json", "folder"), ["folder", "is a folder"]),
    ((*trace("good"), "--out", "good"), ["is a file; give a folder"]),
    ((*trace("good"), "--out", "good/below"), ["is a file; give a folder"]),
    ((*trace("good"), "--out", "folder"), ["folder", "thesis.tex", "another folder"]),
    ((*trace("good"), "--out", "own"), ["own", "scenario.toml", "another folder"]),
    (
        ("report", "absent", "-o", "report.html"),
        ["absent", "no such folder", "`coflash run demo --out absent` makes one"],
    ),
    (("report", "folder", "-o", "report.html"), ["folder", "no result", "`coflash run demo --out folder` makes one"]),
    (("report", "folder", "-o", "absent/report.html"), ["absent/report.html", "no folder"]),
    # names
    (trace("no\nsuch"), ["no; such", "no such file"]),
    (trace("caf\udce9"), ["caf", "UTF-8"]),
    (("run", "caf\udce9.toml"), ["caf", "UTF-8"]),
    (set_("name=\udce9"), ["UTF-8"]),
]


@pytest.mark.parametrize(
    ("arguments", "words"), CASES, ids=lambda case: " ".join(case)[-60:].encode("ascii", "replace")
)
def test_it_is_refused_in_a_line(
    arguments: tuple[str, ...],
    words: list[str],
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    before = everything(here)
    status = run_main(arguments, monkeypatch)
    output, errors = capfd.readouterr()
    assert (status, output) == (2, ""), errors
    *begun, line = errors.splitlines()
    assert [" loop" in told for told in begun] in ([], [True])  # a run that has begun has said how time is replayed
    assert line.startswith("error: ")
    for word in words:
        assert word in line
    assert everything(here) == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run",), ["missing argument 'SCENARIO'", "coflash run --help"]),
        (("rum",), ["'rum'", "did you mean 'run'?"]),
        (("results", "lst"), ["'lst'", "did you mean 'list'?", "coflash results --help"]),
        (("results", "list", "runs/mine"), ["(runs/mine)", "did you mean --in runs/mine?"]),
        (("run", "demo", "seed=2"), ["(seed=2)", "did you mean --set seed=2?"]),
        (("--verson",), ["--verson", "did you mean --version?"]),
        (("sweep", "demo", "--varry", "seed=1"), ["--varry", "did you mean --vary?", "coflash sweep --help"]),
        (("sweep", "demo"), ["missing option '--vary'"]),
        (("sweep", "demo", "--vary", "seed=1", "--on", "locl"), ["on: 'locl' was given", "tcp://head:8786"]),
        (("sweep", "demo", "--vary", "seed=1", "--seeds", "x"), ["--seeds"]),
        (("sweep", "demo", "--vary"), ["'--vary' requires an argument"]),
        ((*SMALL, "--bogus"), ["--bogus", "coflash run --help"]),
        ((*SMALL, "--read", "on_error=skp"), ["on_error", "skp", "stop", "skip"]),
        ((*SMALL, "too", "many"), ["too many"]),
    ],
)
def test_a_wrong_command_line_says_how_to_go_on_in_a_line(
    arguments: tuple[str, ...],
    words: list[str],
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    before = everything(here)
    assert run_main(arguments, monkeypatch) == 2
    output, errors = capfd.readouterr()
    assert output == ""
    (line,) = errors.splitlines()
    assert line.startswith("error: ")
    for word in words:
        assert word in line
    assert everything(here) == before


@pytest.mark.parametrize("arguments", [(), ("results",), ("trace",)])
def test_no_command_shows_which_there_are(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run_main(arguments, monkeypatch) == 2
    assert "Usage: " in "".join(capfd.readouterr())


def test_what_is_skipped_is_counted_and_shown(
    here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (here / "mixed").write_bytes(FILES["good"] + b"3 d wrte 0 4096\n4 d write 0 0\n5 d write 0 4096\n")
    arguments = (*SMALL, "--trace", "mixed", "--read", "on_error=skip", "--out", "result")
    assert run_main(arguments, monkeypatch) == 0
    remarks = "1 record skipped, the first: mixed:4: action", "1 request of length 0"
    told = capfd.readouterr().err
    result = coflash.Result.load(here / "result")
    assert result.metrics.requests == 3
    for remark in remarks:
        assert remark in told
        assert any(remark in one for one in result.workload["remarks"])
    assert result.scenario.to_dict()["workload"]["trace_options"]["on_error"] == "skip"


@pytest.mark.parametrize("remap", ["none", "dense", "modulo"])
@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("1 d trim 0 8192", "2 d trim 8192 4096"), {"host_trims_pages": 3}),
        (("1 d sync 0 0", "2 d sync 0 0"), {"flushes": 2}),
        (("1 d read 0 4096", "2 d read 8192 8192"), {"host_reads_pages": 3, "flash_reads_pages": 0}),
    ],
    ids=["trims", "flushes", "reads of what was never written"],
)
def test_odd_but_right_is_not_refused(
    remap: str, lines: tuple[str, ...], expected: dict[str, int], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "odd").write_bytes(fio(*lines))
    changes = (f"workload.remap={remap}", "precondition.random_passes=0", "precondition.fill=none")
    arguments = (*SMALL, *(part for change in changes for part in ("--set", change)), "--trace", "odd")
    assert run_main((*arguments, "--out", "result"), monkeypatch) == 0
    metrics = coflash.Result.load(here / "result").metrics
    assert {name: metrics[name] for name in expected} == expected
    assert metrics.waf_host is None
    assert run_main(("report", "result", "-o", "report.html"), monkeypatch) == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="the modes of files are nothing to root")
def test_a_place_without_permission_is_refused(
    here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (here / "good").chmod(0)
    (here / "folder").chmod(0o500)
    for arguments in (trace("good"), (*SMALL, "--out", "folder/new"), (*SMALL, "--json", "folder/new")):
        assert run_main(arguments, monkeypatch) == 2
        assert "ermission" in capfd.readouterr().err


@pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="Linux alone says how much memory is available")
def test_a_device_that_does_not_fit_into_memory_is_refused_with_its_size() -> None:
    def little() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))

    with begin(*COFLASH, "run", "demo", "--set", "flash.blocks_per_plane=4000000", preexec_fn=little) as process:
        output, errors = process.communicate()
    assert (process.returncode, output) == (2, "")
    (line,) = errors.splitlines()
    assert line.startswith("error: flash: ")
    for word in ("35.", "GiB of memory", "is available", "flash.blocks_per_plane"):
        assert word in line


@pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="Linux alone says how much memory is available")
def test_requests_that_wait_fill_the_memory_no_further_than_the_tables_can_grow() -> None:
    def little() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

    fast = "workload.synthetic.arrival={name='fixed', interval='10ns'}"
    keys = ("replay.mode=open", "replay.queue_depth=", "cache.size=0B", "workload.synthetic.requests=30000000", fast)
    sets = [part for key in keys for part in ("--set", key)]
    with begin(*COFLASH, "run", "demo", "-q", *sets, preexec_fn=little) as process:
        output, errors = process.communicate()
    assert (process.returncode, output) == (2, "")
    assert errors.startswith("error: requests arrive faster than the device answers: ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_a_full_disk_is_said_in_a_line() -> None:
    with Path("/dev/full").open("w") as full, begin(*COFLASH, *SMALL, "-q", "--json", "-", stdout=full) as process:
        _, errors = process.communicate()
    assert process.returncode == 2
    assert errors == "error: standard output: cannot be written: No space left on device\n"


@pytest.mark.parametrize(
    ("sign", "changes"),
    [
        ("precondition ", ("flash.blocks_per_plane=20000", "precondition.random_passes=1000")),
        ("replay ", ("flash.blocks_per_plane=64", "workload.synthetic.requests=1000000000")),
        (
            "replay 100% · 3,000,000 requests",
            ("flash.blocks_per_plane=64", "workload.synthetic.requests=3000000", "replay.mode=open"),
        ),
        (
            "replay ",
            (
                "flash.blocks_per_plane=20000",
                "precondition.fill=none",
                "precondition.random_passes=0",
                "workload.synthetic.requests=1000000",
                'workload.synthetic.size={ name = "fixed", size = "512MiB" }',
            ),
        ),
    ],
    ids=["preconditioning", "replay", "draining", "long requests"],
)
def test_control_c_ends_a_run_at_once_and_leaves_nothing(sign: str, changes: tuple[str, ...], tmp_path: Path) -> None:
    arguments = [part for change in changes for part in ("--set", change)]
    run = (*COFLASH_TELLING, "run", "demo", *arguments, "--out", "result", "--json", "json")
    with begin(*run, cwd=tmp_path) as process:
        await_line(process.stderr, sign)
        output, errors, took_s = interrupt(process)
    assert (process.returncode, output) == (130, "")
    *progress, last = errors.splitlines()
    assert all(re.match(r"demo · (precondition|replay) ", line) for line in progress), errors
    assert last == "stopped: the same command begins with the first request"
    assert took_s < 5
    assert list(tmp_path.iterdir()) == []


# The values that each key is set to in turn, as on the command line: extreme numbers, sizes, times, shares, nonsense.
ODD = [
    *("0", "1", "-1", "3", "600", "4294967295", "4294967296", "9223372036854775807"),
    *("0.5", "-0.5", "1e300", "nan", "inf", "true", "''", "é"),
    *("0B", "1B", "513B", "1MiB", "16777215TiB", "1ns", "5000000h"),
    *("0%", "0.0000001%", "99.9999999%", "101%", "18446744073%"),
    *("[]", "[1]", '[["host", "gc", "evict"]]', "{}", "{ x = 1 }", "steady"),
]

ENOUGH_REPORTS = 4
"""The number of reports of the core after which an accepted scenario has shown that it runs."""

TINY = {
    "flash": {"channels": 1, "chips_per_channel": 2, "blocks_per_plane": 32, "pages_per_block": 8},
    "gc": {"low_mark": 2},
    "ftl": {"spare": {"share": "50%"}},
    "cache": {"size": "64KiB"},
    "cooperation": "cdm",
    "workload": {"requests_max": 200},
}


def keys(schema: dict[str, Any], root: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, list[str]]]:
    """Every key of the schema, with its words."""
    for part in (schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())):
        if "$ref" in part:
            yield from keys(root["$defs"][part["$ref"].rsplit("/", 1)[1]], root, prefix)
        if part is not schema:
            yield prefix, [str(word) for word in (*part.get("enum", ()), part.get("const")) if word]
    for name, value in schema.get("properties", {}).items():
        key = f"{prefix}.{name}".lstrip(".")
        yield key, []
        yield from keys(value, root, key)


def singles() -> list[tuple[tuple[str, str], ...]]:
    """Every key with every odd value; a policy's parameter together with the policy's name."""
    schema = coflash.scenario_schema()
    words: dict[str, list[str]] = {}
    for key, allowed in keys(schema, schema):
        if key:
            words.setdefault(key, []).extend(allowed)
    assert {"gc.victim", "flash.channels", "workload.synthetic.size"} <= words.keys()
    found = [((key, value),) for key, allowed in words.items() for value in (*ODD, *dict.fromkeys(allowed))]
    parameters = [
        (f"{family.key}.name", policy.name, f"{family.key}.{parameter.name}")
        for family in coflash.policies()
        for policy in family.policies
        for parameter in policy.parameters
    ]
    return [*found, *(((key, name), (of, value)) for key, name, of in parameters for value in ODD)]


def is_refused(tiny: Scenario, changes: tuple[tuple[str, str], ...]) -> bool:
    """Starts a run; false if it ran. Fails if it neither ran nor was refused in one line."""
    reports = itertools.count()

    def progress(*_: object) -> None:
        if next(reports) == ENOUGH_REPORTS:
            raise TimeoutError

    wants_trace = any(key.startswith(("workload.trace", "workload.remap")) for key, _ in changes)
    try:
        scenario = tiny.set(list(changes))
        result = coflash.run(scenario, "good" if wants_trace else (), progress)
        assert result.metrics.simulated_ns <= 2**60, changes
        assert Scenario.from_toml(scenario.to_toml()) == scenario, changes
    except TimeoutError:
        return False
    except CoflashError as error:
        assert str(error).strip(), changes
        assert "\n" not in str(error), changes
        return True
    except BaseException as error:  # a panic is no ordinary exception
        pytest.fail(f"{changes}: {error!r}")
    else:
        return False


@pytest.mark.filterwarnings("ignore:.* no effect without ")
def test_no_value_of_any_key_makes_the_core_panic(here: Path) -> None:
    assert (here / "good").exists()
    tiny = Scenario.from_dict(TINY)
    accepted = [changes for changes in singles() if not is_refused(tiny, changes)]
    assert len(accepted) > 200
    draws = random.Random(20240607)
    several = [tuple(itertools.chain(*draws.sample(accepted, 4))) for _ in range(400)]
    assert sum(not is_refused(tiny, changes) for changes in several) > 100


def test_the_package_that_is_run_as_a_module_has_the_name_of_the_command() -> None:
    ran = subprocess.run([sys.executable, "-m", "coflash", "trace", "cut"], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "did you mean coflash trace slice? (coflash trace --help says what is allowed)" in ran.stderr
