"""Simulate flash storage whose caches and garbage collection cooperate.

Examples:
    >>> import coflash
    >>> scenario = coflash.Scenario.load("demo").with_(cache__size="64MiB")
    >>> result = coflash.run(scenario, trace="examples/traces/pgbench-oltp-400k.iolog.zst")  # doctest: +SKIP
    >>> result.metrics.waf_host  # doctest: +SKIP

`docs/reference/scenario.md` lists the keys of a scenario, `docs/reference/measures.md` the numbers of a result.
"""

from typing import Any

import lazy_loader

# The stub beside this file lists the names. Each is imported at its first use: all together take longer than a command.
_imported, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name == "presets":
        import warnings

        warnings.warn("coflash.presets is now called coflash.built_in_scenarios", FutureWarning, stacklevel=2)
        name = "built_in_scenarios"
    return _imported(name)
