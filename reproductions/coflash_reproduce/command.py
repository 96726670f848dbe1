"""`coflash reproduce`, which the command line of coflash finds by the entry point of this distribution."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coflash.cli.console import Quiet, errors, output, plain_table

app = typer.Typer(
    add_completion=False,  # that of `coflash` is for all commands
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_SCALE = "quick: minutes, on a smaller device of the same proportions; full: as published."
_OUT = "The folder for page, figures, tables and runs; results/reproduce/PAPER-SCALE if left out."
_INFER = "Search what the paper leaves open instead: which readings give its numbers, and which do not."
_PUBLISH = "Write the page and its images into this folder as well."


@app.command()
def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="Which paper: cdm, shadowgc, opfcl.")],
    scale: Annotated[str, typer.Option("--scale", metavar="quick|full", help=_SCALE)] = "quick",
    trace: Annotated[
        list[str] | None,
        typer.Option("--trace", metavar="FILE", help="The paper's own trace, where you have it; repeat for its parts."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="DIR", help=_OUT)] = None,
    publish: Annotated[Path | None, typer.Option("--publish", metavar="DIR", help=_PUBLISH)] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--workers",
            "--jobs",
            metavar="N",
            min=1,
            help="Runs at once; by default one for each core, with --infer 1.",
        ),
    ] = None,
    infer: Annotated[bool, typer.Option("--infer", help=_INFER)] = False,
    quiet: Quiet = False,
) -> None:
    """Run a paper's experiments and put its numbers beside ours; runs that are in the folder are not repeated."""
    from coflash_reproduce.inference import infer as search  # both are slow to import
    from coflash_reproduce.reproduction import reproduce as run

    place = out or Path("results/reproduce") / f"{paper}-{scale}"
    console = None if quiet else errors()
    if infer:
        page = search(paper, scale, trace or (), out=place, publish=publish, jobs=jobs, console=console)
        if not quiet:
            output().print(f"page: {page}", highlight=False, soft_wrap=True)
        return
    done = run(paper, scale, trace or (), out=place, publish=publish, jobs=jobs, console=console)
    if quiet:
        return
    shown = plain_table("", "", "paper", "here", "deviation", "")
    for one in done.judged:
        shown.add_row(*one.row())
    output().print(shown)
    output().print(f"page: {done.page}", highlight=False, soft_wrap=True)
