"""The page on how true coflash is: all errors in a table, then each drive with its figure and with what is missed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from coflash._core import REVISION, __version__
from coflash.calibrate.fit import Fit, Prediction
from coflash.calibrate.measured import Point
from coflash.calibrate.page import (
    ERRORS,
    POINTS,
    error_rows,
    latency_limit,
    missed_by,
    plain,
    point_rows,
    table,
    verdict,
)
from coflash_reproduce.truth import cache
from coflash_reproduce.truth.drives import BELOW_KNEE, FDP_DRIVE, FITTED, UNSTEADY
from coflash_reproduce.truth.others import Other

COLUMNS: Mapping[str, Callable[[Point], bool]] = {
    "WAF": lambda point: point.measure == "waf" and point.pattern.kind != "zones",
    "throughput": lambda point: point.measure == "write_mib_per_s" and point.pattern.kind != "zones",
    "zones": lambda point: point.pattern.kind == "zones",
    "onset of GC": lambda point: point.measure == "gc_onset",
    "knee": lambda point: point.measure == "writes_max_per_s",
    "median read": lambda point: point.measure == "read_p50_us",
    "read p99": lambda point: point.measure == "read_p99_us",
    "read p99.9": lambda point: point.measure == "read_p999_us",
}
"""The columns of the table of all errors, each with the points that belong to it."""
TAIL_COLUMNS = ("read p99", "read p99.9")
"""Those that are no goal: they follow from one time for each drive."""

ZONES = (
    "Zones: each run chooses the next zone at random, and zones begin at other places of superblocks in each run. With "
    "few open zones, a second measurement may differ by as much as is missed here. Counters of NAND writes during such "
    "runs would tell chance from an error of the model."
)
TAILS = (
    "High percentiles: those of reads follow from one time for each drive. Where they are predicted too high at the "
    "lowest rates, GC may have had nothing to do: these steps came last and wrote little. Those of writes are not in "
    "the model: a write is answered from the buffer, at once. What delays some of them is not published; a run of "
    "writes alone at a low rate, with the time of each, would show how often it happens."
)
MISSED: Mapping[str, Sequence[str]] = {
    "PE8110": (ZONES,),
    "PM9A3": (
        "The same throughput to three digits from uniform writes to zipf 0.4 looks like a limit of the rate by the "
        "firmware or by power; the WAF log would tell whether the flash is idle meanwhile. The knee under reads is 7 % "
        "higher than the throughput of the other series.",
        "Its zones are as slow as if trimmed pages were kept until they are overwritten. A trim of half the drive "
        "before uniform writes would show whether it is so. Its medians rise sooner than its load, as the 7450's do: "
        "GC that runs ahead while dies are idle explains both.",
        ZONES,
        TAILS,
    ),
    "WD": (
        "With nine tenths of the pages read-only less is gained than cost-benefit would; with the root of the age in "
        "its place as much is gained as was measured, but the fitted points do not tell the two apart. Longer runs "
        "with read-only pages would decide it; they were not steady. Zones look as if GC's copies shared "
        "blocks with host writes, writes under skew as if they did not. Wear levelling at a gap of 4 to 8 erases would "
        "explain the pages that are read-only, too (+4 to +13 %), and nothing that was fitted asks for it: the erases "
        "of the most and the least worn block would decide.",
        ZONES,
        TAILS,
    ),
    "P5520": (
        "Two series of uniform writes differ by 7 to 11 % (454, 471 and 507 MiB/s in the source), so that no model can "
        "be nearer to all. WAF in the first quarter pass depends on the reserve that idle time left. Hot pages that "
        "lie together raise the real WAF by 15 %; no policy of coflash makes a difference between them and scattered "
        "ones once the drive is steady. The series contradict each other: with greedy GC the throughput of zipf 0.8 "
        "and zipf 1 is predicted within 2 % and the WAF of hot pages that lie together within 3 %, while that of "
        "scattered ones is 12 % too high and read-only pages are up to 59 % too slow; with cost-benefit it is the "
        "other way round. Both series on one sample, with the NAND counters, would decide; and trimming one range "
        "would show which pages are placed together.",
        "GC that frees blocks while the drive is idle is fitted to zones alone. It explains both why these are slower "
        "than uniform writes, and why the median read is slow from a quarter of the load on. The speed of one zone of "
        "2, 4 or 8 GiB does not rise with its size (1076, 1161 and 983 MiB/s): no smooth model is near to all. Runs at "
        "low rates may end before the blocks that are free at their beginning are used up: the NAND counters would "
        "show when.",
        ZONES,
        TAILS,
    ),
    "7450 MAX": (
        "The knee lies at 74 % of the throughput without reads: a few thousand reads a second cost this "
        "drive a quarter of "
        "its writes, others nothing. That is 43 µs of the whole device for each read, about the time of a read: as if "
        "all dies of a stripe waited while one of them reads. Its slow reads at 50,000 to 60,000 writes/s come back to "
        "normal above that, which looks like firmware. A sweep over the rate of reads at a fixed rate of writes would "
        "show the rule of both.",
        ZONES,
        TAILS,
    ),
    "CM7-R": (
        "Static wear levelling is fitted to zipf 1, which was not steady, and explains read-only 0.9, which was held "
        "out: without it they are predicted 11 and 17 % too fast. The least and the most erases of a block, which the "
        "OCP log counts, would show whether it is so. Median reads are between two steps of the simulated "
        "distribution: page types alone spread them too little.",
        ZONES,
        TAILS,
    ),
    "PM9D3a (drive A)": (
        "The workload is taken to write every page once in each pass (fio's random map): truly random writes "
        "would give a "
        "WAF of more than 3 with this spare space.",
    ),
}
"""The likeliest reason for what is missed, and the measurement that would decide it."""


def markdown(fits: Sequence[Fit], others: Sequence[Other], caches: Sequence[cache.CachePrediction]) -> str:
    """Write the page."""
    parts = [
        "# How accurate coflash is",
        "<!-- Written by `coflash truth TABLES`; every error below is computed from its runs. -->",
        f"`coflash truth TABLES` made this page (coflash {__version__}, revision {REVISION} of results) "
        "from a document of published measurements of "
        f"{len(fits)} drives, which does not ship with coflash. Each drive is fitted on a few points by "
        "`coflash calibrate`; all others are predicted. The rule which points are fitted is the same for all: "
        f"at full use the patterns {', '.join(FITTED)}, the onset of GC, medians of latency at the lowest rate, the "
        "median of reads at the rate nearest to half of the most writes, and median and p99 of reads at the highest "
        f"rate up to {BELOW_KNEE:.0%} of the most writes. Where NAND counters "
        "exist, the write "
        "amplification "
        "(WAF) of uniform and of sequential writes is fitted, too. Zones are trimmed when they are opened and written "
        "one request at a time, as the published scripts of the source do; predictions of zones are means over three "
        "seeds. How far GC runs ahead while the drive is idle is fitted to zones where flash waits for the host "
        "between such requests, and to reads where it does not; trimmed pages are kept only where freed ones are off "
        "by more than twice the goal. Wear is levelled only where fitted writes under skew are missed without and met "
        "with it. "
        "The form of the model (that flash waits for the host between such requests, from which wait on GC may run "
        "ahead, that reads tell it elsewhere, that a drive may keep trimmed pages or level wear, that reads wait for "
        "an exponentially distributed time, at which rates latencies are fitted, how large blocks are, the list of "
        "victim policies) was chosen with all points of these drives in view: drives that are measured later are the "
        "harder test.",
        "## All errors of held-out points",
        "Each cell: points within the goal / held-out points, and the worst error. Goals: WAF 5 %, throughput 10 %, "
        "all others 15 %. Points whose throughput was not steady when it was measured are left out here and stand in "
        "the tables below. The last column names the groups with a point outside its goal, but for high percentiles.",
        table(("drive", "points", "fitted", *COLUMNS, "missed"), [_row(fit) for fit in fits]),
        *_latencies(fits),
        "Beside drives, in the same form:",
        table(("what", "points", "fitted", "worst error", "mean"), [other.row() for other in others]),
        *[part for fit in fits for part in _drive(fit)],
        *(_caches(caches) if caches else ()),
    ]
    return "\n\n".join(parts) + "\n"


def _latencies(fits: Sequence[Fit]) -> Iterator[str]:
    if missed := missed_by([one for fit in fits for one in fit.predictions]):
        yield (
            f"Over all drives, held-out latencies and most writes are missed: {missed}. The scenario of each drive "
            "states its own errors (`limits`), and results repeat them. The most writes are predicted as those without "
            "reads: reads cost some drives a part of them, and no other point tells how large a part."
        )


def _row(fit: Fit) -> tuple[str, ...]:
    steady = [one for one in fit.predictions if not is_unsteady(fit.measured.name, one.point)]
    cells, missed = [], []
    for name, belongs in COLUMNS.items():
        held = [one for one in steady if belongs(one.point) and one.point.held_out]
        worst = max((one.error for one in held), key=abs, default=None)
        within = sum(one.within for one in held)
        cells.append("–" if worst is None else f"{within} / {len(held)}, {worst:+.1%}".replace("-", "−"))
        if within < len(held) and name not in TAIL_COLUMNS:
            missed.append(name)
    points = fit.measured.points
    counts = (str(len(points)), str(len(fit.measured.fitted)))
    return (plain(fit.measured.name), *counts, *cells, ", ".join(missed) or "none")


def is_unsteady(drive: str, point: Point) -> bool:
    """Whether a throughput was not steady when it was measured."""
    return point.measure == "write_mib_per_s" and bool(
        re.fullmatch(UNSTEADY.get(drive, "(?!)"), str(point.pattern)) and point.initial == "sequential"
    )


def _drive(fit: Fit) -> Iterator[str]:
    drive = fit.measured
    yield f"## {plain(drive.name)}"
    yield f"Source: {drive.source}. {verdict(fit)}"
    yield f"![{plain(drive.name)}](images/{image_of(fit)})"
    yield "Fitted: " + "; ".join(f"{stage.finds} ({len(stage.points)} points)" for stage in fit.stages) + "."
    yield table(ERRORS, error_rows(fit.predictions))
    yield latency_limit(fit)
    missed = [one for one in fit.predictions if not one.within]
    if missed:
        yield "Missed points:"
        yield table(
            (*POINTS, ""), [(*row, _note(fit, one)) for row, one in zip(point_rows(missed), missed, strict=True)]
        )
    yield from MISSED.get(drive.name, ())


def _caches(caches: Sequence[cache.CachePrediction]) -> Iterator[str]:
    yield f"## A cache on {plain(FDP_DRIVE)}, with placement and without"
    yield (
        "Replays of CacheLib: small objects go to random pages of one region of the drive, all else to a log in the "
        "rest. Spare space is that of the fit to one stream; with FDP each of the two has a handle. The share of "
        "writes that goes to small objects is not published. It is fitted to the last fifth of one run of each trace "
        "with FDP; the runs without, and those with another region, are predicted. Runs whose region is not stated, "
        "or that had a noisy neighbour, are left out."
    )
    rows = cache.rows(caches)
    yield table(cache.COLUMNS, rows)
    yield (
        "The model's writes are as mixed from the first to the last; in the replays, GC without FDP begins later: a "
        "cache that is cold fills its log first, and its small objects later, so that whole runs are predicted too "
        "high. The share of kv2024 is not known, since with FDP and a small region WAF is 1 whatever it is: it is "
        "taken from kv202206, and its WAF was still falling when the run ended. The bytes that the cache wrote to "
        "each region, over time, would decide both."
    )


def _note(fit: Fit, one: Prediction) -> str:
    return "was not steady" if is_unsteady(fit.measured.name, one.point) else ""


def image_of(fit: Fit) -> str:
    """Return the file name of a drive's figure."""
    return "truth-" + re.sub(r"[^a-z0-9]+", "-", fit.measured.name.lower()).strip("-") + ".png"
