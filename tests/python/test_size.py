from __future__ import annotations

import json
import random
import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import coflash
from coflash import CoflashError
from coflash.measures.measure import WAF_HOST
from coflash.quantity import parsed
from coflash.results import why
from coflash.results.estimate import Estimate
from coflash.sweep import sized
from coflash.sweep.answers import vary_of
from coflash.sweep.question import Question
from coflash.sweep.size import _Sizer
from processes import coflash as command
from sweeps import SMALL

DRIVE = SMALL.with_({"flash.channels": 2, "flash.chips_per_channel": 1, "flash.pages_per_block": 16})


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hot and cold writes of 4 KiB to 16 MiB, a millisecond apart."""
    rng, file = random.Random(1), tmp_path_factory.mktemp("trace") / "hot.csv"
    pages = (rng.randrange(400) if rng.random() < 0.8 else rng.randrange(4096) for _ in range(12_000))
    rows = (f"{at * 1_000_000},{'write' if at % 4 else 'read'},{page * 4096},4096\n" for at, page in enumerate(pages))
    file.write_text("ns,op,offset,size\n" + "".join(rows), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runs of several searches for a drive: what one has simulated, the others read."""
    return tmp_path_factory.mktemp("store")


def test_runs_whose_schemes_differ_in_a_parameter_explain_nothing_and_the_command_gives_all_the_same(
    tmp_path: Path,
) -> None:
    tuned = SMALL.with_({"cooperation": {"name": "cdm", "removable_weight": 0.5}, "workload.synthetic.requests": 2000})
    schemes = ("none", "cdm-overwrites", "cdm-removable", "cdm")
    apart = coflash.sweep(tuned, {"cooperation": schemes}, out=tmp_path / "apart")
    assert coflash.compare(*(apart.results[run] for run in apart.results)).whys() == []
    option, given = shlex.split(vary_of(tuned, schemes))
    assert option == "--vary" and '{ name = "cdm-removable", removable_weight = 0.5' in given
    key, _, values = given.partition("=")
    alike = coflash.sweep(tuned, {key: values}, out=tmp_path / "alike")
    assert len(coflash.compare(*(alike.results[run] for run in alike.results)).whys()) == 1
    assert vary_of(SMALL.with_(cooperation={"name": "cdm"}), schemes) == f"--vary cooperation={','.join(schemes)}"


def test_the_answer_is_the_cheapest_device_that_meets_the_goals(trace: Path, store: Path) -> None:
    found = coflash.size(trace, ["waf_host<1.0", "cost<1"], drive=DRIVE, out=store, seeds=2)
    assert found.answer.is_met
    assert (found.answer.bounded[0].mean or 9.0) <= 1.0
    assert found.binding is not None and found.binding.text == "waf_host<1.0"
    assert found.answer.point.values["cooperation.name"] if "cooperation" in str(found.answer) else True
    assert not found.steps["less cache"].is_met
    assert found.steps["more cache"].is_met and found.steps["more cache"].cost > found.answer.cost
    before = found.answer.point.jobs[0].scenario.to_dict()["precondition"]
    assert before["until_steady"] and before["through_caches"]
    assert any("Before the run its requests went through caches" in note for note in found.notes())
    goals, devices = found.tables()
    assert [row[0].text for row in goals.rows] == [goal.text for goal in found.goals]
    rows = {row[0].text: row for row in devices.rows}
    for name, one in found.steps.items():
        broken = [cell.text.endswith("✗") for cell in rows[name][4:]]
        assert broken == [excess > 0 for excess in one.excess], "each goal that a neighbour breaks is marked"
    # The parts of the difference between schemes add up, for each measure that was asked for.
    (reason,) = found.whys["waf_host"]
    assert sum(one.mean or 0.0 for one in reason.shares.values()) == pytest.approx(
        (reason.whole.mean or 0.0) - (reason.base.mean or 0.0)
    )
    first, second, how, rests, last = found.sentences
    assert first.startswith(str(found.answer)) and goals.below == "± is over 2 seeds and 4 rounds of the trace."
    assert second.startswith("waf_host<1.0 binds; from none (")
    assert re.search(r"from none \(a cache without cooperation\) to \S+ WAF, by host writes changes from ", second)
    assert "cache sizes to a page or a percent and spare space 7% … 56%" in how
    assert "exported" in rests and "rated for " in rests and "$/GiB" in rests and "assumed prices" in rests
    at, less = ((parsed(one.place[0]) or (0.0, ""))[0] for one in (found.answer, found.steps["less cache"]))
    assert at - less <= max(2**12, 0.06 * at), "no smaller cache is left to try"
    assert (
        "(open loop)" in last
        and "tails" in last
        and "“After another history” (uniform random writes" in last
        and "none was fitted" in last
    )
    assert found.draw("pdf").startswith(b"%PDF")
    # Its report opens with the answer and draws what was tried: cost against the goal, and the frontier.
    subject = found.subject
    assert (subject.answer, subject.question, subject.tables) == (first, second, (goals, devices))
    limits = [line for text in (last, rests, how) for line in text.split("\n- ")[1:]]
    assert subject.limits == tuple(limits)
    assert subject.search is not None
    chosen, *others = subject.search["trials"]
    assert chosen["values"] == found.answer.point.values and chosen["allowed"]
    assert f"of {1 + len(others)} devices tried" in first
    numbers = [tuple(one["mean"] for one in trial["found"]) for trial in subject.search["trials"]]
    assert numbers[0] == (found.answer.bounded[0].mean, found.answer.cost)
    for trial, (waf, cost) in zip(subject.search["trials"], numbers, strict=True):
        better = any(a <= waf and b <= cost and (a, b) != (waf, cost) for a, b in numbers)
        assert trial["front"] != better
    # It is a sweep: its runs are read as those of any other, and none is repeated.
    runs = set(coflash.results(store))
    assert {job.key for one in (found.answer, *found.steps.values()) for job in one.point.jobs} <= runs
    again = coflash.size(trace, ["waf_host<1.0", "cost<1"], drive=DRIVE, out=store, seeds=2)
    assert again.document() == found.document() and set(coflash.results(store)) == runs


def test_a_goal_out_of_reach_ends_in_the_nearest_device_and_status_1(
    trace: Path, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out = tmp_path / "drive.toml", store
    file.write_text(DRIVE.to_toml(), encoding="utf-8")
    done = command(
        "size", str(trace), "--goal", "response.p99<1ns", "--drive", str(file), "--seeds", "1", "-o", str(out)
    )
    assert done.returncode == 1, done.stderr
    assert "to a page" in done.stdout and "meets response.p99<1ns; the nearest is" in done.stdout
    assert (out / "why.pdf").is_file() and (out / "report.html").is_file()
    assert json.loads((out / sized.Sizing.DOCUMENT).read_text("utf-8"))["met"] is False
    assert '"target":"cdm"' in (out / "report.html").read_text("utf-8"), "the report begins with the answer's scheme"
    assert done.stdout.splitlines()[0].endswith(": the nearest to the goals, which no device tried meets.")
    assert "+0 ns" not in done.stdout and "growing queue" not in done.stdout
    monkeypatch.setattr(sized, "_BEHIND", -1.0)
    monkeypatch.setattr(why, "_NOTHING", -1.0)
    found = coflash.size(trace, "response.p99<1ns", drive=DRIVE, out=out, seeds=1)
    assert found.sentences[1].endswith("the device does not keep up with none, whose time is that of a growing queue.")
    assert " ns to " in found.sentences[1] and "ms" not in found.sentences[1], "times have the unit of the goal"


def test_a_device_that_cannot_keep_up_with_the_trace_is_driven_in_a_closed_loop(trace: Path, tmp_path: Path) -> None:
    slow = DRIVE.with_({"timing.page_program": "9ms"})
    found = coflash.size(trace, "waf_host<9", drive=slow, out=tmp_path, seeds=1)
    assert "closed loop): the device does not keep up" in found.how[1]
    assert "the trace's times are ignored" in found.sentences[4]


def test_where_more_makes_a_goal_worse_a_grid_is_run(trace: Path, store: Path) -> None:
    # A lower bound of what is written below the cache is a goal that a cache breaks.
    found = coflash.size(trace, "ftl_writes>8000", drive=DRIVE, out=store, seeds=1)
    assert found.answer.is_met
    assert "coarse grid" in found.how[2]


def test_a_scheme_that_won_is_explained_and_the_end_of_the_spare_space_that_was_tried_is_told(
    trace: Path, tmp_path: Path
) -> None:
    over = {"cooperation": ["none", {"name": "move-in", "removable_weight": 0.5}], "cache.size": "2MiB"}
    over["ftl.spare.share"] = "40%,56%"
    found = coflash.size(trace, "response.p99<1ms", drive=DRIVE, over=over, out=tmp_path, seeds=1)
    assert "move-in" in str(found.answer)
    (reason,) = found.whys["response_ns.all.p99"]
    assert (reason.before, reason.after) == ("none", "move-in")
    own = found.variants["move-in"][0]
    assert own.scenario.to_dict()["cooperation"] == found.scenario.to_dict()["cooperation"]
    assert reason.whole.mean == own.metrics.response_ns.all.p99
    assert sum(one.mean or 0.0 for one in reason.shares.values()) == pytest.approx(
        (reason.whole.mean or 0.0) - (reason.base.mean or 0.0)
    )
    assert found.subject.target == "move-in"
    second = found.sentences[1]
    assert "; no less spare space than 40% was tried: --over ftl.spare.share=40%,28%,20% tries it; " in second
    assert "to move-in response, p99 changes from" in second and "to cdm " not in second


def test_given_caches_and_spare_shares_replace_those_that_would_be_tried(trace: Path, store: Path) -> None:
    over = {"cache.size": "1024KiB,512KiB,1MiB,3MiB", "ftl.spare.share": ["0.1", "20%"]}
    found = coflash.size(trace, "waf_host<1.5", drive=DRIVE, over=over, out=store, seeds=1)
    devices = [found.answer, *found.steps.values()]
    assert {one.place[0] for one in devices} <= {"512KiB", "1MiB", "3MiB"}
    assert {dict(one.place[1])["ftl.spare.share"] for one in devices} <= {"10%", "20%"}
    with pytest.raises(CoflashError, match="cache"):
        coflash.size(trace, "waf_host<1.5", drive=DRIVE, over={"cache.size": "1s"}, out=store, seeds=1)


def test_a_neighbour_that_meets_the_goals_over_all_seeds_for_less_is_the_answer(trace: Path, store: Path) -> None:
    over: dict[str, Any] = {"cache.size": "1MiB,2MiB", "ftl.spare.share": ["20%"], "cooperation": ["none"]}
    smaller = coflash.size(trace, "waf_host<99", drive=DRIVE, over=over, out=store, seeds=3).answer
    first, mean = (WAF_HOST.read(smaller.runs[0].metrics) or 0.0), (smaller.bounded[0].mean or 0.0)
    assert smaller.place[0] == "1MiB" and first > mean, "the search, whose seed is 1, finds it worse than it is"
    found = coflash.size(trace, f"waf_host<{(first + mean) / 2}", drive=DRIVE, over=over, out=store, seeds=3)
    assert found.answer.is_met and found.answer.place == smaller.place
    assert set(found.steps) == {"more cache"}
    assert " the cheapest of 2 devices tried" in found.sentences[0]


def test_the_way_to_a_cheaper_neighbour_takes_larger_steps_each_time() -> None:
    def device(place: tuple[str, Any]) -> Any:
        share = int(place[1][0][1].removesuffix("%"))
        return SimpleNamespace(place=place, spare=f"{share}%", cost=share, is_met=share >= 9)

    walk, asked = object.__new__(_Sizer), list[Any]()
    walk.sizes, walk.spares, walk.seeds = ["0B"], [f"{share}%" for share in range(7, 57)], 3
    walk.question = cast(Question, SimpleNamespace(pace=SimpleNamespace(runs=0)))

    def named(places: dict[str, Any]) -> dict[str, Any]:
        asked.extend(places.values())
        return {name: device(place) for name, place in places.items()}

    walk._named = named  # type: ignore[method-assign,assignment]
    best, steps = walk._steps(device(("0B", ((sized.SPARE, "40%"),))))
    assert best.spare == "9%" and {one.spare for one in steps.values()} == {"8%", "10%"}
    assert len(asked) <= 14, "a percent at a time it takes 33"
    assert walk.question.pace.runs > 0, "the time left counts them"


def test_a_trace_too_small_for_a_drive_ends_with_the_keys_that_make_it_fit(tmp_path: Path) -> None:
    file = tmp_path / "small.csv"
    rows = "".join(f"{at * 50_000},write,{at * 37 % 500 * 4096},4096\n" for at in range(3000))
    file.write_text(f"ns,op,offset,size\n{rows}", "utf-8")
    asked = ("size", str(file), "--goal", "waf_host<2", "--seeds", "1", "-o", str(tmp_path / "out"))
    said = command(*asked)
    assert (said.returncode, said.stdout, len(said.stderr.splitlines())) == (2, "", 1), "nothing was run"
    assert said.stderr.startswith("error: size: the trace touches 1.95 MiB, too little for a device with the parts of ")
    sets = said.stderr.split("smaller parts make it fit: add ")[1].split()
    assert command(*asked, *sets).returncode in (0, 1, 3)
    file.write_text("ns,op,offset,size\n0,write,0,4096\n", "utf-8")
    assert "a longer trace" in command(*asked).stderr


def test_a_choice_that_no_device_takes_is_refused_as_what_it_is_and_an_option_that_is_a_measure_as_a_goal(
    trace: Path, tmp_path: Path
) -> None:
    for key, value, wrong in (("gc.victm", "greedy", "no such key"), ("gc.victim", "gredy", '"gredy" is not known')):
        with pytest.raises(CoflashError, match=rf"^size: {key}: {wrong}; did you mean "):
            coflash.size(trace, "waf_host<9", drive=DRIVE, over={key: value}, out=tmp_path)
    for option, goal in (("--dwpd", "--goal 'dwpd>VALUE'"), ("--waf-host", "--goal 'waf_host<VALUE'")):
        said = command("size", str(trace), option, "1").stderr
        assert said == f"error: {option}: is no option of this command; a bound is a goal: {goal}\n"
    assert "a bound is a goal" not in command("size", str(trace), "--nosuch", "1").stderr


def test_a_trace_too_small_for_a_named_drive_is_told_the_goal_that_grows_it_and_money_has_no_exponent(
    trace: Path, tmp_path: Path
) -> None:
    drive = DRIVE.with_({"name": "large", "flash.pages_per_block": 1024})
    with pytest.raises(CoflashError, match=r"; --goal 'capacity>15\.36TB' grows it to a drive "):
        coflash.size(trace, "waf_host<9", drive=drive, out=tmp_path, seeds=1)
    with pytest.raises(CoflashError, match="smaller parts make it fit: "):
        coflash.size(trace, ["waf_host<9", "tbw>1TB"], drive=drive, out=tmp_path, seeds=1)
    costs = (1510.62, 2.314, 0.0000114, 0, 999.9)
    assert [sized.priced(one) for one in costs] == ["$1,510", "$2.31", "$0.0000114", "$0.00", "$1,000"]


@pytest.mark.parametrize(
    ("goals", "cost", "message"),
    [
        ([], sized.PRICES, "a goal that bounds a measure is needed"),
        (["waf_host<2"], "waf_host*3", "a sum of keys alone is allowed"),
    ],
)
def test_what_cannot_be_sized_says_what_is_needed(goals: list[str], cost: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(CoflashError, match=message):
        coflash.size("none.csv", goals, cost=cost, out=tmp_path)


def test_runs_of_a_sweep_share_a_device_that_the_trace_warms_up(trace: Path, tmp_path: Path) -> None:
    scenario = DRIVE.with_({"precondition.until_steady": True, "workload.remap": "dense", "flash.exported": "16MiB"})
    swept = coflash.sweep(scenario, {"cache.size": ["1MiB", "2MiB"]}, trace, out=tmp_path)
    assert not swept.failures and swept.warming.runs == 1


def test_a_workload_takes_the_place_of_a_trace(tmp_path: Path) -> None:
    found = coflash.size("jesd219", "waf_host<9", drive=DRIVE, out=tmp_path, requests=4000, space="32MiB", seeds=1)
    file = tmp_path / "jesd219-enterprise-4000-32MiB.parquet"
    assert found.how[0] == f"Generated 4,000 requests of jesd219-enterprise over 32MiB, seed 0, into {file}."
    assert found.how[1].startswith("Read as parquet, 4,000 requests, ")
    with pytest.raises(CoflashError, match=r"^nosuch: no such file; as a workload: no workload"):
        coflash.size("nosuch", "waf_host<9", drive=DRIVE, out=tmp_path)
    with pytest.raises(CoflashError, match="a trace has its own"):
        coflash.size(file, "waf_host<9", drive=DRIVE, out=tmp_path, requests=5)


def test_a_flash_cache_before_disks_is_sized_at_the_times_of_a_trace_that_comes_twice(tmp_path: Path) -> None:
    tier: dict[str, Any] = {"drive": "opfcl-config1", "requests": 8000, "space": "256MiB", "seeds": 1, "out": tmp_path}
    found = coflash.size("oltp-like", "response.mean<20ms", **tier)
    assert "Requests come at the times of the trace (open loop)." in found.how
    # The reasons are of what was asked for, though no goal binds.
    assert found.binding is None and found.sentences[1].startswith(
        "No goal binds: no smaller device was tried; from fp-fcl"
    )
    assert "from rw-fcl to op-fcl response, mean changes from " in found.sentences[1]


def test_the_reasons_of_a_device_without_a_cache_name_the_cache_that_they_are_of(trace: Path, store: Path) -> None:
    found = coflash.size(trace, "waf_host<99", drive=DRIVE, out=store, seeds=1)
    assert str(found.answer).startswith("no cache")
    assert re.search(r"; with \d\S+ [MK]iB of cache, which this device has not, from none ", found.sentences[1])


def test_an_answer_that_another_round_of_the_trace_changes_is_not_sure_and_the_command_that_would_tell_is(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = {"cache.size": "4MiB", "ftl.spare.share": "28%", "cooperation": ["none"]}
    asked: dict[str, Any] = {"drive": DRIVE, "over": over, "seeds": 1}
    sure = coflash.size(trace, "waf_host<9", **asked, out=tmp_path / "sure")
    told = "within the goals for this trace, with all seeds and rounds, and the cheapest that was tried."
    assert sure.headline == f"{sure.answer} ({sized.priced(sure.answer.cost)}): {told}"
    assert all(one.rstrip(".") in sure.sentences[2] for one in sure.how)
    assert not sure.longer and sure.document()["sure"] and sure.sentences[0].startswith("4 MiB cache")
    # The interval has what the same device does over four rounds.
    number, (first, later) = sure.answer.bounded[0], (one.bounded[0].mean for one in sure.later)
    assert first == number.mean and first and later and abs(later / first - 1) < 0.05
    asked["seeds"] = 2
    both = coflash.size(trace, "waf_host<9", **asked, out=tmp_path / "sure")
    assert [len(one.runs) for one in both.later] == [2, 2], "one seed may drift where another does not"
    monkeypatch.setattr(Question, "warmed", lambda question: question)
    cold = coflash.size(trace, "waf_host<9", **asked, out=tmp_path / "cold")
    assert cold.sentences[0].startswith("No sure answer: over 4 rounds of the trace WAF, by host writes goes from ")
    assert (
        "; the same command with --set workload.repeat=4 would tell. As far as one round tells, " in cold.sentences[0]
    )
    assert cold.longer == "--set workload.repeat=4" and not cold.document()["sure"]


def test_two_goals_may_bind_and_prices_are_of_a_cell(trace: Path, store: Path) -> None:
    assert "flash.size*0.24 $/GiB" in sized.prices(DRIVE)
    assert "flash.size*0.06 $/GiB" in sized.prices(DRIVE.with_({"flash.cell": "qlc"}))
    over = {"cache.size": "512KiB,1MiB,2MiB", "ftl.spare.share": "14%,28%,40%", "cooperation": ["none"]}
    found = coflash.size(trace, ["waf_host<1.3", "cost<0.0138"], drive=DRIVE, over=over, out=store, seeds=2)
    for name, one in found.steps.items():
        (row,) = (row for row in found.tables()[1].rows if row[0].text == name)
        assert any("✗" in cell.text for cell in row) == (not one.is_met), row
    less, more = (replace(found.answer, excess=excess) for excess in ((0.1, -0.1), (-0.1, 0.1)))
    both = replace(found, steps={"less cache": less, "more cache": more}).sentences[1]
    assert "; waf_host<1.3 and cost<0.0138 bind against each other" in both or not found.is_met


def test_another_scheme_is_a_choice_and_one_whose_parts_cannot_be_had_is_told(trace: Path, store: Path) -> None:
    found = coflash.size(trace, "waf_host<0.9", drive=DRIVE, out=store, seeds=1)
    # Five schemes, and four beside each of four orders of eviction.
    assert any("21 other schemes or orders of eviction had to do on a cheaper" in one for one in found.how)
    page = (Path(__file__).parents[2] / "docs/sizing.md").read_text("utf-8")
    assert re.findall(r"(\d+) other schemes", page) == ["21", "21"], "the page has the answers of this version"
    rests, *_ = re.findall(r"^The answer rests on.*?\n(?=The numbers)", page, re.MULTILINE | re.DOTALL)
    here, _, _ = found.sentences[3].partition("\n- spare space in whole blocks")
    plain, here = (re.sub(r"[\d.,]+ [GM]iB|[\d.]+ (?=dies|channel|days|years)", "#", text) for text in (rests, here))
    assert " ".join(plain.split()) == " ".join(here.split())
    own = coflash.size(trace, "waf_host<0.9", drive=DRIVE, over={"cooperation": ["none"]}, out=store, seeds=1)
    assert found.answer.is_met and own.answer.is_met and found.answer.cost <= own.answer.cost
    assert "other scheme" not in own.how[2]


def test_devices_that_cannot_be_made_are_no_choice_and_what_would_make_some_is_said(
    trace: Path, tmp_path: Path
) -> None:
    drive = DRIVE.with_({"gc.low_mark": 24})
    found = coflash.size(trace, "waf_host<1.2", drive=drive, out=tmp_path, seeds=1)
    how = found.sentences[2]
    least = re.search(r"No device could be made with 7% … (\d+)% of spare space: .*too small.*gc\.low_mark=1", how)
    assert least and f"spare space {found.answer.spare.rstrip('%')}" not in f"spare space {least[1]}"
    (first,) = re.findall(r"and spare space (\d+)%[^:]* of what is exported", how)
    assert int(first) > int(least[1]), "shares of no device were not tried"
    assert len(list(coflash.results(tmp_path))) > 12, "the devices that can be made are searched, not the others"
    assert "no less spare space" not in found.sentences[1]


def test_an_answer_without_a_cache_has_no_order_of_eviction_and_one_near_its_bound_is_not_sure(
    trace: Path, store: Path
) -> None:
    over = {"cache.policy": ["w-tinylfu"], "ftl.spare.share": "28%", "cache.size": "0B,1MiB"}
    found = coflash.size(trace, "waf_host<99", drive=DRIVE, over=over, out=store, seeds=1)
    assert str(found.answer) == "no cache, 28% spare space" and found.sentences[0].startswith("No cache, ")
    assert found.document()["sure"] and not any("cache.policy" in note for note in found.notes())
    number = found.answer.bounded[0].mean or 0.0
    near = coflash.size(trace, f"waf_host<{1.0001 * number:.5f}", drive=DRIVE, over=over, out=store, seeds=1)
    assert not near.document()["sure"] and ": on the edge of waf_host<" in near.headline
    assert near.tables()[0].below.startswith("± is over 1 seed and 4 rounds")


def test_a_margin_holds_the_goals_under_more_rate_data_and_writes(trace: Path, tmp_path: Path) -> None:
    over = {"cache.size": "1MiB", "ftl.spare.share": ["10%", "28%"]}
    goal = ["waf_host<9", "dwpd>3"]
    plain = coflash.size(trace, goal, drive=DRIVE, over=over, out=tmp_path / "plain", seeds=1)
    held = coflash.size(trace, [*goal, "margin > 20 %"], drive=DRIVE, over=over, out=tmp_path / "held", seeds=1)
    exported = [one.answer.runs[0].workload["logical_bytes"] for one in (plain, held)]
    assert exported[1] / exported[0] == pytest.approx(1.2, rel=0.02)
    missing = exported[1] // 4096 - held.answer.runs[0].metrics.mapped_pages
    assert missing <= 256, "the device holds that much more, but for what the cache alone has"
    assert held.scenario.to_dict()["replay"]["time_scale"] == pytest.approx(1 / 1.2)
    assert [goal.bound for goal in held.goals] == [9.0, pytest.approx(3.6)]
    assert held.goals[1].text == "endurance.drive_writes_per_day>3 (with the margin >3.6)"
    assert any("Held under 20.0\u00a0% more of each: the rate" in how for how in held.how)
    assert not any("Held" in how for how in plain.how)


def test_a_life_in_years_needs_the_rate_of_a_host(trace: Path, tmp_path: Path) -> None:
    timeless = tmp_path / "timeless.csv"
    rows = trace.read_text("utf-8").splitlines()[1:]
    timeless.write_text(
        "ns,op,offset,size\n" + "".join(f"0,{row.partition(',')[2]}\n" for row in rows), encoding="utf-8"
    )
    with pytest.raises(CoflashError, match=r"life in years .* \(closed loop\): .*dwpd"):
        coflash.size(timeless, "years>5", drive=DRIVE, out=tmp_path / "out", seeds=1)


def test_a_job_file_is_sized_by_what_its_jobs_send_to_the_drive(tmp_path: Path) -> None:
    job, out = tmp_path / "job.fio", tmp_path / "out"
    job.write_text("[j]\nrw=randwrite\nbs=4k\nsize=4m\nio_size=12m\nnorandommap=1\niodepth=4\n")
    over = {"ftl.spare.share": "28%,40%", "cache.size": "0B,256KiB", "cooperation": ["none"]}
    found = coflash.size(job, "waf_host<4", drive=DRIVE, over=over, out=out, seeds=1)
    assert found.how[0].startswith(f"3,072 requests of {job}, as its jobs send them to the drive as it stands, into ")
    sent = found.answer.runs[0].metrics
    assert sent.host_writes_pages == 3072 and (sent.waf_host or 0) > 1
    job.write_text("[j]\nrw=randwrite\nbs=4k\nsize=1t\n")
    with pytest.raises(CoflashError, match=r"job\.fio:1: \[j\]: size: it is 1TiB"):
        coflash.size(job, "waf_host<4", drive=DRIVE, out=tmp_path / "none")
    assert not (tmp_path / "none").exists(), "a job that does not fit leaves no folder"
    with pytest.raises(CoflashError, match=r"beside .*job\.fio neither another trace nor a space"):
        coflash.size([str(job), str(job)], "waf_host<4", drive=DRIVE, out=out)


def test_a_device_whose_caches_take_every_write_meets_a_goal_of_wear_and_the_answer_says_that_it_tells_nothing(
    trace: Path, store: Path
) -> None:
    over = {"cache.size": "64KiB,1MiB,8MiB", "ftl.spare.share": "28%", "cooperation": ["none"]}
    found = coflash.size(trace, ["waf_host<0.2", "years>5"], drive=DRIVE, over=over, out=store, seeds=2)
    assert found.is_met and found.answer.place[0] == "8MiB"
    first, second = found.sentences[:2]
    assert first.startswith("No sure answer: The caches took every write: ")
    goals, devices = found.tables()
    assert [row[-1].text for row in goals.rows] == ["within", "no end: no page of flash was written"]
    assert "set aside" not in first and " – " not in first + second
    assert not found.document()["sure"] and not found.longer and found.inside is None
    assert found.headline.endswith("): no sure answer.")
    (less,) = (row for row in devices.rows if row[0].text == "less cache")
    assert all(cell.text.endswith("✗") for cell in less[4:]) and len(less) == 6
    assert "against each other" not in second, "one step breaks both goals"
    assert found.subject.search is not None and found.draw("pdf").startswith(b"%PDF")


def test_a_number_that_no_run_has_sets_devices_aside_and_the_cheapest_of_equals_is_the_nearest(
    tmp_path: Path,
) -> None:
    file = tmp_path / "writes.csv"
    rows = "".join(f"{at * 1_000_000},write,{at * 37 % 4096 * 4096},4096\n" for at in range(3000))
    file.write_text(f"ns,op,offset,size\n{rows}", "utf-8")
    over = {"cache.size": "1MiB,2MiB", "ftl.spare.share": "28%,40%", "cooperation": ["none"]}
    asked: dict[str, Any] = {"drive": DRIVE, "over": over, "out": tmp_path / "out", "seeds": 1}
    with pytest.raises(CoflashError, match=r"^size: response\.read\.p99<1ms .* such as response\.write\.p99<1ms$"):
        coflash.size(file, "response.read.p99<1ms", **asked)
    found = coflash.size(file, "hybrid.read_hit_ratio>90%", **asked)
    first = found.sentences[0]
    assert first.startswith("No sure answer: no device of 4 devices tried") and "no wear" not in found.sentences[1]
    assert found.is_met and not found.is_sure and not found.document()["met"], "the exit status is 3"
    assert found.headline.endswith(": no sure answer, since a goal cannot be judged.")
    assert found.tables()[0].rows[0][-1].text == "no run has a number, so that it cannot be judged"
    assert "; 4 set aside, of which no run has a number for " in first
    assert "; 4 break the goals equally, and this is the cheapest of them" in first
    assert str(found.answer).startswith("1 MiB cache (none, lru), 28%") and not found.answer.is_met
    assert "inf" not in first


def test_of_schemes_that_do_on_a_cheaper_device_the_one_that_does_at_the_least_cost_is_the_answer(
    trace: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    least = {"cflru": 900, "w-tinylfu": 20, "s3-fifo": 30}

    def estimates(goals: Any, by_seed: Any, scenario: coflash.Scenario) -> list[Estimate]:
        cache = scenario.to_dict()["cache"]
        pages, policy = (parsed(cache["size"]) or (0.0, ""))[0] / 4096, cache["policy"]["name"]
        # What does best on a device that is 5 % cheaper, does on none that is much cheaper.
        enough = 0.01 if policy == "cflru" else 1.5
        waf = enough if pages >= least.get(policy, 1000) else 2.5
        return [Estimate(4096 * pages if goal.is_limit else waf, None, len(by_seed)) for goal in goals]

    def others(_: Any) -> list[tuple[tuple[str, str], ...]]:
        return [(("cooperation.name", "none"), ("cache.policy", policy)) for policy in least]

    sizes = ",".join(f"{4 * at}KiB" for at in (0, 10, 20, 30, 50, 200, 400, 700, 900, 960, 1000, 2000))
    over = {"ftl.spare.share": "28%", "cache.size": sizes}
    monkeypatch.setattr(sys.modules["coflash.sweep.size"], "estimates", estimates)
    monkeypatch.setattr(_Sizer, "_other_choices", others)
    free = coflash.size(trace, "waf_host<2", drive=DRIVE, over=over, out=store, seeds=1)
    assert str(free.answer).startswith("80 KiB cache") and "w-tinylfu" in str(free.answer)
    unworn = replace(free.answer, is_worn=False, excess=(-1.0,))
    assert unworn.rank > free.answer.rank, "a device whose caches take every write tells nothing"
    bounded = coflash.size(trace, ["waf_host<2", "cache.size<3MiB"], drive=DRIVE, over=over, out=store, seeds=1)
    assert bounded.answer.place == free.answer.place, "a bound lowers no cost"
    assert list(bounded._judged(1))[1] == "80 KiB", "a key is given, and has no interval"
    assert "that may be up to " in free.how[-1] or "untried" not in free.sentences[0]


def test_where_more_cache_is_worse_the_search_goes_below_and_the_answer_says_so(
    trace: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def estimates(_: Any, by_seed: Any, scenario: coflash.Scenario) -> list[Estimate]:
        pages = (parsed(scenario.to_dict()["cache"]["size"]) or (0.0, ""))[0] / 4096
        return [Estimate(2.2 if not pages else 1.5 if pages < 20 else 2.5 if pages < 900 else 1.9, None, len(by_seed))]

    over = {"ftl.spare.share": "28%", "cooperation": ["none"]}
    over |= {"cache.size": ",".join(f"{4 * at}KiB" for at in (0, 1, 5, 10, 25, 30, 70, 100, 200, 400, 1000, 2000))}
    plain = coflash.size(trace, "waf_host<2.6", drive=DRIVE, over=over, out=store, seeds=1)
    assert "more cache" not in plain.sentences[0], "what breaks no goal is no matter"
    monkeypatch.setattr(sys.modules["coflash.sweep.size"], "estimates", estimates)
    found = coflash.size(trace, "waf_host<2", drive=DRIVE, over=over, out=store, seeds=1)
    assert found.answer.place[0] == "4KiB", "the least of those below that are enough"
    assert re.search(
        r"; more cache does not always help here: \S+ KiB cache \(none, lru\), 28% spare space.* has WAF, by "
        r"host writes 1\.500, .* 2\.500, so that a cheaper device may be left untried\.$",
        found.sentences[0],
    )
    assert "a coarse grid of cheaper devices ran, too" in found.how[-1]
    assert "untried" not in found.how[-1], "what is left is not known"


def test_a_search_that_is_stopped_says_which_device_is_the_best_so_far(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran, left = Question.ran, [5]

    def some(question: Question, points: Any) -> Any:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return ran(question, points)

    monkeypatch.setattr(Question, "ran", some)
    with pytest.raises(KeyboardInterrupt):
        coflash.size(trace, "waf_host<1.1", drive=DRIVE, out=tmp_path, seeds=1, progress=True)
    best = r"best so far, of \d devices tried: .* cache \(cdm, lru\), .* spare space \(\$[\d.e-]+\): WAF, by host "
    assert re.search(best + r"writes \d\.\d+ with", capsys.readouterr().err)
    left[0] = 2
    with pytest.raises(KeyboardInterrupt):
        coflash.size(trace, "response.p99<1ns", drive=DRIVE, out=tmp_path, seeds=1, progress=True)
    said = capsys.readouterr().err
    assert re.search(r"none of \d devices? tried so far meets the goals; the nearest is ", said)
    assert re.search("(is|are) there from before", said), "a search that is resumed shows that it goes on"
    left[0] = 0
    with pytest.raises(KeyboardInterrupt):
        coflash.size(trace, "waf_host<1.1", drive=DRIVE, out=tmp_path, seeds=1, progress=True)
    assert "no device was tried yet" in capsys.readouterr().err


def test_a_workload_that_is_none_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(CoflashError, match="no workload"):
        coflash.size("nosuch", "waf_host<2", drive=DRIVE, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_channels_of_the_answer_are_told(trace: Path, store: Path) -> None:
    over = {"cache.size": "1MiB", "ftl.spare.share": "28%", "cooperation": ["none"]}
    found = coflash.size(trace, "waf_host<9", drive=DRIVE, over=over, out=store, seeds=1)
    dies, channels = DRIVE.sizes()[0], DRIVE.to_dict()["flash"]["channels"]
    assert f" exported, {dies} dies on {channels} channels of SLC flash" in found.sentences[3]
    assert "a goal without times may take others\n- at the rate of the trace these erases last " in found.sentences[3]
    with pytest.raises(CoflashError, match=r"^cache\.size: 17MiB is 4352 pages, more than "):
        coflash.size(trace, "waf_host<9", drive=DRIVE, over=over | {"cache.size": "17MiB"}, out=store, seeds=1)


def test_a_drive_whose_own_cache_would_evict_whole_units_is_sized_with_one_in_the_host(
    trace: Path, tmp_path: Path
) -> None:
    drive = DRIVE.with_({"ftl.indirection_unit": "8KiB", "cache.size": "0B"})
    over = {"ftl.spare.share": "28%,40%", "cooperation": ["none"]}
    found = coflash.size(trace, "waf_host<99", drive=drive, over=over, out=tmp_path, seeds=1)
    first, second, how, *_ = found.sentences
    assert first.startswith("No cache, 28% spare space") and "Searched caches in the host, to a page or" in how
    assert " MiB (whole units of 8 KiB) touched" in found.how[0]
    waf = found.answer.runs[0].metrics
    units = rf"; units of 8 KiB take ×2\.0 of the WAF, .* and GC ×{waf.waf_ftl:.2f}\.$"
    assert re.search(units, second) and waf.waf_host == pytest.approx(2 * (waf.waf_ftl or 0.0)), (
        "a write of 4 KiB is half a unit"
    )
    over = {**over, "cache.size": "1MiB"}
    host = coflash.size(trace, "waf_host<1", drive=drive, over=over, out=tmp_path, seeds=1)
    (run,) = host.answer.runs
    assert str(host.answer).startswith("1 MiB cache") and run.metrics.cache.capacity_pages == 256
    before = run.scenario.to_dict()["precondition"]
    assert run.scenario.to_dict()["cache"]["placement"] == "host" and before["through_caches"]
    assert "through caches and buffers in " in " ".join(run.notes) and "which is empty when" not in " ".join(run.notes)


def test_a_bound_of_the_cost_is_a_limit_of_the_search_and_no_goal_that_a_larger_device_meets(
    trace: Path, store: Path
) -> None:
    over = {"cache.size": "512KiB,1MiB,2MiB,4MiB", "ftl.spare.share": "14%,28%,40%", "cooperation": ["none"]}
    asked: dict[str, Any] = {"drive": DRIVE, "over": over, "seeds": 1, "out": store}
    free = coflash.size(trace, "waf_host<1.2", **asked)
    assert free.is_met and max(one.cost for one in free.devices) > 1.2 * free.answer.cost
    found = coflash.size(trace, ["waf_host<1.2", f"cost<{1.2 * free.answer.cost}"], **asked)
    assert found.answer.place == free.answer.place, found.sentences[0]
    short = coflash.size(trace, ["waf_host<1.2", f"cost<{0.9 * free.answer.cost}"], **asked)
    assert not short.is_met and [goal.text for goal in short._broken(short.answer)] == ["waf_host<1.2"]
    with pytest.raises(CoflashError, match=r"none that is tried is within cost<0\.000001"):
        coflash.size(trace, ["waf_host<1.2", "cost<0.000001"], **asked)
