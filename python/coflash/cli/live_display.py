"""The displays of `coflash run --live` and `coflash serve --live`: the measures so far, with their courses."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

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


def _grown(path: str, now: _Values, before: _Values) -> float:
    """Return the increase of a count; after a power cut, since power on."""
    count = now.get(path) or 0.0
    grown = count - (before.get(path) or 0.0)
    return grown if grown >= 0 else count


def _share(above: Sequence[str], below: Sequence[str], most: float = math.inf) -> _Reading:
    """Read the growth of counts, by the beginnings of their names, over that of others."""

    def read(now: _Values, before: _Values, _: float) -> float | None:
        upper, lower = (
            sum(_grown(path, now, before) for path in now if path.startswith(tuple(names))) for names in (above, below)
        )
        return min(upper / lower, most) if lower else None

    return read


def _by_bytes(now: _Values, _: _Values, __: float) -> float | None:
    """Read write amplification by bytes, where it reads unlike that by host writes."""
    value = now.get("waf_media")
    return value if show(value, "ratio") != show(now.get("waf_host"), "ratio") else None


_AMPLIFICATION: _Rows = {
    "write amplification": ("ratio", _level("waf_host")),
    "write amplification, by bytes": ("ratio", _by_bytes),
}
_SPARED = ["gc_drops_pages", "gc_spared_pages"]
_OF_A_PAGE: _Rows = {
    "write amplification": ("ratio", _share(["programs_pages."], ["host_writes_pages"])),
    "copies spared, of what GC met": ("share", _share(_SPARED, [*_SPARED, "gc_copies_pages"])),
    # An operation counts when it is issued: clients that outrun the device issue more than the time holds.
    "busy dies": ("share", _share(["busy_ns"], ["simulated_ns"], most=1.0)),
    "mean response of the server": ("ns", _share(["served.responses_ns"], ["served.requests"])),
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
    "cache hits": ("share", _share(["cache.hits_pages"], ["cache.hits_pages", "cache.misses_pages"])),
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
        lines = {label: sparkline(self.history[label], _LINE_WIDTH) for label in self._now}
        rows = ((Cell(label, "dim"), text, Cell(lines[label], "dim")) for label, text in self.texts())
        return TextTable.of(["", "", ""], rows, "lrl")


class Tiles:
    """The numbers of a served device for its page: now, over the last minute, and their courses."""

    def __init__(self) -> None:
        self._now, self._minute = View(_OF_A_PAGE), View(_OF_A_PAGE, 60.0)
        self._requests = self._responses_ns = 0.0

    def take(self, values: Mapping[str, float]) -> list[dict[str, Any]]:
        """Take measures, as `coflash.device.Served.measured` returns them; returns what is known."""
        # The load is that since the last call.
        requests = values.get("load.requests", 0.0)
        self._requests += requests
        self._responses_ns += requests * values.get("load.response_mean_ns", 0.0)
        served = {"served.requests": self._requests, "served.responses_ns": self._responses_ns}
        busy_ns = values.get("die_utilisation", 0.0) * values.get("simulated_ns", 0.0)
        for view in (self._now, self._minute):
            view.show({**values, **served, "busy_ns": busy_ns})
        now, minute = dict(self._now.texts()), dict(self._minute.texts())
        return [
            {"label": name, "now": now.get(name, "–"), "minute": minute.get(name, "–"), "course": [*course]}
            for name, course in self._now.history.items()
            if now
        ]
