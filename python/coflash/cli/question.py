"""The commands that ask a question of many runs; each is the function of that name in Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import coflash
from coflash._core import CoflashError
from coflash.cli import complete
from coflash.cli.console import (
    STANDARD_OUTPUT,
    check_json,
    end_if_failed,
    errors,
    noted,
    notes,
    output,
    scenario_with,
    show_table,
    write_json,
)
from coflash.cli.options import (
    Assignments,
    JsonFile,
    Measures,
    On,
    OutFolder,
    Plot,
    Quiet,
    Read,
    Requests,
    Scale,
    ScenarioName,
    Seeds,
    Traces,
    Vary,
    trace_options,
)
from coflash.evaluation import SuiteName
from coflash.files import atomic_write, kinds
from coflash.sweep.design import values_by_key
from coflash.sweep.finding import Finding, say
from coflash.sweep.fleet import By

if TYPE_CHECKING:
    from coflash.sweep.size import Sizing


def _option(name: str, metavar: str, help: str, complete: Any = None, **more: Any) -> Any:
    return typer.Option(f"--{name}", metavar=metavar, help=help, autocompletion=complete, **more)


def _objective(name: str, examples: str) -> Any:
    return _option(name, "MEASURE|KEY", f"A measure or key to {name}: {examples}. May be repeated.", complete.measures)


_DESIGN = (
    "All combinations; the first value of each key, then the second, … (list); N random points (20), drawn by a seed "
    "(0); or a Latin hypercube of N."
)
_WORKLOAD = "The trace, or its files in order; or a generator or preset that is written as one: jesd219."
_OVER = "The space: lo..hi or lo..hi*2 or a,b. May be repeated."
_COST = "A cost to minimise: 'cache.size*3 $/GiB + flash.size*0.08'; flash.size includes spare space."
_BOUND = "A bound: response.p99<5ms, cache.size<1GiB, cost<2. May be repeated."
_PRICES = "cache.size*3 $/GiB + flash.size*0.08 $/GiB"
_FILE = "A Python file that defines one class with @coflash.policy; or a built-in policy."


def sweep(
    scenario: ScenarioName,
    vary: Vary,
    trace: Traces = None,
    read: Read = None,
    assignments: Assignments = None,
    scale: Scale = None,
    design: Annotated[str, _option("design", "grid|list|random[:N[:SEED]]|lhs[:N[:SEED]]", _DESIGN)] = "grid",
    seeds: Seeds = 1,
    on: On = None,
    out: OutFolder = "results/sweep",
    measures: Measures = None,
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Run a scenario at many points, on all cores; runs that are in the folder already are not repeated."""
    given = locals()
    given["design"], *numbers = design.split(":")
    if len(numbers) > 2 or not all(number.isdecimal() for number in numbers):
        msg = "grid, list, random:20 or lhs:20:7, of 20 points and the seed 7, is allowed"
        raise CoflashError(f"--design: '{design}' was given; {msg}")
    given |= zip(("samples", "design_seed"), map(int, numbers), strict=False)
    _ask(coflash.sweep, given)


def tune(
    scenario: ScenarioName,
    over: Annotated[list[str], _option("over", "KEY=VALUES", _OVER, complete.assignments)],
    minimise: Annotated[list[str] | None, _objective("minimise", "response.p99, cache.size, flash.size")] = None,
    maximise: Annotated[list[str] | None, _objective("maximise", "cache.hit_ratio")] = None,
    cost: Annotated[str | None, _option("cost", "KEY*PRICE+…", _COST)] = None,
    subject_to: Annotated[list[str] | None, _option("subject-to", "MEASURE<VALUE", _BOUND)] = None,
    trace: Traces = None,
    read: Read = None,
    assignments: Assignments = None,
    trials: Annotated[int, _option("trials", "N", "Number of points to try.", min=1)] = 50,
    seeds: Seeds = 1,
    on: On = None,
    out: OutFolder = "results/tune",
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Search for the values of some keys that minimise or maximise measures; the same command resumes a search."""
    _ask(coflash.tune, locals())


def size(
    trace: Annotated[list[str], typer.Argument(metavar="TRACE...", help=_WORKLOAD, autocompletion=complete.workloads)],
    goal: Annotated[list[str], _option("goal", "MEASURE<VALUE", "A bound. May be repeated.")],
    read: Read = None,
    cost: Annotated[str | None, _option("cost", "KEY*PRICE+…", "The cost to minimise.", show_default=_PRICES)] = None,
    drive: Annotated[str, _option("drive", "NAME|FILE", "A drive's scenario.", complete.scenarios)] = "demo",
    over: Annotated[
        list[str] | None, _option("over", "KEY=VALUES", "More choices: gc.victim=greedy,fifo. May be repeated.")
    ] = None,
    assignments: Assignments = None,
    seeds: Annotated[int, _option("seeds", "N", "Seeds of the answer, its neighbours and its reasons.", min=1)] = 3,
    on: On = None,
    out: OutFolder = "results/size",
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Find the cheapest cache and spare space with which a trace or a workload meets goals, and say why."""
    _ask(coflash.size, locals(), _explained)


def _explained(sizing: Sizing) -> Sequence[str]:
    """Write the picture and the report of why."""
    from coflash.charts import write_pictures
    from coflash.report import write_report  # slow to import

    page = sizing.path / "report.html"
    (figure,) = write_pictures(sizing.path, [("why.pdf", sizing.draw("pdf"))])
    write_report(sizing.subject, page)
    return say("figure", file=figure), say("report", file=page)


def advise(
    scenario: ScenarioName,
    trace: Traces = None,
    read: Read = None,
    assignments: Assignments = None,
    scale: Scale = None,
    requests: Requests = None,
    steady: Annotated[
        bool, typer.Option("--steady/--as-given", help="Begin in a steady state, or with the scenario's own warm-up.")
    ] = True,
    seeds: Annotated[int, _option("seeds", "N", "Seeds of each run.", min=1)] = 1,
    on: On = None,
    out: OutFolder = "results/advice",
    plot: Plot = None,
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Tell what cooperation of cache and GC would save on a scenario, by which answer, at what cost, and why."""
    _ask(coflash.advise, locals())


def fleet(
    traces: Annotated[list[str], typer.Argument(metavar="TRACE...", help="The trace of many volumes, or its files.")],
    vary: Vary,
    read: Read = None,
    by: Annotated[
        By, typer.Option("--by", help="A device for each volume that the records name, or for each file.")
    ] = "volume",
    scenario: Annotated[
        str, _option("scenario", "NAME|FILE", "The device; its size follows each volume.", complete.scenarios)
    ] = "demo",
    assignments: Assignments = None,
    seeds: Seeds = 1,
    on: On = None,
    out: OutFolder = "results/fleet",
    measures: Measures = None,
    plot: Plot = None,
    json: JsonFile = None,
    quiet: Quiet = False,
) -> None:
    """Run each volume of a trace on a device of its own, and show how results spread over the volumes."""
    given = locals()
    given["options"] = trace_options(given.pop("read"))
    _ask(coflash.fleet, given)


def evaluate(
    policy: Annotated[Path, typer.Argument(metavar="FILE", help=_FILE)],
    suite: Annotated[
        SuiteName | None, typer.Option("--suite", help="The workloads; by default those of the policy's key.")
    ] = None,
    json: JsonFile = None,
) -> None:
    """Compare a policy of your own with the built-in ones. Exit status 1 means that it failed."""
    _ask(coflash.evaluate, locals())


def _ask(
    function: Callable[..., Any],
    given: dict[str, Any],
    also: Callable[[Any], Sequence[str]] = lambda _: (),
) -> None:
    """Ask a question with the values of its options, and show and write what is found.

    Args:
        function: The function of Python.
        given: The values of the options by name.
        also: Writes further files, and says which.
    """
    from coflash.measures.catalogue import named

    json, quiet, plot = given.pop("json"), given.pop("quiet", False), given.pop("plot", None)
    measures = [named(name).path for name in given.pop("measures", None) or ()]
    check_json(json)
    if plot is not None:
        from coflash.charts import format_of

        picture = format_of(plot)
        atomic_write.check_file(plot, kinds.FIGURE)
    for name in {"vary", "over"} & given.keys():
        given[name] = values_by_key(given[name] or ())
    for name in {"scenario", "drive"} & given.keys():
        given[name] = scenario_with(given[name], given.pop("assignments"), given.pop("read", None))
    if "out" in given:
        given["progress"] = not quiet
    with noted():
        finding: Any = function(**{name: value for name, value in given.items() if value is not None})
    written = [*finding.stored(), *also(finding)]
    if plot is not None:
        atomic_write.write_file(plot, finding.draw(picture, *measures[:1]))
        written.append(say("picture", file=plot))
    write_json(json, finding.to_json(*measures))
    if not quiet:
        _show(finding, measures, written, errors() if json == STANDARD_OUTPUT else output())
    if finding.problem:
        errors().print(f"error: {finding.problem}", style="red", soft_wrap=True)
    end_if_failed(finding.lost, quiet)
    if finding.problem or not finding.is_met:
        raise typer.Exit(1)


def _show(finding: Finding, measures: Sequence[str], written: Sequence[str], console: Any) -> None:
    def show(*lines: str) -> None:
        for line in filter(None, lines):
            console.print(line, soft_wrap=True)

    notes(finding.notes(*measures))
    show(*finding.asked)
    for table in finding.tables(*measures):
        show_table(table, console=console)
    show(*written, *finding.said(*measures))
