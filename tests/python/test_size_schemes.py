"""Other schemes and orders of eviction as choices of `size`."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest

import coflash
from coflash import CoflashError
from coflash.results.why import shapley, whys
from coflash.sweep.memory import flash_bytes
from sweeps import SMALL

DRIVE = SMALL.with_({"flash.channels": 2, "flash.chips_per_channel": 1, "flash.pages_per_block": 16})


def _trace(file: Path, sectors: int = 8) -> Path:
    rng = random.Random(1)
    pages = (rng.randrange(400) if rng.random() < 0.8 else rng.randrange(4096) for _ in range(6000))
    rows = (
        f"{at * 1_000_000},{'write' if at % 4 else 'read'},{page * 4096},{512 * sectors}\n"
        for at, page in enumerate(pages)
    )
    file.write_text("ns,op,offset,size\n" + "".join(rows), encoding="utf-8")
    return file


def test_other_schemes_are_tried_where_the_drives_own_spare_space_is_too_little_for_the_trace(tmp_path: Path) -> None:
    little = DRIVE.with_({"ftl.spare.share": "0.1%", "flash.exported": "17MiB", "flash.blocks_per_plane": None})
    with pytest.raises(CoflashError, match="spare"):
        little.check()
    found = coflash.size(_trace(tmp_path / "hot.csv"), "waf_host<0.9", drive=little, out=tmp_path / "out", seeds=1)
    assert "21 other schemes or orders of eviction had to do on a cheaper device" in found.sentences[2]


def test_where_the_largest_spare_share_is_the_best_larger_ones_are_searched_too(tmp_path: Path) -> None:
    over: dict[str, list[str]] = {"cache.size": ["0B", "4KiB"], "cooperation": ["none"]}
    found = coflash.size(_trace(tmp_path / "hot.csv"), "waf_host<1.3", drive=DRIVE, over=over, out=tmp_path, seeds=1)
    assert found.answer.is_met and 56 < float(found.answer.spare.rstrip("%")) < 300
    assert "% … 300% of what is exported" in found.sentences[2]
    given = over | {"ftl.spare.share": ["20%", "56%"]}
    kept = coflash.size(_trace(tmp_path / "hot.csv"), "waf_host<1.3", drive=DRIVE, over=given, out=tmp_path, seeds=1)
    assert not kept.answer.is_met, "shares that are given are all that is tried"


def test_flash_of_many_bits_with_the_times_of_one_has_no_sure_answer_of_time(tmp_path: Path) -> None:
    trace, over = _trace(tmp_path / "hot.csv", sectors=2), {"cache.size": ["0B"], "ftl.spare.share": ["28%"]}
    asked: dict[str, Any] = {"over": over, "out": tmp_path, "seeds": 1}
    qlc = DRIVE.with_({"flash.cell": "qlc"})
    found = coflash.size(trace, "response.p99<1s", drive=qlc, **asked)
    assert found.answer.is_met and not found.is_sure
    assert found.headline.endswith(": no sure answer.")
    assert "The flash is QLC, but its times are the defaults (timing.page_read=25us, " in found.sentences[0]
    assert any("its times are the defaults" in note for note in found.notes())
    timed = coflash.size(trace, "response.p99<1s", drive=qlc.with_({"timing.page_program": "900us"}), **asked)
    assert not any("its times are the defaults" in note for note in (*timed.notes(), *timed.sentences))
    worn = coflash.size(trace, ["waf_host<9", "margin>20%", "dwpd>0.001"], drive=qlc, **asked)
    assert "its times are the defaults" not in worn.sentences[0], "wear does not depend on times"
    assert worn.goals[1].text == "endurance.drive_writes_per_day>0.001 (with the margin >0.0012)"
    # Requests of 1 KiB program a page each: four times as many bytes.
    pages, shown = (
        worn.answer.bounded[0].mean or 0.0,
        re.search(r"by the bytes of the host it is ([\d.]+)", worn.sentences[0]),
    )
    assert shown and float(shown[1]) == pytest.approx(4 * pages, rel=0.01)


def test_of_schemes_with_the_same_numbers_the_one_with_the_fewest_parts_is_named(tmp_path: Path) -> None:
    trace = _trace(tmp_path / "hot.csv")
    trace.write_text(
        trace.read_text("utf-8").replace("read", "write"), encoding="utf-8"
    )  # then no cached page is clean
    over: dict[str, Any] = {"cache.size": ["1MiB"], "ftl.spare.share": ["56%"]}
    found = coflash.size(trace, "waf_host<1.5", drive=DRIVE, over=over, out=tmp_path, seeds=2)
    waf = {name: [run.metrics.waf_host for run in runs] for name, runs in found.variants.items()}
    assert DRIVE.to_dict()["cooperation"]["name"] == "cdm" and waf["cdm"] == waf["cdm-overwrites"] != waf["none"]
    assert found.headline.startswith("1 MiB cache (cdm-overwrites, lru)")
    kept = coflash.size(trace, "waf_host<1.5", drive=DRIVE, over=over | {"cooperation": ["cdm"]}, out=tmp_path, seeds=2)
    assert kept.headline.startswith("1 MiB cache (cdm, lru)"), "a scheme that is asked for stays"


@pytest.mark.parametrize("definition", ["over_provisioning", "spare_of_physical"])
def test_where_whole_blocks_make_other_spare_space_than_is_set_the_answer_tells_it(
    definition: str, tmp_path: Path
) -> None:
    drive = DRIVE.with_({"ftl.spare.definition": definition})
    over: dict[str, Any] = {"cache.size": ["0B"], "ftl.spare.share": ["20%"], "cooperation": ["none"]}
    found = coflash.size(_trace(tmp_path / "hot.csv"), "waf_host<9", drive=drive, over=over, out=tmp_path, seeds=1)
    exported = found.scenario.exported_bytes()
    more = flash_bytes(found.scenario) - exported
    has = more / (exported if definition == "over_provisioning" else exported + more)
    assert has > 0.205
    assert found.headline.startswith("No cache, 20% spare space ($")
    told = (
        f"spare space in whole blocks: with 20% as the least, the device has {100 * has:.1f}\u00a0%, in its price too"
    )
    assert told in "\n".join(found.sentences)


def test_the_shares_of_parts_add_up_to_the_difference_whatever_the_order() -> None:
    value = {(): 10.0, ("a",): 7.0, ("b",): 9.0, ("a", "b"): 4.0}
    shares = shapley(["a", "b"], lambda parts: value[tuple(sorted(parts))])
    assert shares == {"a": -4.0, "b": -2.0}
    numbers = {"none": [10.0, 11.0], "cdm-overwrites": [7.0, 8.0], "cdm-removable": [9.0, 9.0]}
    runs = [(scheme, seed, one) for scheme, of in numbers.items() for seed, one in enumerate(of)]
    assert whys(runs) == []
    (found,) = whys([*runs, ("cdm", 0, 4.0), ("cdm", 1, 5.0), ("cdm", 2, 9.0)])
    assert (found.before, found.after, found.base.runs) == ("none", "cdm", 2)
    total = sum(one.mean or 0.0 for one in found.shares.values())
    assert total == pytest.approx((found.whole.mean or 0.0) - (found.base.mean or 0.0))
