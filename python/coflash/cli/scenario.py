"""`coflash scenario`."""

from __future__ import annotations

import json as json_text
from typing import Annotated

import typer

from coflash.cli.console import Assignments, ScenarioName, output, plain_table, scenario_with, show_json
from coflash.scenario import built_in_scenarios, scenario_schema

app = typer.Typer(help="Built-in scenarios, and checks of your own.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]


@app.command("list")
def list_(json: AsJson = False) -> None:
    """List the built-in scenarios."""
    known = built_in_scenarios()
    if json:
        show_json(known)
        return
    table = plain_table("scenario", "purpose")
    for name, description in known.items():
        table.add_row(name, description)
    output().print(table)


@app.command()
def show(scenario: ScenarioName, assignments: Assignments = None, json: AsJson = False) -> None:
    """Print a scenario with every default written out."""
    chosen = scenario_with(scenario, assignments)
    if json:
        show_json(chosen.to_dict())
    else:
        typer.echo(chosen.to_toml(), nl=False)


@app.command()
def check(scenario: ScenarioName, assignments: Assignments = None) -> None:
    """Check a scenario without running it."""
    chosen = scenario_with(scenario, assignments)
    for remark in chosen.check():
        typer.echo(f"note: {remark}")
    typer.echo(f"{chosen.name}: ok, {chosen.hash}")


@app.command()
def schema() -> None:
    """Print the JSON schema of scenarios, for editors and other tools."""
    typer.echo(json_text.dumps(scenario_schema(), indent=2))
