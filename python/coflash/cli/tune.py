"""`coflash tune`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from coflash.cli import complete
from coflash.cli.console import check_json, scenario_with
from coflash.cli.finding import show_finding
from coflash.cli.options import Assignments, JsonFile, On, OutFolder, Quiet, Read, ScenarioName, Seeds, Traces
from coflash.results.database import results
from coflash.sweep import tune as job
from coflash.sweep.design import values_by_key

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
    on: On = None,
    out: OutFolder = "results/tune",
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Search for the values of some keys that minimise or maximise measures; the same command resumes a search."""
    check_json(json)
    tuning = job.tune(
        scenario_with(scenario, assignments, read),
        values_by_key(over),
        trace or (),
        minimise=minimise,
        maximise=maximise,
        cost=cost,
        subject_to=subject_to or (),
        out=out,
        trials=trials,
        seeds=seeds,
        tune_seed=tune_seed,
        on=on,
        progress=not quiet,
    )
    stored = results(out)
    remarks = [*stored.remarks, *stored.assumed([goal.measure for goal in tuning.goals])]
    show_finding(tuning, json, quiet, remarks=remarks, files=[f"results: {out}"])
