"""The options for reading a trace, the same for every command."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Annotated, Any, Literal

import typer

from coflash.cli.console import assigned


@dataclass(frozen=True)
class TraceOptions:
    """Options for reading a trace; None for those that were not given."""

    format: Annotated[
        str | None, typer.Option("--format", help="The format of the trace; by default recognised from its content.")
    ] = None
    on_error: Annotated[
        Literal["stop", "skip"] | None,
        typer.Option("--on-error", help="At a malformed record: stop (the default), or skip and count it."),
    ] = None
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns",
            metavar="WHAT,WHAT...",
            help="The columns of a text in no known format: time:us,op,offset:sectors,size:bytes; auto finds them.",
        ),
    ] = None
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="KEY=VALUE",
            help="A key of workload.trace_options, such as units.size=4KiB. May be repeated.",
        ),
    ] = None

    def given(self) -> dict[str, Any]:
        """Return the options by their names on the command line; those that were not given are None."""
        return {f"--{name.replace('_', '-')}": value for name, value in vars(self).items()}

    def settings(self) -> dict[str, str]:
        """Return the keys of `workload.trace_options` that were given.

        Raises:
            CoflashError: An `--option` is not written KEY=VALUE.
        """
        named = {"columns": self.columns, "format": self.format, "on_error": self.on_error}
        given = {key: value for key, value in named.items() if value is not None}
        return dict(assigned("--option", self.option, "units.size=4KiB")) | given


AS_RECOGNISED = TraceOptions()
"""No options: the format is recognised from the content."""


def with_trace_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace a command's parameter `options` by the fields of `TraceOptions`."""
    fields = inspect.signature(TraceOptions, eval_str=True).parameters

    @wraps(command)
    def spread(**given: Any) -> None:
        options = TraceOptions(**{name: given.pop(name) for name in fields})
        command(**given, options=options)

    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        parameters += fields.values() if parameter.name == "options" else [parameter]
    keywords = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    spread.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
    spread.__annotations__ = {parameter.name: parameter.annotation for parameter in keywords}
    return spread
