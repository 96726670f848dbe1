"""The entry of `coflash`: Control-C ends it without a message, even while Python is still importing the package."""

from __future__ import annotations

import gc
import os
import signal
import sys


def main() -> None:
    """Run the command line."""
    # Modules and documents of results are large and have no cycles: with Python's own threshold the search for garbage
    # among them takes a third of the time to read a thousand runs.
    gc.set_threshold(1_000_000)
    # To catch it is not enough: libraries turn it into other errors while they are imported.
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from coflash.cli import main as command

    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, before)
    terminated = False

    def terminate(*_: object) -> None:
        nonlocal terminated
        terminated = True
        raise KeyboardInterrupt

    # It ends a command as Control-C does: it says what is kept, and what is half written goes.
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, terminate)
    try:
        command()
    except SystemExit as end:
        if terminated and end.code == 128 + signal.SIGINT:
            sys.exit(128 + signal.SIGTERM)
        raise
