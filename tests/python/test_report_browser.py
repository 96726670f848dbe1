"""The report in a real browser: each of its parts, on a study of two schemes, three cache sizes and two seeds."""

from __future__ import annotations

import csv
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select

import coflash
from coflash.measures.measure import COPIED
from coflash.report import Subject, write_report
from coflash.report.payload import payload
from coflash.results.differences import difference
from pages import click, column, complaints, figure, find, look, messages, number, paste, rows_of, run, texts, until


@pytest.fixture(scope="module")
def file(results: list[coflash.Result], tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("page") / "report.html"
    write_report(Subject(results, question="Does cooperation pay?", baseline="none"), place)
    return place


@pytest.fixture
def page(browser: WebDriver, file: Path) -> WebDriver:
    browser.get(file.as_uri())
    return browser


@pytest.fixture
def downloads(page: WebDriver, tmp_path: Path) -> Callable[[str], Path]:
    """Waits for a file that the page saves."""
    page.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})

    def saved(name: str) -> Path:
        until(lambda: (tmp_path / name).exists())
        return tmp_path / name

    return saved


def aloud(drawn: WebElement) -> str:
    """What a figure says to those who do not see it."""
    return find(drawn, ".plot").get_attribute("aria-label") or ""


def legend(page: WebDriver, drawn: WebElement) -> list[str]:
    """The names in a figure's legend, read at once: the figure may be drawn anew at any time."""
    names = "[...arguments[0].querySelectorAll('.plot .role-legend-label text')].map((one) => one.textContent)"
    found: list[str] = run(page, f"return {names}", drawn)
    return found


def test_it_loads_without_a_complaint_and_without_the_network(page: WebDriver, file: Path) -> None:
    run(page, "window.scrollTo(0, document.body.scrollHeight)")
    assert run(page, "return document.documentElement.dataset.ready") == "yes"
    assert complaints(page) == []
    sent = [one["params"] for one in messages(page) if one["method"] == "Network.requestWillBeSent"]
    urls = {one["request"]["url"] for one in sent}
    assert {url for url in urls if not url.startswith(("data:", "blob:"))} == {file.as_uri()}


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_the_first_screen_has_the_answer_its_limits_and_its_picture(page: WebDriver, width: int, height: int) -> None:
    look(page, width)
    assert re.match(r"With cooperation cdm in place of none: pages copied by GC [−+]\d", texts(page, "#answer")[0])
    for part in ("#answer", ".cards", "#findings figure h3"):
        bottom = run(page, "return $(arguments[0]).getBoundingClientRect().bottom + scrollY", part)
        assert bottom < height, part


def test_what_varied_and_what_it_does_is_said_first(page: WebDriver) -> None:
    assert texts(page, ".varied dt") == ["cooperation.name", "cache.size", "seed"]
    assert texts(page, ".varied dd:nth-of-type(1)") == ["none, cdm", "1 MiB, 2 MiB, 4 MiB", "1, 2"]
    assert texts(page, ".card dt")[:2] == ["pages copied by GC", "WAF, by host writes"]
    assert "6 pairs of runs" in texts(page, "#findings .note")[0]


def test_the_steps_from_one_scheme_to_the_other_add_up(page: WebDriver, results: list[coflash.Result]) -> None:
    drawn = figure(page, "Where the difference comes from")
    click(page, find(drawn, ".tools button[aria-label^='Data of']"))
    cells = rows_of(page, drawn)
    steps = {name: int(text.replace(",", "").replace("−", "-")) for name, text in cells}
    first, *between, last = steps.values()
    assert abs(first + sum(between) - last) <= len(between)  # each is rounded
    of = {
        scheme: [result.metrics for result in results if result.scenario.to_dict()["cooperation"]["name"] == scheme]
        for scheme in ("none", "cdm")
    }
    means = {scheme: np.mean([sum(one.programs_pages.values()) for one in found]) for scheme, found in of.items()}
    assert steps["none"] == pytest.approx(means["none"], abs=1)
    assert steps["cdm"] == pytest.approx(means["cdm"], abs=1)
    spared = np.mean([one["gc_spared_pages"] for one in of["cdm"]])
    assert steps["overwrites known at once"] == pytest.approx(-spared, abs=1) and spared > 0
    assert steps["pages dropped by GC"] == pytest.approx(-np.mean([one["gc_drops_pages"] for one in of["cdm"]]), abs=1)
    Select(find(page, "#change-from")).select_by_visible_text("cdm")
    Select(find(page, "#change-to")).select_by_visible_text("none")
    label = find(drawn, ".plot").get_attribute("aria-label") or ""
    assert f"overwrites known at once: +{round(spared):,}" in label


@pytest.mark.parametrize("width", [1280, 700, 390])
def test_what_is_written_behind_a_bar_is_not_cut(page: WebDriver, width: int) -> None:
    look(page, width)
    drawn = figure(page, "Where the difference comes from")
    until(lambda: drawn.find_elements(By.CSS_SELECTOR, "svg .mark-text text"))
    ends = "[...arguments[0].querySelectorAll(arguments[1])].map((one) => one.getBoundingClientRect().right)"
    right = f"return Math.max(...{ends})"
    until(lambda: run(page, right, drawn, "svg .mark-text text") <= run(page, right, drawn, "svg"))


def test_the_steps_are_exact_shares_where_the_schemes_between_ran(
    page: WebDriver, results: list[coflash.Result], tmp_path: Path
) -> None:
    note = figure(page, "Where the difference comes from").text
    assert "--vary cooperation=none,cdm-overwrites,cdm-removable,cdm." in note, "the command that runs them"
    ends = [one for one in results if one.scenario.to_dict()["cache"]["size"] == "2MiB"]
    between = [
        coflash.run(one.scenario.with_(cooperation=scheme))
        for one in ends
        if one.scenario.to_dict()["cooperation"]["name"] == "none"
        for scheme in ("cdm-overwrites", "cdm-removable")
    ]
    write_report(Subject([*ends, *between], baseline="none", target="cdm"), tmp_path / "why.html")
    page.get((tmp_path / "why.html").as_uri())
    drawn = figure(page, "Where the difference comes from")
    assert "nothing is left over" in drawn.text
    click(page, find(drawn, ".tools button[aria-label^='Data of']"))
    steps = {name: int(text.replace(",", "").replace("−", "-")) for name, text in rows_of(page, drawn)}
    assert set(steps) <= {"none", "overwritten pages known at once", "cached pages not copied", "cdm"}
    first, *shares, last = steps.values()
    assert abs(first + sum(shares) - last) <= len(shares) and first > last


def test_schemes_between_with_other_parameters_have_no_exact_shares_and_that_is_said(
    results: list[coflash.Result],
) -> None:
    ends = [one for one in results if one.scenario.to_dict()["cache"]["size"] == "2MiB"]
    (first,) = [one for one in ends if one.seed == 1 and one.scenario.to_dict()["cooperation"]["name"] == "none"]
    said = "Shares without a rest need the schemes between, alike in all else, which these runs are not: coflash sweep "
    for stream, is_exact in (("evict", True), ("gc", False)):
        between = ("cdm-overwrites", {"name": "cdm-removable", "rewrite_stream": stream})
        runs = [coflash.run(first.scenario.with_(cooperation=scheme)) for scheme in between]
        data = payload(Subject([*ends, *runs], baseline="none", target="cdm"))
        assert bool(data["whys"]) is is_exact, "a parameter is no part of the scheme"
        assert any(one["said"].startswith(said) for one in data["between"])


@pytest.mark.filterwarnings("ignore:.* have no effect without a cache:UserWarning")
@pytest.mark.parametrize("with_cache", [True, False])
def test_pairs_that_are_equal_by_construction_are_left_out_of_the_mean_and_counted(
    page: WebDriver, results: list[coflash.Result], tmp_path: Path, with_cache: bool
) -> None:
    pairs = [result for result in results if result.seed == 1 and result.scenario.to_dict()["cache"]["size"] != "4MiB"]
    bare = [coflash.run(one.scenario.with_(cache__size="0B")) for one in pairs[1::2]]
    write_report(Subject([*pairs, *bare] if with_cache else bare, baseline="none"), tmp_path / "bare.html")
    page.get((tmp_path / "bare.html").as_uri())
    (note,) = texts(page, "#findings > .note")
    why = "equal by construction: neither run has a part of a system on which cooperation acts."
    if not with_cache:
        assert note == f"The only pair, {why}"
        assert texts(page, ".card dt") == []
        return
    assert note.startswith("Mean and range over 2 pairs of runs")
    assert note.endswith(f"1 pair more left out, {why}")
    wafs = [result.metrics.waf_host or 0.0 for result in pairs]
    mean = np.mean([wafs[2] / wafs[0] - 1, wafs[3] / wafs[1] - 1])
    shown = texts(page, ".card:nth-of-type(2) dd")[0].replace("\N{NO-BREAK SPACE}", "").split()[0]
    assert shown == f"{100 * mean:+.1f}%".replace("-", "−")


def test_an_interval_is_wider_by_a_bin_and_ends_where_no_value_can_be(page: WebDriver) -> None:
    assert run(page, "return confidence([2, 2], 2, 0.5, 0)") == [1.5, 2.5]
    low, high = run(page, "return confidence([1, 5], 3, 0, 0)")
    assert (low, high) == (0, pytest.approx(3 + 12.706 * 2, rel=1e-4))
    assert run(page, "return metricAt.get('response_ns.all.p99').bin_width") == 1 / 1024
    assert run(page, "return metricAt.get('response_ns.all.mean').bin_width") == 0


def test_what_an_interval_over_seeds_is_stands_beside_it(
    page: WebDriver, results: list[coflash.Result], tmp_path: Path
) -> None:
    four = [result for result in results if result.scenario.to_dict()["cache"]["size"] == "1MiB"]
    write_report(Subject(four, baseline="none"), tmp_path / "seeds.html")
    page.get((tmp_path / "seeds.html").as_uri())
    (note,) = texts(page, "#findings > .note")
    assert (
        note
        == "Mean and 95 % confidence interval over 2 pairs of runs that differ in cooperation alone, paired by seed."
    )
    wafs = [result.metrics.waf_host or 0.0 for result in four]
    changes = [wafs[2] / wafs[0] - 1, wafs[3] / wafs[1] - 1]
    half = 12.706 * np.std(changes, ddof=1) / np.sqrt(2)
    low, high = (f"{100 * (np.mean(changes) + sign * half):+.1f}".replace("-", "−") for sign in (-1, 1))
    shown = texts(page, ".card:nth-of-type(2) dd:last-of-type")[0].replace("\N{NO-BREAK SPACE}", "")
    assert shown == f"[{low}%, {high}%]"


def test_differences_have_their_intervals_and_tests(page: WebDriver, results: list[coflash.Result]) -> None:
    click(page, find(page, "#intervals summary"))
    heads = texts(page, "#intervals thead th")
    assert heads == ["measure", "none", "difference", "95 % over seeds", "95 % over slices"]
    rows = rows_of(page, find(page, "#intervals"))
    assert [cells[0] for cells in rows if len(cells) == 1] == [f"{size} MiB, 2 seeds" for size in (1, 2, 4)]
    # The same numbers as `coflash compare --intervals` shows.
    varied = (("cooperation", "name"), ("cache", "size"))
    at_1_mib = [
        [one for one in results if [one.scenario.to_dict()[key][of] for key, of in varied] == [scheme, "1MiB"]]
        for scheme in ("none", "cdm")
    ]
    found = difference(COPIED, *at_1_mib)
    assert found is not None and found.over_seeds is not None and found.over_slices is not None
    row = next(cells for cells in rows if cells[0] == COPIED.label)
    assert row[3].endswith(f"p = {found.over_seeds.p:.3f}")
    assert row[4].endswith("p < 0.001" if found.over_slices.p < 0.001 else f"p = {found.over_slices.p:.3f}")
    # No interval without its runs, nor for a measure that was not chosen.
    find(page, "#filter input").send_keys("seed = 1", Keys.ENTER)
    until(lambda: not find(page, "#intervals").is_displayed())


def test_the_table_sorts_and_says_so(page: WebDriver) -> None:
    head = '#runs-table button[data-path="waf_host"]'
    place = texts(page, "#runs-table thead button").index("WAF, by host writes↕") + 2
    for direction, turned in (("ascending", False), ("descending", True)):
        click(page, head)
        values = [number(text) for text in column(page, place)]
        assert len(values) == 12
        assert values == sorted(values, reverse=turned)
        assert run(page, f"return $('{head}').parentElement.getAttribute('aria-sort')") == direction
        assert page.switch_to.active_element.get_attribute("data-path") == "waf_host"


def test_the_filter_holds_for_table_and_charts(page: WebDriver) -> None:
    search = find(page, "#search")
    for given, count in {"cdm": 6, "CDM 4MiB": 2, "nothing": 0}.items():
        search.clear()
        search.send_keys(given)
        assert texts(page, "#count") == [f"{count} of 12 runs"], given
        if count:
            assert len(column(page, 2)) == count
    assert texts(page, "#runs-table tbody") == ["No run matches the filter."]
    assert texts(page, "#explore .empty")[0].startswith("No run")
    click(page, "#clear")
    Select(find(page, "#only-cooperation\\.name")).select_by_visible_text("cdm")
    assert set(column(page, 2)) == {"cdm"}
    large = figure(page, "WAF, by host writes")
    until(lambda: "cdm: " in aloud(large) and "none: " not in aloud(large))


def test_the_filter_says_which_words_no_run_has(page: WebDriver) -> None:
    search = find(page, "#search")
    for given, count, said in (
        ("cdm", 6, ""),
        ("cdn", 0, "No run has “cdn”"),
        ("cdm waf_host<2 lrv", 0, "No run has “waf_host<2” or “lrv”"),
    ):
        paste(page, search, given)
        assert texts(page, "#count")[0] == ("12 runs" if count == 12 else f"{count} of 12 runs"), given
        assert texts(page, "#search-problem") == [said]
    click(page, "#clear")
    assert texts(page, "#search-problem") == [""]


def test_the_address_holds_the_view(page: WebDriver) -> None:
    find(page, "#search").send_keys("seed 1")
    Select(find(page, "#only-seed")).select_by_visible_text("1")
    Select(find(page, "#metric")).select_by_visible_text("response, mean")
    Select(find(page, "#over")).select_by_visible_text("cooperation")
    Select(find(page, "#axis")).select_by_visible_text("logarithmic")
    click(page, "nav a[href='#runs']")
    until(lambda: "#view?" in page.current_url)
    address = page.current_url
    page.get("about:blank")
    page.get(address)
    assert find(page, "#search").get_attribute("value") == "seed 1"
    assert texts(page, "#count") == ["6 of 12 runs"]
    chosen = [Select(find(page, f"#{name}")).first_selected_option.text for name in ("metric", "over", "by", "axis")]
    assert chosen == ["response, mean", "cooperation", "cache size", "logarithmic"]
    click(page, "#clear")
    assert complaints(page) == []


def test_any_measure_is_drawn_over_any_key(page: WebDriver) -> None:
    Select(find(page, "#metric")).select_by_visible_text("response, writes, p99")
    Select(find(page, "#over")).select_by_visible_text("cooperation")
    drawn = figure(page, "Response, writes, p99")
    label = find(drawn, ".plot").get_attribute("aria-label")
    assert label is not None
    assert "1 MiB" in label
    assert "none" in label
    svg = find(drawn, ".plot > svg").get_attribute("outerHTML")
    assert svg is not None
    assert ">response, writes, p99<" in svg
    assert " ms</text>" in svg, "a tick has its unit"
    assert legend(page, drawn) == ["1 MiB", "2 MiB", "4 MiB"]
    # A click on an entry of the legend sets off what it names.
    click(page, find(drawn, ".plot .role-legend-label text"))
    points = "return $$('.plot .mark-symbol.role-mark path', arguments[0]).map((one) => one.getAttribute('opacity'))"
    until(lambda: sorted(run(page, points, drawn)) == ["0.12"] * 4 + ["1"] * 2)
    Select(find(page, "#axis")).select_by_visible_text("logarithmic")
    assert complaints(page) == []


def test_seeds_are_replicates_with_a_confidence_interval(page: WebDriver, results: list[coflash.Result]) -> None:
    drawn = figure(page, "WAF, by host writes")
    assert texts(page, "#explore figcaption p")[0].endswith(
        "Mean over seeds (n = 2); bars: 95 % confidence of the mean."
    )
    click(page, find(drawn, ".tools button:nth-last-child(1)"))
    rows = texts(page, "#explore figure:first-of-type .data tbody tr:first-child > *")
    a, b = (result.metrics.waf_host or 0.0 for result in results[:2])
    assert rows[0] == "none"
    assert float(rows[2]) == pytest.approx((a + b) / 2, rel=1e-6)
    assert float(rows[4]) - float(rows[3]) == pytest.approx(12.706 * abs(a - b), rel=1e-3)


def test_tail_course_and_wear_of_the_runs_that_are_ticked(page: WebDriver) -> None:
    assert texts(page, "#chips li") == ["none · 2 MiB · seed 1×", "cdm · 2 MiB · seed 1×"]
    boxes = page.find_elements(By.CSS_SELECTOR, "#runs-table input[data-run]")
    click(page, boxes[0])
    assert len(texts(page, "#chips li")) == 3
    tail = figure(page, "Response times")
    before = find(tail, ".plot > svg").get_attribute("outerHTML")
    Select(find(tail, "#tail")).select_by_visible_text("no longer than")
    until(lambda: find(tail, ".plot > svg").get_attribute("outerHTML") != before)
    until(lambda: len(legend(page, tail)) == 3)
    Select(find(page, "#course")).select_by_visible_text("Write amplification, by host writes")
    figure(page, "Write amplification, by host writes")
    figure(page, "Erases of each block")
    for remove in range(3):
        assert len(texts(page, "#chips li")) == 3 - remove
        click(page, "#chips button")
    assert texts(page, "#run-details .empty")[0].startswith("No run is selected")
    assert complaints(page) == []


def test_figures_are_saved_as_svg_png_and_csv(page: WebDriver, downloads: Callable[[str], Path]) -> None:
    titles = (
        "WAF, by FTL writes",
        "Flash programs by cause",
        "Response times",
        "Mean response",
        "Erases of each block",
    )
    for title in titles:
        page.refresh()  # for the browser would ask before the eleventh file of a page
        drawn = figure(page, title)
        name = title.lower().replace(", ", "-").replace(" ", "-")
        for kind in ("SVG", "PNG", "CSV"):
            (tool,) = [one for one in drawn.find_elements(By.CSS_SELECTOR, ".tools button") if one.text == kind]
            click(page, tool)
        svg = ET.parse(downloads(f"{name}.svg")).getroot()  # noqa: S314  (our own file)
        assert svg.findtext("{http://www.w3.org/2000/svg}title") == title
        assert svg.get("width") == "760"
        note = find(figure(page, title), "figcaption p").text
        assert note in " ".join(svg.itertext())
        png = downloads(f"{name}.png").read_bytes()
        assert png.startswith(b"\x89PNG")
        assert int.from_bytes(png[16:20], "big") == 1520
        head, *rows = csv.reader(downloads(f"{name}.csv").read_text(encoding="utf-8").splitlines())
        assert rows
        assert {len(row) for row in rows} == {len(head)}


def test_a_saved_scenario_is_the_scenario_that_ran(
    page: WebDriver, downloads: Callable[[str], Path], results: list[coflash.Result]
) -> None:
    Select(find(page, "#run-again")).select_by_index(5)
    button = find(page, "#save-scenario")
    click(page, button)
    saved = coflash.Scenario.load(downloads(button.text))
    assert saved.hash == results[5].scenario_hash
    assert "results/none-4-mib-seed-2" in texts(page, ".steps code")[0]


def test_two_runs_side_by_side_tell_what_differs(page: WebDriver) -> None:
    Select(find(page, "#run-a")).select_by_index(0)
    Select(find(page, "#run-b")).select_by_index(8)
    assert texts(page, "#compared .code tbody tr:first-child > *") == ["cache.size", '"1MiB"', '"2MiB"']
    assert texts(page, "#compared .code tbody th") == [
        "cache.size",
        "cooperation.name",
        "cooperation.removable_weight",
        "cooperation.rewrite_stream",
    ]
    row = texts(page, "#compared > .code + .scroll tbody tr:first-child > *")
    assert row[0] == "WAF, by host writes"
    assert row[3].replace("−", "-").startswith(f"{(number(row[2]) / number(row[1]) - 1) * 100:+.0f}"[:2])
    click(page, ".swap")
    assert texts(page, "#compared > .code + .scroll tbody tr:first-child > *")[1] == row[2]


def test_charts_are_read_with_the_arrow_keys(page: WebDriver) -> None:
    for title in ("WAF, by host writes", "Flash programs by cause", "Response times"):
        plot = find(figure(page, title), ".plot")
        plot.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        (said,) = texts(page, "#said")
        assert ":" in said, title
        tip = find(figure(page, title), ".tip")
        assert tip.is_displayed()
        plot.send_keys(Keys.ESCAPE)
        assert not tip.is_displayed()


def test_a_course_is_looked_at_closely_by_dragging(page: WebDriver) -> None:
    drawn = figure(page, "Mean response")
    plot = find(drawn, ".plot")
    # Figures above move it while they are drawn.
    until(lambda: run(page, "return figures.every((one) => !one.near || one.view || !one.chart)"))
    run(page, "arguments[0].scrollIntoView({ block: 'center' })", plot)
    mouse = webdriver.ActionChains(page).move_to_element_with_offset(plot, -100, 0)
    mouse.click_and_hold().move_by_offset(150, 0).release().perform()
    reset = find(drawn, ".tools button")
    until(lambda: reset.text == "Whole range")
    click(page, reset)
    assert not reset.is_displayed()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light"), (320, "dark")])
def test_it_fits_a_phone_and_the_dark(page: WebDriver, file: Path, width: int, scheme: str) -> None:
    look(page, width, scheme)
    page.get(file.as_uri())
    assert run(page, "return document.documentElement.scrollWidth") <= width
    lightness = run(page, "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (max(lightness) < 60) == (scheme == "dark")
    assert complaints(page) == []


def test_everything_that_can_be_used_has_a_name(page: WebDriver) -> None:
    nameless = run(
        page,
        """return $$("button, select, input, [tabindex]").filter((one) => !(one.ariaLabel || one.textContent.trim()
          || one.labels?.length || one.closest("label"))).map((one) => one.outerHTML.slice(0, 200))""",
    )
    assert nameless == []
    ids = run(page, "return $$('[id]').map((one) => one.id)")
    assert len(ids) == len(set(ids))
    assert run(page, "return $$('.scroll table').filter((one) => !$('caption', one)).length") == 0


def test_on_paper_are_the_charts_that_were_not_scrolled_to(page: WebDriver) -> None:
    empty = "return $$('figure').filter((one) => one.offsetParent && !$('.plot > *', one)).length"
    assert run(page, empty) > 0
    look(page, 1280, "dark")
    assert page.execute_cdp_cmd("Page.printToPDF", {})["data"]
    assert run(page, empty) == 0
    # Paper is light, also where the screen is dark.
    paper = "return getComputedStyle(document.documentElement).getPropertyValue('--paper')"
    dark = run(page, paper)
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    light = "return getComputedStyle($('#light')).getPropertyValue('--paper')"
    assert run(page, paper) == run(page, light) != dark
    shown = "return $$('select, input').filter((one) => one.offsetParent).map((one) => one.id)"
    assert run(page, shown) == ["change-key", "change-from", "change-to", "run-a", "run-b", "run-again"]
    # Browsers repeat the head of a table on each page without the buttons in it.
    named = "$$('#runs-table th[aria-sort]').map((one) => getComputedStyle(one, '::before').content)"
    assert run(page, f"return {named}.every((content) => content.length > 2)")
    assert run(page, "return $$('th').every((one) => getComputedStyle(one).position === 'static')")
    # What limits the answer is read, too.
    assert set(run(page, "return $$('details.remarks li').map((one) => one.checkVisibility())")) == {True}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
