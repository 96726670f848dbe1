"""The laboratory in a browser: its module and its page, beside native runs. `make lab` builds both."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import polars
import pytest
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import lab_records
import served_devices
from coflash import Scenario, device
from coflash import run as run_scenario
from coflash.evaluation import evaluate
from coflash.measures.metrics import Metrics
from coflash.report import lab
from coflash.report.live import LivePage
from pages import click, complaints, find, look, messages, run, until
from raw_nbd import Client

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "lab" / "tests"
PAGE = lab.BUILT
WORDS = json.loads((ROOT / "lab/page/src/words.json").read_text("utf-8"))
STORIES = json.loads((ROOT / "lab/page/src/stories.json").read_text("utf-8"))
Open = Callable[[str], WebDriver]


@pytest.fixture
def page(built: Path, browser: WebDriver) -> Iterator[Open]:  # noqa: ARG001
    """Opens the page at an address; nobody complains, and nothing is fetched."""

    def open_(address: str) -> WebDriver:
        browser.get("about:blank")
        browser.get(f"{PAGE.as_uri()}{address}")
        until(lambda: run(browser, "return document.body.dataset.ready"))
        return browser

    yield open_
    assert complaints(browser) == []
    sent = [event["params"]["request"]["url"] for event in messages(browser) if event["method"].endswith("WillBeSent")]
    assert [url for url in sent if not url.startswith((PAGE.as_uri(), "data:", "about:", "blob:"))] == []


def text(browser: WebDriver, selector: str) -> str:
    return str(run(browser, "return document.querySelector(arguments[0]).textContent", selector))


def served(browser: WebDriver) -> int:
    return int(text(browser, "#requests").replace(",", ""))


def counters(browser: WebDriver) -> list[str]:
    """What a reader sees of all drives: their counters, and their pages as a picture."""
    seen = "[...document.querySelectorAll('#counters td')].map((one) => one.textContent)"
    pictures = "[...document.querySelectorAll('canvas.drive')].map((one) => one.toDataURL())"
    found: list[str] = run(browser, f"return [...{seen}, ...{pictures}]")
    return found


def see(browser: WebDriver, story: str, step: int) -> str:
    """Scrolls to a figure of a story, and waits until it stands in its state; returns its selector."""
    figure = f"#{story}-{step}"
    until(lambda: bool(run(browser, "return document.querySelector(arguments[0]) !== null", figure)))
    run(browser, "document.querySelector(arguments[0]).scrollIntoView({ block: 'start' })", figure)
    wanted = STORIES[story]["steps"][step - 1]["requests"]
    until(lambda: int(text(browser, f"{figure} [data-part='requests']").replace(",", "")) >= wanted)
    return figure


def opened(browser: WebDriver, address: str) -> None:
    """Waits until the page shows the state of an address."""
    until(lambda: f"{address}&".endswith(f"requests={served(browser)}&"))
    until(lambda: f"scheme={run(browser, 'return document.querySelector(`#scheme`).value')}&" in address)


def rested(browser: WebDriver, after: int) -> int:
    """Waits until the page stands still, and its address has the request that it shows; returns that request."""
    until(lambda: served(browser) > after and f"requests={served(browser)}&" in f"{browser.current_url}&")
    return served(browser)


def press(browser: WebDriver, *keys: str) -> None:
    ActionChains(browser).send_keys(*keys).perform()


def test_in_node_the_module_gives_golden_results_and_the_stories_are_true(
    node: str, record_property: Callable[[str, object], None]
) -> None:
    files = [str(file) for file in sorted(TESTS.glob("*.test.mjs"))]
    done = subprocess.run([node, "--test", *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    for name, rate in re.findall(r"([\w-]+): ([\d.]+) million programs a second", done.stdout):
        record_property(f"million programs a second, {name}", rate)


def test_each_drive_of_the_page_gives_the_numbers_of_a_native_run(
    node: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("database.csv").write_text(lab_records.csv(lab_records.kept()), "utf-8")
    # More than a cache of OP-FCL needs to be full.
    printed = subprocess.run([node, str(TESTS / "checks.mjs"), "20000"], capture_output=True, text=True, check=True)
    programs: dict[str, str] = json.loads(printed.stdout)
    assert len(programs) > 40
    for name, program in programs.items():
        exec(compile(program, name, "exec"), {})  # noqa: S102
        assert re.fullmatch(r"equal: \d{3} numbers after 20000 requests\n", capsys.readouterr().out), name


def test_the_drives_are_drawn_soon_and_stand_still_for_a_reader_who_wants_no_motion(
    page: Open, record_property: Callable[[str, object], None]
) -> None:
    browser = page("")
    assert text(browser, "#run") == "Run"
    at_first = served(browser)
    assert at_first > 6000, "a victim is shown, with all that became of its pages"
    assert int(text(browser, "#left .copied")) > int(text(browser, "#left .wasted")) > 0
    assert text(browser, "#right .wasted") == "0"
    assert text(browser, "#spoken").startswith(f"Victim. Left: {text(browser, '#left .copied')} pages copied, ")
    assert not find(browser, "#left .bars").is_displayed()
    record_property(
        "ms to the first picture", run(browser, "return performance.getEntriesByName('drawn')[0].startTime")
    )
    click(browser, "#run")
    until(lambda: text(browser, "#left .which") == "so far")
    assert find(browser, "#left .bars").is_displayed()
    features = [{"name": "prefers-reduced-motion", "value": "no-preference"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    page("")
    assert text(browser, "#run") == "Pause"
    until(lambda: int(text(browser, "#left .copied")) > 0)
    assert text(browser, "#spoken") != ""
    until(lambda: text(browser, "#right .which") == "so far")
    assert text(browser, "#spoken") == "", "the victim is not shown any more"
    until(lambda: served(browser) > at_first + 500)


@pytest.mark.parametrize("width", [1280, 390])
# OP-FCL's blocks keep a page for their summary.
@pytest.mark.parametrize(("scheme", "pages"), [("cdm", 64), ("op-fcl", 63)])
def test_bars_show_what_the_kernel_counts_on_one_scale_for_all_drives(
    page: Open, scheme: str, pages: int, width: int
) -> None:
    browser = page("")
    look(browser, width)
    page(f"#scheme={scheme}&requests=20000&score=age")
    sides = ["left", "right", "own"]

    def numbers(place: str) -> list[int]:
        return [int(text(browser, place.format(side)).replace(",", "")) for side in sides]

    copies, cleanings = (
        numbers(f"#counters [data-side='{{}}'][data-path='{path}']") for path in ("gc_copies_pages", "victims")
    )
    freed = [pages - round(copied / cleaned) for copied, cleaned in zip(copies, cleanings, strict=True)]
    assert len(set(freed)) == len(set(cleanings)) == 3
    for name, expected in (("freed", freed), ("victims", cleanings)):
        assert numbers(f"#{{}} strong.{name}") == expected
        bars = [find(browser, f"#{side} i.{name}") for side in sides]
        assert all(bar.is_displayed() for bar in bars)
        scales = [bar.rect["width"] / value for bar, value in zip(bars, expected, strict=True)]
        assert max(scales) == pytest.approx(min(scales), rel=0.02)
    fewer = f"{round(100 * (1 - copies[1] / copies[0]))} % fewer copies on the right: each cleaning frees more room,"
    assert text(browser, "#saved").replace("\N{NO-BREAK SPACE}", " ").startswith(fewer) == (scheme == "cdm")


@pytest.mark.parametrize("story", STORIES)
def test_each_figure_of_a_story_begins_when_it_is_seen_and_can_be_taken_over(page: Open, story: str) -> None:
    browser = page("")
    click(browser, f"#stories button:nth-of-type({[*STORIES].index(story) + 1})")
    until(lambda: f"story={story}&" in browser.current_url)
    steps = STORIES[story]["steps"]
    for number, step in enumerate(steps, 1):
        figure = see(browser, story, number)
        assert text(browser, f"{figure} h3") == f"{number} of {len(steps)} {step['title']}"
        assert find(browser, f"{figure} [data-part='course']").is_displayed() == ("chart" in step["focus"])
        assert find(browser, f"{figure} [data-part='numbers']").is_displayed() == ("counters" in step["focus"])
        # What is out of sight is left alone: it holds no drive.
    papers = [number for number, step in enumerate(steps, 1) if "paper" in step]
    assert papers
    for number in papers:
        figure, paper = see(browser, story, number), steps[number - 1]["paper"]
        said, because = re.escape(paper["says"]), re.escape(paper["why"])
        ours = r"Here, after [\d,]+ requests: \d+ % (less|more) with .*\."
        assert re.fullmatch(f"{said} {ours} {because}", text(browser, f"{figure} .beside"))
    click(browser, f"#{story}-{papers[0]} [data-part='take']")
    until(lambda: not find(browser, "#story").is_displayed())
    until(lambda: served(browser) == steps[papers[0] - 1]["requests"])
    browser.back()
    until(lambda: find(browser, "#story").is_displayed())


def test_a_slider_goes_back_and_forth_in_a_figure(page: Open) -> None:
    browser = page("#story=removable&step=3")
    figure = see(browser, "removable", 4)

    def at() -> int:
        return int(text(browser, f"{figure} [data-part='requests']").replace(",", ""))

    def go(requests: int) -> list[str]:
        script = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))"
        run(browser, script, find(browser, f"{figure} input"), requests)
        until(lambda: at() == requests)
        seen = f"[...document.querySelectorAll(`{figure} .tally, {figure} .saved`)].map((one) => one.textContent)"
        return list(run(browser, f"return {seen}"))

    there = go(6000)
    assert go(3000) != there
    assert go(6000) == there, "a state is the same from both sides"


def test_a_link_repeats_the_state(page: Open) -> None:
    browser = page("#workload=zipf&scheme=sgc&cache=7&seed=5&requests=4321&score=1-u")
    click(browser, "#victim")
    at_victim = rested(browser, 4321)
    click(browser, "#step")
    assert rested(browser, at_victim) == at_victim + 1
    before, link = counters(browser), browser.current_url
    page("#" + link.partition("#")[2])
    assert counters(browser) == before
    assert find(browser, "#own").is_displayed()
    assert run(browser, "return document.querySelector('#score').value") == "1-u"


@pytest.mark.parametrize("scheme", WORDS["schemes"])
def test_each_drive_of_the_page_is_repeated_by_its_link_and_equal_to_a_native_run(
    page: Open, scheme: str, capsys: pytest.CaptureFixture[str]
) -> None:
    browser = page(f"#workload=zipf&scheme={scheme}&cache=7&seed=5&requests=4321")
    click(browser, "#step")
    assert rested(browser, 4321) == 4322
    before, link = counters(browser), browser.current_url
    page("#" + link.partition("#")[2])
    assert served(browser) == 4322
    assert counters(browser) == before
    click(browser, "#native summary")
    click(browser, "#make-check")
    until(lambda: run(browser, "return document.querySelector('#check').value"))
    exec(compile(run(browser, "return document.querySelector('#check').value"), scheme, "exec"), {})  # noqa: S102
    assert re.fullmatch(r"equal: \d{3} numbers after 4322 requests\n", capsys.readouterr().out)
    toml = Scenario.from_toml(run(browser, "return document.querySelector('#toml').value"))
    assert toml.with_({"workload.synthetic.requests": 100}) is not None


def test_what_is_wrong_in_a_link_is_as_at_first(page: Open) -> None:
    wrong = "#workload=%3Cb%3E&scheme=nonsense&cache=9999&requests=-3&story=none&step=x"
    browser = page("#requests=6000")
    first = counters(browser)
    page(wrong)
    assert counters(browser) == first


def test_a_link_to_a_step_beyond_the_last_one_is_as_the_first(page: Open) -> None:
    browser = page("#story=less&step=99&requests=0")
    see(browser, "less", 1)
    assert run(browser, "return document.querySelector('#less-1').getBoundingClientRect().top") < 200
    assert text(browser, "#run") == "Run", "it stands still, as by the button of the story"


def test_a_link_that_takes_long_says_how_far_it_is_and_stops_when_told(page: Open) -> None:
    browser = page("#requests=3000")
    run(browser, "location.hash = '#scheme=op-fcl&requests=50000000'")
    until(lambda: " of 50,000,000 requests are served" in text(browser, "#saved"))
    click(browser, "#stop")
    until(lambda: not find(browser, "#stop").is_displayed())
    assert 0 < served(browser) < 50_000_000


def test_a_copied_link_is_said_to_be_for_this_machine_where_it_is(page: Open) -> None:
    browser = page("#requests=3000")
    click(browser, "#share")
    until(lambda: find(browser, "#spoken").text)
    assert "this machine only" in find(browser, "#spoken").text or "address bar" in find(browser, "#spoken").text


def test_keys_work_after_a_click_on_a_button(page: Open) -> None:
    browser = page("#requests=3000")
    click(browser, "#run")
    until(lambda: served(browser) > 3000)
    click(browser, "#run")
    at = rested(browser, 3000)
    press(browser, Keys.ARROW_RIGHT)
    assert rested(browser, at) == at + 1


def test_a_link_of_a_page_that_just_stopped_is_of_what_it_shows(page: Open) -> None:
    browser = page("#requests=3000")
    press_all = "for (const name of ['run', 'step', 'run', 'run']) document.querySelector(`#${name}`).click()"
    run(browser, f"for (let n = 0; n < 50; n++) {press_all}")
    at = rested(browser, 3049)
    before = counters(browser)
    page(f"#requests={at}")
    assert counters(browser) == before


def test_a_keyboard_is_enough(page: Open) -> None:
    browser = page("#requests=0")
    press(browser, Keys.ARROW_RIGHT)
    until(lambda: served(browser) == 1)
    press(browser, "v")
    until(lambda: served(browser) > 1)
    press(browser, "r")
    until(lambda: served(browser) == 0)
    press(browser, " ")
    until(lambda: served(browser) > 1)
    press(browser, " ")
    assert text(browser, "#run") == "Run"
    seen: list[Any] = []
    while len(seen) < 40 and (not seen or seen[-1] != "toml"):
        press(browser, Keys.TAB)
        active = "const one = document.activeElement; return one.id || one.tagName"
        seen.append(run(browser, active))
        if seen[-1] == "SUMMARY":
            press(browser, Keys.ENTER)
    controls = "run step victim again share speed time workload scheme cache score grade copy-toml make-check toml"
    expected = controls.split()
    assert [name for name in seen if name in expected] == expected
    click(browser, "#step")
    until(lambda: served(browser) > 0)
    find(browser, "#again").send_keys(Keys.ENTER)
    until(lambda: served(browser) == 0)


def test_a_score_joins_as_a_third_drive_and_one_with_an_error_says_where(page: Open) -> None:
    browser = page("")
    field = find(browser, "#score")
    field.send_keys("(1 - u) * agee", Keys.ENTER)
    until(lambda: "agee" in text(browser, "#score-problem"))
    assert "age" in text(browser, "#score-problem").replace("agee", "")
    assert not find(browser, "#own").is_displayed()
    field.clear()
    field.send_keys("(1 - u) * age", Keys.ENTER)
    until(lambda: find(browser, "#own").is_displayed())
    assert text(browser, "#score-problem") == ""
    click(browser, "#victim")
    until(lambda: text(browser, "#counters [data-side='own'][data-path='last']") != "none yet")


def test_a_grade_is_that_of_an_evaluation(page: Open) -> None:
    browser = page("#score=(1+-+u)+*+sqrt(age)")
    click(browser, "#grade")
    until(lambda: text(browser, "#grade-sum").startswith("Grade: "))
    evaluation = evaluate({"name": "score", "score": "(1 - u) * sqrt(age)"})
    assert text(browser, "#grade-sum").startswith(f"Grade: {evaluation['combined_score']:.4f}.")
    cells = run(browser, "return [...document.querySelectorAll('#grades td')].map((one) => one.textContent)")
    expected = [(row.workload, f"{row.value:.3f}", f"{row.best_value:.3f} ({row.best})") for row in evaluation.rows]
    assert [tuple(cells[at : at + 3]) for at in range(0, len(cells), 4)] == expected
    field = find(browser, "#score")
    field.clear()
    field.send_keys("agee")
    click(browser, "#grade")
    until(lambda: "agee" in text(browser, "#score-problem"))


def test_the_link_of_a_task_opens_its_state(page: Open) -> None:
    browser = page("")
    click(browser, "details summary")
    for link in browser.find_elements(By.CSS_SELECTOR, "ol a"):
        click(browser, link)
        opened(browser, str(link.get_attribute("hash")))
        assert text(browser, "#run") == "Run"


def test_a_recorded_run_is_a_timeline(page: Open, tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("operations.parquet", "decisions.parquet")]
    changes = {"flash.blocks_per_plane": 64, "flash.channels": 2, "cache.size": "1MiB", "cooperation": "cdm"}
    scenario = Scenario.load("demo").with_({**changes, "workload.synthetic.requests": 20_000})
    metrics = run_scenario(scenario, operations=files[0], decisions=files[1]).metrics
    browser = page("")
    click(browser, "#recorded-run summary")
    find(browser, "#recording").send_keys("\n".join(files))
    until(lambda: "gc programs" in text(browser, "#timeline-says"))
    said = text(browser, "#timeline-says").replace(",", "")
    assert f" {metrics.gc_copies_pages} gc programs" in said
    assert f" {metrics.erases_blocks} erases" in said
    assert "victims with" in said
    painted = "const c = document.querySelector('#timeline'); return c.toDataURL()"
    whole = run(browser, painted)
    find(browser, "#timeline").send_keys("+")
    until(lambda: text(browser, "#timeline-says").replace(",", "") != said)
    assert run(browser, painted) != whole
    find(browser, "#timeline").send_keys("-")
    until(lambda: text(browser, "#timeline-says").replace(",", "") == said)
    rows = polars.read_parquet(files[0]).with_columns(took=polars.col("end_ns") - polars.col("time_ns"))
    flash = scenario.to_dict()["flash"]
    assert flash["channels"] * flash["chips_per_channel"] * flash["dies_per_chip"] == 4
    rows = rows.with_columns(die=polars.col("block") // (flash["planes_per_die"] * flash["blocks_per_plane"]))
    awaited = rows.filter(polars.col("cause").is_in(["host", "evict"]), polars.col("kind").is_in(["read", "program"]))
    slowest = (
        awaited.sort("took", maintain_order=True)
        .filter(polars.col("took") == polars.col("took").max())
        .row(0, named=True)
    )
    click(browser, "#slow button[value='1']")
    frame = f"in block {slowest['block']} of die {slowest['die']} {slowest['took'] / 1e6:.3f} ms"
    until(lambda: frame in text(browser, "#timeline-says").replace(",", ""))
    ended = rows.filter(
        polars.col("die") == slowest["die"],
        polars.col("end_ns") > slowest["time_ns"],
        polars.col("end_ns") <= slowest["end_ns"],
    )
    copies = ended.filter(cause="gc", kind="copy").height
    assert copies > 0
    assert f" {copies} gc programs" in text(browser, "#timeline-says").split("meanwhile")[1].replace(",", "")
    wrong = tmp_path / "wrong.parquet"
    wrong.write_text("time_ns,op\n")
    find(browser, "#recording").send_keys(str(wrong))
    until(lambda: "wrong.parquet: this is no Parquet file" in text(browser, "#recording-problem"))


def test_a_thousand_steps_are_a_native_run_of_a_thousand_requests(
    page: Open, capsys: pytest.CaptureFixture[str]
) -> None:
    browser = page("#requests=0")
    run(browser, "for (let n = 0; n < 1000; n++) document.querySelector('#step').click()")
    until(lambda: served(browser) == 1000)
    click(browser, "#native summary")
    click(browser, "#make-check")
    until(lambda: run(browser, "return document.querySelector('#check').value"))
    program = run(browser, "return document.querySelector('#check').value")
    shown = int(text(browser, "#counters [data-side='right'][data-path='gc_copies_pages']").replace(",", ""))
    assert f'"gc_copies_pages": {shown},' in program
    exec(compile(program, "page", "exec"), {})  # noqa: S102
    assert capsys.readouterr().out.startswith("equal: ")


@pytest.mark.parametrize("scheme", ["cdm", "host-consistent"])
def test_a_served_device_is_a_timeline_that_grows(
    built: Path,  # noqa: ARG001
    browser: WebDriver,
    tmp_path: Path,
    scheme: str,
) -> None:
    random = Random(1)
    with device.serve(served_devices.scenario(scheme), tmp_path / "ssd") as served, LivePage("my disk") as live:

        def tell(writes: int) -> Metrics:
            """Writes random pages, and tells the page; returns the measures of the session."""
            for _ in range(writes):
                clients[0].write(random.randrange(2048), 1, 1)
            live.tell(served.recorded(), served.clients, served.look())
            metrics = served.metrics
            assert metrics is not None
            return metrics

        def said() -> str:
            return text(browser, "#timeline-says")

        def state() -> str:
            return text(browser, "#live-state")

        clients: list[Client] = []
        tell(0)
        browser.get(live.address)
        until(lambda: "0 clients are connected" in state())
        assert text(browser, "h1") == "my disk: flash at work"
        clients.append(Client(served.address))
        metrics = tell(3000)
        assert metrics.gc_copies_pages > 0
        until(lambda: "1 client is connected" in state())
        until(lambda: find(browser, "#timeline").is_displayed())
        assert text(browser, "#follow") == "Follow the newest", "this reader wants no motion"
        click(browser, "#follow")
        for _ in range(20):
            find(browser, "#timeline").send_keys("-")
        until(lambda: f" {metrics.gc_copies_pages:,} gc programs, {metrics.erases_blocks:,} erases" in said())
        assert "victims with" in said()
        click(browser, "#follow")
        seen = said()
        clients.append(Client(served.address))
        metrics = tell(500)
        until(lambda: "2 clients are connected" in state())
        assert said() == seen
        find(browser, "#timeline").send_keys(Keys.END)
        until(lambda: f" {metrics.erases_blocks:,} erases" in said())
        seen = said()
        served.cut(seed=4, side="both")
        clients[:] = [Client(served.address)]
        tell(500)
        until(lambda: "was cut" in text(browser, "#news"))
        until(lambda: said() != seen)
        clients.clear()
        until(lambda: served.clients == 0)
        tell(0)
        until(lambda: "0 clients are connected" in state())
        assert complaints(browser) == []
    until(lambda: "not served any more" in state())


CUT = """
const drawing = CanvasRenderingContext2D.prototype, fill = drawing.fillText;
window.cut = [];
drawing.fillText = function (text, x, y, ...most) {
  if (x + Math.min(this.measureText(text).width, ...most) > this.canvas.clientWidth + 0.5) window.cut.push(text);
  fill.call(this, text, x, y, ...most);
};
"""
"""Keeps the words that a picture has no room for."""


@pytest.mark.parametrize("story", STORIES)
def test_on_a_telephone_a_figure_fits_below_its_words(page: Open, story: str) -> None:
    browser = page("")
    look(browser, 380)
    page(f"#story={story}&step=0&requests=6000")
    run(browser, CUT)
    for number in range(1, len(STORIES[story]["steps"]) + 1):
        figure = see(browser, story, number)
        place = "return document.querySelector(arguments[0]).getBoundingClientRect()"
        # A victim in a figure, and the words that speak of it, are seen at once.
        height = run(browser, place, f"{figure} .saved")["bottom"] - run(browser, place, f"{figure} h3")["top"]
        assert height < 900, figure
    assert run(browser, "return document.documentElement.scrollWidth") <= 380
    assert run(browser, "return [...new Set(window.cut)]") == [], "what a picture says is in it whole"


@pytest.mark.parametrize("width", [1400, 700, 380])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_screen(page: Open, width: int, scheme: str) -> None:
    browser = page("#requests=3000&score=1-u")
    look(browser, width, scheme)
    page("#requests=3000&score=1-u&scheme=op-fcl")
    assert run(browser, "return document.documentElement.scrollWidth") <= width


def test_every_picture_and_field_has_a_text_for_screen_readers(page: Open) -> None:
    browser = page("#requests=3000&score=1-u")
    for canvas in browser.find_elements(By.TAG_NAME, "canvas"):
        assert len(str(canvas.get_attribute("aria-label"))) > 40 or not canvas.is_displayed()
    click(browser, "#native summary")
    for field in browser.find_elements(By.CSS_SELECTOR, "button, input, select, textarea"):
        assert field.accessible_name or not field.is_displayed(), field.get_attribute("id")
