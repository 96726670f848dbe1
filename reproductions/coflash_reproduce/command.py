"""`coflash reproduce` and `coflash study`, found by the command line through the entry points of this distribution.

Options:
    scale: `--scale quick|full` quick: minutes, on a smaller device of the same proportions; full: as published.
    trace: `--trace FILE` The paper's own trace, or one to study beside the others, where it takes one; repeat for
        its parts.
    publish: `--publish DIR` Write the page and its images into this folder as well.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from coflash._core import CoflashError
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
    infer: bool = False,
    quiet: bool = False,
) -> None:
    """Run a paper's experiments and put its numbers beside ours; runs that are in the folder are not repeated.

    Options:
        paper: `PAPER` Which paper: cdm, shadowgc, opfcl, warp.
        out: `--out -o DIR` The folder for page, figures, tables and runs; by default results/reproduce/PAPER-SCALE.
        infer: `--infer` Search what the paper leaves open instead, one run at once unless --on: which readings give its
            numbers.
    """
    if not infer:
        _carry_out("paper", paper, scale, trace, out, publish, workers, quiet)
        return
    from coflash_reproduce.inference import infer as search  # slow to import

    if trace:
        raise CoflashError(f"{paper}: --infer takes no --trace: it searches the workload as well")
    place = out or Path("results/reproduce") / f"{paper}-{scale}"
    console = None if quiet else errors()
    page = search(paper, scale, out=place, publish=publish, jobs=workers, console=console)
    if not quiet:
        output().print(f"page: {page}", highlight=False, soft_wrap=True)


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
) -> None:
    from coflash_reproduce.page import COLUMNS  # slow to import
    from coflash_reproduce.reproduction import reproduce as run

    place = out or Path("results") / ("reproduce" if kind == "paper" else kind) / f"{name}-{scale}"
    console = None if quiet else errors()
    done = run(name, scale, trace or (), kind=kind, out=place, publish=publish, jobs=jobs, console=console)
    lost = [one for one in done.judged if kind == "paper" and one.claim.must and not one.holds]
    if lost:
        errors().print(f"held before, and not now: {'; '.join(one.claim.what for one in lost)}", markup=False)
    if quiet and not lost:
        return
    table = TextTable(COLUMNS["claims" if kind == "paper" else "findings"], wraps=True)
    for one in done.judged:
        table.add(*one.row())
    show_table(table)
    output().print(f"page: {done.page}", highlight=False, soft_wrap=True)
    if lost:
        raise typer.Exit(1)
