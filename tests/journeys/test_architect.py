"""An architect sizes spare space and cache for a bound on response times."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from walk import columns, makes_smaller, mistypes, types


def test_an_architect_sizes_spare_space_and_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    types("init device.toml")
    makes_smaller(Path("device.toml"))

    # Which keys are these? The capacity that the host sees stays when spare space varies.
    assert "ftl.spare.share" in types("keys ftl.spare")
    assert "blocks_per_plane follows from it" in " ".join(types("keys flash.exported").split())
    assert 'did you mean "ftl.spare"' in mistypes("keys ftl.spar")
    assert 'did you mean "size"' in mistypes("sweep device.toml --vary cache.siz=1%,5%")

    # All four points run, on devices that export the same.
    grid = "--vary ftl.spare.share=15%,40% --vary cache.size=1%,10%"
    swept = types(f"sweep device.toml {grid} --out runs --json runs.json")
    assert "results: runs" in swept
    found = json.loads(Path("runs.json").read_text("utf-8"))
    assert (len(found["points"]), found["failures"]) == (4, [])
    waf = {tuple(point["values"].values()): point["measures"]["waf_host"]["mean"] for point in found["points"]}
    assert waf["40%", "10%"] < waf["15%", "10%"] < waf["15%", "1%"]
    exported = types("results sql 'select distinct \"flash.exported\" from runs' --in runs")
    assert columns(exported, "64MiB") == ["64MiB"]
    assert "syntax error" in mistypes("results sql 'selct waf_host from runs' --in runs")

    # Only the large cache; then a search, and a run of its best point.
    listed = types("results list --in runs --where cache.size=10%")
    assert [listed.count(share) for share in ("15%", "40%")] == [1, 1]
    assert "blocks_per_plane" not in listed  # which follows from the capacity and the spare space
    space = "--over ftl.spare.share=15%..40% --over cache.size=1%..10%"
    tuned = types(f"tune device.toml --minimise response.p99 {space} --trials 4 --out tuned")
    (best,) = (line for line in tuned.splitlines() if line.startswith("best:"))
    assert "--set ftl.spare.share=" in best
    assert "--set cache.size=" in best
    ran = types(f"run device.toml {best.removeprefix('best:')} --out chosen")
    assert columns(ran, "scenario") == ["scenario", "device"]
    assert "response, p99" in ran

    # From a trace and goals to a size: of a drive by its name, whose parts are too many for so small a trace.
    types("trace generate zipf -o trace.csv.parquet --requests 6000 --space 16MiB")
    asked = "size trace.csv.parquet --goal waf_host<3 --seeds 1"
    said = mistypes(f"{asked} --drive pm9a3")
    assert said.startswith("error: size: the trace touches")
    _, begin, grown = said.rpartition("--goal 'capacity>15.36TB'")
    assert grown == " grows it to a drive of that size, or of another one"
    answer = types(f"{asked} --drive pm9a3 {begin}", status=3)
    assert "is on the edge: the cheapest of" in " ".join(answer.split())
    assert "The numbers do not tell" in answer and Path("results/size/why.pdf").stat().st_size

    # For the colleagues.
    types("report runs -o report.html")
    assert Path("report.html").stat().st_size
