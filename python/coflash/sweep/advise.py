"""Advice: what cooperation would save on one's own scenario and trace, by which answer, at what cost, and why."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coflash._core import CoflashError, __version__
from coflash.files import atomic_write
from coflash.measures.measure import MEAN, MEASURES, P99, WAF_HOST, Measure
from coflash.quantity import change, counted, parsed, show, show_change
from coflash.results.differences import difference
from coflash.results.identity import own_key
from coflash.results.result import BEYOND, Result
from coflash.results.store import FolderStore
from coflash.results.why import OVERWRITES, Why, whole
from coflash.runs.inputs import Input, inputs_of
from coflash.runs.run import fewest_programs
from coflash.scenario import Scenario, ScenarioLike, flat
from coflash.sweep import swept
from coflash.sweep.answers import BEFORE_DISKS, DEVICE, TIER, Answer
from coflash.sweep.design import Assignment
from coflash.sweep.engine import Place
from coflash.sweep.memory import flash_bytes
from coflash.sweep.plan import Plan, Point
from coflash.sweep.tune import folder_for
from coflash.terminal import errors
from coflash.trace import Paths

if TYPE_CHECKING:
    from rich.console import Console

    from coflash.charts import Format

DOCUMENT, REQUESTS = "advice.json", 400_000
_LONGER = 4
"""The factor by which runs are longer that were not steady."""
_STEADY = 0.05
"""The change of a measure from the first half of a run to the second up to which the run is called steady."""
_NOTHING = 0.001
"""The share of a measure that is no change."""
_COPIES, _WRITTEN = MEASURES["programs_pages.gc"], MEASURES["host_writes_pages"]
_LIMITS = (
    "other workloads than this one, and another history of the device",
    "tails of writes from anything but GC and queues: of many drives they are not modelled",
    "processor time and energy of a scheme, and what a power cut takes (docs/consistent_cdm.md)",
)


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
    hits: float | None
    """The change of the share of reads that a cache serves."""
    memory_bytes: int | None
    stores: float
    """Stores of metadata in non-volatile memory for each page that the host writes."""

    @property
    def is_sure(self) -> bool:
        """Whether it saves more than noise."""
        return self.saved > _NOTHING and (self.between is None or self.between[0] > 0)

    @property
    def cells(self) -> tuple[str, ...]:
        """Its row of the table, without the value."""
        saved, low, high, hits = (
            "–" if one is None else f"{round(100 * one, 1) + 0.0:.1f}".replace("-", "−")
            for one in (self.saved if self.how else None, *(self.between or (None, None)), self.hits)
        )
        ends = f"{low} … {high}" if self.between else "–"
        memory = "–" if self.memory_bytes is None else show(self.memory_bytes, "bytes")
        return saved, ends, hits, show_change(self.p99), memory, f"{self.stores:.2f}"


HEADS = ("saved (%)", "95 %", "read hits (points)", "p99", "memory", "stores a page")


@dataclass(frozen=True)
class Advice:
    """The answers on one scenario, and which of them pays."""

    path: Path
    scenario: Scenario
    measure: Measure
    """What is to be saved: flash programs for each host write; before disks the mean response time."""
    how: str
    tried: tuple[Tried, ...]
    """The answers that ran, the baseline first."""
    best: Tried
    """The advised answer, perhaps the baseline."""
    ahead: str
    """A costlier answer that saves more on average, but not beyond noise."""
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

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The advice in sentences; the last says what the numbers do not tell."""
        why = "" if self.why is None else f"Why, in exact shares: {self.why.said(self.measure)}."
        no = (f"Not open: {', '.join(names)}: {reason.rstrip('.')}." for reason, names in self.refused.items())
        found = (
            self._advice(),
            why,
            self._headroom(),
            self._theory(),
            self._twice(),
            self._steady(),
            *self._beyond(),
            *no,
        )
        fitted = " ".join(self.scenario.to_dict()["limits"]).rstrip(".")
        limits = (*_LIMITS, f"more of the drive than this: {fitted}" if fitted else "of a drive: none was fitted")
        return (*(one for one in found if one), f"The numbers do not tell {'; nor '.join(limits)}.")

    def _advice(self) -> str:
        base, best, unit = self.tried[0], self.best, self.measure.unit
        if best is base:
            if not base.value:
                of = f"none of its {counted(base.runs[0].metrics.requests, 'request')} had flash write a page"
                less = f"a smaller one (--set cache.size=1%) or {self._longer} would tell"
                return f"No advice: {of}. The cache holds all that is written so far; {less}."
            most = max(self.tried, key=lambda one: one.saved)
            beyond = f": the most, {most.answer.name}, saves {show(most.saved, 'share')}, not beyond noise"
            return f"{self._said} {base.answer.name}. No answer saves{beyond if most.saved > _NOTHING else ''}."
        ends = best.between
        sure = f" ({show(ends[0], 'share')} … {show(ends[1], 'share')}, {best.how})" if ends else ", of unknown spread"
        more = f"; {self.ahead} saves no more beyond noise, and takes more" if self.ahead else ""
        values = f"{self.measure.label} {show(base.value, unit)} → {show(best.value, unit)}"
        return f"{self._said} {best.answer.name} saves {show(best.saved, 'share')}{sure}: {values}{more}."

    def _headroom(self) -> str:
        if isinstance(self.fewest, str):
            return f"No lower bound: {self.fewest}." if self.fewest else ""
        most, unit = self.best.value, WAF_HOST.unit
        if not most:
            return ""
        copies = _mean(self.best.runs, _COPIES) / _mean(self.best.runs, _WRITTEN)
        return (
            f"Lower bound, the future known: with this cache no cooperation needs less than {show(self.fewest, unit)} "
            f"programs a host write. Under {self.best.answer.name} they are {show(most, unit)}, so that at most "
            f"{show(1 - self.fewest / most, 'share')} are left to save. {show(copies, unit)} of them are copies by GC, "
            "of which the bound knows nothing: it is that of a device with enough spare space."
        )

    def _theory(self) -> str:
        if self.closed is None:
            return ""
        share, left, ran = self.closed
        return (
            f"Closed form, as if writes were uniform: D/U = {show(share, 'share')} in sole copies on average, so that "
            f"known overwrites (cdm-overwrites) leave {left:.3f} of the programs; the runs left {ran:.3f}. "
            "U is all that is stored; the form promises too much where the cache is a tenth of it or more."
        )

    def _twice(self) -> str:
        if isinstance(self.doubled, str):
            return f"Twice the cache was not run: {self.doubled}." if self.doubled else ""
        unit, (base, best) = self.measure.unit, self.doubled
        names = dict.fromkeys((self.tried[0].answer.name, self.best.answer.name))
        values = zip(names, (self.tried[0].value, self.best.value), (base, best), strict=False)
        each = (f"{name} {show(now, unit)} → {show(then, unit)}" for name, now, then in values)
        return f"With twice the cache {self.measure.label}: {', '.join(each)}."

    @property
    def _drifts(self) -> dict[str, float]:
        found = {one.answer.name: drift(one.runs, self.measure) for one in (self.tried[0], self.best)}
        return {name: one for name, one in found.items() if one is not None}

    @property
    def is_steady(self) -> bool:
        """Whether the runs are known to have been steady."""
        return bool(self._drifts) and all(abs(one) <= _STEADY for one in self._drifts.values())

    @property
    def _said(self) -> str:
        return "Advice:" if self.is_steady else "No sure advice, since runs are not known to be steady (see below):"

    def _steady(self) -> str:
        if not (known := self._drifts):
            return f"Not known to be steady: too few requests for slices; {self._longer} would tell."
        is_so, more = self.is_steady, f"; {self._longer} would tell"
        each = ", ".join(f"{name} {show_change(one)}" for name, one in known.items())
        said = "Steady" if is_so else "Not steady"
        return f"{said} from the first half of the requests to the second: {each}{more * (not is_so)}."

    def _beyond(self) -> Iterator[str]:
        """Yield what runs beyond the measurements of a fitted drive say of themselves."""
        for one in dict.fromkeys((self.tried[0], self.best)):
            if found := next((note for note in one.runs[0].notes if BEYOND in note), ""):
                yield f"{one.answer.name}: {found}"

    @property
    def has_more(self) -> bool:
        """Whether the workload has more requests than ran."""
        most: int = self.scenario.to_dict()["workload"]["requests_max"]
        return self.tried[0].runs[0].metrics.requests >= most

    @property
    def _longer(self) -> str:
        requests, rounds = self.tried[0].runs[0].metrics.requests, self.scenario.to_dict()["workload"].get("repeat", 1)
        more = f"--requests {_LONGER * requests}"
        return more if self.has_more else f"{more} with --set workload.repeat={_LONGER * rounds}"

    def draw(self, form: Format) -> bytes:
        """Draw what each answer saves, and where the advised one's saving comes from."""
        from coflash.figures.why import draw  # slow to import

        variants = {one.answer.name: one.runs for one in self.tried}
        whys, fewest = () if self.why is None else (self.why,), None if isinstance(self.fewest, str) else self.fewest
        return draw(variants, self.measure, whys, form, fewest=fewest, caption=self.how)

    def document(self) -> dict[str, Any]:
        """Return the advice as plain data."""

        def row(one: Tried) -> dict[str, Any]:
            names = ("value", "saved", "between", "p99", "hits", "memory_bytes", "stores")
            numbers = {name: getattr(one, name) for name in names}
            settings = dict(one.answer.settings)
            return {"answer": one.answer.name, "settings": settings, **numbers, "drift": drift(one.runs, self.measure)}

        return {
            "coflash": __version__,
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
    seeds: int = 1,
    workers: int | None = None,
    progress: bool = False,
) -> Advice:
    """Compare all answers that GC may give on a scenario, from short runs.

    Args:
        scenario: The scenario, as an object, as nested dictionaries, or by its name or file.
        trace: The trace to replay instead of the scenario's own workload: paths, or URLs that fsspec knows.
        out: The folder of results.
        requests: The most requests of a run; by default 400,000, or four times as many if these are not steady.
        steady: Whether runs begin in a steady state (`precondition.until_steady`), where the scenario fills the device.
        seeds: The number of seeds.
        workers: The number of parallel runs; None for one on each core.
        progress: Whether to show progress on the standard error stream.

    Raises:
        CoflashError: An argument cannot be used, no answer but the baseline is open, or runs failed.
    """
    base, store = Scenario.of(scenario), folder_for(out)
    keys = flat(base.to_dict())
    asked = requests or REQUESTS
    most = min(asked, keys.get("workload.requests_max") or asked)
    changes: dict[str, Any] = {"workload.requests_max": most}
    if steady and keys["precondition.fill"] != "none" and (trace or not keys.get("workload.fio")):  # jobs do not repeat
        changes["precondition.until_steady"] = True
    inputs, console = inputs_of(base, trace), errors() if progress else None
    found = _Adviser(base.with_(changes), inputs, store, seeds, workers, console).run()
    if requests or found.is_steady or not found.has_more:
        return found
    changes["workload.requests_max"] = min(_LONGER * most, keys.get("workload.requests_max") or _LONGER * most)
    return _Adviser(base.with_(changes), inputs, store, seeds, workers, console).run()


@dataclass(frozen=True)
class _Adviser:
    """The runs of an advice."""

    base: Scenario
    inputs: tuple[Input, ...]
    store: FolderStore
    seeds: int
    workers: int | None
    console: Console | None

    def run(self) -> Advice:
        is_tier = bool(self.base.to_dict().get(TIER))
        answers, others = (BEFORE_DISKS, DEVICE[1:]) if is_tier else (DEVICE, BEFORE_DISKS)
        measure = MEAN if is_tier else WAF_HOST
        reasons = {one: one.refused(self.base) for one in (*answers, *others) if not one.is_step}
        open_ones = [one for one in answers if not one.is_step and not reasons[one]]
        ran = self._ran({one: one.on(self.base) for one in open_ones}, reasons) if len(open_ones) > 1 else {}
        if len(ran) < 2 or answers[0] not in ran:
            asked = open_ones if len(open_ones) > 1 else answers  # what fails tells more than what is not there
            known = dict.fromkeys(reasons[one].rstrip(".") for one in asked if reasons.get(one))
            raise CoflashError(f"advise: there is nothing to compare: {'; '.join(known)}")
        base, *rest = tried = [_tried(one, runs, ran[answers[0]], measure) for one, runs in ran.items()]
        sure = sorted((one for one in rest if one.is_sure), key=lambda one: one.value)
        best, ahead = _cheapest(sure, measure) if sure else (base, "")
        steps = {one: one.on(self.base) for one in answers if one.is_step and one.parts < best.answer.parts}
        steps = {one: of for one, of in steps.items() if not one.refused(self.base)}
        of = {
            one.parts: [_value(run, measure) for run in runs] for one, runs in (ran | self._ran(steps, reasons)).items()
        }
        refused: dict[str, tuple[str, ...]] = {}
        for one, reason in reasons.items():
            if reason:
                refused[reason] = (*refused.get(reason, ()), one.name)
        found = Advice(
            self.store.path,
            self.base,
            measure,
            self._how(base.runs[0]),
            tuple(tried),
            best,
            ahead,
            refused,
            None if best is base else whole(base.answer.name, best.answer.name, of, best.answer.parts),
            None if is_tier else _closed(tried),
            self._doubled(base.answer, best.answer, measure),
            "" if is_tier else self._fewest(base.runs),
        )
        text = json.dumps(found.document(), indent=2, ensure_ascii=False) + "\n"
        atomic_write.write_file(self.store.path / DOCUMENT, text)
        return found

    def _how(self, run: Result) -> str:
        is_steady = self.base.to_dict()["precondition"].get("until_steady")
        begin = "begins in a steady state" if is_steady else "begins with the scenario's own warm-up"
        about, seeds = run.workload, f"{self.seeds} seeds" if self.seeds > 1 else "1 seed"
        count = f"{counted(run.metrics.requests, 'request')} of {about['description']}"
        return f"{self.base.name}: {count}; {about['replay']}; each run {begin}; {seeds}."

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

    def _fewest(self, runs: Sequence[Result]) -> float | str:
        trace = [] if own_key(self.base.to_dict()["workload"]) else [one.local() for one in self.inputs]
        try:
            found = [fewest_programs(run.scenario, trace).waf_host for run in runs]
        except CoflashError as error:
            return str(error).rstrip(".")
        known = [one for one in found if one is not None]
        return math.fsum(known) / len(known) if known else ""

    def _ran(self, places: Mapping[Answer, Assignment], reasons: dict[Answer, str]) -> dict[Answer, tuple[Result, ...]]:
        """Run answers; the reasons of those that fail are added."""
        points = {one: Point.of(self.base, self.inputs, settings, self.seeds) for one, settings in places.items()}
        place, failed = Place("local", self.workers, None, self.inputs), dict[str, str]()
        made = tuple(point for point in points.values() if not point.refused)
        try:
            failed = {one.run: one.error for one in swept(Plan(made), self.store, place, self.console).failures}
        except CoflashError as error:  # no run of these
            failed = {job.key: str(error) for point in made for job in point.jobs}
        found: dict[Answer, tuple[Result, ...]] = {}
        for one, point in points.items():
            wanted = [job.key for job in point.jobs]
            if reason := point.refused or next((failed[key] for key in wanted if key in failed), ""):
                reasons[one] = reason
            else:
                runs = (Result.load(folder.here()) for _, folder, _ in self.store.runs(wanted))
                found[one] = tuple(sorted(runs, key=lambda run: run.seed))
        return found


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
            between, how = (-most / before, -least / before), " and ".join(known)
    saved = 0.0 - (change(after, before) or 0.0)
    hits = None if (mine := _hits(runs)) is None or (own := _hits(base)) is None else mine - own
    written = sum(run.metrics.host_writes_pages for run in runs)
    stores = sum(run.metrics.at(("metadata", "stores")) or 0 for run in runs) / max(1, written)
    p99 = change(_mean(runs, P99), _mean(base, P99))
    return Tried(answer, runs, after, saved, between, how, p99, hits, answer.memory_bytes(runs[0]), stores)


def _hits(runs: Sequence[Result]) -> float | None:
    """Return the share of reads that the cache serves; None without a cache or reads."""
    shares: list[float] = [
        share for run in runs if (share := run.metrics.at(("hybrid", "read_hits_share"))) is not None
    ]
    if shares:
        return sum(shares) / len(shares)
    hits = sum(run.metrics.cache.read_hits for run in runs)
    asked = hits + sum(run.metrics.cache.read_misses for run in runs)
    return hits / asked if asked else None


def _cheapest(sure: Sequence[Tried], measure: Measure) -> tuple[Tried, str]:
    """Return the answer that takes the least memory among those that save as much as the best one, and the best one."""
    most = sure[0]

    def is_alike(one: Tried) -> bool:
        found = difference(measure, most.runs, one.runs)
        known = [each for each in (found.over_slices, found.over_seeds) if each is not None] if found else []
        return one is most or (bool(known) and all(each.low <= 0 for each in known))

    chosen = min((one for one in sure if is_alike(one)), key=lambda one: (one.memory_bytes or 0, one.value))
    return chosen, "" if chosen is most else most.answer.name


def drift(runs: Sequence[Result], measure: Measure) -> float | None:
    """Return the change of a measure from the first half of the requests to the second; None without slices."""
    from coflash.results.slices import sliced  # needs numpy

    cut = [sliced(run.series(), measure.path) for run in runs]
    known = [one for one in cut if one is not None]
    if not known:
        return None
    middle = len(known[0].above) // 2
    halves = [
        (part, sum(one.above[part].sum() for one in known), sum(one.below[part].sum() for one in known))
        for part in (slice(middle), slice(middle, None))
    ]
    first, second = (float(above / below) if below else math.nan for _, above, below in halves)
    found = change(second, first)
    return found if found is not None and math.isfinite(found) else None


def _closed(tried: Sequence[Tried]) -> tuple[float, float, float] | None:
    """Return the closed form's prediction of known overwrites: A(T / (U - D)) / A(T / U), and what the runs left.

    A is greedy's. D is the mean number of dirty pages in the cache: of all that leave it, the share that leaves dirty,
    times its pages.
    """
    base, known = tried[0], next((one for one in tried if one.answer.parts == {OVERWRITES}), None)
    if known is None:
        return None
    cache, live = known.runs[0].metrics.cache, base.runs[0].metrics.mapped_pages
    if not (dirty := cache.dirty_evictions_pages):
        return None
    sole = cache.capacity_pages * dirty / (dirty + cache.clean_evictions_pages)
    left = left_of(base.runs[0].scenario, live, sole)
    return None if left is None else (sole / live, left, known.value / base.value)


def left_of(scenario: Scenario, live: float, sole: float) -> float | None:
    """Return the share of programs that is left where some live pages are sole copies in a cache, by the closed form.

    Writes are uniform, victims greedy. None where the device has no room for the form.
    """
    from coflash import analytic  # needs numpy

    values = scenario.to_dict()
    flash, block = values["flash"], values["flash"]["pages_per_block"]
    page_bytes, _ = parsed(flash["page_size"]) or (1.0, "")
    dies = flash["channels"] * flash["chips_per_channel"] * flash["dies_per_chip"]
    planes = dies * flash["planes_per_die"]
    pools = {"plane": planes, "die": dies, "device": 1}[values["ftl"].get("pools", "plane")]
    unit = block * (planes if pools == 1 else 1)
    physical = round(flash_bytes(scenario) / page_bytes)
    number, kind = parsed(values["gc"]["low_mark"]) or (0.0, "")
    free = math.floor(number * physical / unit / pools) if kind == "share" else number
    try:
        pages = analytic.usable(physical, unit, pools, 2, int(free) + 1)
        return float(analytic.greedy(pages / (live - sole), unit)) / analytic.greedy(pages / live, unit)
    except ValueError:
        return None
