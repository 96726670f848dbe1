from __future__ import annotations

import io
import re
from functools import partialmethod
from types import SimpleNamespace

import pytest
from rich.console import Console
from rich.progress import Progress

from coflash.results.store import Failure
from coflash.runs import progress
from coflash.runs.progress import shown
from coflash.sweep import plan
from coflash.sweep import progress as of_sweeps
from coflash.sweep.plan import Pace, Ran
from coflash.sweep.progress import Watch

STANDING = SimpleNamespace(monotonic=lambda: 0.0)
"""A clock that stands still."""


def console(terminal: bool) -> tuple[Console, io.StringIO]:
    written = io.StringIO()
    return Console(file=written, force_terminal=terminal, width=80, no_color=True), written


def test_a_log_gets_a_line_for_each_run_and_now_and_then_one_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.0)
    monkeypatch.setattr(progress, "time", STANDING)
    log, written = console(terminal=False)
    for label in ("none", "cdm [x]"):
        with shown(label, log) as report:
            report("replay", 0.5, 200_000)
    assert written.getvalue().splitlines() == [
        "none · replay 50% · 200,000 requests",
        "none · 0.0 s",
        "cdm [x] · replay 50% · 200,000 requests",
        "cdm [x] · 0.0 s",
    ]


def test_a_terminal_gets_a_bar_that_fits_and_is_gone_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "time", STANDING)
    monkeypatch.setattr(Progress, "update", partialmethod(Progress.update, refresh=True))
    terminal, written = console(terminal=True)
    with shown("none, [128 MiB]", terminal) as report:
        report("fill", None, 0)
        report("replay", 0.25, 123_456)
    lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written.getvalue()))
    (bar, *_) = [line for line in lines if "123,456 requests" in line]
    assert bar.startswith("none, [128 MiB] · replay ")
    assert len(bar) <= 80
    assert lines[-2:] == ["none, [128 MiB] · 0.0 s", ""]


def test_a_run_that_fails_ends_without_its_duration() -> None:
    log, written = console(terminal=False)
    with pytest.raises(KeyboardInterrupt), shown("none", log):
        raise KeyboardInterrupt
    assert written.getvalue() == ""


def test_the_time_left_is_that_of_all_runs_of_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(plan, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    log, written = console(terminal=False)
    pace = Pace(10, begun=0.0)
    for labels in (["a"], ["b", "c"]):
        with Watch(log, len(labels) + 1, pace) as watch:
            watch.kept()
            for label in labels:
                clock[0] += 5
                watch.done(label, Ran(None))
    assert written.getvalue().splitlines() == [
        "1 run is there from before",
        "2/2 a · 40 s left for the whole search, at least",
        "1 run is there from before",
        "2/3 b · 30 s left for the whole search, at least",
        "3/3 c · 25 s left for the whole search, at least",
    ]


def test_the_time_left_counts_what_is_under_way_and_not_what_came_before_the_first_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = SimpleNamespace(now=0.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(plan, "time", clock)
    monkeypatch.setattr(of_sweeps, "time", clock)
    log, written = console(terminal=False)
    pace, clock.now = Pace(20), 60.0  # a minute in which the trace was read
    with Watch(log, 20, pace) as watch:
        watch.under_way(4)
        clock.now += 10
        watch.done("a", Ran(None))
    # 2.5 runs in 10 s, the three under way half of them; what is left of these and of the 16 others takes 70 s.
    assert written.getvalue().splitlines() == ["1/20 a · 70 s left for the whole search, at least"]


def test_a_question_that_is_stopped_counts_the_runs_of_all_its_parts_and_tells_those_from_before_once() -> None:
    log, written = console(terminal=False)
    pace = Pace(10)
    for _ in range(3):
        with Watch(log, 1, pace) as watch:
            watch.kept()
    with pytest.raises(KeyboardInterrupt), Watch(log, 2, pace) as watch:
        watch.done("a", Ran(None))
        raise KeyboardInterrupt
    first, _, last = written.getvalue().splitlines()
    assert first == "3 runs are there from before"
    assert last == "stopped: 4 runs of the search are done and kept; the same command again does the rest"


def test_a_question_tells_each_reason_of_failures_once() -> None:
    log, written = console(terminal=False)
    pace = Pace(10)
    for reasons in (["2 blocks are too few"] * 3, ["3 blocks are too few"] * 2, ["1 block is too few", "no room"]):
        with Watch(log, len(reasons), pace) as watch:
            for reason in reasons:
                watch.failed(Failure("", "run", reason))
    assert written.getvalue().splitlines() == [
        "failed: run: 2 blocks are too few",
        "failed: 2 more for the same reason",
        "failed: run: 1 block is too few",
        "failed: run: no room",
    ]
