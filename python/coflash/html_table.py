"""Tables as HTML for notebooks, without a style of their own: the notebook has one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

ROWS_SHOWN = 20
"""The number of rows that a long table shows."""


def html_table(columns: Iterable[str], rows: Sequence[Sequence[object]], title: str = "", of: int | None = None) -> str:
    """Write a table; every text is escaped.

    Args:
        columns: The names of the columns.
        rows: The cells of each row.
        title: The text above the table.
        of: The number of rows in all, if `rows` are the first of them.
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    above = f"<p>{escape(title)}</p>" if title else ""
    more = f"<p>{of:,} rows, the first {len(rows)} shown</p>" if of is not None and of > len(rows) else ""
    return f"{above}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
