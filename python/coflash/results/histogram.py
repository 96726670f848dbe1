"""Distributions of response times, and the table in which they are stored."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate, pairwise
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
    """Stack the histograms in one table, in the order of `KINDS`."""
    import numpy as np

    in_order = [histograms[kind] for kind in KINDS]
    return Table(
        {
            "kind": np.repeat(KINDS, [len(histogram.counts) for histogram in in_order]),
            "value_ns": np.concatenate([histogram.values_ns for histogram in in_order]),
            "requests": np.concatenate([histogram.counts for histogram in in_order]),
        }
    )


def unstacked(table: Table) -> dict[Kind, Histogram]:
    """Split a table made by `stacked` into its histograms."""
    ends = accumulate((int((table["kind"] == kind).sum()) for kind in KINDS), initial=0)
    rows = [slice(*ends) for ends in pairwise(ends)]
    return {kind: Histogram(table["value_ns"][of], table["requests"][of]) for kind, of in zip(KINDS, rows, strict=True)}
