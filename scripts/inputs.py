"""Try the files that people bring: our own small ones, and those of public repositories where the network allows.

    python scripts/inputs.py            # writes docs/inputs.md anew; what cannot be fetched keeps its lines
    python scripts/inputs.py --check    # fails if our own files have other verdicts than the page

Nothing that is fetched is kept. A verdict is "read", "refused" with the reason, or "open": no reason that is true.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import coflash
from coflash.imports import imported

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "inputs.md"
OWN = ROOT / "tests" / "inputs"
NOTE = "<!-- Written by `python scripts/inputs.py`. -->\n"

OPEN = ("no such option", "no such file", "of no known system", "is not known", "internal")
"""Words of an error that is no reason."""


@dataclass(frozen=True)
class Source:
    """Files of a public repository at a commit."""

    title: str
    repository: str
    commit: str
    files: str
    """A pattern of their paths."""
    kind: str


SOURCES = (
    Source("fio's examples", "axboe/fio", "f5344384f7c7b6e9e6aa9336e476e8f6eb54dd3a", r"examples/[^/]+\.fio", "fio"),
    Source(
        "WARP's jobs",
        "MoatLab/WARP-FAST26-AE",
        "b3333c9abed81860c10136b6a1fd5231fc78ede5",
        r"FIO-scripts/(?!.*archive).*(?:/py_randwritefiles[^/]+|\.fio)",
        "fio",
    ),
    Source(
        "FEMU's scripts",
        "MoatLab/FEMU",
        "99ce4fb2b26a31f2df58182315949c552af56640",
        r"hw/femu/scripts/run-(?:blackbox|whitebox|zns|csd|nossd)[^/]*\.sh",
        "import",
    ),
    Source(
        "WARP's scripts",
        "MoatLab/WARP-earlyaccess",
        "ce587fba515963b7ed0e85de4ab5db11536cad8f",
        r"femu-scripts/run[-_](?:fdp|blackbox|whitebox|zns|nossd)[^/]*\.sh",
        "import",
    ),
    Source(
        "MQSim's configurations",
        "CMU-SAFARI/MQSim",
        "7ec40e3b198e8bd117f992f051cd610e330e079e",
        r".*\.xml",
        "import",
    ),
    Source(
        "NVMeVirt's header",
        "snu-csl/nvmevirt",
        "61c90f7758cbd9545b4a4727e89377bf88eab060",
        r"ssd_config\.h",
        "import",
    ),
)


def verdict(file: Path, kind: str) -> tuple[str, str]:
    """Return what coflash says of a file: (read, refused or open; the reason)."""
    try:
        if kind == "fio":
            with _chdir(file.parent):
                coflash.Scenario.load("demo").with_(**_LARGE, workload={"fio": file.name}).check()
        elif problem := imported([file]).problem:
            return "refused", f"written, to be edited: {_plain(problem, file)}"
    except coflash.CoflashError as error:
        reason = _plain(str(error), file)
        return ("open" if any(word in reason for word in OPEN) else "refused"), reason
    return "read", ""


_LARGE = {"flash.exported": "2TiB", "flash.page_size": "16KiB", "flash.pages_per_block": 4096, "flash.channels": 16}
"""A device that is large enough for every job."""


@contextlib.contextmanager
def _chdir(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _plain(text: str, file: Path) -> str:
    """Leave out where a file lies, and the line."""
    text = re.sub(rf"(?:\S*/)?{re.escape(file.name)}(?::\d+)?: ", "", text)
    return re.sub(r"^\[[^\]]*\]: ", "", text)


def own() -> list[tuple[str, str, str]]:
    """Return our own files with their verdicts."""
    files = sorted(file for file in OWN.iterdir() if file.suffix in {".fio", ".sh", ".xml", ".h"})
    return [
        (file.relative_to(OWN).as_posix(), *verdict(file, "fio" if file.suffix == ".fio" else "import"))
        for file in files
    ]


def fetched(source: Source, git: str, folder: Path) -> list[tuple[str, str, str]] | None:
    """Return the files of a source with their verdicts; None if it cannot be fetched."""
    owner, name = source.repository.split("/")
    address = git.format(owner=owner, name=name)
    is_here = Path(address).is_dir()
    bare, commit = (Path(address), source.commit) if is_here else (folder / f"{owner}-{name}.git", "FETCH_HEAD")

    def run(*arguments: str) -> bytes:
        command = ["git", "--git-dir", str(bare), *arguments]
        return subprocess.run(command, check=True, capture_output=True, timeout=600).stdout  # noqa: S603 - git

    try:
        if not bare.exists():
            run("init", "--bare", "--quiet")
            run("fetch", "--quiet", "--depth=1", address, source.commit)
        names = run("ls-tree", "-r", "-z", "--name-only", commit).decode().split("\0")
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        print(f"{source.repository}: {error}", file=sys.stderr)
        return None
    verdicts = []
    for path in (path for path in names if re.fullmatch(source.files, path)):
        at = folder / f"{owner}-{name}" / path
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_bytes(run("show", f"{commit}:{path}"))
        verdicts.append((path, *verdict(at, source.kind)))
    return verdicts


def table(rows: list[tuple[str, str, str]]) -> list[str]:
    """Return a table of verdicts."""
    lines = ["| file | verdict | reason |", "|---|---|---|"]
    return lines + [f"| `{file}` | {how} | {_cell(reason)} |" for file, how, reason in rows]


def _cell(text: str) -> str:
    short = text if len(text) <= 200 else f"{text[:200]}…"
    return short.replace("|", "\\|").replace("<", "&lt;").replace("{", "&#123;")


def counted(rows: list[tuple[str, str, str]]) -> str:
    """Return how many of each verdict there are."""
    counts = Counter(how for _, how, _ in rows)
    return ", ".join(f"{counts[how]} {how}" for how in ("read", "refused", "open"))


def page(git: str) -> str:
    """Write the page."""
    before = PAGE.read_text("utf-8") if PAGE.exists() else ""
    parts = [
        "# What people bring\n",
        NOTE,
        "Files of every kind, and what coflash says of each: it is *read*, *refused* for the reason given, or *open*,",
        "where the reason is not true. Jobs of fio are laid out on a device of 2 TiB. Our own small files lie in",
        "`tests/inputs`; those of public repositories are fetched where the network allows, tried, and not kept.\n",
        *section("Our own", own()),
    ]
    with tempfile.TemporaryDirectory() as folder:
        for source in SOURCES:
            rows = fetched(source, git, Path(folder))
            where = f"{source.repository} at {source.commit[:12]}"
            if rows is not None:
                parts += section(source.title, rows, where)
            elif kept := re.search(rf"## {re.escape(source.title)}\n.*?(?=\n## |\Z)", before, re.DOTALL):
                parts.append(kept[0] + "\n")
    return "\n".join(parts).rstrip("\n") + "\n"


def section(title: str, rows: list[tuple[str, str, str]], where: str = "") -> list[str]:
    """Return a part of the page."""
    lines = [f"## {title}\n", f"{where}: {counted(rows)}.\n" if where else f"{counted(rows)}.\n"]
    return [*lines, *table(rows), ""]


def main() -> None:
    """Write the page, or check it."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--check", action="store_true", help="compare the verdicts of our own files with the page")
    options.add_argument(
        "--git", default="https://github.com/{owner}/{name}.git", help="where a repository is fetched from, or lies"
    )
    given = options.parse_args()
    if given.check:
        if "\n".join(section("Our own", own())) not in PAGE.read_text("utf-8"):
            sys.exit("docs/inputs.md: our own files have other verdicts now: run python scripts/inputs.py")
        return
    PAGE.write_text(page(given.git), "utf-8")


if __name__ == "__main__":
    main()
