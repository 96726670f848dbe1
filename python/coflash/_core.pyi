"""The compiled core. Everything here is re-exported, with documentation, by the package."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CoflashError",
    "CostDemand",
    "CostModel",
    "Likeness",
    "MadeUp",
    "RunResult",
    "Scenario",
    "Warm",
    "__version__",
    "effective_utilisation",
    "policies_json",
    "presets",
    "run",
    "scenario_schema_json",
    "trace_head",
    "trace_info_json",
    "trace_like",
    "trace_rewrite_json",
    "trace_targets",
    "victim_utilisation",
    "warm",
]

__version__: str

class CoflashError(Exception):
    """What the user gave cannot be used; the message is complete and meant for them."""

@final
class Scenario:
    @staticmethod
    def load(name_or_path: str) -> Scenario: ...
    @staticmethod
    def from_toml(text: str) -> Scenario: ...
    def set(self, assignments: Sequence[tuple[str, str]]) -> Scenario: ...
    def to_toml(self) -> str: ...
    def to_json(self) -> str: ...
    def check(self) -> list[str]: ...
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def hash(self) -> str: ...
    @property
    def warm_key(self) -> str: ...
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
class MadeUp:
    @staticmethod
    def of(scenario: Scenario) -> MadeUp: ...
    @staticmethod
    def named(name: str, settings: Sequence[tuple[str, str]]) -> MadeUp: ...
    def with_(self, requests: int | None, seed: int | None, space: str | None) -> MadeUp: ...
    def write_json(
        self, out: str, format: str | None, progress: Callable[[str, float | None, int], None] | None
    ) -> str: ...

@final
class Likeness:
    def to_json(self) -> str: ...
    def to_toml(self, seed: int) -> str: ...
    def made_up(self, seed: int) -> MadeUp: ...

@final
class CostModel:
    def __new__(
        cls,
        *,
        pages_per_block: int,
        page_program_us: float,
        page_read_us: float,
        page_copy_us: float,
        block_erase_us: float,
        read_positioning_us: float,
        write_positioning_us: float,
        bandwidth_bytes_per_s: int,
        page_bytes: int,
    ) -> CostModel: ...
    def gc_us(self, u: float, worst: bool) -> float: ...
    def write_us(self, u: float, worst: bool) -> float: ...
    def read_cache_us(self, hit_rate: float, write_us: float) -> float: ...
    def write_cache_us(self, hit_rate: float, reads_of_hits: float, write_us: float) -> float: ...
    def hybrid_us(self, demand: CostDemand, u: float, r: float) -> float: ...
    def best(self, demand: CostDemand, step: float, caching_max: float) -> tuple[float, float]: ...

@final
class CostDemand:
    def __new__(
        cls,
        reads: float,
        writes: float,
        read_hit_rates: Sequence[float],
        write_hit_rates: Sequence[float],
        segment: float,
        reads_of_write_hits: float,
    ) -> CostDemand: ...

def effective_utilisation(copies_a_page: float) -> float: ...
def victim_utilisation(u: float) -> float: ...

@final
class RunResult:
    def to_json(self) -> str: ...
    def histogram(self, kind: str) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]: ...
    def series(self) -> dict[str, NDArray[Any]]: ...
    def erase_counts(self) -> NDArray[np.uint32]: ...

def presets() -> list[tuple[str, str]]: ...
def policies_json() -> str: ...
def scenario_schema_json() -> str: ...
def run(
    scenario: Scenario,
    trace: Sequence[str],
    progress: Callable[[str, float | None, int], None] | None,
    measured: Callable[[dict[str, Any]], None] | None,
    warm: Warm | None,
) -> RunResult: ...
def warm(scenario: Scenario, progress: Callable[[str, float | None, int], None] | None) -> Warm: ...
def trace_info_json(
    trace: Sequence[str],
    options: Sequence[tuple[str, str]],
    info: Sequence[tuple[str, str]],
    progress: Callable[[str, float | None, int], None] | None,
) -> str: ...
def trace_rewrite_json(
    trace: Sequence[str],
    options: Sequence[tuple[str, str]],
    steps: Sequence[tuple[str, str]],
    out: str,
    format: str | None,
    progress: Callable[[str, float | None, int], None] | None,
) -> str: ...
def trace_like(
    trace: Sequence[str],
    options: Sequence[tuple[str, str]],
    page: str,
    requests: int | None,
    progress: Callable[[str, float | None, int], None] | None,
) -> Likeness: ...
def trace_head(trace: Sequence[str], options: Sequence[tuple[str, str]], count: int) -> dict[str, Any]: ...
def trace_targets() -> list[str]: ...
