"""A bank in SQLite: transfers between accounts, and a check of what is left of them after a power cut.

`bank.py transfer` makes the bank on the file system of the device, and transfers. When a transaction is committed it
writes its number to the last sector of the device, past the file system, and prints it. `bank.py check FOLDER IMAGE`
checks the database of a folder: it is sound, no money is lost, and it has every transaction that the last sector of the
image tells of.
"""

from __future__ import annotations

import os
import random
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

MODE = os.environ.get("MODE", "wal")
"""The journal of SQLite: "wal", or "delete" for a rollback journal."""
# In "full" the end of a transaction with a rollback journal may be lost: the removal of the journal is not synced.
SYNCHRONOUS = os.environ.get("SYNCHRONOUS", "extra")
ACCOUNTS = int(os.environ.get("ACCOUNTS", "100"))
TRANSFERS = int(os.environ.get("TRANSFERS", "20"))
ACCOUNTS_PER_TRANSFER = int(os.environ.get("ACCOUNTS_PER_TRANSFER", "4"))
BALANCE = 1000
NOTE = "about a page " * 250
SECTOR_BYTES = 512


def transfer(folder: Path, disk: Path) -> None:
    """Make a bank, and transfer."""
    draw = random.Random(4)  # noqa: S311 - the same transfers each time
    with (
        closing(sqlite3.connect(folder / "bank.db", isolation_level=None)) as bank,
        disk.open("r+b", buffering=0) as end,
    ):
        bank.execute(f"PRAGMA journal_mode={MODE}")
        bank.execute(f"PRAGMA synchronous={SYNCHRONOUS}")
        bank.execute("CREATE TABLE account(id INTEGER PRIMARY KEY, balance INTEGER, note TEXT)")
        bank.execute("CREATE TABLE transfer(number INTEGER PRIMARY KEY)")
        for first in range(0, ACCOUNTS, 1000):  # all at once would need as much room again for a journal
            accounts = range(first, min(first + 1000, ACCOUNTS))
            bank.execute("BEGIN IMMEDIATE")
            bank.executemany("INSERT INTO account VALUES (?, ?, ?)", ((account, BALANCE, NOTE) for account in accounts))
            bank.execute("COMMIT")
        for number in range(TRANSFERS):
            payer, *payees = draw.sample(range(ACCOUNTS), ACCOUNTS_PER_TRANSFER)
            bank.execute("BEGIN IMMEDIATE")
            bank.execute("UPDATE account SET balance = balance - ? WHERE id = ?", (len(payees), payer))
            bank.executemany("UPDATE account SET balance = balance + 1 WHERE id = ?", ((payee,) for payee in payees))
            bank.execute("INSERT INTO transfer VALUES (?)", (number,))
            bank.execute("COMMIT")
            end.seek(-SECTOR_BYTES, os.SEEK_END)
            end.write((number + 1).to_bytes(SECTOR_BYTES, "little"))
            print(number, flush=True)


def check(folder: Path, image: Path) -> str | None:
    """Check what is left of a bank; return what is wrong."""
    with image.open("rb") as disk:
        disk.seek(-SECTOR_BYTES, os.SEEK_END)
        committed = int.from_bytes(disk.read(), "little")
    if committed == 0:
        return None  # the bank need not be there yet
    with closing(sqlite3.connect(folder / "bank.db")) as bank:
        (sound,) = bank.execute("PRAGMA integrity_check").fetchone()
        if sound != "ok":
            return f"PRAGMA integrity_check: {sound}"
        ((money,), (there, last)) = (
            bank.execute("SELECT sum(balance) FROM account").fetchone(),
            bank.execute("SELECT count(*), max(number) + 1 FROM transfer").fetchone(),
        )
    if money != ACCOUNTS * BALANCE:
        return f"{money} is in all accounts, and {ACCOUNTS * BALANCE} was"
    if there != last or there < committed:
        return f"{committed} transactions were committed, and {there} are there, up to number {last}"
    return None


if __name__ == "__main__":
    if sys.argv[1:] == ["transfer"]:
        transfer(Path(os.environ["MNT"]), Path(os.environ["DISK"]))
    else:
        sys.exit(check(Path(sys.argv[2]), Path(sys.argv[3])))
