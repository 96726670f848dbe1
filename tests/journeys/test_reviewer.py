"""A reviewer repeats a result, and tries what a paper does not say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from walk import makes_smaller, mistypes, stderr, types


def test_a_reviewer_repeats_a_result_and_tries_what_the_paper_does_not_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    # Nothing is there yet: each error ends in the command that makes something.
    Path("results").mkdir()
    for command in ("results list", "results sql 'select 1'", "compare --where seed=1", "report results"):
        assert "`coflash run demo --out results` makes one" in mistypes(command)

    # The scenario of a paper, from its result alone: byte for byte.
    types("init paper.toml")
    makes_smaller(Path("paper.toml"))
    types("run paper.toml --set cooperation=cdm --out results/paper")
    types("run results/paper/scenario.toml --out results/again")
    first, again = (json.loads(Path(f"results/{name}/result.json").read_text("utf-8")) for name in ("paper", "again"))
    assert {**first, "simulator": None} == {**again, "simulator": None}

    # Another workload takes the place of the paper's, and says so; a key without a value has its default.
    note = stderr("scenario check paper.toml --set workload.preset=oltp-like")
    assert "note: workload.preset takes the place of workload.synthetic, which paper.toml has" in note
    assert "gc.victim" not in mistypes("scenario check paper.toml --set workload.synthetc=")
    types("scenario check paper.toml --set workload.synthetic= --set cache.size=")

    # What cannot be is told with what would do.
    for given, said in {
        "cache.size=64": "64 was given: its unit is missing",
        "cache.size=-5MiB": "it is negative",
        "cache.size=1e9": "its unit is missing",
        "ftl.spare.share=0.1%": "would do)",
    }.items():
        assert said in mistypes(f"run paper.toml --set {given}")
    assert 'stands in double quotes: "cache.size"' in mistypes("results sql 'select cache.size from runs'")

    # A policy of one's own, by the suite of its key.
    Path("mine.py").write_text(
        "import coflash\n\n@coflash.policy('cache.policy')\nclass Mine:\n"
        "    def __init__(self, pages):\n        self.pages = {}\n"
        "    def insert(self, page, dirty):\n        self.pages[page] = None\n"
        "    def remove(self, page):\n        del self.pages[page]\n"
        "    def evict(self):\n        return next(iter(self.pages))\n",
        "utf-8",
    )
    assert "zipf and scans" in types("evaluate mine.py")
