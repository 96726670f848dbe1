"""`coflash report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from coflash.cli import complete
from coflash.cli.console import Where, check_effect, notes
from coflash.files import atomic_write

_OUTPUT = "The file of the page, by default report.html; or the folder of the figures, by default figures."
_METRIC = "For figures: a metric to draw, such as waf_host. May be repeated."
_OVER = "For figures: the key of the axis."
_BY = "For figures: the key of the lines."


def report(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="DIR|RUN...", help="Folders of results, or folders that contain them at any depth."),
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="PATH", help=_OUTPUT),
    ] = None,
    format: Annotated[
        Literal["html", "pdf", "svg", "png"],
        typer.Option("--format", help="A page to explore, or figures for a paper, one file for each."),
    ] = "html",
    metrics: Annotated[
        list[str] | None, typer.Option("--metric", metavar="PATH", help=_METRIC, autocompletion=complete.measures)
    ] = None,
    over: Annotated[
        str | None, typer.Option("--over", metavar="KEY", help=_OVER, autocompletion=complete.key_names)
    ] = None,
    by: Annotated[str | None, typer.Option("--by", metavar="KEY", help=_BY, autocompletion=complete.key_names)] = None,
    where: Where = None,
) -> None:
    """Make a self-contained HTML report of results, which needs no network; or figures for a paper."""
    # Slow to import, and no other command needs it.
    from coflash.figures.publication import METRICS, write_figures
    from coflash.report import Study, report_html

    if format == "html":
        why = "on a page, which draws any measure over any key; --format pdf, svg or png makes figures"
        check_effect({"--metric": metrics, "--over": over, "--by": by}, why)
        file = output or Path("report.html")
        atomic_write.check_file(file)
    study = Study.read(results, where or ())
    notes(study.remarks)
    if format == "html":
        atomic_write.write_file(file, report_html(study))
        typer.echo(file)
        return
    for written in write_figures(study, output or Path("figures"), format, metrics or METRICS, over, by):
        typer.echo(written)
