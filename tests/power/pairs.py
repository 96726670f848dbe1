"""Programs on two devices, each with a flush of its own: one with the log and one with the data, and mirrored pairs.

A program runs with `right` or without. A check recovers as the program would, and returns what is wrong.
"""

from __future__ import annotations

from drives import mark, promised
from logs import COUNT, ROUNDS, SUPERBLOCK, home, opened, record, sealed
from nbd_disk import RECEIPT, SECTOR, Disk, sector


def flush_of_another_device(disk: Disk, right: bool) -> None:
    """Data goes to one device and its log to another; the log is cut short after a flush of its own device alone."""
    data = disk.second()
    for number in ROUNDS:
        disk.write(record(number), sealed(number))
        disk.flush()
        disk.receipt(number)
        data.write(home(number), sector(number))
        (data if right else disk).flush()
        disk.write(SUPERBLOCK, sector(number + 1))
        disk.flush()


def at_home_or_logged(disk: Disk, _right: bool) -> str | None:
    """Every number told of is at home, or in the log from its tail on."""
    data, tail = disk.second(), disk.number(SUPERBLOCK)
    for number in range(1, disk.number(RECEIPT) + 1):
        is_logged = number >= tail and opened(disk.read(record(number), SECTOR)) is not None
        if not is_logged and data.number(home(number)) != number:
            return f"{number} is neither at home nor in the log, whose tail is {tail}"
    return None


def newer_half(disk: Disk, right: bool) -> None:
    """A mirrored pair flushes one half alone before it counts a record, and trusts the half that counts more."""
    halves = (disk, disk.second())
    for number in ROUNDS:
        for half in halves:
            half.write(record(number), sector(number) * 2)
        for half in halves if right else halves[:1]:
            half.flush()
        for half in reversed(halves):
            half.write(COUNT, sector(number), fua=True)
        disk.receipt(number)


def newer_half_check(disk: Disk, _right: bool) -> str | None:
    """The half that counts more has every record that it counts, and counts every one that somebody was told of."""
    half, told = max(disk, disk.second(), key=lambda half: half.number(COUNT)), disk.number(RECEIPT)
    count = half.number(COUNT)
    missing = [number for number in range(1, count + 1) if half.read(record(number), 2 * SECTOR) != sector(number) * 2]
    if missing or count < told:
        return f"{count} records are counted, {told} were told of, and these are not there: {missing}"
    return None


def half_returns(disk: Disk, _right: bool) -> None:
    """A half of a mirrored pair drops out, the other one goes on alone, and later the old half is trusted again."""
    halves = [disk, disk.second()]
    for number in ROUNDS:
        for half in [*halves]:
            if not _is_written(half, number):
                halves.remove(half)
        mark(number)


def _is_written(half: Disk, number: int) -> bool:
    try:
        half.write(home(0), sector(number))
        half.flush()
    except OSError:
        return False
    return True


def half_returns_check(disk: Disk, right: bool) -> str | None:
    """The number is the promised one: that of the first half, or with event counts that of the half that went on."""
    number = max(half.number(home(0)) for half in ([disk, disk.second()] if right else [disk]))
    return f"the number is {number}, and {promised()} was promised" if number < promised() else None
