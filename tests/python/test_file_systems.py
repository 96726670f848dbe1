"""File systems and a database on served devices, and the states that power cuts may leave of them.

`COFLASH_POINTS` sets the number of drawn points, and makes the workloads longer.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import compare
import pytest

from coflash import Scenario, device
from nbd_clients import client, needs
from processes import COFLASH, PATIENCE_S

EXAMPLES = Path(__file__).parents[2] / "examples"
POINTS = int(os.environ.get("COFLASH_POINTS", "3"))
IS_LONG = POINTS >= 40
takes_minutes = pytest.mark.skipif(not IS_LONG, reason="NOT TESTED: it takes minutes: make strangers")
Record = Callable[[str, object], None]


def needs_mounts(*tools: str) -> None:
    """Skips the test if file systems cannot be mounted."""
    needs("nbdfuse", "nbdcopy", "mkfs.ext4", "mount", "umount", *tools)
    if refused := refusal_to_mount():
        pytest.skip(f"NOT TESTED: to mount a file system needs root, FUSE and loop devices: {refused}")


@cache
def refusal_to_mount() -> str:
    """The error of the system; empty if it mounts. In a container there may be devices, and no right to use them."""
    try:
        Path("/dev/fuse").open("r+b", buffering=0).close()
    except OSError as error:
        return str(error)
    with tempfile.TemporaryDirectory() as place:
        image, mounted = Path(place) / "image", Path(place) / "mounted"
        mounted.mkdir()
        image.write_bytes(bytes(1 << 20))
        for command in (f"mkfs.ext4 -q {image}", f"mount -o loop {image} {mounted}", f"umount -l {mounted}"):
            done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
            if done.returncode:
                return done.stderr.strip()
    return ""


def in_host(cooperation: str) -> Scenario:
    """The scenario `ssd` with its cache in the host."""
    return Scenario.load("ssd").with_({"cache.placement": "host", "cooperation": {"name": cooperation}})


def prepared(scenario: Scenario | str, folder: Path, example: str, file_system: str, mib: int) -> None:
    """Makes a device with a new file system, after the example's preparation."""
    with device.serve(scenario, folder, size=f"{mib + 4}MiB") as served:
        # In order, and each once.
        prepares = dict.fromkeys(EXAMPLES / place / "prepare.sh" for place in ("ext4_power_cuts", example))
        for prepare in filter(Path.exists, prepares):
            client("env", f"COFLASH_NBD={served.address}", f"FS={file_system}", f"SIZE={mib}M", str(prepare))


def explored(
    folder: Path,
    example: str,
    file_system: str,
    mib: int = 64,
    *,
    scenario: Scenario | str = "ssd",
    atomic: str | None = None,
    **environment: str,
) -> device.Explored:
    """Explores the states of an example on a new file system.

    A mount of ext4 writes the superblock, which has two sectors, in place.
    """
    prepared(scenario, folder, example, file_system, mib)
    run = " ".join([*(f"{name}={value}" for name, value in environment.items()), f"{EXAMPLES}/{example}/workload.sh"])
    atomic = atomic or {"ext4": "4KiB", "xfs": "512B"}[file_system]
    check = f"{EXAMPLES}/{example}/check.sh"
    return device.explore(None, folder, run, check, points=POINTS, atomic=atomic, seed=1)


@pytest.mark.parametrize("file_system", ["ext4", pytest.param("xfs", marks=takes_minutes)])
def test_a_file_system_survives_power_cuts(file_system: str, tmp_path: Path, record_property: Record) -> None:
    needs_mounts(f"mkfs.{file_system}", "e2fsck" if file_system == "ext4" else "xfs_repair")
    mib = 64 if file_system == "ext4" else 300
    found = explored(tmp_path / "device", "ext4_power_cuts", file_system, mib, FILES="10" if IS_LONG else "1")
    record_property("explored", str(found))
    assert found.flushes > 0
    assert found.failed == 0, found.failures


@takes_minutes
def test_sectors_of_512_bytes_tear_nothing_of_ext4_but_its_superblock(tmp_path: Path, record_property: Record) -> None:
    needs_mounts("e2fsck")
    found = explored(tmp_path / "device", "ext4_power_cuts", "ext4", atomic="512B", FILES="10")
    record_property("explored", str(found))
    assert sum(failure.count for failure in found.failures) == found.failed
    for failure in found.failures:
        assert "Superblock checksum does not match" in failure.output


@pytest.mark.parametrize("cooperation", ["cdm-consistent", pytest.param("cdm", marks=takes_minutes)])
def test_ext4_above_a_cache_in_the_host_survives_power_cuts(
    cooperation: str, tmp_path: Path, record_property: Record
) -> None:
    needs_mounts("e2fsck", "debugfs")
    files = "10" if IS_LONG else "1"
    found = explored(tmp_path / "device", "ext4_power_cuts", "ext4", scenario=in_host(cooperation), FILES=files)
    record_property("explored", str(found))
    assert found.flushes > 0
    assert found.failed == 0, found.failures


@pytest.mark.parametrize("side", ["device", pytest.param("host", marks=takes_minutes), "both"])
def test_a_mounted_ext4_goes_on_unless_its_host_loses_power(side: str, tmp_path: Path, record_property: Record) -> None:
    needs_mounts("e2fsck", "debugfs")
    folder, example = tmp_path / "device", EXAMPLES / "ext4_power_cuts"
    prepared(in_host("cdm-consistent"), folder, "ext4_power_cuts", "ext4", 64)
    rounds = 20 if IS_LONG else 1
    for seed in range(rounds):
        with device.serve(None, folder, cut_after=f"flush={5 + seed}", side=side, seed=seed) as served:
            environment = {**os.environ, "COFLASH_NBD": served.address, "FILES": "10" if IS_LONG else "3"}
            done = subprocess.run(
                [example / "workload.sh"], env=environment, capture_output=True, timeout=PATIENCE_S, check=False
            )
            assert (done.returncode == 0) == (side == "device"), done.stderr
            assert any("was cut" in problem for problem in served.look())
            client("env", f"COFLASH_NBD={served.address}", str(example / "check.sh"))
    for session in device.sessions(folder):
        assert device.twin(session) == {}, session
    record_property("cuts", f"{rounds} of {side}")


MOUNTED = """\
set -eu
dd if=/dev/zero of="$MNT/kept" bs=64k count=16 conv=fsync status=none
dd if=/dev/zero of="$MNT/lost" bs=64k count=16 conv=fsync status=none
# Past the page cache, so that the device has answered, and without a flush.
tr '\\0' 1 < "$MNT/kept" | dd of="$MNT/lost" bs=64k iflag=fullblock oflag=direct conv=notrunc status=none
{cut}
if sync "$MNT/lost"; then echo "fsync succeeded"; else echo "fsync failed"; fi
"""


@pytest.mark.parametrize("file_system", ["ext4", "xfs"])
def test_a_mounted_file_system_sees_a_power_cut(file_system: str, tmp_path: Path) -> None:
    needs_mounts(f"mkfs.{file_system}", "qemu-io")
    mounted, mib = str(EXAMPLES / "mounted.sh"), 64 if file_system == "ext4" else 300
    volatile = Scenario.load("ssd").with_({"cache.volatile": True, "cooperation": {"name": "none"}})
    for cut in ("", f"{COFLASH[0]} -m coflash device cut {tmp_path}/device"):
        folder = tmp_path / ("device" if cut else "uncut")
        prepared(volatile, folder, "ext4_power_cuts", file_system, mib)
        with device.serve(None, folder) as served:
            address = f"COFLASH_NBD={served.address}"
            told = client("env", address, mounted, "sh", "-c", MOUNTED.format(cut=cut)).splitlines()
            assert told[-1] == ("fsync failed" if cut else "fsync succeeded")
            if cut:
                assert "no flush followed" in told[0]
            # Its journal is replayed.
            content = client("env", address, mounted, "sh", "-c", 'tr "\\0" 0 < "$MNT/kept" && cat "$MNT/lost"')
            assert content.startswith("0" * (1 << 20))
            assert cut or content.endswith("1" * (1 << 20))


@takes_minutes
def test_a_file_system_above_a_cache_in_the_host_that_does_not_flush_is_found(
    tmp_path: Path, record_property: Record
) -> None:
    needs_mounts("e2fsck")
    scenario, folder = in_host("cdm-consistent"), tmp_path / "device"
    found = explored(folder, "ext4_power_cuts", "ext4", scenario=scenario, FILES="10", OPTIONS="barrier=0")
    record_property("explored", str(found))
    assert found.failed > 0


def test_the_example_compares_schemes_and_its_sessions_have_twins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Record
) -> None:
    needs_mounts("e2fsck", "debugfs")
    if not IS_LONG:
        monkeypatch.setattr(compare, "BANK", {})
    for mode in ("wal", "delete"):
        for scheme in ("none", "cdm") if IS_LONG else ("cdm",):
            metrics, committed = compare.outcome(mode, scheme, 500 if IS_LONG else 60, tmp_path / mode / scheme)
            record_property(f"{mode}, {scheme}", f"{committed} committed, WAF {metrics['waf_host']:.2f}")
            assert committed > 0
