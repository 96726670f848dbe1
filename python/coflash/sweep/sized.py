"""What sizing finds: the devices that were tried, and the answer in sentences, as a figure and as data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations, permutations
from typing import TYPE_CHECKING, Any

from coflash.measures.measure import MEASURES, WAF_HOST, Measure
from coflash.quantity import counted, parsed, show, show_change
from coflash.results.assumptions import LIFE, assumptions_of
from coflash.results.estimate import Estimate, show_estimate
from coflash.results.notes import checks, times_of_cell
from coflash.results.result import Result
from coflash.results.subject import Subject
from coflash.results.why import LATTICES, TIERS, Why
from coflash.scenario import Scenario
from coflash.sweep.design import Assignment
from coflash.sweep.doubt import Doubt
from coflash.sweep.finding import Kept, say, say_limits
from coflash.sweep.goal import COST, Condition, goals
from coflash.sweep.memory import spare_share
from coflash.sweep.plan import Point
from coflash.sweep.tune import Trial, Tuning
from coflash.text_table import Cell, TextTable

if TYPE_CHECKING:
    from coflash.charts import Format

SPARE, EXPORTED = "ftl.spare.share", "flash.exported"
SCHEME, POLICY = "cooperation.name", "cache.policy"
PRICES = "cache.size*3 $/GiB + flash.size*0.08 $/GiB"
_PRICED, _PER_CELL = "November 2026", {"slc": 3, "mlc": 1.5, "tlc": 1, "qlc": 0.75}
"""The month of the prices, and the price of flash by its cell as a multiple of that of TLC: a cell costs the same."""
ROUNDS, _STEADY, _NO_ROOM = 4, 0.05, 5e-4
"""The rounds of the trace over which an answer is checked, and the change of a number that is still steady; the share
of a bound that is no room beside it."""
_BEYOND = "This run is beyond the measurements"
"""How the note begins of a run beyond the conditions under which its drive was measured."""
_BY_BYTES = 1.1
"""The write amplification by bytes, over that by pages, from which requests are told to be smaller than pages."""
_OTHER_SPARE = 0.005
"""The difference from which the spare share that whole blocks make is told beside the one that is set."""
_BEHIND, _FAR = 0.05, 1e9
"""The share of a run by which a device is behind that does not keep up."""
_SMALLER = ("gc.low_mark", "flash.channels", "flash.chips_per_channel", "flash.dies_per_chip", "flash.planes_per_die")
"""The keys that are 1 in the smallest device."""


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
    is_worn: bool
    """Whether its caches leave flash a page to write, so that its numbers tell something."""

    @property
    def is_met(self) -> bool:
        """Whether it meets all goals."""
        return max(self.excess) <= 0

    @property
    def far(self) -> float:
        """The sum of the violations; a number that no run has is far beyond any bound."""
        return sum(min(max(one, 0.0), _FAR) for one in self.excess)

    @property
    def rank(self) -> tuple[bool, bool, float]:
        """Its place among devices of one cost; one whose caches take every write is after those that are worn."""
        return not self.is_met, not self.is_worn, max(self.excess)

    @property
    def place(self) -> tuple[str, Assignment]:
        """Its cache, and its other values."""
        (_, cache), *rest = self.point.values.items()
        return cache, tuple(rest)

    def number(self, place: int) -> float:
        """Return the number that a goal bounds; not a number if there is none."""
        return math.nan if (mean := self.bounded[place].mean) is None else mean

    @property
    def spare(self) -> str:
        """Its spare share."""
        return self.place[1][0][1]

    @property
    def is_tier(self) -> bool:
        """Whether its cache is flash before disks."""
        return EXPORTED in self.point.values

    def __str__(self) -> str:
        cache, ((_, spare), *others) = self.place
        values = self.point.jobs[0].scenario.to_dict()
        of_cache = {SCHEME: values["cooperation"]["name"], POLICY: values["cache"]["policy"]["name"]}
        with_parameters = {key for key, value in others if value.startswith("{")}
        names = [name for key, name in of_cache.items() if key not in with_parameters and cache != "0B"]
        under = [values["hybrid"]["scheme"]["name"]] if self.is_tier else names
        no_cache = () if self.is_tier or cache != "0B" else (SCHEME, SCHEME.partition(".")[0])
        more = "".join(f", {key}={value}" for key, value in others if value not in under and key not in no_cache)
        name = "flash cache" if self.is_tier else "cache"
        name += f" ({', '.join(under)})" if under else ""
        return f"{cache_text(cache)} {name}, {spare} spare space{more}"


@dataclass(frozen=True)
class Sizing(Kept):
    """The answer: the cheapest device that meets the goals, or the nearest to them."""

    DOCUMENT = "size.json"

    goals: tuple[Condition, ...]
    how: tuple[str, ...]
    """How the trace was read, how its time is replayed, and how devices were searched."""
    answer: Sized
    tried: str
    """The number of devices that were tried."""
    devices: Sequence[Sized]
    """These devices."""
    later: tuple[Sized, ...]
    """Its device over one round of the trace and over several, with all seeds; nothing if that failed."""
    drawn: tuple[Sized, ...]
    """Its device with another draw of the workload, if it is one."""
    doubts: Sequence[Doubt]
    """What the number of each goal may be off by."""
    insides: tuple[Sized, ...]
    """The cheapest device whose whole intervals meet the goals, as far as is known; then over one and more rounds."""
    other: Sized | None
    """The answer after another history: uniform random writes, and the trace once."""
    left: float
    """The share by which devices that were not tried may be cheaper; 0 if that is next to nothing."""
    steps: Mapping[str, Sized]
    """The devices one step off: less or more cache or spare space."""
    ends: Sequence[str]
    """The ends of the spare shares beyond which there may be devices, `less` or `more`."""
    variants: Mapping[str, tuple[Result, ...]]
    """The answer's device under each scheme, and without a cache."""
    whys: Mapping[str, tuple[Why, ...]]
    """By the path of a measure, its differences between schemes as sums of shares."""
    cost: str
    """The prices."""
    times: float
    """The bytes of the drive for which one of the devices stands."""
    parts: tuple[str, str, str]
    """The dies and the channels of the drive, how the channels follow from the trace, and that blocks are few."""

    @property
    def inside(self) -> Sized | None:
        """The cheapest device whose whole intervals meet the goals, as far as is known."""
        return next(iter(self.insides), None)

    @property
    def scenario(self) -> Scenario:
        """The scenario of the answer."""
        return self.answer.point.jobs[0].scenario

    @property
    def is_met(self) -> bool:
        """Whether the answer breaks no goal, as far as runs have numbers for them."""
        return not any(0 < one < math.inf for one in self.answer.excess)

    @property
    def is_sure(self) -> bool:
        """Whether runs have numbers and tell something, more rounds change nothing, and no interval is over a bound."""
        return self.is_met == self.answer.is_met and not (self.longer or self.nothing or any(self._near))

    @property
    def _verdict(self) -> str:
        """The name of the sentence that says whether the answer meets the goals."""
        met = "on the edge" if any(self._near) else "sized"
        return met if self.answer.is_met else "not judged" if self.is_met else "not sized"

    @property
    def headline(self) -> str:
        """The device, its price, and how sure it is."""
        near = " and ".join(goal.text for goal, is_near in zip(self.goals, self._near, strict=True) if is_near)
        is_unsure = self.answer.is_met and (self.longer or self.nothing)
        device = f"{str(self.answer)[:1].upper()}{str(self.answer)[1:]} ({priced(self.answer.cost)})"
        inside = say("inside in short", device=f"{self.inside} ({priced(self.inside.cost)})") if self.inside else ""
        verdict = "unsure" if is_unsure else self._verdict
        left = say("left in short", left=self.left, more=2 * len(self.devices)) if self.left else ""
        broken = self._broken(self.other) if self.other and self.answer.is_met else []
        history = say("history in short", goals=" and ".join(goal.text for goal in broken)) if broken else ""
        unmade = "" if "less" in self.ends else say("unmade in short")
        return say(f"in short: {verdict}", device=device, goals=near, inside=inside) + history + left + unmade

    @property
    def binding(self) -> Condition | None:
        """The goal that the answer, or else its cheaper neighbours, break the most; None if they meet all."""
        cheaper = [one for name, one in self.steps.items() if name.startswith("less") and self.answer.is_met]
        excess, place = max((one, at) for device in cheaper or [self.answer] for at, one in enumerate(device.excess))
        return self.goals[place] if excess > 0 else None

    @property
    def runs(self) -> dict[str, tuple[Result, ...]]:
        """The runs that carry the numbers, by their names."""
        steps = {name: one.runs for name, one in {**self._others, **self.steps}.items()}
        return {"answer": self.answer.runs, **steps, **self.variants}

    @property
    def _others(self) -> dict[str, Sized]:
        """The answer with another draw, and after another history."""
        other = {say("row: other"): self.other} if self.other else {}
        return {**{say("row: drawn"): one for one in self.drawn}, **other}

    def _ends(self, place: int) -> Sequence[float]:
        """Return the number that a goal bounds over one round of the trace and over several, as far as known."""
        return _ends(self.later, place)

    @property
    def _drifts(self) -> list[tuple[Condition, Sequence[float]]]:
        """The goals whose numbers change over several rounds, or may, with both numbers."""
        pairs = [(goal, self._ends(place)) for place, goal in enumerate(self.goals)]
        pairs = [(goal, ends) for goal, ends in pairs if not self.later or not all(map(math.isnan, ends))]
        return [(goal, ends) for goal, ends in pairs if not abs(ends[1] - ends[0]) <= _STEADY * abs(ends[0])]

    @property
    def longer(self) -> str:
        """The options of a run that would be sure; empty if the answer is."""
        rounds = ROUNDS * self.scenario.to_dict()["workload"].get("repeat", 1)
        return say("rounds", rounds=rounds) if self._drifts else ""

    @property
    def nothing(self) -> str:
        """Where the numbers of the answer tell nothing; else empty."""
        is_timed = any(goal.measure.unit == "ns" for goal in self.goals)
        documents = [run.document for run in self.answer.runs]
        return next((text for one in documents for text in (*checks(one), *times_of_cell(one) * is_timed)), "")

    @property
    def sentences(self) -> tuple[str, ...]:
        """The answer, what binds and why, how it was found, what it rests on, and what the numbers do not tell."""
        answer = say(
            self._verdict,
            device=f"{self.answer} ({priced(self.answer.cost)})",
            tried=self.tried,
            goals=" and ".join(goal.text for goal in self.goals),
            remarks="".join(self._remarks()),
        )
        changes = [say("rounds change", goal=goal, ends=ends, unit=goal.measure.unit) for goal, ends in self._drifts]
        unsure = say("unsure answer", rounds=ROUNDS, changes="; ".join(changes), longer=self.longer) if changes else ""
        loop = "open loop" if self.scenario.replay_mode == "open" else "closed loop"
        history = "history of a tier" if self.other is None else "history of a trace"
        beyond = [note.rstrip(".") for note in self.answer.runs[0].notes if note.startswith(_BEYOND)]
        is_timed = (self.binding or self.goals[0]).measure.unit == "ns"
        limits = say_limits(self.scenario, [say(loop)], [*beyond, say(history), say("seeds")], is_timed)
        unsure = unsure or (say("tells nothing", nothing=self.nothing) if self.nothing else "")
        answer = unsure + answer if unsure else answer[0].upper() + answer[1:]
        how = say("found by", how="\n- ".join(one.rstrip(".") for one in self.how))
        return answer, f"{'; '.join(self._reasons())}.", how, self._rests(), limits

    def _number(self, place: int) -> Estimate:
        """Return the number that a goal bounds over the seeds and over several rounds of the trace."""
        return _over_rounds(self.answer, self.later, place)

    @property
    def _intervals(self) -> list[tuple[float, float]]:
        """The whole interval of the number that each goal bounds."""
        return [doubt.ends(self._number(place)) for place, doubt in enumerate(self.doubts)]

    @property
    def _near(self) -> list[bool]:
        """Of each goal, whether this interval reaches over the bound."""
        pairs = zip(self.goals, self._intervals, strict=True)
        return [low * (1 - _NO_ROOM) < goal.bound < high * (1 + _NO_ROOM) for goal, (low, high) in pairs]

    def tables(self, *_: str) -> list[TextTable]:
        """Return the goals, and the answer beside other devices."""
        more = say("over rounds", rounds=ROUNDS) if self.later else ""
        more += say("over draws") if self.drawn else ""
        alike = [
            goal.measure.label
            for goal, seeds in zip(self.goals, self.answer.bounded, strict=True)
            if not goal.is_known_before and seeds.runs > 1 and (seeds.half_width or 0.0) <= seeds.rounding
        ]
        more += say("same seeds", labels=", ".join(alike)) if alike else ""
        intervals = say("intervals", seeds=counted(len(self.answer.runs), "seed"), more=more)
        goals = TextTable(say("goals heads").split("|"), "llrrl", wraps=True, below=intervals)
        for place in range(len(self.goals)):
            goals.add(*self._judged(place))
        labels = [goal.measure.label for goal in self.goals]
        devices = TextTable([*say("devices heads").split("|"), *labels], "llrr", wraps=True)
        devices.add(*self._row(say("row: answer"), self.answer, self.later))
        for name, one in self._others.items():
            devices.add(*self._row(name, one))
        if self.inside not in (None, self.answer):
            devices.add(*self._row(say("row: inside"), self.insides[0], self.insides[1:]))
        for name, one in self.steps.items():
            devices.add(*self._row(name, one))
        return [goals, devices]

    def _judged(self, place: int) -> Iterator[str | Cell]:
        """Yield a goal, its number, the whole interval of that, how far it is from its bound, and what that means."""
        goal, seeds, excess = self.goals[place], self.answer.bounded[place], self.answer.excess[place]
        yield goal.text
        yield _shown(goal, self._number(place))
        low, high = self._intervals[place]
        yield "" if seeds.mean is None else f"{show(low, goal.measure.unit)} … {show(high, goal.measure.unit)}"
        room = "" if seeds.mean is None else show(abs(excess), "share")
        yield show_change(excess * goal.sign) if excess > 0 else room
        if seeds.mean is None:
            yield Cell(say("no number" if excess > 0 else "not worn"), "worse")
            return
        near = say("reaches over" if low < goal.bound < high else "no room") if self._near[place] else say("within")
        doubt = self.doubts[place]
        errors = say("whole", errors=doubt.errors) if doubt.errors else ""
        errors += say("unmeasured") if doubt.is_unmeasured else ""
        is_within = excess <= 0 and not self._near[place]
        yield Cell((say("broken") if excess > 0 else near) + errors, "better" if is_within else "worse")

    def _row(self, name: str, one: Sized, later: Sequence[Sized] = ()) -> Iterator[str | Cell]:
        """Yield a device, its cost beside that of the answer, and its numbers; a broken goal has a cross."""
        by = one.cost - self.answer.cost
        yield from (name, str(one), priced(one.cost), f"{'+' if by > 0 else '−'}{priced(abs(by))}" if by else "")
        for place, (goal, excess) in enumerate(zip(self.goals, one.excess, strict=True)):
            number = _over_rounds(one, later, place)
            none = say("no wear" if goal.measure.path.startswith("endurance.") else "not known")
            text = none if number.mean is None else _shown(goal, number)
            yield Cell(f"{text} ✗", "worse") if excess > 0 else text

    def _remarks(self) -> Iterator[str]:
        """Say which devices cannot be judged, how many break the goals as the answer does, and where more is worse."""
        for place, goal in enumerate(self.goals):
            if count := sum(math.isinf(one.excess[place]) for one in self.devices):
                yield say("set aside", count=count, label=goal.measure.label)
        if (alike := sum(one.far == self.answer.far > 0 for one in self.devices)) > 1:
            yield say("alike", count=alike)
        metrics = self.answer.runs[0].metrics
        if (bytes_waf := metrics.waf_media) and bytes_waf > _BY_BYTES * (metrics.waf_host or bytes_waf):
            yield say("by bytes", waf=bytes_waf)
        yield self.parts[2]
        yield say("none inside") if self.answer.is_met and self.inside is None and any(self._near) else ""
        yield uneven(self.devices, self.goals)[1]

    def _rests(self) -> str:
        """Say what the answer rests on."""
        run, flash = self.answer.runs[0], self.scenario.to_dict()["flash"]
        rating = next(iter(assumptions_of(run.document, "endurance").values()), "–")
        capacity, cell = show(run.workload["logical_bytes"] * self.times, "bytes"), flash["cell"].upper()
        end = ("" if self.cost != prices(self.scenario) else say("prices", month=_PRICED)) + self.parts[1]
        life = LIFE.read(run.metrics) if self.scenario.replay_mode == "open" and self.times == 1 else None
        end += "" if life is None else say("life", life=life)
        (given, _), has = parsed(self.answer.spare) or (0.0, ""), spare_share(self.scenario)
        is_other = self.times == 1 and abs(has - given) >= _OTHER_SPARE
        end += say("whole blocks", spare=self.answer.spare, has=has) if is_other else ""
        return say("rests", capacity=capacity, dies=self.parts[0], cell=cell, rating=rating, cost=self.cost, end=end)

    def _reasons(self) -> list[str]:
        is_least = self.answer.is_met and not any(name.startswith("less") for name in self.steps)
        least = "smallest" if "less" not in self.ends and self.answer.place[0] == "0B" else "nothing smaller"
        parts, bound = [say(least if is_least else "no goal binds")], None
        if (binding := self.binding) is not None:
            parts, bound = [say("binds", goal=binding.text)], binding.bound
            broken = [[goal.text for goal in self._broken(one)] for one in self.steps.values()]
            against = [dict.fromkeys(a + b) for a, b in combinations(broken, 2) if {*a} - {*b} and {*b} - {*a}]
            if against and self.answer.is_met:
                parts.append(say("two bind", goals=" and ".join(against[0])))
        share, _ = parsed(self.answer.spare) or (0.0, "")
        for end, other, factors in (("less", "more", (1, 0.7, 0.5)), ("more", "less", (1, 1.5, 2))):
            is_end = f"{end} spare space" not in self.steps and f"{other} spare space" in self.steps
            if is_end and end in self.ends and not is_least:
                values = ",".join(f"{100 * share * factor:.3g}%" for factor in factors)
                parts.append(say("end of spare", end=end, spare=self.answer.spare, key=SPARE, values=values))
        reasons = [self._reason(why, bound) for why in self.whys[self._explained.path]]
        if (cache := self._cache_of_schemes) and self.answer.place[0] == "0B" and reasons:
            reasons[:1] = [say("with a cache", cache=cache, reason=reasons[0])] if "changes" in reasons[0] else []
        metrics, unit = self.answer.runs[0].metrics, parsed(self.scenario.to_dict()["ftl"].get("indirection_unit"))
        if unit and self.answer.place[0] == "0B" and metrics.host_writes_pages:
            by = metrics.ftl_writes_pages / metrics.host_writes_pages
            reasons.append(say("units", unit=unit[0], by=by, metrics=metrics))
        return [*parts, *reasons]

    def _broken(self, device: Sized) -> list[Condition]:
        return [goal for goal, excess in zip(self.goals, device.excess, strict=True) if excess > 0]

    @property
    def _explained(self) -> Measure:
        """The measure that the reasons are of: that of the goal that binds, or else of the first one."""
        goal = self.binding or self.goals[0]
        is_known = self.answer.bounded[self.goals.index(goal)].mean is not None
        return MEASURES.get(goal.measure.path if is_known else "", WAF_HOST)

    @property
    def _cache_of_schemes(self) -> str:
        """The cache of the answer's device under each scheme; empty where that has none."""
        sizes = [parsed(run.scenario.to_dict()["cache"]["size"]) for run in self.variants.get("none", ())[:1]]
        return "".join(cache_text(f"{each[0] * self.times:.0f}B") for each in sizes if each and each[0])

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
        first, why, *more = self.sentences
        limits = tuple(line for text in reversed(more) for line in text.split("\n- ")[1:])
        title = say("title", goals=" and ".join(goal.text for goal in self.goals))
        tables = tuple(self.tables())
        return Subject(runs, title, why, first, limits, before, after, search=self._search(), tables=tables)

    def _search(self) -> dict[str, Any] | None:
        """Return the devices as a search for the least cost, with the number of the goal that binds, if any."""
        known = {goal for goal, one in zip(self.goals, self.answer.bounded, strict=True) if one.mean is not None}
        bound = next((one for one in [self.binding, *self.goals] if one in known and one.measure.path != COST), None)
        if bound is None:
            return None
        place, path = self.goals.index(bound), bound.measure.path
        aims = goals(path if bound.sign > 0 else None, None if bound.sign > 0 else path, self.cost)

        def trial(at: int, one: Sized) -> Trial:
            apart = ((other.cost - one.cost, other.excess[place] - one.excess[place]) for other in self.devices)
            beaten = any(max(by) <= 0 > min(by) for by in apart)
            numbers = one.bounded[place], Estimate(one.cost, None, 1)
            return Trial(at, dict(one.point.values), numbers, one.excess, (), not beaten)

        numbered = sorted(enumerate(self.devices), key=lambda one: one[1].place != self.answer.place)
        trials = (trial(*one) for one in numbered if one[1].bounded[place].mean is not None)
        return Tuning(self.path, aims, self.goals, tuple(trials), self.scenario, 0, ()).document()

    def draw(self, form: Format) -> bytes:
        """Draw the figure of why."""
        from coflash.figures.why import draw  # slow to import

        measure = self._explained
        bound = next((goal.bound for goal in self.goals if goal.measure == measure), None)
        caption = say("under each", device=f"{str(self.answer)[0].upper()}{str(self.answer)[1:]}")
        caption += say("variants", cache=cache) if (cache := self._cache_of_schemes) else ""
        return draw(self.variants, measure, self.whys[measure.path], form, bound, caption)

    def document(self, *_: str) -> dict[str, Any]:
        """Return the sizing as plain data."""

        def device(one: Sized) -> dict[str, Any]:
            numbers, runs = [each._asdict() for each in one.bounded], [job.key for job in one.point.jobs]
            return {"values": one.point.values, "cost": one.cost, "found": numbers, "excess": one.excess, "runs": runs}

        return {
            "goals": [goal.text for goal in self.goals],
            "met": self.answer.is_met,
            "sure": self.is_sure,
            "intervals": self._intervals,
            "inside": self.inside and device(self.inside),
            "drawn": [device(one) for one in self.drawn],
            "other": self.other and device(self.other),
            "binding": self.binding and self.binding.text,
            "how": self.how,
            "devices": {name: device(one) for name, one in {"answer": self.answer, **self.steps}.items()},
            "why": {path: [why.document() for why in whys] for path, whys in self.whys.items()},
            "sentences": self.sentences,
        }


def _ends(later: Sequence[Sized], place: int) -> Sequence[float]:
    return [one.number(place) for one in later] or [math.nan, math.nan]


def _shown(goal: Condition, number: Estimate) -> str:
    known = number._replace(half_width=None) if goal.is_known_before else number  # no measurement
    return show_estimate(known, goal.measure.unit)


def _over_rounds(one: Sized, later: Sequence[Sized], place: int) -> Estimate:
    """Return the number that a goal bounds on a device, whose interval covers one round of the trace and several."""
    number, (first, last) = one.bounded[place], _ends(later, place)
    wide = number.half_width if math.isnan(last) else max(number.half_width or 0.0, abs(last - first))
    return number._replace(half_width=wide)


def uneven(devices: Iterable[Sized], goals: Sequence[Condition]) -> tuple[float, str]:
    """Return the factor by which one with more cache broke a goal more than one with less, as a logarithm, and where.

    It is the greatest; 0 if there is none.
    """
    found = {
        goal.lack(more.excess[at]) - goal.lack(max(less.excess[at], 0.0)): say(
            "uneven", goal=goal, devices=(less, more), ends=ends, unit=goal.measure.unit
        )
        for less, more in permutations(devices, 2)
        if less.place[1] == more.place[1] and (parsed(less.place[0]) or ()) < (parsed(more.place[0]) or ())
        for at, goal in enumerate(goals)
        if goal.measure.path in MEASURES and more.excess[at] > 0
        if goal.sign * ((ends := (less.number(at), more.number(at)))[1] - ends[0]) > _STEADY * abs(ends[0])
    }
    return max(found.items(), default=(0.0, ""))


def smaller_parts(scenario: Scenario) -> Iterator[dict[str, str]]:
    """Yield the keys of ever smaller devices: first its blocks have fewer pages, then it has fewer parts."""
    pages = scenario.to_dict()["flash"]["pages_per_block"]
    parts = [("flash.pages_per_block", pages >> power) for power in range(1, pages.bit_length() - 2)]
    parts += [(key, 1) for key in _SMALLER]
    return accumulate(parts, lambda keys, part: {**keys, part[0]: str(part[1])}, initial=dict[str, str]())


def prices(scenario: Scenario) -> str:
    """Return the prices of a cache and of flash with the cells of a scenario."""
    return f"cache.size*3 $/GiB + flash.size*{0.08 * _PER_CELL[scenario.to_dict()['flash']['cell']]:g} $/GiB"


def priced(cost: float) -> str:
    """Show a cost as text, to three digits: $1,510, $2.31, $0.0000114."""
    digits = 2 - math.floor(math.log10(abs(cost))) if cost else 2
    return f"${round(cost, digits):,.{max(0, digits)}f}"


def cache_text(size: str) -> str:
    """Show the size of a cache, or that there is none."""
    size_bytes, _ = parsed(size) or (0.0, "")
    return show(size_bytes, "bytes") if size_bytes else "no"
