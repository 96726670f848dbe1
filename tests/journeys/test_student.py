"""A student compares CDM with a baseline, for a paper: savings, their intervals, and a figure."""

from __future__ import annotations

from pathlib import Path

import pytest
from walk import columns, makes_smaller, mistypes, stderr, types


def test_a_student_compares_cdm_with_a_baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    # The built-in scenarios.
    assert "init" in types("--help")
    assert "scenario.toml; coflash run scenario.toml" in types("init")
    text = Path("scenario.toml").read_text("utf-8")
    assert "# Cooperation scheme of cache and flash" in text
    makes_smaller(Path("scenario.toml"))
    assert "scenario: ok" in types("scenario check scenario.toml")

    # The schemes. A typing error is explained.
    assert '"cdm"' in types("keys cooperation")
    assert 'did you mean "cdm"' in mistypes("run scenario.toml --set cooperation=cmd")
    assert 'did you mean "cooperation"' in mistypes("run scenario.toml --set cooperaton=cdm")

    # Two runs, each with its description, and their differences.
    for scheme in ("none", "cdm"):
        seen = types(f"run scenario.toml --set cooperation={scheme} --out runs/{scheme}")
        assert columns(seen, "scheme") == ["scheme", scheme]
        assert columns(seen, "cache") == ["cache", "5%, lru, in the device"]
    listed = types("results list --in runs")
    assert columns(listed, "cdm")[1] == "cdm"
    compared = types("compare none cdm --in runs")
    _, baseline, ours, change = columns(compared, "WAF, by host writes")
    assert float(ours) < float(baseline)
    assert change.startswith("−")

    # The same by their folders; and why, which the schemes between tell without a rest.
    compared = types("compare runs/none runs/cdm --measure waf_host")
    assert columns(compared, "WAF, by host writes")[1:] == [baseline, ours, change]
    said = [line for line in stderr("compare runs/none runs/cdm").splitlines() if line.startswith("why: ")]
    sweep, then = (line.split(": coflash ")[1] for line in said)
    assert "--vary cooperation=none,cdm-overwrites,cdm-removable,cdm --out results/why-" in sweep
    why = "Why, in exact shares: from none (a cache without cooperation) to cdm WAF, by host writes changes from"
    assert why in types(sweep)
    place = sweep.split(" --out ")[1]
    assert then == f"compare {place} --seeds" and why in stderr(then)
    types(f"report {place} --format svg -o why")
    assert Path("why/why.svg").stat().st_size
    assert r"\toprule" in types(f"results list --in {place} --format latex")

    # Is that chance? Three seeds, and means with intervals.
    swept = types("sweep scenario.toml --vary cooperation=none,cdm --seeds 3 --out runs/seeds")
    for scheme in ("none", "cdm"):
        assert "±" in columns(swept, scheme)[1]
    again = types("sweep scenario.toml --vary cooperation=none,cdm --seeds 3 --out runs/seeds")
    assert "6 of them from before" in again

    chance = types("compare --in runs/seeds --where cache.size=5% --intervals --measure waf_host")
    assert columns(chance, "to")[1] == "cdm"
    assert float(columns(chance, "from none")[1]) > 1
    assert "n = 3, p" in " ".join(columns(chance, "95 % over seeds"))

    # A page to explore, and a figure for the paper; an option of figures is refused if it has no effect.
    types("report runs/seeds -o report.html")
    assert "<svg" in Path("report.html").read_text("utf-8") or "<script" in Path("report.html").read_text("utf-8")
    assert "--measure: has no effect on a page" in mistypes("report runs/seeds --measure waf_host")
    written = types("report runs/seeds --format svg --measure waf_host --over cooperation -o figures")
    assert any("waf" in Path(file).name for file in written.split())
    assert all(Path(file).stat().st_size for file in written.split())
