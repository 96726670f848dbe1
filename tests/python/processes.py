"""The command line, in this process and in others; and signs of their progress, so that no test waits for a time."""

from __future__ import annotations

import array
import fcntl
import io
import os
import re
import resource
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import IO, Any

import psutil
import pytest

from coflash.cli import main

PATIENCE_S = 1_000
"""The limit of any wait: the test fails instead of waiting for ever."""

COFLASH = (sys.executable, "-m", "coflash")
# Prints every report of the core, instead of one every few seconds.
TELLING = """\
import coflash.runs.progress
from coflash_command import main
coflash.runs.progress._SECONDS_BETWEEN_LINES = 0.0
main()
"""
COFLASH_TELLING = (sys.executable, "-c", TELLING)


def coflash(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command line in this process: to load the package takes longer than most commands."""
    output, errors = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(output), redirect_stderr(errors):
        patch.setattr(sys, "argv", ["coflash", *arguments])
        for name, value in {"COLUMNS": "200", **environment}.items():
            patch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            main()
    assert isinstance(ended.value.code, int)
    return subprocess.CompletedProcess(arguments, ended.value.code, output.getvalue(), errors.getvalue())


def process(*arguments: str, stdin: str | bytes | None = None) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own, as users begin it."""
    content = stdin.encode() if isinstance(stdin, str) else stdin
    environment = {**os.environ, "COLUMNS": "200"}
    done = subprocess.run([*COFLASH, *arguments], input=content, capture_output=True, env=environment, check=False)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


@contextmanager
def begin(*command: str | Path, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Begins a process whose streams are pipes of text; what still runs at the end is killed.

    `Popen` itself waits there, and a test that fails would wait for ever.
    """
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, **{"stdin": pipe, "stdout": pipe, "stderr": pipe, "text": True, **options}
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def await_line(stream: IO[str] | None, pattern: str) -> None:
    """Reads lines up to one that has the pattern in it."""
    assert stream is not None
    read = []
    for line in stream:
        if re.search(pattern, line):
            return
        read.append(line)
    msg = f"it ended, and no line was {pattern}:\n{''.join(read)}"
    raise AssertionError(msg)


def await_file(process: subprocess.Popen[str], file: Path) -> None:
    """Returns when a process has written something to a file."""
    end = time.monotonic() + PATIENCE_S
    while not (file.exists() and file.stat().st_size):
        assert process.poll() is None, "it has ended"
        assert time.monotonic() < end, "it does not write the file"
        time.sleep(0.01)


def await_idle(process: subprocess.Popen[str]) -> None:
    """Returns when a process has read all its input and each of its threads waits."""
    assert process.stdin is not None
    process.stdin.flush()
    unread = array.array("i", [1])
    end = time.monotonic() + PATIENCE_S
    while True:
        fcntl.ioctl(process.stdin.fileno(), termios.FIONREAD, unread)
        if unread[0] == 0 and _threads_sleep(process.pid):
            return
        assert process.poll() is None, "it has ended"
        assert time.monotonic() < end, "it does not read what it was given"
        time.sleep(0.01)


def _threads_sleep(pid: int) -> bool:
    states = (stat.read_text().rpartition(")")[2].split()[0] for stat in Path(f"/proc/{pid}/task").glob("*/stat"))
    return all(state == "S" for state in states)


def interrupt(process: subprocess.Popen[str], number: int = signal.SIGINT) -> tuple[str, str, float]:
    """Sends Control-C, or a signal; returns the remaining output, and the processor time until the end, in seconds.

    Its standard input stays open, so that nothing else ends it.
    """
    before_s = _cpu_s(psutil.Process(process.pid).cpu_times())
    others_s = _children_s()
    process.send_signal(number)
    process.wait(PATIENCE_S)
    took_s = _children_s() - others_s - before_s
    assert process.stdout is not None
    assert process.stderr is not None
    return process.stdout.read(), process.stderr.read(), took_s


def _cpu_s(times: Any) -> float:
    return float(times.user + times.system)


def _children_s() -> float:
    """Processor time of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
