"""Reproductions of published papers: what they ran, their figures drawn from our runs, their numbers beside ours.

`paper` says what a paper is; a paper is one module and one entry in `PAPERS`.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from coflash import whole
from coflash._core import CoflashError
from coflash.publication import needs_matplotlib
from coflash.reproduce import cdm, drawing, opfcl, page, shadowgc
from coflash.reproduce.page import Judged
from coflash.reproduce.paper import Figure, Paper, Picture, Runs
from coflash.reproduce.runs import run_all

__all__ = ["PAPERS", "Reproduction", "reproduce"]

PAPERS: dict[str, Paper] = {paper.name: paper for paper in (cdm.PAPER, shadowgc.PAPER, opfcl.PAPER)}

_IMAGES, _TABLES, _STORE = "images", "tables", "store"


@dataclass(frozen=True)
class Reproduction:
    """A paper that was reproduced."""

    paper: Paper
    runs: Runs
    judged: tuple[Judged, ...]
    """The paper's numbers beside ours."""
    page: Path
    """The page that tells of it."""


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
    """Runs the experiments of a paper and writes page, figures and tables.

    Args:
        paper: Its name.
        scale: One of its scales.
        traces: Traces in place of those that it cannot ship.
        out: The folder for all of it; runs that are in its store are not done again.
        publish: A folder for the page and the images that it shows.
        jobs: How many runs at once; None: one for each core.
        console: Where progress is shown; None: nowhere.

    Raises:
        CoflashError: Something that was given cannot be used, a run failed, or the folder cannot be written.
        KeyboardInterrupt: Control-C was pressed; what is done is kept.
    """
    chosen = PAPERS[_one_of("paper", paper, list(PAPERS))]
    _one_of("scale", scale, list(chosen.scales))
    needs_matplotlib()
    places = [out] if publish is None else [out, publish]
    for place in places:
        _make(place / _IMAGES)
    _make(out / _TABLES)
    runs = run_all(chosen.experiments(scale, tuple(traces)), out / _STORE, jobs, console)
    _write_tables(chosen, runs, out / _TABLES)
    for exhibit in chosen.exhibits:
        if isinstance(exhibit, Figure | Picture):
            drawn = drawing.draw(exhibit, runs)
            image = f"{chosen.name}-{exhibit.name}"
            for kind, content in drawn.items():
                whole.write_file(out / _IMAGES / f"{image}.{kind}", content)
            if publish is not None:
                whole.write_file(publish / _IMAGES / f"{image}.png", drawn["png"])
    for place in places:
        whole.write_file(place / f"{chosen.name}.md", page.markdown(chosen, scale, traces, runs, _IMAGES))
    return Reproduction(chosen, runs, tuple(page.judged(chosen, runs)), out / f"{chosen.name}.md")


def _write_tables(paper: Paper, runs: Runs, folder: Path) -> None:
    whole.write_file(folder / f"{paper.name}-claims.csv", page.claims_csv(paper, runs))
    for exhibit in paper.exhibits:
        content = page.figure_csv(exhibit, runs) if isinstance(exhibit, Figure) else page.exhibit_csv(exhibit, runs)
        whole.write_file(folder / f"{paper.name}-{exhibit.name}.csv", content)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"{folder}: cannot be written: {error.strerror or error}"
        raise CoflashError(msg) from error


def _one_of(what: str, given: str, allowed: Sequence[str]) -> str:
    if given in allowed:
        return given
    near = difflib.get_close_matches(given, allowed, 1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    msg = f"{what}: {given!r} was given{meant} (allowed: {', '.join(allowed)})"
    raise CoflashError(msg)
