"""SQLite on a cooperative SSD: the write amplification of a bank, its power cut in the midst of a transaction.

Each row is a new device with ext4, on which a bank transfers money until its power is cut. The bank must then be sound
and have all that was committed, and the simulation of both sessions must give what they gave. As root, with nbdfuse, a
loop device, e2fsprogs and nbdcopy: `python compare.py FLUSH`, the number of the flush in which the power is cut; 500
unless given.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from coflash import Metrics, Result, Scenario, device

HERE = Path(__file__).parent
# A bank of 40 MiB on a file system of 64 MiB: GC has work.
BANK = {"ACCOUNTS": "10000", "ACCOUNTS_PER_TRANSFER": "100"}
SIZE = "68MiB"


def outcome(mode: str, scheme: str, flushes: int, folder: Path) -> tuple[Metrics, int]:
    """Transfer on a new device, cut its power in a flush, and check what is left.

    Args:
        mode: The journal of SQLite.
        scheme: The cooperation scheme.
        flushes: The number of the flush in which the power is cut.
        folder: The folder of the device.

    Returns:
        The measures of the session up to the power cut, and the transactions that were committed by then.

    Raises:
        SystemExit: The bank is damaged, a transaction is lost, or a session and its simulation differ.
    """
    scenario = Scenario.load("ssd").with_({"cooperation": {"name": scheme}})
    with device.serve(scenario, folder, size=SIZE, cut_after=f"flush={flushes}", seed=4) as served:
        bank = {**BANK, "TRANSFERS": str(flushes), "MODE": mode, "COFLASH_NBD": served.address}
        environment = {**os.environ, **bank}
        for script in ("../ext4_power_cuts/prepare.sh", "workload.sh", "check.sh"):
            done = subprocess.run([HERE / script], env=environment, capture_output=True, text=True, check=False)
            if script == "workload.sh":
                committed = done.stdout.count("\n")
                # The power cut ends it, and nothing else may.
                if not any("power of the device was cut" in problem for problem in served.look()):
                    sys.exit(f"the workload ended with {done.returncode} before the power cut: {done.stderr}")
            elif done.returncode:
                sys.exit(f"{script} ended with {done.returncode}: {done.stderr}")
    for session in device.sessions(folder):
        if difference := device.twin(session):
            sys.exit(f"{session} and its simulation differ: {difference}")
    return Result.load(device.sessions(folder)[0] / "result").metrics, committed


def main() -> None:
    """Print a row for each journal and scheme."""
    flushes = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    print("journal  scheme  written  WAF   GC copies  GC drops  committed  after the cut  simulated")
    for mode in ("wal", "delete"):
        for scheme in ("none", "cdm"):
            with tempfile.TemporaryDirectory() as folder:
                found, committed = outcome(mode, scheme, flushes, Path(folder) / "ssd")
            written = f"{int(found['host_writes_pages']) >> 8:3} MiB"
            drops = int(found.get("gc_drops_pages") or 0)
            print(
                f"{mode:7}  {scheme:6}  {written}  {found['waf_host']:.2f}  {found['gc_copies_pages']:9,}"
                f"  {drops:8,}  {committed:9,}  all there      equal"
            )


if __name__ == "__main__":
    main()
