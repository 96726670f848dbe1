"""The live page of a served device: the laboratory's page, which shows what the flash of the device does."""

from __future__ import annotations

import base64
import json
import secrets
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from threading import Condition, Thread
from typing import Any
from urllib.parse import quote

from coflash.device import Recorded
from coflash.report import lab
from coflash.report.local import ADDRESS, LocalPage, local_server

_HISTORY = 3_600
"""The number of events that are kept."""
_HISTORY_BYTES = 32 << 20
_WATCHERS_MAX = 8


class _Events:
    """Events for browsers: those that are kept, and those that come."""

    def __init__(self) -> None:
        self._kept: deque[tuple[int, str]] = deque()
        self._bytes = 0
        self._told = Condition()
        self._count = 0
        self._ended = False
        self._watchers = 0

    def add(self, event: Mapping[str, Any]) -> None:
        """Send an event. The oldest ones go."""
        text = json.dumps(event)
        with self._told:
            self._count += 1
            self._kept.append((self._count, text))
            self._bytes += len(text)
            while len(self._kept) > _HISTORY or (self._bytes > _HISTORY_BYTES and len(self._kept) > 1):
                self._bytes -= len(self._kept.popleft()[1])
            self._told.notify_all()

    def end(self) -> None:
        """Send no more."""
        with self._told:
            self._ended = True
            self._told.notify_all()

    def watch(self, browser: BaseHTTPRequestHandler) -> None:
        """Send a browser each event that it has not seen, until either side ends."""
        given = browser.headers.get("Last-Event-ID", "0")
        seen = int(given) if given.isdecimal() and len(given) < 20 else 0
        with self._told:
            if self._watchers == _WATCHERS_MAX:
                browser.send_error(HTTPStatus.SERVICE_UNAVAILABLE, "too many pages are open")
                return
            self._watchers += 1
        try:
            browser.send_response(HTTPStatus.OK)
            browser.send_header("Content-Type", "text/event-stream")
            browser.send_header("Cache-Control", "no-store")
            browser.end_headers()
            ended = False
            while not ended:
                with self._told:
                    while not self._ended and self._count <= seen:
                        self._told.wait()
                    ended = self._ended
                    new = [event for event in self._kept if event[0] > seen]
                for seen, text in new:
                    browser.wfile.write(f"id: {seen}\ndata: {text}\n\n".encode())
        except OSError:
            pass  # The browser has closed the page.
        finally:
            with self._told:
                self._watchers -= 1


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
        path = f"/{secrets.token_urlsafe(16)}/"
        page, events = lab.page(needs_kernel=False), self._flash

        class Live(LocalPage):
            def answer(self) -> None:
                # Other users of this machine do not know the path, and response times do not reveal it.
                if secrets.compare_digest(self.path.encode(), path.encode()):
                    self.send(page, "text/html")
                elif secrets.compare_digest(self.path.encode(), f"{path}operations".encode()):
                    events.watch(self)
                else:
                    self.send_error(HTTPStatus.NOT_FOUND)

        self._server = local_server(Live)
        self.address = f"http://{ADDRESS}:{self._server.server_port}{path}#live={quote(title, safe='')}"
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def tell(self, recorded: Iterable[Recorded], clients: int, news: Sequence[str]) -> None:
        """Show what flash did, how many clients are connected, and news such as a power cut, in the laboratory."""
        for part in recorded:
            now = (part.session.name, clients)
            if part.operations or news or now != self._last:
                self._flash.add(
                    {
                        "session": part.session.name,
                        "operations": base64.b64encode(part.operations).decode(),
                        "decisions": base64.b64encode(part.decisions).decode(),
                        "left_out": part.left_out,
                        "clients": clients,
                        "told": [*news],
                    }
                )
            self._last, news = now, ()

    def stop(self) -> None:
        """End the page; an open browser keeps its last state."""
        self._flash.end()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> LivePage:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
