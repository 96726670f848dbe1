"""How commands show and write what they find."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from coflash.cli.console import STANDARD_OUTPUT, errors, notes, output, plain_table, show_table, write_json
from coflash.sweep.finding import Finding

if TYPE_CHECKING:
    from coflash.figures.style import Format


def show_finding(
    finding: Finding,
    json: Path | None,
    quiet: bool,
    *,
    measures: Sequence[str] = (),
    remarks: Iterable[str] = (),
    files: Sequence[str] = (),
) -> None:
    """Write the document of a finding, and show its tables and sentences; files are lines that say what was written."""
    write_json(json, finding.to_json(*measures))
    if quiet:
        return
    console = errors() if json == STANDARD_OUTPUT else output()

    def show(*lines: str) -> None:
        for line in filter(None, lines):
            console.print(line, highlight=False, markup=False, soft_wrap=True)

    notes(remarks)
    show(*finding.asked)
    for table in finding.tables(*measures):
        rows = plain_table(*table.heads)
        for cells in table.rows:
            rows.add_row(*cells)
        for column in rows.columns:
            column.no_wrap = True
        show_table(rows, console)
        show(table.below)
    show(*files, *finding.sentences)


def plotter(file: Path | None) -> Callable[[Callable[[Format], bytes]], list[str]]:
    """Check the file of a picture; return what writes it, given what draws it, and says where it is.

    Raises:
        CoflashError: Figures cannot be drawn, or not into this file.
    """
    if file is None:
        return lambda _: []
    from coflash.figures.style import format_of, needs_matplotlib
    from coflash.files import atomic_write, kinds

    needs_matplotlib()
    form = format_of(file)
    atomic_write.check_file(file, kinds.FIGURE)

    def write(draw: Callable[[Format], bytes]) -> list[str]:
        atomic_write.write_file(file, draw(form))
        return [f"picture: {file}"]

    return write
