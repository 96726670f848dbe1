"""Tables as they are shown: the same rows of texts on a terminal, in a notebook and in a document."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.text import Text

ROWS_SHOWN = 20
"""The number of rows that a long table shows in a notebook."""
Style = Literal["", "bold", "dim", "better", "worse"]
_TERMINAL = {"": "", "bold": "bold", "dim": "dim", "better": "green", "worse": "red"}
_NOTEBOOK = {"bold": "font-weight:600", "dim": "opacity:.7", "better": "color:#0a8a62", "worse": "color:#c9581b"}
_GAP = "  "
_NARROW = 24
"""A column is wrapped to the width of its longest word, or to this width if that is less."""
PROSE, _UNLIMITED = 120, 10**6
"""The width of a table where no terminal limits it: of prose, and of others."""
_BARS = "▁▂▃▄▅▆▇█"
_MARKDOWN = str.maketrans({sign: f"\\{sign}" for sign in "\\|*_`<>[]#~"})
_LATEX = Path(__file__).with_name("latex.json")
"""What LaTeX has in place of a sign."""


class Cell(NamedTuple):
    """A text, and how it looks."""

    text: str
    style: Style = ""


Line = list[Cell]


@dataclass
class TextTable:
    """Columns, and rows of texts. Rich, notebooks and documents show it.

    A row without cells is a blank line.
    """

    columns: Sequence[str]
    sides: str = "l"
    """For each column `l` or `r`, the side on which its texts stand; the last letter is that of all further ones."""
    wraps: bool = False
    """Whether long texts are wrapped on a narrow terminal; where that is not enough, rows become columns."""
    title: str = ""
    below: str = ""
    """A line below it."""
    width: int = _UNLIMITED
    """The width where no terminal limits it."""
    rows: list[Line] = field(default_factory=list)

    @classmethod
    def of(cls, columns: Sequence[str], rows: Iterable[Iterable[Any]], sides: str = "lr", **more: Any) -> TextTable:
        """Make a table of rows of texts and cells; it takes the other attributes as well."""
        table = cls(columns, sides, **more)
        for row in rows:
            table.add(*row)
        return table

    def add(self, *cells: str | Cell, style: Style = "") -> None:
        """Add a row; cells at its end may be left out."""
        row = [cell if isinstance(cell, Cell) else Cell(cell, style) for cell in cells]
        self.rows.append([*row, *(Cell("") for _ in self.columns[len(row) :])])

    def begin(self, title: str = "") -> None:
        """Begin a section, below a blank line."""
        if self.rows:
            self.rows.append([])
        if title:
            self.add(title, style="bold")

    def side(self, column: int) -> str:
        """Return the side of a column."""
        return self.sides[min(column, len(self.sides) - 1)]

    def _lines(self, room: int) -> Iterator[Line]:
        """Lay the rows out in lines of equal width."""
        head = [[Cell(name, "bold") for name in self.columns]] if any(self.columns) else []
        columns = [
            [row[place].text for row in [*head, *self.rows] if row] or [""] for place in range(len(self.columns))
        ]
        widths = [max(map(_width, texts)) for texts in columns]
        words = [max(len(word) for text in texts for word in text.split() or [""]) for texts in columns]
        gaps = len(_GAP) * (len(widths) - 1)
        while self.wraps and sum(widths) + gaps > room:
            widest = max(range(len(widths)), key=lambda place: widths[place] - min(words[place], _NARROW))
            if widths[widest] <= min(words[widest], _NARROW):
                break
            widths[widest] -= 1
        if sum(widths) + gaps > room and head and len(widths) > 1:
            yield from self._on_its_side(head, room)
            return
        for row in head:
            yield from self._spread(row, widths, at_bottom=True)
            yield [Cell("─" * (sum(widths) + gaps))]
        for row in self.rows:
            yield from self._spread(row, widths) if row else [[]]

    def _spread(self, row: Line, widths: Sequence[int], *, at_bottom: bool = False) -> Iterator[Line]:
        """Write a row on as many lines as its longest text needs."""
        texts = [
            [part for line in cell.text.split("\n") for part in textwrap.wrap(line, width) or [""]]
            if self.wraps and _width(cell.text) > width
            else cell.text.split("\n")
            for cell, width in zip(row, widths, strict=True)
        ]
        if at_bottom:
            texts = [[""] * (max(map(len, texts)) - len(lines)) + lines for lines in texts]
        for line in zip_longest(*texts, fillvalue=""):
            cells = []
            for place, (text, width, cell) in enumerate(zip(line, widths, row, strict=True)):
                blank = " " * (width - _width(text))
                cells.append(Cell(blank + text if self.side(place) == "r" else text + blank, cell.style))
            yield cells

    def _on_its_side(self, head: Sequence[Line], room: int) -> Iterator[Line]:
        """Turn rows into columns, as many side by side as there is room for."""
        names = [" ".join(cell.text.split()) for row in head for cell in row] or [""] * len(self.columns)
        left = max(map(len, names)) + len(_GAP)
        groups: list[list[Line]] = []
        free = 0
        for row in filter(None, self.rows):
            needed = max(_width(cell.text) for cell in row) + len(_GAP)
            if needed > free or not groups:
                groups.append([])
                free = room - left
            groups[-1].append(row)
            free -= needed
        for rows in groups:
            turned = TextTable([""] * (len(rows) + 1), wraps=True)
            for name, *cells in zip(names, *rows, strict=True):
                if any(cell.text for cell in cells):
                    turned.add(Cell(name), *(cell if name else cell._replace(style="bold") for cell in cells))
            turned.begin()
            yield from turned._lines(room)

    def __str__(self) -> str:
        lines = (_GAP.join(cell.text for cell in line).rstrip() for line in self._lines(self.width))
        return "\n".join(filter(None, [self.title, *lines, self.below]))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        from rich.text import Text

        is_limited = console.is_terminal or "COLUMNS" in os.environ or options.no_wrap is None
        between = Text(_GAP, no_wrap=True, overflow="ignore")
        if self.title:
            yield between.join([Text(self.title, "bold")])
        for line in self._lines(options.max_width if is_limited else self.width):
            whole = between.join(Text(cell.text, _TERMINAL[cell.style]) for cell in line)
            whole.rstrip()
            yield whole
        if self.below:
            yield between.join([Text(self.below)])

    def html(self, total: int | None = None) -> str:
        """Write the table for a notebook, which has a style of its own; every text is escaped.

        Args:
            total: The number of rows in all, if these are the first of them.
        """

        def cell(tag: str, given: Cell, place: int) -> str:
            right = ["text-align:right"] if self.side(place) == "r" else []
            text = " ".join(given.text.split("\n"))
            styles = ";".join([*right, *filter(None, [_NOTEBOOK.get(given.style)])])
            return f'<{tag} style="{styles}">{escape(text)}</{tag}>'.replace(' style=""', "")

        def row(tag: str, cells: Line) -> str:
            return f"<tr>{''.join(cell(tag, one, place) for place, one in enumerate(cells))}</tr>"

        above = f"<p>{escape(self.title)}</p>" if self.title else ""
        rows = [one for one in self.rows if one][: ROWS_SHOWN if total is not None else None]
        body = "".join(row("td", one) for one in rows)
        more = f"<p>{total:,} rows, the first {len(rows)} shown</p>" if (total or 0) > len(rows) else ""
        head = row("th", [Cell(name) for name in self.columns])
        below = f"<p>{escape(self.below)}</p>" if self.below else ""
        return f"{above}<table><thead>{head}</thead><tbody>{body}</tbody></table>{more}{below}"

    _repr_html_ = html

    def document(self, form: Literal["markdown", "latex"]) -> str:
        """Write the table for a document: Markdown, or LaTeX with the rules of `booktabs`."""
        signs = _MARKDOWN if form == "markdown" else str.maketrans(json.loads(_LATEX.read_text("utf-8")))
        lines = [
            [text.replace("\n", " ").strip(" ").translate(signs) for text in texts]
            for texts in [self.columns, *([cell.text for cell in row] for row in self.rows if row)]
        ]
        sides = [self.side(place) for place in range(len(self.columns))]
        if form == "markdown":
            first, *others = (f"| {' | '.join(line)} |" for line in lines)
            return "\n".join([first, f"|{'|'.join('---:' if side == 'r' else '---' for side in sides)}|", *others])
        first, *others = (rf"{' & '.join(line)} \\" for line in lines)
        begin = [rf"\begin{{tabular}}{{{''.join(sides)}}}", r"\toprule", first, r"\midrule"]
        return "\n".join([*begin, *others, r"\bottomrule", r"\end{tabular}"])


def _width(text: Any) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, text.split("\n")))


def sparkline(values: Iterable[float], width: int, low: float | None = None, high: float | None = None) -> str:
    """Draw values as a row of bars, from the lowest to the highest value unless other bounds are given."""
    shown = list(values)
    if len(shown) < 2:
        return ""
    if len(shown) > width:
        shown = [shown[place * (len(shown) - 1) // (width - 1)] for place in range(width)]
    low = min(shown) if low is None else low
    high = max(shown) if high is None else high
    span = high - low or 1.0
    return "".join(_BARS[min(int((value - low) / span * len(_BARS)), len(_BARS) - 1)] for value in shown)
