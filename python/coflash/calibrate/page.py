"""The page of a calibration: fitted parameters with reasons, errors of fitted and of held-out points."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

import numpy as np

from coflash import palette
from coflash.calibrate.fit import Fit, Prediction, goal
from coflash.calibrate.measured import LATENCIES, MEASURES, Point
from coflash.charts import Axis, Chart, Look, Row, lines, picture

_BY_RATE = ("read_p50_us", "write_p50_us")
_ROLES = {
    "fitted": Look(palette.LINES[0], marker="circle"),
    "held out": Look(palette.LINES[1], marker="circle", hollow=True),
}
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
    """Draw measured and predicted curves, if any, and the error of every point, as a PNG."""
    curves = [by for by in ("used", "writes_per_s") if len(_curve(fit, by)) > 2]
    rows = len({one.point.conditions() for one in fit.predictions})
    inches = 3.6, max(2.6, 0.16 * rows + 0.8)
    return picture([*(_drawn_curve(fit, by, inches) for by in curves), _errors_chart(fit, inches)], "png")


def _curve(fit: Fit, by: str) -> list[Prediction]:
    """Return the points of the curve over used space or over the rate."""
    if by == "used":
        return [
            p
            for p in fit.predictions
            if p.point.measure == "waf" and p.point.pattern.kind == "uniform" and p.point.is_steady
        ]
    return [p for p in fit.predictions if p.point.measure in _BY_RATE]


def _drawn_curve(fit: Fit, by: str, inches: tuple[float, float]) -> Chart:
    rows: list[Row] = []
    styles: dict[str, Look] = {}
    for index, measure in enumerate(dict.fromkeys(each.point.measure for each in _curve(fit, by))):
        members = [each for each in _curve(fit, by) if each.point.measure == measure]
        label, colour = MEASURES[measure].label, palette.LINES[index]
        styles[label] = Look(colour)
        for each in sorted(members, key=lambda each: float(getattr(each.point, by))):
            role = "held out" if each.point.held_out else "fitted"
            name, at = f"{label}, measured, {role}", getattr(each.point, by)
            styles[name] = _ROLES[role]._replace(colour=colour)
            rows += [{"x": at, "y": each.value, "name": label}]
            rows += [{"x": at, "y": each.point.value, "name": name, "part": len(rows)}]
    if by == "used":
        across, up = Axis("used part of the capacity"), Axis(MEASURES["waf"].label, low=1)
    else:
        across, up = Axis("writes per second"), Axis("latency, µs", log=10)
    return lines(rows, across, up, styles=styles, inches=inches)


def _errors_chart(fit: Fit, inches: tuple[float, float]) -> Chart:
    labels = list(dict.fromkeys(each.point.conditions() for each in fit.predictions))
    places = {float(-at): label for at, label in enumerate(labels)}
    rows: list[Row] = [
        {
            "x": _symmetric(100 * each.error),
            "y": float(-labels.index(each.point.conditions())),
            "name": "held out" if each.point.held_out else "fitted",
            "part": part,
        }
        for part, each in enumerate(fit.predictions)
    ]
    far = [row["x"] for row in rows]
    ticks = [tick for tick in _TICKS_PERCENT if min(far) <= _symmetric(tick) <= max(far) or not tick]
    across = Axis("error (%)", ticks={_symmetric(tick): f"{tick:+d}" if tick else "0" for tick in ticks})
    return lines(rows, across, Axis("", ticks=places), styles=_ROLES, rules=[(0.0, "")], inches=inches)


def _symmetric(percent: float) -> float:
    """Return the place of an error: linear up to 10 %, and logarithmic beyond."""
    return percent / 10 if abs(percent) <= 10 else math.copysign(1 + math.log10(abs(percent) / 10), percent)


def _kind(point: Point) -> str:
    return f"{point.pattern.kind} writes" if point.writes_per_s is None else "latencies"


def _named(point: Point) -> str:
    return f"{MEASURES[point.measure].label}: {point.conditions()}"


def _percent(error: float) -> str:
    return f"{error:+.1%}".replace("-", "−")
