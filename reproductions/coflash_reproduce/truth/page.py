"""The page on how true coflash is: all errors in a table, then each drive with its figure and with what is missed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from coflash._core import __version__
from coflash.calibrate.fit import Fit, Prediction
from coflash.calibrate.measured import MEASURES, Point
from coflash.calibrate.page import ERRORS, POINTS, error_rows, plain, point_rows, table, verdict
from coflash_reproduce.truth.drives import BELOW_KNEE, FITTED, UNSTEADY
from coflash_reproduce.truth.others import Other

KINDS = ("waf", "write_mib_per_s", "gc_onset", "writes_max_per_s", "read_p50_us")
_SHORT = ("WAF", "host writes", "onset of GC", "knee", "median read")

MISSED: Mapping[str, Sequence[str]] = {}


def markdown(fits: Sequence[Fit], others: Sequence[Other]) -> str:
    """Write the page."""
    parts = [
        "# How true coflash is",
        "<!-- Written by `coflash truth TABLES`; every error below is computed from its runs. -->",
        f"`coflash truth TABLES` made this page (coflash {__version__}) from a document of published measurements of "
        f"{len(fits)} drives, which does not ship with coflash. Each drive is fitted on a few points by "
        "`coflash calibrate`; all others are predicted. The rule which points are fitted is the same for all: "
        f"at full use the patterns {', '.join(FITTED)}, the onset of GC, and of each table of latencies the lowest rate "
        f"and the highest up to {BELOW_KNEE:.0%} of the most writes. Where NAND counters exist, the write amplification "
        "(WAF) of uniform and of sequential writes is fitted, too. The form of the model was chosen with these drives "
        "at hand: drives that are measured later are the harder test.",
        "## All errors of held-out points",
        "Each cell: points within the goal / held-out points, and the worst error. Goals: WAF 5 %, throughput 10 %, "
        "all others 15 %. Points whose throughput was not steady when it was measured are left out here and stand in "
        "the tables below.",
        table(("drive", "points", "fitted", *_SHORT), [_row(fit) for fit in fits]),
        "Beside drives, in the same form:",
        table(("what", "points", "fitted", "worst error", "mean"), [other.row() for other in others]),
        *[part for fit in fits for part in _drive(fit)],
    ]
    return "\n\n".join(parts) + "\n"


def _row(fit: Fit) -> tuple[str, ...]:
    steady = [one for one in fit.predictions if not is_unsteady(fit.measured.name, one.point)]
    cells = []
    for kind in KINDS:
        held = [one for one in steady if one.point.measure == kind and one.point.held_out]
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


def mean_error(predictions: Sequence[Prediction]) -> float:
    """Return the mean size of the errors."""
    return float(np.mean([abs(one.error) for one in predictions]))


assert set(KINDS) <= set(MEASURES)
