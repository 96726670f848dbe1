"""The modules of a crate have no circles between neighbours, and the rooms are floors: both are read from below."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from rooms import room_of

CRATES = Path(__file__).parents[2] / "crates"
SOURCES = sorted(manifest.parent / "src" for manifest in CRATES.glob("**/Cargo.toml"))

Module = tuple[str, ...]
"""Its path in the crate; also the path of something in it."""


def modules(source: Path) -> dict[Module, str]:
    """The text of each module, without comments and tests."""
    found = {}
    for file in source.rglob("*.rs"):
        *folders, name = file.relative_to(source).with_suffix("").parts
        if any(part.startswith("tests") for part in (*folders, name)):
            continue
        text = re.sub(r"//.*", "", file.read_text())
        text = re.sub(r"#\[cfg\(test\)\]\s*((pub(\(\w+\))? )?use[^;]*;|mod \w+ \{.*)", "", text, flags=re.DOTALL)
        found[(*folders,) if name in ("lib", "main", "mod") else (*folders, name)] = text
    return found


def leaves(tree: str) -> Iterator[Module]:
    """The paths that a `use` names."""
    stem, brace, rest = tree.partition("{")
    depth, begin = 0, 0
    if not brace:
        yield tuple(stem.strip().removesuffix("::").split(" as ")[0].split("::"))
    for at, letter in enumerate(rest):
        if letter in ",}" and depth == 0:
            if rest[begin:at].strip():
                yield from leaves(stem + rest[begin:at].strip())
            begin = at + 1
        depth += (letter == "{") - (letter == "}")


def circles(source: Path) -> Iterator[str]:
    """Each circle between the modules of a folder."""
    texts = modules(source)
    exports: dict[Module, Module] = {}

    def absolute(module: Module, path: Module) -> Module | None:
        up = list(module)
        for at, part in enumerate(path):
            if part == "super":
                up.pop()
            elif part == "crate":
                up.clear()
            elif part != "self":
                inside = at > 0 or (*module, part) in texts
                return (*up, *path[at:]) if inside else None
        return None

    def home(path: Module) -> Module:
        """The module that declares what a path names."""
        at: Module = ()
        for part in path:
            here = (*at, part)
            if here in texts:
                at = here
            elif here in exports and exports[here] != here:
                at = home(exports[here])
            else:
                break
        return at

    uses: dict[Module, set[Module]] = defaultdict(set)
    for module, text in texts.items():
        for public, tree in re.findall(r"\b(pub(?:\(\w+\))? )?use ([^;]*);", text):
            for leaf in leaves(re.sub(r"\s+", " ", tree)):
                if (path := absolute(module, leaf)) is not None:
                    uses[module].add(path)
                    if public and path[-1] not in ("*", "self"):
                        name = (*module, path[-1])
                        exports[name] = path
        for path_text in re.findall(r"(?<![\w:])(?:crate|super)(?:::\w+)+", text):
            if (path := absolute(module, tuple(path_text.split("::")))) is not None:
                uses[module].add(path)
    order: dict[Module, TopologicalSorter[str]] = defaultdict(TopologicalSorter)
    for module, paths in uses.items():
        for path in paths:
            used = home(path)
            common = next((at for at, pair in enumerate(zip(module, used, strict=False)) if len(set(pair)) > 1), None)
            if common is not None:
                order[module[:common]].add(module[common], used[common])
    for folder, sorter in order.items():
        if (found := circle(sorter)) is not None:
            yield f"{'::'.join((source.parent.name, *folder))}: {' -> '.join(found)}"


def circle(sorter: TopologicalSorter[str]) -> list[str] | None:
    """The first circle, each part before one that it uses."""
    try:
        sorter.prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return None


def test_neighbours_make_no_circle() -> None:
    assert [found for source in SOURCES for found in circles(source)] == []


def test_a_circle_through_a_name_that_is_passed_on_is_found(tmp_path: Path) -> None:
    source = tmp_path / "few" / "src"
    (source / "above").mkdir(parents=True)
    for name, text in {
        "lib": "mod above;\nmod below;\npub use above::{part::Part, Whole};",
        "above/mod": "mod part;\nuse crate::below::Wheel; // not of crate::below::Axle\nuse part::Part;",
        "above/part": "pub struct Part;",
        "below": "use crate::Part;",
    }.items():
        (source / f"{name}.rs").write_text(text)
    assert list(circles(source)) == ["few: below -> above -> below"]
    (source / "below.rs").write_text("#[cfg(test)]\nuse crate::Part;\npub struct Wheel;")
    assert list(circles(source)) == []


FLOORS = ("kernel", "traces", "device", "laboratory")
"""The rooms of crates; each uses those before it only. Traces use the kernel or nothing, as the order says."""


def test_rooms_are_floors() -> None:
    """No crate is built from a crate of a room above its own; what only tests need is not counted."""
    floors: dict[str, tuple[str, int]] = {}
    uses: dict[str, list[str]] = {}
    for manifest in [*CRATES.glob("**/Cargo.toml"), *(CRATES.parent / "lab").glob("*/Cargo.toml")]:
        text = manifest.read_text(encoding="utf-8")
        name = re.findall(r'^name = "([\w-]+)"', text, re.MULTILINE)[0]
        room = room_of(manifest.relative_to(CRATES.parent).as_posix())
        floors[name] = (room, FLOORS.index(room) if room in FLOORS else 0)
        built = re.sub(r"(?ms)^\[(?:[^\]]*\.)?dev-dependencies\].*?(?=^\[|\Z)", "", text)
        uses[name] = re.findall(r"^(coflash-[\w-]+) = ", built, re.MULTILINE)
    up = [
        f"{name} ({floors[name][0]}) uses {used} ({floors[used][0]})"
        for name, others in uses.items()
        for used in others
        if floors[used][1] > floors[name][1]
    ]
    assert up == []
    assert {room for room, _ in floors.values()} == {*FLOORS, "tests"}


def needed(crate: str) -> set[str]:
    """The crates that a crate is built from, those of its tests included."""
    lock = (CRATES.parent / "Cargo.lock").read_text(encoding="utf-8")
    uses: dict[str, list[str]] = defaultdict(list)
    for package in lock.split("[[package]]")[1:]:
        names = re.sub(r"(?m)^(version|source|checksum) = .*$", "", package)
        name, *rest = re.findall(r'"([\w.-]+)(?: [^"]*)?"', names)
        uses[name] += rest
    found, waiting = set(), [crate]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += uses[one]
    return found


def test_a_device_is_read_and_simulated_without_the_libraries_of_traces() -> None:
    libraries = {"bzip2", "liblzma", "tar", "flate2"}
    assert libraries <= needed("coflash-sim")
    assert not libraries & needed("coflash-engine"), "coflash_engine::Traces is given to a run"
