"""Sizing: the cheapest cache and spare space with which a device meets its goals on a trace, and why.

More cache or more spare space seldom makes a goal worse, so that bisection finds the least cache for each spare share.
Where the runs show the opposite, Optuna searches the same values.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coflash._core import CoflashError, __version__
from coflash.files import atomic_write
from coflash.measures.measure import MEASURES, WAF_HOST, Measure
from coflash.quantity import parsed, show, show_change
from coflash.results.estimate import Estimate, estimate, show_estimate
from coflash.results.result import Result
from coflash.results.slices import interval
from coflash.results.store import FolderStore
from coflash.results.subject import Subject
from coflash.results.why import LATTICES, Why, whys
from coflash.runs.inputs import inputs_of
from coflash.scenario import Scenario, ScenarioLike
from coflash.sweep import swept
from coflash.sweep.design import Assignment, Axis, Choices, assignments, axes_of
from coflash.sweep.engine import Place
from coflash.sweep.goal import Condition, condition, goals, number
from coflash.sweep.plan import Plan, Point
from coflash.sweep.tune import Search, folder_for
from coflash.terminal import errors
from coflash.trace import Paths, info
from coflash.trace.trace_info import TraceInfo

if TYPE_CHECKING:
    from rich.console import Console

    from coflash.figures.style import Format

DEVICE, DOCUMENT = "demo", "size.json"
PRICES = "cache.size*3 $/GiB + flash.size*0.08 $/GiB"
SPARES = ("7%", "10%", "14%", "20%", "28%", "40%", "56%")
_STEPS, _UNIT = 17, 2**18
"""The cache sizes between the footprint and a 256th of it, and what they are multiples of."""
_ROOM, _PAGE, _LATE, _MORE_CHANNELS, _TRIALS = 1.04, 2**12, 1.02, (1, 2, 4, 8), 24
_CACHE, _SPARE, _SCHEME = "cache.size", "ftl.spare.share", "cooperation.name"
_SHADOWS = ("ggc", "separation", "delay", "zgc", "hgc", "dgc", "sgc")
"""The schemes whose part is the host's write buffer."""
_NO_CACHE = "no cache"


@dataclass(frozen=True)
class Sized:
    """A device that was tried."""

    point: Point
    cost: float
    bounded: tuple[Estimate, ...]
    """The number that each goal bounds, over the seeds."""
    excess: tuple[float, ...]
    """The violation of each goal, as a share of its bound; at most 0 if it is met."""

    @property
    def is_met(self) -> bool:
        """Whether it meets all goals."""
        return all(one <= 0 for one in self.excess)

    @property
    def values(self) -> dict[str, str]:
        """Its cache, its spare share, and what else was varied."""
        return self.point.values


@dataclass(frozen=True)
class Sizing:
    """The answer: the cheapest device that meets the goals, or the nearest to them."""

    path: Path
    """The folder of its runs."""
    goals: tuple[Condition, ...]
    prices: str
    read: str
    """How the trace was read, and how its time is replayed."""
    scenario: Scenario
    """That of the answer."""
    answer: Sized
    tried: int
    """The number of devices that were tried."""
    slices: tuple[tuple[float, float] | None, ...]
    """For each goal an interval over slices of the trace, where time series give one."""
    steps: Mapping[str, Sized]
    """The devices one step off: less or more cache or spare space."""
    variants: Mapping[str, tuple[Result, ...]]
    """The answer's device under each scheme, and without a cache."""
    whys: Mapping[str, tuple[Why, ...]]
    """By the path of a measure, its differences between schemes as sums of shares."""
    searched: str
    """How devices were searched."""

    @property
    def binding(self) -> Condition | None:
        """The goal that the cheaper neighbours break the most; None if they meet all."""
        worst = [
            (excess, place)
            for name, one in self.steps.items()
            if name.startswith("less")
            for place, excess in enumerate(one.excess)
        ] or [(excess, place) for place, excess in enumerate(self.answer.excess)]
        excess, place = max(worst)
        return self.goals[place] if excess > 0 or not self.answer.is_met else None

    @property
    def sentences(self) -> tuple[str, str, str]:
        """The answer in three sentences; the last says what the numbers do not tell."""
        return self._answer(), self._reason(), self._limits()

    def _answer(self) -> str:
        wanted = " and ".join(goal.text for goal in self.goals)
        found = ", ".join(self._found(self.answer, place) for place in range(len(self.goals)))
        device = f"{described(self.answer)} ({priced(self.answer.cost)})"
        if self.answer.is_met:
            return f"{device} is the cheapest of {self.tried} devices tried that meets {wanted}: {found}."
        return f"None of {self.tried} devices tried meets {wanted}; the nearest is {device}: {found}."

    def _found(self, one: Sized, place: int) -> str:
        goal, found, excess = self.goals[place], one.bounded[place], one.excess[place]
        text = f"{goal.measure.label} {show_estimate(found, goal.measure.unit)}"
        if found.half_width is not None:
            text += f" over {found.runs} seeds"
        if one is self.answer and (ends := self.slices[place]) is not None:
            text += f", {' … '.join(show(end, goal.measure.unit) for end in ends)} over slices of the trace"
        return text + (f" ✗ {show_change(excess * goal.sign)}" if excess > 0 else "")

    def _reason(self) -> str:
        parts = []
        if (binding := self.binding) is None:
            parts.append("No goal binds")
        else:
            place = self.goals.index(binding)
            parts.append(f"{binding.text} binds")
            for name, one in self.steps.items():
                value = show(one.bounded[place].mean, binding.measure.unit)
                by = one.cost - self.answer.cost
                parts.append(f"a step {name} gives {value} for {priced(abs(by))} {'more' if by >= 0 else 'less'}")
        for why in self.whys[self._explained.path]:
            unit = self._explained.unit
            shares = ", ".join(f"{part} {_signed(one.mean, unit)}" for part, one in why.shares.items())
            change = _signed((why.whole.mean or 0.0) - (why.base.mean or 0.0), unit)
            parts.append(f"from {why.before} to {why.after} {self._explained.label} changes by {change}: {shares}")
        return "; ".join(parts) + "."

    @property
    def subject(self) -> Subject:
        """The subject of the report: the answer's device under each scheme."""
        runs = tuple(run for of in self.variants.values() for run in of)
        return Subject(runs, f"Why: {described(self.answer)}", " ".join(self.sentences), baseline="none")

    def draw(self, form: Format) -> bytes:
        """Draw the figure of why.

        Raises:
            CoflashError: matplotlib is missing.
        """
        from coflash.figures.why import draw  # slow to import

        measure = self._explained
        bound = next((goal.bound for goal in self.goals if goal.measure == measure), None)
        return draw(self.variants, measure, self.whys[measure.path], form, bound, self._caption())

    def _caption(self) -> str:
        seeds = len(next(iter(self.variants.values()), ()))
        means = f"Means over {seeds} seeds; bars: 95% confidence. " if seeds > 1 else ""
        return f"{described(self.answer)}. {means}Shares: the mean effect of a part over both orders (Shapley)."

    @property
    def _explained(self) -> Measure:
        """The measure of the reason: that of the goal that binds, if runs have it."""
        binding = self.binding
        return binding.measure if binding and binding.measure.path in self.whys else WAF_HOST

    def _limits(self) -> str:
        is_open = self.scenario.replay_mode == "open"
        steady = {"was steady" in remark for runs in self.variants.values() for remark in _remarks(runs)}
        fitted = self.scenario.to_dict()["limits"]
        return (
            "; ".join(
                [
                    "The numbers do not tell how the host would adapt to slower or faster answers, since "
                    + (
                        "requests come at the trace's times (open loop)" if is_open else "the trace's times are ignored"
                    ),
                    "nor tails from anything but GC and queues, such as retries, heat or firmware",
                    "nor another history of the device than the trace's own writes, repeated before the run "
                    + ("until steady" if steady == {True} else "and not steady in each run"),
                    ("nor more of the drive than its scenario: " + " ".join(fitted).rstrip("."))
                    if fitted
                    else "nor a real drive, since none was fitted; and seeds vary the device, not the trace",
                ]
            )
            + "."
        )

    def document(self) -> dict[str, Any]:
        """Return the sizing as plain data."""
        steps = {"answer": self.answer, **self.steps}
        return {
            "coflash": __version__,
            "goals": [goal.text for goal in self.goals],
            "prices": self.prices,
            "read": self.read,
            "searched": self.searched,
            "met": self.answer.is_met,
            "binding": None if self.binding is None else self.binding.text,
            "devices": {
                name: {
                    "values": one.values,
                    "cost": one.cost,
                    "found": [found._asdict() for found in one.bounded],
                    "excess": one.excess,
                    "runs": [job.key for job in one.point.jobs],
                }
                for name, one in steps.items()
            },
            "slices": self.slices,
            "why": {
                path: [
                    {
                        "from": why.before,
                        "to": why.after,
                        "base": why.base._asdict(),
                        "whole": why.whole._asdict(),
                        "shares": {part: one._asdict() for part, one in why.shares.items()},
                    }
                    for why in found
                ]
                for path, found in self.whys.items()
            },
            "sentences": self.sentences,
        }


def described(one: Sized) -> str:
    """Describe a device: its cache, its spare space, and what else was varied."""
    (_, cache), (_, spare), *others = one.values.items()
    size_bytes, _ = parsed(cache) or (0.0, "")
    more = "".join(f", {key}={value}" for key, value in others)
    return f"{show(size_bytes, 'bytes') if size_bytes else 'no'} cache, {spare} spare space{more}"


def priced(cost: float) -> str:
    """Show a cost as text: $2.31."""
    return f"${cost:,.3g}"


def _signed(value: float | None, unit: Any) -> str:
    return f"{'−' if (value or 0) < 0 else '+'}{show(abs(value or 0.0), unit)}"


def _remarks(runs: Sequence[Result]) -> list[str]:
    return [text for run in runs for text in run.workload["remarks"] if "was steady" in text or "not steady" in text]


def _numbers(variants: Mapping[str, Sequence[Result]], measure: Measure) -> dict[str, dict[Hashable, float | None]]:
    return {name: {run.seed: measure.read(run.metrics) for run in runs} for name, runs in variants.items()}


def _about(about: TraceInfo) -> str:
    span, footprint = show(about.span_ns, "ns"), show((about.footprint_pages or 0) * about.page_bytes, "bytes")
    read = f"{', '.join(about.formats)}, {about.requests:,} requests over {span}, {footprint} touched"
    return ". ".join([read, *(remark.rstrip(".") for remark in about.remarks)])


def size(
    trace: Paths,
    goal: str | Sequence[str],
    *,
    cost: str = PRICES,
    drive: ScenarioLike | None = None,
    over: Mapping[str, str | Sequence[Any]] | None = None,
    out: str | os.PathLike[str],
    seeds: int = 3,
    workers: int | None = None,
    progress: bool = False,
) -> Sizing:
    """Find the cheapest cache and spare space with which a device meets goals on a trace, and explain it.

    Args:
        trace: The trace: paths, or URLs that fsspec knows.
        goal: The bounds, such as `"waf_host<2.5"`, or several.
        cost: The cost, a sum of keys times their prices.
        drive: The scenario of a drive, whose flash is scaled to the trace; by default an example device.
        over: Further choices, by key, such as `{"gc.victim": ["greedy", "cost-benefit"]}`.
        out: The folder of results.
        seeds: The number of seeds for the answer and for its explanation; the search has the first one alone.
        workers: The number of parallel runs; None for one on each core.
        progress: Whether to show progress on the standard error stream.

    Raises:
        CoflashError: An argument cannot be used, or runs failed.
    """
    wanted = [condition(text, cost) for text in ([goal] if isinstance(goal, str) else goal)]
    device, axes, console = Scenario.of(drive or DEVICE), axes_of(over or {}), errors() if progress else None
    store = folder_for(out)
    return Sizer(trace, wanted, cost, device, axes, store, seeds, workers, console, is_example=drive is None).run()


class Sizer:
    """The search for a size."""

    def __init__(
        self,
        trace: Paths,
        wanted: Sequence[Condition],
        cost: str,
        device: Scenario,
        axes: Sequence[Axis],
        store: FolderStore,
        seeds: int,
        workers: int | None,
        console: Console | None,
        *,
        is_example: bool,
    ) -> None:
        self._trace, self._goals, self._prices, self._store = trace, tuple(wanted), cost, store
        self._cost = number(f"cost {cost}")
        if not wanted or not self._cost.is_known_before:
            msg = "size: a goal is needed, such as --goal 'waf_host<2.5', and a cost of keys alone, such as " + PRICES
            raise CoflashError(msg)
        self._seeds, self._workers, self._console = seeds, workers, console
        self._base, self._axes, self._is_example = device, tuple(axes), is_example
        self._rest = assignments([Choices(_SPARE, SPARES), *axes])
        self._inputs = inputs_of(self._base, trace)
        self._is_searching = True
        self._tried: dict[tuple[str, ...], Sized] = {}

    def run(self) -> Sizing:
        """Search, and explain what was found."""
        options = self._base.to_dict()["workload"].get("trace_options") or {}
        about = info(self._trace, {key: value for key, value in options.items() if isinstance(value, str)})
        if not about.footprint_pages or not about.write.requests:
            msg = "size: the trace writes nothing, or its addresses are too far apart to count; see coflash trace info"
            raise CoflashError(msg)
        room = math.ceil(about.footprint_pages * about.page_bytes * _ROOM / _PAGE) * _PAGE
        self._base = self._base.with_(
            {
                "flash.exported": f"{room}B",
                "workload.remap": "dense",
                "precondition.until_steady": True,
            }
        )
        sizes = {round(room * 2 ** (-step / 2) / _UNIT) for step in range(_STEPS)}
        self._sizes = [
            self._base.with_({_CACHE: f"{each * _UNIT}B"}).to_dict()["cache"]["size"] for each in sorted({0} | sizes)
        ]
        how = self._in_time(about)
        self._tried.clear()
        searched = self._bisect()
        if not self._is_monotone():
            searched = self._tune()
        self._is_searching = False
        best = self._confirmed()
        steps = {name: one for name, one in self._steps(best).items() if one is not None}
        scenario = best.point.jobs[0].scenario
        variants = self._variants(best)
        asked = (WAF_HOST, *(one.measure for one in self._goals if one.measure.path in MEASURES))
        measures = {one.path: one for one in asked}
        explained = {path: tuple(whys(_numbers(variants, each))) for path, each in measures.items()}
        series = [run.series() for run in self._load(best.point)]
        slices = tuple(interval(series, one.measure.path) for one in self._goals)
        found = Sizing(
            self._store.path, self._goals, self._prices, f"{_about(about)}. {how}.", scenario, best, len(self._tried),
            slices, steps, variants, explained, searched,
        )  # fmt: skip
        text = json.dumps(found.document(), indent=2, ensure_ascii=False) + "\n"
        atomic_write.write_file(self._store.path / DOCUMENT, text)
        return found

    def _in_time(self, about: TraceInfo) -> str:
        """Choose how time is replayed: at the trace's times if a device without a cache keeps up, else a closed loop.

        An example device gets as many channels as the trace needs.
        """
        base, channels = self._base, self._base.to_dict()["flash"]["channels"]
        for factor in (_MORE_CHANNELS if self._is_example else (1,)) if about.span_ns else ():
            self._base = base.with_({"replay.mode": "open", "flash.channels": factor * channels})
            (ran,) = self._ran([("0B", self._rest[-1])])
            if ran is not None and self._load(ran.point)[0].metrics.simulated_ns <= _LATE * about.span_ns:
                more = f", with which {factor * channels} channels keep up without a cache" if factor > 1 else ""
                return f"Requests come at the times of the trace{more} (open loop)"
        self._base = base.with_({"replay.mode": "closed"})
        depth = self._base.to_dict()["replay"]["queue_depth"]
        reason = "the device does not keep up with its times" if about.span_ns else "the trace has no times"
        return f"Requests come as earlier ones are answered, {depth} at a time (closed loop), since {reason}"

    def _bisect(self) -> str:
        """For each spare share, and whatever else is varied, halve the range of caches in which the least one lies."""
        ranges = {rest: (-1, len(self._sizes)) for rest in self._rest}
        while opened := {
            rest: ends for rest, ends in ranges.items() if ends[1] - ends[0] > 1 and self._may_pay(*ends, rest)
        }:
            middles = {rest: (low + high) // 2 for rest, (low, high) in opened.items()}
            ran = self._ran([(self._sizes[middle], rest) for rest, middle in middles.items()])
            for (rest, middle), one in zip(middles.items(), ran, strict=True):
                low, high = ranges[rest]
                ranges[rest] = (low, middle) if one is not None and one.is_met else (middle, high)
        return "bisection of the cache for each spare share"

    def _may_pay(self, low: int, _: int, rest: Assignment) -> bool:
        """Whether the least cache still open may be cheaper than the best device so far."""
        best = min((one.cost for one in self._tried.values() if one.is_met), default=math.inf)
        point = self._point(self._sizes[low + 1], rest, 1)
        return not point.refused and (self._cost.value((), point.jobs[0].scenario) or 0.0) < best

    def _is_monotone(self) -> bool:
        """Whether no device that meets the goals becomes worse by more cache or more spare space."""
        places = {value: place for place, value in enumerate((*self._sizes, *SPARES))}
        known = [
            (places[one.values[_CACHE]], places[one.values[_SPARE]], list(one.values.values())[2:], one.is_met)
            for one in self._tried.values()
            if one.values[_SPARE] in places
        ]
        return not any(
            ours[3] and not other[3] and ours[0] <= other[0] and ours[1] <= other[1] and ours[2] == other[2]
            for ours in known
            for other in known
        )

    def _tune(self) -> str:
        """Search the same values with Optuna, since more is not always better here."""
        axes = [Choices(_CACHE, tuple(self._sizes)), Choices(_SPARE, SPARES), *self._axes]
        search = Search(
            self._base, axes, self._trace, goals(None, None, self._prices), self._goals, seeds=1, trials=_TRIALS, seed=0
        )
        place = Place("local", self._workers, None, search.inputs)
        for trial in search.run(self._store, place, self._console).trials:
            if trial.is_allowed:
                cache, *rest = trial.values.items()
                self._ran([(cache[1], tuple(rest))])
        return f"bisection, and {_TRIALS} trials of Optuna, since more cache or spare space made a goal worse"

    def _confirmed(self) -> Sized:
        """Return the cheapest device that meets the goals with all seeds; without one the nearest to them."""
        for one in sorted(self._tried.values(), key=lambda one: one.cost):
            if one.is_met and (again := self._again(one)).is_met:
                return again
        if not self._tried:
            msg = f"size: no device could be made: {self._point(self._sizes[-1], self._rest[-1], 1).refused}"
            raise CoflashError(msg)
        return self._again(min(self._tried.values(), key=lambda one: sum(max(each, 0) for each in one.excess)))

    def _again(self, one: Sized) -> Sized:
        found = self._ran([self._place(one)], self._seeds)[0]
        return one if found is None else found

    def _place(self, one: Sized) -> tuple[str, Assignment]:
        cache, *rest = one.values.items()
        return cache[1], tuple(rest)

    def _steps(self, best: Sized) -> dict[str, Sized | None]:
        """Run the neighbours of the answer, with all its seeds."""
        (cache, (spare, *others)), found = self._place(best), {}
        for name, by in (("less", -1), ("more", 1)):
            for what, values, at in (("cache", self._sizes, cache), ("spare space", SPARES, spare[1])):
                place = values.index(at) + by if at in values else -1
                if 0 <= place < len(values):
                    new = (
                        (values[place], (spare, *others))
                        if what == "cache"
                        else (cache, ((_SPARE, values[place]), *others))
                    )
                    found[f"{name} {what}"] = new
        ran = self._ran(list(found.values()), self._seeds)
        return dict(zip(found, ran, strict=True))

    def _variants(self, best: Sized) -> dict[str, tuple[Result, ...]]:
        """Run the answer's device under each scheme whose parts it has, and without a cache."""
        cache, rest = self._place(best)
        rest = tuple(pair for pair in rest if pair[0] != _SCHEME)
        shadows = _SHADOWS if self._base.to_dict()["host_buffer"]["size"] != "0B" else ()
        cache = self._sizes[1] if cache == "0B" else cache
        places = {_NO_CACHE: ("0B", (*rest, (_SCHEME, "none")))}
        places |= {scheme: (cache, (*rest, (_SCHEME, scheme))) for scheme in (*LATTICES[0], *shadows)}
        ran = self._ran(list(places.values()), self._seeds)
        return {name: self._load(one.point) for name, one in zip(places, ran, strict=True) if one is not None}

    def _point(self, cache: str, rest: Assignment, seeds: int) -> Point:
        return Point.of(self._base, self._inputs, ((_CACHE, cache), *rest), seeds)

    def _ran(self, places: Sequence[tuple[str, Assignment]], seeds: int = 1) -> list[Sized | None]:
        """Run devices; None for one that cannot be made."""
        points = [self._point(cache, rest, seeds) for cache, rest in places]
        made, failed = tuple(point for point in points if not point.refused), set[str]()
        if made:
            done = swept(Plan(made), self._store, Place("local", self._workers, None, self._inputs), self._console)
            failed = {one.run for one in done.failures}
        return [
            None if point.refused or any(job.key in failed for job in point.jobs) else self._sized(point)
            for point in points
        ]

    def _sized(self, point: Point) -> Sized:
        scenario = point.jobs[0].scenario
        found = [result.metrics for result in self._load(point)]
        bounded = tuple(estimate([goal.value([one], scenario) for one in found]) for goal in self._goals)
        excess = tuple(
            math.inf if one.mean is None else goal.excess(one.mean)
            for goal, one in zip(self._goals, bounded, strict=True)
        )
        one = Sized(point, self._cost.value([found[0]], scenario) or 0.0, bounded, excess)
        if self._is_searching:
            self._tried.setdefault(tuple(point.values.values()), one)
        return one

    def _load(self, point: Point) -> tuple[Result, ...]:
        keys = [job.key for job in point.jobs]
        return tuple(Result.load(folder.here()) for _, folder, _ in self._store.runs(keys))
