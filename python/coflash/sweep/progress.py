"""Progress of a sweep: one bar on a terminal, a line for each run in a log."""

from __future__ import annotations

import time
from typing import NamedTuple

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from coflash.quantity import agreed, counted
from coflash.results.store import Failure
from coflash.sweep.finding import say
from coflash.sweep.plan import Pace, Point, Ran, alike


class Warming(NamedTuple):
    """The use of shared warm devices."""

    devices: int
    """The number of devices that were preconditioned, on all workers."""
    runs: int
    """The number of runs that started from a device of another run."""
    seconds_saved: float
    """The processor time that these runs would have spent on preconditioning."""

    @property
    def said(self) -> str:
        """The savings in a line; empty if there are none."""
        if not (self.devices and self.runs):
            return ""
        devices, runs = counted(self.devices, "device"), counted(self.runs, "more run")
        return say("warmed", devices=devices, runs=runs, seconds=span(self.seconds_saved))

    def with_run(self, ran: Ran) -> Warming:
        """Return the same with one more run."""
        if ran.saved_seconds is not None:
            return Warming(self.devices, self.runs + 1, self.seconds_saved + ran.saved_seconds)
        return self._replace(devices=self.devices + ran.has_warmed)


class Watch:
    """A counter of runs that shows their progress and estimates the remaining time.

    Args:
        console: The console to show it on; None for no display.
        runs: The number of all runs.
        pace: The pace of a question of which these are some runs.
    """

    def __init__(self, console: Console | None, runs: int, pace: Pace | None = None) -> None:
        self.runs, self.from_before, self.redone, self.ran, self.failures = runs, 0, 0, 0, list[Failure]()
        self._console = console or Console(quiet=True)
        self.warming, self._busy, self._pace = Warming(0, 0, 0.0), 0, pace or Pace()
        self._told, self._before = self._pace.told, len(self._pace.told)
        self._whole, self._is_part = " for the whole search, at least" if self._pace.runs > 0 else "", pace is not None
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[state]}", markup=False, style="progress.data.speed"),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
            refresh_per_second=2,
        )
        self._task = self._bar.add_task("sweep", total=runs, state="")

    def __enter__(self) -> Watch:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._bar.stop()
        if 0 < (reasons := len(self._told) - self._before) < (failed := len(self.failures)):
            self.say(f"failed: {failed - reasons} more for the same {'reason' if reasons == 1 else 'reasons'}")
        if kind is not None and issubclass(kind, KeyboardInterrupt):
            done = counted(self._pace.ran + self._pace.before, "run")
            self.say(
                say("stopped search", runs=done)
                if self._is_part
                else say("stopped", settled=self.settled, runs=self.runs)
            )

    @property
    def settled(self) -> int:
        """The number of finished runs, those of earlier sweeps included."""
        return self.from_before + self.ran

    def kept(self, runs: int = 1) -> None:
        """Count runs of an earlier sweep."""
        self.from_before += runs
        self._pace.runs -= runs
        self._pace.before += runs
        if self._whole:
            self._pace.unsaid += runs
        elif runs and not self._console.is_terminal:
            self.say(say("there", count=runs, runs=self.runs, verb=agreed(runs, "is")))
        self._show()

    def outdated(self, runs: int) -> None:
        """Count and report runs that an earlier revision of results left."""
        self.redone = runs
        if runs:
            verb = agreed(runs, "is")
            self.say(f"{runs} of these runs {verb} there from an earlier revision of results, and {verb} done anew")

    def under_way(self, runs: int) -> None:
        """Set the number of current runs."""
        self._busy = runs
        self._pace.begun = self._pace.begun or time.monotonic()
        self._show()

    def done(self, label: str, ran: Ran) -> None:
        """Count a finished run."""
        self.ran += 1
        self._pace.ran += 1
        self._busy -= bool(self._busy)
        self.warming = self.warming.with_run(ran)
        for sentence in ran.told:
            self.say(f"{label}: {sentence}")
        if not (self._console.quiet or self._console.is_terminal):
            if before := self._pace.said_before():
                self.say(before)
            self.say(f"{self._count()} {label}{self._left()}")
        self._show()

    def failed(self, failure: Failure) -> None:
        """Count and report a failed run; each reason once, whatever its numbers."""
        self.failures.append(failure)
        if (reason := alike(failure.error)) not in self._told:
            self._told.add(reason)
            text = Text(f"failed: {failure.label}: {failure.error}", style="red")
            self._console.print(text, soft_wrap=True, highlight=False)
        self._show()

    def refused(self, point: Point) -> None:
        """Report a point that is not a valid scenario."""
        self.failed(Failure("", Point(point.values).label, point.refused))

    def _show(self) -> None:
        state = f"{self._count()} runs · {self._busy} under way{self._left()}"
        self._bar.update(self._task, completed=self.settled + len(self.failures), state=state)

    def _count(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"{self.settled + len(self.failures)}/{self.runs}{failed}"

    def _left(self) -> str:
        seconds = self._pace.seconds_left(self.runs - self.settled - len(self.failures), self._busy)
        return "" if not seconds else f" · {span(seconds)} left{self._whole}"

    def say(self, line: str) -> None:
        """Show a line above the bar."""
        self._console.print(Text(line, style="dim"), soft_wrap=True, highlight=False)


def span(seconds: float) -> str:
    """Show a duration in words."""
    if seconds < 90:
        return f"{seconds:.2g} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
