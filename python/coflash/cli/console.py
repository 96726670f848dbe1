"""The output of the command line, and what commands do with the options that they share."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import typer
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table

from coflash._core import CoflashError
from coflash.cli.options import TableForm, assigned, trace_options
from coflash.files import atomic_write, kinds
from coflash.quantity import counted
from coflash.results.store import Failure
from coflash.scenario import Scenario
from coflash.terminal import errors as errors
from coflash.terminal import output as output

STANDARD_OUTPUT = Path("-")

_WIDEST = 10_000
_GAP = 2
"""The blanks between columns."""
_LONG = 100
"""The number of rows above which rich does not lay out a plain table: it takes a millisecond for each row."""


def scenario_with(name: str, assignments: list[str] | None, read: list[str] | None = None) -> Scenario:
    """Load a scenario and apply `--set` and `--read`.

    Raises:
        CoflashError: There is no such scenario, or an assignment is wrong.
    """
    pairs = assigned("--set", assignments, "cache.size=64MiB")
    pairs += [(f"workload.trace_options.{key}", value) for key, value in trace_options(read).items()]
    scenario = Scenario.load(name)
    if not pairs:
        return scenario
    changed = scenario.set(pairs)
    before, after = scenario.workload_key, changed.workload_key
    if before and after and before != after:
        notes([f"workload.{after} takes the place of workload.{before}, which {name} has"])
    return changed


def scaled(scenario: Scenario, scale: str | None, trace: Iterable[str] | None = None) -> Scenario:
    """Apply `--scale`.

    Raises:
        CoflashError: The scenario, or the trace that it would replay, cannot be scaled.
    """
    return scenario if scale is None else scenario.replaying(list(trace or ())).scaled(scale)


def check_effect(given: Mapping[str, Any], why: str) -> None:
    """Refuse options that would have no effect.

    Args:
        given: The values of the options by name; None, False and nothing at all are not given.
        why: The reason, and where they have an effect.

    Raises:
        CoflashError: One is given.
    """
    for option, value in given.items():
        if value:
            msg = f"{option}: has no effect {why}"
            raise CoflashError(msg)


def check_json(file: Path | None) -> None:
    """Raise any error of `write_json` before the work instead of after it."""
    if file is not None and file != STANDARD_OUTPUT:
        atomic_write.check_file(file, kinds.JSON)


def write_json(file: Path | None, text: str) -> None:
    """Write the text to the place of `--json`, if it was given."""
    if file == STANDARD_OUTPUT:
        typer.echo(text, nl=not text.endswith("\n"))
    elif file is not None:
        atomic_write.write_file(file, text)


def show_json(value: Any) -> None:
    """Print JSON, in colour on a terminal and plain elsewhere."""
    output().print_json(data=value)


def show_table(table: Table, console: Console) -> None:
    """Print a whole table; if it is wider than the terminal, its rows become columns, as many as fit side by side.

    Where there is no terminal, and no COLUMNS that gives a width, lines are as long as they are.
    """
    if (
        table.row_count > _LONG
        and (lines := _lines(table))
        and (cell_len(lines[-1]) <= console.width or not (console.is_terminal or "COLUMNS" in os.environ))
    ):
        head = len(lines) - table.row_count - 1
        console.out("\n".join(lines[:head]), style="bold", highlight=False)
        console.out("\n".join(lines[head:]), highlight=False)
        return
    wide = console.options.update(max_width=_WIDEST)
    for column in table.columns:
        if column.no_wrap:  # rich would cut its cells
            column.min_width = max(_width(cell) for cell in (column.header, *column.cells))
    needed = Measurement.get(console, wide, table).minimum
    if needed <= console.width:
        console.print(table)
    elif console.is_terminal or "COLUMNS" in os.environ:
        console.print(_on_its_side(table, console.width))
    else:
        console.width = needed
        console.print(table, crop=False)


def _lines(table: Table) -> list[str]:
    """Lay a table out as rich does, if its cells are plain words on one line and its only rule is below the head."""
    given = [[*column.cells] for column in table.columns]
    cells = [[cell for cell in column if isinstance(cell, str) and "\n" not in cell] for column in given]
    if table.box is not SIMPLE_HEAD or cells != given:
        return []
    heads = [str(column.header).split("\n") for column in table.columns]
    height = max(map(len, heads))
    widths = [max(map(cell_len, (*head, *column))) for head, column in zip(heads, cells, strict=True)]
    rights = [column.justify == "right" for column in table.columns]

    def line(words: Iterable[str]) -> str:
        blanks = [(word, " " * (width - cell_len(word))) for word, width in zip(words, widths, strict=True)]
        sides = (blank + word if right else word + blank for (word, blank), right in zip(blanks, rights, strict=True))
        return f" {'  '.join(sides)} "

    top = [line(words) for words in zip(*([""] * (height - len(head)) + head for head in heads), strict=True)]
    empty = line([""] * len(cells))
    return [empty, *top, f" {'─' * (len(empty) - 2)} ", *map(line, zip(*cells, strict=True)), empty]


def _width(cell: RenderableType) -> int:
    return max(map(cell_len, str(cell).split("\n")))


def show_or_write(table: Table, form: TableForm, console: Console | None = None) -> None:
    """Print a table for a terminal, or write it for a document."""
    if form == "terminal":
        show_table(table, console or output())
    else:
        typer.echo(written(table, form))


def written(table: Table, form: Literal["markdown", "latex"]) -> str:
    """Write a table for a document: Markdown, or LaTeX with the rules of `booktabs`."""
    body = zip(*(column.cells for column in table.columns), strict=True)
    rows = [[str(column.header) for column in table.columns], *body]
    cells = [[str(cell).replace("\n", " ").strip(" ") for cell in row] for row in rows]
    rights = [column.justify == "right" for column in table.columns]
    if form == "markdown":
        lines = ["| " + " | ".join(cell.translate(_MARKDOWN) for cell in row) + " |" for row in cells]
        lines.insert(1, "|" + "|".join("---:" if right else "---" for right in rights) + "|")
        return "\n".join(lines)
    lines = [" & ".join(cell.translate(_LATEX) for cell in row) + r" \\" for row in cells]
    columns = "".join("r" if right else "l" for right in rights)
    begin = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", lines[0], r"\midrule"]
    return "\n".join([*begin, *lines[1:], r"\bottomrule", r"\end{tabular}"])


_MARKDOWN = str.maketrans({**{sign: f"\\{sign}" for sign in "\\|*_`<>[]#~"}})
_LATEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "−": "$-$",
        "–": "--",
        "±": r"$\pm$",
        "µ": r"\textmu{}",
        "\u00a0": "~",
        "\u202f": r"\,",
    }
)


def _on_its_side(table: Table, width: int) -> Group:
    names = [" ".join(str(column.header).split()) for column in table.columns]
    beside: list[list[tuple[RenderableType, ...]]] = []
    room = 0
    for row in zip(*(column.cells for column in table.columns), strict=True):
        needed = max(map(_width, row)) + _GAP
        if needed > room:
            beside.append([])
            room = width - max(map(cell_len, names)) - _GAP
        beside[-1].append(row)
        room -= needed
    return Group(*(_turned(names, rows) for rows in beside))


def _turned(names: list[str], rows: list[tuple[RenderableType, ...]]) -> Table:
    turned = plain_table("", *("" for _ in rows))
    turned.show_header = False
    for name, *cells in zip(names, *rows, strict=True):
        if any(map(str, cells)):
            # What a row is called has no name.
            turned.add_row(name, *cells, style=None if name else "bold")
    turned.add_row("")
    return turned


def notes(remarks: Iterable[str]) -> None:
    """Print assumptions and other remarks on the standard error stream."""
    for remark in remarks:
        errors().print(f"note: {remark}", style="yellow", highlight=False, soft_wrap=True)


def end_if_failed(failures: Sequence[Failure], quiet: bool) -> None:
    """End with exit status 1 if runs failed, and say how many; also the first one, where none was shown before."""
    if failures:
        first = f"; the first: {failures[0].label}: {failures[0].error}" if quiet else ", see above"
        told = f"{counted(len(failures), 'run')} failed{first}"
        errors().print(told, style="red", markup=False, soft_wrap=True)
        raise typer.Exit(1)


@contextmanager
def noted() -> Iterator[None]:
    """Print warnings of the block as notes."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", UserWarning)
        yield
    notes(str(one.message) for one in found)


def plain_table(*columns: str) -> Table:
    """Make a table without vertical lines."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
