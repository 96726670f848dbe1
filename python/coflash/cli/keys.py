"""`coflash keys`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from coflash.cli import complete
from coflash.cli.console import output, plain_table, show_json
from coflash.cli.options import AsJson
from coflash.keys import keys as known

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
    table = plain_table("key", "default", "meaning")
    table.columns[0].no_wrap = True
    for each in found:
        table.add_row(
            Text(each.path, style="bold"), Text(each.default), Text.assemble((each.type, "dim"), "\n", each.meaning)
        )
    output().print(table)
