"""Describe, convert, cut, merge and generate block traces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from coflash import trace as traces
from coflash.cli import complete
from coflash.cli.console import errors, notes, output, show_json, show_table
from coflash.cli.options import AsJson, Read, Requests, assigned, out_option, trace_options
from coflash.cli.trace import Out, Trace, write_shown
from coflash.cli.trace import app as app
from coflash.quantity import Unit, change, counted, show, show_change
from coflash.runs.progress import shown
from coflash.text_table import TextTable

_UNITS: dict[str, Unit] = {"ns": "ns", "bytes": "bytes", "share": "share"}

_MOST = 2**63 - 1

_NOT_SHOWN = frozenset({"course", "write_growth", "reuse", "popularity", "sampling", "address_min", "address_end"})
"""Parts of a description that `trace info` shows."""


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
