"""The numbers on the page of `coflash serve --dashboard`: now, over the last minute, and their courses."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from coflash.quantity import Unit, show

_HISTORY = 200

_Values = Mapping[str, float | None]
_Reading = Callable[[_Values, _Values], float | None]
"""A measured number, now and some seconds before."""


def _grown(path: str, now: _Values, before: _Values) -> float:
    """Return the increase of a count; after a power cut, since power on."""
    count = now.get(path) or 0.0
    grown = count - (before.get(path) or 0.0)
    return grown if grown >= 0 else count


def _share(above: Sequence[str], below: Sequence[str], most: float = math.inf) -> _Reading:
    """Read the growth of counts, by the beginnings of their names, over that of others."""

    def read(now: _Values, before: _Values) -> float | None:
        upper, lower = (
            sum(_grown(path, now, before) for path in now if path.startswith(tuple(names))) for names in (above, below)
        )
        return min(upper / lower, most) if lower else None

    return read


_SPARED = ["gc_drops_pages", "gc_spared_pages"]
_ROWS: Mapping[str, tuple[Unit, _Reading]] = {
    "write amplification": ("ratio", _share(["programs_pages."], ["host_writes_pages"])),
    "copies spared, of what GC met": ("share", _share(_SPARED, [*_SPARED, "gc_copies_pages"])),
    # An operation counts when it is issued: clients that outrun the device issue more than the time holds.
    "busy dies": ("share", _share(["busy_ns"], ["simulated_ns"], most=1.0)),
    "mean response of the server": ("ns", _share(["served.responses_ns"], ["served.requests"])),
}


class View:
    """The measures so far, with their courses."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._now: dict[str, float] = {}
        self.history: dict[str, deque[float]] = {name: deque(maxlen=_HISTORY) for name in _ROWS}
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
        known = {label: read(values, before) for label, (_, read) in _ROWS.items()}
        self._now = {label: value for label, value in known.items() if value is not None}
        for label, value in self._now.items():
            self.history[label].append(value)

    def texts(self) -> Iterator[tuple[str, str]]:
        """Yield the labels of what is known, and the values as text."""
        yield from ((label, show(value, _ROWS[label][0])) for label, value in self._now.items())


class Tiles:
    """The numbers of a served device for its page: now, over the last minute, and their courses."""

    def __init__(self) -> None:
        self._now, self._minute = View(1.0), View(60.0)
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
