"""A question: points on a scenario, with seeds, and their runs.

`size`, `advise` and `tune` choose points and judge their runs by goals; `finding` has the words of what they find.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from coflash._core import CoflashError
from coflash.measures.metrics import Metrics
from coflash.results.estimate import Estimate, estimate
from coflash.results.result import Result
from coflash.results.store import FolderStore, store_at
from coflash.runs.inputs import Input, inputs_of
from coflash.scenario import Scenario
from coflash.sweep import swept
from coflash.sweep.design import Assignment
from coflash.sweep.engine import On, Place
from coflash.sweep.finding import say
from coflash.sweep.goal import Condition, Goal
from coflash.sweep.plan import Pace, Part, Plan, Point
from coflash.terminal import errors
from coflash.trace import Paths

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Question:
    """A scenario and its files, the folder of the runs, and where they are executed."""

    scenario: Scenario
    inputs: tuple[Input, ...]
    store: FolderStore
    on: On = None
    console: Console | None = None
    part: Part | None = None
    pace: Pace = field(default_factory=Pace)
    draw: Path | None = None
    """Another draw of the workload that its file was generated from."""

    @classmethod
    def of(cls, scenario: Scenario, trace: Paths, store: FolderStore, on: On, progress: bool) -> Question:
        """Read the files of a question."""
        return cls(scenario, inputs_of(scenario, trace), store, on, errors() if progress else None)

    @property
    def place(self) -> Place:
        """Where its runs are executed."""
        return Place(self.on, self.inputs)

    def warmed(self) -> Question:
        """Return the question on devices and caches that its requests warm up until steady."""
        warm = {"precondition.until_steady": True, "precondition.through_caches": True}
        return replace(self, scenario=self.scenario.with_(warm))

    def of_another_history(self) -> Question:
        """Return the question on devices that uniform random writes wore before, with caches that begin empty."""
        worn = {"until_steady": False, "through_caches": False, "random_passes": 1}
        return replace(self, scenario=self.scenario.with_({f"precondition.{key}": one for key, one in worn.items()}))

    @contextmanager
    def asked(self, so_far: Callable[[], str]) -> Iterator[None]:
        """Say what is known so far if it is stopped."""
        try:
            yield
        except KeyboardInterrupt:
            with suppress(CoflashError):  # nothing is known
                said = (self.pace.said_before() if self.console else "", so_far())
                (self.console or errors()).print(*filter(None, said), sep="\n", soft_wrap=True)
            raise

    def point(self, settings: Assignment, seeds: int | Sequence[int] = 1) -> Point:
        """Return the point of some settings, with a run for each seed."""
        return Point.of(self.scenario, self.inputs, settings, seeds, self.part)

    def ran(self, points: Sequence[Point]) -> list[tuple[Result, ...] | str]:
        """Run points; return of each its runs by seed, or the reason why it has none."""
        made = tuple(point for point in points if not point.refused)
        done = swept(Plan(made), self.store, self.place, self.console, self.pace)
        failed = {failure.run: failure.error for failure in done.failures}

        def runs(point: Point) -> tuple[Result, ...] | str:
            keys = [job.key for job in point.jobs]
            reason = point.refused or next((failed[key] for key in keys if key in failed), "")
            return reason or tuple(Result.load(folder.here()) for _, folder, _ in self.store.runs(keys))

        return [runs(point) for point in points]


def folder_for(out: str | os.PathLike[str]) -> FolderStore:
    """Return the store of a question.

    Raises:
        CoflashError: It is not a folder.
    """
    store = store_at(out)
    if not isinstance(store, FolderStore):
        raise CoflashError(say("no folder", place=store.place))
    return store


def estimates(
    numbers: Sequence[Goal | Condition], by_seed: Sequence[Sequence[Metrics]], scenario: Scenario
) -> list[Estimate]:
    """Estimate numbers of a point, given the metrics of its cases for each seed."""
    known = [estimate([number.value(runs, scenario) for runs in by_seed]) for number in numbers]
    return [
        one.widened(number.bin_width * (one.mean or 0.0)) if isinstance(number, Goal) else one
        for number, one in zip(numbers, known, strict=True)
    ]
