"""The ShadowGC paper.

Source of its numbers: the publication named in `PAPER`. What it leaves open is on the page.
"""

from __future__ import annotations

from coflash.measures import Measure
from coflash.reproduce.paper import Exhibit, Figure, Notes, Paper
from coflash.reproduce.shadowgc import reading
from coflash.reproduce.shadowgc.workloads import (
    DELAY,
    DGC,
    GGC,
    HGC,
    SEPARATION,
    SGC,
    WORKLOADS,
    ZGC,
    by_device,
    experiments,
)


def _by_host(
    name: str, title: str, measure: Measure, only: tuple[str, ...], differs: str, notes: Notes = lambda _: ()
) -> Figure:
    axis, differs = reading.HOST_AXIS, f"The axis does not begin at 0. {differs}"
    return Figure(name, title, measure, axis, WORKLOADS, differs, baseline=GGC, from_zero=False, only=only, notes=notes)


_OPEN_QUESTIONS = (
    "**Traces.** The paper's 15 are volumes of MSR Cambridge and traces of UMass, which may not ship. Each "
    "`--trace FILE` replays one as a workload of its own, beside a PostgreSQL trace recorded for this "
    "project and three "
    "generators, which stand in for them.",
    "**Double caching.** Such traces were recorded below a host's cache. What is written twice within a short time was "
    "absorbed before it was recorded, and the second host's buffer finds less of it than a real one "
    "would. The table on "
    "double caching shows both kinds: the recorded trace was taken below PostgreSQL's cache and the file system's, the "
    "generators are below none.",
    "**Flushes.** MSR's traces have none. The recorded one has them, and each writes all that is dirty in the host to "
    "flash, by way of the device: there is next to nothing that could be a shadow for long.",
    "**The host's buffer.** Its size is not stated. 64 MiB to 1 GiB for 1 TiB of flash are taken for the paper's, and "
    "the numbers held against its averages are means over these; 8 GiB is drawn beside them. A page is written after "
    "30 s at the latest, as in Linux.",
    "**GC latency.** Whether it is of one collection or of all is not known to us. It is all time that dies spend on "
    "GC, for each page that is written to the device, so that each scheme has the same work.",
    "**Parallelism.** Channels, chips and planes are not stated. They matter: each plane keeps free and open blocks of "
    "its own out of its spare space.",
    "**Seeds.** Each run has one: differences of about a percent may be chance.",
    "**Delay.** How far shadows put a block off is not known to us: each counts twice (λ = 1).",
)

PAPER = Paper(
    name="shadowgc",
    title="ShadowGC, reproduced",
    source="“ShadowGC: Cooperative Garbage Collection with Multi-level Buffer for Performance Improvement in NAND "
    "flash-based SSDs”, DATE 2018",
    idea="The host has a write buffer, and the device has one. A flash page is a shadow if its logical page is dirty "
    "in either: it will soon be replaced. GC that knows nothing of them is GGC. ZGC puts blocks with host-shadows off "
    "and moves host-shadows to blocks of their own; HGC moves them to blocks of their own by fast programs; DGC takes "
    "device-shadows from the buffer, which need not be written again; SGC is HGC and DGC, and what is dirty in both "
    "buffers is not written by the device.",
    scales={
        "quick": "The device has two of the 16 planes of `shadowgc-64g`, each as large: 8 GiB. Buffers have the "
        "paper's shares of the flash and are called as in the paper; requests come as often for each die.",
        "full": "The device is `shadowgc-64g`, a sixteenth of the paper's. Buffers have the paper's shares of the "
        "flash and are called as in the paper.",
    },
    experiments=experiments,
    exhibits=(
        Figure(
            "figure-1",
            "written footprint against writes",
            reading.FOOTPRINT,
            reading.WRITTEN_AXIS,
            reading.RECORDED,
            "Of the recorded trace, once through, in pages of 16 KiB; the paper shows its own traces.",
            lines=reading.growth,
            notes=reading.about_footprint,
        ),
        _by_host(
            "figure-2",
            "WAF of greedy, with delay, with separation, with both (zombies), by host buffer",
            reading.WAF,
            (GGC, DELAY, SEPARATION, ZGC),
            "The paper shows it to motivate ShadowGC, on its own traces.",
            reading.about_room,
        ),
        _by_host(
            "figure-6",
            "WAF by workload and scheme, by host buffer",
            reading.WAF,
            (GGC, ZGC, HGC, DGC, SGC),
            "The paper has a bar for each trace at one size of the host's buffer, which it does not state.",
            reading.about_sizes,
        ),
        Exhibit(
            "schemes",
            "change of WAF against GGC, by workload",
            reading.by_scheme,
            "Means over host buffers of 64 MiB to 1 GiB on 1 TiB. The recorded trace and the generators stand in "
            "for the "
            "paper's traces, and the device is smaller: what blocks of their own cost here (figure 2) is about what "
            "they save with buffers of these sizes.",
        ),
        _by_host(
            "figure-7",
            "GC time for a page written to the device, by host buffer",
            reading.GC_TIME,
            (GGC, ZGC, HGC, DGC, SGC),
            "The paper's measure of GC latency is not known to us; fast programs shorten GC only by as many "
            "host-shadows as it moves.",
        ),
        Figure(
            "figure-8",
            "shadows among the pages that GC moved under SGC, by host buffer",
            reading.SHADOWS,
            reading.HOST_AXIS,
            WORKLOADS,
            "Counted when a page is moved; the rest were in neither buffer.",
            lines=reading.kinds,
            notes=reading.about_kinds,
        ),
        Figure(
            "device-buffer",
            "WAF by device buffer, with a host buffer of 256 MiB on 1 TiB",
            reading.WAF,
            reading.DEVICE_AXIS,
            tuple(map(by_device, WORKLOADS)),
            "The paper's device has 128 MB, 0.012 % of its flash.",
            baseline=GGC,
            notes=reading.about_device,
        ),
        Exhibit(
            "double-caching",
            "the same workloads with and without a host buffer",
            reading.double_caching,
            "WAF by pages written to the device, changes against GGC. What the host's buffer absorbs the "
            "device's buffer "
            "would have absorbed: behind it, that finds little left, and more of the pages written to the device are "
            "programmed. A trace recorded below a cache has been through this once. The recorded one gains "
            "nothing by the "
            "second buffer, both for that reason and because its flushes write what is dirty at once.",
        ),
        Exhibit("sizes", "device and workloads", reading.sizes, "With a host buffer of 256 MiB on 1 TiB."),
    ),
    claims=tuple(reading.claims()),
    open_questions=_OPEN_QUESTIONS,
)
