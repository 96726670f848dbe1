"""Tables of many runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from coflash.measures.measure import HEADLINE, OVERALL, Measure, applying
from coflash.measures.sections import sections
from coflash.quantity import change, show, show_change, signed
from coflash.results.assumptions import beside
from coflash.results.database import Results
from coflash.results.database import results as results_in
from coflash.results.differences import Interval, difference
from coflash.results.estimate import Estimate, estimate_of, show_estimate
from coflash.results.why import between, explained, scheme_of
from coflash.scenario import Scenario
from coflash.sweep.answers import vary_of

if TYPE_CHECKING:
    pass

_KEYS_SHOWN = 3
_STYLES = {"better": "green", "worse": "red", "": ""}


def runs_table(results: Results, measures: Sequence[Measure], *, over_seeds: bool = False) -> Table:
    """Make a table with a row for each run, or for each point with means over its seeds, sorted by varying keys."""
    groups: list[tuple[str, ...]] = results.of_one_point() if over_seeds else [(run,) for run in results.in_order()]
    names = results.shortened()
    keys = [key.path for key in results.apart() if not (over_seeds and key.path == "seed")]
    revised = ["revision"] if results.is_of_several_revisions else []
    table = _table(["run", *revised, *keys, *(["seeds"] if over_seeds else [])], measures)
    for runs in groups:
        values = [_value(results.value(runs[0], key), "") for key in keys]
        count = [str(len(runs))] if over_seeds else []
        cells = (_estimate(_over(results, runs, measure), measure) for measure in measures)
        revision = [str(results.revision(runs[0]))] if revised else []
        table.add_row(names[runs[0]], *revision, *values, *count, *cells)
    return table


def keys_left_out(results: Results) -> str:
    """Name the keys without a column of their own in one line; empty if all have one."""
    with_ = {key.path: key.along for key in results.apart() if key.along}
    parts = [
        f"{', '.join(others[:_KEYS_SHOWN])}{f' and {len(others) - _KEYS_SHOWN} more' if others[_KEYS_SHOWN:] else ''}"
        f" {'differs' if len(others) == 1 else 'differ'} with {path}"
        for path, others in with_.items()
    ]
    return f"{'; '.join(parts)} (coflash compare shows all)" if parts else ""


def runs_beside(
    results: Results, runs: Sequence[str], measures: Sequence[Measure] | None = None, *, over_seeds: bool = False
) -> Table:
    """Make a table with a column for each run: differing keys, and every measure with its change from the first run.

    With `over_seeds` a run stands for all seeds of its point, and means are compared. If no measures are given, each
    part that any of the runs has gets a section.
    """
    groups: dict[str, tuple[str, ...]] = {run: (run,) for run in runs}
    if over_seeds:
        groups = {run: next(group for group in results.of_one_point() if run in group) for run in runs}
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", no_wrap=True)
    names = results.shortened()
    for run in runs:
        table.add_column(names[run], justify="right", overflow="fold")
        if run != runs[0]:
            table.add_column("change", justify="right", no_wrap=True)
    for key in results.varied():
        if over_seeds and key == "seed":
            continue
        values = [_value(results.scenario(run).get(key), "–") for run in runs]
        if len(set(values)) > 1:
            table.add_row(key, values[0], *(cell for value in values[1:] for cell in (value, "")))
    revisions = [str(results.revision(run)) for run in runs]
    if len(set(revisions)) > 1:
        table.add_row("revision", revisions[0], *(cell for one in revisions[1:] for cell in (one, "")))
    if over_seeds:
        counts = [str(len(groups[run])) for run in runs]
        table.add_row("seeds", counts[0], *(cell for count in counts[1:] for cell in (count, "")))
    table.add_section()
    found = [metrics for group in groups.values() for run in group if (metrics := results.metrics(run)) is not None]
    for measure in measures or applying(dict.fromkeys((*HEADLINE, *OVERALL)), found):
        table.add_row(*_beside(results, list(groups.values()), measure))
    for section in [] if measures else sections(found):
        table.add_section()
        table.add_row(section.title, style="bold")
        for label, (first, *others) in beside([results.document(run) for run in runs], section.path).items():
            table.add_row(f"  {label}", first, *(cell for text in others for cell in (text, "")))
        for measure in applying(section.measures, found):
            table.add_row(f"  {measure.short}", *_beside(results, list(groups.values()), measure)[1:])
    return table


def why_lines(results: Results, runs: Sequence[str], measures: Iterable[Measure]) -> list[str]:
    """Say why some runs of schemes differ, if those of the schemes between are there."""
    known = [(results.document(run), metrics) for run in results if (metrics := results.metrics(run)) is not None]
    asked = {place for place, run in enumerate(results) if run in runs}
    lines = []
    for measure in measures:
        for places, why in explained(known, measure.read):
            if {why.before, why.after} <= {scheme_of(known[place][0]) for place in asked & {*places}}:
                lines.append(f"why: {why.said(measure)}")
    return lines


def why_command(results: Results, runs: Sequence[str], measures: Sequence[Measure]) -> list[str]:
    """Name the command that runs the schemes between those of some runs, or say why these differ if it has run."""
    first = scheme_of(results.document(runs[0]))
    for run in runs[1:]:
        if (schemes := between(first, scheme_of(results.document(run))))[2:]:
            # The scenario of the scheme with more parts has their parameters.
            vary = vary_of(Scenario.of_result(results.document(run)), schemes)
            out = f"results/why-{results.document(run)['scenario_hash'][:8]}"
            there = results_in(out) if Path(out, "runs").is_dir() else ()
            if there and (lines := why_lines(there, there.runs, measures)):
                return [*lines, f"why: the schemes between ran in {out}"]
            command = f"coflash sweep {results.where(run)}/scenario.toml {vary} --out {out}"
            return [f"why: the shares of the parts in the difference need the schemes between: {command}"]
    return []


def _beside(results: Results, groups: Sequence[Sequence[str]], measure: Measure) -> list[str | Text]:
    """Make a row: the label, the value of the first group of runs, and the other values with their changes."""
    found = [_over(results, runs, measure) for runs in groups]
    cells: list[str | Text] = [measure.label, _estimate(found[0], measure)]
    for other in found[1:]:
        relative = change(other.mean, found[0].mean)
        cells += [_estimate(other, measure), Text(show_change(relative), style=_STYLES[measure.verdict(relative)])]
    return cells


def differences_table(results: Results, runs: Sequence[str], measures: Sequence[Measure]) -> Table:
    """Make a table of the paired differences of other points from the first, with intervals and tests."""
    points = results.of_one_point()
    members = {run: [results[one] for one in next(group for group in points if run in group)] for run in runs}
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    first, *others = results.labels(runs)
    for name in ("to", "measure"):
        table.add_column(name, no_wrap=True)
    for name in (f"from {first}", "difference", "95 % over seeds", "95 % over slices"):
        table.add_column(name, justify="right", no_wrap=True)
    for label, run in zip(others, runs[1:], strict=True):
        for measure in measures:
            found = difference(measure, members[runs[0]], members[run])
            if found is None:
                continue
            seeds = f"n = {found.pairs}"
            if found.over_seeds is not None:
                seeds = _interval(found.over_seeds, measure, found.pairs)
            slices = "–" if found.over_slices is None else _interval(found.over_slices, measure)
            relative = show_change(change(found.baseline + found.mean, found.baseline))
            shift = f"{signed(found.mean, measure.unit)} ({relative})" if relative else signed(found.mean, measure.unit)
            table.add_row(label, measure.label, show(found.baseline, measure.unit), shift, seeds, slices)
    return table


def _interval(found: Interval, measure: Measure, pairs: int = 0) -> str:
    test = "p < 0.001" if found.p < 0.001 else f"p = {found.p:.3f}"
    ends = f"[{signed(found.low, measure.unit)}, {signed(found.high, measure.unit)}]"
    return f"{ends}, {f'n = {pairs}, ' if pairs else ''}{test}"


def _value(value: object, none: str) -> str:
    """Show a key's value as in a scenario."""
    return none if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _table(keys: Sequence[str], measures: Sequence[Measure]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for key in keys:
        table.add_column(key, overflow="fold", no_wrap=key == "run", min_width=len(key))
    for measure in measures:
        table.add_column(measure.label.replace(", ", ",\n"), justify="right", no_wrap=True)
    return table


def _over(results: Results, runs: Sequence[str], measure: Measure) -> Estimate:
    return estimate_of(measure, (metrics for run in runs if (metrics := results.metrics(run)) is not None))


def _estimate(found: Estimate, measure: Measure) -> str:
    return show_estimate(found, measure.unit)
