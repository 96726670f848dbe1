"""What the commands that ask questions have in common: their words, and how they are shown."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from pathlib import Path

import coflash
from coflash.sweep.finding import Finding, say

PACKAGE = Path(coflash.__file__).parent
SENTENCES = json.loads((PACKAGE / "sweep" / "sentences.json").read_text("utf-8"))


def words_of(file: Path) -> tuple[set[str], set[str]]:
    """The texts of a file, and those of them that are the name of a sentence that is said."""
    nodes = [*ast.walk(ast.parse(file.read_text("utf-8")))]
    calls = [node for node in nodes if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "say"]
    return texts_in(nodes), texts_in([call.args[0] for call in calls if call.args])


def texts_in(nodes: Iterable[ast.AST]) -> set[str]:
    """The texts among some nodes."""
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def test_each_sentence_is_said_and_each_that_is_said_is_there() -> None:
    found = [words_of(file) for file in PACKAGE.rglob("*.py")]
    assert set[str]().union(*(said for _, said in found)) <= SENTENCES.keys()
    texts = set[str]().union(*(texts for texts, _ in found))
    # A first line has the name of the verdict that it shortens.
    assert texts | {f"in short: {verdict}" for verdict in texts} >= SENTENCES.keys()


def test_no_file_of_words_has_a_name_twice_of_which_the_last_would_count() -> None:
    def apart(pairs: list[tuple[str, object]]) -> dict[str, object]:
        names = [name for name, _ in pairs]
        assert len(names) == len({*names}), [name for name in names if names.count(name) > 1]
        return dict(pairs)

    for file in {*PACKAGE.rglob("*.json")} - {PACKAGE / "charts.json"}:  # which has holes
        json.loads(file.read_text("utf-8"), object_pairs_hook=apart)


def test_a_sentence_shows_numbers_by_their_unit() -> None:
    said = (
        say("by", least=0.0213, most=0.5),
        say("missed by", errors="+6.2 %"),
        say("left in short", left=0.031, more=9),
    )
    plain = [text.replace("\u00a0", " ").replace("\u202f", " ") for text in said]
    assert plain[:2] == [", by 2.1 % to 50.0 % of the bound", "+6.2 % of the drive where it was held out"]
    assert plain[2].endswith("may be up to 3.1 % cheaper; --devices 9 tries more.")


def test_the_answers_of_all_questions_are_findings() -> None:
    kinds = (coflash.Sweep, coflash.Sizing, coflash.Advice, coflash.Tuning, coflash.Fleet, coflash.Evaluation)
    assert all(issubclass(kind, Finding) for kind in kinds)
