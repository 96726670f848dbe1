"""What queries cannot compute: the caches over time, response times of the second half, and the cost model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coflash import costmodel
from coflash.charts import INK, Axis, Chart, Look, lines, looks
from coflash.costmodel import BOTH_EXAMPLE
from coflash.measures.measure import Measure
from coflash.measures.metrics import Metrics
from coflash_reproduce.opfcl import model
from coflash_reproduce.opfcl.workloads import OP
from coflash_reproduce.paper import Run, Runs

PAGE_BYTES = 4096
_SLOTS_OF_A_PAGE = (PAGE_BYTES // 8 - 2) // 2
"""The cached pages that a page of a checkpoint lists."""
Numbers = NDArray[Any]
WITHIN = 0.05
"""The maximum by which OP-FCL may exceed the best fixed partition."""
OVERLOADED = 0.98
"""The utilisation from which on disks do not keep up."""
MUCH = 0.2
"""Our reading of "very poorly", "far less efficient" and "noticeable": a change by a fifth."""


def _hit_ratio(metrics: Metrics) -> float | None:
    """Return the share of page requests that hit the cache; requests past the cache count as misses."""
    tier = metrics.hybrid
    pages = metrics.host_reads_pages + metrics.host_writes_pages
    if not pages:
        return None
    cached_writes = metrics.host_writes_pages - tier.bypassed_writes_pages + tier.overflowed_writes_pages
    write_uses = cached_writes + tier.read_hits_dirty_pages
    return (tier.read_hits_clean_pages + (tier.write_hit_ratio or 0.0) * write_uses) / pages


HITS = Measure("hit rate", "share", _hit_ratio, "more")
GC_TIME = Measure("GC time / request", "ns", lambda m: m.gc_time_ns / m.requests)
ERASES = Measure("erases of a block, mean", "ratio", lambda m: m.erase_count.mean)


def hit_ratio(run: Run) -> float | None:
    """Return the hit rate of a run."""
    return HITS.read(run.metrics)


def _times(run: Run) -> tuple[Numbers, Numbers, Numbers]:
    """Return the requests and the mean response of each interval, and whether a checkpoint is near.

    That is an interval with half of its pages or more beyond the usual metadata, and the one after, in which the queue
    drains.
    """
    series = run.result().series()
    requests, response_ns = np.asarray(series["requests"], float), np.asarray(series["response_mean_ns"], float)
    metadata = np.asarray(series["programs_metadata_pages"], float)
    near = metadata - np.median(metadata) > run.metrics.hybrid.flash_pages / _SLOTS_OF_A_PAGE / 2
    near[1:] |= near[:-1]
    return requests, response_ns, near


def calm_ns(run: Run, is_late: bool) -> float | None:
    """Return the mean response without the intervals of checkpoints, of all or of the second half."""
    requests, response_ns, near = _times(run)
    counted = ~near & (requests > 0)
    counted[: len(counted) // 2] &= not is_late
    return float(np.average(response_ns[counted], weights=requests[counted])) if counted.any() else None


def slow(run: Run) -> list[int]:
    """Return how many intervals are slow, half as much again as the median, and how many of these are near one."""
    _, response_ns, near = _times(run)
    found = response_ns > 1.5 * np.nanmedian(response_ns[~near] if not near.all() else response_ns)
    found[: len(found) // 10] = False
    return [int(found.sum()), int((found & near).sum())]


def copied_late(run: Run) -> list[float]:
    """Return the pages that GC copied for each page put into flash, in the third and the last quarter of the time."""
    series = run.result().series()
    quarters = (slice(len(series) * at // 4, len(series) * (at + 1) // 4) for at in (2, 3))
    put = ("programs_host_pages", "programs_evict_pages")
    return [
        series["programs_gc_pages"][at].sum() / max(1, sum(series[name][at].sum() for name in put)) for at in quarters
    ]


def victim_utilisation(used: float) -> float:
    """Return the share of valid pages in a victim by equation 3."""
    return costmodel.victim_utilisation(used)


def least_cost() -> list[float]:
    """Return the divisions of least cost in the examples: u of reads, u of both, r of both."""
    both = model.best_of_both()
    return [model.best_of_reads().u, both.u, both.r]


def over_least(u: float, r: float) -> float:
    """Return what more the second example costs with other shares than at its least."""
    return model.COSTS.hybrid_us(BOTH_EXAMPLE, u, r) / model.best_of_both().cost_us - 1


def worst_gc_us(u: float) -> float:
    """Return C_GC by equation 1: cleaning a block where valid pages are spread evenly."""
    costs = model.COSTS
    return math.ceil(u * costs.pages_per_block) * costs.page_copy_us + costs.block_erase_us


def worst_write_us(u: float) -> float:
    """Return C_PW by equation 2: a page program with its share of equation 1; infinite where no page is freed."""
    freed = math.floor((1 - u) * model.COSTS.pages_per_block)
    return worst_gc_us(u) / freed + model.COSTS.page_program_us if freed else math.inf


def write_us(u: float) -> float:
    """Return C_PW by equation 4."""
    return model.COSTS.write_us(u)


def operations(name: str) -> int:
    """Return how often one cost of algorithm 1 has an operation."""
    return model.operations()[name]


def _over_time(metrics: Metrics, *parts: str) -> list[float]:
    """Return what parts of the sizes of the caches make together as a share of the flash, over time."""
    flash_pages = metrics.hybrid.flash_pages
    return [sum(sample[f"{part}_pages"] for part in parts) / flash_pages for sample in metrics.hybrid["sizes"]]


def caching(run: Run) -> list[float]:
    """Return the caching space of a run over time."""
    return _over_time(run.metrics, "read_limit", "write_limit")


def read_limits(run: Run) -> list[float]:
    """Return the read cache of a run over time."""
    return _over_time(run.metrics, "read_limit")


def settled(run: Run) -> list[float]:
    """Return the caching space in the second half of the samples."""
    shares = caching(run)
    return shares[len(shares) // 2 :]


def logical(run: Run) -> list[float]:
    """Return the requests before each sample, in millions; they come at a steady rate but between phases."""
    times = [sample["at_ns"] for sample in run.metrics.hybrid["sizes"]]
    return [at / times[-1] * run.metrics.requests / 1e6 for at in times]


def swing(run: Run) -> float:
    """Return the caching space after half a day of writes over that after half a day of reads, but for the first."""
    shares = caching(run)
    ends = [shares[half * (len(shares) - 1) // 8] for half in range(3, 9)]
    return mean(ends[::2]) / mean(ends[1::2]) - 1


def tracker_share(run: Run, with_index: bool) -> float:
    """Return the memory of the workload tracker as a share of the flash; its two lists are indexed by disk page."""
    tier, disk_pages = run.metrics.hybrid, run.document["workload"]["logical_bytes"] / PAGE_BYTES
    index_bytes = 0 if with_index else 2 * 4 * disk_pages
    return float((tier.tracker_bytes - index_bytes) / (tier.flash_pages * PAGE_BYTES))


def draw_sizes(names: Sequence[str], published: Mapping[str, Sequence[float]], runs: Runs) -> list[Chart]:
    """Draw the caches of OP-FCL over logical time, as shares of the flash, and the least and the most of the paper."""
    found = (run for experiment in runs.experiments(names) for run in runs.of(experiment.name, OP))
    return [_sizes_of(run, published) for run in found]


def _sizes_of(run: Run, published: Mapping[str, Sequence[float]]) -> Chart:
    data = _over_time(run.metrics, "clean", "dirty")
    curves = {"caching space": caching(run), "read cache": read_limits(run), "data in flash": data}
    requests = logical(run)
    rows = [
        {"x": at, "y": share, "name": label}
        for label, shares in curves.items()
        for at, share in zip(requests, shares, strict=True)
    ]
    styles = looks(curves, markers=False)
    for share in published.get(run.experiment.name, ()):
        label = f"the paper: {share:.3g}"
        rows += [{"x": at, "y": share, "name": label} for at in (requests[0], requests[-1])]
        styles[label] = Look(INK, (2, 2))
    up = Axis("of the flash", "share", low=0, high=1)
    across = Axis("requests (million)", low=0)
    return lines(rows, across, up, styles=styles, inches=(2.4, 2.5), title=run.experiment.title)
