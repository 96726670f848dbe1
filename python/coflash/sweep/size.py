"""Sizing: the cheapest cache and spare space with which a device meets its goals on a trace, and why.

More cache or more spare space seldom makes a goal worse, so that bisection finds the least cache for each spare share.
Where the runs show the opposite, Optuna searches the same values.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coflash._core import CoflashError, __version__
from coflash.files import atomic_write
from coflash.measures.measure import MEASURES, WAF_HOST, Measure
from coflash.quantity import counted, parsed, show, show_change
from coflash.results.estimate import Estimate, estimate, show_estimate
from coflash.results.result import BEYOND, Result
from coflash.results.store import FolderStore
from coflash.results.subject import Subject
from coflash.results.why import LATTICES, TIERS, Why, scheme_of
from coflash.runs.inputs import Input, inputs_of
from coflash.scenario import Scenario, ScenarioLike
from coflash.sweep import swept
from coflash.sweep.answers import scheme_on, whys_of
from coflash.sweep.design import Assignment, Axis, Choices, assignments, axes_of
from coflash.sweep.engine import Place
from coflash.sweep.generated import traced
from coflash.sweep.goal import Condition, condition, goals, number
from coflash.sweep.plan import Plan, Point
from coflash.sweep.tune import Search, folder_for
from coflash.terminal import errors
from coflash.trace import Paths, info
from coflash.trace.trace_info import TraceInfo

if TYPE_CHECKING:
    from rich.console import Console

    from coflash.charts import Format

DEVICE, DOCUMENT = "demo", "size.json"
PRICES = "cache.size*3 $/GiB + flash.size*0.08 $/GiB"
SPARES = ("7%", "10%", "14%", "20%", "28%", "40%", "56%")
_STEPS, _UNIT = 33, 2**18
"""The cache sizes from a 256th of the footprint to all of it, and what they are multiples of."""
_FINER = 4
"""The finer steps in each step of the cache."""
_ROOM, _LATE, _MORE_CHANNELS, _TRIALS = 1.04, 1.02, (1, 2, 4, 8), 24
_CACHE, _SPARE, _SCHEME, _EXPORTED = "cache.size", "ftl.spare.share", "cooperation.name", "flash.exported"
_NOTABLE = 0.02
"""The share by which a measure is better under another scheme where that is told."""
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
    def is_tier(self) -> bool:
        """Whether its cache is flash before disks."""
        return _EXPORTED in self.point.values

    def __str__(self) -> str:
        cache, ((_, spare), *others) = self.place
        more = "".join(f", {key}={value}" for key, value in others)
        what = "flash cache" if self.is_tier else "cache"
        return f"{_cache(cache)} {what}, {spare} spare space{more}"


@dataclass(frozen=True)
class Sizing:
    """The answer: the cheapest device that meets the goals, or the nearest to them."""

    path: Path
    """The folder of its runs."""
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
    def binding(self) -> Condition | None:
        """The goal that the answer, or else its cheaper neighbours, break the most; None if they meet all."""
        cheaper = [one for name, one in self.steps.items() if name.startswith("less") and self.answer.is_met]
        excess, place = max((one, at) for of in cheaper or [self.answer] for at, one in enumerate(of.excess))
        return self.goals[place] if excess > 0 else None

    @property
    def sentences(self) -> tuple[str, str, str]:
        """The answer in three sentences; the last says what the numbers do not tell."""
        wanted, found = " and ".join(goal.text for goal in self.goals), "; ".join(self._found())
        device = f"{self.answer} ({priced(self.answer.cost)})"
        answer = f"None of {self.tried} meets {wanted}; the nearest is {device}: {found}."
        if self.answer.is_met:
            answer = f"{device} is the cheapest of {self.tried} that meets {wanted}: {found}."
        beyond = (note for runs in self.variants.values() for run in runs for note in run.notes if BEYOND in note)
        limits = f"The numbers do not tell {', nor '.join(self._limits())}."
        return answer, f"{'; '.join(self._reasons())}.", " ".join([limits, *[*beyond][:1]])

    def _found(self) -> list[str]:
        texts = []
        each = zip(self.goals, self.answer.bounded, self.slices, self.answer.excess, strict=True)
        for goal, one, over, excess in each:
            unit = goal.measure.unit
            seeds = f" over {one.runs} seeds" if one.half_width is not None else ""
            slices = f", {show(over[0], unit)} … {show(over[1], unit)} over slices of the trace" if over else ""
            beyond = f" ✗ {show_change(excess * goal.sign)}" if excess > 0 else ""
            texts.append(f"{goal.measure.label} {show_estimate(one, unit)}{seeds}{slices}{beyond}")
        return texts

    def _reasons(self) -> list[str]:
        is_least = self.answer.is_met and not any(name.startswith("less") for name in self.steps)
        parts, explained, bound = ["No goal binds" + ": no smaller device was tried" * is_least], self._explained, None
        if (binding := self.binding) is not None:
            parts, place, bound = [f"{binding.text} binds"], self.goals.index(binding), binding.bound
            for name, one in self.steps.items():
                by, value = one.cost - self.answer.cost, show(one.bounded[place].mean, binding.measure.unit, bound)
                of = _cache(one.place[0]) if name.endswith("cache") else one.place[1][0][1]
                parts.append(
                    f"a step {name} ({of}) gives {value} for {priced(abs(by))} {'more' if by >= 0 else 'less'}"
                )
        spare = self.answer.place[1][0][1]
        share, _ = parsed(spare) or (0.0, "")
        for end, other, factors in (("less", "more", (1, 0.7, 0.5)), ("more", "less", (1, 1.5, 2))):
            if f"{end} spare space" not in self.steps and f"{other} spare space" in self.steps and not is_least:
                values = ",".join(f"{100 * share * factor:.3g}%" for factor in factors)
                parts.append(f"no {end} spare space than {spare} was tried: --over {_SPARE}={values} tries it")
        reasons = [self._reason(why, explained, bound) for why in self.whys[explained.path]]
        if "none" in self.variants and not self.answer.is_tier and self.answer.place[0] == "0B" and reasons:
            reasons[0] = f"with {self._cache_of_schemes} of cache, {reasons[0]}"
        return [*parts, *reasons, *self._better(explained, bound)]

    def _better(self, measure: Measure, bound: float | None) -> list[str]:
        """Name the scheme under which the same device would do better than under its own, and what tries both."""
        own, sign = scheme_of({"scenario": self.scenario.to_dict()}), -1 if measure.better == "more" else 1
        of = {name: runs for name, runs in self.variants.items() if name != "no cache"}
        means = {name: estimate([measure.read(run.metrics) for run in runs]).mean for name, runs in of.items()}
        found = {name: sign * mean for name, mean in means.items() if mean is not None}
        if own not in found or self.answer.place[0] == "0B":
            return []
        best = min(found, key=lambda name: found[name])
        if found[own] - found[best] <= _NOTABLE * abs(found[own]):
            return []
        over = f"--over {'hybrid.scheme' if self.answer.is_tier else 'cooperation'}={own},{best}"
        return [
            f"under {best} in place of {own} it is {show(abs(found[best]), measure.unit, bound)}: {over} tries both"
        ]

    @property
    def _explained(self) -> Measure:
        """The measure that the reasons are of: that of the goal that binds, or else of the first one."""
        return MEASURES.get((self.binding or self.goals[0]).measure.path, WAF_HOST)

    @property
    def _cache_of_schemes(self) -> str:
        return _cache(self.variants["none"][0].scenario.to_dict()["cache"]["size"])

    def _reason(self, why: Why, explained: Measure, bound: float | None) -> str:
        """Say how a measure changes from one scheme to another, and whether a time is that of a growing queue."""
        said = why.said(explained, bound)
        runs = self.variants[why.before] if explained.unit == "ns" and self.scenario.replay_mode == "open" else ()
        is_behind = any(run.metrics.load.behind_ns > _BEHIND * run.metrics.simulated_ns for run in runs)
        queue = f": the device does not keep up with {why.before}, whose time is that of a growing queue" * is_behind
        return said + queue * ("changes" in said)

    def _limits(self) -> list[str]:
        is_open, fitted = self.scenario.replay_mode == "open", self.scenario.to_dict()["limits"]
        given = "requests come at the trace's times (open loop)" if is_open else "the trace's times are ignored"
        drive = (
            f"more of the drive than this: {' '.join(fitted).rstrip('.')}" if fitted else "of a drive: none was fitted"
        )
        return [
            f"how a host adapts to slower or faster answers, since {given}",
            "tails from anything but GC and queues, such as retries, heat or firmware",
            "another history than the trace itself, which comes twice since the flash cache begins empty"
            if self.answer.is_tier
            else "another history than the trace's own writes, with which devices are warmed up until steady",
            f"{drive}, and seeds vary the device, not the trace",
        ]

    @property
    def subject(self) -> Subject:
        """The subject of a report: the answer's device under each scheme."""
        runs = tuple(run for of in self.variants.values() for run in of)
        before, *_, after = TIERS if self.answer.is_tier else LATTICES[0]
        after = next((why.after for why in self.whys[WAF_HOST.path] if why.before == before), after)
        return Subject(runs, f"Why: {self.answer}", " ".join(self.sentences), baseline=before, target=after)

    def draw(self, form: Format) -> bytes:
        """Draw the figure of why."""
        from coflash.figures.why import draw  # slow to import

        measure = self._explained
        bound = next((goal.bound for goal in self.goals if goal.measure == measure), None)
        device = f"{str(self.answer)[0].upper()}{str(self.answer)[1:]}"
        caption = f"{device}, under each scheme."
        if "none" in self.variants:
            caption = f"{device}. no cache: the same device without one. Others: with {self._cache_of_schemes} of "
            caption += "cache; none: a cache without cooperation."
        return draw(self.variants, measure, self.whys[measure.path], form, bound, caption)

    def document(self) -> dict[str, Any]:
        """Return the sizing as plain data."""

        def device(one: Sized) -> dict[str, Any]:
            found, runs = [each._asdict() for each in one.bounded], [job.key for job in one.point.jobs]
            return {"values": one.point.values, "cost": one.cost, "found": found, "excess": one.excess, "runs": runs}

        return {
            "coflash": __version__,
            "goals": [goal.text for goal in self.goals],
            "met": self.answer.is_met,
            "binding": self.binding and self.binding.text,
            "how": self.how,
            "devices": {name: device(one) for name, one in {"answer": self.answer, **self.steps}.items()},
            "slices": self.slices,
            "why": {path: [why.document() for why in found] for path, found in self.whys.items()},
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
    workers: int | None = None,
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
        workers: The number of parallel runs; None for one on each core.
        progress: Whether to show progress on the standard error stream.

    Raises:
        CoflashError: An argument cannot be used, or runs failed.
    """
    bounds = tuple(condition(text, cost) for text in ([goal] if isinstance(goal, str) else goal))
    if not bounds or not number(f"cost {cost}").is_known_before:
        msg = f"size: a goal is needed, such as waf_host<2.5, and a cost of keys alone, such as {PRICES}"
        raise CoflashError(msg)
    store, console = folder_for(out), errors() if progress else None
    trace, made = traced(trace, store.path, requests, space)
    base, axes = Scenario.of(drive), axes_of(over or {})
    return _Sizer(trace, bounds, cost, base, axes, store, seeds, workers, console, how=made).run()


@dataclass
class _Sizer:
    """The search for a size."""

    trace: Paths
    goals: tuple[Condition, ...]
    prices: str
    base: Scenario
    axes: list[Axis]
    store: FolderStore
    seeds: int
    workers: int | None
    console: Console | None
    how: list[str] = field(default_factory=list)
    inputs: tuple[Input, ...] = ()
    rest: Sequence[Assignment] = ()
    problem: str = ""
    grid: str = "cache sizes in steps of about 20 %"
    cache: str = _CACHE
    least: list[int] = field(default_factory=lambda: [0])
    sizes: list[str] = field(default_factory=list)
    spares: list[str] = field(default_factory=list)
    tried: dict[tuple[str, Assignment], Sized] = field(default_factory=dict)

    def run(self) -> Sizing:
        from coflash.results.slices import interval  # needs numpy

        self.inputs, (self.cost,) = inputs_of(self.base, self.trace), goals(None, None, self.prices)
        options = self.base.to_dict()["workload"]["trace_options"]
        about = info(self.trace, {key: one for key, one in options.items() if isinstance(one, str)})
        if not about.footprint_pages or not about.write.requests:
            msg = "size: the trace writes nothing, or its addresses are too far apart to count: see coflash trace info"
            raise CoflashError(msg)
        room = math.ceil(about.footprint_pages * _ROOM) * about.page_bytes
        steady = {"precondition.until_steady": True, _EXPORTED: f"{room}B"}
        if self.base.to_dict().get("hybrid"):
            # The flash is the cache. It begins empty, so the trace comes twice, and has many periods.
            period = min(self.base.to_dict()["hybrid"]["period_requests"], max(_PERIOD, about.requests // _PERIODS))
            segment = max(1, room // _TIER_SEGMENTS // about.page_bytes) * about.page_bytes
            self.cache, self.least = _EXPORTED, [round(room / _UNIT * 2 ** (-_TIER_STEPS / 4))]
            steady = {"hybrid.segment": f"{segment}B", "hybrid.period_requests": period}
            steady |= {"workload.repeat": 2, _EXPORTED: f"{room}B"}
        self.base = self.base.with_({"workload.remap": "dense", **steady})
        given = {axis.key: axis.points() for axis in self.axes}
        self.axes = [axis for axis in self.axes if axis.key not in (self.cache, _SPARE)]
        self.grid = "the given cache sizes" if self.cache in given else self.grid
        count = _TIER_STEPS if self.cache == _EXPORTED else _STEPS
        units = self.least + [round(room * 2 ** (-step / 4) / _UNIT) for step in range(count)]
        if self.cache not in given:  # flash of less than a block is none
            made = (f"{each * _UNIT}B" for each in units)
            usual = [one for one in made if not Point.of(self.base, (), ((self.cache, one),), 0).refused]
        self.sizes = self._ordered(self.cache, given.get(self.cache) or usual or [f"{units[1] * _UNIT}B"])
        self.spares = self._ordered(_SPARE, given.get(_SPARE, SPARES))
        self.rest = assignments([Choices(_SPARE, tuple(self.spares)), *self.axes])
        self._check_size(about)
        how = [*self.how, _read(about), self._in_time(about), self._searched()]
        tried = f"{counted(len(self.tried), 'device')} tried ({self.grid}; spare space {', '.join(self.spares)})"
        best = self._confirmed()
        steps, variants = self._steps(best), self._variants(best)
        asked = (WAF_HOST, *(one.measure for one in self.goals if one.measure.path in MEASURES))
        pairs = [(name, run) for name, of in variants.items() for run in of]
        read = {each.path: [(name, run.seed, each.read(run.metrics)) for name, run in pairs] for each in asked}
        own = scheme_of({"scenario": best.point.jobs[0].scenario.to_dict()})
        explained = {path: whys_of(own, found) for path, found in read.items()}
        series = [run.series() for run in self._loaded(best.point)]
        slices = tuple(interval(series, one.measure.path) for one in self.goals)
        found = Sizing(self.store.path, self.goals, tuple(how), best, tried, slices, steps, variants, explained)
        text = json.dumps(found.document(), indent=2, ensure_ascii=False) + "\n"
        atomic_write.write_file(self.store.path / DOCUMENT, text)
        return found

    def _check_size(self, about: TraceInfo) -> None:
        """Check that a device for this trace can be made.

        Raises:
            CoflashError: None can; the message has the keys that make it small enough.
        """

        def problem(keys: Mapping[str, int]) -> str:
            reason = ""
            try:
                base = self.base.with_(keys)
            except CoflashError as error:
                return str(error)
            for rest in self.rest:
                point = Point.of(base, (), ((self.cache, self._plain()), *rest), 1)
                if not (reason := point.refused):
                    try:
                        point.jobs[0].scenario.check()
                    except CoflashError as error:
                        reason = str(error)
                    else:
                        return ""
            return reason

        if not (reason := problem({})):
            return
        whole = self.base.to_dict()["flash"]["pages_per_block"]
        pages = [whole >> power for power in range(1, whole.bit_length() - 2)]
        keys: dict[str, int] = {}
        for key, value in [*((key, 1) for key in _SMALLER), *(("flash.pages_per_block", each) for each in pages)]:
            keys[key] = value
            if not problem(keys):
                sets = " ".join(f"--set {key}={value}" for key, value in keys.items())
                end = f"smaller parts make it fit: add {sets}"
                break
        else:
            end = "it takes a longer trace, such as one of coflash trace generate jesd219-enterprise"
        touched = show((about.footprint_pages or 0) * about.page_bytes, "bytes")
        msg = f"size: the trace touches {touched}, too little for a device with the parts of {self.base.name}: {reason}"
        raise CoflashError(f"{msg}; {end}")

    def _plain(self) -> str:
        """Return no cache; of flash before disks the most."""
        return "0B" if self.cache == _CACHE else self.sizes[-1]

    def _ordered(self, key: str, values: Sequence[str]) -> list[str]:
        """Return values of a key, each once and as scenarios show it, the least first."""
        points = [Point.of(self.base, (), ((key, value),), 0) for value in values]
        if refused := next((point.refused for point in points if point.refused), ""):
            raise CoflashError(refused)
        return sorted({point.values[key] for point in points}, key=lambda text: (parsed(text) or (math.inf, ""))[0])

    def _in_time(self, about: TraceInfo) -> str:
        """Replay at the trace's times if a device without a cache keeps up with them, or else in a closed loop."""
        base, channels = self.base, self.base.to_dict()["flash"]["channels"]
        for factor in (_MORE_CHANNELS if base.name == DEVICE else (1,)) if about.span_ns else ():
            self.base = base.with_({"replay.mode": "open", "flash.channels": factor * channels})
            (ran,) = self._ran([(self._plain(), ((_SPARE, SPARES[-1]), *self.rest[-1][1:]))])
            span_ns = about.span_ns * base.to_dict()["workload"].get("repeat", 1)
            if ran is not None and self._loaded(ran.point)[0].metrics.simulated_ns <= _LATE * span_ns:
                more = f"; {factor * channels} channels keep up without a cache" if factor > 1 else ""
                return f"Requests come at the times of the trace (open loop){more}."
        self.base, depth = base.with_({"replay.mode": "closed"}), base.to_dict()["replay"]["queue_depth"]
        reason = "the device does not keep up with its times" if about.span_ns else "the trace has no times"
        return f"Requests come as earlier ones are answered, {depth} at a time (closed loop): {reason}."

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
            return "Searched by bisection of the cache for each spare share."
        axes = [Choices(self.cache, tuple(self.sizes)), Choices(_SPARE, tuple(self.spares)), *self.axes]
        search = Search(self.base, axes, self.trace, [self.cost], self.goals, seeds=1, trials=_TRIALS, seed=0)
        trials = search.run(self.store, Place("local", self.workers, None, self.inputs), self.console).trials
        self._ran([(one.values.pop(self.cache), tuple(one.values.items())) for one in trials if one.is_allowed])
        return f"Searched by bisection and {_TRIALS} trials of Optuna, since not each larger device meets the goals."

    def _halved(self, ranges: dict[Assignment, tuple[int, int]]) -> dict[Assignment, tuple[int, int]]:
        while middles := {rest: sum(ends) // 2 for rest, ends in ranges.items() if self._may_pay(rest, *ends)}:
            ran = self._ran([(self.sizes[middle], rest) for rest, middle in middles.items()])
            for (rest, middle), one in zip(middles.items(), ran, strict=True):
                low, high = ranges[rest]
                ranges[rest] = (low, middle) if one is not None and one.is_met else (middle, high)
        return ranges

    def _refine(self, lows: Mapping[Assignment, int]) -> None:
        """Halve the step above the largest cache that fails, wherever a cache within it may be the cheapest."""
        ends = {rest: (self.sizes[low], self.sizes[low + 1]) for rest, low in lows.items() if low + 1 < len(self.sizes)}
        ends = {rest: of for rest, of in ends.items() if lows[rest] >= 0 and of[0] != "0B"}
        if self.grid == "the given cache sizes" or not ends:
            return
        finer = {*self.sizes}
        for low, high in {*ends.values()}:
            (least, _), (most, _) = parsed(low) or (0.0, ""), parsed(high) or (0.0, "")
            units = (least * (most / least) ** (step / _FINER) / _UNIT for step in range(1, _FINER))
            finer |= {f"{round(each) * _UNIT}B" for each in units}
        self.sizes = self._ordered(self.cache, list(finer))
        self._halved({rest: (self.sizes.index(low), self.sizes.index(high)) for rest, (low, high) in ends.items()})
        self.grid += ", of about 5 % where it is cheapest"

    def _cost(self, cache: str, rest: Assignment) -> float:
        """Return the cost of a device; infinite if it cannot be made."""
        point = Point.of(self.base, self.inputs, ((self.cache, cache), *rest), 1)
        return math.inf if point.refused else self.cost.value((), point.jobs[0].scenario) or 0.0

    def _may_pay(self, rest: Assignment, low: int, high: int) -> bool:
        """Whether a cache between two may be the cheapest yet."""
        if high - low < 2:
            return False
        return self._cost(self.sizes[low + 1], rest) < min(
            (one.cost for one in self.tried.values() if one.is_met), default=math.inf
        )

    def _is_worse_than_less(self, one: Sized) -> bool:
        """Whether a device breaks a goal that one with no more cache and no more spare space does not break."""
        cache, ((_, spare), *others) = one.place
        less = [of for of in self.tried.values() if of.is_met and list(of.place[1][1:]) == others]
        at, share = self.sizes.index(cache), self.spares.index(spare)
        places = [(self.sizes.index(of.place[0]), self.spares.index(of.place[1][0][1])) for of in less]
        return not one.is_met and any(of[0] <= at and of[1] <= share for of in places)

    def _confirmed(self) -> Sized:
        """Return the cheapest device that meets the goals with all seeds; without one the nearest to them."""
        for one in sorted(self.tried.values(), key=lambda one: one.cost):
            if one.is_met and (again := self._ran([one.place], self.seeds)[0]) is not None and again.is_met:
                return again
        nearest = min(self.tried.values(), key=lambda one: sum(max(each, 0) for each in one.excess))
        return self._ran([nearest.place], self.seeds)[0] or nearest

    def _steps(self, best: Sized) -> dict[str, Sized]:
        """Run the neighbours of the answer, with all its seeds."""
        cache, ((_, spare), *others) = best.place
        at, share, found = self.sizes.index(cache), self.spares.index(spare), {}
        for name, by in (("less", -1), ("more", 1)):
            if 0 <= at + by < len(self.sizes):
                found[f"{name} cache"] = (self.sizes[at + by], best.place[1])
            if 0 <= share + by < len(self.spares):
                found[f"{name} spare space"] = (cache, ((_SPARE, self.spares[share + by]), *others))
        ran = self._ran(list(found.values()), self.seeds)
        return {name: one for name, one in zip(found, ran, strict=True) if one is not None}

    def _variants(self, best: Sized) -> dict[str, tuple[Result, ...]]:
        """Run the answer's device under its scheme and each whose parts it has, and without a cache."""
        key, scenario = _TIER if best.is_tier else _SCHEME, best.point.jobs[0].scenario
        varied = {name: text for name, text in best.place[1] if name in (key, key.removesuffix(".name"))}
        rest = tuple(pair for pair in best.place[1] if pair[0] not in varied)
        cache = next((each for each in [best.place[0], *self.sizes] if each != "0B"), f"{_UNIT}B")
        shadows = _SHADOWS if self.base.to_dict()["host_buffer"]["size"] != "0B" else ()
        schemes = {one: scheme_on(scenario, one) for one in (*LATTICES[0], *shadows)}
        schemes = {one: (key, one) for one in TIERS} if best.is_tier else schemes
        own = scheme_of({"scenario": scenario.to_dict()})
        schemes |= {own: next(iter(varied.items()), (key, own))}
        places = {one: (cache, (*rest, pair)) for one, pair in schemes.items()}
        places = places if best.is_tier else {"no cache": ("0B", (*rest, (_SCHEME, "none"))), **places}
        ran = self._ran(list(places.values()), self.seeds)
        return {name: self._loaded(one.point) for name, one in zip(places, ran, strict=True) if one is not None}

    def _ran(self, places: Sequence[tuple[str, Assignment]], seeds: int = 1) -> list[Sized | None]:
        """Run devices; None for one that cannot be made."""
        points = [Point.of(self.base, self.inputs, ((self.cache, cache), *rest), seeds) for cache, rest in places]
        self.problem = next((point.refused for point in points if point.refused), self.problem)
        if made := tuple(point for point in points if not point.refused):
            place = Place("local", self.workers, None, self.inputs)
            try:
                swept(Plan(made), self.store, place, self.console)
            except CoflashError as error:  # no run of these
                self.problem = str(error)
        lost = [bool(point.refused) or any(job.key not in self.store for job in point.jobs) for point in points]
        return [None if bad else self._sized(point) for point, bad in zip(points, lost, strict=True)]

    def _sized(self, point: Point) -> Sized:
        scenario, runs = point.jobs[0].scenario, self._loaded(point)
        bounded = tuple(estimate([one.value([run.metrics], scenario) for run in runs]) for one in self.goals)
        pairs = zip(self.goals, bounded, strict=True)
        excess = tuple(math.inf if one.mean is None else goal.excess(one.mean) for goal, one in pairs)
        one = Sized(point, self.cost.value([runs[0].metrics], scenario) or 0.0, bounded, excess)
        self.tried.setdefault(one.place, one)
        return one

    def _loaded(self, point: Point) -> tuple[Result, ...]:
        return tuple(Result.load(folder.here()) for _, folder, _ in self.store.runs([job.key for job in point.jobs]))


def _cache(size: str) -> str:
    """Show the size of a cache, or that there is none."""
    size_bytes, _ = parsed(size) or (0.0, "")
    return show(size_bytes, "bytes") if size_bytes else "no"


def _read(about: TraceInfo) -> str:
    touched = show((about.footprint_pages or 0) * about.page_bytes, "bytes")
    requests, span = counted(about.requests, "request"), f" over {show(about.span_ns, 'ns')}" if about.span_ns else ""
    read = f"{', '.join(about.formats)}, {requests}{span}, {touched} touched"
    return ". ".join([f"Read as {read}", *(remark.rstrip(".") for remark in about.remarks)]) + "."
