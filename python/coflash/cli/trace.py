"""`coflash trace`."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from coflash import CoflashError
from coflash import trace as traces
from coflash.cli.console import Workers, check_effect, errors, noted, notes, output, plain_table, show_json
from coflash.cli.trace_options import TraceOptions, with_trace_options
from coflash.cli.trace_table import rows
from coflash.files.digest import check_lasting
from coflash.quantity import counted, show
from coflash.runs.progress import shown
from coflash.trace.trace_info import MissRatioCurves

app = typer.Typer(no_args_is_help=True, add_completion=False)

Trace = Annotated[
    list[str],
    typer.Argument(metavar="FILE...", help="The trace, or its files in order; - is the standard input."),
]
Files = Annotated[list[str], typer.Argument(metavar="FILE...", help="The trace, or its files in order.")]
Out = Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="The file: .parquet, .arrow, .iolog[.zst].")]
To = Annotated[
    str | None, typer.Option("--to", metavar="FORMAT", help="The format to write; by default that of FILE's name.")
]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]

_SAMPLE = (
    "The maximum of pages tracked for popularity and miss ratios, which are estimates for larger footprints: "
    "auto (16,384), exact (no maximum), or a number."
)
_POLICIES = (
    "Also simulate caches with these eviction policies, a list such as lru,sieve,s3-fifo; belady is the optimum. The "
    "trace is read once more."
)
_SIZES = "The sizes of these caches: 16MiB,64MiB; by default 17 sizes, from the footprint down to a 256th of it."
_PLOT = "Also draw it: a file that ends in .svg, .png or .pdf, or a folder for a PDF of each panel."


@app.command()
@with_trace_options
def info(
    trace: Trace,
    options: TraceOptions,
    page: Annotated[str, typer.Option("--page", metavar="SIZE", help="The page size.")] = "4KiB",
    sample: Annotated[str, typer.Option("--sample", metavar="PAGES", help=_SAMPLE)] = "auto",
    policies: Annotated[str | None, typer.Option("--policies", metavar="NAME,NAME...", help=_POLICIES)] = None,
    sizes: Annotated[str | None, typer.Option("--cache-sizes", metavar="SIZE,SIZE...", help=_SIZES)] = None,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="PATH", help=_PLOT)] = None,
    json: AsJson = False,
) -> None:
    """Describe a trace: requests, sizes, footprint, popularity, LRU miss ratios, and assumptions."""
    if plot is not None:
        from coflash.figures import trace as trace_figures  # needs numpy, which --help does not

        trace_figures.check_place(plot)
    curves = None
    if policies is None:
        check_effect(
            {"--cache-sizes": sizes}, "without --policies, such as --policies lru,sieve: no caches are simulated"
        )
    else:
        curves = _curves(trace, options, policies, sizes, page, sample)
    with shown("reading", errors()) as report:
        found = traces.info(trace, options.settings(), report, page=page, sample=sample)
    written = [] if plot is None else trace_figures.draw(found, plot, curves)
    if json:
        show_json(found.to_dict() | ({} if curves is None else {"miss_ratio_curves": curves.to_dict()}))
        return
    table = plain_table("", "")
    table.show_header = False
    for label, text in rows(found, curves):
        table.add_row(label, text)
    output().print(table)
    for file in written:
        output().print(str(file), markup=False, highlight=False, soft_wrap=True)


def _curves(
    trace: list[str], options: TraceOptions, policies: str, sizes: str | None, page: str, sample: str
) -> MissRatioCurves:
    check_lasting(trace, "--policies reads the trace a second time")
    each = [] if sizes is None else _names(sizes)
    most = traces.SIMULATED_PAGES if sample == "auto" else sample
    try:
        with shown("simulating caches", errors()) as report:
            return traces.miss_ratio_curves(
                trace, _names(policies), options.settings(), report, sizes=each, page=page, sample=most
            )
    except CoflashError as error:
        named = re.sub(r"^sizes\.\d+:", "--cache-sizes:", str(error))
        raise CoflashError(re.sub(r"^(policies|page|sample):", r"--\1:", named)) from None


def _names(listed: str) -> list[str]:
    return [name.strip() for name in listed.split(",")]


@app.command()
@with_trace_options
def head(
    trace: Trace,
    options: TraceOptions,
    count: Annotated[int, typer.Option("--count", "-n", help="The number of requests.")] = 10,
) -> None:
    """Show the first requests of a trace."""
    first = traces.head(trace, count, options.settings())
    table = plain_table("time ns", "operation", "offset bytes", "length bytes")
    for index, column in enumerate(table.columns):
        column.justify = "left" if index == 1 else "right"
    for row in zip(*first.to_dict().values(), strict=True):
        table.add_row(*map(str, row))
    output().print(table)


@app.command()
@with_trace_options
def convert(
    trace: Trace,
    out: Out,
    options: TraceOptions,
    to: To = None,
    json: AsJson = False,
) -> None:
    """Write a trace in another format; Parquet is the quickest to read."""
    write_shown(json, lambda report: traces.convert(trace, out, to, options.settings(), report))


@app.command("slice")
@with_trace_options
def slice_(
    trace: Trace,
    out: Out,
    options: TraceOptions,
    time_from: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Leave out requests that arrive before this time: 10s.")
    ] = None,
    time_to: Annotated[
        str | None,
        typer.Option("--until", metavar="TIME", help="Leave out requests that arrive at this time or later."),
    ] = None,
    address_from: Annotated[
        str | None, typer.Option("--address-from", metavar="SIZE", help="Leave out addresses below this one: 1GiB.")
    ] = None,
    address_to: Annotated[
        str | None, typer.Option("--address-to", metavar="SIZE", help="Leave out this address and those above.")
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option("--sample", metavar="N", min=1, help="Keep one chunk of 256 KiB in N, moved together."),
    ] = None,
    skip: Annotated[int | None, typer.Option("--skip", min=0, help="Leave out this number of the rest.")] = None,
    count: Annotated[int | None, typer.Option("--count", "-n", min=1, help="Keep this number of the rest.")] = None,
    to: To = None,
    json: AsJson = False,
) -> None:
    """Write a part of a trace: by time, then address, then sample, then count. Its first request is at zero."""
    write_shown(
        json,
        lambda report: traces.slice(
            trace,
            out,
            time_from=time_from,
            time_to=time_to,
            address_from=address_from,
            address_to=address_to,
            sample=sample,
            skip=skip,
            count=count,
            format=to,
            options=options.settings(),
            progress=report,
        ),
    )


@app.command()
@with_trace_options
def split(
    trace: Files,
    out: Annotated[str, typer.Option("--out", "-o", metavar="DIR", help="The folder of the volumes' traces.")],
    options: TraceOptions,
    workers: Workers = None,
    json: AsJson = False,
) -> None:
    """Write each device or volume of a trace as a trace of its own; `coflash fleet` takes the folder."""
    from coflash.trace import volumes

    with noted(), shown("writing", errors()) as report:
        found = volumes.split(trace, out, options.settings(), report, workers)
    if json:
        show_json({"folder": out, "volumes": [vars(one) for one in found]})
        return
    requests = sum(one.requests for one in found)
    text = f"{out}: {counted(len(found), 'volume')}, {counted(requests, 'request')}; {volumes.DOCUMENT} lists them"
    output().print(text, markup=False, highlight=False, soft_wrap=True)


@app.command()
@with_trace_options
def merge(
    trace: Annotated[list[str], typer.Argument(metavar="FILE...", help="The traces, a file each.")],
    out: Out,
    options: TraceOptions,
    offset: Annotated[
        list[str] | None,
        typer.Option("--offset", metavar="SIZE", help="Move a trace up by this size; once for each trace, in order."),
    ] = None,
    to: To = None,
    json: AsJson = False,
) -> None:
    """Write several traces as one, by time."""
    write_shown(json, lambda report: traces.merge(trace, out, offset, to, options.settings(), report))


@app.command()
@with_trace_options
def remap(
    trace: Trace,
    out: Out,
    options: TraceOptions,
    place: Annotated[
        Literal["dense", "modulo"],
        typer.Option("--place", help="Number pages in the order of their first use, or take them modulo --size."),
    ] = "dense",
    page: Annotated[str, typer.Option("--page", metavar="SIZE", help="The page size.")] = "4KiB",
    size: Annotated[str | None, typer.Option("--size", metavar="SIZE", help="The space for modulo.")] = None,
    to: To = None,
    json: AsJson = False,
) -> None:
    """Write a trace with its addresses moved, so that it fits a smaller device."""
    write_shown(json, lambda report: traces.remap(trace, out, place, page, size, to, options.settings(), report))


def write_shown(json: bool, work: Callable[[traces.Progress], dict[str, Any]]) -> None:
    """Run a tool, and describe the file that it wrote."""
    with shown("writing", errors()) as report:
        written = work(report)
    if json:
        show_json(written)
        return
    notes(written["remarks"])
    requests, size = counted(written["requests"], "request"), show(written["bytes"], "bytes")
    output().print(f"{written['file']}: {written['format']}, {requests}, {size}", markup=False, highlight=False)
