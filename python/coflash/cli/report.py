"""The command `coflash report`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import typer

from coflash._core import CoflashError
from coflash.cli.console import check_effect, notes
from coflash.measures.catalogue import named

Form = Literal["html", "pdf", "svg", "png"]


def report(
    results: list[Path],
    output: Path | None = None,
    format: Form = "html",
    metrics: list[str] | None = None,
    over: str | None = None,
    by: str | None = None,
    where: list[str] | None = None,
) -> None:
    """Make a self-contained HTML report of results, which needs no network; or figures for a paper.

    Options:
        results: `DIR|RUN...` Folders of results, or folders that contain them at any depth.
        output: `--out -o PATH` The file of the page, or the folder of the figures; by default report.html or figures in
            the first folder of results.
        format: `--format` A page to explore, or figures for a paper, one file for each.
        metrics: `--measure MEASURE` For figures: a measure to draw, such as waf_host. May be repeated.
        over: `--over KEY` For figures: the key of the axis.
        by: `--by KEY` For figures: the key of the lines.
    """
    # Slow to import, and no other command needs it.
    from coflash.report import Subject, check_page, write_report

    options = {"--measure": metrics, "--over": over, "--by": by}
    if format == "html":
        check_effect(options, "on a page, which draws any measure over any key; --format pdf, svg or png makes figures")
        file = output or results[0] / "report.html"
        if output or results[0].is_dir():  # what is no folder is told as that
            check_page(file)
    elif output and output.suffix.lower() in {".html", ".pdf", ".svg", ".png"}:
        raise CoflashError(f"--out: {output} was given; with --format {format} a folder is allowed, such as figures")
    subject = Subject.read(results, where or ())
    notes(subject.remarks)
    if format == "html":
        write_report(subject, file)
        typer.echo(file)
        return
    from coflash.figures.publication import METRICS, write_figures  # a page needs none

    notes(subject.assumed([named(name) for name in metrics or METRICS]))
    for written in write_figures(subject, output or results[0] / "figures", format, metrics or (), over, by):
        typer.echo(written)
