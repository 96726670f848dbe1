"""The live page of a served device: its measures once a second, drawn as in the report, and its flash in the lab."""

from __future__ import annotations

import base64
import json
import secrets
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from string import Template
from threading import Condition, Thread
from typing import Any
from urllib.parse import quote

from coflash._core import CoflashError, __version__
from coflash.device import Recorded
from coflash.measures.measure import CAUSES, HEADLINE, MEASURES, OVERALL
from coflash.quantity import SCALES
from coflash.report import lab
from coflash.report.local import ADDRESS, LocalPage, local_server
from coflash.report.page import asset
from coflash.report.payload import described

_SCRIPTS = ("data.js", "plot.js", "figure.js", "live.js")
_HISTORY = 3_600
"""The number of events that are kept: an hour of moments."""
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
        seen = int(given) if given.isdecimal() else 0
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
    """A read-only page on this machine alone, at an address that cannot be guessed.

    The laboratory's page, where there is one, is beside it, and shows what the flash of the device does.

    Args:
        title: The name of the device.
        assumed: What its measures take for granted.

    Attributes:
        address: The URL for a browser.
    """

    def __init__(self, title: str, assumed: Sequence[str] = ()) -> None:
        self._begun = time.monotonic()
        self._moments, self._flash = _Events(), _Events()
        self._last: tuple[str, int] | None = None
        path = f"/{secrets.token_urlsafe(16)}/"
        pages = {path: ""}
        flash = f'<a href="lab#live={quote(title, safe="")}">Flash at work</a>: dies, victims of GC, power cuts.'
        try:
            pages[f"{path}lab"] = lab.page()
        except CoflashError as error:  # a source tree may be without it
            flash = f"Flash at work is not shown: {escape(str(error))}."
        pages[path] = _page(title, assumed, flash)
        streams = {f"{path}events": self._moments, f"{path}operations": self._flash}

        class Live(LocalPage):
            def answer(self) -> None:
                given = self.path.encode()
                # Other users of this machine do not know the path, and response times do not reveal it.
                found = [one for one in (*pages, *streams) if secrets.compare_digest(given, one.encode())]
                if not found:
                    self.send_error(HTTPStatus.NOT_FOUND)
                elif found[0] in pages:
                    self.send(pages[found[0]], "text/html")
                else:
                    streams[found[0]].watch(self)

        self._server = local_server(Live)
        self.address = f"http://{ADDRESS}:{self._server.server_port}{path}"
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def show(self, values: Mapping[str, float]) -> None:
        """Show the measures so far: numbers by their paths."""
        self._moments.add({"seconds": time.monotonic() - self._begun, "values": values})

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
        for events in (self._moments, self._flash):
            events.end()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> LivePage:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def _page(title: str, assumed: Sequence[str], flash: str) -> str:
    # The data that the report's scripts read at their start; there are no runs.
    nothing: dict[str, list[Any]] = {name: [] for name in ("hashes", "keys", "labels", "details", "series")}
    shown, headline = dict.fromkeys((*OVERALL, *HEADLINE, *MEASURES.values())), {*OVERALL, *HEADLINE}
    metrics = [{**described(each), "headline": each in headline, "bin_width": 0, "values": []} for each in shown]
    data = {**nothing, "metrics": metrics, "causes": CAUSES, "scales": SCALES}
    return Template(asset("live.html")).substitute(
        title=escape(title),
        flash=f"<p>{flash}</p>",
        assumed="".join(f'<p class="note">{escape(text)}</p>' for text in assumed),
        style=asset("report.css"),
        data=json.dumps(data).replace("<", "\\u003c"),
        script="\n".join(asset(name) for name in _SCRIPTS),
        version=escape(__version__),
    )
