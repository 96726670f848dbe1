from __future__ import annotations

import io
import re
from types import SimpleNamespace

import pytest
from rich.console import Console

from coflash.runs import progress
from coflash.runs.progress import Display

STANDING = SimpleNamespace(monotonic=lambda: 0.0)
"""A clock that stands still."""


def display(terminal: bool, runs: int) -> tuple[Display, io.StringIO]:
    written = io.StringIO()
    return Display(Console(file=written, force_terminal=terminal, width=80, no_color=True), runs), written


def test_a_log_gets_a_line_for_each_run_and_now_and_then_one_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.0)
    monkeypatch.setattr(progress, "time", STANDING)
    shown, written = display(terminal=False, runs=2)
    with shown:
        for label in ("none", "cdm [x]"):
            with shown.run(label) as report:
                report("replay", 0.5, 200_000)
    assert written.getvalue().splitlines() == [
        "1/2 none · replay 50% · 200,000 requests",
        "1/2 none · 0.0 s",
        "2/2 cdm [x] · replay 50% · 200,000 requests",
        "2/2 cdm [x] · 0.0 s",
    ]


def test_a_terminal_gets_a_bar_that_fits_and_is_gone_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "time", STANDING)
    shown, written = display(terminal=True, runs=9)
    with shown, shown.run("none, [128 MiB]") as report:
        report("fill", None, 0)
        report("replay", 0.25, 123_456)
        shown._bars.refresh()
    lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written.getvalue()))
    (bar, *_) = [line for line in lines if "123,456 requests" in line]
    assert bar.startswith("1/9 none, [128 MiB] · replay ")
    assert len(bar) <= 80
    assert lines[-2:] == ["1/9 none, [128 MiB] · 0.0 s", ""]
