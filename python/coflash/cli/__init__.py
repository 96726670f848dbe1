"""The command line: one file for each group of commands, which is imported when a command of it is used."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from coflash._core import CoflashError
from coflash.cli.usage import UsageError, problem

_PANELS = {
    "Simulate": {
        "demo": (
            "demo.demo",
            "Compare no cache, a cache that flash knows nothing of, and cooperative data management, on an OLTP trace.",
        ),
        "init": (
            "init.init",
            "Write a scenario to start from: a TOML file with the meaning of every key in a comment.",
        ),
        "run": ("run.run", "Simulate a scenario and show its measures."),
        "warm": (
            "warm.warm",
            "Precondition a scenario's device and save it, so that runs with --warm start from it.",
        ),
        "sweep": (
            "sweep.sweep",
            "Run a scenario at many points, on all cores; runs that are in the folder already are not repeated.",
        ),
        "tune": (
            "tune.tune",
            "Search for the values of some keys that minimise or maximise measures; the same command resumes a search.",
        ),
        "size": (
            "size.size",
            "Find the cheapest cache and spare space with which a trace or a workload meets goals, and say why.",
        ),
        "advise": (
            "advise.advise",
            "Tell what cooperation of cache and GC would save on a scenario, by which answer, at what cost, and why.",
        ),
        "fleet": (
            "fleet.fleet",
            "Run each volume of a trace on a device of its own, and show how results spread over the volumes.",
        ),
    },
    "Study": {
        "lab": (
            "lab.lab",
            "Serve the laboratory to this machine's browsers: two small drives that write the same data, page by page.",
        ),
        "results": ("results.app", "List, compare, query and export the results of many runs."),
        "compare": (
            "results.compare",
            "Show runs side by side: the differences of their scenarios and of their measures.",
        ),
        "report": (
            "report.report",
            "Make a self-contained HTML report of results, which needs no network; or figures for a paper.",
        ),
        "validity": (
            "validity.validity",
            "Draw the share of valid pages in full blocks over time: of each block, and its distribution.",
        ),
        "evaluate": (
            "evaluate.evaluate",
            "Compare a policy of your own with the built-in ones. Exit status 1 means that it failed.",
        ),
        "calibrate": (
            "calibrate.calibrate",
            "Fit a scenario to measurements of a drive, and say how well it predicts those that were held out.",
        ),
        "reproduce": (
            "reproduce.reproduce",
            "Run a paper's experiments and put its numbers beside ours; part of coflash-reproduce.",
        ),
        "study": (
            "reproduce.study",
            "Run a study and report which of its hypotheses hold; part of coflash-reproduce.",
        ),
        "truth": (
            "reproduce.truth",
            "Fit scenarios to measured drives, and report the errors of predictions; part of coflash-reproduce.",
        ),
    },
    "Traces": {
        "trace": ("generate.app", "Describe, convert, cut, merge and generate block traces."),
    },
    "Devices": {
        "serve": (
            "device.serve",
            "Serve a device as a network block device until Control-C. Do not keep data on it: it is for experiments.",
        ),
        "explore": (
            "explore.explore",
            "Run a workload, and check the states that power cuts may leave; exit status 1 means that one is wrong.",
        ),
        "device": (
            "device.app",
            "Describe and check served devices, cut their power, compare them with the simulation.",
        ),
    },
    "Help": {
        "scenario": ("scenario.app", "List the built-in scenarios; show, check and import scenarios."),
        "keys": ("keys.keys", "List the keys of a scenario: types, units, defaults, meanings."),
        "policies": ("policies.policies", "List every algorithm that a scenario can choose by name."),
    },
}
"""By panel of the help: the place of each command, and the first line of its help. The list imports no command."""

_COMMANDS = {name: about for commands in _PANELS.values() for name, about in commands.items()}


class Commands(TyperGroup):
    """The commands of `coflash`, each imported when it is used: importing all takes longer than most commands run."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {
            name: TyperCommand(name, help=summary, rich_help_panel=panel)
            for panel, commands in _PANELS.items()
            for name, (_, summary) in commands.items()
        }

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find the command that is called, and import it."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else imported(name), rest


def imported(name: str) -> Any:
    """Import a command."""
    place, summary = _COMMANDS[name]
    module, _, attribute = place.partition(".")
    home = import_module(f"coflash.cli.{module}")
    found = getattr(home, attribute)
    if isinstance(found, typer.Typer):
        found.info.help = summary
    else:
        single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        single.command(name, **getattr(home, "SETTINGS", {}))(found)
        found = single
    command = typer.main.get_command(found)
    command.name = name
    return command


def _all_commands() -> list[str]:
    groups = [name for name, (place, _) in _COMMANDS.items() if place.endswith(".app")]
    below = [f"coflash {group} {name}" for group in groups for name in imported(group).commands]
    return [f"coflash {name}" for name in _COMMANDS] + below


app = typer.Typer(
    name="coflash",
    cls=Commands,
    help="Simulate flash storage whose caches and garbage collection cooperate.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from coflash.cli.version import version

        typer.echo(version())
        raise typer.Exit


@app.callback()
def _coflash(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show version and revision, and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line. Exit status 2 means that an argument or input cannot be used; 130 means Control-C."""
    try:
        with _completed() if "_COFLASH_COMPLETE" in os.environ else nullcontext():
            _check_urls(sys.argv)
            status = app(standalone_mode=False)  # otherwise Typer would show errors in its own way
        sys.exit(status if isinstance(status, int) else 0)
    except UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # the help is on the screen
            sys.exit(2)
        _refuse(problem(error, _all_commands))
    except CoflashError as error:
        _refuse(str(error))
    except KeyboardInterrupt:  # before Typer handles it
        sys.exit(130)
    except UnicodeEncodeError as error:
        _refuse(f"{error.object!r} was given; text in UTF-8 is allowed")
    except OSError as error:  # files have messages of their own: this is the standard output
        with suppress(OSError):
            sys.stdout.close()  # otherwise the interpreter would try again to flush it, and print another error
        _refuse(f"standard output: cannot be written: {error.strerror}")


def _check_urls(arguments: Sequence[str]) -> None:
    if lost := next((one for one in arguments if "memory://" in one), None):
        msg = f"{lost}: memory ends with this command; a folder is allowed, or the URL of a store such as s3://bucket"
        raise CoflashError(msg)


def _completed() -> AbstractContextManager[None]:
    from coflash.cli import complete

    return complete.in_bash()


def _refuse(problem: str) -> NoReturn:
    from coflash.terminal import errors

    line = "; ".join(part for part in f"error: {problem}".splitlines() if part.strip())
    errors().print(line, style="red", markup=False, highlight=False, soft_wrap=True)
    sys.exit(2)
