"""The page for a first hour: its commands run, and what it says that they print is what they print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from processes import coflash as command_line

PAGE = Path(__file__).parents[2] / "docs" / "an_hour.md"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def test_an_hour_of_a_student(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text("utf-8")
    assert len(text.splitlines()) <= 200
    printed = ""
    shown = 0
    for kind, block in _BLOCK.findall(text):
        match kind:
            case "toml":
                Path("hour.toml").write_text(block, "utf-8")
                skewed = block.replace('"uniform"', '{ name = "zipf", exponent = 0.8 }')
                skewed += "precondition.through_caches = true\n"
                assert skewed.count("\n") == block.count("\n") + 1
                Path("skewed.toml").write_text(skewed, "utf-8")
            case "python":
                Path("mine.py").write_text(block, "utf-8")
            case "sh":
                printed = ""
                for line in block.splitlines():
                    name, *arguments = shlex.split(line)
                    assert name == "coflash"
                    done = command_line(*arguments)
                    assert done.returncode == 0, done.stderr
                    printed += done.stdout
            case "text":
                shown += 1
                assert [line for line in block.splitlines() if line not in printed.splitlines()] == [], printed
    assert shown == 7
    assert any(Path("own/figures").glob("*.svg"))
    replayed = re.search(r"`coflash (sweep hour\.toml --trace [^`]*)`", text)
    assert replayed
    done = command_line(*replayed[1].replace("examples/", f"{PAGE.parents[1]}/examples/").split())
    waf = [float(line.split()[1]) for line in done.stdout.splitlines() if line.startswith(("none", "cdm"))]
    assert waf[1] == pytest.approx(7 / 8 * waf[0], rel=0.01), done.stderr
