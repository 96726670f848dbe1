"""`coflash reproduce` and `coflash study`, found by the command line through the entry points of this distribution."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from coflash._core import CoflashError
from coflash.cli.console import errors, output, show_table
from coflash.cli.options import Quiet, Workers
from coflash.text_table import TextTable
from coflash_reproduce.studies import NAMES

_LOOK: dict[str, Any] = {
    "add_completion": False,  # that of `coflash` is for all commands
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}
app, study_app = typer.Typer(**_LOOK), typer.Typer(**_LOOK)

_PAPER, _STUDY = "Which paper: cdm, shadowgc, opfcl, warp.", f"Which study: {', '.join(NAMES)}."
_SCALE = "quick: minutes, on a smaller device of the same proportions; full: as published."
_TRACE = "The paper's own trace, or one to study beside the others, where it takes one; repeat for its parts."
_OUT = "The folder for page, figures, tables and runs; results/reproduce/PAPER-SCALE or results/study/NAME-SCALE."
_PUBLISH = "Write the page and its images into this folder as well."
_INFER = "Search what the paper leaves open instead, one run at once unless --on: which readings give its numbers."

Scale = Annotated[str, typer.Option("--scale", metavar="quick|full", help=_SCALE)]
Traces = Annotated[list[str] | None, typer.Option("--trace", metavar="FILE", help=_TRACE)]
Out = Annotated[Path | None, typer.Option("--out", "-o", metavar="DIR", help=_OUT)]
Publish = Annotated[Path | None, typer.Option("--publish", metavar="DIR", help=_PUBLISH)]


@app.command()
def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help=_PAPER)],
    scale: Scale = "quick",
    trace: Traces = None,
    out: Out = None,
    publish: Publish = None,
    jobs: Workers = None,
    infer: Annotated[bool, typer.Option("--infer", help=_INFER)] = False,
    quiet: Quiet = False,
) -> None:
    """Run a paper's experiments and put its numbers beside ours; runs that are in the folder are not repeated."""
    if not infer:
        _carry_out("paper", paper, scale, trace, out, publish, jobs, quiet)
        return
    from coflash_reproduce.inference import infer as search  # slow to import

    if trace:
        raise CoflashError(f"{paper}: --infer takes no --trace: it searches the workload as well")
    place = out or Path("results/reproduce") / f"{paper}-{scale}"
    console = None if quiet else errors()
    page = search(paper, scale, out=place, publish=publish, jobs=jobs, console=console)
    if not quiet:
        output().print(f"page: {page}", highlight=False, soft_wrap=True)


@study_app.command()
def study(
    name: Annotated[str, typer.Argument(metavar="NAME", help=_STUDY)],
    scale: Scale = "quick",
    trace: Traces = None,
    out: Out = None,
    publish: Publish = None,
    jobs: Workers = None,
    quiet: Quiet = False,
) -> None:
    """Run a study and say which of its hypotheses hold; runs that are in the folder are not repeated."""
    _carry_out("study", name, scale, trace, out, publish, jobs, quiet)


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
