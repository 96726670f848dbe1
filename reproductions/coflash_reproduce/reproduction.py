"""The papers and the studies, and how one is done: runs, figures, tables, page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from coflash._core import CoflashError, hint
from coflash.files import atomic_write
from coflash_reproduce import cdm, drawing, opfcl, page, shadowgc, warp
from coflash_reproduce.claim import Paper
from coflash_reproduce.output import IMAGES, Output
from coflash_reproduce.paper import Exhibit, Runs
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
    page: Path
    """The file of the page."""


def reproduce(
    name: str,
    scale: str = "quick",
    traces: Sequence[str] = (),
    *,
    kind: Literal["paper", "study"] = "paper",
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
        out: The folder for all files; runs that are in its store are not repeated.
        publish: A second folder for the page and its images.
        jobs: The number of parallel runs; None for one on each core.
        console: The console for progress; None for no display.

    Raises:
        CoflashError: An argument cannot be used, a run failed, or the folder cannot be written.
        KeyboardInterrupt: Control-C was pressed; finished runs are kept.
    """
    known: Mapping[str, Paper | Study] = PAPERS if kind == "paper" else STUDIES
    of = known[one_of(kind, name, list(known))]
    one_of("scale", scale, list(of.text.scales))
    experiments = of.experiments(scale, tuple(traces))
    if traces and experiments == of.experiments(scale, ()):
        raise CoflashError(f"{name}: takes no trace: leave out --trace {traces[0]}")
    output = Output(out, publish)
    atomic_write.make_folder(out / _TABLES)
    runs = run_all(experiments, out / _STORE, jobs, console)
    tables = {page.statements_of(of): page.statements_csv(of, runs)}
    tables |= {exhibit.name: page.exhibit_csv(exhibit, runs) for exhibit in of.exhibits}
    for table, content in tables.items():
        atomic_write.write_file(out / _TABLES / f"{name}-{table}.csv", content)
    for exhibit in of.exhibits:
        if not isinstance(exhibit, Exhibit):
            output.write_image(f"{name}-{exhibit.name}", drawing.draw(exhibit, runs))
    file = output.write_page(name, page.markdown(of, scale, traces, runs, IMAGES))
    return Done(runs, page.judged(of, runs), file)


study = partial(reproduce, kind="study")


def one_of(what: str, given: str, allowed: Sequence[str]) -> str:
    """Return an argument that is one of a few names.

    Raises:
        CoflashError: It is none of them.
    """
    if given not in allowed:
        raise CoflashError(f'{what}: "{given}" was given{hint(given, allowed)}')
    return given
