"""The demo: whether cooperation pays on a database's trace, and from which cache size on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from coflash._core import demo_trace
from coflash.files.atomic_write import write_file
from coflash.files.kept import kept_folder
from coflash.measures.measure import HEADLINE
from coflash.results.subject import Subject
from coflash.results.tables import beside_table
from coflash.scenario import Scenario
from coflash.sweep import Sweep, sweep
from coflash.sweep.finding import say
from coflash.text_table import TextTable

SCENARIO = "demo"
TRACE = Path("examples/traces/pgbench-oltp-400k.iolog.zst")
BASELINE, RIVAL = "none", "cdm"
SCHEMES: Mapping[str, Any] = {
    BASELINE: BASELINE,
    "cdm-overwrites": "cdm-overwrites",
    "cdm-removable": {"name": "cdm-removable", "removable_weight": 1.0, "rewrite_stream": "gc"},
    RIVAL: RIVAL,
}
"""The schemes with those between, alike in all else, so that what is saved is taken apart without a rest."""
MIB = 2**20
CACHE_SIZES_BYTES = (16 * MIB, 32 * MIB, 64 * MIB, 128 * MIB)
QUICK_CACHE_SIZES_BYTES = (32 * MIB, 128 * MIB)

WARMED = {"precondition.until_steady": True, "precondition.through_caches": True, "workload.repeat": 2}
"""Flash and caches are warm when a run begins. A run has the trace twice, so that each quarter of it is half a pass."""


def points(sizes_bytes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Return the points: no cache, then for each cache size all schemes."""
    sizes = [f"{size_bytes // MIB}MiB" for size_bytes in sizes_bytes]
    cached = [{"cooperation": scheme, "cache.size": size} for size in sizes for scheme in SCHEMES.values()]
    return [{"cooperation": BASELINE, "cache.size": "0B"}, *cached]


def compare(out: Path, trace: Path, sizes_bytes: tuple[int, ...]) -> Sweep:
    """Run all points.

    Raises:
        CoflashError: The trace or the scenario cannot be used.
    """
    return sweep(Scenario.load(SCENARIO).with_(WARMED), points(sizes_bytes), trace, out=out, progress=True)


def tables(found: Sweep) -> Iterator[TextTable]:
    """Make a table for each cache size: all schemes, and the device without a cache, beside the baseline."""
    documents = [[found.results.document(job.key) for job in point.jobs] for point in found.points]
    measures = found.results.applying(HEADLINE)
    for first in range(1, len(documents), len(SCHEMES)):
        groups = [*documents[first : first + len(SCHEMES)], documents[0]]
        title = f"cache of {found.points[first].values['cache.size']}"
        yield beside_table([*SCHEMES, "no cache"], (), groups, measures, title)


def subject(found: Sweep) -> Subject:
    """Return what the page is about."""
    runs = tuple(found.results[job.key] for point in found.points for job in point.jobs)
    title = "Cooperative data management on an OLTP trace"
    return Subject(runs, title, say("demo question"), say("demo background"), baseline=BASELINE, target=RIVAL)


def find_trace() -> Path:
    """Find the demo's trace: below the working directory, in the checkout of this package, or else within the core.

    Raises:
        CoflashError: It cannot be written to where traces are kept.
    """
    # A result names the path as it was given: within a checkout, a relative one is the same for everybody.
    for place in (Path(), Path(__file__).parents[2]):
        if (place / TRACE).is_file():
            return place / TRACE
    content = demo_trace()
    file = kept_folder() / f"{hashlib.sha256(content).hexdigest()[:32]}-{TRACE.name}"
    if not file.exists():
        write_file(file, content)
    return file
