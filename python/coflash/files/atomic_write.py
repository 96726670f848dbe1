"""Atomic writes: a file or a folder is written whole or not at all.

It is written under a temporary name beside its place, made durable, and renamed. After an interruption the old content
is still there.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from coflash._core import CoflashError
from coflash.files.errors import named
from coflash.files.kinds import RECORD, RESULT, SCENARIO, Ends, Kind, is_document

if sys.platform != "win32":
    import fcntl

_OF_RESULTS = (".json", ".parquet", ".toml")
"""How the names of the files of a saved result end."""
_FEW = 64
"""The most files of a folder that are made durable one after the other."""
_MARK = ".coflash-"
"""What tells the temporary files of this module from those of others."""


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file, text as UTF-8. A pipe or a device is written to directly.

    Raises:
        CoflashError: The file cannot be written.
    """
    with new_file(path) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def new_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file to fill. It becomes `path` when the block ends, and vanishes if the block raises.

    What a process left of it when it was killed is removed first. A pipe or a device is written to as it stands.

    Raises:
        CoflashError: The file cannot be written.
    """
    with named(path, "written"):
        if _is_special(path):
            with path.open("wb") as file:
                yield file
            return
        path = path.resolve()
        with _held(path, Path.touch) as new:
            with new.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            new.replace(path)
        _sync(path.parent)


@contextmanager
def folder(path: Path, replaces: Set[str] | None) -> Iterator[Path]:
    """Open a new folder, which becomes `path` at the end of the block, or is removed if the block raises.

    One that a process left when it was killed is removed first.

    Args:
        path: The final place; the folders above it are created.
        replaces: The names that an existing folder may hold to be replaced. One that holds other names, or no document
            of coflash, is refused.
            None: a folder that exists at the end of the block stays, and the new one is removed.

    Raises:
        CoflashError: The folder cannot be written, or holds other files.
    """
    path = path.resolve()
    if replaces is None:
        make_folder(path.parent)
    else:
        check_folder(path, replaces)
    with named(path, "written"), _held(path, Path.mkdir) as new:
        yield new
        _sync_all(
            [place for inner, _, files in os.walk(new) for place in (*(Path(inner, f) for f in files), Path(inner))]
        )
        if replaces is None:
            _put_first(new, path)
        else:
            _put(new, path)


def make_folder(path: Path) -> None:
    """Create a folder and those above it.

    Raises:
        CoflashError: The folder cannot be created.
    """
    with named(path, "written"):
        path.mkdir(parents=True, exist_ok=True)


def check_file(path: Path, kind: Kind, inputs: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Raise the errors of `write_file` in advance, so that no run is lost to a wrong path, and no file to a slip.

    Args:
        path: The file to write.
        kind: What it will be. An existing file is written over only if coflash wrote it as such.
        inputs: The files that are read, which are never written over; other texts do no harm.

    Raises:
        CoflashError: The file cannot be written, is an input, or is there and of another kind.
    """
    if path.is_dir():
        raise CoflashError(f"{path}: is a folder; give the name of a file")
    with named(path, "written"):
        if _is_special(path):
            if not os.access(path, os.W_OK):  # to open a pipe and to close it would end its reader
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return
        path = path.resolve()
        if path.exists():
            _check_old(path, kind, inputs)
        with _held(path, Path.touch):
            return


def _check_old(path: Path, kind: Kind, inputs: Iterable[str | os.PathLike[str]]) -> None:
    if any(file.exists() and path.samefile(file) for file in map(Path, inputs)):
        raise CoflashError(f"{path}: is an input of the same command; name another file")
    if path.with_name(SCENARIO).exists() and is_document(path.with_name(RESULT)) and path.suffix in _OF_RESULTS:
        msg = f"{path}: belongs to the saved result in {path.parent}, which --out writes; name another file"
        raise CoflashError(msg)
    if path.stat().st_size and not kind.is_of(Ends.of(path)):
        raise CoflashError(f"{path}: exists and is not {kind.name}; delete it or name another")


def check_apart(*outputs: str | os.PathLike[str] | None) -> None:
    """Check that no two outputs of a command are one file.

    Raises:
        CoflashError: Two are.
    """
    places = Counter(place for file in outputs if file is not None and not _is_special(place := Path(file).resolve()))
    for place, count in places.items():
        if count > 1:
            raise CoflashError(f"{place}: is named for {count} outputs; each needs a file of its own")


def check_folder(path: Path, replaces: Set[str]) -> None:
    """Raise the errors of `folder` in advance; creates the folders above `path`.

    Raises:
        CoflashError: The folder cannot be written, or holds other files.
    """
    path = path.resolve()
    with named(path, "written"):
        names = {entry.name for entry in path.iterdir()} if path.exists() else set()
        foreign = sorted(names - replaces)
        if not foreign and not any(_is_ours(path / name) for name in names):
            foreign = sorted(names)
        if foreign:
            msg = f"{path}: holds other files ({', '.join(foreign[:3])}); give another folder"
            raise CoflashError(msg)
        path.parent.mkdir(parents=True, exist_ok=True)
        with _held(path, Path.touch):
            return


def _is_ours(path: Path) -> bool:
    """Whether coflash wrote a file of a result: its JSON document has the version, its tables have the name."""
    if path.suffix == ".parquet":
        return RECORD.is_of(Ends.of(path))
    return path.suffix == ".json" and is_document(path)


@contextmanager
def _held(path: Path, make: Callable[[Path], None]) -> Iterator[Path]:
    """Make a file or a folder beside its place, locked until the block or the process ends.

    It goes if the block does not give it another name, and so does at once what is there for the same place and no
    process holds.
    """
    # The name is chosen before the file exists, so that an interrupt during its creation can still remove it.
    new = path.parent / f".{path.name}{_MARK}{secrets.token_hex(8)}"
    try:
        if sys.platform == "win32":  # where a folder cannot be opened
            make(new)
            yield new
            return
        with suppress(OSError):
            _clear(path)
        make(new)
        while (descriptor := _locked(new)) is None:
            make(new)
        try:
            yield new
        finally:
            os.close(descriptor)
    finally:
        with suppress(OSError):
            _remove(new)


def _locked(new: Path) -> int | None:
    """Lock a new file or folder; return None if another process took it for one that was left, before it was locked."""
    try:
        descriptor = os.open(new, os.O_RDONLY)
    except FileNotFoundError:
        return None
    with suppress(OSError):  # a file system without locks keeps what is left
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    if new.exists():
        return descriptor
    os.close(descriptor)
    return None


def _clear(path: Path) -> None:
    names = os.listdir(path.parent)  # noqa: PTH208 - beside a run of a fleet lie thousands of others, too many for paths
    for name in filter(re.compile(re.escape(f".{path.name}{_MARK}") + "[0-9a-f]{16}").fullmatch, names):
        left = path.parent / name
        if left.is_symlink() or not (left.is_file() or left.is_dir()):
            continue
        with suppress(OSError), _opened(left) as descriptor:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(left)


def _remove(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink()


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _put(new: Path, path: Path) -> None:
    """Replace a folder. The old one is moved aside first, and back if the new one cannot be put in its place."""
    if not path.exists():
        new.rename(path)
    else:
        aside = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent)) / "old"
        path.rename(aside)
        try:
            new.rename(path)
        except BaseException:
            aside.rename(path)
            raise
        finally:
            shutil.rmtree(aside.parent, ignore_errors=True)
    _sync(path.parent)


def _put_first(new: Path, path: Path) -> None:
    """Put a folder in its place unless another writer was first: a rename fails over a folder with files."""
    try:
        new.rename(path)
    except OSError:
        if not path.is_dir():
            raise
        shutil.rmtree(new)
    _sync(path.parent)


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def _sync_all(places: Sequence[Path]) -> None:
    """Make files and folders durable; many of them at once, where the system waits for that."""
    if len(places) > _FEW and sys.platform == "linux":
        os.sync()
        return
    for place in places:
        _sync(place)


def _sync(path: Path) -> None:
    if os.name == "nt":  # where a folder cannot be opened
        return
    with _opened(path) as descriptor:
        os.fsync(descriptor)
