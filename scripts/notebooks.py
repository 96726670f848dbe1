"""Write the notebooks of examples/ anew: each script there as a notebook, executed, with its answers.

A cell begins at `# %%`, a cell of text at `# %% [markdown]`. Pictures are of the version of matplotlib that is there.
"""

from __future__ import annotations

import argparse
import ast
import base64
import io
import linecache
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import matplotlib as mpl
import nbformat
from matplotlib import pyplot as plt
from nbformat import v4

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
_TRACES = Path("examples/traces")


def executed(script: Path, folder: Path) -> nbformat.NotebookNode:
    """Execute a script cell by cell in a folder, and return it as a notebook.

    The traces of the examples are copied there, so that answers name them as in a checkout.
    """
    shutil.copytree(ROOT / _TRACES, folder / _TRACES)
    mpl.use("agg")
    names: dict[str, Any] = {"__name__": "__main__"}
    source = script.read_text("utf-8")
    linecache.cache[str(script)] = (len(source), None, source.splitlines(keepends=True), str(script))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook: nbformat.NotebookNode = v4.new_notebook(metadata={"kernelspec": kernel})
    before = Path.cwd()
    os.chdir(folder)
    sys.path.insert(0, str(script.parent))  # as `python SCRIPT` has it
    try:
        for place, (is_text, cell, line) in enumerate(cells(source)):
            if is_text:
                text = re.sub(r"^# ?", "", cell, flags=re.M).strip()
                made = v4.new_markdown_cell(text)
            else:
                count = sum(other.cell_type == "code" for other in notebook.cells) + 1
                outputs = list(_outputs("\n" * line + cell, script, names, count))
                made = v4.new_code_cell(cell.strip(), execution_count=count, outputs=outputs)
            made["id"] = f"cell-{place}"  # otherwise it is random
            notebook.cells.append(made)
    finally:
        sys.path.remove(str(script.parent))
        os.chdir(before)
    nbformat.validate(notebook)
    return notebook


def cells(source: str) -> Iterator[tuple[bool, str, int]]:
    """Yield each cell: whether it is text, its lines, and the number of lines before it."""
    starts = list(re.finditer(r"^# %%( \[markdown\])?.*\n", source, re.M))
    for start, end in zip(starts, [*(other.start() for other in starts[1:]), len(source)], strict=True):
        yield start[1] is not None, source[start.end() : end], source.count("\n", 0, start.end())


def _outputs(cell: str, script: Path, names: dict[str, Any], count: int) -> Iterator[nbformat.NotebookNode]:
    """Execute a cell, and yield its output, its figures, and its last value."""
    tree = ast.parse(cell)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with redirect_stdout(printed):
        exec(compile(tree, str(script), "exec"), names)  # noqa: S102 - our own examples
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), str(script), "eval"), names)  # noqa: S307
    if printed.getvalue():
        yield v4.new_output("stream", name="stdout", text=printed.getvalue())
    for number in plt.get_fignums():
        picture = io.BytesIO()
        plt.figure(number).savefig(picture, format="png", dpi=100, metadata={"Software": None})
        plt.close(number)
        data = {"image/png": base64.b64encode(picture.getvalue()).decode(), "text/plain": "<Figure>"}
        yield v4.new_output("display_data", data=data)
    if value is not None:
        data = {"text/plain": repr(value)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_()
        yield v4.new_output("execute_result", data=data, execution_count=count)


def without_pictures(notebook: nbformat.NotebookNode) -> list[Any]:
    """Return the cells of a notebook without the contents of pictures: pixels depend on fonts and versions."""
    found = nbformat.from_dict(notebook)
    for cell in found.cells:
        for output in cell.get("outputs", ()):
            if "image/png" in output.get("data", {}):
                output["data"]["image/png"] = "a picture"
    return list(found.cells)


def main() -> int:
    """Write the notebooks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scripts", nargs="*", type=Path, default=EXAMPLES, help="default: all of examples/")
    for script in map(Path.resolve, parser.parse_args().scripts):
        with tempfile.TemporaryDirectory() as folder:
            notebook = executed(script, Path(folder))
        file = script.with_suffix(".ipynb")
        file.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")
        print(f"{file.relative_to(ROOT)}: {file.stat().st_size // 1024} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
