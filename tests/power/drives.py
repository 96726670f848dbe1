"""Programs that trust a drive with more than it promises, and a recovery that is not made for a second cut.

What a program has promised is told by marks: on the disk a fault of the drive could change it.
"""

from __future__ import annotations

import os

from logs import COUNT, ROUNDS, SLOTS, SUPERBLOCK, home, opened, record, sealed
from nbd_disk import PAGE, SECTOR, Disk, connected, sector


def mark(number: int) -> None:
    """Promise somebody a number."""
    marks = connected(os.environ["COFLASH_MARKS"])
    marks.sendall(b"%d\n" % number)
    marks.recv(16)
    marks.close()


def promised() -> int:
    """Return the last number that was promised before the cut."""
    return int(os.environ.get("COFLASH_MARK") or 0)


def may_refuse() -> bool:
    """Whether the drive had a fault: a program may refuse what it sees to be damaged."""
    return bool(os.environ.get("COFLASH_FAULT"))


def flush_retried(disk: Disk, right: bool) -> None:
    """A flush that failed is sent again, and its success taken for that of the writes before."""
    for number in ROUNDS:
        disk.write(record(number), sector(number) * 2)
        try:
            disk.flush()
        except OSError:
            if right:
                disk.write(record(number), sector(number) * 2)
            disk.flush()
        disk.write(COUNT, sector(number), fua=True)
        disk.receipt(number)


def trim_for_zeros(disk: Disk, right: bool) -> None:
    """A segment of a log is trimmed and taken for zeros, at which a replay ends."""
    for value in range(1, 3 * SLOTS + 1):
        epoch, slot = divmod(value - 1, SLOTS)
        if slot == 0:
            disk.write(home(0), sector(value - 1))
            disk.flush()
            if right:
                disk.write(record(0), bytes(SLOTS * PAGE))
            else:
                disk.trim(record(0), SLOTS * PAGE)
            disk.flush()
            disk.write(SUPERBLOCK, sector(epoch))
            disk.flush()
        disk.write(record(slot), sealed(slot, value))
        disk.flush()
        mark(value)


def trim_for_zeros_check(disk: Disk, _right: bool) -> str | None:
    """The newest value is at home, or in the log of the epoch that began there."""
    value, epoch = disk.number(home(0)), disk.number(SUPERBLOCK)
    for slot in range(SLOTS) if value == epoch * SLOTS else ():
        if (found := opened(disk.read(record(slot), SECTOR))) is None:
            break
        value = found[1]
    return f"the value is {value}, and {promised()} was promised" if value < promised() else None


def clears_first(disk: Disk, _right: bool) -> None:
    """Recovery clears the log before what it applies is at home."""
    for number in ROUNDS:
        disk.write(record(0), sealed(number))
        disk.flush()
        mark(number)
        disk.write(home(0), sector(number))
        disk.flush()
        disk.write(record(0), bytes(SECTOR))
        disk.flush()


def clears_first_recovery(disk: Disk, right: bool) -> None:
    """Apply the log, and clear it."""
    found = opened(disk.read(record(0), SECTOR))
    if found is None:
        return
    if not right:
        disk.write(record(0), bytes(SECTOR))
        disk.flush()
    disk.write(home(0), sector(found[0]))
    disk.flush()
    if right:
        disk.write(record(0), bytes(SECTOR))
        disk.flush()


def clears_first_check(disk: Disk, _right: bool) -> str | None:
    """The newest number is at home or in the log."""
    found = opened(disk.read(record(0), SECTOR))
    number = max(disk.number(home(0)), found[0] if found else 0)
    return f"the number is {number}, and {promised()} was promised" if number < promised() else None


def unchecked(disk: Disk, right: bool) -> None:
    """A record has no checksum: rot is taken for data."""
    for number in ROUNDS:
        disk.write(record(number), sealed(number) if right else sector(number))
        disk.flush()
        mark(number)


def unchecked_check(disk: Disk, right: bool) -> str | None:
    """Every record is there, or is seen to be damaged."""
    for number in range(1, promised() + 1):
        data = disk.read(record(number), SECTOR)
        if right and opened(data) is None and may_refuse():
            continue
        if data != (sealed(number) if right else sector(number)):
            return f"record {number} has other contents"
    return None


def version_unchecked(disk: Disk, right: bool) -> None:
    """A page is overwritten in place, and its checksum alone is trusted: that of the old version is right, too."""
    for version in ROUNDS:
        disk.write(record(0), sealed(0, version))
        disk.flush()
        if right:
            disk.write(record(1), sealed(1, version))
            disk.flush()
        mark(version)


def version_unchecked_check(disk: Disk, right: bool) -> str | None:
    """The version is the newest one, or differs from the number beside it."""
    found, beside = (opened(disk.read(record(slot), SECTOR)) for slot in range(2))
    version = found[1] if found else 0
    if right and may_refuse() and version != (beside[1] if beside else 0):
        return None
    return f"version {version} is there, and {promised()} was promised" if version < promised() else None


def place_unchecked(disk: Disk, right: bool) -> None:
    """The checksum of a record covers its contents, but not its place."""
    for number in ROUNDS:
        disk.write(record(number), sealed(number if right else 0, 100 + number))
        disk.flush()
        mark(number)


def place_unchecked_check(disk: Disk, right: bool) -> str | None:
    """Every record has its value, or is seen to be damaged, or to be another one."""
    for number in range(1, promised() + 1):
        found = opened(disk.read(record(number), SECTOR))
        if may_refuse() and (found is None or (right and found[0] != number)):
            continue
        if found is None or found[1] != 100 + number:
            return f"record {number} is {found}"
    return None
