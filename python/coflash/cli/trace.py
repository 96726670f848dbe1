"""`coflash trace`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import typer

from coflash.cli.console import errors, output, plain_table, show_json
from coflash.progress import shown
from coflash.quantity import Unit, show
from coflash.running import trace_info

app = typer.Typer(help="Block traces.", no_args_is_help=True)

_UNITS: dict[str, Unit] = {"ns": "ns", "bytes": "bytes", "pages": "pages", "share": "share", "requests": "requests"}


@app.callback()
def _trace() -> None:
    """Keeps `info` a command of its own while it is the only one."""


@app.command()
def info(
    trace: Annotated[list[str], typer.Argument(metavar="FILE...", help="The trace, or its files in order.")],
    format: Annotated[
        str | None,
        typer.Option("--format", help="The trace's format; found out from its content if left out."),
    ] = None,
    on_error: Annotated[
        Literal["stop", "skip"], typer.Option("--on-error", help="What to do at a record that is malformed.")
    ] = "stop",
    json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Say what is in a trace: format, requests, sizes, footprint, duration, and what had to be assumed."""
    with shown("reading", errors()) as report:
        found = trace_info(trace, format, on_error, report)
    if json:
        show_json(found)
        return
    table = plain_table("", "")
    table.show_header = False
    for label, text in _rows(found):
        table.add_row(label, text)
    output().print(table)


def _rows(found: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """A row for each fact; the last word of its name is its unit. A distribution of something is one fact."""
    for name, value in found.items():
        *words, last = name.split("_")
        unit = _UNITS.get(last)
        if isinstance(value, dict) and unit is None:
            yield from _rows(value, f"{prefix}{name} ")
        else:
            label = " ".join(words) if words and unit is not None else name.replace("_", " ")
            yield prefix + label, _shown(value, unit)


def _shown(value: Any, unit: Unit | None) -> str:
    match value:
        case None | []:
            return "–"
        case dict():
            return " · ".join(f"{name} {_shown(part, unit)}" for name, part in value.items())
        case list():
            return "\n".join(_shown(item, unit) for item in value)
        case int() | float() if unit is not None:
            return show(value, unit)
        case int():
            return f"{value:,}"
    return str(value)
