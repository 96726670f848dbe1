"""Simulate flash storage whose caches and garbage collection cooperate.

Examples:
    >>> import coflash
    >>> scenario = coflash.Scenario.load("demo").with_(cache__size="64MiB")
    >>> result = coflash.run(scenario, trace="examples/traces/pgbench-oltp-400k.iolog.zst")  # doctest: +SKIP
    >>> result.metrics.waf_host  # doctest: +SKIP

`docs/reference/scenario.md` lists the keys of a scenario, `docs/reference/measures.md` the numbers of a result.
"""

from typing import Any

from coflash import costmodel, device, trace
from coflash._core import Candidates, CoflashError, __version__
from coflash.evaluation import Evaluation, evaluate
from coflash.external import EvictionPolicy, PlacementPolicy, VictimPolicy, policy
from coflash.keys import ScenarioKey, keys
from coflash.measures.metrics import Metrics
from coflash.measures.record import SoFar
from coflash.policies import Parameter, Policy, PolicyFamily, policies
from coflash.results.database import Results, results
from coflash.results.histogram import Histogram
from coflash.results.result import Result
from coflash.results.side_by_side import SideBySide, compare
from coflash.runs.run import run, trace_info
from coflash.runs.warm import Warm, warm
from coflash.scenario import Scenario, built_in_scenarios, scenario_schema
from coflash.sweep import Sweep, sweep
from coflash.sweep.tune import Tuning, tune
from coflash.table import Table

__all__ = [
    "Candidates",
    "CoflashError",
    "Evaluation",
    "EvictionPolicy",
    "Histogram",
    "Metrics",
    "Parameter",
    "PlacementPolicy",
    "Policy",
    "PolicyFamily",
    "Result",
    "Results",
    "Scenario",
    "ScenarioKey",
    "SideBySide",
    "SoFar",
    "Sweep",
    "Table",
    "Tuning",
    "VictimPolicy",
    "Warm",
    "__version__",
    "built_in_scenarios",
    "compare",
    "costmodel",
    "device",
    "evaluate",
    "keys",
    "policies",
    "policy",
    "results",
    "run",
    "scenario_schema",
    "sweep",
    "trace",
    "trace_info",
    "tune",
    "warm",
]


def __getattr__(name: str) -> Any:
    if name == "presets":
        import warnings

        warnings.warn("coflash.presets is now called coflash.built_in_scenarios", FutureWarning, stacklevel=2)
        return built_in_scenarios
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
