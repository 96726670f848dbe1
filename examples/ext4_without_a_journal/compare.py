"""Ext4 with its journal, and without one above a cache that commits by changing the state of its pages.

The same transactions on new devices: what was written, and how long a commit took. Then the power of host and device
is cut in the midst of a transaction, CUTS times, and what is left is examined: damaged file systems, and torn
transactions. As root, with nbdfuse, a loop device, e2fsprogs and nbdcopy: `python compare.py CUTS`, 12 unless given.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from coflash import Metrics, Result, Scenario, device

HERE = Path(__file__).parent
SIZE, MIB = "68MiB", 64
CACHE = {"cache.placement": "host", "cache.size": "4MiB"}
CONSISTENT = {"name": "cdm-consistent", "commit_interval": "1h"}
"""The transactions alone commit: time does not."""
ROWS = {
    "journal, cdm": ("cdm", ""),
    "journal, cdm-consistent": (CONSISTENT, ""),
    "no journal, cdm-consistent": (CONSISTENT, "^has_journal"),
}
WITHOUT_JOURNAL = {"OPTIONS": "nobarrier", "FLUSH": "last"}
LONG = {"TABLE_PAGES": "10240", "TRANSACTIONS": "1000"}
SHORT = {"TABLE_PAGES": "64", "TRANSACTIONS": "12"}


def prepared(scenario: Scenario, folder: Path, features: str) -> None:
    """Make a device with a new ext4, in a session of its own."""
    image = folder.with_name("image")
    image.write_bytes(b"")
    os.truncate(image, MIB << 20)
    options = ["-O", features] if features else []
    subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=0", *options, image], check=True)  # noqa: S607
    with device.serve(scenario, folder, size=SIZE) as served:
        subprocess.run(["nbdcopy", "--flush", image, served.address], check=True)  # noqa: S607


def outcome(script: str, address: str, *more: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a script on a served device."""
    environment = dict(os.environ, COFLASH_NBD=address)
    for some in more:
        environment |= some
    return subprocess.run([HERE / script], env=environment, capture_output=True, text=True, check=False)


def measured(folder: Path, how: dict[str, str]) -> tuple[Metrics, list[float]]:
    """Return the measures of the long workload, and the median and 99th percentile of a commit in milliseconds."""
    with device.serve(None, folder, emulate=True) as served:
        done = outcome("workload.sh", served.address, LONG, how)
    if done.returncode:
        sys.exit(f"the workload ended with {done.returncode}: {done.stderr}")
    return Result.load(device.sessions(folder)[-1] / "result").metrics, [
        int(one) / 1e6 for one in done.stdout.split()[-2:]
    ]


def left_by_cuts(folder: Path, how: dict[str, str], cuts: int) -> tuple[int, int]:
    """Return how many cuts left a damaged file system, and how many a torn transaction."""
    damaged, torn = 0, folder.with_name("torn")
    torn.touch()
    for number in range(cuts):
        other = folder.with_name(f"cut{number}")
        shutil.copytree(folder, other, ignore=shutil.ignore_patterns("nbd", "*.sock", "control"))
        with device.serve(None, other, cut_after=f"writes={20 + 11 * number}", side="both", seed=number) as served:
            outcome("workload.sh", served.address, SHORT, how)
        with device.serve(None, other) as served:
            damaged += outcome("check.sh", served.address, SHORT, {"TORN": str(torn)}).returncode != 0
    return damaged, torn.read_text("utf-8").count("\n")


def main() -> None:
    """Print a row for each file system and cache."""
    cuts = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    print(" " * 28 + "written  programs   WAF  GC copies  flushes  commit: median, p99    damaged, torn")
    for name, (cooperation, features) in ROWS.items():
        scenario = Scenario.load("ssd").with_({**CACHE, "cooperation": cooperation})
        how = WITHOUT_JOURNAL if features else {}
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "ssd"
            prepared(scenario, folder, features)
            shutil.copytree(folder, folder.with_name("long"))
            found, (median, high) = measured(folder.with_name("long"), how)
            damaged, torn = left_by_cuts(folder, how, cuts)
        programs = sum(found.programs_pages.to_dict().values())
        print(
            f"{name:26}  {found.host_writes_pages / 256:5.1f} MiB  {programs:7,}  {found.waf_host:.2f}"
            f"  {found.gc_copies_pages:9,}  {found.flushes:7,}  {median:6.2f}, {high:6.2f} ms"
            f"    {damaged}, {torn} of {cuts}",
            flush=True,
        )


if __name__ == "__main__":
    main()
