"""The entry of `coflash`: Control-C ends it without a message, even while Python is still importing the package."""

from __future__ import annotations

import os
import signal


def main() -> None:
    """Run the command line."""
    # It cannot simply be caught: libraries turn it into other errors while they are imported.
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from coflash.cli import main as command

    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, before)
    command()
