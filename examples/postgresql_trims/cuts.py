"""Power cuts while a real PostgreSQL deallocates the pages that its log holds.

As root, with what `measure.py` needs: `python -m postgresql_trims.cuts --rounds 200 --in-place in_place.so`. In each
round clients change accounts on a device with a volatile cache, whose power is cut at a moment that is drawn. ext4 and
PostgreSQL recover. Then each transaction that was acknowledged must be there, no money and no row lost, amcheck and all
checksums clean.
It prints a line of JSON a round, and ends with 1 if a round was wrong.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np

from coflash import Scenario, device
from postgresql_trims.stand import Stand, stand

BEGIN = """\\set aid random(1, 100000)
\\set number :number + 1
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :aid;
"""
END = "INSERT INTO transfer VALUES (:round, :client_id, :number);\nEND;\n"
SCRIPTS = {"quick": BEGIN + END, "slow": BEGIN + "\\sleep 700 ms\n" + END}
"""In a slow transaction an image waits in memory for a commit, long enough for the deallocation of its page."""
SETTINGS: dict[str, object] = {
    "shared_buffers": "8MB",
    "max_wal_size": "12MB",
    "checkpoint_timeout": "30s",
    "deallocate_logged_pages": "on",
    "autovacuum_naptime": "5s",
}


def trimmed(served: device.Served) -> int:
    """Return how many pages were trimmed since power on."""
    return int(served.metrics["host_trims_pages"]) if served.metrics else 0


def cut_in_work(at: Stand, served: device.Served, number: int, place: Path) -> tuple[Counter[int], dict[str, object]]:
    """Cut the power while clients work; return how many transactions of each were acknowledged, and about the cut."""
    draw = np.random.default_rng(number)
    kind = ("quick", "quick", "slow")[draw.integers(3)]
    logs = place / f"log{number}"
    logs.mkdir()
    logs.chmod(0o777)
    script = place / f"{kind}.sql"
    script.write_text(SCRIPTS[kind])
    clients = 4 if kind == "quick" else 1
    words = ["-n", "-c", clients, "-T", 60, "-l", "--log-prefix", logs / "done", "-f", script]
    words += ["-D", f"round={number}", "-D", "number=0", "--random-seed", number]
    work = threading.Thread(target=at.pgbench, args=words, kwargs={"check": False})
    trims = trimmed(served)
    work.start()
    time.sleep(draw.uniform(0.5, 3.0))
    trims = trimmed(served) - trims
    loss = served.cut(seed=number)
    at.killed()
    work.join()
    lines = [line for file in logs.glob("done*") for line in file.read_text().splitlines()]
    # Clients that the power cut ended may leave a line without its end.
    known = Counter(int(line.split()[0]) for line in lines if len(line.split()) >= 6)
    return known, {"round": number, "kind": kind, "trimmed_pages": trims, "lost": loss.told}


def wrong(at: Stand, number: int, known: Counter[int]) -> list[str]:
    """Return what is wrong after recovery."""
    found = []
    rows = at.sql("SELECT round, client, count(*), max(number) FROM transfer GROUP BY round, client").split()
    counts = [[int(value) for value in row.split("|")] for row in rows]
    there = {client: (count, last) for round_, client, count, last in counts if round_ == number}
    for client, acknowledged in known.items():
        count, last = there.get(client, (0, 0))
        if count < acknowledged or count != last:
            found.append(f"client {client}: {acknowledged} acknowledged, {count} there, the last is {last}")
    sums = "SELECT count(*), sum(abalance), (SELECT count(*) FROM transfer) FROM pgbench_accounts"
    accounts, money, transfers = at.sql(sums).split("|")
    if int(accounts) != 100_000 or int(money or 0) != int(transfers):
        found.append(f"{accounts} accounts, {money} of money, {transfers.strip()} transfers")
    check = at.as_user("pg_amcheck", "-h", at.sockets, "--heapallindexed", "postgres", check=False)
    if check.strip():
        found.append(f"pg_amcheck: {check.strip()[-300:]}")
    at.end()
    checksums = at.as_user("pg_checksums", "-c", "-D", at.data, check=False)
    if "Bad checksums:  0" not in checksums:
        found.append(f"pg_checksums: {checksums[-300:]}")
    return found


def main() -> None:
    """Cut, recover and check."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--first", type=int, default=1, help="the seed of the first round")
    parser.add_argument("--in-place", type=Path, metavar="LIBRARY", help="in_place.so: discard below the file system")
    parser.add_argument("--folder", help="where the device is made")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    in_place = arguments.in_place and arguments.in_place.resolve()
    keys = {"cooperation": {"name": "none"}, "cache.size": "4MiB", "cache.volatile": True}
    scenario = Scenario.load("ssd").with_(keys)
    place = Path(tempfile.mkdtemp(prefix="trims", dir=arguments.folder))
    failures = 0
    with device.serve(scenario, place / "ssd", size="128MiB") as served:
        with stand(served.address, place) as at:
            at.make()
            at.mounted()
            at.made()
            at.begin(SETTINGS, in_place)
            at.pgbench("-i", "-q", "-s", 1)
            at.sql("CREATE TABLE transfer(round integer, client integer, number integer); CREATE EXTENSION amcheck")
            at.end()
        for number in range(arguments.first, arguments.first + arguments.rounds):
            with stand(served.address, place) as at:
                at.mounted()
                at.begin(SETTINGS, in_place)
                known, about = cut_in_work(at, served, number, place)
            with stand(served.address, place) as at:
                at.mounted()
                try:
                    at.begin(SETTINGS, in_place)
                    found = wrong(at, number, known)
                except RuntimeError as error:
                    found = [f"no recovery: {error}"[-1500:]]
                    at.killed()
            failures += bool(found)
            about["form"] = "in place" if in_place else "holes"
            print(json.dumps({**about, "acknowledged": known.total(), "wrong": found}), flush=True)
            if found:
                break  # the next rounds would find the same damage
    shutil.rmtree(place)
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
