"""The displays of `coflash run --live` and `coflash serve --live`: the measures so far, with their courses."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping

from coflash.quantity import Unit, show
from coflash.text_table import Cell, TextTable, sparkline

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
    "cache hits": ("share", _hits),
    "GC copies a second": ("1/s", _pace("gc_copies_pages")),
    "GC drops a second": ("1/s", _pace("gc_drops_pages")),
}


class View:
    """The measures so far: as text in one line, on a terminal a table with their courses."""

    def __init__(self, rows: _Rows) -> None:
        self._read = rows
        self._now: dict[str, float] = {}
        self._history: dict[str, deque[float]] = {name: deque(maxlen=_HISTORY) for name in rows}
        self._taken: deque[tuple[float, _Values]] = deque()

    def show(self, values: _Values) -> None:
        """Take measures; what is a pace is known from the second time on."""
        at = time.monotonic()
        self._taken.append((at, values))
        while len(self._taken) > 2 and at - self._taken[1][0] >= _SECONDS_OF_PACE:
            self._taken.popleft()
        then, before = self._taken[0]
        if at == then:
            return
        known = {label: read(values, before, at - then) for label, (_, read) in self._read.items()}
        self._now = {label: value for label, value in known.items() if value is not None}
        for label, value in self._now.items():
            self._history[label].append(value)

    def _texts(self) -> Iterator[tuple[str, str]]:
        yield from ((label, show(value, self._read[label][0])) for label, value in self._now.items())

    def __str__(self) -> str:
        return " · ".join(map(" ".join, self._texts()))

    def __rich__(self) -> TextTable:
        table = TextTable(["", "", ""], "lrl")
        for label, text in self._texts():
            table.add(Cell(label, "dim"), text, Cell(sparkline(self._history[label], _LINE_WIDTH), "dim"))
        return table
