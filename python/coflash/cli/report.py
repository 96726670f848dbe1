"""`coflash report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coflash import whole
from coflash.report import Study, report_html


def report(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="DIR|RUN...", help="Folders of results, or folders that hold such at any depth."),
    ],
    file: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The HTML file to write.")] = Path(
        "report.html"
    ),
) -> None:
    """Make a self-contained HTML report of results: tables and plots, no network needed to read it."""
    whole.check_file(file)
    whole.write_file(file, report_html(Study.read(results)))
    typer.echo(file)
