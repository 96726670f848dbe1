"""`coflash fleet`."""

from __future__ import annotations

import json as json_text
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from coflash._core import __version__
from coflash.cli import complete
from coflash.cli import console as shared
from coflash.cli.options import (
    HERE,
    Assignments,
    JsonFile,
    Measures,
    On,
    OutFolder,
    Plot,
    Quiet,
    Read,
    Seeds,
    Vary,
    assigned,
    trace_options,
)
from coflash.measures.measure import Measure
from coflash.quantity import counted, show
from coflash.runs.progress import shown
from coflash.sweep.design import check_keys
from coflash.sweep.fleet import By, Fleet, Spread, measures_of, name_of
from coflash.sweep.fleet import fleet as run_fleet
from coflash.sweep.size import DEVICE
from coflash.text_table import TextTable

Device = typer.Option(
    "--scenario",
    metavar="NAME|FILE",
    help="The device; its size follows each volume.",
    autocompletion=complete.scenarios,
)
Volumes = typer.Option("--volumes", metavar="DIR|URL", help="Where the volumes' traces are kept; by default in --out.")
Table = typer.Option("--table", metavar="FILE", help="A row for each volume and point: .csv or .parquet.")


def fleet(
    traces: Annotated[list[str], typer.Argument(metavar="TRACE...", help="The trace of many volumes, or its files.")],
    vary: Vary,
    read: Read = None,
    by: Annotated[
        By, typer.Option("--by", help="A device for each volume that the records name, or for each file.")
    ] = "volume",
    scenario: Annotated[str, Device] = DEVICE,
    assignments_: Assignments = None,
    volumes: Annotated[str | None, Volumes] = None,
    seeds: Seeds = 1,
    on: On = HERE,
    out: OutFolder = "results/fleet",
    measures: Measures = None,
    table: Annotated[Path | None, Table] = None,
    plot: Plot = None,
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Run each volume of a trace on a device of its own, and show how results spread over the volumes."""
    from coflash.files import atomic_write, kinds
    from coflash.measures.catalogue import named
    from coflash.results.database import check_table, export_table

    for name in measures or ():
        named(name)
    shared.check_json(json)
    if plot is not None:
        from coflash.charts import format_of

        form = format_of(plot)
        atomic_write.check_file(plot, kinds.FIGURE)
    if table is not None:
        check_table(table)
    varied = assigned("--vary", vary, "cooperation=none,cdm")
    check_keys(key for key, _ in varied)
    base = shared.scenario_with(scenario, assignments_)
    with shared.noted(), nullcontext(None) if quiet else shown("reading", shared.errors()) as report:
        found = run_fleet(
            traces,
            dict(varied),
            out=out,
            by=by,
            scenario=base,
            volumes=volumes,
            options=trace_options(read),
            seeds=seeds,
            **vars(on),
            progress=not quiet,
            reading=report,
        )
    chosen = measures_of(measures or (), found.sweep)
    shared.write_json(json, json_text.dumps(_document(found, chosen), indent=2, ensure_ascii=False) + "\n")
    if table is not None:
        export_table(found.table(*(measure.path for measure in chosen)), table)
    if plot is not None:
        from coflash.figures import fleet as figure

        names = [name_of(design) for design in found.designs]
        what = chosen[0]
        atomic_write.write_file(plot, figure.draw(names, what, found.by_volume(what), found.saved(what), form))
    if not quiet:
        _tell(found, chosen, out, json)
    shared.end_if_failed(found.sweep.failures, quiet)


def _tell(found: Fleet, measures: list[Measure], out: str, json: Path | None) -> None:
    console = shared.errors() if json == shared.STANDARD_OUTPUT else shared.output()
    shared.notes([*found.remarks, *found.sweep.results.remarks])
    heads = ("volumes", "mean", "95 % of fleets", "least", "10 %", "median", "90 %", "most")
    for measure in measures:
        rows = TextTable([measure.label, *heads], "lr")
        ends = []
        for spread in found.spread(measure):
            rows.add(name_of(spread.values), *_cells(spread, partial(show, unit=measure.unit)))
            ends.append(f"{name_of(spread.values)}: least in {spread.least}, most in {spread.greatest}")
        for spread in found.spread_of_saved(measure):
            rows.add(f"{name_of(spread.values)} saves", *_cells(spread, _percent))
            ends.append(f"{name_of(spread.values)} saves least in {spread.least}, most in {spread.greatest}")
        shared.show_table(rows, console=console)
        console.print("; ".join(ends), highlight=False, markup=False, soft_wrap=True)
    wafs = [
        f"{name_of(design)} {waf:.3f}"
        for design, waf in zip(found.designs, found.whole["waf_host"], strict=True)
        if waf
    ]
    if not wafs:
        wafs = ["no volume wrote to flash: caches hold all that is written"]
    console.print(f"all volumes together, WAF of the sums: {', '.join(wafs)}", highlight=False, soft_wrap=True)
    before = f", {found.sweep.from_before} of them from before" if found.sweep.from_before else ""
    runs = len(found.sweep.results)
    console.print(
        f"results: {out} ({counted(runs, 'run')} of {counted(len(found.volumes), 'volume')}{before})",
        highlight=False,
        soft_wrap=True,
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %".replace("-", "−")


def _cells(spread: Spread, text: Any) -> list[str]:
    low, high = spread.mean_between
    return [f"{spread.volumes:,}", text(spread.mean), f"{text(low)} … {text(high)}", *map(text, spread.percentiles)]


def _document(found: Fleet, measures: list[Measure]) -> dict[str, Any]:
    return {
        "coflash": __version__,
        "volumes": [asdict(one) for one in found.volumes],
        "left_out": [one.name for one in found.left_out],
        "points": found.designs,
        "whole": found.whole,
        "measures": {
            measure.path: {
                "by_volume": found.by_volume(measure),
                "spread": [one._asdict() for one in found.spread(measure)],
                "saved": [one._asdict() for one in found.spread_of_saved(measure)],
            }
            for measure in measures
        },
        "failures": [vars(failure) for failure in found.sweep.failures],
        "remarks": found.remarks,
    }
