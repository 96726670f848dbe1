"""The atlas, on devices that take seconds."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from reproduced import rows, tiny_scale

from coflash.measures.measure import WAF_HOST
from coflash.results.estimate import Estimate
from coflash_reproduce.page import markdown
from coflash_reproduce.paper import Run, Runs, spread
from coflash_reproduce.reproduction import Done, study
from coflash_reproduce.studies import atlas

APART, MOVES = "reads to other pages", "the hot set moves"
SMALLER: dict[str, Any] = {
    "CACHES": (5,),
    "SPARES": (12, 28, 70),
    "DEVICES": (12,),
    "READS": (0, 90),
    "SHARES": (5, 50),
}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    with (
        tiny_scale(atlas.STUDY, atlas, atlas.Scale(25_000, (atlas.ZIPF,), (APART, MOVES), 2)),
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in SMALLER.items():
            patch.setattr(atlas, name, value)
        return study("atlas", "tiny", out=tmp_path_factory.mktemp("atlas"), jobs=1)


def _waf(done: Done, experiment: str, line: str, at: float = 5) -> float:
    return next(run.read(WAF_HOST) for run in done.runs.of(experiment, line) if run.case.at == at)


FACTORIAL = "device Zipf 0.9 5"


def test_clean_first_leaves_nothing_to_drop_so_that_the_drop_and_moving_in_change_no_digit(done: Done) -> None:
    known = {_waf(done, FACTORIAL, f"{knowledge}, clean first") for knowledge in ("overwrites", "both", "moving in")}
    assert len(known) == 1
    assert _waf(done, FACTORIAL, "none, clean first") == _waf(done, FACTORIAL, "drop, clean first") > known.pop()


def test_without_reads_the_drop_has_nothing_to_drop(done: Done) -> None:
    for at in (5, 50):
        assert _waf(done, "drop Zipf 0.9 0", "none, LRU", at) == _waf(done, "drop Zipf 0.9 0", "drop, LRU", at)
    assert _waf(done, "drop Zipf 0.9 90", "both, LRU", 50) < 0.95 * _waf(
        done, "drop Zipf 0.9 90", "overwrites, LRU", 50
    )


def test_what_is_called_cooperation_with_clean_first_is_a_plain_write_buffer_with_one_map(done: Done) -> None:
    plain = _waf(done, "baseline Zipf 0.9", "a plain write buffer, one map", 0)
    assert plain == pytest.approx(_waf(done, FACTORIAL, "both, clean first"), rel=0.02)


@pytest.mark.parametrize(
    ("line", "waf"),
    [
        ("none, LRU", 3.01),
        ("none, W-TinyLFU", 2.27),
        ("overwrites, LRU", 2.46),
        ("overwrites, W-TinyLFU", 1.66),
        ("both, clean first", 1.91),
        ("expected cost, LRU", 2.14),
    ],
)
def test_a_cell_has_the_number_of_longer_runs(done: Done, line: str, waf: float) -> None:
    assert _waf(done, FACTORIAL, line) == pytest.approx(waf, rel=0.04)


def test_nothing_is_below_the_bound(done: Done) -> None:
    runs = done.runs.of(FACTORIAL)
    bound = atlas.bound_of(runs[0])
    assert 0.2 < bound < min(run.read(WAF_HOST) for run in runs)


def test_effects_are_means_of_the_cells_of_the_factorial(done: Done) -> None:
    found = {row["mechanism"]: row for row in rows(done, "table-1")}
    assert len(found) == 10 and all("±" in row["5 %"] for row in found.values() if row["mechanism"] != "none")
    changes = [
        _waf(done, FACTORIAL, f"overwrites, {order}") / _waf(done, FACTORIAL, f"none, {order}")
        for order in atlas.ORDERS
    ]
    mean = 100 * (_product(changes) ** (1 / len(changes)) - 1)
    assert _percent(found["overwrites at once"]["5 %"]) == pytest.approx(mean, abs=0.5)


def _product(values: list[float]) -> float:
    found = 1.0
    for value in values:
        found *= value
    return found


def _percent(text: str) -> float:
    return float(re.sub(r"[ \N{NO-BREAK SPACE}].*", "", text).replace("\N{MINUS SIGN}", "-"))


def test_read_hits_and_waits_stand_beside_programs_where_reads_go_to_other_pages(done: Done) -> None:
    (row,) = [row for row in rows(done, "table-3") if row["condition"] == APART]
    assert row["p50 of reads"].count("→") == row["p99 of reads"].count("→") == 1
    cells = {row["eviction"]: row for row in rows(done, "table-4") if row["condition"] == APART}
    first, tiny = (
        _percent(cells[one]["overwrites"].partition("(")[2].rstrip(")")) for one in ("clean first", "W-TinyLFU")
    )
    assert first < -15 < 5 < tiny


def test_a_cache_that_begins_empty_is_charged_for_what_is_dirty_at_its_end(done: Done) -> None:
    (run, *_) = done.runs.of("host Zipf 0.9 5", "none, clean first")
    charged = _queried(done.runs, "select waf from each where n = $at", at=done.runs.runs.index(run))[0][0]
    assert atlas.begins_empty(run) and run.metrics.cache.dirty_pages > 1000
    assert 1.01 < charged / run.metrics.waf_host < 1.2
    (run, *_) = done.runs.of(FACTORIAL, "none, clean first")
    assert not atlas.begins_empty(run)


def _queried(runs: Runs, query: str, **values: Any) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = atlas.STUDY.queries.rows(query, runs, **values)[1]
    return found


def test_a_run_that_is_not_steady_by_its_notes_is_in_no_table_and_the_page_says_so(done: Done) -> None:
    note = "Write amplification was not steady: 1.00, 2.00, 3.00, 4.00 in the quarters of the host's writes, rising."

    def noted(run: Run) -> Run:
        is_told = run.experiment.name == f"axis {MOVES}" and run.case.line == "both, LRU"
        return replace(run, document={**run.document, "notes": [note]}) if is_told else replace(run)

    runs = Runs(tuple(map(noted, done.runs)))
    query = "select count(*) from compared where title = $title"
    assert [_queried(each, query, title=MOVES) for each in (done.runs, runs)] == [[(16,)], [(15,)]]
    with tiny_scale(atlas.STUDY, atlas, atlas.SCALES["quick"]):
        page = markdown(atlas.STUDY, "atlas", "tiny", (), runs, "images")
    assert f"{MOVES} (1 of 16)" in page
    assert re.search(r"By their own notes, \d+ of \d+ runs say nothing of a steady state", page)


def test_the_page_says_nothing_of_traces_or_seeds_that_it_has_not(done: Done) -> None:
    page = done.page.read_text("utf-8")
    assert "On one recording" not in page
    once = Runs(tuple(run for run in done.runs if run.seed == done.runs.runs[0].seed))
    assert "widest interval" in page and "widest interval" not in markdown(atlas.STUDY, "atlas", "quick", (), once, "i")


def test_a_break_even_price_is_the_spare_space_in_place_of_cooperation_over_the_cache(done: Done) -> None:
    found = rows(done, "table-6")
    assert found
    for row in found:
        if named := re.search(r"(\d+) % spare", row["as few without"]):
            other = re.match(r"cache of (\d+) %", row["as few without"])
            price = (int(named[1]) - int(_percent(row["spare space"]))) / (5 - (int(other[1]) if other else 0))
            assert _percent(row["break-even price"]) == pytest.approx(price, abs=0.15)


def test_dollars_are_those_of_size(done: Done) -> None:
    by_line = {row[""]: float(row["$"]) for row in rows(done, "table-7")}
    assert by_line["the same dollars as spare space"] == pytest.approx(by_line["none, LRU"], rel=0.02)
    assert by_line["none, LRU"] == pytest.approx(0.05 * 3 + 1.12 * 0.08, rel=0.03)


def test_a_cache_in_the_host_sends_notices_and_nothing_moves_there(done: Done) -> None:
    found = {row["knowledge"]: float(row["notices a page written, in the host"]) for row in rows(done, "table-8")}
    assert found["none"] == 0 < found["overwrites"] < found["both"]
    assert {run.case.line.partition(",")[0] for run in done.runs.of("host Zipf 0.9 5")} == set(atlas.IN_HOST)


def test_an_interval_of_zero_is_not_shown_and_a_small_one_by_its_bound() -> None:
    assert spread(Estimate(1.16, 0.0, 3), "ratio") == spread(Estimate(1.16, None, 1), "ratio") == "1.160"
    assert spread(Estimate(1.16, 0.0001, 3), "ratio") == "1.160 ± <0.001"
    assert spread(Estimate(0.5, 0.0001, 3), "share") == "50.0\N{NO-BREAK SPACE}% ± <0.1\N{NO-BREAK SPACE}%"


def test_a_picture_of_the_factorial_has_a_cell_for_each_pair_in_a_colour_of_its_size(done: Done) -> None:
    drawn = (done.page.parent / "images" / "atlas-figure-1.svg").read_text("utf-8")
    assert "aria-" not in drawn  # of each mark: half of what a page's picture would weigh
    assert all(f">{name}</text>" in drawn for name in (*atlas.KNOWN, *atlas.MARKS.values()))
    assert len(re.findall(r">[−+]?\d+</text>", drawn)) == len(atlas.KNOWN) * len(atlas.ORDERS)


def test_the_picture_of_the_drop_has_intervals(done: Done) -> None:
    image = (done.page.parent / "images" / "atlas-figure-3.svg").read_text("utf-8")
    shown = [row for row in rows(done, "figure-3") if "±" in row["overwrites known"]]
    assert shown and image.count("±") == len(shown)
