"""Frames as traces: tables of polars, pandas, Arrow or coflash itself, lazy ones too.

A frame is written to a Parquet file named by the digest of its content, so that it has a path like any other trace, for
sweeps and repeated runs. The core reads that file: it knows columns by their names, numbers, words and times in one
way, whether they come from a text, a Parquet file or a frame.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol

from coflash._core import CoflashError
from coflash.files.digest import digest_of
from coflash.files.kept import kept_file, kept_folder
from coflash.table import Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

_GAPS = frozenset({"None", "nan", "NaN", "<NA>", "NaT"})
"""The texts of a value that is not there."""


class Frame(Protocol):
    """A table of any library that exports Arrow data: a polars or pandas frame, an Arrow table, a `coflash.Table`."""

    def __arrow_c_stream__(self, requested_schema: object | None = None, /) -> object:
        """Export the table as an Arrow stream."""


class LazyFrame(Protocol):
    """A table of polars that is computed when it is read."""

    def collect_schema(self) -> Any:
        """Return the names and types of the columns."""


def is_frame(given: object) -> bool:
    """Whether a trace is given as a frame: a table, and not one column of it."""
    if hasattr(given, "__arrow_c_stream__"):
        return hasattr(given, "columns") or hasattr(given, "column_names")
    return _computes(given) is not None


def _computes(given: Any) -> Any:
    """Return the method that computes a lazy frame of polars or Dask; None for another object."""
    lazy = (("collect", "collect_schema"), ("compute", "dask"))
    return next((getattr(given, name) for name, mark in lazy if hasattr(given, name) and hasattr(given, mark)), None)


def columns_of(frame: Any) -> list[str]:
    """Return the names of the columns of a frame."""
    return list(map(str, frame.collect_schema().names() if hasattr(frame, "collect_schema") else _names(_whole(frame))))


def _names(frame: Any) -> list[Any]:
    return list(getattr(frame, "column_names", None) or frame.columns)


def _whole(frame: Any) -> Any:
    """Make a relation of DuckDB a table, and the named index of a frame of pandas a column, as its files have it."""
    if hasattr(frame, "fetchnumpy"):
        return Table.from_masked(frame.fetchnumpy())
    is_named = any(name is not None for name in getattr(getattr(frame, "index", None), "names", ()))
    return frame.reset_index() if is_named else frame


def kept(frame: Any) -> str:
    """Write a frame to its file, if it is not there, and return the path.

    Raises:
        CoflashError: Columns have the same name.
    """
    if (compute := _computes(frame)) is not None:
        frame = compute()
    frame = _whole(frame)
    if twice := [name for name, count in Counter(columns_of(frame)).items() if count > 1]:
        raise CoflashError(f"trace: several columns of the frame are named {twice[0]!r}; one of each name is allowed")
    columns = dict(_column(str(name), frame[name]) for name in _names(frame))
    with TemporaryDirectory(prefix=".", dir=kept_folder()) as folder:
        new = Path(folder, "new")
        Table(columns).write_parquet(new)
        file = kept_file("frame.parquet", digest_of(str(new)))
        new.replace(file)
    return str(file)


def _column(name: str, column: Any) -> tuple[str, NDArray[Any]]:
    """Return a column as numbers, or as texts of which gaps are empty."""
    import numpy as np

    values = np.asarray(column)
    if values.dtype.kind == "m":
        return f"{name}_ns", values.astype("timedelta64[ns]").astype(np.int64)
    if values.dtype.kind == "M":
        values = np.datetime_as_string(values, unit="ns")
    if values.dtype.kind in "iu":
        return name, values.astype(np.uint64 if values.min(initial=0) >= 0 else np.int64)
    if values.dtype.kind == "f":
        return name, values.astype(np.float64)
    texts = ("" if (text := str(value)) in _GAPS else text for value in values.tolist())
    return name, np.array(list(texts), dtype=object)
