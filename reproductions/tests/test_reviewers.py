"""The page for reviewers: it is current, and its rows are what pages and measurements say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import reviewers
from coflash_reproduce.reproduction import PAPERS, STUDIES
from reviewers import Command


def test_the_page_is_current() -> None:
    assert reviewers.PAGE.read_text("utf-8") == reviewers.page(), "run make generate"


def test_the_record_of_what_holds_is_current() -> None:
    record = json.loads(reviewers.HELD.read_text("utf-8"))
    assert record == reviewers.held(), "run make generate"
    assert all(names for scales in record.values() for names in scales.values())


def test_a_statement_that_a_new_page_has_lost_is_told_with_status_1(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = json.loads(reviewers.HELD.read_text("utf-8"))
    kept, page = tmp_path / "held.json", tmp_path / "page.md"
    made = (reviewers.DOCS / reviewers.published()["cdm"].page).read_text("utf-8")
    page.write_text(made.replace("reproduce cdm --scale full", "reproduce cdm --scale quick"), "utf-8")
    record["cdm"]["quick"] = ["a statement of another day"]
    kept.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
    monkeypatch.setattr(reviewers, "HELD", kept)
    monkeypatch.setattr("sys.argv", ["reviewers.py", "--from", str(page)])
    assert reviewers.main() == 1
    assert capsys.readouterr().err == "on record no more: cdm quick: a statement of another day\n"
    assert json.loads(kept.read_text("utf-8"))["cdm"]["quick"] == record["cdm"]["full"]
    assert reviewers.main() == 0, "it is told once"


def test_every_exhibit_has_a_row() -> None:
    page = reviewers.page()
    for what in (*PAPERS.values(), *STUDIES.values()):
        section = page.partition(f"{what.text.title}: [")[2].partition("\n## ")[0]
        rows = [line.split(" | ")[0] for line in section.splitlines()]
        assert [f"| {exhibit.name.replace('-', ' ')}" for exhibit in what.exhibits] == rows[4 : 4 + len(what.exhibits)]


def test_every_published_page_has_its_command() -> None:
    listed = {command.text: command.page for command in reviewers.commands(reviewers.published())}
    assert {made.text: made.page for made in reviewers.published().values()}.items() <= listed.items()
    assert listed["coflash reproduce warp --scale full"] == ""


def test_statements_are_counted_where_the_runs_could_refute_them() -> None:
    page = """
| figure 1 | WAF | 1 | 2 | outside 1 … 2 | holds |
| figure 1 | WAF, greatest | 1 | 9 | outside 1 … 2 | does not hold |
| figure 1 | WAF, once more | 1 | 2 | outside 1 … 2 | another reading |
| number | 9 | 0 | 11 | 0 | holds |
"""
    assert reviewers.verdicts(page)["figure 1"] == {"holds": 1, "does not hold": 1}


def test_a_command_without_a_measurement_says_so() -> None:
    command = Command("coflash study handles --scale full", "", "44")
    took = {"runs": 44, "requests": 1000, "cpu_s": 600, "memory_mib": 1200, "disk_mib": 3}
    assert command.row({}) == "| `coflash study handles --scale full` |  | 44 |  | not measured |  |  |"
    assert command.row({command.text: took}).endswith("| 44 | 1,000 | 10 min | 1,200 MiB | 3 MiB |")
