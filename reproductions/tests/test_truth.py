"""The measured drives: how their tables are read, and that the page says what was found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from coflash import Scenario
from coflash.calibrate import Fit, Measured, Point, Prediction, fit
from coflash.calibrate.model import Model, Parameters
from coflash.calibrate.pattern import Pattern
from coflash.calibrate.sheet import Link, Sheet
from coflash_reproduce.truth.drives import is_unsteady, read_drives
from coflash_reproduce.truth.others import Other
from coflash_reproduce.truth.page import image_of, markdown

ROOT = Path(__file__).parents[2]
FITTED = (
    "sequential",
    "uniform",
    "zipf 0.8",
    "zipf 1",
    "read-only 0.4",
    *(f"zones {zones} trimmed" for zones in ("1 x 1GiB", "1 x 16GiB", "8 x 8GiB")),
)
"""The patterns that the page says are fitted."""


@pytest.fixture(scope="module")
def drives() -> dict[str, Measured]:
    return {drive.name: drive for drive in read_drives()}


def test_most_points_are_held_out(drives: dict[str, Measured]) -> None:
    assert len(drives) == 7
    for drive in drives.values():
        held = [point for point in drive.points if point.held_out]
        assert 2 * len(held) > len(drive.points), drive.name
        for point in drive.fitted:
            assert str(point.pattern) in (*FITTED, "permuted"), point
            assert point.used == 1, point


def test_data_sheets_are_read(drives: dict[str, Measured]) -> None:
    sheet = drives["PM9A3"].sheet
    assert list(sheet.stated()) == ["PCIe 4.0 x4", "reads of at most 6.50 GB/s", "at most 580,000 reads per second"]
    assert sheet.bytes_per_s == 6.5e9
    assert [drives[name].sheet.link for name in ("WD", "CM7-R")] == [Link.pcie(3, 4), Link.pcie(5, 4)]
    assert drives["PM9D3a (drive A)"].sheet == Sheet()


def test_spare_space_is_found_and_the_write_amplification_at_other_fills_predicted(drives: dict[str, Measured]) -> None:
    drive = drives["7450 MAX"]
    by_fill = [p for p in drive.points if p.pattern.kind in ("uniform", "sequential") and p.writes_per_s is None]
    found = fit(replace(drive, points=tuple(p for p in by_fill if p.measure in ("waf", "write_mib_per_s", "gc_onset"))))
    held = [one for one in found.predictions if one.point.held_out]
    assert len(held) == 15
    assert max(abs(one.error) for one in held if one.point.measure == "waf") < 0.01
    assert all(abs(one.error) < 0.02 for one in held)


def test_one_stream_on_the_drive_with_fdp(drives: dict[str, Measured]) -> None:
    found = fit(drives["PM9D3a (drive A)"])
    held = [one for one in found.predictions if one.point.held_out]
    assert len(held) == 4
    assert all(one.within for one in held)


def test_the_page_has_each_drive_its_errors_and_what_was_not_steady() -> None:
    points = (
        Point("waf", 2.0),
        Point("waf", 1.5, used=0.8, held_out=True),
        Point("write_mib_per_s", 100, Pattern("zipf", 1), held_out=True),
        Point("write_mib_per_s", 200, Pattern("zipf", 0.5), held_out=True),
    )
    predictions = tuple(map(Prediction, points, (2.0, 1.53, 300, 190)))
    made = Fit(Measured("PM9A3", points, source="a source"), Model(Parameters(0.5)), (), predictions)
    text = markdown([made], [Other("a closed form", [1.0, 2.0], [1.01, 2.0])], [])
    assert "| PM9A3 | 4 | 1 | 1 / 1, +2.0% | 1 / 1, −5.0% | – | – | – | – | – | – | none |" in text
    worse = replace(made, predictions=tuple(map(Prediction, points, (2.0, 1.53, 300, 150))))
    assert "| 1 / 1, +2.0% | 0 / 1, −25.0% | – | – | – | – | – | – | throughput |" in markdown([worse], [], [])
    assert "| a closed form | 2 | 0 | +1.00% | 0.50% |" in text
    assert is_unsteady("PM9A3", points[2])
    assert "| 100 | 300 | +200.0% | held out | was not steady |" in text
    assert f"images/{image_of(made)}" in text
    assert "Over all drives" not in text
    read = Prediction(Point("read_p50_us", 100, writes_per_s=1000, held_out=True), 80.0)
    assert "missed: median read latency by −20.0%." in markdown([replace(made, predictions=(read,))], [], [])


@pytest.mark.parametrize("file", sorted((ROOT / "scenarios/drives").glob("*.toml")), ids=lambda file: file.stem)
def test_a_drive_that_ships_says_its_source_and_its_errors(file: Path) -> None:
    comment = [line for line in file.read_text().splitlines() if line.startswith("#")]
    assert "Source of the measurements: repository" in comment[1]
    assert any("held out, error" in line for line in comment)
    scenario = Scenario.load(file)
    assert scenario.name
    keys = scenario.to_dict()
    limit, *others = keys["limits"]
    assert "Response times were calibrated at" in limit or "response times are not those of the drive" in limit
    has_sheet = any(line.startswith("# Data sheet: PCIe") for line in comment)
    assert has_sheet != any("not limited" in text for text in others)
    if has_sheet:
        assert keys["link"]["sharing"] == "shared" and keys["controller"]["cores"]
        assert keys["measured"]["request_size"] == "4KiB"
