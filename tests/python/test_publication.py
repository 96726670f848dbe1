from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from coflash import CoflashError, Histogram, Result
from coflash.figures.publication import (
    Plan,
    Point,
    _joined,
    points,
    programs,
    typical,
    write_figures,
)
from coflash.figures.why import _rows
from coflash.measures.catalogue import named
from coflash.report import Subject
from coflash.report.payload import _first
from coflash.results.estimate import Estimate
from coflash.results.histogram import KINDS
from coflash.results.result import Arrays
from coflash.results.tables import changes
from coflash.results.varying_keys import varied_keys
from coflash.results.why import Why

SHOWN = r'<(?:text|tspan)(?![^>]*opacity="0")[^>]*>([^<]+)</'
"""A text of a picture that is not hidden."""


def study(comparison: Subject) -> Subject:
    """The comparison with scenarios that differ as its schemes and sizes do."""
    cases = [("no cache", 0), *((scheme, size << 20) for size in (16, 64) for scheme in ("none", "cdm"))]
    for (scheme, size), result in zip(cases, comparison.results, strict=True):
        scenario = {"cooperation": {"name": scheme}, "cache": {"size": f"{size}B"}}
        result.document["scenario"].update(scenario)
    return comparison


@pytest.mark.parametrize(("format", "start"), [("pdf", b"%PDF"), ("svg", b"<svg"), ("png", b"\x89PNG")])
def test_figures_are_written_the_same_each_time(tmp_path: Path, comparison: Subject, format: str, start: bytes) -> None:
    files = [write_figures(study(comparison), tmp_path / name, format, ["waf_host"]) for name in ("a", "b")]  # type: ignore[arg-type]
    assert [file.stem for file in files[0]] == ["waf_host", "response-times", "programs-by-cause"]

    for one, other in zip(*files, strict=True):
        assert one.read_bytes().startswith(start)
        assert one.read_bytes() == other.read_bytes()


def test_no_label_is_cut_or_hidden_and_words_are_not_joined(tmp_path: Path, comparison: Subject) -> None:
    long = "of-a-long-name"
    words = ["none", f"cdm-overwrites-{long}", f"cdm-removable-{long}", f"a-third-scheme-{long}", "b"]
    for result, word in zip(comparison.results, words, strict=True):
        result.document["scenario"].update({"cooperation": {"name": word}, "cache": {"size": "1MiB"}})
    by_words = Subject(comparison.results)
    (file, *_) = write_figures(by_words, tmp_path / "svg", "svg", ["waf_host"])
    assert set(words) <= set(texts(file).split())
    lines = re.findall(r'class="mark-line.*?</g>', file.read_text("utf-8"))
    assert lines and not [line for line in lines if line.count("L") >= len(words) - 1], (
        "words have no line through them"
    )
    for subject in (by_words, study(comparison)):
        for picture_file in write_figures(subject, tmp_path / "png", "png", ["waf_host", "response_ns.all.mean"]):
            with Image.open(picture_file) as drawn:
                ink = np.asarray(drawn.convert("L")) < 200
            edges = (ink[0], ink[-1], ink[:, 0], ink[:, -1])
            assert not any(edge.any() for edge in edges), f"{picture_file.name}: a label is cut"


def test_the_pictures_of_the_docs_are_small() -> None:
    docs = Path(__file__).parents[2] / "docs"
    assert sum(file.stat().st_size for file in docs.rglob("*.png")) <= 3_000_000


def test_axes_say_what_is_measured_in_which_unit(tmp_path: Path, comparison: Subject) -> None:
    mean, tail, _ = write_figures(study(comparison), tmp_path, "svg", ["response_ns.all.mean"])
    shown = re.findall(SHOWN, mean.read_text(encoding="utf-8"))
    assert {"response, mean (µs)", "cache size", "16 MiB", "64 MiB", "no cache", "none", "cdm"} <= set(shown)
    assert {"response time", "100 µs"} <= set(re.findall(SHOWN, tail.read_text(encoding="utf-8")))


def test_requests_that_all_take_the_same_are_drawn(tmp_path: Path, result: Result) -> None:
    constant = Histogram(np.array([20], np.uint64), np.array([1000], np.uint64))
    arrays = Arrays(dict.fromkeys(KINDS, constant), result.series(), result.erase_counts())
    same = Result(result.document, arrays)
    files = write_figures(Subject([same]), tmp_path, "png", ["waf_host"])
    assert [file.stem for file in files] == ["response-times", "programs-by-cause"]


def test_keys_are_chosen_by_what_varied(comparison: Subject) -> None:
    plan = Plan.of(study(comparison))
    assert plan.over is not None
    assert plan.by is not None
    assert (plan.over.path, plan.by.path) == ("cache.size", "cooperation.name")
    assert typical(study(comparison), plan) == [3, 4]
    turned = Plan.of(study(comparison), over="cooperation.name", by="cache.size")
    assert turned.over == plan.by
    with pytest.raises(CoflashError, match=r"gc\.victim: does not vary .*: cooperation\.name, cache\.size"):
        Plan.of(study(comparison), over="gc.victim")


def test_an_unknown_measure_is_refused_with_those_that_are(tmp_path: Path, comparison: Subject) -> None:
    with pytest.raises(CoflashError, match=r'no measure "waf"; did you mean "waf'):
        write_figures(study(comparison), tmp_path, "png", ["waf"])
    with pytest.raises(CoflashError, match=r"these runs have no such measure; they have requests, .*waf_host"):
        write_figures(study(comparison), tmp_path, "png", ["hybrid.flash_pages"])
    drawn = [file.stem for file in write_figures(study(comparison), tmp_path, "svg")]
    assert {"waf_host", "cache-hit_ratio"} <= {*drawn}, "where there is a cache, its hits are drawn unasked"
    assert write_figures(study(comparison), tmp_path, "svg", ["response.p99"])[0].stem == "response_ns-all-p99"


def test_runs_that_differ_in_seed_have_a_confidence_interval(comparison: Subject) -> None:
    one, two = frozenset({(0,)}), frozenset({(0,), (1,)})
    confident = Point.of([1.0, 2.0, 3.0], one)
    assert confident.high - confident.mean == pytest.approx(4.303 / 3**0.5, rel=1e-3)
    assert Point.of([1.0, 2.0, 6.0], two) == Point(3.0, 1.0, 6.0, 3, two)
    both = study(comparison)
    lines = points(both, [result.metrics.waf_host for result in both.results], Plan.of(both))
    assert {line: list(of) for line, of in lines.items()} == {0: [0], 1: [1, 2], 2: [1, 2]}


def swept(result: Result, *scenarios: dict[str, Any], where: tuple[str, ...] = ()) -> Subject:
    return Subject([result.with_document({**result.document, "scenario": one}) for one in scenarios], where=where)


def texts(file: Path) -> str:
    return " ".join(re.findall(SHOWN, file.read_text(encoding="utf-8")))


def test_a_random_design_is_points_and_says_so(tmp_path: Path, result: Result) -> None:
    lhs = swept(result, *({"cache": {"size": f"{n}MiB"}, "gc": {"low_mark": n * 7 % 11}} for n in range(1, 11)))
    plan = Plan.of(lhs, over="cache.size")
    (line,) = points(lhs, [1.0] * 10, plan).values()
    assert [len(part) for part in _joined(line)] == [1] * 10
    (file, *_) = write_figures(lhs, tmp_path, "svg", ["waf_host"], over="cache.size")
    assert "Each point is one run (n = 1). Points that are not joined differ in GC low mark as well." in texts(file)
    grid = swept(result, *({"a": a, "b": b, "seed": s} for a in (1, 2) for b in (1, 2) for s in (1, 2)))
    (line,) = points(grid, [1.0] * 8, Plan(grid.varied[0], None)).values()
    assert [len(part) for part in _joined(line)] == [2]


def test_labels_of_near_values_do_not_run_into_each_other(tmp_path: Path, result: Result) -> None:
    near = swept(result, *({"cache": {"size": f"{share}%"}} for share in (1.05, 2.69, 2.71, 2.9, 20.5)))
    (file, *_) = write_figures(near, tmp_path, "svg", ["waf_host"])
    assert re.findall(r"[\d.]+%", texts(file)) == ["1.05%", "2.69%", "20.5%"]


def test_what_is_pooled_stands_below_with_its_number(tmp_path: Path, result: Result) -> None:
    keys = [
        {"cache": {"size": f"{a}MiB"}, "x": x, "y": y, "seed": s}
        for a in (1, 2)
        for x in "pq"
        for y in (1, 2)
        for s in (1, 2)
    ]
    (file, *_) = write_figures(swept(result, *keys, where=("z=1",)), tmp_path, "svg", ["waf_host"], "cache.size", "x")
    assert "Means over 2 values of y, seeds (n = 4); bars: least to most. Only runs with z=1." in texts(file)
    (file, *_) = write_figures(swept(result, *keys[:2], *keys[8:10]), tmp_path, "svg", ["waf_host"])
    covered = "for preconditioning and random choices on the same trace"
    assert f"Means over seeds (n = 2); bars: 95% confidence, {covered}." in texts(file)


def test_response_times_compare_the_values_of_an_axis_and_say_which_runs_they_are_of(
    tmp_path: Path, result: Result
) -> None:
    policies = [{"cache": {"policy": {"name": name}}, "seed": seed} for name in ("lru", "fifo") for seed in (1, 2)]
    _, file, _ = write_figures(swept(result, *policies), tmp_path, "svg", ["waf_host"])
    assert texts(file).endswith("lru fifo 2 of 4 runs: seed 1.")
    # Of lines over an axis the middle of the axis, and each line once.
    sizes = [{"x": x, "cache": {"size": f"{a}MiB"}} for x in "pq" for a in (1, 2, 3)]
    _, file, _ = write_figures(swept(result, *sizes), tmp_path, "svg", ["waf_host"], "cache.size", "x")
    assert texts(file).endswith("p q 2 of 6 runs: 2 MiB.")


def test_programs_are_means_over_seeds_with_schemes_side_by_side(tmp_path: Path, result: Result) -> None:
    schemes = [
        {"cooperation": {"name": name}, "cache": {"size": f"{size}MiB"}, "seed": seed}
        for name in ("none", "cdm")
        for size in range(1, 21)
        for seed in (1, 2, 3)
    ]
    many = swept(result, *schemes)
    grouped = programs(many, Plan.of(many))
    assert len(grouped) == 20
    assert grouped[0] == [[0, 1, 2], [60, 61, 62]]
    *_, file = write_figures(many, tmp_path, "svg", ["waf_host"])
    said = texts(file)
    assert "Means over 3 seeds. 24 of 40 points, evenly spread; the others are left out." in said
    assert all(f"{size} MiB · {name}" in said for size in (1, 20) for name in ("none", "cdm"))


def test_programs_of_many_volumes_are_those_of_the_same_volumes_under_each_scheme(
    tmp_path: Path, result: Result
) -> None:
    names = [f"vol{number}" for number in range(30)]
    volumes = [{"name": name, "workload": {"trace": [name]}} for name in names]
    fleet = swept(result, *({"cooperation": {"name": c}, **one} for c in ("none", "cdm") for one in volumes))
    plan = Plan.of(fleet)
    assert plan.over is not None
    assert (plan.over.path, plan.by) == ("cooperation.name", None), "there are more volumes than lines"
    write_figures(fleet, tmp_path, "svg", ["waf_host"])
    said = texts(tmp_path / "programs-by-cause.svg")
    shown = {scheme: set(re.findall(rf"(vol\d+) · {scheme}", said)) for scheme in ("none", "cdm")}
    assert len(shown["none"]) == 12
    assert shown["none"] == shown["cdm"]
    assert len({fleet.results[run].document["scenario"]["name"] for run in _first(fleet)["runs"]}) == 1


def test_a_key_is_called_by_less_and_what_is_near_is_named(comparison: Subject) -> None:
    both = study(comparison)
    assert Plan.of(both, over="cache size", by="cooperation").by is both.varied[0]
    with pytest.raises(CoflashError, match=r"cooperatin: does not vary .*; did you mean cooperation\.name\?"):
        Plan.of(both, by="cooperatin")


def test_a_share_has_the_colour_of_its_meaning_and_grey_within_noise() -> None:
    """Of drive writes a day more is better, of write amplification less; totals begin at zero."""
    shares = {"a": Estimate(0.4, 0.1, 3), "b": Estimate(-0.5, 0.1, 3), "c": Estimate(0.05, 0.1, 3)}
    difference = Why("none", "cdm", Estimate(100.0, 1.0, 3), Estimate(99.95, 1.0, 3), shares)
    found = {}
    for name in ("waf_host", "endurance.drive_writes_per_day"):
        rows = list(_rows(difference, named(name)))
        found[name] = {row["row"]: row["name"] for row in rows}
        assert [row["from"] for row in rows if row["name"] == "total"] == [0.0, 0.0]
    assert found["waf_host"] == {"none": "total", "a": "worse", "b": "better", "c": "", "cdm": "total"}
    assert found["endurance.drive_writes_per_day"] | {"a": "worse", "b": "better"} == found["waf_host"]
    assert found["endurance.drive_writes_per_day"]["a"] == "better"


def test_a_policy_of_ones_own_is_called_by_its_class(result: Result) -> None:
    scenario = result.scenario.to_dict()
    kinds = ["greedy", {"name": "external", "code": "mine:Best"}, {"name": "external", "code": "mine:Second"}]
    varied = varied_keys([{**scenario, "gc": {**scenario["gc"], "victim": kind}} for kind in kinds])
    assert {text for key in varied for text in key.texts} >= {"Best", "Second"}
    assert not any("external" in key.texts for key in varied)


def test_changes_within_noise_have_no_verdict() -> None:
    base, near, far = Estimate(2.0, 0.1, 3), Estimate(2.1, 0.1, 3), Estimate(2.5, 0.1, 3)
    assert [cell.style for cell in changes(named("waf_host"), [base, near, far])] == ["", "", "", "", "worse"]
