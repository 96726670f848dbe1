"""List the built-in scenarios; show and check scenarios."""

from __future__ import annotations

import json as json_text
from pathlib import Path

import typer

from coflash._core import CoflashError
from coflash.cli.console import say, scenario_with, show_json, show_table
from coflash.cli.options import Group
from coflash.commented import commented
from coflash.files import atomic_write
from coflash.scenario import Scenario, built_in_scenarios, flat, scenario_schema
from coflash.text_table import PROSE, TextTable

app = Group(no_args_is_help=True)


@app.command("list")
def list_(as_json: bool = False) -> None:
    """List the built-in scenarios."""
    known = built_in_scenarios()
    if as_json:
        show_json(known)
        return
    show_table(TextTable.of(["scenario", "purpose"], known.items(), "l", wraps=True, width=PROSE))


@app.command()
def show(scenario: str, assignments: list[str] | None = None, scale: str | None = None, as_json: bool = False) -> None:
    """Print a scenario with every default written out."""
    chosen = scenario_with(scenario, assignments)
    if scale is not None:
        chosen = chosen.scaled(scale, measured=bool(chosen.workload_key))
    if as_json:
        show_json(chosen.to_dict())
    else:
        typer.echo(chosen.to_toml(), nl=False)


@app.command()
def check(scenario: str, assignments: list[str] | None = None) -> None:
    """Check a scenario without running it."""
    chosen = scenario_with(scenario, assignments)
    outside = [key for key, code in flat(chosen.to_dict()).items() if key.endswith(".code") and code]
    for key in outside:
        typer.echo(f"note: {key} is not loaded, since a check runs no code: its default was checked in its place")
    for remark in chosen.with_({key.removesuffix(".code"): None for key in outside}).check():
        typer.echo(f"note: {remark}")
    typer.echo(f"{chosen.name}: ok, {chosen.hash}")


@app.command()
def schema() -> None:
    """Print the JSON schema of scenarios, for editors and other tools."""
    typer.echo(json_text.dumps(scenario_schema(), indent=2))


_START = Path(__file__).with_name("start.json")
"""A device that is simulated in seconds, under a workload that needs no trace."""


def init(file: Path = Path("scenario.toml"), start: str | None = None) -> None:
    """Write a scenario to start from: a TOML file with the meaning of every key in a comment.

    Options:
        file: `[FILE]` The file to write.
        start: `[SCENARIO]` Begin with this scenario, a built-in one or a TOML file, instead of a small SSD.
    """
    if file.suffix != ".toml":
        raise CoflashError(f"{file}: the name of a scenario ends in .toml, such as {file.with_suffix('.toml')}")
    if file.exists():
        raise CoflashError(f"{file}: is there already; give another name, as in coflash init other.toml")
    chosen = (
        Scenario.from_dict({"name": file.stem, **json_text.loads(_START.read_text("utf-8"))})
        if start is None
        else Scenario.load(start)
    )
    atomic_write.write_file(file, commented(chosen))
    say(f"{file}; coflash run {file} simulates it")
