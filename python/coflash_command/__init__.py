"""Where `coflash` begins: Control-C ends it without a word even while Python is still loading the package."""

from __future__ import annotations

import os
import signal


def main() -> None:
    """Runs the command line."""
    # What libraries do while they are loaded would make other errors of it, so that catching it is not enough.
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from coflash.cli import main as command

    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, before)
    command()
