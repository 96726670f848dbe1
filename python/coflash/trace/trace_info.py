"""The description of a trace, typed: attributes and a mapping, with the names of the JSON."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from coflash.measures.record import Record, paths_of_numbers
from coflash.table import Table, Tabular, table_of


class Bins(Record):
    """A histogram: the number of values in each bin; empty bins are left out.

    Numbers up to 32 have a bin each, every octave beyond has sixteen. Both lists are of shape (bins,).
    """

    through: list[int]
    """The largest number of each bin, ascending; cumulative counts up to it are exact."""
    counts: list[int]


class Distribution(Record):
    """A distribution: mean, smallest, largest and histogram are exact, quantiles up to 0.1 % below the exact ones."""

    mean: float
    min: int
    p50: int
    p90: int
    p99: int
    max: int
    histogram: Bins


class Operation(Record):
    """The requests of one kind. A flush has neither size nor place."""

    requests: int
    bytes: int
    size_bytes: Distribution | None
    sequential_share: float | None
    """Requests that begin where the previous one of the same kind ended."""


class WorkingSet(Record):
    """Distinct pages that are read, written, and both; a trim touches none."""

    read_pages: int
    written_pages: int
    both_pages: int


class Sampling(Record):
    """The tracking of pages for popularity and reuse: all of them, or a sample."""

    method: Literal["exact", "sampled"]
    share: float
    """The share of all pages that was tracked; 1 is exact."""
    pages: int
    """The number of pages that were tracked to the end."""


class Hottest(Record):
    """The share of accesses to the hottest pages, given their percentage of all pages; at least one page."""

    of_1_percent: float
    of_5_percent: float
    of_10_percent: float
    of_20_percent: float


class PopularityCurve(Record):
    """The hottest pages and their accesses, as shares; both lists are of shape (points,), ascending to 1."""

    pages_share: list[float]
    accesses_share: list[float]


class Spread(Record):
    """The distribution of accesses of one kind over the accessed pages."""

    hottest_share: Hottest
    hottest_share_error: Hottest | None
    """The standard errors of these estimates; None if they are exact."""
    curve: PopularityCurve


class Popularity(Record):
    """The distribution of reads over read pages, of writes over written ones, of both over all; None without any."""

    read: Spread | None
    write: Spread | None
    all: Spread | None


class MissRatioCurve(Record):
    """Reuses by depth in the LRU stack, and the miss ratios of LRU caches; all lists are of shape (sizes,).

    A ratio holds for its cache size and those up to the next, exactly (or as exactly as the sample) at the end of a bin
    of [`Bins`][coflash.trace.trace_info.Bins]; a cache of size 0 misses all. Reads and writes share the cache, and a
    miss of either inserts the page.
    """

    cache_pages: list[int]
    reuses: list[int]
    """The number of accesses with a depth above the previous size and up to this one."""
    miss_ratio: list[float]
    read_miss_ratio: list[float] | None
    write_miss_ratio: list[float] | None
    miss_ratio_error: list[float] | None
    """The standard error of `miss_ratio`; None if it is exact."""


class MissRatioCurves(Record, Tabular):
    """The miss ratios of plain caches under several eviction policies; lists are of shape (sizes,)."""

    def table(self) -> Table:
        """Return a row for each size: `cache_bytes`, and the miss ratio of each policy by its name."""
        sizes = [pages * self.page_bytes for pages in self.cache_pages]
        names, columns = ["cache_bytes", *self.miss_ratio], [sizes, *self.miss_ratio.values()]
        return table_of([dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)])

    def plot(self, file: str | os.PathLike[str]) -> None:
        """Draw the miss ratios over the size of the cache into a file that ends in .svg, .png or .pdf.

        Raises:
            CoflashError: It cannot be written.
        """
        from coflash.trace.figure import draw  # slow to import

        draw(None, Path(file), self)

    def __repr__(self) -> str:
        return f"<MissRatioCurves of {', '.join(self.miss_ratio)} at {len(self.cache_pages)} sizes>"

    page_bytes: int
    accesses_pages: int
    sampling: Sampling
    """The pages that were simulated: all, or a sample."""
    cache_pages: list[int]
    miss_ratio: Mapping[str, list[float]]
    """The share of accesses that miss, for each policy by its name."""


class Reuse(Record):
    """Reuse of pages; a request to three pages is three accesses, a trim is none."""

    accesses_pages: int
    first_share: float
    """The share of accesses that are the first to their page; these miss in any cache."""
    curve: MissRatioCurve


class WriteGrowth(Record):
    """The growth of the written volume and of its distinct pages; all lists are of shape (points,).

    As in the first figure of the ShadowGC paper (DATE 2018). The first point is zero, the last the whole trace; points
    are an equal number of writes apart.
    """

    requests: list[int]
    time_ns: list[int]
    written_bytes: list[int]
    written_pages: list[int]
    """Written pages, each counted as often as it was written, in whole or in part."""
    distinct_pages: list[int]


class Course(Record):
    """Reads and writes in each window of time from the first arrival on; all lists are of shape (windows,)."""

    window_ns: int
    read_requests: list[int]
    write_requests: list[int]
    read_bytes: list[int]
    written_bytes: list[int]


class TraceInfo(Record, Tabular):
    """A description of a trace. Names end in their unit; shares are from 0 to 1; None without data."""

    def table(self) -> Table:
        """Return one row: all numbers by their paths, such as `write.size_bytes.mean`."""
        return table_of([self.numbers()], NUMBERS)

    def numbers(self) -> dict[str, int | float | None]:
        """Return all numbers by their paths, without lists; those that this trace does not have are None."""
        return {path: self.at(path.split(".")) for path in NUMBERS}

    def plot(self, file: str | os.PathLike[str]) -> None:
        """Draw its six panels into a file that ends in .svg, .png or .pdf, or each into a PDF in a folder.

        Raises:
            CoflashError: It cannot be written.
        """
        from coflash.trace.figure import draw  # slow to import

        draw(self, Path(file))

    def __repr__(self) -> str:
        return f"<TraceInfo of {self.requests:,} requests, {', '.join(self.formats)}>"

    formats: list[str]
    requests: int
    read: Operation
    write: Operation
    trim: Operation
    flush: Operation
    span_ns: int
    interarrival_ns: Distribution | None
    address_min: int | None
    address_end: int | None
    aligned_share: float | None
    """Reads, writes and trims that begin and end at the boundary of a page."""
    page_bytes: int
    footprint_pages: int | None
    """Distinct pages read or written; None if they are scattered over more than 8 TiB (at 4 KiB)."""
    working_set: WorkingSet | None
    sampling: Sampling
    popularity: Popularity
    reuse: Reuse | None
    write_growth: WriteGrowth | None
    course: Course
    remarks: list[str]
    """Assumptions and omissions."""


NUMBERS = paths_of_numbers(TraceInfo)
"""The paths of all numbers that the description of a trace may have."""
