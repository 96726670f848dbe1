"""`coflash report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coflash import whole
from coflash.comparison import Comparison
from coflash.report import report_html


def report(
    results: Annotated[Path, typer.Argument(metavar="DIR", help="What `run --out` or `demo` wrote.")],
    file: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The HTML file to write.")],
) -> None:
    """Make a self-contained HTML report of results: tables and plots, no network needed to read it."""
    whole.check_file(file)
    whole.write_file(file, report_html(Comparison.load(results)))
    typer.echo(file)
