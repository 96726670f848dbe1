"""`coflash reproduce`, `study` and `truth`: commands of the distribution coflash-reproduce, if that is installed."""

from __future__ import annotations

import typer

from coflash._core import CoflashError

SETTINGS = {
    "context_settings": {"allow_extra_args": True, "ignore_unknown_options": True},
    "add_help_option": False,
}
"""All arguments are passed on, including `--help`."""


def reproduce(context: typer.Context) -> None:
    """Run a paper's experiments and put its numbers beside ours; part of coflash-reproduce."""
    _pass_on("reproduce", context)


def study(context: typer.Context) -> None:
    """Run a study and report which of its hypotheses hold; part of coflash-reproduce."""
    _pass_on("study", context)


def truth(context: typer.Context) -> None:
    """Fit scenarios to measured drives, and report the errors of predictions; part of coflash-reproduce."""
    _pass_on("truth", context)


def _pass_on(name: str, context: typer.Context) -> None:
    from importlib.metadata import entry_points  # slow to import, and no other command needs it

    for command in entry_points(group="coflash.commands", name=name):
        # Its status is returned, and not raised, also that of Control-C.
        raise typer.Exit(command.load()(context.args, prog_name=context.command_path, standalone_mode=False) or 0)
    msg = f"{name}: coflash-reproduce is not installed; in a checkout of coflash: pip install ./reproductions"
    raise CoflashError(msg)
