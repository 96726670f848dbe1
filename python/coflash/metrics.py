"""What a run counted, typed.

A metric is declared here once, by its name in the result's JSON; one that the core adds can be read by its name too.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from coflash._core import CoflashError

_UNIT = re.compile("_(ns|pages|blocks|bytes)$")


class Record(Mapping[str, Any]):
    """A JSON object whose keys are attributes as well."""

    __slots__ = ("_fields",)

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = fields

    def __getitem__(self, key: str) -> Any:
        value = self._fields[key]
        return _kinds(type(self)).get(key, Record)(value) if isinstance(value, dict) else value

    # Hidden from the type checker, so that it knows the declared attributes and no others.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):  # copying and unpickling ask for such before `_fields` is there
                raise AttributeError(name)
            if name not in self._fields:
                msg = f"{type(self).__name__} has no {name!r}; it has: {', '.join(self)}"
                raise AttributeError(msg)
            return self[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self._fields)})"

    def to_dict(self) -> dict[str, Any]:
        """The plain JSON object."""
        return dict(self._fields)

    def flat(self, prefix: str = "") -> dict[str, Any]:
        """The leaves alone, by their dotted path: `response_ns.read.p99`."""
        leaves: dict[str, Any] = {}
        for key, value in self.items():
            leaves |= value.flat(f"{prefix}{key}.") if isinstance(value, Record) else {prefix + key: value}
        return leaves


class Programs(Record):
    """Flash programs in pages, each under the one cause it has."""

    host: int
    evict: int
    gc: int
    refresh: int
    wear_levelling: int
    destage: int
    metadata: int


class CacheCounts(Record):
    """What the device cache did, in pages; NVM reads and writes count because NVM wears, too."""

    read_hits: int
    read_misses: int
    write_hits: int
    write_misses: int
    hit_ratio: float | None
    capacity_pages: int
    nvm_reads_pages: int
    nvm_writes_pages: int
    clean_evictions_pages: int
    dirty_evictions_pages: int


class Notices(Record):
    """Notices that crossed the link in one direction: bytes that nobody waits for, unless each is a message of its own.

    The delay is from handing over to arrival, and None where there was no notice.
    """

    posted: int
    withdrawn: int
    sent: int
    messages: int
    rides: int
    bytes: int
    time_ns: int
    delay_mean_ns: float | None
    delay_max_ns: int


class NoticeKinds(Record):
    """Notices by kind, as they arrived: all but the last go to the device."""

    cached: int
    dirtied: int
    evicted: int
    weights: int
    used: int


class Exchanges(Record):
    """Questions across the link that were waited for, and their answers."""

    pages: int
    refused_pages: int
    messages: int
    bytes: int
    time_ns: int


class HostSide(Record):
    """What it took to keep cache and flash in step across the link."""

    commands: int
    messages: int
    bytes: int
    time_ns: int
    waited_ns: int
    notices: NoticeKinds
    to_device: Notices
    to_host: Notices
    protect: Exchanges
    protect_obsolete_pages: int
    grants_pages: int
    grants_used_pages: int
    revoke: Exchanges


class Hybrid(Record):
    """What a flash cache in front of disks did; only where the scenario has `hybrid`.

    `sizes`, a list, tells how large the caches were over time, and how large they might be: `at_ns`, `clean_pages`,
    `dirty_pages`, `read_limit_pages`, `write_limit_pages`.
    """

    read_hit_ratio: float | None
    write_hit_ratio: float | None
    read_hits_clean_pages: int
    read_hits_dirty_pages: int
    joined_reads_pages: int
    bypassed_reads_pages: int
    bypassed_writes_pages: int
    overflowed_writes_pages: int
    fills_pages: int
    destages_pages: int
    destage_groups: int
    given_up_pages: int
    disk_read_transfers: int
    disk_write_transfers: int
    disk_reads_pages: int
    disk_writes_pages: int
    disk_time_ns: int
    disk_utilisation: float | None
    disk_service_mean_ns: float | None
    journal_pages: int
    checkpoints: int
    divisions: int
    flash_pages: int
    tracker_bytes: int


class Consistency(Record):
    """What crash consistency took; only under `cdm-consistent`."""

    commits: int
    early_commits: int
    checkpoints_pages: int
    copies_on_write_pages: int


class SoleCopies(Record):
    """Cached pages of which flash has no valid copy; only where `cdm` bounds them or learns from them."""

    peak_pages: int
    cleaned_pages: int


class Shadows(Record):
    """What GC and refresh made of pages that are dirty in a write buffer too; only under ShadowGC's schemes."""

    moved_valid_pages: int
    moved_host_pages: int
    moved_device_pages: int
    moved_twin_pages: int
    from_buffer_pages: int
    fast_pages: int
    discarded_twins_pages: int


class DeviceBuffer(Record):
    """A volatile write buffer in the device.

    Pages written because of a flush, read because a part was written, written over a dirty copy, trimmed while dirty,
    and still dirty when the run ended.
    """

    flushed_pages: int
    merged_pages: int
    absorbed_pages: int
    dropped_pages: int
    dirty_pages: int


class HostBuffer(Record):
    """The host's write buffer. `waf_device` is all programs for each page written to the device.

    What the host wrote adds up: `host_writes_pages` = absorbed + written to the device + dropped + still dirty.
    """

    read_hits: int
    read_misses: int
    write_hits: int
    write_misses: int
    capacity_pages: int
    merged_pages: int
    device_writes_pages: int
    evicted_pages: int
    aged_pages: int
    crowded_pages: int
    flushed_pages: int
    dropped_pages: int
    absorbed_pages: int
    dirty_pages: int
    waf_device: float | None
    notices_posted: int
    notices_withdrawn: int
    notice_messages: int
    notice_bytes: int
    notice_delay_mean_ns: float
    notice_delay_max_ns: int


class Response(Record):
    """Response times in ns, from arrival to completion; a quantile is exact to the width of its histogram bucket.

    All but the count are None where there was no request.
    """

    count: int
    mean: float | None
    stddev: float | None
    p50: int | None
    p90: int | None
    p99: int | None
    p99_9: int | None
    p99_99: int | None
    max: int | None


class Responses(Record):
    """Response times of all requests (trims and flushes too), of the reads, and of the writes."""

    all: Response
    read: Response
    write: Response


class EraseCount(Record):
    """Erases of a block, over the blocks."""

    mean: float
    max: int
    stddev: float


class SoFar(Record):
    """What a run under way has measured until now, in the replay alone."""

    simulated_ns: int
    host_writes_pages: int
    programs_pages: int
    waf_host: float | None
    response_mean_ns: float | None
    response_p99_ns: int | None


class Metrics(Record):
    """What a run counted. Names end in their unit.

    The two write amplifications divide all flash programs by the pages that the host wrote (`waf_host`) and by the
    pages that arrived at the FTL (`waf_ftl`); a cache that absorbs writes lowers the first and not the second.
    They are None where nothing was written. What only some devices measure is there only where they do: a name in
    `metrics` tells, as in `"host" in metrics`.
    """

    requests: int
    host_reads_pages: int
    host_writes_pages: int
    host_trims_pages: int
    flushes: int
    ftl_writes_pages: int
    flash_reads_pages: int
    programs_pages: Programs
    gc_copies_pages: int
    gc_drops_pages: int
    drop_rewrites_pages: int
    erases_blocks: int
    gc_time_ns: int
    service_time_ns: int
    waf_host: float | None
    waf_ftl: float | None
    cache: CacheCounts
    consistency: Consistency
    sole_copies: SoleCopies
    host: HostSide
    hybrid: Hybrid
    shadows: Shadows
    device_buffer: DeviceBuffer
    host_buffer: HostBuffer
    response_ns: Responses
    erase_count: EraseCount
    simulated_ns: int


def metric_names() -> tuple[str, ...]:
    """Every declared metric by its dotted path."""
    return tuple(_names(Metrics))


def metric(name: str) -> str:
    """The dotted path of a metric that is called by its path or by less: units and `all` may be left out.

    `response.p99` is `response_ns.all.p99`, `programs.gc` is `programs_pages.gc`.

    Raises:
        CoflashError: There is no such metric.
    """
    by_short = {_short(path): path for path in metric_names()}
    given = _short(name)
    if given in by_short:
        return by_short[given]
    ends = [short for short in by_short if short.split(".")[-1] == given.split(".")[-1]]
    begins = [short for short in by_short if short.startswith(given)]
    near = difflib.get_close_matches(given, by_short, 1) or begins or ends
    meant = f"; did you mean {near[0]!r}?" if near else ""
    msg = f"no metric {name!r}{meant} (allowed: {', '.join(_nearby(given, by_short))})"
    raise CoflashError(msg)


def _nearby(given: str, names: Iterable[str]) -> list[str]:
    """The metrics of the group that was meant; the single ones and the groups where none was."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(name.partition(".")[0], []).append(name)
    if len(meant := groups.get(given.partition(".")[0], [])) > 1:
        return meant
    return [name if [name] == members else f"{name}.…" for name, members in groups.items()]


def _names(record: type[Record], prefix: str = "") -> Iterator[str]:
    for name in get_type_hints(record):
        if name in _kinds(record):
            yield from _names(_kinds(record)[name], f"{prefix}{name}.")
        elif not name.startswith("_"):
            yield prefix + name


def _short(name: str) -> str:
    steps = [step for step in name.split(".") if step != "all"]
    return ".".join(_UNIT.sub("", step) for step in steps)


@cache
def _kinds(record: type[Record]) -> dict[str, type[Record]]:
    """The fields that are records, where they are not None."""
    kinds = [(name, kind) for name, hint in get_type_hints(record).items() for kind in get_args(hint) or (hint,)]
    return {name: kind for name, kind in kinds if isinstance(kind, type) and issubclass(kind, Record)}
