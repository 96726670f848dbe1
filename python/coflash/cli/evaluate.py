"""`coflash evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coflash import evaluation
from coflash.cli.console import check_json, errors
from coflash.cli.finding import show_finding
from coflash.cli.options import JsonFile, Quiet
from coflash.evaluation import SuiteName

_FILE = "A Python file that defines one class with @coflash.policy; or a built-in policy."
_SUITE = "The workloads; by default those of the policy's key."


def evaluate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help=_FILE)],
    suite: Annotated[SuiteName | None, typer.Option("--suite", help=_SUITE)] = None,
    cpu_seconds: Annotated[
        int, typer.Option("--cpu-seconds", metavar="N", min=1, help="The limit of processor time.")
    ] = 60,
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Compare a policy of your own with the built-in ones. Exit status 1 means that it failed."""
    check_json(json)
    judged = evaluation.evaluate(file, suite, cpu_seconds=cpu_seconds)
    show_finding(judged, json, quiet)
    if judged.note:
        errors().print(f"error: {judged.note}", style="red", highlight=False, soft_wrap=True)
        raise typer.Exit(1)
