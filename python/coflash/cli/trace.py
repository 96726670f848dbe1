"""`coflash trace`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from coflash import trace as traces
from coflash.cli.console import assigned, errors, notes, output, plain_table, show_json
from coflash.cli.trace_table import rows
from coflash.progress import shown
from coflash.quantity import show

app = typer.Typer(help="Block traces: what is in them, and what can be done to them.", no_args_is_help=True)

Trace = Annotated[
    list[str],
    typer.Argument(metavar="FILE...", help="The trace, or its files in order; - is the standard input."),
]
Format = Annotated[
    str | None, typer.Option("--format", help="The trace's format; found out from its content if left out.")
]
OnError = Annotated[
    Literal["stop", "skip"], typer.Option("--on-error", help="What to do at a record that is malformed.")
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="WHAT,WHAT...",
        help="What the columns of a text in no known format mean: time:us,op,offset:sectors,size:bytes.",
    ),
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="KEY=VALUE",
        help="How to read it, as workload.trace_options of a scenario: units.size=4KiB. May be repeated.",
    ),
]
Out = Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="Where it goes: .parquet, .arrow, .iolog[.zst].")]
To = Annotated[str | None, typer.Option("--to", metavar="FORMAT", help="What to write; as FILE ends in if left out.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]

_SAMPLE = (
    "The most pages followed one by one for popularity and miss ratios, which are estimates where there are more: "
    "auto (1,048,576), exact (no bound), or a number."
)
_PLOT = "Also draw it: a file that ends in .svg, .png or .pdf, or a folder for a PDF of each panel."


@app.command()
def info(
    trace: Trace,
    format: Format = None,
    on_error: OnError = "stop",
    columns: Columns = None,
    option: Options = None,
    page: Annotated[
        str, typer.Option("--page", metavar="SIZE", help="The size of the pages that are counted.")
    ] = "4KiB",
    sample: Annotated[str, typer.Option("--sample", metavar="PAGES", help=_SAMPLE)] = "auto",
    plot: Annotated[Path | None, typer.Option("--plot", metavar="PATH", help=_PLOT)] = None,
    json: AsJson = False,
) -> None:
    """Say what a trace is like: requests, sizes, footprint, popularity, LRU miss ratios, and what had to be assumed."""
    options = options_of(format, on_error, option, columns)
    if plot is not None:
        from coflash import trace_figures  # needs numpy, which help does without

        trace_figures.check_place(plot)
    with shown("reading", errors()) as report:
        found = traces.info(trace, options, report, page=page, sample=sample)
    written = [] if plot is None else trace_figures.draw(found, plot)
    if json:
        show_json(found.to_dict())
        return
    table = plain_table("", "")
    table.show_header = False
    for label, text in rows(found):
        table.add_row(label, text)
    output().print(table)
    for file in written:
        output().print(str(file), markup=False, highlight=False, soft_wrap=True)


@app.command()
def head(
    trace: Trace,
    count: Annotated[int, typer.Option("--count", "-n", help="How many.")] = 10,
    format: Format = None,
    on_error: OnError = "stop",
    columns: Columns = None,
    option: Options = None,
) -> None:
    """Show the first requests of a trace."""
    first = traces.head(trace, count, options_of(format, on_error, option, columns))
    table = plain_table("time ns", "operation", "offset bytes", "length bytes")
    for index, column in enumerate(table.columns):
        column.justify = "left" if index == 1 else "right"
    for row in zip(*first.to_dict().values(), strict=True):
        table.add_row(*map(str, row))
    output().print(table)


@app.command()
def convert(
    trace: Trace,
    out: Out,
    to: To = None,
    format: Format = None,
    on_error: OnError = "stop",
    columns: Columns = None,
    option: Options = None,
    json: AsJson = False,
) -> None:
    """Write a trace in another format; Parquet is the quickest to read."""
    options = options_of(format, on_error, option, columns)
    write_shown(json, lambda report: traces.convert(trace, out, to, options, report))


@app.command("slice")
def slice_(
    trace: Trace,
    out: Out,
    time_from: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Leave out what arrives before: 10s.")
    ] = None,
    time_to: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="Leave out what arrives at it and later.")
    ] = None,
    address_from: Annotated[
        str | None, typer.Option("--address-from", metavar="SIZE", help="Leave out what lies below: 1GiB.")
    ] = None,
    address_to: Annotated[
        str | None, typer.Option("--address-to", metavar="SIZE", help="Leave out what lies from it on.")
    ] = None,
    skip: Annotated[int | None, typer.Option("--skip", min=0, help="Leave out so many of the rest.")] = None,
    count: Annotated[int | None, typer.Option("--count", "-n", min=1, help="Keep so many of the rest.")] = None,
    to: To = None,
    format: Format = None,
    on_error: OnError = "stop",
    columns: Columns = None,
    option: Options = None,
    json: AsJson = False,
) -> None:
    """Write a part of a trace: by time, then address, then count. Its first request is at zero."""
    options = options_of(format, on_error, option, columns)
    write_shown(
        json,
        lambda report: traces.slice(
            trace,
            out,
            time_from=time_from,
            time_to=time_to,
            address_from=address_from,
            address_to=address_to,
            skip=skip,
            count=count,
            format=to,
            options=options,
            progress=report,
        ),
    )


@app.command()
def merge(
    trace: Annotated[list[str], typer.Argument(metavar="FILE...", help="The traces, a file each.")],
    out: Out,
    offset: Annotated[
        list[str] | None,
        typer.Option("--offset", metavar="SIZE", help="Move a trace up by this; once for each, in their order."),
    ] = None,
    to: To = None,
    format: Format = None,
    on_error: OnError = "stop",
    columns: Columns = None,
    option: Options = None,
    json: AsJson = False,
) -> None:
    """Write several traces as one, by time."""
    options = options_of(format, on_error, option, columns)
    write_shown(json, lambda report: traces.merge(trace, out, offset, to, options, report))


@app.command()
def remap(
    trace: Trace,
    out: Out,
    place: Annotated[
        Literal["dense", "modulo"],
        typer.Option("--place", help="Number pages as they are first used, or take them modulo --size."),
    ] = "dense",
    page: Annotated[str, typer.Option("--page", metavar="SIZE", help="What is moved as one.")] = "4KiB",
    size: Annotated[str | None, typer.Option("--size", metavar="SIZE", help="For modulo.")] = None,
    to: To = None,
    format: Format = None,
    on_error: OnError = "stop",
    columns: Columns = None,
    option: Options = None,
    json: AsJson = False,
) -> None:
    """Write a trace with its addresses moved, so that it fits a smaller device."""
    options = options_of(format, on_error, option, columns)
    write_shown(json, lambda report: traces.remap(trace, out, place, page, size, to, options, report))


def options_of(
    format: str | None, on_error: str, assignments: list[str] | None, columns: str | None = None
) -> dict[str, str]:
    """How to read a trace, as its options say."""
    given = dict(assigned("--option", assignments, "units.size=4KiB"))
    if columns is not None:
        given["columns"] = columns
    if format is not None:
        given["format"] = format
    if on_error != "stop":
        given["on_error"] = on_error
    return given


def write_shown(json: bool, work: Callable[[traces.Progress], dict[str, Any]]) -> None:
    """Lets a tool work, and says what it wrote."""
    with shown("writing", errors()) as report:
        written = work(report)
    if json:
        show_json(written)
        return
    notes(written["remarks"])
    requests, size = f"{written['requests']:,} requests", show(written["bytes"], "bytes")
    output().print(f"{written['file']}: {written['format']}, {requests}, {size}", markup=False, highlight=False)
