from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from coflash import CoflashError, Histogram, Result
from coflash.figures.publication import Plan, Point, points, typical, write_figures
from coflash.report import Study
from coflash.results.comparison import Comparison
from coflash.results.histogram import KINDS


def study(comparison: Comparison) -> Study:
    """The comparison with scenarios that differ as its cases do."""
    for case in comparison.cases:
        scenario = {"cooperation": {"name": case.scheme}, "cache": {"size": f"{case.cache_bytes}B"}}
        case.result.document["scenario"].update(scenario)
    return Study.of(comparison)


@pytest.mark.parametrize(("format", "start"), [("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_figures_are_written_the_same_each_time(
    tmp_path: Path, comparison: Comparison, format: str, start: bytes
) -> None:
    files = [write_figures(study(comparison), tmp_path / name, format, ["waf_host"]) for name in ("a", "b")]  # type: ignore[arg-type]
    assert [file.stem for file in files[0]] == ["waf_host", "response-times", "programs-by-cause"]

    for one, other in zip(*files, strict=True):
        assert one.read_bytes().startswith(start)
        assert one.read_bytes() == other.read_bytes()


def test_axes_say_what_is_measured_in_which_unit(tmp_path: Path, comparison: Comparison) -> None:
    mean, tail, _ = write_figures(study(comparison), tmp_path, "svg", ["response_ns.all.mean"])
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", mean.read_text(encoding="utf-8"))
    assert {"response, mean (µs)", "cache size", "16 MiB", "64 MiB", "no cache", "none", "cdm"} <= set(texts)
    assert "response time (ms)" in tail.read_text(encoding="utf-8")


def test_requests_that_all_take_the_same_are_drawn(tmp_path: Path, result: Result) -> None:
    constant = Histogram(np.array([20], np.uint64), np.array([1000], np.uint64))
    same = Result(result.document, dict.fromkeys(KINDS, constant), result.series(), result.erase_counts())
    files = write_figures(Study([same]), tmp_path, "png", ["waf_host"])
    assert [file.stem for file in files] == ["response-times", "programs-by-cause"]


def test_keys_are_chosen_by_what_varied(comparison: Comparison) -> None:
    plan = Plan.of(study(comparison))
    assert plan.over is not None
    assert plan.by is not None
    assert (plan.over.path, plan.by.path) == ("cache.size", "cooperation.name")
    assert typical(study(comparison), plan) == [3, 4]
    turned = Plan.of(study(comparison), over="cooperation.name", by="cache.size")
    assert turned.over == plan.by
    with pytest.raises(CoflashError, match=r"gc\.victim: does not vary .*: cooperation\.name, cache\.size"):
        Plan.of(study(comparison), over="gc.victim")


def test_an_unknown_metric_is_refused_with_those_that_are(tmp_path: Path, comparison: Comparison) -> None:
    with pytest.raises(CoflashError, match=r"waf: is no metric of these runs; there are requests, .*waf_host"):
        write_figures(study(comparison), tmp_path, "png", ["waf"])


def test_runs_that_differ_in_seed_have_a_confidence_interval(comparison: Comparison) -> None:
    confident = Point.of([1.0, 2.0, 3.0], of_seeds=True)
    assert confident.high - confident.mean == pytest.approx(4.303 / 3**0.5, rel=1e-3)
    assert Point.of([1.0, 2.0, 6.0], of_seeds=False) == Point(3.0, 1.0, 6.0)
    both = study(comparison)
    lines = points(both, [result.metrics.waf_host for result in both.results], Plan.of(both))
    assert {line: list(of) for line, of in lines.items()} == {0: [0], 1: [1, 2], 2: [1, 2]}


def test_what_is_missing_is_named(tmp_path: Path, comparison: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(CoflashError, match=r"pip install 'coflash\[plots\]'"):
        write_figures(study(comparison), tmp_path)
