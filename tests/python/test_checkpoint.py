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


def kept_at(file: Path, told: list[str] | None = None, *, at_once: bool = False) -> Checkpoint:
    """Return a checkpoint that is written after each batch, or not in the time of a test."""
    return Checkpoint(file, ([] if told is None else told).append, 1e-9 if at_once else 1e6)


LONGER = {"workload.synthetic.requests": 2_000_000}


def test_a_run_goes_on_and_says_so_before_it_serves_more(tmp_path: Path) -> None:
    file = tmp_path / "kept"
    scenario = small(**LONGER)
    interrupted(scenario, kept_at(file, at_once=True))
    before = file.stat().st_size
    phases: list[str] = []
    told: list[str] = []
    kept = Checkpoint(file, lambda sentence: told.append(f"{sentence}, after {phases}"))
    result = simulate(scenario, progress=lambda phase, *_: phases.append(phase), checkpoint=kept)
    assert len(told) == 1 and "the run goes on from" in told[0] and "replay" not in told[0]
    assert "replay" in phases and before > 1000
    whole = coflash.run(scenario)
    assert {**result.document, "simulator": None} == {**whole.document, "simulator": None}
    assert result.series() == whole.series()
    kept.remove()
    assert not file.exists()


def test_the_checkpoint_of_another_run_is_refused_and_stays(tmp_path: Path) -> None:
    file = tmp_path / "kept"
    interrupted(small(**LONGER), kept_at(file, at_once=True))
    before = file.read_bytes()
    with pytest.raises(coflash.CoflashError, match=r"another run \(seed is 0 in it and 2 in the scenario\): delete it"):
        coflash.run(small(**LONGER, seed=2), checkpoint=file)
    assert file.read_bytes() == before
    told: list[str] = []
    simulate(small(seed=2), checkpoint=Checkpoint(file, told.append, replaces_another=True))
    assert "another run" in told[0] and told[0].endswith("the run begins with its first request")


def test_a_file_that_is_no_checkpoint_is_refused_and_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    trace = Path("mine.csv")
    trace.write_text("0,W,0,4096\n")
    columns = {"workload.trace_options.columns": "time:us,op,offset:bytes,size:bytes"}
    Path("folder").mkdir()
    os.mkfifo("pipe")
    for name, why in [("mine.csv", "is not a checkpoint"), ("folder", "no regular file"), ("pipe", "no regular file")]:
        with pytest.raises(coflash.CoflashError, match=why):
            coflash.run(small(**columns), trace, checkpoint=name)
    with pytest.raises(coflash.CoflashError, match="there is no folder"):
        coflash.run(small(), checkpoint="no/kept")
    with pytest.raises(coflash.CoflashError, match="has no effect beside operations"):
        coflash.run(small(), checkpoint="kept", operations="operations.parquet")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["folder", "mine.csv", "pipe"]


def test_what_a_killed_process_left_of_a_checkpoint_goes_and_nothing_else(tmp_path: Path) -> None:
    for name in (".kept.coflash-77-0", ".kept.77-0", ".kept.coflash-x"):
        (tmp_path / name).touch()
    coflash.run(small(**{"workload.synthetic.requests": 1000}), checkpoint=tmp_path / "kept")
    assert sorted(file.name for file in tmp_path.iterdir()) == [".kept.77-0", ".kept.coflash-x"]


@pytest.mark.filterwarnings("error")
def test_no_run_is_lost_where_warnings_are_errors(tmp_path: Path) -> None:
    interrupted(small(**LONGER), kept_at(tmp_path / "kept", at_once=True))
    (tmp_path / "link").symlink_to("kept")
    assert coflash.run(small(**LONGER), checkpoint=tmp_path / "link").metrics.requests == 2_000_000
    assert not (tmp_path / "kept").exists()


def test_a_checkpoint_that_cannot_be_removed_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    (tmp_path / "kept").mkdir()
    kept_at(tmp_path / "kept", told).remove()
    assert "cannot be removed" in told[0]


def begun(*arguments: str) -> subprocess.Popen[bytes]:
    """Start a command, and wait until it has written a checkpoint."""
    file = Path(".x.checkpoint")
    before = file.stat().st_mtime_ns if file.exists() else 0
    command = [sys.executable, "-m", "coflash", *arguments]
    begun = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    while not file.exists() or file.stat().st_mtime_ns == before:
        assert begun.poll() is None, begun.communicate()
        time.sleep(0.01)
    return begun


def test_a_command_that_was_stopped_goes_on_by_the_same_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    changes = [part for key in (*LONG, "workload.synthetic.requests=3000000") for part in ("--set", key)]
    arguments = ["run", "demo", *changes, "--out", "x", "--checkpoint", "0.0001"]
    killed = begun(*arguments)
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    other = process(*arguments, "--set", "seed=7")
    assert other.returncode == 2 and ".x.checkpoint: is a checkpoint of another run (seed is 1 in it" in other.stderr
    stopped = begun(*arguments)
    os.kill(stopped.pid, signal.SIGINT)
    told = stopped.communicate()[1].decode()
    assert stopped.returncode in (130, -signal.SIGINT)
    assert "stopped: the same command goes on from" in told and ".x.checkpoint" in told
    again = process(*arguments[:-2])
    assert "the run goes on from" in again.stderr
    assert sorted(file.name for file in tmp_path.iterdir()) == ["x"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--checkpoint", "nan", "--out", "x"], "nan was given; a number of minutes is allowed"),
        (["--checkpoint", "inf", "--out", "x"], "at least 0 and at most"),
        (["--checkpoint", "5"], "has no effect without --out"),
        (["--checkpoint", "5", "--out", "x", "--decisions", "d.parquet"], "has no effect beside --operations"),
        (["--checkpoint", "5", "--out", "s3://bucket/x"], "has no effect with the URL"),
    ],
)
def test_an_interval_without_an_effect_is_refused(
    options: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = process("run", "demo", *options)
    assert refused.returncode == 2 and told in refused.stderr, refused.stderr
    assert [*tmp_path.iterdir()] == []


def test_a_sweep_goes_on_inside_its_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "Checkpoint", partial(Checkpoint, seconds=1e-9))
    scenario = small(**{"workload.synthetic.requests": 2_000_000})
    (job,) = plan.Plan.of(scenario, (), [()], 1).jobs()
    stored = replace(job, place=str(tmp_path))
    file = store_at(str(tmp_path)).checkpoint(job.key)

    def stop(*_: object) -> None:
        if file.exists():
            raise StoppedError

    with pytest.raises(StoppedError):
        plan.execute(stored, Devices(), stop)
    ran = plan.execute(stored, Devices())
    assert len(ran.told) == 1 and "the run goes on from" in ran.told[0]
    assert not file.exists()
    assert [key for key, *_ in store_at(str(tmp_path)).all_runs()] == [job.key]


def test_no_file_goes_where_a_trace_can_be_read_only_once(tmp_path: Path) -> None:
    trace = Path(find_trace()).read_bytes()
    (tmp_path / ".x.checkpoint").write_text("thesis")
    for force in ([], ["--force"]):
        done = process("run", "demo", "--trace", "-", "--out", str(tmp_path / "x"), *force, stdin=trace)
        assert done.returncode == 2 and "is not a checkpoint of coflash" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == [".x.checkpoint"]


def test_a_trace_that_can_be_read_only_once_has_none_and_says_so(tmp_path: Path) -> None:
    trace = Path(find_trace()).read_bytes()
    arguments = ["run", "demo", "--trace", "-", "--out", str(tmp_path / "x"), "--checkpoint", "0.000001"]
    done = process(*arguments, stdin=trace)
    assert done.returncode == 0, done.stderr
    assert "no checkpoint was kept" in done.stderr
    assert "the standard input can be read only once" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["x"]
