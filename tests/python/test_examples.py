"""Every script of `examples/` runs, cell by cell, and its notebook beside it has the same cells and answers."""

from __future__ import annotations

import copy
from pathlib import Path

import nbformat
import pytest

from notebooks import EXAMPLES, executed, without_pictures


def test_there_are_examples() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_runs_and_its_notebook_is_not_stale(file: Path, tmp_path: Path) -> None:
    ran = executed(file, tmp_path)
    kept = nbformat.read(file.with_suffix(".ipynb"), as_version=4)
    assert without_pictures(ran) == without_pictures(kept), "stale: run make notebooks"
    shown = [
        output.data["text/html"]
        for cell in ran.cells
        for output in cell.get("outputs", ())
        if "text/html" in output.get("data", {})
    ]
    assert len(shown) >= 2
    assert all("<table" in html for html in shown)
    assert list(tmp_path.glob("results/*/report.html"))
    if "savefig" in file.read_text("utf-8"):
        assert list(tmp_path.glob("results/*/*.png"))


def test_another_answer_is_stale() -> None:
    kept = nbformat.read(EXAMPLES[0].with_suffix(".ipynb"), as_version=4)
    other = copy.deepcopy(kept)
    output = next(cell.outputs[-1] for cell in other.cells if cell.get("outputs"))
    output.update(text="another") if "text" in output else output.data.update({"text/plain": "another"})
    assert without_pictures(other) != without_pictures(kept)
