"""List the built-in scenarios; show, check and import scenarios."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import Annotated

import typer

from coflash._core import CoflashError
from coflash.cli.console import (
    scaled,
    scenario_with,
    show_json,
    show_table,
)
from coflash.cli.options import AsJson, Assignments, Scale, ScenarioName, out_option
from coflash.files import atomic_write, kinds
from coflash.imports import imported
from coflash.scenario import built_in_scenarios, scenario_schema
from coflash.text_table import TextTable

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.command("list")
def list_(json: AsJson = False) -> None:
    """List the built-in scenarios."""
    known = built_in_scenarios()
    if json:
        show_json(known)
        return
    table = TextTable(["scenario", "purpose"], wraps=True)
    for name, description in known.items():
        table.add(name, description)
    show_table(table)


@app.command()
def show(scenario: ScenarioName, assignments: Assignments = None, scale: Scale = None, json: AsJson = False) -> None:
    """Print a scenario with every default written out."""
    chosen = scaled(scenario_with(scenario, assignments), scale)
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


@app.command("import")
def import_(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="MQSim's XML files, NVMeVirt's ssd_config.h, a script that starts FEMU."
        ),
    ],
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile", metavar="NAME", help="NVMeVirt's drive; the number of a scenario of MQSim's workloads."
        ),
    ] = None,
    output_file: Annotated[Path | None, out_option("FILE", "Write the scenario to this file.")] = None,
) -> None:
    """Convert the configuration of another simulator to a scenario, and list the settings without an equivalent."""
    found = imported(files, profile)
    if output_file is None:
        typer.echo(found.to_toml(), nl=False)
        return
    atomic_write.check_file(output_file, kinds.IMPORTED, files)
    atomic_write.write_file(output_file, found.to_toml())
    for remark in found.remarks:
        typer.echo(f"note: {remark}")
    for line in found.lost():
        typer.echo(line)
    typer.echo(output_file)
    if problem := found.problem:
        msg = f"{output_file} was written, to be edited: it cannot be run as it stands: {problem}"
        raise CoflashError(msg)


@app.command()
def schema() -> None:
    """Print the JSON schema of scenarios, for editors and other tools."""
    typer.echo(json_text.dumps(scenario_schema(), indent=2))
