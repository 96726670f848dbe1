"""The lines of the study for one's own drive, on a served device: its write amplification in each of them.

In the folder of the examples, `python -m trimmed_page.own_drive` prints tables in Markdown. It needs fio with its
engine for network block devices. The device has 192 MiB and the spare space of the drive of `drive.py`.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coflash import Scenario, device

MIB = 192
FILL = "--name=fill --rw=write --bs=1M"
RANDOM = "--name=random --rw=randwrite --bs=4k --size={fifths}M --norandommap --io_size={quarter}M"
TRIM = "--name=trim --rw=trim --bs=1M --offset={fifths}M --size={fifth}M"
AGAIN = "--name=again --rw=randwrite --bs=4k --size={fifths}M --norandommap --io_size={eighth}M --randrepeat=0"
MIXED = "--bs=8k --norandommap --randrepeat=0"
WRITE = f"--name=write --rw=randwrite {MIXED} --rate_iops=4000 --io_size=100%"
TRIMS = f"--name=trims --rw=randtrim {MIXED} --rate_iops=1000 --io_size=25%"
CASES = {
    "does it free?": (FILL, RANDOM, TRIM, AGAIN),
    "without the trim": (FILL, RANDOM, AGAIN),
    "writes": (FILL, WRITE, WRITE, WRITE),
    "writes and trims": (FILL, *[f"{WRITE} {TRIMS}"] * 3),
}
PARTS = {"fifths": MIB * 4 // 5, "fifth": MIB // 5, "quarter": MIB * 20 // 100, "eighth": MIB * 96 // 1000}
"""Of `--size=80%` fio takes `--io_size=25%` and 12%: 20 and 9.6 % of the device."""


@contextmanager
def served() -> Iterator[device.Served]:
    """Yield a new device."""
    spare = {"share": "12%", "definition": "over_provisioning"}
    scenario = Scenario.load("ssd").with_({"cooperation": {"name": "none"}, "cache.size": "0B", "ftl.spare": spare})
    with (
        tempfile.TemporaryDirectory() as folder,
        device.serve(scenario, Path(folder) / "ssd", size=f"{MIB}MiB") as made,
    ):
        yield made


def counters(made: device.Served) -> list[float]:
    """Return the pages that the host wrote, those programmed, and those trimmed."""
    if made.metrics is None:
        raise RuntimeError("the device tells no counters")
    found = made.metrics.flat()
    return [float(found[name]) for name in ("host_writes_pages", "operations.programs_pages", "host_trims_pages")]


def main() -> None:
    """Print a table for each case."""
    for case, lines in CASES.items():
        print(f"\n| {case} | pages written | pages trimmed | WAF |\n|---|---|---|---|")
        with served() as made:
            before = counters(made)
            for line in lines:
                engine = ["--ioengine=nbd", f"--uri={made.address}", f"--size={MIB}M", "--iodepth=32"]
                words = line.format(**PARTS).split()
                subprocess.run(["/usr/bin/fio", *engine, *words], check=True, stdout=subprocess.DEVNULL)
                after = counters(made)
                host, programs, trims = (new - old for new, old in zip(after, before, strict=True))
                waf = f"{programs / host:.2f}" if host else "–"
                print(f"| `{words[0].removeprefix('--name=')}` | {host:,.0f} | {trims:,.0f} | {waf} |", flush=True)
                before = after


if __name__ == "__main__":
    main()
