"""Statements of papers: each can fail, and says by what."""

from __future__ import annotations

from typing import Any

import pytest

from coflash_reproduce.claim import (
    DIRECTION,
    FAILS,
    FALLS,
    HOLDS,
    INPUT,
    MISSED,
    NOTHING,
    PREDICTION,
    READING,
    RISES,
    STEP,
    TARGET,
    Claim,
    Judged,
    Kind,
    Numbers,
    climb,
    counts,
    each,
    judge,
    lost,
    recorded,
    tally,
    valley,
)
from coflash_reproduce.paper import Runs

FLAT = (1.23, 1.23, 1.23)


def judged(paper: Numbers, ours: Numbers | None, kind: Kind = Kind.NUMBER, **more: Any) -> Judged:
    claim = Claim("figure-1", "what", (), paper, lambda *_: ours, kind=kind, **more)
    (one,) = judge([claim], Runs(()))
    return one


def verdict(paper: Numbers, ours: Numbers | None, kind: Kind = Kind.NUMBER, **more: Any) -> str:
    return judged(paper, ours, kind, **more).verdict


def test_a_number_holds_within_a_fifth_above_or_below() -> None:
    assert [verdict(2.84, ours) for ours in (2.2, 2.3, 3.3, 3.5)] == [FAILS, HOLDS, HOLDS, FAILS]
    assert verdict(-0.5, -0.41, is_change=True) == HOLDS


def test_a_change_that_misses_holds_in_its_direction_with_a_fifth_of_its_size() -> None:
    found = [verdict(-0.5, ours, is_change=True) for ours in (-0.39, -0.7, -0.11, -0.09, 0.1)]
    assert found == [DIRECTION, DIRECTION, DIRECTION, FAILS, FAILS]
    assert verdict((-0.02, -0.2), (-0.02, -0.1), is_change=True) == DIRECTION
    assert verdict((-0.02, -0.2), (0.001, -0.2), is_change=True) == FAILS


def test_a_share_of_a_grid_is_told_in_steps() -> None:
    assert [verdict(0.6, ours, step=0.1) for ours in (0.6, 0.5, 0.7, 0.4)] == [HOLDS, STEP, STEP, FAILS]
    assert judged(0.6, 0.5, step=0.1).row()[4] == "another step of 10%"


def test_an_input_says_whether_it_was_met() -> None:
    assert [verdict(1.0, ours, aside=INPUT) for ours in (1.1, 0.4, None)] == [INPUT, MISSED, "input, says nothing"]
    only = judged(-0.162, -0.212, aside=INPUT, is_change=True)
    assert only.verdict == f"{MISSED}, direction only", "outside the range that its own row prints"
    columns, *_, row = (lambda grid: (grid.columns, *grid.rows))(counts([only, judged(1.0, 1.0, aside=INPUT)]))
    assert dict(zip(columns, row, strict=True)) == {"": "all", INPUT: "1", MISSED: "1"}


def test_an_input_that_is_met_no_more_is_lost() -> None:
    met, reached = judged(1.0, 1.1, aside=INPUT), judged(0.1, 0.0, Kind.BOUND, aside=TARGET)
    before = {recorded(one.name, one.verdict) for one in (met, reached)}
    assert before == {"figure 1: what (input)", "figure 1: what (target, holds)"}
    assert lost([met, reached], before) == []
    assert lost([judged(1.0, 0.4, aside=INPUT), reached], before) == ["figure 1: what (input)"]
    assert lost([met], before) == ["figure 1: what (target, holds)"]
    assert tally([met, reached, judged(1.0, 1.0)], before | {"figure 1: what"}) == "1 of 1 holds (was 1)"
    assert recorded("what", MISSED) == ""


def test_the_last_line_counts_what_holds_and_what_did() -> None:
    found = [judged(1.0, ours, aside=aside) for ours, aside in ((1.0, ""), (2.0, ""), (1.0, INPUT))]
    name = found[0].name
    assert name == "figure 1: what"
    assert tally(found[:1], {name}) == "1 of 1 holds (was 1)"
    assert tally(found[1:], None) == "0 of 1 hold (no record of this scale)"
    assert (lost(found[:1], {name}), lost(found[1:], {name}), lost(found[1:], ())) == ([], [name], [])
    silent = [judged(1.0, None)]
    assert lost(silent, {name}) == [name], "what says nothing now does not hold"
    assert lost([], {name}) == [name], "nor does what is not there"
    assert tally([], {name}) == "0 of 0 hold (was 1)"
    assert judged(1.0, 2.0, aside=PREDICTION).verdict == f"{PREDICTION}, {FAILS}"


def test_a_bound_holds_from_below() -> None:
    assert [verdict(0.05, ours, Kind.BOUND) for ours in (-0.9, 0.05, 0.051)] == [HOLDS, HOLDS, FAILS]


def test_about_the_same_is_refuted_from_both_sides() -> None:
    assert [verdict(0.05, ours, Kind.ALIKE) for ours in (-0.116, -0.04, 0.04, 0.06)] == [FAILS, HOLDS, HOLDS, FAILS]


def test_a_direction_needs_an_effect() -> None:
    assert [verdict(FALLS, ours, Kind.EFFECT) for ours in (-0.05, -0.009, 0.009, 0.05)] == [
        HOLDS,
        FAILS,
        FAILS,
        FAILS,
    ], "none where the paper has one does not hold"
    assert verdict(RISES, 0.03, Kind.EFFECT, least=0.05) == FAILS


@pytest.mark.parametrize(
    ("curve", "is_valley", "rises"),
    [
        (FLAT, FAILS, FAILS),
        ((290, 291, 291, 291), FAILS, FAILS),
        ((0, 0, 0), FAILS, FAILS),
        ((1.5, *FLAT), FAILS, FAILS),
        ((*FLAT, 1.5), FAILS, HOLDS),
        ((1.5, 1.2, 1.1, 1.3), HOLDS, FAILS),
        ((1.5, 1.2, 1.3, 1.1, 1.3), FAILS, FAILS),
        ((1.5, 1.1, 1.3, 1.2, 1.4), FAILS, FAILS),
        ((0, 1, 2, 3), FAILS, HOLDS),
        ((1, 2, 1.995, 3), FAILS, HOLDS),
        ((3, 2, 1), FAILS, FAILS),
    ],
)
def test_a_flat_curve_has_no_shape_and_one_with_half_of_it_has_another(
    curve: tuple[float, ...], is_valley: str, rises: str
) -> None:
    assert verdict((FALLS, RISES), valley(curve), Kind.EFFECT) == is_valley
    assert verdict(RISES, climb(curve), Kind.EFFECT) == rises


@pytest.mark.parametrize("kind", list(Kind))
def test_runs_without_anything_that_could_refute_it_say_nothing(kind: Kind) -> None:
    one = judged(0.01, None, kind)
    assert one.verdict == NOTHING
    assert one.row()[3] == "–"


def test_what_we_put_in_and_other_readings_are_shown_and_not_counted() -> None:
    found = [
        judged(1.0, 1.0),
        judged(1.0, 2.0),
        judged(1.0, 1.0, aside=INPUT),
        judged(1.0, 2.0, aside=READING),
        judged(0.01, None, Kind.BOUND),
    ]
    grid = counts(found)
    assert dict(zip(grid.columns, grid.rows[-1], strict=True)) == {
        "": "all",
        HOLDS: "1",
        FAILS: "1",
        NOTHING: "1",
        INPUT: "1",
        READING: "1",
    }
    assert [row[0] for row in grid.rows] == ["number", "bound", "all"]


@pytest.mark.parametrize(
    ("one", "refuted_by", "outcomes"),
    [
        (judged(-0.5, 0.0, is_change=True), "outside −60.0 % … −40.0 %", (-0.61, -0.39)),
        (judged((1.0, 2.0), (1.0, 2.0)), "outside 0.80 … 1.20, 1.60 … 2.40", ((0.7, 2.0), (1.0, 2.5))),
        (judged(0.01, 0.0, Kind.BOUND, is_change=True), "above +1.0 %", (0.011,)),
        (judged(0.05, 0.0, Kind.ALIKE, is_change=True), "beyond ±5.0 %", (-0.051, 0.051)),
        (judged(FALLS, 0.0, Kind.EFFECT), "no fall of 1% or more", (0.01,)),
    ],
)
def test_each_statement_says_what_refutes_it(one: Judged, refuted_by: str, outcomes: tuple[Numbers, ...]) -> None:
    assert one.row()[4].replace("\N{NO-BREAK SPACE}", " ") == refuted_by
    assert HOLDS not in {one.claim.verdict(each(ours)) for ours in outcomes}
