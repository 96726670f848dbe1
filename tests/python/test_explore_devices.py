"""What `coflash explore` finds of a program on two devices with one clock, each with a flush of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from coflash import CoflashError, device
from coflash.exploration import Explored
from explored_disk import program
from processes import coflash
from served_devices import scenario

TWO = "other = Disk('COFLASH_NBD_2'); "
COMMIT = "disk.write(0, b'done' * 128, FUA)"
CHECK = program(f"{TWO}sys.exit(disk.read(0, 4) == b'done' and other.read(0, 1) != b'd')")
SIZES = "4MiB+2MiB"


def explored(place: Path, steps: str, check: str = CHECK, **options: object) -> Explored:
    """Explore a program on two devices."""
    place = place / "device"
    plan = {"size": SIZES, "points": 40, "seed": 1, **options}
    return device.explore(scenario("none"), place, program(TWO + steps), check, **plan)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("between", "is_found"),
    [("disk.flush()", True), ("other.flush()", False), ("disk.flush(); other.flush()", False), ("pass", True)],
)
def test_a_flush_covers_its_own_device_alone(between: str, is_found: bool, tmp_path: Path) -> None:
    found = explored(tmp_path, f"other.write(0, b'd' * 512); {between}; {COMMIT}")
    assert (found.failed > 0) == is_found
    for failure in found.failures:
        (lost,), (kept,) = failure.lost, failure.kept
        assert (lost.device, lost.offset, kept.device, kept.offset) == (2, 0, 1, 0)
        assert "write of 512 bytes at 0 of device 2" in failure.story
        assert "no flush of its device covers it before the cut; a flush of its device between its" in failure.story


def test_devices_have_their_sizes_and_keep_what_is_written_at_their_ends(tmp_path: Path) -> None:
    run = (
        "disk.write((4 << 20) - 512, b'a' * 512); other.write((2 << 20) - 512, b'b' * 512); disk.flush(); other.flush()"
    )
    refused = "\ntry:\n    disk.write(4 << 20, b'c' * 512)\n    sys.exit(7)\nexcept OSError: pass"
    check = (
        "flushes = int(os.environ['COFLASH_FLUSHES'])\n"
        "assert flushes < 1 or disk.read((4 << 20) - 512, 512) == b'a' * 512\n"
        "assert flushes < 2 or other.read((2 << 20) - 512, 512) == b'b' * 512\n"
        "assert other.read(0, 4096) == bytes(4096)"
    )
    found = explored(tmp_path, run + refused, program(TWO + check))
    assert (found.failed, found.flushes) == (0, 2), found.failures


def test_sizes_that_do_not_fit_the_device_are_refused(tmp_path: Path) -> None:
    explored(tmp_path, "disk.flush()", program("pass"), points=0)
    with pytest.raises(CoflashError, match=r"\[4194304, 4194304\] bytes were given; .* that are 6291456 together"):
        explored(tmp_path, "disk.flush()", program("pass"), size="4MiB+4MiB")
    with pytest.raises(CoflashError, match="multiples of atomic, 1048576"):
        explored(tmp_path, "disk.flush()", program("pass"), size="2560KiB+3584KiB", atomic="1MiB")
    with pytest.raises(CoflashError, match="size: "):
        explored(tmp_path, "disk.flush()", program("pass"), size="4MiB+much")


UNPLUGGED = """
halves = [disk, other]
for n in range(1, 4):
    for half in halves[:]:
        try:
            half.write(0, bytes([n]) * 512)
            half.flush()
        except OSError:
            halves.remove(half)
    mark(str(n))
"""


@pytest.mark.parametrize("trusted", ["disk.read(0, 1)[0]", "max(disk.read(0, 1)[0], other.read(0, 1)[0])"])
def test_a_device_loses_power_alone_while_the_other_goes_on(trusted: str, tmp_path: Path) -> None:
    check = program(f"{TWO}sys.exit({trusted} < int(os.environ['COFLASH_MARK'] or 0))")
    found = explored(tmp_path, UNPLUGGED, check, faults=["unplugged@3"])
    assert found.faults == [("unplugged@3", True)]
    assert (found.failed > 0) == ("max" not in trusted), "the first half is back with what it had"
    assert {failure.fault for failure in found.failures} <= {"unplugged@3"}


def test_what_an_unplugged_device_is_sent_later_does_not_reach_it(tmp_path: Path) -> None:
    run = """
for n in range(1, 4):
    try: other.write(0, bytes([n]) * 512)
    except OSError: pass
"""
    check = program(f"{TWO}sys.exit(other.read(0, 1)[0] > 2 and os.environ['COFLASH_FAULT'] != '')")
    found = explored(tmp_path, run, check, faults=["unplugged@2"])
    assert found.failed == 0, found.failures
    seen = program(f"{TWO}sys.exit(other.read(0, 1)[0] == 2 and os.environ['COFLASH_FAULT'] != '')")
    assert explored(tmp_path, run, seen, faults=["unplugged@2"]).failed > 0, "of the failed one anything may be there"


def test_an_error_that_a_workload_does_not_report_is_told(tmp_path: Path) -> None:
    careless = "disk.write(512, b'x' * 512)\ntry: disk.flush()\nexcept OSError: pass"
    found = explored(tmp_path, careless, program("pass"), faults=["flush-error@1", "flush-error@9"])
    assert (found.failed, found.unreported) == (0, ["flush-error@1"])
    assert "fault flush-error@1: it came: a request failed, and the workload ended without an error" in found.summary()
    assert "fault flush-error@9: it never came" in found.summary()
    careful = "disk.write(512, b'x' * 512); disk.flush()"
    found = explored(tmp_path, careful, program("pass"), faults=["flush-error@1", "stuck@1"])
    assert (found.unreported, found.faults) == ([], [("flush-error@1", True), ("stuck@1", True)])


@pytest.mark.skipif(shutil.which("nbdkit") is None, reason="it tells the devices apart")
def test_a_kept_failure_is_served_as_two_devices(tmp_path: Path) -> None:
    steps = f"other.write(0, b'd' * 512); disk.flush(); {COMMIT}"
    found = explored(tmp_path, steps)
    look = f"{found.failures[0].folder}/look.sh"
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run([look], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    sizes = program(f"{TWO}print(os.environ['COFLASH_SOCKET_2'], other.read((2 << 20) - 1, 1))")
    done = subprocess.run([look, "sh", "-c", sizes], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    again = coflash("explore", "--device", str(tmp_path / "device"), "--state", str(found.failures[0].state))
    assert again.returncode == 1
    assert "of device 2" in again.stdout
