"""The tables of results: runs side by side, many runs, and the differences between points."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from coflash.measures.measure import HEADLINE, MEASURES, OVERALL, Measure, applying, causes, sum_of
from coflash.measures.metrics import Metrics
from coflash.measures.sections import sections
from coflash.quantity import change, show, show_change
from coflash.results.assumptions import NONE, assumptions_of, beside
from coflash.results.estimate import Estimate, estimate_of, show_estimate
from coflash.scenario import text_of
from coflash.text_table import Cell, TextTable, sparkline

if TYPE_CHECKING:
    from coflash.results.database import Results
    from coflash.results.result import Result

_SHARE_WIDTH, _COURSE_WIDTH = 7, 24


def estimated(keys: Sequence[str], measures: Sequence[Measure], title: str = "") -> TextTable:
    """Begin a table with columns for keys, and for measures; `shown_estimates` makes the cells of the latter."""
    names = [measure.label.replace(", ", ",\n") for measure in measures]
    return TextTable([*keys, *names], "l" * len(keys) + "r", title=title)


def shown_estimates(measure: Measure, estimates: Sequence[Estimate]) -> list[str]:
    """Show estimates of a measure that stand together: all in the unit of the least, unless they are far apart."""
    means = [abs(one.mean) for one in estimates if one.mean]
    least = min(means) if means and max(means) < 1000 * min(means) else None
    return [show_estimate(one, measure.unit, least) for one in estimates]


def runs_table(
    results: Results, measures: Sequence[Measure], *, over_seeds: bool = False, title: str = ""
) -> TextTable:
    """Make a table with a row for each run, or for each point with means over its seeds, sorted by varying keys."""
    groups: list[tuple[str, ...]] = results.of_one_point() if over_seeds else [(run,) for run in results.in_order()]
    names = results.shortened()
    keys = [key for key in results.apart() if not (over_seeds and key.path == "seed")]
    places = {run: place for place, run in enumerate(results)}
    revisions = {run: str(results.document(run).get("revision", 0)) for run in results}
    revised = ["revision"] if len({*revisions.values()}) > 1 else []
    columns = ["run", *revised, *(key.path for key in keys), *(["seeds"] if over_seeds else [])]
    table = estimated(columns, measures, title)
    known = [[one for run in runs if (one := results.metrics(run)) is not None] for runs in groups]
    shown = [shown_estimates(measure, [estimate_of(measure, each) for each in known]) for measure in measures]
    for runs, *cells in zip(groups, *shown, strict=True):
        revision = [revisions[runs[0]]] if revised else []
        values = ["" if (one := key.values[key.codes[places[runs[0]]]]) is None else text_of(one) for key in keys]
        count = [str(len(runs))] if over_seeds else []
        table.add(names[runs[0]], *revision, *values, *count, *cells)
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
        (key, ["–" if (one := results.scenario(run).get(key)) is None else text_of(one) for run in runs])
        for key in results.varied()
        if not (over_seeds and key == "seed")
    ]
    revisions = [str(results.document(run).get("revision", 0)) for run in runs]
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

    Beside the numbers of a single run stand shares and courses.

    Args:
        names: The names of the groups.
        keys: The rows above the measures: a name, and the text of each group.
        groups: The documents of the runs of each group, whose means are shown.
        measures: The measures; if none are given, each part that any run has gets a section.
        title: The title.
    """
    first, *others = names
    is_one = len(groups) == 1
    columns = ["", first, *([""] if is_one else []), *(name for other in others for name in (other, "change"))]
    table = TextTable(columns, "lrl" if is_one else "lr", wraps=True, title=title)
    metrics = [[Metrics(document["metrics"]) for document in group] for group in groups]
    whole = [one for group in metrics for one in group]

    def add(label: str, texts: Sequence[str]) -> None:
        table.add(label, texts[0], *(cell for text in texts[1:] for cell in (text, "")))

    def add_measures(shown: Iterable[Measure], *, are_short: bool = True, indent: str = "") -> None:
        for measure in shown:
            cells = changes(measure, [estimate_of(measure, group) for group in metrics])
            if is_one and (share := measure.share(whole[0])) is not None:
                cells.append(Cell(show(share, "share").rjust(_SHARE_WIDTH), "dim"))
            table.add(indent + (measure.short if are_short else measure.label), *cells)

    for key, texts in keys:
        add(key, texts)
    table.begin()
    add_measures(measures or applying(HEADLINE, whole), are_short=False)
    if measures:
        return table
    table.begin()
    add_measures(_programs(whole), are_short=False)
    table.begin()
    add_measures(applying(OVERALL, whole))
    for section in sections(whole):
        table.begin(section.title)
        taken = beside([group[0] for group in groups], section.path)
        for label, texts in taken.items() if not is_one else ():
            add(f"  {label}", texts)
        for label, one in assumptions_of(groups[0][0], section.path).items() if is_one else ():
            table.add(f"  {label}", one.shown, Cell(one.origin, "dim"))
        shown = (one for one in applying(section.measures, whole) if NONE in taken.get(one.label, NONE))
        add_measures(shown, indent="  ")
        for label, shares in section.courses(whole[0]).items() if is_one else ():
            if shares:
                drawn = Cell(sparkline(shares, _COURSE_WIDTH, 0.0, 1.0), "dim")
                table.add(f"  {label}, at the end", show(shares[-1], "share"), drawn)
    table.begin()
    add_measures([MEASURES["simulated_ns"]])
    return table


def _programs(runs: Sequence[Metrics]) -> list[Measure]:
    """Return the pages programmed by each cause that occurred, as parts of all."""
    names = causes(runs)
    known = [MEASURES[f"programs_pages.{cause}"] for cause in names]
    whole = sum_of(measure.path for measure in known)
    programs = (
        replace(measure, label=f"pages programmed, {name}", whole=whole, is_rare=True)
        for measure, name in zip(known, names.values(), strict=True)
    )
    return applying(programs, runs)


def run_table(result: Result) -> TextTable:
    """Make the table of one run: common measures, then a section for each part that only some runs have."""
    return beside_table([""], (), [[result.document]])


def changes(measure: Measure, estimates: Sequence[Estimate]) -> list[Cell]:
    """Return the cells of estimates: the first, and each other one with its change from it, judged if beyond noise."""
    first, *others = shown_estimates(measure, estimates)
    cells = [Cell(first)]
    for text, one in zip(others, estimates[1:], strict=True):
        relative = change(one.mean, estimates[0].mean)
        noise = math.hypot(one.half_width or 0.0, estimates[0].half_width or 0.0)
        beyond = relative if abs((one.mean or 0.0) - (estimates[0].mean or 0.0)) > noise else None
        cells += [Cell(text), Cell(show_change(relative), measure.verdict(beyond))]
    return cells
