"""The output of the command line, and what commands do with the options that they share."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import typer

from coflash._core import CoflashError
from coflash.cli.options import TableForm, assigned, trace_options
from coflash.files import atomic_write, kinds
from coflash.quantity import counted
from coflash.results.store import Failure
from coflash.scenario import Scenario
from coflash.terminal import errors as errors
from coflash.terminal import output as output
from coflash.text_table import TextTable

if TYPE_CHECKING:
    from rich.console import Console

STANDARD_OUTPUT = Path("-")
_Texts: TypeAlias = list[str] | None
"""The values of an option that may be repeated."""


def scenario_with(name: str, assignments: _Texts, read: _Texts = None, trace: _Texts = None) -> Scenario:
    """Load a scenario and apply `--set` and `--read`, beside a trace or without one.

    Raises:
        CoflashError: There is no such scenario, or an assignment is wrong.
    """
    pairs = assigned("--set", assignments, "cache.size=64MiB")
    pairs += [(f"workload.trace_options.{key}", value) for key, value in trace_options(read).items()]
    scenario = Scenario.load(name)
    if not pairs:
        return scenario
    changed = scenario.set(pairs)
    if trace:
        changed.check_replay(key for key, _ in pairs)
    before, after = scenario.workload_key, changed.workload_key
    if before and after and before != after:
        notes([f"workload.{after} takes the place of workload.{before}, which {name} has"])
    return changed


def scenario_and_trace(
    name: str, assignments: _Texts, read: _Texts, trace: _Texts, scale: str | None = None
) -> tuple[Scenario, _Texts]:
    """Load a scenario, and apply a job file of fio among the files of `--trace`, and `--scale`; return the others, too.

    Raises:
        CoflashError: As of `scenario_with`; or there are two workloads, or the scenario, or the trace that it would
            replay, cannot be scaled.
    """
    scenario, files = scenario_with(name, assignments, read, trace), list(trace or ())
    if jobs := next((file for file in files if file.endswith(".fio")), ""):
        files.remove(jobs)
        check_effect({f"--trace {file}": True for file in files}, f"beside {jobs}, whose jobs make the requests")
        scenario = scenario.with_jobs(jobs)
    if scale is not None:
        scenario = scenario.replaying(files).scaled(scale)
    return scenario, files or None


def check_effect(given: Mapping[str, Any], why: str) -> None:
    """Refuse options that would have no effect.

    Args:
        given: The values of the options by name; None, False and nothing at all are not given.
        why: The reason, and where they have an effect.

    Raises:
        CoflashError: One is given.
    """
    for option, value in given.items():
        if value:
            raise CoflashError(f"{option}: has no effect {why}")


def check_json(file: Path | None) -> None:
    """Raise any error of `write_json` before the work instead of after it."""
    if file is not None and file != STANDARD_OUTPUT:
        atomic_write.check_file(file, kinds.JSON)


def write_json(file: Path | None, text: str) -> None:
    """Write the text to the place of `--json`, if it was given."""
    if file == STANDARD_OUTPUT:
        typer.echo(text, nl=not text.endswith("\n"))
    elif file is not None:
        atomic_write.write_file(file, text)


def show_json(value: Any) -> None:
    """Print JSON, in colour on a terminal and plain elsewhere."""
    output().print_json(data=value)


def show_table(table: TextTable, form: TableForm = "terminal", console: Console | None = None) -> None:
    """Print a table for a terminal, or write it for a document.

    Where there is no terminal, and no COLUMNS that gives a width, lines are as long as they are.
    """
    if form == "terminal":
        (console or output()).print(table, soft_wrap=True)
    else:
        typer.echo(table.document(form))


def say(text: str, console: Console | None = None) -> None:
    """Print a text as it is, each line whole."""
    (console or output()).print(text, soft_wrap=True)


def notes(remarks: Iterable[str]) -> None:
    """Print assumptions and other remarks on the standard error stream."""
    for remark in remarks:
        errors().print(f"note: {remark}", style="yellow", soft_wrap=True)


def end_if_failed(failures: Sequence[Failure], quiet: bool) -> None:
    """End with exit status 1 if runs failed, and say how many; also the first one, where none was shown before."""
    if failures:
        first = f"; the first: {failures[0].label}: {failures[0].error}" if quiet else ", see above"
        errors().print(f"{counted(len(failures), 'run')} failed{first}", style="red", soft_wrap=True)
        raise typer.Exit(1)


@contextmanager
def noted() -> Iterator[None]:
    """Print warnings of the block as notes."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", UserWarning)
        yield
    notes(str(one.message) for one in found)
