"""The measurements of a drive: a table of points, each a number with its conditions.

A table is a CSV file. Its columns are measures or conditions, listed in `MEASURES` and `CONDITIONS`. Each measure of a
row is a point; an empty cell is a measure that was not taken, or the default of a condition.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from coflash._core import CoflashError, hint
from coflash.calibrate.fio_results import fio_measures
from coflash.calibrate.jobs import SCRIPT, STEPS
from coflash.calibrate.pattern import PAGE_BYTES, RANDOM, UNIFORM, Pattern
from coflash.calibrate.sheet import UNSTATED, Sheet
from coflash.files.errors import text_of
from coflash.quantity import counted, number_in


class Quantity(NamedTuple):
    """A measure or a condition of a table."""

    label: str
    least: float
    most: float


MEASURES: Mapping[str, Quantity] = {
    "waf": Quantity("write amplification", 0.5, 1000),
    "write_mib_per_s": Quantity("host writes, MiB/s", 0.01, 1e6),
    "gc_onset": Quantity("host writes after the fill until GC begins, over the used space", 1e-4, 100),
    "read_p50_us": Quantity("median read latency, µs", 0.1, 1e7),
    "read_p99_us": Quantity("read latency p99, µs", 0.1, 1e7),
    "read_p999_us": Quantity("read latency p99.9, µs", 0.1, 1e7),
    "write_p50_us": Quantity("median write latency, µs", 0.1, 1e7),
    "write_p99_us": Quantity("write latency p99, µs", 0.1, 1e7),
    "writes_max_per_s": Quantity("most writes of 4 KiB per second (the knee)", 1, 1e9),
}
"""The measures, each with its unit and its range of plausible values."""

LATENCIES = tuple(name for name in MEASURES if name.endswith("_us"))
"""The measures that were taken at a rate."""

CONDITIONS: Mapping[str, str] = {
    "pattern": 'the writes: "uniform" (the default), "sequential", "zipf 0.8", "zipf 0.8 contiguous", "two-zone 0.9", '
    '"read-only 0.4", "zones 4 x 8GiB", "zones 4 x 8GiB trimmed", "permuted"',
    "one_at_a_time": "yes if each write waited for the one before: then flash waits for the host, too; by default no",
    "initial": 'the state before: "sequential" (the default), "shuffled" (all pages once, in random order) or "blank"',
    "used": "the used part of the capacity, from 0 to 1; by default 1",
    "from_pass": "where the measurement begins, in writes of the whole used space; by default at 60 % of `passes`",
    "passes": "where it ends; by default 6",
    "writes_per_s": "the rate of 4 KiB writes at which a latency was measured",
    "reads_per_s": "the rate of 4 KiB reads at which a latency was measured",
    "held_out": "yes for a point that is predicted and not fitted; by default no",
}
"""The columns of a table that are conditions."""

_Row: TypeAlias = "list[str]"
_STATES = ("sequential", "shuffled", "blank")
_WORDS = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


STEADY_PASSES = 2.0
"""The number of passes after which uniform writes to a filled drive are in steady state."""


@dataclass(frozen=True)
class Point:
    """A measured number and its conditions; see `MEASURES` and `CONDITIONS`."""

    measure: str
    value: float
    pattern: Pattern = UNIFORM
    initial: str = "sequential"
    used: float = 1.0
    passes: float = 6.0
    from_pass: float | None = None
    writes_per_s: float | None = None
    reads_per_s: float | None = None
    one_at_a_time: bool = False
    held_out: bool = False

    @property
    def begin(self) -> float:
        """The start of the measurement, in passes over the used space."""
        return 0.6 * self.passes if self.from_pass is None else self.from_pass

    @property
    def is_steady(self) -> bool:
        """Whether the write amplification of uniform writes no longer depends on the state before them."""
        return self.initial != "blank" and self.begin >= STEADY_PASSES

    def conditions(self) -> str:
        """Describe the conditions that differ from their defaults."""
        parts = [str(self.pattern)] if self.writes_per_s is None else [f"{self.writes_per_s:,.0f} writes/s"]
        parts += [f"{self.used:.0%} used"] * (self.used < 1)
        parts += [f"after {self.initial}"] * (self.initial != "sequential")
        parts += [f"pass {self.begin:g}–{self.passes:g}"] * (self.from_pass is not None)
        return ", ".join(parts)


@dataclass(frozen=True)
class Measured:
    """The measurements of a drive."""

    name: str
    points: tuple[Point, ...]
    capacity_bytes: float | None = None
    """The user capacity; zones have sizes in bytes, and a zipf's hot pages depend on the number of pages."""
    source: str = ""
    sheet: Sheet = UNSTATED
    """What the data sheet states of the link and of reads."""

    @property
    def fitted(self) -> tuple[Point, ...]:
        """The points that may be fitted."""
        return tuple(point for point in self.points if not point.held_out)

    def range_keys(self, part: float) -> dict[str, Any]:
        """Return the conditions of the measurements as keys of a scenario with a part of the drive's rates."""
        rated = [(p.reads_per_s or 0.0, p.writes_per_s) for p in self.points if p.writes_per_s is not None]
        fastest = [p.value for p in self.points if p.measure == "writes_max_per_s"]
        fastest += [p.value * 2**20 / PAGE_BYTES for p in self.points if p.measure == "write_mib_per_s"]
        rates = {
            "reads_per_s": max((reads for reads, _ in rated), default=0.0),
            "writes_per_s": max((*fastest, *(writes for _, writes in rated)), default=0.0),
        }
        keys: dict[str, Any] = {key: math.ceil(rate * part) for key, rate in rates.items() if rate}
        keys["read_share"] = f"{max((reads / (reads + writes) for reads, writes in rated), default=0.0):.4%}"
        keys["used"] = f"{min((p.used for p in self.points), default=1.0):.4%}"
        if any(p.pattern.kind in RANDOM for p in self.points):  # others are written in any size
            keys["request_size"] = f"{PAGE_BYTES // 1024}KiB"
        return keys


def read_csv(
    file: Path, capacity_bytes: float | None = None, source: str = "", sheet: Sheet = UNSTATED, name: str = ""
) -> Measured:
    """Read a table; the drive has the name of the file unless it is given.

    Raises:
        CoflashError: The file cannot be read, a column is unknown, or a cell is missing or absurd.
    """
    text = text_of(file)
    header = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    separator = max(",;\t|", key=header.count)
    points = _points(file, csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True))
    return Measured(name or file.stem, tuple(points), capacity_bytes, source, sheet)


def read_fio(folder: Path, capacity_bytes: float | None = None, source: str = "", sheet: Sheet = UNSTATED) -> Measured:
    """Read the results of the jobs of `coflash.calibrate.jobs`: `steps.csv`, and fio's JSON of each step.

    Write amplification is read if the drive's logs before and after a step have it. A step without results is left out.
    A rate that the drive did not reach makes a point of its most writes.

    Raises:
        CoflashError: A file is missing or is no result of fio.
    """
    file = folder / STEPS
    if not file.exists():
        msg = f"{folder}: has no {STEPS}; `coflash calibrate --jobs {folder}` writes it with the jobs to run"
        raise CoflashError(msg)
    rows = list(csv.DictReader(io.StringIO(text_of(file))))
    if not rows or "step" not in rows[0]:
        raise CoflashError(f"{file}: no step; a row for each is allowed, under a header with the column 'step'")
    measured = [row for row in rows if (folder / f"{row['step']}.json").exists()]
    if not measured:
        raise CoflashError(f"{folder}: no step has results yet; {SCRIPT} makes a file NAME.json for each")
    rates = [number_in(row.get("writes_per_s") or "") for row in measured]
    taken = {
        row["step"]: fio_measures(folder, row["step"], rate and rate[0])
        for row, rate in zip(measured, rates, strict=True)
    }
    reached = []
    for row in measured:
        if "writes_max_per_s" in taken[row["step"]]:
            row |= {"writes_per_s": "", "reads_per_s": "", "held_out": "yes"}
        elif row.get("writes_per_s"):
            reached.append(row)
    if reached and all(_WORDS.get(row.get("held_out") or "no") for row in reached[1:]):
        reached[-1]["held_out"] = "no"  # latencies are fitted at two rates, also where a higher one was not reached
    conditions = [name for name in rows[0] if name != "step"]
    table: list[_Row] = [[*MEASURES, *conditions]]
    for row in measured:
        numbers = (taken[row["step"]].get(name) for name in MEASURES)
        table.append(["" if n is None else f"{n:.6g}" for n in numbers] + [row[name] or "" for name in conditions])
    return Measured(folder.resolve().name, tuple(_points(file, table)), capacity_bytes, source, sheet)


def _points(file: Path, rows: Iterable[_Row]) -> list[Point]:
    header: _Row = []
    points: list[Point] = []
    known = [*MEASURES, *CONDITIONS]
    for line, row in enumerate(rows, 1):
        if not row or row[0].startswith("#"):
            continue
        if not header:
            header = [name.strip() for name in row]
            for name in header:
                if name not in known:
                    raise _refusal(file, line, f"column {name!r}{hint(name, known)}")
                if header.count(name) > 1:
                    raise _refusal(file, line, f"column {name!r} is there more than once")
            if not any(name in MEASURES for name in header):
                raise _refusal(file, line, f"no column is a measure; at least one of {', '.join(MEASURES)} is needed")
            continue
        if len(row) != len(header):
            raise _refusal(file, line, f"{counted(len(row), 'cell')}; the header has {len(header)}")
        cells = {name: cell.strip() for name, cell in zip(header, row, strict=True)}
        made = _row(file, line, cells)
        if not made:
            raise _refusal(file, line, "no measure; a row has at least one number")
        points += made
    if not points:
        raise CoflashError(f"{file}: no points; a header and at least one row are needed")
    return points


def _row(file: Path, line: int, cells: Mapping[str, str]) -> list[Point]:
    def number(name: str, least: float, most: float) -> float:
        found = number_in(cells[name])
        if found is None or not least <= found[0] <= most or not math.isfinite(found[0]):
            raise _refusal(file, line, f"{name}: {cells[name]!r} was given; {least:g} to {most:g} is allowed")
        return found[0]

    def word(name: str, allowed: Iterable[str]) -> str:
        if cells[name] not in allowed:
            raise _refusal(file, line, f"{name}: {cells[name]!r} was given{hint(cells[name], list(allowed))}")
        return cells[name]

    conditions: dict[str, object] = {}
    for name in CONDITIONS:
        if not cells.get(name):
            continue
        match name:
            case "pattern":
                try:
                    conditions[name] = Pattern.read(cells[name])
                except CoflashError as error:
                    raise _refusal(file, line, str(error)) from error
            case "initial":
                conditions[name] = word(name, _STATES)
            case "held_out" | "one_at_a_time":
                conditions[name] = _WORDS[word(name, _WORDS)]
            case "used":
                conditions[name] = number(name, 0.01, 1)
            case "passes" | "from_pass":
                conditions[name] = number(name, 0 if name == "from_pass" else 0.1, 100)
            case _:
                conditions[name] = number(name, 1, 1e9)
    given = [name for name in MEASURES if cells.get(name)]
    points = [Point(name, number(name, *MEASURES[name][1:]), **conditions) for name in given]  # type: ignore[arg-type]
    timed = [name for name in given if name in LATENCIES]
    if timed and "writes_per_s" not in conditions:
        raise _refusal(file, line, f"{timed[0]}: writes_per_s is needed, the rate at which it was measured")
    if points and points[0].begin >= points[0].passes:
        raise _refusal(file, line, f"from_pass: {points[0].begin:g} was given; less than passes is allowed")
    return points


def _refusal(file: Path, line: int, problem: str) -> CoflashError:
    return CoflashError(f"{file}, line {line}: {problem}")


assert {field.name for field in fields(Point)} == {"measure", "value", *CONDITIONS}
