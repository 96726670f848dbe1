"""Every script of `examples/` runs, cell by cell, as a notebook would run it."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


def cells(source: str) -> Iterator[str]:
    """The code of each cell, at the lines where it stands."""
    starts = [match.start() for match in re.finditer(r"^# %%", source, re.M)] + [len(source)]
    for start, end in zip([0, *starts], starts, strict=False):
        if not source.startswith("# %% [markdown]", start):
            yield "\n" * source.count("\n", 0, start) + source[start:end]


def run(file: Path) -> list[Any]:
    """What each cell shows: the value of the expression that it ends with."""
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    source = file.read_text(encoding="utf-8")
    linecache.cache[str(file)] = (len(source), None, source.splitlines(keepends=True), str(file))
    for cell in cells(source):
        tree = ast.parse(cell)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, str(file), "exec"), names)  # noqa: S102  (our own examples)
        if isinstance(last, ast.Expr):
            shown.append(eval(compile(ast.Expression(last.value), str(file), "eval"), names))  # noqa: S307
    return shown


def test_there_are_examples() -> None:
    assert EXAMPLES


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_runs(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = [value for value in run(file) if hasattr(value, "_repr_html_")]
    assert len(shown) >= 2
    for value in shown:
        assert "<table" in value._repr_html_()
    assert list(tmp_path.glob("results/*/report.html"))
    if "savefig" in file.read_text("utf-8"):
        assert list(tmp_path.glob("results/*/*.png"))
