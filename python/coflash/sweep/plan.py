"""The runs of a sweep: each point with each seed, known by a key that says what would come out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from coflash._core import CoflashError, __version__
from coflash.result import Result
from coflash.running import run
from coflash.scenario import Scenario, flat
from coflash.sweep.design import Assignment
from coflash.sweep.inputs import Input
from coflash.trace import Progress

_DEVICE = ("flash", "ftl", "gc", "cache", "cooperation", "precondition", "seed")


@dataclass(frozen=True)
class Job:
    """One run to be done."""

    key: str
    """Equal for equal results: made of the scenario, the digests of its inputs and the version."""
    label: str
    scenario: Scenario
    """Without the names of its files, which are in `inputs`."""
    inputs: tuple[Input, ...]

    @property
    def device(self) -> str:
        """Equal for runs that warm up the same device; a sweep does them one after another.

        An engine that keeps warm devices would keep them under this name, and hand them to `execute`.
        """
        values = self.scenario.to_dict()
        return json.dumps([values[table] for table in _DEVICE], sort_keys=True)


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
        if (seeds if isinstance(seeds, int) else len(seeds)) < 1:
            msg = f"seeds: {seeds} was given; at least 1 is allowed"
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
            devices.setdefault(job.device, []).append(job)
        return [job for group in devices.values() for job in group]


def execute(job: Job, progress: Progress | None = None, *, shipped: bool = False) -> Result:
    """Does a run, on whatever machine this is; the result names its inputs as they were given.

    Raises:
        CoflashError: The scenario or the trace cannot be used.
        RuntimeError: The simulator is at fault.
    """
    local = [file.local(shipped=shipped) for file in job.inputs]
    try:
        # A warm device that is shared by the runs of `job.device` would be given to this call.
        if job.scenario.to_dict()["workload"].get("like"):
            result = run(job.scenario.with_(workload__like=local), (), progress or False)
        else:
            result = run(job.scenario, local, progress or False)
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
    return _credited(result, local, [file.source for file in job.inputs])


def _job(scenario: Scenario, inputs: tuple[Input, ...], label: str) -> Job:
    workload = scenario.to_dict()["workload"]
    # Files are known by their content, wherever they lie. A trace that is replayed leaves none to be like.
    is_like = bool(inputs) and [file.source for file in inputs] == workload.get("like")
    bare = scenario.with_(workload__trace=[], workload__like=["input"] * len(inputs) if is_like else [])
    content = [bare.hash, *(file.sha256 for file in inputs), __version__]
    return Job(hashlib.sha256("\n".join(content).encode()).hexdigest()[:16], label, bare, inputs)


def _credited(result: Result, local: Sequence[str], sources: Sequence[str]) -> Result:
    """The result with the names of its inputs as they were given, not as they are called on this machine."""
    if list(local) == list(sources):
        return result
    text = json.dumps(result.document)
    for here, given in zip(local, sources, strict=True):
        text = text.replace(json.dumps(here)[1:-1], json.dumps(given)[1:-1])
    document = json.loads(text)
    document["scenario_hash"] = Scenario.from_dict(document["scenario"]).hash
    return result.with_document(document)
