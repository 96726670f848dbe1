"""The displays of `coflash run --live` and `coflash serve --live`: speed, and the measures so far."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TypeVar

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from coflash.measures.record import SoFar
from coflash.quantity import Unit, counted, show
from coflash.text_table import Cell, TextTable, sparkline

_SECONDS_BETWEEN_LINES = 5.0
_SECONDS_OF_PACE = 2.0
_HISTORY = 200
_LINE_WIDTH = 32

_Values = Mapping[str, float | None]
_Reading = Callable[[_Values, _Values, float], float | None]
"""A measured number, now and some seconds before."""
_Rows = Mapping[str, tuple[Unit, _Reading]]
"""The displayed values, by their labels."""


def _level(path: str) -> _Reading:
    return lambda now, _, __: now.get(path)


def _pace(path: str) -> _Reading:
    return lambda now, before, seconds: _grown(path, now, before) / seconds if path in now else None


def _hits(now: _Values, before: _Values, _: float) -> float | None:
    hits, misses = (_grown(f"cache.{each}_pages", now, before) for each in ("hits", "misses"))
    return hits / (hits + misses) if hits + misses else None


def _grown(path: str, now: _Values, before: _Values) -> float:
    """Return the increase of a count; after a power cut, since power on."""
    count = now.get(path) or 0.0
    grown = count - (before.get(path) or 0.0)
    return grown if grown >= 0 else count


def _by_bytes(now: _Values, _: _Values, __: float) -> float | None:
    """Read write amplification by bytes, where it reads unlike that by host writes."""
    value = now.get("waf_media")
    return value if show(value, "ratio") != show(now.get("waf_host"), "ratio") else None


_AMPLIFICATION: _Rows = {
    "write amplification": ("ratio", _level("waf_host")),
    "write amplification, by bytes": ("ratio", _by_bytes),
}
_OF_A_RUN: _Rows = {
    **_AMPLIFICATION,
    "response, mean": ("ns", _level("response_mean_ns")),
    "response, p99": ("ns", _level("response_p99_ns")),
}
_OF_A_DEVICE: _Rows = {
    "requests a second": ("1/s", lambda now, _, seconds: (now.get("load.requests") or 0.0) / seconds),
    "queue depth": ("", _level("load.queue_depth")),
    "response of the server, mean": ("ns", _level("load.response_mean_ns")),
    "response of the server, p99": ("ns", _level("load.response_p99_ns")),
    "emulated response, p99": ("ns", _level("response_ns.all.p99")),
    **_AMPLIFICATION,
    "cache hits": ("share", _hits),
    "GC copies a second": ("1/s", _pace("gc_copies_pages")),
    "GC drops a second": ("1/s", _pace("gc_drops_pages")),
}


class _View:
    """A state as text: in place on a terminal, line by line in a log."""

    def __init__(self, label: str, console: Console, rows: _Rows) -> None:
        self._label, self.console, self._read = label, console, rows
        self._now: dict[str, float | None] = {}
        self._history: dict[str, deque[float]] = {name: deque(maxlen=_HISTORY) for name in rows}
        self._due = time.monotonic() + _SECONDS_BETWEEN_LINES

    def _take(self, values: _Values, before: _Values, seconds: float, at: float) -> None:
        """Take measures, and those of some seconds before; print a line in a log, if that is due."""
        for label, (_, read) in self._read.items():
            self._now[label] = read(values, before, seconds)
            if (value := self._now[label]) is not None:
                self._history[label].append(value)
        if not self.console.is_terminal and at >= self._due:
            self._due = at + _SECONDS_BETWEEN_LINES
            self.console.print(self.line(), soft_wrap=True)

    def _rows(self) -> Iterator[tuple[str, str]]:
        """Yield the labels of the measures that are known, and their values as text."""
        for label, value in self._now.items():
            if value is not None:
                yield label, show(value, self._read[label][0])

    def line(self) -> str:
        """Return the state in one line."""
        return " · ".join((self._label, *(" ".join(row) for row in self._rows())))

    def _table(self, *first: tuple[str, str, str]) -> TextTable:
        """Make a table of some rows, and of the measures with their courses."""
        table = TextTable(["", "", ""], "lrl")
        rows = ((label, text, sparkline(self._history[label], _LINE_WIDTH)) for label, text in self._rows())
        for label, text, course in (*first, *rows):
            table.add(Cell(label, "dim"), text, Cell(course, "dim"))
        return table

    def __rich__(self) -> RenderableType:
        return Group(Text(self._label, style="bold"), self._table())


_Any = TypeVar("_Any", bound=_View)


@contextmanager
def displayed(view: _Any) -> Iterator[_Any]:
    """Show a view while its block lasts; the last display stays on the screen."""
    with Live(view, console=view.console, refresh_per_second=8) if view.console.is_terminal else nullcontext():
        yield view


class View(_View):
    """The state of a run."""

    def __init__(self, label: str, console: Console) -> None:
        super().__init__(label, console, _OF_A_RUN)
        self._phase = "opening"
        self._fraction: float | None = None
        self._phase_begun = 0.0
        self._requests = 0
        self._phase_started = time.monotonic()
        self._pace: deque[tuple[float, int]] = deque()
        self._so_far: SoFar | None = None

    def progress(self, phase: str, fraction: float | None, requests: int) -> None:
        """Set the phase, its finished share, and the number of requests so far."""
        now = time.monotonic()
        if phase != self._phase:
            self._phase, self._phase_started, self._phase_begun = phase, now, fraction or 0.0
            self._pace.clear()
        self._fraction, self._requests = fraction, requests
        self._pace.append((now, requests))
        while now - self._pace[0][0] > _SECONDS_OF_PACE and len(self._pace) > 2:
            self._pace.popleft()

    def measured(self, so_far: SoFar) -> None:
        """Set the measures so far."""
        self._so_far = so_far
        self._take(so_far, {}, 1.0, time.monotonic())

    @property
    def requests_per_second(self) -> float | None:
        """The pace of the last seconds."""
        if len(self._pace) < 2:
            return None
        (before, first), (now, last) = self._pace[0], self._pace[-1]
        return (last - first) / (now - before) if now > before else None

    def line(self) -> str:
        """Return the state in one line."""
        done = "" if self._fraction is None else f" {self._fraction:.0%}"
        parts = [f"{self._label} · {self._phase}{done}", f"{counted(self._requests, 'request')}, {self._pace_text()}"]
        if self._so_far is not None:
            parts.append(f"{show(self._so_far.simulated_ns, 'ns')} simulated")
            parts += [" ".join(row) for row in self._rows()]
        return " · ".join(parts)

    def __rich__(self) -> RenderableType:
        head = Table.grid(padding=(0, 2))
        left = self._seconds_left()
        head.add_row(
            Text(f"{self._label} · {self._phase}", style="bold"),
            ProgressBar(total=1.0, completed=self._fraction or 0.0, width=24, pulse=self._fraction is None),
            Text("" if self._fraction is None else f"{self._fraction:.0%}"),
            Text("" if left is None else f"{left:.0f} s left", style="dim"),
        )
        simulated = None if self._so_far is None else self._so_far.simulated_ns
        pace = ("simulating", self._pace_text(), f"{self._requests:,} so far")
        return Group(head, self._table(pace, ("simulated time", show(simulated, "ns"), self._speed(simulated))))

    def _pace_text(self) -> str:
        unit = "pages" if self._phase == "precondition" else "requests"
        pace = self.requests_per_second
        if pace is None:
            return "–"
        return f"{pace / 1e6:.2f} M {unit}/s" if pace >= 1e6 else f"{pace / 1e3:.0f} k {unit}/s"

    def _speed(self, simulated_ns: int | None) -> str:
        elapsed = time.monotonic() - self._phase_started
        return f"{simulated_ns / 1e9 / elapsed:,.1f} × real time" if simulated_ns and elapsed > 0.3 else ""

    def _seconds_left(self) -> float | None:
        elapsed = time.monotonic() - self._phase_started
        if not self._fraction or self._fraction <= self._phase_begun or elapsed < 0.5:
            return None
        return elapsed * (1 - self._fraction) / (self._fraction - self._phase_begun)


class ServedView(_View):
    """The state of a served device."""

    def __init__(self, label: str, console: Console) -> None:
        super().__init__(label, console, _OF_A_DEVICE)
        self._before: tuple[float, Mapping[str, float]] | None = None

    def show(self, values: Mapping[str, float]) -> None:
        """Take measures, as `coflash.device.Served.measured` returns them."""
        at = time.monotonic()
        if self._before is not None:
            then, before = self._before
            self._take(values, before, at - then, at)
        self._before = at, values
