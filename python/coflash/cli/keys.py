"""What a scenario may say: `coflash keys` and `coflash policies`."""

from __future__ import annotations

from dataclasses import asdict

from rich.text import Text

from coflash.cli.console import output, show_json, show_table
from coflash.keys import keys as known
from coflash.policies import policies as families
from coflash.text_table import PROSE, Cell, TextTable


def keys(key: str = "", as_json: bool = False) -> None:
    """List the keys of a scenario: types, units, defaults, meanings.

    Options:
        key: `[KEY]` A table, such as cache, or one key.
    """
    found = known(key)
    if as_json:
        show_json([asdict(each) for each in found])
        return
    table = TextTable(["key", "default", "meaning"], wraps=True, width=PROSE)
    for each in found:
        table.add(Cell(each.path, "bold"), each.default, Cell(each.type, "dim"))
        table.add("", "", each.meaning)
    show_table(table)


def policies(as_json: bool = False) -> None:
    """List every algorithm that a scenario can choose by name."""
    if as_json:
        show_json([asdict(family) for family in families()])
        return
    console = output()
    for family in families():
        console.print(Text.assemble("\n", (family.key, "bold"), f": {family.decides}"))
        table = TextTable(["name", "description", "source"], wraps=True, width=PROSE)
        for policy in family.policies:
            table.add(policy.name, policy.summary, policy.source)
            for parameter in policy.parameters:
                table.add("", Cell(f"{parameter.name} = {parameter.default}: {parameter.meaning}", "dim"))
        show_table(table)
