"""Ext4 with its journal, and without one above a cache that commits by changing the state of its pages.

The same transactions on new devices: what was written, and how long a commit took. Then the power is cut at POINTS
places, of host, device and both, and what is left is examined: damaged file systems, and torn transactions. As root, with
nbdfuse, a loop device, e2fsprogs and nbdcopy: `python compare.py POINTS`, 20 unless given.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from coflash import Result, Scenario, device

HERE = Path(__file__).parent
SIZE, MIB = "68MiB", 64
# The transactions alone commit: neither time does, nor a lack of room.
CACHE = {"cache.placement": "host", "cache.size": "4MiB"}
TABLE_PAGES, TRANSACTIONS = "10240", "1000"
CONSISTENT = {"name": "cdm-consistent", "commit_interval": "1h"}
ROWS = {
    "journal, cdm": ({"cooperation": "cdm"}, ""),
    "journal, cdm-consistent": ({"cooperation": CONSISTENT}, ""),
    "no journal, cdm-consistent": ({"cooperation": CONSISTENT}, "^has_journal"),
    "no journal, cdm": ({"cooperation": "cdm"}, "^has_journal"),
}
WITHOUT_JOURNAL = {"OPTIONS": "nobarrier", "FLUSH": "last"}


def prepared(scenario: Scenario, folder: Path, features: str) -> None:
    """Make a device with a new ext4, in a session of its own."""
    image = folder.with_name("image")
    image.write_bytes(b"")
    os.truncate(image, MIB << 20)
    options = ["-O", features] if features else []
    subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=0", *options, image], check=True)  # noqa: S607
    with device.serve(scenario, folder, size=SIZE) as served:
        subprocess.run(["nbdcopy", "--flush", image, served.address], check=True)  # noqa: S607


def main() -> None:
    """Print a row for each file system and cache."""
    points = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print(" " * 28 + "written  programs   WAF  GC copies  flushes  commit: median, p99   damaged, torn")
    for name, (changes, features) in ROWS.items():
        scenario = Scenario.load("ssd").with_({**CACHE, **changes})
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "ssd"
            prepared(scenario, folder, features)
            with device.serve(None, folder, emulate=True) as served:
                job = {"COFLASH_NBD": served.address, "TABLE_PAGES": TABLE_PAGES, "TRANSACTIONS": TRANSACTIONS}
                environment = {**os.environ, **job, **(WITHOUT_JOURNAL if features else {})}
                done = subprocess.run(
                    [HERE / "workload.sh"], env=environment, capture_output=True, text=True, check=False
                )
            if done.returncode:
                sys.exit(f"the workload ended with {done.returncode}: {done.stderr}")
            found = Result.load(device.sessions(folder)[-1] / "result").metrics
            median, high = (int(one) / 1e6 for one in done.stdout.split()[-2:])
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "ssd"
            prepared(scenario, folder, features)
            how = " ".join(f"{key}={value}" for key, value in WITHOUT_JOURNAL.items()) if features else ""
            run = f"{how} TRANSACTIONS=12 TABLE_PAGES=64 {HERE}/workload.sh"
            torn = Path(place) / "torn"
            torn.touch()
            check = f"TABLE_PAGES=64 TORN={torn} {HERE}/check.sh"
            cut = device.explore(None, folder, run, check, points=points, atomic="4KiB", seed=1)
            halves = torn.read_text("utf-8").count("\n")
        programs = sum(found.programs_pages.to_dict().values())
        print(
            f"{name:26}  {int(found.host_writes_pages) / 256:4.1f} MiB  {programs:8,}  {found.waf_host:.2f}"
            f"  {int(found.gc_copies_pages):9,}  {int(found.flushes):7,}  {median:6.2f}, {high:6.2f} ms"
            f"   {cut.failed}, {halves} of {cut.states}",
            flush=True,
        )


if __name__ == "__main__":
    main()
