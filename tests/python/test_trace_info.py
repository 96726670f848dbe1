"""Descriptions of traces: typed, as a table, as JSON and drawn."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import get_type_hints

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from coflash import CoflashError, Table, trace
from coflash.cli import app
from coflash.demo import find_trace
from coflash.measures.record import Record, kinds
from coflash.trace import figure
from coflash.trace import survey as survey_module
from coflash.trace.trace_info import Distribution, Reuse, Spread, TraceInfo
from processes import coflash, process

# Pages 0, 1, 2, 0, 1, 2, and 5 once: a cache of three has half of all but the last.
SMALL = "fio version 3 iolog\n" + "".join(
    f"{time} d {op} {page * 4096} 4096\n"
    for time, (op, page) in enumerate([*[("write", page) for page in (0, 1, 2) * 2], ("read", 2), ("read", 5)])
)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.iolog"
    path.write_text(SMALL)
    return path


@pytest.fixture(scope="module")
def recorded() -> TraceInfo:
    return trace.info(find_trace(), sample="exact")


def test_it_is_typed_all_the_way_down(small: Path) -> None:
    info = trace.info(small)
    assert isinstance(info, TraceInfo)
    assert info.working_set is not None
    assert (info.working_set.read_pages, info.working_set.written_pages, info.working_set.both_pages) == (2, 3, 1)
    assert isinstance(info.reuse, Reuse)
    assert (info.reuse.accesses_pages, info.reuse.first_share) == (8, 0.5)
    curve = info.reuse.curve
    assert (curve.cache_pages, curve.reuses, curve.miss_ratio) == ([1, 3], [1, 3], [7 / 8, 4 / 8])
    assert (curve.read_miss_ratio, curve.write_miss_ratio) == ([0.5, 0.5], [1.0, 0.5])
    assert isinstance(info.popularity.write, Spread)
    assert info.popularity.write.hottest_share.of_1_percent == 1 / 3
    assert info.write_growth is not None
    assert info.write_growth.written_bytes[-1] == 6 * 4096
    assert info.write_growth.written_pages == [0, 1, 2, 3, 4, 5, 6, 6]
    assert info.write_growth.distinct_pages == [0, 1, 2, 3, 3, 3, 3, 3]
    assert isinstance(info.write.size_bytes, Distribution)
    assert info.write.size_bytes.histogram.to_dict() == {"through": [4096], "counts": [6]}
    assert info.flush.size_bytes is None
    assert sum(info.course.write_requests) == 6


def test_every_declared_field_is_there_and_no_other() -> None:
    def compare(record: Record, path: str) -> None:
        declared = {name for name in get_type_hints(type(record)) if not name.startswith("_")}
        assert set(record) == declared, path
        for name, kind in kinds(type(record)).items():
            if record[name] is not None:
                assert type(record[name]) is kind
                compare(record[name], f"{path}.{name}")

    compare(trace.info(find_trace()), "info")


def test_the_recorded_trace_adds_up(recorded: TraceInfo) -> None:
    assert recorded.sampling.to_dict() == {"method": "exact", "share": 1.0, "pages": recorded.footprint_pages}
    sets = recorded.working_set
    assert sets is not None
    assert recorded.footprint_pages == sets.read_pages + sets.written_pages - sets.both_pages
    reuse = recorded.reuse
    assert reuse is not None
    assert sum(reuse.curve.reuses) + recorded.sampling.pages == reuse.accesses_pages
    assert reuse.curve.miss_ratio == sorted(reuse.curve.miss_ratio, reverse=True)
    assert reuse.curve.miss_ratio[-1] == pytest.approx(reuse.first_share)
    growth = recorded.write_growth
    assert growth is not None
    assert (growth.written_bytes[-1], growth.distinct_pages[-1]) == (recorded.write.bytes, sets.written_pages)
    assert growth.written_pages[-1] == recorded.write.bytes // 4096
    assert growth.requests[-1] == recorded.requests
    assert sum(recorded.course.written_bytes) == recorded.write.bytes
    assert sum(recorded.course.read_requests) == recorded.read.requests


def test_a_sample_comes_near_what_is_exact(recorded: TraceInfo) -> None:
    sampled = trace.info(find_trace())
    assert sampled.sampling.method == "sampled"
    assert sampled.sampling.pages <= 16_384
    assert recorded.footprint_pages == pytest.approx(sampled.sampling.pages / sampled.sampling.share, rel=0.03)
    assert recorded.reuse is not None
    assert sampled.reuse is not None
    exact, estimate = recorded.reuse.curve, sampled.reuse.curve
    for size in (2**10, 2**13, 2**16):
        at = [
            max((row for row, pages in enumerate(curve.cache_pages) if pages <= size), default=0)
            for curve in (exact, estimate)
        ]
        assert estimate.miss_ratio_error is not None
        told = estimate.miss_ratio_error[at[1]]
        assert 0 < told < 0.02
        assert estimate.miss_ratio[at[1]] == pytest.approx(exact.miss_ratio[at[0]], abs=3 * told)
    assert exact.miss_ratio_error is None
    assert sampled.working_set == recorded.working_set


def test_pages_may_be_larger(small: Path) -> None:
    info = trace.info(small, page="16KiB")
    assert (info.page_bytes, info.footprint_pages) == (16_384, 2)
    assert info.aligned_share == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sample": "some"}, '"some" was given; auto, exact, or a number of pages from 64'),
        ({"sample": 63}, '"63" was given'),
        ({"page": "3KiB"}, "a power of two of at least 512B is allowed"),
        ({"page": "4"}, "the unit is missing"),
    ],
)
def test_what_means_nothing_is_refused(small: Path, given: dict[str, str], message: str) -> None:
    with pytest.raises(CoflashError, match=re.escape(message)):
        trace.info(small, **given)  # type: ignore[arg-type]


def test_the_table_says_what_is_known_and_how(small: Path) -> None:
    done = coflash("trace", "info", str(small))
    assert done.returncode == 0, done.stderr
    lines = {line[:20].strip(): line[20:].strip() for line in done.stdout.splitlines()}
    assert lines["working set written"] == "12 KiB (3 pages)"
    assert lines["write hottest"].startswith("1 % of pages 33.3\N{NO-BREAK SPACE}% · 5 % of pages 33.3")
    assert lines["LRU miss ratio"] == "4 KiB 87.5\N{NO-BREAK SPACE}% · 12 KiB 50.0\N{NO-BREAK SPACE}%"
    assert "exact" in done.stdout
    assert "histogram" not in done.stdout
    sampled = coflash("trace", "info", str(find_trace()), "--sample", "4096")
    assert re.search(r"sampled: [34],\d{3} pages followed, 1\.\d+ % of all; ± is", sampled.stdout), sampled.stdout
    assert re.search(r"LRU miss ratio .* ± \d\.\d", sampled.stdout), sampled.stdout


def test_the_meaning_of_plus_minus_stands_where_there_is_one() -> None:
    done = coflash("trace", "info", str(find_trace()), "--policies", "lru", "--sample", "4096")
    (line,) = [line for line in done.stdout.splitlines() if "± is" in line]
    assert done.stdout.index(line) < done.stdout.index("lru simulated")


def test_json_has_everything_also_from_standard_input(small: Path) -> None:
    done = process("trace", "info", "-", "--json", "--page", "8KiB", stdin=SMALL)
    expected = trace.info(small, page="8KiB").to_dict()
    assert json.loads(done.stdout) == expected


@pytest.mark.parametrize(("ending", "start"), [("pdf", b"%PDF"), ("svg", b"<svg"), ("png", b"\x89PNG")])
def test_a_picture_has_all_panels_and_is_the_same_each_time(
    recorded: TraceInfo, tmp_path: Path, ending: str, start: bytes
) -> None:
    files = [tmp_path / f"{name}.{ending}" for name in ("a", "b")]
    for file in files:
        assert figure.draw(recorded, file) == [file]
    assert files[0].read_bytes().startswith(start)
    assert files[0].read_bytes() == files[1].read_bytes()
    if ending == "svg":
        texts = set(re.findall(r"<text[^>]*>([^<]*)</text>", files[0].read_text(encoding="utf-8")))
        labels = {"request size", "time between arrivals", "LRU cache", "miss ratio (%)", "hottest pages"}
        assert labels | {"pages written (GiB)", "time (s)", "throughput asked for (MB/s)", "reads", "writes"} <= texts


def test_a_folder_gets_a_file_for_each_panel(small: Path, tmp_path: Path) -> None:
    done = coflash("trace", "info", str(small), "--plot", str(tmp_path / "figures"))
    assert done.returncode == 0, done.stderr
    files = sorted((tmp_path / "figures").iterdir())
    assert {file.stem for file in files} == set(figure.PANELS)
    assert all(str(file) in done.stdout for file in files)


def test_a_trace_without_anything_to_show_is_drawn(tmp_path: Path) -> None:
    flushes = tmp_path / "flushes.iolog"
    flushes.write_text("fio version 3 iolog\n5 d sync 0 0\n5 d sync 0 0\n")
    out = tmp_path / "t.svg"
    figure.draw(trace.info(flushes), out)
    assert out.read_text(encoding="utf-8").count(">nothing to show<") == len(figure.PANELS)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("t.jpg", "t.jpg: .jpg cannot be drawn; a name that ends in .pdf, .svg, .png, or a folder is allowed"),
        ("small", "small: is a file; give a folder, or a name that ends in .pdf, .svg, .png"),
        ("nowhere/t.svg", "nowhere/t.svg: there is no folder "),
    ],
)
def test_a_place_that_is_none_is_refused_before_the_trace_is_read(tmp_path: Path, place: str, message: str) -> None:
    (tmp_path / "small").touch()
    done = coflash("trace", "info", "/nowhere/t.iolog", "--plot", str(tmp_path / place))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"error: {tmp_path}/{message}" in done.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == ["small"]


def test_many_traces_have_a_row_each_and_those_that_are_known_are_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, table = tmp_path / "traces", tmp_path / "traces.parquet"
    folder.mkdir()
    trace.generate("zipf", folder / "one.parquet", requests=2000, space="16MiB")
    (folder / "empty.csv").write_text("")
    ran = CliRunner().invoke(app, ["trace", "survey", str(table), str(folder)])
    assert (ran.exit_code, ran.stdout) == (1, f"{table}: 2 files, 1 of them cannot be read\n"), ran.output
    assert f"cannot be read, see the column error of {table}:\n  {folder / 'empty.csv'}\n" in ran.stderr
    found = Table.read_parquet(table)
    assert [Path(file).name for file in found["file"]] == ["empty.csv", "one.parquet"]
    assert found["formats"].tolist() == [None, "parquet"]
    assert found.to_polars()["requests"].to_list() == [None, 2000], "a gap is null in a frame"
    assert "the file is empty" in found["error"].tolist()[0]
    assert found["error"].tolist()[1] is None
    frame = pl.read_parquet(table)
    assert frame.filter(pl.col("error").is_not_null())["file"].to_list() == ["traces/empty.csv"]
    assert frame["remarks"].to_list() == frame["same_as"].to_list() == [None, None], "nothing is null in each row"
    assert {frame.schema[name] for name in ("requests", "bytes", "address_end", "write.requests")} == {pl.Int64}
    assert {frame.schema[name] for name in ("error", "remarks", "same_as")} == {pl.String}
    assert json.loads(frame["read"][1]) == {"page": "4KiB", "sample": "auto"}
    assert found["write.size_bytes.mean"][1] == trace.info(folder / "one.parquet").write["size_bytes"]["mean"]
    trace.generate("zipf", folder / "two.parquet", requests=1000, space="16MiB")
    read: list[str] = []

    def info(file: str, *_: object, **__: object) -> TraceInfo:
        read.append(Path(file).name)
        return trace.info(file)

    monkeypatch.setattr(survey_module, "info", info)
    again = survey_module.survey(folder, table)
    assert read == ["two.parquet"]
    assert again["requests"].tolist() == [None, 2000, 1000]
    assert again.to_polars().schema["requests"] == pl.Int64 and str(again.to_pandas()["requests"].dtype) == "Int64"


def test_a_stopped_survey_keeps_its_rows_and_those_it_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, table = tmp_path / "traces", tmp_path / "traces.parquet"
    folder.mkdir()
    for name in ("a", "b", "c"):
        trace.generate("zipf", folder / f"{name}.parquet", requests=500, space="16MiB")
    survey_module.survey(folder / "c.parquet", table)
    trace.generate("zipf", folder / "d.parquet", requests=500, space="16MiB")
    has_begun = Event()

    def info(file: str, _: object, progress: Callable[..., None], **__: object) -> TraceInfo:
        if Path(file).name == "a.parquet":
            return trace.info(file)
        if Path(file).name == "b.parquet":
            has_begun.wait()
            raise KeyboardInterrupt
        has_begun.set()
        while True:  # as long as nobody says that it is to end
            progress("inputs", None, 0)

    monkeypatch.setattr(survey_module, "info", info)
    ran = CliRunner().invoke(app, ["trace", "survey", str(table), str(folder)])
    assert f"stopped: {table} has the rows of the files that are done; the same command goes on" in ran.stderr
    kept = [Path(file).name for file in Table.read_parquet(table)["file"]]
    assert kept == ["a.parquet", "c.parquet"]


def test_a_survey_of_a_folder_has_its_traces_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, table = tmp_path / "traces", tmp_path / "traces.parquet"
    for name in ("a.csv", "b.csv", "deep/c.csv", ".hidden.csv", ".git/d.csv", "README.txt", "volumes.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("time_ns,op,offset,length\n" + "0,write,0,4096\n")
    (other := tmp_path / "other.csv").write_text((folder / "a.csv").read_text())
    rows = survey_module.survey([other, folder], table)["file"]
    assert [Path(file).name for file in rows] == ["other.csv", "a.csv", "b.csv", "c.csv"]
    (folder / "deep" / "c.csv").unlink()
    rows = survey_module.survey(f"{folder}/", table)["file"]
    assert rows.tolist() == ["other.csv", "traces/a.csv", "traces/b.csv"], "what is gone has no row"
    monkeypatch.chdir(folder)
    again = survey_module.survey(["../other.csv", "."], "../traces.parquet")["file"]
    assert again.tolist() == rows.tolist(), "from there"


def test_what_is_behind_the_plus_minus_is_an_interval_and_not_a_standard_error() -> None:
    """That 2.131 errors hold 95 % of the exact values is a test of the core."""
    found = trace.info(find_trace(), sample=4096)
    assert found.reuse is not None and found.reuse.curve.miss_ratio_error is not None
    first, last = (100 * 2.131 * found.reuse.curve.miss_ratio_error[place] for place in (0, -1))
    ran = CliRunner().invoke(app, ["trace", "info", str(find_trace()), "--sample", "4096"], env={"COLUMNS": "400"})
    (line,) = [line for line in ran.stdout.splitlines() if line.startswith("LRU miss ratio")]
    assert f"± {first:.1f} ·" in line and line.rstrip().endswith(f"± {last:.1f}"), ran.stdout
    assert "± is a 95 % interval in percentage points" in ran.stdout


def test_tables_of_traces_have_the_same_columns_whatever_a_trace_has(tmp_path: Path) -> None:
    (tmp_path / "writes.csv").write_text("time_ns,op,offset,length\n" + "0,write,0,4096\n" * 3)
    (tmp_path / "all.csv").write_text(
        "time_ns,op,offset,length\n"
        + "".join(f"{n},{op},{4096 * n},4096\n" for n, op in enumerate(("write", "read", "trim", "flush") * 3))
    )
    (tmp_path / "bad.csv").write_text("garbage\n")
    one, other = (trace.info(tmp_path / name).table() for name in ("writes.csv", "all.csv"))
    assert one.columns == other.columns
    assert np.isnan(one["trim.size_bytes.mean"][0]) and other["trim.size_bytes.mean"][0] == 4096
    tables = [survey_module.survey(tmp_path / f"{name}.csv", tmp_path / f"{name}.parquet") for name in ("all", "bad")]
    assert tables[0].columns == tables[1].columns and tables[0].columns[0] == "file"
    assert pl.read_parquet(tmp_path / "bad.parquet")["read.bytes"].dtype == pl.Int64, "as where there are values"


def test_a_survey_keeps_the_rows_of_files_that_are_not_named(tmp_path: Path) -> None:
    table, bad, good = (tmp_path / name for name in ("traces.parquet", "bad.csv", "good.csv"))
    bad.write_text("")
    good.write_text(SMALL)
    assert CliRunner().invoke(app, ["trace", "survey", str(table), str(bad)]).exit_code == 1
    ran = CliRunner().invoke(app, ["trace", "survey", str(table), str(good)])
    assert (ran.exit_code, ran.stdout) == (0, f"{table}: 2 files, 1 of them cannot be read\n"), ran.output
    assert Table.read_parquet(table)["file"].tolist() == ["bad.csv", "good.csv"]


def test_the_tools_of_traces_are_listed_without_what_they_use() -> None:
    names = dir(trace)
    assert {"info", "survey", "volumes", "TraceInfo"} <= {*names} and len(names) < 30
    assert not {"os", "Any", "TYPE_CHECKING", "check_file", "Callable"} & {*names}
    assert all(hasattr(trace, name) for name in names)


def test_a_survey_reads_as_it_is_told_and_says_what_was_assumed_and_what_comes_twice(tmp_path: Path) -> None:
    folder, table = tmp_path / "traces", tmp_path / "traces.parquet"
    folder.mkdir()
    for name, last in (("a.csv", 4096), ("b.csv", 4096), ("c.csv", 8192)):
        (folder / name).write_text(f"0,W,0,4096\n9,R,4096,{last}\n")
    ran = CliRunner().invoke(app, ["trace", "survey", str(table), str(folder), "--read", "columns=auto"])
    assert (ran.exit_code, ran.stdout) == (
        0,
        f"{table}: 3 files, 1 with the requests of another: see its column same_as\n",
    )
    refused = coflash("trace", "survey", str(table), str(folder), "--read", "formt=msr")
    assert refused.returncode == 2 and 'did you mean "format"?' in refused.stderr, "no error of each file"
    for _ in range(2):  # a second time its rows are kept
        found = survey_module.survey(folder, table, {"columns": "auto"})
        assert found["same_as"].tolist() == [None, "traces/a.csv", None]
        assert all("times in us (assumed)" in one for one in found["remarks"])
        assert all("addresses in bytes, sizes in bytes (assumed)" in one for one in found["remarks"])
        assert found["formats"].tolist() == trace.info(folder / "a.csv", {"columns": "auto"}).formats * 3


def test_facts_and_curves_are_short_and_become_frames(tmp_path: Path) -> None:
    file = tmp_path / "one.parquet"
    trace.generate("zipf", file, requests=2000, space="16MiB")
    found = trace.info(file)
    assert repr(found) == "<TraceInfo of 2,000 requests, parquet>"
    assert found.to_pandas()["requests"].tolist() == [2000]
    assert "requests: int" in (TraceInfo.__doc__ or "")
    curves = trace.miss_ratio_curves(file, ["lru", "sieve"], sizes=["64KiB", "1MiB"])
    frame = curves.to_polars()
    assert frame.columns == ["cache_bytes", "lru", "sieve"]
    assert frame["lru"].to_list() == curves.miss_ratio["lru"]
    assert frame["cache_bytes"].to_list() == [1 << 16, 1 << 20]
    assert len(repr(curves)) < 80 and "<table>" in curves._repr_html_()
    curves.plot(tmp_path / "curves.svg")
    assert b"miss ratio" in (tmp_path / "curves.svg").read_bytes()


def test_surveys_can_be_put_together_whatever_their_traces_lack(tmp_path: Path) -> None:
    """A column without a value has the type that it has where there are values."""
    files = {"reads": "0,R,0,4096\n", "writes": "0,W,0,4096\n5,W,8192,4096\n9,W,8192,4096\n", "broken": "garbage\n"}
    for name, rows in files.items():
        (tmp_path / f"{name}.csv").write_text(
            rows if name == "broken" else f"time_us,op,offset_bytes,size_bytes\n{rows}"
        )
        survey_module.survey(str(tmp_path / f"{name}.csv"), tmp_path / f"{name}.parquet")
    survey_module.survey(str(tmp_path / "gone.csv"), tmp_path / "gone.parquet")
    tables = [pl.read_parquet(tmp_path / f"{name}.parquet") for name in (*files, "gone")]
    assert all(table.schema == tables[0].schema for table in tables)
    assert pl.concat(tables).height == 4


def test_the_first_line_of_a_description_says_that_units_are_assumed(tmp_path: Path) -> None:
    (file := tmp_path / "guess.csv").write_text("time,op,offset,size\n0,W,0,4096\n7,W,8192,4096\n9,W,8192,4096\n")
    ran = CliRunner().invoke(app, ["trace", "info", str(file), "--read", "columns=auto"])
    assert re.match(r"format +columns \(units assumed\)\n", ran.stdout), ran.stdout
    file.write_text(file.read_text().replace("time,op,offset,size", "time_us,op,offset_bytes,size_bytes"))
    ran = CliRunner().invoke(app, ["trace", "info", str(file)])
    assert re.match(r"format +columns\n", ran.stdout), ran.stdout
