"""What only some systems measure, section by section: shown where a run has it, in terminal, notebook and report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from coflash.measures import Measure, Read, counted, value_at
from coflash.metrics import Metrics
from coflash.quantity import Unit


@dataclass(frozen=True)
class Course:
    """A share over time, from 0 to 1, at moments that need not be equally far apart."""

    label: str
    shares: Sequence[float]


@dataclass(frozen=True)
class Section:
    """Measures of one part of a system."""

    title: str
    about: str
    record: str
    """The part of the metrics that a run has where it has this part."""
    measures: tuple[Measure, ...]
    """They read None where a run has no such part."""
    courses: Callable[[Metrics], Sequence[Course]] = lambda _: ()
    """What changes while it runs, and where it ended."""

    def __post_init__(self) -> None:
        # What a part of a system reads may be there in others too, and mean another thing.
        object.__setattr__(self, "measures", tuple(self._own(measure) for measure in self.measures))

    def applies(self, metrics: Metrics) -> bool:
        """Whether the run has this part."""
        return self.record in metrics

    def _own(self, measure: Measure) -> Measure:
        return replace(measure, read=lambda metrics: measure.read(metrics) if self.applies(metrics) else None)


def _made(label: str, unit: Unit, part: Read, whole: Read, about: str = "") -> Measure:
    def read(metrics: Metrics) -> float | None:
        above, below = part(metrics), whole(metrics)
        return None if above is None or not below else above / below

    return Measure(label, unit, read, is_cost=False, about=about)


def _sum(*paths: str) -> Read:
    parts = [value_at(path) for path in paths]
    return lambda metrics: sum(part(metrics) or 0 for part in parts)


LINK = Section(
    "Between cache and flash",
    "The cache is in the host: what it and flash tell each other crosses the link.",
    "host",
    (
        counted("host.commands", "commands across the link", ""),
        counted("host.messages", "messages between cache and flash", "", is_cost=True),
        counted("host.bytes", "bytes between cache and flash", "bytes", is_cost=True),
        counted("host.to_device.delay_mean_ns", "delay of notices to the device, mean", "ns", is_cost=True),
        counted("host.to_device.delay_max_ns", "delay of notices to the device, longest", "ns", is_cost=True),
        counted("host.waited_ns", "answers waited for these", "ns", is_cost=True),
    ),
)

CONSISTENCY = Section(
    "Crash consistency",
    "After a power cut every page reads back as of the last commit.",
    "consistency",
    (
        counted("consistency.commits", "commits", ""),
        counted("consistency.early_commits", "early commits", "", "Nothing else could leave the cache."),
        counted("consistency.checkpoints_pages", "pages programmed so that slots become free", "pages"),
        counted("consistency.copies_on_write_pages", "pages copied on write within the cache", "pages"),
    ),
)

SOLE_COPIES = Section(
    "Sole copies",
    "Cached pages of which flash has no valid copy.",
    "sole_copies",
    (
        counted(
            "sole_copies.peak_pages",
            "sole copies, the most at any time",
            "pages",
            "What must be saved when power is lost.",
        ),
        counted("sole_copies.cleaned_pages", "sole copies written ahead", "pages"),
    ),
)


def _divided(metrics: Metrics) -> Sequence[Course]:
    """What flash holds, as shares of it."""
    flash_pages, sizes = metrics.hybrid.flash_pages, metrics.hybrid["sizes"]
    clean, dirty = ([size[f"{kind}_pages"] / flash_pages for size in sizes] for kind in ("clean", "dirty"))
    spare = [1 - read - write for read, write in zip(clean, dirty, strict=True)]
    return (Course("read cache", clean), Course("write cache", dirty), Course("over-provisioned", spare))


HYBRID = Section(
    "Flash cache before disks",
    "Flash holds a read cache of clean pages and a write cache of dirty ones; what holds neither is over-provisioned "
    "space, which makes garbage collection cheap.",
    "hybrid",
    (
        _made(
            "read hits",
            "share",
            value_at("cache.read_hits"),
            _sum("cache.read_hits", "cache.read_misses"),
            "Of the pages read through the cache, those found in flash, clean or dirty.",
        ),
        _made(
            "write hits",
            "share",
            value_at("cache.write_hits"),
            _sum("cache.write_hits", "cache.write_misses"),
            "Of the pages written through the cache, those whose page in flash was dirty already.",
        ),
        counted(
            "hybrid.read_hit_ratio",
            "hits of the read cache",
            "share",
            "Of the reads that the write cache does not answer: the cost model's H_R.",
        ),
        counted(
            "hybrid.write_hit_ratio",
            "hits of the write cache",
            "share",
            "Of the writes, and the reads that it answers: the cost model's H_W.",
        ),
        counted(
            "hybrid.joined_reads_pages",
            "pages read together",
            "pages",
            "Neither cache had them, but another request was fetching them from the disk already.",
            is_rare=True,
        ),
        counted("hybrid.bypassed_reads_pages", "pages read past the cache", "pages", "Of sequential runs."),
        counted(
            "hybrid.bypassed_writes_pages", "pages written past the cache", "pages", "Of sequential runs, as a rule."
        ),
        counted(
            "hybrid.overflowed_writes_pages",
            "pages written past a full cache",
            "pages",
            "They found no page that could leave at once.",
            is_rare=True,
        ),
        counted("hybrid.disk_reads_pages", "pages read from disks", "pages", is_cost=True),
        counted("hybrid.disk_read_transfers", "disk transfers, reads", "", is_cost=True),
        counted("hybrid.disk_writes_pages", "pages written to disks", "pages", is_cost=True),
        counted("hybrid.disk_write_transfers", "disk transfers, writes", "", is_cost=True),
        counted(
            "hybrid.destages_pages",
            "pages destaged",
            "pages",
            "Dirty pages that left the write cache for a disk, in groups, in the order of their addresses.",
            is_cost=True,
        ),
        counted("hybrid.destage_groups", "groups destaged", ""),
        counted(
            "hybrid.given_up_pages",
            "of those, given up by resizing",
            "pages",
            "Dirty pages that went only because the write cache was to be smaller; no write waited for them.",
            is_rare=True,
        ),
        counted(
            "hybrid.disk_utilisation",
            "disk utilisation",
            "share",
            "For how much of the time a disk is busy, on average over the disks.",
            is_cost=True,
        ),
        counted(
            "hybrid.disk_service_mean_ns",
            "disk service, mean",
            "ns",
            "For how long a transfer keeps its disk busy; waiting comes on top.",
            is_cost=True,
        ),
        counted("hybrid.divisions", "times flash was divided", "", "By the cost model."),
    ),
    _divided,
)

HOST_BUFFER = Section(
    "Write buffer in the host",
    "The file system's page cache: a page is dirty in it until it is written to the device.",
    "host_buffer",
    (
        counted(
            "host_buffer.waf_device",
            "WAF, by device writes",
            "ratio",
            "All flash programs for each page written to the device, as the ShadowGC paper counts.",
            is_cost=True,
        ),
        counted(
            "host_buffer.absorbed_pages",
            "writes absorbed",
            "pages",
            "Written over a page that was dirty in the buffer already.",
            whole=value_at("host_writes_pages"),
        ),
        counted("host_buffer.device_writes_pages", "pages written to the device", "pages", is_cost=True),
        *(
            counted(
                f"host_buffer.{name}_pages",
                label,
                "pages",
                is_rare=True,
                whole=value_at("host_buffer.device_writes_pages"),
            )
            for name, label in (
                ("evicted", "device writes, buffer full"),
                ("aged", "device writes, dirty for long"),
                ("crowded", "device writes, too much dirty"),
                ("flushed", "device writes, flushed"),
            )
        ),
        counted("host_buffer.dropped_pages", "dirty pages trimmed", "pages", is_rare=True),
        counted("host_buffer.dirty_pages", "still dirty at the end", "pages", "The device was not given these."),
        counted("host_buffer.merged_pages", "pages read to complete a write", "pages", is_cost=True, is_rare=True),
        counted(
            "host_buffer.notices_posted",
            "notices to the device",
            "",
            "That a page became dirty; a write says for itself that its page is dirty no more.",
        ),
        counted("host_buffer.notice_messages", "messages for notices alone", "", is_cost=True, is_rare=True),
        counted("host_buffer.notice_bytes", "bytes of notices", "bytes", is_cost=True),
        counted("host_buffer.notice_delay_mean_ns", "delay of notices, mean", "ns", is_cost=True),
        counted("host_buffer.notice_delay_max_ns", "delay of notices, longest", "ns", is_cost=True),
    ),
)

_BUFFERED = _sum("cache.write_hits", "cache.write_misses")

DEVICE_BUFFER = Section(
    "Write buffer in the device",
    "Volatile: a flush writes every dirty page of it to flash.",
    "device_buffer",
    (
        Measure("pages written to it", "pages", _BUFFERED, is_cost=False),
        counted(
            "device_buffer.absorbed_pages",
            "writes absorbed by the device",
            "pages",
            "Written over a page that was dirty in the buffer already.",
            whole=_BUFFERED,
        ),
        Measure("pages evicted to flash", "pages", value_at("cache.dirty_evictions_pages"), whole=_BUFFERED),
        Measure(
            "pages let go without a program",
            "pages",
            value_at("cache.clean_evictions_pages"),
            is_cost=False,
            about="Clean by then: garbage collection or a flush had written them.",
            whole=_BUFFERED,
        ),
        counted("device_buffer.dropped_pages", "dirty pages trimmed in the device", "pages", is_rare=True),
        counted(
            "device_buffer.dirty_pages",
            "still dirty in the device at the end",
            "pages",
            "Nothing was programmed for these.",
            whole=_BUFFERED,
        ),
        counted("device_buffer.flushed_pages", "pages flushed to flash", "pages", is_cost=True),
        counted("device_buffer.merged_pages", "pages read to complete a write", "pages", is_cost=True, is_rare=True),
    ),
)

_MOVED = _sum(*(f"shadows.moved_{kind}_pages" for kind in ("valid", "host", "device", "twin")))


def _moved(name: str, label: str, about: str = "") -> Measure:
    return counted(f"shadows.{name}_pages", label, "pages", about, whole=_MOVED)


SHADOWS = Section(
    "Shadows in garbage collection",
    "A shadow is a flash page whose data is dirty in a write buffer too, and so about to be replaced. A scheme counts "
    "those that it knows of.",
    "shadows",
    (
        Measure("pages moved", "pages", _MOVED, about="By garbage collection and refresh."),
        _moved("moved_valid", "pages moved, no shadows"),
        _moved("moved_host", "pages moved, host-shadows", "Dirty in the host's buffer."),
        _moved("moved_device", "pages moved, device-shadows", "Dirty in the device's buffer."),
        _moved("moved_twin", "pages moved, twin-shadows", "Dirty in both."),
        _moved(
            "from_buffer",
            "pages moved from the buffer",
            "Instead of being read from flash; the buffer's page is clean then, and need not be written.",
        ),
        _moved("fast", "pages moved by fast programs", "To blocks of their own: the data need not keep for long."),
        counted(
            "shadows.discarded_twins_pages",
            "twins let go without a program",
            "pages",
            "By the device's buffer, since the host holds newer data.",
        ),
        Measure(
            "refresh writes",
            "pages",
            value_at("programs_pages.refresh"),
            about="Data that was programmed fast is written anew before it fades.",
            whole=_sum(*(f"programs_pages.{cause}" for cause in ("host", "evict", "gc", "refresh", "metadata"))),
        ),
    ),
)

SECTIONS = (HYBRID, HOST_BUFFER, DEVICE_BUFFER, SHADOWS, LINK, CONSISTENCY, SOLE_COPIES)


def sections(runs: Iterable[Metrics]) -> list[Section]:
    """Those that apply to any of the runs."""
    found = list(runs)
    return [section for section in SECTIONS if any(section.applies(metrics) for metrics in found)]
