"""What is said of many runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from coflash.measures.measure import Measure
from coflash.quantity import agreed
from coflash.results.database import Results
from coflash.results.why import between, explained, scheme_of
from coflash.scenario import Scenario
from coflash.sweep.answers import vary_of
from coflash.sweep.finding import say

_KEYS_SHOWN = 3


def keys_left_out(results: Results) -> str:
    """Name the keys without a column of their own in one line; empty if all have one."""
    parts = [
        f"{', '.join(others[:_KEYS_SHOWN])}{f' and {len(others) - _KEYS_SHOWN} more' if others[_KEYS_SHOWN:] else ''}"
        f" {agreed(len(others), 'differs')} with {path}"
        for path, others in {key.path: key.along for key in results.apart() if key.along}.items()
    ]
    return f"{'; '.join(parts)} (coflash compare shows all)" if parts else ""


def why_lines(results: Results, runs: Sequence[str], measures: Iterable[Measure]) -> list[str]:
    """Say why some runs of schemes differ, if those of the schemes between are there."""
    known = [(results.document(run), metrics) for run in results if (metrics := results.metrics(run)) is not None]
    asked = {place for place, run in enumerate(results) if run in runs}
    lines = []
    for measure in measures:
        for places, why in explained(known, measure.read):
            if {why.before, why.after} <= {scheme_of(known[place][0]) for place in asked & {*places}}:
                lines.append(say("why", why=why.said(measure)))
    return lines


def why_command(results: Results, runs: Sequence[str]) -> list[str]:
    """Name the commands that run the schemes between those of some runs, for all seeds of their points, and say why."""
    first = scheme_of(results.document(runs[0]))
    for run in runs[1:]:
        if (schemes := between(first, scheme_of(results.document(run))))[2:]:
            # The scenario of the scheme with more parts has their parameters.
            vary = vary_of(Scenario.of_result(results.document(run)), schemes)
            of_points = (one for group in results.of_one_point() if {*group} & {*runs} for one in group)
            seeds = sorted({results.document(one)["scenario"]["seed"] for one in of_points})
            more = f" --vary seed={','.join(map(str, seeds))}" if seeds[1:] else ""
            out = f"results/why-{results.document(run)['scenario_hash'][:8]}"
            command = f"coflash sweep {results.where(run)}/scenario.toml {vary}{more} --out {out}"
            told = "the shares of the parts in the difference need the schemes between"
            return [f"why: {told}: {command}", f"why: and then: coflash compare {out} --seeds"]
    return []
