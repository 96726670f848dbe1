"""The live page of a served device: the laboratory's page, which shows what the flash of the device does."""

from __future__ import annotations

import base64
import json
import secrets
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from threading import Lock, Thread
from typing import Any
from urllib.parse import quote

from coflash.device import Recorded
from coflash.quantity import Unit, show
from coflash.report import lab
from coflash.report.local import ADDRESS, LocalPage, local_server

_HISTORY = 3_600
"""The number of events that are kept."""
_HISTORY_BYTES = 32 << 20
_MINUTE_S = 60.0
_SPARED = ("gc_drops_pages", "gc_spared_pages")
_TILES: Mapping[str, tuple[Unit, Sequence[str], Sequence[str]]] = {
    "write amplification": ("ratio", ["programs_pages."], ["host_writes_pages"]),
    "copies spared, of what GC met": ("share", _SPARED, [*_SPARED, "gc_copies_pages"]),
    "busy dies": ("share", ["busy_ns"], ["simulated_ns"]),
    "mean response of the server": ("ns", ["responses_ns"], ["load.requests"]),
}
"""What is shown of a device: the growth of some counts, by the beginnings of their names, over that of others."""


class _Numbers:
    """The numbers of a device: now, over the last minute, and their course."""

    def __init__(self) -> None:
        self._taken: deque[tuple[float, dict[str, float]]] = deque()

    def take(self, measured: Mapping[str, float]) -> list[dict[str, Any]] | None:
        """Take measures, as `coflash.device.Served.measured` returns them, and return the numbers; None at first."""
        counts = dict(measured)
        counts["busy_ns"] = counts.get("die_utilisation", 0.0) * counts.get("simulated_ns", 0.0)
        counts["responses_ns"] = counts.get("load.requests", 0.0) * counts.get("load.response_mean_ns", 0.0)
        at, before = time.monotonic(), self._taken[-1][1] if self._taken else counts
        if counts.get("simulated_ns", 0.0) < before.get("simulated_ns", 0.0):
            self._taken.clear()  # With the power, the counts begin anew.
        # The load is that since the last call already.
        counts |= {name: counts.get(name, 0.0) + before.get(name, 0.0) for name in ("load.requests", "responses_ns")}
        self._taken.append((at, counts))
        while at - self._taken[0][0] > _MINUTE_S:
            self._taken.popleft()
        readings = [counts for _, counts in self._taken]
        return [self._tile(readings, *tile) for tile in _TILES.items()] if len(readings) > 1 else None

    def _tile(
        self, readings: Sequence[Mapping[str, float]], label: str, tile: tuple[Unit, Sequence[str], Sequence[str]]
    ) -> dict[str, Any]:
        unit, above, below = tile

        def grown(before: Mapping[str, float], now: Mapping[str, float]) -> float | None:
            sums = (
                sum(now[name] - before.get(name, 0.0) for name in now if name.startswith(tuple(names)))
                for names in (above, below)
            )
            upper, lower = sums
            return upper / lower if lower > 0 else None

        course = [grown(*pair) for pair in zip(readings, readings[1:], strict=False)]
        minute = grown(readings[0], readings[-1])
        return {"label": label, "now": show(course[-1], unit), "minute": show(minute, unit), "course": course}


class _Events:
    """The events that are kept for browsers, which ask for those that they have not seen."""

    def __init__(self) -> None:
        self._kept: deque[tuple[int, str]] = deque()
        self._bytes = self._count = 0
        self._lock = Lock()

    def add(self, event: Mapping[str, Any]) -> None:
        """Keep an event. The oldest ones go."""
        text = json.dumps(event)
        with self._lock:
            self._count += 1
            self._kept.append((self._count, text))
            self._bytes += len(text)
            while len(self._kept) > _HISTORY or (self._bytes > _HISTORY_BYTES and len(self._kept) > 1):
                self._bytes -= len(self._kept.popleft()[1])

    def after(self, seen: str) -> str:
        """Return the events after a number (JSON), each with its own."""
        last = int(seen) if seen.isdecimal() and len(seen) < 20 else 0
        with self._lock:
            # A number beyond all is that of another server.
            new = [f"[{number},{text}]" for number, text in self._kept if number > last or last > self._count]
        return f"[{','.join(new)}]"


class LivePage:
    """The laboratory's page, read-only, on this machine alone, at an address that cannot be guessed.

    Args:
        title: The name of the device.

    Attributes:
        address: The URL for a browser.

    Raises:
        CoflashError: The page was not built.
    """

    def __init__(self, title: str) -> None:
        self._flash = _Events()
        self._last: tuple[str, int] | None = None
        self._numbers = _Numbers()
        path = f"/{secrets.token_urlsafe(16)}/"
        page, events = lab.page(needs_kernel=False), self._flash

        class Live(LocalPage):
            def answer(self) -> None:
                # Other users of this machine do not know the path, and response times do not reveal it.
                asked, _, seen = self.path.partition("?after=")
                if secrets.compare_digest(self.path.encode(), path.encode()):
                    self.send(page, "text/html")
                elif secrets.compare_digest(asked.encode(), f"{path}operations".encode()):
                    self.send(events.after(seen), "application/json")
                else:
                    self.send_error(HTTPStatus.NOT_FOUND)

        self._server = local_server(Live)
        self.address = f"http://{ADDRESS}:{self._server.server_port}{path}#live={quote(title, safe='')}"
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def tell(
        self,
        recorded: Iterable[Recorded],
        clients: int,
        news: Sequence[str],
        measured: Mapping[str, float] | None = None,
    ) -> None:
        """Show what flash did, how many clients are connected, news such as a power cut, and the measures so far."""
        numbers = self._numbers.take(measured) if measured else None
        for part in recorded:
            now = (part.session.name, clients)
            if part.operations or news or numbers or now != self._last:
                self._flash.add(
                    {
                        "session": part.session.name,
                        "operations": base64.b64encode(part.operations).decode(),
                        "decisions": base64.b64encode(part.decisions).decode(),
                        "left_out": part.left_out,
                        "clients": clients,
                        "told": [*news],
                        "numbers": numbers,
                    }
                )
            self._last, news, numbers = now, (), None

    def stop(self) -> None:
        """End the page; an open browser keeps its last state."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> LivePage:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
