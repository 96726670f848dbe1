"""Logs on a raw device, each with one fault in its order of writes, and mended.

A program runs with `right` or without. A check recovers as the program would, and returns what is wrong.
"""

from __future__ import annotations

import struct
import zlib

from nbd_disk import PAGE, RECEIPT, SECTOR, Disk, sector

ROUNDS = range(1, 5)
COUNT, SUPERBLOCK, ELSEWHERE = 0, 2 * PAGE, 3 * PAGE
_SEAL = struct.Struct("<IIQQ")


def record(number: int) -> int:
    """Return the place of a record, or of a block of data."""
    return (16 + number) * PAGE


def home(number: int) -> int:
    """Return the place where a checkpoint puts the value of a record."""
    return (64 + number) * PAGE


def sealed(number: int, value: int = 0, epoch: int = 0, covers: bytes = b"") -> bytes:
    """Return a sector with a number, a value, and a checksum that covers them and some data."""
    body = _SEAL.pack(0, epoch, number, value)[4:]
    return (zlib.crc32(body + covers).to_bytes(4, "little") + body).ljust(SECTOR, b"\0")


def opened(data: bytes, covers: bytes = b"") -> tuple[int, int, int] | None:
    """Return number, value and epoch of a sealed sector; None if its checksum is wrong."""
    _, epoch, number, value = _SEAL.unpack_from(data)
    return (number, value, epoch) if data[:SECTOR] == sealed(number, value, epoch, covers) else None


# Records, and a number that counts them: make the record durable, count it, tell of it.


def counted(disk: Disk, _right: bool) -> str | None:
    """Every record that is counted is there, and every one that somebody was told of is counted."""
    count, told = disk.number(COUNT), disk.number(RECEIPT)
    missing = [number for number in range(1, count + 1) if disk.read(record(number), 2 * SECTOR) != sector(number) * 2]
    if missing or count < told:
        return f"{count} records are counted, {told} were told of, and these are not there: {missing}"
    return None


def record_unflushed(disk: Disk, right: bool) -> None:
    """No flush between a record and the number that counts it."""
    for number in ROUNDS:
        disk.write(record(number), sector(number) * 2)
        if right:
            disk.flush()
        disk.write(COUNT, sector(number))
        disk.flush()
        disk.receipt(number)


def told_before_flush(disk: Disk, right: bool) -> None:
    """A client is told of a commit that is answered, but not flushed."""
    for number in ROUNDS:
        disk.write(record(number), sector(number) * 2)
        disk.flush()
        disk.write(COUNT, sector(number))
        if right:
            disk.flush()
        disk.receipt(number)


def commit_by_fua_alone(disk: Disk, right: bool) -> None:
    """The commit has FUA, and the record before it no flush."""
    for number in ROUNDS:
        disk.write(record(number), sector(number) * 2)
        if right:
            disk.flush()
        disk.write(COUNT, sector(number), fua=True)
        disk.receipt(number)


def fua_of_another_write(disk: Disk, right: bool) -> None:
    """An unrelated write with FUA, between record and commit, is taken for a flush."""
    for number in ROUNDS:
        disk.write(record(number), sector(number) * 2, fua=right)
        disk.write(ELSEWHERE, sector(number), fua=True)
        disk.write(COUNT, sector(number), fua=True)
        disk.receipt(number)


def fua_of_a_read(disk: Disk, right: bool) -> None:
    """A read with FUA is taken for a flush."""
    for number in ROUNDS:
        disk.write(record(number), sector(number) * 2)
        if right:
            disk.flush()
        else:
            disk.read(ELSEWHERE, SECTOR, fua=True)
        disk.write(COUNT, sector(number), fua=True)
        disk.receipt(number)


def fua_of_the_last_part(disk: Disk, right: bool) -> None:
    """A record of two writes has FUA only on the second."""
    for number in ROUNDS:
        disk.write(record(number), sector(number), fua=right)
        disk.write(record(number) + SECTOR, sector(number), fua=True)
        disk.write(COUNT, sector(number), fua=True)
        disk.receipt(number)


def flush_sent_too_early(disk: Disk, right: bool) -> None:
    """A flush is sent behind a write without waiting for its answer."""
    for number in ROUNDS:
        if right:
            disk.write(record(number), sector(number) * 2)
            disk.flush()
        else:
            disk.write_and_flush_at_once(record(number), sector(number) * 2)
        disk.write(COUNT, sector(number), fua=True)
        disk.receipt(number)


def flush_of_another_thread(disk: Disk, right: bool) -> None:
    """A thread joins the flush of another one, which began while its own write was under way."""
    other = disk.another()
    for number in ROUNDS:
        write = disk.begin_write(record(number), sector(number) * 2)
        if right:
            disk.finish_write(*write)
            other.flush()
        else:
            other.flush()
            disk.finish_write(*write)
        disk.write(COUNT, sector(number), fua=True)
        disk.receipt(number)


def written_after_commit(disk: Disk, right: bool) -> None:
    """A part of a record is written when the record is counted already."""
    for number in ROUNDS:
        disk.write(record(number), sector(number))
        if right:
            disk.write(record(number) + SECTOR, sector(number))
        disk.flush()
        disk.write(COUNT, sector(number))
        disk.flush()
        if not right:
            disk.write(record(number) + SECTOR, sector(number))
            disk.flush()
        disk.receipt(number)


# Records that a recovery scans until one is not whole.


def torn_append(disk: Disk, _right: bool) -> None:
    """A record of several sectors counts as whole by its first one."""
    for number in ROUNDS:
        body = sector(number) * 2
        disk.write(record(number), sealed(number, covers=body) + body)
        disk.flush()
        disk.receipt(number)


def torn_append_check(disk: Disk, right: bool) -> str | None:
    """Every record that the scan takes is whole, and every one told of is taken."""
    for number in ROUNDS:
        data = disk.read(record(number), 3 * SECTOR)
        head, body = data[:SECTOR], data[SECTOR:]
        if not any(head) or (right and opened(head, body) is None):
            return f"record {number} is lost" if disk.number(RECEIPT) >= number else None
        if body != sector(number) * 2:
            return f"record {number} is torn, and taken for whole"
    return None


def _checksummed(right: bool, number: int, block: bytes) -> bytes:
    return sealed(number, covers=block if right else b"")


def checksum_without_order(disk: Disk, right: bool) -> None:
    """A checksum stands in for the flush before a commit, but does not cover the data written in place."""
    for number in ROUNDS:
        block = sector(number) * 2
        disk.write(home(number), block)
        disk.write(record(number), _checksummed(right, number, block))
        disk.flush()
        disk.receipt(number)


def checksum_without_order_check(disk: Disk, right: bool) -> str | None:
    """Every transaction whose checksum is right has its data, and every one told of is there."""
    for number in ROUNDS:
        block = disk.read(home(number), 2 * SECTOR)
        if opened(disk.read(record(number), SECTOR), block if right else b"") is None:
            return f"transaction {number} is lost" if disk.number(RECEIPT) >= number else None
        if block != sector(number) * 2:
            return f"transaction {number} is committed without its data"
    return None


SLOTS = 3


def stale_record(disk: Disk, _right: bool) -> None:
    """A log begins anew at its front, and a replay goes on into records of the time before."""
    for value in range(1, 3 * SLOTS + 1):
        epoch, slot = divmod(value - 1, SLOTS)
        if slot == 0:
            disk.write(home(0), sector(value - 1))
            disk.flush()
            disk.write(SUPERBLOCK, sector(epoch))
            disk.flush()
        disk.write(record(slot), sealed(slot, value, epoch))
        disk.flush()
        disk.receipt(value)


def stale_record_check(disk: Disk, right: bool) -> str | None:
    """The newest value is there; the right replay stops at another epoch."""
    value, epoch = disk.number(home(0)), disk.number(SUPERBLOCK)
    for slot in range(SLOTS):
        found = opened(disk.read(record(slot), SECTOR))
        if found is None or (right and found[2] != epoch):
            break
        value = found[1]
    told = disk.number(RECEIPT)
    return f"the value is {value}, and {told} was told of" if value < told else None


def wrap_around(disk: Disk, right: bool) -> None:
    """A circular log overwrites a record before what it says is at home."""
    for number in range(1, 2 * SLOTS + 1):
        if right:
            _checkpoint(disk, number - SLOTS)
        disk.write(record(number % SLOTS), sealed(number))
        disk.flush()
        disk.receipt(number)
        if not right:
            _checkpoint(disk, number - SLOTS)


def _checkpoint(disk: Disk, number: int) -> None:
    if number > 0:
        disk.write(home(number), sector(number))
        disk.flush()


def at_home_or_logged(disk: Disk, _right: bool) -> str | None:
    """Every number told of is at home, or in the log from its tail on."""
    tail = disk.number(SUPERBLOCK)
    logged = {found[0] for slot in range(2 * SLOTS) if (found := opened(disk.read(record(slot), SECTOR)))}
    for number in range(1, disk.number(RECEIPT) + 1):
        if disk.number(home(number)) != number and (number not in logged or number < tail):
            return f"{number} is neither at home nor in the log, whose tail is {tail}"
    return None


def tail_before_checkpoint(disk: Disk, right: bool) -> None:
    """The tail of a log moves on while what was checkpointed is not flushed."""
    for number in ROUNDS:
        disk.write(record(number), sealed(number))
        disk.flush()
        disk.receipt(number)
        if number % 2 == 0:
            for logged in (number - 1, number):
                disk.write(home(logged), sector(logged))
            if right:
                disk.flush()
            disk.write(SUPERBLOCK, sector(number + 1))
            disk.flush()


# Two pages that must change together, under a log. Each has its version.


def _update(disk: Disk, version: int) -> None:
    disk.write(home(1), sector(version))
    disk.write(home(2), sector(version))


def _together(disk: Disk, at_least: int = 0) -> str | None:
    one, other = (max(disk.number(home(place)), at_least) for place in (1, 2))
    told = disk.number(RECEIPT)
    return f"the pages have versions {one} and {other}, and {told} was told of" if one != other or one < told else None


def page_before_log(disk: Disk, right: bool) -> None:
    """Pages are written before the log record that describes their change is durable."""
    for version in ROUNDS:
        disk.write(record(version), sealed(version))
        if right:
            disk.flush()
        _update(disk, version)
        disk.flush()
        disk.receipt(version)


def page_before_log_check(disk: Disk, _right: bool) -> str | None:
    """The pages agree after a replay, which passes over pages that are newer than the record."""
    return _together(disk, max((each for each in ROUNDS if opened(disk.read(record(each), SECTOR))), default=0))


def _with_rollback_journal(disk: Disk, *, flushes_journal: bool, flushes_pages: bool) -> None:
    for version in ROUNDS:
        disk.write(record(0), sealed(version, version - 1))
        if flushes_journal:
            disk.flush()
        _update(disk, version)
        if flushes_pages:
            disk.flush()
        disk.write(record(0), sector(0))
        disk.flush()
        disk.receipt(version)


def journal_unflushed(disk: Disk, right: bool) -> None:
    """Pages are overwritten before the rollback journal with their old contents is durable."""
    _with_rollback_journal(disk, flushes_journal=right, flushes_pages=True)


def journal_ended_early(disk: Disk, right: bool) -> None:
    """A rollback journal is ended before the pages that it protects are durable."""
    _with_rollback_journal(disk, flushes_journal=True, flushes_pages=right)


def rollback_check(disk: Disk, _right: bool) -> str | None:
    """The pages agree after a rollback."""
    journal = opened(disk.read(record(0), SECTOR))
    if journal is None:
        return _together(disk)
    told = disk.number(RECEIPT)
    return f"version {journal[1]} is rolled back to, and {told} was told of" if journal[1] < told else None
