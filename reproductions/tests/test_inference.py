"""The search for a paper's set-up: a planted one is found again, a wrong reading is excluded, and freedom is named."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

import coflash
from coflash import CoflashError
from coflash.measures.measure import COPIED, WAF_HOST, Measure
from coflash.quantity import show_change
from coflash.sweep import plan
from coflash.sweep.plan import Point
from coflash.sweep.question import folder_for
from coflash_reproduce import inference as inference_of
from coflash_reproduce.inference import TRIALS, infer, page, search
from coflash_reproduce.inference.definition import Inference, Measured, Reading, Target, Unknown, inferences
from coflash_reproduce.inference.search import FIT, OPEN, OUT, Candidate, Inferred, Outcome
from coflash_reproduce.reproduction import PAPERS
from processes import coflash as coflash_command
from sweeps import SMALL

SPACE, TRUE_SPACE = "workload.synthetic.space", "40MiB"
PAPER_SIZES = ("2MiB", "4MiB")
DEVICE = SMALL.with_(
    {
        "workload.synthetic": {
            "generator": {"name": "zipf", "exponent": 0.8},
            "requests": 15_000,
            "flush_share": "5%",
            "space": "20MiB",
        }
    }
)
NONE, CDM = {"cooperation": "none"}, {"cooperation": "cdm"}


def planted() -> dict[tuple[str, str], float]:
    """The "paper's" numbers: what a known set-up gives, by measure and size of the cache."""
    numbers = {}
    for size in PAPER_SIZES:
        known = DEVICE.with_({SPACE: TRUE_SPACE, "cache.size": size})
        base, other = (coflash.run(known.with_(scheme)).metrics for scheme in (NONE, CDM))
        numbers["copies", size] = other.gc_copies_pages / base.gc_copies_pages - 1
        numbers["waf", size] = (other.waf_host or 0) / (base.waf_host or 0) - 1
    return numbers


def place(size: str) -> float:
    return float(size.removesuffix("MiB"))


def at(index: int, measure: Measure) -> Any:
    return lambda measured: measured.changes("CDM", measure)[index]


@pytest.fixture(scope="module")
def known() -> Inference:
    numbers = planted()
    targets = [
        Target(f"{name} {size}", numbers[name, size], at(PAPER_SIZES.index(size), measure))
        for size in PAPER_SIZES
        for name, measure in (("copies", COPIED), ("waf", WAF_HOST))
    ]
    return Inference(
        name="planted",
        title="a planted set-up",
        scenario=DEVICE,
        scaling="Nothing is scaled.",
        lines={"none": NONE, "CDM": CDM},
        axis={place(size): {"cache.size": size} for size in ("1MiB", *PAPER_SIZES)},
        unknowns=(Unknown(SPACE, "footprint", "16MiB..80MiB:8MiB", "It was hidden."),),
        targets=tuple(targets),
        readings=(
            Reading("true", "as it was", "It was."),
            Reading("drains", "the baseline drains", "It did not.", lines={"none": {"cache.volatile": True}}),
            Reading("told", "the footprint is known", "Were it known.", {SPACE: TRUE_SPACE}),
        ),
        selections=((1.0, 2.0), (2.0, 4.0)),
        selected={"sizes": "two of three"},
        unit="MiB",
    )


@pytest.fixture(scope="module")
def searched_only(known: Inference) -> Inference:
    """Without the reading that leaves nothing to search."""
    return replace(known, readings=known.readings[:2])


@pytest.fixture(scope="module")
def done(searched_only: Inference, tmp_path_factory: pytest.TempPathFactory) -> Inferred:
    return search.infer(searched_only, folder_for(tmp_path_factory.mktemp("planted")), 8, 1, None)


def test_a_planted_set_up_is_found_again_and_a_wrong_reading_is_excluded(done: Inferred) -> None:
    true, wrong = done.outcomes
    assert true.verdict == FIT
    assert wrong.verdict == OUT
    assert wrong.best.residual > 0.4  # not only by other seeds
    assert true.best.places == (2.0, 4.0)
    spaces = [float(one.texts[SPACE].removesuffix("MiB")) for one in true.good()]
    assert min(spaces) <= 40 <= max(spaces)
    # Every number is that of a run, and its residual the one of its definition.
    best = true.best
    scenario = DEVICE.with_({SPACE: best.texts[SPACE], "cache.size": "4MiB"})
    base, cdm = (coflash.run(scenario.with_(scheme)).metrics for scheme in (NONE, CDM))
    assert best.ours[2] == cdm.gc_copies_pages / base.gc_copies_pages - 1
    errors = [ours / target.paper - 1 for ours, target in zip(best.ours, done.inference.targets, strict=True)]
    assert best.residual == pytest.approx(mean(error**2 for error in errors) ** 0.5)


def test_a_search_resumes_and_its_seed_gives_the_same_set_ups(
    searched_only: Inference, done: Inferred, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def run(scenario: coflash.Scenario, *rest: Any, **_: Any) -> coflash.Result:
        ran.append(scenario.hash)
        if len(ran) == 9:
            raise KeyboardInterrupt
        return coflash.run(scenario, *rest)

    monkeypatch.setattr(plan, "simulate", run)
    with pytest.raises(KeyboardInterrupt):
        search.infer(searched_only, folder_for(tmp_path), 3, 1, None)
    again = search.infer(searched_only, folder_for(tmp_path), 3, 1, None)
    stopped, ran[:] = len(ran), []
    for one, longer in zip(again.outcomes, done.outcomes, strict=True):
        assert one.candidates == longer.candidates[: len(one.candidates)]
    assert stopped <= len({*map(str, (tmp_path / "runs").iterdir())}) + 1  # only the one that was stopped ran twice
    assert search.infer(searched_only, folder_for(tmp_path), 3, 1, None) == again
    assert not ran


def test_a_fit_with_as_many_unknowns_as_targets_is_said_to_be_one(done: Inferred) -> None:
    def said(targets: int) -> str:
        return " ".join(
            page.freedom(replace(done, inference=replace(done.inference, targets=done.inference.targets[:targets])))
        )

    for few in (1, 2):
        assert "2 unknowns (footprint, sizes)" in said(few)
        assert "no evidence" in said(few)
    for many in (3, 4):
        assert ("1 more target than" if many == 3 else "2 more targets than") in said(many)
        assert "no evidence" not in said(many)


def test_an_unknown_that_a_reading_sets_is_not_searched(known: Inference) -> None:
    true, _, told = known.readings
    assert (known.freedom(true), known.freedom(told)) == (2, 1)
    assert known.searched(told) == ()
    of_the_generator = replace(known.unknowns[0], key="workload.synthetic.generator.exponent")
    other = replace(known, unknowns=(of_the_generator,))
    assert other.searched(Reading("", "", "", {"workload.synthetic.generator": "uniform"})) == ()
    assert other.searched(Reading("", "", "", {"workload.synthetic.gen": "uniform"})) == (of_the_generator,)


def test_where_nothing_is_left_to_save_nothing_is_saved() -> None:
    metrics = coflash.run(DEVICE.with_({"precondition": {"fill": "none"}, "workload.synthetic.requests": 10})).metrics
    assert metrics.gc_copies_pages == 0
    measured = Measured({("none", 1.0): metrics, ("CDM", 1.0): metrics}, (1.0,), "none")
    assert measured.changes("CDM", COPIED) == [0.0]


def test_a_small_number_of_the_paper_does_not_make_a_large_error() -> None:
    assert Target("", -0.009, lambda _: 0.0).error(-0.019) == pytest.approx(-0.01 / 0.009)
    assert Target("", -0.009, lambda _: 0.0, floor=0.05).error(-0.019) == pytest.approx(-0.2)
    assert Target("", -0.1, lambda _: 0.0, floor=0.05).error(-0.11) == pytest.approx(-0.1)


def test_a_target_is_shown_in_its_unit() -> None:
    assert Target("", -0.1, lambda _: 0.0).shown(0.051) == show_change(0.051)
    assert Target("", 14, lambda _: 0.0, unit="").shown(11.586) == "11.59"


def outcome(name: str, *ours: tuple[tuple[float, ...], tuple[float, ...], float]) -> Outcome:
    """An outcome with candidates of these places, numbers and residuals."""
    candidates = (Candidate(at, {}, places, numbers, error) for at, (places, numbers, error) in enumerate(ours))
    return Outcome(Reading(name, name, ""), tuple(candidates), 0.0)


def test_an_average_may_be_a_mixture_of_set_ups(known: Inference) -> None:
    targets = tuple(Target(name, number, lambda _: 0.0) for name, number in (("a", -0.1), ("b", -0.2)))
    two = replace(known, targets=targets, selections=())
    around = outcome("", ((), (-0.05, -0.3), 0.0), ((), (-0.15, -0.1), 0.0))
    assert search.mixture(two, around.candidates) == pytest.approx(0, abs=1e-4)
    above = outcome("", ((), (-0.05, -0.1), 0.0), ((), (-0.02, -0.19), 0.0))
    assert 0.1 < search.mixture(two, above.candidates) <= min(two.residual(one.ours) for one in above.candidates)


def test_a_mixture_that_comes_near_leaves_a_reading_undecided() -> None:
    assert replace(outcome(""), again=0.5).verdict == OUT
    assert replace(outcome(""), again=0.5, mixture=0.45).verdict == OUT
    assert replace(outcome(""), again=0.5, mixture=0.3).verdict == OPEN
    assert replace(outcome(""), again=0.5, mixture=0.1).verdict == OPEN
    assert replace(outcome(""), again=0.1, mixture=0.1).verdict == FIT


def test_two_workloads_share_one_choice_of_sizes(known: Inference) -> None:
    small, large = known.selections
    one = outcome("true", (small, (), 0.1), (large, (), 0.2), (large, (), 0.3))
    other = outcome("true", (small, (), 0.9), (large, (), 0.4))
    done = [Inferred(known, (one,)), Inferred(known, (other,))]
    assert page.joint(done, [one, other]) == (large, [0.2, 0.4])


@pytest.mark.parametrize("paper", TRIALS["quick"])
def test_every_reading_can_be_run_at_both_ends_of_its_unknowns(paper: str) -> None:
    for one in inferences(paper, PAPERS[paper].queries.constant):
        names = [reading.name for reading in one.readings]
        assert len(set(names)) == len(names)
        for reading in one.readings:
            scenario = one.scenario.with_(reading.changes)
            for share in (0.0, 0.999):
                values = tuple((unknown.key, unknown.axis.at(share)) for unknown in one.searched(reading))
                for case in one.cases(reading):
                    assert not Point.of(scenario, (), (*values, *case), 1).refused


def test_the_page_of_a_search(known: Inference, searched_only: Inference, tmp_path: Path, monkeypatch: Any) -> None:
    two = (searched_only, replace(searched_only, title="it again"))
    monkeypatch.setattr(inference_of, "inferences", lambda *_: two)
    monkeypatch.setitem(TRIALS, "tiny", {"cdm": 2})
    file = infer("cdm", "tiny", out=tmp_path / "out", publish=tmp_path / "published")
    text = file.read_text("utf-8")
    assert (tmp_path / "published" / file.name).read_text("utf-8") == text
    assert (tmp_path / "published/images/cdm-inference-planted.svg").read_bytes().startswith(b"<svg")
    assert (tmp_path / "out/images/cdm-inference-planted.png").read_bytes().startswith(b"\x89PNG")
    assert re.search(r"\| the baseline drains \|.*\| excluded \|", text)
    assert "## A planted set-up and it again together" in text
    assert f"{known.targets[0].paper * 100:.1f}".lstrip("-") in text
    # Without a choice of places there is none to share.
    alone = tuple(replace(one, selections=(), selected={}) for one in two)
    monkeypatch.setattr(inference_of, "inferences", lambda *_: alone)
    assert "together" not in infer("cdm", "tiny", out=tmp_path / "alone").read_text("utf-8")
    assert not re.search(r"\bnan\b|\binf\b|None|\{", text)


@pytest.mark.parametrize(
    ("paper", "scale", "message"),
    [
        ("opfc", "quick", r'--figure inference: "opfc" was given.*cdm, shadowgc'),
        ("cdmm", "quick", 'did you mean "cdm"'),
        ("cdm", "ful", 'did you mean "full"'),
    ],
)
def test_what_cannot_be_searched_is_said(paper: str, scale: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(CoflashError, match=message):
        infer(paper, scale, out=tmp_path)


def test_a_search_takes_no_trace(tmp_path: Path) -> None:
    found = coflash_command("reproduce", "cdm", "--figure", "inference", "--trace", "a.csv", "--out", str(tmp_path))
    assert found.returncode == 2
    assert "cdm: --figure inference takes no --trace" in found.stderr
