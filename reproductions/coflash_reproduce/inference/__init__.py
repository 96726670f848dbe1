"""Inference: which set-up makes a paper's numbers agree (`coflash reproduce PAPER --figure inference`)."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from coflash.files import atomic_write
from coflash.sweep.question import folder_for
from coflash_reproduce.inference import page, search
from coflash_reproduce.inference.definition import inferences
from coflash_reproduce.output import IMAGES, Output
from coflash_reproduce.reproduction import PAPERS, one_of

TRIALS = {
    "quick": {"cdm": 6, "shadowgc": 6},
    "full": {"cdm": 12, "shadowgc": 24},
}
"""The set-ups to try for each reading, by scale and paper."""


def infer(
    paper: str,
    scale: str = "quick",
    *,
    out: Path,
    publish: Path | None = None,
    jobs: int | None = None,
    console: Console | None = None,
) -> Path:
    """Search the set-ups that give a paper's numbers, and write the page; return its file.

    Args:
        paper: The name of the paper.
        scale: The name of a scale.
        out: The folder for all files; runs that are in its store are not repeated.
        publish: A second folder for the page and its images.
        jobs: The number of parallel runs; None for 1, so that the set-ups are the same each time.
        console: The console for progress; None for no display.

    Raises:
        CoflashError: An argument cannot be used, a run failed, or the folder cannot be written.
        KeyboardInterrupt: Control-C was pressed; finished runs are kept.
    """
    chosen = PAPERS[one_of("--figure inference", paper, list(TRIALS["quick"]))]
    trials = TRIALS[one_of("scale", scale, list(TRIALS))]
    output = Output(out, publish)
    atomic_write.make_folder(out / "store")
    store = folder_for(out / "store")
    found = inferences(paper, chosen.queries.constant)
    done = [search.infer(one, store, trials[paper], jobs or 1, console) for one in found]
    for one in done:
        output.write_image(page.image_name(chosen, one.inference), page.draw(one))
    command = f"coflash reproduce {paper} --figure inference --scale {scale}"
    return output.write_page(f"{paper}-inference", page.markdown(chosen, command, done, IMAGES))
