"""The version stands in Cargo.toml, and is the same wherever else it must be written; so are licence and authors."""

from __future__ import annotations

import json
import re
from pathlib import Path

import coflash

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
