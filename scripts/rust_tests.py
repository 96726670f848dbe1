"""Run a test program of Rust, and end it once one of its tests takes longer than any may: that test fails, by its name.

`make test` has cargo start each test program through this. Rust's harness has no limit, but it says of a test that it
has been running for a minute, and of each when it ends.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from threading import Timer

LIMIT_S = 1200.0
"""The limit of Python's tests, too."""
WARNED_S = 60.0
"""After this time the harness says that a test is still running."""

_LONG = re.compile(r"test (.+) has been running for over")
_ENDED = re.compile(r"test (.+?)(?: - should panic)? \.\.\. (\w+)")


def run(program: Sequence[str], limit_s: float = LIMIT_S) -> int:
    """Run a test program, and return its exit code; with `--quiet`, tests that pass are left out of its output."""
    quiet = "--quiet" in program
    command = [part for part in program if part != "--quiet"]  # which leaves out the names
    # On one thread the harness says nothing of tests that take long.
    threads = {"RUST_TEST_THREADS": str(max(2, os.cpu_count() or 2))}
    limits: dict[str, Timer] = {}
    with subprocess.Popen(  # noqa: S603 - what cargo has built
        command, stdout=subprocess.PIPE, text=True, errors="replace", env=threads | os.environ
    ) as tests:

        def end(name: str) -> None:
            print(f"test {name} ... FAILED: it has not ended after {limit_s:.0f} seconds", file=sys.stderr, flush=True)
            tests.kill()

        for line in tests.stdout or ():
            if long := _LONG.match(line):
                limits[long[1]] = Timer(limit_s - WARNED_S, end, [long[1]])
                limits[long[1]].start()
            ended = _ENDED.match(line)
            if ended and ended[1] in limits:
                limits[ended[1]].cancel()
            if not (quiet and ended and ended[2] in ("ok", "ignored")):
                print(line, end="", flush=True)
    for limit in limits.values():
        limit.cancel()
    return tests.returncode


if __name__ == "__main__":
    sys.exit(min(255, abs(run(sys.argv[1:]))))
