from __future__ import annotations

import hashlib
import json
import math
import os
import re
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coflash
from coflash import CoflashError, Sweep, machine
from coflash._core import REVISION
from coflash.demo import find_trace
from coflash.measures.catalogue import metric, metric_names, named
from coflash.measures.measure import HEADLINE
from coflash.results.estimate import Estimate, estimate
from coflash.results.store import store_at
from coflash.results.subject import Subject
from coflash.runs.inputs import inputs_of
from coflash.runs.run import simulate
from coflash.sweep import devices, engine_local, memory, plan
from coflash.sweep.design import assignments, axis
from coflash.sweep.devices import Devices, Sharing
from coflash.sweep.driver import work
from coflash.sweep.plan import Plan
from coflash.sweep.progress import Watch
from processes import PATIENCE_S, interrupt
from sweeps import ENDLESS, SMALL, command, start

TRACE = str(find_trace())


def names(path: Path) -> set[str]:
    return {entry.name for entry in path.iterdir()}


def runs_of(swept: Sweep) -> list[str]:
    return [job.key for point in swept.points for job in point.jobs]


def test_a_parameter_that_differs_unasked_is_told(tmp_path: Path) -> None:
    base = coflash.Scenario.load("demo").set([("workload.requests_max", "2000")])
    found = coflash.sweep(base, {"cooperation": ["none", "cdm", "move-in"]}, out=tmp_path / "apart")
    (told,) = found.remarks
    assert told.startswith("cooperation.rewrite_stream differs, too: gc with cdm; evict with move-in; a table sets it")
    given = ["cdm", {"name": "move-in", "rewrite_stream": "gc"}]
    assert coflash.sweep(base, {"cooperation": given}, out=tmp_path / "same").remarks == []
    victims = [{"name": "d-choices", "d": 2}, {"name": "d-choices", "d": 4}]
    assert coflash.sweep(base, {"gc.victim": victims}, out=tmp_path / "victims").remarks == []


def test_a_sweep_gives_what_single_runs_give(tmp_path: Path) -> None:
    swept = coflash.sweep(SMALL, {"cooperation.name": ["none", "cdm"], "cache.size": "1MiB..4MiB*2"}, out=tmp_path)
    assert [point.label for point in swept.points][:2] == [
        "cooperation.name=none cache.size=1MiB",
        "cooperation.name=none cache.size=2MiB",
    ]
    assert len(swept.results) == 6
    assert not swept.failures
    last = coflash.run(SMALL.with_(cooperation__name="cdm", cache__size="4MiB"))
    kept = swept.results[runs_of(swept)[-1]]
    assert {**kept.document, "simulator": None} == {**last.document, "simulator": None}
    assert kept.series() == last.series()


def test_seeds_give_means_with_intervals(tmp_path: Path) -> None:
    swept = coflash.sweep(SMALL, {"cache.size": "1MiB,2MiB"}, out=tmp_path, seeds=3)
    table = swept.table("waf_host", "response.p99")
    assert table.columns[0] == "cache.size_bytes" and list(table["cache.size_bytes"]) == [2**20, 2**21]
    assert list(swept.table("waf_host", text=True)["cache.size"]) == ["1MiB", "2MiB"]
    results = [coflash.run(SMALL.with_(cache__size="1MiB", seed=SMALL.to_dict()["seed"] + n)) for n in range(3)]
    assert table["waf_host"][0] == pytest.approx(sum(r.metrics.waf_host or 0 for r in results) / 3)
    assert list(table["waf_host.runs"]) == [3, 3]
    assert (table["waf_host.ci95"] > 0).all()
    assert "response_ns.all.p99.ci95" in table
    one = coflash.sweep(SMALL, {"cache.size": "1MiB"}, out=tmp_path, seeds=[7])
    assert math.isnan(one.table()["waf_host.ci95"][0])


def test_an_interval_is_students() -> None:
    # For 1, 2, 3 and 4: t(0.975, 3) = 3.182446, standard error 0.645497.
    found = estimate([1, 2, 3, 4, None])
    assert (found.mean, found.runs) == (2.5, 4)
    assert found.half_width == pytest.approx(2.054260, abs=1e-6)
    assert estimate([5.0]) == Estimate(5.0, None, 1)
    assert estimate([None]) == Estimate(None, None, 0)


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=20))
def test_an_interval_holds_its_mean_between_the_extremes(values: list[float]) -> None:
    found = estimate(values)
    assert found.mean is not None
    assert found.half_width is not None
    assert min(values) - 1e-3 <= found.mean <= max(values) + 1e-3
    assert found.half_width >= 0


def test_points_may_be_given_one_by_one(tmp_path: Path) -> None:
    points = [{"cache.size": "1MiB", "gc.victim": "fifo"}, {"cache.size": "2MiB", "gc.victim": "greedy"}]
    swept = coflash.sweep(SMALL, points, out=tmp_path)
    assert [point.values["cache.size"] for point in swept.points] == ["1MiB", "2MiB"]
    assert coflash.sweep(SMALL, {}, out=tmp_path).points[0].values == {}


def test_a_misspelt_value_is_found_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(CoflashError, match='did you mean "cdm"'):
        coflash.sweep(SMALL, {"cache.size": "1MiB,2MiB", "cooperation.name": ["none", "cdmm"]}, out=tmp_path / "out")
    with pytest.raises(CoflashError, match="64Mib"):
        coflash.sweep(SMALL, {"cache.size": "1MiB,64Mib"}, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_broken_run_is_passed_over_and_done_again_by_its_sweep(tmp_path: Path) -> None:
    vary = {"cache.size": "1MiB,2MiB,4MiB"}
    before = coflash.sweep(SMALL, vary, out=tmp_path)
    half, bare, whole = (tmp_path / "runs" / run for run in runs_of(before))
    (half / "result.json").write_text('{"metrics": ', encoding="utf-8")
    (bare / "series.parquet").unlink()
    found = coflash.results(tmp_path)
    assert set(found) == {bare.name, whole.name}
    assert [half.name in note and "is no result" in note for note in found.cautions] == [True]
    study = Subject.read([tmp_path])
    assert len(study.results) == 1
    assert [name in note for name, note in zip(sorted([half.name, bare.name]), study.broken, strict=True)] == [True] * 2
    assert any("has no series.parquet" in note for note in study.broken)
    (whole / "result.json").write_text("[]", encoding="utf-8")
    again = coflash.sweep(SMALL, vary, out=tmp_path)
    assert (again.from_before, len(again.results), len(coflash.results(tmp_path))) == (0, 3, 3)
    assert coflash.results(tmp_path).cautions == ()
    assert len(Subject.read([tmp_path]).results) == 3


def test_what_is_there_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def run(scenario: coflash.Scenario, *rest: Any, **_: Any) -> coflash.Result:
        ran.append(scenario.hash)
        return coflash.run(scenario, *rest)

    monkeypatch.setattr(plan, "simulate", run)
    coflash.sweep(SMALL, {"cache.size": "1MiB,2MiB"}, out=tmp_path, on=1)
    assert len(ran) == 2
    # The same under another name, and more of it.
    again = coflash.sweep(SMALL.with_(name="other"), {"cache.size": ["2MiB", "4MiB", "1024KiB"]}, out=tmp_path)
    assert len(ran) == 3
    assert again.from_before == 2
    assert len(again.results) == 3


def test_runs_of_an_earlier_revision_are_told_and_done_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    vary = {"cache.size": "1MiB,2MiB"}
    now = coflash.sweep(SMALL, vary, out=tmp_path, on=1)
    (one, other) = (job for point in now.points for job in point.jobs)
    # Before revisions were counted, the version stood in their place.
    before = hashlib.sha256(f"{one.scenario.hash}\n0.1.0".encode()).hexdigest()[:16]
    assert one.former_keys[-1] == before
    (tmp_path / "runs" / one.key).rename(tmp_path / "runs" / before)
    kept = tmp_path / "runs" / before / "result.json"
    document = json.loads(kept.read_text("utf-8"))
    del document["revision"]
    kept.write_text(json.dumps({**document, "coflash": "0.1.0"}), encoding="utf-8")
    again = coflash.sweep(SMALL, vary, out=tmp_path, on=1, progress=True)
    told = "1 of these runs is there from an earlier revision of results, and is done anew"
    assert told in capsys.readouterr().err
    assert (again.from_before, again.outdated, runs_of(again)) == (1, 1, [one.key, other.key])
    assert again.results.cautions == ()
    assert "different revisions" in coflash.results(tmp_path).cautions[0]
    # Under the next revision all runs have other keys, and these are former ones.
    monkeypatch.setattr(plan, "REVISION", REVISION + 1)
    after = plan.Plan.of(SMALL, (), assignments([axis("cache.size=1MiB,2MiB")]), 1).jobs()
    assert [job.former_keys[0] for job in after] == [one.key, other.key]
    assert {job.key for job in after}.isdisjoint({one.key, other.key, before})


def test_runs_of_other_traces_are_other_runs(tmp_path: Path) -> None:
    trace, moved = tmp_path / "a.iolog.zst", tmp_path / "b.iolog.zst"
    trace.write_bytes(Path(TRACE).read_bytes())
    some = coflash.Scenario.load("demo").with_(workload__requests_max=2000)
    keys = runs_of(coflash.sweep(some, {}, trace, out=tmp_path / "out"))
    moved.write_bytes(trace.read_bytes())
    found = coflash.sweep(some, {}, moved, out=tmp_path / "out")
    assert runs_of(found) == keys
    assert found.from_before == 1
    assert found.results[keys[0]].workload["inputs"][0]["file"] == str(trace)
    assert runs_of(coflash.sweep(some, {}, out=tmp_path / "out")) != keys


def test_a_trace_by_url_is_read_in_place_or_fetched_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec

    monkeypatch.setenv("COFLASH_TRACES", str(tmp_path / "kept"))
    some = coflash.Scenario.load("demo").with_(workload__requests_max=2000)
    place = Path(TRACE).resolve().as_uri()
    coflash.sweep(some, {}, place, out=tmp_path / "a")
    assert not (tmp_path / "kept").exists()
    with fsspec.open("memory://oltp.iolog.zst", "wb") as file:
        file.write(Path(TRACE).read_bytes())
    swept = coflash.sweep(some, {}, "memory://oltp.iolog.zst", out=tmp_path / "b")
    (kept,) = (tmp_path / "kept").iterdir()
    assert hashlib.sha256(kept.read_bytes()).hexdigest() == inputs_of(SMALL, TRACE)[0].sha256
    result = swept.results[runs_of(swept)[0]]
    assert "memory://oltp.iolog.zst" in result.workload["description"]
    assert result.scenario.to_dict()["workload"]["trace"] == ["memory://oltp.iolog.zst"]
    assert result.scenario.hash == result.scenario_hash
    # A single run as well.
    alone = coflash.run(some.with_(workload__trace=["memory://oltp.iolog.zst"]))
    assert {**alone.document, "simulator": 0} == {**result.document, "simulator": 0}
    assert list((tmp_path / "kept").iterdir()) == [kept]
    with pytest.raises(CoflashError, match="nowhere"):
        coflash.run(some, "memory://nowhere")
    with pytest.raises(CoflashError, match="nowhere"):
        coflash.sweep(some, {}, "memory://nowhere", out=tmp_path / "b")
    with pytest.raises(CoflashError, match="Protocol not known"):
        coflash.sweep(some, {}, "nosuch://x", out=tmp_path / "b")


def test_a_run_that_fails_is_reported_and_the_others_go_on(tmp_path: Path) -> None:
    some = coflash.Scenario.load("demo").with_(workload__requests_max=2000)
    swept = coflash.sweep(some, {"workload.remap": "none,dense,modulo"}, TRACE, out=tmp_path)
    (failure,) = swept.failures
    assert failure.label == "workload.remap=none"
    assert "the device exports" in failure.error
    assert len(swept.results) == 2
    assert [found.runs for found in swept.estimates("waf_host")] == [0, 1, 1]
    assert store_at(tmp_path).failures() == [failure]
    # It is tried again, and is no failure any more once it succeeds.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            plan, "simulate", lambda scenario, *rest, **_: coflash.run(scenario.with_(workload__remap="dense"), *rest)
        )
        assert not coflash.sweep(some, {"workload.remap": "none,dense"}, TRACE, out=tmp_path).failures
    assert store_at(tmp_path).failures() == []


def test_a_point_that_is_no_scenario_is_reported_but_nothing_else_is_an_error(tmp_path: Path) -> None:
    points = {"cooperation.name": "none,cdm", "cooperation.removable_weight": [0.5]}
    swept = coflash.sweep(SMALL, points, out=tmp_path)
    (failure,) = swept.failures
    assert "removable_weight" in failure.error
    assert len(swept.results) == 1
    with pytest.raises(CoflashError, match="cach: no such key"):
        coflash.sweep(SMALL, {"cach.size": "1MiB,2MiB"}, out=tmp_path)


def test_a_policy_is_named_alone_or_by_its_name_and_a_label_hides_no_parameter(tmp_path: Path) -> None:
    tuned = SMALL.with_(cooperation={"name": "cdm", "removable_weight": 0.5})
    alone, by_name = (tuned.with_({key: "cdm"}) for key in ("cooperation", "cooperation.name"))
    assert alone == by_name == tuned, "its parameters are kept"
    assert tuned.with_(cooperation="none").with_(cooperation="cdm") == SMALL.with_(cooperation={"name": "cdm"})
    other, same = '{ name = "cdm", removable_weight = 0.25 }', '{ name = "cdm", removable_weight = 0.5 }'
    swept = coflash.sweep(tuned, {"cooperation": f"none,cdm,{other},{same}"}, out=tmp_path)
    assert [point.values["cooperation"] for point in swept.points] == ["none", "cdm", other, "cdm"]
    assert len(swept.results) == 3, "the last point is the second one"
    again = coflash.sweep(tuned, {"cooperation.name": ["none", "cdm"]}, out=tmp_path)
    assert again.from_before == 2


def test_a_panic_of_the_core_is_a_failure_of_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        pass

    def run(scenario: coflash.Scenario, *rest: Any, **_: Any) -> coflash.Result:
        if scenario.to_dict()["cache"]["size"] == "1MiB":
            raise PanicException("index out of bounds")
        return coflash.run(scenario, *rest)

    monkeypatch.setattr(plan, "simulate", run)
    swept = coflash.sweep(SMALL, {"cache.size": "1MiB,2MiB"}, out=tmp_path)
    assert [failure.error for failure in swept.failures] == ["RuntimeError: the simulator failed: index out of bounds"]
    assert len(swept.results) == 1


def test_what_does_not_fit_into_memory_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most, _ = memory.needed_bytes(SMALL)
    monkeypatch.setattr(engine_local, "available_bytes", lambda: int(most * 1.5))
    swept = coflash.sweep(SMALL, {"flash.blocks_per_plane": [50, 4_000_000]}, out=tmp_path)
    (failure,) = swept.failures
    assert failure.label == "flash.blocks_per_plane=4000000"
    assert "memory" in failure.error
    # Two at a time have no room; one after the other they have.
    at_once: list[int] = []
    under_way = 0

    def run(*given: Any, **_: Any) -> coflash.Result:
        nonlocal under_way
        under_way += 1
        at_once.append(under_way)
        try:
            return coflash.run(*given)
        finally:
            under_way -= 1

    monkeypatch.setattr(plan, "simulate", run)
    assert not coflash.sweep(SMALL, {"seed": "2..7"}, out=tmp_path, on=4).failures
    assert at_once == [1] * 6


def test_a_run_that_its_worker_lost_is_a_failure_and_the_others_are_stored(tmp_path: Path) -> None:
    jobs = Plan.of(SMALL, (), [(("seed", str(seed)),) for seed in range(1, 8)], 1).jobs()

    class Losing:
        workers, slots, shares_memory, memory_bytes, largest_bytes = 1, 2, False, 2**40, 2**40

        def submit(self, jobs_now: Sequence[plan.Job]) -> list[Future[plan.Ran]]:
            futures: list[Future[plan.Ran]] = [Future() for _ in jobs_now]
            for job, future in zip(jobs_now, futures, strict=True):
                if job is jobs[3]:
                    future.set_exception(OSError("the worker died"))
                else:
                    future.set_result(plan.execute(job, Devices()))
            return futures

    store = store_at(tmp_path)
    store.check()
    with Watch(None, len(jobs)) as watch:
        outcomes = list(work(iter(jobs), Losing(), store, watch))
    assert {outcome.job.key for outcome in outcomes} == {job.key for job in jobs}
    assert [outcome.failure for outcome in outcomes if outcome.failure] == watch.failures
    (failure,) = watch.failures
    assert (failure.run, failure.error) == (jobs[3].key, "OSError: the worker died")
    assert all((job.key in store) == (job is not jobs[3]) for job in jobs)


@pytest.mark.parametrize(
    "change", [{}, {"cache.size": "90%"}, {"flash.pages_per_block": 4, "flash.blocks_per_plane": 800}]
)
def test_the_estimate_of_memory_is_above_the_devices_state(change: dict[str, Any]) -> None:
    result = coflash.run(SMALL.with_(change).with_(cooperation__name="cdm"))
    flash = result.document["scenario"]["flash"]
    pages = flash["channels"] * flash["chips_per_channel"] * flash["blocks_per_plane"] * flash["pages_per_block"]
    apart, _ = memory.needed_bytes(SMALL.with_({"flash.blocks_per_plane": 1, "cache.size": "0B"}))
    assert memory.needed_bytes(result.scenario)[0] - apart > 0.9 * pages * result.simulator["state_bytes_per_page"]
    assert 0 < machine.available_bytes() < 2**50


def test_jobs_of_one_device_are_next_to_each_other_and_share_it() -> None:
    points = assignments([axis("cache.size=1MiB,2MiB"), axis("gc.victim=greedy,fifo")])
    jobs = plan.sharing(plan.Plan.of(SMALL, (), points, 1).jobs())
    keys = [job.scenario.warm_key for job in jobs]
    assert keys[0] == keys[1] != keys[2] == keys[3]
    assert [job.sharing for job in jobs] == [Sharing(key, 2) for key in keys]
    # Each a device of its own; one that is not warmed up at all.
    points = assignments([axis("gc.victim=greedy,fifo")])
    assert [job.sharing for job in plan.sharing(plan.Plan.of(SMALL, (), points, 1).jobs())] == [None, None]
    points = assignments([axis("cache.size=1MiB,2MiB")])
    fresh = SMALL.with_(precondition__fill="none", precondition__random_passes=0)
    assert [job.sharing for job in plan.sharing(plan.Plan.of(fresh, (), points, 1).jobs())] == [None, None]


@pytest.fixture
def warmed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Records the devices that are warmed up for sharing."""
    keys: list[str] = []

    def warm(scenario: coflash.Scenario, **rest: Any) -> coflash.Warm:
        keys.append(scenario.warm_key)
        return coflash.warm(scenario, **rest)

    monkeypatch.setattr(devices, "warm", warm)
    return keys


def test_runs_that_share_a_device_give_what_bare_runs_give(
    tmp_path: Path, warmed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    started_from: list[str] = []

    def run_from(scenario: coflash.Scenario, *rest: Any, **_: Any) -> coflash.Result:
        assert rest[-1] is not None
        started_from.append(rest[-1].key)
        return coflash.run(scenario, *rest)

    monkeypatch.setattr(plan, "simulate", run_from)
    vary = {
        "cooperation.name": ["none", "cdm", "cdm-consistent"],
        "cache.size": "1MiB,4MiB",
        "timing.page_read": "25us,50us",
    }
    swept = coflash.sweep(SMALL, vary, out=tmp_path, seeds=2, on=3)
    assert len(started_from) == 24
    assert set(started_from) == set(warmed)
    monkeypatch.setattr(plan, "simulate", simulate)
    assert len(warmed) == len(set(warmed)) == 4  # for each seed, with costs in whole pages and in fractions
    assert swept.warming[:2] == (4, 20)
    assert swept.warming.seconds_saved > 0
    for run in swept.results:
        ours, alone = swept.results[run], coflash.run(swept.results[run].scenario)
        assert {**ours.document, "simulator": None} == {**alone.document, "simulator": None}
        assert ours.series() == alone.series()
        assert (ours.erase_counts() == alone.erase_counts()).all()
        assert ours.histogram("write").counts.tolist() == alone.histogram("write").counts.tolist()
    # The rest of a resumed sweep shares, too; a run that does not share its device warms its own.
    assert coflash.sweep(SMALL, {"cache.size": "1MiB,8MiB"}, out=tmp_path).warming.devices == 0
    assert len(warmed) == 4


def test_a_search_shares_devices_too(tmp_path: Path, warmed: list[str]) -> None:
    coflash.tune(SMALL, {"cache.size": "1MiB..16MiB"}, minimise="waf_host", out=tmp_path, trials=6, on=2)
    assert warmed == [SMALL.warm_key]


def test_a_device_is_let_go_when_its_last_run_has_had_it() -> None:
    kept = devices.Devices()
    for use in range(3):
        with kept.lent(SMALL, Sharing(SMALL.warm_key, 3)) as lent:
            assert lent.is_new == (use == 0)
            assert lent.seconds > 0
            assert len(kept) == 1
    assert len(kept) == 0
    # Of devices with an unknown number of runs, the one used last is kept.
    for seed in (1, 2, 1, 3):
        some = SMALL.with_(seed=seed)
        with kept.lent(some, Sharing(some.warm_key, None)) as lent:
            assert lent.is_new
            kept.clear()
        assert len(kept) == 1
    with kept.lent(some, Sharing(some.warm_key, None)) as lent:
        assert not lent.is_new
    kept.clear()
    assert len(kept) == 0


def test_a_device_that_cannot_be_warmed_up_fails_each_run_and_holds_up_none(tmp_path: Path) -> None:
    # Its flash is too small, which is found only when it is built.
    few = SMALL.with_({"flash.blocks_per_plane": 50, "ftl.spare.share": "20%"})
    swept = coflash.sweep(few, {"ftl.spare.share": "1%,20%", "cache.size": "1MiB,2MiB"}, out=tmp_path, on=4)
    assert len(swept.failures) == 2
    assert all("too small" in failure.error for failure in swept.failures)
    assert len(swept.results) == 2
    assert swept.warming[:2] == (1, 1)


def test_who_needs_a_device_meanwhile_waits_for_it_and_can_be_stopped() -> None:
    class Stopped(Exception):  # noqa: N818
        pass

    def stop(*_: object) -> None:
        raise Stopped

    kept, begun, go_on = devices.Devices(), threading.Event(), threading.Event()

    def slowly(*_: object) -> None:
        begun.set()
        go_on.wait(PATIENCE_S)

    def is_new(progress: Any) -> bool:
        with kept.lent(SMALL, Sharing(SMALL.warm_key, 2), progress) as lent:
            return lent.is_new

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(is_new, slowly)
        assert begun.wait(PATIENCE_S)
        second = pool.submit(is_new, None)
        with pytest.raises(Stopped):
            is_new(stop)
        go_on.set()
        assert first.result(PATIENCE_S)
        assert not second.result(PATIENCE_S)
    assert len(kept) == 0


def test_a_metric_is_called_by_its_path_or_by_less() -> None:
    for name in metric_names():
        assert metric(name) == name
    assert metric("response.p99") == "response_ns.all.p99"
    assert metric("response.read.p99") == "response_ns.read.p99"
    assert metric("lifetime") == metric("years") == "endurance.life_years"
    for wrong, near in {"respones.p99": "response.p99", "hit_rate": "cache.hit_ratio", "waff": "waf_host"}.items():
        with pytest.raises(CoflashError, match=rf'did you mean "{re.escape(near)}"'):
            metric(wrong)
    with pytest.raises(CoflashError, match=r"did you mean \"hybrid\.disk_utilisation\"\?$"):
        metric("hybrid.utilisation")
    with pytest.raises(CoflashError, match=r"\(allowed: requests, .*simulated, .*, hybrid\.…, .*\)$"):
        metric("nothing like it")
    result = coflash.run(SMALL)
    for measure, name in zip(HEADLINE, ("waf_host", "waf_media", "waf_ftl", "gc_copies"), strict=False):
        assert named(name).shown(result.metrics) == measure.shown(result.metrics)
    assert named("response.mean").shown(result.metrics).endswith("s")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"on": "lokal"}, "'lokal' was given; a number of parallel runs"),
        ({"on": 0}, "at least 1"),
        ({"seeds": 0}, "at least 1"),
        ({"seeds": 10**21}, "at most 1000000"),
        ({"seeds": []}, "at least 1"),
        ({"out": "/dev/null/x"}, "cannot be written"),
    ],
)
def test_what_cannot_be_used_is_said(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    with pytest.raises(CoflashError, match=message):
        coflash.sweep(SMALL, {"seed": "1..2"}, **{"out": tmp_path, **given})


def test_a_sweep_that_is_killed_leaves_what_it_had_done_and_goes_on_from_there(tmp_path: Path) -> None:
    out = tmp_path / "out"
    requests = "workload.synthetic.requests="
    # One of two workers is in the middle of the second run whenever that is.
    killed = command(out, "--vary", f"{requests}1000,{ENDLESS},2000,3000,4000", "--on", "2")
    with start(killed) as process:
        assert process.stderr is not None
        for _ in range(2):
            assert "/5" in process.stderr.readline()
        process.kill()
    done = len(coflash.results(out))
    assert 2 <= done <= 4
    with start(command(out, "--vary", f"{requests}1000,2000,3000,4000,5000", "--on", "2")) as process:
        stdout, stderr = process.communicate()
    assert process.returncode == 0, stderr
    assert stderr.count("requests=") == 5 - done
    assert f"5 runs, {done} of them from before" in stdout
    results = coflash.results(out)
    assert sorted(results[run].metrics.requests for run in results) == [1000, 2000, 3000, 4000, 5000]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_control_c_and_sigterm_keep_what_is_done_and_say_so(number: int, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with start(command(out, "--vary", f"workload.synthetic.requests=1000,{ENDLESS},2000")) as process:
        assert process.stderr is not None
        assert "/3" in process.stderr.readline()
        _, errors, took_s = interrupt(process, number)
    assert process.returncode == 128 + number
    assert took_s < 5
    assert "Traceback" not in errors
    assert "runs are done and kept" in errors
    assert 1 <= len(coflash.results(out)) < 3
    assert all(not name.startswith(".") for name in names(out / "runs"))


def test_several_sweeps_may_write_and_others_read_at_the_same_time(tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = command(out, "--vary", "seed=1..12", "--vary", "cache.size=1MiB,2MiB")
    with start(arguments) as one, start(arguments) as two, start(arguments) as three:
        writers = (one, two, three)
        seen = 0
        while any(writer.poll() is None for writer in writers):
            if (out / "runs").is_dir():
                results = coflash.results(out)
                assert len(results) >= seen
                seen = len(results)
                if seen:
                    assert list(results.sql("select count(distinct run) n from series")["n"]) == [seen]
        for writer in writers:
            _, stderr = writer.communicate()
            assert writer.returncode == 0, stderr
    results = coflash.results(out)
    assert len(results) == 24
    assert {results[run].seed for run in results} == set(range(1, 13))
    assert sorted(os.listdir(out / "runs")) == sorted(results)  # noqa: PTH208 - names, hidden ones included
