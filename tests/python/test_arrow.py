"""Arrow files and streams as traces: as table libraries write them, and as they read ours."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather, ipc

import coflash
from coflash import trace
from coflash.demo import find_trace

RECORDED = find_trace()
ROWS = {"time_ns": [5, 10, 10, 20], "op": [0, 1, 3, 2], "offset": [4096, 8192, 0, 0], "length": [512, 4096, 0, 8192]}
TYPES = {"time_ns": pa.uint64(), "op": pa.uint8(), "offset": pa.int64(), "length": pa.int32()}
# Ignored columns of every layout.
OTHERS: dict[str, pa.Array] = {
    "null": pa.nulls(4),
    "flag": pa.array([True, None, False, True]),
    "text": pa.array(["a", "bb", None, "dddd"]),
    "large": pa.array(["a", "b", "c", "d"], pa.large_string()),
    "view": pa.array(["a", "longer than twelve bytes", "c", "and this one is as well"], pa.string_view()),
    "category": pa.array(["x", "y", "x", "x"]).dictionary_encode(),
    "list": pa.array([[1], [], None, [2, 3]]),
    "fixed": pa.array([[1, 2]] * 4, pa.list_(pa.int8(), 2)),
    "struct": pa.array([{"a": 1, "b": "x"}] * 4),
    "decimal": pa.array([1, 2, 3, 4], pa.decimal128(20)),
    "time": pa.array([1, 2, 3, 4], pa.timestamp("us", "UTC")),
    "map": pa.array([[("k", 1)]] * 4, pa.map_(pa.string(), pa.int8())),
}


def table(rows: dict[str, list[Any]] = ROWS, **changed: pa.DataType) -> pa.Table:
    return pa.table({name: pa.array(values, (TYPES | changed)[name]) for name, values in rows.items()})


def written(path: Path, content: pa.Table, *, stream: bool = False, **options: Any) -> Path:
    new = ipc.new_stream if stream else ipc.new_file
    with new(path, content.schema, options=ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(content)
    return path


def read(path: Path) -> dict[str, list[Any]]:
    first = trace.head(path, 100).to_dict()
    codes = {"read": 0, "write": 1, "trim": 2, "flush": 3}
    ops = [codes[op] for op in first["op"]]
    values = [first["time_ns"].tolist(), ops, first["offset_bytes"].tolist(), first["length_bytes"].tolist()]
    return dict(zip(ROWS, values, strict=True))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_what_pyarrow_writes_is_read(stream: bool, compression: str | None, tmp_path: Path) -> None:
    path = written(tmp_path / "t", table(), stream=stream, compression=compression)
    assert trace.info(path)["formats"] == ["arrow"]
    assert read(path) == ROWS


@pytest.mark.parametrize("compression", [None, "zstd"])
def test_columns_may_be_of_any_width_and_among_others(compression: str | None, tmp_path: Path) -> None:
    content = table(time_ns=pa.int16(), op=pa.int64(), offset=pa.uint32(), length=pa.uint16())
    for place, (name, column) in enumerate(OTHERS.items()):
        content = content.add_column(min(place % 5, content.num_columns), name, column)
    assert read(written(tmp_path / "t.arrow", content, compression=compression)) == ROWS
    assert read(written(tmp_path / "t.arrows", content, stream=True, compression=compression)) == ROWS


def test_columns_may_be_of_other_types(tmp_path: Path) -> None:
    words = pa.array([("read", "write", "trim", "flush")[op] for op in ROWS["op"]])
    for other in (words, words.dictionary_encode()):
        content = table(length=pa.float64()).set_column(1, "op", other)
        assert read(written(tmp_path / "t.arrow", content)) == ROWS


def test_what_polars_and_feather_write_is_read_and_ours_is_read_by_them(tmp_path: Path) -> None:
    frame = pl.DataFrame(ROWS).with_columns(note=pl.Series(["a", "b", "a longer note than others", "d"]))
    for compression in ("uncompressed", "lz4", "zstd"):
        frame.write_ipc(tmp_path / "p.arrow", compression=compression)
        assert read(tmp_path / "p.arrow") == ROWS
    feather.write_feather(table(), tmp_path / "f.feather")
    assert read(tmp_path / "f.feather") == ROWS
    small = tmp_path / "t.iolog"
    small.write_text("fio version 3 iolog\n10 d read 4096 8192\n20 d write 1048576 512\n20 d sync 0 0\n")
    out = tmp_path / "ours.arrow"
    assert trace.convert(small, out)["format"] == "arrow"
    ours = {
        "time_ns": [10_000, 20_000, 20_000],
        "op": [0, 1, 3],
        "offset": [4096, 1_048_576, 0],
        "length": [8192, 512, 0],
        "placement": [None, None, None],
    }
    assert feather.read_table(out).to_pydict() == pl.read_ipc(out).to_dict(as_series=False) == ours


def test_a_whole_trace_goes_there_and_back_and_runs(tmp_path: Path) -> None:
    arrow, parquet, back = tmp_path / "t.arrow", tmp_path / "t.parquet", tmp_path / "back.parquet"
    trace.convert(RECORDED, arrow)
    trace.convert(RECORDED, parquet)
    trace.convert(arrow, back)
    assert hashlib.sha256(back.read_bytes()).digest() == hashlib.sha256(parquet.read_bytes()).digest()
    by_arrow, by_file = (coflash.run("demo", file) for file in (arrow, RECORDED))
    assert by_arrow.document["metrics"] == by_file.document["metrics"]


def test_a_scenario_whose_own_trace_is_a_table_is_checked(tmp_path: Path) -> None:
    """It is read by another thread, which needs the interpreter."""
    file = tmp_path / "zipf.parquet"
    trace.generate("zipf", file, requests=50_000, space="20MiB")
    own = {"trace": [str(file)], "remap": "modulo"}
    assert isinstance(coflash.Scenario.of("demo").with_({"workload": own}).check(), list)


def test_placement_hints_go_along(tmp_path: Path) -> None:
    hints = {"placement": [None, 0, None, 254]}
    for width in (pa.uint8(), pa.int64()):
        given = written(tmp_path / "t.arrow", table(ROWS | hints, placement=width))
        for suffix in ("parquet", "arrow"):
            trace.convert(given, tmp_path / f"new.{suffix}")
            first = trace.head(tmp_path / f"new.{suffix}")
            assert [None if hint != hint else hint for hint in first["placement"]] == hints["placement"]
    trace.slice(given, tmp_path / "part.parquet", skip=1, count=1)
    assert trace.head(tmp_path / "part.parquet")["placement"].tolist() == [0]
    lost = trace.convert(given, tmp_path / "t.iolog")["remarks"]
    assert any(remark.startswith("2 placement hints left out") for remark in lost)
    wrong = written(tmp_path / "wrong.arrow", table(ROWS | {"placement": [None, 255, 0, 0]}, placement=pa.int64()))
    with pytest.raises(coflash.CoflashError, match=":2: placement: 255 is not a placement identifier"):
        trace.head(wrong)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"op": [0, 9, 3, 2]}, ":2: op: 9 is not an operation"),
        ({"time_ns": [5, 2_000_010, 9, 3_000_000]}, ":3: time_ns: time runs backwards"),
        ({"offset": [4096, -1, 0, 0]}, ":2: offset: -1 is not a number from 0"),
        ({"length": [512, None, 0, 8192]}, ":2: length: null, expected a number in every row"),
        ({"op": [0, 2**40, 3, 2]}, ":2: op: 1099511627776 is not an operation"),
    ],
)
def test_a_wrong_row_is_named(change: dict[str, list[Any]], message: str, tmp_path: Path) -> None:
    path = written(tmp_path / "t.arrow", table(ROWS | change, op=pa.int64()))
    with pytest.raises(coflash.CoflashError, match=f"^{path}{message}"):
        trace.head(path)


def test_a_result_names_the_file_that_was_given_and_its_digest(tmp_path: Path) -> None:
    path = written(tmp_path / "t.arrow", table())
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    entry = {"file": str(path), "bytes": path.stat().st_size, "sha256": digest}
    result = coflash.run("demo", path)
    assert result.workload["inputs"] == [entry]
    assert result.workload["description"].startswith(f"trace {path}")
    assert result.scenario.to_dict()["workload"]["trace"] == [str(path)]
    like = coflash.run(coflash.Scenario.load("demo").with_(workload__trace=[], workload__like=[str(path)]))
    assert like.workload["inputs"] == [entry]
    swept = coflash.sweep("demo", {"cache.size": ["1MiB"]}, path, out=tmp_path / "sweep").results
    assert swept[next(iter(swept))].workload["inputs"] == [entry]


def test_whatever_is_written_may_be_arrow(tmp_path: Path) -> None:
    path = written(tmp_path / "t.arrow", table())
    made = trace.generate("zipf", tmp_path / "zipf.feather", requests=100)
    assert (made["format"], made["file"], made["requests"]) == ("arrow", str(tmp_path / "zipf.feather"), 100)
    assert made["bytes"] == (tmp_path / "zipf.feather").stat().st_size
    assert trace.like(path, tmp_path / "like.arrow")["written"]["format"] == "arrow"
    assert trace.slice(path, tmp_path / "part", count=2, format="arrow")["requests"] == 2
    assert read(tmp_path / "part")["offset"] == [4096, 8192]
    trace.slice(path, tmp_path / "part", count=3, format="arrow")
    assert read(tmp_path / "part")["offset"] == [4096, 8192, 0], "it was written over"
    with pytest.raises(coflash.CoflashError, match=r"^/nowhere/t\.arrow: there is no folder"):
        trace.convert(path, "/nowhere/t.arrow")
    with pytest.raises(coflash.CoflashError, match=f"^{tmp_path}/none.arrow: not written: no requests"):
        trace.slice(path, tmp_path / "none.arrow", time_from="1s")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["like.arrow", "part", "t.arrow", "zipf.feather"]


def test_a_damaged_file_exits_2_with_one_line(tmp_path: Path) -> None:
    path = written(tmp_path / "t.arrow", table())
    path.write_bytes(path.read_bytes()[:-40])
    for command in (["trace", "info", str(path)], ["run", "demo", "--trace", str(path), "--quiet"]):
        done = subprocess.run([sys.executable, "-m", "coflash", *command], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"error: {path}: cannot be read as Arrow")
        assert done.stderr.count("\n") == 1


def test_what_is_no_trace_is_said(tmp_path: Path) -> None:
    path = tmp_path / "t.arrow"
    for content, message in (
        (
            table().drop_columns(["op"]),
            "its columns .time_ns, offset, length. are not columns time_ns, op, offset, length",
        ),
        (table().drop_columns(["length"]), "its columns .time_ns, op, offset. are not"),
        (table({name: [] for name in ROWS}), "it has no requests"),
    ):
        with pytest.raises(coflash.CoflashError, match=message):
            trace.info(written(path, content))
    whole = written(path, table()).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(coflash.CoflashError, match="cannot be read as Arrow, perhaps it is truncated"):
        trace.info(path)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_remarks_on_the_original_go_along_and_files_are_the_same_each_time(suffix: str, tmp_path: Path) -> None:
    (tmp_path / "t.iolog").write_text("fio version 3 iolog\n5 d read 0 1\nbad\n6 d write 0 512\n")
    files = [tmp_path / f"{number}.{suffix}" for number in range(3)]
    for file in files:
        remarks = trace.convert(tmp_path / "t.iolog", file, options={"on_error": "skip"})["remarks"]
    assert any("skipped" in remark for remark in remarks)
    assert set(remarks) <= set(trace.info(files[0])["remarks"])
    assert len({file.read_bytes() for file in files}) == 1


def test_a_damaged_parquet_file_is_refused_or_read(tmp_path: Path) -> None:
    whole, damaged = tmp_path / "whole.parquet", tmp_path / "t.parquet"
    trace.generate("zipf", whole, requests=500)
    content = whole.read_bytes()
    for cut in range(1, 50):
        damaged.write_bytes(content[:-cut])
        with pytest.raises(
            coflash.CoflashError, match=f"^{damaged}: cannot be read as Parquet, perhaps it is truncated"
        ):
            trace.info(damaged)
    random = Random(1)
    for _ in range(100):
        flipped = bytearray(content)
        for _ in range(random.randrange(1, 4)):
            flipped[random.randrange(4, len(flipped) - 4)] ^= random.randrange(1, 256)
        damaged.write_bytes(flipped)
        with suppress(coflash.CoflashError):
            trace.info(damaged)


def test_every_compression_of_parquet_is_read(tmp_path: Path) -> None:
    for compression in ("none", "snappy", "gzip", "brotli", "lz4", "zstd"):
        pq.write_table(table(), tmp_path / "t.parquet", compression=compression)
        assert read(tmp_path / "t.parquet") == ROWS


FRAME = {"time_us": [1, 2, 3], "op": ["R", "W", "R"], "offset_bytes": [0, 4096, 8192], "size_bytes": [4096] * 3}


def test_an_error_of_a_frame_names_the_frame_and_its_row() -> None:
    for frame in (pl.DataFrame(FRAME | {"op": ["R", "W", "X"]}), pd.DataFrame(FRAME | {"op": ["R", "W", "X"]})):
        with pytest.raises(coflash.CoflashError, match=r'^frame:3: op: "X" is not an operation'):
            trace.info(frame)
        roles = {"time_us": "time:us", "op": "op", "offset_bytes": "offset:bytes", "size_bytes": "size:bytes"}
        with pytest.raises(coflash.CoflashError, match=r'^frame:3: op: "X"'):
            trace.info(frame, {"columns": trace.columns(frame, roles)})


def test_a_frame_is_not_read_in_other_units_than_its_names_tell() -> None:
    frame = pl.DataFrame(FRAME)
    columns = "time:us,op,offset:sectors,size:bytes"
    with pytest.raises(
        coflash.CoflashError, match=r'^frame:0: offset: "offset_bytes" is not offset in the unit of columns='
    ):
        trace.info(frame, {"columns": columns})
    assert trace.info(frame, {"columns": columns, "header_lines": 1}).address_end == 8192 * 512 + 4096


def test_columns_of_a_frame_have_names_of_their_own() -> None:
    twice = pd.DataFrame(FRAME)
    twice.insert(0, "op", ["W"] * 3, allow_duplicates=True)
    with pytest.raises(coflash.CoflashError, match="several columns of the frame are named 'op'"):
        trace.info(twice)
    numbered = pd.DataFrame([[0, "W", 0, 4096]] * 2)
    assert trace.info(numbered, {"columns": "time:us,op,offset:bytes,size:bytes"}).requests == 2


def test_a_relation_of_duckdb_is_a_frame_and_a_column_is_none(tmp_path: Path) -> None:
    relation = duckdb.sql("""select * from (values (1, 'R', 0, 4096), (2, 'W', 4096, 512), (3, 'F', NULL, NULL))
        t(time_us, op, offset_bytes, size_bytes)""")
    found = trace.info(relation)  # type: ignore[arg-type]
    assert (found.read.bytes, found.write.bytes, found.flush.requests) == (4096, 512, 1)
    for column in (pd.Series([1, 2]), pl.Series([1, 2])):
        with pytest.raises(coflash.CoflashError, match="trace: int was given; a path, a URL or a frame is allowed"):
            trace.info(column)
    file = tmp_path / "t.csv"
    file.write_text("time_us,op,offset_bytes,size_bytes\n1,R,0,4096\n")
    assert trace.info(pl.Series([str(file)])).requests == 1, "a column of paths is a list of them"
