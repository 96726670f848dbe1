"""The display of `coflash run --live`: the speed of the simulation, and its measures so far."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from coflash.measures.record import SoFar
from coflash.quantity import Unit, show

_SECONDS_BETWEEN_LINES = 5.0
_SECONDS_OF_PACE = 2.0
_HISTORY = 200
_LINE_WIDTH = 32
_BARS = "▁▂▃▄▅▆▇█"

_ROWS: tuple[tuple[str, str, Unit], ...] = (
    ("write amplification", "waf_host", "ratio"),
    ("response, mean", "response_mean_ns", "ns"),
    ("response, p99", "response_p99_ns", "ns"),
)


@contextmanager
def displayed(label: str, console: Console) -> Iterator[View]:
    """Show one run; yields the callbacks for the core. The last display stays on the screen."""
    view = View(label, console)
    if not console.is_terminal:
        yield view
        return
    with Live(view, console=console, refresh_per_second=8):
        yield view


class View:
    """The state of a run as text: in place on a terminal, line by line in a log."""

    def __init__(self, label: str, console: Console) -> None:
        self._label = label
        self._console = console
        self._phase = "opening"
        self._fraction: float | None = None
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
            self._phase, self._phase_started = phase, now
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
            self._console.print(self.line(), highlight=False, markup=False, soft_wrap=True)

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
        parts = [f"{self._label} · {self._phase}{done}", f"{self._requests:,} requests, {self._pace_text()}"]
        if self._so_far is not None:
            parts.append(f"{show(self._so_far.simulated_ns, 'ns')} simulated")
            parts += [f"{label} {show(self._so_far[name], unit)}" for label, name, unit in _ROWS]
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
        body = Table.grid(padding=(0, 2))
        body.add_column(style="dim", no_wrap=True)
        body.add_column(justify="right", no_wrap=True)
        body.add_column(style="cyan", no_wrap=True)
        body.add_row("simulating", self._pace_text(), Text(f"{self._requests:,} so far", style="dim"))
        simulated = None if self._so_far is None else self._so_far.simulated_ns
        body.add_row("simulated time", show(simulated, "ns"), Text(self._speed(simulated), style="dim"))
        for label, name, unit in _ROWS:
            value = None if self._so_far is None else self._so_far[name]
            body.add_row(label, show(value, unit), sparkline(self._history[name], _LINE_WIDTH))
        return Group(head, body)

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
        if not self._fraction or elapsed < 0.5:
            return None
        return elapsed * (1 - self._fraction) / self._fraction


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
