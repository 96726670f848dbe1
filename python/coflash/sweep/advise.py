"""Advice: what cooperation would save on one's own scenario and trace, by which answer, at what cost, and why."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from coflash._core import CoflashError
from coflash.measures.measure import MEAN, MEASURES, P99, WAF_HOST, Measure
from coflash.quantity import change, counted, parsed, show, show_change
from coflash.results.differences import difference
from coflash.results.estimate import estimate
from coflash.results.identity import own_key
from coflash.results.notes import checks
from coflash.results.result import Result
from coflash.results.why import OVERWRITES, Why, whole
from coflash.runs.run import fewest_programs
from coflash.scenario import Scenario, ScenarioLike, flat
from coflash.sweep.answers import BEFORE_DISKS, DEVICE, TIER, Answer
from coflash.sweep.design import Assignment
from coflash.sweep.engine import On
from coflash.sweep.finding import Kept, say, say_limits
from coflash.sweep.memory import flash_pages
from coflash.sweep.question import Question, folder_for
from coflash.text_table import TextTable
from coflash.trace import Paths, head, info, paths

if TYPE_CHECKING:
    from coflash.charts import Format

REQUESTS = 400_000
_LONGER = 4
"""The factor by which runs are longer that were not steady, and that check what is advised."""
_STEADY = 0.05
"""The change of a measure from the first half of a run to the second up to which the run is called steady."""
_SEEDS = 3
"""The seeds over which what is advised is checked, at least."""
_NOTHING, _A_POINT = 0.001, 0.01
"""The share of a measure that is no change."""
_COPIES, _WRITTEN = MEASURES["programs_pages.gc"], MEASURES["host_writes_pages"]


@dataclass(frozen=True)
class Tried:
    """An answer that ran, with what it saves and costs, as shares of the baseline's."""

    answer: Answer
    runs: tuple[Result, ...]
    value: float
    """The measure that counts, as the mean over the seeds."""
    saved: float
    between: tuple[float, float] | None
    """95 %, over slices of the workload and over seeds, whichever is wider; None if neither gives one."""
    how: str
    p99: float | None
    """The change of the response time's 99th percentile."""
    p99s: tuple[float, float] | None
    """The ends of such changes: 95 % over seeds, and that over more rounds; None if they were not run."""
    hits: float | None
    """The change of the share of reads that a cache serves."""
    hits_ends: tuple[float, float] | None
    """The ends of such changes, in the same way."""
    memory_bytes: int | None
    stores: float
    """Stores of metadata in non-volatile memory for each page that the host writes."""

    @property
    def is_sure(self) -> bool:
        """Whether it saves more than noise."""
        return self.saved > _NOTHING and (self.between is None or self.between[0] > 0)


@dataclass(frozen=True)
class Advice(Kept):
    """The answers on one scenario, and which of them pays."""

    DOCUMENT = "advice.json"

    scenario: Scenario
    measure: Measure
    """What is to be saved: flash programs for each host write; before disks the mean response time."""
    how: str
    tried: tuple[Tried, ...]
    """The answers that ran, the baseline first."""
    best: Tried
    """The advised answer, perhaps the baseline."""
    ahead: str
    """A larger answer that saves more on average, but not beyond noise."""
    reads: Tried | None
    """The answer that saves as much, as far as the intervals tell, and reads the fewest pages from flash."""
    refused: Mapping[str, tuple[str, ...]]
    """The reasons why answers could not run, each with their names."""
    why: Why | None
    """The difference between baseline and advised answer as a sum of the shares of its parts; None if it is none."""
    closed: tuple[float, float, float] | None
    """By the closed form: D / U, and what is left of the programs where overwrites are known; and what the run left."""
    doubled: tuple[float, float] | str
    """The measure of baseline and advised answer with twice the cache, or why there is none."""
    fewest: float | str
    """The fewest flash programs for each host write that any cooperation could reach, or why no bound is known."""
    has_more: bool
    """Whether the workload has more requests than ran, as far as is known without running them."""

    @property
    def headline(self) -> str:
        """The advice."""
        return self._advice()

    @property
    def asked(self) -> tuple[str, ...]:
        """What ran."""
        return (self.how + (say("prefix") if self.has_more else ""),)

    @property
    def runs(self) -> dict[str, tuple[Result, ...]]:
        """The runs that carry the numbers, by their answers."""
        return {one.answer.name: one.runs for one in self.tried}

    @property
    def sentences(self) -> tuple[str, ...]:
        """The advice in sentences; the last says what the numbers do not tell."""
        known = (
            self._advice(),
            "" if self.why is None else say("why", why=self.why.said(self.measure)),
            self._headroom(),
            "" if self.closed is None else say("closed form", closed=self.closed),
            self._twice(),
            self._steady(),
            *(say("not open", names=", ".join(n), reason=reason.rstrip(".")) for reason, n in self.refused.items()),
            say_limits(self.scenario, (), (say("history of a scenario"), say("host side"))),
        )
        return tuple(one for one in known if one)

    def tables(self, *_: str) -> list[TextTable]:
        """Return a row for each answer that ran."""
        heads = say("advised heads", measure=self.measure).split("|")
        return [TextTable.of(heads, [self._row(one) for one in self.tried])]

    def _row(self, one: Tried) -> list[str]:
        saved, low, high, hits = (
            "–" if share is None else f"{round(100 * share, 1) + 0.0:.1f}".replace("-", "−")
            for share in (one.saved if one.how else None, *(one.between or (None, None)), one.hits)
        )
        memory = "–" if one.memory_bytes is None else show(one.memory_bytes, "bytes")
        between = f"{low} … {high}" if one.between else "–"
        value = show(one.value, self.measure.unit)
        return [one.answer.name, value, saved, between, hits, show_change(one.p99), memory, f"{one.stores:.2f}"]

    @property
    def unsure(self) -> str:
        """The reason why the advice is not sure; empty if it is."""
        nothing = next((text for run in (*self.tried[0].runs, *self.best.runs) for text in checks(run.document)), "")
        if nothing or not self.is_steady:
            return nothing.rstrip(".") or say("unsteady")
        is_advised = self.best is not self.tried[0]
        most, told = (self.best, "wavers") if is_advised else (self._most, "not beyond noise")
        is_open = most.between and not most.is_sure and (is_advised or most.saved > _STEADY)
        return say(told, one=most, longer=self._longer) if is_open else ""

    @property
    def _most(self) -> Tried:
        return max(self.tried, key=lambda one: one.saved)

    @property
    def is_sure(self) -> bool:
        """Whether there is an advice, of runs that are steady and tell something."""
        return not self.unsure and bool(self.tried[0].value)

    def _advice(self) -> str:
        base, best, measure = self.tried[0], self.best, self.measure
        advice = say("unsure advice" if self.unsure else "advice", reason=self.unsure)
        if best is not base:
            sure = say("between", one=best) if best.between else say("unknown spread")
            low, high = map(_points, best.hits_ends or (None, None))
            hits = "" if best.hits_ends is None else say("price in hits", points=_points(best.hits), low=low, high=high)
            spread = "" if best.p99s is None else say("p99s", p99s=best.p99s)
            loop = str(base.runs[0].workload["replay"]).partition(",")[0].partition(":")[0]
            price = "" if best.p99 is None else say("price", hits=hits, p99=best.p99, spread=spread, loop=loop)
            price += "" if self.reads is None else say("reads", reads=self.reads, points=_points(self.reads.hits))
            told = {"sure": sure, "ahead": say("ahead", ahead=self.ahead) if self.ahead else "", "price": price}
            return say("saves", advice=advice, base=base, best=best, measure=measure, **told)
        if not base.value:
            return say("no advice", requests=base.runs[0].metrics.requests, longer=self._longer)
        more = say("most", most=self._most) if self._most.saved > _NOTHING else ""
        return say("nothing saves", advice=advice, base=base, most=more)

    def _headroom(self) -> str:
        if isinstance(self.fewest, str):
            return say("no bound", reason=self.fewest) if self.fewest else ""
        if not self.best.value:
            return ""
        copies = _mean(self.best.runs, _COPIES) / _mean(self.best.runs, _WRITTEN)
        left = 1 - self.fewest / self.best.value
        return say("headroom", best=self.best, fewest=self.fewest, left=left, copies=copies)

    def _twice(self) -> str:
        if isinstance(self.doubled, str):
            return say("not twice", reason=self.doubled) if self.doubled else ""
        pairs = [*zip((self.tried[0], self.best), self.doubled, strict=True)]
        each = (say("from to", one=one, then=then, unit=self.measure.unit) for one, then in pairs)
        more = say("more is worse") if any(then > (1 + _STEADY) * one.value for one, then in pairs) else ""
        return say("twice", measure=self.measure, values=", ".join(dict.fromkeys(each)), more=more)

    @property
    def _drifts(self) -> dict[str, float]:
        found = {one.answer.name: drift(one.runs, self.measure) for one in (self.tried[0], self.best)}
        return {name: one for name, one in found.items() if one is not None}

    @property
    def is_steady(self) -> bool:
        """Whether the runs are known to have been steady."""
        return bool(self._drifts) and all(abs(one) <= _STEADY for one in self._drifts.values())

    def _steady(self) -> str:
        if not (known := self._drifts):
            return say("too few", longer=self._longer)
        drifts = ", ".join(say("drift", name=name, drift=one) for name, one in known.items())
        return say("steady" if self.is_steady else "not steady", drifts=drifts, longer=self._longer)

    @property
    def _longer(self) -> str:
        requests, workload = self.tried[0].runs[0].metrics.requests, self.scenario.to_dict()["workload"]
        if not self.has_more and workload.get("fio"):
            return say("longer jobs")
        more = f"--requests {_LONGER * requests}"
        return more if self.has_more else f"{more} --set workload.repeat={_LONGER * workload.get('repeat', 1)}"

    def draw(self, form: Format) -> bytes:
        """Draw what each answer saves, and where the advised one's saving comes from."""
        from coflash.figures.why import draw  # slow to import

        variants = {one.answer.name: one.runs for one in self.tried}
        whys, fewest = () if self.why is None else (self.why,), None if isinstance(self.fewest, str) else self.fewest
        return draw(variants, self.measure, whys, form, fewest=fewest, caption=self.how)

    def document(self, *_: str) -> dict[str, Any]:
        """Return the advice as plain data."""

        def row(one: Tried) -> dict[str, Any]:
            names = ("value", "saved", "between", "p99", "hits", "memory_bytes", "stores")
            numbers = {name: getattr(one, name) for name in names}
            settings = dict(one.answer.settings)
            return {"answer": one.answer.name, "settings": settings, **numbers, "drift": drift(one.runs, self.measure)}

        return {
            "measure": self.measure.path,
            "how": self.how,
            "answers": [row(one) for one in self.tried],
            "advice": self.best.answer.name,
            "steady": self.is_steady,
            "why": self.why and self.why.document(),
            "closed_form": self.closed,
            "doubled": self.doubled,
            "fewest": self.fewest,
            "refused": self.refused,
            "sentences": self.sentences,
        }


def advise(
    scenario: ScenarioLike,
    trace: Paths = (),
    *,
    out: str | os.PathLike[str],
    requests: int | None = None,
    steady: bool = True,
    scale: str | None = None,
    seeds: int = 1,
    on: On = None,
    progress: bool = False,
) -> Advice:
    """Compare all answers that GC may give on a scenario, from short runs.

    Args:
        scenario: The scenario, as an object, as nested dictionaries, or by its name or file.
        trace: The trace to replay instead of the scenario's own workload: paths, or URLs that fsspec knows.
        out: The folder of results.
        requests: The most requests of a run; by default 400,000, or four times as many if these are not steady.
        steady: Whether runs begin in a steady state (`precondition.until_steady`), where the scenario fills the device.
        scale: As of [`sweep`][coflash.sweep.sweep].
        seeds: The number of seeds.
        on: As of [`sweep`][coflash.sweep.sweep].
        progress: Whether to show progress on the standard error stream.

    Raises:
        CoflashError: An argument cannot be used, no answer but the baseline is open, or runs failed.
    """
    scenario = Scenario.of(scenario)
    if scale is not None:
        scenario = scenario.replaying(paths(trace)).scaled(scale)
    question = Question.of(scenario, trace, folder_for(out), on, progress)
    keys = flat(question.scenario.to_dict())
    if requests is None and keys.get("workload.requests_max") is None:
        _check_room(question)
    given = keys.get("workload.requests_max") or math.inf

    def advised(most: int) -> Advice:
        asked = replace(question, scenario=question.scenario.with_({"workload.requests_max": min(most, given)}))
        is_warmed = steady and keys["precondition.fill"] != "none" and (trace or not keys.get("workload.fio"))
        return _Adviser(asked.warmed() if is_warmed else asked, seeds).run()  # jobs of fio do not repeat

    found = advised(requests or REQUESTS)
    is_all = requests or found.is_steady or not found.has_more or given <= REQUESTS
    return found if is_all else advised(_LONGER * REQUESTS)


def _check_room(question: Question) -> None:
    """Refuse a trace that has no room in what the device exports, even where the first requests alone have."""
    values, files = question.scenario.to_dict(), [one.local() for one in question.inputs]
    workload, room = values["workload"], question.scenario.exported_bytes()
    if not files or own_key(workload) or workload["remap"] == "modulo" or values.get(TIER):
        return
    about = info(files, workload["trace_options"], page=values["flash"]["page_size"], trims=True)
    touched = (about.footprint_pages or 0) * about.page_bytes
    is_dense = workload["remap"] == "dense"
    if (needed := touched if is_dense else about.address_end or 0) > room:
        sets = [] if is_dense else ["--set workload.remap=dense"]
        sets += [f"--set flash.exported={touched}B"] if touched > room else []
        told = {"files": ", ".join(files), "needed": needed, "touched": touched, "room": room, "sets": " ".join(sets)}
        sentence = "touches too much" if is_dense else "reaches too far"
        raise CoflashError(say(sentence, **told, requests=about.requests))


@dataclass(frozen=True)
class _Adviser:
    """The runs of an advice."""

    question: Question
    seeds: int

    @property
    def base(self) -> Scenario:
        return self.question.scenario

    def run(self) -> Advice:
        is_tier = bool(self.base.to_dict().get(TIER))
        answers, others = (BEFORE_DISKS, DEVICE[1:]) if is_tier else (DEVICE, BEFORE_DISKS)
        measure = MEAN if is_tier else WAF_HOST
        reasons = {one: one.refused(self.base) for one in (*answers, *others) if not one.is_step}
        open_ones = [one for one in answers if not one.is_step and not reasons[one]]
        ran = self._ran({one: one.on(self.base) for one in open_ones}, reasons) if len(open_ones) > 1 else {}
        if len(ran) < 2 or answers[0] not in ran:
            asked = open_ones if len(open_ones) > 1 else answers  # what fails tells more than what is not there
            why = dict.fromkeys(reasons[one].rstrip(".") for one in asked if reasons.get(one))
            raise CoflashError(f"advise: there is nothing to compare: {'; '.join(why)}")
        base, *rest = tried = [_tried(one, runs, ran[answers[0]], measure) for one, runs in ran.items()]
        sure = sorted((one for one in rest if one.is_sure), key=lambda one: one.value)
        best, ahead, reads = _cheapest(sure, measure) if sure else (base, "", None)
        if best is not base:
            tried[tried.index(best)] = best = self._checked(base, best, measure)
        steps = {one: one.on(self.base) for one in answers if one.is_step and one.parts < best.answer.parts}
        ran |= self._ran({one: settings for one, settings in steps.items() if not one.refused(self.base)}, reasons)
        numbers = {one.parts: [_value(run, measure) for run in runs] for one, runs in ran.items()}
        known = {reason: tuple(one.name for one in reasons if reasons[one] == reason) for reason in reasons.values()}
        begin = say("begins steady" if self.base.to_dict()["precondition"].get("until_steady") else "begins as given")
        advice = Advice(
            self.question.store.path,
            self.base,
            measure,
            say("advised", base=self.base, run=base.runs[0], begin=begin, seeds=counted(self.seeds, "seed")),
            tuple(tried),
            best,
            ahead,
            reads,
            {reason: names for reason, names in known.items() if reason},
            None if best is base else whole(base.answer.name, best.answer.name, numbers, best.answer.parts),
            None if is_tier else _closed(tried),
            self._doubled(base.answer, best.answer, measure),
            "" if is_tier else self._fewest(base.runs),
            self._has_more(base.runs[0].metrics.requests),
        )
        return advice.write()

    def _checked(self, base: Tried, best: Tried, measure: Measure) -> Tried:
        """Return an answer with what it saves over more seeds and rounds, too: slices of a run know one level."""
        workload, two = self.base.to_dict()["workload"], (base.answer, best.answer)
        requests, rounds = base.runs[0].metrics.requests, workload.get("repeat", 1)
        longer = {"workload.repeat": _LONGER * rounds, "workload.requests_max": _LONGER * requests}
        checks = [replace(self, seeds=max(_SEEDS, self.seeds))]
        if not workload.get("fio"):  # jobs do not repeat
            checks.append(_Adviser(replace(self.question, scenario=self.base.with_(longer)), 1))
        if has_other := self.base.to_dict()["precondition"].get("until_steady") and measure is WAF_HOST:
            checks.append(_Adviser(self.question.of_another_history(), 1))
        found = [check._ran({one: one.on(check.base) for one in two}, {}) for check in checks]
        pairs = [(ran[base.answer], ran[best.answer]) for ran in found if len(ran) == len(two)]
        known = [_tried(best.answer, after, before, measure) for before, after in pairs]
        ends = [end for one in (best, *known) for end in (one.saved, *(one.between or ()))]
        more = "" if workload.get("fio") else say("of rounds", rounds=_LONGER)
        more += say("of history") if has_other else ""
        how = say("checked", how=best.how, seeds=checks[0].seeds, rounds=more)
        p99s, hits = _ends(pairs, _p99_change), _ends(pairs, _hits_change)
        return replace(best, between=(min(ends), max(ends)), how=how, p99s=p99s, hits_ends=hits)

    def _doubled(self, base: Answer, best: Answer, measure: Measure) -> tuple[float, float] | str:
        """Run baseline and advised answer with twice the cache; of flash before disks with twice the flash."""
        keys = flat(self.base.to_dict())
        tier = "flash.exported" if keys.get("flash.exported") else "flash.blocks_per_plane"
        key = tier if self.base.to_dict().get(TIER) else "cache.size"
        number, unit = parsed(keys[key]) or (0.0, "")
        twice = f"{200 * number:g}%" if unit == "share" else f"{2 * number:.0f}{'B' if unit == 'bytes' else ''}"
        failed: dict[Answer, str] = {}
        ran = self._ran({one: (*one.on(self.base), (key, twice)) for one in (base, best)}, failed)
        return "; ".join(failed.values()) or (_mean(ran[base], measure), _mean(ran[best], measure))

    @property
    def _trace(self) -> list[str]:
        return [] if own_key(self.base.to_dict()["workload"]) else [one.local() for one in self.question.inputs]

    def _has_more(self, ran: int) -> bool:
        workload = self.base.to_dict()["workload"]
        made, beyond = workload.get("synthetic", {}).get("requests", math.inf), ran // workload.get("repeat", 1) + 1
        known = len(head(self._trace, beyond, workload["trace_options"])) if self._trace else made
        return ran >= workload["requests_max"] and bool(known >= beyond)

    def _fewest(self, runs: Sequence[Result]) -> float | str:
        try:
            found = [fewest_programs(run.scenario, self._trace).waf_host for run in runs]
        except CoflashError as error:
            return str(error).rstrip(".")
        known = [one for one in found if one is not None]
        return math.fsum(known) / len(known) if known else ""

    def _ran(self, places: Mapping[Answer, Assignment], reasons: dict[Answer, str]) -> dict[Answer, tuple[Result, ...]]:
        """Run answers; the reasons of those that fail are added."""
        points = [self.question.point(settings, self.seeds) for settings in places.values()]
        ran = dict(zip(places, self.question.ran(points), strict=True))
        reasons |= {one: runs for one, runs in ran.items() if isinstance(runs, str)}
        return {one: runs for one, runs in ran.items() if not isinstance(runs, str)}


def _points(share: float | None) -> str:
    return f"{100 * (share or 0.0):+.1f}".replace("-", "−")


def _mean(runs: Sequence[Result], measure: Measure) -> float:
    return math.fsum(_value(run, measure) for run in runs) / len(runs)


def _value(run: Result, measure: Measure) -> float:
    return measure.read(run.metrics) or 0.0


def _tried(answer: Answer, runs: tuple[Result, ...], base: tuple[Result, ...], measure: Measure) -> Tried:
    before, after = _mean(base, measure), _mean(runs, measure)
    between, how = None, "" if runs is base else "one run"
    if runs is not base and before and (found := difference(measure, base, runs)) is not None:
        over = {"over slices of the workload": found.over_slices, f"over {len(runs)} seeds": found.over_seeds}
        known = {name: one for name, one in over.items() if one is not None}
        if known:
            least, most = (min(one.low for one in known.values()), max(one.high for one in known.values()))
            between, how = (-most / before, min(1.0, -least / before)), " and ".join(known)
    saved = 0.0 - (change(after, before) or 0.0)
    written = sum(run.metrics.host_writes_pages for run in runs)
    stores = sum(run.metrics.at(("metadata", "stores")) or 0 for run in runs) / max(1, written)
    p99, hits, memory = _p99_change(base, runs), _hits_change(base, runs), answer.memory_bytes(runs[0])
    return Tried(answer, runs, after, saved, between, how, p99, None, hits, None, memory, stores)


def _p99_change(base: Sequence[Result], runs: Sequence[Result]) -> float | None:
    return change(_mean(runs, P99), _mean(base, P99))


def _hits_change(base: Sequence[Result], runs: Sequence[Result]) -> float | None:
    return None if (mine := _hits(runs)) is None or (own := _hits(base)) is None else mine - own


def _ends(
    pairs: Sequence[tuple[Sequence[Result], Sequence[Result]]],
    changed: Callable[[Sequence[Result], Sequence[Result]], float | None],
) -> tuple[float, float] | None:
    """Return the least and the greatest change: of single runs, and the ends of 95 % over several seeds."""
    of_pairs = [[changed((one,), (other,)) for one, other in zip(*pair, strict=True)] for pair in pairs]
    known = [one for each in of_pairs for one in (*each, *(estimate(each).bounds(-1.0) or ())) if one is not None]
    return (min(known), max(known)) if known else None


def _hits(runs: Sequence[Result]) -> float | None:
    """Return the share of reads that the cache serves; None without a cache or reads."""
    if known := [share for run in runs if (share := run.metrics.at(("hybrid", "read_hits_share"))) is not None]:
        return float(sum(known) / len(known))
    hits = sum(run.metrics.cache.read_hits for run in runs)
    asked = hits + sum(run.metrics.cache.read_misses for run in runs)
    return hits / asked if asked else None


def _cheapest(sure: Sequence[Tried], measure: Measure) -> tuple[Tried, str, Tried | None]:
    """Return of those that save as much as the best one the least, the best one, and the best read.

    The least has the least memory, and then the fewest parts.

    The last one is None where the first one has as many read hits.
    """
    most = sure[0]

    def is_alike(one: Tried) -> bool:
        found = difference(measure, most.runs, one.runs)
        known = [each for each in (found.over_slices, found.over_seeds) if each is not None] if found else []
        return one is most or (bool(known) and all(each.low <= 0 for each in known))

    alike = [one for one in sure if is_alike(one)]
    chosen = min(alike, key=lambda one: (one.memory_bytes or 0, len(one.answer.parts), one.value))
    reads = max(alike, key=lambda one: one.hits or 0.0)
    is_better = (reads.hits or 0.0) - (chosen.hits or 0.0) > _A_POINT
    return chosen, "" if chosen is most else most.answer.name, reads if is_better else None


def drift(runs: Sequence[Result], measure: Measure) -> float | None:
    """Return the change of a measure from the passes before the runs, or else over their halves; None if unknown."""
    from coflash.results.slices import sliced  # needs numpy

    known = [one for run in runs if (one := sliced(run.series(), measure.path)) is not None]
    passes = [one for run in runs if (one := run.workload.get("steady_waf"))]
    if known and measure is WAF_HOST and len(passes) == len(runs):
        return change(_mean(runs, measure), sum(passes) / len(passes))
    if not known:
        return None
    middle = len(known[0].above) // 2
    before, after = (
        sum(one.above[part].sum() for one in known) / max(1, sum(one.below[part].sum() for one in known))
        for part in (slice(middle), slice(middle, None))
    )
    return change(float(after), float(before))


def _closed(tried: Sequence[Tried]) -> tuple[float, float, float] | None:
    """Return the closed form's prediction of known overwrites: A(T / (U - D)) / A(T / U), and what the runs left.

    A is greedy's. D is the mean number of dirty pages in the cache: of all that leave it, the share that leaves dirty,
    times its pages.
    """
    base, known = tried[0], next((one for one in tried if one.answer.parts == {OVERWRITES}), None)
    if known is None or not (dirty := known.runs[0].metrics.cache.dirty_evictions_pages):
        return None
    cache, live = known.runs[0].metrics.cache, base.runs[0].metrics.mapped_pages
    sole = cache.capacity_pages * dirty / (dirty + cache.clean_evictions_pages)
    left = left_of(base.runs[0].scenario, live, sole)
    return None if left is None else (sole / live, left, known.value / base.value)


def left_of(scenario: Scenario, live: float, sole: float) -> float | None:
    """Return the share of programs that is left where some live pages are sole copies in a cache, by the closed form.

    Writes are uniform, victims greedy. None where the device has no room for the form.
    """
    from coflash import analytic  # needs numpy

    values = scenario.to_dict()
    dies, block = scenario.sizes()[0], values["flash"]["pages_per_block"]
    planes = dies * values["flash"]["planes_per_die"]
    pools = {"plane": planes, "die": dies, "device": 1}[values["ftl"].get("pools", "plane")]
    unit = block * (planes if pools == 1 else 1)
    physical = flash_pages(scenario)
    number, kind = parsed(values["gc"]["low_mark"]) or (0.0, "")
    free = math.floor(number * physical / unit / pools) if kind == "share" else number
    try:
        pages = analytic.usable(physical, unit, pools, 2, int(free) + 1)
        return float(analytic.greedy(pages / (live - sole), unit)) / analytic.greedy(pages / live, unit)
    except ValueError:
        return None
