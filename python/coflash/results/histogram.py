"""Distributions of response times, and the table in which they are stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from coflash.table import Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Kind = Literal["all", "read", "write"]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Histogram(NamedTuple):
    """A distribution of response times; empty buckets are left out.

    Attributes:
        values_ns: The highest time of each bucket, ascending, in ns; shape (buckets,).
        counts: The number of requests in each bucket; shape (buckets,).
    """

    values_ns: NDArray[np.uint64]
    counts: NDArray[np.uint64]

    def exceeded_by(self) -> NDArray[np.float64]:
        """Return the share of requests slower than each of `values_ns`; shape (buckets,), descending to 0."""
        import numpy as np

        through = np.cumsum(self.counts, dtype=np.float64)
        return (through[-1:] - through) / through[-1:]


def stacked(histograms: Mapping[Kind, Histogram]) -> Table:
    """Stack the histograms in one table."""
    import numpy as np

    kinds = [np.full(len(histogram.counts), kind) for kind, histogram in histograms.items()]
    return Table(
        {
            "kind": np.concatenate(kinds),
            "value_ns": np.concatenate([histogram.values_ns for histogram in histograms.values()]),
            "requests": np.concatenate([histogram.counts for histogram in histograms.values()]),
        }
    )


def unstacked(table: Table) -> dict[Kind, Histogram]:
    """Split such a table into its histograms."""
    of = {kind: table["kind"] == kind for kind in KINDS}
    return {kind: Histogram(table["value_ns"][rows], table["requests"][rows]) for kind, rows in of.items()}
