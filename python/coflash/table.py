"""Tables of numbers, and their conversion for table libraries."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, final

from coflash.html_table import ROWS_SHOWN, html_table
from coflash.lookup import no_such

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from numpy.typing import NDArray


@final
class Table:
    """Named columns of equal length, each a one-dimensional NumPy array.

    Libraries with the Arrow C stream interface (DuckDB, polars, pyarrow, pandas) accept a table as it is. A column's
    name ends in its unit: `_ns`, `_pages`, `_bytes`.
    """

    __slots__ = ("_columns",)

    def __init__(self, columns: Mapping[str, NDArray[Any]]) -> None:
        lengths = {len(column) for column in columns.values()}
        if len(lengths) > 1:
            msg = f"the columns of a table are equally long, not {sorted(lengths)}"
            raise ValueError(msg)
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
        """Convert to a `pyarrow.Table`; numbers are not copied."""
        import pyarrow as pa  # slow to import, and most uses need no table library

        return pa.table({name: pa.array(column) for name, column in self._columns.items()})

    def to_polars(self) -> pl.DataFrame:
        """Convert to a `polars.DataFrame`; numbers are not copied. Needs `pip install 'coflash[polars]'`."""
        import polars as pl

        frame = pl.from_arrow(self.to_arrow())
        assert isinstance(frame, pl.DataFrame)  # not a Series
        return frame

    def to_pandas(self) -> pd.DataFrame:
        """Convert to a `pandas.DataFrame`; numbers are not copied. Needs `pip install 'coflash[pandas]'`."""
        import pandas as pd

        return pd.DataFrame(self._columns, copy=False)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def write_parquet(self, path: Path | IO[bytes]) -> None:
        """Write a Parquet file."""
        import pyarrow.parquet as pq

        pq.write_table(self.to_arrow(), path, compression="zstd")

    @classmethod
    def read_parquet(cls, path: Path) -> Table:
        """Read a Parquet file."""
        import pyarrow.parquet as pq

        # Not `read_table`: that treats the folder names above the file as columns.
        return cls.from_arrow(pq.ParquetFile(path).read())

    @classmethod
    def from_arrow(cls, table: pa.Table) -> Table:
        """Convert from a `pyarrow.Table`; integers with gaps become floating-point numbers."""
        return cls({name: table[name].to_numpy() for name in table.column_names})

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
        rows = list(islice(zip(*self._columns.values(), strict=True), ROWS_SHOWN))
        return html_table(self.columns, rows, of=len(self))


def _equal(ours: NDArray[Any], theirs: NDArray[Any]) -> bool:
    """Whether two columns are equal; a gap equals a gap."""
    import numpy as np  # inside functions throughout the package: `coflash --help` does not need it

    return np.array_equal(ours, theirs, equal_nan=ours.dtype.kind == theirs.dtype.kind == "f")
