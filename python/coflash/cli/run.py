"""`coflash run`, and `coflash warm`, which makes the device of many runs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Literal

from coflash._core import CoflashError
from coflash.cli.console import (
    STANDARD_OUTPUT,
    check_effect,
    check_json,
    errors,
    notes,
    output,
    say,
    scenario_and_trace,
    scenario_with,
    write_json,
)
from coflash.files import atomic_write, kinds, remote
from coflash.files.digest import is_there_once
from coflash.quantity import show
from coflash.results.fio_json import fio_text
from coflash.results.identity import Identity
from coflash.results.result import FILES, Result, check_place
from coflash.runs.checkpoint import SECONDS, Checkpoint
from coflash.runs.inputs import inputs_of
from coflash.runs.run import replaying, simulate
from coflash.runs.warm import warm as warm_up
from coflash.scenario import Scenario
from coflash.trace import Progress

Form = Literal["coflash", "fio-json", "fio-json+", "nvme-fdp"]


def run(
    scenario: str,
    trace: list[str] | None = None,
    read: list[str] | None = None,
    assignments: list[str] | None = None,
    scale: str | None = None,
    out: str | None = None,
    warm: Path | None = None,
    force: bool = False,
    json: Path | None = None,
    operations: Path | None = None,
    decisions: Path | None = None,
    quiet: bool = False,
    output_format: Form = "coflash",
    minutes: float | None = None,
) -> None:
    """Simulate a scenario and show its measures.

    Options:
        out: `--out -o DIR` Write the result to this folder or URL: JSON, TOML, Parquet.
        warm: `--warm FILE` Start from this warm device, which 'coflash warm' wrote.
        operations: `--operations FILE` Write each flash operation to this Parquet file.
        decisions: `--decisions FILE` Write each decision of GC, with its candidates, to this Parquet file.
        output_format: `--output-format` The form of --json: coflash's, fio's, or that of nvme fdp stats; all but the
            first go to - by default.
        minutes: `--checkpoint MINUTES 0..1000000` Keep what the run has become every 10 minutes, or at this interval,
            and on Control-C, in a hidden file beside a local --out; the same command goes on from there. 0: never.
    """
    chosen, trace = scenario_and_trace(scenario, assignments, read, trace, scale)
    workload = chosen.to_dict()["workload"]
    if not (trace or workload["trace"] or workload["like"]):
        check_effect({"--read": read}, "without a trace; --trace names one")
    if output_format != "coflash" and json is None:
        json = STANDARD_OUTPUT
    check_json(json)
    atomic_write.check_apart(json, operations, decisions)
    if out is None:
        check_effect({"--force": force, "--checkpoint": minutes}, "without --out")
    elif remote.is_url(out):
        check_effect({"--checkpoint": minutes}, "with the URL of --out")
        remote.Tree(out).check()
    else:
        atomic_write.check_folder(remote.path_of(out), FILES)
    if out is not None and not force:
        _check_same(out, chosen, trace or [])
    if minutes is not None and math.isnan(minutes):
        raise CoflashError("--checkpoint: nan was given; a number of minutes is allowed, 0 for never")
    if operations or decisions:
        check_effect({"--checkpoint": minutes}, "beside --operations and --decisions, which are written at once")
    kept = None
    if out is not None and not (remote.is_url(out) or operations or decisions):
        place = remote.path_of(out).absolute()
        kept = Checkpoint(
            place.with_name(f".{place.name}.checkpoint"),
            lambda sentence: notes([sentence]),
            SECONDS if minutes is None else 60 * minutes,
            replaces_another=force,
        )
    simulated = partial(simulate, chosen, trace or (), warm=warm, records=(operations, decisions), checkpoint=kept)
    first = f"{chosen.name or 'without a name'}: {replaying(chosen, trace or ()).replay}"
    notes(chosen.cautions())
    with _told_if_stopped(None if quiet else kept):
        if quiet:
            result = simulated()
        else:
            from coflash.runs.progress import shown

            with shown(chosen.name, errors()) as follow, _said(first, follow) as report:
                result = simulated(progress=report)
    try:
        if out is not None:
            result.save(out, force=force)
        if kept:
            kept.remove()
    finally:  # what cannot be saved can be read
        write_json(json, _written(result, output_format))
        notes(result.workload["remarks"] if quiet else result.notes)
        if not quiet:
            from coflash.cli.summary import summary

            console = errors() if json == STANDARD_OUTPUT else output()
            console.print(summary(result))


def warm(scenario: str, file: Path, assignments: list[str] | None = None) -> None:
    """Precondition a scenario's device and save it, so that runs with --warm start from it.

    Options:
        file: `--out -o FILE` The file of the device.
    """
    from coflash.runs.progress import shown  # a quiet run draws nothing

    chosen = scenario_with(scenario, assignments)
    atomic_write.check_file(file, kinds.WARM, [scenario])
    with shown(chosen.name, errors()) as report:
        device = warm_up(chosen, file, report)
    say(f"{file}: {show(file.stat().st_size, 'bytes')}, warm key {device.key}")


def _check_same(out: str, scenario: Scenario, trace: list[str]) -> None:
    """Check before the run that its place holds no result of another one.

    A trace from the standard input or a pipe can be compared only after the run; then `Result.save` checks again.

    Raises:
        CoflashError: It does.
    """
    wanted = replaying(scenario, trace).with_digests()
    once = any(map(is_there_once, wanted.to_dict()["workload"]["trace"]))
    check_place(
        out,
        lambda: Identity.of(wanted, None if once else [file.sha256 for file in inputs_of(scenario, trace)]),
        wanted,
    )


def _written(result: Result, form: str) -> str:
    """Return a result in one of the forms of --json."""
    if form == "nvme-fdp":
        from coflash.calibrate.nvme_fdp import fdp_text  # its package is slow to import

        return fdp_text(result)
    return result.to_json() if form == "coflash" else fio_text(result, bins=form == "fio-json+")


@contextmanager
def _told_if_stopped(kept: Checkpoint | None) -> Iterator[None]:
    """Say at Control-C what the same command will do."""
    try:
        yield
    except KeyboardInterrupt:
        if kept:
            begins = f"goes on from {kept.file}" if kept.holds_run else "begins with the first request"
            say(f"stopped: the same command {begins}", errors())
        raise


@contextmanager
def _said(line: str, progress: Progress) -> Iterator[Progress]:
    """Print a line as the first one of a run that begins: what cannot begin ends with its error alone."""
    lines = [line]

    def say() -> None:
        while lines:
            errors().print(lines.pop(), style="dim", soft_wrap=True)

    def report(phase: str, share: float | None, requests: int) -> None:
        say()
        progress(phase, share, requests)

    yield report
    say()
