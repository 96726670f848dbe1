"""The pages: each command that they name is one."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import typer

from coflash.cli import app, imported

ROOT = Path(__file__).parents[2]
_CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"(?:^|[\s`(\"'])(?<!from )coflash ([a-z][a-z-]+)(?: ([a-z][a-z-]+))?(?![\w/.=])")


def pages() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S607
    if listed.returncode:
        pytest.skip("git does not list the files here")
    # The changelog names commands that are gone.
    return [page for page in listed.stdout.split() if page != "CHANGELOG.md" and (ROOT / page).is_file()]


def commands() -> dict[str, set[str]]:
    """The names of all commands, each with those below it."""
    names = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    return {name: set(getattr(imported(name), "commands", ())) for name in names}


def unknown(text: str, known: dict[str, set[str]]) -> list[str]:
    """The commands in the code of a page that are none."""
    code = " \n".join(match[0] for match in _CODE.finditer(text))
    called = {(match[1], match[2] or "") for match in _COMMAND.finditer(code)}
    return sorted(
        f"coflash {name} {below}".strip()
        for name, below in called
        if name not in known or (below and known[name] and below not in known[name])
    )


@pytest.mark.parametrize("page", pages())
def test_a_page_names_only_commands_that_exist(page: str) -> None:
    assert unknown((ROOT / page).read_text("utf-8"), commands()) == []


def test_a_command_that_is_none_is_found() -> None:
    block = "```sh\ncoflash device cutt x\ncoflash run a\n```\n"
    text = f"Use coflash well.\n`coflash grade` and `coflash trace info`\n{block}"
    known = {"trace": {"info"}, "device": {"cut"}, "run": set[str]()}
    assert unknown(text, known) == ["coflash device cutt", "coflash grade"]
