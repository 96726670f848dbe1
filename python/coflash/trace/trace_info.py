"""What a trace is like, typed: attributes and a mapping, with the names of the JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from coflash.measures.record import Record


class Bins(Record):
    """How many numbers fell into each bin; empty bins are left out.

    Numbers up to 32 have a bin each, every octave beyond has sixteen. Both lists are of shape (bins,).
    """

    through: list[int]
    """The largest number of each bin, ascending; how many are no larger is exact."""
    counts: list[int]


class Distribution(Record):
    """A distribution: mean, smallest, largest and histogram are exact, the quantiles to three digits."""

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
    """Those that begin where the one before of the same kind ended."""


class WorkingSet(Record):
    """Distinct pages that are read, written, and both; a trim touches none."""

    read_pages: int
    written_pages: int
    both_pages: int


class Sampling(Record):
    """How pages were followed for popularity and reuse: all of them, or a sample."""

    method: Literal["exact", "sampled"]
    share: float
    """The share of all pages that was followed; 1 where it is exact."""
    pages: int
    """How many pages were, to the end."""


class Hottest(Record):
    """The share of accesses to the hottest pages, given their percentage of all pages; at least one page."""

    of_1_percent: float
    of_5_percent: float
    of_10_percent: float
    of_20_percent: float


class PopularityCurve(Record):
    """The hottest pages and what they get, as shares; both lists are of shape (points,), ascending to 1."""

    pages_share: list[float]
    accesses_share: list[float]


class Spread(Record):
    """How accesses of one kind are spread over the pages that have any of them."""

    hottest_share: Hottest
    hottest_share_error: Hottest | None
    """The standard errors of these estimates; None where they are exact."""
    curve: PopularityCurve


class Popularity(Record):
    """How reads are spread over the pages read, writes over those written, and both over all; None without any."""

    read: Spread | None
    write: Spread | None
    all: Spread | None


class MissRatioCurve(Record):
    """Reuses by depth in the LRU stack, and the miss ratios of LRU caches; all lists are of shape (sizes,).

    A ratio holds for its cache size and those up to the next, exactly (or as exactly as the sample) at the end of a bin
    of [`Bins`][coflash.trace.trace_info.Bins]; a cache of size 0 misses all. Reads and writes share the cache, and a
    miss of either takes the page in.
    """

    cache_pages: list[int]
    reuses: list[int]
    """Accesses whose depth is above that of the size before, at most this one."""
    miss_ratio: list[float]
    read_miss_ratio: list[float] | None
    write_miss_ratio: list[float] | None
    miss_ratio_error: list[float] | None
    """The standard error of `miss_ratio`; None where it is exact."""


class MissRatioCurves(Record):
    """The miss ratios of plain caches under several eviction policies; lists are of shape (sizes,)."""

    page_bytes: int
    accesses_pages: int
    sampling: Sampling
    """The pages that were simulated: all, or a sample."""
    cache_pages: list[int]
    miss_ratio: Mapping[str, list[float]]
    """The share of accesses that miss, for each policy by its name."""


class Reuse(Record):
    """How soon pages are accessed again; a request to three pages is three accesses, a trim is none."""

    accesses_pages: int
    first_share: float
    """The share of accesses that is the first to its page, which miss in any cache."""
    curve: MissRatioCurve


class WriteGrowth(Record):
    """What had been written by then, and how much of it to distinct places; all lists are of shape (points,).

    As in the first figure of the ShadowGC paper (DATE 2018). Begins with nothing and ends with all; points lie equally
    many writes apart.
    """

    requests: list[int]
    time_ns: list[int]
    written_bytes: list[int]
    written_pages: list[int]
    """Each page as often as it was written, in whole or in part."""
    distinct_pages: list[int]


class Course(Record):
    """Reads and writes in each window of time from the first arrival on; all lists are of shape (windows,)."""

    window_ns: int
    read_requests: list[int]
    write_requests: list[int]
    read_bytes: list[int]
    written_bytes: list[int]


class TraceInfo(Record):
    """What a trace is like. Names end in their unit; shares are from 0 to 1; None where there is nothing to count."""

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
    """Of reads, writes and trims, those that begin and end at the boundary of a page."""
    page_bytes: int
    footprint_pages: int | None
    """Distinct pages read or written; None where they are scattered over more than 8 TiB (at 4 KiB)."""
    working_set: WorkingSet | None
    sampling: Sampling
    popularity: Popularity
    reuse: Reuse | None
    write_growth: WriteGrowth | None
    course: Course
    remarks: list[str]
    """What had to be assumed or left out."""
