"""What the number of a goal may be off by, and what an answer says whose interval reaches over a bound."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer

import coflash
from coflash import Scenario
from coflash.cli import question
from coflash.results.estimate import Estimate
from coflash.scenario import built_in_scenarios
from coflash.sweep.doubt import _WAF_MISSED, Doubt
from coflash.sweep.finding import say_limits
from coflash.sweep.goal import condition
from sweeps import SMALL

ROOT = Path(__file__).parents[2]
DRIVE = SMALL.with_({"flash.channels": 2, "flash.chips_per_channel": 1, "flash.pages_per_block": 16})
OVER = {"cache.size": "0B", "ftl.spare.share": "20%,24%,28%,40%,56%", "cooperation": "none"}


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Writes of 4 KiB to 4 MiB, a millisecond apart."""
    file = tmp_path_factory.mktemp("trace") / "writes.csv"
    rng = random.Random(1)
    rows = "".join(f"{at * 1_000_000},write,{rng.randrange(1024) * 4096},4096\n" for at in range(8000))
    file.write_text(f"ns,op,offset,size\n{rows}", encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


def test_the_errors_of_drives_are_those_of_their_calibrations() -> None:
    said = r"write amplification: \d+ points? held out, error \S+ on average, (\S+)% at worst"
    known = {}
    for file in (ROOT / "scenarios" / "drives").glob("*.toml"):
        if found := re.search(said, re.sub(r"\n# +", " ", file.read_text("utf-8"))):
            known[Scenario.load(file.stem).name] = float(found[1]) / 100
    assert pytest.approx(known) == _WAF_MISSED and len(known) == 3

    def doubt(text: str, drive: str, *, is_part: bool = False) -> Doubt:
        return Doubt.of(Scenario.load(drive), condition(text), 1.0, 1.0, is_part=is_part)

    assert doubt("response.read.p99<1ms", "pm9a3") == Doubt(drive=(0.0, pytest.approx(0.194)))  # type: ignore[arg-type]
    assert doubt("response.write.p99_9<1ms", "pm9a3").is_unmeasured and doubt("dwpd>1", "pm9a3").is_unmeasured
    assert doubt("dwpd>1", "7450-max", is_part=True) == Doubt(scaled=0.1, drive=(-0.06, 0.06))
    assert doubt("dwpd>1", "demo") == Doubt() == doubt("cache.size<1GiB", "pm9a3", is_part=True)
    assert len(built_in_scenarios()) > len(known)


def test_an_interval_has_each_error_and_is_inside_only_as_a_whole() -> None:
    number, goal = Estimate(100.0, 2.0, 3), condition("waf_host<115")
    assert Doubt().ends(number) == (98.0, 102.0)
    assert Doubt(rounds=0.05).ends(number) == (95.0, 105.0)
    assert Doubt(scaled=0.1).ends(number) == pytest.approx((98 / 1.1, 102 * 1.1))
    # The model reads a third less than was measured, or a quarter more.
    assert Doubt(drive=(-1 / 3, 0.25)).ends(number) == pytest.approx((98 / 1.25, 102 * 1.5))
    assert Doubt(scaled=0.1).is_inside(goal, number, -0.1) and not Doubt(scaled=0.2).is_inside(goal, number, -0.1)


def test_an_answer_on_the_edge_says_so_first_and_names_a_device_whose_whole_interval_meets_the_goal(
    trace: Path, store: Path
) -> None:
    asked: dict[str, Any] = {"drive": DRIVE, "over": OVER, "seeds": 2, "out": store}
    wide = coflash.size(trace, "waf_host<99", **asked)
    assert wide.is_sure and " is the cheapest of " in wide.sentences[0] and "on the edge" not in wide.sentences[0]
    number = wide.answer.bounded[0]
    assert number.mean and number.half_width and wide.answer.spare == "20%"
    found = coflash.size(trace, f"waf_host<{number.mean + number.half_width / 2}", **asked)
    assert found.is_met and not found.is_sure and not found.document()["sure"]
    first = found.sentences[0]
    assert re.match(
        r"No cache, 20% spare space \(\$\S+\) is on the edge: the cheapest of .* whose means meet ",
        first,
    )
    assert " that meets waf" not in first and "; none of those" not in first
    goals, devices = found.tables()
    assert goals.rows[0][-1] == ("on the edge: its interval reaches over the bound", "worse")
    assert found.inside is not None and found.inside.cost > found.answer.cost
    assert f"; with room: {found.inside!s} ($" in found.headline
    _, other, room, *_ = devices.rows
    assert [cell.text for cell in room[:2]] == ["with room", str(found.inside)]
    # Uniform writes leave the same behind, whatever came before.
    assert found.other is not None and [cell.text for cell in other[:2]] == ["after another history", str(found.answer)]
    assert found.other.bounded[0].mean == pytest.approx(number.mean, rel=0.1)
    lies = replace(found, other=replace(found.other, excess=(0.5,)))
    assert f" After another history it breaks {found.goals[0].text}." in lies.headline
    inside, goal = found.inside.bounded[0], found.goals[0]
    assert len(found.inside.runs) == 2 and found.doubts[0].ends(inside)[1] <= goal.bound
    assert found.inside.spare == "24%", "and no dearer one than is needed"
    none = replace(found, insides=()).sentences[0]
    assert none.endswith("; none of those that ran with all seeds and rounds has whole intervals that do.")
    # The errors of a drive count as seeds do.
    off = replace(wide, doubts=[Doubt(scaled=0.1, drive=(-0.99, 0.2), is_unmeasured=True)])
    assert not off.is_sure and "on the edge" in off.sentences[0]
    judged = off.tables()[0].rows[0][-1].text
    errors = "10.0\u00a0% of scaling and −99.0\u00a0% to +20.0\u00a0% of the drive where it was held out"
    assert judged.startswith(f"on the edge: its interval reaches over the bound; the interval has {errors}")
    assert judged.endswith("; how far it is from this drive is not known here: docs/drives.md lists what was measured")


def test_few_blocks_of_a_drive_are_no_spare_share_of_it(trace: Path, store: Path) -> None:
    asked: dict[str, Any] = {"over": OVER, "seeds": 1, "out": store}
    named = coflash.size(trace, "waf_host<99", drive=DRIVE.with_(name="a drive"), **asked)
    blocks = named.answer.runs[0].scenario.to_dict()["flash"]["blocks_per_plane"]
    assert blocks < 64
    few = f"; with {blocks} blocks a plane, fewer than some 64, this is not the drive's spare share: add --goal"
    assert few in named.sentences[0]
    assert "not the drive's spare share" not in coflash.size(trace, "waf_host<99", drive=DRIVE, **asked).sentences[0]


def test_limits_are_a_list_that_begins_with_what_was_asked_for() -> None:
    drive = Scenario.load("pm9a3").with_({"limits": ["Latencies were calibrated: latency.", "Scaled."]})
    plain = say_limits(drive, ["the loop"], ["other traces"]).split("\n- ")
    assert plain[0] == "The numbers do not tell" and plain[1].endswith("Scaled") and plain[2] == "other traces"
    timed = say_limits(drive, ["the loop"], ["other traces"], is_timed=True).split("\n- ")
    assert sorted(timed[1:-1]) != timed[1:-1] and timed[1].endswith("latency") and timed[2] == "the loop"


@pytest.mark.parametrize(("is_met", "is_sure", "status"), [(True, True, 0), (True, False, 3), (False, False, 1)])
def test_a_finding_that_is_not_sure_has_an_exit_status_of_its_own(
    is_met: bool, is_sure: bool, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    told = {"problem": "", "lost": (), "stored": list, "to_json": lambda: "{}", "notes": list}
    found = SimpleNamespace(is_met=is_met, is_sure=is_sure, headline="the answer", **told)
    ended = 0
    try:
        question._ask(lambda: found, {"json": None, "quiet": True})
    except typer.Exit as error:
        ended = error.exit_code
    assert ended == status
    assert capsys.readouterr().out == "the answer\n", "a quiet command says its answer"


def test_another_draw_of_a_workload_widens_the_interval(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"drive": DRIVE, "over": OVER, "seeds": 2, "requests": 6000, "space": "16MiB"}
    found = coflash.size("zipf", "waf_host<99", out=tmp_path / "one", **asked)
    (drawn,) = found.drawn
    (file,) = tmp_path.glob("one/*-seed1.parquet")
    assert [one.workload["inputs"][0]["file"] for one in drawn.runs] == [str(file)] * 2
    kept = replace(found, drawn=(), doubts=[Doubt(0.0)])
    goals, devices = found.tables()
    assert "another draw" in goals.below and "another draw" not in kept.tables()[0].below
    assert [row[0].text for row in devices.rows[:3]] == ["answer", "with another draw", "after another history"]
    number, again = found.answer.bounded[0].mean, drawn.bounded[0].mean
    assert number and again and number != again
    low, high = found.doubts[0].ends(found.answer.bounded[0])
    assert low <= again <= high and found.doubts[0].rounds >= abs(again / number - 1)
    # A bound between both is not met for sure.
    bound = (number + max(again, 2 * number - again)) / 2
    near = coflash.size("zipf", f"waf_host<{bound}", out=tmp_path / "one", **asked)
    assert near.is_met and not near.is_sure and "on the edge" in near.headline
    trace = coflash.size(str(file), "waf_host<99", drive=DRIVE, over=OVER, seeds=2, out=tmp_path / "two")
    assert trace.drawn == ()
