"""Clusters of two workers on this machine, started as users start them, and always ended."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from processes import PATIENCE_S

_BIN = Path(sys.executable).parent


@contextmanager
def dask() -> Iterator[str]:
    """`dask scheduler` and two times `dask worker`; yields the scheduler's address."""
    with ExitStack() as stack:
        scheduler = ("dask", "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        address = stack.enter_context(_begun(scheduler, r"Scheduler at:\s+(tcp://\S+)"))
        for _ in range(2):
            worker = ("dask", "worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny")
            stack.enter_context(_begun(worker, r"Registered to:\s+(tcp://\S+)"))
        yield address


@contextmanager
def _begun(command: tuple[str, ...], told: str) -> Iterator[str]:
    """A process, from its printed address until it and all its children are killed."""
    process = subprocess.Popen(
        [_BIN / command[0], *command[1:]],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # a group of its own, which can be killed as one
    )
    alarm = threading.Timer(PATIENCE_S, lambda: os.killpg(process.pid, signal.SIGKILL))
    alarm.start()
    assert process.stdout is not None
    drain = threading.Thread(target=process.stdout.read, daemon=True)  # or it would wait for a reader
    try:
        said = ""
        for line in process.stdout:
            said += line
            if found := re.search(told, line):
                break
        else:
            msg = f"{' '.join(command)} did not begin:\n{said}"
            raise RuntimeError(msg)
        alarm.cancel()
        drain.start()
        yield found[1]
    finally:
        alarm.cancel()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if drain.ident is not None:
            drain.join(PATIENCE_S)
        process.stdout.close()
