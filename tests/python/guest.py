"""A virtual machine without any device of the host: Linux on emulated processors, with a served device as its disk."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from processes import await_line, begin

ROOT = Path(__file__).parents[2]
BOOTED = ROOT / "target/guest"
DISKS = {
    "virtio-blk": ("vda", ["-device", "virtio-blk-pci,drive=disk"]),
    "nvme": ("nvme0n1", ["-device", "nvme,drive=disk,serial=1"]),
}
"""The name of the disk in the guest, and the options of QEMU, by its kind."""
RECONNECT_S = 600
"""The time for which the guest's requests wait for a lost server."""


def needs_guest() -> None:
    """Skips the test if no virtual machine can be started."""
    if shutil.which("qemu-system-x86_64") is None:
        pytest.skip("NOT TESTED: there is no virtual machine: apt install qemu-system-x86")
    made = subprocess.run([ROOT / "scripts/guest"], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"NOT TESTED: there is nothing to boot: apt install kmod; {made.stderr.strip()}")


@contextmanager
def guest(uri: str, disk: str, phase: str) -> Iterator[subprocess.Popen[str]]:
    """Boots a guest on a served disk; its standard output is the serial console. It loses power at the end.

    Args:
        uri: The address of the served disk.
        disk: The kind of the disk.
        phase: The task of `guest_init`.
    """
    name, options = DISKS[disk]
    socket = parse_qs(urlsplit(uri).query)["socket"][0]
    command = [
        "qemu-system-x86_64", "-M", "q35", "-accel", "tcg", "-cpu", "max", "-m", "256", "-nodefaults", "-no-reboot",
        "-display", "none", "-serial", "stdio",
        "-kernel", str(BOOTED / "vmlinuz"), "-initrd", str(BOOTED / "initramfs"),
        # The check of the timer goes by the clock: on a busy machine it ends in a panic.
        "-append", f"console=ttyS0 quiet panic=-1 no_timer_check disk={name} {phase}",
        "-drive", f"driver=nbd,server.type=unix,server.path={socket},reconnect-delay={RECONNECT_S},if=none,id=disk",
        *options,
    ]  # fmt: skip
    with begin(*command) as machine:
        try:
            yield machine
        finally:
            machine.kill()


def await_guest(machine: subprocess.Popen[str], says: str) -> None:
    """Waits for output of the guest."""
    await_line(machine.stdout, f"GUEST {says}")
