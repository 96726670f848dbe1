"""The atlas, on devices that take seconds."""

from __future__ import annotations

import pytest
from reproduced import documents, rows, tiny_scale

from coflash_reproduce.reproduction import Done, study
from coflash_reproduce.studies import atlas


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    scale = atlas.Scale(40_000, (0.1, 5), ("pm9a3",), (atlas.ZIPF,))
    with tiny_scale(atlas.STUDY, atlas, scale), pytest.MonkeyPatch.context() as patch:
        patch.setattr(atlas, "SKEWS", {name: atlas.SKEWS[name] for name in ("uniform", "Zipf 0.9")})
        return study("atlas", "tiny", out=tmp_path_factory.mktemp("atlas"), jobs=1)


def test_each_cell_has_one_winner_and_no_other_saves_more_beyond_noise(done: Done) -> None:
    found = rows(done, "figure-1")
    assert [row["answer"] for row in found] == list(atlas.SHORT)
    wins = [int(row["cells that it wins"].partition(" of ")[0]) for row in found]
    assert sum(wins) == len(atlas.PANELS) * 2 * 2
    assert len(documents(done)) == (sum(wins) + 1) * len(atlas.SHORT)


def test_the_closed_form_stands_beside_uniform_writes_alone(done: Done) -> None:
    found = rows(done, "table-1")
    assert found and all("uniform" in row["where"] for row in found)
    for row in found:
        left, ran = (float(row[name]) for name in ("closed form leaves", "the run leaves"))
        assert left == pytest.approx(ran, rel=0.2) and left < 1


def test_a_table_of_drives_names_what_is_not_modelled_and_marks_one_answer(done: Done) -> None:
    found = rows(done, "table-2")
    assert [row["answer"].removesuffix(" ★") for row in found] == list(atlas.SHORT)
    assert sum("★" in row["answer"] for row in found) == 1
    assert "p99.9, write tails not modelled" in found[0] and "WAF" in found[0]


def test_each_row_says_what_is_left_above_the_bound_which_is_the_same_for_all_answers(done: Done) -> None:
    found = rows(done, "table-2")
    bounds = [float(row["WAF"]) * (1 - _percent(row["left to save, at most"]) / 100) for row in found]
    assert bounds == pytest.approx([bounds[0]] * len(found), rel=0.01) and 0 < bounds[0] < 1
    for row in rows(done, "table-5"):
        for cell in (row["uniform"], row["Zipf 0.9"]):
            waf, bound = (float(part) for part in cell.partition("(")[2].rstrip(")").split(", "))
            assert _percent(cell) == pytest.approx(100 * (1 - bound / waf), abs=1.5)


def _percent(text: str) -> float:
    return float(text.partition("\N{NO-BREAK SPACE}")[0])


def test_clean_first_and_known_overwrites_save_more_together(done: Done) -> None:
    saved = {row["answer"]: row["saves most"] for row in rows(done, "figure-1")}
    share = {name: _percent(saved[name]) for name in (atlas.OVERWRITES, atlas.CDM_FIRST)}
    assert share[atlas.CDM_FIRST] > share[atlas.OVERWRITES] > 0


def test_a_picture_of_the_map_carries_the_names_of_answers(done: Done) -> None:
    (picture,) = (done.page.parent / "images").glob("*.svg")
    assert "none" in picture.read_text("utf-8")
