"""`coflash study`, which the command line of coflash finds by the entry point of this distribution."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coflash.cli.console import Quiet, Workers, errors, output, plain_table

app = typer.Typer(
    add_completion=False,  # that of `coflash` is for all commands
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

NAMES = ("cdm-victim-scores", "frozen-spare", "removable-weight", "caching-less", "eviction-policies", "placement")
_SCALE = "quick: seconds, on a smaller device with fewer seeds; full: as published."
_OUT = "The folder for page, figures, tables and runs; results/study/NAME-SCALE if left out."


@app.command()
def study(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"Which study: {', '.join(NAMES)}.")],
    scale: Annotated[str, typer.Option("--scale", metavar="quick|full", help=_SCALE)] = "quick",
    trace: Annotated[
        list[str] | None,
        typer.Option("--trace", metavar="FILE", help="A trace to study beside the others, if it takes one."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", metavar="DIR", help=_OUT)] = None,
    publish: Annotated[
        Path | None,
        typer.Option("--publish", metavar="DIR", help="Write the page and its images into this folder as well."),
    ] = None,
    jobs: Workers = None,
    quiet: Quiet = False,
) -> None:
    """Run a study and say which of its hypotheses hold; runs that are in the folder are not repeated."""
    from coflash_reproduce.reproduction import study as run  # slow to import
    from coflash_reproduce.study_page import COLUMNS

    place = out or Path("results/study") / f"{name}-{scale}"
    console = None if quiet else errors()
    done = run(name, scale, trace or (), out=place, publish=publish, jobs=jobs, console=console)
    if quiet:
        return
    table = plain_table(*COLUMNS)
    for one in done.tested:
        table.add_row(*one.row())
    output().print(table)
    output().print(f"page: {done.page}", highlight=False, soft_wrap=True)
