"""Data beside a module: tables in CSV, and values in TOML."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def csv_beside(module: str, name: str) -> list[dict[str, str]]:
    """Return the rows of a CSV file beside a module."""
    with (Path(module).parent / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def held(paper: str, scale: str) -> frozenset[str] | None:
    """Return what is known to hold, or as an input to be met, at a scale of a paper; None if none is recorded.

    `scripts/reviewers.py` writes them: from the published pages, and of other scales with `--measure`.
    """
    known = json.loads(Path(__file__).with_name("held.json").read_text("utf-8")).get(paper, {})
    return frozenset(known[scale]) if scale in known else None


def toml(text: str) -> dict[str, Any]:
    """Return the values of a text in TOML."""
    return tomllib.loads(text)


def toml_beside(module: str, name: str) -> dict[str, Any]:
    """Return the values of a TOML file beside a module."""
    return toml((Path(module).parent / name).read_text("utf-8"))
