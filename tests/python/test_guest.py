"""Linux in a virtual machine on a served device. Its server is killed, and its power is cut."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from coflash import device
from guest import DISKS, await_guest, guest, needs_guest
from nbd_clients import client, needs
from processes import COFLASH, PATIENCE_S, begin

pytestmark = pytest.mark.skipif(
    int(os.environ.get("COFLASH_POINTS", "3")) < 40, reason="NOT TESTED: it takes minutes: make strangers"
)
PREPARE = Path(__file__).parents[2] / "examples/ext4_power_cuts/prepare.sh"
FILES = 3


@pytest.mark.parametrize("disk", DISKS)
def test_ext4_in_a_guest_survives_a_killed_server_and_a_power_cut(
    disk: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    needs_guest()
    needs("mkfs.ext4", "nbdcopy", "e2fsck")
    folder, image = tmp_path / "device", tmp_path / "image"
    with device.serve("ssd", folder, size="68MiB") as served:
        client("env", f"COFLASH_NBD={served.address}", str(PREPARE))
    with begin(*COFLASH, "serve", "--device", str(folder)) as server:
        assert server.stdout is not None
        uri = server.stdout.readline().strip()
        with guest(uri, disk, "phase=write") as machine:
            await_guest(machine, f"synced {FILES}$")
            server.kill()
            server.wait(PATIENCE_S)
            # Requests of the guest wait meanwhile.
            with device.serve(None, folder) as served:
                await_guest(machine, f"synced {3 * FILES}$")
                served.cut(seed=4)
                machine.kill()
    with device.serve(None, folder) as served, guest(served.address, disk, f"phase=check files={3 * FILES}") as machine:
        await_guest(machine, f"right {3 * FILES}$")
        machine.wait(PATIENCE_S)
        client("nbdcopy", served.address, str(image))
    client("e2fsck", "-fn", str(image))
    sessions = device.sessions(folder)
    record_property("guest", f"{len(sessions)} sessions")
    assert [device.twin(session) for session in sessions] == [{}] * len(sessions)
    assert device.check(folder) == []
