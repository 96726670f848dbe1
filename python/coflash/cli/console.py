"""Where the command line writes, and what every command shares."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from coflash import whole
from coflash._core import CoflashError
from coflash.scenario import Scenario

STANDARD_OUTPUT = Path("-")

_WIDEST = 10_000

ScenarioName = Annotated[
    str, typer.Argument(metavar="SCENARIO", help="Name of a preset ('coflash scenario list'), or a TOML file.")
]
Assignments = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a key, such as cache.size=64MiB. May be repeated."),
]
JsonFile = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Write the result as JSON; - is standard output."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show neither progress nor tables.")]


def output() -> Console:
    """For what was asked for."""
    return Console()


def errors() -> Console:
    """For progress and complaints."""
    return Console(stderr=True)


def scenario_with(name: str, assignments: list[str] | None) -> Scenario:
    """The scenario of that name with `--set` applied.

    Raises:
        CoflashError: There is none, or an assignment is wrong.
    """
    pairs = assigned("--set", assignments, "cache.size=64MiB")
    scenario = Scenario.load(name)
    return scenario.set(pairs) if pairs else scenario


def assigned(option: str, assignments: list[str] | None, example: str) -> list[tuple[str, str]]:
    """The keys and values of an option such as `--set`.

    Raises:
        CoflashError: One is not written KEY=VALUE.
    """
    pairs = []
    for assignment in assignments or []:
        key, equals, value = assignment.partition("=")
        if not equals or not key.strip():
            msg = f"{option}: '{assignment}' is no assignment; write KEY=VALUE, such as {example}"
            raise CoflashError(msg)
        pairs.append((key.strip(), value.strip()))
    return pairs


def check_json(file: Path | None) -> None:
    """Raises before the work what `write_json` would raise after it."""
    if file is not None and file != STANDARD_OUTPUT:
        whole.check_file(file)


def write_json(file: Path | None, text: str) -> None:
    """Writes the text where `--json` says, if it says anything."""
    if file == STANDARD_OUTPUT:
        typer.echo(text, nl=not text.endswith("\n"))
    elif file is not None:
        whole.write_file(file, text)


def show_json(value: Any) -> None:
    """Prints JSON, in colour on a terminal and plainly anywhere else."""
    output().print_json(data=value)


def show_table(table: Table, console: Console) -> None:
    """Prints a table whole: where the terminal is too narrow for it, its lines go on in the next."""
    wide = console.options.update(max_width=_WIDEST)
    before, needed = console.width, Measurement.get(console, wide, table).minimum
    console.width = max(before, needed)
    try:
        console.print(table, crop=False)
    finally:
        console.width = before


def notes(remarks: Iterable[str]) -> None:
    """Says what had to be assumed or left out, on the standard error stream."""
    for remark in remarks:
        errors().print(f"note: {remark}", style="yellow", markup=False, highlight=False, soft_wrap=True)


def plain_table(*columns: str) -> Table:
    """A table without vertical lines."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
