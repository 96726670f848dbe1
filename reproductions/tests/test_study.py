"""The frame of studies, on a small one: seeds and their intervals, hypotheses that runs refute, the files."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest
from reproduced import documents, rows

from coflash import CoflashError
from coflash.measures.measure import WAF_HOST
from coflash_reproduce import declare
from coflash_reproduce import study as frame
from coflash_reproduce.claim import Paper
from coflash_reproduce.page import unsteady
from coflash_reproduce.paper import Axis, Case, Experiment, Figure, Run, Runs
from coflash_reproduce.queries import Queries
from coflash_reproduce.reproduction import PAPERS, STUDIES, Done, study
from coflash_reproduce.runs import run_all
from coflash_reproduce.studies import NAMES
from coflash_reproduce.study import Finding, Study
from coflash_reproduce.text import Text
from processes import coflash
from sweeps import SMALL

SEEDS = 3
PLACES = (20, 40)
STUDENT = 4.302652729911275
"""The 97.5 % quantile of Student's t with two degrees of freedom."""


def cases(*lines: str) -> tuple[Case, ...]:
    return tuple(
        Case(line, share, {"gc.victim": line, "ftl.spare.share": f"{share}%"}) for line in lines for share in PLACES
    )


def less_with_more_spare(runs: Runs) -> Finding:
    greedy = runs.of("x", "greedy")
    few, many = (mean(run.read(WAF_HOST) for run in greedy if run.case.at == place) for place in PLACES)
    return Finding(many < few, f"{few:.3f} and {many:.3f}")


def more_with_more_spare(runs: Runs) -> Finding:
    return less_with_more_spare(runs)._replace(holds=not less_with_more_spare(runs).holds)


TEXT = """# A toy

## question

Does {thing} help?

## answer

{runs} runs.

## scale quick

Small.

## less-with-more-spare: More spare space, fewer copies

a higher
WAF

## more-with-more-spare: More spare space, more copies

a lower WAF

## size

Small.

## spare: WAF by {thing}

{size}

## limits

- Large
  devices.
- Old ones.
"""
TOY = Study(
    name="toy",
    text=Text.of(TEXT, {"thing": "spare space"}),
    experiments=lambda *_: (Experiment("x", "X", SMALL, cases("greedy", "fifo"), seeds=SEEDS),),
    exhibits=(Figure("spare", WAF_HOST, Axis("spare", "%"), ("x",), baseline="fifo"),),
    hypotheses={"less-with-more-spare": less_with_more_spare, "more-with-more-spare": more_with_more_spare},
    answer=lambda runs: {"runs": len(runs)},
    unsteady_too="toys are small",
)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(STUDIES, "toy", TOY)
        place = tmp_path_factory.mktemp("toy")
        first = study("toy", out=place / "out", publish=place / "docs", jobs=1)
        before = {file: file.stat().st_mtime_ns for file in (place / "out/store").rglob("*")}
        study("toy", out=place / "out", jobs=1)
        assert {file: file.stat().st_mtime_ns for file in (place / "out/store").rglob("*")} == before
        yield first


def measured(done: Done, victim: str, share: int) -> list[float]:
    """WAF of each seed, read without coflash."""
    return [
        one["metrics"]["waf_host"]
        for one in documents(done).values()
        if (one["scenario"]["gc"]["victim"]["name"], one["scenario"]["ftl"]["spare"]["share"]) == (victim, f"{share}%")
    ]


def test_every_number_is_a_mean_over_seeds_with_its_interval(done: Done) -> None:
    page = done.page.read_text("utf-8")
    for victim in ("greedy", "fifo"):
        for share in PLACES:
            values = measured(done, victim, share)
            assert len(set(values)) == SEEDS
            half = STUDENT * stdev(values) / math.sqrt(SEEDS)
            assert f"| {mean(values):.3f} ± {half:.3f} |" in page
    assert len(rows(done, "spare")) == 2 * 2 * SEEDS


def test_a_hypothesis_holds_or_is_refuted_by_the_runs(done: Done) -> None:
    assert [one.verdict for one in done.judged] == ["holds", "refuted"]
    few, many = (mean(measured(done, "greedy", share)) for share in PLACES)
    assert many < few
    page = done.page.read_text("utf-8")
    assert "Of 2 hypotheses 1 hold" in page
    assert "| More spare space, fewer copies | a higher WAF |" in page
    assert re.search(r"\| More spare space, more copies \| a lower WAF \| .* \| refuted \|", page)
    assert [row[""] for row in rows(done, "findings")] == ["holds", "refuted"]
    assert "12 runs." in page
    numbers, unsteady = rows(done, "findings")[0]["found"], sum(bool(run.unsteady) for run in done.runs)
    assert page.startswith(
        f"# A toy\n\n**More spare space, fewer copies: holds** ({numbers}); of 2 hypotheses 1 holds.\n\n"
        "![WAF by spare space](images/toy-spare.svg)\n\n"
        f"**What limits it:** Hypotheses refuted: 1. Large devices. By their own notes, {unsteady} of 12 runs "
        "say nothing of a steady state; they are judged, too: toys are small. "
        "[What this does not show](#what-this-does-not-show).\n\n"
        "Does spare space help?\n\n"
    )
    assert page.endswith("## What this does not show\n\n- Large devices.\n- Old ones.\n")


def test_runs_that_are_not_steady_are_left_out_and_with_them_workloads_of_which_most_are_not(done: Done) -> None:
    some = done.runs.runs[0]
    x, y = (replace(some.experiment, name=name, title=name.upper()) for name in "xy")

    def run(of: Experiment, seed: int, note: str) -> Run:
        found = Run(of, some.case, f"{of.name}{seed}", some.files, some.document)
        found.__dict__["unsteady"] = note
        return found

    runs = Runs(
        tuple(run(x, n, "rising" * (n == 0)) for n in range(3)) + tuple(run(y, n, "?" * (n < 2)) for n in range(3))
    )
    steady = runs.steady()
    assert [one.key for one in steady] == ["x1", "x2"] and len(steady.left_out) == 4
    said = unsteady(replace(TOY, unsteady_too=""), steady)
    assert said == (
        "By their own notes, 3 of 6 runs say nothing of a steady state, and are left out, with workloads less than "
        "two thirds of which are steady: X 1 of 3, Y 3 of 3"
    )
    assert unsteady(TOY, Runs(steady.runs)) == ""


def test_a_hypothesis_of_which_no_run_tells_is_not_judged(done: Done) -> None:
    queries = Queries(TOY.text, {})
    nothing = declare._tested(
        queries, "select min(waf_host) > 0, any_value(title) from runs where line = 'none'", done.runs
    )
    assert nothing == Finding(None, "") and frame.Tested("a", "b", nothing).verdict == "not judged"
    some = "select null, 'lost' union all select true, 'left'"
    assert declare._tested(queries, some, done.runs) == Finding(True, "left")
    assert f"{queries.numbers('select null as lost', done.runs)['lost']:.2f}" == "(no run tells)"


def test_a_change_compares_runs_of_the_same_seed(done: Done) -> None:
    of = {(one.case.line, one.case.at, one.seed): one.metrics.waf_host or 0 for one in done.runs}
    expected = [of["greedy", at, seed] / of["fifo", at, seed] - 1 for at in PLACES for seed in range(1, SEEDS + 1)]
    query = """
    select change(a.waf_host, b.waf_host) from runs a join runs b using (experiment, place, seed)
    where a.line = 'greedy' and b.line = 'fifo' order by a.n"""
    assert [row[0] for row in Queries(TOY.text, {}).rows(query, done.runs)[1]] == pytest.approx(expected)


def test_a_line_of_a_query_is_a_mean_over_the_values_of_all_seeds(done: Done) -> None:
    query = """
    select line, place, list(waf_host) as wafs from runs where line = 'greedy' group by line, place
    union all select 'known', 20, [1.5] order by line, place"""
    seeds, known = declare._lines(Queries(TOY.text, {}), query, done.runs)
    for (place, value), half, share in zip(seeds.points, seeds.half_widths, PLACES, strict=True):
        values = measured(done, "greedy", share)
        assert place == share and value == pytest.approx(mean(values))
        assert half == pytest.approx(STUDENT * stdev(values) / math.sqrt(SEEDS))
    assert (known.points, known.half_widths) == (((20, 1.5),), (None,))


def test_the_published_page_has_its_image(done: Done) -> None:
    docs = done.page.parents[1] / "docs"
    assert {file.relative_to(docs).as_posix() for file in docs.rglob("*.*")} == {"toy.md", "images/toy-spare.svg"}
    assert (docs / "toy.md").read_bytes() == done.page.read_bytes()


def test_a_case_that_is_no_scenario_is_named(tmp_path: Path) -> None:
    cases = (Case("good", 1, {}), Case("bad", 2, {"gc.victim": "gready"}))
    with pytest.raises(CoflashError, match=r"x: bad, 2: .*greedy"):
        run_all((Experiment("x", "X", SMALL, cases),), tmp_path, 1, None)


def test_an_unknown_study_is_told_the_nearest(tmp_path: Path) -> None:
    found = coflash("study", "cdm-victim-score", "--out", str(tmp_path))
    assert found.returncode == 2
    assert 'study: "cdm-victim-score" was given; did you mean "cdm-victim-scores"?' in found.stderr


def test_every_study_is_known_by_its_name_and_to_the_help() -> None:
    assert all(name == one.name for name, one in STUDIES.items())
    assert tuple(name for name in STUDIES if name != "toy") == NAMES


@pytest.mark.parametrize("of", [*PAPERS.values(), *(one for name, one in STUDIES.items() if name != "toy")])
def test_every_exhibit_and_hypothesis_has_a_section_and_no_other_is_left_over(of: Paper | Study) -> None:
    said = [exhibit.name for exhibit in of.exhibits] + [*(of.hypotheses if isinstance(of, Study) else ())]
    frame = ["question", "answer", "limits"] if isinstance(of, Study) else ["source", "idea", "open questions"]
    shared = {"sizes-over-time", "picture"}  # what two sections of OP-FCL have in common; what a page opens with
    scales = {f"scale {name}" for name in of.text.scales}
    assert of.text.titles.keys() - shared == {*said, *frame, *scales} and {"scale quick", "scale full"} <= scales
    assert all(of.text.titles[name] and of.text.bodies[name] for name in said)
    assert of.text.titles.get("picture", said[0]) in said
