"""The command line: one file for each group of commands, which is imported when a command of it is used."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from coflash._core import CoflashError
from coflash.cli.usage import UsageError, problem

_PANELS = {
    "Simulate": "demo init run warm sweep tune size advise fleet",
    "Study": "lab results compare report evaluate calibrate reproduce study truth",
    "Traces": "trace",
    "Devices": "serve explore device",
    "Help": "scenario keys policies cite",
}
"""The commands of each panel of the help."""

_MODULES = {
    "compare": "results",
    **dict.fromkeys(("study", "truth"), "reproduce"),
    "policies": "keys",
    "warm": "run",
    "init": "scenario",
    "serve": "device",
    **dict.fromkeys(("sweep", "tune", "size", "advise", "fleet", "evaluate"), "question"),
}
"""The modules of the commands that have another name than their module."""

_GROUPS = ("results", "trace", "device", "scenario")


def _summary(name: str) -> str:
    """Read the first line of a command's help, or of a group's module: the list of commands imports none of them."""
    text = Path(__file__).with_name(f"{_MODULES.get(name, name)}.py").read_text("utf-8")
    about = re.search(rf'^def {name}\(.*?^    """(.+?)(?:"""|\n)', text, re.DOTALL | re.MULTILINE)
    return (about or re.match('"""(.+?)(?:"""|\n)', text) or [name, name])[1]


class Commands(TyperGroup):
    """The commands of `coflash`, each imported when it is used: importing all takes longer than most commands run."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {
            name: TyperCommand(name, help=_summary(name), rich_help_panel=panel)
            for panel, names in _PANELS.items()
            for name in names.split()
        }

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Find the command that is called, and import it."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else imported(name), rest


def imported(name: str) -> Any:
    """Import a command."""
    from coflash.cli.options import Group  # the list of commands needs no options

    home = import_module(f"coflash.cli.{_MODULES.get(name, name)}")
    if name in _GROUPS:
        single = home.app
        single.info.help = _summary(name)
    else:
        single = Group()
        single.command(name, **getattr(home, "SETTINGS", {}))(getattr(home, name))
    command = typer.main.get_command(single)
    command.name = name
    return command


def _all_commands() -> list[str]:
    single = [f"coflash {name}" for names in _PANELS.values() for name in names.split()]
    return single + [f"coflash {group} {name}" for group in _GROUPS for name in imported(group).commands]


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
    """Run the command line. Exit status 2 means an argument or input that cannot be used; 130 Ctrl-C, 143 SIGTERM."""
    try:
        with _completed() if "_COFLASH_COMPLETE" in os.environ else nullcontext():
            _check_urls(sys.argv)
            # Otherwise Typer would show errors in its own way. `python -m coflash` is called coflash, too.
            status = app(prog_name="coflash", standalone_mode=False)
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

    line = "; ".join(filter(None, map(str.strip, f"error: {problem}".splitlines()))).replace(":;", ":")
    line = re.sub(r"the option (?=[\w.]+=)", "--read ", line)  # of workload.trace_options, as Python has them
    errors().print(line, style="red", soft_wrap=True)
    sys.exit(2)
