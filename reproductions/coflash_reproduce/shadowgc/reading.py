"""What queries cannot compute: how the footprint of a workload grows."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from coflash import trace
from coflash.scenario import Scenario
from coflash_reproduce.paper import Run
from coflash_reproduce.shadowgc.workloads import PAGE_BYTES


def growth(run: Run) -> list[list[float]]:
    """Return at some moments of one pass of a run's workload GiB written, and distinct bytes."""
    points = _growth(run.experiment.scenario, run.experiment.trace)
    places = sorted({round(index * (len(points) - 1) / 6) for index in range(7)})
    shown = [(points[place][0] * PAGE_BYTES / 2**30, float(points[place][1] * PAGE_BYTES)) for place in places]
    return [[round(gib, 2 if gib < 10 else 1), distinct] for gib, distinct in shown]


@lru_cache(maxsize=32)
def _growth(scenario: Scenario, files: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """Return written pages and distinct written pages over the course of a trace or of a generated workload."""
    with TemporaryDirectory() as folder:
        if not files:
            made_up = Path(folder) / "workload.parquet"
            trace.generate(scenario, made_up)
            files = (str(made_up),)
        found = trace.info(files, page="16KiB")["write_growth"]
    return tuple(zip(found["written_pages"], found["distinct_pages"], strict=True))
