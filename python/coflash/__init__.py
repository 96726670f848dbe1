"""Simulates flash storage whose caches and garbage collection cooperate.

>>> import coflash
>>> scenario = coflash.Scenario.load("demo").with_(cache__size="64MiB")
>>> result = coflash.run(scenario, trace="examples/traces/pgbench-oltp-400k.iolog.zst")  # doctest: +SKIP
>>> result.metrics.waf_host  # doctest: +SKIP

What a scenario holds is in `docs/reference/scenario.md`; what a result counts is at [`Metrics`][coflash.Metrics].
"""

from coflash import trace
from coflash._core import CoflashError, __version__
from coflash.metrics import Metrics
from coflash.policies import Parameter, Policy, PolicyFamily, policies
from coflash.result import Histogram, Result
from coflash.running import run, trace_info
from coflash.scenario import Scenario, presets, scenario_schema
from coflash.table import Table

__all__ = [
    "CoflashError",
    "Histogram",
    "Metrics",
    "Parameter",
    "Policy",
    "PolicyFamily",
    "Result",
    "Scenario",
    "Table",
    "__version__",
    "policies",
    "presets",
    "run",
    "scenario_schema",
    "trace",
    "trace_info",
]
