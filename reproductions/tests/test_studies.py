"""The studies find what their pages say, on devices that take seconds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from reproduced import documents, rows, tiny_scale

import coflash
from coflash import CoflashError, Scenario
from coflash.cli import main
from coflash.measures.measure import WAF_HOST
from coflash_reproduce.command import study_app
from coflash_reproduce.reproduction import study
from coflash_reproduce.studies import (
    NAMES,
    all_three,
    caching_less,
    eviction_policies,
    frozen_spare,
    handles,
    placement,
    removable_weight,
)

FROZEN = "Most of the spare space lies in blocks that GC never erased"


def test_the_help_of_the_command_names_each_study() -> None:
    (named,) = [one.help for one in typer.main.get_command(study_app).params if one.name == "name"]  # type: ignore[attr-defined]
    assert named == f"Which study: {', '.join(NAMES)}."


def test_greedy_gets_stuck_where_the_spare_space_lies_in_cold_blocks(tmp_path: Path) -> None:
    scale = frozen_spare.Scale(1024, (0.02, 0.1), (256, 1024), (1,), (1,), 256, 1)
    with tiny_scale(frozen_spare.STUDY, frozen_spare, scale):
        done = study("frozen-spare", "tiny", out=tmp_path, jobs=1)
    assert [one.what for one in done.judged if not one.finding.holds] == []
    noted = {
        (one["scenario"]["gc"]["victim"]["name"], one["scenario"]["precondition"]["random_passes"])
        for one in documents(done).values()
        if one["scenario"]["name"] == "frozen-spare" and any(FROZEN in note for note in one.get("notes", ()))
    }
    assert noted == {("greedy", 0.1), ("greedy", 3.0)}


def test_a_note_stands_beside_the_remarks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "stuck.toml").write_text(frozen_spare._device(frozen_spare.SCALES["quick"], 512).to_toml(), "utf-8")
    monkeypatch.setattr("sys.argv", ["coflash", "run", str(tmp_path / "stuck.toml"), "--out", str(tmp_path / "out")])
    with pytest.raises(SystemExit, match="0"):
        main()
    assert f"note: {FROZEN}" in capsys.readouterr().err
    (note,) = coflash.Result.load(tmp_path / "out").notes
    assert json.loads((tmp_path / "out/result.json").read_text("utf-8"))["notes"] == [note]
    assert coflash.results(tmp_path / "out").remarks == (note,)


def test_less_should_be_cached_before_flash_than_before_disks(tmp_path: Path) -> None:
    scale = caching_less.Scale(256, 32, 4, (30, 45, 60, 75, 90), 1)
    with tiny_scale(caching_less.STUDY, caching_less, scale):
        done = study("caching-less", "tiny", out=tmp_path, jobs=1)
    alive, more_true, _ = done.judged
    assert alive.finding.holds
    assert more_true.finding.holds
    before_qlc, before_disk = (
        caching_less.best_by_model(name, caching_less.BOTH, 1) for name in ("tlc-qlc", "tlc-disk")
    )
    assert before_qlc < 0.5 < 0.8 < before_disk


def test_weight_0_fails_where_removable_pages_lie_together(tmp_path: Path) -> None:
    trace = tmp_path / "short.iolog"
    more_than_the_cache = "".join(f"{page} d write {4096 * page} 4096\n" for page in range(20_000))
    trace.write_text(f"fio version 3 iolog\n0 d add\n0 d open\n{more_than_the_cache}", "utf-8")
    scale = removable_weight.Scale(64, 80_000, 1, (5, 20), (50,))
    with tiny_scale(removable_weight.STUDY, removable_weight, scale, trace):
        done = study("removable-weight", "tiny", out=tmp_path / "out", jobs=1)
    closed_form, harmless, fails, together, _, _ = done.judged
    assert all(one.finding.holds for one in (closed_form, harmless, fails, together))


def test_hits_do_not_tell_which_policy_wears_flash_least(tmp_path: Path) -> None:
    scale = eviction_policies.Scale(64, 30_000, 1, with_trace=False)
    with tiny_scale(eviction_policies.STUDY, eviction_policies, scale):
        done = study("eviction-policies", "tiny", out=tmp_path, jobs=1)
    hits_tell, resist, *_ = done.judged
    assert not hits_tell.finding.holds
    assert resist.finding.holds
    page = done.page.read_text("utf-8")
    assert all(f"| {name} |" in page for name in eviction_policies.POLICIES)
    assert page.count("| WAF | WAF, cdm |") == 3, "without the trace it has no table"


def test_cooperation_lowers_write_amplification_beside_placement(tmp_path: Path) -> None:
    scale = placement.Scale(40_000, 1, with_trace=False)
    with tiny_scale(placement.STUDY, placement, scale):
        done = study("placement", "tiny", out=tmp_path, jobs=1)
    for system in placement.SYSTEMS:
        query = "select title || ', ' || placement, waf from placed where system = $system"
        changes = dict(placement.STUDY.queries.rows(query, done.runs, system=system)[1])
        assert all(change < 0 for title, change in changes.items() if "dac" not in title), (system, changes)
    scenarios = [one["scenario"] for one in documents(done).values()]
    under = {(one["ftl"]["placement"]["name"], "hybrid" in one) for one in scenarios}
    assert under == {(name, tier) for name in ("none", "sepgc", "dac", "sepbit") for tier in (False, True)} | {
        ("fdp", False)
    }


def test_the_law_of_all_three_counts_what_comes_after_its_first_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "law 16MiB 2MiB"
    monkeypatch.setattr(all_three, "LAW", {name: all_three.LAW[name]})
    monkeypatch.setattr(all_three, "NAMED", [name])
    scale = all_three.Scale(120_000, 1, with_trace=False, rounds=3)
    with tiny_scale(all_three.STUDY, all_three, scale):
        done = study("all-three", "tiny", out=tmp_path, jobs=1)
    (whole,) = (run for run in done.runs.of(name, all_three.UNKNOWN) if run.case.at == 95)
    (begin,) = (run for run in done.runs.of(name, f"{all_three.UNKNOWN}, begin") if run.case.at == 95)
    assert (whole.metrics.requests, begin.metrics.requests) == (360_000, 120_000)
    query = "select line, erases, transfers from late where place = 95 order by n"
    (_, erases, transfers), (_, _, fewer) = all_three.STUDY.queries.rows(query, done.runs)[1]
    assert erases == whole.metrics.erases_blocks - begin.metrics.erases_blocks > 0
    assert fewer < 0.95 * transfers
    assert len(rows(done, "table-3")) == 5


def test_overwrites_of_one_handle_raise_what_another_one_pays(tmp_path: Path) -> None:
    with tiny_scale(handles.STUDY, handles, (1024, 2)):
        done = study("handles", "tiny", out=tmp_path, jobs=1)
    quiet, noisy = (done.runs.of(f"noise-{noise}", handles.KEPT) for noise in ("quiet", "zoned"))
    assert [run.case.at for run in noisy] == [39, 40]
    assert all(handles.waf_of(one, 1) > handles.waf_of(other, 1) for one, other in zip(noisy, quiet, strict=True))
    assert len({handles.waf_of(run, 1) for run in noisy}) == 2
    assert len(done.judged) == len(handles.STUDY.hypotheses)
    assert all("±" in row["WAF, isolation kept"] for row in rows(done, "figure-1") if row["overwrites"] != "quiet")
    for system in handles.BASES:
        query = (
            "select by_handles, by_first, by_second, whole from shares where workload = 'zoned' and system = $system"
        )
        (shares,) = handles.STUDY.queries.rows(query, done.runs, system=system)[1]
        none, own = (
            [run.read(WAF_HOST) for run in done.runs.of(f"above-zoned-{side}", line)]
            for side, line in (("none", handles.BASES[system]), ("own", system))
        )
        for drawing, parts in enumerate(zip(*shares, strict=True)):
            assert parts[-1] == pytest.approx(1 - own[drawing] / none[drawing])
            assert sum(filter(None, parts[:-1])) == pytest.approx(parts[-1])


def test_no_flash_cache_stands_above_handles_and_the_study_of_them_says_so() -> None:
    above = {"hybrid.scheme": "op-fcl", "ftl.placement": "fdp"}
    with pytest.raises(CoflashError, match=r"^ftl.placement: .*no handle of the host reaches flash"):
        Scenario.load("opfcl-config1").with_(above)
    assert "no handle of the host reaches flash" in " ".join(handles.STUDY.text.bodies["limits"].split())
