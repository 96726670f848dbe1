"""The displays of `coflash run --live` and `coflash serve --live`: the measures so far, with their courses."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from coflash.quantity import Unit, show
from coflash.text_table import Cell, TextTable, sparkline

_SECONDS_BETWEEN_LINES = 5.0
_SECONDS_OF_PACE = 1.0
_HISTORY = 200
_LINE_WIDTH = 32

_Values = Mapping[str, float | None]
_Reading = Callable[[_Values, _Values, float], float | None]
"""A measured number, now and some seconds before."""
_Rows = Mapping[str, tuple[Unit, _Reading]]
"""The displayed values, by their labels."""


def _level(path: str) -> _Reading:
    return lambda now, _, __: now.get(path)


def _pace(path: str, each: float = 1.0) -> _Reading:
    return lambda now, before, seconds: _grown(path, now, before) / each / seconds if path in now else None


def _grown(path: str, now: _Values, before: _Values) -> float:
    """Return the increase of a count; after a power cut, since power on."""
    count = now.get(path) or 0.0
    grown = count - (before.get(path) or 0.0)
    return grown if grown >= 0 else count


def _share(*above: str, below: Sequence[str]) -> _Reading:
    """Read the growth of counts, by the beginnings of their names, over that of others."""

    def read(now: _Values, before: _Values, _: float) -> float | None:
        sums = (sum(_grown(path, now, before) for path in now if path.startswith(tuple(of))) for of in (above, below))
        upper, lower = sums
        return upper / lower if lower else None

    return read


def _by_bytes(now: _Values, _: _Values, __: float) -> float | None:
    """Read write amplification by bytes, where it reads unlike that by host writes."""
    value = now.get("waf_media")
    return value if show(value, "ratio") != show(now.get("waf_host"), "ratio") else None


_AMPLIFICATION: _Rows = {
    "write amplification": ("ratio", _level("waf_host")),
    "write amplification, by bytes": ("ratio", _by_bytes),
}
_SPARED = ("gc_drops_pages", "gc_spared_pages")
_OF_A_PAGE: _Rows = {
    "write amplification": ("ratio", _share("programs_pages.", below=["host_writes_pages"])),
    "copies spared, of what GC met": ("share", _share(*_SPARED, below=[*_SPARED, "gc_copies_pages"])),
    "busy dies": ("share", _share("busy_ns", below=["simulated_ns"])),
    "mean response of the server": ("ns", _share("served.responses_ns", below=["served.requests"])),
}
OF_A_RUN: _Rows = {
    "simulated time": ("ns", _level("simulated_ns")),
    "simulated seconds a second": ("1/s", _pace("simulated_ns", 1e9)),
    **_AMPLIFICATION,
    "response, mean": ("ns", _level("response_mean_ns")),
    "response, p99": ("ns", _level("response_p99_ns")),
}
OF_A_DEVICE: _Rows = {
    "requests a second": ("1/s", lambda now, _, seconds: (now.get("load.requests") or 0.0) / seconds),
    "queue depth": ("", _level("load.queue_depth")),
    "response of the server, mean": ("ns", _level("load.response_mean_ns")),
    "response of the server, p99": ("ns", _level("load.response_p99_ns")),
    "emulated response, p99": ("ns", _level("response_ns.all.p99")),
    **_AMPLIFICATION,
    "cache hits": ("share", _share("cache.hits_pages", below=["cache.hits_pages", "cache.misses_pages"])),
    "GC copies a second": ("1/s", _pace("gc_copies_pages")),
    "GC drops a second": ("1/s", _pace("gc_drops_pages")),
}


class View:
    """The measures so far: as text in one line, on a terminal a table with their courses."""

    def __init__(self, rows: _Rows, seconds: float = _SECONDS_OF_PACE) -> None:
        self._read, self._seconds = rows, seconds
        self._now: dict[str, float] = {}
        self.history: dict[str, deque[float]] = {name: deque(maxlen=_HISTORY) for name in rows}
        self._taken: deque[tuple[float, _Values]] = deque()

    def show(self, values: _Values) -> None:
        """Take measures; what is a pace is known from the second time on."""
        at = time.monotonic()
        self._taken.append((at, values))
        while len(self._taken) > 2 and at - self._taken[1][0] >= self._seconds:
            self._taken.popleft()
        then, before = self._taken[0]
        if at == then:
            return
        known = {label: read(values, before, at - then) for label, (_, read) in self._read.items()}
        self._now = {label: value for label, value in known.items() if value is not None}
        for label, value in self._now.items():
            self.history[label].append(value)

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield the labels of what is known, and the values as text."""
        yield from ((label, show(value, self._read[label][0])) for label, value in self._now.items())

    def __str__(self) -> str:
        return " · ".join(map(" ".join, self.texts()))

    def __rich__(self) -> TextTable:
        table = TextTable(["", "", ""], "lrl")
        for label, text in self.texts():
            table.add(Cell(label, "dim"), text, Cell(sparkline(self.history[label], _LINE_WIDTH), "dim"))
        return table


class Tiles:
    """The numbers of a served device for a page: now, over the last minute, and their courses."""

    def __init__(self) -> None:
        self._now, self._minute = View(_OF_A_PAGE), View(_OF_A_PAGE, 60.0)
        self._served = {"served.requests": 0.0, "served.responses_ns": 0.0}

    def take(self, values: Mapping[str, float]) -> list[dict[str, Any]]:
        """Take measures, as `coflash.device.Served.measured` returns them; returns what is known."""
        requests = values.get("load.requests", 0.0)
        self._served["served.requests"] += requests
        self._served["served.responses_ns"] += requests * values.get("load.response_mean_ns", 0.0)
        busy_ns = values.get("die_utilisation", 0.0) * values.get("simulated_ns", 0.0)
        for view in (self._now, self._minute):
            view.show({**values, **self._served, "busy_ns": busy_ns})
        now, minute = dict(self._now.texts()), dict(self._minute.texts())
        tiles = ((name, now.get(name, "–"), minute.get(name, "–"), [*self._now.history[name]]) for name in _OF_A_PAGE)
        return [dict(zip(("label", "now", "minute", "course"), tile, strict=True)) for tile in tiles] if now else []


@contextmanager
def displayed(label: str, console: Console) -> Iterator[Callable[[_Values], None]]:
    """Show the measures of a served device while the block lasts, in place or, in a log, line by line.

    Yields what takes the measures, as `coflash.device.Served.measured` returns them.
    """
    view, due = View(OF_A_DEVICE), time.monotonic() + _SECONDS_BETWEEN_LINES

    def logged(values: _Values) -> None:
        nonlocal due
        view.show(values)
        if time.monotonic() >= due:
            due = time.monotonic() + _SECONDS_BETWEEN_LINES
            console.print(Text(f"{label} · {view}"), soft_wrap=True)

    if console.is_terminal:
        with Live(Group(Text(label, style="bold"), view), console=console, refresh_per_second=8):
            yield view.show
    else:
        yield logged
