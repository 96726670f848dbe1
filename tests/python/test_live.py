from __future__ import annotations

import io
import time
from collections import deque
from pathlib import Path

import pytest
from rich.console import Console

import coflash
from coflash.cli import live_display
from coflash.cli.live_display import ServedView, View, displayed
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


def fed(terminal: bool) -> tuple[View, io.StringIO]:
    written = io.StringIO()
    return View("small", Console(file=written, force_terminal=terminal, width=100, no_color=True)), written


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


def test_a_terminal_shows_pace_time_amplification_and_latency() -> None:
    view, written = fed(terminal=True)
    view.progress("precondition", 0.5, 10_000)
    view.progress("replay", 0.25, 0)
    view._pace[0] = (view._pace[0][0] - 1.0, 0)
    view.progress("replay", 0.5, 350_000)
    for waf in (1.0, 2.0, 2.5):
        view.measured(coflash.SoFar({**SO_FAR, "waf_host": waf}))
    view.console.print(view)
    text = written.getvalue()
    for part in ("small · replay", "50%", "requests/s", "350,000 so far", "2.50 s", "2.500", "120 µs", "900 µs", "▁▆█"):
        assert part in text, part


def test_a_log_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_display, "_SECONDS_BETWEEN_LINES", 0.0)
    written = io.StringIO()
    with displayed(View("small", Console(file=written, width=80))) as view:
        view.progress("replay", 0.5, 1_000)
        view.measured(SO_FAR)
    (line,) = written.getvalue().splitlines()
    assert line == (
        "small · replay 50% · 1,000 requests, – · 2.50 s simulated · write amplification 2.500 · "
        "response, mean 120 µs · response, p99 900 µs"
    )


def test_a_served_device_shows_its_load_and_what_gc_does(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 100, 2))
    monkeypatch.setattr("coflash.cli.live_display.time.monotonic", lambda: next(clock))
    written = io.StringIO()
    view = ServedView("disk", Console(file=written, force_terminal=True, width=100, no_color=True))
    load = {"load.requests": 40_000.0, "load.queue_depth": 7.25, "load.response_mean_ns": 50e3}
    for copies in (1_000, 3_000, 1_000):
        hits = {"cache.hits_pages": 3.0 * copies, "cache.misses_pages": 1.0 * copies}
        view.show({**load, **hits, "waf_host": 1.5, "gc_copies_pages": float(copies)})
    assert view.line() == (
        "disk · requests a second 20,000 · queue depth 7.25 · response of the server, mean 50 µs · "
        "write amplification 1.500 · cache hits 75.0\N{NO-BREAK SPACE}% · GC copies a second 500"
    ), "what came since power on, after a power cut"
    view.console.print(view)
    assert "GC copies a second" in written.getvalue()
    assert "█▁" in written.getvalue()


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
