from __future__ import annotations

import io
import re
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path

import pytest
from rich.console import Console

import coflash
from coflash.cli import live_display
from coflash.cli.live_display import OF_A_DEVICE, OF_A_RUN, View
from coflash.runs import progress
from coflash.text_table import sparkline

SO_FAR = coflash.SoFar(
    {
        "simulated_ns": 2_500_000_000,
        "host_writes_pages": 100,
        "programs_pages": 250,
        "waf_host": 2.5,
        "waf_media": 2.5,
        "response_mean_ns": 120_000.0,
        "response_p99_ns": 900_000,
    }
)


def fed(monkeypatch: pytest.MonkeyPatch, rows: live_display._Rows, *values: Mapping[str, float | None]) -> View:
    clock = iter(range(0, 100, 2))
    monkeypatch.setattr("coflash.cli.live_display.time.monotonic", lambda: next(clock))
    view = View(rows)
    for each in values:
        view.show(each)
    return view


def printed(view: View) -> str:
    written = io.StringIO()
    Console(file=written, width=100).print(view)
    return written.getvalue()


def small(requests: int) -> coflash.Scenario:
    return coflash.Scenario.load("demo").with_(
        {
            "flash.blocks_per_plane": 64,
            "workload.requests_max": requests,
            "workload.synthetic": {"generator": "uniform"},
        }
    )


def test_a_run_tells_what_it_has_measured_so_far() -> None:
    seen: list[coflash.SoFar] = []

    def measured(so_far: coflash.SoFar) -> None:
        seen.append(so_far)
        time.sleep(0.1)  # longer than the core waits between two reports: it reports whenever it could

    result = coflash.run(small(40_000), measured=measured)
    assert len(seen) > 2
    assert seen[0].waf_host is None
    assert seen[0].response_p99_ns is None
    last = seen[-1]
    assert 0 < last.simulated_ns <= result.metrics.simulated_ns
    assert last.waf_host == pytest.approx(last.programs_pages / last.host_writes_pages)
    assert last.response_mean_ns is not None
    assert [one.simulated_ns for one in seen] == sorted(one.simulated_ns for one in seen)
    assert coflash.run(small(40_000)).metrics == result.metrics


def test_what_a_callback_raises_ends_the_run() -> None:
    def stop(_: coflash.SoFar) -> None:
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        coflash.run(small(1_000_000), measured=stop)


def test_a_run_shows_speed_amplification_and_latency(monkeypatch: pytest.MonkeyPatch) -> None:
    so_far = [coflash.SoFar({**SO_FAR, "simulated_ns": 5 * 10**8 * at, "waf_host": at / 2}) for at in range(2, 6)]
    text = printed(fed(monkeypatch, OF_A_RUN, *so_far))
    for part in ("2.50 s", "second 0.25", "2.500", "120 µs", "900 µs", "▁▅█"):
        assert part in re.sub(" +", " ", text), part


def test_the_measures_stand_below_the_bar_and_at_the_end_of_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.0)
    view = fed(monkeypatch, OF_A_RUN, SO_FAR, SO_FAR)
    for is_terminal in (False, True):
        written = io.StringIO()
        with progress.shown("small", Console(file=written, force_terminal=is_terminal, width=80), view) as report:
            report("replay", 0.5, 1_000)
        shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written.getvalue())
        line = (
            "small · replay 50% · 1,000 requests · simulated time 2.50 s · simulated seconds a second 0 · "
            "write amplification 2.500 · response, mean 120 µs · response, p99 900 µs"
        )
        assert is_terminal or shown.splitlines()[0] == line
        assert not is_terminal or re.search(r"small · replay.*\n.*simulated time +2.50 s", shown), "it stays"


def test_a_served_device_shows_its_load_and_what_gc_does(monkeypatch: pytest.MonkeyPatch) -> None:
    load = {"load.requests": 40_000.0, "load.queue_depth": 7.25, "load.response_mean_ns": 50e3}
    values = [
        {
            **load,
            "cache.hits_pages": 3.0 * copies,
            "cache.misses_pages": copies,
            "waf_host": 1.5,
            "gc_copies_pages": copies,
        }
        for copies in (1_000.0, 3_000.0, 1_000.0)
    ]
    view = fed(monkeypatch, OF_A_DEVICE, *values)
    assert str(view) == (
        "requests a second 20,000 · queue depth 7.25 · response of the server, mean 50 µs · "
        "write amplification 1.500 · cache hits 75.0\N{NO-BREAK SPACE}% · GC copies a second 500"
    ), "what came since power on, after a power cut"
    assert "GC copies a second" in printed(view)
    assert "█▁" in printed(view)


def test_sparklines_are_as_wide_as_they_may_be() -> None:
    assert sparkline(deque([1.0]), 8) == ""
    assert sparkline(deque([0.0, 1.0]), 8) == "▁█"
    assert len(sparkline(deque(map(float, range(100))), 8)) == 8


def test_the_live_view_goes_with_a_saved_result(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from coflash.cli import app

    (tmp_path / "small.toml").write_text(small(2_000).to_toml(), encoding="utf-8")
    done = CliRunner().invoke(app, ["run", str(tmp_path / "small.toml"), "--live", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert coflash.Result.load(tmp_path / "out").metrics.requests == 2_000
