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


BLOB_BYTES_MAX = 200_000
"""Of a file, and of any version of a file in the history: every clone carries it for ever."""
HEAVY = {"examples/traces/pgbench-oltp-400k.iolog.zst", "CHANGELOG.md"}
"""The trace of the demo."""
HISTORY_SINCE = "02f6cb6113df"
"""The commit after which the history is looked at."""
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
            yield f"{file}: {size:,} bytes; at most {BLOB_BYTES_MAX:,} are allowed"


def too_heavy_in_history(root: Path, since: str) -> Found:
    """Yield the versions of files that commits after `since` brought into the history, and that weigh too much."""

    def git(*words: str, given: str | None = None) -> str:
        command = ["git", "-C", str(root), *words]
        return subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout

    listed = git("rev-list", "--objects", "HEAD", f"^{since}")
    shown = git("cat-file", "--batch-check=%(objecttype) %(objectsize) %(rest)", given=listed)
    for kind, size, file in (line.split(" ", 2) for line in shown.splitlines()):
        if kind == "blob" and int(size) > BLOB_BYTES_MAX and file not in HEAVY:
            yield f"{file}: a version of {int(size):,} bytes is in the history; at most {BLOB_BYTES_MAX:,} are allowed"


def over_budget(lines: dict[str, int], budgets: dict[str, int]) -> Found:
    """Yield what is too much: where a room has more lines than its own, others have as many fewer."""
    own = {room: most for room, most in budgets.items() if room != rooms.TOGETHER}
    for room, count in lines.items():
        if room not in own:
            yield f"{count} lines are {room}; name their folder in budget.toml"
    count, allowed = (sum(of[room] for room in own) for of in (lines, own))
    allowed = min(allowed, budgets.get(rooms.TOGETHER, allowed))
    if count > allowed:
        rooms_over = ", ".join(f"{room} {lines[room] - most}" for room, most in own.items() if lines[room] > most)
        away = f"take {count - allowed} away, where rooms have more than their own: {rooms_over}"
        yield f"{count} lines, and {allowed} are allowed: {away}"


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


def test_no_commit_brings_a_heavy_file_into_the_history() -> None:
    known = subprocess.run(["git", "cat-file", "-e", HISTORY_SINCE], cwd=ROOT, capture_output=True, check=False)  # noqa: S607
    if known.returncode:
        pytest.skip("this clone has no whole history")
    assert [*too_heavy_in_history(ROOT, HISTORY_SINCE)] == []


def test_a_heavy_file_that_came_and_went_is_found_in_the_history(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        command = ["git", "-C", str(tmp_path), *identity, *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    git("init", "--quiet")
    for content, name in ((b"", "begun"), (bytes(BLOB_BYTES_MAX + 1), "picture.png"), (bytes(9), "picture.png")):
        (tmp_path / name).write_bytes(content)
        git("add", "--all")
        git("commit", "--quiet", "--message", name)
    begun = git("rev-list", "--max-parents=0", "HEAD")
    heavy = "picture.png: a version of 200,001 bytes is in the history; at most 200,000 are allowed"
    assert [*too_heavy_in_history(tmp_path, begun)] == [heavy]
    assert [*too_heavy_in_history(tmp_path, "HEAD~1")] == []


def test_pictures_weigh_little_together() -> None:
    pictures = [ROOT / file for file in tracked() if file.endswith((".png", ".svg"))]
    assert sum(picture.stat().st_size for picture in pictures) <= PICTURES_BYTES_MAX


def test_each_room_keeps_to_its_budget() -> None:
    assert [*over_budget(rooms.lines_by_room(), rooms.budgets(rooms.BUDGET))] == []


def raised(texts: Iterable[str]) -> Found:
    """Yield the rooms whose budget a later text of `budget.toml` raises."""
    before: dict[str, int] = {}
    for text in texts:
        now = rooms.budgets(text)
        yield from (
            f"{room}: {before[room]} → {lines}" for room, lines in now.items() if lines > before.get(room, lines)
        )
        before = now


def test_nobody_raises_a_budget() -> None:
    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout  # noqa: S607

    known = subprocess.run(["git", "cat-file", "-e", HISTORY_SINCE], cwd=ROOT, capture_output=True, check=False)  # noqa: S607
    if known.returncode:
        pytest.skip("this clone has no whole history")
    commits = git(
        "log", "--format=%H", "--reverse", "--topo-order", f"{HISTORY_SINCE}..HEAD", "--", "budget.toml"
    ).split()
    texts = [git("show", f"{commit}:budget.toml") for commit in commits]
    assert [*raised([text for text in [*texts, rooms.BUDGET] if "the owner's" in text])] == []


def test_a_raised_budget_is_found() -> None:
    texts = ["[kernel]\nlines = 9\nreached = 12\n", "[kernel]\nlines = 9\nreached = 11\n", "[kernel]\nlines = 9\n"]
    assert [*raised(texts)] == []
    assert [*raised([*texts, "[kernel]\nlines = 10\n"])] == ["kernel: 9 → 10"]
    assert [*raised([texts[1], texts[0]])] == ["kernel: 11 → 12"]


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
    (tmp_path / "heavy.png").write_bytes(bytes(200_001))
    files = ["long.md", "heavy.png"]
    assert [*too_long(tmp_path, files)] == ["long.md: 601 lines; at most 600 are allowed: divide it by its subjects"]
    assert [*too_heavy(tmp_path, files)] == ["heavy.png: 200,001 bytes; at most 200,000 are allowed"]
    budgets = dict.fromkeys(("kernel", "traces", "device"), 1000)
    (none,) = over_budget({"kernel": 1001, "traces": 1000, "device": 499, rooms.NO_ROOM: 7}, budgets)
    assert none.startswith("7 lines are in no room")
    (over,) = over_budget({"kernel": 1011, "traces": 1000, "device": 990}, budgets)
    assert over == "3001 lines, and 3000 are allowed: take 1 away, where rooms have more than their own: kernel 11"
    (over,) = over_budget({"kernel": 1000, "traces": 900, "device": 900}, budgets | {rooms.TOGETHER: 2799})
    assert over.startswith("2800 lines, and 2799 are allowed")
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
