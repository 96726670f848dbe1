"""The page on how true coflash is: all errors in a table, then each drive with its figure and with what is missed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from coflash._core import __version__
from coflash.calibrate.fit import Fit, Prediction
from coflash.calibrate.measured import Point
from coflash.calibrate.page import ERRORS, POINTS, error_rows, plain, point_rows, table, verdict
from coflash_reproduce.truth.drives import BELOW_KNEE, FITTED, UNSTEADY
from coflash_reproduce.truth.others import Other

COLUMNS: Mapping[str, Callable[[Point], bool]] = {
    "WAF": lambda point: point.measure == "waf" and point.pattern.kind != "zones",
    "throughput": lambda point: point.measure == "write_mib_per_s" and point.pattern.kind != "zones",
    "zones": lambda point: point.pattern.kind == "zones",
    "onset of GC": lambda point: point.measure == "gc_onset",
    "knee": lambda point: point.measure == "writes_max_per_s",
    "median read": lambda point: point.measure == "read_p50_us",
}
"""The columns of the table of all errors, each with the points that belong to it."""

ZONES = (
    "Zones: which zones die when is drawn anew in each run, and superblocks and zones lie differently in each: "
    "where few are open, a second run may differ as much. The counters of NAND writes during such runs would decide it."
)
TAILS = (
    "High percentiles: erases, reads that are tried again and the firmware's own work are not in the model. A run of "
    "reads at a low rate beside writes at several rates, with all latencies, would show which of them it is."
)
MISSED: Mapping[str, Sequence[str]] = {
    "PE8110": (ZONES,),
    "PM9A3": (
        "The same throughput to three digits from uniform writes to zipf 0.4 looks like a limit of the rate by the "
        "firmware or by power; the WAF log would tell whether the flash is idle meanwhile. The knee under reads is 7 % "
        "higher than the throughput of the other series.",
        ZONES,
        TAILS,
    ),
    "WD": (
        "With nine tenths of the pages read-only less is gained than cost-benefit would; with the root of the age in "
        "its place as much is gained as was measured, but the fitted points do not tell the two apart. Longer runs "
        "with read-only pages would decide it; they were not steady. Zones look as if GC's copies shared "
        "blocks with host writes, writes under skew as if they did not.",
        ZONES,
        TAILS,
    ),
    "P5520": (
        "Two series of uniform writes differ by 7 to 11 % (454, 471 and 507 MiB/s in the source), so that no model can "
        "be nearer to all. WAF in the first quarter pass depends on the reserve that idle time left. Hot "
        "pages that lie "
        "together raise the real WAF by 15 %, as if data of one superblock were not kept together; which "
        "pages are placed "
        "together would be seen by trimming one range and watching the WAF.",
        "GC that frees blocks while the drive is idle is fitted to zones alone. It explains both why these are slower "
        "than uniform writes, and why the median read is slow from a quarter of the load on. Runs at low rates may end "
        "before the blocks that are free at their beginning are used up: the NAND counters would show when.",
        ZONES,
        TAILS,
    ),
    "7450 MAX": (
        "The knee lies at 74 % of the throughput without reads: a few thousand reads a second cost this "
        "drive a quarter of "
        "its writes, others nothing. Its slow reads at 50,000 to 60,000 writes/s come back to normal above that. Both "
        "look like firmware; a sweep over the rate of reads at a fixed rate of writes would show the rule.",
        ZONES,
        TAILS,
    ),
    "CM7-R": (
        "With nine tenths read-only the drive writes at the pace of the host, which was not the flash's. "
        "Median reads are "
        "between two steps of the simulated distribution: page types alone spread them too little.",
        ZONES,
        TAILS,
    ),
    "PM9D3a (drive A)": (
        "The workload is taken to write every page once in each pass (fio's random map): truly random writes "
        "would give a "
        "WAF of more than 3 with this spare space. The replays of a cache on this drive need its trace and "
        "its placement, "
        "and are not predicted.",
    ),
}
"""The likeliest reason for what is missed, and the measurement that would decide it."""


def markdown(fits: Sequence[Fit], others: Sequence[Other]) -> str:
    """Write the page."""
    parts = [
        "# How true coflash is",
        "<!-- Written by `coflash truth TABLES`; every error below is computed from its runs. -->",
        f"`coflash truth TABLES` made this page (coflash {__version__}) from a document of published measurements of "
        f"{len(fits)} drives, which does not ship with coflash. Each drive is fitted on a few points by "
        "`coflash calibrate`; all others are predicted. The rule which points are fitted is the same for all: "
        f"at full use the patterns {', '.join(FITTED)}, the onset of GC, and medians of latency at the "
        "lowest rate "
        f"and the highest up to {BELOW_KNEE:.0%} of the most writes. Where NAND counters exist, the write "
        "amplification "
        "(WAF) of uniform and of sequential writes is fitted, too. Zones are trimmed when they are opened and written "
        "one request at a time, as the published scripts of the source do. The form of the model (that flash waits "
        "for the host between such requests, that GC may run ahead while a drive is idle, the list of victim policies) "
        "was chosen with all points of these drives in view: drives that are measured later are the harder test.",
        "## All errors of held-out points",
        "Each cell: points within the goal / held-out points, and the worst error. Goals: WAF 5 %, throughput 10 %, "
        "all others 15 %. Points whose throughput was not steady when it was measured are left out here and stand in "
        "the tables below.",
        table(("drive", "points", "fitted", *COLUMNS), [_row(fit) for fit in fits]),
        "Beside drives, in the same form:",
        table(("what", "points", "fitted", "worst error", "mean"), [other.row() for other in others]),
        *[part for fit in fits for part in _drive(fit)],
    ]
    return "\n\n".join(parts) + "\n"


def _row(fit: Fit) -> tuple[str, ...]:
    steady = [one for one in fit.predictions if not is_unsteady(fit.measured.name, one.point)]
    cells = []
    for belongs in COLUMNS.values():
        held = [one for one in steady if belongs(one.point) and one.point.held_out]
        worst = max((one.error for one in held), key=abs, default=None)
        within = sum(one.within for one in held)
        cells.append("–" if worst is None else f"{within} / {len(held)}, {worst:+.1%}".replace("-", "−"))
    points = fit.measured.points
    return (plain(fit.measured.name), str(len(points)), str(len(fit.measured.fitted)), *cells)


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
    missed = [one for one in fit.predictions if not one.within]
    if missed:
        yield "Missed points:"
        yield table(
            (*POINTS, ""), [(*row, _note(fit, one)) for row, one in zip(point_rows(missed), missed, strict=True)]
        )
    yield from MISSED.get(drive.name, ())


def _note(fit: Fit, one: Prediction) -> str:
    return "was not steady" if is_unsteady(fit.measured.name, one.point) else ""


def image_of(fit: Fit) -> str:
    """Return the file name of a drive's figure."""
    return "truth-" + re.sub(r"[^a-z0-9]+", "-", fit.measured.name.lower()).strip("-") + ".png"
