"""`coflash policies`."""

from __future__ import annotations

from dataclasses import asdict

from rich.text import Text

from coflash.cli.console import output, plain_table, show_json
from coflash.cli.options import AsJson
from coflash.policies import policies as families


def policies(json: AsJson = False) -> None:
    """List every algorithm that a scenario can choose by name."""
    if json:
        show_json([asdict(family) for family in families()])
        return
    console = output()
    for family in families():
        console.print(Text.assemble("\n", (family.key, "bold"), f": {family.decides}"))
        table = plain_table("name", "description", "source")
        for policy in family.policies:
            table.add_row(policy.name, Text(policy.summary), Text(policy.source))
            for parameter in policy.parameters:
                meaning = f"{parameter.name} = {parameter.default}: {parameter.meaning}"
                table.add_row("", Text(meaning, style="dim"), "")
        console.print(table)
