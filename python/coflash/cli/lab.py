"""`coflash lab`."""

from __future__ import annotations

import os
import sys
import webbrowser
from contextlib import suppress

import typer


def lab(port: int = 0) -> None:
    """Serve the laboratory to this machine's browsers, and open one: two small drives that write the same data.

    Without a screen, as over SSH, the address alone is printed.

    Options:
        port: `--port N 0..` The port; 0 for any.
    """
    from coflash.report.lab import server  # no other command needs it

    with server(port) as made:
        address = f"http://127.0.0.1:{made.server_port}/"
        typer.echo(f"{address} (Control-C ends it)")
        if sys.platform in {"darwin", "win32"} or {"DISPLAY", "WAYLAND_DISPLAY"} & {*os.environ}:
            webbrowser.open(address)
        with suppress(KeyboardInterrupt):
            made.serve_forever()
