"""Sizing: the cheapest cache and spare space with which a device meets its goals on a trace, and why.

More cache or more spare space seldom makes a goal worse: so `frontier` finds the cheapest pair. Other schemes and
orders of eviction are tried where they would be cheaper. Over several rounds of the trace the answer is checked.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

from coflash._core import CoflashError
from coflash.measures.measure import MEASURES, WAF_HOST
from coflash.quantity import counted, parsed, show
from coflash.results.result import Result
from coflash.results.why import LATTICES, TIERS, scheme_of
from coflash.scenario import Scenario, ScenarioLike
from coflash.sweep.answers import DEVICE as ANSWERS
from coflash.sweep.answers import scheme_on, whys_of
from coflash.sweep.design import Assignment, Axis, assignments, axes_of
from coflash.sweep.engine import On
from coflash.sweep.finding import say
from coflash.sweep.frontier import Frontier, Pair
from coflash.sweep.generated import traced
from coflash.sweep.goal import Condition, condition, goals, number
from coflash.sweep.plan import Point, refusal
from coflash.sweep.question import Question, estimates, folder_for
from coflash.sweep.sized import EXPORTED, PRICES, ROUNDS, SMALLER, SPARE, Sized, Sizing, prices
from coflash.trace import Paths, info
from coflash.trace.trace_info import TraceInfo

DEVICE = "demo"
SPARES = (7, 10, 14, 20, 28, 40, 56)
"""The spare shares that are looked into in any case, in percent; others lie between."""
_UNIT = 2**18
_ROOM, _LATE, _MORE_CHANNELS = 1.04, 1.02, (1, 2, 4, 8)
_CLOSE, _PAIRS, _CHEAPER = 0.005, 40, 0.02
"""The shares of a cost by which a device is looked for, and another scheme; the most devices of a search."""
_STEP, _SMALL = 20, 256
"""The part of a cache that is a step, and the part of all caches that stands for one where there is none."""
_DAILY, _LIFE = "endurance.drive_writes_per_day", "endurance.life_years"
_CACHE, _SCHEME = "cache.size", "cooperation.name"
_POLICY, _POLICIES = "cache.policy", ("s3-fifo", "w-tinylfu")
_TIER, _TIER_SEGMENTS, _TIER_STEPS = "hybrid.scheme.name", 64, 17
"""The key of the scheme of a flash cache before disks; the segments of the largest one, and its sizes."""
_PERIODS, _PERIOD = 16, 256
"""The periods of such a cache in a trace, and the least requests of one."""
_SHADOWS = ("ggc", "separation", "delay", "zgc", "hgc", "dgc", "sgc")
"""The schemes whose part is the host's write buffer."""


def size(
    trace: Paths,
    goal: str | Sequence[str] = (),
    *,
    dwpd: float | None = None,
    years: int | None = None,
    margin: str = "0%",
    cost: str | None = None,
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
        dwpd: The drive writes a day that the device must stand for the years of its warranty.
        years: The years of warranty, by default those of the scenario.
        margin: The share, such as `"20%"`, by which requests come faster, where they have times, and by which endurance
            must last longer.
        cost: The cost, a sum of keys times their prices; by default 3 $/GiB of cache, and of flash 0.08 $/GiB for TLC,
            and for other cells as much more or less as they have fewer or more bits.
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
    more, unit = parsed(margin) or (math.nan, "")
    if unit != "share" or not 0 <= more <= 10:
        raise CoflashError(f'margin: "{margin}" was given; a share from 0% to 1000% is allowed, such as 20%')
    scenario = Scenario.of(drive).with_({"endurance.warranty_years": years} if years else {})
    cost = cost or prices(scenario)
    texts = [*([goal] if isinstance(goal, str) else goal), *([f"{_DAILY}>{dwpd:g}"] if dwpd is not None else ())]
    bounds = tuple(_with_margin(condition(text, cost), more) for text in texts)
    if not bounds or not number(f"cost {cost}").is_known_before:
        msg = f"size: a goal is needed, such as waf_host<2.5, and a cost of keys alone, such as {PRICES}"
        raise CoflashError(msg)
    store = folder_for(out)
    trace, made = traced(trace, store.path, requests, space)
    if more:
        scenario = scenario.with_({"replay.time_scale": scenario.to_dict()["replay"]["time_scale"] / (1 + more)})
        made = [*made, say("margin", margin=more)]
    question = Question.of(scenario, trace, store, on, progress)
    return _Sizer(question, trace, bounds, cost, axes_of(over or {}), seeds).run(made)


def _with_margin(goal: Condition, margin: float) -> Condition:
    """Return a goal of endurance with a margin, others as they are."""
    is_wear = goal.measure.path.startswith("endurance.")
    return replace(goal, bound=goal.bound * (1 + margin)) if is_wear and margin else goal


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
        self.question, self.goals, self.seeds, self.prices = question, bounds, seeds, prices
        (self.cost,) = goals(None, None, prices)
        self.tried: dict[tuple[str, Assignment], Sized] = {}
        self.problem, self.left, self.refused = "", 0.0, set[str]()
        options = self.base.to_dict()["workload"]["trace_options"]
        kept = {key: one for key, one in options.items() if isinstance(one, str)}
        self.about = about = info(trace, kept, page=self.base.to_dict()["ftl"].get("indirection_unit") or "4KiB")
        if not about.footprint_pages or not about.write.requests:
            msg = "size: the trace writes nothing, or its addresses are too far apart to count: see coflash trace info"
            raise CoflashError(msg)
        pages = math.ceil(about.footprint_pages * _ROOM)
        room, self.cache, given = pages * about.page_bytes, _CACHE, {axis.key: axis.points() for axis in axes}
        self.sizes: list[str] = []
        """The sizes of the cache; empty if they are all numbers of pages."""
        if self.base.to_dict().get("hybrid"):
            # The flash is the cache. It begins empty, so the trace comes twice, and has many periods.
            period = min(self.base.to_dict()["hybrid"]["period_requests"], max(_PERIOD, about.requests // _PERIODS))
            segment = max(1, room // _TIER_SEGMENTS // about.page_bytes) * about.page_bytes
            self.cache, keys = (
                EXPORTED,
                {"hybrid.segment": f"{segment}B", "hybrid.period_requests": period, "workload.repeat": 2},
            )
            self._change({"workload.remap": "dense", EXPORTED: f"{room}B", **keys})
            made = [f"{round(room * 2 ** (-step / 4) / _UNIT) * _UNIT}B" for step in range(_TIER_STEPS)]
            # Flash of less than a block is none.
            self.sizes = self._ordered(EXPORTED, [one for one in made if not self._point(one).refused] or made[:1])
        else:
            self._change({"workload.remap": "dense", EXPORTED: f"{room}B"})
            self.question = self.question.warmed()
        page_bytes, _ = parsed(self.base.to_dict()["flash"]["page_size"]) or (1.0, "")
        self.page_bytes, self.pages = int(page_bytes), int(room // page_bytes)
        self.count = self.pages + 1
        self.grid = say("given caches" if self.cache in given else "of pages")
        if self.cache in given or self.sizes:
            self.sizes = self._ordered(self.cache, given[self.cache]) if self.cache in given else self.sizes
            self.count = len(self.sizes)
        self.axes = [axis for axis in axes if axis.key not in (self.cache, SPARE)]
        percents = range(SPARES[0], SPARES[-1] + 1)
        self.spares = self._ordered(SPARE, given.get(SPARE) or [f"{share}%" for share in percents])
        self.columns = [*range(len(self.spares))] if SPARE in given else [percents.index(share) for share in SPARES]
        self.rests = assignments(self.axes)

    @property
    def base(self) -> Scenario:
        return self.question.scenario

    def _change(self, keys: Mapping[str, Any]) -> None:
        self.question = replace(self.question, scenario=self.base.with_(keys))

    def _point(self, cache: str, rest: Assignment = (), seeds: int = 1) -> Point:
        return self.question.point(((self.cache, cache), *rest), seeds)

    def _at(self, cache: int) -> str:
        """Return a size of the cache by its index."""
        return self.sizes[cache] if self.sizes else f"{cache * self.page_bytes}B"

    def _index(self, cache: str) -> int:
        return self.sizes.index(cache) if self.sizes else int((parsed(cache) or (0.0, ""))[0]) // self.page_bytes

    def run(self, how: Sequence[str]) -> Sizing:
        from coflash.results.slices import interval  # needs numpy

        self._check_size()
        how = (*how, _read(self.about), self._in_time(), self._searched())
        spares = (
            f"{self.spares[0]} … {self.spares[-1]}" if len(self.spares) > len(self.columns) else ", ".join(self.spares)
        )
        tried = say("tried", devices=counted(len(self.tried), "device"), grid=self.grid, spares=spares)
        best = self._confirmed()
        steps, variants = self._steps(best), self._variants(best)
        own = scheme_of({"scenario": best.point.jobs[0].scenario.to_dict()})
        pairs = [(name, run) for name, runs in variants.items() for run in runs]
        explained = {
            measure.path: whys_of(own, [(name, run.seed, measure.read(run.metrics)) for name, run in pairs])
            for measure in (WAF_HOST, *(goal.measure for goal in self.goals if goal.measure.path in MEASURES))
        }
        series = [run.series() for run in best.runs]
        slices = tuple(interval(series, goal.measure.path) for goal in self.goals)
        path = self.question.store.path
        later = self._later(best)
        return Sizing(
            path, self.goals, how, best, tried, slices, later, steps, variants, explained, self.prices
        ).write()

    def _later(self, best: Sized) -> tuple[float | None, ...]:
        """Return the number of each goal over several rounds of the trace, under the first seed."""
        rounds = ROUNDS * self.base.to_dict()["workload"].get("repeat", 1)
        longer = replace(self.question, scenario=self.base.with_({"workload.repeat": rounds}))
        cache, rest = best.place
        (ran,) = longer.ran([longer.point(((self.cache, cache), *rest))])
        if isinstance(ran, str):
            return (None,) * len(self.goals)
        return tuple(goal.value([ran[0].metrics], ran[0].scenario) for goal in self.goals)

    def _check_size(self) -> None:
        """Check that a device for this trace can be made.

        Raises:
            CoflashError: None can; the message has the keys that make it small enough.
        """

        def problem(*smaller: tuple[str, str]) -> str:
            places = [((SPARE, self.spares[column]), *rest) for rest in self.rests for column in self.columns]
            reasons = [refusal(self.base, (*smaller, (self.cache, self._plain), *rest)) for rest in places]
            return "" if "" in reasons else reasons[-1]

        if not (reason := problem()):
            return
        whole, keys = self.base.to_dict()["flash"]["pages_per_block"], dict[str, str]()
        pages = [whole >> power for power in range(1, whole.bit_length() - 2)]
        for key, value in [*((key, 1) for key in SMALLER), *(("flash.pages_per_block", each) for each in pages)]:
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
            (ran,) = self._ran([(self._plain, ((SPARE, f"{SPARES[-1]}%"), *self.rests[-1]))])
            scale = self.base.to_dict()["replay"]["time_scale"]
            if ran is not None and ran.runs[0].metrics.simulated_ns <= _LATE * span_ns * repeat * scale:
                return say("at times", more=say("channels", channels=factor * channels) if factor > 1 else "")
        if any(goal.measure.path == _LIFE for goal in self.goals):
            raise CoflashError(say("no life", reason=say("too slow" if span_ns else "no times")))
        self.question = begin
        self._change({"replay.mode": "closed"})
        return say("as answered", depth=depth, reason=say("too slow" if span_ns else "no times"))

    def _searched(self) -> str:
        """Search the cheapest cache and spare share for whatever is varied, or else under other schemes, too."""
        self.tried.clear()
        others = [] if self.axes else self._other_choices()
        best, done = math.inf, list[Frontier]()
        for rest in (*self.rests, *others):
            search = self._frontier(rest, best)
            if rest in self.rests or search.probe(self._cheaper(search)):
                search.search()
                done.append(search)
            best = search.best
        if not self.tried:
            raise CoflashError(f"size: no device could be made for this trace: {self.problem}")
        for search in done:
            search.best = best
        left = max(search.left for search in done) if best < math.inf else 0.0
        tried = {one.spare for one in self.tried.values()}
        failed = ", ".join(spare for spare in self.spares if spare in self.refused - tried)
        return "".join(
            (
                say("bisected" if all(search.is_monotone for search in done) else "bisected and grid"),
                say("schemes", tried=counted(len(others), "other scheme")) if others else "",
                say("left", left=left) if left >= _CLOSE else "",
                say("no device", spares=failed, reason=self.problem) if failed else "",
            )
        )

    def _frontier(self, rest: Assignment, best: float) -> Frontier:
        """Return the search among the devices with some other values."""

        def place(pair: Pair) -> tuple[str, Assignment]:
            return self._at(pair[0]), ((SPARE, self.spares[pair[1]]), *rest)

        def are_enough(pairs: Sequence[Pair]) -> list[bool]:
            ran = self._ran([place(pair) for pair in pairs])
            self.refused |= {self.spares[pair[1]] for pair, one in zip(pairs, ran, strict=True) if one is None}
            return [one is not None and one.is_met for one in ran]

        seconds, pairs = len(self.spares), _PAIRS if rest in self.rests else _PAIRS // 3
        cost = partial(self._priced, rest if rest in self.rests else self.rests[0])
        return Frontier(self.count, seconds, self.columns, cost, are_enough, not self.sizes, _CLOSE, pairs, best)

    def _priced(self, rest: Assignment, pair: Pair) -> float:
        """Return the cost of a device, which grows evenly with its cache; infinite if it cannot be made."""
        if self.sizes or self._exact(rest, 1, pair[1]) == math.inf:
            return self._exact(rest, *pair)
        least, most = self._exact(rest, 1, pair[1]), self._exact(rest, self.count - 1, pair[1])
        return least + (most - least) * (pair[0] - 1) / max(1, self.count - 2)

    @cache  # noqa: B019 - of one search
    def _exact(self, rest: Assignment, cache: int, spare: int) -> float:
        point = self._point(self._at(cache), ((SPARE, self.spares[spare]), *rest))
        return math.inf if point.refused else self.cost.value((), point.jobs[0].scenario) or 0.0

    def _other_choices(self) -> list[Assignment]:
        """Return the other schemes, orders of eviction included, of a device that may have a cache."""
        own = scheme_of({"scenario": self.base.to_dict()})
        if self.cache != _CACHE:
            return [((_TIER, name),) for name in TIERS if name != own]
        schemes = [one.settings for one in ANSWERS if not one.is_step and one.needs in ("", _CACHE) and one.name != own]
        choices = [*schemes, *(((_POLICY, name),) for name in _POLICIES)]
        return [choice for choice in choices if not self._point(self._at(self.count - 1), choice).refused]

    def _cheaper(self, search: Frontier) -> list[Pair]:
        """Return a device that is somewhat cheaper than the best one, with its spare space or less, and a cache."""
        met = [one for one in self.tried.values() if one.is_met]
        if not met:
            return []
        column = self.spares.index(min(met, key=lambda one: one.cost).spare)
        columns = (column, *(one for one in reversed(self.columns) if one < column))
        return [(at, one) for one in columns if (at := search.dearest(one, _CHEAPER)) > 0][:1]

    def _confirmed(self) -> Sized:
        """Return the cheapest device that meets the goals with all seeds; without one the nearest to them."""
        failed = set[tuple[str, Assignment]]()
        for one in sorted(self.tried.values(), key=lambda one: one.cost):
            if one.is_met and (again := self._ran([one.place], self.seeds)[0]) is not None and again.is_met:
                return self._least(again, failed)
            failed.add(one.place)
        nearest = min(self.tried.values(), key=lambda one: sum(max(each, 0) for each in one.excess))
        return self._ran([nearest.place], self.seeds)[0] or nearest

    def _least(self, best: Sized, failed: set[tuple[str, Assignment]]) -> Sized:
        """Halve, with all seeds, the caches between the largest one that failed and that of a device, to a percent."""
        cache, rest = best.place
        high = self._index(cache)
        low = max((at for place, others in failed if others == rest and (at := self._index(place)) < high), default=-1)
        while high - low > max(1, high // 100):
            middle = (low + high) // 2
            (one,) = self._ran([(self._at(middle), rest)], self.seeds)
            low, high, best = (low, middle, one) if one is not None and one.is_met else (middle, high, best)
        return best

    def _named(self, places: Mapping[str, tuple[str, Assignment]]) -> dict[str, Sized]:
        """Run devices by name, with all seeds of the answer; those that cannot be made are left out."""
        ran = self._ran(list(places.values()), self.seeds)
        return {name: one for name, one in zip(places, ran, strict=True) if one is not None}

    def _steps(self, best: Sized) -> dict[str, Sized]:
        """Run the neighbours of the answer."""
        cache, (_, *others) = best.place
        at, share, places = self._index(cache), self.spares.index(best.spare), {}
        far = 1 if self.sizes else max(1, (round(at / _STEP) if at else self.pages // _SMALL))
        for name, by in (("less", -1), ("more", 1)):
            if 0 <= at + by * far < self.count:
                places[f"{name} cache"] = (self._at(at + by * far), best.place[1])
            if 0 <= share + by < len(self.spares):
                places[f"{name} spare space"] = (cache, ((SPARE, self.spares[share + by]), *others))
        return self._named(places)

    def _variants(self, best: Sized) -> dict[str, tuple[Result, ...]]:
        """Run the answer's device under its scheme and each whose parts it has, and without a cache."""
        key, scenario = _TIER if best.is_tier else _SCHEME, best.point.jobs[0].scenario
        varied = [pair for pair in best.place[1] if pair[0] in (key, key.removesuffix(".name"))]
        rest = tuple(pair for pair in best.place[1] if pair not in varied)
        least = f"{max(1, self.pages // _SMALL) * self.page_bytes}B"
        nonzero = next(each for each in (best.place[0], *self.sizes, least) if each != "0B")
        shadows = _SHADOWS if self.base.to_dict()["host_buffer"]["size"] != "0B" else ()
        schemes = {one: scheme_on(scenario, one) for one in (*LATTICES[0], *shadows)}
        schemes = {one: (key, one) for one in TIERS} if best.is_tier else schemes
        own = scheme_of({"scenario": scenario.to_dict()})
        schemes[own] = next(iter(varied), (key, own))
        places = {one: (nonzero, (*rest, pair)) for one, pair in schemes.items()}
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


def _read(about: TraceInfo) -> str:
    span = f" over {show(about.span_ns, 'ns')}" if about.span_ns else ""
    touched = show((about.footprint_pages or 0) * about.page_bytes, "bytes")
    requests = f"{counted(about.requests, 'request')}{span}"
    read = say("read", formats=", ".join(about.formats), requests=requests, touched=touched)
    return ". ".join([read, *(remark.rstrip(".") for remark in about.remarks)]) + "."
