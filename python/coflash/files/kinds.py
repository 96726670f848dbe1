"""Kinds of files, recognised by their content: coflash writes over what it wrote itself, as the same kind."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_END_BYTES = 1 << 16
_ZSTD = b"\x28\xb5\x2f\xfd"
_IOLOG = b"fio version 3 iolog\n0 coflash add\n"
RESULT, SCENARIO = "result.json", "scenario.toml"
"""The document and the scenario of a saved result."""
_DRAWN = (b"drawn by coflash", b"Software\0coflash", b"Matplotlib")
"""What the files of figures have, those of older versions the last one."""
_TRACE = b"coflash.trace"
"""An entry of the metadata of each Parquet and Arrow trace."""


class Ends(NamedTuple):
    """The beginning and the end of a file."""

    path: Path
    head: bytes
    tail: bytes

    @classmethod
    def of(cls, path: Path) -> Ends:
        """Read them."""
        with path.open("rb") as file:
            head = file.read(_END_BYTES)
            file.seek(max(file.seek(0, os.SEEK_END) - _END_BYTES, 0))
            return cls(path, head, file.read())

    @property
    def is_parquet(self) -> bool:
        """Whether it is a Parquet file."""
        return self.head.startswith(b"PAR1") and self.tail.endswith(b"PAR1")


@dataclass(frozen=True)
class Kind:
    """A kind of file."""

    name: str
    """What it is, with its article."""
    is_of: Callable[[Ends], bool]
    """Whether coflash wrote a file as one of this kind."""


def _is_trace(ends: Ends) -> bool:
    if ends.head.startswith(_ZSTD):
        return _unpacked(ends.path, lines=2) == _IOLOG
    return ends.head.startswith(_IOLOG) or (
        (ends.is_parquet or ends.head.startswith(b"ARROW1")) and _TRACE in ends.tail
    )


def _unpacked(path: Path, lines: int) -> bytes:
    """Return the first lines of a text compressed by zstd; nothing if it is another file."""
    import duckdb

    with suppress(duckdb.Error), duckdb.connect() as connection:
        query = (
            "select line from read_csv(?, header = false, columns = {'line': 'VARCHAR'}, delim = '\x01', quote = '', "
            "escape = '', compression = 'zstd', auto_detect = false) limit ?"
        )
        return "".join(f"{line}\n" for (line,) in connection.execute(query, [str(path), lines]).fetchall()).encode()
    return b""


def _is_table(ends: Ends) -> bool:
    """Whether it is a table as coflash exports some: tables in text cannot be told by more than their heads."""
    if ends.path.suffix == ".parquet":
        return ends.is_parquet and (b"coflash" in ends.tail or b"DuckDB" in ends.tail) and _TRACE not in ends.tail
    if ends.path.suffix == ".json":
        document = _document(ends.path)
        return isinstance(document, list) and all(isinstance(row, dict) for row in document)
    return b"\0" not in ends.head and not any(_is_number(name) for name in ends.head.split(b"\n", 1)[0].split(b","))


def _is_number(cell: bytes) -> bool:
    try:
        float(cell)
    except ValueError:
        return not cell.strip()
    return True


def _document(path: Path) -> object:
    with suppress(ValueError):
        return json.loads(path.read_bytes())
    return None


def is_document(path: Path) -> bool:
    """Whether a file is a JSON document of coflash, which contains the version."""
    document = _document(path) if path.is_file() else None
    return isinstance(document, dict) and "coflash" in document


JSON = Kind("a JSON document of coflash", lambda ends: is_document(ends.path))
TRACE = Kind("a trace that coflash wrote", _is_trace)
WARM = Kind("a warm device of coflash", lambda ends: ends.head.startswith(b"COFLWARM"))
RECORD = Kind(
    "a record of coflash", lambda ends: ends.is_parquet and b"coflash" in ends.tail and _TRACE not in ends.tail
)
TABLE = Kind("a table of coflash", _is_table)
REPORT = Kind("a report of coflash", lambda ends: b'<meta name="generator" content="coflash' in ends.head)
FIGURE = Kind("a figure of coflash", lambda ends: any(by in ends.head + ends.tail for by in _DRAWN))
JUNIT = Kind("findings of coflash explore", lambda ends: b'<testsuite name="coflash explore"' in ends.head)
LIKE = Kind("a workload fitted by coflash", lambda ends: ends.head.startswith(LIKE_HEAD.encode()))
CALIBRATED = Kind(
    "a scenario that coflash calibrated", lambda ends: ends.head.split(b"\n", 1)[0].endswith(b", calibrated.")
)
CALIBRATION = Kind("a page of coflash's calibration", lambda ends: b"Held-out points took no part" in ends.head)

LIKE_HEAD = "# A workload like that of a trace, fitted by coflash.\n"
"""The first line of a fitted workload."""
