"""`coflash validity`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from coflash.cli.console import say
from coflash.cli.options import out_option
from coflash.files import atomic_write, kinds


def validity(
    decisions: Annotated[Path, typer.Argument(metavar="FILE", help="What 'coflash run --decisions' wrote.")],
    file: Annotated[Path, out_option("FILE", "The figure: it ends in .svg, .png or .pdf.")] = Path("validity.svg"),
    pool: Annotated[
        int | None, typer.Option("--pool", metavar="N", min=0, help="Only blocks of this pool, such as a plane.")
    ] = None,
) -> None:
    """Draw the share of valid pages in full blocks over time: of each block, and its distribution."""
    from coflash.charts import format_of
    from coflash.figures import validity as figure  # needs numpy, which --help does not

    form = format_of(file)
    atomic_write.check_file(file, kinds.FIGURE, [decisions])
    atomic_write.write_file(file, figure.draw(decisions, form, pool))
    say(str(file))
