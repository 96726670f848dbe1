"""The evaluation of a policy: deterministic, comparable with the built-in ones, robust against bad code."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

import coflash
from coflash import CoflashError
from coflash.evaluation import SUITES, SuiteName
from policies_of_ones_own import Greedy, Lru, SepGc
from processes import COFLASH, begin, interrupt
from processes import coflash as command

VICTIM = """
import coflash

@coflash.policy("gc.victim")
class Mine:
    def pick(self, candidates):
        {body}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "mine.py"


def test_a_built_in_policy_is_as_good_as_itself() -> None:
    greedy = coflash.evaluate("greedy")
    assert greedy == coflash.evaluate({"name": "score", "score": "-u"})
    assert greedy["uniform.waf_host"] > 1
    assert greedy["uniform.score"] == 1.0, "no policy is better under uniform writes"
    assert 0.5 < greedy["combined_score"] < 1, "others are better where data is hot and cold"
    assert coflash.evaluate({"name": "score", "score": "u"})["combined_score"] < 0.5


@pytest.mark.parametrize("suite", SUITES)
def test_the_best_built_in_policy_of_a_workload_has_the_score_1(suite: SuiteName) -> None:
    built_in = coflash.evaluation._SUITES[suite].built_in
    found = [coflash.evaluate(name, suite) for name in built_in]
    for place, row in enumerate(found[0].rows):
        scores = [one.rows[place].score for one in found]
        assert max(scores) == 1.0, row.workload
        assert min(scores) < 0.999, f"{row.workload} tells policies apart"


@pytest.mark.parametrize("suite", SUITES)
def test_no_policy_is_below_the_bound(suite: SuiteName) -> None:
    for row in coflash.evaluate(coflash.evaluation._SUITES[suite].built_in[0], suite).rows:
        assert row.bound <= row.best_value <= row.value


def test_the_bound_of_caches_is_of_the_requests_that_the_cache_serves() -> None:
    suite = coflash.evaluation._SUITES["cache"]
    for name, scenario in suite.scenarios().items():
        for policy in ("lru", "arc"):
            metrics = coflash.run(scenario.with_(cache__policy=policy)).metrics
            found = coflash.evaluation._belady(scenario, metrics, policy)
            assert found == pytest.approx(coflash.evaluation._measured(suite, metrics), abs=1e-9), name


def test_code_is_evaluated_in_a_process_of_its_own(file: Path) -> None:
    file.write_text(VICTIM.format(body="return candidates.cost.argmin()"), encoding="utf-8")
    expected = coflash.evaluate("greedy")
    found = coflash.evaluate(file)
    assert found == expected == coflash.evaluate(str(file)) == coflash.evaluate(Greedy)
    assert found.note == ""
    assert set(json.loads(found.to_json())) == {*expected, "coflash", "note"}
    assert coflash.evaluate(Lru, "cache") == coflash.evaluate("lru", "cache")
    separated = {"name": "score", "score": "gc", "gc_classes": 1}
    assert coflash.evaluate(SepGc, "placement") == coflash.evaluate(separated, "placement")


@pytest.mark.parametrize(
    ("body", "note"),
    [
        ("raise ValueError('no idea')", "gc.victim: mine:Mine.pick raised ValueError: no idea (mine.py:7)"),
        ("return len(candidates)", "was returned; a place from 0 to"),
        ("while True: pass", "it took more than 1 s of processor time"),
        pytest.param(
            "self.kept = bytearray(1 << 40)",
            "Mine.pick raised MemoryError",
            marks=pytest.mark.skipif(sys.platform == "darwin", reason="macOS refuses limits of the address space"),
        ),
        ("import os; os._exit(3)", "its process ended with status 3"),
    ],
)
def test_what_code_does_wrong_is_noted(file: Path, body: str, note: str) -> None:
    file.write_text(VICTIM.format(body=body), encoding="utf-8")
    found = coflash.evaluate(file, cpu_seconds=1 if "while" in body else 60)
    assert note in found.note
    assert found["combined_score"] == 0.0


def test_what_cannot_be_evaluated_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Two of the files have the same size, and are written in the same second.
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    with pytest.raises(CoflashError, match='suite: "gcc" was given; did you mean "gc"'):
        coflash.evaluate("greedy", "gcc")  # type: ignore[arg-type]
    with pytest.raises(CoflashError, match='"gredy" is not known; did you mean "greedy"'):
        coflash.evaluate("gredy")
    with pytest.raises(CoflashError, match="no such file"):
        coflash.evaluate(file)
    file.write_text("import coflash\n", encoding="utf-8")
    with pytest.raises(CoflashError, match=r"mine: a file of Python, .*did you mean .*mine\.py\?"):
        coflash.evaluate(file.with_suffix(""))
    assert "the policies in it are: none" in coflash.evaluate(file).note
    file.write_text("import nowhere\n", encoding="utf-8")
    assert "ModuleNotFoundError" in coflash.evaluate(file).note
    file.write_text(VICTIM.format(body="return 0"), encoding="utf-8")
    assert "mine:Mine is no policy for it" in coflash.evaluate(file, "cache").note


def test_the_command_evaluates(file: Path) -> None:
    file.write_text(VICTIM.format(body="return candidates.cost.argmin()"), encoding="utf-8")
    done = command("evaluate", str(file), "--json", "-")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["combined_score"] == coflash.evaluate("greedy")["combined_score"]
    assert "combined" in done.stderr and "score: best built-in / this policy" in done.stderr
    file.write_text(VICTIM.format(body="raise ValueError('[bold]')"), encoding="utf-8")
    done = command("evaluate", str(file))
    assert done.returncode == 1
    assert "raised ValueError: [bold]" in done.stderr
    file.write_text(
        VICTIM.format(body=f"open({str(file.parent / 'begun')!r}, 'w').close()\n        while True: pass"),
        encoding="utf-8",
    )
    with begin(*COFLASH, "evaluate", str(file), cwd=file.parent) as child:
        while not (file.parent / "begun").exists():
            time.sleep(0.01)
        *_, seconds = interrupt(child)
    assert child.returncode == 130 and seconds < 5, "Control-C ends a hook that does not return"
