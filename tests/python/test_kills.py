"""Devices keep their promises when their process is killed; `COFLASH_KILLS` sets the number of kills for each."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from coflash import device
from killing import kill_servers
from nbd_clients import needs_libnbd
from served_devices import PROMISES, scenario

KILLS = int(os.environ.get("COFLASH_KILLS", "4"))


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory if there is one: it survives the end of a process, and nothing waits for a disk."""
    memory = Path("/dev/shm")  # noqa: S108 - the folder in it has a name of its own
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as place:
        yield Path(place) / "device"


@pytest.mark.parametrize("scheme", PROMISES)
def test_a_device_keeps_its_promise_when_its_process_is_killed(
    scheme: str, folder: Path, record_property: Callable[[str, object], None]
) -> None:
    needs_libnbd()
    answered = kill_servers(scenario(scheme), folder, PROMISES[scheme], KILLS, seed=4)
    record_property("kills", f"{KILLS}, with {answered:,} answered requests")
    assert answered > 50 * KILLS
    device.serve(None, folder).stop()
    last = device.sessions(folder)
    assert [session.name for session in last] == [f"{KILLS + 1:04}"], "the others have not ended"
    assert device.twin(last[0]) == {}
    assert device.check(folder) == []


@pytest.mark.parametrize(("scheme", "promise"), [("volatile", "answered"), ("volatile", "committed")])
def test_a_promise_that_is_not_kept_is_seen(scheme: str, promise: str, folder: Path) -> None:
    needs_libnbd()
    with pytest.raises(AssertionError, match="break the promise"):
        kill_servers(scenario(scheme), folder, promise, cycles=10, seed=4)
