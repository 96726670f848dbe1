"""Describe, convert, cut, merge and generate block traces.

Options:
    trace: `FILE...` The trace, or its files in order; - is the standard input.
    out: `--out -o FILE` The file: .parquet, .arrow, .iolog[.zst].
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import typer

from coflash import CoflashError
from coflash import trace as traces
from coflash.cli.console import check_effect, errors, noted, notes, output, say, show_json, show_table
from coflash.cli.options import Group, assigned, trace_options
from coflash.cli.trace_table import rows
from coflash.files.digest import check_lasting
from coflash.quantity import Unit, change, counted, show, show_change
from coflash.runs.progress import shown
from coflash.scenario import flat
from coflash.text_table import TextTable
from coflash.trace.survey import DOCUMENT, files_in, name_in, whole
from coflash.trace.survey import survey as surveyed
from coflash.trace.trace_info import MissRatioCurves

app = Group(no_args_is_help=True)

_UNIT = re.compile(r"(?:_|\b)(ns|bytes|share)\b")

_NOT_SHOWN = frozenset({"course", "write_growth", "reuse", "popularity", "sampling", "address_min", "address_end"})
"""Parts of a description that `trace info` shows; a likeness is compared without them."""

_KEYS = {
    r"slice\.(time|address)_(from|to)": r"--\1 FROM..UNTIL",
    r"slice\.(skip|count)": "--requests FROM..UNTIL",
    r"(page|policies|sample|space)": r"--\1",
    r"offsets(\.\d+)?": "--offset",
    r"sizes\.\d+": "--cache-sizes",
}
"""Beginnings of errors, as patterns, and what the command line calls these keys."""

_NO_CACHES = "without --policies, such as --policies lru,sieve: no caches are simulated"


@app.command()
def info(
    trace: list[str],
    page: str = "4KiB",
    sample: str = "auto",
    policies: str | None = None,
    sizes: str | None = None,
    plot: Path | None = None,
    read: list[str] | None = None,
    as_json: bool = False,
) -> None:
    """Describe a trace: requests, sizes, footprint, popularity, LRU miss ratios, and assumptions.

    Options:
        sample: `--sample PAGES` The maximum of pages tracked for popularity and miss ratios, which are estimates for
            larger footprints: auto (16,384), exact (no maximum), or a number.
        policies: `--policies NAME,NAME...` Also simulate caches with these eviction policies, a list such as
            lru,sieve,s3-fifo; belady is the optimum. The trace is read once more.
        sizes: `--cache-sizes SIZE,SIZE...` The sizes of these caches: 16MiB,64MiB; by default 17 sizes, from the
            footprint down to a 256th of it.
        plot: `--plot PATH` Also draw it: a file that ends in .svg, .png or .pdf, or a folder for a PDF of each panel.
    """
    if plot is not None:
        from coflash.trace import figure  # needs numpy, which --help does not

        figure.check_place(plot)
    if policies is None:
        check_effect({"--cache-sizes": sizes}, _NO_CACHES)
    curves = None if policies is None else _curves(trace, read, policies, sizes, page, sample)
    with _kept(), shown("reading", errors()) as report:
        found = traces.info(trace, trace_options(read), report, page=page, sample=sample)
    written = [] if plot is None else figure.draw(found, plot, curves)
    if as_json:
        show_json(found.to_dict() | ({} if curves is None else {"miss_ratio_curves": curves.to_dict()}))
        return
    show_table(TextTable.of(["", ""], rows(found, curves), "l", wraps=True))
    for file in written:
        say(str(file))


@app.command()
def survey(table: Path, trace: list[str], read: list[str] | None = None) -> None:
    """Describe many traces in one table: a row for each file; rows of files elsewhere are kept.

    Exit status 1 means that a file cannot be read.

    Options:
        table: `TABLE` The Parquet file to write.
        trace: `FILE|DIR...` The traces; a folder stands for all its files but hidden ones and README.
    """
    with _kept(f"{table} has the rows of the files that are done; the same command goes on with the others"):
        rows_of = surveyed(trace, table, trace_options(read))
    same = sum(other is not None for other in rows_of["same_as"])
    again = f", {same:,} with the requests of another: see its column same_as" if same else ""
    failed = [file for file, error in zip(rows_of["file"], rows_of["error"], strict=True) if error]
    bad = f", {len(failed):,} of them cannot be read" if failed else ""
    say(f"{table}: {counted(len(rows_of), 'file')}{bad}{again}")
    given = {name_in(whole(table).parent, file): file for place in trace for file in files_in(place)}
    if unread := [given[name] for name in failed if name in given]:
        told = f"error: {counted(len(unread), 'file')} given here cannot be read, see the column error of {table}:"
        problem = "\n  ".join([told, *unread])
        errors().print(problem, style="red", soft_wrap=True)
        raise typer.Exit(1)


def _curves(
    trace: list[str], read: list[str] | None, policies: str, sizes: str | None, page: str, sample: str
) -> MissRatioCurves:
    check_lasting(trace, "--policies reads the trace a second time")
    each = [] if sizes is None else _names(sizes)
    most = traces.SIMULATED_PAGES if sample == "auto" else sample
    with _kept(), shown("simulating caches", errors()) as report:
        return traces.miss_ratio_curves(
            trace, _names(policies), trace_options(read), report, sizes=each, page=page, sample=most
        )


def _names(listed: str) -> list[str]:
    return [name.strip() for name in listed.split(",")]


@app.command()
def head(trace: list[str], requests: int = 10, read: list[str] | None = None) -> None:
    """Show the first requests of a trace."""
    first = traces.head(trace, requests, trace_options(read))
    rows_of = (map(str, row) for row in zip(*first.to_dict().values(), strict=True))
    show_table(TextTable.of(["time ns", "operation", "offset bytes", "length bytes"], rows_of, "rlr"))


@app.command()
def convert(trace: list[str], out: str, read: list[str] | None = None) -> None:
    """Write a trace in another format, as one device from time 0; Parquet is the quickest to read."""
    write_shown(lambda report: traces.convert(trace, out, options=trace_options(read), progress=report))


@app.command("slice")
def slice_(
    trace: list[str],
    out: str,
    time: str | None = None,
    address: str | None = None,
    sample: int | None = None,
    requests: str | None = None,
    read: list[str] | None = None,
) -> None:
    """Write a part of a trace: by time, then address, then sample, then number. Its first request is at zero.

    Options:
        time: `--time FROM..UNTIL` Keep the requests that arrive from a time until before another: 10s..20s; one end is
            enough: 10s.. or ..20s.
        address: `--address FROM..UNTIL` Keep the addresses from one to below another: 1GiB..2GiB, 1GiB.. or ..2GiB.
        sample: `--sample N 1..` Keep one chunk of 256 KiB in N, moved together.
        requests: `--requests -n FROM..UNTIL` Of the rest keep the first N, or those from one number to below another:
            500, 1000..2000 or 1000.. .
    """
    (time_from, time_to), (address_from, address_to) = _ends(time), _ends(address)
    skip, until = (None if end is None else int(end) if end.isdecimal() else -1 for end in _ends(requests))
    if -1 in (skip, until) or (until is not None and until <= (skip or 0)):
        raise CoflashError(f"--requests: '{requests}' was given; N from 1, or FROM..UNTIL as in 1000..2000, is allowed")
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


@app.command()
def split(trace: list[str], out: str, read: list[str] | None = None, workers: int | None = None) -> None:
    """Write each device or volume of a trace as a trace of its own; `coflash fleet` takes the folder.

    Options:
        trace: `FILE...` The trace, or its files in order.
        out: `--out -o DIR` The folder of the volumes' traces.
    """
    from coflash.trace import volumes

    with noted(), _kept(), shown("writing", errors()) as report:
        found = volumes.split(trace, out, trace_options(read), report, workers)
    requests = sum(one.requests for one in found)
    say(f"{out}: {counted(len(found), 'volume')}, {counted(requests, 'request')}; {DOCUMENT} lists them")


@app.command()
def merge(trace: list[str], out: str, offset: list[str] | None = None, read: list[str] | None = None) -> None:
    """Write several traces as one, by time.

    Options:
        trace: `FILE...` The traces, a file each.
        offset: `--offset SIZE` Move a trace up by this size; once for each trace, in order.
    """
    if not offset:
        notes(["Each trace keeps its addresses, so that several may write the same pages: --offset moves each."])
    write_shown(lambda report: traces.merge(trace, out, offset, options=trace_options(read), progress=report))


@contextmanager
def _kept(what: str = "nothing is written; the same command begins anew") -> Iterator[None]:
    """Say after Control-C what is kept, and what the same command does; name options in errors in place of keys."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"stopped: {what}", errors())
        raise
    except CoflashError as error:
        named = str(error)
        for key, option in _KEYS.items():
            named = re.sub(f"^{key}:", f"{option}:", named)
        raise CoflashError(named) from error


def write_shown(work: Callable[[traces.Progress], dict[str, Any]]) -> None:
    """Run a tool, and describe the file that it wrote."""
    with _kept(), shown("writing", errors()) as report:
        written = work(report)
    notes(written["remarks"])
    requests, size = counted(written["requests"], "request"), show(written["bytes"], "bytes")
    output().print(f"{written['file']}: {written['format']}, {requests}, {size}")


@app.command()
def generate(
    workload: str,
    out: str,
    assignments: list[str] | None = None,
    requests: int | None = None,
    seed: int | None = None,
    space: str | None = None,
) -> None:
    """Write a generated workload as a trace: the requests of a run of its scenario.

    Options:
        workload: `WORKLOAD` A generator (zipf), a workload preset (jesd219-enterprise; 'coflash policies' lists both),
            or a scenario, whose workload is written.
        assignments: `--set KEY=VALUE` A key of workload.synthetic (generator.exponent=0.9), of workload.preset, or of
            the scenario, depending on WORKLOAD. May be repeated.
        seed: `--seed 0..9223372036854775807` The seed; by default the scenario's, or 0.
        space: `--space SIZE` The address space; by default that of the scenario's device, or 64GiB.
    """
    settings = dict(assigned("--set", assignments, "read_share=30%"))
    made = partial(traces.generate, workload, out, settings, requests=requests, seed=seed, space=space)
    write_shown(lambda report: made(progress=report))


@app.command()
def like(
    trace: list[str],
    out: str | None = None,
    requests: int | None = None,
    read: list[str] | None = None,
    as_json: bool = False,
) -> None:
    """Generate a workload like a trace, and compare both.

    Options:
        out: `--out -o FILE` The file: .parquet, .arrow, .iolog[.zst]; .toml for a scenario.
    """
    with _kept(), shown("fitting", errors()) as report:
        found = traces.like(trace, out, requests=requests, options=trace_options(read), progress=report)
    if as_json:
        show_json(found)
        return
    notes(found["remarks"])
    table = TextTable(["", "trace", "generated", "change"], "lr")
    original, fitted = flat(found["original"]), flat(found["fitted"])
    for path, value in original.items():
        if _NOT_SHOWN.isdisjoint(path.split(".")) and isinstance(value, int | float | None):
            unit: Any = next(iter(_UNIT.findall(path)), None)
            label = re.sub(r"_(ns|bytes)\b", "", path).replace(".", " ").replace("_", " ")
            other = fitted.get(path)
            table.add(label, _shown(value, unit), _shown(other, unit), show_change(change(other, value)))
    show_table(table)
    if "written" in found:
        notes(found["written"]["remarks"])
    if out is not None:
        output().print(f"{out}: {counted(found['workload']['requests'], 'request')}")


def _shown(value: float | None, unit: Unit | None) -> str:
    return show(value, unit or ("ratio" if isinstance(value, float) else "requests"))
