"""The live page of a served device: its measures once a second, drawn as in the report."""

from __future__ import annotations

import json
import secrets
import time
from collections import deque
from collections.abc import Mapping, Sequence
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from string import Template
from threading import Condition, Thread
from types import TracebackType
from typing import Any

from coflash._core import __version__
from coflash.measures.measure import CAUSES, HEADLINE, MEASURES, OVERALL
from coflash.quantity import SCALES
from coflash.report.local import ADDRESS, LocalPage, local_server
from coflash.report.page import asset
from coflash.report.payload import plain

_SCRIPTS = ("data.js", "plot.js", "figure.js", "live.js")
_HISTORY = 3_600
"""The number of moments that a page shows."""
_WATCHERS_MAX = 8


class LivePage:
    """A read-only page on this machine alone, at an address that cannot be guessed.

    Args:
        title: The name of the device.
        assumed: What its measures take for granted.

    Attributes:
        address: The URL for a browser.
    """

    def __init__(self, title: str, assumed: Sequence[str] = ()) -> None:
        self._begun = time.monotonic()
        self._moments: deque[tuple[int, str]] = deque(maxlen=_HISTORY)
        self._told = Condition()
        self._count = 0
        self._ended = False
        self._watchers = 0
        path = f"/{secrets.token_urlsafe(16)}/"
        html, watch = _page(title, assumed), self.watch

        class Live(LocalPage):
            def answer(self) -> None:
                given = self.path.encode()
                # Other users of this machine do not know the path, and response times do not reveal it.
                if secrets.compare_digest(given, path.encode()):
                    self.send(html, "text/html")
                elif secrets.compare_digest(given, f"{path}events".encode()):
                    seen = self.headers.get("Last-Event-ID", "0")
                    watch(self, int(seen) if seen.isdecimal() else 0)
                else:
                    self.send_error(HTTPStatus.NOT_FOUND)

        self._server = local_server(Live)
        self.address = f"http://{ADDRESS}:{self._server.server_port}{path}"
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def show(self, values: Mapping[str, float]) -> None:
        """Show the measures so far: numbers by their paths."""
        moment = json.dumps({"seconds": time.monotonic() - self._begun, "values": values})
        with self._told:
            self._count += 1
            self._moments.append((self._count, moment))
            self._told.notify_all()

    def stop(self) -> None:
        """End the page; an open browser keeps its last state."""
        with self._told:
            self._ended = True
            self._told.notify_all()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> LivePage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def watch(self, browser: BaseHTTPRequestHandler, seen: int) -> None:
        """Send a browser each moment after `seen`, until either side ends."""
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
                    new = [moment for moment in self._moments if moment[0] > seen]
                for seen, moment in new:
                    browser.wfile.write(f"id: {seen}\ndata: {moment}\n\n".encode())
        except OSError:
            pass  # The browser has closed the page.
        finally:
            with self._told:
                self._watchers -= 1


def _page(title: str, assumed: Sequence[str]) -> str:
    shown = dict.fromkeys((*OVERALL, *HEADLINE, *MEASURES.values()))
    measures = [
        {
            "path": each.path,
            "label": each.label,
            "unit": each.unit,
            "about": plain(each.about),
            "better": each.better,
        }
        for each in shown
    ]
    # The data that the report's scripts read at their start; there are no runs.
    nothing: dict[str, list[Any]] = {name: [] for name in ("hashes", "keys", "labels", "details", "series")}
    headline = {each.path for each in (*OVERALL, *HEADLINE)}
    metrics = [{**each, "headline": each["path"] in headline, "bin_width": 0, "values": []} for each in measures]
    data = {**nothing, "metrics": metrics, "causes": CAUSES, "scales": SCALES}
    return Template(asset("live.html")).substitute(
        title=escape(title),
        assumed="".join(f'<p class="note">{escape(text)}</p>' for text in assumed),
        style=asset("report.css"),
        data=json.dumps(data).replace("<", "\\u003c"),
        script="\n".join(asset(name) for name in _SCRIPTS),
        version=escape(__version__),
    )
