"""Errors of the system and of drivers, as messages about the file."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coflash._core import CoflashError


def near_file(path: str) -> str:
    """End an error of a file that is not there: `; did you mean X?` if its folder holds a similar name."""
    folder = Path(path).parent
    names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    near = difflib.get_close_matches(Path(path).name, names, 1)
    return f"; did you mean {folder / near[0]}?" if near else ""


def no_result(place: object) -> CoflashError:
    """Return the error of a place without a result of coflash, with what makes one."""
    path, out = Path(str(place)), place
    what = "holds no result of coflash"
    if path.is_file():
        what, out = "is a file; give a folder of results", "DIR"
    elif next(path.rglob("result.json"), None):
        return CoflashError(f"{place}: has runs in folders below it; `coflash results list --in {place}` names them")
    elif "://" not in str(place) and not path.is_dir():
        what = "there is no such folder"
        if near := near_file(str(place)):
            return CoflashError(f"{place}: {what}{near}")
    return CoflashError(f"{place}: {what}; `coflash run demo --out {out}` makes one, `coflash sweep` many")


@contextmanager
def named(place: object, done: str, errors: type[Exception] = OSError) -> Iterator[None]:
    """Turn errors into a message that a place cannot be `done` (read, written)."""
    try:
        yield
    except CoflashError:
        raise
    except errors as error:
        raise CoflashError(f"{place}: {_why(Path(str(place)), done, error)}") from error


def _why(path: Path, done: str, error: Exception) -> str:
    file = next((one for one in (path, *path.parents) if one.is_file()), None)
    match error:
        case FileNotFoundError() if done == "read":
            return f"no such file{near_file(str(path))}"
        case FileNotFoundError() if not path.parent.is_dir():
            return f"there is no folder {path.parent}"
        case IsADirectoryError():
            return "is a folder; give a file"
        case NotADirectoryError() | FileExistsError() if file:
            return f"{'' if file == path else f'{file} '}is a file; give a folder"
    why = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return f"cannot be {done}: {why.splitlines()[0]}"


def text_of(file: str | Path) -> str:
    """Read a file of text, with or without a byte order mark.

    Raises:
        CoflashError: It cannot be read, or is no text.
    """
    with named(file, "read"):
        content = Path(file).read_bytes()
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        msg = f"{file}: is no text in UTF-8: byte {error.start:,} is 0x{content[error.start]:02x}"
        raise CoflashError(msg) from error
