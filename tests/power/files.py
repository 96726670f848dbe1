"""Programs on a file system of the device, each with one seeded fault, and mended.

A program makes its first files durable. Then in each round it does a step, and tells somebody outside: the last sector
of the device has the number of the round. `files.py KIND fault|right run` works on the file system mounted at `MNT`, as
`examples/mounted.sh` sets it. `... check` copies the device, recovers the file system as a mount does, and looks.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

ROUNDS = range(1, 4)
BLOCK = 4096
RECORD = 3 * BLOCK
SECTOR = 512


def filled(number: int, length: int = RECORD) -> bytes:
    """Return data filled with a number."""
    return number.to_bytes(8, "little") * (length // 8)


def number_in(file: Path) -> int | None:
    """Return the number that fills a file; None if it is missing, empty or mixed."""
    data = file.read_bytes() if file.exists() else b""
    number = int.from_bytes(data[:8], "little")
    return number if data and data == filled(number, len(data)) else None


def sync(path: Path) -> None:
    """Sync a file or a directory."""
    opened = os.open(path, os.O_RDONLY)
    os.fsync(opened)
    os.close(opened)


def write(path: Path, data: bytes, *, synced: bool, flags: int = 0, at: int = 0) -> None:
    """Write a part of a file, which may be new."""
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | flags)
    os.pwrite(opened, data, at)
    if synced:
        os.fsync(opened)
    os.close(opened)


def replace(path: Path, data: bytes, *, synced: bool) -> None:
    """Put a new file in the place of another one, by renaming."""
    new = path.with_name("new")
    write(new, data, synced=synced, flags=os.O_TRUNC)
    new.rename(path)
    sync(path.parent)


# A log in one file, whose records have places of their own.


def file_unsynced(place: Path, number: int, right: bool) -> None:
    """A file is not synced after a record is appended."""
    write(place / "log", filled(number), synced=right, flags=os.O_APPEND)


def direct_unsynced(place: Path, number: int, right: bool) -> None:
    """A write past the page cache (`O_DIRECT`) is taken for durable."""
    with mmap.mmap(-1, RECORD) as aligned:
        aligned[:] = filled(number)
        opened = os.open(place / "log", os.O_WRONLY | os.O_DIRECT)
        os.pwritev(opened, [aligned], RECORD * (number - 1))
        if right:
            os.fdatasync(opened)
        os.close(opened)


def range_synced(place: Path, number: int, right: bool) -> None:
    """`sync_file_range` is taken for `fdatasync`: it does not flush the device."""
    write(place / "log", filled(number), synced=False, at=RECORD * (number - 1))
    opened = os.open(place / "log", os.O_WRONLY)
    if right:
        os.fdatasync(opened)
    else:
        start, length, wait_write_wait = ctypes.c_int64(RECORD * (number - 1)), ctypes.c_int64(RECORD), 1 | 2 | 4
        if ctypes.CDLL(None).sync_file_range(opened, start, length, wait_write_wait):
            sys.exit("sync_file_range fails")
    os.close(opened)


def mapping_unsynced(place: Path, number: int, right: bool) -> None:
    """A store into a mapped file is not followed by `msync`."""
    with (place / "log").open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as mapped:
        mapped[RECORD * (number - 1) : RECORD * number] = filled(number)
        if right:
            mapped.flush()


def log_check(place: Path, told: int, _right: bool) -> str | None:
    """Every record told of is in the log."""
    log = (place / "log").read_bytes()
    missing = [each for each in range(1, told + 1) if log[RECORD * (each - 1) : RECORD * each] != filled(each)]
    return f"{told} records were told of, and these are not there: {missing}" if missing else None


def torn_record(place: Path, number: int, _right: bool) -> None:
    """A record of several blocks counts as whole by its first one."""
    body = filled(number, 2 * BLOCK)
    head = (number.to_bytes(8, "little") + zlib.crc32(body).to_bytes(4, "little")).ljust(BLOCK, b"\0")
    write(place / "log", head + body, synced=True, at=RECORD * (number - 1))


def torn_record_check(place: Path, told: int, right: bool) -> str | None:
    """Every record that a scan takes is whole, and every one told of is taken."""
    log = (place / "log").read_bytes()
    for number in ROUNDS:
        record = log[RECORD * (number - 1) : RECORD * number]
        head, body = record[:BLOCK], record[BLOCK:]
        if not any(head) or (right and zlib.crc32(body) != int.from_bytes(head[8:12], "little")):
            return f"record {number} is lost" if told >= number else None
        if body != filled(number, 2 * BLOCK):
            return f"record {number} is torn, and taken for whole"
    return None


# Files with names of their own.


def directory_unsynced(place: Path, number: int, right: bool) -> None:
    """A file is synced and renamed, and its directory is not synced."""
    write(place / "new", filled(number), synced=True)
    (place / "new").rename(place / f"file{number}")
    if right:
        sync(place)


def parent_unsynced(place: Path, number: int, right: bool) -> None:
    """A file is made, and its parent is not synced."""
    (place / f"file{number}").touch()
    if right:
        sync(place)


def link_unsynced(place: Path, number: int, right: bool) -> None:
    """A synced file gets a second name, and the directory of that is not synced."""
    (place / f"file{number}").hardlink_to(place / "log")
    if right:
        sync(place)


def names_check(place: Path, told: int, _right: bool) -> str | None:
    """Every file told of is there, and what was written into it."""
    files = {number: place / f"file{number}" for number in ROUNDS}
    missing = [number for number in range(1, told + 1) if not files[number].exists()]
    torn = [
        number for number, file in files.items() if file.exists() and file.read_bytes() not in {b"", filled(number)}
    ]
    return f"{told} files were told of; missing: {missing}, torn: {torn}" if missing or torn else None


# Data that another file, or another version, stands for.


def rename_before_data(place: Path, number: int, right: bool) -> None:
    """A file is replaced by one whose data is not synced."""
    replace(place / "config", filled(number), synced=right)


def truncated_first(place: Path, number: int, right: bool) -> None:
    """A file is truncated before its new contents are written, and another file is synced between."""
    if not right:
        write(place / "config", b"", synced=False, flags=os.O_TRUNC)
    write(place / "other", filled(number), synced=True)
    if right:
        replace(place / "config", filled(number), synced=True)
    else:
        write(place / "config", filled(number), synced=True)


def config_check(place: Path, told: int, _right: bool) -> str | None:
    """The file is whole, and as new as was told."""
    number = number_in(place / "config")
    return f"{number} is in the file, and {told} was told of" if number is None or number < told else None


def index_before_data(place: Path, number: int, right: bool) -> None:
    """An index is synced, and the object that it points to is not."""
    write(place / f"object{number}", filled(number), synced=right)
    replace(place / "index", filled(number), synced=True)


def index_check(place: Path, told: int, _right: bool) -> str | None:
    """The index is as new as was told, and its object is there."""
    number = number_in(place / "index")
    if number is None or number < told:
        return f"{number} is in the index, and {told} was told of"
    found = number_in(place / f"object{number}")
    return f"{found} is in object {number} of the index" if found != number else None


def journal_removed_early(place: Path, number: int, right: bool) -> None:
    """A rollback journal is removed before the file that it protects is synced."""
    write(place / "journal", filled(number - 1), synced=True)
    write(place / "data", filled(number), synced=right)
    (place / "journal").unlink()
    sync(place)


def journal_check(place: Path, told: int, _right: bool) -> str | None:
    """After a rollback the data is whole, and as new as was told."""
    number = number_in(place / "journal")
    number = number_in(place / "data") if number is None else number
    return f"{number} is there, and {told} was told of" if number is None or number < told else None


class Kind(NamedTuple):
    """A kind of fault."""

    step: Callable[[Path, int, bool], None]
    check: Callable[[Path, int, bool], str | None]
    published: str
    first: Mapping[str, bytes] = MappingProxyType({})
    """The files at the beginning, durable."""
    options: str = ""
    """Of the mount of ext4."""
    module: str = ""
    """What it needs of Python."""


_ALICE = "Pillai et al., OSDI 2014"
_DELAYED = "Ts'o, 2009: delayed allocation"
_BLANK = {"log": bytes(RECORD * len(ROUNDS))}
KINDS = {
    "file-unsynced": Kind(file_unsynced, log_check, _ALICE, {"log": b""}),
    "direct-unsynced": Kind(direct_unsynced, log_check, "open(2), O_DIRECT", _BLANK),
    "range-synced": Kind(range_synced, log_check, "sync_file_range(2)", _BLANK),
    "mapping-unsynced": Kind(mapping_unsynced, log_check, "msync(2)", _BLANK),
    "torn-record": Kind(torn_record, torn_record_check, _ALICE, _BLANK),
    "directory-unsynced": Kind(directory_unsynced, names_check, _ALICE),
    "parent-unsynced": Kind(parent_unsynced, names_check, "fsync(2)"),
    "link-unsynced": Kind(link_unsynced, names_check, "Mohan et al., OSDI 2018", {"log": b""}),
    "rename-before-data": Kind(
        rename_before_data, config_check, _DELAYED, {"config": filled(0)}, options="noauto_da_alloc"
    ),
    "truncated-first": Kind(truncated_first, config_check, _DELAYED, {"config": filled(0)}),
    "index-before-data": Kind(index_before_data, index_check, _ALICE, {"object0": filled(0), "index": filled(0)}),
    "journal-removed-early": Kind(journal_removed_early, journal_check, _ALICE, {"data": filled(0)}),
}


def run(kind: Kind, place: Path, disk: Path, right: bool) -> None:
    """Run a program."""
    for name, data in {**kind.first, "begun": b""}.items():
        write(place / name, data, synced=True)
        sync(place)
    with disk.open("r+b", buffering=0) as end:
        for number in ROUNDS:
            kind.step(place, number, right)
            end.seek(-SECTOR, os.SEEK_END)
            end.write(number.to_bytes(SECTOR, "little"))


@contextmanager
def left() -> Iterator[tuple[Path, int]]:
    """Yield the files that are left on the device, and the number told of."""
    with tempfile.TemporaryDirectory() as folder:
        image, files = Path(folder, "image"), Path(folder, "files")
        files.mkdir()
        _call("nbdcopy", os.environ["COFLASH_NBD"], image)
        with image.open("rb") as disk:
            is_xfs = disk.read(4) == b"XFSB"
            disk.seek(-SECTOR, os.SEEK_END)
            told = int.from_bytes(disk.read(), "little")
        if is_xfs:
            _call("mount", "-o", "loop,nouuid", image, files)  # other checks have it mounted, too
            try:
                yield files, told
            finally:
                _call("umount", files)
            _call("xfs_repair", "-n", "-f", image)
        else:
            _call("e2fsck", "-fp", "-E", "journal_only", image, most=1)
            _call("e2fsck", "-fn", image)
            _call("debugfs", "-R", f"rdump / {files}", image)
            yield files, told


def _call(*command: str | Path, most: int = 0) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode > most:
        sys.exit(f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")


def main(kinds: dict[str, Kind]) -> None:
    """Run a program, or check what is left of it; the exit status is 1 if that is wrong."""
    _, name, variant, action = sys.argv
    kind, right = kinds[name], variant == "right"
    if action == "run":
        run(kind, Path(os.environ["MNT"]), Path(os.environ["DISK"]), right)
        return
    with left() as (found, told):
        problem = kind.check(found, told, right) if (found / "begun").exists() else None
    if problem:
        sys.exit(problem)


if __name__ == "__main__":
    main(KINDS)
