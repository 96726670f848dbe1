"""`coflash compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coflash.cli.console import output, plain_table, show_table
from coflash.quantity import change, show, show_change
from coflash.results.fio_json import beside, fio_json, read_fio_json
from coflash.results.result import Result

_Place = typer.Argument(metavar="FIRST", help="A folder of a result (run --out), or a JSON file of fio or of coflash.")


def compare(
    first: Annotated[Path, _Place],
    second: Annotated[Path, typer.Argument(metavar="SECOND", help="The same; such as what fio measured on a drive.")],
) -> None:
    """Show two results of the same jobs side by side: a simulated drive and a measured one."""
    documents = [fio_json(Result.load(place)) if place.is_dir() else read_fio_json(place) for place in (first, second)]
    table = plain_table("job", "measure", str(first), str(second), "difference")
    for row in beside(*documents):
        relative = change(row.second, row.first)
        table.add_row(row.job, row.label, show(row.first, row.unit), show(row.second, row.unit), show_change(relative))
    show_table(table, output())
