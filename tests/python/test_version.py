"""The version stands in Cargo.toml, and is the same wherever else it must be written; so are licence and authors."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

import coflash
import release_notes

ROOT = Path(__file__).parents[2]
AUTHORS = "The coflash authors"


def text(file: str) -> str:
    return (ROOT / file).read_text("utf-8")


def found(pattern: str, file: str) -> str:
    """The one place of a file that fits a pattern."""
    (one,) = re.findall(pattern, text(file), re.MULTILINE)
    return str(one)


VERSION = found(r'^version = "(.+)"$', "Cargo.toml")
LICENCE = found(r'^license = "(.+)"$', "Cargo.toml")
NEWEST, DATE = re.findall(r"^## (\d\S*) \((\d{4}-\d\d-\d\d)\)$", text("CHANGELOG.md"), re.MULTILINE)[0]
"""The newest section of the changelog that is released."""


def test_there_is_one_version() -> None:
    assert coflash.__version__ == VERSION
    assert found(r'^version = "(.+)"$', "reproductions/pyproject.toml") == VERSION
    assert found(r"^version: (.+)$", "CITATION.cff") == VERSION
    assert json.loads(text(".zenodo.json"))["version"] == VERSION
    assert NEWEST == VERSION


def test_locked_crates_have_the_version() -> None:
    for file in ("Cargo.lock", "fuzz/Cargo.lock"):
        locked = dict(re.findall(r'^name = "(coflash-\w+)"\nversion = "(.+)"$', text(file), re.MULTILINE))
        assert locked.pop("coflash-fuzz", "0.0.0") == "0.0.0"
        assert "coflash-base" in locked
        assert set(locked.values()) == {VERSION}, file


def test_a_release_has_one_date() -> None:
    assert found(r"^date-released: (.+)$", "CITATION.cff") == DATE
    assert json.loads(text(".zenodo.json"))["publication_date"] == DATE


def test_the_changelog_begins_with_what_is_unreleased() -> None:
    first, second, *_ = re.findall(r"^## (.+)$", text("CHANGELOG.md"), re.MULTILINE)
    assert (first, second) == ("Unreleased", f"{VERSION} ({DATE})")


def test_there_is_one_licence_and_one_name_for_the_authors() -> None:
    deposit = json.loads(text(".zenodo.json"))
    assert deposit["creators"] == [{"name": AUTHORS}]
    assert found(r"^  - name: (.+)$", "CITATION.cff") == AUTHORS
    assert AUTHORS in text("LICENSE-MIT")
    # Several in a list of CITATION.cff are to choose from. A deposit has a single one, and says so in words.
    (listed,) = re.findall(r"^license:\n((?:  - .+\n)+)", text("CITATION.cff"), re.MULTILINE)
    assert " OR ".join(re.findall(r"- (.+)", listed)) == LICENCE
    assert deposit["license"] in LICENCE.split(" OR ")
    assert LICENCE in deposit["notes"]
    assert found(r'^license = "(.+)"$', "pyproject.toml") == LICENCE


def test_the_repository_is_that_of_the_crates() -> None:
    assert found(r"^repository-code: (.+)$", "CITATION.cff") == found(r'^repository = "(.+)"$', "Cargo.toml")


def test_a_release_has_its_section_of_the_changelog_for_notes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["release_notes", f"v{VERSION}"])
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


def test_every_script_that_a_workflow_runs_is_there() -> None:
    workflows = [file.read_text("utf-8") for file in sorted((ROOT / ".github/workflows").glob("*.yml"))]
    scripts = {name for workflow in workflows for name in re.findall(r"\bscripts/[\w.]+", workflow)}
    assert {"scripts/portable", "scripts/release_notes.py", "scripts/try_wheel.py"} <= scripts
    assert [name for name in scripts if not (ROOT / name).is_file()] == []
