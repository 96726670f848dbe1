"""The displays of `coflash run --live` and `coflash serve --live`: speed, and the measures so far."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
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

_ROWS: tuple[tuple[str, str, Unit], ...] = (
    ("write amplification", "waf_host", "ratio"),
    ("write amplification, by bytes", "waf_media", "ratio"),
    ("response, mean", "response_mean_ns", "ns"),
    ("response, p99", "response_p99_ns", "ns"),
)


def _bytes_differ(values: Mapping[str, float | None]) -> bool:
    """Whether write amplification by bytes reads unlike that by host writes."""
    return show(values.get("waf_media"), "ratio") != show(values.get("waf_host"), "ratio")


class _View:
    """A state as text: in place on a terminal, line by line in a log."""

    def __init__(self, label: str, console: Console, names: Iterable[str]) -> None:
        self._label, self.console = label, console
        self._history: dict[str, deque[float]] = {name: deque(maxlen=_HISTORY) for name in names}
        self._due = time.monotonic() + _SECONDS_BETWEEN_LINES

    def _take(self, values: Mapping[str, float | None], at: float) -> None:
        """Keep measures for their courses; print a line in a log, if that is due."""
        for name, history in self._history.items():
            if (value := values.get(name)) is not None:
                history.append(value)
        if not self.console.is_terminal and at >= self._due:
            self._due = at + _SECONDS_BETWEEN_LINES
            self.console.print(self.line(), soft_wrap=True)

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        """Yield the labels of the measures, their values as text, and their names."""
        raise NotImplementedError

    def line(self) -> str:
        """Return the state in one line."""
        return " · ".join((self._label, *(f"{label} {text}" for label, text, _ in self._rows())))

    def _table(self, *first: tuple[str, str, str]) -> TextTable:
        """Make a table of some rows, and of the measures with their courses."""
        table = TextTable(["", "", ""], "lrl")
        rows = ((label, text, sparkline(self._history[name], _LINE_WIDTH)) for label, text, name in self._rows())
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
        super().__init__(label, console, [name for _, name, _ in _ROWS])
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
        self._take(so_far, time.monotonic())

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
            parts += [f"{label} {text}" for label, text, _ in self._rows()]
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

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        values: Mapping[str, float | None] = self._so_far or {}
        for label, name, unit in _ROWS:
            if name != "waf_media" or _bytes_differ(values):
                yield label, show(values.get(name), unit), name

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


_Reading = Callable[[Mapping[str, float], Mapping[str, float], float], float | None]
"""A measured number, now and some seconds before."""


def _level(path: str) -> _Reading:
    return lambda now, _, __: now.get(path)


def _pace(path: str) -> _Reading:
    return lambda now, before, seconds: _grown(path, now, before) / seconds if path in now else None


def _hits(now: Mapping[str, float], before: Mapping[str, float], _: float) -> float | None:
    hits, misses = (_grown(f"cache.{each}_pages", now, before) for each in ("hits", "misses"))
    return hits / (hits + misses) if hits + misses else None


def _grown(path: str, now: Mapping[str, float], before: Mapping[str, float]) -> float:
    """Return the increase of a count; after a power cut, since power on."""
    grown = now.get(path, 0) - before.get(path, 0)
    return grown if grown >= 0 else now[path]


_SERVED_ROWS: Mapping[str, tuple[Unit, _Reading]] = {
    "requests a second": ("1/s", lambda now, _, seconds: now.get("load.requests", 0) / seconds),
    "queue depth": ("", _level("load.queue_depth")),
    "response of the server, mean": ("ns", _level("load.response_mean_ns")),
    "response of the server, p99": ("ns", _level("load.response_p99_ns")),
    "emulated response, p99": ("ns", _level("response_ns.all.p99")),
    "write amplification": ("ratio", _level("waf_host")),
    "write amplification, by bytes": ("ratio", lambda now, _, __: now.get("waf_media") if _bytes_differ(now) else None),
    "cache hits": ("share", _hits),
    "GC copies a second": ("1/s", _pace("gc_copies_pages")),
    "GC drops a second": ("1/s", _pace("gc_drops_pages")),
}
"""The displayed values of a served device, by their labels."""


class ServedView(_View):
    """The state of a served device."""

    def __init__(self, label: str, console: Console) -> None:
        super().__init__(label, console, _SERVED_ROWS)
        self._before: tuple[float, Mapping[str, float]] | None = None
        self._now: dict[str, float | None] = {}

    def show(self, values: Mapping[str, float]) -> None:
        """Take measures, as `coflash.device.Served.measured` returns them."""
        at = time.monotonic()
        if self._before is not None:
            then, before = self._before
            self._now = {label: read(values, before, at - then) for label, (_, read) in _SERVED_ROWS.items()}
            self._take(self._now, at)
        self._before = at, values

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        for label, value in self._now.items():
            if value is not None:
                yield label, show(value, _SERVED_ROWS[label][0]), label
