"""A trace that is grown to the capacity of a drive."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pytest

import coflash
from coflash import CoflashError
from coflash.quantity import parsed
from coflash.sweep import grown
from coflash.sweep.grown import Grown
from coflash.trace import head, info
from sweeps import SMALL

DRIVE = SMALL.with_({"flash.channels": 2, "flash.chips_per_channel": 1, "flash.pages_per_block": 16})


def hot_and_cold(file: Path, times: int = 1) -> Path:
    """Hot and cold writes of 4 KiB to 8 MiB, or that many times as much, a millisecond apart."""
    rng, rows = random.Random(1), ["ns,op,offset,size"]
    for at in range(8_000 * times):
        page = rng.randrange(200 * times) if rng.random() < 0.8 else rng.randrange(2048 * times)
        rows.append(f"{at * 1_000_000 + at % 1000},{'write' if at % 4 else 'read'},{page * 4096},4096")
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hot_and_cold(tmp_path_factory.mktemp("trace") / "hot.csv")


def test_copies_have_each_request_and_each_gap_once_at_addresses_of_their_own_and_the_same_rate(
    trace: Path, tmp_path: Path
) -> None:
    about = info(trace)
    file = Grown(about, "", 0, copies=3).written(trace, {}, tmp_path / "three.parquet")
    made = file.stat().st_mtime_ns
    assert Grown(about, "", 0, copies=3).written(trace, {}, file) == file
    assert file.stat().st_mtime_ns == made and [*tmp_path.glob("three*")] == [file], "what is there is not made again"
    one, found = head(trace, 10**6).to_dict(), head(file, 10**6).to_dict()
    assert len(found["time_ns"]) == 3 * about.requests and list(found["time_ns"]) == sorted(found["time_ns"])
    apart = (int(max(one["offset_bytes"])) + 4096 >> 20) + 1 << 20
    for copy in range(3):
        mine = [at for at, place in enumerate(found["offset_bytes"]) if place // apart == copy]
        requests = [(str(found["op"][at]), int(found["offset_bytes"][at]) % apart) for at in mine]
        own = list(zip(map(str, one["op"]), map(int, one["offset_bytes"]), strict=True))
        begins = 32 * (copy * 250 // 3)
        assert requests == own[begins:] + own[:begins], "in the order of the trace, each from another place on"
    gaps = [int(b) - int(a) for a, b in zip(found["time_ns"], found["time_ns"][1:], strict=False)]
    own_gaps = [int(b) - int(a) for a, b in zip(one["time_ns"], one["time_ns"][1:], strict=False)]
    assert (Counter(3 * own_gaps) - Counter(gaps)).total() <= 1, "but for that after the last request"
    assert {*(Counter(gaps) - Counter(3 * own_gaps))} <= {0}


def test_a_part_of_a_drive_exports_what_the_trace_needs_and_has_its_part_of_spare_space_and_cache(trace: Path) -> None:
    fitted = Grown.of(info(trace), 0.0, "1TB", DRIVE, is_timed=True)
    assert fitted.copies == 2 and fitted.room * 4096 * fitted.times == pytest.approx(1e12)
    for spare in ("10%", "28%", "56%"):
        keys = {"flash.exported": "1TB", "ftl.spare.share": spare, "cache.size": f"{100e9:.0f}B"}
        dies, pages, block = fitted.part(DRIVE.with_(keys)).sizes()
        assert dies * pages == pytest.approx(fitted.room, abs=1)
        part = fitted.part(DRIVE.with_(keys)).to_dict()
        cached, _ = parsed(part["cache"]["size"]) or (0.0, "")
        assert cached / (dies * pages * 4096) == pytest.approx(0.1, abs=0.001)
        share, _ = parsed(part["ftl"]["spare"]["share"]) or (0.0, "")
        kept_free = 2 + 1 + 1  # the low mark, one between two cleanings, two open blocks that are half full
        blocks = pages / (1 - share) / block - kept_free
        assert blocks * block / pages - 1 == pytest.approx(float(spare[:-1]) / 100, abs=1.1 * block / pages)


def test_copies_of_a_trace_amplify_as_a_trace_that_is_as_much_larger(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = {"cooperation": ["none"], "cache.size": "32GiB", "ftl.spare.share": "14%"}
    goals = ["waf_host<9", "dwpd>0", "response.mean<1s", "capacity>1TB"]
    larger = hot_and_cold(tmp_path / "larger.csv", times=4)
    one = coflash.size(larger, goals, drive=DRIVE, over=over, out=tmp_path / "one", seeds=1)
    monkeypatch.setattr(grown, "BLOCKS_MIN", 128)
    four = coflash.size(trace, goals, drive=DRIVE, over=over, out=tmp_path / "four", seeds=1)
    assert "in 4 copies that take turns" in four.how[0] and "copies" not in one.how[0]
    for place in range(2):
        numbers = [found.answer.bounded[place].mean or 0.0 for found in (one, four)]
        assert numbers[1] == pytest.approx(numbers[0], rel=0.03), "write amplification, and drive writes a day"
    assert four.answer.cost == pytest.approx(one.answer.cost, rel=0.001)
    assert one.answer.cost == pytest.approx((32 * 3 + 1e12 / 2**30 * 1.14 * 0.24), rel=0.01), "of the whole drive"
    for found in (one, four):
        flash_over_exported = (found.answer.cost - 32 * 3) / 0.24 * 2**30 / 1e12
        run = found.answer.runs[0].metrics
        waf = sum(run.programs_pages.values()) / run.host_writes_pages
        a_day = 100_000 * flash_over_exported / (5 * 365 * waf)
        assert found.answer.bounded[1].mean == pytest.approx(a_day, rel=0.002), "of the flash that is priced"
        (part,) = re.findall(
            r"a part that ran, with ([\d.]+)\s% of spare space where the drive has 14%", found.sentences[3]
        )
        assert float(part) > 14
    assert "rests on\n- 931 GiB exported" in one.sentences[3] and "32 GiB cache" in one.sentences[0]
    assert "Scaled to" in one.sentences[4]


def test_some_dies_amplify_as_all_where_no_goal_is_of_time(trace: Path, tmp_path: Path) -> None:
    over = {"cooperation": ["none"], "cache.size": "32GiB", "ftl.spare.share": "14%"}
    drive, written = DRIVE.with_({"flash.channels": 4}), info(trace).requests
    goals = ["waf_host<9", "dwpd>0", "capacity>1TB"]
    limited = [*goals, "cache.size<64GiB"]  # a limit of what is searched is no goal of time
    some = coflash.size(trace, limited, drive=drive, over=over, out=tmp_path / "some", seeds=1)
    all_dies = coflash.size(trace, [*goals, "response.mean<1s"], drive=drive, over=over, out=tmp_path / "all", seeds=1)
    runs = [found.answer.runs[0] for found in (some, all_dies)]
    assert [run.scenario.to_dict()["flash"]["channels"] for run in runs] == [1, 4]
    assert [run.metrics.requests // written for run in runs] == [1, 4], "copies"
    assert "and 1 die of its 4, which amplify writes as all do; no goal is of time" in some.how[0]
    assert "closed loop): no goal is of time" in some.how[2] and "at the times of the trace" in all_dies.how[2]
    assert "GiB exported, 4 dies on 4 channels of" in some.sentences[3]
    for place in range(2):
        numbers = [found.answer.bounded[place].mean or 0.0 for found in (all_dies, some)]
        assert numbers[1] == pytest.approx(numbers[0], rel=0.03), "write amplification, and drive writes a day"
    assert some.answer.cost == pytest.approx(all_dies.answer.cost, rel=0.001)


def test_what_cannot_be_grown_says_why(trace: Path, tmp_path: Path) -> None:
    def refuses(message: str, *goal: str, keys: dict[str, int] | None = None) -> None:
        with pytest.raises(CoflashError, match=message):
            coflash.size(trace, ["waf_host<2", *goal], drive=DRIVE.with_(keys), out=tmp_path)

    refuses("touches 4.55 MiB, and cannot be grown to 1MiB: a size above that", "capacity>1MiB")
    refuses("grown to 20: a size above that, such as 15.36TB, is allowed", "capacity>20")
    refuses(
        "take [0-9]+ copies of the trace, more than 20,000,000 requests",
        "capacity>9TB",
        keys={"flash.pages_per_block": 2**16},
    )
    refuses("life_years>5: with a capacity a part of the drive runs.*dwpd", "years>5", "capacity>1TB")
