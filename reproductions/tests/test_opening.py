"""What published pages open with is what their own tables say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from coflash_reproduce.claim import Paper
from coflash_reproduce.opening import answer, opening
from coflash_reproduce.page import ASKED, COLUMNS
from coflash_reproduce.reproduction import PAPERS, STUDIES
from coflash_reproduce.study import Study

DOCS = Path(__file__).parents[2] / "docs"


def published(name: str) -> tuple[Paper | Study, Path, list[list[str]]]:
    """A paper or a study, its page, and the cells of its statements there."""
    of, folder, kind = (
        (STUDIES[name], "studies", "findings") if name in STUDIES else (PAPERS[name], "reproductions", "claims")
    )
    page = DOCS / folder / f"{name}.md"
    head = "|".join(re.escape(f"| {' | '.join(columns)} |") for columns in (COLUMNS[kind], ASKED))
    tables = re.findall(rf"^(?:{head})\n.*\n((?:\|.*\n)*)", page.read_text("utf-8"), re.MULTILINE)
    return of, page, [line[2:-2].split(" | ") for table in tables for line in table.splitlines()]


@pytest.mark.parametrize("name", [*STUDIES, *PAPERS])
def test_a_published_page_opens_with_what_its_tables_say(name: str) -> None:
    of, page, rows = published(name)
    text = page.read_text("utf-8")
    steady = re.search(r"By their own notes, [\d,]+ of [\d,]+ runs say nothing of a steady state.*?(?=\. \[)", text)
    first = list(opening(of, rows, steady[0] if steady else "", "images"))
    assert text.split("\n\n")[1 : 1 + len(first)] == first
    (image,) = re.findall(r"!\[.*\]\((.*)\)", "\n".join(first))
    assert (page.parent / image).is_file()
    assert text.count("What limits it") == 1


@pytest.mark.parametrize("name", ["frozen-spare", "shadowgc", "opfcl"])
def test_another_verdict_is_another_answer(name: str) -> None:
    of, _, rows = published(name)
    at = next(at for at, row in enumerate(rows) if row[-1] == "holds")
    other = [[*row[:-1], "does not hold"] if place == at else row for place, row in enumerate(rows)]
    held = re.search(r"(\d+) (?:of them )?hold", answer(of, rows))
    fewer = re.search(r"(\d+) (?:of them )?hold", answer(of, other))
    assert held and fewer and int(fewer[1]) == int(held[1]) - 1
    limits = [list(opening(of, some, "", "images"))[-1] for some in (rows, other)]
    assert limits[0] != limits[1] or isinstance(of, Study)


def test_a_part_without_the_statement_that_answers_says_how_many_hold() -> None:
    of, _, rows = published("cdm")
    assert answer(of, [row for row in rows if row[0] == "figure 7" and row[-1] == "holds"]) == (
        "**The runs could have refuted 1 statement. 1 of them holds**, and none of them has a number of the paper."
    )


def test_the_answer_of_cdm_says_that_its_numbers_are_inputs() -> None:
    of, _, rows = published("cdm")
    told = answer(of, rows)
    first, inputs = told.split("\n\n")
    assert first.endswith("**, and none of them has a number of the paper.")
    assert inputs.startswith("Of 16 inputs (something unknown was chosen), not counted, 12 are met; pages copied")
    assert "(input)" in inputs.partition("pages copied")[2]


def test_the_answer_of_opfcl_begins_with_what_is_counted() -> None:
    of, _, rows = published("opfcl")
    first, inputs = answer(of, rows).split("\n\n")
    assert "(does not hold)" in first
    assert "input" not in first
    assert "steady, one page a request, Home-like +159.7\u00a0% (input, missed)" in inputs
