"""Describe, convert, cut, merge and generate block traces."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from coflash import CoflashError
from coflash import trace as traces
from coflash.cli import complete
from coflash.cli.console import check_effect, errors, noted, notes, output, say, show_json, show_table
from coflash.cli.options import AsJson, Page, Read, Requests, Workers, assigned, out_option, trace_options
from coflash.cli.trace_table import rows
from coflash.files.digest import check_lasting
from coflash.quantity import Unit, change, counted, show, show_change
from coflash.runs.progress import shown
from coflash.text_table import TextTable
from coflash.trace.trace_info import MissRatioCurves

app = typer.Typer(no_args_is_help=True, add_completion=False)

Trace = Annotated[
    list[str],
    typer.Argument(metavar="FILE...", help="The trace, or its files in order; - is the standard input."),
]
Files = Annotated[list[str], typer.Argument(metavar="FILE...", help="The trace, or its files in order.")]
Out = Annotated[str, out_option("FILE", "The file: .parquet, .arrow, .iolog[.zst].")]

_UNITS: dict[str, Unit] = {"ns": "ns", "bytes": "bytes", "share": "share"}

_MOST = 2**63 - 1

_NOT_SHOWN = frozenset({"course", "write_growth", "reuse", "popularity", "sampling", "address_min", "address_end"})
"""Parts of a description that `trace info` shows; a likeness is compared without them."""
_SAMPLE = (
    "The maximum of pages tracked for popularity and miss ratios, which are estimates for larger footprints: "
    "auto (16,384), exact (no maximum), or a number."
)
_POLICIES = (
    "Also simulate caches with these eviction policies, a list such as lru,sieve,s3-fifo; belady is the optimum. The "
    "trace is read once more."
)
_SIZES = "The sizes of these caches: 16MiB,64MiB; by default 17 sizes, from the footprint down to a 256th of it."
_TIME = "Keep the requests that arrive from a time until before another: 10s..20s; one end is enough: 10s.. or ..20s."
_ADDRESS = "Keep the addresses from one to below another: 1GiB..2GiB, 1GiB.. or ..2GiB."
_REQUESTS = "Of the rest keep the first N, or those from one number to below another: 500, 1000..2000 or 1000.. ."
_SIZE = "Take pages modulo this space, in place of numbering them in the order of their first use."
_PLOT = "Also draw it: a file that ends in .svg, .png or .pdf, or a folder for a PDF of each panel."


@app.command()
def info(
    trace: Trace,
    page: Page = "4KiB",
    sample: Annotated[str, typer.Option("--sample", metavar="PAGES", help=_SAMPLE)] = "auto",
    policies: Annotated[str | None, typer.Option("--policies", metavar="NAME,NAME...", help=_POLICIES)] = None,
    sizes: Annotated[str | None, typer.Option("--cache-sizes", metavar="SIZE,SIZE...", help=_SIZES)] = None,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="PATH", help=_PLOT)] = None,
    read: Read = None,
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
        curves = _curves(trace, read, policies, sizes, page, sample)
    with shown("reading", errors()) as report:
        found = traces.info(trace, trace_options(read), report, page=page, sample=sample)
    written = [] if plot is None else trace_figures.draw(found, plot, curves)
    if json:
        show_json(found.to_dict() | ({} if curves is None else {"miss_ratio_curves": curves.to_dict()}))
        return
    table = TextTable(["", ""], wraps=True)
    for label, text in rows(found, curves):
        table.add(label, text)
    show_table(table)
    for file in written:
        say(str(file))


def _curves(
    trace: list[str], read: list[str] | None, policies: str, sizes: str | None, page: str, sample: str
) -> MissRatioCurves:
    check_lasting(trace, "--policies reads the trace a second time")
    each = [] if sizes is None else _names(sizes)
    most = traces.SIMULATED_PAGES if sample == "auto" else sample
    try:
        with shown("simulating caches", errors()) as report:
            return traces.miss_ratio_curves(
                trace, _names(policies), trace_options(read), report, sizes=each, page=page, sample=most
            )
    except CoflashError as error:
        named = re.sub(r"^sizes\.\d+:", "--cache-sizes:", str(error))
        raise CoflashError(re.sub(r"^(policies|page|sample):", r"--\1:", named)) from None


def _names(listed: str) -> list[str]:
    return [name.strip() for name in listed.split(",")]


@app.command()
def head(
    trace: Trace,
    requests: Requests = 10,
    read: Read = None,
) -> None:
    """Show the first requests of a trace."""
    first = traces.head(trace, requests or 0, trace_options(read))
    table = TextTable(["time ns", "operation", "offset bytes", "length bytes"], "rlr")
    for row in zip(*first.to_dict().values(), strict=True):
        table.add(*map(str, row))
    show_table(table)


@app.command()
def convert(
    trace: Trace,
    out: Out,
    read: Read = None,
) -> None:
    """Write a trace in another format; Parquet is the quickest to read."""
    write_shown(lambda report: traces.convert(trace, out, options=trace_options(read), progress=report))


@app.command("slice")
def slice_(
    trace: Trace,
    out: Out,
    time: Annotated[str | None, typer.Option("--time", metavar="FROM..UNTIL", help=_TIME)] = None,
    address: Annotated[str | None, typer.Option("--address", metavar="FROM..UNTIL", help=_ADDRESS)] = None,
    sample: Annotated[
        int | None,
        typer.Option("--sample", metavar="N", min=1, help="Keep one chunk of 256 KiB in N, moved together."),
    ] = None,
    requests: Annotated[str | None, typer.Option("--requests", "-n", metavar="FROM..UNTIL", help=_REQUESTS)] = None,
    read: Read = None,
) -> None:
    """Write a part of a trace: by time, then address, then sample, then number. Its first request is at zero."""
    (time_from, time_to), (address_from, address_to) = _ends(time), _ends(address)
    skip, until = (None if end is None else _whole(end) for end in _ends(requests))
    write_shown(
        lambda report: traces.slice(
            trace,
            out,
            time_from=time_from,
            time_to=time_to,
            address_from=address_from,
            address_to=address_to,
            sample=sample,
            skip=skip,
            count=None if until is None else until - (skip or 0),
            options=trace_options(read),
            progress=report,
        )
    )


def _ends(given: str | None) -> tuple[str | None, str | None]:
    """Return the ends of FROM..UNTIL; a single one is the second."""
    begin, _, end = (given or "").rpartition("..")
    return begin or None, end or None


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise CoflashError(f"--requests: '{text}' was given; a whole number, or two as in 1000..2000, is allowed")
    return int(text)


@app.command()
def split(
    trace: Files,
    out: Annotated[str, out_option("DIR", "The folder of the volumes' traces.")],
    read: Read = None,
    workers: Workers = None,
) -> None:
    """Write each device or volume of a trace as a trace of its own; `coflash fleet` takes the folder."""
    from coflash.trace import volumes

    with noted(), shown("writing", errors()) as report:
        found = volumes.split(trace, out, trace_options(read), report, workers)
    requests = sum(one.requests for one in found)
    text = f"{out}: {counted(len(found), 'volume')}, {counted(requests, 'request')}; {volumes.DOCUMENT} lists them"
    say(text)


@app.command()
def merge(
    trace: Annotated[list[str], typer.Argument(metavar="FILE...", help="The traces, a file each.")],
    out: Out,
    offset: Annotated[
        list[str] | None,
        typer.Option("--offset", metavar="SIZE", help="Move a trace up by this size; once for each trace, in order."),
    ] = None,
    read: Read = None,
) -> None:
    """Write several traces as one, by time."""
    write_shown(lambda report: traces.merge(trace, out, offset, options=trace_options(read), progress=report))


@app.command()
def remap(
    trace: Trace,
    out: Out,
    size: Annotated[str | None, typer.Option("--size", metavar="SIZE", help=_SIZE)] = None,
    read: Read = None,
) -> None:
    """Write a trace with its addresses moved, so that it fits a smaller device."""
    place: Literal["dense", "modulo"] = "modulo" if size else "dense"
    write_shown(lambda report: traces.remap(trace, out, place, size=size, options=trace_options(read), progress=report))


def write_shown(work: Callable[[traces.Progress], dict[str, Any]]) -> None:
    """Run a tool, and describe the file that it wrote."""
    with shown("writing", errors()) as report:
        written = work(report)
    notes(written["remarks"])
    requests, size = counted(written["requests"], "request"), show(written["bytes"], "bytes")
    output().print(f"{written['file']}: {written['format']}, {requests}, {size}")


@app.command()
def generate(
    workload: Annotated[
        str,
        typer.Argument(
            metavar="WORKLOAD",
            help="A generator (zipf), a workload preset (jesd219-enterprise; 'coflash policies' lists both), or a "
            "scenario, whose workload is written.",
            autocompletion=complete.workloads,
        ),
    ],
    out: Out,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A key of workload.synthetic (generator.exponent=0.9), of workload.preset, or of the scenario, "
            "depending on WORKLOAD. May be repeated.",
        ),
    ] = None,
    requests: Requests = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, max=_MOST, help="The seed; by default the scenario's, or 0.", show_default=False),
    ] = None,
    space: Annotated[
        str | None,
        typer.Option(
            "--space",
            metavar="SIZE",
            help="The address space; by default that of the scenario's device, or 64GiB.",
        ),
    ] = None,
) -> None:
    """Write a generated workload as a trace: the requests of a run of its scenario."""
    settings = dict(assigned("--set", assignments, "read_share=30%"))
    write_shown(
        lambda report: traces.generate(
            workload, out, settings, requests=requests, seed=seed, space=space, progress=report
        )
    )


@app.command()
def like(
    trace: Trace,
    out: Annotated[
        str | None, out_option("FILE", "The file: .parquet, .arrow, .iolog[.zst]; .toml for a scenario.")
    ] = None,
    requests: Requests = None,
    read: Read = None,
    json: AsJson = False,
) -> None:
    """Generate a workload like a trace, and compare both."""
    with shown("fitting", errors()) as report:
        found = traces.like(trace, out, requests=requests, options=trace_options(read), progress=report)
    if json:
        show_json(found)
        return
    notes(found["remarks"])
    table = TextTable(["", "trace", "generated", "change"], "lr")
    original, fitted = dict(_facts(found["original"])), dict(_facts(found["fitted"]))
    for (label, unit), value in original.items():
        other = fitted.get((label, unit))
        table.add(label, _shown(value, unit), _shown(other, unit), show_change(change(other, value)))
    show_table(table)
    if "written" in found:
        notes(found["written"]["remarks"])
    if out is not None:
        output().print(f"{out}: {counted(found['workload']['requests'], 'request')}")


def _facts(profile: dict[str, Any], prefix: str = "", unit: Unit | None = None) -> Iterator[tuple[Any, float | None]]:
    """Yield every number with its label and its unit, which is the last word of its name."""
    for name, value in profile.items():
        if name in _NOT_SHOWN or not isinstance(value, dict | int | float | None):
            continue
        *words, last = name.split("_")
        own = _UNITS.get(last, unit)
        label = prefix + (" ".join(words) if words and last in _UNITS else name.replace("_", " "))
        if isinstance(value, dict):
            yield from _facts(value, f"{label} ", own)
        else:
            yield (label if own != "share" or "share" in label else f"{label} share", own), value


def _shown(value: float | None, unit: Unit | None) -> str:
    return show(value, unit or ("ratio" if isinstance(value, float) else "requests"))
