"""The report of particular studies in a real browser: one run, a thousand, a search, systems of several kinds."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.keys import Keys

import coflash
import systems
from coflash import Result
from coflash.measures.sections import SECTIONS, sections
from coflash.report import Subject, write_report
from coflash.results.histogram import KINDS
from coflash.results.result import Arrays
from pages import click, column, complaints, figure, find, look, rows_of, run, tasks_s, texts, until
from sweeps import SMALL


def test_a_search_shows_its_course_what_matters_and_the_front(browser: WebDriver, tmp_path: Path) -> None:
    over = {"cache.size": "1MiB..8MiB", "cooperation.name": ["none", "cdm"]}
    tuning = coflash.tune(
        SMALL,
        over,
        minimise=["waf_host", "response.p99"],
        subject_to="response.p99<50ms",
        out=tmp_path,
        trials=12,
        on=1,
    )
    write_report(Subject.read([tmp_path]), tmp_path / "search.html")
    browser.get((tmp_path / "search.html").as_uri())
    titles = texts(browser, "#tuning figure h3")
    course = [f"Course of the search: {label}" for label in ("WAF, by host writes", "response, p99")]
    assert titles == ["Trade-off", *course, "Which keys matter", "cooperation", "cache size"]
    assert (
        "the least WAF, by host writes and the least response, p99, subject to response.p99<50ms: 12 trials."
        in texts(browser, "#tuning > p")[0]
    )
    trade_off = figure(browser, "Trade-off")
    refused = sum(not trial.is_allowed for trial in tuning.trials)
    assert 0 < refused < 12
    # Points that no line joins have no line in the legend, either; a front of a single trial is a marker.
    marks = "$$('.plot .role-legend-symbol path', arguments[0]).map((mark) => mark.getAttribute('d'))"
    names = "$$('.plot .role-legend-label text', arguments[0]).map((text) => text.textContent)"
    shapes = dict(zip(*(run(browser, f"return {each}", trade_off) for each in (names, marks)), strict=True))
    assert [*shapes] == ["Pareto front", "the answer", "trials", "beyond a condition"]
    assert len(set(shapes.values())) == 4
    assert shapes["beyond a condition"].count("L") == 3  # a diamond, as the note says
    drawn = "return $$('.plot .mark-symbol.role-mark path', arguments[0]).length"
    assert run(browser, drawn, trade_off) == 12 + len(tuning.front) + 1, "the front is over the trials"
    assert "Grey diamonds" in find(trade_off, "figcaption p").text
    label = find(trade_off, ".plot").get_attribute("aria-label") or ""
    assert "Pareto front: " in label
    click(browser, find(trade_off, ".tools button[aria-label^='Data of']"))
    rows = [row[3] for row in rows_of(browser, trade_off)]
    by_number = sorted(tuning.trials, key=lambda trial: trial.number)
    assert [float(cell) for cell in rows] == pytest.approx([trial.found.mean for trial in by_number], rel=1e-6)
    ticks = "return $$('.plot .role-axis-label text', arguments[0]).map((one) => one.textContent)"
    assert {"40 ms", "50 ms"} <= {*run(browser, ticks, trade_off)}
    # One device far off leaves the others room: its measure is on a logarithmic axis.
    far = Subject.read([tmp_path])
    assert far.search is not None
    far.search["trials"][0]["found"][1]["mean"] *= 9
    write_report(far, tmp_path / "far.html")
    browser.get((tmp_path / "far.html").as_uri())
    labels = {*run(browser, ticks, figure(browser, "Trade-off"))}
    assert {"50 ms", "100 ms", "200 ms"} <= labels and not {"40 ms", "60 ms"} & labels
    assert complaints(browser) == []


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_the_answer_of_a_search_and_its_picture_are_on_the_first_screen(
    browser: WebDriver, results: list[Result], tmp_path: Path, width: int, height: int
) -> None:
    over = {"cache.size": "1MiB..2MiB"}
    coflash.tune(SMALL, over, minimise=["waf_host", "response.p99"], out=tmp_path, trials=2, on=1)
    search = Subject.read([tmp_path]).search
    subject = Subject(results, answer="It is the smaller cache.", limits=("One seed alone.",), search=search)
    write_report(subject, tmp_path / "answer.html")
    look(browser, width)
    browser.get((tmp_path / "answer.html").as_uri())
    assert texts(browser, "#answer") == ["It is the smaller cache."]
    assert "What limits this" in texts(browser, ".remarks summary")[0] and "One seed alone." in texts(
        browser, ".remarks li"
    )
    until(lambda: run(browser, "return $('#tuning .plot > svg')"))
    assert run(browser, "return $('#tuning .plot svg').getBoundingClientRect().top") < height
    tuning, findings = (
        run(browser, f"return $('{part}').getBoundingClientRect().top") for part in ("#tuning", "#findings")
    )
    assert tuning < findings, "what explains the answer follows it"


def test_a_single_run_has_what_needs_no_other(browser: WebDriver, results: list[Result], tmp_path: Path) -> None:
    write_report(Subject(results[:1]), tmp_path / "one.html")
    browser.get((tmp_path / "one.html").as_uri())
    parts = ["What came out", "Where programs come from", "Run by run", "What was counted", "The device and its parts"]
    assert texts(browser, "h2") == [*parts, "Run it again"]
    assert texts(browser, ".card dt")[:2] == ["pages copied by GC", "WAF, by host writes"]
    links = ["Findings", "Runs", "Programs", "Run by run", "The device and its parts", "Run it again"]
    assert texts(browser, "nav a") == links
    assert texts(browser, "#runs-table tbody tr:first-child > *")[0] == "WAF, by host writes"
    figure(browser, "Response times")
    assert complaints(browser) == []


def test_a_thousand_runs_open_in_two_seconds_of_a_processor(
    browser: WebDriver, results: list[Result], tmp_path: Path
) -> None:
    many = []
    for place in range(1000):
        result = results[place % len(results)]
        document = {**result.document, "scenario": {**result.document["scenario"], "seed": place}}
        histograms = {kind: result.histogram(kind) for kind in KINDS}
        many.append(Result(document, Arrays(histograms, result.series(), result.erase_counts())))
    write_report(Subject(many), tmp_path / "many.html")
    assert (tmp_path / "many.html").stat().st_size < 12e6
    # The processor time of the page's thread, independent of other load on the machine.
    browser.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    before = tasks_s(browser)
    browser.get((tmp_path / "many.html").as_uri())
    assert run(browser, "return document.documentElement.dataset.ready") == "yes"
    took_s = tasks_s(browser) - before
    assert 0 < took_s < 2
    assert texts(browser, "#count") == ["1,000 runs"]
    assert complaints(browser) == []


def test_a_random_design_is_points_and_no_pairs(browser: WebDriver, results: list[Result], tmp_path: Path) -> None:
    like = results[0]
    points = [
        {"seed": 1, "cache": {"size": f"{n}MiB"}, "gc": {"low_mark": n * 7 % 31}, "x": n * 5 % 37} for n in range(1, 21)
    ]
    runs = [like.with_document({**like.document, "scenario": {"name": "n", **point}}) for point in points]
    runs[0] = like.with_document({**runs[0].document, "revision": 0})
    write_report(Subject(runs), tmp_path / "lhs.html")
    browser.get((tmp_path / "lhs.html").as_uri())
    assert texts(browser, ".varied dt") == ["cache.size", "gc.low_mark", "x"]
    assert texts(browser, "#findings") == []
    drawn = figure(browser, "WAF, by host writes")
    lines = "return $$('.plot .mark-line path', arguments[0]).map((one) => one.getAttribute('d'))"
    assert [(path.count("M"), path.count("L")) for path in run(browser, lines, drawn)] == [(1, 0)] * 20
    said = "Each point is one run (n = 1). Points that are not joined differ in GC low mark, x as well."
    assert texts(browser, "#explore figcaption p")[0].endswith(said)
    assert "different revisions of results" in texts(browser, "header .remarks")[0]


def test_programs_are_means_over_seeds_with_schemes_side_by_side(
    browser: WebDriver, results: list[Result], tmp_path: Path
) -> None:
    many = []
    for name, like in (("none", results[0]), ("cdm", results[6])):
        for size, seed in itertools.product(range(1, 21), (1, 2)):
            scenario = {"name": "n", "cooperation": {"name": name}, "cache": {"size": f"{size}MiB"}, "seed": seed}
            many.append(like.with_document({**like.document, "scenario": scenario}))
    write_report(Subject(many), tmp_path / "many.html")
    browser.get((tmp_path / "many.html").as_uri())
    drawn = figure(browser, "Flash programs by cause")
    names = run(browser, "return $$('svg text', $('.plot', arguments[0])).map((one) => one.textContent)", drawn)
    assert [name for name in names if "·" in name][:4] == ["none · 1 MiB", "cdm · 1 MiB", "none · 3 MiB", "cdm · 3 MiB"]
    assert len([name for name in names if "·" in name]) == 24
    assert texts(browser, "#programs figcaption p") == [
        "Means over the seeds. 24 of 40 points, evenly spread; the CSV has all."
    ]


def test_nothing_that_a_user_wrote_is_a_script(browser: WebDriver, results: list[Result], tmp_path: Path) -> None:
    harm = "<!--<script>document.title = 'harm'</script><img src=x onerror=\"document.title = 'harm'\">"
    evil = []
    for place, like in enumerate(results[:2]):
        scenario = {**like.document["scenario"], "description": harm, "name": f"{harm}{place}", "seed": 1}
        workload = {**like.workload, "description": harm, "remarks": [harm], "inputs": [{"file": harm, "sha256": harm}]}
        document = {**like.document, "scenario": scenario, "workload": workload}
        evil.append(like.with_document(document))
    write_report(Subject(evil, title=harm, question=harm), tmp_path / "evil.html")
    browser.get((tmp_path / "evil.html").as_uri())
    assert run(browser, "return document.documentElement.dataset.ready") == "yes"
    assert harm in texts(browser, "h1, .question, .remarks li, .facts dd")
    assert len(column(browser, 2)) == 2
    assert browser.title == harm
    assert complaints(browser) == []


OFF_THE_LINES = """
const [plot] = arguments;
const lines = plot.linePoints ??= $$(".mark-line path", plot).map((line) => Array.from({ length: 4000 },
  (_, at) => line.getPointAtLength(at / 3999 * line.getTotalLength()).matrixTransform(line.getCTM())));
return $$(".cursor circle", plot).map((dot) => dot.getBBox()).map((box) => lines.flat().reduce((least, { x, y }) =>
  Math.min(least, Math.hypot(x - box.x - box.width / 2, y - box.y - box.height / 2)), Infinity));
"""
"""How far the dots under the cursor are from the nearest line, whose points are found once."""


def test_a_dot_lies_on_its_line(browser: WebDriver, results: list[Result], tmp_path: Path) -> None:
    """Also where the windows of two runs are of different lengths, and where intervals stand side by side."""
    runs = list(results)
    for place, like in enumerate(results[:2]):
        series = like.series().to_dict()
        slower = coflash.Table({**series, "start_ns": series["start_ns"] * (place + 3) // 2})
        histograms = {kind: like.histogram(kind) for kind in KINDS}
        runs[place] = Result(like.document, Arrays(histograms, slower, like.erase_counts()))
    write_report(Subject(runs), tmp_path / "dots.html")
    browser.get((tmp_path / "dots.html").as_uri())
    for place in range(2):
        click(browser, f'#runs-table input[data-run="{place}"]')
    for title in ("Mean response", "WAF, by host writes"):
        plot = find(figure(browser, title), ".plot")
        off = []
        for _ in range(8):
            plot.send_keys(Keys.ARROW_RIGHT)
            off += run(browser, OFF_THE_LINES, plot)
        assert off, title
        assert max(off) < 1.0, title
        plot.send_keys(Keys.ESCAPE)


def test_parts_that_only_some_systems_have_are_shown_for_these(
    browser: WebDriver, results: list[Result], tmp_path: Path
) -> None:
    hybrid, shadow = coflash.run(systems.HYBRID), coflash.run(systems.SHADOW)
    place = tmp_path / "systems.html"
    study = Subject([results[0], hybrid, shadow])
    write_report(study, place)
    browser.get(place.as_uri())
    found, parts = SECTIONS["hybrid"], sections(result.metrics for result in study.results)
    titles = [section.title for section in parts]
    assert texts(browser, "#sections h3.sub") == titles
    row = "(row) => [...row.children].map((cell) => cell.firstChild?.textContent)"
    body = f"$('tbody', $$('#sections .part')[{parts.index(found)}])"
    table = dict(run(browser, f"return $$('tr', {body}).map({row})"))
    for measure in found.measures:
        if measure.applies(hybrid.metrics):
            shown = table[measure.short].replace("\N{NO-BREAK SPACE}", " ")
            assert shown == measure.shown(hybrid.metrics).replace("\N{NO-BREAK SPACE}", " ")
    divided = figure(browser, f"How flash is divided: {study.labels[1]}")
    said = (find(divided, ".plot").get_attribute("aria-label") or "").replace("\N{NO-BREAK SPACE}", " ")
    for label, shares in found.courses(hybrid.metrics).items():
        said_of = said.partition(f"{label}: ")[2].partition(".  ")[0]
        assert f" to {shares[-1]:.1%} at".replace("%", " %") in said_of
    assert len(run(browser, "return $$('.plot .mark-area path', arguments[0])", divided)) == 3
    figure(browser, "Shadows among the pages that were moved")
    assert set(titles) <= set(run(browser, "return $$('#metric optgroup').map((one) => one.label)"))
    assert complaints(browser) == []


def test_a_plain_ssd_has_measures_of_the_device_alone(
    browser: WebDriver, results: list[Result], tmp_path: Path
) -> None:
    place = tmp_path / "plain.html"
    bare = [coflash.run(result.scenario.with_(cache__size="0B")) for result in results[:2]]
    write_report(Subject(bare), place)
    browser.get(place.as_uri())
    assert texts(browser, "#sections h3.sub") == ["Throughput", "Endurance"]


def test_requests_that_all_take_the_same_are_told_in_words(
    browser: WebDriver, results: list[Result], tmp_path: Path
) -> None:
    constant = coflash.Histogram(np.array([20], np.uint64), np.array([1000], np.uint64))
    like = results[0]
    same = Result(like.document, Arrays(dict.fromkeys(KINDS, constant), like.series(), like.erase_counts()))
    place = tmp_path / "same.html"
    write_report(Subject([same]), place)
    browser.get(place.as_uri())
    run(browser, "$('#run-details').scrollIntoView()")
    until(lambda: texts(browser, "#run-details .empty"))
    assert "take the same: demo 20\N{NO-BREAK SPACE}ns." in texts(browser, "#run-details .empty")[0]
