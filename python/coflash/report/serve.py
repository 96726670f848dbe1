"""A report on runs in progress: a server on this machine alone, and a page that updates."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from html import escape
from http import HTTPStatus
from http.server import ThreadingHTTPServer
from pathlib import Path

from coflash._core import CoflashError
from coflash.report.local import LocalPage, local_server
from coflash.report.page import LIVE, report_html
from coflash.results.subject import Subject, result_files

STATE = "/state"
"""The path of a text that changes when the results do."""


def server(paths: Sequence[Path], where: Sequence[str] = (), port: int = 0) -> ThreadingHTTPServer:
    """Make a server of the report of these folders; `serve_forever` runs it.

    Args:
        paths: The folders of results, which may be empty as yet.
        where: Conditions `KEY=VALUE` on the scenarios.
        port: The port; 0 for any that is free.

    Raises:
        CoflashError: The port is taken.
    """

    class Report(LocalPage):
        def answer(self) -> None:
            if self.path == STATE:
                self.send(_state(paths), "text/plain")
            elif self.path == "/":
                self.send(_page(paths, where), "text/html")
            else:
                self.send_error(HTTPStatus.NOT_FOUND)

    return local_server(Report, port)


def _state(paths: Sequence[Path]) -> str:
    """Return a digest of the existing results and of their times of writing."""
    files = [(str(file), file.stat().st_mtime_ns) for file in result_files(paths) if file.exists()]
    return hashlib.sha256(repr(files).encode()).hexdigest()[:16]


def _page(paths: Sequence[Path], where: Sequence[str]) -> str:
    """Write the page of the results so far, or a page that says that there are none yet."""
    state = _state(paths)
    try:
        return report_html(Subject.read(paths, where), live=state)
    except CoflashError as error:
        script = f"<script>{LIVE.substitute(state=state)}</script>"
        return f"<!doctype html><title>coflash</title><p>No results as yet: {escape(str(error))}</p>{script}"
