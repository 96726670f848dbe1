"""Measure the house: lines by room, methods that do nothing by default, types of one name, the kernel's dependencies.

`budget.toml` says which folders are a room. With --root another tree is measured, such as an older commit, by
the rooms of this one:

    git worktree add /tmp/before 7701cff && python scripts/rooms.py --root /tmp/before
"""

from __future__ import annotations

import argparse
import configparser
import io
import re
import subprocess
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
_KINDS = {".rs", ".py", ".pyi", ".js", ".ts", ".css", ".html"}
_NOT_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
_INLINE_TESTS = re.compile(r"^#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*mod \w+ \{.*?^\}", re.DOTALL | re.MULTILINE)
_TRAIT = re.compile(r"^pub(?:\([a-z]+\))? (?:unsafe )?trait (\w+)", re.MULTILINE)
_METHOD = re.compile(r"\bfn (\w+)")
_NOTHING = re.compile(r"(let _ = [^;]*;\s*)*(?!self)([\w:]+(\.0)?(\([\w:()]*\))?)?;?")
"""The body of a method that gives a constant, or hands an argument on."""
_TYPE = re.compile(r"^\s*pub (?:struct|enum|trait|type|union) (\w+)", re.MULTILINE)


def _read(text: str) -> configparser.ConfigParser:
    """Read a text of `budget.toml`, whose lines are INI as well: Python 3.10 has no reader of TOML."""
    table = configparser.ConfigParser()
    table.read_string(text)
    return table


def budgets(text: str) -> dict[str, int]:
    """Return the lines of production code that each room may have, by a text of `budget.toml`.

    These are the owner's lines, or what a room that is still larger has reached.
    """
    rooms = {room: values for room, values in _read(text).items() if "lines" in values}
    return {room: max(int(values["lines"]), int(values.get("reached", "0"))) for room, values in rooms.items()}


BUDGET = (ROOT / "budget.toml").read_text("utf-8")

TOGETHER = "together"
"""The section of all rooms together."""

FOLDERS = {
    folder: room for room, values in _read(BUDGET).items() for folder in values.get("folders", "").strip('"').split()
}
"""The room of each folder."""

TESTS = "tests"
"""The folders that hold no production code."""

NO_ROOM = "in no room"


def room_of(file: str) -> str:
    """Return the room of a file, given by its path from the root; of folders within each other the inner one counts."""
    inner = max((folder for folder in FOLDERS if file.startswith(f"{folder}/")), key=len, default="")
    return FOLDERS.get(inner, NO_ROOM)


def production(root: Path = ROOT) -> Iterator[str]:
    """Yield the files of production code that are no tests, by their paths from the root."""
    for top in ("crates", "lab", "python", "reproductions"):
        for file in sorted((root / top).rglob("*")):
            path = file.relative_to(root)
            if file.suffix not in _KINDS or not file.is_file():
                continue
            if any(part in {"tests", "examples", "__pycache__", "target"} for part in path.parts):
                continue
            if not re.fullmatch(r"tests?(_\w+)?|\w+_tests?", file.stem):
                yield path.as_posix()


def code(file: Path) -> list[str]:
    """Return the lines of a file that are neither blank nor comments, nor tests within it."""
    text = file.read_text("utf-8")
    if file.suffix in {".py", ".pyi"}:
        return _python(text)
    if file.suffix == ".rs":
        text = _INLINE_TESTS.sub("", text)
    text = re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"^\s*/\*.*?\*/|^\s*<!--.*?-->", "", text, flags=re.DOTALL | re.MULTILINE)
    return [line for line in text.splitlines() if line.strip()]


def _python(text: str) -> list[str]:
    """Leave out docstrings, too: strings that are a statement of their own."""
    lines = text.splitlines()
    kept: set[int] = set()
    statement: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NOT_CODE:
            statement.append(token)
        elif token.type in {tokenize.NEWLINE, tokenize.ENDMARKER}:
            if [part.type for part in statement] != [tokenize.STRING]:
                kept.update(line for part in statement for line in range(part.start[0], part.end[0] + 1))
            statement = []
    return [lines[number - 1] for number in sorted(kept) if lines[number - 1].strip()]


def lines_by_room(root: Path = ROOT) -> Counter[str]:
    """Count the lines of production code in each room."""
    found: Counter[str] = Counter()
    for file in production(root):
        found[room_of(file)] += len(code(root / file))
    del found[TESTS]
    return found


def silent_defaults(root: Path = ROOT) -> dict[str, tuple[int, int]]:
    """Count, of each trait that has any, the methods that do nothing unless they are written, and all its methods."""
    found = {}
    for file in production(root):
        if not file.endswith(".rs"):
            continue
        text = "\n".join(code(root / file))
        for trait in _TRAIT.finditer(text):
            body = _braced(text, trait.end())
            methods = [*_methods(body)]
            silent = sum(each is not None and _NOTHING.fullmatch(each.strip()) is not None for each in methods)
            if silent:
                found[trait[1]] = (silent, len(methods))
    return found


def _braced(text: str, begin: int) -> str:
    """Return what the next pair of braces encloses."""
    first = text.index("{", begin)
    depth = 0
    for at in range(first, len(text)):
        depth += (text[at] == "{") - (text[at] == "}")
        if depth == 0:
            return text[first + 1 : at]
    return ""


def _methods(body: str) -> Iterator[str | None]:
    """Yield the default body of each method of a trait; None if it has none."""
    at = 0
    while method := _METHOD.search(body, at):
        end = re.compile(r"[;{]").search(body, body.index("(", method.end()))
        if end is None:
            return
        default = _braced(body, end.start()) if end[0] == "{" else None
        yield default
        at = end.end() + len(default or "")


def homonyms(root: Path = ROOT) -> dict[str, dict[str, list[str]]]:
    """Return the public types of crates whose name another one in the same room has: by room and name, their files."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for file in production(root):
        if file.endswith(".rs"):
            for name in _TYPE.findall("\n".join(code(root / file))):
                found[room_of(file)][name].append(file)
    return {room: {name: files for name, files in names.items() if len(files) > 1} for room, names in found.items()}


def places_of_a_level(root: Path = ROOT) -> tuple[int, int]:
    """Count the places, and the files, that the example of a level edits beside its own file and tests."""
    page = root / "docs/adding_a_level.md"
    text = (page if page.exists() else root / "CONTRIBUTING.md").read_text("utf-8")
    (diff,) = re.findall(r"# (?:A|Adding a) level\n.*?```diff\n(.*?)```", text, re.DOTALL)
    parts = diff.split("diff --git ")[1:]
    files = [part for part in parts if "new file" not in part and "/tests/" not in part.split("\n")[0]]
    return sum(part.count("\n@@") for part in files), len(files)


def dependencies(crate: str, root: Path = ROOT) -> list[str]:
    """Return the crates that a crate links, by `cargo tree`."""
    command = ["cargo", "tree", "--locked", "--offline", "--package", crate, "--edges", "normal", "--prefix", "none"]
    shown = subprocess.run([*command, "--format", "{p}"], cwd=root, capture_output=True, text=True, check=True).stdout
    return sorted({line.split()[0] for line in shown.splitlines() if line} - {crate})


def main() -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree to measure; by default this one")
    root: Path = parser.parse_args().root.resolve()
    lines = lines_by_room(root)
    print("lines of production code")
    for room, count in lines.items():
        print(f"  {room:12}{count:8,}")
    print(f"  {'all':12}{sum(lines.values()):8,}")
    silent = sorted(silent_defaults(root).items(), key=lambda each: -each[1][0])
    print(f"methods that do nothing by default: {sum(count for _, (count, _) in silent)}")
    print("".join(f"  {trait} {count} of {total}\n" for trait, (count, total) in silent), end="")
    print("public types with the name of another one in their room")
    for room, names in homonyms(root).items():
        print(f"  {room:12}{len(names):4}  {', '.join(sorted(names))}")
    places, files = places_of_a_level(root)
    print(f"places that a new level edits: {places} in {files} files")
    found = dependencies("coflash-scenario", root)
    heavy = {"bzip2", "lzma-rs", "liblzma", "xz2", "zstd", "tar", "parquet", "arrow-array"} & {*found}
    ours = [name for name in found if name.startswith("coflash-")]
    formats = ", ".join(sorted(heavy)) or "none"
    print(f"crates that coflash-scenario links: {len(found)}, {len(ours)} of them ours; formats of traces: {formats}")


if __name__ == "__main__":
    main()
