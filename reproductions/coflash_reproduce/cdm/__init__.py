"""The CDM paper.

Source of its numbers: the publication named in `PAPER`, sections 2 and 5. `cdm.md` has its prose.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from coflash.measures.measure import COPIED, MEAN, STDDEV, WAF_HOST, Measure
from coflash_reproduce.cdm import reading, workloads
from coflash_reproduce.cdm.claims import claims
from coflash_reproduce.paper import Axis, Exhibit, Figure, Notes, Paper
from coflash_reproduce.text import Text


def _by_capacity(name: str, experiment: str, **more: Any) -> Figure:
    return Figure(name, WAF_HOST, reading.CAPACITY_AXIS, (experiment,), **more)


def _by_cache(name: str, measure: Measure, notes: Notes = lambda _: ()) -> Figure:
    axis, only = reading.CACHE_AXIS, (workloads.BASELINE, workloads.CDM, workloads.ADAPTIVE)
    return Figure(name, measure, axis, workloads.CACHED, baseline=workloads.BASELINE, only=only, notes=notes)


def _normalised(name: str, measure: Measure, notes: Notes = lambda _: ()) -> Figure:
    lines = partial(reading.normalised, measure)
    return Figure(name, reading.NORMALISED[measure], reading.CACHE_AXIS, workloads.CACHED, lines=lines, notes=notes)


PAPER = Paper(
    name="cdm",
    text=Text.beside(__file__, vars(workloads)),
    experiments=workloads.experiments,
    exhibits=(
        Exhibit("averages", reading.averages),
        _by_capacity("figure-1", "capacity", beside=reading.theory, notes=reading.about_capacity),
        _by_capacity("figure-1-cd", "live-capacity", notes=reading.about_live),
        Figure("figure-2", WAF_HOST, Axis("random writes", "%"), ("random-share",), notes=reading.about_random_share),
        _by_cache("figure-6", COPIED),
        _by_cache("figure-7", WAF_HOST, reading.about_copies),
        _normalised("figure-8", MEAN, reading.about_load),
        _normalised("figure-9", STDDEV),
        Exhibit("cache-sizes", reading.by_sizes),
        Figure(
            "variants",
            WAF_HOST,
            reading.CACHE_AXIS,
            workloads.VARIED,
            baseline=workloads.BASELINE,
            only=workloads.VARIANTS,
            notes=reading.about_parts,
        ),
        Exhibit("two-ways", reading.spared),
        Exhibit("two-buffers", reading.two_buffers, notes=reading.about_buffers),
        Exhibit("table-1", reading.characteristics),
        Exhibit("theory", reading.against_theory),
    ),
    claims=tuple(claims()),
)
