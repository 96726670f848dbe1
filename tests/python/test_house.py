"""The rules of the house: length and weight of files, the size of each room, words and numbers that prose avoids."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import hops
import rooms

ROOT = Path(__file__).parents[2]

LINES_MAX = 600
"""Of any text file that a person writes."""

GENERATED = {
    "Cargo.lock",
    "fuzz/Cargo.lock",
    "scripts/node/package-lock.json",
    "python/coflash/measures/metrics.py",
    "docs/reproductions/opfcl.md",
    "docs/reproductions/shadowgc.md",
    "docs/reproductions/warp.md",
}


def generated(file: str) -> bool:
    """Whether a program writes a file."""
    return file in GENERATED or file.startswith("tests/golden/") or file.endswith(".svg")


BLOB_BYTES_MAX = 256 << 10
HEAVY = {"examples/traces/pgbench-oltp-400k.iolog.zst"}
"""The trace of the demo."""
PICTURES_BYTES_MAX = 3_000_000
"""Of all pictures together."""

BANNED = {
    "so many": "give the number, or say which",
    "whoever": "say who",
    "hitherto": "say since when",
    "wherein": "say in what",
    "simply": "leave it out",
    "obviously": "leave it out",
    "basically": "leave it out",
    "utilize": "use",
}
"""Words that prose avoids, and what it does instead."""

STALE = {
    "a date": r"\b\d{1,2} (?:January|February|March|April|May|June|July|August|September|October|November|December)\b",
    "a day": r"\b20\d\d-\d\d-\d\d\b",
    "a commit": r"(?<!its )\bcommit `?[0-9a-f]{7,40}\b",
    "the load of a machine": r"\bload (?:of )?\d+\b",
    "the time of a build": r"(?i)\b(?:\d+|two|three|four|five|six|seven|eight|nine|ten) minutes from nothing\b",
}
"""What grows old in prose. Numbers with a date belong into CHANGELOG.md, or into a page that a program writes."""

Found = Iterator[str]


def tracked() -> list[str]:
    """The files of the repository; all files if it is none."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S607
    if done.returncode:
        pytest.skip("git does not list the files here")
    return [file for file in done.stdout.split("\0") if file and (ROOT / file).is_file()]


def prose(files: Iterable[str]) -> list[str]:
    """The pages that a person writes: no changelog, no page written by a program."""
    pages = [file for file in files if file.endswith(".md") and file != "CHANGELOG.md" and file.count("/") <= 1]
    return [file for file in pages if "<!-- Written by" not in (ROOT / file).read_text("utf-8")[:1000]]


def too_long(root: Path, files: Iterable[str]) -> Found:
    for file in files:
        with (root / file).open("rb") as opened:
            content = opened.read()
        lines = content.count(b"\n")
        # A changelog grows with each version.
        if b"\0" not in content and file != "CHANGELOG.md" and not generated(file) and lines > LINES_MAX:
            yield f"{file}: {lines} lines; at most {LINES_MAX} are allowed: divide it by its subjects"


def too_heavy(root: Path, files: Iterable[str]) -> Found:
    for file in files:
        if (size := (root / file).stat().st_size) > BLOB_BYTES_MAX and file not in HEAVY:
            yield f"{file}: {size >> 10} KiB; at most {BLOB_BYTES_MAX >> 10} KiB are allowed"


def over_budget(lines: dict[str, int], budgets: dict[str, int]) -> Found:
    for room, count in lines.items():
        if room not in budgets:
            yield f"{count} lines are {room}; name their folder in budget.toml"
        elif count > budgets[room]:
            yield f"{room}: {count} lines of {budgets[room]}; take some away, or raise it in budget.toml and say why"


def banned(file: str, text: str) -> Found:
    for number, line in enumerate(text.splitlines(), 1):
        for word, instead in BANNED.items():
            if re.search(rf"\b{word}\b", line, re.IGNORECASE):
                yield f'{file}:{number}: "{word}": {instead}'


def stale(file: str, text: str) -> Found:
    for number, line in enumerate(text.splitlines(), 1):
        for what, pattern in STALE.items():
            if found := re.search(pattern, line):
                yield f'{file}:{number}: "{found[0]}" is {what}: it grows old; CHANGELOG.md is the place for it'


def test_files_are_short_enough_to_be_read() -> None:
    assert [*too_long(ROOT, tracked())] == []


def test_no_file_weighs_on_every_clone() -> None:
    assert [*too_heavy(ROOT, tracked())] == []


def test_pictures_weigh_little_together() -> None:
    pictures = [ROOT / file for file in tracked() if file.endswith((".png", ".svg"))]
    assert sum(picture.stat().st_size for picture in pictures) <= PICTURES_BYTES_MAX


def test_each_room_keeps_to_its_budget() -> None:
    assert [*over_budget(rooms.lines_by_room(), rooms.BUDGETS)] == []


@pytest.mark.parametrize("file", prose(tracked()))
def test_prose_uses_plain_words_and_no_numbers_that_grow_old(file: str) -> None:
    text = (ROOT / file).read_text("utf-8")
    assert [*banned(file, text), *stale(file, text)] == []


def test_comments_use_plain_words() -> None:
    files = {file for file in tracked() if file.endswith((".rs", ".py", ".js"))} - {"tests/python/test_house.py"}
    assert [found for file in sorted(files) for found in banned(file, (ROOT / file).read_text("utf-8"))] == []


def test_the_front_page_fits_on_a_screen_or_two() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 80


def test_each_rule_finds_what_breaks_it(tmp_path: Path) -> None:
    (tmp_path / "long.md").write_text("line\n" * 601)
    (tmp_path / "heavy.png").write_bytes(bytes(257 << 10))
    files = ["long.md", "heavy.png"]
    assert [*too_long(tmp_path, files)] == ["long.md: 601 lines; at most 600 are allowed: divide it by its subjects"]
    assert [*too_heavy(tmp_path, files)] == ["heavy.png: 257 KiB; at most 256 KiB are allowed"]
    lines = {"kernel": 1001, "traces": 1000, "device": 499, rooms.NO_ROOM: 7}
    kernel, none = over_budget(lines, dict.fromkeys(("kernel", "traces", "device"), 1000))
    assert "kernel: 1001 lines of 1000" in kernel
    assert none.startswith("7 lines are in no room")
    (word,) = banned("a.md", "fine\nSo many lists.")
    assert word == 'a.md:2: "so many": give the number, or say which'
    old = "It took 3 s on 23 November; commit 96128f8 took 4 (load 15), 2026-11-23. Nine minutes from nothing."
    assert len([*stale("a.md", old)]) == len(STALE)
    assert [*stale("a.md", "A trace of 14 minutes, on Linux 6.18.")] == []


def test_lines_are_counted_without_comments_blanks_and_tests(tmp_path: Path) -> None:
    rust = "//! Front.\nuse a;\n\n/// Doc.\nfn f() {\n    // why\n}\n#[cfg(test)]\nmod tests {\n    fn g() {}\n}\n"
    python = '"""Doc."""\n\nX = 1  # why\n"""Of X."""\n\n\ndef f() -> str:\n    """Do."""\n    return """a\nb"""\n'
    (tmp_path / "a.rs").write_text(rust)
    (tmp_path / "a.py").write_text(python)
    assert rooms.code(tmp_path / "a.rs") == ["use a;", "fn f() {", "}"]
    assert rooms.code(tmp_path / "a.py") == ["X = 1  # why", "def f() -> str:", '    return """a', 'b"""']


def test_a_silent_default_and_a_homonym_are_found(tmp_path: Path) -> None:
    source = tmp_path / "crates/kernel/level/src"
    source.mkdir(parents=True)
    trait = "pub trait Hears {\n    fn must(&self);\n    fn may(&self, x: u8) -> u8 {\n        x\n    }\n"
    own = "    fn quiet(&self) {}\n    fn works(&self) -> u8 {\n        self.may(3)\n    }\n}\npub struct Served;\n"
    (source / "a.rs").write_text(trait + own)
    (source / "b.rs").write_text("pub enum Served {}\nstruct Other;\n")
    assert rooms.silent_defaults(tmp_path) == {"Hears": (2, 4)}
    assert rooms.homonyms(tmp_path)["kernel"] == {
        "Served": ["crates/kernel/level/src/a.rs", "crates/kernel/level/src/b.rs"]
    }


def test_hops_are_counted_without_accessors_closures_and_operators(tmp_path: Path) -> None:
    """Of these only `Outer` forwards: `Inner` calls another method; what executes many instructions needs no callee."""
    outer, inner = "<coflash_level::Outer as coflash_level::Level>::read", "coflash_level::Inner::read"
    look_up, get = "coflash_ftl::Ftl::look_up", "coflash_base::Id::get"
    lines = ["fn=(1) coflash_sim::replay", f"cfn=(2) {outer}", "calls=9 1", "1 999"]
    lines += ["fn=(2)", "1 180", f"cfn=(3) {inner}", "calls=9 1", "+1 999"]
    lines += ["fn=(3)", "1 180", f"cfn=(4) {look_up}", "calls=9 1", "1 999", f"cfn=(5) {get}", "calls=9 1", "1 99"]
    lines += ["fn=(4)", "1 450", f"cfn=(6) {look_up}::{{{{closure}}}}", "calls=9 1", "* 99"]
    lines += ["fn=(5)", "1 27", "cfn=(7) <coflash_base::Id as core::cmp::PartialEq>::eq", "calls=9 1", "-1 9"]
    (tmp_path / "profile").write_text("\n".join(lines))
    found = dict(hops.hops(tmp_path / "profile", 9))
    assert found == {outer: True, inner: False, look_up: False}
    assert dict(hops.hops(tmp_path / "profile", 10)) == {}


def test_no_room_has_two_public_types_of_one_name() -> None:
    assert {room: names for room, names in rooms.homonyms().items() if names} == {}


def test_the_inner_folder_is_the_room() -> None:
    assert rooms.room_of("python/coflash/cli/run.py") == "laboratory"
    assert rooms.room_of("python/coflash/calibrate/fit.py") == "evidence"
    assert rooms.room_of("crates/ftlx/src/lib.rs") == rooms.NO_ROOM
