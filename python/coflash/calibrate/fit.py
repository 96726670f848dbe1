"""The fit of a drive's parameters, in stages: each fits one or two unknowns to the points that depend on them alone.

Every search is deterministic: bounded minimisation in one variable, or the best of a short list. No stage uses points
that are held out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from coflash._core import CoflashError
from coflash.calibrate.measured import LATENCIES, MEASURES, Measured, Point
from coflash.calibrate.model import STREAMS, VICTIMS, WAITS, WEAR_GAPS, Model, Parameters
from coflash.quantity import counted

GOALS = {"waf": 0.05, "write_mib_per_s": 0.10, "gc_onset": 0.15}
"""Relative errors within which a point counts as predicted."""
LATENCY_GOAL = 0.15
"""The same for latencies and the knee."""

_SPARE = (0.005, 4.0)
_READ_COST = (0.0, 3.0)
_BUFFERS = (0.0, *(4.0**power for power in range(3, 9)))
_AHEAD_MOST = 0.92
"""The most blocks that GC frees ahead of need, as a part of the spare space."""
_SUPERBLOCK_BYTES = (0.36 * 2**30, 6.4 * 2**30)
_SUPERBLOCKS_OF_A_DRIVE = (128, 4096)
"""The fewest and the most of them."""
_PROGRAMS_US = (30.0, 240.0)
"""From a step of a program, between which a die may be read, to a whole program of TLC."""
_SKEWED = ("zipf", "two-zone", "read-only")
_UNSKEWED = ("uniform", "permuted")
_BASIC = ("sequential", *_UNSKEWED)
_HOT_ZIPF = 0.95
"""From this exponent on, the write buffer matters."""


def goal(measure: str) -> float:
    """Return the relative error within which a point of a measure counts as predicted."""
    return GOALS.get(measure, LATENCY_GOAL)


@dataclass(frozen=True)
class Stage:
    """A stage of the fit."""

    finds: str
    """The parameter, and its value."""
    reason: str
    """The reason why these points determine it."""
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Prediction:
    """A point with its prediction."""

    point: Point
    value: float

    @property
    def error(self) -> float:
        """The relative error, positive if the prediction is too high."""
        return self.value / self.point.value - 1

    @property
    def within(self) -> bool:
        """Whether the error is within the goal."""
        return abs(self.error) <= goal(self.point.measure)

    @property
    def is_misfit(self) -> bool:
        """Whether the error is above twice the goal: the model lacks something."""
        return abs(self.error) > 2 * goal(self.point.measure)


@dataclass(frozen=True)
class Fit:
    """A fitted drive."""

    measured: Measured
    model: Model
    stages: tuple[Stage, ...]
    predictions: tuple[Prediction, ...]

    @property
    def is_refused(self) -> bool:
        """Whether the model does not suit this drive: it misses points that depend on no placement, policy or rate."""
        return any(p.point.writes_per_s is None and p.point.pattern.kind in _BASIC for p in self.misfits)

    @property
    def misfits(self) -> list[Prediction]:
        """The fitted points with an error above twice their goal."""
        fitted = {point for stage in self.stages for point in stage.points}
        return [one for one in self.predictions if one.point in fitted and one.is_misfit]


def fit(measured: Measured, tell: Callable[[str], None] | None = None) -> Fit:
    """Fit the parameters to the points that are not held out, and predict all points; `tell` is told what is found.

    A point on which no stage depends is predicted as those that are held out, and counts as one.

    Raises:
        CoflashError: There are fewer points than unknowns; the message names the smallest set that would do.
    """
    _check_enough(measured)
    search = _Search(measured, tell)
    search.proportions()
    search.policies()
    search.buffer()
    search.wear()
    search.host_gap()
    search.zones()
    search.latency()
    if tell:
        tell(f"predicting {counted(len(measured.points), 'point')}")
    used = {point for stage in search.stages for point in stage.points}
    predictions = tuple(
        Prediction(replace(point, held_out=point not in used), search.model.predict(point)) for point in measured.points
    )
    return Fit(measured, search.model, tuple(search.stages), predictions)


class _Search:
    """The state of a fit: the model so far."""

    def __init__(self, measured: Measured, tell: Callable[[str], None] | None = None) -> None:
        self.measured = measured
        self.tell = tell
        self.points = measured.fitted
        if any(p.pattern.kind == "zones" for p in measured.points) and measured.capacity_bytes is None:
            msg = f"{measured.name}: zones have sizes in bytes, so that the capacity is needed (--capacity)"
            raise CoflashError(msg)
        self.model = Model(Parameters(spare=0.1), measured.capacity_bytes)
        self.stages: list[Stage] = []

    def proportions(self) -> None:
        """Find the spare space, and the cost of sequential writes and of GC's reads."""
        uniform = [p for p in self.points if p.pattern.kind == "uniform" and p.is_steady]
        for measure, parameter, reason in (
            ("waf", "floor", "sequential writes cause no GC: what remains is metadata and parity"),
            ("write_mib_per_s", "sequential_mib_per_s", "sequential writes cause no GC"),
        ):
            found = [p for p in self.points if p.pattern.kind == "sequential" and p.measure == measure]
            if found:
                mean = math.exp(sum(math.log(p.value) for p in found) / len(found))
                self.model = self.model.with_(**{parameter: mean})
                self._stage(f"{parameter} = {mean:.4g}", reason, found)
        timed = [p for p in uniform if p.measure == "write_mib_per_s"]
        counted = _tell_spare(self.points)

        def with_spare(spare: float) -> Model:
            model = self.model.with_(spare=spare)
            if not timed:
                return model
            return self._nearest(lambda cost: model.with_(read_cost=cost), timed, *_READ_COST)

        self.model = self._nearest(with_spare, counted + timed, *_SPARE)
        parameters = self.model.parameters
        self._stage(
            f"spare = {parameters.spare:.4f}",
            "uniform writes depend on T / U alone: the write amplification through the closed form, the onset directly",
            counted or timed,
        )
        if timed:
            self._stage(
                f"read_cost = {parameters.read_cost:.3f}",
                "with the write amplification known, the rest of the slow-down is what GC reads",
                timed,
            )

    def policies(self) -> None:
        """Choose victim policy and streams by skewed writes."""
        skewed = [p for p in self.points if p.pattern.kind in _SKEWED and not _is_hot(p)]
        if not skewed:
            return
        choices = [self.model.with_(victim=victim, streams=streams) for victim in VICTIMS for streams in STREAMS]
        self.model = min(choices, key=lambda model: self._badness(model, skewed))
        found = self.model.parameters
        self._stage(
            f"victim = {found.victim}, streams = {found.streams}",
            f"of {', '.join(VICTIMS)}, with blocks for GC's copies or without, the nearest to writes under skew",
            skewed,
        )

    def buffer(self) -> None:
        """Find the size of the write buffer from points with hot pages."""
        hot = [p for p in self.points if _is_hot(p)]
        if not hot:
            return
        best = min(_BUFFERS, key=lambda pages: self._badness(self.model.with_(buffer_pages=pages), hot))
        self.model = self.model.with_(buffer_pages=best)
        self._stage(f"buffer_pages = {best:g}", "the hottest pages are replaced before they reach flash", hot)

    def wear(self) -> None:
        """Find whether wear is levelled: only where points with cold data are missed without, and met with."""
        skewed = [p for p in self.points if p.pattern.kind in _SKEWED]
        levelled = [self.model.with_(wear_gap=gap) for gap in WEAR_GAPS]
        if self._meets(self.model, skewed) or not (met := [one for one in levelled if self._meets(one, skewed)]):
            return
        self.model = min(met, key=lambda model: self._badness(model, skewed))
        reason = "cold data that moves to worn blocks costs copies, and rests in blocks that were nearly free"
        self._stage(f"wear_gap = {self.model.parameters.wear_gap}", reason, skewed)

    def host_gap(self) -> None:
        """Find how long flash waits for the host, from the fastest writes at queue depth 1."""
        single = [p for p in self.points if p.one_at_a_time and p.measure == "write_mib_per_s"]
        if not single:
            return
        point = max(single, key=lambda p: p.value)
        rate = self.model.parameters.sequential_mib_per_s
        gap = max(0.0, rate / point.value - rate / self.model.predict(point))
        self.model = self.model.with_(host_gap=gap)
        self._stage(f"host_gap = {gap:.3f}", "the writes with least GC: what remains is that flash waits", [point])

    def zones(self) -> None:
        """Find the size of superblocks by the smallest zones, and what else several at once need.

        GC can run ahead of need only while flash waits for the host. Trimmed pages are freed; they are kept only where
        freed ones do not fit at all.
        """
        zones = [p for p in self.points if p.pattern.kind == "zones" and self.measured.capacity_bytes]
        single = [p for p in zones if p.pattern.number == 1]
        smallest = [p for p in single if p.pattern.zone_bytes == min(q.pattern.zone_bytes for q in single)]
        several = [p for p in zones if p.one_at_a_time and p.pattern.number > 1]
        self.model = self._with_superblock(self.model, smallest)
        if several:
            kept = (False,) * any(p.pattern.trimmed for p in several)
            models = [self._of_several(frees, several, smallest) for frees in (True, *kept)]
            self.model = min(models, key=lambda model: self._misses(model, several))
            found = self.model.parameters
            ahead = f"ahead = {found.ahead:.3f}, " if found.host_gap >= WAITS else ""
            self._stage(
                f"{ahead}trimmed pages are {'freed' if found.frees_trimmed else 'kept'}",
                "blocks that GC frees while flash waits for the host, and trimmed pages that are kept, are missing as "
                "spare space",
                several,
            )
        if smallest:
            self._stage(
                f"superblock = {(self.model.parameters.superblock_bytes or 0) / 2**30:.3g} GiB",
                "zones smaller than a superblock share it, and die at other times",
                smallest,
            )

    def _of_several(self, frees_trimmed: bool, several: Sequence[Point], smallest: Sequence[Point]) -> Model:
        model = self.model.with_(frees_trimmed=frees_trimmed)
        if model.parameters.host_gap >= WAITS:
            model = self._with_ahead(model, several)
        return self._with_superblock(model, smallest)

    def _with_superblock(self, model: Model, zones: Sequence[Point]) -> Model:
        capacity = self.measured.capacity_bytes
        if not zones or capacity is None:
            return model
        (least, most), (few, many) = _SUPERBLOCK_BYTES, _SUPERBLOCKS_OF_A_DRIVE
        # The larger superblocks are, the slower are zones smaller than they: there is one minimum, but for chance.
        low, high = math.log(max(least, capacity / many)), math.log(min(most, capacity / few))
        return self._nearest(lambda size: model.with_(superblock_bytes=math.exp(size)), zones, low, high, to=0.02)

    def _with_ahead(self, model: Model, points: Sequence[Point]) -> Model:
        """Return the model with the share of blocks that GC frees ahead of need."""
        most = _AHEAD_MOST * (1 - 1 / model.alpha(1))
        return self._nearest(lambda share: model.with_(ahead=share), points, 0, most, to=0.05)

    @staticmethod
    def _meets(model: Model, points: Sequence[Point]) -> bool:
        return all(Prediction(p, model.predict(p)).within for p in points)

    @staticmethod
    def _misses(model: Model, points: Sequence[Point]) -> bool:
        return any(Prediction(p, model.predict(p)).is_misfit for p in points)

    def latency(self) -> None:
        """Find the latencies of an idle drive, and the time of a program, for which reads wait."""
        rated = [p for p in self.points if p.writes_per_s is not None]
        if not rated:
            return
        reads, writes = ([p for p in rated if p.measure == f"{side}_p50_us"] for side in ("read", "write"))
        tails = [p for p in rated if p.measure == "read_p99_us"]
        slowest, write = (min(of, key=lambda p: p.writes_per_s or 0) for of in (reads, writes))
        self.model = self.model.with_(read_us=slowest.value, write_us=write.value)

        def with_program(log_us: float) -> Model:
            model = self.model.with_(program_us=math.exp(log_us))
            # Even at the lowest rate some reads wait: an idle drive is a little faster than the median.
            return model.with_(read_us=slowest.value**2 / model.predict(slowest))

        def fit_program(points: Sequence[Point]) -> None:
            low, high = map(math.log, _PROGRAMS_US)
            self.model = self._nearest(with_program, points, low, high, to=0.01)

        if free := self.model.parameters.host_gap < WAITS and len(reads) > 2:
            # Near the knee dies are busy, however far GC runs ahead.
            fit_program([max(reads, key=lambda p: p.writes_per_s or 0), *tails])
            self.model = self._with_ahead(self.model, reads)
        fit_program(reads + tails)
        found = self.model.parameters
        self._stage(f"write_us = {found.write_us:.3g}", "a write that finds room in the buffer", [write])
        self._stage(
            f"read_us = {found.read_us:.3g}, program_us = {found.program_us:.3g}",
            "at the lowest rate most reads find their die idle; how busy dies are at other rates is known from the "
            "throughput, so that only the time of a program is left",
            reads + tails,
        )
        if free:
            self._stage(
                f"ahead = {found.ahead:.3f}",
                "GC that runs ahead while dies are idle keeps them busier at half load; zones do not tell how far",
                reads,
            )

    def _nearest(
        self, model: Callable[[float], Model], points: Sequence[Point], low: float, high: float, to: float = 1e-6
    ) -> Model:
        """Return the model with the value of a parameter by which it is the nearest to some points."""
        return model(_minimum(lambda value: self._badness(model(value), points), low, high, to))

    def _badness(self, model: Model, points: Sequence[Point]) -> float:
        """Sum the squared logarithmic errors, each in units of its goal."""
        return sum((math.log(model.predict(p) / p.value) / goal(p.measure)) ** 2 for p in points)

    def _stage(self, finds: str, reason: str, points: Sequence[Point]) -> None:
        self.stages.append(Stage(finds, reason, tuple(points)))
        if self.tell:
            self.tell(finds)


def _check_enough(measured: Measured) -> None:
    """Refuse points that leave a parameter open on which any point depends, also one that is held out.

    Raises:
        CoflashError: There are too few; the message names the smallest set that would do.
    """
    points, asked = measured.fitted, {p.measure for p in measured.points}
    timed, needed = asked.intersection(LATENCIES), []
    speeds = {
        kind: [p for p in points if p.measure == "write_mib_per_s" and p.pattern.kind == kind]
        for kind in ("sequential", "uniform")
    }
    steady = [p for p in speeds["uniform"] if p.is_steady]
    has_rates = bool(timed or asked & {"write_mib_per_s", "writes_max_per_s"})
    if has_rates and not speeds["sequential"]:
        needed.append('one write_mib_per_s of "sequential"')
    if not _tell_spare(points) and len({p.used for p in steady}) < 2:
        needed.append(
            'of "uniform" one waf, or gc_onset and one write_mib_per_s, or write_mib_per_s at two values of used'
        )
    if has_rates and not steady:
        needed.append('one write_mib_per_s of "uniform"')
    medians = {p.writes_per_s for p in points if p.measure == "read_p50_us"}
    if timed and (len(medians) < 2 or not any(p.measure == "write_p50_us" for p in points)):
        needed.append("read_p50_us at two values of writes_per_s, and write_p50_us at one")
    if needed:
        given = [(sum(p.measure == name for p in points), name) for name in MEASURES]
        listed = ", ".join(f"{count} {name}" for count, name in given if count) or "none"
        msg = f"{measured.name}: too few points that are not held out ({listed}); needed at least: {'; '.join(needed)}"
        raise CoflashError(msg)


def _tell_spare(points: Sequence[Point]) -> list[Point]:
    """Return the points that tell the spare space at once."""
    return [p for p in points if p.pattern.kind in _UNSKEWED and p.measure in ("waf", "gc_onset")]


def _is_hot(point: Point) -> bool:
    return point.pattern.kind == "zipf" and point.pattern.number >= _HOT_ZIPF


def _minimum(function: Callable[[float], float], low: float, high: float, to: float = 1e-6) -> float:
    """Return the place of a function's only minimum, by golden sections, `to` a share of the interval.

    Source: J. Kiefer, "Sequential minimax search for a maximum", Proceedings of the AMS 4(3), 1953.
    """
    ratio = (math.sqrt(5) - 1) / 2
    width = high - low
    a, b = high - ratio * width, low + ratio * width
    at_a, at_b = function(a), function(b)
    while high - low > to * width:
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = function(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = function(b)
    return (low + high) / 2
