"""Simulate flash storage whose caches and garbage collection cooperate.

Examples:
    >>> import coflash
    >>> scenario = coflash.Scenario.load("demo").with_(cache__size="64MiB")
    >>> result = coflash.run(scenario, trace="examples/traces/pgbench-oltp-400k.iolog.zst")  # doctest: +SKIP
    >>> result.metrics.waf_host  # doctest: +SKIP

`docs/reference/scenario.md` lists the keys of a scenario, `docs/reference/measures.md` the numbers of a result.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from coflash._core import Candidates, CoflashError, __version__

if TYPE_CHECKING:  # at run time a name is imported at its first use: importing all takes longer than most commands
    from coflash import costmodel, device, trace
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

_HOMES = {
    name: module
    for module, names in {
        "evaluation": ("Evaluation", "evaluate"),
        "external": ("EvictionPolicy", "PlacementPolicy", "VictimPolicy", "policy"),
        "keys": ("ScenarioKey", "keys"),
        "measures.metrics": ("Metrics",),
        "measures.record": ("SoFar",),
        "policies": ("Parameter", "Policy", "PolicyFamily", "policies"),
        "results.database": ("Results", "results"),
        "results.histogram": ("Histogram",),
        "results.result": ("Result",),
        "results.side_by_side": ("SideBySide", "compare"),
        "runs.run": ("run", "trace_info"),
        "runs.warm": ("Warm", "warm"),
        "scenario": ("Scenario", "built_in_scenarios", "scenario_schema"),
        "sweep": ("Sweep", "sweep"),
        "sweep.tune": ("Tuning", "tune"),
        "table": ("Table",),
    }.items()
    for name in names
}
_MODULES = ("costmodel", "device", "trace")


class _Package(ModuleType):
    """This package. A function hides the module of the same name: `coflash.sweep` is the function."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _HOMES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        globals()[name] = found = getattr(import_module(f"coflash.{_HOMES[name]}"), name)
        return found
    if name in _MODULES:
        return import_module(f"coflash.{name}")
    if name == "presets":
        import warnings

        warnings.warn("coflash.presets is now called coflash.built_in_scenarios", FutureWarning, stacklevel=2)
        return __getattr__("built_in_scenarios")
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
