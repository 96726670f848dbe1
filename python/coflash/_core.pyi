"""The compiled core. Everything here is re-exported, with documentation, by the package."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from coflash.costmodel import Costs, Demand

__all__ = [
    "REVISION",
    "Candidates",
    "CoflashError",
    "Generated",
    "Likeness",
    "RunResult",
    "Scenario",
    "ServedDevice",
    "Warm",
    "__version__",
    "built_in_scenarios",
    "cache_hits",
    "cost_of_request",
    "cost_of_write",
    "demo_trace",
    "device_check",
    "device_cut",
    "device_explore",
    "device_explore_again",
    "device_info",
    "device_twin",
    "fewest_programs",
    "hint",
    "hook_seconds",
    "job_files",
    "least_cost",
    "measures",
    "miss_ratio_curves",
    "policies",
    "quantity",
    "read_table",
    "run",
    "scaled_keys",
    "scenario_schema",
    "trace_head",
    "trace_info",
    "trace_like",
    "trace_rewrite",
    "trace_split",
    "trace_target",
    "trace_targets",
    "units",
    "victim_utilisation",
    "warm",
    "write_table",
]

__version__: str

REVISION: int
"""The revision of results: the same scenario, inputs, seed and revision give the same result byte for byte."""

_CountedUnit = Literal["bytes", "ns", "ppb"]
"""Bytes, nanoseconds, or parts per billion of a whole."""

class CoflashError(Exception):
    """An input cannot be used. The message is for the user: it names the input and what is allowed."""

@final
class Candidates:
    """The full blocks of a pool, of which GC cleans one: read-only arrays of equal length, without copies.

    Those whose valid pages changed longest ago come first, so that `argmin` breaks ties as `greedy` does.
    """

    @property
    def blocks(self) -> NDArray[np.uint32]:
        """The number of each block in its pool."""
    @property
    def valid(self) -> NDArray[np.uint32]:
        """Its valid pages."""
    @property
    def cost(self) -> NDArray[np.float64]:
        """The pages to be copied: the valid ones, with those that another memory holds by their weight."""
    @property
    def age(self) -> NDArray[np.uint64]:
        """The number of programs of the device since it became full."""
    @property
    def erases(self) -> NDArray[np.uint32]:
        """Its erase count."""
    @property
    def now(self) -> int:
        """The number of programs of the device so far."""
    @property
    def pages_per_block(self) -> int:
        """The number of data pages of a block."""
    def __len__(self) -> int: ...

@final
class Scenario:
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
    def to_toml(self) -> str: ...
    def to_dict(self) -> dict[str, Any]: ...
    def check(self) -> list[str]: ...
    def without_effect(self) -> list[str]: ...
    def exported_bytes(self) -> int: ...
    def coupling(self) -> str | None: ...
    def cautions(self) -> list[str]: ...
    def with_digests(self) -> Scenario: ...
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def hash(self) -> str: ...
    @property
    def warm_key(self) -> str: ...
    @property
    def replay(self) -> str: ...
    @property
    def replay_mode(self) -> Literal["open", "closed"]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Warm:
    @staticmethod
    def load(path: str | PathLike[str]) -> Warm: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    @property
    def key(self) -> str: ...
    @property
    def heap_bytes(self) -> int: ...

@final
class Generated:
    @staticmethod
    def of(scenario: Scenario) -> Generated: ...
    @staticmethod
    def named(name: str, settings: dict[str, str]) -> Generated: ...
    def with_(self, requests: int | None, seed: int | None, space: str | None) -> Generated: ...
    def write(
        self, out: str, format: str | None, progress: Callable[[str, float | None, int], None] | None
    ) -> dict[str, Any]: ...

@final
class Likeness:
    def to_dict(self) -> dict[str, Any]: ...
    def to_toml(self, seed: int) -> str: ...
    def generated(self, seed: int) -> Generated: ...

def victim_utilisation(u: float) -> float: ...
def cost_of_write(costs: Costs, u: float) -> float: ...
def cost_of_request(costs: Costs, demand: Demand, u: float, r: float) -> float: ...
def least_cost(costs: Costs, demand: Demand, step: float, u_max: float) -> tuple[float, float, float]: ...

@final
class RunResult:
    def to_json(self) -> str: ...
    def histogram(self, kind: str) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]: ...
    def series(self) -> dict[str, NDArray[Any]]: ...
    def erase_counts(self) -> NDArray[np.uint32]: ...

@final
class ServedDevice:
    @staticmethod
    def start(
        folder: str | PathLike[str],
        scenario: Scenario | None,
        size: str | None,
        socket: str | PathLike[str] | None,
        listen: str | None,
        insecure: bool,
        connections: int,
        trace: str | PathLike[str] | None,
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

def device_info(folder: str | PathLike[str]) -> tuple[Scenario, dict[str, int], str | None]: ...
def device_check(folder: str | PathLike[str]) -> list[str]: ...
def device_cut(folder: str | PathLike[str], side: str, seed: int) -> dict[str, Any]: ...
def device_explore(
    folder: str | PathLike[str],
    scenario: Scenario | None,
    size: str | None,
    run: str,
    check: str,
    points: int,
    atomic: str,
    seed: int,
    faults: list[str],
    limit_s: float,
    jobs: int,
    progress: Callable[[int, int, int], None] | None,
) -> dict[str, Any]: ...
def device_explore_again(folder: str | PathLike[str], state: int) -> dict[str, Any]: ...
def device_twin(
    session: str | PathLike[str], progress: Callable[[str, float | None, int], None] | None
) -> RunResult: ...
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
def read_table(file: str | PathLike[str]) -> dict[str, NDArray[Any] | list[str | None]]: ...
def write_table(file: str | PathLike[str], columns: Mapping[str, NDArray[Any] | list[str | None]]) -> None: ...
def run(
    scenario: Scenario,
    progress: Callable[[str, float | None, int], None] | None,
    measured: Callable[[dict[str, Any]], None] | None,
    warm: Warm | None,
    records: tuple[str | PathLike[str] | None, str | PathLike[str] | None],
    threads: int,
    checkpoint: tuple[str | PathLike[str], float] | None,
) -> tuple[RunResult, tuple[int | None, str | None, str | None]]: ...
def warm(scenario: Scenario, progress: Callable[[str, float | None, int], None] | None) -> Warm: ...
def fewest_programs(
    scenario: Scenario, progress: Callable[[str, float | None, int], None] | None
) -> dict[str, Any]: ...
def trace_info(
    trace: Sequence[str],
    options: dict[str, str],
    info: dict[str, str],
    progress: Callable[[str, float | None, int], None] | None,
) -> dict[str, Any]: ...
def miss_ratio_curves(
    trace: Sequence[str],
    options: dict[str, str],
    what: dict[str, str],
    progress: Callable[[str, float | None, int], None] | None,
) -> dict[str, Any]: ...
def cache_hits(pages: NDArray[np.uint32], policy: str, slots: int) -> NDArray[np.bool_]: ...
def trace_rewrite(
    trace: Sequence[str],
    options: dict[str, str],
    steps: dict[str, str],
    out: str,
    format: str | None,
    progress: Callable[[str, float | None, int], None] | None,
) -> dict[str, Any]: ...
def trace_split(
    trace: Sequence[str],
    options: dict[str, str],
    folder: str,
    threads: int | None,
    progress: Callable[[str, float | None, int], None] | None,
) -> tuple[list[dict[str, Any]], list[str]]: ...
def trace_like(
    trace: Sequence[str],
    options: dict[str, str],
    page: str,
    requests: int | None,
    seed: int,
    progress: Callable[[str, float | None, int], None] | None,
) -> Likeness: ...
def trace_head(trace: Sequence[str], options: dict[str, str], count: int) -> dict[str, Any]: ...
def job_files(file: str) -> list[str]: ...
def trace_targets() -> list[str]: ...
def trace_target(out: str, format: str | None) -> str: ...
