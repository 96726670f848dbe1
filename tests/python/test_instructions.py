"""What is recorded of the instructions of a request: read rightly, shown on its page, and never more without a word."""

from __future__ import annotations

import json
import subprocess

import pytest

import instructions

ROOT = instructions.ROOT
FILE = "benches/instructions.json"

CALLGRIND = """\
fl=(1) /build/crates/kernel/ftl/src/write.rs
fn=(1) write
12 7
+3 5
fi=(2) /rustc/library/core/src/slice/index.rs
20 11
fe=(1)
16 2
cfi=(3) /build/crates/sim/src/run.rs
cfn=(2) run
calls=1 9
17 1000
* 3
fl=(3)
fn=(2)
9 100

totals: 1128
"""


def test_inlined_code_belongs_to_the_function_around_it_and_a_call_to_the_called() -> None:
    costs = instructions.costs_by_file(CALLGRIND)
    assert {instructions.crate(file): cost for file, cost in costs.items()} == {"ftl": 28, "sim": 100}


def test_the_page_shows_what_is_recorded() -> None:
    assert instructions.PAGE.read_text("utf-8") == instructions.page()
    assert set(instructions.recorded()) == set(instructions.ROWS)


def test_a_row_may_take_three_percent_more() -> None:
    before = {"standard": {"all": 1000}, "cdm": {"all": 1000}, "one that went": {"all": 1}}
    assert instructions.more(before, {"standard": {"all": 1029}, "cdm": {"all": 1031}}) == {"cdm": pytest.approx(0.031)}


def said(row: str, added: str) -> bool:
    """Tell whether lines that were added to the changelog name a row and instructions."""
    return any(row in line and "instructions" in line for line in added.splitlines() if line.startswith("+"))


def unsaid(before: str, now: str, added: str) -> list[str]:
    """Return the rows that a version of the record raised, and that no line it added to the changelog names."""
    raised = instructions.more(json.loads(before), json.loads(now))
    return [f"{row}: {share:.1%} more instructions" for row, share in raised.items() if not said(row, added)]


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout  # noqa: S607


def test_more_instructions_are_said_in_the_changelog() -> None:
    whole = subprocess.run(["git", "rev-parse", "--is-shallow-repository"], cwd=ROOT, capture_output=True, check=False)  # noqa: S607
    if whole.stdout != b"false\n":
        pytest.skip("this clone has no whole history")
    for commit in git("log", "--format=%H", "--no-merges", "--diff-filter=M", "--", FILE).split():
        before, now = (git("show", f"{name}:{FILE}") for name in (f"{commit}^", commit))
        assert unsaid(before, now, git("show", commit, "--", "CHANGELOG.md")) == [], commit
    if committed := git("ls-tree", "HEAD", "--", FILE):
        before, now = git("show", f"HEAD:{FILE}"), (ROOT / FILE).read_text("utf-8")
        assert unsaid(before, now, git("diff", "HEAD", "--", "CHANGELOG.md")) == [], committed


def test_what_the_changelog_does_not_say_is_noticed() -> None:
    few, more = (json.dumps({"standard": {"all": number}}) for number in (1000, 1100))
    assert unsaid(few, more, "+- standard takes 10 % more instructions: a cache is looked at") == []
    assert unsaid(more, few, "") == []
    assert unsaid(few, more, " - standard takes more instructions\n+- else") == ["standard: 10.0% more instructions"]
