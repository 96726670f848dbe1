"""Arrow files (`.arrow`, `.feather`) as traces: the core reads and writes Parquet in their place.

The columns of coflash's own layout are whole numbers of any width; without them all columns go into the Parquet file,
and the core finds what they are by their names. One batch of rows is in memory at a time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coflash._core import CoflashError
from coflash.files.atomic_write import new_file

if TYPE_CHECKING:
    import pyarrow as pa

NAME = "arrow"
_MAGIC = b"ARROW1"
_STREAM = b"\xff\xff\xff\xff"
_COLUMNS = ("time_ns", "op", "offset", "length")
_OPTIONAL = "placement"
_HEAD_BYTES_MAX = 1 << 24
_BATCH_ROWS = 1 << 17


def is_arrow(path: str) -> bool:
    """Whether the content of a file is Arrow's. A pipe is not examined, since reading consumes it."""
    if not Path(path).is_file():
        return False
    try:
        with Path(path).open("rb") as file:
            head = file.read(8)
    except OSError:
        return False  # reading it will raise the error
    length = int.from_bytes(head[4:], "little")
    return head.startswith(_MAGIC) or (
        head.startswith(_STREAM) and len(head) == 8 and length % 8 == 0 and 8 <= length < _HEAD_BYTES_MAX
    )


@contextmanager
def converted(files: Sequence[str]) -> Iterator[list[str]]:
    """Convert Arrow files for the core: within the block, a Parquet file replaces each of them.

    Errors within the block name the files as they were given.

    Raises:
        CoflashError: An Arrow file cannot be read, or is no trace.
    """
    if not any(map(is_arrow, files)):
        yield list(files)
        return
    with tempfile.TemporaryDirectory(prefix="coflash-") as folder:
        read = [str(Path(folder, f"{place}.parquet")) if is_arrow(file) else file for place, file in enumerate(files)]
        for file, parquet in zip(files, read, strict=True):
            if file != parquet:
                _to_parquet(file, parquet)
        with renaming(dict(zip(read, files, strict=True))):
            yield read


@contextmanager
def renaming(names: dict[str, str]) -> Iterator[None]:
    """Give files another name in the messages of the block."""
    try:
        yield
    except CoflashError as error:
        message = str(error)
        for here, given in names.items():
            message = message.replace(here, given)
        raise CoflashError(message) from None


def write(parquet: str, out: str) -> int:
    """Write the rows of a Parquet file as an Arrow file, whole or not at all; return its size, zero for a pipe.

    Raises:
        CoflashError: The file cannot be written.
    """
    _check_library(out)
    import pyarrow.parquet as pq
    from pyarrow import ipc

    options = ipc.IpcWriteOptions(compression="zstd")
    with pq.ParquetFile(parquet) as source, new_file(Path(out)) as file:
        with ipc.new_file(file, source.schema_arrow, options=options) as writer:
            for batch in source.iter_batches(_BATCH_ROWS):
                writer.write_batch(batch)
        return file.tell() if file.seekable() else 0


def _to_parquet(path: str, to: str) -> None:
    _check_library(path)
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pa.memory_map(path) as source:
            reader = _opened(source, None)
            schema = reader.schema
            wanted = pa.schema(_fields(schema), schema.metadata)
            source.seek(0)
            batches = _opened(source, [schema.get_field_index(name) for name in wanted.names])
            with pq.ParquetWriter(to, wanted, compression="zstd") as writer:
                for batch in _batches(batches):
                    columns = [_cast(path, batch.column(field.name), field) for field in wanted]
                    writer.write_batch(pa.record_batch(columns, wanted))
    except (pa.ArrowException, OSError) as error:
        msg = f"{path}: cannot be read as Arrow, perhaps it is truncated: copy it again ({str(error).splitlines()[0]})"
        raise CoflashError(msg) from None


def _check_library(path: str) -> None:
    """Raise if pyarrow is missing: it takes 170 MB, and nothing else needs it."""
    if find_spec("pyarrow") is None:
        msg = f"{path}: pyarrow, which reads and writes Arrow files, is not installed: pip install 'coflash[arrow]'"
        raise CoflashError(msg)


def _opened(source: Any, columns: list[int] | None) -> Any:
    from pyarrow import ipc

    options = ipc.IpcReadOptions(included_fields=columns)
    is_file = source.read(len(_MAGIC)) == _MAGIC
    source.seek(0)
    return (ipc.open_file if is_file else ipc.open_stream)(source, options=options)


def _batches(reader: Any) -> Iterator[pa.RecordBatch]:
    if hasattr(reader, "num_record_batches"):
        yield from map(reader.get_batch, range(reader.num_record_batches))
    else:
        yield from reader


def _fields(schema: pa.Schema) -> list[pa.Field]:
    """Return the columns in their Parquet types: those of coflash's layout, or else all that hold single values."""
    import pyarrow as pa

    def plain(field: pa.Field) -> pa.Field:
        given = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        return pa.field(field.name, given, field.nullable)

    def numbers(field: pa.Field) -> pa.Field:
        signed = pa.types.is_signed_integer(field.type)
        wide = (pa.int32(), pa.uint32()) if field.name in ("op", _OPTIONAL) else (pa.int64(), pa.uint64())
        return pa.field(field.name, wide[0] if signed else wide[1], field.nullable)

    own = [field for field in schema if field.name in (*_COLUMNS, _OPTIONAL) and pa.types.is_integer(field.type)]
    if {field.name for field in own} >= set(_COLUMNS) and (_OPTIONAL not in schema.names or len(own) > len(_COLUMNS)):
        return [numbers(field) for field in own]
    return [plain(field) for field in schema if not pa.types.is_nested(field.type)]


def _cast(path: str, column: pa.Array, field: pa.Field) -> pa.Array:
    import pyarrow as pa

    try:
        return column.cast(field.type)
    except pa.ArrowInvalid as error:
        raise CoflashError(f"{path}: {field.name}: {str(error).splitlines()[0]}") from None
