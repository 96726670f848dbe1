"""`coflash trace generate` and `coflash trace like`: workloads that are made up, written as traces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from coflash import trace as traces
from coflash.cli.console import assigned, errors, notes, output, plain_table, show_json
from coflash.cli.trace import AsJson, Columns, Format, OnError, Options, Out, To, Trace, options_of, write_shown
from coflash.progress import shown
from coflash.quantity import Unit, change, show, show_change

_UNITS: dict[str, Unit] = {"ns": "ns", "bytes": "bytes", "share": "share"}

Requests = Annotated[
    int | None, typer.Option("--requests", min=1, help="How many; of phases and tenants at most so many.")
]


def generate(
    workload: Annotated[
        str,
        typer.Argument(
            metavar="WORKLOAD",
            help="A generator (zipf), a ready-made workload (jesd219-enterprise; 'coflash policies' lists both), or a "
            "scenario, whose workload is taken.",
        ),
    ],
    out: Out,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A key of workload.synthetic (generator.exponent=0.9), of workload.preset or of the scenario, "
            "as WORKLOAD is one. May be repeated.",
        ),
    ] = None,
    requests: Requests = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="The scenario's own, or 0, if left out.", show_default=False)
    ] = None,
    space: Annotated[
        str | None,
        typer.Option(
            "--space",
            metavar="SIZE",
            help="The addresses it has; what the scenario's device exports, or 64GiB, if left out.",
        ),
    ] = None,
    to: To = None,
    json: AsJson = False,
) -> None:
    """Write a made-up workload as a trace: what a run of its scenario would be asked to do."""
    settings = dict(assigned("--set", assignments, "read_share=30%"))
    write_shown(
        json,
        lambda report: traces.generate(
            workload, out, settings, requests=requests, seed=seed, space=space, format=to, progress=report
        ),
    )


def like(
    trace: Trace,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Where it goes: .parquet, .arrow, .iolog[.zst]; .toml for a scenario."
        ),
    ] = None,
    requests: Annotated[
        int | None, typer.Option("--requests", min=1, help="How many to write; as many as the trace has if left out.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of what is written.")] = 0,
    page: Annotated[str, typer.Option("--page", metavar="SIZE", help="What popularity is counted in.")] = "4KiB",
    to: To = None,
    format: Format = None,
    on_error: OnError = "stop",
    columns: Columns = None,
    option: Options = None,
    json: AsJson = False,
) -> None:
    """Make up a workload like a trace, and show how like it is."""
    options = options_of(format, on_error, option, columns)
    with shown("fitting", errors()) as report:
        found = traces.like(
            trace, out, requests=requests, seed=seed, page=page, format=to, options=options, progress=report
        )
    if json:
        show_json(found)
        return
    notes(found["remarks"])
    table = plain_table("", "trace", "made up", "change")
    for column in table.columns[1:]:
        column.justify = "right"
    original, fitted = dict(_facts(found["original"])), dict(_facts(found["fitted"]))
    for (label, unit), value in original.items():
        other = fitted.get((label, unit))
        table.add_row(label, _shown(value, unit), _shown(other, unit), show_change(change(other, value)))
    output().print(table)
    if "written" in found:
        notes(found["written"]["remarks"])
    if out is not None:
        output().print(f"{out}: {found['workload']['requests']:,} requests", markup=False, highlight=False)


def _facts(profile: dict[str, Any], prefix: str = "", unit: Unit | None = None) -> Iterator[tuple[Any, float | None]]:
    """Every number with its label and unit; the last word of a name is its unit."""
    for name, value in profile.items():
        *words, last = name.split("_")
        own = _UNITS.get(last, unit)
        label = prefix + (" ".join(words) if words and last in _UNITS else name.replace("_", " "))
        if isinstance(value, dict):
            yield from _facts(value, f"{label} ", own)
        else:
            yield (label if own != "share" or "share" in label else f"{label} share", own), value


def _shown(value: float | None, unit: Unit | None) -> str:
    return show(value, unit or "requests")
