"""The page of a paper or a study: its statements beside our numbers, each figure with its numbers, the differences.

Every number of ours is computed from the runs when the page is written; none is typed.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

from coflash._core import REVISION, __version__
from coflash.quantity import agreed, change, show_change
from coflash.results.estimate import Estimate
from coflash_reproduce.claim import (
    COUNTED,
    HOLDS,
    INPUT,
    NEAR,
    PREDICTION,
    TARGET,
    UNJUDGED,
    Judged,
    Paper,
    counts,
    each,
    judge,
)
from coflash_reproduce.drawing import lines_of
from coflash_reproduce.opening import LEFT_OPEN, opening
from coflash_reproduce.output import SHOWN
from coflash_reproduce.paper import Exhibit, Experiment, Figure, Grid, Investigation, Picture, Runs, spread
from coflash_reproduce.study import Study, Tested

COLUMNS = {"claims": ("", "", "paper", "here", "refuted by", ""), "findings": ("hypothesis", "refuted by", "found", "")}
"""The columns of the table of claims, and of that of findings."""
ASKED = ("", "", "asked", "here", "refuted by", "")
"""Those of what no paper states."""
_SHOWN = {
    "": "",
    INPUT: "Inputs: numbers for which something unknown was chosen. One outside its own range is missed.",
    TARGET: "Targets of ours: no paper states these thresholds.",
    PREDICTION: "Predictions, made before the measured numbers were looked at. The paper does not make them.",
}
"""Why statements on a page are not counted, and what their tables say of it."""


def judged(of: Paper | Study, runs: Runs) -> list[Judged] | list[Tested]:
    """Compare each claim with every experiment that it is about, or test each hypothesis."""
    if isinstance(of, Study):
        return of.test(runs)
    return judge(of.claims, runs)


def cells(found: Sequence[Judged] | Sequence[Tested]) -> list[tuple[str, ...]]:
    """Return the cells of all statements but those that are another reading of one."""
    return [one.row() for one in found if isinstance(one, Tested) or one.claim.aside in _SHOWN]


def statements_of(of: Paper | Study) -> str:
    """Return what its statements are called: claims or findings."""
    return "findings" if isinstance(of, Study) else "claims"


def markdown(of: Paper | Study, name: str, scale: str, options: Sequence[str], runs: Runs, images: str) -> str:
    """Write the page.

    Args:
        of: The paper or the study.
        name: The name of the page, which that of other readings has, too.
        scale: The scale of the runs.
        options: The other options of the command.
        runs: Its runs.
        images: The folder of the images, as the page refers to it.
    """
    said = of.text.bodies
    if isinstance(of, Study):
        tested = of.test(runs)
        command, told_first, limits = "study", ["question"], "limits"
        held, lost = (sum(one.verdict == verdict for one in tested) for verdict in (HOLDS, UNJUDGED))
        not_judged = f", and {lost} could not be judged: no run that is steady tells of them" if lost else ""
        rows = cells(tested)
        answer = [
            "## What was found",
            f"Of {len(tested)} hypotheses {held} {agreed(held, 'holds')}{not_judged}. "
            "Numbers after ± are half-widths of 95 % confidence intervals over seeds.",
            table(Grid(COLUMNS["findings"], tuple(rows))),
            said["answer"].format_map(of.answer(runs)),
            *of.explanation(runs),
        ]
    else:
        command, told_first, limits = "reproduce", ["source", "idea"], "open questions"
        found = judge(of.claims, runs)
        rows = cells(found)
        verdicts = [one.verdict for one in found if one.verdict in COUNTED]
        tallies = (f"{verdicts.count(verdict)} {words}" for verdict, words in COUNTED.items() if verdict in verdicts)
        asides = {aside: [one for one in found if one.claim.aside == aside] for aside in _SHOWN if aside}
        predicted = "or they are targets of ours, or predictions; " if asides[PREDICTION] else ""
        told = f"[another reading]({name}-readings.md)" if readings(of, name, runs) else "another reading"
        answer = [
            "## What holds",
            f"The runs could have refuted {len(verdicts)} of {len(found)} statements: {', '.join(tallies)}. The others "
            "say nothing here, since the runs have nothing that could refute them; or they are inputs, for which "
            f"something unknown was chosen; {predicted}or they are {told} of a number that is counted.",
            table(counts(found)),
            f"A number holds if ours is within {NEAR:.0%} of it, and in its direction if ours is a change of the same "
            f"sign and at least {NEAR:.0%} of its size; a best share is a step off at the next place. Where the paper "
            "has an effect, none does not hold. Two numbers are the ends of a range, or the legs of a curve; its falls "
            "and rises are shares of its greatest value.",
            _claims([one for one in found if not one.claim.aside]),
            *(part for aside, those in asides.items() if those for part in (_SHOWN[aside], _claims(those, aside))),
        ]
    made = [*(said[name] for name in told_first), *made_by(command, of, scale, options, runs)]
    first = opening(of, rows, unsteady(of, runs), images)
    last = [f"## {LEFT_OPEN[type(of)]}", said[limits]]
    parts = [f"# {of.text.title}", *first, *made, *answer, *exhibits(of, runs, images), *last]
    return "\n\n".join(parts) + "\n"


def readings(of: Paper, name: str, runs: Runs) -> str:
    """Write the page of other readings of what a page counts, by its name; empty if there are none."""
    found = [one for one in judge(of.claims, runs) if one.claim.aside not in _SHOWN]
    told = f"What [the page]({name}.md) counts, read in another way, or under other workloads. None of it is counted."
    return "\n\n".join([f"# {of.text.title}: other readings", told, _claims(found)]) + "\n" if found else ""


def _claims(found: Sequence[Judged], aside: str = "") -> str:
    return table(Grid(ASKED if aside in (TARGET, PREDICTION) else COLUMNS["claims"], tuple(one.row() for one in found)))


def made_by(command: str, of: Investigation, scale: str, options: Sequence[str], runs: Runs) -> Iterator[str]:
    """Yield the paragraphs that say how the page was made."""
    made = f"coflash {command} {of.name} --scale {scale}"
    whole = " ".join([made, *options])
    different = {run.key: run for run in (*runs, *runs.left_out)}.values()  # experiments may share runs
    requests = sum(run.metrics.requests for run in different)
    yield f"<!-- Written by `{made}`; every number below comes from its runs. -->"
    yield (
        f"`{whole}` made this page (coflash {__version__}, revision {REVISION} of results): "
        f"{len(different)} runs, {requests:,} requests. "
        f"{of.text.scales[scale]}"
    )


def unsteady(of: Investigation, runs: Runs) -> str:
    """Say how many of the runs were not steady by their own notes, and what became of them; empty if all were."""
    every = (*runs, *runs.left_out)
    different = {run.key: run for run in every}.values()
    if not (noted := sum(bool(run.unsteady) for run in different)):
        return ""
    said = f"By their own notes, {noted} of {len(different):,} runs say nothing of a steady state"
    if isinstance(of, Study) and of.unsteady_too:
        return f"{said}; they are judged, too: {of.unsteady_too}"
    total = Counter(run.experiment.title for run in every)
    out = Counter(run.experiment.title for run in runs.left_out)
    each = ", ".join(f"{title} {out[title]} of {total[title]}" for title in total if out[title])
    return (
        f"{said}, and are left out, with workloads less than two thirds of which are steady: {each}" if each else said
    )


def exhibits(of: Investigation, runs: Runs, images: str) -> Iterator[str]:
    """Yield the paragraphs of the figures and tables; the images are in the folder `images`."""
    for exhibit in of.exhibits:
        title = of.text.titles[exhibit.name]
        yield f"## {exhibit.name.replace('-', ' ').capitalize()}: {title}"
        if not isinstance(exhibit, Exhibit):
            yield f"![{title}]({images}/{of.name}-{exhibit.name}.{SHOWN})"
        yield from _figure_tables(exhibit, runs) if isinstance(exhibit, Figure) else [table(exhibit.grid(runs))]
        yield " ".join([of.text.bodies[exhibit.name], *exhibit.notes(runs)])


def figure_csv(figure: Figure, runs: Runs) -> str:
    """Write the numbers of a figure as CSV: a row for each run, exactly as in the store."""
    rows = [("experiment", "line", "at", figure.measure.label, "run")]
    for experiment in figure.panels(runs):
        if figure.lines is not None:
            lines = figure.lines(runs, experiment)
            rows += [
                (experiment.name, line.label, repr(at), repr(value), "") for line in lines for at, value in line.points
            ]
            continue
        rows += [
            (experiment.name, run.case.line, repr(run.case.at), repr(figure.measure.read(run.metrics)), run.key)
            for run in runs.of(experiment.name)
            if not figure.only or run.case.line in figure.only
        ]
    beside = {line: None for experiment in figure.panels(runs) for line in figure.beside(runs, experiment)}
    rows += [("", line.label, repr(at), repr(value), "") for line in beside for at, value in line.points]
    return csv_of(rows)


def exhibit_csv(exhibit: Figure | Exhibit | Picture, runs: Runs) -> str:
    """Write the numbers of a figure, or a table as it is shown, as CSV."""
    if isinstance(exhibit, Figure):
        return figure_csv(exhibit, runs)
    grid = exhibit.grid(runs)
    return csv_of([grid.columns, *grid.rows])


def statements_csv(of: Paper | Study, runs: Runs) -> str:
    """Write the paper's numbers beside ours, with all digits, or the hypotheses and what was found, as CSV."""
    found = judged(of, runs)
    rows: list[Sequence[str]] = [("exhibit", "what", "experiment", "paper", "here", "verdict")]
    for one in found:
        if isinstance(one, Tested):
            continue
        about = (one.claim.exhibit, one.claim.what, one.experiment.name if one.experiment else "")
        for published, ours in itertools.zip_longest(each(one.claim.paper), one.ours):
            rows.append((*about, repr(published), repr(ours), one.verdict))
    return csv_of([COLUMNS["findings"], *(one.row() for one in found)] if isinstance(of, Study) else rows)


def table(grid: Grid) -> str:
    """Write a table in Markdown."""
    rule = ["---"] * len(grid.columns)
    return "\n".join(f"| {' | '.join(row)} |" for row in (grid.columns, rule, *grid.rows))


def _figure_tables(figure: Figure, runs: Runs) -> Iterator[str]:
    panels = figure.panels(runs)
    for experiment in panels:
        if len(panels) > 1:
            yield f"{figure.measure.label[0].upper()}{figure.measure.label[1:]}, {experiment.title}:"
        yield table(_figure_grid(figure, runs, experiment))


def _figure_grid(figure: Figure, runs: Runs, experiment: Experiment) -> Grid:
    lines = [*lines_of(runs, experiment, figure), *figure.beside(runs, experiment)]
    values = {line.label: dict(line.points) for line in lines}
    halves = {line.label: dict(zip(values[line.label], line.half_widths, strict=False)) for line in lines}
    base = values.get(figure.baseline or "", {})
    places = sorted({at for of in values.values() for at in of})
    columns, rows = [figure.axis.label], [[figure.axis.text(at)] for at in places]
    for label, of in values.items():
        columns.append(label)
        for row, at in zip(rows, places, strict=True):
            half = halves[label].get(at)
            row.append(spread(Estimate(of.get(at), half, 0), figure.measure.unit))
        if base and of is not base:
            columns.append("change")
            for row, at in zip(rows, places, strict=True):
                row.append(show_change(change(of.get(at), base.get(at))))
    return Grid(tuple(columns), tuple(map(tuple, rows)))


def csv_of(rows: Sequence[Sequence[str]]) -> str:
    """Write rows as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
