"""The options of commands: each parameter of a command is one, and its docstring says which.

An entry of the section `Options` begins with what is written: the name of the option, what it takes, and the numbers
that are allowed. Without a name it is an argument. Options that the commands of a module share are in its docstring,
and those of all modules are here, with one name and one meaning: a parameter of such a name needs no entry of its own.

Options:
    scenario: `SCENARIO` A built-in scenario ('coflash scenario list'), or a TOML file.
    assignments: `--set KEY=VALUE` Change a key ('coflash keys'), such as cache.size=64MiB. May be repeated.
    scale: `--scale 1/N` The same drive with a fraction of its blocks and its workload; keys are set for the whole
        drive.
    vary: `--vary KEY=VALUES` Values of a key: a,b,c or 1..8 or 10..50:10 or 64MiB..1GiB*2. May be repeated.
    seeds: `--seeds N 1..` Runs of each point, each with its own seed, for intervals.
    trace: `--trace FILE` Replay this trace, a path or a URL; - is the standard input. Repeat it for a trace of several
        files. Or a job file of fio, which ends in .fio.
    read: `--read KEY=VALUE` How a trace is read, a key of workload.trace_options: format=msr, on_error=skip,
        units.size=4KiB, or columns=time:us,op,offset:sectors,size:bytes (auto finds them). May be repeated.
    requests: `--requests -n N 1..9223372036854775807` The number of requests.
    page: `--page SIZE` The page size.
    on: `--on N|ADDRESS` Workers of this machine, by default one for each core; or a Dask cluster, tcp://head:8786.
    workers: `--on N 1..` Workers of this machine, by default one for each core.
    out: `--out -o DIR` The folder of results, or its URL.
    force: `--force` Replace what --out holds of other runs.
    json: `--json FILE` Write the result as JSON; - is standard output.
    as_json: `--json` As JSON.
    plot: `--plot FILE` Also draw it: a file that ends in .svg, .png or .pdf.
    format: `--format` Tables for a terminal, or for a document.
    quiet: `--quiet -q` Show neither progress nor tables, but of an answer its first line. Notes stay; of one run those
        on its input alone.
    folder: `--in DIR` The folder of results, or its URL, with all folders below it.
    measures: `--measure MEASURE` Show this measure, such as response.p99. May be repeated.
    where: `--where KEY=VALUE` Only runs with this value, or one of several: cache.size=32MiB,64MiB. May be repeated.
    device: `DIR` The folder of the device.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeVar, get_type_hints

import typer

from coflash._core import CoflashError
from coflash.cli import complete

TableForm = Literal["terminal", "markdown", "latex"]
Command = TypeVar("Command", bound=Callable[..., Any])

_ENTRY = re.compile(r"^ {4}(\w+): `([^`]+)` (.+(?:\n {8}.+)*)", re.MULTILINE)
_LIMITS = re.compile(r"(\d*)\.\.(\d*)")
_COMPLETED: Mapping[str, Callable[[str], list[tuple[str, str]]]] = {
    "--read": complete.trace_options,
    **dict.fromkeys(("KEY=VALUE", "KEY=VALUES"), complete.assignments),
    "KEY": complete.key_names,
    "[KEY]": complete.tables_and_keys,
    **dict.fromkeys(("SCENARIO", "[SCENARIO]", "NAME|FILE"), complete.scenarios),
    **dict.fromkeys(("MEASURE", "MEASURE|KEY"), complete.measures),
    **dict.fromkeys(("WORKLOAD", "TRACE|WORKLOAD..."), complete.workloads),
}
"""What the shell completes, by the name of an option or by what it takes."""


def declared(function: Command) -> Command:
    """Make the parameters of a function the options that its docstring declares, its module's, or this one's."""
    if hasattr(function, "__signature__"):
        return function
    beside = getattr(inspect.getmodule(function), "__doc__", None)
    (_, shared), (_, common), (about, own) = map(_described, (__doc__, beside, function.__doc__))
    known, types = shared | common | own, get_type_hints(function)

    def option(parameter: inspect.Parameter) -> inspect.Parameter:
        kind = types[parameter.name]
        return parameter.replace(
            annotation=Annotated[kind, _option(*known[parameter.name])] if parameter.name in known else kind
        )

    options = [option(parameter) for parameter in inspect.signature(function).parameters.values()]
    function.__doc__, function.__annotations__ = about, {one.name: one.annotation for one in options}
    setattr(function, "__signature__", inspect.Signature(options))  # noqa: B010 - Typer asks for it
    return function


def _described(docstring: str | None) -> tuple[str, dict[str, tuple[str, str]]]:
    """Return a docstring without its options; and of each what is written, and what it means."""
    about, _, entries = inspect.cleandoc(docstring or "").partition("\n\nOptions:\n")
    return about, {name: (usage, " ".join(meaning.split())) for name, usage, meaning in _ENTRY.findall(entries)}


def _option(usage: str, meaning: str) -> Any:
    words = usage.split()
    names = [word for word in words if word.startswith("-")]
    limits = next(filter(None, map(_LIMITS.fullmatch, words)), None)
    look: dict[str, Any] = {
        "metavar": next((word for word in words if word not in names and not _LIMITS.fullmatch(word)), None),
        "help": meaning,
        "autocompletion": next((_COMPLETED[word] for word in words if word in _COMPLETED), None),
    }
    least, most = (int(end) if end else None for end in limits.groups()) if limits else (None, None)
    return typer.Option(*names, **look, min=least, max=most) if names else typer.Argument(**look)


class Group(typer.Typer):
    """Commands whose options their docstrings declare."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(add_completion=False, pretty_exceptions_enable=False, **settings)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Command], Command]:
        """Add a command."""
        add = super().command(name, **settings)
        return lambda function: add(declared(function))


def assigned(option: str, assignments: list[str] | None, example: str) -> list[tuple[str, str]]:
    """Split the values of an option such as `--set` into keys and values.

    Raises:
        CoflashError: One is not written KEY=VALUE.
    """
    pairs = []
    for assignment in assignments or []:
        key, equals, value = assignment.partition("=")
        if not equals or not key.strip():
            raise CoflashError(f"{option}: '{assignment}' is no assignment; write KEY=VALUE, such as {example}")
        pairs.append((key.strip(), value.strip()))
    return pairs


def trace_options(read: list[str] | None) -> dict[str, str]:
    """Return the keys of `workload.trace_options` that `--read` gives.

    Raises:
        CoflashError: One is not written KEY=VALUE.
    """
    return dict(assigned("--read", read, "format=msr"))
