"""Files of tables, Parquet and Arrow: the core takes and gives their rows in batches, and this module the files.

The core reads the columns of coflash's own layout as whole numbers of any width. The rows of any other file are a text
for it, with a line of names: it finds what the columns are as in any text.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from coflash._core import CoflashError, __version__

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from coflash._core import TableStream

_COLUMNS = ("time_ns", "op", "offset", "length")
_HINT = "placement"
_REMARKS, _LAYOUT, _LAYOUT_VERSION = "coflash.remarks", "coflash.trace", "1"
_RISING = ("time_ns", "end_ns", "page", "from_page", "decision")
"""Columns that rise, or nearly so: differences are kept."""
_ROWS = 1 << 16
"""The rows of a batch. arro3 for Python 3.10 has batches of its own."""
_BATCHES: dict[str, int] = {} if sys.version_info < (3, 11) else {"batch_size": _ROWS}

_PARQUET = b"PAR1"
_NOTHING: Mapping[str, str] = {}
_SEPARATORS = str.maketrans(dict.fromkeys('\t\n\r"', " "))

_Column = tuple["NDArray[Any]", "NDArray[Any] | None"]
"""Whole numbers of 64 bits, and which of them are there; None if all are."""


def write_parquet(table: Any, file: Any, about: Mapping[str, str] = _NOTHING) -> None:
    """Write a table of any library that exports Arrow data as a Parquet file, in bounded memory.

    Args:
        table: The table.
        file: The name of the file, or an open file.
        about: Entries of its metadata.

    Raises:
        OSError: The file cannot be written.
    """
    from arro3 import core
    from arro3 import io as tables

    reader = core.RecordBatchReader.from_arrow(table)
    # Differences are kept of whole numbers alone; the writer panics on others.
    fields = reader.schema
    rising = [name for name in _RISING if name in fields.names and _is("integer", fields.field(name).type)]
    try:
        tables.write_parquet(
            reader,
            file,
            compression="zstd(1)",
            created_by=f"coflash {__version__}",
            key_value_metadata=dict(about),
            skip_arrow_metadata=True,
            column_encoding=dict.fromkeys(rising, "delta_binary_packed"),
            column_dictionary_enabled=dict.fromkeys([*rising, "offset"], False),
        )
    except OSError:
        raise
    except Exception as error:
        raise OSError(str(error)) from None


def columns(file: Path) -> dict[str, NDArray[Any]]:
    """Read a small Parquet file of numbers and texts; a missing number is NaN, a missing text None.

    Raises:
        OSError: There is no such file, or it is no Parquet file.
    """
    with file.open("rb") as source:
        try:
            table = _readable(source, _reader(source).read_all)
        except CoflashError as error:
            raise OSError(f"{file}: {error}") from None
    return {name: _array(table.column(name)) for name in table.column_names}


def rows_of(file: Path) -> list[dict[str, Any]]:
    """Read the rows of a small Parquet file, exactly; a missing value is None.

    Raises:
        OSError: There is no such file.
        CoflashError: It is no Parquet file.
    """
    with file.open("rb") as source:
        table = _readable(source, _reader(source).read_all)
    values = zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True)
    return [dict(zip(table.column_names, row, strict=True)) for row in values]


def _array(column: Any) -> NDArray[Any]:
    import numpy as np

    if _is("string", column.type):
        return np.asarray(column.to_pylist())
    if column.null_count:
        return np.array([np.nan if value is None else value for value in column.to_pylist()], float)
    # An array is made of chunks, and a table without rows may have none.
    return np.asarray(column.to_numpy()) if len(column) else np.array([])


def parquet_of(stream: bytes) -> bytes:
    """Return the table of a stream of Arrow as a Parquet file; no bytes of none."""
    from arro3 import io as tables

    if not stream:
        return b""
    reader, file = tables.read_ipc_stream(io.BytesIO(stream)), io.BytesIO()
    write_parquet(reader, file, _about(reader.schema))
    return file.getvalue()


def write(stream: TableStream, file: str | os.PathLike[str], format: str) -> None:
    """Write the table of a stream of Arrow to a file. The core calls this."""
    from arro3 import io as tables

    given = os.fspath(file)
    with TemporaryDirectory(prefix="coflash-") as folder:
        whole = given if Path(given).is_file() else str(Path(folder, "whole"))  # a pipe is written once
        rows: Any = _Readable(stream)
        reader = tables.read_ipc_stream(rows)
        about = _about(reader.schema) | {"coflash.version": __version__}
        _save(reader, whole, format, about)
        if remarks := stream.remarks():  # known at the end alone, and kept beside the columns
            about[_REMARKS] = "\n".join(remarks)
            with Path(shutil.copyfile(whole, Path(folder, "rows"))).open("rb") as source:
                _save(_reader(source), whole, format, about)
        if whole != given:
            with Path(whole).open("rb") as source, Path(given).open("wb") as pipe:
                shutil.copyfileobj(source, pipe)


def _save(table: Any, file: str, format: str, about: dict[str, str]) -> None:
    from arro3 import core
    from arro3 import io as tables

    if format == "parquet":
        write_parquet(table, file, about)
        _order(file, about)
        return
    if _about(table.schema) != about:
        schema = table.schema.with_metadata(about)
        batches: Any = (batch.with_schema(schema) for batch in table)
        if sys.version_info < (3, 11):
            batches = list(batches)  # this arro3 takes no others
        table = core.RecordBatchReader.from_batches(schema, batches)
    tables.write_ipc(table, file, compression="zstd")


def _order(file: str, about: Mapping[str, str]) -> None:
    """Put the metadata of a Parquet file in order: arro3 writes them in that of a hash table, another one each time."""

    def text(value: str) -> bytes:
        content = value.encode()
        length, head = len(content), b"\x18"  # of a text in Thrift
        while length > 127:
            head, length = head + bytes([length & 127 | 128]), length >> 7
        return head + bytes([length]) + content

    entries = [text(key) + text(value) + b"\0" for key, value in sorted(about.items())]
    with Path(file).open("r+b") as parquet:
        parquet.seek(-8, os.SEEK_END)
        length = int.from_bytes(parquet.read(4), "little")
        begin = parquet.seek(-8 - length, os.SEEK_END)
        footer = parquet.read(length)
        first = min((footer.find(entry) for entry in entries), default=-1)
        ordered = b"".join(entries)
        if first >= 0 and sorted(footer[first : first + len(ordered)]) == sorted(ordered):
            parquet.seek(begin + first)
            parquet.write(ordered)


def _about(schema: Any) -> dict[str, str]:
    """Return the metadata of a table."""
    return {key.decode(): value.decode(errors="replace") for key, value in schema.metadata.items()}


class _Readable:
    """The stream of a table as a file: arro3 asks for a method that it does not use."""

    def __init__(self, stream: TableStream) -> None:
        self.read = stream.read

    def seek(self, *_: int) -> int:
        raise io.UnsupportedOperation("seek")


def opened(file: str, as_text: bool) -> tuple[list[str], bool, Iterator[tuple[int, Any]]]:
    """Open a file for the core, which calls this.

    Args:
        file: The file.
        as_text: Whether its rows are a text, whatever the columns are.

    Returns:
        The remarks in the file, whether its rows are a text, and these in parts: the bytes of the file that were read
        by then, and the columns of some rows, or their text.

    Raises:
        CoflashError: It cannot be read; the message does not name it.
    """
    parts = _parts(file, as_text)
    remarks, is_text = next(parts)
    return remarks, is_text, parts


def _parts(file: str, as_text: bool) -> Iterator[Any]:
    """Yield the remarks and whether the rows are a text, then the parts."""
    with Path(file).open("rb") as source:
        reader = _reader(source)
        schema, about = reader.schema, _about(reader.schema)
        if (layout := about.get(_LAYOUT, _LAYOUT_VERSION)) != _LAYOUT_VERSION:
            raise CoflashError(f"its layout is version {layout}, this coflash reads version {_LAYOUT_VERSION}")
        is_text = as_text or not _is_own(schema)
        yield about[_REMARKS].splitlines() if _REMARKS in about else [], is_text
        if is_text:
            yield source.tell(), _names(schema)
        content = _text_of if is_text else _numbers_of
        while (batch := _readable(source, lambda: next(reader, None))) is not None:
            for row in range(0, batch.num_rows, _ROWS):
                yield source.tell(), content(batch.slice(row, min(_ROWS, batch.num_rows - row)))


def _reader(source: Any) -> Any:
    """Open a file as batches of rows."""
    from arro3 import io as tables

    head, size = source.read(8), source.seek(0, os.SEEK_END)
    source.seek(max(size - 4, 0))
    end = source.read(4)
    source.seek(0)
    if not head.startswith(_PARQUET):
        return _readable(source, lambda: (tables.read_ipc if head[:6] == b"ARROW1" else tables.read_ipc_stream)(source))
    if end != _PARQUET or size < 12:
        raise _damaged(source, "its end is missing")  # at which arro3 panics
    return _readable(source, lambda: tables.read_parquet(source, **_BATCHES))


def _readable(source: Any, read: Callable[[], Any]) -> Any:
    """Read from a file; say what arro3 says if that is not possible."""
    try:
        return read()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # also the panic of a library, which is no Exception
        raise _damaged(source, (str(error).splitlines() or [type(error).__name__])[0]) from None


def _damaged(source: Any, why: str) -> CoflashError:
    source.seek(0)
    name = "Parquet" if source.read(4) == _PARQUET else "Arrow"
    return CoflashError(f"cannot be read as {name}, perhaps it is truncated: copy it again ({why})")


def _is_own(schema: Any) -> bool:
    """Whether a table has the columns of coflash's layout, as whole numbers."""
    whole = {name for name, kind in zip(schema.names, schema.types, strict=True) if _is("integer", kind)}
    return whole >= {*_COLUMNS} and (_HINT in whole or _HINT not in schema.names)


def _numbers_of(batch: Any) -> list[_Column]:
    """Return the columns of coflash's layout."""
    return [_numbers(batch.column(name)) for name in (*_COLUMNS, _HINT) if name in batch.column_names]


def _numbers(column: Any) -> _Column:
    import numpy as np

    wide = np.int64 if _is("signed_integer", column.type) else np.uint64
    if not column.null_count:
        return column.to_numpy().astype(wide, copy=False), None
    if column.null_count == len(column):
        return np.zeros(len(column), wide), np.zeros(len(column), bool)
    values = column.to_pylist()
    present = np.array([value is not None for value in values])
    return np.array([0 if value is None else value for value in values], wide), present


def _names(schema: Any) -> bytes:
    """Return the line of names of a table as text. Those of timestamps get their unit."""

    def name(field: str, kind: Any) -> str:
        unit = f"_{kind.time_unit}" if _is("timestamp", kind) else ""
        return _plain(field) + unit

    return ("\t".join(map(name, schema.names, schema.types)) + "\n").encode()


def _text_of(batch: Any) -> bytes:
    """Return rows as lines of text, with tabs between the columns."""
    columns = [_texts(batch.column(place)) for place in range(batch.num_columns)]
    return "".join("\t".join(row) + "\n" for row in zip(*columns, strict=True)).encode()


def _texts(column: Any) -> list[str]:
    from arro3 import core

    if _is("nested", column.type):
        return ["…"] * len(column)
    if _is("timestamp", column.type):
        column = column.cast(core.DataType.int64())
    return [_shown(value) for value in column.to_pylist()]


def _shown(value: Any) -> str:
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        import numpy as np

        return np.format_float_positional(value, trim="-")
    return _plain(value.decode(errors="replace") if isinstance(value, bytes) else str(value))


def _plain(text: str) -> str:
    """Return a text without separators of lines and columns."""
    return text.translate(_SEPARATORS)


def _is(what: str, kind: Any) -> bool:
    """Whether the type of a column is one of some types."""
    from arro3.core import DataType

    return bool(getattr(DataType, f"is_{what}")(kind))
