"""A web server for the browsers of this machine alone."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore
from typing import Any

from coflash._core import CoflashError

ADDRESS = "127.0.0.1"
"""The loopback address, which no other machine reaches."""
Answer = Callable[[str], tuple[str, str] | None]
"""What a path is answered with: a text and its media type, or none where nothing is there."""
_CONNECTIONS_MAX = 32
"""Any user of this machine may connect: each connection takes a thread and a file descriptor of the process."""


class Request(BaseHTTPRequestHandler):
    """One request of a browser."""

    server: _Server
    timeout = 10
    """Seconds that a browser may take to send its request."""

    def do_GET(self) -> None:
        """Answer requests whose host is this machine."""
        # Another host name means a page of the Internet that was redirected here (DNS rebinding).
        if self.headers.get("Host") not in {f"{name}:{self.server.server_port}" for name in (ADDRESS, "localhost")}:
            self.send_error(HTTPStatus.FORBIDDEN)
        elif answer := self.server.answer(self.path):
            self._send(*answer)
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def _send(self, text: str, kind: str) -> None:
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


class _Server(ThreadingHTTPServer):
    """A server with a bounded number of connections: a further one is closed at once."""

    def __init__(self, answer: Answer, port: int) -> None:
        self.answer, self._free = answer, BoundedSemaphore(_CONNECTIONS_MAX)
        super().__init__((ADDRESS, port), Request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        if not self._free.acquire(blocking=False):
            return self.shutdown_request(request)
        try:
            return super().process_request_thread(request, client_address)
        finally:
            self._free.release()


def local_server(answer: Answer, port: int = 0) -> ThreadingHTTPServer:
    """Make a server; `serve_forever` runs it.

    Args:
        answer: Answers its requests.
        port: The port; 0 for any that is free.

    Raises:
        CoflashError: The port is taken.
    """
    try:
        return _Server(answer, port)
    except OSError as error:
        msg = f"--port: {port} cannot be used: {error.strerror or error}; without it a free one is taken"
        raise CoflashError(msg) from error
