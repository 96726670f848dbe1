"""What deallocating logged pages saves a real PostgreSQL: pgbench on ext4 on a served device.

As root, with nbdfuse, e2fsprogs, and the patched PostgreSQL in the folder that the variable POSTGRESQL names:

    python -m postgresql_trims.measure --scale 8 --seed 1 none log pages both

Each case is a new device, filled by pgbench's tables and the log, on which as much is written as `--warm` times its
size before anything is measured. It prints a line of JSON a case. The simulation of the session must be equal.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

from coflash import Scenario, device
from postgresql_trims.stand import Stand, command, stand

CASES = {"none": (False, False), "log": (True, False), "pages": (False, True), "both": (True, True)}
"""Is the dead log trimmed? Are logged pages deallocated?"""
MIB = 1 << 20
RESERVE_MIB = 8


def sizes(scale: int, pool: float, distance: float) -> tuple[int, int, int]:
    """Return MiB of the pool, of the log at most, and of the device that both fill."""
    data = 15 * scale
    log = max(8, round(data * distance * 1.9))  # a checkpoint begins when it has grown by 1 / 1.9 of this
    return max(2, round(data * pool)), log, round(1.15 * data) + log + 48


class LogTrimmer(threading.Thread):
    """The simplest rival: trim the segments of the log that a checkpoint has made ready for use again, in place.

    Recovery does not read them, and the server writes them from their beginning. The next three are left alone: the
    server may have begun to write them.
    """

    def __init__(self, at: Stand, in_place: Path) -> None:
        """Trim with the library `in_place`."""
        super().__init__(daemon=True)
        self.at, self.done, self.trimmed = at, threading.Event(), set[str]()
        self.in_place = in_place

    def run(self) -> None:
        """Look for segments a few times a second."""
        while not self.done.wait(0.3):
            name = self.at.sql("SELECT pg_walfile_name(pg_current_wal_insert_lsn())").strip()
            for file in sorted(path for path in (self.at.data / "pg_wal").glob("0000000*") if path.name > name)[3:]:
                if file.name not in self.trimmed:
                    self.trimmed.add(file.name)
                    self.at.deallocate(file, 0, file.stat().st_size, self.in_place)

    def __enter__(self) -> LogTrimmer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self.join()


def settings(case: str, pool: int, log: int, in_place: Path | None) -> dict[str, object]:
    """Return the settings of the server."""
    trims_log, deallocates = CASES[case]
    trims_log = trims_log and not in_place  # else recycled segments are trimmed
    return {
        "shared_buffers": f"{pool}MB",
        "max_wal_size": f"{log}MB",
        "min_wal_size": f"{2 if trims_log else log}MB",
        "wal_recycle": "off" if trims_log else "on",
        "wal_init_zero": "off" if trims_log else "on",  # else each new segment is written twice
        "checkpoint_timeout": "30min",
        "autovacuum": "off",  # it works by the clock: as many transactions would not be as much work
        "deallocate_logged_pages": "on" if deallocates else "off",
    }


def rates(before: dict[str, float], after: dict[str, float], transactions: int) -> dict[str, float]:
    """Return what the device did between two moments."""
    host, programs, trims, erases, reads, writes, response = (after[name] - before[name] for name in COUNTERS)
    busy = programs * TIMING_US["program"] + reads * TIMING_US["read"] + erases * TIMING_US["erase"]
    return {
        "waf": round(programs / host, 3),
        "host_pages": round(host / transactions, 2),
        "programs": round(programs / transactions, 2),
        "trimmed_pages": round(trims / transactions, 2),
        "erases": round(erases / transactions, 4),
        "flash_ms": round(busy / transactions / 1000, 3),
        "write_us": round(response / writes / 1000, 1),
    }


COUNTERS = ("host_writes", "programs", "host_trims", "erases", "reads", "writes", "response_ns")
TIMING_US = {"read": 25, "program": 200, "erase": 1500}
"""Of the scenario `ssd`, on one die; `flash_ms` is the time of all dies together."""


def counters(served: device.Served) -> dict[str, float]:
    """Return the counters of the device now, in pages; `response_ns` is the sum over its writes."""
    if served.metrics is None:
        raise RuntimeError("the device tells no counters")
    found = served.metrics.flat()
    writes = float(found["response_ns.write.count"])
    values = (
        found["host_writes_pages"],
        found["operations.programs_pages"],
        found["host_trims_pages"],
        found["operations.erases_blocks"],
        found["operations.reads_pages"],
        writes,
        writes * float(found["response_ns.write.mean"] or 0),
    )
    return dict(zip(COUNTERS, map(float, values), strict=True))


def worked(at: Stand, served: device.Served, arguments: argparse.Namespace, size: int) -> dict[str, object]:
    """Warm the device, then measure chunks of transactions."""
    work = ["-n", "-c", 4, "-t", arguments.chunk // 4, "--random-seed", arguments.seed]
    if arguments.zipf:
        script = at.sockets / "zipf.sql"
        script.write_text(
            f"\\set aid permute(random_zipfian(1, 100000 * :scale, {arguments.zipf}), 100000 * :scale)\n"
            "\\set delta random(-5000, 5000)\nBEGIN;\n"
            "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;\n"
            "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (1, 1, :aid, :delta, now());\nEND;\n"
        )
        work += ["-f", script, "-D", f"scale={arguments.scale}"]
    warm = 0
    begin = counters(served)["host_writes"]
    while counters(served)["host_writes"] - begin < arguments.warm * size * MIB / 4096:
        at.pgbench(*work)
        warm += arguments.chunk
    completed = "SELECT checkpoints_timed + checkpoints_req FROM pg_stat_bgwriter"
    checkpoints = int(at.sql(completed))
    first, chunks, last, seconds = counters(served), [], counters(served), 0.0
    for _ in range(arguments.chunks):
        start = time.monotonic()
        text = at.pgbench(*work)
        seconds += time.monotonic() - start
        if "failed transactions: 0 " not in text or not re.search(r"tps = ", text):
            raise RuntimeError(text)
        now = counters(served)
        chunks.append(rates(last, now, arguments.chunk)["programs"])
        last = now
    total = arguments.chunks * arguments.chunk
    space = os.statvfs(at.mount)
    used = round(1 - space.f_bfree * 4096 / (size * MIB), 2)  # of the device, by the file system
    path = at.mount / "data" / at.sql("SELECT pg_relation_filepath('pgbench_accounts')").strip()
    at.sql("CHECKPOINT")
    return {
        "warm": warm,
        "transactions": total,
        **rates(first, last, total),
        "chunks": chunks,
        "checkpoints": int(at.sql(completed)) - checkpoints,
        "tps": round(total / seconds, 1),
        "extents": extents(path),
        "used": used,
        "log_mib": sum(file.stat().st_size for file in (at.data / "pg_wal").glob("0*")) >> 20,
    }


def filled(at: Stand, log: int) -> None:
    """Fill what tables and log will not need, but for a reserve: the space of the load's sorts is no spare space."""
    at.sql("CHECKPOINT")
    command("sync")
    space = os.statvfs(at.mount)
    present = sum(file.stat().st_blocks * 512 for file in (at.data / "pg_wal").glob("0*"))
    rest = space.f_bavail * 4096 + present - round(1.1 * log * MIB) - (RESERVE_MIB << 20)
    if rest > 0:
        (at.mount / "filler").write_bytes(os.urandom(rest))
    command("sync")


def extents(path: Path) -> int:
    """Return of how many pieces a file is."""
    return int(command("filefrag", path).split(":")[-1].split()[0])


def measured(case: str, arguments: argparse.Namespace) -> dict[str, object]:
    """Return a case's measures."""
    pool, log, size = sizes(arguments.scale, arguments.pool, arguments.distance)
    spare = {"share": "12%", "definition": "over_provisioning"}
    scenario = Scenario.load("ssd").with_({"cooperation": {"name": "none"}, "cache.size": "0B", "ftl.spare": spare})
    in_place = arguments.in_place and arguments.in_place.resolve()
    trims_log, deallocates = CASES[case]
    place = Path(tempfile.mkdtemp(prefix="trims", dir=arguments.folder))
    with (
        device.serve(scenario, place / "ssd", size=f"{size}MiB", emulate=arguments.emulate) as served,
        stand(served.address, place) as at,
    ):
        at.make()
        at.mounted()
        at.made()
        at.begin({**settings("none", pool, log, in_place), "wal_level": "minimal", "max_wal_senders": 0})
        try:
            at.pgbench("-i", "-q", "-F", 90, "-s", arguments.scale)  # and the log of the load need not have room
        finally:
            at.end()
        at.begin(settings(case, pool, log, in_place), in_place if deallocates else None)
        try:
            filled(at, log)
            with LogTrimmer(at, in_place) if in_place and trims_log else contextlib.nullcontext():
                found = worked(at, served, arguments, size)
        finally:
            at.end()
    if not arguments.emulate:
        del found["write_us"]  # clients that do not wait have any response time
    differences = [device.twin(session) for session in device.sessions(place / "ssd")]
    shutil.rmtree(place)
    return {
        "case": case,
        "form": "in place" if in_place else "holes",
        "scale": arguments.scale,
        "seed": arguments.seed,
        "zipf": arguments.zipf,
        "emulated": arguments.emulate,
        "pool_mib": pool,
        "max_wal_mib": log,
        "device_mib": size,
        **found,
        "twin": differences if any(differences) else "equal",
    }


def main() -> None:
    """Print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+", choices=CASES)
    parser.add_argument("--scale", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--zipf", type=float, default=0.0, help="above 1; 0 is pgbench's own transaction, uniform")
    parser.add_argument("--pool", type=float, default=0.2, help="the pool, as a share of the data")
    parser.add_argument("--distance", type=float, default=0.25, help="the log between checkpoints, as a share")
    parser.add_argument("--warm", type=float, default=3.0, help="writes before measuring, in sizes of the device")
    parser.add_argument("--chunk", type=int, default=4000, help="transactions of a chunk")
    parser.add_argument("--chunks", type=int, default=4)
    parser.add_argument("--in-place", type=Path, metavar="LIBRARY", help="in_place.so: discard below the file system")
    parser.add_argument("--folder", help="where devices are made; in memory a flush costs no time of the machine")
    parser.add_argument("--emulate", action="store_true", help="hold each answer back as the device would")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what is mounted is given back
    for case in arguments.cases:
        print(json.dumps(measured(case, arguments)), flush=True)


if __name__ == "__main__":
    main()
