"""Tables of what `measure.py` and `cuts.py` printed: `measured.jsonl` and `cuts.jsonl` in this folder.

`python -m postgresql_trims.table`, in the folder of the examples, prints them in Markdown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
COLUMNS = ("WAF", "host pages", "programs", "trimmed pages", "erases", "flash ms", "transactions a second", "twin")
KEYS = ("waf", "host_pages", "programs", "trimmed_pages", "erases", "flash_ms", "tps", "twin")
NAMES = {"none": "nothing", "log": "the dead log", "pages": "logged pages", "both": "both"}


def lines(name: str) -> list[dict[str, Any]]:
    """Return the lines of JSON of a file."""
    return [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]


def signed(value: float) -> str:
    """Return a change as text."""
    return f"{value:+.1f} %".replace("-", "−")


def measured() -> Iterator[str]:
    """Yield the table of the cases, a transaction each, and how many programs trims of pages change."""
    yield f"| scale | trimmed | {' | '.join(COLUMNS)} |"
    yield "|---" * (len(COLUMNS) + 2) + "|"
    scales: dict[int, dict[str, float]] = {}
    for row in lines("measured.jsonl"):
        scales.setdefault(row["scale"], {})[row["case"]] = row["programs"]
        rate = "" if row["emulated"] else " (not held back)"
        values = [str(row[key]) + (rate if key == "tps" else "") for key in KEYS]
        yield f"| {row['scale']} | {NAMES[row['case']]} | {' | '.join(values)} |"
    yield ""
    yield "| scale | programs by the dead log | by logged pages | by logged pages above the dead log |"
    yield "|---|---|---|---|"
    for scale, programs in scales.items():
        pairs = (("log", "none"), ("pages", "none"), ("both", "log"))
        changes = (signed(100 * (programs[case] / programs[rival] - 1)) for case, rival in pairs)
        yield f"| {scale} | {' | '.join(changes)} |"


def cuts() -> Iterator[str]:
    """Yield the table of the power cuts."""
    yield "| a page becomes | transactions | power cuts | wrong | acknowledged | trimmed pages | cuts that lost a write |"
    yield "|---|---|---|---|---|---|---|"
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in lines("cuts.jsonl"):
        groups.setdefault((row["form"], row["kind"]), []).append(row)
    for (form, kind), rows in sorted(groups.items()):
        wrong = sum(bool(row["wrong"]) for row in rows)
        done, trimmed = (sum(row[key] for row in rows) for key in ("acknowledged", "trimmed_pages"))
        lost = sum("no answered write is lost" not in row["lost"] for row in rows)
        yield f"| {form} | {kind} | {len(rows)} | {wrong} | {done:,} | {trimmed:,} | {lost} |"


def main() -> None:
    """Print both tables."""
    print("\n".join([*measured(), "", *cuts()]))


if __name__ == "__main__":
    main()
