"""A drive from its data sheet: what follows from it, what is assumed, and the range."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import coflash
from coflash import CoflashError
from coflash.calibrate.from_sheet import FromSheet, read_sheet
from coflash.cli import app

SHEET = """\
# a drive of nobody
name = "Drive X"
capacity = "3.84TB"
link = "PCIe 4.0 x4"
sequential_read = "6500MB"
sequential_write = "3500MB"   # 128 KiB
random_read = 1_000_000
random_write = 180_000
read_latency = "75us"
dwpd = 1
"""


def sheet(folder: Path, text: str = SHEET) -> Path:
    """Write a data sheet."""
    file = folder / "x.txt"
    file.write_text(text)
    return file


def test_write_amplification_follows_from_two_rates(tmp_path: Path) -> None:
    drive = FromSheet.of(read_sheet(sheet(tmp_path)))
    low, middle, high = drive.drives
    assert high.waf < middle.waf < low.waf < 3500e6 / (180_000 * 4096), "less than all of the slow-down"
    scenario = drive.scenario()
    values = scenario.to_dict()
    assert values["endurance"]["rated_cycles"] == round(365 * 5 * middle.waf / middle.alpha)
    result = coflash.run(scenario)
    assert result.metrics.flat()["waf_ftl"] == pytest.approx(middle.waf, rel=0.03)
    assert result.metrics.flat()["throughput.write_iops"] == pytest.approx(180_000 * middle.part, rel=0.03)


def test_more_spare_space_is_found_in_a_drive_with_faster_random_writes(tmp_path: Path) -> None:
    slow, fast = (
        FromSheet.of(read_sheet(sheet(tmp_path, SHEET.replace("180_000", rate)))).drives[1].alpha
        for rate in ("180_000", "400_000")
    )
    assert 1.1 < slow < 1.25 < fast < 2


def test_the_command_says_what_it_assumes_and_the_range(tmp_path: Path) -> None:
    out = tmp_path / "x.toml"
    shown = CliRunner().invoke(app, ["calibrate", "--sheet", str(sheet(tmp_path)), "-o", str(out)])
    assert shown.exit_code == 0, shown.output
    assert "assumed: write_latency: 10 µs." in shown.output and "read_latency" not in shown.output
    for name in ("spare space", "WAF of uniform writes, 100% in use", "read at half load, p99"):
        (line,) = [line for line in shown.output.splitlines() if line.startswith(name)]
        middle, least, most = map(float, re.findall(r"[\d.]+", line.rpartition(": ")[2]))
        assert least <= middle <= most and least < most, line
    assert coflash.Scenario.load(out).name == "Drive X"
    assert "# Assumed: " in out.read_text() and "not measured" in out.read_text()


@pytest.mark.parametrize(
    ("old", "new", "problems"),
    [
        (
            "1_000_000",
            "3_000_000",
            ["random_read is 3,000,000 of 4 KiB a second, 12.3 GB/s, but PCIe 4.0 x4 7.88 GB/s"],
        ),
        ('"6500MB"', '"9000MB"', ["sequential_read is 9 GB/s, but PCIe 4.0 x4 7.88 GB/s"]),
        (
            "180_000",
            "1_000_000",
            ["random_write is 1,000,000 of 4 KiB a second, 4.10 GB/s, but sequential_write 3.50 GB/s"],
        ),
        ("1_000_000", "100_000", ["random_write is 180,000", "but random_read"]),
        ("dwpd = 1", 'dwpd = 1\ntbw = "90TB"', ["tbw is", "but dwpd 1 is"]),
        ("dwpd = 1", "dwpd = 90", ["the endurance is", "but sequential_write gives"]),
    ],
)
def test_a_sheet_whose_values_contradict_each_other_is_refused(
    old: str, new: str, problems: list[str], tmp_path: Path
) -> None:
    with pytest.raises(CoflashError, match="contradicts itself") as refused:
        read_sheet(sheet(tmp_path, SHEET.replace(old, new)))
    assert all(problem in str(refused.value) for problem in problems), refused.value


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('capacity = "3.84TB"\n', "", "capacity: is missing"),
        ("random_write = 180_000", "random_write = 850_000", "is not the steady state's"),
        ("dwpd", "dpwd", 'did you mean "dwpd"'),
        ('"3.84TB"', '"much"', "capacity: 'much' was given; the user capacity"),
        ("dwpd = 1", "dwpd", "a data sheet has no"),
        ('"75us"', '"75GB"', "read_latency: '75GB' was given"),
    ],
)
def test_what_is_no_data_sheet_is_refused(old: str, new: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(CoflashError, match=re.escape(problem)):
        FromSheet.of(read_sheet(sheet(tmp_path, SHEET.replace(old, new))))
