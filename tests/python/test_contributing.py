"""Every diff of CONTRIBUTING.md, and of the page on levels, applies to the tree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "CONTRIBUTING.md", ROOT / "docs/adding_a_level.md")
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
DIFFS = dict(re.findall(r"^#+ (.+)\n(?:(?!#).*\n)*?```diff\n((?:.*\n)*?)```$", TEXT, re.M))


def applied(diff: str, how: str) -> subprocess.CompletedProcess[str]:
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is missing")
    # Within a repository around the tree, git would skip every file.
    outside = {**os.environ, "GIT_CEILING_DIRECTORIES": str(ROOT.parent)}
    command = [git, "apply", how]
    return subprocess.run(command, input=diff, cwd=ROOT, env=outside, capture_output=True, text=True, check=False)


def refusal(diff: str) -> str:
    """Git's error for a diff; empty if it applies."""
    return applied(diff, "--check").stderr


def test_there_is_a_diff_for_each_kind_of_addition() -> None:
    kinds = ["A measure", "A policy", "A cooperation scheme", "A trace format", "A command of the command line"]
    assert list(DIFFS) == [*kinds, "Adding a level"]
    assert len(DIFFS) == TEXT.count("```diff")


@pytest.mark.parametrize("name", DIFFS)
def test_a_diff_applies(name: str) -> None:
    assert refusal(DIFFS[name]) == ""


@pytest.mark.parametrize("name", DIFFS)
def test_a_diff_applies_whole(name: str) -> None:
    """Lines after those that a hunk announces would be left out in silence."""
    added = [int(line.split()[0]) for line in applied(DIFFS[name], "--numstat").stdout.splitlines()]
    assert sum(added) == len(re.findall(r"^\+(?!\+\+ )", DIFFS[name], re.M))


def test_a_diff_of_other_lines_is_refused() -> None:
    diff = DIFFS["A measure"]
    assert "patch does not apply" in refusal(diff.replace("nvm_writes_pages", "no_such_counter"))
