"""`coflash validity`."""

from __future__ import annotations

from pathlib import Path

from coflash.cli.console import say
from coflash.files import atomic_write, kinds


def validity(decisions: Path, file: Path = Path("validity.svg"), pool: int | None = None) -> None:
    """Draw the share of valid pages in full blocks over time: of each block, and its distribution.

    Options:
        decisions: `FILE` What 'coflash run --decisions' wrote.
        file: `--out -o FILE` The figure: it ends in .svg, .png or .pdf.
        pool: `--pool N 0..` Only blocks of this pool, such as a plane.
    """
    from coflash.charts import format_of
    from coflash.figures import validity as figure  # needs numpy, which --help does not

    form = format_of(file)
    atomic_write.check_file(file, kinds.FIGURE, [decisions])
    atomic_write.write_file(file, figure.draw(decisions, form, pool))
    say(str(file))
