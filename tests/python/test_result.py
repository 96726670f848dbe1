from __future__ import annotations

import copy
import json
import pickle
import re
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

from coflash import CoflashError, Histogram, Result, Scenario, Table


def test_metrics_are_attributes_and_a_mapping(result: Result) -> None:
    metrics = result.metrics
    assert metrics.programs_pages.gc == metrics["programs_pages"]["gc"] == 900
    assert metrics.response_ns.read.p99 == 500_000
    assert metrics.flat()["response_ns.all.mean"] == 200e3
    assert json.loads(json.dumps(metrics.to_dict())) == metrics
    assert "waf_host" in dir(metrics)
    with pytest.raises(AttributeError, match="waf_hots"):
        metrics.waf_hots  # type: ignore[attr-defined]  # noqa: B018
    assert pickle.loads(pickle.dumps(metrics)) == copy.deepcopy(metrics) == metrics  # noqa: S301


def test_a_saved_result_is_the_same_result(result: Result, tmp_path: Path) -> None:
    result.save(tmp_path / "run")
    result.save(tmp_path / "run")
    again = Result.load(tmp_path / "run")
    assert again.document == result.document
    assert again.scenario == result.scenario
    assert Scenario.load(tmp_path / "run" / "scenario.toml") == result.scenario
    assert again.series() == result.series()
    for name in result.series().columns:
        assert again.series()[name].dtype == result.series()[name].dtype
    np.testing.assert_array_equal(again.erase_counts(), result.erase_counts())
    for kind in ("all", "read", "write"):
        for ours, theirs in zip(result.histogram(kind), again.histogram(kind), strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_a_folder_without_a_result_is_an_error_that_names_it(result: Result, tmp_path: Path) -> None:
    with pytest.raises(CoflashError, match=str(tmp_path)):
        Result.load(tmp_path)
    result.save(tmp_path / "run")
    (tmp_path / "run" / "series.parquet").write_bytes(b"PAR1 torn")
    with pytest.raises(CoflashError, match="no complete result"):
        Result.load(tmp_path / "run")


def test_a_histogram_says_how_many_take_longer() -> None:
    histogram = Histogram(np.array([10, 20, 30], np.uint64), np.array([6, 3, 1], np.uint64))
    np.testing.assert_array_equal(histogram.exceeded_by(), [0.4, 0.1, 0.0])
    empty = Histogram(np.array([], np.uint64), np.array([], np.uint64))
    assert len(empty.exceeded_by()) == 0


def test_there_is_no_histogram_of_another_kind(result: Result) -> None:
    with pytest.raises(CoflashError, match="all, read, write"):
        result.histogram("trims")  # type: ignore[arg-type]


def test_a_table_goes_to_any_library_and_numbers_are_not_copied(tmp_path: Path) -> None:
    table = Table({"start_ns": np.arange(5, dtype=np.uint64), "pages": np.linspace(0, 1, 5)})
    assert table != Table({"start_ns": table["start_ns"]})
    for column in table.columns:
        address = table[column].ctypes.data
        assert table.to_arrow()[column].chunk(0).buffers()[1].address == address
        assert table.to_polars()[column].to_numpy().ctypes.data == address
        assert np.shares_memory(table.to_pandas()[column].to_numpy(), table[column])
    assert pl.DataFrame(table)["pages"].to_list() == [0, 0.25, 0.5, 0.75, 1]
    table.write_parquet(tmp_path / "t.parquet")
    assert Table.read_parquet(tmp_path / "t.parquet") == table


def test_a_table_is_read_as_the_database_reads_it(tmp_path: Path) -> None:
    numbers = np.array([0, 7, 2**32 - 1])
    columns: dict[str, Any] = {name: numbers.astype(name) for name in ("uint32", "uint64", "int64", "float64")}
    columns |= {"signs": np.array([-1, 0, 1], np.int32), "flags": numbers > 0, "kind": np.array(["all", "read", "é"])}
    columns |= {'a "name".of its=own': np.array([None, "", "é"], object), "every_other": np.arange(6)[::2]}
    table = Table(columns)
    table.write_parquet(tmp_path / "t.parquet")
    small = Table.read_parquet(tmp_path / "t.parquet")
    read = duckdb.connect().execute("from read_parquet(?)", [str(tmp_path / "t.parquet")])
    assert small == Table.from_masked(read.fetchnumpy()) == table
    assert [small[name].dtype for name in columns] == [table[name].dtype for name in columns]
    some = pl.DataFrame({"some": [None, 7, 2**32 - 1], "kind": [None, "read", "é"]})
    duckdb.from_arrow(some).write_parquet(str(tmp_path / "gaps.parquet"))
    gaps = Table.read_parquet(tmp_path / "gaps.parquet")
    np.testing.assert_array_equal(gaps["some"], [np.nan, 7, 2**32 - 1])
    assert gaps["kind"].tolist() == [None, "read", "é"]
    half = Table({"half": np.zeros(1, np.float16)})
    half.write_parquet(tmp_path / "half.parquet")
    assert Table.read_parquet(tmp_path / "half.parquet") == half
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    with pytest.raises(OSError, match=r"t\.parquet"):
        Table.read_parquet(tmp_path / "t.parquet")


def test_the_columns_of_a_table_are_equally_long() -> None:
    with pytest.raises(ValueError, match=r"\[1, 2\]"):
        Table({"a": np.zeros(1), "b": np.zeros(2)})


def test_notebooks_show_the_measures_and_a_tables_head(result: Result) -> None:
    shown = result._repr_html_()
    assert re.search("pages copied by GC</td><td[^>]*>900</td>", shown)
    assert "made &lt;by&gt; hand" in shown
    assert re.search("pages programmed, GC copies</td><td[^>]*>900</td>", shown)
    assert "<script" not in shown
    assert "<th>start_ns</th>" in result.series()._repr_html_()
