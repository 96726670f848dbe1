"""Warm devices: a run that starts from one equals a run that warms its own."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import coflash
from processes import coflash as command

CHANGES = {
    "flash.channels": 2,
    "flash.blocks_per_plane": 64,
    "gc.victim": "d-choices",
    "precondition.random_passes": 1.0,
    "workload.synthetic.requests": 20_000,
    "cache.size": "1MiB",
}


@pytest.fixture(scope="module")
def scenario() -> coflash.Scenario:
    return coflash.Scenario.from_toml("").with_(CHANGES)


def assert_same(one: coflash.Result, other: coflash.Result) -> None:
    assert {**one.document, "simulator": None} == {**other.document, "simulator": None}
    assert one.series() == other.series()
    assert np.array_equal(one.erase_counts(), other.erase_counts())
    for kind in ("all", "read", "write"):
        assert all(np.array_equal(a, b) for a, b in zip(one.histogram(kind), other.histogram(kind), strict=True))


def test_runs_share_a_device_and_give_what_they_would_alone(scenario: coflash.Scenario, tmp_path: Path) -> None:
    phases: set[str] = set()
    device = coflash.warm(scenario, tmp_path / "device", lambda phase, *_: phases.add(phase))
    assert phases == {"precondition"}
    assert device.key == scenario.warm_key
    assert device.heap_bytes > 0
    loaded = coflash.Warm.load(tmp_path / "device")
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "device").read_bytes()
    variants = [scenario, *(scenario.with_(cooperation=name, cache__size="2MiB") for name in ("none", "cdm"))]
    alone = [coflash.run(variant) for variant in variants]
    with ThreadPoolExecutor(3) as threads:
        shared = list(threads.map(lambda variant: coflash.run(variant, warm=device), variants))
    for variant, one, other in zip(variants, alone, shared, strict=True):
        assert_same(one, other)
        assert_same(one, coflash.run(variant, warm=loaded))
        assert_same(one, coflash.run(variant, warm=tmp_path / "device"))


def test_the_key_says_what_may_share_a_device(scenario: coflash.Scenario) -> None:
    for same in {
        "cache.size": "8MiB",
        "timing.page_read": "1us",
        "replay.mode": "closed",
        "cooperation": "cdm",
    }.items():
        assert scenario.with_(dict([same])).warm_key == scenario.warm_key
    for other in {"seed": 3, "gc.victim": "fifo", "flash.channels": 4, "ftl.spare.share": "20%"}.items():
        assert scenario.with_(dict([other])).warm_key != scenario.warm_key


def test_a_device_of_another_scenario_is_refused_by_the_keys_that_differ(scenario: coflash.Scenario) -> None:
    device = coflash.warm(scenario)
    with pytest.raises(coflash.CoflashError, match=r"gc\.victim\.d is 10 in it and 3 in the scenario"):
        coflash.run(scenario.with_({"gc.victim.d": 3}), warm=device)


def test_a_file_that_is_no_device_is_refused(scenario: coflash.Scenario, tmp_path: Path) -> None:
    file = tmp_path / "device"
    coflash.warm(scenario, file)
    whole = file.read_bytes()
    for damaged, message in [
        (whole[:-1], "damaged"),
        (whole[:100], "damaged"),
        (whole[: len(whole) // 2] + bytes(1) + whole[len(whole) // 2 :], "damaged"),
        (b"", "not a warm device"),
        (b"[flash]\n", "not a warm device"),
    ]:
        file.write_bytes(damaged)
        with pytest.raises(coflash.CoflashError, match=message):
            coflash.Warm.load(file)
    with pytest.raises(coflash.CoflashError, match="nowhere"):
        coflash.run(scenario, warm=tmp_path / "nowhere")
    with pytest.raises(coflash.CoflashError, match="nowhere"):
        coflash.warm(scenario, tmp_path / "nowhere" / "device")


def test_control_c_ends_warming_up() -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        coflash.warm("demo", progress=stop)


def test_the_command_line_warms_once_and_runs_from_it(
    scenario: coflash.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "s.toml").write_text(scenario.to_toml(), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    warmed = command("warm", "./s.toml", "--set", "seed=9", "-o", "device")
    assert warmed.returncode == 0, warmed.stderr
    assert scenario.with_(seed=9).warm_key in warmed.stdout
    cold = command("run", "./s.toml", "--set", "seed=9", "--json", "-", "-q")
    from_file = command("run", "./s.toml", "--set", "seed=9", "--warm", "device", "--json", "-", "-q")
    assert {**json.loads(cold.stdout), "simulator": 0} == {**json.loads(from_file.stdout), "simulator": 0}
    for arguments, message in [
        (("run", "./s.toml", "--warm", "device"), "seed is 9 in it and 0 in the scenario"),
        (("run", "./s.toml", "--warm", "s.toml"), "is not a warm device"),
        (("warm", "./s.toml", "-o", "nowhere/device"), "there is no folder nowhere"),
    ]:
        refused = command(*arguments)
        assert (refused.returncode, refused.stdout) == (2, "")
        (line,) = refused.stderr.splitlines()
        assert line.startswith("error: ")
        assert message in line
