"""`coflash policies`."""

from __future__ import annotations

from dataclasses import asdict

from rich.text import Text

from coflash.cli.console import output, show_json, show_table
from coflash.policies import policies as families
from coflash.text_table import Cell, TextTable


def policies(as_json: bool = False) -> None:
    """List every algorithm that a scenario can choose by name."""
    if as_json:
        show_json([asdict(family) for family in families()])
        return
    console = output()
    for family in families():
        console.print(Text.assemble("\n", (family.key, "bold"), f": {family.decides}"))
        table = TextTable(["name", "description", "source"], wraps=True)
        for policy in family.policies:
            table.add(policy.name, policy.summary, policy.source)
            for parameter in policy.parameters:
                table.add("", Cell(f"{parameter.name} = {parameter.default}: {parameter.meaning}", "dim"))
        show_table(table)
