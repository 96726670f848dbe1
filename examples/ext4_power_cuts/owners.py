"""The owners of the blocks of a failure: the file, the directory, the journal or the table that a request wrote.

`coflash explore` tells requests by their place on the disk. With the document of `--json`

    python examples/ext4_power_cuts/owners.py explored.json

tells for each failure what ext4 or xfs keeps at the place of each of its requests: after the power cut, on the device
of the failure, or if nothing is kept there yet, at the end of the run. The journal of ext4 is replayed before, as at
the next mount. It takes e2fsprogs (`debugfs`, `dumpe2fs`) or xfsprogs (`xfs_db`), and `nbdcopy`; where one of them is
missing, that is said once.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

NOBODY = "in no file"
_TABLE = re.compile(r"([A-Z][a-zA-Z ]+?) at (\d+)(?:-(\d+))?")
_NAMES = {"sb": "superblock", "log": "journal"}
"""What xfs_db calls otherwise."""


def _run(*command: str) -> str:
    """Return what a command writes, also if it complains."""
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False).stdout


def _debugfs(image: Path, request: str) -> str:
    return _run("debugfs", "-R", request, str(image))


@cache
def _tables(image: Path) -> tuple[int, list[tuple[str, int, int]]]:
    """Return the size of a block of ext4, and its tables, each with its first and last block."""
    text = _run("dumpe2fs", str(image))
    size = re.search(r"^Block size: +(\d+)", text, re.MULTILINE)
    tables = [(name.lower(), int(first), int(last or first)) for name, first, last in _TABLE.findall(text)]
    return int(size[1]) if size else 4096, tables


def _of_ext4(image: Path, offset: int) -> str:
    """Return the owner of a place of ext4."""
    block_bytes, tables = _tables(image)
    block = offset // block_bytes
    for name, first, last in tables:
        if first <= block <= last:
            return name
    found = re.search(rf"^{block}\s+(\d+)$", _debugfs(image, f"icheck {block}"), re.MULTILINE)
    if found is None:
        return NOBODY
    if found[1] == "8":
        return "journal"
    path = re.search(rf"^{found[1]}\s+/*(/.*)$", _debugfs(image, f"ncheck {found[1]}"), re.MULTILINE)
    kind = "directory " if "Type: directory" in _debugfs(image, f"stat <{found[1]}>") else ""
    return f"{kind}{path[1] if path else f'inode {found[1]}, which has no name'}"


def _of_xfs(image: Path, offset: int) -> str:
    """Return the owner of a place of xfs."""
    steps = ("blockget -n", f"daddr {offset // 512}", "blockuse -n")
    found = re.search(r"type (\w+)(?: inode (\d+)(?: (.+))?)?", _run("xfs_db", "-r", *_each("-c", steps), str(image)))
    if found is None or found[1].startswith("free"):
        return NOBODY
    kind, inode, path = found.groups()
    if inode is None:
        return _NAMES.get(kind, kind)
    return f"{'directory ' if kind == 'dir' else ''}{f'/{path}' if path else f'inode {inode}'}"


def _each(option: str, values: tuple[str, ...]) -> Iterator[str]:
    for value in values:
        yield from (option, value)


def owner(image: Path, offset: int) -> str:
    """Return what a file system keeps at a place of its image, in words; nothing if it is neither ext4 nor xfs.

    Raises:
        FileNotFoundError: The program that looks into it is missing.
    """
    with image.open("rb") as file:
        head = file.read(2048)
    if head[:4] == b"XFSB":
        return _of_xfs(image, offset)
    return _of_ext4(image, offset) if head[1080:1082] == b"\x53\xef" else ""


def explained(failure: dict[str, Any], images: dict[str, Path]) -> Iterator[str]:
    """Yield the lines about a failure, whose device is in images: by when that is, in words."""
    yield failure["story"].splitlines()[0]
    for key, title in {"lost": "must be lost", "kept": "must be there", "fatal": "must not be durable"}.items():
        for request in failure[key]:
            place = f"{request['kind']} of {request['length']} bytes at {request['offset']}"
            found = {when: owner(image, request["offset"]) for when, image in images.items()}
            owned = next((f"{what}{when}" for when, what in found.items() if what not in (NOBODY, "")), NOBODY)
            yield f"  {title}: request {request['number']}, {place} ({owned})"


def copied(failure: dict[str, Any], image: Path) -> None:
    """Copy the device of a failure."""
    copy = f'nbdcopy "$COFLASH_NBD" {shlex.quote(str(image))} >&2'
    subprocess.run([f"{failure['folder']}/look.sh", "sh", "-c", copy], check=True, stdout=subprocess.DEVNULL)


def ended(failure: dict[str, Any], image: Path) -> None:
    """Make all that the run of a failure has written, over the device of the failure."""
    place = Path(failure["folder"]).parents[1] / "explored"
    records = json.loads((place / "record.json").read_text(encoding="utf-8"))["records"]
    run = [(record["fault"] or [None])[0] == failure["fault"] for record in records].index(True)
    with (place / f"data-{run}").open("rb") as data, image.open("r+b") as file:
        for entry in records[run]["log"]["entries"]:
            data.seek(entry["place"])
            file.seek(entry["offset"])
            file.write(data.read(entry["length"]) if entry["kind"] == "write" else bytes(entry["length"]))


def replayed(image: Path) -> Path:
    """Replay the journal of ext4; what is none stays as it is."""
    _run("debugfs", "-w", "-R", "journal_run", str(image))
    return image


def main() -> None:
    """Explain the failures of a document."""
    (document,) = sys.argv[1:]
    with tempfile.TemporaryDirectory() as place:
        for number, failure in enumerate(json.loads(Path(document).read_text(encoding="utf-8"))["failures"]):
            cut, end = Path(place, f"{number}-cut"), Path(place, f"{number}-end")
            try:
                copied(failure, cut)
                shutil.copyfile(cut, end)
                ended(failure, end)
                images = {"": replayed(cut), ", by the end of the run": replayed(end)}
                print(*explained(failure, images), sep="\n")
            except FileNotFoundError as error:
                sys.exit(f"{error.filename} is missing, which looks into the file system")
            except subprocess.CalledProcessError as error:
                sys.exit(f"the device of a failure cannot be copied: {error}")
            cut.unlink()
            end.unlink()


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as problem:
        sys.exit(f"usage: owners.py explored.json: {problem}")
