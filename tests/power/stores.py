"""Databases on a file system of the device, as they are, and with a setting that promises less.

`stores.py KIND fault|right run|check`, as in `files.py`. A transaction puts two pairs, one larger than a page.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Any

from files import ROUNDS, Kind, filled, main

with suppress(ImportError):  # a database that is missing is not tested
    import lmdb
with suppress(ImportError):
    import rocksdict


def _pairs(number: int) -> dict[bytes, bytes]:
    return {b"%d" % number: filled(number), b"-%d" % number: filled(number, 64)}


def _problem(pairs: Iterable[tuple[bytes, bytes]], told: int) -> str | None:
    """Return what is wrong: a store has all of some first transactions, those told of among them."""
    found = dict(pairs)
    for last in (0, *ROUNDS):
        if found == {key: value for number in range(1, last + 1) for key, value in _pairs(number).items()}:
            return f"{last} transactions are there, and {told} were told of" if last < told else None
    return f"{sorted(found)} are there, or their values are not whole"


# Each opens once, and stays open until the process ends.


@cache
def _lmdb(place: Path, **settings: bool) -> Any:
    return lmdb.open(str(place / "lmdb"), map_size=1 << 20, **settings)


def _lmdb_kind(meaning: str, **settings: bool) -> Kind:
    def step(place: Path, number: int, right: bool) -> None:
        with _lmdb(place, **{} if right else settings).begin(write=True) as transaction:
            for key, value in _pairs(number).items():
                transaction.put(key, value)

    def check(place: Path, told: int, _right: bool) -> str | None:
        if not (place / "lmdb/data.mdb").exists():
            return _problem([], told)
        with _lmdb(place).begin() as transaction:
            return _problem(list(transaction.cursor()), told)

    step.__doc__ = meaning
    return Kind(step, check, "LMDB manual", module="lmdb")


@cache
def _rocksdb(place: Path) -> Any:
    return rocksdict.Rdict(str(place / "rocksdb"), rocksdict.Options(raw_mode=True))


def rocksdb_unsynced(place: Path, number: int, right: bool) -> None:
    """RocksDB with `WriteOptions::sync = false`, its default."""
    options, batch = rocksdict.WriteOptions(), rocksdict.WriteBatch(raw_mode=True)
    options.sync = right
    for key, value in _pairs(number).items():
        batch.put(key, value)
    _rocksdb(place).write(batch, options)


def rocksdb_check(place: Path, told: int, _right: bool) -> str | None:
    """It opens, and has what was told of."""
    return _problem(_rocksdb(place).items() if (place / "rocksdb").exists() else [], told)


@cache
def _sqlite(place: Path, journal: str, synchronous: str) -> sqlite3.Connection:
    opened = sqlite3.connect(place / "sqlite", isolation_level=None)
    opened.execute(f"PRAGMA journal_mode={journal}")
    opened.execute(f"PRAGMA synchronous={synchronous}")
    opened.execute("CREATE TABLE IF NOT EXISTS pair(key BLOB PRIMARY KEY, value BLOB)")
    return opened


def _sqlite_kind(journal: str, wrong: str, safe: str) -> Kind:
    def step(place: Path, number: int, right: bool) -> None:
        opened = _sqlite(place, journal, safe if right else wrong)
        opened.execute("BEGIN IMMEDIATE")
        opened.executemany("INSERT INTO pair VALUES (?, ?)", _pairs(number).items())
        opened.execute("COMMIT")

    def check(place: Path, told: int, _right: bool) -> str | None:
        if not (place / "sqlite").exists():
            return _problem([], told)
        with closing(sqlite3.connect(place / "sqlite")) as opened:
            (sound,) = opened.execute("PRAGMA integrity_check").fetchone()
            has_table = opened.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,)
            pairs = opened.execute("SELECT key, value FROM pair").fetchall() if has_table else []
        return _problem(pairs, told) if sound == "ok" else f"integrity_check: {sound}"

    step.__doc__ = f"SQLite, journal `{journal}`, with `synchronous={wrong}` rather than `{safe}`."
    return Kind(step, check, "SQLite, PRAGMA synchronous")


KINDS = {
    "sqlite-rollback-full": _sqlite_kind("delete", "full", "extra"),
    "sqlite-wal-normal": _sqlite_kind("wal", "normal", "full"),
    "lmdb-nosync": _lmdb_kind("LMDB with `MDB_NOSYNC`.", sync=False),
    "lmdb-nometasync": _lmdb_kind("LMDB with `MDB_NOMETASYNC`.", metasync=False),
    "rocksdb-unsynced": Kind(rocksdb_unsynced, rocksdb_check, "RocksDB wiki, WAL", module="rocksdict"),
}

if __name__ == "__main__":
    main(KINDS)
