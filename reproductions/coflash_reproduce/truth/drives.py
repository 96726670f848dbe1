"""The measured drives: a document of tables, read into points, of which a rule that is fixed here holds most out.

The document is a review of published measurements in Markdown; it does not ship with coflash.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from coflash._core import CoflashError
from coflash.calibrate import Measured, Point
from coflash.calibrate.pattern import Pattern
from coflash.calibrate.sheet import Link, Sheet
from coflash.files.errors import text_of

SSD_IQ = "repository gabriel-haas/ssdiq-pub, and “SSD-iq”, PVLDB 18(11), 2025"
WARP = "repository MoatLab/WARP-FAST26-AE, and “Characterizing and Emulating FDP SSDs with WARP”, FAST 2026"

FDP_DRIVE = "PM9D3a (drive A)"
"""The drive whose counters tell the write amplification with placement and without."""

FITTED = (
    "sequential",
    "uniform",
    "zipf 0.8",
    "zipf 1",
    "read-only 0.4",
    *(f"zones {zones} trimmed" for zones in ("1 x 1GiB", "1 x 16GiB", "8 x 8GiB")),
)
"""The patterns whose points at full use are fitted, by any drive that has them; all others are held out."""
BELOW_KNEE = 0.92
"""Latencies are fitted at three rates: medians at the lowest, the median of reads at the one nearest to half of the
most writes, median and p99 of reads at the highest up to this share of the most writes."""

UNSTEADY: Mapping[str, str] = {
    "PM9A3": "read-only 0.6|read-only 0.8|zipf 1",
    "WD": "read-only 0.[468]",
    "P5520": "read-only .*",
    "7450 MAX": "two-zone 0.95",
    "CM7-R": "zipf 1|two-zone 0.95",
}
"""The patterns whose throughput was not steady when it was measured (by 5 to 40 %), as regular expressions."""

PASSES: Mapping[str, int] = {
    "uniform|zipf 0.*|two-zone 0.[67]|read-only 0.9": 5,
    "zipf 1|two-zone 0.8": 6,
    "two-zone 0.9|read-only 0.[2468]": 7,
    "two-zone 0.95": 8,
    "zones .*": 4,
}
"""How often the drives were written over, by the scripts that the source publishes. They trim a zone when they open it
and write zones one request at a time, each of whose data is made before it."""

_SPEED, _RATE = "seq R/W MB/s (spec)", "rand R/W kIOPS (spec)"
_NUMBER = r"(\d[\d,.]*)(?:[–-](\d[\d,.]*))?"


@dataclass(frozen=True)
class Table:
    """A table of the document."""

    section: str
    """The heading above it."""
    caption: str
    """The last line of text above it."""
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def read_drives(file: Path) -> tuple[Measured, ...]:
    """Read the document.

    Raises:
        CoflashError: The file cannot be read, or lacks a table.
    """
    document = _read(file)
    drives = [document.drive(name) for name in document.names()]
    return (*drives, document.fdp_drive())


def document_table(file: Path, section: str, column: str) -> Table:
    """Return the first table of a section with a column of that name.

    Raises:
        CoflashError: The file cannot be read, or lacks the table.
    """
    return _read(file).table(section, column)


def _read(file: Path) -> _Document:
    return _Document(file, text_of(file))


class _Document:
    """The document: its text and its tables."""

    def __init__(self, file: Path, text: str) -> None:
        self.file, self.text = file, text
        self.tables = list(_tables(text))

    def table(self, section: str, column: str) -> Table:
        """Return the first table of a section with a column of that name."""
        for table in self.tables:
            if section in table.section and column in table.columns:
                return table
        raise CoflashError(f"{self.file}: no table with a column {column!r} in a section {section!r}")

    def names(self) -> tuple[str, ...]:
        """Return the drives whose throughput was measured."""
        return self.table("throughput", "pattern").columns[1:]

    def drive(self, name: str) -> Measured:
        """Return all points of a drive."""
        capacity = next(
            _value(row[1].split("(")[1]) * 2**30 for row in self.table("Drives", "drive").rows if name in row[0]
        )
        points = [*self._by_pattern(name), *self._in_prose(name), *self._zones(name), *self._latencies(name)]
        if name == "7450 MAX":
            points += self._by_use(capacity)
        if name == "P5520":
            # Its WAF was counted in a series of its own, whose throughput belongs to it.
            points = [
                replace(p, held_out=p.held_out or (str(p.pattern) == "uniform" and p.writes_per_s is None))
                for p in points
            ]
            points += self._courses()
        return Measured(name, tuple(points), capacity, SSD_IQ, self._sheet(name))

    def fdp_drive(self) -> Measured:
        """Return the drive with FDP under one stream: random writes of 128 KiB, each page once in every pass."""
        table = self.table("FDP", "workload")
        row = next(row for row in table.rows if "1 stream" in row[0])
        begin = _found(r"First GC of the one-stream run: [\d.]+ TB \(([\d.]+) × capacity", self.text)
        permuted = Point("gc_onset", begin - 1, Pattern("permuted"), "blank", passes=10, from_pass=3)
        points = [permuted]
        for part in row[-1].split(";"):
            if found := re.fullmatch(r"\s*x?([\d.]+)–([\d.]+) ([\d.]+)", part):
                begin, end, value = (float(text) for text in found.groups())
                point = replace(permuted, measure="waf", value=value, from_pass=begin, passes=end)
                points.append(replace(point, held_out=begin != 1))
            elif found := re.search(f"then {_NUMBER}", part):
                points.append(replace(permuted, measure="waf", value=_value(found[0][5:]), held_out=True))
        return Measured(FDP_DRIVE, tuple(points), None, WARP)

    def _sheet(self, name: str) -> Sheet:
        """Return what the data sheet states; of the lanes only that they carry the reads."""
        table = self.table("Drives", "PCIe")
        row = next(row for row in table.rows if name in row[0])
        of = {column: row[table.columns.index(column)] for column in ("PCIe", _SPEED, _RATE)}
        speed, rate = _value(of[_SPEED]) * 1e6, _value(of[_RATE]) * 1e3
        links = (Link.pcie(int(_value(of["PCIe"])), lanes) for lanes in (1, 2, 4, 8, 16))
        return Sheet(next(link for link in links if link.bytes_per_s >= speed), speed, rate)

    def _by_pattern(self, name: str) -> Iterator[Point]:
        table = self.table("throughput", "pattern")
        column = table.columns.index(name)
        for row in table.rows:
            if re.match(r"\d", row[column]):
                yield _throughput(_pattern(row[0]), _value(row[column]))

    def _in_prose(self, name: str) -> Iterator[Point]:
        """Yield what the text says: speeds before GC, its onset, and further zones."""
        fills = _found_text(r"512 KiB sequential fill QD1: (.*?)\. ", self.text)
        before = _found_text(r"Speed before it, MiB/s: (.*?)\.\s", self.text).split(", ")
        listed = re.search(rf"{re.escape(name)} {_NUMBER}", fills)
        order = [text.strip() for text in _found_text(r"First slow-down.*?used\): (.*?)\. Speed", self.text).split("·")]
        place = next(index for index, text in enumerate(order) if text.startswith(name))
        yield _throughput("sequential", _value(listed[0][len(name) :]) if listed else _value(before[place]))
        onset = Pattern("uniform")
        yield Point("gc_onset", _value(order[place].split("(")[1]), onset)
        for zones in re.findall(rf"{re.escape(name)} ((?:tz[\d.]+ [\d.]+(?:, )?)+)", self.text):
            for cold, speed in re.findall(r"tz([\d.]+) ([\d.]+)", zones):
                yield _throughput(f"two-zone {cold.rstrip('.')}", float(speed.rstrip(".")))

    def _zones(self, name: str) -> Iterator[Point]:
        table = next(table for table in self.tables if "zones × GiB" in table.columns[0])
        column = table.columns.index(name)
        for row in table.rows:
            count, size = re.findall(r"\d+", row[0])
            if re.match(r"\d", row[column]):
                point = _throughput(f"zones {count} x {size}GiB trimmed", _value(row[column]))
                yield replace(point, one_at_a_time=True)

    def _by_use(self, capacity: float) -> Iterator[Point]:
        table = self.table("7450 MAX", "steady WAF")
        of = {name: table.columns.index(name) for name in ("used GiB", "steady WAF", "host MiB/s")}
        for row in table.rows:
            used = round(_value(row[0]) * 2**30 / capacity, 4)
            held = used < 1
            yield Point("waf", _value(row[of["steady WAF"]]), used=used, held_out=held)
            if held:  # at full use it is in the other table
                yield Point("write_mib_per_s", _value(row[of["host MiB/s"]]), used=used, held_out=True)
                yield Point(
                    "gc_onset", _value(row[2].split(",")[0]) * 2**30 / capacity / used, used=used, held_out=True
                )
        sequential = _found_text(r"Sequential fill: WAF ([\d.–]+)", self.text)
        yield Point("waf", _value(sequential), Pattern("sequential"))
        zones = _found_text(r"Zone runs, measured WAF: (.*?)\.\s", self.text)
        of_sizes, of_counts = (group.partition("×")[2].split("·") for group in zones.split(";"))
        for parts, text in ((of_sizes, "zones 1 x {}GiB trimmed"), (of_counts, "zones {} x 8GiB trimmed")):
            for part in parts:
                number, waf = re.findall(r"[\d.]+", part)[:2]
                point = _point("waf", float(waf), text.format(number), held_out=True)
                yield replace(point, one_at_a_time=True)

    def _courses(self) -> Iterator[Point]:
        """Yield WAF, throughput and course of the P5520 by initial state; both in passes over the drive."""
        table = self.table("P5520", "passes")
        floor = next(row for row in table.rows if row[0].startswith("sequential 512"))
        yield Point("waf", _found(r"mean ([\d.]+)", floor[2]), Pattern("sequential"))
        states = {"after sequential": "sequential", "after seqshuffle": "shuffled", "on blank": "blank"}
        for row in table.rows:
            state = next((states[text] for text in states if text in row[0]), None)
            if state is None or "fio" in row[0] or row[0].startswith("sequential"):
                continue
            if "sequential-in-random" in row[0]:
                pattern = "permuted"
            elif row[0].startswith("uniform"):
                pattern = "uniform"
            else:
                pattern = "zipf 0.8" + " contiguous" * ("not scattered" in row[0])
            passes = float(row[1])
            run = Point("waf", _value(row[2]), Pattern.read(pattern), state, passes=passes)
            first = row[0] in ("uniform after sequential", "zipf 0.8 scattered, after sequential")
            yield replace(run, held_out=not first)
            yield replace(
                run, measure="write_mib_per_s", value=_value(row[3]), held_out=pattern != "uniform" or not first
            )
            if state == "blank":
                continue
            for quarter, value in enumerate(_quarters(row[4])):
                begin, end = quarter / 4, (quarter + 1) / 4
                yield replace(run, value=value, held_out=True, from_pass=begin, passes=end)

    def _latencies(self, name: str) -> Iterator[Point]:
        for table in self.tables:
            if name in table.caption and table.columns[0] == "rate k" and "knee only" not in table.caption:
                *rows, saturated = table.rows
                yield Point("writes_max_per_s", float(saturated[1]) * 1000, held_out=True)
                below = [row for row in rows if float(row[1]) <= BELOW_KNEE * float(saturated[1])]
                half = min(below, key=lambda row: abs(float(row[1]) - float(saturated[1]) / 2))
                fitted = {
                    half: ("read_p50_us",),
                    below[-1]: ("read_p50_us", "read_p99_us"),
                    below[0]: ("read_p50_us", "write_p50_us"),
                }
                for row in rows:
                    writes, reads = float(row[1]) * 1000, 5000 + 10 * (float(row[0]) - 5)
                    for side, cell in (("read", row[2]), ("write", row[4])):
                        p50, _, p99, p999, _ = (float(part) for part in cell.split("/"))
                        for measure, value in (
                            (f"{side}_p50_us", p50),
                            (f"{side}_p99_us", p99),
                            (f"{side}_p999_us", p999),
                        ):
                            if measure != "write_p999_us":
                                is_fitted = measure in fitted.get(row, ())
                                yield Point(
                                    measure, value, writes_per_s=writes, reads_per_s=reads, held_out=not is_fitted
                                )


def _throughput(pattern: str, value: float) -> Point:
    return _point("write_mib_per_s", value, pattern, held_out=pattern not in FITTED)


def _point(measure: str, value: float, pattern: str, *, held_out: bool) -> Point:
    passes = next((passes for known, passes in PASSES.items() if re.fullmatch(known, pattern)), 6)
    return Point(measure, value, Pattern.read(pattern), passes=passes, held_out=held_out)


def _pattern(text: str) -> str:
    """Write a pattern of the document as one of a table: uni, z0.8, tz0.9, ro0.4."""
    kind, number = re.fullmatch(r"([a-z]+)([\d.]*)", text).groups()  # type: ignore[union-attr]
    words = {"uni": "uniform", "z": "zipf", "tz": "two-zone", "ro": "read-only"}
    return f"{words[kind]} {float(number):g}" if number else words[kind]


def _quarters(course: str) -> list[float]:
    """Return the WAF in quarters of a pass, as far as the course lists them one by one."""
    listed = re.split(r"· then", course)[0]
    return [
        float(re.findall(r"[\d.]+$", part.strip())[0]) for part in listed.split("·") if re.search(r"\d$", part.strip())
    ]


def _value(text: str) -> float:
    """Return the number that a text begins with; of a range the geometric mean."""
    found = re.search(_NUMBER, text)
    if found is None:
        raise CoflashError(f"{text!r} was given; a number is allowed")
    low = float(found[1].replace(",", "").rstrip("."))
    return math.sqrt(low * float(found[2].rstrip("."))) if found[2] else low


def _found_text(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.DOTALL)
    if found is None:
        raise CoflashError(f"the document has no {pattern!r}")
    return found[1]


def _found(pattern: str, text: str) -> float:
    return float(_found_text(pattern, text))


def _tables(text: str) -> Iterator[Table]:
    section = caption = ""
    lines: list[tuple[str, ...]] = []
    for line in [*text.splitlines(), ""]:
        if "|" in line:
            lines.append(tuple(cell.strip() for cell in line.strip().strip("|").split("|")))
            continue
        if len(lines) > 2:
            yield Table(section, caption, lines[0], tuple(lines[2:]))
        lines = []
        if line.startswith("## "):
            section = line
        if line.strip():
            caption = line
