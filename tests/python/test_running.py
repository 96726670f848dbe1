from __future__ import annotations

import numpy as np
import pytest

import coflash
from coflash.demo import find_trace


@pytest.fixture(scope="module")
def ran() -> coflash.Result:
    return coflash.run("demo", find_trace())


def test_programs_add_up_in_total_in_time_and_by_their_names(ran: coflash.Result) -> None:
    metrics = ran.metrics
    assert metrics.waf_host is not None
    assert sum(metrics.programs_pages.values()) / metrics.host_writes_pages == pytest.approx(metrics.waf_host)
    series = ran.series()
    assert int(series["programs_gc_pages"].sum()) == metrics.programs_pages.gc == metrics.gc_copies_pages
    assert int(series["requests"].sum()) == metrics.requests == 400_000


def test_histograms_hold_every_request(ran: coflash.Result) -> None:
    for kind in ("all", "read", "write"):
        values_ns, counts = ran.histogram(kind)
        response = ran.metrics.response_ns[kind]
        assert int(counts.sum()) == response.count
        assert np.all(np.diff(values_ns.astype(np.int64)) > 0)
        assert np.average(values_ns, weights=counts) == pytest.approx(response.mean, rel=0.02)


def test_the_same_again_gives_the_same_bit_for_bit(ran: coflash.Result) -> None:
    calls: list[tuple[str, float | None, int]] = []
    again = coflash.run(ran.scenario, progress=lambda *call: calls.append(call))
    assert {**again.document, "simulator": None} == {**ran.document, "simulator": None}
    assert again.series() == ran.series()
    assert calls
    assert all(fraction is None or 0 <= fraction <= 1 for _, fraction, _ in calls)


def test_an_exception_in_the_progress_call_ends_the_run() -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        coflash.run("demo", find_trace(), progress=stop)


def test_a_trace_is_described() -> None:
    info = coflash.trace.info(find_trace())
    assert info["requests"] == 400_000
    with pytest.raises(coflash.CoflashError, match="no-such-format"):
        coflash.trace.info(find_trace(), {"format": "no-such-format"})


def test_a_write_of_a_part_of_a_page_passes_a_write_buffer_and_a_cache() -> None:
    keys = {
        "cooperation": "none",
        "flash.page_size": "8KiB",
        "timing.channel": "shared",
        "cache": {"size": "64KiB", "volatile": True},
        "controller.write_buffer": "64KiB",
        "workload.synthetic.requests": 2_000,
    }
    assert coflash.run(coflash.Scenario.load("demo").with_(keys)).metrics.requests == 2_000


@pytest.mark.parametrize("own", ["synthetic = { requests = 9 }", "preset = 'oltp-like'", "fio = 'absent.fio'"])
def test_a_trace_that_is_given_runs_in_place_of_the_workload_of_the_scenario(own: str) -> None:
    device = "flash = { channels = 2, blocks_per_plane = 64, pages_per_block = 16 }\nworkload.remap = 'modulo'\n"
    scenario = coflash.Scenario.from_toml(f"{device}workload.requests_max = 100\nworkload.{own}")
    given = coflash.run(scenario, find_trace())
    named = coflash.run(scenario.replaying([str(find_trace())]))
    assert given.scenario == named.scenario
    assert given.metrics == named.metrics
    earlier = scenario.to_dict()["workload"] | {"trace": [str(find_trace())]}
    document = {**given.document, "scenario": {**given.document["scenario"], "workload": earlier}}
    assert given.with_document(document).scenario == named.scenario, "an older result named both"


def test_keys_without_effect_are_a_warning_and_a_note() -> None:
    needs = "controller.cores has no effect without a time of the firmware "
    scenario = coflash.Scenario.load("demo").with_(controller__cores=3, workload__requests_max=1000)
    with pytest.warns(UserWarning, match=needs):
        ran = coflash.run(scenario, find_trace())
    assert next(note for note in ran.notes if "tell nothing" not in note).startswith(needs)
    assert [sentence in ran.notes for sentence in scenario.without_effect()] == [True]
    assert any(sentence.startswith(needs) for sentence in scenario.check())
    timed = scenario.with_(controller__read_command="1us")
    assert timed.without_effect() == []
    assert all("tell nothing of a device in use" in note for note in coflash.run(timed, find_trace()).notes)
    open_loop = {"replay.mode": "open", "replay.queue_depth": 32, "replay.time_scale": 2, "cache.size": "0B"}
    timed = scenario.with_({**open_loop, "controller.cores": None, "workload.trace": [str(find_trace())]})
    lost = "cooperation, cooperation.removable_weight and cooperation.rewrite_stream have no effect without a cache"
    assert [sentence[: len(lost)] for sentence in timed.without_effect()] == [lost]
    with pytest.warns(UserWarning, match=lost):
        assert coflash.run(timed).setting["replay"] == "open loop: at the times of the trace × 2"


FADING = {
    "flash": {"channels": 1, "blocks_per_plane": 64, "pages_per_block": 16},
    "ftl": {"spare": {"share": "20%"}, "refresh": {"retention": "50ms"}},
    "gc": {"low_mark": 2},
    "workload": {"synthetic": {"requests": 300, "read_share": "50%"}},
    "replay": {"queue_depth": 1},
}


def test_data_that_fades_before_it_is_rewritten_is_told_before_the_run_and_in_its_result() -> None:
    short = coflash.Scenario.from_dict(FADING)
    (caution,) = short.cautions()
    assert caution in short.check()
    # 16 copies of 225 us and an erase of 1.5 ms for each 16 pages.
    assert "the dies take 272 ms to rewrite 853 pages" in caution
    assert "within 50ms (ftl.refresh.retention)" in caution
    assert "more than 272 ms leaves time" in caution
    result = coflash.run(short)
    (note,) = (note for note in result.notes if note.startswith(caution))
    programs = result.metrics.programs_pages
    assert programs.refresh > 100 * programs.host
    assert f"{programs.refresh} pages were refreshed, and {programs.host + programs.evict} written" in note

    longer = short.with_(ftl__refresh__retention="280ms")
    assert longer.cautions() == []
    rested = coflash.run(longer)
    assert not any("fades" in note for note in rested.notes)
    assert rested.metrics.programs_pages.refresh < programs.refresh / 10


def test_of_a_device_that_was_empty_only_what_was_written_can_fade() -> None:
    empty = coflash.Scenario.from_dict(FADING | {"precondition": {"fill": "none", "random_passes": 0}})
    assert len(empty.cautions()) == 1
    assert not any("fades" in note for note in coflash.run(empty).notes)


def test_fast_data_is_told_when_it_was_refreshed_more_than_written() -> None:
    shadows = coflash.Scenario.load("shadowgc-64g").with_(
        {
            "flash": {"channels": 1, "blocks_per_plane": 128, "pages_per_block": 16, "page_size": "16KiB"},
            "cache.size": "1MiB",
            "host_buffer.size": "2MiB",
            "ftl.refresh": {"fast_retention": "1ms", "power_off": "0ns"},
            "workload.synthetic": {
                "requests": 500,
                "generator": "zipf",
                "size": {"name": "fixed", "size": "16KiB"},
                "align": "16KiB",
                "arrival": {"name": "fixed", "interval": "5ms"},
            },
        }
    )
    assert shadows.cautions() == []
    result = coflash.run(shadows)
    assert any("ftl.refresh.fast_retention" in note for note in result.notes)
