"""Devices whose process is killed keep what they promise; `COFLASH_KILLS` says how often each is killed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from coflash import device
from killing import kill_servers
from nbd_clients import needs_libnbd
from served_devices import PROMISES, scenario

KILLS = int(os.environ.get("COFLASH_KILLS", "4"))


@pytest.mark.parametrize("scheme", PROMISES)
def test_a_device_keeps_its_promise_when_its_process_is_killed(scheme: str, tmp_path: Path) -> None:
    needs_libnbd()
    folder = tmp_path / "device"
    answered = kill_servers(scenario(scheme), folder, PROMISES[scheme], KILLS, seed=4)
    assert answered > 50 * KILLS
    device.serve(None, folder).stop()
    last = device.sessions(folder)
    assert [session.name for session in last] == [f"{KILLS + 1:04}"], "the others have not ended"
    assert device.twin(last[0]) == {}
    assert device.check(folder) == []
