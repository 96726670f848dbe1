"""The page for a student's hour: each command runs, and prints the numbers that the page says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from coflash.cli import app

PAGE = Path(__file__).parents[2] / "docs" / "an_hour.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_hour_prints_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    blocks, said, experiments = BLOCK.findall(PAGE.read_text("utf-8")), "", 0
    for kind, text in blocks:
        if kind == "toml":
            Path("small.toml").write_text(text)
        elif kind == "python":
            Path("mine.py").write_text(text)
        elif kind == "sh":
            ran = CliRunner().invoke(app, shlex.split(text)[1:])
            assert ran.exit_code == 0, ran.output
            said = ran.output
        else:
            experiments += 1
            rows = [line.rstrip() for line in text.splitlines() if line]
            assert rows
            for row in rows:
                assert " ".join(row.split()) in [" ".join(line.split()) for line in said.splitlines()], row
    assert experiments == 5
    assert Path("figures/waf_host.png").stat().st_size > 10_000
    runs = next(Path("results/mine/runs").iterdir())
    cited = CliRunner().invoke(app, ["cite", str(runs)]).output
    assert "revision" in cited
    assert "@misc{zipf," in cited
    assert len(PAGE.read_text("utf-8").splitlines()) <= 200
