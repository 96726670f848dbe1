from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import coflash
from coflash import CoflashError
from coflash.sweep import plan
from sweeps import SMALL

OVER = {"cache.size": "1MiB..16MiB", "cooperation.name": ["none", "cdm"]}


def test_tuning_finds_the_best_of_what_it_tried_and_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def run(scenario: coflash.Scenario, *rest: Any) -> coflash.Result:
        ran.append(scenario.hash)
        if len(ran) == 4:
            raise KeyboardInterrupt
        return coflash.run(scenario, *rest)

    monkeypatch.setattr(plan, "run", run)
    with pytest.raises(KeyboardInterrupt):
        coflash.tune(SMALL, OVER, minimise="waf_host", out=tmp_path, trials=12, workers=1)
    before = len(coflash.results(tmp_path))
    assert before <= 3
    tuning = coflash.tune(SMALL, OVER, minimise="waf_host", out=tmp_path, trials=12, workers=1)
    assert len(tuning.trials) == 12
    assert len(ran) <= 13
    assert tuning.objective == "waf_host"
    means = [trial.found.mean or 0.0 for trial in tuning.trials]
    assert means == sorted(means)
    assert tuning.best.found.mean == coflash.run(tuning.scenario).metrics.waf_host
    assert tuning.scenario.to_dict()["cache"]["size"] == tuning.best.values["cache.size"]
    assert coflash.results(tmp_path)[tuning.best.runs[0]].metrics.waf_host == tuning.best.found.mean
    # It took the course of a search that was never stopped.
    fresh = coflash.tune(SMALL, OVER, minimise="waf_host", out=tmp_path / "fresh", trials=12, workers=1)
    assert fresh.trials == tuning.trials
    # Nothing is left to do.
    assert coflash.tune(SMALL, OVER, minimise="waf_host", out=tmp_path, trials=12).trials == tuning.trials


def test_more_is_better_over_several_seeds(tmp_path: Path) -> None:
    over = {"cache.size": "1MiB..16MiB*4", "replay.time_scale": "0.5..2.0"}
    tuning = coflash.tune(SMALL, over, maximise="cache.hit_ratio", out=tmp_path, trials=6, seeds=2)
    means = [trial.found.mean or 0.0 for trial in tuning.trials]
    assert means == sorted(means, reverse=True)
    assert all(trial.found.runs == 2 for trial in tuning.trials)
    assert {trial.values["cache.size"] for trial in tuning.trials} <= {"1MiB", "4MiB", "16MiB"}


def test_trials_that_fail_are_counted_and_do_not_stop_the_search(tmp_path: Path) -> None:
    # The parameter is one of cdm; with none there is no such scenario.
    over = {"cooperation.name": "none,cdm", "cooperation.removable_weight": "0.0..1.0"}
    tuning = coflash.tune(SMALL, over, minimise="response.mean", out=tmp_path, trials=8)
    assert tuning.failed >= 1
    assert len(tuning.trials) + tuning.failed == 8
    with pytest.raises(CoflashError, match="none of 3 trials"):
        coflash.tune(SMALL, {"ftl.spare.share": "1%..2%"}, minimise="waf_host", out=tmp_path, trials=3)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "one of them"),
        ({"minimise": "waf_host", "maximise": "waf_ftl"}, "one of them"),
        ({"minimise": "waf_hots"}, 'did you mean "waf_host"'),
        ({"minimise": "waf_host", "trials": 0}, "at least 1"),
        ({"minimise": "waf_host", "over": {}}, "at least one key"),
    ],
)
def test_what_cannot_be_used_is_said(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    with pytest.raises(CoflashError, match=message):
        coflash.tune(SMALL, out=tmp_path, **{"over": OVER, **given})
