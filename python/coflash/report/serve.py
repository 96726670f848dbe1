"""A report that is watched while its runs are made: a server on this machine alone, and a page that updates."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from coflash._core import CoflashError
from coflash.report.page import LIVE, report_html
from coflash.results.study import Study, result_files

ADDRESS = "127.0.0.1"
"""No other machine reaches it."""
STATE = "/state"
"""The path of a text that changes with the results."""


def server(paths: Sequence[Path], where: Sequence[str] = (), port: int = 0) -> ThreadingHTTPServer:
    """Make a server of the report of these folders; `serve_forever` runs it.

    Args:
        paths: The folders of results, which may be empty as yet.
        where: Conditions `KEY=VALUE` that the scenarios meet.
        port: The port; 0 for any that is free.

    Raises:
        CoflashError: The port is taken.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            # The name of another host would be a page of the Internet that was led here (DNS rebinding).
            if self.headers.get("Host") not in hosts:
                self.send_error(HTTPStatus.FORBIDDEN)
            elif self.path == STATE:
                self._send(_state(paths), "text/plain")
            elif self.path == "/":
                self._send(_page(paths, where), "text/html")
            else:
                self.send_error(HTTPStatus.NOT_FOUND)

        def _send(self, text: str, kind: str) -> None:
            content = text.encode()
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Say nothing: requests come every second."""

    try:
        made = ThreadingHTTPServer((ADDRESS, port), Handler)
    except OSError as error:
        msg = f"--port: {port} cannot be used: {error.strerror or error}; without it a free one is taken"
        raise CoflashError(msg) from error
    hosts = {f"{name}:{made.server_port}" for name in (ADDRESS, "localhost")}
    return made


def _state(paths: Sequence[Path]) -> str:
    """Return a digest of which results there are, and of when they were written."""
    files = [(str(file), file.stat().st_mtime_ns) for file in result_files(paths) if file.exists()]
    return hashlib.sha256(repr(files).encode()).hexdigest()[:16]


def _page(paths: Sequence[Path], where: Sequence[str]) -> str:
    """Write the page of what there is; where there is nothing yet, a page that says so."""
    state = _state(paths)
    try:
        return report_html(Study.read(paths, where), live=state)
    except CoflashError as error:
        script = f"<script>{LIVE.substitute(state=state)}</script>"
        return f"<!doctype html><title>coflash</title><p>No results as yet: {escape(str(error))}</p>{script}"
