"""Tables of what `measure.py` and `cuts.py` printed: `measured.jsonl` and `cuts.jsonl` in this folder.

`python -m postgresql_trims.table`, in the folder of the examples, prints them in Markdown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
COLUMNS = {
    "transactions": "transactions",
    "WAF": "waf",
    "host pages": "host_pages",
    "programs": "programs",
    "trimmed pages": "trimmed_pages",
    "ms of dies": "flash_ms",
    "transactions a second": "tps",
    "twin": "twin",
}
"""The key of each column; pages are those of a transaction."""
NAMES = {
    "none": "nothing",
    "log": "the dead log",
    "pages": "logged pages",
    "both": "both",
    "pages, as holes": "logged pages, as holes",
}


def lines(name: str) -> list[dict[str, Any]]:
    """Return the lines of JSON of a file."""
    return [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]


def signed(value: float) -> str:
    """Return a change as text."""
    return f"{value:+.1f} %".replace("-", "−")


def measured() -> Iterator[str]:
    """Yield the table of the cases, and how much trims change the programs of a transaction."""
    yield f"| scale | trimmed | {' | '.join(COLUMNS)} |"
    yield "|---" * (len(COLUMNS) + 2) + "|"
    scales: dict[int, dict[str, float]] = {}
    for row in lines("measured.jsonl"):
        case = row["case"]
        if row["form"] == "holes":
            case = f"{case}, as holes"
        scales.setdefault(row["scale"], {})[case] = row["programs"]
        values = " | ".join(f"{row[key]:,}" if isinstance(row[key], int) else str(row[key]) for key in COLUMNS.values())
        held = ", answers held back" if row["emulated"] else ""
        yield f"| {row['scale']}{held} | {NAMES[case]} | {values} |"
    yield ""
    yield "| scale | programs by the dead log | by logged pages | by logged pages above the dead log |"
    yield "|---|---|---|---|"
    for scale, programs in scales.items():
        pairs = (("log", "none"), ("pages", "none"), ("both", "log"))
        changes = (signed(100 * (programs[case] / programs[rival] - 1)) for case, rival in pairs)
        yield f"| {scale} | {' | '.join(changes)} |"


def cuts() -> Iterator[str]:
    """Yield the table of the power cuts."""
    yield "| deallocated | transactions | power cuts | wrong | acknowledged | trimmed pages | cuts that lost a write |"
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
