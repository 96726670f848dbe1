"""The ShadowGC paper.

Source of its numbers: the publication named in `PAPER`. The page lists its open questions.
"""

from __future__ import annotations

from coflash.measures.measure import Measure
from coflash_reproduce.paper import Exhibit, Figure, Notes, Paper
from coflash_reproduce.shadowgc import reading
from coflash_reproduce.shadowgc.claims import claims
from coflash_reproduce.shadowgc.workloads import AGE_LIMITS, BUFFERED, COMPARED, GGC, WORKLOADS, by_device, experiments


def _by_host(name: str, title: str, measure: Measure, differs: str, notes: Notes = lambda _: ()) -> Figure:
    axis, differs = reading.HOST_AXIS, f"The axis does not begin at 0. {differs}"
    shown = reading.SWEPT
    return Figure(name, title, measure, axis, shown, differs, baseline=GGC, from_zero=False, only=COMPARED, notes=notes)


def _motivation(name: str, title: str, measure: Measure, differs: str) -> Figure:
    axis, shown, lines = reading.FOOTPRINT_AXIS, reading.FOOTPRINTS, reading.motivation(measure)
    return Figure(name, title, measure, axis, shown, differs, baseline=GGC, from_zero=False, lines=lines)


_LAYOUTS = (
    "The paper keeps two active blocks: one for pages that are dirty in the host, one for all that is written and for "
    'all other pages that GC moves. With three, GC\'s copies have one of their own (`ftl.shared_streams = [["host", '
    '"evict"]]`), under GGC, too: what GC has moved once is colder than what is written, and is kept apart from it.'
)
_FOOTPRINT = (
    "Zipf's law over a part of the device, prefilled with uniform random writes, with a host buffer of 256 MiB on 1 "
    "TiB; requests, buffers and rate stay. The paper's traces write to a small part of its 1 TB again and again. The "
    "smaller that part, the more of it lies in the buffers, and the more of what GC moves and the device evicts is a "
    "shadow."
)
_REGIMES = (
    "With a host buffer of 256 MiB on 1 TiB; absorbed: of the pages that the host writes, those over a page still "
    "dirty in its buffer. From the buffers: programs under SGC other than GC's, for each page written to the device, "
    "which is less than one since twins are discarded and GC takes device-shadows along. Discarding them is what "
    "neither HGC nor DGC does."
)
_AGES = (
    "A page that has been dirty for 30 s is written, however much room there is, as in Linux; the paper names no such "
    "limit. Where requests come as seldom as in most of its traces, the host then holds few dirty pages however large "
    "its buffer is, and with them go host-shadows and twins."
)
_PREFILL = (
    "The paper fills its device with uniform random writes and does not say how many. Greedy victims depend on it for "
    "good: spare space that random overwrites have scattered over cold blocks is not won back, since hot blocks "
    "are always cheaper to clean."
)
_VICTIMS = (
    "Over 10 GiB on 1 TiB, with a host buffer of 256 MiB. The paper finds that delay tends to cost, since it passes "
    "over the blocks that are cheapest to clean. Under greedy victims it does not here: either waiting pays, since the "
    "shadows of a block will soon be replaced, or there are too few to pass over any block. Victims chosen by age wait "
    "already, which leaves delay and separation next to nothing to gain."
)
_RESTARTS = (
    "Restarts a simulated hour apart, with a host buffer of 256 MiB on 1 TiB. Buffers are empty after one, "
    "shadows are valid pages again, and all blocks of fast programs are refreshed at once. A sudden one loses what is "
    "dirty; an orderly one begins with a flush, whose programs are in the time until dies are idle. Numbers are means "
    "over the restarts."
)
_OVERHEADS = (
    "Under SGC, with a host buffer of 256 MiB on 1 TiB. The paper says that most pages of the blocks for shadows have "
    "become invalid when they are reclaimed, that notices go with commands and may use the 5 reserved bytes of a SATA "
    "command, and that 128 GB in pages of 16 KiB take 2 MB more. Five bytes number 2^40 pages; commands here have room "
    "for 64 otherwise."
)
_ROOMS = (
    "Uniform writes to all of the device, with a host buffer of 64 MiB on 1 TiB. Blocks for shadows are taken from "
    "the spare space: an open block and a free one in reserve for each pool. The 134 spare blocks are those of a "
    "plane of 1 TB as `shadowgc-1t` divides it, and of the planes here."
)
_OPEN_QUESTIONS = (
    "**Traces.** The paper's 15 are volumes of MSR Cambridge and traces of UMass, which may not ship. Each `--trace "
    "FILE` replays one as a workload of its own, at its own times on the whole device of 1 TB, beside a PostgreSQL "
    "trace recorded for this project and generators, which stand in for them.",
    "**Active blocks.** "
    + _LAYOUTS
    + " The paper's are the default of the scenarios, and of all experiments here that do not name a layout.",
    "**Footprints.** A volume of MSR Cambridge is a week of one server's disk. All requests of most of them move 9 "
    "to 92 GB (table of workloads in Salkhordeh, Hadizadeh and Asadi, “An Efficient Hybrid I/O Caching Architecture "
    "Using Heterogeneous SSDs”, IEEE TPDS 2019), which bounds what they can have written to by 1 % to 9 % of 1 TB; "
    "pages that are written again, as in the paper's figure 1, make it less. “Zipf, 100 GiB”, “10 GiB” and “1 GiB” "
    "write to 10 %, 1 % and 0.1 % of the flash, and their means are held against the paper's first. By the same table "
    "no volume has more than 16.3 million writes, 27 in a second of that week.",
    "**Error correction.** The paper credits ShadowGC with saving it, and gives no time. The scenarios take 16 us for "
    "a page, from a description of LDPC decoders of its years that they name. A page that GC takes from the buffer has "
    "none.",
    "**Double caching.** Such traces were recorded below a host's cache. What is written twice within a short time "
    "was absorbed before it was recorded, and the second host's buffer finds less of it than a real one would. The "
    "table on double caching shows both kinds: the recorded trace was taken below PostgreSQL's cache and the file "
    "system's, the generators are below none.",
    "**Flushes.** MSR's traces have none. The recorded one has them, and each writes all that is dirty in the host "
    "to flash, by way of the device: there is next to nothing that could be a shadow for long. A block trace does "
    "not know of files: what was an fsync of one of them is a flush of all here.",
    "**The end of a run.** What is still dirty in either buffer is counted (`dirty_pages`), not written: it is a "
    "buffer's worth of pages at most.",
    "**The host's buffer.** Its size is not stated. 64 MiB to 1 GiB for 1 TiB of flash are taken for the paper's, "
    "and the numbers held against its averages are means over these.",
    "**GC latency.** Whether it is of one collection or of all is not known to us. It is all time that dies spend on "
    "GC, for each page that is written to the device, so that each scheme has the same work.",
    "**Parallelism.** Channels, chips and planes are not stated. They matter: each plane keeps free and open blocks "
    "of its own out of its spare space.",
    "**Seeds.** Each run has one: differences of about a percent may be chance, of five where 0.1 % of the flash is "
    "written to.",
    "**Delay.** How far shadows put a block off is not known to us: each counts twice (λ = 1). HGC programs the same "
    "pages as separation alone, only faster, so their WAF is the same here, and ZGC differs from it by delay alone. In "
    "the paper HGC gains seven times what ZGC does: its delay must cost.",
    "**Statements that do not hold, and why.** Figure 2, ZGC and HGC with two active blocks: GC's copies and new "
    "writes fill one block, so hardly any page that GC moves is dirty in the host (table of regimes), and delay and "
    "separation have nothing to act on; what the block for shadows takes from the spare space then shows (table of "
    "rooms). Delay with three active blocks: waiting pays, since shadows are soon replaced; it costs only where "
    "victims are chosen by age as well (table of victims). The least change of SGC, and SGC over the best of the "
    "others: sequential writes and JESD219 overwrite next to nothing that is in a buffer, and the recorded trace "
    "writes at its flushes what is dirty in the host (table of sizes). SGC is then DGC with a block for shadows, "
    "which costs what HGC loses there (table of schemes). DGC: the paper's buffer is 0.012 % of the flash, and finds "
    "few device-shadows in victims; the table of device buffers has what a larger one gains. Notices of 5 bytes: a "
    "command has room for one, and there are as many notices as commands (below the table of overheads). `coflash "
    "reproduce shadowgc --infer` has the set-ups that come nearest to the five averages together.",
)

PAPER = Paper(
    name="shadowgc",
    title="ShadowGC, reproduced",
    source="“ShadowGC: Cooperative Garbage Collection with Multi-level Buffer for Performance Improvement in NAND "
    "flash-based SSDs”, DATE 2018",
    idea="The host has a write buffer, and the device has one. A flash page is a shadow if its logical page is dirty "
    "in either: it will soon be replaced. GC that knows nothing of them is GGC. ZGC puts blocks with "
    "host-shadows off and moves host-shadows to blocks of their own; HGC moves them to blocks of their own by "
    "fast programs; DGC takes device-shadows from the buffer, which need not be written again; SGC is HGC and "
    "DGC, and what is dirty in both buffers is not written by the device.",
    scales={
        name: f"The device is a plane of `shadowgc-1t`, {size}; buffers, footprints and rates have the paper's shares "
        "of the flash and are called as in the paper. Traces that are named are replayed on the whole `shadowgc-1t`."
        for name, size in {
            "quick": "with as many blocks, of a quarter of the pages: 4 GiB",
            "full": "as large as there: 16 GiB",
        }.items()
    },
    experiments=experiments,
    exhibits=(
        Figure(
            "figure-1",
            "written footprint against writes",
            reading.FOOTPRINT,
            reading.WRITTEN_AXIS,
            WORKLOADS,
            "Of each workload, gone through once, in pages of 16 KiB; the paper shows its own traces. Generators "
            "write to a share of the flash: the footprints in their titles are those on 1 TiB.",
            lines=reading.growth,
            notes=reading.about_growth,
        ),
        _motivation(
            "figure-2a",
            "WAF of greedy, with delay, with separation, with both (zombies), by the share of the flash written to",
            reading.WAF,
            "The axis does not begin at 0. The paper shows a bar for each of its traces.",
        ),
        _motivation(
            "figure-2b",
            "GC time of the same schemes for a page written to the device",
            reading.GC_TIME,
            "The axis does not begin at 0.",
        ),
        Exhibit(
            "schemes",
            "change of WAF against GGC, by workload",
            reading.by_scheme,
            "Means over host buffers of 64 MiB to 1 GiB on 1 TiB; JESD219, OLTP, Zipf, sequential and the recorded "
            "trace with 256 MiB only. The recorded trace and the generators stand in for the paper's traces. "
            + _LAYOUTS,
        ),
        Figure(
            "footprint",
            "change of WAF against GGC, by the share of the flash that is written to",
            reading.CHANGE,
            reading.FOOTPRINT_AXIS,
            reading.FOOTPRINTS,
            _FOOTPRINT,
            from_zero=False,
            across=(reading.PAPER_SGC,),
            lines=reading.changes,
            notes=reading.about_footprints,
        ),
        Exhibit("regimes", "where pages go, by the share of the flash that is written to", reading.regimes, _REGIMES),
        _by_host(
            "figure-6",
            "WAF by workload and scheme, by host buffer",
            reading.WAF,
            "The paper has a bar for each trace at one size of the host's buffer, which it does not state.",
            reading.about_sizes,
        ),
        _by_host(
            "figure-7",
            "GC time for a page written to the device, by host buffer",
            reading.GC_TIME,
            "The paper's measure of GC latency is not known to us; fast programs shorten GC only by as many "
            "host-shadows as it moves.",
            reading.about_given,
        ),
        Figure(
            "figure-8",
            "shadows among the pages that GC moved under SGC, by host buffer",
            reading.SHADOWS,
            reading.HOST_AXIS,
            reading.SWEPT,
            "Counted when a page is moved; the rest were in neither buffer.",
            lines=reading.kinds,
            notes=reading.about_kinds,
        ),
        Figure(
            "age-limit",
            "change of WAF against GGC, with and without an age limit of dirty pages in the host",
            reading.CHANGE,
            reading.HOST_AXIS,
            tuple(AGE_LIMITS),
            _AGES,
            from_zero=False,
            across=(reading.PAPER_SGC,),
            lines=reading.changes,
            notes=reading.about_ages,
        ),
        Figure(
            "prefill",
            "WAF by random overwrites of the prefill",
            reading.WAF,
            reading.PREFILL_AXIS,
            reading.PREFILLS,
            _PREFILL,
            baseline=GGC,
        ),
        Exhibit("victims", "change of WAF against GGC, by the choice of victims", reading.victims, _VICTIMS),
        Exhibit("restart", "the cost of a restart under SGC", reading.restarts, _RESTARTS),
        Exhibit(
            "overheads",
            "blocks for shadows, notices and memory",
            reading.overheads,
            _OVERHEADS,
            reading.about_overheads,
        ),
        Exhibit("rooms", "what a block for shadows costs where there is nothing to separate", reading.rooms, _ROOMS),
        Figure(
            "device-buffer",
            "WAF by device buffer, with a host buffer of 256 MiB on 1 TiB",
            reading.WAF,
            reading.DEVICE_AXIS,
            tuple(map(by_device, BUFFERED)),
            "The paper's device has 128 MB, 0.012 % of its flash.",
            baseline=GGC,
            notes=reading.about_device,
        ),
        Exhibit(
            "double-caching",
            "the same workloads with and without a host buffer",
            reading.double_caching,
            "WAF by pages written to the device, changes against GGC. What the host's buffer absorbs the device's "
            "buffer would have absorbed: behind it, that finds little left, and more of the pages written to the "
            "device are programmed. A trace recorded below a cache has been through this once. The recorded one "
            "gains nothing by the second buffer, both for that reason and because its flushes write what is dirty at "
            "once.",
        ),
        Exhibit(
            "sizes",
            "device and workloads",
            reading.sizes,
            "With a host buffer of 256 MiB on 1 TiB. The recorded trace keeps eight requests under way, so that dies "
            "are busy as long as it lasts; where those of another workload are, its requests come faster than they "
            "are served.",
        ),
    ),
    claims=tuple(claims()),
    open_questions=_OPEN_QUESTIONS,
)
