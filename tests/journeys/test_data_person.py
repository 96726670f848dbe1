"""A data person in a notebook: a trace from a frame, results as frames, and their display."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import coflash

SEED = 1


def workload(requests: int) -> pl.DataFrame:
    """Make a skewed workload as any table library does."""
    draw = np.random.default_rng(SEED)
    page = (draw.beta(0.4, 2.0, requests) * 8_000).astype(np.int64)
    return pl.DataFrame(
        {
            "time_ns": np.arange(requests) * 50_000,
            "op": np.where(draw.random(requests) < 0.3, "read", "write"),
            "offset": page * 4096,
            "length": np.full(requests, 4096),
        }
    )


def test_a_data_person_works_in_a_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COFLASH_TRACES", str(tmp_path / "traces"))
    trace = workload(20_000)

    # A frame is a trace: its description, and a column with another name.
    assert coflash.trace.info(trace)["requests"] == 20_000
    with pytest.raises(coflash.CoflashError, match=r"its columns [(]time_ns, op, colour, length[)] are not"):
        coflash.run("demo", trace.rename({"offset": "colour"}))

    # A column's role may also be said; a lazy frame and letters are read as well.
    roles = {"time_ns": "time:ns", "kind": "op", "offset": "offset:bytes", "length": "size:bytes"}
    other = trace.with_columns(kind=pl.col("op").replace({"read": "R", "write": "W"})).drop("op").lazy()
    given = {"columns": coflash.trace.columns(other, roles)}
    assert coflash.trace.head(other, 5, given) == coflash.trace.head(trace, 5)

    # A dictionary is a scenario; a typing error is explained.
    device = {
        "name": "mine",
        "flash": {"channels": 1, "chips_per_channel": 2, "exported": "40MiB"},
        "cache": {"size": "5%"},
        "precondition": {"random_passes": 1.0},
        "workload": {"remap": "dense"},
        "replay": {"mode": "closed", "queue_depth": 8},
    }
    with pytest.raises(coflash.CoflashError, match=r'flash.channel.*did you mean "channels"'):
        coflash.run({"flash": {"channel": 1}}, trace)

    # Two results, side by side, as the notebook shows them.
    none, cdm = (coflash.run({**device, "cooperation": scheme}, trace) for scheme in ("none", "cdm"))
    assert "mine" in cdm._repr_html_()
    assert "cdm" in cdm._repr_html_()
    differences = coflash.compare(none, cdm)
    assert "<td>cooperation.name</td>" in differences._repr_html_()
    frame = differences.table().to_polars()
    copies = frame.filter(pl.col("measure") == "gc_copies_pages")
    assert copies["none"][0] == none.metrics.gc_copies_pages
    assert copies["cdm.change"][0] < 0

    # Numbers become frames; the error of an unknown name lists the existing ones.
    course = cdm.series().to_pandas()
    assert course["host_writes_pages"].sum() == cdm.metrics.host_writes_pages
    with pytest.raises(coflash.CoflashError, match='did you mean "host_writes_pages"'):
        cdm.series()["host_write_pages"]

    # A sweep over the same frame, as a table, as SQL, as a frame.
    swept = coflash.sweep(
        {**device, "cooperation": "cdm"}, {"cache.size": ["1%", "5%", "20%"]}, trace, out="results/sizes", seeds=2
    )
    assert "<td>20%</td>" in swept._repr_html_()
    assert "<td>cdm" not in swept._repr_html_()
    assert len(swept.results.to_polars()) == 6
    # Sizes and times are numbers, with their unit in the name.
    assert swept.results.to_polars().schema["timing.page_program_ns"] == pl.Int64
    assert swept.table("waf_host").to_polars()["cache.size_share"].to_list() == [0.01, 0.05, 0.2]
    in_bytes = swept.results.sql('select distinct "cache.size_bytes" = 4096 * "cache.capacity_pages" as same from runs')
    assert list(in_bytes["same"]) == [True]
    means = swept.results.sql('select "cache.size", avg(waf_host) as waf from runs group by 1 order by 2')
    assert list(means["cache.size"]) == ["20%", "5%", "1%"]
    assert "mine" in coflash.Scenario.from_dict(device)._repr_html_()
    first = swept.results.runs[0]
    assert swept.results[first].metrics.requests == 20_000
    with pytest.raises(coflash.CoflashError, match="the name of a run is allowed"):
        swept.results[0]  # type: ignore[index]
