"""Write the pages of the documentation site into a folder, from which Zensical makes the site (`make docs`).

Beside `docs` these are the texts in the root, the examples, the built-in scenarios, the commands and the crates. Links
between files of the repository become links between pages; a link to a source file becomes a link to its page in
rustdoc. The exit status is 1 if a link has no target.
"""

from __future__ import annotations

import argparse
import posixpath
import re
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import typer.cli
import typer.main
from typer.core import TyperGroup

from coflash.cli import app, imported

ROOT = Path(__file__).parents[1]
ROOMS = {
    "kernel": "crates/kernel/README.md",
    "traces": "crates/traces/README.md",
    "device": "crates/device/README.md",
    "laboratory": "python/README.md",
    "evidence": "reproductions/README.md",
}
"""The front pages of the rooms."""
_LINK = re.compile(r"\[(?P<text>[^]\n]*\n?[^]\n]*)\]\((?P<to>[^)#:\s]+)(?P<anchor>#[^)\s]*)?\)")
_CELL = re.compile(r"^# %%(?P<markdown> \[markdown\])?\n", re.M)


def sources() -> dict[str, str]:
    """Return the files of the repository that are pages, with the place of each on the site."""
    docs = {f"docs/{file.relative_to(ROOT / 'docs').as_posix()}" for file in ROOT.glob("docs/**/*.md")}
    names = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "RELEASING.md")
    texts = {"README.md": "index.md", "tests/README.md": "tests.md"} | {name: name for name in names}
    designs = {
        f"crates/{(at := file.relative_to(ROOT / 'crates')).as_posix()}": f"design/{at.parent.name}.md"
        for file in ROOT.glob("crates/**/DESIGN.md")
    }
    rooms = {file: f"rooms/{name}.md" for name, file in ROOMS.items()}
    examples = {f"examples/{file.name}": f"examples/{file.stem}.md" for file in ROOT.glob("examples/*.py")}
    return {file: file.removeprefix("docs/") for file in docs} | texts | rooms | designs | examples


def page(file: str) -> str:
    """Return a file as a page; the Markdown cells of an example become text, the others code."""
    text = (ROOT / file).read_text("utf-8")
    if not file.endswith(".py"):
        return text
    _, *cells = _CELL.split(text)
    parts = []
    for markdown, cell in zip(cells[::2], cells[1::2], strict=True):
        parts.append(re.sub(r"^# ?", "", cell, flags=re.M) if markdown else f"```python\n{cell.strip()}\n```\n")
    return "\n".join(parts)


def place_of(file: str) -> str | None:
    """Return the place of a file of the repository on the site; None if it has none."""
    places = sources() | {"examples": "examples/cdm_write_amplification.md", "scenarios": "scenarios.md"}
    if file in places:
        return places[file]
    if not (ROOT / file).is_file():
        return None
    if source := re.fullmatch(r"crates/(?:\w+/)?(\w+)/src/(.*\.rs)", file):
        return f"rust/src/coflash_{source[1]}/{source[2]}.html"
    if source := re.fullmatch(r"crates/(?:\w+/)?(\w+)/examples/.*\.rs", file):
        return f"rust/coflash_{source[1]}/index.html"
    return file.removeprefix("docs/") if file.startswith("docs/") else None


def linked(file: str, place: str, problems: list[str]) -> str:
    """Return the page of a file, with links to pages in place of links to files."""

    def link(found: re.Match[str]) -> str:
        target = place_of(posixpath.normpath(posixpath.join(posixpath.dirname(file), found["to"])))
        if target is None:
            problems.append(f"{file}: the link to {found['to']} has no target on the site")
            return found[0]
        to = posixpath.relpath(target, posixpath.dirname(place) or ".") + (found["anchor"] or "")
        # Zensical does not know the pages of rustdoc, and would report a Markdown link to them.
        return f'<a href="{to}">{found["text"]}</a>' if target.startswith("rust/") else f"[{found['text']}]({to})"

    return _LINK.sub(link, page(file))


def scenarios() -> str:
    """List the built-in scenarios with their TOML."""
    about = "# Built-in scenarios\n\n`coflash scenario show NAME` prints one with every default written out.\n"
    files = sorted(ROOT.glob("scenarios/*.toml"))
    return "\n".join([about, *(f"## {file.stem}\n\n```toml\n{file.read_text('utf-8')}```\n" for file in files)])


def commands() -> str:
    """List every command with its options."""
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    group.commands = {name: imported(name) for name in group.commands}
    return typer.cli.get_docs_for_click(obj=group, ctx=typer.Context(group), name="coflash", title="Command line")


def crates() -> str:
    """List the crates, each with the first sentence of its front page."""
    about = "# Rust\n\nThe core is a workspace of crates; the front page of each describes its contents.\n"
    rows = [about, "| crate | |", "|---|---|"]
    for file in sorted(ROOT.glob("crates/**/src/lib.rs")):
        name = file.parts[-3]
        if name != "python":  # a shell around the core, documented as the package
            (about, *_) = file.read_text("utf-8").removeprefix("//! ").split(".")
            about = about.replace("\n//!", "")
            rows.append(f'| <a href="rust/coflash_{name}/index.html"><code>{name}</code></a> | {about} |')
    return "\n".join(rows)


MADE: dict[str, Callable[[], str]] = {"scenarios.md": scenarios, "reference/commands.md": commands, "rust.md": crates}


def main() -> int:
    """Write the pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usual = ROOT / "target/site-pages"
    parser.add_argument("folder", type=Path, nargs="?", default=usual, help="the folder, whose contents are replaced")
    folder: Path = parser.parse_args().folder
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder)
    problems: list[str] = []
    pages = {place: partial(linked, file, place, problems) for file, place in sources().items()} | MADE
    for place, text in pages.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text(), encoding="utf-8")
    print("\n".join(problems), end="\n" if problems else "", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
