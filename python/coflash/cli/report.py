"""`coflash report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from coflash import whole

_OUTPUT = "The page [report.html], or the folder of figures [figures]."
_METRIC = "For figures: a metric to draw, such as waf_host. May be repeated."
_OVER = "For figures: the key that makes the axis."
_BY = "For figures: the key that makes the lines."


def report(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="DIR|RUN...", help="Folders of results, or folders that hold such at any depth."),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="PATH",
            help="The file or, for figures, the folder; report.html or figures if left out.",
        ),
    ] = None,
    format: Annotated[
        Literal["html", "pdf", "svg", "png"],
        typer.Option("--format", help="A page to read and explore, or figures for a paper, one file each."),
    ] = "html",
    metrics: Annotated[list[str] | None, typer.Option("--metric", metavar="PATH", help=_METRIC)] = None,
    over: Annotated[str | None, typer.Option("--over", metavar="KEY", help=_OVER)] = None,
    by: Annotated[str | None, typer.Option("--by", metavar="KEY", help=_BY)] = None,
) -> None:
    """Make a self-contained HTML report of results, which needs no network to be read; or figures for a paper."""
    # What draws takes a while to load, and no other command needs it.
    from coflash.publication import METRICS, write_figures
    from coflash.report import Study, report_html

    if format != "html":
        for file in write_figures(Study.read(results), output or Path("figures"), format, metrics or METRICS, over, by):
            typer.echo(file)
        return
    file = output or Path("report.html")
    whole.check_file(file)
    whole.write_file(file, report_html(Study.read(results)))
    typer.echo(file)
