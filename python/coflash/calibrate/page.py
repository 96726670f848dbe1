"""The page of a calibration: fitted parameters with reasons, errors of fitted and of held-out points."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from coflash import palette
from coflash.calibrate.fit import Fit, Prediction, goal
from coflash.calibrate.measured import LATENCIES, MEASURES, Point
from coflash.figures.style import picture, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BY_RATE = ("read_p50_us", "write_p50_us")
_FILLED, _OPEN = palette.LINES[0], palette.LINES[1]
_TICKS_PERCENT = (-100, -30, -10, -5, 0, 5, 10, 30, 100, 300)
"""The ticks of the axis of errors, which is linear up to 10 % and logarithmic beyond."""

LIMITS = (
    "A limit of the rate that is not the flash's (power, firmware): throughput is then the same for all patterns.",
    "Victim policies and data placement that are not among those tried.",
    "Writes that end before the write amplification is steady: the state after the fill is only one of three.",
    "Firmware that delays reads or writes at some rates, or programs that let some reads pass: one time, that of a "
    "program, is fitted to all reads. Where half of them begin to wait, medians of drives may rise in a step.",
    "Reads that slow writes down: the most writes are predicted as those without reads.",
    "Writes larger than 4 KiB but for zones, and, without zones that were written one at a time, GC while the drive is "
    "idle.",
)
"""The limits of the model."""


def markdown(fit: Fit, image: str) -> str:
    """Write the page.

    Args:
        fit: The fitted drive.
        image: The file of its figure, as the page refers to it.
    """
    drive = fit.measured
    parts = [
        f"# {plain(drive.name)}",
        *([f"Source: {plain(drive.source)}."] if drive.source else []),
        verdict(fit),
        "## Errors",
        "Relative errors of predictions. Held-out points took no part in the fit.",
        table(ERRORS, error_rows(fit.predictions)),
        latency_limit(fit),
        f"![Measured, predicted, and the errors]({image})",
        "## Fitted",
        table(
            ("parameter", "why", "points"),
            [(stage.finds, stage.reason, "; ".join(_named(p) for p in stage.points)) for stage in fit.stages],
        ),
        "## Points",
        table(POINTS, point_rows(fit.predictions)),
        "## What the model cannot express",
        "\n".join(f"- {limit}" for limit in LIMITS),
    ]
    return "\n\n".join(parts) + "\n"


def verdict(fit: Fit) -> str:
    """Write a sentence or two on how well the held-out points are predicted, and whether the model fits at all."""
    held = [one for one in fit.predictions if one.point.held_out]
    parts = []
    if fit.misfits:
        worst = max(fit.misfits, key=lambda one: abs(one.error))
        kinds = " and ".join(dict.fromkeys(_kind(one.point) for one in fit.misfits))
        what = "this drive" if fit.is_refused else f"this drive's {kinds}"
        parts.append(
            f"**The model does not fit {what}**: {_named(worst.point)} was fitted and is still off by "
            f"{_percent(worst.error)}."
        )
    if held:
        parts.append(
            f"Of {len(held)} held-out points {sum(one.within for one in held)} are predicted within their goal."
        )
    else:
        parts.append("No point was held out: how well the scenario predicts is not known.")
    return " ".join(parts)


def latency_limit(fit: Fit) -> str:
    """Write how far response times of the drive's scenario are to be believed."""
    if math.isnan(fit.model.parameters.program_us):
        return "The drive was calibrated without latencies: response times are not those of the drive."
    rates = [one.point.writes_per_s for one in fit.predictions if one.point.writes_per_s is not None]
    missed = missed_by(fit.predictions)
    calibrated = f"Response times were calibrated at {min(rates):,.0f} to {max(rates):,.0f} writes/s. " if rates else ""
    return calibrated + (
        f"Measurements of the drive that were held out are missed: {missed}."
        if missed
        else "No latency was held out: how far they are off is not known."
    )


def missed_by(predictions: Sequence[Prediction]) -> str:
    """Write the least and the greatest error of held-out latencies, and of the most writes."""
    parts = []
    for measure in (*LATENCIES, "writes_max_per_s"):
        errors = [one.error for one in predictions if one.point.measure == measure and one.point.held_out]
        if errors:
            bounds = " to ".join(dict.fromkeys(_percent(error) for error in (min(errors), max(errors))))
            parts.append(f"{MEASURES[measure].label.removesuffix(', µs')} by {bounds}")
    return ", ".join(parts)


ERRORS = ("measure", "goal", "held out", "worst", "mean", "within goal", "fitted", "worst", "mean")


def error_rows(predictions: Sequence[Prediction]) -> Iterator[tuple[str, ...]]:
    """Yield a row of errors for each measure: of held-out and of fitted points."""
    for measure, quantity in MEASURES.items():
        of = [one for one in predictions if one.point.measure == measure]
        held, fitted = ([one for one in of if one.point.held_out is wanted] for wanted in (True, False))
        if of:
            within = f"{sum(one.within for one in held)} of {len(held)}" if held else "–"
            yield (quantity.label, f"{goal(measure):.0%}", *_errors(held), within, *_errors(fitted))


def _errors(of: Sequence[Prediction]) -> tuple[str, str, str]:
    """Return the number of points, the worst error and the mean absolute error."""
    if not of:
        return ("0", "–", "–")
    worst = max((one.error for one in of), key=abs)
    return (str(len(of)), _percent(worst), f"{np.mean([abs(one.error) for one in of]):.1%}")


POINTS = ("measure", "conditions", "measured", "predicted", "error", "")


def point_rows(predictions: Sequence[Prediction]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each point."""
    for one in predictions:
        numbers = (f"{one.point.value:.4g}", f"{one.value:.4g}", _percent(one.error))
        role = "held out" if one.point.held_out else "fitted"
        yield (MEASURES[one.point.measure].label, one.point.conditions(), *numbers, role)


def table(columns: Sequence[str], rows: Iterator[tuple[str, ...]] | Sequence[tuple[str, ...]]) -> str:
    """Write a table in Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (columns, ["---"] * len(columns), *rows))


def plain(text: str) -> str:
    """Escape a user's text for Markdown."""
    return re.sub(r"([\\|*_`<>\[\]#~])", r"\\\1", " ".join(text.split()))


def figure(fit: Fit) -> bytes:
    """Draw measured and predicted curves, if any, and the error of every point, as a PNG.

    Raises:
        CoflashError: matplotlib is missing.
    """
    curves = [by for by in ("used", "writes_per_s") if len(_curve(fit, by)) > 2]
    with style(2):
        from matplotlib.figure import Figure

        rows = len({one.point.conditions() for one in fit.predictions})
        canvas = Figure(figsize=(3.6 * (1 + len(curves)), max(2.6, 0.16 * rows + 0.8)), layout="constrained")
        panels = canvas.subplots(1, 1 + len(curves), squeeze=False)[0]
        for axes, by in zip(panels, curves, strict=False):
            _draw_curve(axes, fit, by)
        _draw_errors(panels[-1], fit)
        return picture(canvas, "png")


def _curve(fit: Fit, by: str) -> list[Prediction]:
    """Return the points of the curve over used space or over the rate."""
    if by == "used":
        return [
            p
            for p in fit.predictions
            if p.point.measure == "waf" and p.point.pattern.kind == "uniform" and p.point.is_steady
        ]
    return [p for p in fit.predictions if p.point.measure in _BY_RATE]


def _draw_curve(axes: Axes, fit: Fit, by: str) -> None:
    points = _curve(fit, by)
    for index, measure in enumerate(dict.fromkeys(one.point.measure for one in points)):
        of = sorted((one for one in points if one.point.measure == measure), key=lambda one: getattr(one.point, by))
        colour = palette.LINES[index]
        axes.plot(
            [getattr(o.point, by) for o in of], [o.value for o in of], color=colour, label=MEASURES[measure].label
        )
        for held in (False, True):
            shown = [o for o in of if o.point.held_out is held]
            axes.plot(
                [getattr(o.point, by) for o in shown],
                [o.point.value for o in shown],
                linestyle="none",
                marker="o",
                color=colour,
                fillstyle="none" if held else "full",
                label=f"measured, {'held out' if held else 'fitted'}" if shown else None,
            )
    axes.set_xlabel("used part of the capacity" if by == "used" else "writes per second")
    axes.set_ylabel(MEASURES["waf"].label if by == "used" else "latency, µs")
    if by != "used":
        axes.set_yscale("log")
    axes.legend()
    axes.grid(axis="y")


def _draw_errors(axes: Axes, fit: Fit) -> None:
    labels = list(dict.fromkeys(one.point.conditions() for one in fit.predictions))
    for held, colour in ((False, _FILLED), (True, _OPEN)):
        of = [one for one in fit.predictions if one.point.held_out is held]
        axes.plot(
            [100 * one.error for one in of],
            [labels.index(one.point.conditions()) for one in of],
            linestyle="none",
            marker="o",
            fillstyle="none" if held else "full",
            color=colour,
            label="held out" if held else "fitted",
        )
    axes.axvline(0, color="#555555", linewidth=0.6)
    axes.set_yticks(range(len(labels)), labels, fontsize=5.5)
    axes.invert_yaxis()
    axes.set_xscale("symlog", linthresh=10)
    low, high = axes.get_xlim()
    axes.set_xticks([percent for percent in _TICKS_PERCENT if low <= percent <= high])
    axes.xaxis.set_major_formatter("{x:+g}")
    axes.set_xlabel("error (%)")
    axes.legend(loc="best")
    axes.grid(axis="x")


def _kind(point: Point) -> str:
    return f"{point.pattern.kind} writes" if point.writes_per_s is None else "latencies"


def _named(point: Point) -> str:
    return f"{MEASURES[point.measure].label}: {point.conditions()}"


def _percent(error: float) -> str:
    return f"{error:+.1%}".replace("-", "−")
