"""Traces: read, cut, moved, written, and read back."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import coflash
from coflash import trace
from coflash.demo import find_trace
from processes import COFLASH, await_idle, begin, interrupt, process
from processes import coflash as command

RECORDED = find_trace()
SMALL = "fio version 3 iolog\n10 d read 4096 8192\n20 d write 1048576 512\n20 d sync 0 0\n30 d trim 0 8192\n"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.iolog"
    path.write_text(SMALL)
    return path


def columns(path: Path) -> dict[str, list[object]]:
    return pq.ParquetFile(path).read().to_pydict()  # type: ignore[no-any-return]


def test_what_is_converted_is_the_same_trace(tmp_path: Path) -> None:
    out = tmp_path / "t.parquet"
    written = trace.convert(RECORDED, out)
    assert (written["format"], written["requests"], written["bytes"]) == ("parquet", 400_000, out.stat().st_size)
    before, after = trace.info(RECORDED), trace.info(out)
    assert (before.formats, after.formats) == (["fio"], ["parquet"])
    assert {**before, "formats": []} == {**after, "formats": []}
    back = trace.convert(out, tmp_path / "t.iolog.zst")
    assert back["remarks"] == []
    assert trace.head(tmp_path / "t.iolog.zst", 1000) == trace.head(RECORDED, 1000)


def test_parquet_is_what_other_libraries_read_and_write(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "t.parquet"
    trace.convert(small, out)
    table = pq.ParquetFile(out).read()
    assert [str(field.type) for field in table.schema] == ["uint64", "uint8", "uint64", "uint64", "uint8"]
    assert table.to_pydict() == {
        "time_ns": [10_000, 20_000, 20_000, 30_000],
        "op": [0, 1, 3, 2],
        "offset": [4096, 1_048_576, 0, 0],
        "length": [8192, 512, 0, 8192],
        "placement": [None] * 4,
    }
    metadata = pq.ParquetFile(out).metadata.metadata
    assert metadata[b"coflash.version"].decode() == coflash.__version__
    # Nullable, signed, in another order, with one more column, with another compression.
    theirs = tmp_path / "theirs.parquet"
    by_hand = {"op": [1, 0], "note": ["a", "b"], "length": [512, 1024], "offset": [0, 4096], "time_ns": [5, 6]}
    types = pa.schema(
        [("op", pa.int32()), ("note", pa.string()), *((name, pa.int64()) for name in ("length", "offset", "time_ns"))]
    )
    pq.write_table(pa.table(by_hand, schema=types), theirs, compression="none")
    assert trace.head(theirs)["offset_bytes"].tolist() == [0, 4096]
    by_hand["offset"] = [0, None]
    pq.write_table(pa.table(by_hand, schema=types), theirs)
    with pytest.raises(coflash.CoflashError, match=r"theirs\.parquet:2: offset: null"):
        trace.head(theirs)


def test_the_head_of_a_trace(small: Path) -> None:
    first = trace.head(small, 3)
    assert first.columns == ("time_ns", "op", "offset_bytes", "length_bytes")
    assert first["op"].tolist() == ["read", "write", "flush"]
    assert first["time_ns"].dtype == np.uint64
    assert len(trace.head(small, 0)) == 0
    shown = command("trace", "head", str(small), "-n", "2").stdout.splitlines()
    assert len(shown) == 4
    assert shown[2].split() == ["10000", "read", "4096", "8192"]


def test_a_slice_and_a_merge(small: Path, tmp_path: Path) -> None:
    out = tmp_path / "t.parquet"
    trace.slice(small, out, time_from="20us", count=2)
    assert columns(out)["time_ns"] == [0, 0]
    trace.merge([small, small], out, offsets=["0B", "1GiB"])
    assert columns(out)["offset"] == [4096, 4096 + 2**30, 2**20, 0, 2**20 + 2**30, 0, 0, 2**30]


def test_traces_come_from_standard_input(tmp_path: Path) -> None:
    done = process("trace", "info", "-", "--json", stdin=SMALL)
    assert json.loads(done.stdout)["requests"] == 4
    done = process("trace", "convert", "-", "-o", str(tmp_path / "t.iolog"), stdin=SMALL)
    assert done.returncode == 0, done.stderr
    assert "4 requests" in done.stdout


def test_options_say_how_to_read(tmp_path: Path) -> None:
    path = tmp_path / "t.trace"
    path.write_text("1 0 8 16 1\n2 0 24 8 0\n")
    done = command("trace", "head", str(path), "--read", "units.time=1us", "--read", "units.size=4KiB")
    assert done.stdout.splitlines()[2].split() == ["1000", "read", "4096", "65536"]
    records = b"".join(
        struct.pack("<IIQQIIIIIHH", 0x65617407, 0, when, 8, 512, action, 1, 8 << 20, 0, 0, 0)
        for when, action in ((5, 1 << 16 | 1), (7, 1 << 16 | 7))
    )
    binary = tmp_path / "t.blktrace.0"
    binary.write_bytes(records * 2)
    both = trace.info(binary, {"event": "Q", "time_slack": "1us"})
    assert (both["formats"], both["requests"]) == (["blktrace"], 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("convert", "{small}", "-o", "{folder}/t.csv"), "its extension tells no format"),
        (("convert", "{small}", "-o", "{folder}/t"), "its extension tells no format that can be written"),
        (("convert", "{small}", "-o", "/nowhere/t.parquet"), "/nowhere/t.parquet: there is no folder /nowhere"),
        (("convert", "/nowhere/t", "-o", "{folder}/t.parquet"), "/nowhere/t: no such file"),
        (("convert", "{small}", "-o", "{folder}/t.parquet", "--read", "evnt=Q"), 'did you mean "event"?'),
        (("convert", "{small}", "-o", "{folder}/t.parquet", "--read", "event"), "write KEY=VALUE"),
        (("head", "{small}", "-n", "-1"), "at least 1 and at most"),
        (("head", "{small}", "--read", "format=fioo"), 'did you mean "fio"?'),
        (("slice", "{small}", "-o", "{folder}/t.parquet", "--time", "10.."), "--time FROM..UNTIL: "),
        (("slice", "{small}", "-o", "{folder}/t.parquet", "-n", "10..5"), "--requests: '10..5' was given; N from 1"),
        (("merge", "{small}", "-o", "{folder}/t.parquet", "--offset", "1"), '--offset: "1" is not a size'),
        (("info", "{small}", "--page", "x"), '--page: "x" is not a size'),
        (
            ("slice", "{small}", "-o", "{folder}/t.parquet", "--time", "9s..8s"),
            "--time FROM..UNTIL: 8s is not above 9s",
        ),
        (("slice", "{small}", "-o", "{folder}/t.parquet", "--time", "9s.."), "no requests are left"),
        (
            ("merge", "{small}", "{small}", "-o", "{folder}/t.parquet", "--offset", "1GiB"),
            "--offset: 1 given for 2 traces",
        ),
        (("slice", "{small}", "-o", "{folder}/t.parquet", "-n", "1..x"), "--requests: '1..x' was given; N from 1"),
        (("info", "-", "-"), "given twice"),
    ],
)
def test_what_cannot_be_used_exits_2(arguments: tuple[str, ...], message: str, small: Path, tmp_path: Path) -> None:
    done = command("trace", *(a.format(small=small, folder=tmp_path) for a in arguments))
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == [small]


def test_a_callback_that_raises_leaves_no_file(tmp_path: Path) -> None:
    def stop(_phase: str, _fraction: float | None, _requests: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        trace.convert(RECORDED, tmp_path / "t.parquet", progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_control_c_ends_a_conversion_even_while_it_waits(tmp_path: Path) -> None:
    with begin(*COFLASH, "trace", "convert", "-", "-o", str(tmp_path / "t.parquet")) as process:
        assert process.stdin is not None
        process.stdin.write(SMALL)
        await_idle(process)
        _, errors, _ = interrupt(process)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert list(tmp_path.iterdir()) == []


def run_cli(*arguments: str, content: bytes) -> subprocess.CompletedProcess[str]:
    return process("run", "demo", "--json", "-", "--quiet", *arguments, stdin=content)


def test_a_run_reads_the_standard_input_and_names_it_by_its_digest(tmp_path: Path) -> None:
    content = RECORDED.read_bytes()
    by_file = coflash.run("demo", RECORDED)
    result = json.loads(run_cli("--trace", "-", content=content).stdout)
    assert result["metrics"] == by_file.document["metrics"]
    (file,) = by_file.workload["inputs"]
    assert result["workload"]["inputs"] == [{**file, "file": "-"}]
    # The digest is that of the whole, also where the run ends before it, and behind a file.
    small = tmp_path / "small.iolog"
    small.write_text(SMALL)
    cut = ["--set", "workload.requests_max=1000"]
    both = json.loads(run_cli("--trace", str(small), "--trace", "-", *cut, content=content).stdout)
    assert both["metrics"]["requests"] == 1000
    assert both["workload"]["inputs"][1] == {**file, "file": "-"}


def test_a_pipe_is_read_once_and_what_is_wrong_with_it_is_said(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    scenario = coflash.Scenario.load("demo")
    with ThreadPoolExecutor() as pool:
        writing = pool.submit(pipe.write_text, SMALL)
        result = coflash.run(scenario, pipe)
        writing.result()
    assert result.metrics.requests == 4
    assert result.workload["inputs"][0]["sha256"] == hashlib.sha256(SMALL.encode()).hexdigest()
    for content, problem in (
        (b"", "error: standard input: the file is empty"),
        (SMALL.encode() + b"nonsense\n", "error: standard input:6: "),
        (RECORDED.read_bytes()[:100_000], "standard input: the zstd data ends early"),
    ):
        done = run_cli("--trace", "-", content=content)
        assert done.returncode == 2
        assert done.stdout == ""
        assert problem in done.stderr
    # The first file has the one requested request; read-ahead ends with the second file.
    small = tmp_path / "small.iolog"
    small.write_text(SMALL)
    cut = ["--set", "workload.requests_max=1"]
    done = run_cli("--trace", str(small), "--trace", str(small), "--trace", "-", *cut, content=SMALL.encode())
    assert "the run ended before it was" in done.stderr


def test_control_c_ends_a_run_that_waits_for_its_trace() -> None:
    with begin(*COFLASH, "run", "demo", "--trace", "-") as process:
        assert process.stdin is not None
        process.stdin.write("fio version 3 iolog\n")
        process.stdin.writelines(f"{time_us} d write 0 4096\n" for time_us in range(50_000))
        await_idle(process)
        _, errors, _ = interrupt(process)
    assert process.returncode == 130
    assert "Traceback" not in errors


def test_columns_say_how_to_read_a_text_in_no_known_format(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("when;what;where;size\n5;R;8;4096\n15;W;16;512\n")
    columns = ["--read", "columns=time:us,op,offset:sectors,size:bytes", "--read", "header_lines=1"]
    done = command("trace", "head", str(path), *columns)
    assert done.stdout.splitlines()[3].split() == ["10000", "write", "8192", "512"]
    for tool in ("info", "like"):
        assert command("trace", tool, str(path), *columns, "--json").returncode == 0
    assert command("trace", "convert", str(path), "-o", str(tmp_path / "t.parquet"), *columns).returncode == 0
    header = ["--set", "workload.trace_options.header_lines=1"]
    ran = run_cli("--trace", "-", *columns[:2], *header, content=path.read_bytes())
    assert json.loads(ran.stdout)["metrics"]["requests"] == 2
    done = command("trace", "head", str(path), "--read", "columns=time:us,opp,offset:sectors,size:bytes")
    assert done.returncode == 2
    assert 'did you mean "op"?' in done.stderr
