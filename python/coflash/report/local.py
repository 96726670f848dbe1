"""A web server for the browsers of this machine alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from coflash._core import CoflashError

ADDRESS = "127.0.0.1"
"""The loopback address, which no other machine reaches."""


class LocalPage(BaseHTTPRequestHandler, ABC):
    """Answers one request of a browser. A subclass writes `answer`."""

    server: ThreadingHTTPServer
    timeout = 10
    """Seconds that a browser may take to send its request."""

    def do_GET(self) -> None:
        """Answer requests whose host is this machine."""
        # Another host name means a page of the Internet that was redirected here (DNS rebinding).
        if self.headers.get("Host") in {f"{name}:{self.server.server_port}" for name in (ADDRESS, "localhost")}:
            self.answer()
        else:
            self.send_error(HTTPStatus.FORBIDDEN)

    @abstractmethod
    def answer(self) -> None:
        """Answer the request for `path`."""

    def send(self, text: str, kind: str) -> None:
        """Send a text that browsers do not cache."""
        content = text.encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Log nothing: the terminal is for the command."""


def local_server(page: type[LocalPage], port: int = 0) -> ThreadingHTTPServer:
    """Make a server; `serve_forever` runs it.

    Args:
        page: The handler of its requests.
        port: The port; 0 for any that is free.

    Raises:
        CoflashError: The port is taken.
    """
    try:
        return ThreadingHTTPServer((ADDRESS, port), page)
    except OSError as error:
        msg = f"--port: {port} cannot be used: {error.strerror or error}; without it a free one is taken"
        raise CoflashError(msg) from error
