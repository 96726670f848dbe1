"""`coflash lab`."""

from __future__ import annotations

from contextlib import suppress

import typer


def lab(port: int = 0) -> None:
    """Serve the laboratory to this machine's browsers: two small drives that write the same data, page by page.

    Options:
        port: `--port N 0..` The port; 0 for any.
    """
    from coflash.report.lab import server  # no other command needs it

    with server(port) as made:
        typer.echo(f"http://127.0.0.1:{made.server_port}/ (Control-C ends it)")
        with suppress(KeyboardInterrupt):
            made.serve_forever()
