"""Clients of network block devices that others wrote, and a served disk for them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from coflash import device
from processes import COFLASH, PATIENCE_S, begin

ROOT = Path(__file__).parents[2]
PACKAGES = {
    "debugfs": "e2fsprogs",
    "e2fsck": "e2fsprogs",
    "fio": "fio",
    "mkfs.ext4": "e2fsprogs",
    "mkfs.xfs": "xfsprogs",
    "mount": "mount",
    "nbdcopy": "libnbd-bin",
    "nbdfuse": "libnbd-bin",
    "nbdinfo": "libnbd-bin",
    "nbdsh": "python3-libnbd",
    "psql": "postgresql",
    "qemu-img": "qemu-utils",
    "qemu-io": "qemu-utils",
    "umount": "mount",
    "xfs_repair": "xfsprogs",
}
PYTHON_OF_DEBIAN = Path("/usr/bin/python3")
"""The interpreter for which Debian's libnbd is built."""


BEGIN = """\
import nbd
def connected():
    h = nbd.NBD()
    h.add_meta_context("base:allocation")
    h.connect_uri({uri!r})
    return h
h = connected()
"""


def needs(*tools: str) -> None:
    """Skips the test if a client is missing, and names its package."""
    for tool in tools:
        if shutil.which(tool) is None:
            pytest.skip(f"NOT TESTED: {tool} is missing: apt install {PACKAGES[tool]}")


def needs_libnbd() -> None:
    """Skips the test if libnbd's Python is missing."""
    has_nbd = (PYTHON_OF_DEBIAN, "-c", "import nbd")
    if not PYTHON_OF_DEBIAN.exists() or subprocess.run(has_nbd, capture_output=True, check=False).returncode:
        pytest.skip("NOT TESTED: libnbd's Python is missing: apt install python3-libnbd")


def client(tool: str, *arguments: str, status: int = 0) -> str:
    """Returns the standard output of a client."""
    needs(tool)
    return _run([tool, *arguments], status)


def libnbd(uri: str, script: str) -> str:
    """Runs a script of libnbd's Python, in which `h` is connected to the disk, and returns its output."""
    needs_libnbd()
    return _run([str(PYTHON_OF_DEBIAN), "-c", BEGIN.format(uri=uri) + script], 0)


def _run(command: list[str], status: int) -> str:
    # Tools of the system need an environment without that of the tests.
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=PATIENCE_S, check=False)
    assert done.returncode == status, f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@contextmanager
def served(*command: str, ends_by: Callable[[subprocess.Popen[str]], None]) -> Iterator[str]:
    """Runs a command that serves a disk and prints its URI as its first line, and ends it."""
    with begin(*command) as server:
        assert server.stdout is not None
        uri = server.stdout.readline().strip()
        assert uri.startswith("nbd"), f"it did not start: {uri}\n{server.stderr.read() if server.stderr else ''}"
        try:
            yield uri
        finally:
            ends_by(server)
            assert server.wait(PATIENCE_S) == 0


@contextmanager
def served_memory(program: str, size: int, address: str) -> Iterator[str]:
    """Serves a disk in memory, which ends with its standard input."""
    with served(
        program, str(size), address, ends_by=lambda server: server.stdin.close() if server.stdin else None
    ) as uri:
        yield uri


@contextmanager
def served_device(folder: Path, *options: str) -> Iterator[str]:
    """Serves a device by `coflash serve`; at the end every session has its twin, and the container is whole."""
    command = (*COFLASH, "serve", "--device", str(folder), *options)
    with served(*command, ends_by=lambda server: server.send_signal(signal.SIGINT)) as uri:
        yield uri
    for session in device.sessions(folder):
        assert device.twin(session) == {}, session
    assert device.check(folder) == []


def memory_disk() -> str:
    """The program that serves a disk in memory."""
    build = ("cargo", "build", "--quiet", "--locked", "--workspace", "--example", "memory")  # as `cargo test` builds it
    subprocess.run(build, cwd=ROOT, check=True)
    return str(ROOT / "target/debug/examples/memory")
