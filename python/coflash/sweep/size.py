"""Sizing: the cheapest cache and spare space with which a device meets its goals on a trace, and why.

More cache or more spare space seldom makes a goal worse: so `frontier` finds the cheapest pair. Other schemes and
orders of eviction are tried where they would be cheaper. Over several rounds of the trace the answer is checked.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import takewhile
from typing import Any

from coflash._core import CoflashError
from coflash.measures.measure import MEASURES, WAF_HOST
from coflash.quantity import counted, parsed, show
from coflash.results.assumptions import LIFE
from coflash.results.result import Result
from coflash.results.why import LATTICES, TIERS, scheme_of
from coflash.runs.inputs import inputs_of
from coflash.scenario import Scenario, ScenarioLike
from coflash.sweep import answers
from coflash.sweep.design import Assignment, Axis, assignments, axes_of
from coflash.sweep.doubt import Doubt
from coflash.sweep.engine import On
from coflash.sweep.finding import say, say_ends
from coflash.sweep.frontier import Frontier, Pair, first_enough
from coflash.sweep.generated import traced
from coflash.sweep.goal import CAPACITY, COST, MARGIN, Condition, apart, conditions, goals, number
from coflash.sweep.grown import BLOCKS_MIN, Grown
from coflash.sweep.memory import flash_bytes, flash_over_exported, page_bytes
from coflash.sweep.plan import Point, digest, refusal
from coflash.sweep.question import Question, estimates, folder_for
from coflash.sweep.sized import (
    EXPORTED,
    POLICY,
    PRICES,
    ROUNDS,
    SCHEME,
    SPARE,
    Sized,
    Sizing,
    priced,
    prices,
    smaller_parts,
    uneven,
)
from coflash.trace import Paths, info

DEVICE, _A_DRIVE = "demo", "15.36TB"
SPARES, _COLUMNS = range(7, 57), 7
"""The spare shares, in percent, and as many of them that are looked into in any case; others lie between."""
_WIDER = (*SPARES, *range(58, 120, 2), *range(120, 305, 5))
"""Those that are searched where the largest of them is the best."""
_WITHOUT = "more spare space with the cache gone"
_PROBES, _DOUBLE = 3, 70
"""The devices more in a row that are tried for one whose whole intervals meet the goals; the steps to twice a cache."""
_LATE, _MORE_CHANNELS = 1.02, (1, 2, 4, 8)
_CLOSE, _CHEAPER, _FEW, DEVICES = 0.02, 0.05, 12, 28
"""The shares of a cost by which a device is looked for, and another scheme; the devices at first, and of a search."""
_RUNS_OF_SEED = 15
"""About the runs with each seed: of the answer, its neighbours and its explanation."""
_CACHE = "cache.size"
_TIER, _TIER_SEGMENTS, _TIER_STEPS = "hybrid.scheme.name", 64, 17
"""The key of the scheme of a flash cache before disks; the segments of the largest one, and its sizes."""
_PERIODS, _PERIOD = 16, 256
"""The periods of such a cache in a trace, and the least requests of one."""
_OF_A_PART = (LIFE, MEASURES["endurance.tbw_bytes"])
"""The measures of the part of a drive that runs, where those of the drive are larger."""
_OF_READS = "response_ns.read."
"""How the measures begin that a trace without reads has no numbers of."""
_UNTIMED = {COST, WAF_HOST.path, "waf_ftl", "cache.hit_ratio", "endurance.drive_writes_per_day"}
"""The measures of which some dies tell as much as all."""
_SHADOWS = ("ggc", "separation", "delay", "zgc", "hgc", "dgc", "sgc")
"""The schemes whose part is the host's write buffer."""


def size(
    trace: Paths,
    goal: str | Sequence[str] = (),
    *,
    cost: str | None = None,
    drive: ScenarioLike = DEVICE,
    over: Mapping[str, str | Sequence[Any]] | None = None,
    out: str | os.PathLike[str],
    requests: int | None = None,
    space: str | None = None,
    seeds: int = 3,
    devices: int = DEVICES,
    on: On = None,
    progress: bool = False,
) -> Sizing:
    """Find the cheapest cache and spare space with which a device meets goals on a trace, and explain it.

    Args:
        trace: The trace: paths, or URLs that fsspec knows; or the name of a workload as for
            [`trace.generate`][coflash.trace.generate], such as `"jesd219"`, which is generated into `out`.
        goal: The bounds, such as `"waf_host<2.5"`, or several; `"margin>20%"` holds the others under that much more of
            rate, data and writes; `"capacity>15.36TB"` grows the trace to a drive that exports as much.
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
        devices: About the number of devices with which a search ends. The answer says how much cheaper one may be that
            it leaves untried; a search with more goes on where that with fewer ended.
        on: As of [`sweep`][coflash.sweep.sweep].
        progress: Whether to show progress on the standard error stream.

    Raises:
        CoflashError: An argument cannot be used, or runs failed.
    """
    scenario = Scenario.of(drive)
    cost = cost or prices(scenario)
    texts, capacity = apart([goal] if isinstance(goal, str) else goal, CAPACITY)
    texts, more = apart(texts, MARGIN)
    margin = float(more or 0) / 100
    bounds = conditions(texts, cost, margin)
    if not bounds:
        raise CoflashError("size: a goal that bounds a measure is needed: waf_host<2.5")
    if not number(f"cost {cost}").is_known_before:
        raise CoflashError(f"size: cost {cost}: a sum of keys alone is allowed, such as {PRICES}")
    if capacity and (short := next((one.text for one in bounds if one.measure in _OF_A_PART), "")):
        raise CoflashError(say("of a part", goal=short))
    store = folder_for(out)
    trace, made, draw = traced(trace, store.path, requests, space, scenario)
    if margin:
        faster = scenario.to_dict()["replay"]["time_scale"] / (1 + margin)
        scenario = scenario.with_({"replay.time_scale": faster, "precondition.fill": "sequential"})
        made.append(say("margin", margin=margin))
    question, given = Question.of(scenario, trace, store, on, progress), scenario.to_dict()
    default = Scenario.from_dict({}).to_dict()["workload"]["trace_options"]
    kept = {key: one for key, one in given["workload"]["trace_options"].items() if one != default.get(key)}
    about = info(trace, kept, page=given["ftl"].get("indirection_unit") or "4KiB")
    if not about.footprint_pages or not about.write.requests:
        raise CoflashError(say("writes nothing"))
    if not about.read.requests and (unread := [one.text for one in bounds if one.measure.path.startswith(_OF_READS)]):
        raise CoflashError(say("reads nothing", goal=unread[0], writes=unread[0].replace("read", "write")))
    timed = any(not one.is_limit and one.measure.path not in _UNTIMED for one in bounds)
    grown = Grown.of(about, margin, capacity, scenario, is_timed=timed)
    if question.console and grown.how:
        question.console.print(*grown.how, soft_wrap=True)
    if grown.copies > 1:
        named = digest([*(file.sha256 for file in question.inputs), *kept.items(), grown.copies])
        file = store.path / f"{grown.copies}-copies-{named}.parquet"
        trace, scenario = grown.written(trace, kept, file), scenario.with_({"workload.trace_options": None})
        question = Question.of(scenario, trace, store, on, progress)
    if not capacity and scenario.name != DEVICE and not any(one.measure in _OF_A_PART for one in bounds):
        with suppress(CoflashError):  # too many copies
            Grown.of(about, margin, _A_DRIVE, scenario, is_timed=timed)
            grown = replace(grown, can_grow=True)
    question = replace(question, part=grown.part, draw=draw if grown.copies == 1 else None)
    sizer = _Sizer(question, grown, bounds, cost, axes_of(over or {}), seeds, devices)
    with question.asked(sizer.so_far):
        return sizer.run([*made, *grown.how])


class _Sizer:
    """The search for a size."""

    def __init__(
        self,
        question: Question,
        grown: Grown,
        bounds: tuple[Condition, ...],
        prices: str,
        axes: Sequence[Axis],
        seeds: int,
        devices: int,
    ) -> None:
        self.question, self.goals, self.prices = question, bounds, prices
        self.seeds, self.pairs = seeds, devices
        self.drive = question.scenario
        (self.cost,) = goals(None, None, prices)
        self.tried: dict[tuple[str, Assignment], Sized] = {}
        self.problem, self.refused = "", 0
        self.grown, about, room = grown, grown.about, grown.room
        given = {axis.key: axis.points() for axis in axes}
        self._change({"workload.remap": "dense", EXPORTED: f"{room * about.page_bytes * grown.times:.0f}B"})
        if hybrid := self.base.to_dict().get("hybrid"):
            # The flash is the cache. It begins empty, so the trace comes twice, and has many periods.
            period = min(hybrid["period_requests"], max(_PERIOD, about.requests // _PERIODS))
            segment, self.cache = max(1, room // _TIER_SEGMENTS) * about.page_bytes, EXPORTED
            keys = {"segment": f"{segment}B", "period_requests": period}
            self._change({"workload.repeat": 2, **{f"hybrid.{key}": one for key, one in keys.items()}})
            made = [f"{round(room * 2 ** (-step / 4)) * about.page_bytes}B" for step in range(_TIER_STEPS)]
            # Flash of less than a block is none.
            made = [one for one in made if not self._point(one).refused] or made[:1]
        else:
            self.question, self.cache = self.question.warmed(), _CACHE
            made = grown.caches(page_bytes(self.base))
        reason, in_host = self._point(made[-1]).refused, {"cache.placement": "host"}
        if reason and not self._point(made[-1], tuple(in_host.items())).refused:
            self._change(in_host)
            reason, grid = "", "of the host"
        else:
            grid = "no caches" if reason else "of pages"
        made = made[:1] if reason else made
        self.grid = say("given caches" if self.cache in given else grid, reason=reason)
        self.sizes = self._ordered(self.cache, given.get(self.cache, made))
        if (reason := refusal(self.base, ((self.cache, self.sizes[-1]),))).startswith(_CACHE) and _CACHE in given:
            raise CoflashError(reason)
        # No cache; of flash before disks the most.
        self.plain = "0B" if self.cache == _CACHE else self.sizes[-1]
        self.axes = [axis for axis in axes if axis.key not in (self.cache, SPARE)]
        self.rests = assignments(self.axes)

        self.can_widen = SPARE not in given and self.cache == _CACHE
        self._spare(given.get(SPARE) or [f"{share}%" for share in SPARES])
        self.most_spare = self.spares[-1]

    @property
    def base(self) -> Scenario:
        return self.question.scenario

    def _change(self, keys: Mapping[str, Any]) -> None:
        self.question = replace(self.question, scenario=self.base.with_(keys))

    def _spare(self, shares: Sequence[Any]) -> None:
        """Take the shares of spare space that are searched."""

        def flash(spare: str) -> str | int:
            point = self._point(self.sizes[-1], ((SPARE, spare), *self.rests[0]))
            return point.refused or flash_bytes(point.jobs[0].scenario)

        spares = self._ordered(SPARE, shares)
        # Spare space comes in whole blocks: others of the same size are the same device. A part of a drive has as many
        # as the largest of these shares takes.
        same = {flash(one): one for one in (spares if self.grown.how else reversed(spares))}
        self.spares = sorted(same.values(), key=spares.index)
        self.columns = sorted({(len(self.spares) - 1) * at // (_COLUMNS - 1) for at in range(_COLUMNS)})

    def _point(self, cache: str, rest: Assignment = (), seeds: int = 1) -> Point:
        """Return a device; without a cache it has no order of eviction."""
        rest = tuple(pair for pair in rest if cache != "0B" or pair[0] != POLICY)
        return self.question.point(((self.cache, cache), *rest), seeds)

    def run(self, how: Sequence[str]) -> Sizing:
        self._check_size()
        self.others = [] if self.axes else self._other_choices()
        self.question.pace.runs = self.pairs + len(self.others) + _RUNS_OF_SEED * self.seeds
        how = (*how, self.grown.read, self._in_time())
        self._search_widely()
        tried = say("tried", devices=counted(len(self.tried), "device"))
        searched = dict(self.tried)
        best, steps = self._steps(self._confirmed())
        variants = {name: one.runs for name, one in self._variants(best).items()}
        how = (*how, *filter(None, self._how_searched()))
        devices = [*(searched | {best.place: best}).values()]
        own = scheme_of({"scenario": best.point.jobs[0].scenario.to_dict()})
        pairs = [(name, run) for name, runs in variants.items() for run in runs]
        explained = {
            measure.path: answers.whys_of(own, [(name, run.seed, measure.read(run.metrics)) for name, run in pairs])
            for measure in (WAF_HOST, *(goal.measure for goal in self.goals if goal.measure.path in MEASURES))
        }
        ends = ("less", "more")[bool(self.refused) :]
        later, drawn = self._later(best), self._drawn(best)
        doubts = self._doubts(best, later, drawn)
        left = self.left if self.left >= _CLOSE else 0.0
        inside = self._inside(best, later, doubts)
        other = None if best.is_tier else self._again(self.question.of_another_history(), best, 1)
        known = (later, drawn, doubts, inside, other, left, steps, ends, variants, explained, self.prices)
        channels = counted(self.base.to_dict()["flash"]["channels"], "channel")
        keeps_up = self.base.name == DEVICE and self.base.replay_mode == "open"
        more = say("keep up", spare=self.most_spare) if keeps_up else ""
        part = best.runs[0].scenario
        more += say("part", of_part=flash_over_exported(part) - 1, of_drive=best.spare) if self.grown.how else ""
        is_named, blocks = self.base.name != DEVICE and not best.is_tier, part.to_dict()["flash"]["blocks_per_plane"]
        few = say("few blocks", blocks=blocks, least=BLOCKS_MIN) if is_named and blocks < BLOCKS_MIN else ""
        drive = (self.grown.times, (f"{counted(self.base.sizes()[0], 'die')} on {channels}", more, few))
        return Sizing(self.question.store.path, self.goals, how, best, tried, devices, *known, *drive).write()

    def _later(self, best: Sized) -> tuple[Sized, ...]:
        """Return a device over one round of the trace and over several, with its seeds; nothing if that fails."""
        rounds = ROUNDS * self.base.to_dict()["workload"].get("repeat", 1)
        longer = replace(self.question, scenario=self.base.with_({"workload.repeat": rounds}))
        later = self._again(longer, best, len(best.runs))
        return (best, later) if later else ()

    def _again(self, question: Question, one: Sized, seeds: int) -> Sized | None:
        """Run a device as another question has it; None if that fails."""
        point = question.point(((self.cache, one.place[0]), *one.place[1]), seeds)
        (ran,) = question.ran([point])
        return None if isinstance(ran, str) else self._sized(point, ran)

    def _drawn(self, best: Sized) -> tuple[Sized, ...]:
        """Return a device with another draw of the workload; nothing of a trace, or if that fails."""
        draw = self.question.draw
        ran = draw and self._again(replace(self.question, inputs=inputs_of(self.base, draw)), best, len(best.runs))
        return (ran,) if ran else ()

    def _doubts(self, one: Sized, later: tuple[Sized, ...], drawn: tuple[Sized, ...]) -> list[Doubt]:
        """Return what the number of each goal may be off by on a device, given it over several rounds and draws."""
        changes = ([number.mean or 0.0 for number in each.bounded] for each in ((later or (one, one)) + drawn))
        each = zip(self.goals, *changes, strict=True)
        return [Doubt.of(self.base, *of, is_part=self.grown.times > 1) for of in each]

    def _inside(self, best: Sized, later: tuple[Sized, ...], doubts: Sequence[Doubt]) -> tuple[Sized, ...]:
        """Return the cheapest device whose whole intervals meet the goals, of those tried and some more, and its later.

        More are tried by bisection of the spare space, and of the cache up to twice the answer's.
        """

        def is_inside(one: Sized, doubts: Sequence[Doubt] = doubts) -> bool:
            numbers = zip(doubts, self.goals, one.bounded, one.excess, strict=True)
            within = (doubt.is_inside(goal, number, excess) for doubt, goal, number, excess in numbers)
            return one.is_worn and all(within)

        if not (best.is_met and best.is_worn) or is_inside(best):
            return (best, *later) if best.is_met and best.is_worn else ()
        cache, (_, *others) = best.place
        with_spare = [(cache, ((SPARE, spare), *others)) for spare in self.spares[self.spares.index(best.spare) :]]
        at = self.sizes.index(cache)
        with_cache = [(size, best.place[1]) for size in self.sizes[at : at + _DOUBLE]] if cache != "0B" else []

        def can_be_inside(place: tuple[str, Assignment]) -> bool:
            (one,) = self._ran([place])
            return one is not None and is_inside(one)

        ends = [one for places in (with_spare, with_cache) for one in first_enough(places, can_be_inside, _PROBES)]
        ranked = sorted(filter(is_inside, self.tried.values()), key=lambda one: one.cost)
        dearer = [one.place for one in ranked if one.cost > best.cost]
        # The cheapest may have a cache that is a page larger, and little more room.
        for place in dict.fromkeys([*dearer[:1], *sorted({*dearer} & {*ends}, key=dearer.index)]):
            one, first = self._ran([place], self.seeds)[0], self._ran([place])[0]
            if one is not None and first is not None and is_inside(one):
                later = self._later(first)  # more rounds with one seed tell enough
                if is_inside(one, self._doubts(one, later, self._drawn(one))):
                    return (one, *later)
        return ()

    def _check_size(self) -> None:
        """Check that a device for this trace can be made.

        Raises:
            CoflashError: None can; the message has the keys that make it small enough.
        """

        def problem(keys: Mapping[str, str]) -> str:
            places = [((SPARE, self.spares[column]), *rest) for rest in self.rests for column in self.columns]
            given = ((*keys.items(), (self.cache, self.plain), *rest) for rest in places)
            reasons = [self._refused(self.question.point(one)) for one in given]
            return "" if "" in reasons else reasons[-1]

        if not (reason := problem({})):
            return
        if all(wrong := [Point.of(self.drive, self.question.inputs, rest, 1).refused for rest in self.rests]):
            raise CoflashError(f"size: {wrong[0]}")
        fits = next((keys for keys in smaller_parts(self.base) if not problem(keys)), {})
        sets = " ".join(f"--set {key}={value}" for key, value in fits.items())
        end = say("smaller parts", sets=sets) if fits else say("longer trace")
        end = say("grows", capacity=_A_DRIVE) if self.grown.can_grow else end
        raise CoflashError(say("too small", touched=self.grown.touched, drive=self.base.name, reason=reason, end=end))

    def _ordered(self, key: str, values: Sequence[str]) -> list[str]:
        """Return values of a key, each once and as scenarios show it, the least first."""
        points = [self.question.point(((key, value),)) for value in values]
        if refused := next((point.refused for point in points if point.refused), ""):
            raise CoflashError(refused)
        return sorted({point.values[key] for point in points}, key=lambda text: (parsed(text) or (math.inf, ""))[0])

    def _in_time(self) -> str:
        """Replay at the trace's times if a device without a cache keeps up with them, or else in a closed loop."""
        begin, channels = self.question, self.base.to_dict()["flash"]["channels"]
        span_ns = 0 if self.grown.dies else (self.grown.about.span_ns or 0) * self.grown.copies
        replay, repeat = self.base.to_dict()["replay"], self.base.to_dict()["workload"].get("repeat", 1)
        for factor in (_MORE_CHANNELS if self.base.name == DEVICE else (1,)) if span_ns else ():
            self.question = begin
            self._change({"replay.mode": "open", "replay.queue_depth": None, "flash.channels": factor * channels})
            (ran,) = self._ran([(self.plain, ((SPARE, self.spares[-1]), *self.rests[-1]))])
            if ran is not None and ran.runs[0].metrics.simulated_ns <= _LATE * span_ns * repeat * replay["time_scale"]:
                more = say("channels", channels=factor * channels, spare=self.spares[-1]) if factor > 1 else ""
                return say("at times", more=more)
        self.question = begin
        self._change({"replay.mode": "closed", "replay.time_scale": 1})
        reason = say("too slow" if span_ns else "timeless" if self.grown.dies else "no times")
        if any(goal.measure == LIFE for goal in self.goals):
            raise CoflashError(say("no rate", reason=reason))
        return say("as answered", depth=replay["queue_depth"], reason=reason)

    def _search_widely(self) -> None:
        """Search, and once more among larger shares of spare space where the largest one is the best."""
        self._search()
        best = self._ranked()[0]
        if self.can_widen and best.far < 1 and best.spare == self.spares[-1]:
            with suppress(CoflashError):  # of all flash no share can be as large
                self._spare([f"{share}%" for share in _WIDER])
            self._search()

    def _search(self) -> None:
        """Search the cheapest cache and spare share for whatever is varied, or else under another scheme, too."""
        self.tried.clear()
        self.refused = 0
        best, winner = math.inf, None
        for rest in self.rests:
            search = self._frontier(rest, rest, _FEW if self.others else self.pairs, best)
            search.search()
            winner, best = (search, search.best) if search.best < best else (winner, best)
        if not self.tried:
            limits = " and ".join(goal.text for goal in self.goals if goal.is_limit)
            raise CoflashError(say("no device at all", reason=self.problem or say("none so small", limits=limits)))
        others: Sequence[Assignment] = self.others
        while others:
            found, others = self._under_another(winner or search, others)
            if found:
                found.refine(self.pairs)
                winner = found
        if winner and winner.most == _FEW:
            winner.refine(self.pairs)
        if winner and uneven(self.tried.values(), self.goals)[0]:
            for column in {self.spares.index(self._ranked()[0].spare), len(self.spares) - 1}:
                winner.look_below(column)
            winner.uneven, winner.most = uneven(self.tried.values(), self.goals)[0], self.pairs
            winner.search()
        self.left, self.is_uneven = (winner.left(), winner.uneven > 0) if winner else (0.0, False)

    def _how_searched(self) -> Iterator[str]:
        """Say how the device was searched."""
        is_of_exported = self.base.to_dict()["ftl"]["spare"]["definition"] == "over_provisioning"
        of = say("of exported") if is_of_exported else ""
        yield say("bisected", grid=self.grid, spares=say_ends(self.spares[self.refused :]), of=of)
        yield say("looked below") if self.is_uneven else ""
        yield say("schemes", tried=counted(len(self.others), "other scheme")) if self.others else ""
        if self.refused:
            yield say("no device", spares=say_ends(self.spares[: self.refused]), reason=self.problem)

    def _under_another(
        self, search: Frontier, others: Sequence[Assignment]
    ) -> tuple[Frontier | None, Sequence[Assignment]]:
        """Try other choices on a device that is somewhat cheaper, and those that do on ever cheaper ones.

        Returns the search under the one that does at the least cost, if one does, and the others that may yet.
        """
        met = ((one.cost, self.spares.index(one.spare)) for one in self.tried.values() if one.is_met)
        _, column = min(met, default=(0.0, self.columns[-1]))
        columns = (column, *(one for one in reversed(self.columns) if one < column))
        cost, floor = search.best * (1 - _CHEAPER), min(search.cost((0, at)) for at in self.columns)
        enough: Pair | None = None
        first = doing = others
        while len(doing) > (enough is not None):
            pair = next(((at, one) for one in columns if (at := search.dearest(one, cost)) > 0), None)
            if pair is None:
                break
            ran = zip(self._ran([self._place(pair, rest) for rest in doing]), doing, strict=True)
            ranked = sorted(((one, rest) for one, rest in ran if one is not None), key=lambda of: of[0].rank)
            does = [rest for one, rest in ranked if one.is_met]
            doing = does or [rest for _, rest in ranked]
            if not does:
                break
            first, enough = (first if enough else does), pair
            cost = (floor + search.cost(pair)) / 2
        if enough is None:
            return None, ()
        found = self._frontier(doing[0], self.rests[0], _FEW, search.best)
        found.probe([enough])
        return found, [rest for rest in first if rest != doing[0]]

    def _place(self, pair: Pair, rest: Assignment) -> tuple[str, Assignment]:
        return self.sizes[pair[0]], ((SPARE, self.spares[pair[1]]), *rest)

    def _frontier(self, rest: Assignment, priced: Assignment, most: int, best: float) -> Frontier:
        """Return the search among the devices with some other values, priced as with others."""

        def lacks(pairs: Sequence[Pair]) -> list[float]:
            ran = self._ran([self._place(pair, rest) for pair in pairs])
            of_goals = [zip(self.goals, one.excess, strict=True) if one else () for one in ran]
            return [max((goal.lack(excess) for goal, excess in each), default=math.inf) for each in of_goals]

        def cost(pair: Pair) -> float:
            return self._priced(priced, pair) if pair[1] >= self.refused else math.inf

        return Frontier(len(self.sizes), len(self.spares), self.columns, cost, lacks, _CLOSE, most, best)

    @cache  # noqa: B019 - of one search
    def _priced(self, rest: Assignment, pair: Pair) -> float:
        """Return the cost of a device; infinite if it cannot be made, or is beyond a limit."""
        cache, others = self._place(pair, rest)
        try:
            scenario = self.base.set([(self.cache, cache), *others])
            is_beyond = any(goal.excess(goal.value((), scenario)) > 0 for goal in self.goals if goal.is_limit)
            return math.inf if is_beyond else self.cost.value((), scenario) or 0.0
        except CoflashError as error:
            self.problem = self.problem or str(error).replace(f"({SPARE}=", f"(--over {SPARE}=")  # it is searched
            return math.inf

    def _other_choices(self) -> list[Assignment]:
        """Return the other schemes, orders of eviction included, of a device that may have a cache."""
        own = scheme_of({"scenario": self.base.to_dict()})
        if self.cache != _CACHE:
            return [((_TIER, name),) for name in TIERS if name != own]
        named = [one for one in answers.DEVICE if not one.is_step and one.needs in ("", _CACHE) and one.name != own]
        # An order of eviction that the drive has is no other choice.
        given = [
            one.settings for one in named if not one.settings[1:] or self.base.set([*one.settings[1:]]) != self.base
        ]
        most = (SPARE, self.spares[-1])  # what the drive itself has may be too little for a small trace
        return [choice for choice in given if not self._refused(self._point(self.sizes[-1], (most, *choice)))]

    def _refused(self, point: Point) -> str:
        """Return why a device cannot be made, or why its run would end at once; empty if it can."""
        return point.refused or refusal(point.jobs[0].scenario, ())

    def _confirmed(self) -> Sized:
        """Return the cheapest device that meets the goals with all seeds; without one the nearest to them."""
        nearest, *_ = ranked = self._ranked()
        for one in ranked:
            if one.is_met and (again := self._ran([one.place], self.seeds)[0]) is not None and again.is_met:
                return self._simplest(again)
        return self._ran([nearest.place], self.seeds)[0] or nearest

    def _ranked(self) -> list[Sized]:
        """Return the devices that were tried, those that break the goals the least first, and the cheapest of them."""
        return sorted(self.tried.values(), key=lambda one: (one.far, one.cost))

    def so_far(self) -> str:
        """Say which device is the best so far, with the first seed."""
        ranked, tried = self._ranked(), counted(len(self.tried), "device")
        best = next((one for one in ranked if one.is_worn), next(iter(ranked), None))
        if best is None:
            return say("nothing tried")
        ends = [f"{one.measure.label} {show(best.number(at), one.measure.unit)}" for at, one in enumerate(self.goals)]
        device = f"{best} ({priced(best.cost)}): {', '.join(ends)}"
        return say("best so far" if best.is_met else "none so far", device=device, tried=tried)

    def _named(self, places: Mapping[str, tuple[str, Assignment]]) -> dict[str, Sized]:
        """Run devices by name, with all seeds of the answer; those that cannot be made are left out."""
        ran = self._ran(list(places.values()), self.seeds)
        return {name: one for name, one in zip(places, ran, strict=True) if one is not None}

    def _steps(self, best: Sized, stride: int = 1) -> tuple[Sized, dict[str, Sized]]:
        """Run a device's neighbours, and go on, further each time, from the cheapest that meets the goals for less."""
        cache, (_, *others) = best.place
        at, share, places = self.sizes.index(cache), self.spares.index(best.spare), {}
        far = max(1, min(at // 20, 5)) * stride
        for name, by in (("less", -1), ("more", 1)):
            if 0 <= at + by * far < len(self.sizes):
                places[f"{name} cache"] = (self.sizes[at + by * far], best.place[1])
            if 0 <= share + by * stride < len(self.spares):
                places[f"{name} spare space"] = (cache, ((SPARE, self.spares[share + by * stride]), *others))
        none = (0, share + stride)
        has_other = cache != "0B" == self.sizes[0] and none[1] < len(self.spares)
        if has_other and self._priced(tuple(others), none) < best.cost:
            places[_WITHOUT] = self._place(none, tuple(others))
        less = {name: place for name, place in places.items() if name.startswith(("less", _WITHOUT)) or not best.is_met}
        better = [one for one in self._named(less).values() if one.is_met and (one.cost < best.cost or not best.is_met)]
        if better:
            self.question.pace.runs += len(less) * self.seeds
            return self._steps(min(better, key=lambda one: one.cost), 2 * stride)
        return self._steps(best) if stride > 1 else (best, self._named(places))

    def _simplest(self, best: Sized) -> Sized:
        """Return the device under the scheme with the fewest parts that has the same numbers, if schemes are varied."""
        variants = {} if self.axes else self._variants(best)
        own = scheme_of({"scenario": best.point.jobs[0].scenario.to_dict()})
        alike = (variants[name] for name in takewhile(lambda name: name != own, LATTICES[0]) if name in variants)
        return next((one for one in alike if (one.cost, one.bounded) == (best.cost, best.bounded)), best)

    def _variants(self, best: Sized) -> dict[str, Sized]:
        """Run the answer's device under its scheme and each whose parts it has, and without a cache."""
        key, scenario = _TIER if best.is_tier else SCHEME, self.base.set([*best.point.values.items()])
        varied = [pair for pair in best.place[1] if pair[0] in (key, key.removesuffix(".name"))]
        rest = tuple(pair for pair in best.place[1] if pair not in varied)
        nonzero = best.place[0] if best.place[0] != "0B" else self.sizes[len(self.sizes) // 2]
        shadows = _SHADOWS if self.base.to_dict()["host_buffer"]["size"] != "0B" else ()
        names = TIERS if best.is_tier else (*LATTICES[0], *shadows)
        schemes = {one: (key, one) if best.is_tier else answers.scheme_on(scenario, one) for one in names}
        own = scheme_of({"scenario": scenario.to_dict()})
        schemes[own] = next(iter(varied), (key, own))
        places = {one: (nonzero, (*rest, pair)) for one, pair in schemes.items()}
        places = places if best.is_tier else {"no cache": ("0B", (*rest, (SCHEME, "none"))), **places}
        return self._named(places)

    def _ran(self, places: Sequence[tuple[str, Assignment]], seeds: int = 1) -> list[Sized | None]:
        """Run devices; None for one that cannot be made."""
        points = [self._point(cache, rest, seeds) for cache, rest in places]
        ran = self.question.ran(points)
        reasons = {place[1][0][1]: reason for place, reason in zip(places, ran, strict=True) if isinstance(reason, str)}
        self.problem = next(iter(reasons.values()), self.problem)
        self.refused = max([self.refused, *(self.spares.index(spare) + 1 for spare in reasons)])
        return [None if isinstance(of, str) else self._sized(one, of) for one, of in zip(points, ran, strict=True)]

    def _sized(self, point: Point, runs: tuple[Result, ...]) -> Sized:
        scenario = self.base.set([*point.values.items()])  # of the whole drive, of which a part may have run
        runs = tuple(self.grown.of_drive(run, scenario) for run in runs)
        bounded = estimates(self.goals, [[run.metrics] for run in runs], scenario)
        is_worn = any(WAF_HOST.read(run.metrics) for run in runs)
        excess = [goal.excess(one.mean, is_worn=is_worn) for goal, one in zip(self.goals, bounded, strict=True)]
        cost = self.cost.value([runs[0].metrics], scenario) or 0.0
        one = Sized(point, runs, cost, tuple(bounded), tuple(excess), is_worn)
        self.tried.setdefault(one.place, one)
        return one
