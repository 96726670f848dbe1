"""The runs of a sweep: each point with each seed, identified by a digest of everything that determines the result."""

from __future__ import annotations

import hashlib
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

from coflash._core import REVISION, CoflashError
from coflash.quantity import agreed, counted, number_in, show
from coflash.results.identity import nameless, own_key, reading
from coflash.results.result import Result
from coflash.results.store import Unstored, store_at
from coflash.runs.checkpoint import Checkpoint
from coflash.runs.inputs import Input, credited
from coflash.runs.run import simulate
from coflash.scenario import Scenario, flat, text_of
from coflash.sweep.design import POINTS_MAX, Assignment
from coflash.sweep.devices import Devices, Sharing
from coflash.sweep.finding import say
from coflash.sweep.memory import needed_bytes
from coflash.trace import Progress

_SIZE = re.compile(r"\b\d{4,}[KMG]iB\b")
Part = Callable[[Scenario], Scenario]
"""What runs of the drive of a scenario."""


def alike(reason: str) -> str:
    """Return a reason without its numbers, which differ from point to point."""
    return re.sub(r"\d[\d,.]*", "#", reason)


def refusal(scenario: Scenario, settings: Assignment) -> str:
    """Return why a scenario cannot have some settings; empty if it can."""
    try:
        scenario.set(list(settings)).with_digests().check()
    except CoflashError as error:
        return str(error)
    return ""


@dataclass(frozen=True)
class Job:
    """A planned run."""

    key: str
    """A digest of the scenario, of its inputs and of the revision of results: equal for equal results, but in a fleet,
    whose runs have the volume in it, too."""
    label: str
    scenario: Scenario
    """The scenario without the names of its files, which are in `inputs`."""
    inputs: tuple[Input, ...]
    sharing: Sharing | None = None
    """The warm device that it shares with other runs; None if it preconditions its own."""
    place: str | None = None
    """The store into which the worker writes its result; None if the driver does."""
    former_keys: tuple[str, ...] = ()
    """The keys that the same run had under earlier revisions of results, whose numbers may be others."""

    @property
    def needed_bytes(self) -> int:
        """An upper bound for its memory, without a shared device."""
        return self._bytes[0]

    @property
    def shared_bytes(self) -> int:
        """The memory of its shared device, if any."""
        return 0 if self.sharing is None else self._bytes[1]

    @cached_property
    def _bytes(self) -> tuple[int, int]:
        return needed_bytes(self.scenario)

    @cached_property
    def device_key(self) -> str:
        """What determines its warm device, the requests that write it included; empty if it begins as it is made."""
        given = self.scenario.to_dict()["precondition"]
        if given["fill"] == "none":
            return ""
        key = self.scenario.warm_key
        return digest([key, *(file.sha256 for file in self.inputs)]) if given.get("until_steady") else key

    def shares(self, runs: int | None) -> Job:
        """Return the same run from a device shared by a number of runs; itself if there is no preconditioning."""
        return replace(self, sharing=Sharing(self.device_key, runs)) if self.device_key else self


class Stopped(Exception):  # noqa: N818 - nothing is wrong
    """The run was abandoned."""


@dataclass(frozen=True)
class Ran:
    """A finished run."""

    result: Result | None
    """None if the worker has stored it."""
    saved_seconds: float | None = None
    """The processor time for preconditioning its device, if another run did that."""
    has_warmed: bool = False
    """Whether it preconditioned a device for other runs too."""
    told: tuple[str, ...] = ()
    """What became of its checkpoint."""


@dataclass(frozen=True)
class Point:
    """One point of the design, and its runs."""

    values: dict[str, str]
    """Its values, as the scenario shows them."""
    jobs: tuple[Job, ...] = ()
    refused: str = ""
    """The reason why this is not a valid scenario; empty for a valid one."""
    times: float = 1.0
    """How many times as large its drive is as the part of it that runs."""

    @classmethod
    def of(
        cls,
        scenario: Scenario,
        inputs: tuple[Input, ...],
        assignment: Assignment,
        seeds: int | Sequence[int],
        part: Part | None = None,
    ) -> Point:
        """Make a point with a run for each seed; a number of seeds starts at the scenario's own. A part may run."""
        try:
            given = (scenario.set(list(assignment)) if assignment else scenario).with_digests()
            changed = part(given) if part else given
            if inputs and not own_key(given.to_dict()["workload"]):
                given.check_replay(key for key, _ in assignment)
        except CoflashError as error:
            return cls(dict(assignment), refused=str(error))
        leaves = flat(given.to_dict())
        values = {key: text_of(leaves.get(key, leaves.get(f"{key}.name", text))) for key, text in assignment}
        for key, text in assignment:
            if key not in leaves and text.strip('"') != (name := values[key]):
                values[key] = text  # unless its name alone is the same: that has the scenario's parameters
                with suppress(CoflashError):
                    by_name = scenario.set([*(dict(assignment) | {key: name}).items()]).with_digests()
                    values[key] = name if by_name == given else text
        times = given.exported_bytes() / changed.exported_bytes() if part else 1.0
        point = cls(values, times=times)
        first = int(leaves["seed"])
        chosen = range(first, first + seeds) if isinstance(seeds, int) else seeds
        labels = [point.label if len(chosen) == 1 else f"{point.label} seed={seed}".strip() for seed in chosen]
        jobs = (
            _job(changed.with_(seed=seed), inputs, label or changed.name)
            for seed, label in zip(chosen, labels, strict=True)
        )
        return replace(point, jobs=tuple(jobs))

    @property
    def label(self) -> str:
        """Its values in a line, sizes in the unit that reads best."""
        text = " ".join(f"{key}={value}" for key, value in self.values.items())
        return _SIZE.sub(lambda found: show(*(number_in(found[0]) or (0.0, "bytes"))), text)


@dataclass
class Pace:
    """The runs so far, and about as many as there will be, if that is known."""

    runs: int = 0
    ran: int = 0
    before: int = 0
    """The runs that were there from before."""
    unsaid: int = 0
    """As many of these as were not told yet."""
    told: set[str] = field(default_factory=set)
    """The reasons of failures that were said."""
    begun: float = 0.0
    """When the first run began."""

    def said_before(self) -> str:
        """Say how many runs are there from before, of those that were not told yet; empty without any."""
        runs, self.unsaid = self.unsaid, 0
        return say("there in a search", runs=counted(runs, "run"), verb=agreed(runs, "is")) if runs else ""

    def seconds_left(self, todo: int, busy: int) -> float | None:
        """Return the time that the others take, `todo` at least; None before the first run ends.

        Of `busy` current runs a half is taken to be done.
        """
        seconds, done = time.monotonic() - self.begun, self.ran + busy / 2
        left = max(max(todo, self.runs - self.ran) - busy / 2, 0)
        return seconds / done * left if self.ran else None


@dataclass(frozen=True)
class Plan:
    """All points of a sweep."""

    points: tuple[Point, ...]

    @classmethod
    def of(
        cls,
        scenario: Scenario,
        inputs: tuple[Input, ...],
        assignments: Iterable[Assignment],
        seeds: int | Sequence[int],
        part: Part | None = None,
    ) -> Plan:
        """Plan the runs of all points.

        Raises:
            CoflashError: No point is a valid scenario, a word among the values cannot be used, or there are no seeds.
        """
        if not 1 <= (seeds if isinstance(seeds, int) else len(seeds)) <= POINTS_MAX:
            raise CoflashError(f"seeds: {seeds} was given; at least 1 and at most {POINTS_MAX} is allowed")
        pairs = [(given, Point.of(scenario, inputs, given, seeds, part)) for given in assignments]
        if pairs and all(point.refused for _, point in pairs):
            raise CoflashError(pairs[0][1].refused)
        good = {value for given, point in pairs if not point.refused for value in given}
        for key, text in dict.fromkeys(value for given, _ in pairs for value in given if value not in good):
            if number_in(text.strip('"')) is None:  # an invalid number makes only its own points fail
                scenario.set([(key, text)])
        return cls(tuple(point for _, point in pairs))

    def jobs(self) -> list[Job]:
        """Return the runs, each once, those with the same device next to each other."""
        jobs = {job.key: job for point in self.points for job in point.jobs}
        devices: dict[str, list[Job]] = {}
        for job in jobs.values():
            devices.setdefault(job.device_key, []).append(job)
        return [job for group in devices.values() for job in group]


def sharing(jobs: Sequence[Job]) -> list[Job]:
    """Return the same runs; those with the same device share it."""
    runs = Counter(job.device_key for job in jobs)
    return [job.shares(count) if (count := runs[job.device_key]) > 1 else job for job in jobs]


def execute(job: Job, devices: Devices, progress: Progress | None = None, *, shipped: bool = False) -> Ran:
    """Execute a run on this machine; the result names its inputs as they were given.

    Args:
        job: The run.
        devices: The warm devices of this process.
        progress: Called during the run; may raise.
        shipped: Whether this is another machine than the one where the inputs were given.

    Raises:
        CoflashError: The scenario or the trace cannot be used, and `Unstored` if the result cannot be stored.
        RuntimeError: The simulator has a bug.
    """
    local = [file.local(shipped=shipped) for file in job.inputs]
    key = own_key(job.scenario.to_dict()["workload"])
    if shipped and key == "fio" and len(local) > 1:
        raise CoflashError(say("jobs elsewhere", file=job.inputs[0].source))
    lent, told = None, list[str]()
    # A device may be preconditioned by the writes of the workload.
    whole = reading(job.scenario, local) if key else job.scenario.replaying(local)
    try:
        with ExitStack() as stack:
            if job.sharing is not None:
                lent = stack.enter_context(devices.lent(whole, job.sharing, progress))
            checkpoint = None
            if job.place is not None:
                file = store_at(job.place).checkpoint(job.key)
                checkpoint = Checkpoint(file, told.append, replaces_another=True)
            warm = lent.warm if lent else None
            result = simulate(whole, () if key else local, progress or False, warm, checkpoint=checkpoint)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        # A panic of the core is not an Exception, and would end a worker.
        raise RuntimeError(f"the simulator failed: {error}") from error
    if [file["sha256"] for file in result.workload["inputs"]] != [file.sha256 for file in job.inputs]:
        files = ", ".join(file.source for file in job.inputs)
        raise CoflashError(f"{files}: has changed since the sweep began: give the same command again")
    result = credited(result, local, [file.source for file in job.inputs])
    if job.place is not None:
        try:
            store_at(job.place).write(job.key, result)
            if checkpoint:
                checkpoint.remove()
        except CoflashError as error:
            raise Unstored(str(error)) from error
    kept = result if job.place is None else None
    is_new = lent is not None and lent.is_new
    return Ran(kept, lent.seconds if lent and not is_new else None, is_new, tuple(told))


def _job(scenario: Scenario, inputs: tuple[Input, ...], label: str) -> Job:
    workload = scenario.to_dict()["workload"]
    own = workload[key] if (key := own_key(workload)) else None
    sources = [file.source for file in inputs]
    # Files are identified by their content, not their place. A trace to replay stands for the scenario's own workload.
    is_own = own in (sources, *sources[:1])
    bare = nameless(scenario, len(inputs)) if is_own else nameless(scenario.replaying(sources), None)
    content = [bare.hash, *(file.sha256 for file in inputs)]
    named, *former = (digest([*content, named_revision(revision)]) for revision in range(REVISION, -1, -1))
    return Job(named, label, bare, inputs, former_keys=tuple(former))


def named_revision(revision: int) -> str:
    """Name a revision of results in a digest: revision 0 was not counted, and its keys had the version."""
    return f"revision {revision}" if revision else "0.1.0"


def digest(content: Iterable[object]) -> str:
    """Return the name of a run or a search: 16 digits that its content determines."""
    return hashlib.sha256("\n".join(map(str, content)).encode()).hexdigest()[:16]
