"""What is shown while a run goes on."""

from __future__ import annotations

import io
import re
from collections import deque

import pytest
from rich.console import Console

from coflash.cli import live_display
from coflash.runs import progress
from coflash.text_table import sparkline


def test_a_run_shows_its_phase_share_and_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.0)
    for is_terminal in (False, True):
        written = io.StringIO()
        with progress.shown("small", Console(file=written, force_terminal=is_terminal, width=80)) as report:
            report("replay", 0.5, 1_000)
        shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written.getvalue())
        assert is_terminal or shown.splitlines()[0] == "small · replay 50% · 1,000 requests"
        assert not is_terminal or "small · replay" in shown


def test_a_served_device_shows_what_gc_does_since_power_on(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 100, 2))
    monkeypatch.setattr("coflash.cli.live_display.time.monotonic", lambda: next(clock))
    view = live_display.View(1.0)
    for pages in (1_000.0, 3_000.0, 1_000.0):
        counts = {"host_writes_pages": pages, "programs_pages.host": pages, "programs_pages.gc": pages / 2}
        view.show({**counts, "gc_copies_pages": pages / 2, "gc_drops_pages": pages / 2})
    assert dict(view.texts())["write amplification"] == "1.500"
    assert dict(view.texts())["copies spared, of what GC met"] == "50.0\N{NO-BREAK SPACE}%", "after a power cut, too"
    assert len(view.history["write amplification"]) == 2


def test_sparklines_are_as_wide_as_they_may_be() -> None:
    assert sparkline(deque([1.0]), 8) == ""
    assert sparkline(deque([0.0, 1.0]), 8) == "▁█"
    assert len(sparkline(deque(map(float, range(100))), 8)) == 8
