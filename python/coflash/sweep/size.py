"""Sizing: the cheapest cache and spare space with which a device meets its goals on a trace, and why.

More cache or more spare space seldom makes a goal worse, so that bisection finds the least cache for each spare share.
Where the runs show the opposite, Optuna searches the same values.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from coflash._core import CoflashError
from coflash.measures.measure import MEASURES, WAF_HOST, Measure
from coflash.quantity import counted, parsed, show
from coflash.results.estimate import Estimate
from coflash.results.result import Result
from coflash.results.subject import Subject
from coflash.results.why import LATTICES, TIERS, Why, scheme_of
from coflash.scenario import Scenario, ScenarioLike
from coflash.sweep.answers import scheme_on, whys_of
from coflash.sweep.design import Assignment, Axis, Choices, assignments, axes_of
from coflash.sweep.engine import On
from coflash.sweep.finding import Kept, say, say_bounded, say_limits
from coflash.sweep.generated import traced
from coflash.sweep.goal import Condition, condition, goals, number
from coflash.sweep.plan import Point, refusal
from coflash.sweep.question import Question, estimates, folder_for
from coflash.sweep.tune import Search
from coflash.trace import Paths, info
from coflash.trace.trace_info import TraceInfo

if TYPE_CHECKING:
    from coflash.charts import Format

DEVICE = "demo"
PRICES = "cache.size*3 $/GiB + flash.size*0.08 $/GiB"
SPARES = ("7%", "10%", "14%", "20%", "28%", "40%", "56%")
_STEPS, _UNIT = 33, 2**18
"""The cache sizes from a 256th of the footprint to all of it, and what they are multiples of."""
_FINER = 4
"""The finer steps in each step of the cache."""
_ROOM, _LATE, _MORE_CHANNELS, _TRIALS = 1.04, 1.02, (1, 2, 4, 8), 24
_CACHE, _SPARE, _SCHEME, _EXPORTED = "cache.size", "ftl.spare.share", "cooperation.name", "flash.exported"
_BEHIND = 0.05
"""The share of a run by which a device is behind that does not keep up."""
_TIER, _TIER_SEGMENTS, _TIER_STEPS = "hybrid.scheme.name", 64, 17
"""The key of the scheme of a flash cache before disks; the segments of the largest one, and its sizes."""
_PERIODS, _PERIOD = 16, 256
"""The periods of such a cache in a trace, and the least requests of one."""
_SMALLER = ("gc.low_mark", "flash.channels", "flash.chips_per_channel", "flash.dies_per_chip", "flash.planes_per_die")
"""The keys that are 1 in the smallest device."""
_SHADOWS = ("ggc", "separation", "delay", "zgc", "hgc", "dgc", "sgc")
"""The schemes whose part is the host's write buffer."""


@dataclass(frozen=True)
class Sized:
    """A device that was tried."""

    point: Point
    runs: tuple[Result, ...]
    """Its runs, one for each seed."""
    cost: float
    bounded: tuple[Estimate, ...]
    """The number that each goal bounds, over the seeds."""
    excess: tuple[float, ...]
    """The violation of each goal, as a share of its bound; at most 0 if it is met."""

    @property
    def is_met(self) -> bool:
        """Whether it meets all goals."""
        return max(self.excess) <= 0

    @property
    def place(self) -> tuple[str, Assignment]:
        """Its cache, and its other values."""
        (_, cache), *rest = self.point.values.items()
        return cache, tuple(rest)

    @property
    def spare(self) -> str:
        """Its spare share."""
        return self.place[1][0][1]

    @property
    def is_tier(self) -> bool:
        """Whether its cache is flash before disks."""
        return _EXPORTED in self.point.values

    def __str__(self) -> str:
        cache, ((_, spare), *others) = self.place
        more = "".join(f", {key}={value}" for key, value in others)
        return f"{_cache(cache)} {'flash cache' if self.is_tier else 'cache'}, {spare} spare space{more}"


@dataclass(frozen=True)
class Sizing(Kept):
    """The answer: the cheapest device that meets the goals, or the nearest to them."""

    DOCUMENT = "size.json"

    goals: tuple[Condition, ...]
    how: tuple[str, ...]
    """How the trace was read, how its time is replayed, and how devices were searched."""
    answer: Sized
    tried: str
    """The number of devices that were tried, and the steps between them."""
    slices: tuple[tuple[float, float] | None, ...]
    """For each goal an interval over slices of the trace, where time series give one."""
    steps: Mapping[str, Sized]
    """The devices one step off: less or more cache or spare space."""
    variants: Mapping[str, tuple[Result, ...]]
    """The answer's device under each scheme, and without a cache."""
    whys: Mapping[str, tuple[Why, ...]]
    """By the path of a measure, its differences between schemes as sums of shares."""

    @property
    def scenario(self) -> Scenario:
        """The scenario of the answer."""
        return self.answer.point.jobs[0].scenario

    @property
    def is_met(self) -> bool:
        """Whether the answer meets all goals."""
        return self.answer.is_met

    @property
    def runs(self) -> dict[str, tuple[Result, ...]]:
        """The runs that carry the numbers, by their names."""
        return {"answer": self.answer.runs, **{name: one.runs for name, one in self.steps.items()}, **self.variants}

    @property
    def asked(self) -> tuple[str, ...]:
        """How the answer was found."""
        return self.how

    @property
    def binding(self) -> Condition | None:
        """The goal that the answer, or else its cheaper neighbours, break the most; None if they meet all."""
        cheaper = [one for name, one in self.steps.items() if name.startswith("less") and self.answer.is_met]
        excess, place = max((one, at) for device in cheaper or [self.answer] for at, one in enumerate(device.excess))
        return self.goals[place] if excess > 0 else None

    @property
    def sentences(self) -> tuple[str, str, str]:
        """The answer in three sentences; the last says what the numbers do not tell."""
        judged = zip(self.goals, self.answer.bounded, self.answer.excess, self.slices, strict=True)
        numbers = []
        for goal, bounded, excess, ends in judged:
            over = say("over slices", ends=ends, unit=goal.measure.unit) if ends else ""
            numbers.append(f"{goal.measure.label} {say_bounded(goal, bounded, excess, over)}")
        answer = say(
            "sized" if self.answer.is_met else "not sized",
            device=f"{self.answer} ({priced(self.answer.cost)})",
            tried=self.tried,
            goals=" and ".join(goal.text for goal in self.goals),
            numbers="; ".join(numbers),
        )
        loop = "open loop" if self.scenario.replay_mode == "open" else "closed loop"
        history = "history of a tier" if self.answer.is_tier else "history of a trace"
        limits = say_limits(self.scenario, say(loop), say(history), say("seeds"))
        return answer, f"{'; '.join(self._reasons())}.", limits

    def _reasons(self) -> list[str]:
        is_least = self.answer.is_met and not any(name.startswith("less") for name in self.steps)
        parts, bound = [say("nothing smaller" if is_least else "no goal binds")], None
        if (binding := self.binding) is not None:
            parts, place, bound = [say("binds", goal=binding.text)], self.goals.index(binding), binding.bound
            for name, one in self.steps.items():
                size = _cache(one.place[0]) if name.endswith("cache") else one.spare
                by, broken = one.cost - self.answer.cost, [at for at, each in enumerate(one.excess) if each > 0]
                shown = [(self.goals[at], one.bounded[at].mean) for at in broken or [place]]
                numbers = [show(mean, goal.measure.unit, bound if goal is binding else None) for goal, mean in shown]
                named = [say("breaks", goal=goal.text) if broken else say("gives") for goal, _ in shown]
                value = " and ".join(name + number for name, number in zip(named, numbers, strict=True))
                price = f"{priced(abs(by))} {'more' if by >= 0 else 'less'}"
                parts.append(say("step", step=name, size=size, value=value, price=price))
        share, _ = parsed(self.answer.spare) or (0.0, "")
        for end, other, factors in (("less", "more", (1, 0.7, 0.5)), ("more", "less", (1, 1.5, 2))):
            if f"{end} spare space" not in self.steps and f"{other} spare space" in self.steps and not is_least:
                values = ",".join(f"{100 * share * factor:.3g}%" for factor in factors)
                parts.append(say("end of spare", end=end, spare=self.answer.spare, key=_SPARE, values=values))
        reasons = [self._reason(why, bound) for why in self.whys[self._explained.path]]
        if "none" in self.variants and not self.answer.is_tier and self.answer.place[0] == "0B" and reasons:
            reasons[0] = f"with {self._cache_of_schemes} of cache, {reasons[0]}"
        return [*parts, *reasons]

    @property
    def _explained(self) -> Measure:
        """The measure that the reasons are of: that of the goal that binds, or else of the first one."""
        return MEASURES.get((self.binding or self.goals[0]).measure.path, WAF_HOST)

    @property
    def _cache_of_schemes(self) -> str:
        return _cache(self.variants["none"][0].scenario.to_dict()["cache"]["size"])

    def _reason(self, why: Why, bound: float | None) -> str:
        """Say how a measure changes from one scheme to another, and whether a time is that of a growing queue."""
        said = why.said(self._explained, bound)
        is_time = self._explained.unit == "ns" and self.scenario.replay_mode == "open" and "changes" in said
        runs = self.variants[why.before] if is_time else ()
        is_behind = any(run.metrics.load.behind_ns > _BEHIND * run.metrics.simulated_ns for run in runs)
        return f"{said}: {say('behind', scheme=why.before)}" if is_behind else said

    @property
    def subject(self) -> Subject:
        """The subject of a report: the answer's device under each scheme."""
        runs = tuple(run for of_scheme in self.variants.values() for run in of_scheme)
        before, *_, after = TIERS if self.answer.is_tier else LATTICES[0]
        after = next((why.after for why in self.whys[WAF_HOST.path] if why.before == before), after)
        return Subject(runs, f"Why: {self.answer}", " ".join(self.sentences), baseline=before, target=after)

    def draw(self, form: Format) -> bytes:
        """Draw the figure of why."""
        from coflash.figures.why import draw  # slow to import

        measure = self._explained
        bound = next((goal.bound for goal in self.goals if goal.measure == measure), None)
        caption = say("under each", device=f"{str(self.answer)[0].upper()}{str(self.answer)[1:]}")
        if "none" in self.variants:
            caption += say("variants", cache=self._cache_of_schemes)
        return draw(self.variants, measure, self.whys[measure.path], form, bound, caption)

    def document(self, *_: str) -> dict[str, Any]:
        """Return the sizing as plain data."""

        def device(one: Sized) -> dict[str, Any]:
            numbers, runs = [each._asdict() for each in one.bounded], [job.key for job in one.point.jobs]
            return {"values": one.point.values, "cost": one.cost, "found": numbers, "excess": one.excess, "runs": runs}

        return {
            "goals": [goal.text for goal in self.goals],
            "met": self.answer.is_met,
            "binding": self.binding and self.binding.text,
            "how": self.how,
            "devices": {name: device(one) for name, one in {"answer": self.answer, **self.steps}.items()},
            "slices": self.slices,
            "why": {path: [why.document() for why in whys] for path, whys in self.whys.items()},
            "sentences": self.sentences,
        }


def priced(cost: float) -> str:
    """Show a cost as text: $2.31."""
    return f"${cost:,.3g}"


def size(
    trace: Paths,
    goal: str | Sequence[str],
    *,
    cost: str = PRICES,
    drive: ScenarioLike = DEVICE,
    over: Mapping[str, str | Sequence[Any]] | None = None,
    out: str | os.PathLike[str],
    requests: int | None = None,
    space: str | None = None,
    seeds: int = 3,
    on: On = None,
    progress: bool = False,
) -> Sizing:
    """Find the cheapest cache and spare space with which a device meets goals on a trace, and explain it.

    Args:
        trace: The trace: paths, or URLs that fsspec knows; or the name of a workload as for
            [`trace.generate`][coflash.trace.generate], such as `"jesd219"`, which is generated into `out`.
        goal: The bounds, such as `"waf_host<2.5"`, or several.
        cost: The cost, a sum of keys times their prices.
        drive: The scenario of a drive, whose flash is scaled to the trace; by default an example device, which gets as
            many channels as the trace needs.
        over: Further choices, by key, such as `{"gc.victim": ["greedy", "cost-benefit"]}`; those of `cache.size` and
            `ftl.spare.share` replace the ones that would be tried.
        out: The folder of results.
        requests: The number of requests of a workload, by default 400,000.
        space: The address space of a workload, by default `1GiB`.
        seeds: The number of seeds for the answer and for its explanation; the search has the first one alone.
        on: As of [`sweep`][coflash.sweep.sweep].
        progress: Whether to show progress on the standard error stream.

    Raises:
        CoflashError: An argument cannot be used, or runs failed.
    """
    bounds = tuple(condition(text, cost) for text in ([goal] if isinstance(goal, str) else goal))
    if not bounds or not number(f"cost {cost}").is_known_before:
        msg = f"size: a goal is needed, such as waf_host<2.5, and a cost of keys alone, such as {PRICES}"
        raise CoflashError(msg)
    store = folder_for(out)
    trace, made = traced(trace, store.path, requests, space)
    question = Question.of(Scenario.of(drive), trace, store, on, progress)
    return _Sizer(question, trace, bounds, cost, axes_of(over or {}), seeds).run(made)


class _Sizer:
    """The search for a size."""

    def __init__(
        self,
        question: Question,
        trace: Paths,
        bounds: tuple[Condition, ...],
        prices: str,
        axes: Sequence[Axis],
        seeds: int,
    ) -> None:
        self.question, self.goals, self.seeds = question, bounds, seeds
        (self.cost,) = goals(None, None, prices)
        self.tried: dict[tuple[str, Assignment], Sized] = {}
        self.problem = ""
        options = self.base.to_dict()["workload"]["trace_options"]
        kept = {key: one for key, one in options.items() if isinstance(one, str)}
        self.about = about = info(trace, kept, page=self.base.to_dict()["ftl"].get("indirection_unit") or "4KiB")
        if not about.footprint_pages or not about.write.requests:
            msg = "size: the trace writes nothing, or its addresses are too far apart to count: see coflash trace info"
            raise CoflashError(msg)
        room = math.ceil(about.footprint_pages * _ROOM) * about.page_bytes
        keys: dict[str, Any] = {}
        self.cache, least, count = _CACHE, 0, _STEPS
        if self.base.to_dict().get("hybrid"):
            # The flash is the cache. It begins empty, so the trace comes twice, and has many periods.
            period = min(self.base.to_dict()["hybrid"]["period_requests"], max(_PERIOD, about.requests // _PERIODS))
            segment = max(1, room // _TIER_SEGMENTS // about.page_bytes) * about.page_bytes
            self.cache, least, count = _EXPORTED, round(room / _UNIT * 2 ** (-_TIER_STEPS / 4)), _TIER_STEPS
            keys = {"hybrid.segment": f"{segment}B", "hybrid.period_requests": period, "workload.repeat": 2}
        self._change({"workload.remap": "dense", _EXPORTED: f"{room}B", **keys})
        self.question = self.question if keys else self.question.warmed()
        given = {axis.key: axis.points() for axis in axes}
        self.axes = [axis for axis in axes if axis.key not in (self.cache, _SPARE)]
        self.grid = say("given caches" if self.cache in given else "steps")
        units = [least, *(round(room * 2 ** (-step / 4) / _UNIT) for step in range(count))]
        caches: Sequence[str] | None = given.get(self.cache)
        if caches is None:  # flash of less than a block is none
            made = [f"{each * _UNIT}B" for each in units]
            caches = [one for one in made if not self._point(one).refused] or made[1:2]
        self.sizes = self._ordered(self.cache, caches)
        self.spares = self._ordered(_SPARE, given.get(_SPARE, SPARES))
        self.rest = assignments([Choices(_SPARE, tuple(self.spares)), *self.axes])

    @property
    def base(self) -> Scenario:
        return self.question.scenario

    def _change(self, keys: Mapping[str, Any]) -> None:
        self.question = replace(self.question, scenario=self.base.with_(keys))

    def _point(self, cache: str, rest: Assignment = (), seeds: int = 1) -> Point:
        return self.question.point(((self.cache, cache), *rest), seeds)

    def run(self, how: Sequence[str]) -> Sizing:
        from coflash.results.slices import interval  # needs numpy

        self._check_size()
        how = (*how, _read(self.about), self._in_time(), self._searched())
        best, steps = self._steps(self._confirmed())
        tried = say("tried", devices=counted(len(self.tried), "device"), grid=self.grid, spares=", ".join(self.spares))
        variants = self._variants(best)
        own = scheme_of({"scenario": best.point.jobs[0].scenario.to_dict()})
        pairs = [(name, run) for name, runs in variants.items() for run in runs]
        explained = {
            measure.path: whys_of(own, [(name, run.seed, measure.read(run.metrics)) for name, run in pairs])
            for measure in (WAF_HOST, *(goal.measure for goal in self.goals if goal.measure.path in MEASURES))
        }
        series = [run.series() for run in best.runs]
        slices = tuple(interval(series, goal.measure.path) for goal in self.goals)
        path = self.question.store.path
        return Sizing(path, self.goals, how, best, tried, slices, steps, variants, explained).write()

    def _check_size(self) -> None:
        """Check that a device for this trace can be made.

        Raises:
            CoflashError: None can; the message has the keys that make it small enough.
        """

        def problem(*smaller: tuple[str, str]) -> str:
            reasons = [refusal(self.base, (*smaller, (self.cache, self._plain), *rest)) for rest in self.rest]
            return "" if "" in reasons else reasons[-1]

        if not (reason := problem()):
            return
        whole, keys = self.base.to_dict()["flash"]["pages_per_block"], dict[str, str]()
        pages = [whole >> power for power in range(1, whole.bit_length() - 2)]
        for key, value in [*((key, 1) for key in _SMALLER), *(("flash.pages_per_block", each) for each in pages)]:
            keys[key] = str(value)
            if not problem(*keys.items()):
                end = say("smaller parts", sets=" ".join(f"--set {key}={value}" for key, value in keys.items()))
                break
        else:
            end = say("longer trace")
        touched = show((self.about.footprint_pages or 0) * self.about.page_bytes, "bytes")
        raise CoflashError(say("too small", touched=touched, drive=self.base.name, reason=reason, end=end))

    @property
    def _plain(self) -> str:
        """No cache; of flash before disks the most."""
        return "0B" if self.cache == _CACHE else self.sizes[-1]

    def _ordered(self, key: str, values: Sequence[str]) -> list[str]:
        """Return values of a key, each once and as scenarios show it, the least first."""
        points = [self.question.point(((key, value),)) for value in values]
        if refused := next((point.refused for point in points if point.refused), ""):
            raise CoflashError(refused)
        return sorted({point.values[key] for point in points}, key=lambda text: (parsed(text) or (math.inf, ""))[0])

    def _in_time(self) -> str:
        """Replay at the trace's times if a device without a cache keeps up with them, or else in a closed loop."""
        begin, span_ns, channels = self.question, self.about.span_ns, self.base.to_dict()["flash"]["channels"]
        depth, repeat = self.base.to_dict()["replay"]["queue_depth"], self.base.to_dict()["workload"].get("repeat", 1)
        for factor in (_MORE_CHANNELS if self.base.name == DEVICE else (1,)) if span_ns else ():
            self.question = begin
            self._change({"replay.mode": "open", "flash.channels": factor * channels})
            (ran,) = self._ran([(self._plain, ((_SPARE, SPARES[-1]), *self.rest[-1][1:]))])
            if ran is not None and ran.runs[0].metrics.simulated_ns <= _LATE * span_ns * repeat:
                return say("at times", more=say("channels", channels=factor * channels) if factor > 1 else "")
        self.question = begin
        self._change({"replay.mode": "closed"})
        return say("as answered", depth=depth, reason=say("too slow" if span_ns else "no times"))

    def _searched(self) -> str:
        """Halve, for each spare share and whatever else is varied, the range of caches in which the least one lies."""
        self.tried.clear()
        every, middle = len(self.sizes), len(self.spares) // 2
        # With more spare space than that of the first search no larger cache is needed, with less no smaller one.
        ranges = self._halved({rest: (-1, every) for rest in self.rest if rest[0][1] == self.spares[middle]})
        first = {rest[1:]: ends for rest, ends in ranges.items()}
        for rest in self.rest:
            (low, high), place = first[rest[1:]], self.spares.index(rest[0][1])
            if place != middle:
                ranges[rest] = (-1, high) if place > middle else (low, every)
        ranges = self._halved(ranges)
        if not self.tried:
            raise CoflashError(f"size: no device could be made for this trace: {self.problem}")
        tried = self.tried.values()
        if any(one.is_met for one in tried) and not any(self._is_worse_than_less(one) for one in tried):
            self._refine({rest: low for rest, (low, _) in ranges.items()})
            return say("bisected")
        axes = [Choices(self.cache, tuple(self.sizes)), Choices(_SPARE, tuple(self.spares)), *self.axes]
        trials = Search(self.question, axes, [self.cost], self.goals, seeds=1, trials=_TRIALS, seed=0).run().trials
        self._ran([(one.values.pop(self.cache), tuple(one.values.items())) for one in trials if one.is_allowed])
        return say("bisected and tuned", trials=_TRIALS)

    def _halved(self, ranges: dict[Assignment, tuple[int, int]]) -> dict[Assignment, tuple[int, int]]:
        while middles := {rest: sum(ends) // 2 for rest, ends in ranges.items() if self._may_pay(rest, *ends)}:
            ran = self._ran([(self.sizes[middle], rest) for rest, middle in middles.items()])
            for (rest, middle), one in zip(middles.items(), ran, strict=True):
                low, high = ranges[rest]
                ranges[rest] = (low, middle) if one is not None and one.is_met else (middle, high)
        return ranges

    def _refine(self, lows: Mapping[Assignment, int]) -> None:
        """Halve the step above the largest cache that fails, wherever a cache within it may be the cheapest."""
        ends = {rest: self.sizes[low : low + 2] for rest, low in lows.items() if 0 <= low < len(self.sizes) - 1}
        ends = {rest: pair for rest, pair in ends.items() if pair[0] != "0B"}
        if self.grid == say("given caches") or not ends:
            return
        finer = {*self.sizes}
        for low, high in {tuple(pair) for pair in ends.values()}:
            (least, _), (most, _) = parsed(low) or (0.0, ""), parsed(high) or (0.0, "")
            units = (least * (most / least) ** (step / _FINER) / _UNIT for step in range(1, _FINER))
            finer |= {f"{round(each) * _UNIT}B" for each in units}
        self.sizes = self._ordered(self.cache, list(finer))
        self._halved({rest: (self.sizes.index(low), self.sizes.index(high)) for rest, (low, high) in ends.items()})
        self.grid += say("finer steps")

    def _may_pay(self, rest: Assignment, low: int, high: int) -> bool:
        """Whether a cache between two may be the cheapest yet."""
        if high - low < 2 or (point := self._point(self.sizes[low + 1], rest)).refused:
            return False
        least = min((one.cost for one in self.tried.values() if one.is_met), default=math.inf)
        return (self.cost.value((), point.jobs[0].scenario) or 0.0) < least

    def _is_worse_than_less(self, one: Sized) -> bool:
        """Whether a device breaks a goal that one with no more cache and no more spare space does not break."""

        def place(device: Sized) -> tuple[int, int]:
            return self.sizes.index(device.place[0]), self.spares.index(device.spare)

        less = [each for each in self.tried.values() if each.is_met and each.place[1][1:] == one.place[1][1:]]
        cache, spare = place(one)
        return not one.is_met and any(place(each)[0] <= cache and place(each)[1] <= spare for each in less)

    def _confirmed(self) -> Sized:
        """Return the cheapest device that meets the goals with all seeds; without one the nearest to them."""
        for one in sorted(self.tried.values(), key=lambda one: one.cost):
            if one.is_met and (again := self._ran([one.place], self.seeds)[0]) is not None and again.is_met:
                return again
        nearest = min(self.tried.values(), key=lambda one: sum(max(each, 0) for each in one.excess))
        return self._ran([nearest.place], self.seeds)[0] or nearest

    def _named(self, places: Mapping[str, tuple[str, Assignment]]) -> dict[str, Sized]:
        """Run devices by name, with all seeds of the answer; those that cannot be made are left out."""
        ran = self._ran(list(places.values()), self.seeds)
        return {name: one for name, one in zip(places, ran, strict=True) if one is not None}

    def _steps(self, best: Sized) -> tuple[Sized, dict[str, Sized]]:
        """Run a device's neighbours, and go on from the cheapest that by all seeds meets the goals for less, if any."""
        cache, (_, *others) = best.place
        at, share, places = self.sizes.index(cache), self.spares.index(best.spare), {}
        for name, by in (("less", -1), ("more", 1)):
            if 0 <= at + by < len(self.sizes):
                places[f"{name} cache"] = (self.sizes[at + by], best.place[1])
            if 0 <= share + by < len(self.spares):
                places[f"{name} spare space"] = (cache, ((_SPARE, self.spares[share + by]), *others))
        steps = self._named(places)
        better = [one for one in steps.values() if one.is_met and (one.cost < best.cost or not best.is_met)]
        return self._steps(min(better, key=lambda one: one.cost)) if better else (best, steps)

    def _variants(self, best: Sized) -> dict[str, tuple[Result, ...]]:
        """Run the answer's device under its scheme and each whose parts it has, and without a cache."""
        key, scenario = _TIER if best.is_tier else _SCHEME, best.point.jobs[0].scenario
        varied = [pair for pair in best.place[1] if pair[0] in (key, key.removesuffix(".name"))]
        rest = tuple(pair for pair in best.place[1] if pair not in varied)
        cache = next((each for each in [best.place[0], *self.sizes] if each != "0B"), f"{_UNIT}B")
        shadows = _SHADOWS if self.base.to_dict()["host_buffer"]["size"] != "0B" else ()
        schemes = {one: scheme_on(scenario, one) for one in (*LATTICES[0], *shadows)}
        schemes = {one: (key, one) for one in TIERS} if best.is_tier else schemes
        own = scheme_of({"scenario": scenario.to_dict()})
        schemes[own] = next(iter(varied), (key, own))
        places = {one: (cache, (*rest, pair)) for one, pair in schemes.items()}
        places = places if best.is_tier else {"no cache": ("0B", (*rest, (_SCHEME, "none"))), **places}
        return {name: one.runs for name, one in self._named(places).items()}

    def _ran(self, places: Sequence[tuple[str, Assignment]], seeds: int = 1) -> list[Sized | None]:
        """Run devices; None for one that cannot be made."""
        points = [self._point(cache, rest, seeds) for cache, rest in places]
        ran = self.question.ran(points)
        self.problem = next((reason for reason in ran if isinstance(reason, str)), self.problem)
        pairs = zip(points, ran, strict=True)
        return [None if isinstance(runs, str) else self._sized(point, runs) for point, runs in pairs]

    def _sized(self, point: Point, runs: tuple[Result, ...]) -> Sized:
        scenario = point.jobs[0].scenario
        bounded = estimates(self.goals, [[run.metrics] for run in runs], scenario)
        excess = [
            math.inf if one.mean is None else goal.excess(one.mean)
            for goal, one in zip(self.goals, bounded, strict=True)
        ]
        cost = self.cost.value([runs[0].metrics], scenario) or 0.0
        one = Sized(point, runs, cost, tuple(bounded), tuple(excess))
        self.tried.setdefault(one.place, one)
        return one


def _cache(size: str) -> str:
    """Show the size of a cache, or that there is none."""
    size_bytes, _ = parsed(size) or (0.0, "")
    return show(size_bytes, "bytes") if size_bytes else "no"


def _read(about: TraceInfo) -> str:
    span = f" over {show(about.span_ns, 'ns')}" if about.span_ns else ""
    touched = show((about.footprint_pages or 0) * about.page_bytes, "bytes")
    requests = f"{counted(about.requests, 'request')}{span}"
    read = say("read", formats=", ".join(about.formats), requests=requests, touched=touched)
    return ". ".join([read, *(remark.rstrip(".") for remark in about.remarks)]) + "."
