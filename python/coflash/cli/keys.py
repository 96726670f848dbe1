"""`coflash keys`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from coflash.cli import complete
from coflash.cli.console import show_json, show_table
from coflash.cli.options import AsJson
from coflash.keys import keys as known
from coflash.text_table import Cell, TextTable

_KEY = "A table, such as cache, or one key."


def keys(
    key: Annotated[str, typer.Argument(metavar="[KEY]", help=_KEY, autocompletion=complete.tables_and_keys)] = "",
    json: AsJson = False,
) -> None:
    """List the keys of a scenario: types, units, defaults, meanings."""
    found = known(key)
    if json:
        show_json([asdict(each) for each in found])
        return
    table = TextTable(["key", "default", "meaning"], wraps=True)
    for each in found:
        table.add(Cell(each.path, "bold"), each.default, Cell(each.type, "dim"))
        table.add("", "", each.meaning)
    show_table(table)
