"""The live page of a served device: its access, its data, and its look in a browser."""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.remote.webelement import WebElement

from coflash.device import Recorded
from coflash.measures.catalogue import is_number
from coflash.measures.metrics import Metrics
from coflash.report import lab, live
from coflash.report.live import LivePage
from pages import complaints, figure, find, run, texts, until


def measured(seconds: int) -> dict[str, float]:
    """The measures of a device that writes 100 pages a second and copies 50; it is not emulated."""
    programs = {"host": 0, "evict": 100 * seconds, "gc": 50 * seconds}
    metrics = Metrics(
        {
            "requests": 100 * seconds,
            "host_writes_pages": 100 * seconds,
            "programs_pages": {**programs, "refresh": 0, "wear_levelling": 0, "destage": 0, "metadata": 0},
            "waf_host": 1.5 if seconds else None,
            "gc_copies_pages": 50 * seconds,
            "gc_drops_pages": 7 * seconds,
            "cache": {"hits_pages": 75 * seconds, "misses_pages": 25 * seconds, "dirty_pages": 12},
        }
    )
    load = {"load.requests": 100, "load.queue_depth": 3.5, "load.response_mean_ns": 35e6, "load.response_p99_ns": 70e6}
    return {path: value for path, value in metrics.flat().items() if is_number(value)} | load


@pytest.fixture
def page() -> Iterator[LivePage]:
    with LivePage("<b>disk</b>", ["Endurance: <i>rated erases"]) as page:
        yield page


def get(page: LivePage, path: str, host: str | None = None, **headers: str) -> http.client.HTTPResponse:
    address = urlsplit(page.address)
    connection = http.client.HTTPConnection("127.0.0.1", address.port or 0, timeout=1_000)
    connection.putrequest("GET", path, skip_host=True)
    connection.putheader("Host", address.netloc if host is None else host)
    for name, value in headers.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders()
    return connection.getresponse()


def events(response: http.client.HTTPResponse, count: int) -> list[tuple[int, Any]]:
    """The next events: their numbers and their data."""
    found = []
    for _ in range(count):
        number, text, _ = (response.readline().decode() for _ in range(3))
        found.append((int(number.removeprefix("id: ")), json.loads(text.removeprefix("data: "))))
    return found


def said(browser: WebDriver, figure: WebElement) -> str:
    """The text of a figure for screen readers."""
    label = run(browser, "return $('.plot', arguments[0]).getAttribute('aria-label')", figure)
    return str(label).replace("\N{NO-BREAK SPACE}", " ")


def test_only_its_own_address_shows_it(page: LivePage) -> None:
    path = urlsplit(page.address).path
    assert get(page, path).status == 200
    port = urlsplit(page.address).port
    assert len(path) > 20, "it cannot be guessed"
    for wrong in ("/", "/events", path[:-1], path[:-2] + "x/", path + "x", "/../etc/passwd"):
        assert get(page, wrong).status == 404, wrong
    for host in ("evil.example", f"evil.example:{port}", "localhost", ""):
        for path_too in (path, f"{path}events"):
            assert get(page, path_too, host).status == 403, "a site that names this machine as its own"


def test_title_and_assumptions_are_no_markup_and_nothing_is_fetched(page: LivePage) -> None:
    html = get(page, urlsplit(page.address).path).read().decode()
    assert "<h1>&lt;b&gt;disk&lt;/b&gt;</h1>" in html
    assert '<p class="note">Endurance: &lt;i&gt;rated erases</p>' in html
    assert "default-src 'none'; connect-src 'self'" in html


def test_without_the_laboratory_the_page_says_why_there_is_no_link(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(lab, "BROUGHT", tmp_path / "lab.html")
    monkeypatch.setattr(lab, "BUILT", tmp_path / "index.html")
    with LivePage("disk") as page:
        shown = get(page, urlsplit(page.address).path).read().decode()
    assert "Flash at work is not shown" in shown and "make lab builds it" in shown and "#live=" not in shown


def test_a_page_that_opens_late_or_again_is_told_what_it_has_not_seen(page: LivePage) -> None:
    path = f"{urlsplit(page.address).path}events"
    for second in range(3):
        page.show(measured(second))
    late = get(page, path)
    told = events(late, 3)
    assert [number for number, _ in told] == [1, 2, 3]
    assert [one["values"]["requests"] for _, one in told] == [0, 100, 200]
    assert events(get(page, path, Last_Event_ID="2"), 1) == told[2:]
    page.show(measured(3))
    assert events(late, 1)[0][1]["values"]["cache.hits_pages"] == 225


def test_flash_at_work_is_told_by_session_and_the_oldest_of_it_goes(
    page: LivePage, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{urlsplit(page.address).path}operations"

    def tell(session: str, operations: bytes, *news: str) -> None:
        page.tell([Recorded(Path(session), operations, b"", 0)], 1, news)

    tell("sessions/0001", b"one")
    tell("sessions/0001", b"")
    tell("sessions/0002", b"", "the power was cut")
    told = [one for _, one in events(get(page, path), 2)]
    assert [(one["session"], base64.b64decode(one["operations"]), one["told"]) for one in told] == [
        ("0001", b"one", []),
        ("0002", b"", ["the power was cut"]),
    ]
    monkeypatch.setattr(live, "_HISTORY_BYTES", 3000)
    for _ in range(9):
        tell("sessions/0002", bytes(1200))
    assert [number for number, _ in events(get(page, path), 1)] == [11], (
        "what a page that opens late is told is bounded"
    )


def test_its_end_ends_those_who_watch() -> None:
    with LivePage("disk") as page:
        watching = get(page, f"{urlsplit(page.address).path}events")
    assert watching.read() == b""


def test_a_browser_draws_it(page: LivePage, browser: WebDriver) -> None:
    browser.get(page.address)
    for second in range(5):
        page.show(measured(second))
    until(lambda: "being served" in find(browser, "#state").text)
    until(lambda: "400" in " ".join(texts(browser, "#measures-table td")))
    found = figure(browser, "Pages programmed a second, by cause")
    until(lambda: run(browser, "return arguments[0].querySelectorAll('.legend li').length", found) == 2)
    hits = figure(browser, "Cache hits")
    until(lambda: "75.0" in said(browser, hits))
    until(lambda: "3.5" in said(browser, figure(browser, "Queue depth: requests under way")))
    waits = figure(browser, "Response time of this server, by the clock of the machine")
    until(lambda: "mean: 35 ms. p99: 70 ms." in said(browser, waits))
    empty = run(browser, "return $$('figure').filter((one) => $('.empty', one)).map((one) => $('h3', one).textContent)")
    assert empty == ["Response time of the emulated device"], "it is not emulated"
    assert not complaints(browser)
    page.stop()
    until(lambda: "not served any more" in find(browser, "#state").text)


def test_what_a_cache_absorbs_is_drawn_at_zero_and_not_left_out(page: LivePage, browser: WebDriver) -> None:
    browser.get(page.address)
    for second in range(5):
        quiet = {path: 0 for path in measured(second) if path.startswith(("programs_pages.", "gc_"))}
        page.show(measured(second) | quiet)
    until(lambda: "being served" in find(browser, "#state").text)
    until(lambda: "0" in said(browser, figure(browser, "Pages programmed a second, by cause")))
    empty = run(browser, "return $$('figure').filter((one) => $('.empty', one)).map((one) => $('h3', one).textContent)")
    assert empty == ["Response time of the emulated device"], "it is not emulated"
