"""What is shown of a folder of results is the fleet that was asked last."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import coflash
from coflash.results.subject import Subject
from coflash.sweep.fleet import Fleet

SMALL = coflash.Scenario.load("demo").with_(
    {"flash.channels": 1, "cache.size": "1MiB", "precondition.fill": "sequential", "precondition.random_passes": 0}
)


def write_volume(place: Path, seed: int) -> None:
    """Write a trace of Alibaba's kind with one volume."""
    draw = np.random.default_rng(seed)
    rows = [f"7,W,{4096 * int(draw.integers(0, 300))},4096,{1000 + 50 * number}" for number in range(300)]
    place.parent.mkdir(exist_ok=True)
    place.write_text("\n".join(rows) + "\n")


def ask(folder: Path, out: Path) -> Fleet:
    return coflash.fleet(str(folder), {"seed": [1]}, out=out, by="file", scenario=SMALL)


def test_volumes_of_files_that_were_removed_are_left_out_and_named(tmp_path: Path) -> None:
    folder, out = tmp_path / "traces", tmp_path / "out"
    for seed, name in enumerate(("a", "b", "c")):
        write_volume(folder / f"{name}.csv", seed)
    ask(folder, out)
    coflash.sweep(SMALL, {"seed": [5]}, str(folder / "a.csv"), out=out)
    assert sorted(coflash.results(out).to_polars()["name"]) == ["a", "b", "c", "demo"]
    (folder / "b.csv").unlink()
    found = ask(folder, out)
    shutil.copytree(out, tmp_path / "other")
    (tmp_path / "other" / "fleet.json").unlink()
    assert len(coflash.results(tmp_path / "other")) == 4, "what is gone is gone from its own folder"
    shutil.rmtree(tmp_path / "other")
    for known, cautions in (
        (coflash.results(out), coflash.results(out).cautions),
        (coflash.results(tmp_path), coflash.results(tmp_path).cautions),
        (coflash.results(out.as_uri()), coflash.results(out.as_uri()).cautions),
    ):
        assert sorted(known.to_polars()["name"]) == ["a", "c", "demo"], "a sweep of the folder is no volume"
        (said,) = (text for text in cautions if "left out" in text)
        assert "b.csv is no longer in its fleet: 1 run of it as it was before left out (another --out keeps" in said
    page = Subject.read([out])
    assert sorted(one.document["scenario"]["name"] for one in page.results) == ["a", "c", "demo"]
    assert any("b.csv is no longer in its fleet" in text for text in page.remarks)
    assert sorted(found.to_polars()["name"]) == ["a", "c"]


def test_a_fleet_of_other_files_of_the_same_names_takes_the_place_of_the_first(tmp_path: Path) -> None:
    for seed, folder in enumerate(("one", "two")):
        write_volume(tmp_path / folder / "a.csv", seed)
        found = ask(tmp_path / folder, tmp_path / "out")
        (shown,) = coflash.results(tmp_path / "out").to_polars()["inputs"]
        assert shown == found.volumes[0].sha256


def test_runs_of_a_fleet_that_was_stopped_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, out = tmp_path / "traces", tmp_path / "out"
    write_volume(folder / "a.csv", 1)
    ask(folder, out)
    write_volume(folder / "b.csv", 2)
    monkeypatch.setattr(Fleet, "to_json", lambda _: 1 // 0)  # stopped before its document is written
    with pytest.raises(ZeroDivisionError):
        ask(folder, out)
    assert sorted(coflash.results(out).to_polars()["name"]) == ["a", "b"]
