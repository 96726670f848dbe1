"""Tables of numbers, and their conversion for table libraries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, final

from coflash import table_files
from coflash._core import CoflashError
from coflash.lookup import no_such
from coflash.text_table import ROWS_SHOWN, TextTable

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from arro3 import core
    from numpy.typing import NDArray


@final
class Table:
    """Named columns of equal length, each a one-dimensional NumPy array.

    Libraries with the Arrow C stream interface (DuckDB, polars, pyarrow, pandas) accept a table as it is. A missing
    number is NaN here, and null there; whole numbers with gaps and texts are objects, with None for a gap. A
    column's name ends in its unit: `_ns`, `_pages`, `_bytes`.
    """

    __slots__ = ("_columns",)

    def __init__(self, columns: Mapping[str, NDArray[Any]]) -> None:
        lengths = {len(column) for column in columns.values()}
        if len(lengths) > 1:
            raise ValueError(f"the columns of a table are equally long, not {sorted(lengths)}")
        self._columns = dict(columns)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._columns)

    def __getitem__(self, column: str) -> NDArray[Any]:
        """Return a column.

        Raises:
            CoflashError: There is no such column; it is a `KeyError`, too.
        """
        try:
            return self._columns[column]
        except (KeyError, TypeError):
            raise no_such("table: no column", column, self._columns) from None

    def __contains__(self, column: object) -> bool:
        return column in self._columns

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def to_dict(self) -> dict[str, NDArray[Any]]:
        """Return the columns by name, without a copy."""
        return dict(self._columns)

    def to_arrow(self) -> pa.Table:
        """Convert to a `pyarrow.Table`; numbers are not copied. Needs `pip install 'coflash[arrow]'`."""
        return library("pyarrow", "arrow").table(self)

    def to_polars(self) -> pl.DataFrame:
        """Convert to a `polars.DataFrame`; numbers are not copied. Needs `pip install 'coflash[polars]'`."""
        return cast("pl.DataFrame", library("polars").DataFrame(self))

    def to_pandas(self) -> pd.DataFrame:
        """Convert to a `pandas.DataFrame`; numbers are not copied. Needs `pip install 'coflash[pandas]'`."""
        pd = library("pandas")

        def column(values: NDArray[Any]) -> Any:
            is_whole = values.dtype.kind == "O" and any(isinstance(value, int) for value in values)
            return pd.array(values, "Int64") if is_whole else values

        return pd.DataFrame({name: column(values) for name, values in self._columns.items()}, copy=False)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        import numpy as np
        from arro3 import core  # slow to import, and most uses need no table library

        def array(column: NDArray[Any]) -> core.Array:
            if column.dtype.kind == "O":  # texts or whole numbers with gaps
                return column_of(column.tolist())
            if column.dtype.kind == "f" and np.isnan(column).any():  # numbers with gaps
                numbers = [None if np.isnan(number) else number for number in column.tolist()]
                return core.Array(numbers, core.DataType.float64())
            return core.Array.from_numpy(np.ascontiguousarray(column))

        arrays = [array(column) for column in self._columns.values()]
        return core.Table.from_arrays(arrays, names=self.columns).__arrow_c_stream__(requested_schema)

    def write_parquet(self, path: Path) -> None:
        """Write a Parquet file of numbers and texts.

        Raises:
            OSError: The file cannot be written.
        """
        table_files.write_parquet(self, path)

    @classmethod
    def read_parquet(cls, path: Path) -> Table:
        """Read a Parquet file of numbers and texts, a small one in a tenth of the time in which the database opens one.

        Raises:
            OSError: There is no such file, or it is no Parquet file.
        """
        return cls(table_files.columns(path))

    @classmethod
    def from_masked(cls, columns: Mapping[str, NDArray[Any]]) -> Table:
        """Make a table of columns with gaps: a missing number is NaN, any other missing value None."""
        import numpy as np

        def whole(column: NDArray[Any]) -> NDArray[Any]:
            if not np.ma.is_masked(column):
                return np.asarray(column)
            return np.array(column.tolist(), np.float64 if column.dtype.kind in "biuf" else object)

        return cls({name: whole(column) for name, column in columns.items()})

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Table)
            and self.columns == other.columns
            and all(_equal(self[name], other[name]) for name in self.columns)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Table of {len(self)} rows: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        rows = islice(zip(*self._columns.values(), strict=True), ROWS_SHOWN)
        return TextTable.of(self.columns, (map(str, row) for row in rows), "l").html(len(self))


def library(name: str, extra: str = "") -> Any:
    """Import a table library.

    Raises:
        CoflashError: It is not installed.
    """
    try:
        return import_module(name)
    except ImportError:
        msg = f"{name} is not installed: pip install 'coflash[{extra or name}]'; without it take .table() or .sql()"
        raise CoflashError(msg) from None


class Tabular(ABC):
    """What has a table, and so the forms of one."""

    @abstractmethod
    def table(self) -> Table:
        """Return it as a table."""

    def to_pandas(self) -> pd.DataFrame:
        """Convert the table to a `pandas.DataFrame`. Needs `pip install 'coflash[pandas]'`."""
        return self.table().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Convert the table to a `polars.DataFrame`. Needs `pip install 'coflash[polars]'`."""
        return self.table().to_polars()

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def table_of(rows: Sequence[Mapping[str, Any]], numbers: Collection[str] = ()) -> Table:
    """Make a table of rows, whose columns are all that any has.

    A missing value is NaN among fractions and in `numbers` that no row has, else None.
    """
    import numpy as np

    def column(name: str) -> NDArray[Any]:
        values = [row.get(name) for row in rows]
        if None not in values:
            return np.array(values)
        kinds = {type(value) for value in values}
        return np.array(values, np.float64 if float in kinds or (len(kinds) == 1 and name in numbers) else object)

    return Table({name: column(name) for name in dict.fromkeys(name for row in rows for name in row)})


def column_of(values: Sequence[Any], of_none: type = str) -> core.Array:
    """Make a column of numbers or of texts. Any value may be None; of None alone it is of type `of_none`."""
    from arro3.core import Array, DataType  # slow to import, and most uses need no table library

    kinds = {type(value) for value in values} - {type(None)} or {of_none}
    if kinds == {bool}:
        return Array(values, DataType.bool())
    if kinds == {int}:
        is_wide = max((value for value in values if value is not None), default=0) >= 2**63  # a seed
        return Array(values, DataType.uint64() if is_wide else DataType.int64())
    if kinds <= {int, float}:
        return Array([None if value is None else float(value) for value in values], DataType.float64())
    return Array([None if value is None else str(value) for value in values], DataType.string())


def _equal(ours: NDArray[Any], theirs: NDArray[Any]) -> bool:
    """Whether two columns are equal; a gap equals a gap."""
    import numpy as np  # inside functions throughout the package: `coflash --help` does not need it

    return np.array_equal(ours, theirs, equal_nan=ours.dtype.kind == theirs.dtype.kind == "f")
