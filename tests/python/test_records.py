"""Recorded operations and decisions agree with the counts of the result."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from typer.testing import CliRunner

import coflash
from coflash import CoflashError, Table
from coflash.cli import app
from sweeps import SPACIOUS
from systems import HYBRID

ROOT = Path(__file__).parents[2]

SYSTEMS: list[dict[str, Any]] = [
    {},
    {"cooperation": "cdm", "gc.mode": "preemptive"},
    {"timing.channel": "private", "cooperation": "cdm-hgc", "gc.victim": "cost-benefit"},
    {"ftl.placement": "sepbit", "cooperation": "hgc"},
    {"ftl.wear_levelling": {"name": "static", "gap": 1}, "gc.victim": "score"},
    {"cache.placement": "host", "ftl.summary": "on"},
    {"ftl.pools": "device", "flash.planes_per_die": 2, "timing.read_priority": "suspend"},
]


def recorded(scenario: coflash.Scenario, folder: Path) -> tuple[coflash.Result, Table, Table]:
    operations, decisions = folder / "operations.parquet", folder / "decisions.parquet"
    result = coflash.run(scenario, operations=operations, decisions=decisions)
    return result, Table.read_parquet(operations), Table.read_parquet(decisions)


def assert_counted(operations: Table, metrics: Any) -> None:
    kind, cause = operations["kind"], operations["cause"]
    programs = np.isin(kind, ["program", "copy"])
    for name, pages in metrics["programs_pages"].items():
        assert (programs & (cause == name)).sum() == pages, name
    assert np.isin(kind, ["read", "copy"]).sum() == metrics["operations"]["reads_pages"]


@pytest.mark.parametrize("changes", SYSTEMS, ids=str)
def test_operations_add_up_to_what_the_result_counts(changes: dict[str, Any], tmp_path: Path) -> None:
    scenario = SPACIOUS.with_(changes)
    result, operations, decisions = recorded(scenario, tmp_path)
    metrics = result.document["metrics"]
    assert coflash.run(scenario).document["metrics"] == metrics, "a recorder changes nothing"
    kind, cause = operations["kind"], operations["cause"]
    assert metrics["gc_copies_pages"] > 0
    assert_counted(operations, metrics)
    flash = scenario.to_dict()["flash"]
    planes = flash["channels"] * flash["chips_per_channel"] * flash["planes_per_die"] if "ftl.pools" in changes else 1
    assert (kind == "erase").sum() * planes == metrics["erases_blocks"]
    # Each erased block was picked, or its cold data was moved.
    chosen = decisions["chosen"]
    picked = np.bincount(decisions["block"][chosen].astype(int))
    erased = np.bincount(operations["block"][(kind == "erase") & (cause == "gc")].astype(int), minlength=len(picked))
    assert chosen.sum() == decisions["decision"].max() + 1
    assert abs(int(picked.sum()) - int(erased.sum())) <= flash["channels"] * flash["chips_per_channel"]
    assert (picked >= erased[: len(picked)]).all()
    times, ends = (operations[name].astype(np.int64) for name in ("time_ns", "end_ns"))
    assert (ends > times).all()
    if "ftl.pools" not in changes:  # a die does one operation at a time, in the order in which they are issued
        dies = operations["block"] // flash["blocks_per_plane"]
        for die in range(int(dies.max()) + 1):
            assert (np.diff(ends[dies == die]) > 0).all()


def test_operations_of_a_flash_cache_before_disks_add_up(tmp_path: Path) -> None:
    result, operations, decisions = recorded(HYBRID, tmp_path)
    metrics = result.document["metrics"]
    assert coflash.run(HYBRID).document["metrics"] == metrics, "a recorder changes nothing"
    assert {"host", "gc", "metadata"} <= {name for name, pages in metrics["programs_pages"].items() if pages}
    assert_counted(operations, metrics)
    erased = operations["kind"] == "erase"
    assert erased.sum() == metrics["erases_blocks"]
    cleaned = operations["block"][erased & (operations["cause"] == "gc")]
    assert set(cleaned) <= set(decisions["block"][decisions["chosen"]])


def test_a_replay_of_the_operations_knows_what_gc_found(tmp_path: Path) -> None:
    """Counts the valid pages of blocks by the logical pages of programs alone, on a device that is new."""
    scenario = SPACIOUS.with_(
        {"precondition.fill": "none", "precondition.random_passes": 0, "flash.channels": 1, "cooperation": "none"}
    ).set([("workload.synthetic.requests", "60000")])
    _, operations, decisions = recorded(scenario.with_(ftl__placement="dac"), tmp_path)
    first = decisions["block"][decisions["chosen"]].astype(int)
    valid = decisions["valid"][decisions["chosen"]]
    assert len(first) > 100
    holder: dict[int, int] = {}
    count = np.zeros(int(operations["block"].max()) + 1, int)
    copied: dict[int, int] = {}
    found: list[int] = []
    classes: dict[int, float] = {}
    columns = [operations[name] for name in ("kind", "block", "lpn", "from_page", "class")]
    block_of = dict(zip(operations["page"], operations["block"], strict=True))
    for kind, block, lpn, source, label in zip(*columns, strict=True):
        if kind in ("program", "copy"):
            if kind == "copy":
                copied[block_of[source]] = copied.get(block_of[source], 0) + 1
            count[holder.get(lpn, block)] -= lpn in holder
            holder[lpn] = block
            count[block] += 1
            assert classes.setdefault(block, label) == label, "a block has one class"
        elif kind == "erase":
            assert count[block] == 0, "nothing valid is erased"
            found.append(copied.pop(block, 0))
            classes.pop(block)
    assert found[: len(valid)] == [int(pages) for pages in valid[: len(found)]]
    assert len(set(operations["class"][operations["kind"] == "program"])) > 2


def test_a_greedy_decision_is_the_cheapest_candidate(tmp_path: Path) -> None:
    _, _, decisions = recorded(SPACIOUS.with_({"cooperation": "cdm", "gc.victim": "greedy"}), tmp_path)
    assert (decisions["removable"] > 0).any()
    for decision in range(0, int(decisions["decision"].max()), 37):
        of = decisions["decision"] == decision
        chosen = of & decisions["chosen"]
        assert chosen.sum() == 1
        assert decisions["cost"][chosen] == decisions["cost"][of].min()
        assert (decisions["valid"][of] <= decisions["pages"][of]).all()
        assert (decisions["removable"][of] <= decisions["valid"][of]).all()


def test_a_record_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "operations.parquet"
    coflash.run(SPACIOUS.with_(seed=2), operations=file)
    before = file.read_bytes()

    def stop(*_: object) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        coflash.run(SPACIOUS, progress=stop, operations=file)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]
    with pytest.raises(CoflashError, match=r"nowhere/d.parquet: there is no folder "):
        coflash.run(SPACIOUS, operations=file, decisions=tmp_path / "nowhere" / "d.parquet")
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_a_full_disk_is_an_error() -> None:
    with pytest.raises(CoflashError, match=r"/dev/full: cannot be written: .*No space left"):
        coflash.run(SPACIOUS, operations="/dev/full")


def test_the_command_line_records_what_the_page_asks_and_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the code of docs/records.md on what its command writes."""
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(SPACIOUS.to_toml(), encoding="utf-8")
    arguments = ["run", "s.toml", "--quiet", "--decisions", "decisions.parquet", "--json", "-"]
    ran = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert json.loads(ran.stdout)["metrics"]["gc_copies_pages"] > 0
    page = (ROOT / "docs" / "records.md").read_text("utf-8")
    (query,), (code,) = (re.findall(rf"```{of}\n(.*?)```", page, re.DOTALL) for of in ("sql", "python"))
    others, chosen = sorted(duckdb.execute(query).fetchall())
    assert chosen[2] < others[2], "GC picks blocks with fewer valid pages"
    subprocess.run([sys.executable, "-c", code], check=True)
    text = Path("validity.svg").read_text("utf-8")
    assert text.startswith("<svg")
    for label in ("valid pages (%)", "blocks", "block", "time (s)"):
        assert f">{label}<" in text
