"""The command line: one file for each group of commands."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Annotated, NoReturn

import typer

from coflash._core import CoflashError, __version__
from coflash.cli import (
    calibrate,
    compare,
    complete,
    demo,
    device,
    generate,
    grade,
    init,
    keys,
    policies,
    report,
    reproduce,
    results,
    run,
    scenario,
    sweep,
    trace,
    tune,
    validity,
    warm,
)
from coflash.cli.console import errors
from coflash.cli.usage import UsageError, problem

app = typer.Typer(
    name="coflash",
    help="Simulates flash storage whose caches and garbage collection cooperate.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("init")(init.init)
app.command("run")(run.run)
app.command("warm")(warm.warm)
app.add_typer(scenario.app, name="scenario")
app.command("keys")(keys.keys)
app.command("policies")(policies.policies)
trace.app.command("generate")(generate.generate)
trace.app.command("like")(generate.like)
app.add_typer(trace.app, name="trace")
app.command("demo")(demo.demo)
app.command("grade")(grade.grade)
app.command("report")(report.report)
app.command("validity")(validity.validity)
app.command("reproduce", context_settings=reproduce.SETTINGS, add_help_option=False)(reproduce.reproduce)
app.command("study", context_settings=reproduce.SETTINGS, add_help_option=False)(reproduce.study)
app.command("truth", context_settings=reproduce.SETTINGS, add_help_option=False)(reproduce.truth)
app.command("serve")(device.serve)
app.command("explore")(device.explore)
app.add_typer(device.app, name="device")
app.command("sweep")(sweep.sweep)
app.command("tune")(tune.tune)
app.command("calibrate")(calibrate.calibrate)
app.command("compare")(compare.compare)
app.add_typer(results.app, name="results")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"coflash {__version__}")
        raise typer.Exit


@app.callback()
def _coflash(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line. Exit status 2 means that an argument or input cannot be used; 130 means Control-C."""
    try:
        with complete.in_bash():
            status = app(standalone_mode=False)  # otherwise Typer would show errors in its own way
        sys.exit(status if isinstance(status, int) else 0)
    except UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # the help is on the screen
            sys.exit(2)
        _refuse(problem(error))
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


def _refuse(problem: str) -> NoReturn:
    line = "; ".join(part for part in f"error: {problem}".splitlines() if part.strip())
    errors().print(line, style="red", markup=False, highlight=False, soft_wrap=True)
    sys.exit(2)
