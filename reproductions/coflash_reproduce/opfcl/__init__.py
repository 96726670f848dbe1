"""The OP-FCL paper.

Source of its numbers: the publication named in `PAPER`, sections 2 to 5. The page lists its open questions.
"""

from __future__ import annotations

from functools import partial

from coflash import costmodel
from coflash.measures.measure import MEAN, Measure
from coflash_reproduce.opfcl import reading
from coflash_reproduce.opfcl.claims import claims
from coflash_reproduce.opfcl.workloads import (
    BY_PERIOD,
    BY_SEGMENT,
    BY_UNIT,
    CONFIG_1,
    CONFIG_2,
    DAYS,
    FIRST,
    FP,
    OURS,
    PERIOD_LOG2,
    SENSITIVE,
    UNIT_KIB,
    experiments,
    in_background,
    sensitivity,
)
from coflash_reproduce.paper import Exhibit, Figure, Notes, Paper, Picture


def _by_share(
    number: int, title: str, measure: Measure, names: tuple[str, ...], differs: str, notes: Notes = lambda _: ()
) -> Figure:
    return Figure(
        f"figure-{number}",
        f"{title}, configuration {1 if names is CONFIG_1 else 2}",
        measure,
        reading.CACHING_AXIS,
        names,
        differs,
        baseline=FP,
        across=OURS,
        notes=notes,
    )


def _sizes(number: int, configuration: int, names: tuple[str, ...]) -> Picture:
    return Picture(
        f"figure-{number}",
        f"OP-FCL's caches over time, configuration {configuration}",
        partial(reading.draw_sizes, names),
        partial(reading.table_of_sizes, names),
        "Full lines are what the caches may hold, dotted ones what they hold. A stand-in for a trace asks for the same "
        "all along, so what moves there is OP-FCL's learning; the four days have phases, half a day of writes and half "
        "a day of reads, and the flash is divided by what went before.",
    )


_RESPONSE = "How steep the lines are depends on the load, and on skew and footprint, which the stand-ins choose."
_GC = "It is the time that chips spend on cleaning, for each request, whether or not anyone waits for it."
_HITS = (
    "A page request that goes past the cache counts as a miss; in RW-FCL and OP-FCL a write to a clean page does too."
)

_OPEN_QUESTIONS = (
    "**Traces.** Financial, Home, Search Engine, Exchange and MSN cannot be shipped. Financial-like is a generator in "
    "the shape of Financial1; the others have the published mix of reads and writes. Working sets (3.8, 16, 5, 74 and "
    "36 GiB) and numbers of requests (5.3, 20, 1.03, 30 and 23 million) are those of the paper's table 1 as far as it "
    "is known to us; skew, places and times are our choice. None was fitted to a result. pgbench was recorded for this "
    "project. `--trace` replays a real one under configuration 1, in place of its stand-ins.",
    "**Disks.** In the paper each volume of a server has a disk of its own. So here each of the three disks holds a "
    "third of what is asked for.",
    "**Statements that do not hold, and why.** The r of figure 4: the least is flat, as the table there says, and the "
    "paper drew its pages at random. Best shares and erases under Financial, Home, Exchange and MSN: skew and what "
    "goes past the cache decide them, and the table of variations has a stand-in with one other skew or space for "
    "each. Under Exchange a skew of 0.5 to 0.8, where the stand-in has 0.99, gives best share, erases and response of "
    "the paper together (`coflash reproduce opfcl --infer`). Search over the whole run: it has sixteen periods, and "
    "OP-FCL learns in the first of them; the second half has the comparison without that. GC time of Search: it falls "
    "as the erases do, for the reason below figure 7. RW-FCL against FP-FCL: RW-FCL divides its space anew each "
    "period, and gives up groups for which no write waits, which gains under MSN: where no write waits at all the "
    "gain is gone (below the table further 2). One order for all pages hits a little more often under Home and Search "
    "(figure 8). Erases over those of OP-FCL: the paper does not say of which share, and below figure 14 they are for "
    "the largest and for the fastest. Units of 16 KiB: Search's requests have just that size, and requests of 8 KiB "
    "that happen to follow one another make runs of it; below figure 15a is the same without that unit. OP-FCL "
    "against RW-FCL under Financial: it caches less than is best, and is as fast as RW-FCL with as much caching space "
    "(below the first table). Short periods under Home and Exchange: not explained. What was learnt could be more "
    "often wrong in the paper's traces, which change; but with phases of half a day short periods gain as well, or "
    "cost next to nothing (figure 15b, four days). Caching space under Home: not explained; no reading of `--infer` "
    "fits Home. Data in flash under Exchange: it falls a little where a period makes the caches smaller again. The "
    "tracker's memory: its lists take what the paper says, their index by disk page the rest (table of workloads).",
    "**What the model leaves out.** It takes it that pages die at random (equation 3) and that nothing waits. A cache "
    "in LRU order gives up pages in about the order in which they were written, so victims hold fewer valid pages than "
    "equation 3 says (figures 7 and 11 have both numbers): cleaning is cheaper than OP-FCL thinks, and it may "
    "cache less than is best. Neighbours that are destaged together, and pages that are fetched together, cost less "
    "than the constants. And a write that destages a group makes reads wait for the disk, which no cost has.",
    "**What OP-FCL learns when.** The tracker knows the hit rates of caches up to what was asked for so far: after the "
    "first period OP-FCL shrinks to less than it needs, and grows as its lists do. All of that is in the means.",
    "**What the best share depends on.** On how much of what is asked for lies just beyond the cache, and on how "
    "much is written; the best shares of the stand-ins are therefore theirs, and need not be the paper's.",
    "**Arrival times.** Those of the stand-ins are at random and leave the disks time; in bursts, waiting weighs more.",
    "**How fast caches are resized.** The paper says gradually. A clean page leaves at no cost, a dirty one costs the "
    "disk 5 ms. Here a write cache that is to be smaller gives up a group of 64 pages at a time, the next when the "
    "one before is on the disk, and no more than 2 pages a request; no request waits for it, and its transfers let up "
    "to 16 others go first. “Steady resizing” takes 2 pages with each request, whatever the disk can bear: a group "
    "with every 32 requests takes 64 × 4.96 ms, and where the requests arrive faster, all that needs the disk waits.",
    "**What yielding gains beyond that.** A write that finds the write cache full waits for a group; what resizing "
    "gives up makes room for which no write waits. So a cache whose limits move back and forth destages a part of its "
    "pages in the background (the last column of the first table), and is then faster than any that is fixed. That is "
    "no merit of its partition: the table further 2 leaves it out, for there no write ever waits.",
    "**Measured costs.** Ours, not the paper's. Each period it measures the disk time of a page that is fetched and of "
    "one that is destaged, the copies by GC for each page that is put into flash, and the rate of requests. Copies say "
    "at which u equation 3 would be right; it is taken to be the same share of u where nothing was measured. Disks are "
    "queues that cost 1 / (1 − ρ) more, and GC comes in bursts of a block, for which others wait (M/G/1). Until GC has "
    "cleaned something nothing is divided. Where clients wait for answers (pgbench) the rate is an outcome, and the "
    "queue's formula a stopgap.",
    "**What remains.** A common order of clean and dirty pages hits as often as two caches of the best sizes, or more, "
    "and a read that pushes out dirty pages waits for none: FP-FCL is a little faster than RW-FCL with the same space, "
    "and OP-FCL has RW-FCL's caches. Hit rates of caches that were never so large are not known. And where requests "
    "end before flash was full, the best fixed share is the one that never gives anything up.",
    "**Where GC copies to.** The paper does not say. Its parameters (a cleaning threshold, copy-back) are those of "
    "DiskSim's SSD model, in which GC copies into the block that requests fill. So it is here. Were GC to fill a block "
    "of its own, it would clean until a whole block is free: about as many copies in all, but in bursts that are ten "
    "times as long where nine pages of ten are valid, for which all others wait.",
    "**Fixed shares.** 40 to 95 % here. 2.5 % of the flash are always left to garbage collection.",
    "**Sequential runs.** The generators have next to none; what the detector sends past the cache is in the table of "
    "workloads.",
    "**First fill.** Runs begin with an empty flash and all of them is measured, OP-FCL's first periods too, in which "
    "it still has its initial 95 %.",
)

PAPER = Paper(
    name="opfcl",
    title="OP-FCL, a flash cache that partitions itself, reproduced",
    source="Y. Oh, J. Choi, D. Lee and S. H. Noh, “Caching less for better performance: balancing cache size and "
    "update cost of flash memory cache in hybrid storage systems”, FAST 2012",
    idea="Flash caches a disk. The more of it holds data, the more often the cache has what is asked for, and the less "
    "room garbage collection has. OP-FCL measures what is asked for, and from time to time divides flash into read "
    "cache, write cache and over-provisioned space as a cost model says. FP-FCL has one cache of a fixed share, RW-FCL "
    "a fixed share that the model divides between reads and writes.",
    scales={
        "quick": "Flash, segment, period, address spaces and numbers of requests are a sixteenth of the paper's under "
        "Financial and Search, a 64th of them for all else; under pgbench flash is half of what its trace touches.",
        "full": "Financial and Search have 4 GiB of flash and one disk, as in the paper. Home, Exchange and MSN, which "
        "have tens of millions of requests, have a sixteenth of the paper's flash, segment, period, address spaces "
        "and requests; all beyond the main comparison has a 64th of them. Under pgbench flash is half of what its "
        "trace touches.",
    },
    experiments=experiments,
    exhibits=(
        Exhibit(
            "best-partitions",
            "OP-FCL beside the best fixed partition",
            reading.best_partitions,
            "The best fixed shares are those that are known after all of them were run; OP-FCL is run once. What it "
            "settles at is the mean over the second half of its samples. What resizing gives up is destaged while no "
            "request waits, so a cache that moves much may be faster than any that is fixed.",
            reading.about_rw,
        ),
        Picture(
            "figure-3",
            "The model's cost of a page request, reads only",
            lambda _: costmodel.figure_of_reads(costmodel.Costs()),
            reading.model_of_reads,
            "The paper's example: Zipf 1.2 over 120 % of the flash; it does not say what is ranked, here a hundredth "
            "of the flash.",
        ),
        Picture(
            "figure-4",
            "The model's cost of a page request, reads and writes",
            lambda _: costmodel.figure_of_both(costmodel.Costs()),
            reading.model_of_both,
            "The paper's example: a fifth reads as above, writes Zipf 1.4 over 220 % of the flash, h′ = 0.2.",
        ),
        _by_share(6, "Mean response", MEAN, CONFIG_1, _RESPONSE, partial(reading.about_response, CONFIG_1)),
        _by_share(7, "GC time", reading.GC_TIME, CONFIG_1, _GC, partial(reading.about_copies, CONFIG_1)),
        _by_share(8, "Hit rate", reading.HITS, CONFIG_1, _HITS),
        _sizes(9, 1, (*CONFIG_1, DAYS[0])),
        _by_share(10, "Mean response", MEAN, CONFIG_2, _RESPONSE, partial(reading.about_response, CONFIG_2)),
        _by_share(11, "GC time", reading.GC_TIME, CONFIG_2, _GC, partial(reading.about_copies, CONFIG_2)),
        _by_share(12, "Hit rate", reading.HITS, CONFIG_2, _HITS),
        _sizes(13, 2, (*CONFIG_2, DAYS[1])),
        Figure(
            "figure-14",
            "Erases",
            reading.ERASES,
            reading.CACHING_AXIS,
            reading.BOTH,
            "The paper does not say which shares it compares; here it is every fixed one.",
            baseline=FP,
            across=OURS,
            notes=reading.about_erases,
        ),
        Figure(
            "figure-15a",
            "OP-FCL's mean response by the sequential unit, over that with 128 KiB",
            reading.RELATIVE,
            reading.UNIT_AXIS,
            sensitivity(BY_UNIT),
            "The stand-ins have few sequential runs, so the unit matters only where it is near the size of a request. "
            "With 4 KiB all that is asked for counts as sequential, and with 16 KiB all of Search-like, whose requests "
            "have that size.",
            lines=partial(reading.relative, UNIT_KIB),
            notes=partial(reading.about_units, sensitivity(BY_UNIT)),
        ),
        Figure(
            "figure-15b",
            "OP-FCL's mean response by the period, over that with 2^16 requests",
            reading.RELATIVE,
            reading.PERIOD_AXIS,
            sensitivity(BY_PERIOD, (*SENSITIVE, *DAYS)),
            "The stand-ins do not change, but for the four days of either configuration: a long period costs what is "
            "learnt late, a short one has caches resized more often, by what fewer requests say.",
            lines=partial(reading.relative, 2.0 ** (PERIOD_LOG2 - 10)),
            notes=partial(reading.about_range, sensitivity(BY_PERIOD, (*SENSITIVE, *DAYS))),
        ),
        Figure(
            "further-1",
            "OP-FCL's mean response by the size of a segment",
            MEAN,
            reading.SEGMENT_AXIS,
            tuple(f"{name}-{BY_SEGMENT}" for name in SENSITIVE),
            "Not in the paper, which has 256 MiB. A segment is the step in which flash is divided and in which hit "
            "rates are known: 256 MiB are a sixteenth of 4 GiB.",
        ),
        Exhibit(
            "further-2",
            "where no write waits for destaging",
            partial(reading.best_in_background, in_background(reading.BOTH)),
            "Not in the paper, in whose model a write pays for the page that it pushes out. Here groups go in the "
            "background, in every line, so that destaging costs what it makes others wait; the paper's model still "
            "counts all of it, the measured costs do not.",
            partial(reading.about_background, (*FIRST, *CONFIG_2)),
        ),
        Exhibit(
            "rivals",
            "silent eviction, blocks by class, and write-through",
            reading.rivals,
            "Silent eviction (FlashTier) drops clean pages of GC's victims, for the disk holds them: the hit rate pays "
            "for it. By class, clean pages and dirty ones have active blocks of their own, which GC copies into, each "
            "page among its like. Neither is in the paper. Under write-through, which it mentions (section 4.2), a "
            "write is answered when flash and then the disk have it, and what leaves the write cache costs nothing; in "
            "the model only reads gain from that cache.",
        ),
        Exhibit(
            "variations",
            "stand-ins that differ in one thing",
            reading.varied,
            "What a trace asks for beyond its size and its mix decides where our numbers lie. A quarter of the space "
            "of Financial-like is used in order and goes past the cache, so that with 3.8 GiB all else fits into 70 % "
            "of the flash, and no larger share costs anything; with a third more space 3.8 GiB go through the cache. "
            "More skewed, 95 % of Home-like's requests are for a quarter of its space, where it was 90 %. Less "
            "skewed, the popularity of what the servers ask for falls with the rank to the power of 0.7, where it was "
            "0.99: then each share of the flash adds about as many hits as the one before, a larger cache pays "
            "longer, and erases rise as the paper describes it, slightly up to 70 % and sharply beyond.",
        ),
        Exhibit(
            "division",
            "what dividing everything changes",
            reading.divided,
            "Flash, segment, period, address spaces and numbers of requests are divided alike, and requests come as "
            "often. These runs were done both ways. Of Financial-like a smaller device keeps less: popularity falls "
            "with the rank to the power of 1.1, so that the most popular of few pages have a smaller share of the "
            "requests than those of many.",
        ),
        Exhibit(
            "workloads",
            "what is asked of which device",
            reading.devices,
            "Counted in OP-FCL's runs. The tracker finds a page in its two lists by an index of all pages of the disk, "
            "4 bytes for each in either list, so that its share grows with the disk; the paper's roughly 1 % is of the "
            "lists.",
        ),
    ),
    claims=tuple(claims()),
    open_questions=_OPEN_QUESTIONS,
)
