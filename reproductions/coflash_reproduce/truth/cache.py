"""A cache on the drive with FDP: small objects in random pages of one region, and a log in the rest.

Spare space is that of the drive's fit to one stream. What is not published is the share of writes that goes to small
objects: it is fitted to one run of each trace with FDP, and its runs without FDP, or of another region, are predicted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from coflash.calibrate.fit import GOALS
from coflash.calibrate.model import Device, waf_between
from coflash.calibrate.pattern import PAGE_BYTES, WRITE, requests_at
from coflash.results.result import Result
from coflash.runs.run import run
from coflash.scenario import Scenario
from coflash_reproduce.data import csv_beside

_LAST = 0.2
"""The part of a run over which its last write amplification is counted."""
_UNITS = 1024
"""Reclaim units: enough for a small region of its own."""
_ROUNDS = 3
"""Steps of the fit: WAF less one is nearly proportional to the share of writes to small objects."""
_SHARE_FROM: Mapping[str, str] = {"kv202206": "kv202206", "kv202210": "kv202210", "kv2024": "kv202206"}
"""The trace whose share is taken; with a small region FDP's WAF of 1 does not tell the one of kv2024."""


@dataclass(frozen=True)
class CacheRun:
    """A measured run."""

    trace: str
    region: float
    """The share of the drive in which small objects lie."""
    fdp: bool
    passes: float
    """What was written, over the capacity."""
    whole: float
    """The write amplification of all that was written."""
    last: float
    """That of the last fifth."""

    def simulate(self, spare: float, small: float) -> CacheRun:
        """Return the run as simulated, `small` being the share of writes that goes to small objects."""
        result, pages = _simulate(self, spare, small)
        begin = (1 - _LAST) * self.passes
        return replace(
            self, whole=waf_between(result, pages, 0, self.passes), last=waf_between(result, pages, begin, self.passes)
        )


@dataclass(frozen=True)
class CachePrediction:
    """A run, and the same as simulated."""

    measured: CacheRun
    predicted: CacheRun
    fitted: bool
    """Whether the share of writes was fitted to its last fifth."""

    def rows(self) -> Iterator[tuple[str, ...]]:
        """Yield a row of the page for each number."""
        of = self.measured
        for part, known, ours, fitted in (
            ("whole run", of.whole, self.predicted.whole, False),
            ("last fifth", of.last, self.predicted.last, self.fitted),
        ):
            error = ours / known - 1
            yield (
                f"{of.trace}, small objects in {of.region:.0%}",
                "FDP" if of.fdp else "no FDP",
                part,
                f"{known:.4g}",
                f"{ours:.4g}",
                f"{error:+.1%}".replace("-", "−"),
                "fitted" if fitted else "held out",
                "" if fitted else "yes" if abs(error) <= GOALS["waf"] else "no",
            )


COLUMNS = ("run", "placement", "write amplification of", "measured", "predicted", "error", "", "within 5 %")


def predict_caches(spare: float) -> list[CachePrediction]:
    """Fit the share of writes to small objects to one run of each trace, and predict all runs."""
    runs = _measured()
    shares = {"cdn": 0.0}
    fitted = set()
    for trace in dict.fromkeys(_SHARE_FROM.values()):
        told = max((one for one in runs if one.trace == trace and one.fdp), key=lambda one: one.region)
        fitted.add(told)
        share = 0.6
        for _ in range(_ROUNDS):
            share = min(1.0, share * (told.last - 1) / (told.simulate(spare, share).last - 1))
        shares[trace] = share
    return [
        CachePrediction(one, one.simulate(spare, shares[_SHARE_FROM.get(one.trace, one.trace)]), one in fitted)
        for one in runs
    ]


def _measured() -> list[CacheRun]:
    """Return the runs whose region is stated, without neighbours that write, too."""
    rows, numbers = csv_beside(__file__, "drives/caches.csv"), ("passes", "whole", "last")
    return [
        CacheRun(row["trace"], float(row["region"]), row["fdp"] == "yes", *(float(row[name]) for name in numbers))
        for row in rows
    ]


def _simulate(cache: CacheRun, spare: float, small: float) -> tuple[Result, int]:
    device = Device(1 + spare, "greedy", blocks=_UNITS)
    pages = device.pages
    writes, region = round(cache.passes * pages), round(cache.region * pages)
    random = np.random.default_rng(1)
    is_small = random.random(writes) < small if region else np.zeros(writes, bool)
    page = np.where(is_small, random.integers(max(1, region), size=writes), 0)
    page[~is_small] = region + np.arange(np.count_nonzero(~is_small)) % (pages - region)
    keys: dict[str, Any] = {**device.scenario("blank"), "replay.mode": "closed"}
    if cache.fdp and region:
        shares = [f"{100 * region / pages:.6f}%", f"{100 - 100 * region / pages:.6f}%"]
        keys["ftl.placement"] = {"name": "fdp", "handles": 2, "isolation": "persistently", "shares": shares}
        keys["gc"] = {"victim": "greedy", "low_mark": 3}
    requests = requests_at(page.astype(np.uint64) * PAGE_BYTES, WRITE, PAGE_BYTES)
    return run(Scenario.from_dict(keys), requests), pages
