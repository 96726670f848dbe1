"""The displays of `coflash run --live` and `coflash serve --live`: speed, and the measures so far."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from coflash.measures.record import SoFar
from coflash.quantity import Unit, counted, show

_SECONDS_BETWEEN_LINES = 5.0
_SECONDS_OF_PACE = 2.0
_HISTORY = 200
_LINE_WIDTH = 32
_BARS = "▁▂▃▄▅▆▇█"

_ROWS: tuple[tuple[str, str, Unit], ...] = (
    ("write amplification", "waf_host", "ratio"),
    ("write amplification, by bytes", "waf_media", "ratio"),
    ("response, mean", "response_mean_ns", "ns"),
    ("response, p99", "response_p99_ns", "ns"),
)


def _bytes_differ(values: Mapping[str, float | None]) -> bool:
    """Whether write amplification by bytes reads unlike that by host writes."""
    return show(values.get("waf_media"), "ratio") != show(values.get("waf_host"), "ratio")


@contextmanager
def displayed(label: str, console: Console) -> Iterator[View]:
    """Show one run; yields the callbacks for the core. The last display stays on the screen."""
    view = View(label, console)
    with _in_place(view, console):
        yield view


@contextmanager
def served(label: str, console: Console) -> Iterator[ServedView]:
    """Show one served device; yields the callback for its measures. The last display stays on the screen."""
    view = ServedView(label, console)
    with _in_place(view, console):
        yield view


def _in_place(view: RenderableType, console: Console) -> AbstractContextManager[object]:
    return Live(view, console=console, refresh_per_second=8) if console.is_terminal else nullcontext()


class View:
    """The state of a run as text: in place on a terminal, line by line in a log."""

    def __init__(self, label: str, console: Console) -> None:
        self._label = label
        self._console = console
        self._phase = "opening"
        self._fraction: float | None = None
        self._phase_begun = 0.0
        self._requests = 0
        self._started = self._phase_started = time.monotonic()
        self._due = self._started + _SECONDS_BETWEEN_LINES
        self._pace: deque[tuple[float, int]] = deque()
        self._so_far: SoFar | None = None
        self._history: dict[str, deque[float]] = {name: deque(maxlen=_HISTORY) for _, name, _ in _ROWS}

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
        for name, history in self._history.items():
            if so_far[name] is not None:
                history.append(so_far[name])
        if not self._console.is_terminal and time.monotonic() >= self._due:
            self._due = time.monotonic() + _SECONDS_BETWEEN_LINES
            self._console.print(self.line(), soft_wrap=True)

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
        body = _body()
        body.add_row("simulating", self._pace_text(), Text(f"{self._requests:,} so far", style="dim"))
        simulated = None if self._so_far is None else self._so_far.simulated_ns
        body.add_row("simulated time", show(simulated, "ns"), Text(self._speed(simulated), style="dim"))
        for label, text, name in self._rows():
            body.add_row(label, text, sparkline(self._history[name], _LINE_WIDTH))
        return Group(head, body)

    def _rows(self) -> Iterator[tuple[str, str, str]]:
        """Yield the labels of the measures, their values as text, and their names."""
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


class ServedView:
    """The state of a served device as text: in place on a terminal, line by line in a log."""

    def __init__(self, label: str, console: Console) -> None:
        self._label = label
        self._console = console
        self._before: tuple[float, Mapping[str, float]] | None = None
        self._now: dict[str, float | None] = {}
        self._history: dict[str, deque[float]] = {label: deque(maxlen=_HISTORY) for label in _SERVED_ROWS}
        self._due = time.monotonic() + _SECONDS_BETWEEN_LINES

    def show(self, values: Mapping[str, float]) -> None:
        """Take measures, as `coflash.device.Served.measured` returns them."""
        at = time.monotonic()
        if self._before is not None:
            then, before = self._before
            self._now = {label: read(values, before, at - then) for label, (_, read) in _SERVED_ROWS.items()}
            for label, value in self._now.items():
                if value is not None:
                    self._history[label].append(value)
            if not self._console.is_terminal and at >= self._due:
                self._due = at + _SECONDS_BETWEEN_LINES
                self._console.print(self.line(), soft_wrap=True)
        self._before = at, values

    def _rows(self) -> Iterator[tuple[str, str]]:
        """Yield the labels of the measures, and their values as text."""
        for label, value in self._now.items():
            if value is not None:
                yield label, show(value, _SERVED_ROWS[label][0])

    def line(self) -> str:
        """Return the state in one line."""
        return " · ".join((self._label, *(f"{label} {text}" for label, text in self._rows())))

    def __rich__(self) -> RenderableType:
        body = _body()
        for label, text in self._rows():
            body.add_row(label, text, sparkline(self._history[label], _LINE_WIDTH))
        return Group(Text(self._label, style="bold"), body)


def _body() -> Table:
    """Make an empty table of labels, values and their courses."""
    body = Table.grid(padding=(0, 2))
    body.add_column(style="dim", no_wrap=True)
    body.add_column(justify="right", no_wrap=True)
    body.add_column(style="cyan", no_wrap=True)
    return body


def sparkline(values: Iterable[float], width: int, low: float | None = None, high: float | None = None) -> str:
    """Draw values as a row of bars, from the lowest to the highest value unless other bounds are given."""
    shown = list(values)
    if len(shown) < 2:
        return ""
    if len(shown) > width:
        shown = [shown[place * (len(shown) - 1) // (width - 1)] for place in range(width)]
    low = min(shown) if low is None else low
    high = max(shown) if high is None else high
    span = high - low or 1.0
    return "".join(_BARS[min(int((value - low) / span * len(_BARS)), len(_BARS) - 1)] for value in shown)
