"""Results as `nvme fdp stats` prints them, and its logs beside a result."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

import coflash
from coflash import CoflashError
from coflash.calibrate.nvme_fdp import NAMES, Stats, fdp_log, fdp_text, read_fdp_log
from coflash.cli import app

DEVICE = {
    "name": "fdp",
    "flash.channels": 2,
    "flash.chips_per_channel": 2,
    "flash.blocks_per_plane": 64,
    "flash.pages_per_block": 16,
    "ftl.pools": "device",
    "ftl.placement": {"name": "fdp", "handles": 2, "isolation": "persistently", "shares": ["50%"]},
    "gc.low_mark": 4,
    "ftl.spare.share": "25%",
    "precondition.fill": "none",
    "workload.synthetic": {"generator": "uniform", "requests": 20_000, "read_share": "0%"},
}


@pytest.fixture(scope="module")
def result() -> coflash.Result:
    """Uniform writes over a device of two handles."""
    return coflash.run(DEVICE)


def test_the_last_counters_are_those_of_the_whole_run(result: coflash.Result) -> None:
    last, metrics = fdp_log(result).stats[-1], result.document["metrics"]
    assert last.host == metrics["host_writes_pages"] * 4096
    assert last.waf == pytest.approx(metrics["waf_host"])
    assert last.erased == metrics["erases_blocks"] * 16 * 4096


def test_the_handles_add_up_to_the_device(result: coflash.Result) -> None:
    log = fdp_log(result)
    assert [sum(of[side] for of in log.handles.values()) for side in (0, 1)] == [*log.stats[-1][:2]]


def test_a_fill_is_what_the_device_exports(result: coflash.Result) -> None:
    assert result.scenario.check()[0].startswith(f"exports {result.scenario.exported_bytes() / 2**20:.2f} MiB")


def test_what_is_written_is_read_again(result: coflash.Result, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(fdp_text(result))
    assert read_fdp_log(tmp_path / "log") == fdp_log(result)


PLAIN = "".join(f"{name} ({short}): {{}}\n" for short, name in NAMES.items())


@pytest.mark.parametrize(
    "text",
    [
        PLAIN.format(4096, 8192, 1),
        PLAIN.format("4,096", "8,192", 1),
        "taken at 12:00\r\n" + PLAIN.format(4096, 8192, 1).replace("\n", "\r\n"),
        PLAIN.format(4096, 8192, 1).replace(":", "  |"),
        '{\n  "hbmw":4096,\n  "mbmw":8192,\n  "mbe":1\n}\n',
    ],
)
def test_every_form_of_nvme_cli_is_read(text: str, tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes((text + text).encode())
    first, second = read_fdp_log(tmp_path / "log").stats
    assert first == second == Stats(4096, 8192, 1)


SMART = "Smart Log for NVME device:nvme0 namespace-id:ffffffff\nData Units Written\t\t\t\t: {:,} ({:.2f} TB)\n"
OCP = "Smart extended log\nPhysical media units written -\t {} {}\nPhysical media units read - 0 7\n"


@pytest.mark.parametrize(
    "form",
    [
        lambda host, media: SMART.format(host, host / 2e6) + OCP.format(0, media),
        lambda host, media: (
            json.dumps({"data_units_written": host}, indent=2)
            + json.dumps({"Physical media units written": {"hi": 0, "lo": media}, "x": 1})
        ),
        lambda host, media: f"Data Units Written:  {host:,} [1 TB]\nphysical_media_units_written : {media}\n",
        lambda host, media: f"data_units_written : {host}\nphysical_media_units_written : {media}\n1700000000 s\n",
    ],
)
def test_counters_of_a_life_are_counted_from_the_first_time(form: Callable[[int, int], str], tmp_path: Path) -> None:
    begin = 1_234_567
    times = [
        (begin, begin * 700_000),
        (begin + 8, begin * 700_000 + 8_192_000),
        (begin + 10, begin * 700_000 + 11_000_000),
    ]
    (tmp_path / "log").write_text("".join(form(*time) for time in times))
    assert read_fdp_log(tmp_path / "log").stats == [Stats(4_096_000, 8_192_000, 0), Stats(5_120_000, 11_000_000, 0)]
    (tmp_path / "log").write_text(form(*times[0]))
    assert read_fdp_log(tmp_path / "log").stats == [Stats(begin * 512_000, begin * 700_000, 0)]
    (tmp_path / "log").write_text(OCP.format(1, 5) + SMART.format(10**14, 1))
    assert read_fdp_log(tmp_path / "log").stats == [Stats(512 * 10**17, 2**64 + 5, 0)]


@pytest.mark.parametrize(("text", "said"), [("nothing\n", "no counters"), ("(HBMW): 5\n", "MBMW is missing")])
def test_a_file_without_counters_is_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(text)
    with pytest.raises(CoflashError, match=said):
        read_fdp_log(tmp_path / "log")


def test_a_result_stands_beside_a_log(result: coflash.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "run")
    (tmp_path / "log").write_text(fdp_text(result))
    shown = CliRunner().invoke(app, ["compare", str(tmp_path / "run"), str(tmp_path / "log")])
    assert shown.exit_code == 0, shown.output
    assert "0.25 fills" in shown.output and "handle 1, at the end" in shown.output


def test_run_writes_the_form(tmp_path: Path) -> None:
    (tmp_path / "d.toml").write_text(coflash.Scenario.of(DEVICE).to_toml())
    shown = CliRunner().invoke(app, ["run", str(tmp_path / "d.toml"), "--output-format", "nvme-fdp", "--quiet"])
    assert shown.exit_code == 0, shown.output
    assert "Host Bytes with Metadata Written (HBMW): " in shown.output


def log_of(*times: tuple[object, object]) -> str:
    return "".join(PLAIN.format(host, media, 0) for host, media in times)


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ([(8192, 8192), (4096, 12288)], "HBMW goes back from 8192 to 4096 at time 2"),
        ([(4096, 8192), (8192, 4096)], "MBMW goes back from 8192 to 4096 at time 2"),
        ([(0, 0), (0, 0)], "HBMW is 0 to the end"),
        ([(4096, 0)], "MBMW is 0 to the end"),
        ([("4.1 GB", 8192)], "HBMW “4.1 GB” was given; a whole number of bytes"),
        ([("4096 KiB", 8192)], "HBMW “4096 KiB” was given"),
        ([("4.1", 8192)], "HBMW “4.1” was given"),
        ([(4, 4096)], "counters in one unit, bytes, are allowed"),
    ],
)
def test_counters_that_are_no_totals_of_one_device_are_refused(
    times: list[tuple[object, object]], said: str, tmp_path: Path
) -> None:
    (tmp_path / "log").write_text(log_of(*times))
    with pytest.raises(CoflashError, match=said):
        read_fdp_log(tmp_path / "log")


def test_what_a_log_does_not_show_is_told(result: coflash.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "run")
    host, media, _ = fdp_log(result).stats[-1]
    (tmp_path / "log").write_text(log_of((media, host)))
    shown = CliRunner().invoke(app, ["compare", str(tmp_path / "run"), str(tmp_path / "log")])
    assert shown.exit_code == 0, shown.output
    told = " ".join((shown.stderr + shown.output).split())
    assert "The log has one time only" in told and f"fewer media bytes ({host}) than host bytes ({media})" in told
    (tmp_path / "log").write_text(log_of((4096, 4096)))
    shown = CliRunner().invoke(app, ["compare", str(tmp_path / "run"), str(tmp_path / "log")])
    assert isinstance(shown.exception, CoflashError) and "a quarter of a fill" in str(shown.exception)


def test_a_log_of_a_larger_drive_stands_beside_a_smaller_one_in_fills(
    result: coflash.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a long path takes more than a line of the table
    result.save("run")
    stats, exported = fdp_log(result).stats, result.scenario.exported_bytes()
    Path("log").write_text(log_of(*((of.host * 1000, of.media * 1000) for of in stats)))
    given = ["compare", "run", "log"]
    alone = CliRunner().invoke(app, given)
    assert "fills of this drive long: if its drive is larger, --capacity" in " ".join(alone.stderr.split())
    shown = CliRunner().invoke(app, [*given, "--capacity", f"{exported * 1000}B"])
    rows = [line.split() for line in shown.output.splitlines() if " fills " in line]
    assert shown.exit_code == 0 and len(rows) > 4 and all(row[2] == row[3] for row in rows), shown.output
    for capacity in ("2ms", f"{exported - 1}B"):
        wrong = CliRunner().invoke(app, [*given, "--capacity", capacity])
        assert f"{exported}B, which the drive of the run exports, or more is allowed" in str(wrong.exception)


def test_the_handles_of_warps_logs_are_read(tmp_path: Path) -> None:
    line = "Reclaim Unit Handle {} Attributes: 0x1 (Host Specified) {} {} \n"
    times = (PLAIN.format(4096 * at, 8192 * at, 0) + line.format(0, at, 2 * at) + line.format(7, 0, 0) for at in (1, 2))
    (tmp_path / "log").write_text("".join(times))
    assert read_fdp_log(tmp_path / "log").handles == {0: (2, 4), 7: (0, 0)}
