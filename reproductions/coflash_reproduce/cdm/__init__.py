"""The CDM paper.

Source of its numbers: the publication named in `PAPER`, sections 2 and 5. The page lists its open questions.
"""

from __future__ import annotations

from coflash.measures.measure import COPIED, MEAN, STDDEV, WAF_HOST, Measure
from coflash_reproduce.cdm import reading
from coflash_reproduce.cdm.claims import claims
from coflash_reproduce.cdm.workloads import (
    ADAPTIVE,
    BASELINE,
    CACHED,
    CDM,
    CONSISTENT,
    ON_CACHE,
    OVERWRITES,
    REMOVABLE,
    VARIED,
    WEIGHT_0,
    experiments,
)
from coflash_reproduce.paper import Axis, Exhibit, Figure, Notes, Paper


def _by_cache(name: str, title: str, measure: Measure, differs: str, notes: Notes = lambda _: ()) -> Figure:
    axis, only = reading.CACHE_AXIS, (BASELINE, CDM, ADAPTIVE)
    return Figure(name, title, measure, axis, CACHED, differs, baseline=BASELINE, only=only, notes=notes)


_OPEN_QUESTIONS = (
    "**JEDEC.** The client trace is licensed. The substitute has its shares of writes, trims and flushes with the "
    "zones and sizes of JEDEC's enterprise workload; it lacks the order of the real one, its sequential runs, and "
    "trims of what was written before. The paper's savings imply a workload that leaves the device emptier and is "
    "less skewed: the second stand-in writes uniformly to 14 GiB, in pages of 4 KiB that are drawn anew in each "
    "round, with the same shares of operations.",
    "**OLTP.** The paper does not name its trace; 9,034,179 requests are almost surely Financial1 and Financial2 of "
    "the UMass repository. `--trace Financial1.spc --trace Financial2.spc` replays them. Without them there are two "
    "stand-ins: a generator in the shape of Financial1, and a PostgreSQL trace recorded for this project, on a "
    "device of which it touches the share that OLTP has of the paper's. The generator has the share of reads of the "
    "paper's table 1, 52 %, where Financial1 has 23 % and both traces together less than half: the paper's two shares "
    "may have changed places.",
    "**31.2 and 30.7 GB.** Taken as the address spaces here. They may be what is read and written: 30.7 GB over "
    "9,034,179 requests are 3.4 KB each, the mean size in Financial1. The footprints were then smaller, and so was "
    "WAF.",
    "**Repeating.** Each workload is repeated ten times; here that is the same requests in the same order. What is "
    "written together is then overwritten together, and cleaning is easier than with as many requests drawn anew.",
    "**Cache sizes.** Those of figures 6 to 9 are our choice: 256 MiB to 16 GiB on 64 GiB, and the same shares "
    "elsewhere.",
    "**What a removable page costs.** Not said. A removable page counts as any other in a victim's cost here "
    "(`removable_weight = 1`); the further line learns the weight from what becomes of dropped pages. JEDEC never "
    "reads, so it has no removable pages.",
    "**Arrival times.** Those of the paper's traces are unknown. JEDEC and the workloads without a cache arrive at "
    "intervals uniform in 0 to 1 ms, the uniform stand-in for JEDEC in 0 to 4 ms, the generator for OLTP at random "
    "with Financial1's mean of 8.19 ms, pgbench from 8 clients that wait for answers. Response times and their changes "
    "depend on it.",
    "**Capacities of figure 1.** Not known to us: 32 to 64 GiB in steps of 8 for (a) and (b), 36 to 128 GiB for (c) "
    "and (d).",
    "**NVM.** 1 µs for each page read or written; the paper's is not known to us.",
    "**Statements that do not hold, or in direction only, and why.** The mean of figure 1 (c) and (d) is one over "
    "capacities that are not known: below that figure is the mean from each capacity on. Changes of copies, WAF and "
    "responses are means over cache sizes that are not known either: the table of cache sizes has them for other "
    "choices. OLTP (generator) has no copies left in the largest caches, under NVM-basic too, and so CDM has nothing "
    "to save there: its least change is none, and its saving of WAF does not grow. Too much of what it asks for is "
    "hot. That of pgbench falls again with the two largest caches, which leave few copies. WAF against random writes: "
    "it is a matter of the share of the device that is written to, 20 GiB by random writes, 14 and 29 GiB by the "
    "stand-ins. `coflash reproduce cdm --infer` searches footprints, skews and cache sizes that give the paper's "
    "numbers, with CDM as it is here: for both traces there are such.",
)

PAPER = Paper(
    name="cdm",
    title="Cooperative data management (CDM), reproduced",
    source="E. Lee, J. Kim, H. Bahn and S. H. Noh, “Reducing Write Amplification of Flash Storage through "
    "Cooperative Data Management with NVM”, MSST 2016",
    idea="An SSD has a non-volatile cache. Under NVM-basic flash knows nothing of it. Under CDM a flash page is "
    "invalid as soon as its cached copy is dirty, and removable while a clean copy is cached: garbage collection "
    "need not copy it.",
    scales={
        "quick": "Capacities, caches, address spaces and numbers of requests are a sixteenth of the paper's; all "
        "shares are kept. Capacities are called as in the paper. Under pgbench the device fits its trace.",
        "full": "The device has 64 GiB of flash as in the paper; under pgbench it fits its trace. What is compared "
        "with itself alone (figure 1 (c) and (d), the variants of CDM, the write buffer in the host) runs on a "
        "sixteenth of it, with all shares kept.",
    },
    experiments=experiments,
    exhibits=(
        Figure(
            "figure-1",
            "WAF by workload and capacity, without a cache",
            WAF_HOST,
            reading.CAPACITY_AXIS,
            ("capacity",),
            "Sequential writes end above 1 because each block's summary is a program, too, which the paper may not "
            "count.",
            beside=reading.theory,
            notes=reading.about_capacity,
        ),
        Figure(
            "figure-1-cd",
            "WAF of the stand-ins for JEDEC and OLTP by capacity, without a cache",
            WAF_HOST,
            reading.CAPACITY_AXIS,
            ("live-capacity",),
            "The paper's capacities are not known to us; the smallest here just holds JEDEC's address space. WAF is a "
            "matter of the share of the flash that is written to, and how evenly.",
            notes=reading.about_live,
        ),
        Figure(
            "figure-2",
            "WAF by the share of random writes, 32 GiB, without a cache",
            WAF_HOST,
            Axis("random writes", "%"),
            ("random-share",),
            "The paper does not say how random and sequential writes mix. In DiskSim, which it used, a sequential "
            "request goes on where the last one ended, so each random one begins a run; were there one stream with "
            "random writes in between, it would overwrite whole blocks in order, and WAF would stay low for longer.",
            notes=reading.about_random_share,
        ),
        _by_cache(
            "figure-6",
            "Pages copied, by cache size",
            COPIED,
            "How many copies are left to save depends on footprint and skew, which the substitutes do not share with "
            "the paper's traces.",
            lambda runs: [*reading.about_sizes(runs), *reading.about_weight(runs)],
        ),
        _by_cache(
            "figure-7",
            "WAF, by cache size",
            WAF_HOST,
            "WAF is by pages that the host wrote; a cache that absorbs writes takes it below 1.",
            reading.about_copies,
        ),
        _by_cache(
            "figure-8",
            "Mean response, by cache size",
            MEAN,
            "It depends on the load, and the paper's arrival times are unknown to us.",
            reading.about_load,
        ),
        _by_cache(
            "figure-9",
            "Standard deviation of the response, by cache size",
            STDDEV,
            "It follows GC's pauses and the bursts that wait behind them; the paper's bursts are unknown to us.",
        ),
        Exhibit(
            "cache-sizes",
            "CDM against NVM-basic, means over several choices of cache sizes",
            reading.by_sizes,
            "The paper does not say which sizes its averages are over. Its savings of copies and of WAF together imply "
            "sizes at whose upper end hardly any copies are left.",
            notes=reading.about_by_sizes,
        ),
        Figure(
            "variants",
            "WAF by half of CDM, and of other readings",
            WAF_HOST,
            reading.CACHE_AXIS,
            VARIED,
            "CDM saves in two ways: flash learns at once that a page was overwritten (“overwritten pages only”), and "
            "need not copy what is cached clean (“removable pages only”). “Invalid when cached” is what the paper "
            "argues against: each eviction is a write. “Consistent CDM” is the paper's model with commits and "
            "checkpoints; “weight 0” has a removable page cost a victim nothing, and the adaptive weight is what it is "
            "expected to cost. Generated workloads are run on a sixteenth of the device here. JEDEC never reads, so "
            "that its CDM is the first half.",
            baseline=BASELINE,
            only=(BASELINE, CDM, OVERWRITES, REMOVABLE, ON_CACHE, CONSISTENT, WEIGHT_0, ADAPTIVE),
            notes=reading.about_parts,
        ),
        Exhibit(
            "two-ways",
            "what CDM spares, in two ways",
            reading.spared,
            "Spared: pages of victims that were invalid only because the cache had announced newer data, and had not "
            "written it yet; without that they would have been copied. Dropped: removable pages of victims; those "
            "that leave the cache unmodified are rewritten. Both are counted in the victims that CDM picks. They do "
            "not add up to the difference of the copies: without the knowledge GC would pick other victims, and later, "
            "when more pages are invalid anyway.",
            notes=reading.about_spared,
        ),
        Exhibit(
            "two-buffers",
            "a write buffer in the host above the cache",
            reading.two_buffers,
            "OLTP (generator) over a cache of 3.12 % of the flash, below a volatile write buffer in the host whose "
            "pages may stay dirty for any time. HGC knows what is dirty in the host, DGC what is dirty in the device, "
            "SGC both (its cache is volatile: another device), CDM what the cache holds; “CDM and HGC” knows both. "
            "Changes are against NVM-basic. The device has four planes as large as the paper's, of which blocks for "
            "what is dirty in the host take an open one and one in reserve.",
            notes=reading.about_buffers,
        ),
        Exhibit(
            "table-1",
            "Device and workloads",
            reading.characteristics,
            "Empty: the same as ours by our reading of the reference device, or unknown to us.",
        ),
        Exhibit(
            "theory",
            "figure 1 against closed forms",
            reading.against_theory,
            "Random writes that are never repeated, against greedy collection of uniform writes "
            "(`coflash.analytic.greedy`), with what is never written in blocks of its own.",
        ),
    ),
    claims=tuple(claims()),
    open_questions=_OPEN_QUESTIONS,
)
