"""A user at a terminal of 80 columns: input and output."""

from __future__ import annotations

import shlex
from pathlib import Path

import processes

WIDTH = 80
FAST = {"requests = 200000": "requests = 20000", 'exported = "1GiB"': 'exported = "64MiB"'}


def types(line: str, status: int = 0) -> str:
    """Type a command that works; its tables fit the terminal, and sentences are wrapped."""
    done = processes.coflash(*shlex.split(line), COLUMNS=str(WIDTH))
    assert done.returncode == status, f"coflash {line}\n{done.stdout}{done.stderr}"
    wide = [row for row in done.stdout.splitlines() if len(row.rstrip()) > WIDTH and "  " in row.strip()]
    assert not wide, f"coflash {line}: wider than {WIDTH} columns:\n" + "\n".join(wide)
    return done.stdout


def stderr(line: str) -> str:
    """Type a command that works, and return its notes."""
    done = processes.coflash(*shlex.split(line), COLUMNS=str(WIDTH))
    assert done.returncode == 0, f"coflash {line}\n{done.stdout}{done.stderr}"
    return done.stderr


def mistypes(line: str) -> str:
    """Type a wrong command; one line explains the error."""
    done = processes.coflash(*shlex.split(line), COLUMNS=str(WIDTH))
    assert (done.returncode, done.stdout) == (2, ""), f"coflash {line}\n{done.stdout}{done.stderr}"
    *notes, said = done.stderr.splitlines()
    assert all(note.startswith("note: ") for note in notes), done.stderr
    assert said.startswith("error: ")
    return said


def makes_smaller(file: Path) -> None:
    """Shorten a scenario so that it runs in a moment."""
    text = file.read_text("utf-8")
    for old, new in FAST.items():
        assert old in text, text
        text = text.replace(old, new)
    file.write_text(text, "utf-8")


def columns(table: str, row: str) -> list[str]:
    """Return the cells of a row by its label."""
    rows = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in table.splitlines()]
    (found,) = (cells for cells in rows if cells[:1] == [row])
    return found
