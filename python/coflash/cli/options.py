"""The options that commands share: each is declared once, with one name and one meaning for all commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from coflash._core import CoflashError
from coflash.cli import complete

ScenarioName = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO",
        help="A built-in scenario ('coflash scenario list'), or a TOML file.",
        autocompletion=complete.scenarios,
    ),
]

# What is simulated.
Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a key ('coflash keys'), such as cache.size=64MiB. May be repeated.",
        autocompletion=complete.assignments,
    ),
]
Scale = Annotated[
    str | None,
    typer.Option(
        "--scale",
        metavar="1/N",
        help="The same drive with a fraction of its blocks and its workload; keys are set for the whole drive.",
    ),
]
Vary = Annotated[
    list[str],
    typer.Option(
        "--vary",
        metavar="KEY=VALUES",
        help="Values of a key: a,b,c or 1..8 or 10..50:10 or 64MiB..1GiB*2. May be repeated.",
        autocompletion=complete.assignments,
    ),
]
Seeds = Annotated[
    int, typer.Option("--seeds", metavar="N", min=1, help="Runs of each point, each with its own seed, for intervals.")
]

# How a trace is read.
Traces = Annotated[
    list[str] | None,
    typer.Option(
        "--trace",
        metavar="FILE",
        help="Replay this trace, a path or a URL; - is the standard input. Repeat it for a trace of several files.",
    ),
]
Read = Annotated[
    list[str] | None,
    typer.Option(
        "--read",
        metavar="KEY=VALUE",
        help="How a trace is read, a key of workload.trace_options: format=msr, on_error=skip, units.size=4KiB, or "
        "columns=time:us,op,offset:sectors,size:bytes (auto finds them). May be repeated.",
        autocompletion=complete.trace_options,
    ),
]
Requests = Annotated[
    int | None, typer.Option("--requests", "-n", metavar="N", min=1, max=2**63 - 1, help="The number of requests.")
]
Page = Annotated[str, typer.Option("--page", metavar="SIZE", help="The page size.")]

# Where it runs.
_ON = "Workers of this machine, by default one for each core"
On = Annotated[
    str | None,
    typer.Option("--on", metavar="N|ADDRESS", help=f"{_ON}; or a Dask cluster, tcp://head:8786."),
]
Workers = Annotated[int | None, typer.Option("--on", metavar="N", min=1, help=f"{_ON}.")]

# Where results go, and how they are shown.
Force = Annotated[bool, typer.Option("--force", help="Replace what --out holds of other runs.")]
JsonFile = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write the result as JSON; - is standard output.")
]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]
Plot = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Also draw it: a file that ends in .svg, .png or .pdf.")
]
TableForm = Literal["terminal", "markdown", "latex"]
TableFormat = Annotated[TableForm, typer.Option("--format", help="Tables for a terminal, or for a document.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show neither progress nor tables.")]

# Which results.
Folder = Annotated[
    str, typer.Option("--in", metavar="DIR", help="The folder of results, or its URL, with all folders below it.")
]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        metavar="MEASURE",
        help="Show this measure, such as response.p99. May be repeated.",
        autocompletion=complete.measures,
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="KEY=VALUE",
        help="Only runs with this value, such as cache.size=64MiB. May be repeated.",
        autocompletion=complete.assignments,
    ),
]


def out_option(metavar: str, help: str) -> Any:
    """Declare where a command writes."""
    return typer.Option("--out", "-o", metavar=metavar, help=help)


OutFolder = Annotated[str, out_option("DIR", "The folder of results, or its URL.")]


def assigned(option: str, assignments: list[str] | None, example: str) -> list[tuple[str, str]]:
    """Split the values of an option such as `--set` into keys and values.

    Raises:
        CoflashError: One is not written KEY=VALUE.
    """
    pairs = []
    for assignment in assignments or []:
        key, equals, value = assignment.partition("=")
        if not equals or not key.strip():
            msg = f"{option}: '{assignment}' is no assignment; write KEY=VALUE, such as {example}"
            raise CoflashError(msg)
        pairs.append((key.strip(), value.strip()))
    return pairs


def trace_options(read: list[str] | None) -> dict[str, str]:
    """Return the keys of `workload.trace_options` that `--read` gives.

    Raises:
        CoflashError: One is not written KEY=VALUE.
    """
    return dict(assigned("--read", read, "format=msr"))
