"""Progress of a run: a bar on a terminal, a line every few seconds in a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from coflash.terminal import errors

_SECONDS_BETWEEN_LINES = 5.0
_SECONDS_BEFORE_PACE = 0.3

Report = Callable[[str, float | None, int], None]
"""The callback of the core: the phase, its finished share (None: unknown), requests (while preconditioning: pages)."""


@contextmanager
def shown(label: str, console: Console | None = None) -> Iterator[Report]:
    """Show the progress of a run; yields the callback for the core. A line at the end gives the duration.

    Args:
        label: The name of the run.
        console: The console; the standard error stream if None.
    """
    console, start = console or errors(), time.monotonic()
    columns = TextColumn("{task.description}", markup=False), BarColumn(bar_width=16), _Requests()
    left = TimeRemainingColumn(compact=True)
    with Progress(*columns, left, console=console, transient=True, disable=not console.is_terminal) as bars:
        yield _bar(bars, label) if console.is_terminal else _lines(console, label)
    console.print(Text(f"{label} · {time.monotonic() - start:.1f} s", style="dim"))


def _bar(bars: Progress, label: str) -> Report:
    task, current = bars.add_task(label, total=None), ""

    def report(phase: str, fraction: float | None, requests: int) -> None:
        nonlocal current
        done = fraction or 0.0
        if phase != current:
            # Pace and remaining time are of one phase, from where it begins: a run may go on from a checkpoint.
            begins: Any = done
            bars.reset(task, description=f"{label} · {phase}", completed=begins, before=requests)
            current = phase
        bars.update(task, total=None if fraction is None else 1.0, completed=done, done=requests, unit=_unit(phase))

    return report


def _lines(console: Console, label: str) -> Report:
    due = time.monotonic() + _SECONDS_BETWEEN_LINES

    def report(phase: str, fraction: float | None, requests: int) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + _SECONDS_BETWEEN_LINES
            done = "" if fraction is None else f" {fraction:.0%}"
            console.print(Text(f"{label} · {phase}{done} · {requests:,} {_unit(phase)}"), soft_wrap=True)

    return report


class _Requests(ProgressColumn):
    """Requests so far, and requests per second."""

    def render(self, task: Task) -> Text:
        done = task.fields.get("done", 0)
        if not done:
            return Text()
        text = f"{done:,} {task.fields['unit']}"
        if task.elapsed and task.elapsed >= _SECONDS_BEFORE_PACE:
            pace = (done - task.fields["before"]) / task.elapsed
            text += f", {pace / 1e6:.1f} M/s" if pace >= 1e6 else f", {pace / 1e3:.0f} k/s"
        return Text(text, style="progress.data.speed", no_wrap=True)


def _unit(phase: str) -> str:
    return {"precondition": "pages", "states": "states"}.get(phase, "requests")
