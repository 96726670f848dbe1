"""The live page of a served device: the laboratory's page, which shows what the flash of the device does."""

from __future__ import annotations

import base64
import json
import secrets
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from threading import Lock, Thread
from typing import Any
from urllib.parse import quote

from coflash.device import Recorded
from coflash.report import lab
from coflash.report.local import ADDRESS, local_server

_HISTORY = 3_600
"""The number of events that are kept."""
_HISTORY_BYTES = 32 << 20
_Numbers = Sequence[Mapping[str, Any]]


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
        path = f"/{secrets.token_urlsafe(16)}/"
        page, events = lab.page(needs_kernel=False), self._flash

        def answer(asked: str) -> tuple[str, str] | None:
            # Other users of this machine do not know the path, and response times do not reveal it.
            if secrets.compare_digest(asked.encode(), path.encode()):
                return page, "text/html"
            asked, _, seen = asked.partition("?after=")
            is_known = secrets.compare_digest(asked.encode(), f"{path}operations".encode())
            return (events.after(seen), "application/json") if is_known else None

        self._server = local_server(answer)
        self.address = f"http://{ADDRESS}:{self._server.server_port}{path}#live={quote(title, safe='')}"
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def tell(self, recorded: Iterable[Recorded], clients: int, news: Sequence[str], numbers: _Numbers = ()) -> None:
        """Show what flash did, how many clients are connected, news such as a power cut, and numbers."""
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
                        "numbers": [*numbers],
                    }
                )
            self._last, news, numbers = now, (), ()

    def stop(self) -> None:
        """End the page; an open browser keeps its last state."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> LivePage:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
