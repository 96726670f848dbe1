"""The compiled core. Everything here is re-exported, with documentation, by the package."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self, disjoint_base

__version__: str

REVISION: int
"""The revision of results: the same scenario, inputs, seed and revision give the same result byte for byte."""

COMMIT: str
"""The commit that a wheel was made of; empty where none was given to the build."""

_CountedUnit = Literal["bytes", "ns", "ppb"]
"""Bytes, nanoseconds, or parts per billion of a whole."""

_Path = str | PathLike[str]
_Progress = Callable[[str, float | None, int], None] | None
_Texts = dict[str, str]

class CoflashError(Exception):
    """An input cannot be used. The message is for the user: it names the input and what is allowed."""

@final
class Candidates:
    """The full blocks of a pool, of which GC cleans one: read-only arrays of equal length, without copies.

    Those whose valid pages changed longest ago come first, so that `argmin` breaks ties as `greedy` does.
    """

    @property
    def blocks(self) -> NDArray[np.int64]:
        """The number of each block in its pool."""
    @property
    def valid(self) -> NDArray[np.int64]:
        """Its valid pages."""
    @property
    def cost(self) -> NDArray[np.float64]:
        """The pages to be copied: the valid ones, with those that another memory holds by their weight."""
    @property
    def age(self) -> NDArray[np.int64]:
        """The number of programs of the device since it became full."""
    @property
    def erases(self) -> NDArray[np.int64]:
        """Its erase count."""
    @property
    def now(self) -> int:
        """The number of programs of the device so far."""
    @property
    def pages_per_block(self) -> int:
        """The number of data pages of a block."""
    def __len__(self) -> int: ...

@disjoint_base
class Scenario:
    def __new__(cls, core: Scenario) -> Self: ...
    @staticmethod
    def load(name_or_path: str) -> Scenario: ...
    @staticmethod
    def from_toml(text: str) -> Scenario: ...
    @staticmethod
    def of_run(text: str) -> Scenario: ...
    def replaying(self, trace: Sequence[str]) -> Scenario: ...
    def with_jobs(self, file: str) -> Scenario: ...
    def set(self, assignments: Sequence[tuple[str, str]]) -> Scenario: ...
    def scaled(self, scale: str) -> Scenario: ...
    def exporting(self, pages_per_die: int) -> Scenario: ...
    def of_dies(self, dies: int) -> Scenario: ...
    def sizes(self) -> tuple[int, int, int]: ...
    def exported_bytes(self) -> int: ...
    def to_toml(self) -> str:
        """Return the whole scenario as TOML, with every default written out."""
    def to_dict(self) -> dict[str, Any]:
        """Return the whole scenario as nested dictionaries; sizes, times and shares are texts with a unit."""
    def with_digests(self) -> Scenario: ...
    def check(self) -> list[str]:
        """List settings that are allowed but probably not intended, one sentence for each."""
    def without_effect(self) -> list[str]:
        """List the keys that are set and have no effect, given the others: a sentence for each reason."""
    def cautions(self) -> list[str]:
        """List what a run will suffer from, as far as that is known before, one sentence for each.

        Raises:
            CoflashError: The scenario contradicts itself.
        """
    @property
    def name(self) -> str:
        """The name of the scenario."""
    @property
    def description(self) -> str:
        """The purpose of the scenario."""
    @property
    def hash(self) -> str:
        """A digest of every key that influences results; equal for equal scenarios."""
    @property
    def warm_key(self) -> str:
        """A digest of every key that determines the device before the workload; see [`Warm`][coflash.Warm]."""
    @property
    def replay(self) -> str:
        """How time is replayed, in words."""
    @property
    def replay_mode(self) -> Literal["open", "closed"]:
        """How requests are issued: at their times, or as soon as earlier ones are answered."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@disjoint_base
class Warm:
    def __new__(cls, core: Warm) -> Self: ...
    @staticmethod
    def load(path: _Path) -> Warm: ...
    def save(self, path: _Path) -> None: ...
    @property
    def key(self) -> str:
        """The `warm_key` of the scenarios that it fits."""
    @property
    def heap_bytes(self) -> int:
        """The size of the device in memory; every run needs as much for its copy."""

@final
class Generated:
    @staticmethod
    def of(scenario: Scenario) -> Generated: ...
    @staticmethod
    def named(name: str, settings: _Texts) -> Generated: ...
    def with_(self, requests: int | None, seed: int | None, space: str | None) -> Generated: ...
    def write(self, out: str, format: str | None, progress: _Progress) -> dict[str, Any]: ...

@final
class RunResult:
    def to_json(self) -> str: ...
    def histogram(self, kind: str) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]: ...
    def series(self) -> dict[str, NDArray[Any]]: ...
    def erase_counts(self) -> NDArray[np.uint32]: ...

@final
class TableStream:
    def read(self, size: int) -> bytes: ...
    def remarks(self) -> list[str]: ...

@final
class ServedDevice:
    @staticmethod
    def start(
        folder: _Path,
        scenario: Scenario | None,
        size: str | None,
        socket: _Path | None,
        listen: str | None,
        insecure: bool,
        connections: int,
        trace: _Path | None,
        emulate: bool,
        cut_after: str | None,
        side: str,
        seed: int,
    ) -> ServedDevice: ...
    def address(self) -> str: ...
    def has_failed(self) -> bool: ...
    def result(self) -> RunResult | None: ...
    def take_load(self) -> tuple[int, float, float | None, int | None]: ...
    def clients(self) -> int: ...
    def take_live(self) -> list[tuple[str, bytes, bytes, int]]: ...
    def take_ended(self) -> list[tuple[str, RunResult]]: ...
    def take_problems(self) -> list[str]: ...
    def stop(self) -> list[tuple[str, RunResult]]: ...

def device_info(folder: _Path) -> tuple[Scenario, dict[str, int], str | None]: ...
def device_check(folder: _Path) -> list[str]: ...
def device_cut(folder: _Path, side: str, seed: int) -> dict[str, Any]: ...
def device_explore(
    folder: _Path,
    scenario: Scenario | None,
    size: str | None,
    plan: tuple[str | None, str | None, str | None, int | None, int, int, str, int, list[str], float],
    jobs: int,
    progress: Callable[[int, int, int], bool | None] | None,
) -> dict[str, Any]: ...
def device_twin(session: _Path, progress: _Progress) -> RunResult: ...
def scaled_keys() -> list[str]: ...
def built_in_scenarios() -> list[tuple[str, str]]: ...
def demo_trace() -> bytes: ...
def measures() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]: ...
def policies() -> list[dict[str, Any]]: ...
def scenario_schema() -> dict[str, Any]: ...
def quantity(text: str) -> tuple[int, _CountedUnit]: ...
def units() -> list[tuple[str, tuple[int, _CountedUnit]]]: ...
def hook_seconds() -> float: ...
def hint(given: str, allowed: Sequence[str]) -> str: ...
def run(
    scenario: Scenario,
    progress: _Progress,
    warm: Warm | None,
    records: tuple[_Path | None, _Path | None],
    checkpoint: tuple[_Path, bool, float, Callable[[str, int | str], None]] | None,
) -> RunResult: ...
def warm(scenario: Scenario, progress: _Progress) -> Warm: ...
def fewest_programs(scenario: Scenario, progress: _Progress) -> dict[str, Any]: ...
def trace_info(trace: Sequence[str], options: _Texts, info: _Texts, progress: _Progress) -> dict[str, Any]: ...
def miss_ratio_curves(trace: Sequence[str], options: _Texts, what: _Texts, progress: _Progress) -> dict[str, Any]: ...
def cache_hits(pages: NDArray[np.uint32], policy: str, slots: int) -> NDArray[np.bool_]: ...
def trace_rewrite(
    trace: Sequence[str], options: _Texts, steps: _Texts, out: str, format: str | None, progress: _Progress
) -> dict[str, Any]: ...
def trace_split(
    trace: Sequence[str], options: _Texts, folder: str, threads: int | None, progress: _Progress
) -> tuple[list[dict[str, Any]], list[str]]: ...
def trace_like(
    trace: Sequence[str], options: _Texts, page: str, requests: int | None, seed: int, progress: _Progress
) -> tuple[dict[str, Any], str, Generated]: ...
def trace_head(trace: Sequence[str], options: _Texts, count: int) -> dict[str, Any]: ...
def job_files(file: str) -> list[str]: ...
