"""coflash from Python: plain dictionaries, frames, HTML, errors that list the existing names."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import coflash
from coflash import CoflashError, Scenario, Table
from coflash.demo import find_trace

MARKED = "<b>&mine</b>"
DEVICE = {
    "name": "small",
    "description": MARKED,
    "flash": {"channels": 1, "chips_per_channel": 1, "blocks_per_plane": 64},
    "cache.size": "256KiB",
    "precondition": {"random_passes": 0.5},
    "workload": {"synthetic": {"requests": 500}},
}


@pytest.fixture(scope="module")
def first() -> Table:
    return coflash.trace.head(find_trace(), 500)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> coflash.Sweep:
    out = tmp_path_factory.mktemp("runs") / MARKED.replace("/", "")
    return coflash.sweep(DEVICE, {"cooperation.name": ["none", "cdm"]}, out=out, seeds=2)


def test_a_dictionary_is_a_scenario() -> None:
    result = coflash.run(DEVICE)
    assert result.scenario == Scenario.from_dict(DEVICE)
    assert result.scenario.to_dict()["cache"]["size"] == "256KiB"
    assert coflash.warm(DEVICE).key == result.scenario.warm_key
    with pytest.raises(CoflashError, match='did you mean "cache"'):
        coflash.run({"cach": {"size": "1MiB"}})


@pytest.mark.parametrize("library", ["coflash", "pandas", "polars", "pyarrow", "category", "lazy"])
def test_a_frame_is_a_trace(library: str, first: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COFLASH_TRACES", str(tmp_path))
    frames: dict[str, Callable[[], Any]] = {
        "coflash": lambda: first,
        "pandas": first.to_pandas,
        "polars": first.to_polars,
        "pyarrow": first.to_arrow,
        "category": lambda: first.to_pandas().astype({"op": "category"}),
        "lazy": lambda: first.to_polars().lazy(),
    }
    frame = frames[library]()
    found = coflash.trace.head(frame, 500)
    assert found == first
    ran = coflash.run("demo", frame)
    assert ran.metrics.requests == 500
    assert coflash.run(ran.scenario).metrics == ran.metrics
    # The file is named after the content, whatever the frame.
    assert ran.workload["inputs"][0]["file"] == coflash.trace.paths(first)[0]
    assert len(list(tmp_path.iterdir())) == 1


def test_a_frame_means_what_the_same_text_means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COFLASH_TRACES", str(tmp_path))
    day = "2025-11-02T10:15:0"
    columns: dict[str, list[Any]] = {
        "timestamp": [f"{day}1.000123", f"{day}1.000523", f"{day}2.5"],
        "op_type": ["W", "discard", "FLUSH"],
        "lba": [8.0, 16.0, None],
        "bytes": ["4096", "0x1000", None],
    }
    text = tmp_path / "t.csv"
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join("" if cell is None else str(cell) for cell in row) for row in rows)]
    text.write_text("\n".join(lines))
    expected = coflash.trace.head(text)
    assert expected["op"].tolist() == ["write", "trim", "flush"]
    assert expected["offset_bytes"].tolist() == [4096, 8192, 0]
    assert expected["time_ns"].tolist() == [0, 400_000, 1_499_877_000]
    polars = pl.DataFrame(columns)
    polars.with_columns(pl.col("timestamp").str.to_datetime(time_unit="us")).write_parquet(tmp_path / "t.parquet")
    polars.write_ipc(tmp_path / "t.arrow")
    pandas = pd.DataFrame(columns)
    frames = [
        polars,
        polars.lazy(),
        pandas,
        pandas.assign(timestamp=pd.to_datetime(pandas["timestamp"], format="ISO8601")),
    ]
    for given in [*frames, tmp_path / "t.parquet", tmp_path / "t.arrow"]:
        assert coflash.trace.head(given) == expected
    numbers = pd.DataFrame({"time_us": [0, 1], "op": [1, 0], "sector": [8, 16], "size": [512, 512]})
    numbers.to_csv(text, index=False)
    assert coflash.trace.head(numbers)["op"].tolist() == coflash.trace.head(text)["op"].tolist() == ["write", "read"]


def test_several_frames_are_parts_of_a_trace(first: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COFLASH_TRACES", str(tmp_path))
    rows = first.to_pandas()
    later = rows[200:].assign(time_ns=rows.time_ns[200:] - rows.time_ns[200])
    assert coflash.trace.info([rows[:200], later])["requests"] == 500


@pytest.mark.parametrize("library", ["pandas", "pandas, nullable", "polars", "pyarrow", "ours"])
def test_a_frame_has_placement_hints(
    library: str, first: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COFLASH_TRACES", str(tmp_path))
    rows = first.to_pandas()[:3].assign(placement=pd.array([2, None, 0], "Int64"))
    frame: Any = rows if "nullable" in library else rows.assign(placement=[2, np.nan, 0])
    if library == "polars":
        frame = pl.DataFrame(rows)
    elif library == "pyarrow":
        frame = pa.Table.from_pandas(rows)
    elif library == "ours":
        frame = coflash.trace.head(frame)
    found = coflash.trace.head(frame)["placement"]
    assert np.array_equal(found, [2, np.nan, 0], equal_nan=True)
    # Other hints are another file.
    other = coflash.trace.paths(rows.assign(placement=[2, 63, 0]))
    assert other != coflash.trace.paths(frame)
    assert other != coflash.trace.paths(rows.assign(placement=[2, 254, 0]))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"op": ["reed"]}, 'did you mean "read"'),
        ({"op": [9]}, "9"),
        ({"time_ns": [None]}, "time: missing"),
        ({"time_ns": [True]}, '"True" is not a decimal number'),
        ({"time_ns": [[1]]}, "is not a decimal number"),
        ({"offset": [None]}, "offset: missing"),
        ({"offset": [0.5]}, ':1: offset: "0.5" is not a whole number'),
        ({"time_ns": [-1]}, '"-1"'),
        ({"placement": [255]}, "placement: 255 is not a placement identifier .0 to 254"),
        ({"placement": ["hot"]}, 'placement: "hot"'),
        ({"time_ns": None, "when": [1]}, "its columns .op, offset, length, when. are not .*times in us .assumed"),
        ({"offset": None}, "its columns .time_ns, op, length. are not columns time_ns, op, offset, length"),
    ],
)
def test_a_frame_that_is_no_trace_is_refused(
    changed: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COFLASH_TRACES", str(tmp_path))
    rows = {"time_ns": [0], "op": ["read"], "offset": [0], "length": [4096]} | changed
    with pytest.raises(CoflashError, match=message):
        coflash.run("demo", pd.DataFrame({name: values for name, values in rows.items() if values is not None}))


def test_offsets_and_lengths_that_are_swapped_are_refused_before_the_work() -> None:
    rows = range(300)
    swapped = {"offset": [4096 << row % 3 for row in rows], "length": [(row + 1) << 15 for row in rows]}
    frame = pd.DataFrame({"time_ns": list(rows), "op": [1] * 300, **swapped})
    why = "offset has 3 values and length has 300, up to 9600KiB: they are in each other's place; the option columns= "
    for use in (coflash.trace.info, lambda trace: coflash.run("demo", trace)):
        with pytest.raises(CoflashError, match=why):
            use(frame)
    told = {"columns": "time:ns,op,size:bytes,offset:bytes", "header_lines": 1}
    assert coflash.trace.info(frame, told).address_end == (300 << 15) + (4096 << 2), "the option that it names mends it"


@pytest.mark.parametrize("times", [[1.5, 2.5], ["1", "2"], [datetime(2020, 1, 1)] * 2, [date(2020, 1, 1)] * 2])
def test_times_of_any_type_are_read(times: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COFLASH_TRACES", str(tmp_path))
    rows = {"time_ns": times, "op": ["R", "W"], "offset": [0, 4096], "length": [4096, 4096]}
    assert coflash.trace.info(pl.DataFrame(rows)).requests == 2


def test_a_time_that_is_missing_is_told_in_its_row() -> None:
    frame = pd.DataFrame({"time_ns": [1, None], "op": ["R", "W"], "offset": [0, 4096], "length": [4096, 4096]})
    with pytest.raises(CoflashError, match=":2: time: missing, expected a decimal number"):
        coflash.trace.info(frame)


def test_a_scenario_shows_what_it_sets() -> None:
    shown = Scenario.from_dict(DEVICE)._repr_html_()
    assert "<td>cache.size</td><td>256KiB</td>" in shown
    assert "ftl.spare" not in shown
    assert "&lt;b&gt;&amp;mine" in shown
    assert MARKED not in shown


def test_a_sweep_and_its_results_show_their_points_and_runs(swept: coflash.Sweep) -> None:
    points, runs = swept._repr_html_(), swept.results._repr_html_()
    assert points.count("<tr>") == 1 + 2
    assert runs.count("<tr>") == 1 + 4
    for shown in (points, runs):
        assert "<td>cdm</td>" in shown
        assert "WAF, by host writes" in shown
        assert "&lt;b&gt;&amp;mine" in shown
        assert "<b>" not in shown
    assert "±" in points


def test_two_results_are_compared(swept: coflash.Sweep) -> None:
    names = [swept.points[place].jobs[0].key for place in (0, 1)]
    none, cdm = (swept.results[name] for name in names)
    found = coflash.compare(none, cdm)
    assert found.labels == ("none", "cdm")
    assert [key.path for key in found.keys] == ["cooperation.name"]
    table = found.table()
    (row,) = np.flatnonzero(table["measure"] == "waf_host")
    assert table["none"][row] == none.metrics.waf_host
    assert table["cdm.change"][row] == pytest.approx((cdm.metrics.waf_host or 0) / (none.metrics.waf_host or 1) - 1)
    gaps = int(np.isnan(table["none"]).sum())
    assert table.to_arrow()["none"].null_count == table.to_polars()["none"].null_count() == gaps > 0, "a gap is null"
    shown = found._repr_html_()
    assert re.search("<td>cooperation.name</td><td[^>]*>none</td><td[^>]*>cdm</td>", shown)
    assert "WAF, by host writes" in shown
    assert coflash.compare(none, swept.results.folder(names[1])).table() == table
    with pytest.raises(CoflashError, match="1 run was given; two or more"):
        coflash.compare(none)


def test_what_is_not_there_is_an_error_of_coflash(swept: coflash.Sweep) -> None:
    result = swept.results[swept.results.runs[0]]
    with pytest.raises(CoflashError, match='did you mean "host_writes_pages"'):
        result.series()["host_write_pages"]
    with pytest.raises(CoflashError, match='did you mean "waf_host"'):
        result.metrics["waf_hos"]
    with pytest.raises(AttributeError, match='did you mean "waf_host"'):
        result.metrics.waf_hos  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(CoflashError, match="0 was given; the name of a run"):
        swept.results[0]  # type: ignore[index]
    with pytest.raises(CoflashError, match='did you mean "write"'):
        result.histogram("writ")  # type: ignore[arg-type]
    # As mappings promise.
    assert result.metrics.get("nothing") is None
    with pytest.raises(KeyError):
        result.series()["nothing"]


def test_arrow_takes_a_table_as_it_is(first: Table) -> None:
    assert pa.table(first).num_rows == len(first)


def test_what_is_no_scenario_or_no_trace_is_named() -> None:
    with pytest.raises(CoflashError, match="scenario: int was given; a scenario, its name"):
        coflash.run(5)  # type: ignore[arg-type]
    for wrong in (5, [5], ["a", None]):
        with pytest.raises(CoflashError, match=r"trace: (int|NoneType) was given; a path, a URL or a frame"):
            coflash.run("demo", wrong)  # type: ignore[arg-type]


def test_every_public_class_and_its_attributes_have_a_docstring() -> None:
    classes = [one for name in dir(coflash) if isinstance(one := getattr(coflash, name), type)]
    assert coflash.Candidates in classes
    bare = [
        f"{each.__name__}.{name}"
        for each in classes
        if each.__module__.startswith("coflash")
        for name, value in vars(each).items()
        if not name.startswith("_")
        and (callable(value) or inspect.isgetsetdescriptor(value) or isinstance(value, property))
        if not inspect.getdoc(value)
    ]
    assert bare == []
