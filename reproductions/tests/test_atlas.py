"""The atlas, on devices that take seconds."""

from __future__ import annotations

import re

import pytest
from reproduced import documents, rows, tiny_scale

from coflash.results.estimate import Estimate
from coflash_reproduce.paper import spread
from coflash_reproduce.reproduction import Done, study
from coflash_reproduce.studies import atlas


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    scale = atlas.Scale(40_000, (0.1, 5), ("pm9a3",), (atlas.ZIPF,), 2)
    with tiny_scale(atlas.STUDY, atlas, scale), pytest.MonkeyPatch.context() as patch:
        patch.setattr(atlas, "SKEWS", {name: atlas.SKEWS[name] for name in ("uniform", "Zipf 0.9")})
        return study("atlas", "tiny", out=tmp_path_factory.mktemp("atlas"), jobs=1)


def test_each_cell_has_one_winner_and_no_other_saves_more_beyond_noise(done: Done) -> None:
    found = rows(done, "figure-1")
    assert [row["answer"] for row in found] == list(atlas.SHORT)
    wins = [int(row["cells that it wins"].partition(" of ")[0]) for row in found]
    assert sum(wins) == 5 * 2 * 2 + len(atlas.SIZES) * 2  # other sizes of blocks with one cache alone
    assert len(documents(done)) == sum(wins) * len(atlas.SHORT) + 2 * (len(atlas.SHORT) + len(atlas.SHADOWS))


def test_the_closed_form_stands_beside_uniform_writes_alone(done: Done) -> None:
    found = rows(done, "table-1")
    assert found and all("uniform" in row["where"] for row in found)
    for row in found:
        left, ran = (float(row[name]) for name in ("closed form leaves", "the run leaves"))
        assert left == pytest.approx(ran, rel=0.2) and left < 1


def test_a_table_of_drives_names_what_is_not_modelled_and_marks_one_answer_of_each_kind_of_memory(done: Done) -> None:
    found = rows(done, "table-2")
    assert [row["answer"].removesuffix(" ★") for row in found] == [*atlas.SHORT, *atlas.SHADOWS]
    for drive in ("pm9a3", "pm9a3, volatile"):
        assert sum("★" in row["answer"] for row in found if row["drive"] == drive) == 1
    assert "p99.9, write tails not modelled" in found[0] and "WAF" in found[0]


def test_a_number_that_seeds_change_has_an_interval_and_no_interval_is_zero(done: Done) -> None:
    found = rows(done, "table-2")
    assert all("±" in row[name] for row in found for name in ("WAF", "hit ratio", "drive writes a day"))
    assert all("±" in row["saved"] for row in found if not row["answer"].startswith(atlas.NONE))
    assert not [cell for row in found for cell in row.values() if re.search(r"± 0(\.0+)?(?![\d.])", cell)]


def test_an_interval_of_zero_is_not_shown_and_a_small_one_by_its_bound() -> None:
    assert spread(Estimate(1.16, 0.0, 3), "ratio") == spread(Estimate(1.16, None, 1), "ratio") == "1.160"
    assert spread(Estimate(1.16, 0.0001, 3), "ratio") == "1.160 ± <0.001"
    assert spread(Estimate(0.5, 0.0001, 3), "share") == "50.0\N{NO-BREAK SPACE}% ± <0.1\N{NO-BREAK SPACE}%"


def test_energy_follows_the_operations_of_flash(done: Done) -> None:
    found = rows(done, "table-2")[: len(atlas.SHORT)]
    energy = [float(row["flash energy a page"].split()[0]) for row in found]
    waf = [float(row["WAF"].split()[0]) for row in found]
    assert energy[0] == max(energy) and waf[0] == max(waf)
    assert 1 < energy[0] < 4.1 * waf[0] + 3.7 * (waf[0] + 1)  # µJ: half of the pages are written, all may be read


def test_volatile_memories_lose_answered_writes_and_only_they_send_notices(done: Done) -> None:
    found = {row["answer"]: row for row in rows(done, "table-6")}
    cut = "after a power cut: a write that was answered"
    assert {name: row[cut] for name, row in found.items() if row["its memories"] == "volatile"} == dict.fromkeys(
        ("hgc", "sgc"), "there or not"
    )
    assert found[atlas.CDM][cut] == "there" and found["cdm-consistent"][cut] == "there, if a commit followed"
    assert [name for name, row in found.items() if row["notices a page written"] != "none"] == ["hgc", "sgc"]
    assert found[atlas.CDM]["memory of its scheme"] == "4 B a logical page, 9 B a slot"


def test_a_drive_without_room_for_two_open_blocks_of_gc_cannot_have_shadow_gc() -> None:
    device = atlas._buffers(atlas._drive("p5520", atlas.ZIPF, 1000))
    assert "the device is too small" in atlas.ANSWERS["sgc"].refused(device)
    assert atlas.ANSWERS[atlas.NONE].refused(device) == ""


def test_each_row_says_what_is_left_above_the_bound_which_is_the_same_for_all_answers(done: Done) -> None:
    found = rows(done, "table-2")[: len(atlas.SHORT)]
    left = [_percent(row["left to save, at most"]) / 100 for row in found]
    bounds = [float(row["WAF"].split()[0]) * (1 - of) for row, of in zip(found, left, strict=True)]
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
    drawn = picture.read_text("utf-8")
    assert "none" in drawn and atlas.COLOURS[atlas.NONE] in drawn
    assert drawn.count("cache, % of the footprint</text>") == len(atlas.PANELS) - len(atlas.SIZES)
    assert drawn.count("size of blocks, 1 as in the other panels</text>") == 1
