"""`coflash sweep`."""

from __future__ import annotations

from typing import Annotated

import typer

from coflash.cli.console import (
    STANDARD_OUTPUT,
    check_json,
    end_if_failed,
    errors,
    notes,
    output,
    scenario_with,
    show_or_write,
    write_json,
)
from coflash.cli.options import (
    Assignments,
    JsonFile,
    Measures,
    On,
    OutFolder,
    Quiet,
    Read,
    Scale,
    ScenarioName,
    Seeds,
    TableFormat,
    Traces,
    Vary,
)
from coflash.cli.run_tables import points_table, seeds_note, why_lines
from coflash.measures.catalogue import named
from coflash.sweep import sweep as swept
from coflash.sweep.design import Design, values_by_key

_DESIGN = "All combinations; the first value of each key, then the second, …; random points; a Latin hypercube."


def sweep(
    scenario: ScenarioName,
    vary: Vary,
    trace: Traces = None,
    read: Read = None,
    assignments_: Assignments = None,
    scale: Scale = None,
    design: Annotated[Design, typer.Option("--design", help=_DESIGN)] = "grid",
    samples: Annotated[int, typer.Option("--samples", metavar="N", min=1, help="Points of random and lhs.")] = 20,
    design_seed: Annotated[int, typer.Option("--design-seed", metavar="N", min=0, help="Seed of random and lhs.")] = 0,
    seeds: Seeds = 1,
    on: On = None,
    out: OutFolder = "results/sweep",
    measures: Measures = None,
    format: TableFormat = "terminal",
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Run a scenario at many points, on all cores; runs that are in the folder already are not repeated."""
    names = [named(name).path for name in measures or ()]
    check_json(json)
    done = swept(
        scenario_with(scenario, assignments_, read),
        values_by_key(vary),
        trace or (),
        out=out,
        design=design,
        samples=samples,
        design_seed=design_seed,
        seeds=seeds,
        scale=scale,
        on=on,
        progress=not quiet,
    )
    write_json(json, done.to_json(*names))
    if not quiet:
        measured, results = done.measures(*names), done.results
        console = errors() if json == STANDARD_OUTPUT else output()
        notes([*done.remarks, *results.remarks])
        show_or_write(points_table(done, measured), format, console)
        notes([*results.assumed(measured), *seeds_note(results, measured)])
        for line in (*why_lines(results, results.runs, measured), done.stored(), done.warming.said):
            console.print(line, highlight=False, markup=False, soft_wrap=True, end="\n" if line else "")
    end_if_failed(done.failures, quiet)
