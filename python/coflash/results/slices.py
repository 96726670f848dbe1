"""Intervals over slices of the workload, from the time series of single runs.

Seeds vary the simulator's random draws; a replayed trace stays the same. The variation of a measure over other parts of
such a workload is estimated from the trace itself: it is cut into slices with equal numbers of requests, and slices are
resampled. Neighbours are alike, so blocks of them are drawn together: the circular block bootstrap (Politis and Romano,
"A circular block-resampling procedure for stationary data", 1992). The same slices of two runs hold the same requests,
so schemes are compared slice by slice. The method does not remove trends, such as a cache that fills, and says nothing
of other workloads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coflash.measures.measure import CAUSES
from coflash.table import Table

SLICES, RESAMPLES = 64, 2000
_BLOCK = round(SLICES ** (1 / 3))
"""The number of slices drawn together: the cube root of all, the optimal order (Hall, Horowitz and Jing, 1995)."""
_SEED = 0
"""The seed of the draws: the same runs always have the same interval."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sliced:
    """A measure as a ratio of sums over the slices of a run."""

    above: Floats
    below: Floats

    def resampled(self) -> Floats:
        """Return the measure of each resample; the same slices are drawn for every run."""
        blocks = -(-SLICES // _BLOCK)
        begins = np.random.default_rng(_SEED).integers(SLICES, size=(RESAMPLES, blocks, 1))
        drawn = ((begins + np.arange(_BLOCK)) % SLICES).reshape(RESAMPLES, -1)[:, :SLICES]
        with np.errstate(invalid="ignore", divide="ignore"):
            found: Floats = self.above[drawn].sum(axis=1) / self.below[drawn].sum(axis=1)
        return found


def sliced(series: Table, measure: str) -> Sliced | None:
    """Cut a run into slices with equal numbers of requests; None if its time series do not give the measure.

    Args:
        series: The time series of the run.
        measure: The path of the measure.
    """
    if measure not in _RATIOS or "requests" not in series or not len(series["requests"]):
        return None
    above_of, below_of = _RATIOS[measure]
    requests = series["requests"].astype(np.float64)
    if np.count_nonzero(requests) < SLICES or any(name not in series for name in (*above_of, *below_of)):
        return None
    above, below = _column(series, above_of), _column(series, below_of) if below_of else None
    done = np.concatenate([[0.0], np.cumsum(requests)])
    edges = np.linspace(0.0, done[-1], SLICES + 1)

    def cut(column: Floats) -> Floats:
        parts: Floats = np.diff(np.interp(edges, done, np.concatenate([[0.0], np.cumsum(column)])))
        return parts

    return Sliced(cut(above), np.full(SLICES, 1 / SLICES) if below is None else cut(below))


_RATIOS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "waf_host": (tuple(f"programs_{cause}_pages" for cause in CAUSES), ("host_writes_pages",)),
    "gc_copies_pages": (("programs_gc_pages",), ()),
    "gc_drops_pages": (("gc_drops_pages",), ()),
    "erases_blocks": (("erases_blocks",), ()),
    "cache.hit_ratio": (("cache_hits_pages",), ("cache_hits_pages", "cache_misses_pages")),
    "response_ns.all.mean": (("response_mean_ns",), ("requests",)),
}
"""The columns whose sum, or ratio of two sums, is a measure."""


def _column(series: Table, names: Sequence[str]) -> Floats:
    """Return the sum of some columns; of means, weighted by the requests of each window."""
    found: Floats = np.zeros(len(series["requests"]))
    for name in names:
        values = np.nan_to_num(series[name].astype(np.float64))
        found = found + (values * series["requests"] if "mean" in name else values)
    return found
