"""The words and tables of many runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from coflash.measures.measure import Measure
from coflash.quantity import show, show_change
from coflash.results.database import Results
from coflash.results.database import results as results_in
from coflash.results.differences import OF_BINS, SEEDS_OF_A_TRACE
from coflash.results.tables import estimated, shown_estimates
from coflash.results.why import between, explained, scheme_of
from coflash.scenario import Scenario
from coflash.sweep.answers import vary_of
from coflash.text_table import TextTable

if TYPE_CHECKING:
    from coflash.sweep.goal import Condition
    from coflash.sweep.tune import Trial, Tuning

_TRIALS_SHOWN = 10
_KEYS_SHOWN = 3


def seeds_note(results: Results, measures: Iterable[Measure]) -> list[str]:
    """State what intervals over seeds cover, if there are several seeds: of percentiles, and of a replayed trace."""
    if not any(len(runs) > 1 for runs in results.of_one_point()):
        return []
    notes = [OF_BINS] if any(measure.bin_width for measure in measures) else []
    return [*notes, SEEDS_OF_A_TRACE] if results.is_replayed else notes


def keys_left_out(results: Results) -> str:
    """Name the keys without a column of their own in one line; empty if all have one."""
    with_ = {key.path: key.along for key in results.apart() if key.along}
    parts = [
        f"{', '.join(others[:_KEYS_SHOWN])}{f' and {len(others) - _KEYS_SHOWN} more' if others[_KEYS_SHOWN:] else ''}"
        f" {'differs' if len(others) == 1 else 'differ'} with {path}"
        for path, others in with_.items()
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


def trials_table(tuning: Tuning) -> TextTable:
    """Make a table with a row for each of the best trials: its values, the objectives, and each bound.

    A bound that a trial breaks has a cross, and by how much of the bound.
    """
    measures = [goal.measure for goal in tuning.goals]
    table = estimated(list(tuning.best.values), measures)
    table.columns = [*table.columns, *(bound.text for bound in tuning.bounds)]
    for trial in _best_of(tuning):
        cells = shown_estimates(measures, trial.objectives)
        cells += [bound_shown(bound, excess) for bound, excess in zip(tuning.bounds, trial.excess, strict=True)]
        table.add(*trial.values.values(), *cells, style="" if trial.is_allowed else "dim")
    return table


def bound_shown(bound: Condition, excess: float) -> str:
    """Show the number that a condition bounds, and by how much it breaks the bound: 5.31 ms ✗ +6.2 %."""
    text = show(bound.value_at(excess), bound.measure.unit)
    return text if excess <= 0 else f"{text} ✗ {show_change(excess * bound.sign)}"


def _best_of(tuning: Tuning) -> Sequence[Trial]:
    """Choose the trials to show: of several objectives the Pareto front."""
    return (tuning.front if len(tuning.goals) > 1 and tuning.front else tuning.trials)[:_TRIALS_SHOWN]


def trials_line(tuning: Tuning) -> str:
    """State the number of trials in one line."""
    shown, tried = len(_best_of(tuning)), len(tuning.trials) + tuning.failed
    parts = [f"the best {shown} of {tried} trials, {tuning.failed} failed"]
    if len(tuning.goals) > 1:
        front = len(tuning.front)
        more = f", of which {shown} are shown" if shown < front else ""
        parts = [f"{tried} trials, {tuning.failed} failed", f"{front} on the Pareto front{more}"]
    if tuning.subject_to:
        parts.append(f"{sum(trial.is_allowed for trial in tuning.trials)} with {' and '.join(tuning.subject_to)}")
        for place, bound in enumerate(tuning.bounds):
            broken = [trial.excess[place] for trial in tuning.trials if trial.excess[place] > 0]
            by = f", by {show(min(broken), 'share')} to {show(max(broken), 'share')} of the bound" if broken else ""
            parts.append(f"{len(broken)} break {bound.text}{by}")
    return "; ".join(parts)
