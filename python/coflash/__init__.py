"""Simulate flash storage whose caches and garbage collection cooperate.

Examples:
    >>> import coflash
    >>> scenario = coflash.Scenario.load("demo").with_(cache__size="64MiB")
    >>> result = coflash.run(scenario, trace="examples/traces/pgbench-oltp-400k.iolog.zst")  # doctest: +SKIP
    >>> result.metrics.waf_host  # doctest: +SKIP

`docs/reference/scenario.md` lists the keys of a scenario, `docs/reference/measures.md` the numbers of a result.
"""

import lazy_loader

# The stub beside this file lists the names. Each is imported at its first use: all together take longer than a command.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
