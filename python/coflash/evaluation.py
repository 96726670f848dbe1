"""Evaluation of a policy over a fixed suite of small workloads, for courses and for search by machine.

Code runs in a process of its own, with limits of processor time and memory. The limits stop faulty code; they are no
sandbox against malicious code.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

from coflash import external, trace
from coflash._core import CoflashError, hint, quantity
from coflash.files.errors import near_file
from coflash.measures.catalogue import named
from coflash.measures.metrics import Metrics
from coflash.runs.run import run
from coflash.scenario import Scenario
from coflash.sweep.finding import Finding
from coflash.text_table import TextTable

SuiteName = Literal["gc", "gc-unseen", "cache", "cache-unseen", "placement", "placement-unseen"]
SUITES: tuple[SuiteName, ...] = get_args(SuiteName)
_PATIENCE = 20
"""The limit of wall time over that of processor time; code waits on a busy machine."""
_COLUMNS = "WAF, or of a cache its share of misses; no policy is below the bound; score: best built-in / this policy"
"""What the columns of the table are."""


class Evaluation(dict[str, float], Finding):
    """Metrics by name: of each workload the measure, its bound and the score; and `combined_score`.

    A score is the measure of the best built-in policy, divided by that of the policy: 1 is as good as the best one,
    more is better. `combined_score` is the geometric mean over the workloads; 0 if the policy misbehaved. The bound is
    the lowest possible measure: the misses of Belady's policy, which knows all requests ahead; or a write amplification
    of 1, where GC copies nothing.
    """

    note: str = ""
    """The policy's error; empty if there was none."""
    rows: tuple[Row, ...] = ()
    """The workloads that were run."""

    name: str = ""
    """The name of the policy."""

    @property
    def problem(self) -> str:
        """The policy's error."""
        return self.note

    def tables(self, *_: str) -> list[TextTable]:
        """Return a row for each workload."""
        heads = ("workload", self.name, "best built-in", "", "bound", "score")
        numbers = [(row.workload, row.value, row.best, row.best_value, row.bound, row.score) for row in self.rows]
        rows = [[cell if isinstance(cell, str) else f"{cell:.3f}" for cell in row] for row in numbers]
        rows.append(["combined", "", "", "", "", f"{self['combined_score']:.3f}"])
        return [TextTable.of(heads, rows, below=_COLUMNS)]

    def document(self, *_: str) -> dict[str, Any]:
        """Return the metrics and the note."""
        return {**self, "note": self.note}


@dataclass(frozen=True)
class Row:
    """A policy and the built-in ones under one workload."""

    workload: str
    value: float
    """The measure of the policy; less is better."""
    best: str
    """The best built-in policy."""
    best_value: float
    bound: float
    """The lower bound of the measure."""

    @property
    def score(self) -> float:
        """The measure of the best built-in policy, divided by that of the policy."""
        return self.best_value / self.value


@dataclass(frozen=True)
class Suite:
    """Workloads on a device, on which policies are compared."""

    key: str
    """The key of the policy."""
    measure: str
    """The measure that is compared: less is better."""
    built_in: Sequence[str]
    base: Mapping[str, Any]
    """The device."""
    workloads: Mapping[str, Mapping[str, Any]]
    """The changes of each workload by its name."""

    def bound(self, scenario: Scenario, metrics: Metrics) -> float:
        """Return the lower bound of the measure under a scenario, with the metrics of a run of it under any policy."""
        return _belady(scenario, metrics) if self.measure == "cache.hit_ratio" else 1.0  # of a GC that copies nothing

    def scenarios(self) -> dict[str, Scenario]:
        """Return the scenario of each workload, without the policy."""
        base = Scenario.from_dict(self.base)
        return {name: base.with_(changes) for name, changes in self.workloads.items()}


def evaluate(
    policy: type | str | os.PathLike[str] | Mapping[str, Any],
    suite: SuiteName | None = None,
    *,
    cpu_seconds: int = 60,
    memory_bytes: int = 8 << 30,
) -> Evaluation:
    """Run a policy under each workload of a suite, and compare it with the built-in ones.

    The same policy gives the same metrics. `evaluate(path)` is an evaluator as OpenEvolve expects one.

    Args:
        policy: A class with [`@coflash.policy`][coflash.policy], the Python file that defines one, the name of a
            built-in policy, or a table such as `{"name": "score", "score": "(1 - u) * age"}`.
        suite: `"gc"` and `"gc-unseen"` for victim policies, and `"placement"` and `"placement-unseen"` for placement
            policies, by write amplification; `"cache"` and `"cache-unseen"` for eviction policies, by misses. Judge a
            policy found with one of them by its unseen counterpart. If None, that of the key which the class names in
            `@coflash.policy`, or that has the built-in policy.
        cpu_seconds: The limit of the processor time of code.
        memory_bytes: The limit of its address space; macOS has none.

    Raises:
        CoflashError: There is no such suite, file or built-in policy. Errors of the policy's code are in `note`.
    """
    if suite is not None:
        _suite(suite)
    if isinstance(policy, type):
        name, source = policy.__qualname__, external.file_of_user(policy.__module__)
        if not source:
            raise CoflashError(f"{name}: it is defined in no file; a process of its own needs one")
        judged = _in_process(Path(source), name, suite, cpu_seconds, memory_bytes)
    elif isinstance(policy, Mapping):
        judged = _values(suite or "gc", policy)
        name = str(policy.get("name", ""))
    elif (file := Path(policy)).suffix == ".py":
        if not file.is_file():
            raise CoflashError(f"{file}: no such file{near_file(str(file))}")
        name, judged = file.stem, _in_process(file, None, suite, cpu_seconds, memory_bytes)
    else:
        name = os.fspath(policy)
        if file.exists() or file.with_name(f"{file.name}.py").is_file():
            msg = f"{name}: a file of Python, whose name ends in .py, or the name of a built-in policy is allowed"
            raise CoflashError(msg + near_file(f"{file}.py"))
        own: SuiteName = suite or [*(each for each in SUITES if name in _SUITES[each].built_in), SUITES[0]][0]
        judged = _values(own, name)
    of, values, note = judged
    chosen, found = _suite(of), Evaluation()
    found.name, found.note = name, note
    found.rows = tuple(Row(workload, value, *_compared(of, workload)) for workload, value in values.items())
    for row in found.rows:
        found[f"{row.workload}.{chosen.measure}"] = row.value
        found[f"{row.workload}.bound"] = row.bound
        found[f"{row.workload}.score"] = row.score
    logs = [math.log(row.score) for row in found.rows]
    found["combined_score"] = 0.0 if note else math.exp(sum(logs) / len(logs))
    return found


def contests(suite: SuiteName) -> dict[str, tuple[Scenario, str, float]]:
    """Return of each workload its scenario without a policy, the best built-in policy, and the measure of that."""
    return {name: (scenario, *_compared(suite, name)[:2]) for name, scenario in _suite(suite).scenarios().items()}


def _suite(name: str) -> Suite:
    if name not in _SUITES:
        raise CoflashError(f'suite: "{name}" was given{hint(str(name), SUITES)}')
    return _SUITES[name]


Judged = tuple[SuiteName, Mapping[str, float], str]
"""A suite, the value of each of its workloads that ended, and the error of the policy."""


def _values(suite: SuiteName, policy: Any) -> Judged:
    chosen = _SUITES[suite]
    if policy in chosen.built_in:
        return suite, {name: _measured(chosen, _built_in(suite, name, policy)) for name in chosen.workloads}, ""
    return suite, {name: _value(chosen, scenario, policy) for name, scenario in chosen.scenarios().items()}, ""


def _value(suite: Suite, scenario: Scenario, policy: Any) -> float:
    return _measured(suite, run(scenario.with_({suite.key: policy})).metrics)


@cache
def _built_in(suite: SuiteName, workload: str, policy: str) -> Metrics:
    chosen = _SUITES[suite]
    return run(chosen.scenarios()[workload].with_({chosen.key: policy})).metrics


def _measured(suite: Suite, metrics: Metrics) -> float:
    value = named(suite.measure).read(metrics) or 0.0
    return 1 - value if suite.measure == "cache.hit_ratio" else value


@cache
def _compared(suite: SuiteName, workload: str) -> tuple[str, float, float]:
    """Return the best built-in policy, its measure, and the bound."""
    chosen = _SUITES[suite]
    metrics = {name: _built_in(suite, workload, name) for name in chosen.built_in}
    values = {name: _measured(chosen, of_one) for name, of_one in metrics.items()}
    best = min(values, key=lambda name: values[name])
    return best, values[best], chosen.bound(chosen.scenarios()[workload], metrics[best])


def _belady(scenario: Scenario, metrics: Metrics, policy: str = "belady") -> float:
    """Return the share of misses of a cache of the same size that evicts the page whose next use is furthest away."""
    page = scenario.to_dict()["flash"]["page_size"]
    page_bytes, _ = quantity(page)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "requests.parquet"
        trace.generate(scenario, file)
        return trace.miss_ratio(file, policy, f"{metrics.cache.capacity_pages * page_bytes}B", page=page)


def _in_process(file: Path, name: str | None, suite: SuiteName | None, cpu_seconds: int, memory_bytes: int) -> Judged:
    """Evaluate code in a process of its own; returns the suite, the values of the workloads that ended, the error."""
    if find_spec("resource") is None:
        raise CoflashError(
            f"{file}: the code of a policy is evaluated under limits of processor time and memory, which need Unix "
            "(Linux or macOS): use one of these, a container or WSL; run(), and policies in score syntax, work here"
        )
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "values"
        out.touch()
        arguments = [str(file.resolve()), name, suite, cpu_seconds, memory_bytes, str(out)]
        # Not in the folder of the file: files beside it would hide modules of the same name.
        begun = [sys.executable, "-c", "from coflash.evaluation import work; work()", json.dumps(arguments)]
        try:
            status = subprocess.run(  # noqa: S603 - this Python, and no shell
                begun, stdin=subprocess.DEVNULL, capture_output=True, timeout=cpu_seconds * _PATIENCE, check=False
            ).returncode
        except subprocess.TimeoutExpired:
            status = None
        lines = [json.loads(line) for line in out.read_text("utf-8").splitlines() if line.endswith("]")]
    known: dict[str, Any] = {kind: value for kind, value in lines if isinstance(value, str)}
    note = known.get("note", "")
    if not note and (status is None or -status == _SIGXCPU):
        note = f"it took more than {cpu_seconds} s of processor time, or did not end"
    elif not note and status:
        note = f"its process ended with status {status}, as for want of memory"
    values = {workload: value for workload, value in lines if not isinstance(value, str)}
    return known.get("suite", suite or "gc"), values, note


_SIGXCPU = 24


def work() -> None:
    """Evaluate code in this process, and write a line for each workload: for the process of `evaluate`."""
    import resource

    path, name, suite, cpu_seconds, memory_bytes, out = json.loads(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    if sys.platform != "darwin":  # which refuses every such limit
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with Path(out).open("a", encoding="utf-8") as lines:
        try:
            policy = external.loaded(Path(path), name)
            if suite is None:
                suite = next((each for each in SUITES if _SUITES[each].key == external.key_of(policy)), "gc")
                print(json.dumps(["suite", suite]), file=lines, flush=True)
            chosen = _SUITES[suite]
            for workload, scenario in chosen.scenarios().items():
                print(json.dumps([workload, _value(chosen, scenario, policy)]), file=lines, flush=True)
        except (CoflashError, MemoryError) as error:
            print(json.dumps(["note", str(error) or "out of memory"]), file=lines, flush=True)


def _read_suites() -> dict[str, Suite]:
    """Read the suites: an unseen one has the device of its counterpart with another seed, and workloads of its own."""
    found = {}
    for name, of in json.loads(Path(__file__).with_name("suites.json").read_text("utf-8")).items():
        unseen = of.pop("unseen")
        found[name] = Suite(**of)
        found[f"{name}-unseen"] = replace(found[name], base={**of["base"], "seed": 1}, workloads=unseen)
    return found


_SUITES = _read_suites()
"""Devices for placement have a low mark of 17: GC needs a free block for each open one, and a policy may have 16."""
