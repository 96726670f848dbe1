"""Count the instructions of a request in five short runs, and fail where one takes more than what is recorded.

Processor time scatters from run to run and from machine to machine; the number of instructions hardly does. Each run is
done twice under valgrind's callgrind, once with more requests: the difference is what these requests take, without the
start. `make instructions` installs a release build of the core, and runs this.

A row may take 3 % more than recorded. Beyond that, name the row in a line of CHANGELOG.md that says what the
instructions buy, and write the numbers anew: `make instructions WRITE=1`. A test compares the file with CHANGELOG.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "benches" / "instructions.json"
PAGE = ROOT / "docs" / "performance.md"
TRACE = ROOT / "examples" / "traces" / "pgbench-oltp-400k.iolog.zst"
TOLERANCE = 0.03
"""Of what is recorded: compilers and C libraries differ by less."""
BEGIN, END = "<!-- instructions: written by `make instructions WRITE=1` -->", "<!-- end of instructions -->"


class Row(NamedTuple):
    """A scenario, the key that makes it longer, and both of its lengths in requests."""

    scenario: str
    assignments: Mapping[str, str]
    length: str
    values: tuple[str, str]
    requests: int
    """By how many the longer run is longer."""


def standard(**assignments: str) -> Row:
    """Return the standard job with 1.25 GiB of flash and other keys."""
    small = {"flash.blocks_per_plane": "640"} | {key.replace("__", "."): value for key, value in assignments.items()}
    return Row("random-5g", small, "workload.synthetic.requests", ("200000", "400000"), 200_000)


SHARED = {"timing__channel": "shared", "flash__channels": "4", "flash__chips_per_channel": "2"}
ROWS = {
    "standard": standard(),
    "cdm": standard(cache__size="5%", cooperation="cdm"),
    "shared channels": standard(**SHARED),
    "superblocks": standard(ftl__pools="device"),
    "shipped trace": Row("demo", {"workload.trace": f'["{TRACE}"]'}, "workload.repeat", ("1", "2"), 400_000),
}


class Cost(NamedTuple):
    """What a request takes."""

    instructions: float
    by_crate: Mapping[str, float]


def costs_by_file(text: str) -> Counter[str]:
    """Sum the instructions of the functions of each source file in what callgrind wrote.

    What is inlined belongs to the function around it, and what a call costs to the function that is called.
    """
    names: dict[str, str] = {}
    costs: Counter[str] = Counter()
    file, called = "", False
    for line in text.splitlines():
        if match := re.match(r"(fl|fi|fe|cfi|cfl)=\((\d+)\)(?: (.*))?", line):
            name = names.setdefault(match[2], match[3] or "")
            file = name if match[1] == "fl" else file
        elif line.startswith("calls="):
            called = True
        elif re.match(r"[0-9+*-]", line):
            if not called:
                costs[file] += int(line.split()[1])
            called = False
    return costs


def crate(file: str) -> str:
    """Return the crate of a source file, "libraries" for those of others."""
    match = re.search(r"crates/(?:kernel/|traces/|device/)?([a-z]+)/src/", file)
    return match[1] if match else "libraries"


def counted(row: Row, value: str, folder: str) -> Counter[str]:
    """Run a row with one of its lengths under callgrind, and return its instructions by crate."""
    out, changes = Path(folder, "callgrind.out"), {**row.assignments, row.length: value}
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", sys.executable, "-m", "coflash", "run"]
    command += [row.scenario, "--quiet", *(word for change in changes.items() for word in ("--set", "=".join(change)))]
    # Hashes of strings differ from process to process otherwise, and with them the instructions of Python.
    settings = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    by_crate: Counter[str] = Counter()
    for file, cost in costs_by_file(out.read_text("utf-8", errors="replace")).items():
        by_crate[crate(file)] += cost
    return by_crate


def count(row: Row) -> Cost:
    """Count what a request of a row takes."""
    with tempfile.TemporaryDirectory() as folder:
        short, long = (counted(row, value, folder) for value in row.values)
    by_crate = {name: (long[name] - short[name]) / row.requests for name in long}
    return Cost(sum(by_crate.values()), by_crate)


def recorded() -> dict[str, dict[str, int]]:
    """Return what is recorded: of each row the instructions of a request, as "all" and by crate."""
    rows: dict[str, dict[str, int]] = json.loads(RECORDED.read_text("utf-8")) if RECORDED.exists() else {}
    return rows


def as_json(costs: Mapping[str, Cost]) -> str:
    """Return what is to be recorded: crates with most instructions first, none with less than one a request."""
    rows = {}
    for name, cost in costs.items():
        parts = sorted(cost.by_crate.items(), key=lambda part: -part[1])
        rows[name] = {"all": round(cost.instructions)} | {part: round(n) for part, n in parts if n >= 1}
    return json.dumps(rows, indent=2) + "\n"


def table() -> str:
    """Return the table of docs/performance.md: a row a run, a column for the crates that take most."""
    rows = recorded()
    total: Counter[str] = Counter()
    for row in rows.values():
        total.update({part: number / row["all"] for part, number in row.items() if part != "all"})
    parts = [part for part, _ in total.most_common(8)]
    lines = ["| run | instructions a request | " + " | ".join(f"`{part}`" for part in parts) + " | others |"]
    lines.append("|---" * (len(parts) + 3) + "|")
    for name, row in rows.items():
        numbers = [row.get(part, 0) for part in parts]
        cells = [row["all"], *numbers, row["all"] - sum(numbers)]
        lines.append(f"| {name} | " + " | ".join(f"{cell:,.0f}" for cell in cells) + " |")
    return "\n".join(lines)


def page() -> str:
    """Return docs/performance.md with the recorded numbers in it."""
    before, rest = PAGE.read_text("utf-8").split(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}"


def more(before: Mapping[str, Mapping[str, float]], now: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Return the rows that take more instructions than the tolerance allows, and by which share."""
    shares = {name: now[name]["all"] / row["all"] - 1 for name, row in before.items() if name in now}
    return {name: share for name, share in shares.items() if share > TOLERANCE}


def main() -> int:
    """Count, and compare or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="record the numbers, and write docs/performance.md anew")
    parser.add_argument("rows", nargs="*", help=f"some rows only: {', '.join(ROWS)}")
    options = parser.parse_args()
    names = options.rows or [*ROWS]
    if unknown := [name for name in names if name not in ROWS]:
        parser.error(f"{', '.join(unknown)}: no such row; there are {', '.join(ROWS)}")
    if options.write and options.rows:
        parser.error("--write records all rows")
    if not shutil.which("valgrind"):
        raise SystemExit("error: valgrind is missing, which counts: apt-get install valgrind")
    before = recorded()
    costs = {}
    for name in names:
        costs[name] = count(ROWS[name])
        was = before.get(name, {}).get("all")
        change = "" if was is None else f"  recorded {was:6,.0f}  {costs[name].instructions / was - 1:+.1%}"
        print(f"{name:16} {costs[name].instructions:8,.0f} instructions a request{change}", flush=True)
    if options.write:
        RECORDED.write_text(as_json(costs), "utf-8")
        PAGE.write_text(page(), "utf-8")
        return 0
    grown = more(before, {name: {"all": cost.instructions} for name, cost in costs.items()})
    for name, share in grown.items():
        print(f"error: {name} takes {share:.1%} more instructions than recorded; at most {TOLERANCE:.0%} is allowed.")
    if grown:
        print("Say in CHANGELOG.md what they buy, with the name of the row, and record them: make instructions WRITE=1")
    return bool(grown)


if __name__ == "__main__":
    raise SystemExit(main())
