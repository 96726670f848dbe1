"""Fleets: the volumes of a trace, a device for each, and how results spread over them."""

from __future__ import annotations

import json
import os
import re
import sys
from functools import partial
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import polars
import pytest
from typer.testing import CliRunner

import coflash
from coflash import CoflashError
from coflash.cli import app
from coflash.demo import find_trace
from coflash.files import remote
from coflash.keys import keys
from coflash.results.amounts import AMOUNTS
from coflash.results.subject import Subject
from coflash.sweep.fleet import By, Fleet
from coflash.sweep.plan import Plan
from coflash.trace import volumes

VARY = {"cooperation": ["none", "cdm"]}
SMALL = coflash.Scenario.load("demo").with_(
    {"flash.channels": 1, "cache.size": "1MiB", "precondition.fill": "sequential", "precondition.random_passes": 0}
)


def lines(count: int = 12_000, seed: int = 1) -> list[str]:
    """Records of Alibaba's kind: three volumes that write at different places, and one that only reads."""
    draw = np.random.default_rng(seed)
    names, pages = ["64", "7", "7/x", "900"], [800, 3000, 1500, 900]
    written = []
    for number in range(count):
        which = int(draw.integers(0, 4))
        page = int(pages[which] * draw.random() ** 3)
        operation = "R" if which == 3 or draw.random() < 0.3 else "W"
        written.append(
            f"{names[which]},{operation},{4096 * page},{4096 * int(draw.integers(1, 5))},{1000 + 50 * number}"
        )
    return written


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("fleet") / "cloud.csv"
    place.write_text("\n".join(lines()) + "\n")
    return str(place)


@pytest.fixture(scope="module")
def found(trace: str, tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    return coflash.fleet(trace, VARY, out=tmp_path_factory.mktemp("out"), scenario=SMALL)


def test_the_split_has_each_request_once_in_its_volume(trace: str, tmp_path: Path) -> None:
    parts = volumes.split(trace, tmp_path / "parts")
    rows = [line.split(",") for line in lines()]
    assert [one.name for one in parts] == list(dict.fromkeys(row[0] for row in rows))
    for one in parts:
        mine = [row for row in rows if row[0] == one.name]
        read = polars.read_parquet(one.file)
        assert read["offset"].to_list() == [int(row[2]) for row in mine]
        assert read["length"].to_list() == [int(row[3]) for row in mine]
        assert read["op"].to_list() == ["RW".index(row[1]) for row in mine]
        times = [1000 * (int(row[4]) - int(rows[0][4])) for row in mine]
        assert (read["time_ns"] + one.begins_ns).to_list() == times
        touched = {page for row in mine for page in range(int(row[2]) // 4096, (int(row[2]) + int(row[3])) // 4096)}
        assert one.footprint_pages == len(touched)
        assert one.written_bytes == sum(int(row[3]) for row in mine if row[1] == "W")
    assert {file.name for file in (tmp_path / "parts").iterdir()} == {Path(one.file).name for one in parts} | {
        "volumes.json"
    }


def test_several_files_are_one_trace_and_any_number_of_threads_writes_the_same(tmp_path: Path) -> None:
    text = lines()
    files = [tmp_path / f"{number}.csv" for number in range(3)]
    for number, file in enumerate(files):
        file.write_text("\n".join(text[number::3][: 2000 + 900 * number]) + "\n")

    def written(place: Path, workers: int | None) -> dict[str, bytes]:
        volumes.split(files, place, {}, workers=workers)
        return {file.name: file.read_bytes() for file in place.iterdir()}

    one, two, all_cores = (written(tmp_path / f"w{workers}", workers) for workers in (1, 2, None))
    assert one == two == all_cores
    whole = tmp_path / "whole.parquet"
    coflash.trace.convert(files, whole)
    assert sum(one.requests for one in volumes.split(files, tmp_path / "w1")) == polars.read_parquet(whole).height
    assert {".requests"}.isdisjoint(one)


def test_a_split_that_is_there_is_taken_and_that_of_another_trace_is_kept(tmp_path: Path) -> None:
    place, mine, other = tmp_path / "parts", tmp_path / "mine.csv", tmp_path / "other.csv"
    mine.write_text("\n".join(lines()) + "\n")
    other.write_text("\n".join(lines(100, seed=2)) + "\n")
    parts = volumes.split(str(mine), place)
    before = (place / "volumes.json").stat().st_mtime_ns
    assert volumes.split(str(mine), place) == parts
    with pytest.raises(CoflashError, match=f"it has the volumes of {mine}, which would be lost, .* of {other}: give"):
        volumes.split(str(other), place)
    assert (place / "volumes.json").stat().st_mtime_ns == before
    mine.write_text(other.read_text())  # a trace that was corrected replaces its own volumes
    assert sum(one.requests for one in volumes.split(str(mine), place)) == 100
    mine.write_text("\n".join(lines(50, seed=3)) + "\n")
    (place / "mine.txt").write_text("mine")
    with pytest.raises(CoflashError, match=r"mine\.txt"):
        volumes.split(str(mine), place)


def test_a_split_that_was_damaged_is_made_anew_and_foreign_documents_are_refused(trace: str, tmp_path: Path) -> None:
    place = tmp_path / "parts"
    parts = volumes.split(trace, place)
    first, second = (Path(one.file) for one in parts[:2])
    before = first.read_bytes()
    first.write_bytes(bytes([*before[:-9], before[-9] ^ 1, *before[-8:]]))  # of the same size
    second.unlink()
    mends = f"`coflash trace split {trace} --out {place}` mends it"
    with pytest.raises(CoflashError, match=f"{first.name}, {second.name}; {mends}"):
        coflash.fleet(str(place), VARY, out=tmp_path / "out", scenario=SMALL)
    with pytest.warns(UserWarning, match=f"made anew, not as volumes.json lists it: {first.name}, {second.name}"):
        assert volumes.split(trace, place) == parts
    assert first.read_bytes() == before
    with pytest.raises(CoflashError, match="given twice"):
        coflash.fleet([trace, trace], VARY, out=tmp_path / "out", by="file", scenario=SMALL)
    for foreign in (
        '{"a": 1}',
        "[]",
        "",
        "{",
        "null",
        '{"coflash": "1", "trace": [], "options": {}, "volumes": [{"name": 1}]}',
    ):
        (place / "volumes.json").write_text(foreign)
        with pytest.raises(CoflashError, match="give another folder"):
            volumes.split(trace, place)
    with pytest.raises(CoflashError, match="given twice"):
        volumes.split([trace, trace], tmp_path / "twice")
    with pytest.raises(CoflashError, match="standard input: it is there only once"):
        volumes.split("-", tmp_path / "twice")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="NOT TESTED: this system has no pipes with names")
def test_a_pipe_is_refused_where_it_would_be_read_twice(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for twice in (
        lambda: volumes.split(pipe, tmp_path / "parts"),
        lambda: coflash.fleet(pipe, VARY, out=tmp_path / "out", by="file", scenario=SMALL),
        lambda: coflash.sweep("demo", VARY, pipe, out=tmp_path / "out"),
    ):
        with pytest.raises(CoflashError, match=r"pipe, a pipe: it is there only once, .*: give a file"):
            twice()


def test_names_of_volumes_are_those_of_the_trace(tmp_path: Path) -> None:
    place = tmp_path / "names.csv"
    place.write_text(
        "".join(f"{name},W,{4096 * number},4096,{number}\n" for number in range(8) for name in ("ü", "日本", "a/b"))
    )
    assert [one.name for one in volumes.split(str(place), tmp_path / "parts")] == ["ü", "日本", "a/b"]


def test_a_trace_without_devices_is_not_split(tmp_path: Path) -> None:
    place = tmp_path / "some.parquet"
    coflash.trace.slice(find_trace(), place, count=100)
    with pytest.raises(CoflashError, match="name no devices"):
        volumes.split(place, tmp_path / "parts")
    named = tmp_path / "named.csv"
    named.write_text("time_us,vol,op,offset_bytes,size_bytes\n" + "".join(f"{n},{n % 2},W,0,4096\n" for n in range(9)))
    assert not (tmp_path / "parts").exists()
    found = volumes.split(named, tmp_path / "parts")  # the name says that it is the volume
    assert [one.requests for one in found] == [5, 4]


def test_each_volume_gives_what_a_run_of_its_own_gives(found: Fleet) -> None:
    assert [one.name for one in found.left_out] == ["900"]
    assert len(found.sweep.results) == 2 * len(found.volumes) == 6
    for point in found.sweep.points:
        (job,) = point.jobs
        volume = next(one for one in found.volumes if one.name == point.values["name"])
        kept = found.sweep.results[job.key]
        alone = coflash.run(job.scenario, volume.file)
        assert kept.metrics.to_dict() == alone.metrics.to_dict()
        assert kept.scenario.name == volume.name
        exported = kept.document["device"]["exported_pages"] if "device" in kept.document else None
        assert exported is None or exported >= volume.footprint_pages


def test_the_spread_is_that_of_the_volumes(found: Fleet) -> None:
    none, cdm = found.by_volume("waf_host")
    assert set(none) == {one.name for one in found.volumes}
    first, second = found.spread("waf_host")
    assert first.volumes == 3
    assert first.mean == pytest.approx(np.mean(list(none.values())))
    assert first.percentiles["least"] == none[first.least] == min(none.values())
    assert first.percentiles["most"] == none[first.greatest] == max(none.values())
    assert first.mean_between[0] <= first.mean <= first.mean_between[1]
    (saved,) = found.spread_of_saved("waf_host")
    assert saved.values == second.values
    shares = [1 - cdm[name] / none[name] for name in none]
    assert saved.mean == pytest.approx(np.mean(shares))
    pages = [run.metrics for run in (found.sweep.results[key] for key in found.sweep.results)]
    whole = found.whole
    assert sum(whole["host_writes_pages"]) == sum(one.host_writes_pages for one in pages)
    assert whole["waf_host"][0] == whole["programs_pages"][0] / whole["host_writes_pages"][0]


def test_a_table_has_a_row_for_each_volume_and_point(found: Fleet) -> None:
    table = found.table("waf_host").to_polars()
    assert table.height == 6
    assert table.columns[0] == "name"
    sums = (
        table.filter(polars.col("cooperation.name") == "none")
        .select("host_writes_pages", "programs_pages")
        .sum()
        .row(0)
    )
    assert sums[1] / sums[0] == pytest.approx(found.whole["waf_host"][0])
    assert set(table["name"]) == {one.name for one in found.volumes} == {*found.sweep.results.to_polars()["name"]}


def test_a_size_that_is_varied_is_a_column_of_the_table_with_its_unit(trace: str, tmp_path: Path) -> None:
    found = coflash.fleet(trace, {"cache.size": ["64KiB", "128KiB"]}, out=tmp_path / "out", scenario=SMALL)
    table = found.table("waf_host").to_polars()
    assert table.columns[:2] == ["name", "cache.size_bytes"]
    assert set(table["cache.size_bytes"]) == {64 << 10, 128 << 10}


def test_options_of_a_split_are_texts_or_values(tmp_path: Path) -> None:
    file = tmp_path / "headed.csv"
    file.write_text("what,when\n" + "".join(f"{number},a,W,0,4096\n" for number in range(9)))
    columns = "time:us,device,op,offset:bytes,size:bytes"
    of = [volumes.split(str(file), tmp_path / str(n), {"columns": columns, "header_lines": n}) for n in ("1", 1)]
    assert [[one.requests for one in found] for found in of] == [[9], [9]]


def test_every_key_of_a_size_or_a_share_is_known() -> None:
    amounts = {key.path for key in keys() if "or a share" in key.type or "bytes or a share" in key.meaning}
    assert {path for path in amounts if "[]" not in path} == {*AMOUNTS}


def test_the_command_that_mends_a_split_has_its_options_and_a_file_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my trace.csv").write_text("".join(f"{number},a,W,0,4096\n" for number in range(9)))
    options = {"columns": "time:us,device,op,offset:bytes,size:bytes", "time_slack": "2ms"}
    volumes.split("my trace.csv", "parts", options)
    Path("parts/a.parquet").write_bytes(b"")
    mends = f"split 'my trace.csv' --read columns={options['columns']} --read time_slack=2ms --out parts` mends it"
    with pytest.raises(CoflashError, match=re.escape(mends)):
        coflash.fleet("parts", VARY, out="out", scenario=SMALL)
    with pytest.raises(CoflashError, match="a file was given twice"):
        volumes.split(["my trace.csv", "./my trace.csv"], "twice", options)


def test_a_volume_smaller_than_the_least_device_gets_that_and_it_is_said(tmp_path: Path) -> None:
    place = tmp_path / "tiny.csv"
    place.write_text(
        "".join(f"{name},W,{4096 * (number % 8)},4096,{number}\n" for number in range(400) for name in "ab")
    )
    found = coflash.fleet(str(place), {"seed": [1]}, out=tmp_path / "out", scenario=SMALL)
    assert {one.name for one in found.larger} == {"a", "b"}
    assert any("2 volumes got the least device" in remark for remark in found.remarks)
    (of_a, of_b) = (point.jobs[0].scenario.to_dict()["flash"]["exported"] for point in found.sweep.points)
    assert of_a == of_b


def test_volumes_of_a_page_or_two_do_not_end_a_fleet_and_skipped_records_are_told(tmp_path: Path) -> None:
    place = tmp_path / "tiny.csv"
    place.write_text(
        "".join(f"{name},W,{4096 * number},4096,{number}\n" for number in range(300) for name in "ab")
        + "one,W,0,4096,9999\nx,W,y,1,2\n"
    )
    found = coflash.fleet(str(place), {"seed": [1]}, out=tmp_path / "out", scenario=SMALL, options={"on_error": "skip"})
    assert {one.name for one in found.volumes} == {"a", "b", "one"}
    assert not found.sweep.failures
    assert any("skipped" in remark for remark in found.remarks)
    assert any("without a write to flash" in remark for remark in found.remarks)


def parquet(place: Path, rows: list[tuple[int, int, int]]) -> str:
    """A trace of operations (1 writes, 2 trims), addresses and lengths."""
    columns = dict(zip(("op", "offset", "length"), zip(*rows, strict=True), strict=True))
    types = {"op": polars.UInt8, "offset": polars.UInt64, "length": polars.UInt64}
    times = polars.Series("time_ns", range(len(rows)), polars.UInt64)
    polars.DataFrame(columns, types).insert_column(0, times).write_parquet(place)
    return str(place)


def test_a_device_has_room_for_what_its_run_numbers(tmp_path: Path) -> None:
    sparse = [(1, 65_536 * number, 4096) for number in range(9000)]
    trims = [(1, 4096 * number, 4096) for number in range(6000)]
    trims += [(2, 4096 * (100_000 + number) + 512, 8192 + 512) for number in range(6000)]
    files = [parquet(tmp_path / "sparse.parquet", sparse), parquet(tmp_path / "trims.parquet", trims)]
    for page in ("4KiB", "16KiB"):
        scenario = SMALL.with_({"flash.page_size": page})
        found = coflash.fleet(files, {"seed": [1]}, out=tmp_path / page, by="file", scenario=scenario)
        assert not found.sweep.failures
        assert not found.larger or page == "16KiB"


def test_a_volume_that_no_device_takes_is_a_failure_of_its_own(
    trace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(scenario: coflash.Scenario, *given: Any) -> Plan:
        if scenario.name == "7":
            raise CoflashError("flash.blocks_per_plane: too many")
        return planned(scenario, *given)

    planned = Plan.of
    monkeypatch.setattr(Plan, "of", refusing)
    found = coflash.fleet(trace, VARY, out=tmp_path, scenario=SMALL)
    labels = [failure.label for failure in found.sweep.failures]
    assert labels == ["name=7 cooperation=none", "name=7 cooperation=cdm"]
    assert {failure.error for failure in found.sweep.failures} == {"flash.blocks_per_plane: too many"}
    assert set(found.by_volume("waf_host")[1]) == {"64", "7/x"}


def test_a_scenario_that_no_size_fits_is_told_by_its_own_key(trace: str, tmp_path: Path) -> None:
    with pytest.raises(CoflashError, match=r"^ftl\.spare\.share: "):
        coflash.fleet(trace, VARY, out=tmp_path, scenario=SMALL.with_({"ftl.spare.share": "1%"}))


def test_a_list_at_a_url_is_read_once(trace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = f"local://{tmp_path}/parts"
    volumes.split(trace, place)
    reads: list[str] = []
    contents = remote.Tree.contents

    def read(tree: remote.Tree, files: list[str]) -> dict[str, bytes]:
        reads.extend(files)
        return contents(tree, files)

    monkeypatch.setattr(remote.Tree, "contents", read)
    coflash.fleet(place, {"seed": [1]}, out=tmp_path / "out", scenario=SMALL)
    assert reads == ["volumes.json"]


def test_files_are_volumes_too(tmp_path: Path, trace: str) -> None:
    parts = volumes.split(trace, tmp_path / "parts")
    some = [one.file for one in parts if one.written_bytes][:2]
    twin = tmp_path / "twin.parquet"
    twin.write_bytes(Path(some[0]).read_bytes())
    found = coflash.fleet([*some, str(twin)], VARY, out=tmp_path / "out", by="file", scenario=SMALL)
    assert [one.name for one in found.volumes] == [*(Path(file).stem for file in some), "twin"]
    said = f"1 volume with the requests of another, each counted as one more (twin; the first as {Path(some[0]).stem})"
    assert said in found.remarks
    assert said in coflash.results(tmp_path / "out").remarks
    frame = found.sweep.results.to_polars()
    assert sorted(frame["name"]) == sorted(2 * [one.name for one in found.volumes]), "each has runs of its own"
    none = frame.filter(polars.col("cooperation.name") == "none")
    assert none["waf_host"].mean() == pytest.approx(found.spread("waf_host")[0].mean)
    every = coflash.results(tmp_path / "out").sql("select count(distinct name) as n, count(*) as runs from runs")
    assert (every["n"][0], every["runs"][0]) == (3, 6)
    again = coflash.fleet(str(tmp_path / "parts"), VARY, out=tmp_path / "out", scenario=SMALL)
    assert len(again.volumes) == 3


def test_a_folder_stands_for_its_files_and_what_was_assumed_of_them_is_one_note(tmp_path: Path) -> None:
    folder = tmp_path / "volumes"
    folder.mkdir()
    headers = {"a": "time_us,op,offset,size_bytes", "b": "time_ms,op,offset_bytes,size", "c": "op,time_s,offset,length"}
    for name, header in headers.items():
        order = "op,time" if name == "c" else "time,op"
        rows = (f"{number},W" if order == "time,op" else f"W,{number}" for number in range(300))
        text = "\n".join(f"{row},{4096 * (place % 90)},4096" for place, row in enumerate(rows))
        (folder / f"{name}.csv").write_text(f"{header}\n{text}\n")
    found = coflash.fleet(str(folder), VARY, out=tmp_path / "out", by="file", scenario=SMALL)
    assert [one.name for one in found.volumes] == [*headers]
    for notes in (found.notes(), coflash.results(tmp_path / "out").remarks):
        (note,) = (note for note in notes if "read with columns=" in note)
        assert re.search(r"\(In 6 of 6 runs: [abc], [abc], [abc]; the columns are those of [abc] · ", note)


def test_a_size_given_as_a_share_is_in_bytes_too(trace: str, tmp_path: Path) -> None:
    found = coflash.fleet(trace, {"cache.size": ["5%", "64KiB"]}, out=tmp_path / "out", scenario=SMALL)
    runs = found.sweep.results.to_polars()
    assert runs["cache.size_bytes"].to_list() == (4096 * runs["cache.capacity_pages"]).to_list()
    assert set(runs["cache.size_share"]) == {0.05, None}
    assert runs["ftl.spare.share"].dtype == polars.Float64
    assert not [name for name in runs.columns if name.endswith("share_share")]
    table = found.table("waf_host").to_polars()
    assert table.columns[:4] == ["name", "cache.size_bytes", "cache.size_share", "requests"]
    assert sorted(table["cache.size_bytes"]) == sorted(runs["cache.size_bytes"])
    with pytest.raises(CoflashError, match=r'no column "cache\.siz_bytes"; did you mean "cache\.size_bytes"'):
        found.sweep.results.sql('select "cache.siz_bytes" from runs')


def test_the_command_says_how_results_spread_resumes_and_writes_what_is_asked(trace: str, tmp_path: Path) -> None:
    scenario = tmp_path / "small.toml"
    scenario.write_text(SMALL.to_toml())
    args = [
        "fleet",
        trace,
        "--scenario",
        str(scenario),
        "--vary",
        "cooperation=none,cdm",
        "--out",
        str(tmp_path / "out"),
    ]
    args += [
        "--set",
        "precondition.until_steady=true",
        "--measure",
        "waf_host",
        "--plot",
        str(tmp_path / "f.svg"),
        "--json",
        str(tmp_path / "f.json"),
    ]
    first = CliRunner().invoke(app, args)
    assert first.exit_code == 0, first.output
    assert "all volumes together, WAF of the sums: none " in first.output
    assert "left out: nothing is written (900)" in first.output
    again = CliRunner().invoke(app, args)
    assert "6 runs of 3 of 4 volumes, 6 of them from before" in again.output
    kept = coflash.results(tmp_path / "out")
    assert all(kept[run].scenario.to_dict()["precondition"]["until_steady"] for run in kept)
    document = json.loads((tmp_path / "f.json").read_text())
    assert set(document["measures"]["waf_host"]["by_volume"][0]) == {"64", "7", "7/x"}
    assert "share of volumes" in (tmp_path / "f.svg").read_text() or (tmp_path / "f.svg").stat().st_size > 5000


def test_workers_of_a_cluster_write_their_own_results(
    trace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    import clusters
    from coflash.results.store import FolderStore

    here = coflash.fleet(trace, VARY, out=tmp_path / "here", scenario=SMALL)

    def refuse(*_: object) -> None:
        raise AssertionError("the driver writes")

    monkeypatch.setattr(FolderStore, "write", refuse)
    shared = (tmp_path / "there").as_uri()
    with clusters.dask() as address:
        there = coflash.fleet(trace, VARY, out=shared, scenario=SMALL, on=address, volumes=tmp_path / "parts")
    assert not there.sweep.failures
    assert there.by_volume("waf_host") == here.by_volume("waf_host")
    assert sorted(there.sweep.results) == sorted(here.sweep.results)


def test_an_object_store_has_trace_volumes_and_results(found: Fleet, trace: str) -> None:
    files = fsspec.filesystem("memory")
    files.pipe_file("/cloud/one.csv", Path(trace).read_bytes())
    kept = coflash.fleet("memory://cloud/one.csv", VARY, out="memory://cloud/out", scenario=SMALL)
    assert kept.by_volume("waf_host") == found.by_volume("waf_host")
    assert {one.sha256 for one in kept.volumes} == {one.sha256 for one in found.volumes}
    parts = "memory://cloud/out/volumes"
    assert all(one.file.startswith(parts) for one in kept.volumes)
    again = coflash.fleet(parts, VARY, out="memory://cloud/out", scenario=SMALL)
    assert again.sweep.from_before == 6
    assert len(coflash.results("memory://cloud/out")) == 6
    # Another trace takes their place; a list whose parts are gone is made anew.
    files.pipe_file("/cloud/one.csv", "\n".join(lines(100, seed=2)).encode())
    other = volumes.split("memory://cloud/one.csv", parts)
    assert sum(one.requests for one in other) == 100
    assert len(files.find("/cloud/out/volumes")) == len(other) + 1
    gone, cut, kept_file = (one.file.removeprefix("memory:/") for one in other[:3])
    files.rm_file(gone)
    files.pipe_file(cut, files.cat_file(cut)[:-1])
    before = files.modified(kept_file)
    names = sorted(Path(one).name for one in (gone, cut))
    with pytest.raises(CoflashError, match=rf"{names[0]}, .*{names[1]}; `coflash trace split memory://cloud/one.csv"):
        coflash.fleet(parts, VARY, out="memory://cloud/out", scenario=SMALL)
    with pytest.warns(UserWarning, match=rf"made anew, .*{names[0]}, .*{names[1]}$"):
        assert volumes.split("memory://cloud/one.csv", parts) == other
    assert files.size(gone) == other[0].bytes and files.size(cut) == other[1].bytes
    assert files.modified(kept_file) == before, "what is whole is left alone"


def test_workers_fetch_their_volumes_from_a_url(trace: str, tmp_path: Path, found: Fleet) -> None:
    pytest.importorskip("distributed")
    import clusters

    with clusters.dask() as address:
        there = coflash.fleet(trace, VARY, out=f"local://{tmp_path}/out", scenario=SMALL, on=address)
    assert not there.sweep.failures
    assert there.by_volume("waf_host") == found.by_volume("waf_host")


def test_a_fleet_whose_driver_is_killed_goes_on_and_no_volume_is_done_twice(trace: str, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    import clusters
    from processes import begin

    scenario, out = tmp_path / "small.toml", tmp_path / "out"
    scenario.write_text(SMALL.to_toml())
    vary = ["--vary", "cooperation=none,cdm", "--vary", "seed=1..20"]
    with clusters.dask() as address:
        command = [
            *(sys.executable, "-m", "coflash", "fleet", trace, "--scenario", str(scenario), *vary),
            *("--out", out.as_uri(), "--on", address),
        ]
        with begin(*command, encoding="utf-8") as process:
            assert process.stderr is not None
            next(line for line in process.stderr if "name=" in line)
            process.kill()
        done = {run.name: (run / "result.json").stat().st_mtime_ns for run in (out / "runs").glob("[0-9a-f]*")}
        assert 0 < len(done) < 120
        again = CliRunner().invoke(app, command[3:])
    assert again.exit_code == 0, again.output
    runs = {run.name for run in (out / "runs").iterdir()}
    assert len(runs) == 120
    assert all((out / "runs" / run / "result.json").stat().st_mtime_ns == at for run, at in done.items())
    assert (
        CliRunner()
        .invoke(app, ["fleet", trace, "--scenario", str(scenario), *vary, "--out", str(tmp_path / "here"), "-q"])
        .exit_code
        == 0
    )
    for run in runs:
        here = json.loads((tmp_path / "here" / "runs" / run / "result.json").read_text())
        there = json.loads((out / "runs" / run / "result.json").read_text())
        assert here["metrics"] == there["metrics"]


@pytest.mark.parametrize(("by", "volumes"), [("volume", 3), ("file", 1)])
def test_runs_of_a_trace_that_was_corrected_are_those_of_the_present_one(tmp_path: Path, by: By, volumes: int) -> None:
    file, out = tmp_path / "cloud.csv", tmp_path / "out"
    for number in (1, 2):
        file.write_text("\n".join(lines(4000, number)) + "\n")
        now = coflash.fleet(str(file), {"seed": [1]}, out=out, by=by, scenario=SMALL).sweep.results
        known = coflash.results(out)
        assert sorted(known.to_polars()["waf_host"]) == sorted(now.to_polars()["waf_host"])
        said = [text for text in known.cautions if "was changed: 1 run of it as it was before left out" in text]
        assert len(known) == volumes
        assert len(said) == volumes * (number - 1)
        assert len(Subject.read([out]).results) == volumes
    file.write_text("\n".join(lines(4000, 3)) + "\n")
    others = [text for text in coflash.results(out).cautions if "replayed an older trace" in text]
    assert len(coflash.results(out)) == (1 + (by == "file")) * volumes, "of a file that did not run all are there"
    assert len(others) == (by == "file")


def test_the_rows_of_a_fleet_say_what_was_assumed(trace: str, tmp_path: Path) -> None:
    found = coflash.fleet(trace, {"seed": [1]}, out=tmp_path / "out", scenario=SMALL)
    said = {one.name: "; ".join(one.remarks) or None for one in found.volumes}
    table = found.table()
    assert dict(zip(table["name"], table["remarks"], strict=True)) == said


def test_a_size_that_every_volume_would_replace_is_refused(trace: str, tmp_path: Path) -> None:
    given = ["fleet", trace, "--vary", "cooperation=none,cdm", "--out", str(tmp_path / "out")]
    refused = CliRunner().invoke(app, [*given, "--set", "flash.blocks_per_plane=64"])
    assert isinstance(refused.exception, CoflashError)
    assert str(refused.exception).startswith("--set: flash.blocks_per_plane was given; each volume gets a device")


@pytest.mark.parametrize("by", ["file", "volume"])
def test_all_files_that_cannot_be_read_are_named_at_once(trace: str, tmp_path: Path, by: By) -> None:
    good, empty, broken = Path(trace), tmp_path / "empty.csv", tmp_path / "broken.csv"
    empty.write_text("")
    broken.write_text("garbage\n")
    files = [str(good), str(empty), str(broken)]
    with pytest.raises(
        CoflashError, match=r"^2 of 3 files cannot be read; the option on_error=skip skips bad records, and leaves out"
    ) as refused:
        coflash.fleet(files, VARY, out=tmp_path / "out", by=by, scenario=SMALL)
    assert "empty.csv: the file is empty" in str(refused.value)
    assert "broken.csv: not a trace of any known format" in str(refused.value)
    found = coflash.fleet(files, VARY, out=tmp_path / "out", by=by, scenario=SMALL, options={"on_error": "skip"})
    assert set(found.unread) == {str(empty), str(broken)}
    every = len(found.volumes) + len(found.left_out) + 2
    assert f"{len(found.volumes)} of {every} volumes" in str(found), "one that writes nothing counts, too"
    (note,) = (note for note in found.notes() if "cannot be read" in note)
    assert note.startswith(f"2 files left out, since they cannot be read: {empty}: the file is empty")
    (short, *remarks) = coflash.results(tmp_path / "out").remarks[: 1 + len(found.remarks)]
    assert short.startswith(f"{tmp_path / 'out'}: a fleet of {found.count}, ")
    assert remarks == found.remarks, "they are kept with the folder"
    assert {short, *remarks} <= {*Subject.read([tmp_path / "out"]).remarks}
    assert repr(found) == f"<Fleet of {found.count} in {tmp_path / 'out'}>"
    assert found.to_pandas().shape[0] == found.to_polars().height == len(found.sweep.points)
    assert "<table>" in found._repr_html_()


def test_arguments_are_checked_before_a_trace_is_read(tmp_path: Path) -> None:
    """The trace is not there: a message on it would come after reading."""
    ask = partial(coflash.fleet, str(tmp_path / "none.csv"), out=tmp_path / "out", scenario=SMALL)
    with pytest.raises(CoflashError, match='by: "files" was given; did you mean "file"'):
        ask(VARY, by="files")  # type: ignore[arg-type]
    with pytest.raises(CoflashError, match='"cdmm" is not known; did you mean "cdm"'):
        ask({"cooperation": ["none", "cdmm"]})
