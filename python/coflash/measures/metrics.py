"""What a run counted, typed. Written by `make generate` from the measures that the core declares."""

from __future__ import annotations

from coflash.measures.record import Record


class HostNotices(Record):
    """Notices that have arrived, by kind.

    All but the last are from the host to the device.
    """

    cached: int
    """The cache holds the same data as flash."""

    dirtied: int
    """The cache holds newer data."""

    evicted: int
    """The cache no longer holds the same data: it evicted the copy."""

    announced: int
    """The write buffer holds newer data."""

    weights: int
    """The cost weights of removable pages have changed."""

    used: int
    """To the host: GC has dropped a granted page."""


class HostToDevice(Record):
    """Notices across the link in one direction.

    Requests do not wait for them, unless each is a message of its own.
    """

    posted: int
    """Notices posted."""

    withdrawn: int
    """Notices withdrawn before they were sent, since they were obsolete."""

    sent: int
    """Notices sent.

    The rest were still waiting at the end of the run.
    """

    messages: int
    """Messages that carried them."""

    carrying_commands: int
    """Commands that carried notices."""

    bytes: int
    """Bytes of notices."""

    time_ns: int
    """Time of these messages, and time that notices added to commands."""

    delay_sum_ns: int
    """Time from posting to arrival, summed over the notices sent."""

    delay_max_ns: int
    """The longest time from posting to arrival."""

    delay_mean_ns: float | None
    """The mean time from posting to arrival."""


class HostToHost(HostToDevice):
    """Notices across the link in one direction.

    Requests do not wait for them, unless each is a message of its own.
    """


class HostProtect(Record):
    """Questions of the device's GC under `request`: may these pages be dropped? The erase waits for the answer."""

    pages: int
    """Pages asked about."""

    refused_pages: int
    """Pages for which the answer was no: the page is not dropped, or it had been dropped before."""

    messages: int
    """Messages: questions and answers."""

    bytes: int
    """Bytes of these messages, and of questions that went with a command."""

    time_ns: int
    """Time from question to answer, summed."""


class HostRevoke(HostProtect):
    """Under `grants`: was this grant used? Asked before a clean copy leaves the cache."""


class ResponseNsAll(Record):
    """From the arrival of a request to its answer.

    Percentiles are ends of the bins of a histogram, each at most one part in 1,024 of its value wide; the other
    measures are exact.
    """

    count: int
    """Requests."""

    mean: float | None
    """The mean."""

    stddev: float | None
    """The standard deviation."""

    p50: int | None
    """The time that half of the requests do not exceed."""

    p90: int | None
    """The time that 90 % of the requests do not exceed."""

    p99: int | None
    """The time that 99 % of the requests do not exceed."""

    p99_9: int | None
    """The time that 99.9 % of the requests do not exceed."""

    p99_99: int | None
    """The time that 99.99 % of the requests do not exceed."""

    max: int | None
    """The maximum."""


class ResponseNsRead(ResponseNsAll):
    """From the arrival of a request to its answer.

    Percentiles are ends of the bins of a histogram, each at most one part in 1,024 of its value wide; the other
    measures are exact.
    """


class ResponseNsWrite(ResponseNsAll):
    """From the arrival of a request to its answer.

    Percentiles are ends of the bins of a histogram, each at most one part in 1,024 of its value wide; the other
    measures are exact.
    """


class Throughput(Record):
    """Requests and bytes of the host per second of simulated time.

    In an open loop, a device that keeps up has the rate of its workload, which may be less than it could do.
    """

    iops: float | None
    """Requests answered per second, trims and flushes included."""

    read_iops: float | None
    """Reads answered per second."""

    write_iops: float | None
    """Writes answered per second."""

    bandwidth: float | None
    """Bytes read and written per second."""

    read_bandwidth: float | None
    """Bytes read per second."""

    write_bandwidth: float | None
    """Bytes written per second."""


class ProgramsPages(Record):
    """Pages programmed, by cause."""

    host: int
    """Host writes past the cache."""

    evict: int
    """Pages evicted from the cache; in a flash cache before disks, pages read into it."""

    gc: int
    """Pages copied by GC."""

    refresh: int
    """Pages rewritten before their data fades."""

    wear_levelling: int
    """Cold pages moved from less-worn to worn blocks."""

    destage: int
    """Dirty pages of a flash cache on their way to the disk."""

    metadata: int
    """Summaries, checkpoints and journals."""


class SlcCache(Record):
    """The pSLC cache."""

    written_pages: int
    """Pages programmed into SLC blocks."""

    folded_pages: int
    """Pages copied from SLC blocks to blocks with all bits."""


class Operations(Record):
    """Operations of the flash, whatever caused them."""

    reads_pages: int
    """Pages read from the array, those of copies included."""

    programs_pages: int
    """Pages programmed, those of copies included."""

    erases_blocks: int
    """Blocks erased."""

    transfers_pages: int
    """Pages transferred over the buses of channels; a copy through the controller counts twice."""

    suspensions: int
    """Suspensions of a program or an erase by a read."""


class WriteBuffer(Record):
    """The write buffer of the controller."""

    waits_pages: int
    """Pages that found the write buffer full, and waited until it had room."""


class Cache(Record):
    """Hits, misses and write-backs of the cache.

    Accesses to its memory are counted because non-volatile memory wears, too.
    """

    read_hits: int
    """Pages read by the host and found in the cache."""

    read_misses: int
    """Pages read by the host and not found."""

    write_hits: int
    """Pages written by the host and found in the cache."""

    write_misses: int
    """Pages written by the host and not found."""

    capacity_pages: int
    """Slots of the cache."""

    nvm_reads_pages: int
    """Page reads of the cache memory: hits and evictions."""

    nvm_writes_pages: int
    """Page writes of the cache memory: host writes and fills."""

    absorbed_pages: int
    """Host writes to a page that was dirty in the cache: its older data is never written back."""

    clean_evictions_pages: int
    """Clean pages evicted, which needs no write."""

    dirty_evictions_pages: int
    """Dirty pages written back because they were evicted."""

    aged_pages: int
    """Dirty pages written back because they had been dirty for too long."""

    crowded_pages: int
    """Dirty pages written back because too many pages were dirty."""

    flushed_pages: int
    """Dirty pages written back because of a flush."""

    merged_pages: int
    """Pages read from the level below because the host wrote only a part of them."""

    dropped_pages: int
    """Dirty pages trimmed before they were written back."""

    dirty_pages: int
    """Pages still dirty at the end of the run."""

    hits_pages: int | None
    """Pages read or written by the host and found in the cache."""

    misses_pages: int | None
    """Pages read or written by the host and not found in the cache."""

    hit_ratio: float | None
    """The share of the pages read and written by the host that were found in the cache."""

    written_pages: int | None
    """Pages written below, for any reason."""


class Metadata(Record):
    """The metadata of a device's cache and of its trims, which recovery after a power cut reads.

    Each store is of 8 bytes.
    """

    stores: int
    """Stores of labels of slots, bits of trimmed pages, and commits."""

    fences: int
    """Fences: data and metadata stored before are durable before what is stored after."""


class Hybrid(Record):
    """Flash holds a read cache of clean pages and a write cache of dirty pages.

    The rest is over-provisioned space, which makes garbage collection cheap.
    """

    read_hits_clean_pages: int
    """Pages read and found clean in flash."""

    read_hits_dirty_pages: int
    """Pages read and found dirty in flash."""

    read_misses_pages: int
    """Pages read through the cache and not found."""

    joined_reads_pages: int
    """Read misses that waited for a transfer under way: of the page from disk, or past flash to it."""

    write_hits_pages: int
    """Pages written and found dirty in flash."""

    write_misses_pages: int
    """Pages written through the cache and found clean or not at all."""

    bypassed_reads_pages: int
    """Pages of sequential runs read past the cache."""

    bypassed_writes_pages: int
    """Pages written past the cache, mostly of sequential runs."""

    overflowed_writes_pages: int
    """Pages written past the cache because no page could be evicted at once."""

    fills_pages: int
    """Pages put into the read cache."""

    clean_evictions_pages: int
    """Clean pages evicted.

    Under write-through those of the write cache count.
    """

    destages_pages: int
    """Dirty pages written from the write cache to disk, in groups, in the order of their addresses."""

    written_through_pages: int
    """Pages written through to the disk, as well as to flash, for one write."""

    destage_groups: int
    """Groups of pages destaged."""

    given_up_pages: int
    """Pages destaged only because the write cache was being shrunk.

    No write waited for them.
    """

    divisions: int
    """Partitions of flash by the cost model, at ends of periods."""

    read_hits_share: float | None
    """The share of the pages read through the cache that were found in flash, clean or dirty."""

    write_hits_share: float | None
    """The share of the pages written through the cache that were already dirty in flash."""

    read_hit_ratio: float | None
    """Hit rate of the read cache: of reads that miss the write cache, the share that hits the read cache.

    H_R of the cost model.
    """

    write_hit_ratio: float | None
    """Hit rate of the write cache: of writes and of reads that hit it, the share that hits.

    H_W of the cost model.
    """

    disk_read_transfers: int
    """Transfers from the disks."""

    disk_write_transfers: int
    """Transfers to the disks."""

    disk_reads_pages: int
    """Pages read from the disks."""

    disk_writes_pages: int
    """Pages written to the disks."""

    disk_time_ns: int
    """Time that disks were busy, summed over the disks."""

    disk_utilisation: float | None
    """The share of the simulated time that a disk was busy, averaged over the disks."""

    disk_service_mean_ns: float | None
    """The mean time that a transfer keeps its disk busy, without waiting."""

    journal_pages: int
    """Pages of the journal programmed."""

    checkpoints: int
    """Checkpoints written."""

    superseded_pages: int
    """Pages given up in flash because a cache above got newer data: GC need not copy them, nor the disk write them."""

    flash_pages: int
    """Pages of flash that may hold data."""

    tracker_bytes: int
    """Memory of the workload tracker."""


class HostBuffer(Cache):
    """The file system's page cache: a page is dirty in it until it is written to the device."""

    waf_device: float | None
    """All flash programs for each page written to the device, as the ShadowGC paper counts."""


class Shadows(Record):
    """Shadows are flash pages whose data is dirty in a write buffer, and so about to be replaced.

    A scheme counts the shadows that it knows of.
    """

    moved_valid_pages: int
    """Pages moved by GC and refresh that were dirty in no buffer."""

    moved_host_pages: int
    """Pages moved that were dirty in the host's buffer only."""

    moved_device_pages: int
    """Pages moved that were dirty in the device's buffer only."""

    moved_twin_pages: int
    """Pages moved that were dirty in both buffers."""

    from_buffer_pages: int
    """Pages moved that were read from the device's buffer instead of flash.

    The buffer's page is clean then and need not be written.
    """

    fast_pages: int
    """Pages moved by fast programs, to blocks of their own: their data is needed only for a short time."""

    discarded_twins_pages: int
    """Pages that the device's buffer discarded without a program, since the host held newer data."""

    moved_pages: int | None
    """Pages moved by GC and refresh."""


class FastBlocks(Record):
    """Blocks for shadows, which are programmed fast, and the memory for the states of pages."""

    victims_blocks: int
    """Blocks of fast programs that GC chose as victims.

    Those chosen for a refresh are not among them.
    """

    victims_valid_pages: int
    """Pages of these victims that were still valid when GC chose them."""

    states_bytes: int
    """Memory for the states of all pages: three bits each, and four bytes a block."""


class Restart(Record):
    """Restarts of host and device.

    All blocks with data of fast programs are refreshed at once then.
    """

    restarts: int
    """Restarts.

    Those scheduled for after the last request did not happen.
    """

    lost_host_pages: int
    """Versions of pages, deletions too, lost in the host: dirty in its buffer or a volatile cache, or not committed."""

    lost_device_pages: int
    """Versions of pages, deletions too, lost in the device: dirty in a volatile cache, or not committed."""

    refreshed_pages: int
    """Pages programmed by the refreshes."""

    erases_blocks: int
    """Blocks erased by the refreshes."""

    die_time_ns: int
    """Time that dies spent on the refreshes, summed over the dies."""

    busy_max_ns: int
    """The longest time from a restart until all dies were idle, operations under way included."""


class Consistency(Record):
    """Commits and checkpoints.

    After a power cut every page reads back as of the last commit.
    """

    commits: int
    """Commits: periodic, by a flush, or early."""

    early_commits: int
    """Early commits, because no page could be evicted or no deletion could be recorded."""

    checkpoints_pages: int
    """Committed pages programmed so that their slots can be used again."""

    copies_on_write_pages: int
    """Writes to a new slot because the committed version of the page was write-protected."""


class SoleCopies(Record):
    """Cached pages without a valid copy in flash: dirty pages and pages dropped by GC."""

    peak_pages: int
    """The largest number of sole copies at any time: the pages to save when power is lost."""

    cleaned_pages: int
    """Sole copies written to flash before their eviction, to stay within the bound."""

    from_reads_pages: int
    """Pages read into the cache whose flash copy was invalidated at once (`cdm-invalidate-on-cache`)."""


class Moving(Record):
    """Pages of GC's victims that were moved into the cache instead of being copied.

    They are among the pages dropped by GC.
    """

    moved_in_pages: int
    """Valid pages moved into the cache by GC and refresh, each to the slot of a clean page."""

    without_room_pages: int
    """Valid pages copied by GC and refresh although moving in would have paid: no page was clean."""


class Host(Record):
    """Traffic across the link when a cache or write buffer is in the host."""

    commands: int
    """Commands that crossed the link: read misses by request, evictions, writes past the cache, trims."""

    messages: int
    """Other messages that crossed the link: notices, questions and answers."""

    bytes: int
    """Bytes of these messages, and of notices and questions that went with commands."""

    time_ns: int
    """Time that these messages took."""

    waited_ns: int
    """Time that answers to requests waited for these messages."""

    protect_obsolete_pages: int
    """Pages dropped on request although the host had newer data: its notice was still on its way."""

    grants_pages: int
    """Pages granted, under `grants`."""

    grants_used_pages: int
    """Granted pages that GC dropped."""

    notices: HostNotices
    to_device: HostToDevice
    to_host: HostToHost
    protect: HostProtect
    revoke: HostRevoke


class EraseCount(Record):
    """Erases of single blocks, in the measured part."""

    mean: float
    """The mean."""

    max: int
    """The maximum."""

    stddev: float
    """The standard deviation."""


class Endurance(Record):
    """Writes and time until the blocks are worn out, if the workload continues as in this run.

    Blocks are worn out after `endurance.rated_cycles` erases on average: wear is assumed to be even. This number
    stands beside the measures; by default it follows from `flash.cell`.
    """

    tbw_bytes: float | None
    """Bytes that the host can write (TBW, in bytes)."""

    drive_writes_per_day: float | None
    """How often per day the host can write the exported capacity during `endurance.warranty_years` (DWPD).

    Not for a flash cache before disks.
    """

    life_years: float | None
    """Years until then, if the host always writes at the rate of this run."""


class Energy(Record):
    """Energy of flash operations, by the scenario's table (`energy`)."""

    total: float
    """All flash operations."""

    reads: float
    """Page reads of the array."""

    programs: float
    """Page programs."""

    erases: float
    """Block erases."""

    transfers: float
    """Transfers over channels."""


class Spare(Record):
    """Invalid pages in full blocks, at the end."""

    invalid_pages: int
    """Invalid pages in full blocks, at the end."""

    frozen_pages: int
    """Invalid pages in full blocks that were not erased in the measured part."""


class Load(Record):
    """The host's requests and the device's pace."""

    behind_ns: int
    """The longest time by which the device was behind.

    In an open loop it is the mean response time of a window of the time series, or the work left to dies and
    channels; in a closed loop their work left after the last answer.
    """

    sustained_per_s: float | None
    """Requests per second that the device can sustain; only if it fell behind for long enough to measure it."""


class ResponseNs(Record):
    """See its parts."""

    all: ResponseNsAll
    read: ResponseNsRead
    write: ResponseNsWrite


class Metrics(Record):
    """What a run counted.

    Names end in their unit. The two write amplifications divide all flash programs by the pages that the host wrote
    (`waf_host`) and by the pages that arrived at the FTL (`waf_ftl`); a cache that absorbs writes lowers the first
    and not the second. Parts that only some systems have are in the metrics of those systems: `"host" in metrics`
    tells.
    """

    requests: int
    """Requests answered."""

    host_reads_pages: int
    """Pages that the host read, parts of pages included."""

    host_writes_pages: int
    """Pages that the host wrote, parts of pages included."""

    host_trims_pages: int
    """Whole pages that the host trimmed."""

    host_reads_bytes: int
    """Bytes that the host read."""

    host_writes_bytes: int
    """Bytes that the host wrote."""

    flushes: int
    """Flushes."""

    ftl_writes_pages: int
    """Pages arriving at the FTL: host writes past the cache, and evictions."""

    waf_host: float | None
    """All programs for each page that the host wrote."""

    waf_ftl: float | None
    """All programs for each page arriving at the FTL."""

    waf_media: float | None
    """Bytes programmed for each byte that the host wrote, as drives count: a part of a page costs a page."""

    simulated_ns: int
    """Simulated time from the start to the last answer."""

    flash_reads_pages: int
    """Flash reads for requests.

    Reads of GC are part of its copies.
    """

    flash_merges_pages: int
    """Pages read because the host wrote only a part of them, past the cache."""

    gc_copies_pages: int
    """Valid pages copied by GC."""

    gc_drops_pages: int
    """Valid pages dropped by GC without a copy, because another memory held their data."""

    gc_spared_pages: int
    """Pages of GC's victims that were invalid only because the cache will write them again.

    Each is a copy that these victims do not need; if GC did not know of the cache, it would choose other victims.
    """

    gc_steps: int
    """Page copies and erases that GC did one by one, in idle time or between operations.

    The others were part of whole victims that an operation waited for.
    """

    erases_blocks: int
    """Erased blocks."""

    mapped_pages: int
    """Logical pages with data in flash, at the end."""

    drop_rewrites_pages: int
    """Unmodified pages written at their eviction, only because GC or the scheme had given up their flash copy."""

    gc_time_ns: int
    """Time that dies spent on GC, summed over the dies."""

    service_time_ns: int
    """Time that dies spent on everything else, summed over the dies."""

    channel_time_ns: int
    """Time of transfers over the buses of channels, summed over the channels."""

    die_utilisation: float | None
    """The share of the time that a die was busy, averaged over the dies.

    Planes that work in parallel count as dies. The time ends with the last operation.
    """

    channel_utilisation: float | None
    """The share of the time that a channel was busy, averaged over the channels.

    With private channels each die has one.
    """

    throughput: Throughput
    programs_pages: ProgramsPages
    slc_cache: SlcCache
    operations: Operations
    write_buffer: WriteBuffer
    cache: Cache
    metadata: Metadata
    hybrid: Hybrid
    host_buffer: HostBuffer
    shadows: Shadows
    fast_blocks: FastBlocks
    restart: Restart
    consistency: Consistency
    sole_copies: SoleCopies
    moving: Moving
    host: Host
    erase_count: EraseCount
    endurance: Endurance
    energy: Energy
    spare: Spare
    load: Load
    response_ns: ResponseNs
