"""The version stands in Cargo.toml, and is the same wherever else it must be written; so are licence and authors."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import coflash
import release_notes
from coflash._core import REVISION

ROOT = Path(__file__).parents[2]
AUTHORS = "The coflash authors"


def text(file: str) -> str:
    return (ROOT / file).read_text("utf-8")


def found(pattern: str, file: str) -> str:
    """The one place of a file that fits a pattern."""
    (one,) = re.findall(pattern, text(file), re.MULTILINE)
    return str(one)


CARGO_VERSION = found(r'^version = "(.+)"$', "Cargo.toml")
VERSION = re.sub(r"-dev\.(\d+)$", r".dev\1", CARGO_VERSION)
"""As Python spells it."""
LICENCE = found(r'^license = "(.+)"$', "Cargo.toml")
NEWEST, DATE = re.findall(r"^## (\d\S*) \((\d{4}-\d\d-\d\d)\)$", text("CHANGELOG.md"), re.MULTILINE)[0]
"""The newest section of the changelog that is released."""


def test_there_is_one_version() -> None:
    assert coflash.__version__ == VERSION
    assert found(r'^version = "(.+)"$', "reproductions/pyproject.toml") == VERSION
    assert found(r"^version: (.+)$", "CITATION.cff") == NEWEST


def test_a_version_is_under_development_or_tagged() -> None:
    """Two programs with other results never have one version: after a release the next one begins, as `dev`."""
    if ".dev" in VERSION:
        numbers = [tuple(map(int, version.split("."))) for version in (VERSION.partition(".dev")[0], NEWEST)]
        assert numbers[0] > numbers[1], "the version under development comes after the newest section of CHANGELOG.md"
        return
    assert NEWEST == VERSION
    tags = subprocess.run(["git", "tag"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()  # noqa: S607
    assert f"v{VERSION}" in tags, f"a version without dev is a release: git tag --sign v{VERSION}"


def test_the_version_says_its_commit() -> None:
    shown = subprocess.run([sys.executable, "-m", "coflash", "--version"], capture_output=True, text=True, check=True)
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S607
    pattern = rf"coflash {re.escape(VERSION)}, commit ([0-9a-f]{{12}})(, with changes)?, revision \d+ of results\n"
    match = re.fullmatch(pattern, shown.stdout)
    assert match is not None, shown.stdout
    assert commit.stdout.startswith(match[1])


def test_locked_crates_have_the_version() -> None:
    for file in ("Cargo.lock", "fuzz/Cargo.lock"):
        locked = dict(re.findall(r'^name = "(coflash-\w+)"\nversion = "(.+)"$', text(file), re.MULTILINE))
        assert locked.pop("coflash-fuzz", "0.0.0") == "0.0.0"
        assert "coflash-base" in locked
        assert set(locked.values()) == {CARGO_VERSION}, file


def test_a_release_has_one_date() -> None:
    assert found(r"^date-released: (.+)$", "CITATION.cff") == DATE


def test_the_changelog_begins_with_what_is_unreleased() -> None:
    first, second, *_ = re.findall(r"^## (.+)$", text("CHANGELOG.md"), re.MULTILINE)
    assert (first, second) == ("Unreleased", f"{NEWEST} ({DATE})")


def test_results_changed_lists_other_values_alone() -> None:
    """A feature under this heading would make readers doubt numbers that have not changed."""
    sections = re.findall(r"^### Results changed\n\n(.*?)(?=^##|\Z)", text("CHANGELOG.md"), re.MULTILINE | re.DOTALL)
    assert len(sections) == 2
    entries = [re.findall(r"^- (.+)$", section, re.MULTILINE) for section in sections]
    others = [entry for section in entries for entry in section if not re.match(r"Revision \d+: ", entry)]
    assert others == []
    released = {entry.split(":")[0] for entry in entries[1]}
    revisions = [f"Revision {number}" for number in range(REVISION, 0, -1)]
    assert {entry.split(":")[0] for entry in entries[0]} == {*revisions} - released


def test_the_changelog_can_be_read_in_one_go() -> None:
    assert len(text("CHANGELOG.md").encode()) <= 30_000


def test_there_is_one_licence_and_one_name_for_the_authors() -> None:
    assert found(r"^  - name: (.+)$", "CITATION.cff") == AUTHORS
    assert AUTHORS in text("LICENSE-MIT")
    # Several in a list of CITATION.cff are to choose from. The archive of a release takes its data from there, too.
    assert not (ROOT / ".zenodo.json").exists()
    (listed,) = re.findall(r"^license:\n((?:  - .+\n)+)", text("CITATION.cff"), re.MULTILINE)
    assert " OR ".join(re.findall(r"- (.+)", listed)) == LICENCE
    assert found(r'^license = "(.+)"$', "pyproject.toml") == LICENCE


def test_the_repository_is_that_of_the_crates() -> None:
    assert found(r"^repository-code: (.+)$", "CITATION.cff") == found(r'^repository = "(.+)"$', "Cargo.toml")


def test_a_release_has_its_section_of_the_changelog_for_notes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["release_notes", f"v{NEWEST}"])
    monkeypatch.setattr(release_notes, "version", lambda: NEWEST)
    assert release_notes.main() == 0
    notes = capsys.readouterr().out
    assert notes.startswith("### ")
    assert "\n## " not in notes
    assert notes.strip() in text("CHANGELOG.md")
    assert len(notes) < 125_000, "a release on GitHub has no more"


@pytest.mark.parametrize("tag", ["v9.9.9", VERSION, f"v{VERSION}rc1"])
def test_a_tag_that_is_not_the_version_makes_no_release(
    tag: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["release_notes", tag])
    assert release_notes.main() == 1
    out, errors = capsys.readouterr()
    assert out == ""
    assert f'the tag is "{tag}", and Cargo.toml has version {VERSION}: tag v{VERSION}' in errors


def test_actions_are_pinned_by_digest() -> None:
    """A tag of somebody else's action can be moved to other code."""
    workflows = sorted((ROOT / ".github").rglob("*.yml"))
    used = {use for file in workflows for use in re.findall(r"uses: (\S.*)", file.read_text("utf-8"))}
    assert len(used) > 6
    assert [use for use in used if not re.fullmatch(r"\./\S+|[\w/.-]+@[0-9a-f]{40} # v[\d.]+", use)] == []


def test_the_container_has_the_rust_that_the_crates_need() -> None:
    assert found(r"^FROM rust:([\d.]+)-slim", "Containerfile") == found(r'^rust-version = "(.+)"$', "Cargo.toml")


def test_every_script_that_a_workflow_runs_is_there() -> None:
    workflows = [file.read_text("utf-8") for file in sorted((ROOT / ".github/workflows").glob("*.yml"))]
    scripts = {name for workflow in workflows for name in re.findall(r"\bscripts/[\w.]+", workflow)}
    assert {"scripts/portable", "scripts/release_notes.py", "scripts/try_wheel.py"} <= scripts
    assert [name for name in scripts if not (ROOT / name).is_file()] == []
