"""The papers and the studies, and how one is done: runs, figures, tables, page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from coflash._core import CoflashError, hint
from coflash.figures.style import needs_matplotlib
from coflash.files import atomic_write
from coflash_reproduce import cdm, drawing, opfcl, page, shadowgc, study_page
from coflash_reproduce.output import IMAGES, Output
from coflash_reproduce.page import Judged
from coflash_reproduce.paper import Figure, Investigation, Paper, Picture, Runs
from coflash_reproduce.runs import run_all
from coflash_reproduce.studies import (
    caching_less,
    cdm_victim_scores,
    eviction_policies,
    frozen_spare,
    placement,
    removable_weight,
)
from coflash_reproduce.study import Study
from coflash_reproduce.study_page import Tested

__all__ = ["PAPERS", "STUDIES", "Done", "Reproduction", "one_of", "reproduce", "study"]

PAPERS: dict[str, Paper] = {paper.name: paper for paper in (cdm.PAPER, shadowgc.PAPER, opfcl.PAPER)}
STUDIES: dict[str, Study] = {
    one.name: one
    for one in (
        cdm_victim_scores.STUDY,
        frozen_spare.STUDY,
        removable_weight.STUDY,
        caching_less.STUDY,
        eviction_policies.STUDY,
        placement.STUDY,
    )
}

_TABLES, _STORE = "tables", "store"


@dataclass(frozen=True)
class Done:
    """A study that was done."""

    study: Study
    runs: Runs
    tested: tuple[Tested, ...]
    """Its hypotheses, and what the runs say of them."""
    page: Path
    """The file of the page."""


@dataclass(frozen=True)
class Reproduction:
    """A reproduced paper."""

    paper: Paper
    runs: Runs
    judged: tuple[Judged, ...]
    """The paper's numbers beside ours."""
    page: Path
    """The file of the page."""


def reproduce(
    paper: str,
    scale: str = "quick",
    traces: Sequence[str] = (),
    *,
    out: Path,
    publish: Path | None = None,
    jobs: int | None = None,
    console: Console | None = None,
) -> Reproduction:
    """Run the experiments of a paper and write its page, figures and tables.

    Args:
        paper: The name of the paper.
        scale: The name of a scale.
        traces: The paper's traces, where the user has them.
        out: The folder for all files; runs that are in its store are not repeated.
        publish: A second folder for the page and its images.
        jobs: The number of parallel runs; None for one on each core.
        console: The console for progress; None for no display.

    Raises:
        CoflashError: An argument cannot be used, a run failed, or the folder cannot be written.
        KeyboardInterrupt: Control-C was pressed; finished runs are kept.
    """
    chosen = PAPERS[one_of("paper", paper, list(PAPERS))]
    runs, file = _carry_out(chosen, scale, traces, out, publish, jobs, console)
    return Reproduction(chosen, runs, tuple(page.judged(chosen, runs)), file)


def study(
    name: str,
    scale: str = "quick",
    traces: Sequence[str] = (),
    *,
    out: Path,
    publish: Path | None = None,
    jobs: int | None = None,
    console: Console | None = None,
) -> Done:
    """Run the experiments of a study and write its page, figures and tables.

    The arguments and errors are those of `reproduce`; `name` is that of the study.
    """
    chosen = STUDIES[one_of("study", name, list(STUDIES))]
    runs, file = _carry_out(chosen, scale, traces, out, publish, jobs, console)
    return Done(chosen, runs, tuple(study_page.tested(chosen, runs)), file)


def _carry_out(
    chosen: Paper | Study,
    scale: str,
    traces: Sequence[str],
    out: Path,
    publish: Path | None,
    jobs: int | None,
    console: Console | None,
) -> tuple[Runs, Path]:
    """Run the experiments and write all files; return the runs, and the file of the page."""
    one_of("scale", scale, list(chosen.scales))
    needs_matplotlib()
    output = Output(out, publish)
    atomic_write.make_folder(out / _TABLES)
    runs = run_all(chosen.experiments(scale, tuple(traces)), out / _STORE, jobs, console)
    if isinstance(chosen, Paper):
        text = page.markdown(chosen, scale, traces, runs, IMAGES)
        statements, table = "claims", page.claims_csv(chosen, runs)
    else:
        text = study_page.markdown(chosen, scale, traces, runs, IMAGES)
        statements, table = "findings", study_page.findings_csv(chosen, runs)
    atomic_write.write_file(out / _TABLES / f"{chosen.name}-{statements}.csv", table)
    _write_tables(chosen, runs, out / _TABLES)
    for exhibit in chosen.exhibits:
        if isinstance(exhibit, Figure | Picture):
            output.write_image(f"{chosen.name}-{exhibit.name}", drawing.draw(exhibit, runs))
    return runs, output.write_page(chosen.name, text)


def _write_tables(of: Investigation, runs: Runs, folder: Path) -> None:
    for exhibit in of.exhibits:
        content = page.figure_csv(exhibit, runs) if isinstance(exhibit, Figure) else page.exhibit_csv(exhibit, runs)
        atomic_write.write_file(folder / f"{of.name}-{exhibit.name}.csv", content)


def one_of(what: str, given: str, allowed: Sequence[str]) -> str:
    """Return an argument that is one of a few names.

    Raises:
        CoflashError: It is none of them.
    """
    if given not in allowed:
        msg = f'{what}: "{given}" was given{hint(given, allowed)}'
        raise CoflashError(msg)
    return given
