"""Pages, superblocks, trees and directories on a raw device, each with one fault in its order of writes, and mended.

A program runs with `right` or without. A check recovers as the program would, and returns what is wrong.
"""

from __future__ import annotations

from logs import ROUNDS, SUPERBLOCK, home, opened, record, sealed
from nbd_disk import RECEIPT, SECTOR, Disk, sector

WHOLE = 3 * SECTOR
"""The bytes of a page of a database, or of a superblock: more than a device writes at once."""

# One page with a number and a checksum, and a second place for it.


def _whole(number: int) -> bytes:
    body = sector(number) * 2
    return sealed(number, covers=body) + body


def _newest(disk: Disk, *, trusts: bool = False) -> str | None:
    """Choose the newest of two places, and say what is wrong with it."""
    places = [disk.read(home(place), WHOLE) for place in (0, 1)]
    found = [_number(data) for data in places if trusts or opened(data, data[SECTOR:]) or not any(data)]
    newest, told = max(found, default=None), disk.number(RECEIPT)
    if newest is None or newest < told:
        return f"{newest} is the newest page, and {told} was told of"
    if newest and _whole(newest) not in places:
        return f"page {newest} is torn, and taken for whole"
    return None


def _number(data: bytes) -> int:
    return int.from_bytes(data[8:16], "little")


def newest_whole(disk: Disk, _right: bool) -> str | None:
    """A page with a right checksum is as new as what was told of."""
    return _newest(disk)


def newest_by_number(disk: Disk, right: bool) -> str | None:
    """The page of the highest number is whole; the right recovery chooses among those with a right checksum."""
    return _newest(disk, trusts=not right)


def in_place(disk: Disk, right: bool) -> None:
    """A page is overwritten in place, with no copy elsewhere (a double write)."""
    for number in ROUNDS:
        if right:
            disk.write(home(1), _whole(number))
            disk.flush()
        disk.write(home(0), _whole(number))
        disk.flush()
        disk.receipt(number)


def newer_overwritten(disk: Disk, right: bool) -> None:
    """After a restart the newer of two superblocks is overwritten, and not the older one."""
    for number in ROUNDS:
        has_lost_count = number > 2 and not right
        disk.write(home((number + has_lost_count) % 2), _whole(number))
        disk.flush()
        disk.receipt(number)


def copy_unflushed(disk: Disk, right: bool) -> None:
    """The copy of a double write is not flushed before the page is overwritten in place."""
    for number in ROUNDS:
        disk.write(home(1), _whole(number))
        if right:
            disk.flush()
        disk.write(home(0), _whole(number))
        disk.flush()
        disk.receipt(number)


def superblock_in_place(disk: Disk, right: bool) -> None:
    """A superblock has one place, rather than two in turn with a generation."""
    for number in ROUNDS:
        disk.write(home(number % 2 if right else 0), _whole(number))
        disk.flush()
        disk.receipt(number)


def superblock_unchecked(disk: Disk, _right: bool) -> None:
    """The superblock with the highest generation counts, whole or torn."""
    superblock_in_place(disk, right=True)


# A tree of a root and two leaves, written to new places.


def _leaf(number: int, which: int) -> bytes:
    return sector(2 * number + which)


def reuse_before_commit(disk: Disk, right: bool) -> None:
    """A block that a transaction frees is used again in the same transaction."""
    leaves, free = [1, 2], [3, 4, 5, 6]
    for number in ROUNDS:
        old = leaves.copy()
        for which in (0, 1):
            leaves[which] = free.pop(0)
            disk.write(record(leaves[which]), _leaf(number, which))
            if not right:
                free.insert(0, old[which])
        disk.flush()
        disk.write(SUPERBLOCK, sealed(number, leaves[0], leaves[1]))
        disk.flush()
        if right:
            free += old
        disk.receipt(number)


def reuse_before_commit_check(disk: Disk, _right: bool) -> str | None:
    """Both leaves of the root are of its version."""
    number, *leaves = opened(disk.read(SUPERBLOCK, SECTOR)) or (0,)
    for which, block in enumerate(leaves):
        if disk.read(record(block), SECTOR) != _leaf(number, which):
            return f"leaf {which} of version {number} has other data"
    told = disk.number(RECEIPT)
    return f"the version is {number}, and {told} was told of" if number < told else None


def trim_before_commit(disk: Disk, right: bool) -> None:
    """The old version is trimmed before the root of the new one is durable."""
    for number in ROUNDS:
        disk.write(record(number), sector(number))
        disk.flush()
        if not right:
            disk.trim(record(number - 1))
        disk.write(SUPERBLOCK, sealed(number))
        disk.flush()
        if right:
            disk.trim(record(number - 1))
        disk.receipt(number)


def trim_before_commit_check(disk: Disk, _right: bool) -> str | None:
    """The root has its data."""
    number, *_ = opened(disk.read(SUPERBLOCK, SECTOR)) or (0,)
    told = disk.number(RECEIPT)
    if (number and disk.number(record(number)) != number) or number < told:
        return f"{disk.number(record(number))} is there, the root is of version {number}, and {told} was told of"
    return None


# Directories, bitmaps, files: the rules for updates of metadata.


def pointer_before_block(disk: Disk, right: bool) -> None:
    """A directory entry points to a block that is written later."""
    for number in ROUNDS:
        writes = [(record(number), sector(number)), (home(number), sector(number))]
        for at, data in writes if right else reversed(writes):
            disk.write(at, data)
            disk.flush()
        disk.receipt(number)


def pointer_before_block_check(disk: Disk, _right: bool) -> str | None:
    """Each entry points to its block, and every file told of has one."""
    for number in ROUNDS:
        entry = disk.number(home(number))
        if (entry and disk.number(record(number)) != number) or (not entry and disk.number(RECEIPT) >= number):
            return f"file {number} has entry {entry} and no data"
    return None


def bitmap_after_pointer(disk: Disk, right: bool) -> None:
    """A block gets an owner, and only later is it marked as used."""
    for number in ROUNDS:
        writes = [(SUPERBLOCK, sector((2 << number) - 1)), (home(number), sector(number))]
        for at, data in writes if right else reversed(writes):
            disk.write(at, data)
            disk.flush()


def bitmap_after_pointer_check(disk: Disk, _right: bool) -> str | None:
    """Every block with an owner is marked as used."""
    used = disk.number(SUPERBLOCK)
    for number in ROUNDS:
        if disk.number(home(number)) and not used >> number & 1:
            return f"block {number} has an owner, and counts as free"
    return None


def two_owners(disk: Disk, right: bool) -> None:
    """A block goes from a deleted file to a new one before the deletion is durable."""
    for number in ROUNDS:
        disk.write(home(number - 1), sector(0))
        if right:
            disk.flush()
        disk.write(record(0), sector(number))
        disk.flush()
        disk.write(home(number), sector(1))
        disk.flush()


def two_owners_check(disk: Disk, _right: bool) -> str | None:
    """The block has the data of its owner."""
    for number in ROUNDS:
        if disk.number(home(number)) and (found := disk.number(record(0))) != number:
            return f"file {number} has the data of file {found}"
    return None


def move_loses(disk: Disk, right: bool) -> None:
    """A file is moved to another directory, with no flush between its new entry and the removal of the old one."""
    for number in ROUNDS:
        disk.write(home(number), sector(number))
    disk.flush()
    disk.receipt(1)
    disk.flush()
    for number in ROUNDS:
        disk.write(record(number), sector(number))
        if right:
            disk.flush()
        disk.write(home(number), sector(0))
        disk.flush()


def move_loses_check(disk: Disk, _right: bool) -> str | None:
    """Each file has an entry."""
    for number in ROUNDS if disk.number(RECEIPT) else ():
        if number not in {disk.number(home(number)), disk.number(record(number))}:
            return f"file {number} is in no directory"
    return None
