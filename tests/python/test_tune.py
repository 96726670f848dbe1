from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import coflash
from coflash import CoflashError
from coflash.results.subject import Subject
from coflash.sweep import plan, tune
from coflash.sweep.goal import condition, goals
from sweeps import SMALL

OVER = {"cache.size": "1MiB..16MiB", "cooperation.name": ["none", "cdm"]}


def test_tuning_finds_the_best_of_what_it_tried_and_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def run(scenario: coflash.Scenario, *rest: Any, **_: Any) -> coflash.Result:
        ran.append(scenario.hash)
        if len(ran) == 4:
            raise KeyboardInterrupt
        return coflash.run(scenario, *rest)

    monkeypatch.setattr(plan, "simulate", run)
    with pytest.raises(KeyboardInterrupt):
        coflash.tune(SMALL, OVER, minimise="waf_host", out=tmp_path, trials=12, on=1)
    before = len(coflash.results(tmp_path))
    assert before <= 3
    tuning = coflash.tune(SMALL, OVER, minimise="waf_host", out=tmp_path, trials=12, on=1)
    assert len(tuning.trials) == 12
    assert len(ran) <= 13
    assert tuning.goals[0].name == "waf_host"
    means = [trial.found.mean or 0.0 for trial in tuning.trials]
    assert means == sorted(means)
    assert tuning.best.found.mean == coflash.run(tuning.scenario).metrics.waf_host
    assert tuning.scenario.to_dict()["cache"]["size"] == tuning.best.values["cache.size"]
    assert coflash.results(tmp_path)[tuning.best.runs[0]].metrics.waf_host == tuning.best.found.mean
    # It is the same as a search that was never stopped.
    fresh = coflash.tune(SMALL, OVER, minimise="waf_host", out=tmp_path / "fresh", trials=12, on=1)
    assert fresh.trials == tuning.trials
    # Nothing is left to do.
    assert coflash.tune(SMALL, OVER, minimise="waf_host", out=tmp_path, trials=12).trials == tuning.trials


def test_a_search_of_an_earlier_revision_is_told_and_done_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def search(trials: int) -> Any:
        return coflash.tune(SMALL, OVER, minimise="waf_host", out=tmp_path, trials=trials, on=1, progress=True)

    with monkeypatch.context() as earlier:
        for module in (plan, tune):
            earlier.setattr(module, "REVISION", 0)
        search(3)
    assert "earlier revision" not in capsys.readouterr().err
    assert len(search(2).trials) == 2
    told = "a search of 3 trials is there from an earlier revision of results, and is done anew"
    assert told in capsys.readouterr().err
    assert len(search(3).trials) == 3
    assert "earlier revision" not in capsys.readouterr().err


def test_the_course_of_a_search_is_there_while_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "tune.json"
    seen: list[int] = []

    def run(scenario: coflash.Scenario, *rest: Any, **_: Any) -> coflash.Result:
        seen.append(len(json.loads(file.read_text("utf-8"))["trials"]) if file.exists() else 0)
        return coflash.run(scenario, *rest)

    monkeypatch.setattr(plan, "simulate", run)
    over = {"cache.size": "1MiB..16MiB:4KiB"}
    coflash.tune(SMALL, over, minimise="waf_host", out=tmp_path, trials=4, on=1)
    assert seen == [0, 1, 2, 3]
    study = Subject.read([tmp_path])
    assert study.search is not None and len(study.search["trials"]) == 4


def test_more_is_better_over_several_seeds(tmp_path: Path) -> None:
    over = {"cache.size": "1MiB..16MiB*4", "replay.time_scale": "0.5..2.0"}
    tuning = coflash.tune(SMALL, over, maximise="cache.hit_ratio", out=tmp_path, trials=6, seeds=2)
    means = [trial.found.mean or 0.0 for trial in tuning.trials]
    assert means == sorted(means, reverse=True)
    assert all(trial.found.runs == 2 for trial in tuning.trials)
    assert {trial.values["cache.size"] for trial in tuning.trials} <= {"1MiB", "4MiB", "16MiB"}


def test_trials_that_fail_are_counted_and_do_not_stop_the_search(tmp_path: Path) -> None:
    # The parameter is one of `cdm`; under `none` the scenario is invalid.
    over = {"cooperation.name": "none,cdm", "cooperation.removable_weight": "0.0..1.0"}
    tuning = coflash.tune(SMALL, over, minimise="response.mean", out=tmp_path, trials=8)
    assert tuning.failed >= 1
    assert len(tuning.trials) + tuning.failed == 8
    with pytest.raises(CoflashError, match="none of 3 trials"):
        coflash.tune(SMALL, {"ftl.spare.share": "1%..2%"}, minimise="waf_host", out=tmp_path, trials=3)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "a goal is needed, such as --minimise"),
        ({"minimise": ["waf_host", "waf_host"]}, "each measure is allowed once"),
        ({"minimise": "waf_hots"}, 'did you mean "waf_host"'),
        ({"minimise": "waf_host", "trials": 0}, "at least 1"),
        ({"minimise": "waf_host", "over": {}}, "at least one key"),
        ({"minimise": "waf_host", "over": {"cache.siz": "1MiB..2MiB"}}, 'did you mean "cache.size"'),
    ],
)
def test_what_cannot_be_used_is_said(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    with pytest.raises(CoflashError, match=message):
        coflash.tune(SMALL, out=tmp_path, **{"over": OVER, **given})


def test_a_search_stops_where_all_is_refused_for_one_reason_and_says_why_also_when_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def run(scenario: coflash.Scenario, *rest: Any, **_: Any) -> coflash.Result:
        ran.append(scenario.hash)
        return coflash.run(scenario, *rest)

    monkeypatch.setattr(plan, "simulate", run)
    # Each share exports another capacity, and all are too small: the numbers differ, the reason does not.
    large = SMALL.with_(workload__synthetic={"space": "1GiB"})
    for _ in range(2):
        with pytest.raises(CoflashError, match=r"after 10 that failed for the same reason: .*space.*1GiB"):
            coflash.tune(large, {"ftl.spare.share": "20%..40%"}, minimise="waf_host", out=tmp_path, trials=40, on=1)
    assert len(ran) == 10


def test_of_several_objectives_there_is_a_front_and_the_best_meets_the_conditions(tmp_path: Path) -> None:
    over = {"cache.size": "1MiB..16MiB", "cooperation.name": ["none", "cdm"]}
    tuning = coflash.tune(SMALL, over, minimise="waf_host", maximise="throughput.iops", out=tmp_path, trials=14, on=1)
    pairs = {
        trial.number: (trial.objectives[0].mean or 0.0, trial.objectives[1].mean or 0.0) for trial in tuning.trials
    }
    front = {trial.number for trial in tuning.front}
    unbeaten = set()
    for waf, iops in pairs.values():
        if not any(a <= waf and b >= iops and (a, b) != (waf, iops) for a, b in pairs.values()):
            unbeaten.add((waf, iops))
    assert {pairs[number] for number in front} == unbeaten
    assert len({tuple(trial.values.items()) for trial in tuning.front}) == len(front)
    assert [goal.name for goal in tuning.goals] == ["waf_host", "throughput.iops"]
    assert len(tuning.importance) == 2
    assert all(
        set(found) == set(over) and sum(found.values()) == pytest.approx(1, abs=1e-4) for found in tuning.importance
    )
    document = json.loads((tmp_path / "tune.json").read_text("utf-8"))
    assert {one["number"] for one in document["trials"] if one["front"]} == front

    middle = sorted(trial.found.mean or 0.0 for trial in tuning.trials)[7]
    bounded = coflash.tune(
        SMALL, over, maximise="waf_host", subject_to=f"waf_host<{middle}", out=tmp_path, trials=14, on=1
    )
    best = bounded.best.found.mean or 0.0
    assert bounded.best.is_allowed and best <= middle
    allowed = [trial.found.mean or 0.0 for trial in bounded.trials if trial.is_allowed]
    assert best == max(allowed) and len(allowed) < 14
    assert [trial.is_allowed for trial in bounded.trials] == sorted(
        (trial.is_allowed for trial in bounded.trials), reverse=True
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("response.p99=5ms", "MEASURE<VALUE"),
        ("response.p98<5ms", 'no measure "response.p98"'),
        ("response.p99<5MiB", "5MiB.*a time such as 5ms"),
        ("response.p99<5", "its unit is missing; for response.p99 a time such as 5ms is allowed"),
        ("cache.hit_ratio>90", "its unit is missing; for cache.hit_ratio a share such as 90% or 0.9 is allowed"),
        ("cache.size<5ms", "for cache.size a size such as 64MiB is allowed"),
        ("waf_host<low", "'low' was given"),
    ],
)
def test_a_condition_that_cannot_be_read_is_refused(text: str, message: str) -> None:
    with pytest.raises(CoflashError, match=message):
        condition(text)


def test_a_condition_is_a_bound_in_the_unit_of_its_metric() -> None:
    upper, lower = condition(" response.p99 <= 5ms"), condition("cache.hit_ratio>25%")
    assert (upper.text, upper.bound, upper.sign) == ("response.p99<5ms", 5e6, 1)
    assert upper.excess(4e6) == pytest.approx(-0.2) and upper.excess(1e7) == pytest.approx(1)
    assert lower.excess(0.2) == pytest.approx(0.2)


def test_a_key_or_a_cost_is_an_objective_and_a_bound(tmp_path: Path) -> None:
    over = {"cache.size": "1MiB..16MiB*2", "ftl.spare.share": "20%,40%"}
    cost = "cache.size*3 $/GiB + flash.size*0.08"
    bounds = ["waf_host<0.9", "cost<0.05"]
    tuning = coflash.tune(
        SMALL, over, minimise="cache.size", cost=cost, subject_to=bounds, out=tmp_path, trials=10, on=1
    )
    assert [goal.name for goal in tuning.goals] == ["cache.size", f"cost {cost}"]
    cheapest = tuning.trials[0]
    flash = 2**20 * {"20%": 100.0, "40%": 100.0}[cheapest.values["ftl.spare.share"]]
    cache = float(cheapest.values["cache.size"].removesuffix("MiB")) * 2**20
    assert cheapest.objectives[0].mean == cache
    assert cheapest.objectives[1].mean == pytest.approx((3 * cache + 0.08 * flash) / 2**30)
    for trial in tuning.document()["trials"]:
        assert [one["bound"] for one in trial["bounds"]] == bounds
        assert trial["bounds"][1]["value"] == pytest.approx(trial["found"][1]["mean"])
        assert trial["allowed"] == all(one["met"] for one in trial["bounds"])
        assert all(one["met"] == (one["value"] <= float(one["bound"].split("<")[1])) for one in trial["bounds"])
    assert Subject.read([tmp_path]).search is not None


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        ("cache.size", "'cache.size' was given; KEY"),
        ("cache.sise*3", 'no measure or key "cache.sise"; did you mean "cache.size"'),
        ("cache.size*3 $/ms", r"\$/ms was given; cache.size has a price in \$/GiB"),
        ("cache.size*3 $/apple", r"\$/apple was given"),
    ],
)
def test_a_wrong_cost_names_what_is_allowed(cost: str, message: str) -> None:
    with pytest.raises(CoflashError, match=message):
        goals(None, None, cost)


def test_no_point_is_tried_twice_and_the_search_ends_when_all_were(tmp_path: Path) -> None:
    over = {"cache.size": "1MiB,4MiB", "cooperation.name": "none,cdm"}
    tuning = coflash.tune(SMALL, over, minimise="waf_host", out=tmp_path, trials=30, on=1)
    points = [tuple(trial.values.items()) for trial in tuning.trials]
    assert len(points) == len(set(points)) == 4 and len(coflash.results(tmp_path)) == 4
    again = coflash.tune(SMALL, over, minimise="waf_host", out=tmp_path, trials=40, on=1)
    assert again.document()["trials"] == tuning.document()["trials"]
