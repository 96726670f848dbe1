"""The papers, and the reproduction of one: runs, figures, tables, page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from coflash._core import CoflashError, hint
from coflash.figures.style import needs_matplotlib
from coflash.files import atomic_write
from coflash_reproduce import cdm, drawing, opfcl, page, shadowgc
from coflash_reproduce.page import Judged
from coflash_reproduce.paper import Figure, Paper, Picture, Runs
from coflash_reproduce.runs import run_all

__all__ = ["PAPERS", "Reproduction", "one_of", "reproduce"]

PAPERS: dict[str, Paper] = {paper.name: paper for paper in (cdm.PAPER, shadowgc.PAPER, opfcl.PAPER)}

_IMAGES, _TABLES, _STORE = "images", "tables", "store"


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
    one_of("scale", scale, list(chosen.scales))
    needs_matplotlib()
    places = [out] if publish is None else [out, publish]
    for place in places:
        atomic_write.make_folder(place / _IMAGES)
    atomic_write.make_folder(out / _TABLES)
    runs = run_all(chosen.experiments(scale, tuple(traces)), out / _STORE, jobs, console)
    _write_tables(chosen, runs, out / _TABLES)
    for exhibit in chosen.exhibits:
        if isinstance(exhibit, Figure | Picture):
            drawn = drawing.draw(exhibit, runs)
            image = f"{chosen.name}-{exhibit.name}"
            for kind, content in drawn.items():
                atomic_write.write_file(out / _IMAGES / f"{image}.{kind}", content)
            if publish is not None:
                atomic_write.write_file(publish / _IMAGES / f"{image}.png", drawn["png"])
    for place in places:
        atomic_write.write_file(place / f"{chosen.name}.md", page.markdown(chosen, scale, traces, runs, _IMAGES))
    return Reproduction(chosen, runs, tuple(page.judged(chosen, runs)), out / f"{chosen.name}.md")


def _write_tables(paper: Paper, runs: Runs, folder: Path) -> None:
    atomic_write.write_file(folder / f"{paper.name}-claims.csv", page.claims_csv(paper, runs))
    for exhibit in paper.exhibits:
        content = page.figure_csv(exhibit, runs) if isinstance(exhibit, Figure) else page.exhibit_csv(exhibit, runs)
        atomic_write.write_file(folder / f"{paper.name}-{exhibit.name}.csv", content)


def one_of(what: str, given: str, allowed: Sequence[str]) -> str:
    """Return an argument that is one of a few names.

    Raises:
        CoflashError: It is none of them.
    """
    if given not in allowed:
        msg = f'{what}: "{given}" was given{hint(given, allowed)}'
        raise CoflashError(msg)
    return given
