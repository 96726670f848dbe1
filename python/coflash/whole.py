"""Results are written whole or not at all.

What is written gets a temporary name beside its place, is made durable, and is renamed; a run that is cut off leaves
what was there before.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Set
from contextlib import contextmanager, suppress
from pathlib import Path

from coflash._core import CoflashError


def write_file(path: Path, content: str | bytes) -> None:
    """Writes `content` to `path`, text as UTF-8. A pipe or a device is written to as it stands.

    Raises:
        CoflashError: The file cannot be written.
    """
    path = path.resolve()
    content = content.encode("utf-8") if isinstance(content, str) else content
    with _named(path):
        if _is_special(path):
            path.write_bytes(content)
            return
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(descriptor)
            Path(name).chmod(_mode(0o666))
            Path(name).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise
        _sync(path.parent)


@contextmanager
def folder(path: Path, replaces: Set[str] | None) -> Iterator[Path]:
    """A new folder to fill, which becomes `path` when the block ends, or vanishes if it raises.

    Args:
        path: Where it goes; the folders above it are made.
        replaces: The names that a folder already there may hold to be replaced. One that holds any other, or no
            document of coflash, is left alone.
            None: one that is there by the end of the block stays as it is, and the new one vanishes.

    Raises:
        CoflashError: The folder cannot be written, or holds something else.
    """
    path = path.resolve()
    if replaces is None:
        path.parent.mkdir(parents=True, exist_ok=True)
    else:
        check_folder(path, replaces)
    with _named(path):
        new = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        with _named(path):
            new.chmod(_mode(0o777))
            yield new
            for inner, _, files in os.walk(new):
                for name in files:
                    _sync(Path(inner, name))
                _sync(Path(inner))
            if replaces is None:
                _put_first(new, path)
            else:
                _put(new, path)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise


def check_file(path: Path) -> None:
    """Raises now what `write_file` would raise later, so that no run is lost to a wrong path.

    Raises:
        CoflashError: The file cannot be written.
    """
    path = path.resolve()
    if path.is_dir():
        msg = f"{path}: is a folder; give the name of a file"
        raise CoflashError(msg)
    with _named(path):
        if _is_special(path):
            with path.open("ab"):
                return
        with tempfile.NamedTemporaryFile(prefix=f".{path.name}.", dir=path.parent):
            return


def check_folder(path: Path, replaces: Set[str]) -> None:
    """Raises now what `folder` would raise later; makes the folders above `path`.

    Raises:
        CoflashError: The folder cannot be written, or holds something else.
    """
    path = path.resolve()
    with _named(path):
        names = {entry.name for entry in path.iterdir()} if path.exists() else set()
        foreign = sorted(names - replaces)
        if not foreign and not any(_is_ours(path / name) for name in names):
            foreign = sorted(names)
        if foreign:
            msg = f"{path}: holds files that are no result of coflash ({', '.join(foreign[:3])}); give another folder"
            raise CoflashError(msg)
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(prefix=f".{path.name}.", dir=path.parent):
            return


def _is_ours(path: Path) -> bool:
    """Whether it is a JSON document that coflash wrote; it carries the version."""
    if path.suffix != ".json":
        return False
    with suppress(ValueError):
        document = json.loads(path.read_text(encoding="utf-8"))
        return isinstance(document, dict) and "coflash" in document
    return False


def _put(new: Path, path: Path) -> None:
    """A full folder cannot be renamed over, so the old one steps aside, and comes back if the new one cannot follow."""
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
    """Of several writers the first wins: a folder cannot be renamed over one that is full."""
    try:
        new.rename(path)
    except OSError:
        if not path.is_dir():
            raise
        shutil.rmtree(new)
    _sync(path.parent)


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _mode(wanted: int) -> int:
    """What a file made in the ordinary way would get; temporary ones are private."""
    mask = os.umask(0)
    os.umask(mask)
    return wanted & ~mask


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Turns what the system says into a message about `path`."""
    try:
        yield
    except OSError as error:
        msg = f"{path}: cannot be written: {error.strerror or error}"
        raise CoflashError(msg) from error
