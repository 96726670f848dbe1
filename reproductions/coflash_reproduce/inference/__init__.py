"""Inference: which set-up makes a paper's numbers agree (`coflash reproduce PAPER --infer`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from coflash.figures.style import needs_matplotlib
from coflash.files import atomic_write
from coflash.sweep.question import folder_for
from coflash_reproduce.inference import cdm, opfcl, page, search, shadowgc
from coflash_reproduce.inference.definition import Inference
from coflash_reproduce.output import IMAGES, Output
from coflash_reproduce.reproduction import PAPERS, one_of

__all__ = ["INFERENCES", "SCALES", "Inferences", "infer"]

Inferences = Callable[[int, tuple[str, ...]], tuple[Inference, ...]]
"""The inferences of a paper, given the divisor of its device and the traces of the user."""


@dataclass(frozen=True)
class Effort:
    """The effort of a search."""

    trials: int
    """The set-ups for each reading."""
    divisor: int
    """How many times smaller the device is than the paper's."""


SCALES = {
    "quick": {"cdm": Effort(6, 1024), "opfcl": Effort(6, 128), "shadowgc": Effort(6, 1024)},
    "full": {"cdm": Effort(12, 512), "opfcl": Effort(12, 128), "shadowgc": Effort(24, 512)},
}
"""The effort by scale and paper."""
INFERENCES: dict[str, Inferences] = {"cdm": cdm.inferences, "opfcl": opfcl.inferences, "shadowgc": shadowgc.inferences}


def infer(
    paper: str,
    scale: str = "quick",
    traces: Sequence[str] = (),
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
        traces: The paper's traces, where the user has them.
        out: The folder for all files; runs that are in its store are not repeated.
        publish: A second folder for the page and its images.
        jobs: The number of parallel runs; None for 1, so that the set-ups are the same each time.
        console: The console for progress; None for no display.

    Raises:
        CoflashError: An argument cannot be used, a run failed, or the folder cannot be written.
        KeyboardInterrupt: Control-C was pressed; finished runs are kept.
    """
    chosen = PAPERS[one_of("--infer", paper, list(INFERENCES))]
    effort = SCALES[one_of("scale", scale, list(SCALES))][paper]
    needs_matplotlib()
    output = Output(out, publish)
    atomic_write.make_folder(out / "store")
    store = folder_for(out / "store")
    found = INFERENCES[paper](effort.divisor, tuple(traces))
    done = [search.infer(one, store, effort.trials, jobs or 1, console) for one in found]
    command = " ".join([f"coflash reproduce {paper} --infer --scale {scale}", *(f"--trace {file}" for file in traces)])
    for one in done:
        output.write_image(page.image_name(chosen, one.inference), page.draw(one))
    return output.write_page(f"{paper}-inference", page.markdown(chosen, command, done, IMAGES))
