"""The papers and the studies, and how one is done: runs, figures, tables, page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from coflash._core import CoflashError, hint
from coflash.files import atomic_write
from coflash_reproduce import cdm, drawing, opfcl, page, shadowgc, warp
from coflash_reproduce.claim import Paper
from coflash_reproduce.data import held
from coflash_reproduce.opening import answer
from coflash_reproduce.output import IMAGES, Output
from coflash_reproduce.paper import Exhibit, Experiment, Runs
from coflash_reproduce.runs import run_all
from coflash_reproduce.studies import NAMES
from coflash_reproduce.study import Study

__all__ = ["PAPERS", "STUDIES", "Done", "one_of", "reproduce", "study"]

PAPERS: dict[str, Paper] = {paper.name: paper for paper in (cdm.PAPER, shadowgc.PAPER, opfcl.PAPER, warp.PAPER)}
STUDIES: dict[str, Study] = {
    name: import_module(f"coflash_reproduce.studies.{name.replace('-', '_')}").STUDY for name in NAMES
}

_TABLES, _STORE = "tables", "store"


@dataclass(frozen=True)
class Done:
    """A reproduced paper, or a study that was done."""

    runs: Runs
    judged: Sequence[Any]
    """The paper's numbers beside ours (`Judged`), or the hypotheses and what the runs say of them (`Tested`)."""
    answer: str
    """What the page opens with."""
    page: Path
    """The file of the page."""
    before: frozenset[str] | None = None
    """The statements that are known to hold at this scale, or those of the one figure; None if none is recorded."""


def reproduce(
    name: str,
    scale: str = "quick",
    traces: Sequence[str] = (),
    *,
    kind: Literal["paper", "study"] = "paper",
    figure: str | None = None,
    out: Path,
    publish: Path | None = None,
    jobs: int | None = None,
    console: Console | None = None,
) -> Done:
    """Run the experiments of a paper or a study and write its page, figures and tables.

    Args:
        name: The name of the paper or the study.
        scale: The name of a scale.
        traces: The traces of the paper or of the user, where the user has them.
        kind: Which of the two it is.
        figure: The only figure or table, with the runs that it and its statements need; None for all.
        out: The folder for all files; runs that are in its store are not repeated.
        publish: A second folder for the page and its images.
        jobs: The number of parallel runs; None for one on each core.
        console: The console for progress; None for no display.

    Raises:
        CoflashError: An argument cannot be used, a run failed, or the folder cannot be written.
        KeyboardInterrupt: Control-C was pressed; finished runs are kept.
    """
    of = investigation(kind, name)
    one_of("scale", scale, list(of.text.scales))
    experiments = of.experiments(scale, tuple(traces))
    if traces and experiments == of.experiments(scale, ()):
        raise CoflashError(f"{name}: takes no trace: leave out --trace {traces[0]}")
    if figure is not None:
        one_of("figure", figure, [exhibit.name for exhibit in of.exhibits])
        experiments = needed(of, figure, experiments)
        if not experiments and isinstance(of, Paper) and of.needs[figure]:
            raise CoflashError(f"{figure}: has no run at this scale or with these traces: leave out --figure {figure}")
        of = part_of(of, figure)
    output = Output(out, publish)
    atomic_write.make_folder(out / _TABLES)
    runs = run_all(experiments, out / _STORE, jobs, console)
    if isinstance(of, Study) and not of.unsteady_too:
        runs = runs.steady()
    is_study = isinstance(of, Study)  # a paper's table may be empty
    shown = (one for one in of.exhibits if one.shows(runs))
    of = replace(of, exhibits=tuple(x for x in shown if not (is_study and isinstance(x, Exhibit)) or x.grid(runs).rows))
    tables = {exhibit.name: page.exhibit_csv(exhibit, runs) for exhibit in of.exhibits}
    if figure is None:
        tables[page.statements_of(of)] = page.statements_csv(of, runs)
    for table, content in tables.items():
        atomic_write.write_file(out / _TABLES / f"{name}-{table}.csv", content)
    for exhibit in of.exhibits:
        if not isinstance(exhibit, Exhibit):
            output.write_image(f"{name}-{exhibit.name}", drawing.draw(exhibit, runs))
    options = [*(f"--trace {file}" for file in traces), *([f"--figure {figure}"] if figure else [])]
    whole = f"{name}-{figure}" if figure else name
    file = output.write_page(whole, page.markdown(of, whole, scale, options, runs, IMAGES))
    if isinstance(of, Paper) and (text := page.readings(of, whole, runs)):
        output.write_page(f"{whole}-readings", text)
    judged = page.judged(of, runs)
    before = None if traces or kind == "study" else held(name, scale)
    if before and figure:
        before = frozenset(name for name in before if name.startswith(f"{figure.replace('-', ' ')}: "))
    return Done(runs, judged, answer(of, page.cells(judged)), file, before)


study = partial(reproduce, kind="study")


def investigation(kind: Literal["paper", "study"], name: str) -> Paper | Study:
    """Return a paper or a study.

    Raises:
        CoflashError: There is none of this name.
    """
    known: Mapping[str, Paper | Study] = PAPERS if kind == "paper" else STUDIES
    return known[one_of(kind, name, list(known))]


def part_of(of: Paper | Study, figure: str) -> Paper | Study:
    """Return a paper or a study with one exhibit, and the statements on it."""
    exhibits = tuple(exhibit for exhibit in of.exhibits if exhibit.name == figure)
    if isinstance(of, Study):
        return replace(of, exhibits=exhibits)
    return replace(of, exhibits=exhibits, claims=tuple(claim for claim in of.claims if claim.exhibit == figure))


def needed(of: Paper | Study, figure: str, experiments: Sequence[Experiment]) -> tuple[Experiment, ...]:
    """Return the experiments that an exhibit and the statements on it need; of a study all."""
    patterns = of.needs[figure] if isinstance(of, Paper) else ("*",)
    return tuple(one for one in experiments if any(fnmatchcase(one.name, pattern) for pattern in patterns))


def one_of(what: str, given: str, allowed: Sequence[str]) -> str:
    """Return an argument that is one of a few names.

    Raises:
        CoflashError: It is none of them.
    """
    if given not in allowed:
        raise CoflashError(f'{what}: "{given}" was given{hint(given, allowed)}')
    return given
