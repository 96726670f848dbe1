"""The runs of a sweep: each point with each seed, known by a key that says what would come out."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property

from coflash._core import CoflashError, __version__
from coflash.inputs import Input, credited
from coflash.result import Result
from coflash.running import run
from coflash.scenario import Scenario, flat
from coflash.sweep.design import POINTS_MAX, Assignment
from coflash.sweep.devices import Devices, Sharing
from coflash.sweep.memory import device_bytes, needed_bytes
from coflash.trace import Progress


@dataclass(frozen=True)
class Job:
    """One run to be done."""

    key: str
    """Equal for equal results: made of the scenario, the digests of its inputs and the version."""
    label: str
    scenario: Scenario
    """Without the names of its files, which are in `inputs`."""
    inputs: tuple[Input, ...]
    sharing: Sharing | None = None
    """That it starts from a device that is warmed up once for several runs; None: it warms its own."""

    @cached_property
    def needed_bytes(self) -> int:
        """The memory that it takes at most, without a device that it shares."""
        return needed_bytes(self.scenario)

    @cached_property
    def shared_bytes(self) -> int:
        """The memory of the device that it shares, if it does."""
        return 0 if self.sharing is None else device_bytes(self.scenario)

    def shares(self, runs: int | None) -> Job:
        """The same run, from a device that so many runs share; its own if there is nothing to warm up."""
        if self.scenario.to_dict()["precondition"]["fill"] == "none":
            return self
        return replace(self, sharing=Sharing(self.scenario.warm_key, runs))


@dataclass(frozen=True)
class Ran:
    """What came of a run."""

    result: Result
    saved_seconds: float | None = None
    """The processor time that warming up its device took, if that was done for another run."""
    has_warmed: bool = False
    """Whether it warmed up a device for others as well."""


@dataclass(frozen=True)
class Point:
    """One point of the design, and its runs."""

    values: dict[str, str]
    """What it sets, as the scenario shows it."""
    jobs: tuple[Job, ...] = ()
    refused: str = ""
    """Why there is no such scenario; empty where there is."""

    @classmethod
    def of(
        cls, scenario: Scenario, inputs: tuple[Input, ...], assignment: Assignment, seeds: int | Sequence[int]
    ) -> Point:
        """One point, with a run for each seed; counted from the scenario's own if `seeds` is a number."""
        try:
            changed = scenario.set(list(assignment)) if assignment else scenario
        except CoflashError as error:
            return cls(dict(assignment), refused=str(error))
        leaves = dict(flat(changed.to_dict()))
        point = cls({key: str(leaves.get(key, text)) for key, text in assignment})
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
        """Its values in a line."""
        return " ".join(f"{key}={value}" for key, value in self.values.items())


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
    ) -> Plan:
        """What is to be run.

        Raises:
            CoflashError: No point is a scenario, or there are no seeds.
        """
        if not 1 <= (seeds if isinstance(seeds, int) else len(seeds)) <= POINTS_MAX:
            msg = f"seeds: {seeds} was given; at least 1 and at most {POINTS_MAX} is allowed"
            raise CoflashError(msg)
        points = tuple(Point.of(scenario, inputs, assignment, seeds) for assignment in assignments)
        if points and all(point.refused for point in points):
            raise CoflashError(points[0].refused)
        return cls(points)

    def jobs(self) -> list[Job]:
        """The runs, each once, those of one device next to each other."""
        jobs = {job.key: job for point in self.points for job in point.jobs}
        devices: dict[str, list[Job]] = {}
        for job in jobs.values():
            devices.setdefault(job.scenario.warm_key, []).append(job)
        return [job for group in devices.values() for job in group]


def sharing(jobs: Sequence[Job]) -> list[Job]:
    """The same runs; those that warm up the same device share it."""
    runs = Counter(job.scenario.warm_key for job in jobs)
    return [job.shares(count) if (count := runs[job.scenario.warm_key]) > 1 else job for job in jobs]


def execute(job: Job, devices: Devices, progress: Progress | None = None, *, shipped: bool = False) -> Ran:
    """Does a run, on whatever machine this is; the result names its inputs as they were given.

    Args:
        job: What to do.
        devices: The warm devices of this process.
        progress: Called while it goes on; may raise.
        shipped: Whether this is another machine than the one where the inputs were named.

    Raises:
        CoflashError: The scenario or the trace cannot be used.
        RuntimeError: The simulator is at fault.
    """
    local = [file.local(shipped=shipped) for file in job.inputs]
    lent = None
    try:
        with ExitStack() as stack:
            if job.sharing is not None:
                lent = stack.enter_context(devices.lent(job.scenario, job.sharing, progress))
            warm = lent.warm if lent else None
            if job.scenario.to_dict()["workload"].get("like"):
                result = run(job.scenario.with_(workload__like=local), (), progress or False, None, warm)
            else:
                result = run(job.scenario, local, progress or False, None, warm)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        # A panic of the core is not even an Exception, and would end a worker.
        msg = f"the simulator failed: {error}"
        raise RuntimeError(msg) from error
    found = [file["sha256"] for file in result.workload["inputs"]]
    if found != [file.sha256 for file in job.inputs]:
        msg = f"{', '.join(file.source for file in job.inputs)}: has changed since the sweep began"
        raise CoflashError(msg)
    result = credited(result, local, [file.source for file in job.inputs])
    if lent is None:
        return Ran(result)
    return Ran(result, has_warmed=True) if lent.is_new else Ran(result, lent.seconds)


def _job(scenario: Scenario, inputs: tuple[Input, ...], label: str) -> Job:
    workload = scenario.to_dict()["workload"]
    # Files are known by their content, wherever they lie. A trace that is replayed leaves none to be like.
    is_like = bool(inputs) and [file.source for file in inputs] == workload.get("like")
    bare = scenario.with_(workload__trace=[], workload__like=["input"] * len(inputs) if is_like else [])
    content = [bare.hash, *(file.sha256 for file in inputs), __version__]
    return Job(hashlib.sha256("\n".join(content).encode()).hexdigest()[:16], label, bare, inputs)
