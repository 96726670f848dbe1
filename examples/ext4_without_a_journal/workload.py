#!/usr/bin/python3
"""Carry out transactions on the file system of the device, in $MNT.

A transaction overwrites four pages of a table, makes a file and removes an old one. Then all of it is written, and
the device is flushed: with a journal by `syncfs`. Without one, `syncfs` flushes too early, between data and metadata,
so that the file system is mounted without barriers, and the block device is flushed at the end (FLUSH=last). The
number of the transaction goes to the last sector of the device, past the file system. The last line has the median
and the 99th percentile of what a commit took.
"""

import ctypes
import os
import random
import sys
import time
from pathlib import Path

PAGE, PAGES, KEPT = 4096, int(os.environ.get("TABLE_PAGES", "2048")), 20
place, disk = Path(os.environ["MNT"]), Path(os.environ["DISK"])
libc, draw = ctypes.CDLL(None, use_errno=True), random.Random(1)  # noqa: S311
mounts = (line.split() for line in Path("/proc/mounts").read_text().splitlines())
(loop,) = [source for source, target, *_ in mounts if target == str(place)]
table = os.open(place / "table", os.O_RDWR | os.O_CREAT)
root = os.open(place, os.O_RDONLY)
block = os.open(loop, os.O_RDONLY)
took: list[float] = []


def commit() -> None:
    """Have all that was written to the file system durable."""
    began = time.perf_counter_ns()
    if libc.syncfs(root):
        sys.exit(os.strerror(ctypes.get_errno()))
    if os.environ.get("FLUSH") == "last":
        os.fsync(block)
    took.append(time.perf_counter_ns() - began)


for page in range(PAGES):
    os.pwrite(table, bytes(PAGE), page * PAGE)
commit()
took.clear()
for number in range(1, int(os.environ.get("TRANSACTIONS", "300")) + 1):
    for page in draw.sample(range(PAGES), 4):
        os.pwrite(table, f"{number}\n".encode().ljust(PAGE, b"."), page * PAGE)
    (place / f"file{number}").write_text(f"{number}\n" * 1000)
    (place / f"file{number - KEPT}").unlink(missing_ok=True)
    commit()
    with disk.open("r+b", buffering=0) as raw:
        raw.seek(-512, os.SEEK_END)
        raw.write(f"{number:<512}".encode())
took.sort()
print(f"{took[len(took) // 2]} {took[len(took) * 99 // 100]}")
