"""`coflash policies`."""

from __future__ import annotations

from typing import Annotated

import typer

from coflash import scenario
from coflash.cli.console import output, plain_table, show_json


def policies(json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """List every algorithm that a scenario can choose by name."""
    families = scenario.policies()
    if json:
        show_json(families)
        return
    console = output()
    for family, members in families.items():
        console.print(f"\n[bold]{family}[/bold]")
        table = plain_table("name", "what it does", "source")
        for policy in members:
            table.add_row(policy["name"], policy["summary"], policy["source"])
            for parameter in policy["parameters"]:
                table.add_row(
                    "",
                    f"{parameter['name']} = {parameter['default']}: {parameter['meaning']}",
                    "",
                    style="dim",
                )
        console.print(table)
