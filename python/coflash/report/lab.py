"""The laboratory's page: the simulator in a browser. Where it is, and a server on this machine alone."""

from __future__ import annotations

from http.server import ThreadingHTTPServer
from pathlib import Path

from coflash._core import CoflashError
from coflash.report.local import local_server

_HERE = Path(__file__)
BROUGHT = _HERE.with_name("assets") / "lab.html"
"""The page that a wheel brings."""
BUILT = _HERE.parents[3] / "target" / "lab" / "index.html"
"""The page that `make lab` builds in a source tree."""


def page(*, needs_kernel: bool = True) -> str:
    """Read the page.

    Args:
        needs_kernel: Whether drives are simulated in it; what only shows records needs no kernel.

    Raises:
        CoflashError: It was not built.
    """
    whole = (BROUGHT, BUILT)
    for file in whole if needs_kernel else (*whole, *(file.with_name("records.html") for file in whole)):
        if file.is_file():
            return file.read_text("utf-8")
    raise CoflashError(
        f"the laboratory's page is neither in this package nor in {BUILT.parent}: make lab builds it in a source tree"
        + ("" if needs_kernel else ", and needs nothing but npm for what only shows records")
    )


def server(port: int = 0) -> ThreadingHTTPServer:
    """Make a server of the page; `serve_forever` runs it.

    Args:
        port: The port; 0 for any that is free.

    Raises:
        CoflashError: The page was not built, or the port is taken.
    """
    text = page()
    return local_server(lambda path: (text, "text/html") if path in {"/", "/index.html"} else None, port)
