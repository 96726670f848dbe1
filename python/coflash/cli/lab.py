"""`coflash lab`."""

from __future__ import annotations

import webbrowser
from contextlib import suppress

import typer


def lab(port: int = 0, no_browser: bool = False) -> None:
    """Serve the laboratory to this machine's browsers, and open one: two small drives that write the same data.

    Options:
        port: `--port N 0..` The port; 0 for any.
        no_browser: `--no-browser` Open none; the address is printed.
    """
    from coflash.report.lab import server  # no other command needs it

    with server(port) as made:
        address = f"http://127.0.0.1:{made.server_port}/"
        typer.echo(f"{address} (Control-C ends it)")
        if not no_browser:
            webbrowser.open(address)
        with suppress(KeyboardInterrupt):
            made.serve_forever()
