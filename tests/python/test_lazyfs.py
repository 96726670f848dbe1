"""A host that loses its power: containers on LazyFS, a file system that forgets what was not synced.

R. Ramos et al., "LazyFS", github.com/dsrhaslab/lazyfs; `COFLASH_LAZYFS` names its program. `COFLASH_KILLS` sets the
number of losses of power of each device.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from coflash import device
from killing import kill_servers
from nbd_clients import client, needs_libnbd
from processes import PATIENCE_S, begin
from served_devices import PROMISES, scenario

KILLS = int(os.environ.get("COFLASH_KILLS", "4"))
LAZYFS = os.environ.get("COFLASH_LAZYFS", "lazyfs")
SETTINGS = """\
[faults]
fifo_path = "{place}/faults"
fifo_path_completed = "{place}/completed"
[cache]
apply_eviction = false
[cache.simple]
custom_size = "256mb"
blocks_per_page = 1
"""


@contextmanager
def forgetful(folder: Path, place: Path) -> Iterator[Callable[[], None]]:
    """Lays the container of a device on a file system that forgets what was not synced; yields what makes it forget.

    Only its two files: no socket can be made there.
    """
    program = shutil.which(LAZYFS)
    if program is None:
        pytest.skip("NOT TESTED: lazyfs is missing: build it, and set COFLASH_LAZYFS to its program")
    if os.getuid() != 0:
        pytest.skip("NOT TESTED: only root may mount")
    mounted, root = place / "mount", place / "root"
    for new in (mounted, root, place / "config"):
        new.mkdir()
    for pipe in ("faults", "completed"):
        os.mkfifo(place / pipe)
    (place / "config" / "default.toml").write_text(SETTINGS.format(place=place), encoding="utf-8")
    completed = os.open(place / "completed", os.O_RDWR)

    def forget() -> None:
        (place / "faults").write_text("lazyfs::clear-cache\n", encoding="utf-8")
        assert b"finished::clear-cache" in os.read(completed, 100)

    files = [(folder / name, mounted / name) for name in ("data", "metadata")]
    for file, _ in files:
        shutil.move(file, root)
        file.touch()
    command = (program, mounted, "-o", "modules=subdir", "-o", f"subdir={root}", "-f")
    with (place / "log").open("w") as log, begin(*command, cwd=place, stdout=log, stderr=log) as process:
        end = time.monotonic() + PATIENCE_S
        while not mounted.is_mount():
            assert process.poll() is None, (place / "log").read_text(encoding="utf-8")
            assert time.monotonic() < end, "it is not mounted"
            time.sleep(0.01)
        with ExitStack() as undoing:
            undoing.callback(os.close, completed)
            undoing.callback(process.wait, PATIENCE_S)
            undoing.callback(process.terminate)  # it unmounts
            for file, there in files:
                client("mount", "--bind", str(there), str(file))
                undoing.callback(client, "umount", str(file))
            yield forget


@pytest.mark.parametrize("scheme", PROMISES)
def test_what_was_flushed_survives_a_loss_of_power_of_the_host(
    scheme: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    needs_libnbd()
    folder = tmp_path / "device"
    device.serve(scenario(scheme), folder).stop()
    with forgetful(folder, tmp_path) as forget:
        answered = kill_servers(scenario(scheme), folder, "flushed", KILLS, 4, forget)
        record_property("losses of power of the host", f"{KILLS}, with {answered:,} answered requests")
        device.serve(None, folder).stop()
        assert device.check(folder) == []


def test_what_was_only_answered_does_not(tmp_path: Path) -> None:
    needs_libnbd()
    folder = tmp_path / "device"
    device.serve(scenario("none"), folder).stop()
    with forgetful(folder, tmp_path) as forget, pytest.raises(AssertionError, match="break the promise"):
        kill_servers(scenario("none"), folder, "answered", 10, 4, forget)
