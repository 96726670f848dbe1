"""The demo: whether cooperation pays on a database's trace, and from which cache size on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from coflash._core import demo_trace
from coflash.files.atomic_write import write_file
from coflash.files.kept import kept_folder
from coflash.quantity import show
from coflash.results.comparison import Case, Comparison
from coflash.results.identity import Identity, check_replaces
from coflash.runs.inputs import inputs_of
from coflash.runs.progress import Display
from coflash.runs.run import run
from coflash.scenario import Scenario

SCENARIO = "demo"
TRACE = Path("examples/traces/pgbench-oltp-400k.iolog.zst")
BASELINE, RIVAL = "none", "cdm"
MIB = 2**20
CACHE_SIZES_BYTES = (16 * MIB, 32 * MIB, 64 * MIB, 128 * MIB)
QUICK_CACHE_SIZES_BYTES = (32 * MIB, 128 * MIB)

QUESTION = (
    "A non-volatile cache inside an SSD holds copies of pages that garbage collection is about to copy within flash. "
    "How much write amplification and response time is saved if the two know of each other?"
)
BACKGROUND = (
    "“none” is a write-back cache that flash knows nothing of: the old flash page stays valid until the cached one is "
    "evicted. “cdm” is cooperative data management (Lee, Kim, Bahn and Noh, MSST 2016): garbage collection need not "
    "copy a flash page that the cache holds, and one that is dirty in the cache is invalid at once. A page dropped so "
    "must be written when the cache evicts it; these writes are counted as well. The authors report 54 % fewer pages "
    "copied and a 20 % shorter mean response on their OLTP trace and a 64 GB device. Here the device is smaller, so "
    "that the demo ends in minutes, and the trace is another: PostgreSQL under pgbench, recorded at the block layer."
)


def cases(sizes_bytes: tuple[int, ...]) -> Iterator[tuple[str, int, dict[str, str]]]:
    """Yield the runs: scheme, cache size, and changes to the scenario."""
    yield "no cache", 0, {"cache.size": "0B", "cooperation.name": BASELINE}
    for size_bytes in sizes_bytes:
        for scheme in (BASELINE, RIVAL):
            yield scheme, size_bytes, {"cache.size": f"{size_bytes // MIB}MiB", "cooperation.name": scheme}


def compare(display: Display, trace: Path, sizes_bytes: tuple[int, ...]) -> Comparison:
    """Run all cases.

    Raises:
        CoflashError: The trace or the scenario cannot be used.
    """
    scenario = Scenario.load(SCENARIO)
    done = []
    for scheme, size_bytes, changes in cases(sizes_bytes):
        label = f"{scheme}, {show(size_bytes, 'bytes')}" if size_bytes else scheme
        with display.run(label) as report:
            done.append(Case(scheme, size_bytes, run(scenario.with_(changes), trace, report)))
    return Comparison(
        title="Cooperative data management on an OLTP trace",
        question=QUESTION,
        background=BACKGROUND,
        cases=tuple(done),
        baseline=BASELINE,
    )


def check_place(out: Path, trace: Path, sizes_bytes: tuple[int, ...]) -> None:
    """Check that a folder holds no result but of runs that are made again.

    Raises:
        CoflashError: It does, or the trace cannot be read.
    """
    if kept := Comparison.documents(out):
        scenario = Scenario.load(SCENARIO).replaying([str(trace)])
        digests = [file.sha256 for file in inputs_of(scenario)]
        runs = [Identity.of(scenario.with_(changes), digests) for _, _, changes in cases(sizes_bytes)]
        check_replaces(out, kept, runs, f"the demo of {len(runs)} runs")


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
