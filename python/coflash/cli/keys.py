"""`coflash keys`."""

from __future__ import annotations

from dataclasses import asdict

from coflash.cli.console import show_json, show_table
from coflash.keys import keys as known
from coflash.text_table import Cell, TextTable


def keys(key: str = "", as_json: bool = False) -> None:
    """List the keys of a scenario: types, units, defaults, meanings.

    Options:
        key: `[KEY]` A table, such as cache, or one key.
    """
    found = known(key)
    if as_json:
        show_json([asdict(each) for each in found])
        return
    table = TextTable(["key", "default", "meaning"], wraps=True)
    for each in found:
        table.add(Cell(each.path, "bold"), each.default, Cell(each.type, "dim"))
        table.add("", "", each.meaning)
    show_table(table)
