"""Frames as traces: tables of polars, pandas, Arrow or coflash itself.

A frame has the columns of coflash's Parquet files, `time_ns`, `op`, `offset` and `length`, as whole numbers; operations
may be words as well, and offset and length may be called as `trace.head` calls them. A column `placement` has the
placement hints; a gap is a request without one. The frame is written to a Parquet file named by the digest of its
content, so that it has a path like any other trace, for sweeps and repeated runs.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol

from coflash._core import CoflashError, hint
from coflash.files.kept import kept_folder
from coflash.table import copy_to

if TYPE_CHECKING:
    from numpy.typing import NDArray

_COLUMNS = {"time_ns": "time_ns", "op": "op", "offset": "offset_bytes", "length": "length_bytes"}
"""The names of the columns, each with the other name that it may have."""
_HINTS = "placement"
"""The column that may be missing."""
_NO_HINT = 255
"""The byte of a gap in the digest."""
_OPERATIONS = ("read", "write", "trim", "flush")
"""The operations, in the order of their numbers."""


class Frame(Protocol):
    """A table of any library that exports Arrow data: a polars or pandas frame, an Arrow table, a `coflash.Table`."""

    def __arrow_c_stream__(self, requested_schema: object | None = None, /) -> object:
        """Export the table as an Arrow stream."""


def is_frame(given: object) -> bool:
    """Whether a trace is given as a frame."""
    return hasattr(given, "__arrow_c_stream__")


def kept(frame: Any) -> str:
    """Write a frame to its file, if it is not there, and return the path.

    Raises:
        CoflashError: It lacks a column, or has values that are invalid in a trace.
    """
    names = [str(name) for name in getattr(frame, "column_names", None) or frame.columns]
    columns = {}
    for name, other in _COLUMNS.items():
        if not (found := [each for each in (name, other) if each in names]):
            msg = (
                f'trace: the frame has no column "{name}" (given: {", ".join(names)}; expected: {", ".join(_COLUMNS)})'
            )
            raise CoflashError(msg)
        columns[name] = _numbers(name, frame[found[0]])
    if _HINTS in names:
        columns[_HINTS] = _hints(frame[_HINTS])
    digest = hashlib.sha256(b"".join(column.tobytes() for column in columns.values())).hexdigest()
    file = kept_folder() / f"{digest[:32]}-frame.parquet"
    if not file.exists():
        with TemporaryDirectory(prefix=".", dir=file.parent) as folder:
            new = Path(folder, file.name)
            copy_to(new, columns, "format parquet, compression zstd")
            new.replace(file)
    return str(file)


def _numbers(name: str, column: Any) -> NDArray[Any]:
    import numpy as np

    values = np.asarray(column)
    if name == "op" and values.dtype.kind in "OUST":
        words, places = np.unique(values.astype(str), return_inverse=True)
        for word in words:
            if word.lower() not in _OPERATIONS:
                msg = f'trace: column "op": "{word}" was given{hint(str(word), _OPERATIONS)}'
                raise CoflashError(msg)
        values = np.array([_OPERATIONS.index(word.lower()) for word in words])[places]
    if values.dtype.kind not in "iu":
        msg = f'trace: column "{name}" is of type {values.dtype}; whole numbers are allowed'
        raise CoflashError(msg)
    if len(values) and values.min() < 0:
        msg = f'trace: column "{name}" has {values.min()}; 0 or more is allowed'
        raise CoflashError(msg)
    return values.astype(np.uint8 if name == "op" and values.max(initial=0) < 256 else np.uint64)


def _hints(column: Any) -> NDArray[Any]:
    """Return placement hints, masked where a request has none."""
    import numpy as np

    try:
        numbers = np.asarray(column).astype(float)
    except (TypeError, ValueError) as error:
        msg = f'trace: column "{_HINTS}": {error}; whole numbers and gaps are allowed'
        raise CoflashError(msg) from None
    gaps = np.isnan(numbers)
    hints = np.where(gaps, _NO_HINT, numbers)
    if (wrong := numbers[~gaps & ~np.isin(numbers, np.arange(_NO_HINT))]).size:
        msg = f'trace: column "{_HINTS}" has {wrong[0]:g}; a whole number from 0 to {_NO_HINT - 1} is allowed'
        raise CoflashError(msg)
    return np.ma.masked_array(hints.astype(np.uint8), gaps, fill_value=_NO_HINT)
