"""The commands that ask a question of many runs; each is the function of that name in Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

import coflash
from coflash._core import CoflashError
from coflash.cli import console
from coflash.cli.options import trace_options
from coflash.evaluation import SuiteName
from coflash.files import atomic_write, kinds
from coflash.sweep.design import values_by_key
from coflash.sweep.finding import Finding, say
from coflash.sweep.fleet import By

if TYPE_CHECKING:
    from coflash.sweep.sized import Sizing

_SEARCHED = frozenset({"cache.size", "ftl.spare.share", "flash.exported"})
"""The keys that a size decides."""
_UNSURE = 3
"""The exit status where a finding is not sure."""


def sweep(
    scenario: str,
    vary: list[str] | None = None,
    trace: list[str] | None = None,
    read: list[str] | None = None,
    assignments: list[str] | None = None,
    scale: str | None = None,
    design: str = "grid",
    seeds: int = 1,
    on: str | None = None,
    out: str = "results/sweep",
    measures: list[str] | None = None,
    json: Path | None = None,
    quiet: bool = False,
) -> None:
    """Run a scenario at many points, on all cores; runs that are in the folder already are not repeated.

    Options:
        design: `--design grid|list|random[:N[:SEED]]|lhs[:N[:SEED]]` All combinations; the first value of each key,
            then the second, … (list); N random points (20), drawn by a seed (0); or a Latin hypercube of N.
    """
    given = locals()
    if not vary and seeds < 2:
        raise CoflashError(say("no axis"))
    given["design"], *numbers = design.split(":")
    if len(numbers) > 2 or not all(number.isdecimal() for number in numbers):
        raise CoflashError(say("no design", design=design))
    given |= zip(("samples", "design_seed"), map(int, numbers), strict=False)
    _ask(coflash.sweep, given)


def tune(
    scenario: str,
    over: list[str],
    minimise: list[str] | None = None,
    maximise: list[str] | None = None,
    cost: str | None = None,
    subject_to: list[str] | None = None,
    trace: list[str] | None = None,
    read: list[str] | None = None,
    assignments: list[str] | None = None,
    trials: int = 50,
    seeds: int = 1,
    on: str | None = None,
    out: str = "results/tune",
    json: Path | None = None,
    quiet: bool = False,
) -> None:
    """Search for the values of some keys that minimise or maximise measures; the same command resumes a search.

    Options:
        over: `--over KEY=VALUES` The space: lo..hi or lo..hi*2 or a,b. May be repeated.
        minimise: `--minimise MEASURE|KEY` A measure or key to minimise: response.p99, cache.size, flash.size. May be
            repeated.
        maximise: `--maximise MEASURE|KEY` A measure or key to maximise: cache.hit_ratio. May be repeated.
        cost: `--cost KEY*PRICE+…` A cost to minimise: 'cache.size*3 $/GiB + flash.size*0.08'; flash.size includes spare
            space.
        subject_to: `--subject-to MEASURE<VALUE` A bound: response.p99<5ms, cache.size<1GiB, cost<2. May be repeated.
        trials: `--trials N 1..` Number of points to try.
    """
    _ask(coflash.tune, locals())


def size(
    trace: list[str],
    goal: list[str],
    read: list[str] | None = None,
    cost: str | None = None,
    drive: str = "demo",
    over: list[str] | None = None,
    assignments: list[str] | None = None,
    seeds: int = 3,
    devices: int = 28,
    on: str | None = None,
    out: str = "results/size",
    json: Path | None = None,
    quiet: bool = False,
) -> None:
    """Find the cheapest cache and spare space with which a trace or a workload meets goals, and say why.

    Exit status 0 means that the answer meets the goals, 1 that no device does, and 3 that the answer is not sure: more
    runs or the errors that it names may change it.

    Options:
        trace: `TRACE|WORKLOAD...` The trace, or its files in order; or a generator or preset that is written as one:
            jesd219.
        goal: `--goal MEASURE<VALUE` A bound: waf_host<2.5, response.p99<5ms, dwpd>1; margin>20% holds the others under
            that much more; capacity>15.36TB grows the trace to a drive. May be repeated.
        cost: `--cost KEY*PRICE+…` The cost to minimise; by default 3 $/GiB of cache, and of flash by its cell.
        drive: `--drive NAME|FILE` A drive's scenario.
        over: `--over KEY=VALUES` More choices: gc.victim=greedy,fifo. May be repeated.
        seeds: `--seeds N 1..` Seeds of the answer, its neighbours and its reasons.
        devices: `--devices N 1..` About the devices with which a search ends: more may find a cheaper one.
    """
    given = locals()
    for text in assignments or ():
        if (key := text.partition("=")[0].strip()) in _SEARCHED:
            raise CoflashError(say("searched", key=key, text=text))
    _ask(coflash.size, given, _explained)


def _explained(sizing: Sizing) -> Sequence[str]:
    """Write the picture and the report of why."""
    from coflash.charts import write_pictures
    from coflash.report import write_report  # slow to import

    page = sizing.path / "report.html"
    (figure,) = write_pictures(sizing.path, [("why.pdf", sizing.draw("pdf"))])
    write_report(sizing.subject, page)
    scenario = sizing.path / "runs" / sizing.answer.point.jobs[0].key / "scenario.toml"
    return say("scenario", file=scenario), say("figure", file=figure), say("report", file=page)


def advise(
    scenario: str,
    trace: list[str] | None = None,
    read: list[str] | None = None,
    assignments: list[str] | None = None,
    scale: str | None = None,
    requests: int | None = None,
    steady: bool = True,
    seeds: int = 1,
    on: str | None = None,
    out: str = "results/advice",
    plot: Path | None = None,
    json: Path | None = None,
    quiet: bool = False,
) -> None:
    """Tell what cooperation of cache and GC would save on a scenario, by which answer, at what cost, and why.

    Exit status 3 means that the advice is not sure.

    Options:
        steady: `--steady/--as-given` Begin in a steady state, or with the scenario's own warm-up.
        seeds: `--seeds N 1..` Seeds of each run.
    """
    _ask(coflash.advise, locals())


def fleet(
    traces: list[str],
    vary: list[str],
    read: list[str] | None = None,
    by: By = "volume",
    scenario: str = "demo",
    assignments: list[str] | None = None,
    seeds: int = 1,
    on: str | None = None,
    out: str = "results/fleet",
    measures: list[str] | None = None,
    plot: Path | None = None,
    json: Path | None = None,
    quiet: bool = False,
) -> None:
    """Run each volume of a trace on a device of its own, and show how results spread over the volumes.

    Options:
        traces: `TRACE...` The trace of many volumes, or its files.
        by: `--by` A device for each volume that the records name, or for each file.
        scenario: `--scenario NAME|FILE` The device; its size follows each volume.
    """
    given = locals()
    for text in assignments or ():
        if (key := text.partition("=")[0].strip()) in ("flash.blocks_per_plane", "flash.exported"):
            raise CoflashError(f"--set: {key} was given; each volume gets a device of its own size: leave it out")
    given["options"] = trace_options(given.pop("read"))
    _ask(coflash.fleet, given)


def evaluate(policy: Path, suite: SuiteName | None = None, json: Path | None = None) -> None:
    """Compare a policy of your own with the built-in ones. Exit status 1 means that it failed.

    Options:
        policy: `FILE` A Python file that defines one class with @coflash.policy; or a built-in policy.
        suite: `--suite` The workloads; by default those of the policy's key.
    """
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
    console.check_json(json)
    if plot is not None:
        from coflash.charts import format_of

        picture = format_of(plot)
        atomic_write.check_file(plot, kinds.FIGURE)
    for name in {"vary", "over"} & given.keys():
        given[name] = values_by_key(given[name] or ())
    if "drive" in given:
        settings = given["drive"], given.pop("assignments"), given.pop("read"), given["trace"]
        given["drive"] = console.scenario_with(*settings)
    elif "scenario" in given:
        settings = given["scenario"], given.pop("assignments"), given.pop("read", None), given.get("trace")
        given["scenario"], given["trace"] = console.scenario_and_trace(*settings)
    if "out" in given:
        given["progress"] = not quiet
    with console.noted():
        finding: Any = function(**{name: value for name, value in given.items() if value is not None})
    written = [*finding.stored(), *also(finding)]
    if plot is not None:
        atomic_write.write_file(plot, finding.draw(picture, *measures[:1]))
        written.append(say("picture", file=plot))
    console.write_json(json, finding.to_json(*measures))
    to = console.errors() if json == console.STANDARD_OUTPUT else console.output()
    if not quiet:
        _show(finding, measures, written, to)
    elif finding.headline:
        console.say(finding.headline, to)
    console.notes(finding.notes(*measures))
    if finding.problem:
        console.errors().print(f"error: {finding.problem}", style="red", soft_wrap=True)
    console.end_if_failed(finding.lost, quiet)
    is_met = finding.is_met and not finding.problem
    if not (is_met and finding.is_sure):
        raise typer.Exit(_UNSURE if is_met else 1)


def _show(finding: Finding, measures: Sequence[str], written: Sequence[str], to: Any) -> None:
    for line in filter(None, (finding.headline, *finding.asked)):
        console.say(line, to)
    tables = finding.tables(*measures)
    for table in tables:
        if len(tables) > 1:
            to.print()
        console.show_table(table, console=to)
    for line in filter(None, (*written, *finding.said(*measures))):
        console.say(line, to)
