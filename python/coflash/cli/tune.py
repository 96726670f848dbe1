"""`coflash tune`."""

from __future__ import annotations

import json as json_text
from typing import Annotated, Any

import typer

from coflash._core import __version__
from coflash.cli import complete
from coflash.cli.console import (
    STANDARD_OUTPUT,
    check_json,
    errors,
    notes,
    output,
    scenario_with,
    show_table,
    write_json,
)
from coflash.cli.options import HERE, Assignments, JsonFile, On, OutFolder, Quiet, Read, ScenarioName, Seeds, Traces
from coflash.cli.run_tables import trials_line, trials_table
from coflash.results.database import results
from coflash.sweep.design import axis
from coflash.sweep.engine import Place
from coflash.sweep.goal import condition, goals
from coflash.sweep.tune import Search, folder_for

_OVER = "The space: lo..hi or lo..hi*2 or a,b. May be repeated."
_COST = "A cost to minimise: 'cache.size*3 $/GiB + flash.size*0.08'; flash.size includes spare space."
_BOUND = "A bound: response.p99<5ms, cache.size<1GiB, cost<2. May be repeated."


def _objective(option: str, examples: str) -> Any:
    about = f"A measure or key to {option}: {examples}. May be repeated."
    return typer.Option(f"--{option}", metavar="MEASURE|KEY", help=about, autocompletion=complete.measures)


Over = typer.Option("--over", metavar="KEY=VALUES", help=_OVER, autocompletion=complete.assignments)


def tune(
    scenario: ScenarioName,
    over: Annotated[list[str], Over],
    minimise: Annotated[list[str] | None, _objective("minimise", "response.p99, cache.size, flash.size")] = None,
    maximise: Annotated[list[str] | None, _objective("maximise", "cache.hit_ratio")] = None,
    cost: Annotated[str | None, typer.Option("--cost", metavar="KEY*PRICE+…", help=_COST)] = None,
    subject_to: Annotated[list[str] | None, typer.Option("--subject-to", metavar="MEASURE<VALUE", help=_BOUND)] = None,
    trace: Traces = None,
    read: Read = None,
    assignments: Assignments = None,
    trials: Annotated[int, typer.Option("--trials", metavar="N", min=1, help="Number of points to try.")] = 50,
    seeds: Seeds = 1,
    tune_seed: Annotated[int, typer.Option("--tune-seed", metavar="N", min=0, help="Seed of the search.")] = 0,
    on: On = HERE,
    out: OutFolder = "results/tune",
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Search for the values of some keys that minimise or maximise measures; the same command resumes a search."""
    check_json(json)
    search = Search(
        scenario_with(scenario, assignments, read),
        [axis(text) for text in over],
        trace or (),
        goals(minimise, maximise, cost),
        [condition(text, cost) for text in subject_to or ()],
        seeds=seeds,
        trials=trials,
        seed=tune_seed,
    )
    found = search.run(
        folder_for(out), Place(on.engine, on.workers, on.address, search.inputs), None if quiet else errors()
    )
    write_json(json, json_text.dumps({"coflash": __version__, **found.document()}, indent=2, ensure_ascii=False) + "\n")
    if not quiet:
        console = errors() if json == STANDARD_OUTPUT else output()
        stored = results(out)
        notes(stored.remarks)
        show_table(trials_table(found), console=console)
        notes(stored.assumed([goal.measure for goal in found.goals]))
        console.print(trials_line(found), highlight=False, soft_wrap=True)
        best = " ".join(f"--set {key}={value}" for key, value in found.best.values.items())
        label = "best:   " if found.best.is_allowed else "closest:"
        console.print(f"{label} {best}", highlight=False, soft_wrap=True)
        console.print(f"results: {out}", highlight=False, soft_wrap=True)
