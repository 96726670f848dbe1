"""Checkpoints: a run that was interrupted goes on, and gives what it would have given."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import coflash
from coflash.demo import find_trace
from coflash.results.store import store_at
from coflash.runs.checkpoint import Checkpoint
from coflash.runs.run import simulate
from coflash.sweep import plan
from coflash.sweep.devices import Devices
from processes import process

LONG = [
    "flash.channels=2",
    "flash.blocks_per_plane=64",
    "flash.pages_per_block=32",
    "cache.size=1MiB",
    "cooperation=cdm",
    "workload.synthetic.requests=400000",
]


class StoppedError(Exception):
    """The interruption of a test."""


def small(**changes: object) -> coflash.Scenario:
    pairs = [tuple(one.split("=")) for one in LONG]
    return coflash.Scenario.from_toml("").set(pairs).with_(changes)  # type: ignore[arg-type]


def interrupted(scenario: coflash.Scenario, kept: Checkpoint) -> None:
    """Run until there is a checkpoint, and stop."""

    def stop(*_: object) -> None:
        if kept.file.exists():
            raise StoppedError

    with pytest.raises(StoppedError):
        simulate(scenario, progress=stop, checkpoint=kept)


def test_a_run_goes_on_and_says_so(tmp_path: Path) -> None:
    file = tmp_path / "kept"
    scenario = small(**{"workload.synthetic.requests": 2_000_000})
    interrupted(scenario, Checkpoint(file, 0.0))
    before = file.stat().st_size
    kept = Checkpoint(file, 1e6)
    result = simulate(scenario, checkpoint=kept)
    assert "the run went on from" in kept.told[0] and before > 1000
    whole = coflash.run(scenario)
    assert {**result.document, "simulator": None} == {**whole.document, "simulator": None}
    assert result.series() == whole.series()
    kept.remove()
    assert not file.exists()


def test_another_scenario_begins_anew_and_says_so(tmp_path: Path) -> None:
    file = tmp_path / "kept"
    interrupted(small(**{"workload.synthetic.requests": 2_000_000}), Checkpoint(file, 0.0))
    with pytest.warns(UserWarning, match="belongs to another run: the run began with its first request"):
        result = coflash.run(small(seed=2), checkpoint=file)
    assert {**result.document, "simulator": None} == {**coflash.run(small(seed=2)).document, "simulator": None}
    assert not file.exists()
    with pytest.raises(coflash.CoflashError, match="there is no folder"):
        coflash.run(small(), checkpoint=tmp_path / "no" / "kept")


def test_a_killed_command_goes_on_by_the_same_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    changes = [part for key in (*LONG, "workload.synthetic.requests=3000000") for part in ("--set", key)]
    arguments = ["run", "demo", *changes, "--out", "x", "--checkpoint", "0.0001"]
    killed = subprocess.Popen(
        [sys.executable, "-m", "coflash", *arguments], stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    while not (tmp_path / ".x.checkpoint").exists():
        assert killed.poll() is None, killed.communicate()
        time.sleep(0.01)
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    again = process(*arguments[:-2])
    assert "the run went on from" in again.stderr
    assert sorted(file.name for file in tmp_path.iterdir()) == ["x"]


def test_a_sweep_goes_on_inside_its_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "Checkpoint", partial(Checkpoint, seconds=0.0))
    scenario = small(**{"workload.synthetic.requests": 2_000_000})
    (job,) = plan.Plan.of(scenario, (), [()], 1).jobs()
    stored = replace(job, place=str(tmp_path))
    file = store_at(str(tmp_path)).checkpoint(job.key)

    def stop(*_: object) -> None:
        if file.exists():
            raise StoppedError

    with pytest.raises(StoppedError):
        plan.execute(stored, Devices(), stop)
    requests: list[int] = []
    plan.execute(stored, Devices(), lambda phase, _, count: requests.append(count) if phase == "replay" else None)
    assert not file.exists()
    assert [key for key, *_ in store_at(str(tmp_path)).all_runs()] == [job.key]


def test_a_trace_that_can_be_read_only_once_has_none_and_says_so(tmp_path: Path) -> None:
    trace = Path(find_trace()).read_bytes()
    arguments = ["run", "demo", "--trace", "-", "--out", str(tmp_path / "x"), "--checkpoint", "0.000001"]
    done = process(*arguments, stdin=trace)
    assert done.returncode == 0, done.stderr
    assert "no checkpoint was kept" in done.stderr
    assert "the standard input can be read only once" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["x"]
