"""The owners of the blocks of a failure, as the programs of ext4 and xfs tell them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "ext4_power_cuts"))

import owners

SBIN = os.pathsep.join((os.environ["PATH"], "/usr/sbin", "/sbin"))


def needs(*programs: str) -> pytest.MarkDecorator:
    """Skip a test where a program is missing."""
    missing = [name for name in programs if shutil.which(name, path=SBIN) is None]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} is missing")


def said(*command: str) -> str:
    """Run a command, and return what it writes."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@needs("mkfs.ext4", "debugfs", "dumpe2fs")
def test_a_block_of_ext4_belongs_to_a_file_a_directory_the_journal_or_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", SBIN)
    (tmp_path / "tree" / "db").mkdir(parents=True)
    (tmp_path / "tree" / "db" / "wal").write_bytes(os.urandom(20_000))
    image = tmp_path / "image"
    said("mkfs.ext4", "-q", "-b", "1024", "-d", str(tmp_path / "tree"), str(image), "8M")

    def block(file: str) -> int:
        return int(said("debugfs", "-R", f"blocks {file}", str(image)).split()[-1])

    table = re.search(r"Inode table at (\d+)", said("dumpe2fs", str(image)))
    assert table is not None
    told = {place: owners.owner(image, place * 1024 + 512) for place in (1, int(table[1]), 8000)}
    assert [*told.values()] == ["primary superblock", "inode table", "in no file"]
    assert owners.owner(image, block("/db/wal") * 1024) == "/db/wal"
    assert owners.owner(image, block("/db") * 1024) == "directory /db"
    assert owners.owner(image, block("<8>") * 1024) == "journal"
    request = {"kind": "write", "number": 7, "length": 1024, "offset": block("/db/wal") * 1024}
    failure = {"story": "state 3: power was cut\nmore", "lost": [request], "kept": [], "fatal": []}
    empty = tmp_path / "empty"
    said("mkfs.ext4", "-q", "-b", "1024", str(empty), "8M")
    for images, told_of in (({"": image}, "/db/wal"), ({"": empty, ", later": image}, "/db/wal, later")):
        assert [*owners.explained(failure, images)][1].endswith(f"bytes at {request['offset']} ({told_of})")


@needs("mkfs.xfs", "xfs_db")
def test_a_block_of_xfs_belongs_to_a_file_the_journal_or_the_superblock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", SBIN)
    (tmp_path / "data").write_bytes(os.urandom(20_000))
    tree = tmp_path / "tree"
    tree.write_text(f"/dev/null\n0 0\nd--755 0 0\nwal ---644 0 0 {tmp_path}/data\n$\n", encoding="utf-8")
    image = tmp_path / "image"
    said("mkfs.xfs", "-q", "-p", str(tree), "-d", f"file,name={image},size=300m")
    about = said("xfs_db", "-r", "-c", "sb", "-c", "p logstart", "-c", "inode 131", "-c", "bmap", str(image))
    blocks = re.search(r"logstart = (\d+)\n.*startblock (\d+)", about)
    assert blocks is not None

    def place(block: str) -> int:
        return int(said("xfs_db", "-r", "-c", f"convert fsblock {block} daddr", str(image)).split("(")[1][:-2]) * 512

    assert [owners.owner(image, place(block)) for block in ("0", *blocks.groups())] == ["superblock", "journal", "/wal"]


def test_what_is_no_file_system_has_no_owners_and_a_missing_program_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = tmp_path / "image"
    image.write_bytes(bytes(4096))
    assert owners.owner(image, 0) == ""
    image.write_bytes(b"XFSB" + bytes(4092))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError) as missing:
        owners.owner(image, 0)
    assert missing.value.filename == "xfs_db"
