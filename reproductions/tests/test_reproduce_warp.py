"""The reproduction of WARP: the mix of its logs, and a page at a size that takes seconds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from reproduced import alone, rows, shown, tiny_scale
from typer.testing import CliRunner

from coflash_reproduce import command, warp
from coflash_reproduce.claim import COUNTED, FAILS, HOLDS, PREDICTION, Kind
from coflash_reproduce.reproduction import Done, reproduce
from coflash_reproduce.warp import streams, workloads
from coflash_reproduce.warp.workloads import Scale


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Done]:
    """The page of a drive 256 times smaller, after two fills."""
    with tiny_scale(warp.PAPER, workloads, Scale(256, 2, {512: 2, 128: 1.5})):
        yield reproduce("warp", "tiny", out=tmp_path_factory.mktemp("warp"))


def test_the_requests_follow_the_log_by_handle() -> None:
    row = next(row for row in streams.published()["zoned", streams.OWN] if row.fills > 3)
    written = np.concatenate([*streams.requests("zoned", streams.OWN, 256, row.fills)])
    by_handle = [written[written[:, 2] == handle, 1].sum() * 256 / streams.PAGES for handle in range(3)]
    assert by_handle == pytest.approx(row.hosts, abs=0.01)


def test_overwrites_stay_in_the_front_and_the_others_behind_it() -> None:
    written = np.concatenate([*streams.requests("zipf 1.2", streams.OWN, 256, 2)])
    front = streams.PAGES // 256 * 9 // 10
    assert written[written[:, 2] == 2, 0].max() < front <= written[written[:, 2] == 1, 0].min() + 32


@pytest.mark.parametrize("key", sorted(streams.published()))
def test_the_handles_of_every_published_curve_add_up(key: tuple[str, str]) -> None:
    for row in streams.published()[key]:
        assert sum(row.hosts) == pytest.approx(row.host, rel=0.01)
        if key[1] != streams.SECOND:  # its copies go to a handle of their own
            assert sum(row.medias) == pytest.approx(row.media, rel=0.01)


def test_every_curve_has_its_line_under_each_reading(done: Done) -> None:
    found: dict[str, set[str]] = {row["experiment"]: set() for row in rows(done, "curves")}
    for row in rows(done, "curves"):
        found[row["experiment"]].add(row["line"])
    assert found.keys() == workloads.CURVES.keys()
    assert found["zoned-own"] == {*workloads.READINGS, "WARP"}


def test_a_second_drive_is_predicted_by_its_log_alone(done: Done) -> None:
    """Twice as large, initially isolated; each of its points is held against the log at the same fill."""
    flash = workloads.drive(1, workloads.SECOND_UNITS, workloads.EXPORTED_UNITS * 4, workloads.SECOND_PAGES).to_dict()
    pages = flash["flash"]["blocks_per_plane"] * flash["flash"]["pages_per_block"] * 64
    share = float(flash["ftl"]["spare"]["share"].removesuffix("%")) / 100
    assert pages * (1 - share) == pytest.approx(2 * streams.PAGES, rel=1e-5)
    for name, workload in workloads.SECONDS.items():
        (run,) = done.runs.of(name)
        assert warp.reading.last_fill(run) == pytest.approx(2, abs=0.3)  # a row of the log is a quarter
        assert run.scenario.to_dict()["ftl"]["placement"]["isolation"] == {"name": workloads.INITIALLY}
        row = next(row for row in rows(done, "second-points") if row["curve"] == workload)
        assert int(row["points"]) == sum(
            1 < one.fills <= warp.reading.last_fill(run) for one in streams.published()[workload, streams.SECOND]
        )
    claims = [one for one in done.judged if one.claim.exhibit == "second"]
    assert [one.ours[0] <= 1 for one in claims] == 11 * [True], "those that the reader told have a row, too"
    assert all(one.verdict.startswith(f"{PREDICTION}, ") for one in claims), "no statements of the paper"
    predicted = [one.verdict for one in claims].count(f"{PREDICTION}, {HOLDS}")
    assert f"; of 11 predictions {predicted} hold" in done.answer
    assert "; share of all counted points that are not near: asked 0.10, here" in done.answer, "no paper states it"


def test_a_constant_near_1_is_not_near_where_copies_tell(done: Done) -> None:
    """Within 5 % of a write amplification of 1.07 are all numbers from 1.02 on: the copies tell them apart."""
    near = "select sum((abs(1.03 / waf - 1) <= 0.05)::int), sum(is_near(1.03, waf)::int), count(*) from published"
    for curve in ("zipf-1.2-own", "zipf-2.2-own"):
        where = f"{near} where curve = '{curve}' and fills > 1"
        ((by_waf, by_copies, points),) = warp.PAPER.queries.rows(where, done.runs)[1]
        assert by_waf == points and by_copies < 0.2 * points
    for ours, theirs, is_near in ((1.16, 1.13, False), (2.05, 2.0, True), (2.2, 2.0, False), (1.009, 1.0, True)):
        assert warp.PAPER.queries.rows(f"select is_near({ours}, {theirs})", done.runs)[1] == [(is_near,)]


def test_curves_are_compared_at_the_last_fills_that_both_have(done: Done) -> None:
    query = "select one, other, common, ours from against where one = 'zipf-1.2-own' and other = 'zipf-1.2-shared'"
    ((_, _, common, ours),) = warp.PAPER.queries.rows(query, done.runs)[1]
    runs = [done.runs.of(name, workloads.SETTLED)[0] for name in ("zipf-1.2-own", "zipf-1.2-shared")]
    assert common <= min(map(warp.reading.last_fill, runs))
    own, shared = (warp.reading.waf_at(run, common) for run in runs)
    assert ours == pytest.approx(own / shared - 1)
    assert "zoned own against shared" in " ".join(warp.PAPER.queries.notes("curves")(done.runs))


@pytest.mark.parametrize("name", [exhibit.name for exhibit in warp.PAPER.exhibits])
def test_an_exhibit_alone_is_the_one_of_all(name: str, done: Done) -> None:
    assert shown(warp.PAPER, name, alone(warp.PAPER, name, workloads, done.runs)) == shown(warp.PAPER, name, done.runs)


def test_the_log_of_another_gc_does_not_close(done: Done) -> None:
    left = [abs(int(row["remainder, GB"])) for row in rows(done, "logs")]
    assert max(left[:3]) < 10 and min(left[3:]) > 200


def test_the_totals_are_those_of_the_curves(done: Done) -> None:
    points = {row["curve"]: int(row["points"]) for row in rows(done, "points")}
    for title, names in (("all counted", workloads.COUNTED), ("all curves", workloads.CURVES)):
        assert points[title] == sum(points[", ".join(workloads.CURVES[name])] for name in names) > 0


def test_the_sizes_tell_points_time_and_memory(done: Done) -> None:
    titles = [", ".join(workloads.CURVES[name]) for name in workloads.SIZED]
    of = [row for row in rows(done, "sizes") if row["time"] and row["curve"] in titles]
    sizes = [row["size of the drive"] for row in of if row["size of the drive"] != "1 / 1"]
    assert sizes == 2 * ["1 / 512", "1 / 256", "1 / 128"]
    assert all(row["time"].endswith(" s") and row["device"].endswith("iB") for row in of)


def test_the_whole_drive_has_a_stored_row_of_each_counted_curve_in_the_table_of_sizes(done: Done) -> None:
    of = [row["curve"] for row in rows(done, "sizes") if row["size of the drive"] == "1 / 1"]
    assert of == [", ".join(workloads.CURVES[name]) for name in workloads.COUNTED]


def test_a_scale_may_have_a_few_curves_under_the_settled_reading_alone(tmp_path: Path) -> None:
    with tiny_scale(warp.PAPER, workloads, Scale(256, 2, only=("zoned-own",))):
        few = reproduce("warp", "tiny", out=tmp_path)
    page = few.page.read_text("utf-8")
    assert "## Curves: " in page and "## Second: " not in page, "a figure without runs is left out"
    assert [(run.experiment.name, run.case.line) for run in few.runs] == [("zoned-own", workloads.SETTLED)]


def test_what_is_asked_is_reached_until_flash_takes_too_long(done: Done) -> None:
    of = {(row["program and erase"], row["asked, MB/s"]): row["falls behind at"] for row in rows(done, "rates")}
    fast, *_, slow = workloads.TIMES
    told, of_the_log = (" : ".join(map(str, rates)) for rates in workloads.ASKED_MB.values())
    assert of[fast, told] == of[fast, of_the_log] == "never" and of[slow, told] != "never"


def test_a_stream_with_a_map_meets_each_page_once_a_pass() -> None:
    places = [int(line.split(",")[0]) for line in Path(streams.passes(500, 2)).read_text("utf-8").splitlines()]
    first, second = places[:500], places[500:]
    assert sorted(first) == sorted(second) == list(range(500)) and first != second


def test_more_overwrites_in_the_mix_are_written() -> None:
    def first(times: float) -> float:
        return sum(over for _, over, _ in streams.mix("zipf 2.2", streams.SHARED, 3, over_beside=times))

    assert first(1.2) == pytest.approx(1.2 * first(1.0))


def test_copies_that_break_the_isolation_cost_more(done: Done) -> None:
    kept, broken = (
        sum(done.runs.of("zoned-own", line)[0].metrics.programs_pages.to_dict().values())
        for line in (workloads.IDLE, workloads.CALLER)
    )
    assert broken > kept


def test_a_statement_that_held_and_does_not_any_more_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, done: Done
) -> None:
    counted = [one for one in done.judged if one.verdict in COUNTED]
    before = frozenset(one.name for one in counted if one.verdict != FAILS)
    first = next(one for one in counted if one.name in before and one.claim.kind is Kind.EFFECT)
    refuted = replace(first, ours=(-first.claim.paper,))
    for found, status in ((first, 0), (refuted, 1), (None, 1)):
        others = [one for one in done.judged if one is not first]
        now = replace(done, judged=[*others, *([found] if found else [])], before=before)
        monkeypatch.setattr("coflash_reproduce.reproduction.reproduce", lambda *_, now=now, **__: now)
        shown = CliRunner().invoke(command.app, ["warp", "--out", str(tmp_path)])
        assert shown.exit_code == status
        left = len(counted) - (found is None)
        last = f"{len(before) - status} of {left} hold (was {len(before)})"
        assert shown.output.splitlines()[-1] == last
        assert (f"held at this scale before, and not now: {first.name}" in shown.output) == bool(status)
