"""Programs that rely on the order or the moment of answers, on rare paths, or on a drive without faults, and mended.

A program runs with `right` or without. A check recovers as the program would, and returns what is wrong.
"""

from __future__ import annotations

import errno
import time

from logs import COUNT, ROUNDS, SUPERBLOCK, home, opened, record, sealed
from nbd_disk import FLUSH, PAGE, RECEIPT, SECTOR, TRIM, WRITE, Disk, page, sector

WIDE = 8
"""Writes that are sent together."""


def member(number: int, which: int) -> int:
    """Return the place of one of the writes of a round."""
    return (128 + number * WIDE + which) * PAGE


def members(disk: Disk, _right: bool) -> str | None:
    """All writes of a round that is counted are there."""
    count = disk.number(COUNT)
    gone = [
        (number, which)
        for number in range(1, count + 1)
        for which in range(WIDE)
        if disk.read(member(number, which), SECTOR) != sector(number)
    ]
    return f"round {count} is counted, and of these rounds these writes are not there: {gone}" if gone else None


def last_answer_alone(disk: Disk, right: bool) -> None:
    """Of several writes sent together only the answer to the last one is waited for."""
    for number in ROUNDS:
        sent = [disk.send(WRITE, member(number, which), sector(number)) for which in range(WIDE)]
        for each in sent if right else sent[-1:]:
            disk.wait(each)
        disk.flush()
        if not right:
            for each in sent[:-1]:
                disk.wait(each)
        disk.write(COUNT, sector(number), fua=True)


def stragglers(disk: Disk, right: bool) -> None:
    """A group commit waits for all writes but the two that came late."""
    for number in ROUNDS:
        sent = [disk.send(WRITE, member(number, which), sector(number)) for which in range(WIDE)]
        for each in sent if right else sent[:-2]:
            disk.wait(each)
        flush = disk.send(FLUSH)
        for each in [flush] if right else [flush, *sent[-2:]]:
            disk.wait(each)
        disk.write(COUNT, sector(number), fua=True)


def flush_by_the_clock(disk: Disk, right: bool) -> None:
    """A flush is sent a fixed time after a write, whose answer is taken for granted."""
    for number in ROUNDS:
        write = disk.send(WRITE, record(number), sector(number) * 2)
        if right:
            disk.wait(write)
        time.sleep(0.06)
        disk.flush()
        if not right:
            disk.wait(write)
        disk.write(COUNT, sector(number), fua=True)
        disk.receipt(number)


def versions(disk: Disk, _right: bool) -> str | None:
    """The block has the version that is counted, or a later one."""
    count, version = disk.number(COUNT), disk.number(home(0))
    return f"version {count} is counted, and the block has version {version}" if version < count else None


def overlapping(disk: Disk, right: bool) -> None:
    """Two versions of a block are sent together, and the later one is taken for the result."""
    for number in range(2, 10, 2):
        first = disk.send(WRITE, home(0), sector(number - 1))
        if right:
            disk.wait(first)
        second = disk.send(WRITE, home(0), sector(number))
        for each in [second] if right else [first, second]:
            disk.wait(each)
        disk.flush()
        disk.write(COUNT, sector(number), fua=True)


def trim_and_rewrite(disk: Disk, right: bool) -> None:
    """Of two blocks in turn the older one is trimmed and written anew without waiting for the answer to the trim."""
    for number in ROUNDS:
        trim = disk.send(TRIM, home(number % 2), length=PAGE)
        if right:
            disk.wait(trim)
        write = disk.send(WRITE, home(number % 2), page(number))
        for each in [write] if right else [trim, write]:
            disk.wait(each)
        disk.flush()
        disk.write(COUNT, sector(number), fua=True)


def in_turn(disk: Disk, _right: bool) -> str | None:
    """The block of the version that is counted has it."""
    count = disk.number(COUNT)
    version = disk.number(home(count % 2))
    return f"version {count} is counted, and its block has version {version}" if version != count else None


def many_counted(disk: Disk, _right: bool) -> str | None:
    """Every record that is counted is there."""
    count = disk.number(COUNT)
    there = disk.read(record(1), count * PAGE) if count else b""
    gone = [number for number in range(1, count + 1) if there[(number - 1) * PAGE :][:SECTOR] != sector(number)]
    return f"{count} records are counted, and these are not there: {gone}" if gone else None


def forgotten_once(disk: Disk, right: bool) -> None:
    """A flush is forgotten in one round of many."""
    for number in range(1, disk.many + 1):
        disk.write(record(number), page(number))
        if right or number != disk.many - 2:
            disk.flush()
        disk.write(COUNT, sector(number), fua=True)


# A log of the changes to two blocks, and its header.


def zeroed_segment(disk: Disk, right: bool) -> None:
    """The header of a log names a new segment whose zeros are not durable yet: it has old records."""
    disk.write(record(1), sealed(9))
    disk.write(home(0), sector(1))
    disk.flush()
    disk.write(record(1), bytes(SECTOR))
    if right:
        disk.flush()
    disk.write(SUPERBLOCK, sector(1))
    disk.flush()
    disk.receipt(1)


def zeroed_segment_check(disk: Disk, _right: bool) -> str | None:
    """No old record is replayed once the header names the segment."""
    if disk.number(SUPERBLOCK) and opened(disk.read(record(1), SECTOR)):
        return "an old record is replayed from a segment that must be empty"
    return None


def half_checked_copy(disk: Disk, right: bool) -> None:
    """The copy of a double write has a checksum that covers its first sector alone."""
    for number in ROUNDS:
        body = sector(number) * 3
        disk.write(home(1), _copy(number, body, right))
        disk.flush()
        disk.write(home(0), body)
        disk.flush()
        disk.receipt(number)


def _copy(number: int, body: bytes, right: bool) -> bytes:
    return sealed(number, covers=body if right else body[:SECTOR]) + body


def half_checked_copy_check(disk: Disk, right: bool) -> str | None:
    """The block is whole after the copy, if that counts as whole, was put in its place."""
    data = disk.read(home(1), 4 * SECTOR)
    body = data[SECTOR:]
    block = disk.read(home(0), 3 * SECTOR)
    if opened(data[:SECTOR], body if right else body[:SECTOR]):
        block = body
    if block != block[:SECTOR] * 3:
        return "the block is a mixture of two versions"
    told = disk.number(RECEIPT)
    version = int.from_bytes(block[:8], "little")
    return f"the block has version {version}, and {told} was told of" if version < told else None


def needle(disk: Disk, right: bool) -> None:
    """The checksum of a commit covers three of the four parts of a record, among many writes that are open."""
    for which in range(disk.many // 3):
        disk.write(member(1, which), sector(which))
    for which in range(4):
        disk.write(record(which), sector(7))
    disk.write(COUNT, sealed(7, covers=sector(7) * (4 if right else 3)))
    disk.flush()
    disk.receipt(7)


def needle_check(disk: Disk, right: bool) -> str | None:
    """A record whose checksum is right has all its parts."""
    parts = [disk.read(record(which), SECTOR) for which in range(4)]
    if opened(disk.read(COUNT, SECTOR), b"".join(parts[: 4 if right else 3])) is None:
        return "the record is lost" if disk.number(RECEIPT) else None
    return None if all(part == sector(7) for part in parts) else "the record counts as whole, and a part is not there"


def trusted_epoch(disk: Disk, _right: bool) -> None:
    """A log that begins anew tells its records from those of four rounds before by two bits, which are the same."""
    for value in range(1, 11):
        epoch, slot = divmod(value - 1, 2)
        if slot == 0:
            disk.write(home(0), sector(value - 1))
            disk.flush()
            disk.write(SUPERBLOCK, sector(epoch))
            disk.flush()
        # The second record of a later round is written only in every fourth one.
        if slot == 0 or epoch % 4 == 0:
            disk.write(record(slot), sealed(slot, value, epoch))
            disk.flush()
            disk.receipt(value)


def trusted_epoch_check(disk: Disk, right: bool) -> str | None:
    """The value is that of the newest record of this round."""
    value, epoch = disk.number(home(0)), disk.number(SUPERBLOCK)
    for slot in range(2):
        found = opened(disk.read(record(slot), SECTOR))
        if found is None or (found[2] != epoch if right else found[2] % 4 != epoch % 4):
            break
        value = found[1]
    told = disk.number(RECEIPT)
    return f"the value is {value}, and {told} was told of" if value < told else None


# Programs that go on after an error of the drive as if it had not come.


def failed_flush(disk: Disk, right: bool) -> None:
    """A flush that failed is taken for done."""
    for number in ROUNDS:
        disk.write(record(number), sector(number) * 2)
        try:
            disk.flush()
        except OSError:
            if right:
                return
        disk.write(COUNT, sector(number), fua=True)
        disk.receipt(number)


def failed_write(disk: Disk, right: bool) -> None:
    """A write that failed is noted and forgotten."""
    for number in ROUNDS:
        try:
            disk.write(record(number), sector(number) * 2)
        except OSError:
            if right:
                return
        disk.flush()
        try:
            disk.write(COUNT, sector(number), fua=True)
            disk.receipt(number)
        except OSError:
            return


def no_room(disk: Disk, right: bool) -> None:
    """A compaction that finds no room drops the old version all the same."""
    for number in ROUNDS:
        try:
            disk.write(home(number), sector(number))
        except OSError as error:
            if right or error.errno != errno.ENOSPC:
                return
        disk.flush()
        try:
            disk.write(SUPERBLOCK, sector(number), fua=True)
        except OSError:
            return
        if number > 1:
            disk.trim(home(number - 1))


def no_room_check(disk: Disk, _right: bool) -> str | None:
    """The version that the superblock names is there."""
    number = disk.number(SUPERBLOCK)
    return f"version {number} is not there" if number and disk.number(home(number)) != number else None


def unread_count(disk: Disk, right: bool) -> None:
    """A count that cannot be read is taken for that of an empty disk."""
    for number in ROUNDS:
        try:
            count = disk.number(COUNT)
        except OSError:
            if right:
                return
            count = 0
        disk.write(record(count + 1), sector(count + 1) * 2)
        disk.flush()
        disk.write(COUNT, sector(count + 1), fua=True)
        disk.receipt(number)


def block_given_away(disk: Disk, right: bool) -> None:
    """A write that takes too long is taken for failed, and its block given to another record."""
    late = None
    for number in ROUNDS:
        value = 10 * number
        write = disk.send(WRITE, home(number), sector(value))
        if not disk.comes_within(write, 0.5):
            # The record is given up; another one gets its block.
            value += 1
            late = write
            if right:
                disk.wait(write)
            disk.write(home(number), sector(value))
        disk.flush()
        disk.write(COUNT, sealed(value, number), fua=True)
    if late is not None and not right:
        disk.wait(late)


def given_away_check(disk: Disk, _right: bool) -> str | None:
    """The block that the count names has its record."""
    found = opened(disk.read(COUNT, SECTOR))
    if found and disk.number(home(found[1])) != found[0]:
        return f"the block of record {found[0]} has record {disk.number(home(found[1]))}"
    return None
