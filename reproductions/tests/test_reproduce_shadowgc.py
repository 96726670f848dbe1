"""The reproduction of the ShadowGC paper, at a scale that takes seconds."""

from __future__ import annotations

import itertools
import random
import re
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from reproduced import alone, documents, rows, shown, tiny_scale

from coflash import CoflashError, Scenario, trace
from coflash.quantity import show, show_change
from coflash_reproduce.claim import COUNTED, FAILS, HOLDS, INPUT, READING
from coflash_reproduce.paper import Picture
from coflash_reproduce.reproduction import Done, reproduce
from coflash_reproduce.runs import run_all
from coflash_reproduce.shadowgc import PAPER, workloads
from coflash_reproduce.shadowgc.workloads import (
    BOTH,
    COMPARED,
    DGC,
    GGC,
    HGC,
    MAIN,
    SGC,
    TWINS,
    TWO,
    ZGC,
    Scale,
)

AVERAGES = ("average, by the paper's classes", "average, unweighted")
TINY = Scale(12_000, blocks_per_plane=800, pages_per_block=8, seeds=2, shares_percent=(0.5, 5))


def iolog(file: Path, seed: int, pause_us: int = 100, count: int = 3_000) -> Path:
    """Writes of 16 KiB, most of them to a few pages."""
    draw = random.Random(seed)
    pages = (draw.randrange(40) if draw.random() < 0.8 else draw.randrange(1600) for _ in range(count))
    lines = "".join(f"{index * pause_us} d write {page * 16384} 16384\n" for index, page in enumerate(pages))
    file.write_text(f"fio version 3 iolog\n0 d add\n0 d open\n{lines}", encoding="utf-8")
    return file


@pytest.fixture(scope="module", autouse=True)
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Any:
    recorded = iolog(tmp_path_factory.mktemp("recorded") / "pgbench.iolog", 1)
    with tiny_scale(PAPER, workloads, TINY, recorded):
        yield recorded


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return reproduce("shadowgc", "tiny", out=tmp_path_factory.mktemp("shadowgc") / "out")


@pytest.fixture(scope="module")
def stored(done: Done) -> dict[str, dict[str, Any]]:
    return documents(done)


def to_the_device(metrics: dict[str, Any]) -> int:
    buffer = metrics.get("host_buffer")
    return int(buffer["written_pages"] if buffer else metrics["host_writes_pages"])


def waf(metrics: dict[str, Any]) -> float:
    return float(sum(metrics["programs_pages"].values()) / to_the_device(metrics))


def change(done: Done, name: str, line: str, at: float = 0) -> float:
    """The mean change of write amplification from GGC over seeds, from the documents of the runs."""
    found = []
    for run in done.runs.of(name, line):
        base = [one for one in done.runs.of(name, GGC) if (one.case.at, one.seed) == (run.case.at, run.seed)]
        if run.case.at == at:
            found.append(waf(dict(run.document["metrics"])) / waf(dict(base[0].document["metrics"])) - 1)
    return mean(found)


FULL = workloads.SCALES["full"]


def test_the_main_set_up_is_as_the_page_says_and_its_buffers_have_shares_of_the_live_flash() -> None:
    main = workloads.main_set_up(FULL)
    values = main.to_dict()
    flash = workloads.raw_bytes(main)
    sizes = [int(values[part]["size"].removesuffix("KiB")) * 1024 for part in ("host_buffer", "cache")]
    assert [size / flash for size in sizes] == pytest.approx([0.02, 0.0025], abs=16384 / flash)
    assert values["workload"]["synthetic"].get("space") is None  # all of it is live
    assert values["workload"]["synthetic"]["generator"] == {"name": "zipf", "exponent": 0.7, "scattered": True}
    assert values["flash"]["pages_per_block"] == 128
    assert values["gc"]["victim"]["name"] == "greedy"
    assert values["host_buffer"]["dirty_age_max"] == "8760h"
    assert values["ftl"]["shared_streams"] == workloads.LAYOUTS[TWO]


def test_each_experiment_has_its_shares() -> None:
    """By live flash those of 1 GiB and 128 MiB; on the map those of its axes; on 1 TiB the literal ones."""
    found = {one.name: one for one in workloads.experiments("full", ())}

    def shares(name: str) -> dict[float, tuple[float, float]]:
        flash = workloads.raw_bytes(found[name].scenario)
        keys = ("host_buffer.size", "cache.size")
        sizes = {case.at: [case.changes[key].removesuffix("KiB") for key in keys] for case in found[name].cases}
        return {at: (int(host) * 1024 / flash, int(device) * 1024 / flash) for at, (host, device) in sizes.items()}

    tolerance = 16384 / workloads.raw_bytes(found[workloads.by_host(2)].scenario)
    for gib, (host, device) in shares("live").items():
        assert (host, device) == pytest.approx((1 / gib, 1 / 8 / gib), abs=tolerance)
    for of_host in workloads.SHARES_PERCENT:
        for percent, (host, device) in shares(workloads.by_host(of_host)).items():
            assert (host, device) == pytest.approx((of_host / 100, percent / 100), abs=tolerance)
    for name in map(workloads.on_1_tib, workloads.LAYOUTS):
        assert set(shares(name)) == {100, 10, 1, 0.1}
        for host, device in shares(name).values():
            assert (host, device) == pytest.approx((256 / 2**20, 128 / 2**20), abs=tolerance)


def test_a_variant_changes_one_thing_and_not_the_size_of_the_flash() -> None:
    one = next(one for one in workloads.experiments("full", ()) if one.name == "variants")
    main = workloads.raw_bytes(one.scenario)
    whole = workloads.main_set_up(FULL).with_({"cooperation": "ggc"})
    for case in (case for case in one.cases if case.line == GGC):
        found = one.scenario.with_(case.changes)
        larger = 4 if list(workloads.VARIANTS)[int(case.at)].startswith("blocks of 512 pages") else 1
        assert workloads.raw_bytes(found) == larger * main
        times = 4 if list(workloads.VARIANTS)[int(case.at)].startswith("4 GiB in the host") else 1
        sizes = workloads.buffers(found, times * workloads.HOST_PERCENT, workloads.DEVICE_PERCENT)
        assert {key: case.changes[key] for key in sizes} == sizes
        assert (found.hash == whole.hash) == (case.at == 0)


@pytest.mark.parametrize(("name", "measure"), [("figure-6", "waf"), ("figure-7", "gc_time")])
def test_bars_are_each_workloads_measure_over_that_of_ggc(name: str, measure: str, done: Done) -> None:
    found = {row[""]: row for row in rows(done, name)}
    titles = [workloads.TITLES[one] for one in workloads.TITLES]
    assert set(found) == {*titles, *AVERAGES, "the paper's average"}
    paper = {
        "figure-6": {GGC: 0, ZGC: -0.009, HGC: -0.064, DGC: -0.023, SGC: -0.162},
        "figure-7": {GGC: 0, SGC: -0.205},
    }
    told = {line: f"{1 + paper[name][line]:.3f}" if line in paper[name] else "" for line in COMPARED}
    assert {line: found["the paper's average"][line] for line in COMPARED} == told
    for key, title in workloads.TITLES.items():
        for line in COMPARED:
            of = {run.seed: dict(run.document["metrics"]) for run in done.runs.of(key, line)}
            bases = {run.seed: dict(run.document["metrics"]) for run in done.runs.of(key, GGC)}
            value = waf if measure == "waf" else lambda one: one["gc_time_ns"] / to_the_device(one)
            expected = mean(value(of[seed]) / value(bases[seed]) for seed in of)
            assert float(found[title][line]) == pytest.approx(expected, abs=5.1e-4), (title, line)
    for line in COMPARED:
        average = mean(float(found[title][line]) for title in titles)
        assert float(found[AVERAGES[1]][line]) == pytest.approx(average, abs=1e-3)


def test_the_bars_begin_at_0(done: Done) -> None:
    drawn = (done.page.parent / "images" / "shadowgc-figure-6.svg").read_text("utf-8")
    assert ">0.0<" in drawn
    assert all(f">{title}<" in drawn for title in (*workloads.TITLES.values(), AVERAGES[1]))


def test_the_papers_averages_stand_beside_the_main_set_up_with_each_seed(done: Done) -> None:
    claims = {row["what"]: row for row in rows(done, "claims")}
    found = {row[""]: row for row in rows(done, "averages")}
    for line, paper in {ZGC: -0.009, HGC: -0.064, DGC: -0.023, SGC: -0.162}.items():
        ours = change(done, MAIN, line)
        claim = claims[f"WAF, {line}, main set-up"]
        assert (float(claim["paper"]), float(claim["here"])) == pytest.approx((paper, ours))
        row = found[f"WAF, {line}"]
        assert (row["paper"], row["main set-up"]) == (show_change(paper), show_change(ours))
    assert {run.seed for run in done.runs.of(MAIN, SGC)} == {1, 2}


def test_classes_of_traces_have_their_weight(done: Done) -> None:
    modest = [change(done, name, SGC) for name in workloads.MODEST]
    weighted = (9 * change(done, "hot-cold", SGC) + 5 * mean(modest) + change(done, "sequential", SGC)) / 15
    (row,) = [row for row in rows(done, "averages") if row[""] == "WAF, SGC"]
    assert row["by the paper's classes"] == show_change(weighted)
    (bars,) = [row for row in rows(done, "figure-6") if row[""] == AVERAGES[0]]
    assert float(bars[SGC]) == pytest.approx(1 + weighted, abs=1e-3)
    first = re.escape(f"here by the paper's classes of traces {show_change(weighted)} ")
    assert re.search(f"{first}.*, mean of the workloads, unweighted .*, main set-up ", done.answer), "either mean"


@pytest.mark.parametrize("name", [exhibit.name for exhibit in PAPER.exhibits])
def test_an_exhibit_alone_is_the_one_of_all(name: str, done: Done) -> None:
    assert shown(PAPER, name, alone(PAPER, name, workloads, done.runs)) == shown(PAPER, name, done.runs)


def test_a_pair_that_goes_the_other_way_refutes_that_all_do(done: Done) -> None:
    claims = [one for one in done.judged if one.claim.exhibit == "figure-8"]
    assert len(claims) == 2
    for one in claims:
        assert one.claim.verdict((0.0,)) == HOLDS and one.claim.verdict((1 / 27,)) == FAILS
        assert 0 <= one.ours[0] <= 1


def test_other_readings_and_inputs_are_not_counted(done: Done) -> None:
    for row in rows(done, "claims"):
        what, verdict = row["what"], row["verdict"]
        assert ("1 TiB live" in what) <= (verdict == READING), what
        chosen = what.startswith(("writes to pages not written before", "WAF under SGC with 5 bytes")) or what.endswith(
            (", main set-up", ", by the paper's classes of traces", ", mean of the workloads, unweighted")
        )
        assert chosen <= (verdict in (INPUT, f"{INPUT}, missed")), what
    inputs = [one for one in done.judged if one.claim.aside == INPUT]
    missed = [one.verdict == f"{INPUT}, missed" for one in inputs]
    assert missed == [one.claim.verdict(one.ours) == FAILS for one in inputs]
    assert set(missed) == {True, False}
    assert not {one.verdict for one in done.judged if one.claim.aside} & {*COUNTED}


def test_sgc_taken_apart_adds_up_from_its_runs(done: Done) -> None:
    found = {row[""]: row for row in rows(done, "parts")}
    assert list(found) == [HGC, DGC, TWINS, BOTH, SGC]
    for line, row in found.items():
        assert row["WAF"] == show_change(change(done, MAIN, line))
        of = [run.metrics["shadows"] for run in done.runs.of(MAIN, line)]
        assert (row["twins not written"] == "0.0 %".replace(" ", "\N{NO-BREAK SPACE}")) == (line in (HGC, DGC, BOTH))
        assert all((one["from_buffer_pages"] > 0) == (line in (DGC, BOTH, SGC)) for one in of)
        assert all((one["fast_pages"] > 0) == (line in (HGC, BOTH, SGC)) for one in of)


def test_the_map_has_the_best_scheme_of_each_cell(done: Done) -> None:
    found = rows(done, "map")
    assert len(found) == len(TINY.shares_percent) ** 2
    lines = [*(workloads.zombie(ZGC, weight) for weight in workloads.MAP_LAMBDAS), HGC, DGC, SGC]
    drawn = (done.page.parent / "images" / "shadowgc-map.svg").read_text("utf-8")
    for row, (host, device) in zip(found, itertools.product(TINY.shares_percent, repeat=2), strict=True):
        changes = {line: change(done, workloads.by_host(host), line, device) for line in lines}
        assert {line: row[line] for line in lines} == {line: show_change(one) for line, one in changes.items()}
        for weight in workloads.MAP_LAMBDAS:
            best = min(changes[line] for line in (workloads.zombie(ZGC, weight), HGC, DGC, SGC))
            assert f">{show_change(best)}<" in drawn


def test_delay_costs_from_the_weight_after_which_it_always_does(done: Done) -> None:
    delay = sorted((run.case.at, change_of(done, run)) for run in done.runs.of("lambda", "+ delay"))
    costs = [at for index, (at, _) in enumerate(delay) if all(value > 0 for _, value in delay[index:])]
    said = f"Delay alone costs from λ = {costs[0]:g} on." if costs else "Delay alone costs at no weight."
    assert PAPER.queries.notes("lambda")(done.runs) == [said]


def change_of(done: Done, run: Any) -> float:
    (base,) = done.runs.of(run.experiment.name, GGC)
    return waf(dict(run.document["metrics"])) / waf(dict(base.document["metrics"])) - 1


def test_a_variant_near_all_of_the_papers_numbers_is_told(done: Done) -> None:
    found = {row["change"]: row for row in rows(done, "variants")}
    assert list(found) == list(workloads.VARIANTS)
    paper = {ZGC: -0.009, HGC: -0.064, DGC: -0.023, SGC: -0.162}
    for at, row in enumerate(found.values()):
        ours = {line: change(done, "variants", line, at) for line in paper}
        near = sum(abs(ours[line] - of) <= 0.2 * abs(of) for line, of in paper.items())
        assert int(row["within a fifth of the paper's"].split()[0]) in (near, near + 1)  # GC time is the fifth


def test_the_footprint_is_that_of_the_trace(done: Done, tiny: Path) -> None:
    info = trace.info((tiny,), page="16KiB")
    found = [row for row in rows(done, "figure-1") if row["experiment"] == "pgbench"]
    assert (found[0]["at"], found[0]["written footprint"]) == ("0.0", "0.0")
    assert float(found[-1]["written footprint"]) == info["footprint_pages"] * 16384
    assert float(found[-1]["at"]) == round(3_000 * 16384 / 2**30, 2)


def test_double_caching_sets_the_device_alone_beside_the_device_behind_a_host_buffer(done: Done) -> None:
    for row, name in zip(rows(done, "double-caching"), workloads.TITLES, strict=True):
        (off,), on = (done.runs.of(of, GGC)[:1] for of in (f"{name}-alone", name))
        assert off.metrics.get("host_buffer") is None
        both = (show(waf(dict(run.document["metrics"])), "ratio") for run in (off, on[0]))
        assert (row["GGC, off"], row["GGC, on"]) == tuple(both)
        share = 1 - to_the_device(dict(on[0].document["metrics"])) / to_the_device(dict(off.document["metrics"]))
        assert row["absorbed by it"] == show(share, "share")


def test_the_page_shows_every_figure(done: Done) -> None:
    page = done.page.read_text("utf-8")
    first, *images = re.findall(r"!\[[^]]*\]\(([^)]*)\)", page)
    assert first in images and len(images) == 10
    assert all((done.page.parent / image).is_file() for image in images)
    assert "The runs could refute" in page


def test_refreshes_say_nothing_where_no_block_can_fall_due(done: Done) -> None:
    claims = {row["what"]: row for row in rows(done, "claims")}
    what = "refreshes, of all programs, over four weeks"
    assert claims[what]["verdict"] == "holds"
    (run,) = done.runs.of("restart", "no restart")
    assert run.metrics.simulated_ns > 168 * 3.6e12
    short = next(one for one in workloads.experiments("tiny", ()) if one.name == MAIN)
    claim = next(one for one in PAPER.claims if one.what == what)
    cases = (replace(run.case, changes={"cooperation": "sgc"}),)
    runs = run_all([replace(short, name="restart", cases=cases, seeds=1)], done.page.parent / "store", 1, None)
    assert claim.ours(runs, "") is None


def test_a_restart_is_set_beside_the_run_without_one(done: Done) -> None:
    found = {row[""]: row for row in rows(done, "restart")}
    assert list(found) == ["no restart", "sudden", "orderly"]
    for kind in ("sudden", "orderly"):
        assert found[kind]["restarts"] == "5"
        lost = [int(found[kind][part].split()[0]) for part in ("lost by one in the host", "in the device")]
        assert (sum(lost) > 0) == (kind == "sudden")


def test_what_shadowgc_costs_is_counted_in_its_runs(done: Done) -> None:
    claims = {row["what"]: row for row in rows(done, "claims") if row["exhibit"] == "overheads"}
    sgc = [run for name in workloads.TITLES for run in done.runs.of(name, SGC)]
    of_blocks = [(run.metrics["fast_blocks"], run.scenario.to_dict()["flash"]["pages_per_block"]) for run in sgc]
    pages = sum(of["victims_blocks"] * per_block for of, per_block in of_blocks)
    valid = sum(of["victims_valid_pages"] for of, _ in of_blocks)
    claim = claims["valid pages, of those of the blocks for shadows that GC chose"]
    assert float(claim["here"]) == pytest.approx(valid / pages)
    # Two bits for each of 2^23 pages, and in blocks of 8 pages a word for either bit, and four bytes.
    memory = show(2**23 // 8 * (3 * 8 + 4) - 2**23 // 8, "bytes")
    told = f"The two further bits of a page, and four bytes a block, take {memory} of a device of 128 GiB."
    assert told in PAPER.queries.notes("overheads")(done.runs)
    assert claims["messages for notices alone, the most of any run"]["verdict"] == "input"
    usual, five, ten = done.runs.of("notices-0")
    sent, more = (run.metrics["host"]["to_device"] for run in (five, ten))
    assert sent["bytes"] == 5 * sent["sent"] == 5 * sent["carrying_commands"]
    assert more["bytes"] == 5 * more["sent"]
    assert more["delay_mean_ns"] <= sent["delay_mean_ns"]
    assert usual.metrics["host"]["to_device"]["bytes"] == 8 * usual.metrics["host"]["to_device"]["sent"]


def test_a_block_for_shadows_that_was_chosen_too_seldom_says_nothing(done: Done) -> None:
    (run, *_) = done.runs.of("pgbench", SGC)
    assert run.metrics["fast_blocks"]["victims_blocks"] < 100
    row = next(row for row in rows(done, "overheads") if row[""] == run.experiment.title)
    assert row["valid pages in these"] == "–"


def test_each_trace_that_is_given_is_a_workload_on_a_device_that_fits_it(tmp_path: Path) -> None:
    files = [str(iolog(tmp_path / f"volume{number}.iolog", number)) for number in range(2)]
    found = {one.name: one for one in workloads.experiments("tiny", tuple(files))}
    assert [found[f"trace-{number + 1}"].title for number in range(2)] == ["volume0", "volume1"]
    assert [found[f"trace-{number + 1}"].trace for number in range(2)] == [(file,) for file in files]
    assert set(found) >= set(workloads.TITLES)
    footprint = trace.info((files[0],), page="16KiB")["footprint_pages"] * 16384
    flash = workloads.raw_bytes(found["trace-1"].scenario)
    assert 1.07 * footprint <= flash <= 1.07 * footprint + 4 * 8 * 16384
    literal = found["trace-1-1t"].scenario.to_dict()
    paper = Scenario.load("shadowgc-1t").to_dict()
    assert all(literal[part] == paper[part] for part in ("flash", "cache", "host_buffer"))


def test_a_given_trace_stands_on_the_page(tmp_path: Path) -> None:
    file = iolog(tmp_path / "fast.iolog", 1, pause_us=10)
    wanted = [one for one in workloads.experiments("tiny", (str(file),)) if one.name == "trace-1"]
    runs = run_all(wanted, tmp_path / "store", 1, None)
    (bars,) = (one for one in PAPER.exhibits if one.name == "figure-6")
    assert isinstance(bars, Picture) and [row[0] for row in bars.grid(runs).rows] == [
        "fast",
        AVERAGES[1],
        "the paper's average",
    ]
    claim = next(one for one in PAPER.claims if one.what == "WAF, SGC, main set-up")
    query = "select change from changed where experiment = 'trace-1' and line = $SGC and measure = 'WAF'"
    assert [claim.ours(runs, "")] == PAPER.queries.rows(query, runs)[1]
    (warned,) = PAPER.queries.notes("figure-7")(runs)
    assert warned.startswith("**fast: its requests come faster than the device serves them.**")


def test_the_device_is_the_papers_and_the_small_one_a_sixteenth_of_it() -> None:
    paper, small = (Scenario.load(f"shadowgc-{size}") for size in ("1t", "64g"))
    values = paper.to_dict()
    assert workloads.raw_bytes(paper) == 2**40 == 16 * workloads.raw_bytes(small)
    assert (values["flash"]["page_size"], values["flash"]["pages_per_block"]) == ("16KiB", 512)
    times = [values["timing"][f"page_{name}"] for name in ("read", "program", "program_fast")]
    assert times == ["120us", "600us", "300us"]
    assert values["ftl"]["spare"] == {"share": "7%", "definition": "over_provisioning"}
    assert values["ftl"]["refresh"] == {"fast_retention": "240h", "power_off": "72h", "retention": "8760h"}
    assert values["gc"]["victim"]["name"] == "greedy"
    assert (values["cache"]["size"], values["cache"]["volatile"]) == ("128MiB", True)
    assert values["cache"]["page_read"] == values["cache"]["page_write"] == "20ns"
    assert values["precondition"]["fill"] == "random"
    for part in ("timing", "ftl", "gc", "cooperation"):
        assert small.to_dict()[part] == values[part]


def test_more_traces_than_there_is_room_for_are_refused() -> None:
    with pytest.raises(CoflashError, match="17 traces were given; at most 16 are allowed"):
        workloads.experiments("tiny", ("x",) * 17)
