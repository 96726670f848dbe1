"""`coflash trace`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from coflash.cli.console import errors, output, plain_table, show_json
from coflash.progress import shown
from coflash.quantity import Unit, show
from coflash.running import trace_info

app = typer.Typer(help="Block traces.", no_args_is_help=True)

_UNITS: dict[str, Unit] = {"ns": "ns", "bytes": "bytes", "pages": "pages", "ratio": "ratio", "share": "share"}


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
    _add(table, found, "")
    output().print(table)


def _add(table: Any, found: dict[str, Any], prefix: str) -> None:
    """A row for each leaf; the last word of its name is its unit."""
    for name, value in found.items():
        if isinstance(value, dict):
            _add(table, value, f"{prefix}{name} ")
            continue
        words = name.split("_")
        unit = _UNITS.get(words[-1])
        label = prefix + " ".join(words[:-1] if unit in ("ns", "bytes") else words)
        table.add_row(label, _shown(value, unit))


def _shown(value: Any, unit: Unit | None) -> str:
    match value:
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int() | float():
            if unit is None:
                return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
            return show(value, unit)
        case list():
            return "\n".join(_shown(item, None) for item in value) or "–"
    return str(value)
