"""The tables of results: runs side by side, many runs, and the differences between points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from coflash.measures.measure import HEADLINE, OVERALL, Measure, applying
from coflash.measures.renamed import metrics_of
from coflash.measures.sections import sections
from coflash.quantity import change, show, show_change, signed
from coflash.results.assumptions import beside
from coflash.results.differences import Interval, difference
from coflash.results.estimate import Estimate, estimate_of, show_estimate
from coflash.text_table import Cell, TextTable

if TYPE_CHECKING:
    from coflash.results.database import Results


def estimated(keys: Sequence[str], measures: Sequence[Measure], title: str = "") -> TextTable:
    """Begin a table with columns for keys, and for measures; `shown_estimates` makes the cells of the latter."""
    names = [measure.label.replace(", ", ",\n") for measure in measures]
    return TextTable([*keys, *names], "l" * len(keys) + "r", title=title)


def shown_estimates(measures: Sequence[Measure], estimates: Iterable[Estimate]) -> list[str]:
    """Show the estimates of measures."""
    return [show_estimate(one, measure.unit) for one, measure in zip(estimates, measures, strict=True)]


def runs_table(
    results: Results, measures: Sequence[Measure], *, over_seeds: bool = False, title: str = ""
) -> TextTable:
    """Make a table with a row for each run, or for each point with means over its seeds, sorted by varying keys."""
    groups: list[tuple[str, ...]] = results.of_one_point() if over_seeds else [(run,) for run in results.in_order()]
    names = results.shortened()
    keys = [key.path for key in results.apart() if not (over_seeds and key.path == "seed")]
    revised = ["revision"] if results.is_of_several_revisions else []
    table = estimated(["run", *revised, *keys, *(["seeds"] if over_seeds else [])], measures, title)
    for runs in groups:
        revision = [str(results.revision(runs[0]))] if revised else []
        values = [_value(results.value(runs[0], key), "") for key in keys]
        count = [str(len(runs))] if over_seeds else []
        metrics = [one for run in runs if (one := results.metrics(run)) is not None]
        found = (estimate_of(measure, metrics) for measure in measures)
        table.add(names[runs[0]], *revision, *values, *count, *shown_estimates(measures, found))
    return table


def runs_beside(
    results: Results, runs: Sequence[str], measures: Sequence[Measure] | None = None, *, over_seeds: bool = False
) -> TextTable:
    """Make a table with a column for each run: differing keys, and every measure with its change from the first run.

    With `over_seeds` a run stands for all seeds of its point, and means are compared.
    """
    groups: list[tuple[str, ...]] = [(run,) for run in runs]
    if over_seeds:
        groups = [next(group for group in results.of_one_point() if run in group) for run in runs]
    keys = [
        (key, [_value(results.scenario(run).get(key), "–") for run in runs])
        for key in results.varied()
        if not (over_seeds and key == "seed")
    ]
    revisions = [str(results.revision(run)) for run in runs]
    rows = [(key, texts) for key, texts in (*keys, ("revision", revisions)) if len(set(texts)) > 1]
    if over_seeds:
        rows.append(("seeds", [str(len(group)) for group in groups]))
    documents = [[results.document(run) for run in group] for group in groups]
    names = results.shortened()
    return beside_table([names[run] for run in runs], rows, documents, measures)


def beside_table(
    names: Sequence[str],
    keys: Iterable[tuple[str, Sequence[str]]],
    groups: Sequence[Sequence[Mapping[str, Any]]],
    measures: Sequence[Measure] | None = None,
    title: str = "",
) -> TextTable:
    """Make a table with a column for each group of runs, which are compared with the first one.

    Args:
        names: The names of the groups.
        keys: The rows above the measures: a name, and the text of each group.
        groups: The documents of the runs of each group, whose means are shown.
        measures: The measures; if none are given, each part that any run has gets a section.
        title: The title.
    """
    first, *others = names
    table = TextTable(
        ["", first, *(name for other in others for name in (other, "change"))], "lr", wraps=True, title=title
    )

    def add(label: str, texts: Sequence[str]) -> None:
        table.add(label, texts[0], *(cell for text in texts[1:] for cell in (text, "")))

    for key, texts in keys:
        add(key, texts)
    table.begin()
    metrics = [[metrics_of(document) for document in group] for group in groups]
    whole = [one for group in metrics for one in group]
    for measure in measures or applying(dict.fromkeys((*HEADLINE, *OVERALL)), whole):
        table.add(measure.label, *changes(measure, [estimate_of(measure, group) for group in metrics]))
    for section in [] if measures else sections(whole):
        table.begin(section.title)
        for label, texts in beside([group[0] for group in groups], section.path).items():
            add(f"  {label}", texts)
        for measure in applying(section.measures, whole):
            table.add(f"  {measure.short}", *changes(measure, [estimate_of(measure, group) for group in metrics]))
    return table


def changes(measure: Measure, estimates: Sequence[Estimate]) -> list[Cell]:
    """Return the cells of estimates: the first, and each other one with its change from it."""
    first, *others = (show_estimate(one, measure.unit) for one in estimates)
    cells = [Cell(first)]
    for text, one in zip(others, estimates[1:], strict=True):
        relative = change(one.mean, estimates[0].mean)
        cells += [Cell(text), Cell(show_change(relative), measure.verdict(relative))]
    return cells


def differences_table(results: Results, runs: Sequence[str], measures: Sequence[Measure]) -> TextTable:
    """Make a table of the paired differences of other points from the first, with intervals and tests."""
    points = results.of_one_point()
    members = {run: [results[one] for one in next(group for group in points if run in group)] for run in runs}
    first, *others = results.labels(runs)
    heads = ["to", "measure", f"from {first}", "difference", "95 % over seeds", "95 % over slices"]
    table = TextTable(heads, "llr")
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
            table.add(label, measure.label, show(found.baseline, measure.unit), shift, seeds, slices)
    return table


def _interval(found: Interval, measure: Measure, pairs: int = 0) -> str:
    test = "p < 0.001" if found.p < 0.001 else f"p = {found.p:.3f}"
    ends = f"[{signed(found.low, measure.unit)}, {signed(found.high, measure.unit)}]"
    return f"{ends}, {f'n = {pairs}, ' if pairs else ''}{test}"


def _value(value: object, none: str) -> str:
    """Show a key's value as in a scenario."""
    return none if value is None else str(value).lower() if isinstance(value, bool) else str(value)
