"""Other systems at the work of a row of the benchmark table, on one thread: `bench_peers.py WORK FILE` prints JSON.

The wall time of the work alone is measured, without the start of Python.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable

os.environ["POLARS_MAX_THREADS"] = "1"


def lru(file: str) -> tuple[Callable[[], float], str]:
    """libCacheSim: the share of misses of LRU with 100,000 slots, of a trace in its own format."""
    import libcachesim

    reader = libcachesim.TraceReader(
        file, libcachesim.TraceType.ORACLE_GENERAL_TRACE, libcachesim.ReaderInitParam(ignore_obj_size=True)
    )
    cache = libcachesim.LRU(100_000, hashpower=20)
    return lambda: 1 - cache.process_trace(reader)[0], "libCacheSim, its reader included; hit ratio {:.4f}"


def csv(file: str) -> tuple[Callable[[], float], str]:
    """Polars: the rows of a CSV file, read into a table."""
    import polars

    polars.read_csv(b"0", has_header=False)  # its first call starts its threads
    return lambda: len(polars.read_csv(file, has_header=False)), "Polars, into a table; {:,} requests"


if __name__ == "__main__":
    _, work, path = sys.argv
    run, note = {"lru": lru, "csv": csv}[work](path)
    begin = time.perf_counter()
    found = run()
    print(json.dumps({"seconds": time.perf_counter() - begin, "note": note.format(found)}))
