"""`coflash sweep`."""

from __future__ import annotations

import json as json_text
from typing import Annotated, Any

import typer

from coflash._core import __version__
from coflash.cli.console import (
    STANDARD_OUTPUT,
    check_json,
    end_if_failed,
    errors,
    notes,
    output,
    scenario_with,
    show_table,
    write_json,
)
from coflash.cli.options import (
    HERE,
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
from coflash.cli.run_tables import seeds_note, why_lines
from coflash.measures.catalogue import named
from coflash.measures.measure import BRIEF, Measure
from coflash.quantity import counted
from coflash.results.store import store_at
from coflash.runs.inputs import inputs_of
from coflash.sweep import Sweep, swept
from coflash.sweep.design import Design, assignments, axis
from coflash.sweep.engine import Place
from coflash.sweep.plan import Plan
from coflash.sweep.progress import Warming, span

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
    on: On = HERE,
    out: OutFolder = "results/sweep",
    measures: Measures = None,
    format: TableFormat = "terminal",
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Run a scenario at many points, on all cores; runs that are in the folder already are not repeated."""
    given = [named(name) for name in measures or ()]
    check_json(json)
    points = assignments([axis(text) for text in vary], design, samples, design_seed)
    chosen = scenario_with(scenario, assignments_, read)
    inputs = inputs_of(chosen, trace or ())
    place = Place(on.engine, on.workers, on.address, inputs)
    found = swept(Plan.of(chosen, inputs, points, seeds, scale), store_at(out), place, None if quiet else errors())
    shown = given or found.results.applying(BRIEF)
    write_json(json, json_text.dumps(_document(found, shown), indent=2, ensure_ascii=False) + "\n")
    if not quiet:
        console = errors() if json == STANDARD_OUTPUT else output()
        notes([*found.remarks, *found.results.remarks])
        show_table(found.shown(shown), format, console)
        for line in why_lines(found.results, found.results.runs, shown):
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        notes(found.results.assumed(shown))
        notes(seeds_note(found.results, shown))
        done = f" ({counted(len(found.results), 'run')}, {found.from_before} of them from before)"
        console.print(f"results: {out}{done if found.from_before else ''}", highlight=False, soft_wrap=True)
        if found.warming.runs:
            console.print(warmed(found.warming), highlight=False, soft_wrap=True)
    end_if_failed(found.failures, quiet)


def warmed(warming: Warming) -> str:
    """Describe the savings from shared warm devices in one line."""
    devices = "1 device" if warming.devices == 1 else f"{warming.devices} devices"
    runs = "1 more run" if warming.runs == 1 else f"{warming.runs} more runs"
    return f"warm-up: {devices} warmed up for {runs}, which saved {span(warming.seconds_saved)} of processor time"


def _document(found: Sweep, measures: list[Measure]) -> dict[str, Any]:
    columns = {measure.path: found.estimates(measure) for measure in measures}
    return {
        "coflash": __version__,
        "points": [
            {
                "values": point.values,
                "runs": [job.key for job in point.jobs],
                "measures": {name: column[index]._asdict() for name, column in columns.items()},
            }
            for index, point in enumerate(found.points)
        ],
        "failures": [vars(failure) for failure in found.failures],
        "warming": found.warming._asdict(),
    }
