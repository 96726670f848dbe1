"""The page on how true coflash is: all errors in a table, then each drive with its figure and with what is missed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from coflash._core import REVISION, __version__
from coflash.calibrate import page
from coflash.calibrate.fit import Fit
from coflash.calibrate.measured import Point
from coflash_reproduce.text import Text
from coflash_reproduce.truth import cache
from coflash_reproduce.truth.drives import FDP_DRIVE, is_unsteady
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

TEXT = Text.beside(__file__, {})
"""Sections named after drives have the likeliest reasons for what is missed, and what measurement would decide."""


def markdown(fits: Sequence[Fit], others: Sequence[Other], caches: Sequence[cache.CachePrediction]) -> str:
    """Write the page."""
    parts = [
        f"# {TEXT.title}",
        "<!-- Written by `coflash truth`; every error below is computed from its runs. -->",
        f"`coflash truth` made this page (coflash {__version__}, revision {REVISION} of results) "
        f"from published measurements of {len(fits)} drives. " + TEXT.bodies["rule"],
        "## All errors of held-out points",
        TEXT.bodies["all errors"],
        page.table(("drive", "points", "fitted", *COLUMNS, "missed"), [_row(fit) for fit in fits]),
        *_latencies(fits),
        "Beside drives, in the same form:",
        page.table(("what", "points", "fitted", "worst error", "mean"), [other.row() for other in others]),
        *[part for fit in fits for part in _drive(fit)],
        *(_caches(caches) if caches else ()),
    ]
    return "\n\n".join(parts) + "\n"


def _latencies(fits: Sequence[Fit]) -> Iterator[str]:
    if missed := page.missed_by([one for fit in fits for one in fit.predictions]):
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
    return (page.plain(fit.measured.name), *counts, *cells, ", ".join(missed) or "none")


def _drive(fit: Fit) -> Iterator[str]:
    drive = fit.measured
    yield f"## {page.plain(drive.name)}"
    yield f"Source: {drive.source}. {page.verdict(fit)}"
    yield f"![{page.plain(drive.name)}](images/{image_of(fit)})"
    yield "Fitted: " + "; ".join(f"{stage.finds} ({len(stage.points)} points)" for stage in fit.stages) + "."
    yield page.table(page.ERRORS, page.error_rows(fit.predictions))
    yield page.latency_limit(fit)
    missed = [one for one in fit.predictions if not one.within]
    if missed:
        yield "Missed points:"
        unsteady = ("was not steady" * is_unsteady(drive.name, one.point) for one in missed)
        rows = zip(page.point_rows(missed), unsteady, strict=True)
        yield page.table((*page.POINTS, ""), [(*row, note) for row, note in rows])
    if drive.name in TEXT.bodies:
        yield TEXT.bodies[drive.name]


def _caches(caches: Sequence[cache.CachePrediction]) -> Iterator[str]:
    yield f"## A cache on {page.plain(FDP_DRIVE)}, with placement and without"
    yield TEXT.bodies["caches"]
    yield page.table(cache.COLUMNS, [row for one in caches for row in one.rows()])
    yield TEXT.bodies["caches missed"]


def image_of(fit: Fit) -> str:
    """Return the file name of a drive's figure."""
    return "truth-" + re.sub(r"[^a-z0-9]+", "-", fit.measured.name.lower()).strip("-") + ".png"
