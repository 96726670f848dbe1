"""`coflash reproduce` and `coflash study`, found by the command line through the entry points of this distribution.

Options:
    scale: `--scale quick|full` quick: minutes, on a smaller device of the same proportions; full: as published.
    trace: `--trace FILE` The paper's own trace, or one to study beside the others, where it takes one; repeat for
        its parts.
    publish: `--publish DIR` Write the page and its images into this folder as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from coflash.cli.console import errors, output, show_table
from coflash.cli.options import Group
from coflash.text_table import TextTable

app = Group(context_settings={"help_option_names": ["-h", "--help"]})
study_app = Group(context_settings={"help_option_names": ["-h", "--help"]})


@app.command()
def reproduce(
    paper: str,
    scale: str = "quick",
    trace: list[str] | None = None,
    out: Path | None = None,
    publish: Path | None = None,
    workers: int | None = None,
    figure: str | None = None,
    quiet: bool = False,
) -> None:
    """Run a paper's experiments and put its numbers beside ours; runs that are in the folder are not repeated.

    Exit status 1 means that a statement is lost: it is known to hold at this scale, and does not in these runs.

    Options:
        paper: `PAPER` Which paper: cdm, shadowgc, opfcl, warp.
        figure: `--figure NAME` One figure or table, such as figure-6, with the runs that it needs. "list" lists all
            with their experiments, and runs nothing.
        out: `--out -o DIR` The folder for page, figures, tables and runs; by default results/reproduce/PAPER-SCALE.
    """
    if figure == "list":
        _list(paper, scale, trace or ())
        return
    _carry_out("paper", paper, scale, trace, out, publish, workers, quiet, figure)


@study_app.command()
def study(
    name: str,
    scale: str = "quick",
    trace: list[str] | None = None,
    out: Path | None = None,
    publish: Path | None = None,
    workers: int | None = None,
    quiet: bool = False,
) -> None:
    """Run a study and say which of its hypotheses hold; runs that are in the folder are not repeated.

    Options:
        name: `NAME` Which study: cdm-victim-scores, frozen-spare, removable-weight, caching-less, eviction-policies,
            placement, handles, all-three, atlas.
        out: `--out -o DIR` The folder for page, figures, tables and runs; by default results/study/NAME-SCALE.
    """
    _carry_out("study", name, scale, trace, out, publish, workers, quiet)


def _carry_out(
    kind: Any,
    name: str,
    scale: str,
    trace: list[str] | None,
    out: Path | None,
    publish: Path | None,
    jobs: int | None,
    quiet: bool,
    figure: str | None = None,
) -> None:
    from coflash_reproduce.claim import lost, tally  # slow to import
    from coflash_reproduce.page import COLUMNS
    from coflash_reproduce.reproduction import reproduce as run

    place = out or Path("results") / ("reproduce" if kind == "paper" else kind) / f"{name}-{scale}"
    console = None if quiet else errors()
    done = run(
        name, scale, trace or (), kind=kind, figure=figure, out=place, publish=publish, jobs=jobs, console=console
    )
    gone = lost(done.judged, done.before or ()) if kind == "paper" else []
    if gone:
        errors().print(f"held at this scale before, and not now: {'; '.join(gone)}", markup=False, soft_wrap=True)
    if quiet and not gone:
        return
    output().print(done.answer.replace("**", ""), markup=False, highlight=False)
    table = TextTable(COLUMNS["claims" if kind == "paper" else "findings"], wraps=True)
    for one in done.judged:
        table.add(*one.row())
    show_table(table)
    output().print(f"page: {done.page}", highlight=False, soft_wrap=True)
    if kind == "paper":
        output().print(tally(done.judged, done.before), highlight=False, soft_wrap=True)
    if gone:
        raise typer.Exit(1)


def _list(paper: str, scale: str, traces: Sequence[str]) -> None:
    """List the figures and tables of a paper with their experiments."""
    from coflash_reproduce.reproduction import investigation, needed, one_of  # slow to import

    of = investigation("paper", paper)
    one_of("scale", scale, list(of.text.scales))
    experiments = of.experiments(scale, tuple(traces))
    table = TextTable(("figure or table", "runs", "experiments"), wraps=True)
    for exhibit in of.exhibits:
        part = needed(of, exhibit.name, experiments)
        runs = sum(len(one.cases) * one.seeds for one in part)
        names = "all" if len(part) == len(experiments) else ", ".join(one.name for one in part)
        table.add(f"{exhibit.name}: {of.text.titles[exhibit.name]}", str(runs), names)
    show_table(table)
