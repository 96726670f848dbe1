"""Simulates flash storage whose caches and garbage collection cooperate.

>>> import coflash
>>> scenario = coflash.Scenario.load("demo").with_(cache__size="64MiB")
>>> result = coflash.run(scenario, trace="examples/traces/pgbench-oltp-400k.iolog.zst")  # doctest: +SKIP
>>> result.metrics.waf_host  # doctest: +SKIP

What a scenario holds is in `docs/reference/scenario.md`; what a result counts is at [`Metrics`][coflash.Metrics].
"""

from coflash import costmodel, trace
from coflash._core import CoflashError, __version__
from coflash.metrics import Metrics, SoFar
from coflash.policies import Parameter, Policy, PolicyFamily, policies
from coflash.result import Histogram, Result
from coflash.results import Results, results
from coflash.running import run, trace_info
from coflash.scenario import Scenario, presets, scenario_schema
from coflash.sweep import Sweep, sweep
from coflash.table import Table
from coflash.tune import Tuning, tune
from coflash.warming import Warm, warm

__all__ = [
    "CoflashError",
    "Histogram",
    "Metrics",
    "Parameter",
    "Policy",
    "PolicyFamily",
    "Result",
    "Results",
    "Scenario",
    "SoFar",
    "Sweep",
    "Table",
    "Tuning",
    "Warm",
    "__version__",
    "costmodel",
    "policies",
    "presets",
    "results",
    "run",
    "scenario_schema",
    "sweep",
    "trace",
    "trace_info",
    "tune",
    "warm",
]
