"""`coflash evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coflash import evaluation
from coflash.cli.console import check_json, errors, output, show_table, write_json
from coflash.cli.options import JsonFile, Quiet
from coflash.evaluation import SuiteName
from coflash.text_table import TextTable

_FILE = "A Python file that defines one class with @coflash.policy; or a built-in policy."


def evaluate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help=_FILE)],
    suite: Annotated[
        SuiteName | None, typer.Option("--suite", help="The workloads; by default those of the policy's key.")
    ] = None,
    cpu_seconds: Annotated[
        int, typer.Option("--cpu-seconds", metavar="N", min=1, help="The limit of processor time.")
    ] = 60,
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Compare a policy of your own with the built-in ones. Exit status 1 means that it failed."""
    check_json(json)
    found = evaluation.evaluate(file, suite, cpu_seconds=cpu_seconds)
    write_json(json, found.to_json())
    if not quiet:
        table = TextTable(["workload", file.stem, "best built-in", "", "bound", "score"], "lr")
        for row in found.rows:
            numbers = [f"{number:.3f}" for number in (row.value, row.best_value, row.bound, row.score)]
            table.add(row.workload, *numbers[:2], row.best, *numbers[2:])
        table.add("combined", "", "", "", "", f"{found['combined_score']:.3f}")
        show_table(table, console=output() if json is None else errors())
    if found.note:
        errors().print(f"error: {found.note}", style="red", highlight=False, soft_wrap=True)
        raise typer.Exit(1)
