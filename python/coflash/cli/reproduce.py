"""`coflash reproduce`: the command of the distribution coflash-reproduce, if that is installed."""

from __future__ import annotations

import typer

from coflash._core import CoflashError

SETTINGS = {"allow_extra_args": True, "ignore_unknown_options": True}
"""All arguments are passed on, including `--help`."""


def reproduce(context: typer.Context) -> None:
    """Run a paper's experiments and put its numbers beside ours; part of coflash-reproduce."""
    from importlib.metadata import entry_points  # slow to import, and no other command needs it

    for command in entry_points(group="coflash.commands", name="reproduce"):
        command.load()(context.args, prog_name=context.command_path, standalone_mode=False)
        return
    msg = "reproduce: coflash-reproduce is not installed; in a checkout of coflash: pip install ./reproductions"
    raise CoflashError(msg)
