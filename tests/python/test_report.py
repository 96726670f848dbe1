from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from coflash import CoflashError, Histogram, Result, Scenario, Table, palette
from coflash.cli import app
from coflash.measures.catalogue import measure
from coflash.measures.measure import HEADLINE
from coflash.report import Subject, report_html
from coflash.report.payload import COURSES, erase_histogram, merged, payload, thinned
from coflash.results.histogram import KINDS
from coflash.results.result import Arrays
from coflash.results.varying_keys import varied_keys


def data_in(page: str) -> dict[str, Any]:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    data: dict[str, Any] = json.loads(text)
    return data


def runs(like: Result, *scenarios: dict[str, Any]) -> tuple[Result, ...]:
    arrays = Arrays({kind: like.histogram(kind) for kind in KINDS}, like.series(), like.erase_counts())
    return tuple(Result({**like.document, "scenario": {"name": "n", **scenario}}, arrays) for scenario in scenarios)


def test_what_varied_is_found_in_the_scenarios() -> None:
    keys = varied_keys(
        [
            {"name": "a", "seed": 1, "cache": {"size": "1GiB"}, "gc": {"victim": {"name": "greedy"}}},
            {"name": "b", "seed": 2, "cache": {"size": "64MiB"}, "gc": {"victim": {"name": "d-choices", "d": 8}}},
            {"name": "c", "seed": 1, "cache": {"size": "64MiB"}, "gc": {"victim": {"name": "greedy"}}},
            {"name": "d", "seed": 1, "cache": {"size": "64MiB"}, "gc": {"victim": {"name": "d-choices", "d": 8}}},
        ]
    )
    assert [(key.path, key.texts, key.codes, key.along) for key in keys] == [
        ("gc.victim.name", ("greedy", "d-choices"), (0, 1, 0, 1), ("gc.victim.d",)),
        ("cache.size", ("64 MiB", "1 GiB"), (1, 0, 0, 0), ()),
        ("seed", ("1", "2"), (0, 1, 0, 0), ()),
    ]
    assert keys[1].numbers == (2**26, 2**30)


def test_the_parameters_of_a_policy_go_with_its_name() -> None:
    victims: list[dict[str, Any]] = [
        {"name": "greedy", "tie": "oldest"},
        {"name": "d-choices", "d": 8},
        {"name": "fifo"},
        {"name": "fifo"},
    ]
    keys = varied_keys([{"seed": place // 3, "gc": {"victim": victim}} for place, victim in enumerate(victims)])
    assert [(key.path, key.along) for key in keys] == [
        ("gc.victim.name", ("gc.victim.tie", "gc.victim.d")),
        ("seed", ()),
    ]
    assert keys[0].label == "GC victim"


def test_a_key_that_was_varied_is_never_folded_away() -> None:
    """As in random designs, where every key differs between all runs."""
    points = [{"seed": 7, "cache": {"size": f"{n}MiB"}, "gc": {"low_mark": 10 + n}, "x": n * n} for n in range(1, 6)]
    assert [(key.path, key.along) for key in varied_keys(points)] == [
        ("cache.size", ()),
        ("gc.low_mark", ()),
        ("x", ()),
    ]


def test_runs_that_differ_in_name_alone_are_told_apart_by_it() -> None:
    (key,) = varied_keys([{"name": "a"}, {"name": "b"}])
    assert (key.path, key.texts) == ("name", ("a", "b"))
    assert varied_keys([{"name": "a"}]) == ()


def test_only_sections_that_differ_are_looked_into() -> None:
    """Of a thousand runs, most sections are equal."""

    class Closed(dict[str, int]):
        def items(self) -> NoReturn:
            raise AssertionError

    keys = varied_keys([{"flash": Closed(channels=4), "gc": {"low_mark": mark}} for mark in (1, 2)])
    assert [key.path for key in keys] == ["gc.low_mark"]


def test_policies_stand_in_the_order_of_their_family_and_systems_by_their_names() -> None:
    schemes = ("sgc", "delay", "ggc")
    keys = varied_keys([{"cooperation": {"name": name}, "cache": {"size": size}} for name in schemes for size in "21"])
    assert keys[0].texts == ("ggc", "delay", "sgc")
    parts = {f"key{place}": place for place in range(9)}
    ssds: list[dict[str, Any]] = [{"name": "ssd", "x": x} for x in ("64MiB", "4MiB")]
    systems = [*ssds, {"name": "hybrid", **parts}]
    name, x = varied_keys(systems)
    assert (name.path, name.texts, name.along) == ("name", ("ssd", "hybrid"), tuple(parts))
    assert (x.path, x.texts, x.along) == ("x", ("4MiB", "64MiB", "–"), ())


def test_values_of_several_kinds_are_words() -> None:
    (key,) = varied_keys([{"x": "5%"}, {"x": "64MiB"}, {"x": None}, {"x": [["gc"]]}, {"x": True}])
    assert key.numbers is None
    assert key.texts == ("5%", "64MiB", "–", "['gc']", "yes")


def test_the_report_fetches_nothing(comparison: Subject) -> None:
    page = report_html(comparison).replace("http://www.w3.org/2000/svg", "")
    assert "default-src 'none'" in page
    assert not re.search(r"https?://|//cdn|@import|url\(['\"]|<link(?! rel=\"icon\" href=\"data:)|\ssrc=", page)


def test_text_cannot_become_markup(comparison: Subject, result: Result) -> None:
    page = report_html(comparison)
    assert "Which is &lt;better&gt;?" in page
    assert "<better>" not in page
    evil = Subject(runs(result, {"name": "</script><b>"}, {"name": "x", "description": "<!--<script>"}))
    assert "</script><b>" in data_in(report_html(evil))["keys"][0]["texts"]


def test_the_scenario_on_the_page_is_the_scenario(result: Result) -> None:
    scenario = Scenario.load("demo").with_(cooperation__name="none", workload__trace=["a b.csv", 'c"d'])
    data = payload(Subject(runs(result, scenario.to_dict())))
    lines = [data["lines"][line] for line in data["scenarios"][0]]
    assert Scenario.from_toml("\n".join(lines)).hash == scenario.hash


def test_the_page_is_given_what_its_script_is_written_for(comparison: Subject, result: Result, tmp_path: Path) -> None:
    """TypeScript finds a field that is missing, one too many, and one of another kind."""
    root = Path(__file__).parents[2]
    compiler = root / ".venv/node/node_modules/.bin/tsc"
    if shutil.which("node") is None or not compiler.is_file():
        pytest.skip("TypeScript is missing: make check installs it where npm is")
    given = [json.dumps(payload(subject)) for subject in (comparison, Subject((result,)))]
    (tmp_path / "given.ts").write_text("".join(f"({text}) satisfies Data;\n" for text in given), "utf-8")
    scripts = str(root / "python/coflash/report/assets/*.js")
    project = {"extends": str(root / "scripts/node/tsconfig.json"), "include": [scripts, "given.ts"]}
    (tmp_path / "tsconfig.json").write_text(json.dumps(project), "utf-8")
    done = subprocess.run([compiler, "--project", tmp_path], capture_output=True, text=True, check=False)
    assert done.stdout[:2000] == ""


def test_there_is_something_to_report() -> None:
    with pytest.raises(CoflashError, match="needs a result"):
        report_html(Subject([]))


def test_every_run_has_its_details_as_floats(comparison: Subject) -> None:
    def numbers(text: str) -> NDArray[np.float32]:
        return np.frombuffer(base64.b64decode(text), "<f4")

    data = payload(comparison)
    assert data["courses"][0] == {"title": "Mean response", "unit": "ns", "path": "response_mean_ns"}
    for details, result in zip(data["details"], comparison.results, strict=True):
        times, through = map(numbers, details["all"])
        assert times[-1] == np.float32(result.histogram().values_ns[-1])
        assert through[-1] == 1000
        assert details["window_ns"] == 1e9
        assert {len(numbers(course)) for course in details["courses"]} == {4}


def test_courses_are_columns_rates_and_ratios() -> None:
    windows = {
        "programs_host_pages": np.array([4, 0], np.float32),
        "programs_gc_pages": np.array([2, 0], np.float32),
        "host_writes_pages": np.array([3, 0], np.float32),
        "seconds": np.array([0.5, 0.5], np.float32),
    }
    courses = {course.path: course.read(windows).tolist() for course in COURSES}
    assert courses["programs_per_s"] == [12, 0]
    assert courses["gc_copies_per_s"] == [4, 0]
    assert courses["waf_host"][0] == 2 and np.isnan(courses["waf_host"][1])
    assert courses["response_mean_ns"] == courses["hit_ratio"] == []


def test_a_thinned_distribution_keeps_its_shape() -> None:
    values = np.unique(np.geomspace(1e3, 1e9, 50_000).astype(np.uint64))
    counts = np.full(len(values), 10, np.uint64)
    times, through = thinned(Histogram(values, counts), cells_per_decade=100)
    assert 500 < len(times) < 1200
    exact = np.cumsum(counts)[np.searchsorted(values, times.astype(np.float64) * (1 + 1e-6)) - 1]
    assert np.allclose(through, exact, rtol=1e-3)
    assert times[-1] == np.float32(values[-1])
    assert through[-1] == counts.sum()


def test_merged_windows_keep_sums_and_weighted_means() -> None:
    series = Table(
        {
            "start_ns": np.arange(5, dtype=np.uint64) * 10,
            "requests": np.array([1, 3, 0, 0, 2], np.uint64),
            "response_mean_ns": np.array([4.0, 8.0, np.nan, np.nan, 6.0]),
            "response_p99_ns": np.array([4, 8, 0, 0, 6], np.uint64),
            "response_max_ns": np.array([4, 9, 0, 0, 7], np.uint64),
        }
    )
    window_ns, (requests, means, p99, most) = merged(series, list(series.columns)[1:], 3)
    assert window_ns == 20
    assert requests.tolist() == [4, 0, 2]
    assert np.array_equal(means, [7.0, np.nan, 6.0], equal_nan=True)
    assert p99.tolist() == [8, 0, 6] and most.tolist() == [9, 0, 7]


def test_windows_are_merged_until_a_line_over_them_is_legible() -> None:
    def windows(requests: NDArray[np.uint64]) -> int:
        start_ns = np.arange(len(requests), dtype=np.uint64)
        _, (found,) = merged(Table({"start_ns": start_ns, "requests": requests}), ["requests"], 512)
        assert found.sum() == requests.sum()
        return len(found)

    place = np.arange(400)
    assert windows(np.ones(400, np.uint64)) == 400
    assert windows((place % 2).astype(np.uint64)) == 200
    # A long pause stays one.
    assert windows((place // 100 % 2).astype(np.uint64)) == 400
    assert windows((place % 50 == 0).astype(np.uint64)) < 100


def test_erases_are_counted_in_bins() -> None:
    erases, blocks = erase_histogram(np.array([3, 3, 5, 1000], np.uint32))
    assert len(erases) <= 60
    assert blocks.sum() == 4
    assert erases[0] == 3


def test_every_metric_has_a_name_and_a_unit() -> None:
    tail = measure("response_ns.read.p99_9")
    assert (tail.label, tail.unit) == ("response, reads, p99.9", "ns")
    assert measure("programs_pages.gc").label == "pages programmed, GC copies"
    assert measure("waf_host") in HEADLINE
    assert measure("cache.hit_ratio").unit == "share"
    assert measure("simulated_ns").unit == "ns"
    assert measure("host_writes_pages").better == "neither"


def test_every_colour_is_in_both_colour_schemes(comparison: Subject) -> None:
    page = report_html(comparison)
    for name in re.findall(r"--[\w-]+(?=:)", page.split("@media")[0]):
        assert len(re.findall(rf"{name}: #[0-9a-f]{{6}};", page)) == 2, name


def test_paper_has_the_colours_of_the_page_in_light(comparison: Subject) -> None:
    light = report_html(comparison).split("@media")[0]
    for place, colour in enumerate(palette.LINES):
        assert f"--series-{place}: {colour};" in light
    for cause, colour in palette.CAUSES.items():
        assert f"--cause-{cause.replace('_', '-')}: {colour};" in light


def test_folders_of_any_shape_are_read(tmp_path: Path, comparison: Subject) -> None:
    runs = tmp_path / "many" / "runs"
    for place, result in enumerate(comparison.results):
        result.save(runs / str(place), force=True)
    assert len(Subject.read([tmp_path / "many"]).results) == 5
    loose = Subject.read([runs, runs / "0"])
    assert len(loose.results) == 5
    assert loose.heading == "by hand"
    (runs / "0" / "result.json").unlink()
    assert len(Subject.read([tmp_path / "many"]).results) == 4
    with pytest.raises(CoflashError, match=r"holds no result of coflash; `coflash run demo --out"):
        (tmp_path / "empty").mkdir()
        Subject.read([tmp_path / "empty"])
    with pytest.raises(CoflashError, match=r"there is no such folder"):
        Subject.read([tmp_path / "nowhere"])


@pytest.mark.parametrize(("option", "value"), [("--by", "cache.size"), ("--over", "cache.size")])
def test_options_of_figures_have_no_effect_on_a_page(option: str, value: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["report", str(tmp_path), option, value])
    assert isinstance(done.exception, CoflashError)
    assert f"{option}: has no effect on a page" in str(done.exception)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            ("--out", "one.pdf"),
            "one.pdf: a report is a page, whose name ends in .html; --format pdf, svg or png writes",
        ),
        (("--out", "thesis.txt"), "thesis.txt: a report is a page"),
        (("--format", "pdf", "--out", "one.pdf"), "with --format pdf a folder is allowed"),
    ],
)
def test_a_file_is_what_its_ending_says(tmp_path: Path, result: Result, options: tuple[str, ...], problem: str) -> None:
    result.save(tmp_path / "run")
    ran = CliRunner().invoke(app, ["report", str(tmp_path / "run"), *options])
    assert problem in str(ran.exception)
    assert not Path(options[-1]).exists()
